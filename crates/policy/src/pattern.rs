//! Patterns: text in which `*` stands for any sequence of characters and `?` for any single one.
//!
//! A pattern is split at its stars when it is parsed: `head*middle*…*tail`. The head is anchored at
//! the start, the tail at the end, and each middle segment is searched for once, behind the one
//! before it. The first match of a segment is always the best one, so there is no backtracking. The
//! time is linear in the text, times the length of a segment with a `?` (at most
//! [`WILD_SEGMENT_CHARACTERS_MAX`]).

use super::error::PolicyError;
use super::limits::WILD_SEGMENT_CHARACTERS_MAX;

/// The treatment of letter case in comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// Case-sensitive.
    Differs,
    /// Case-insensitive.
    Ignored,
}

/// A piece of a pattern, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Literal characters.
    Text(&'t str),
    /// `?`
    AnyCharacter,
    /// `*`
    AnyRun,
}

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    case: Case,
    head: Segment,
    rest: Option<Rest>,
}

/// The part of a pattern behind its first star.
#[derive(Debug)]
struct Rest {
    middle: Box<[Segment]>,
    tail: Segment,
}

/// The part of a pattern between two stars.
#[derive(Debug)]
enum Segment {
    Literal(Box<str>),
    /// Single characters; `None` matches any.
    Characters(Box<[Option<char>]>),
}

/// Splits a text with the wildcards `*` and `?` into pieces.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    // Wildcards are one byte long, so every slice ends at a character boundary.
    text.split_inclusive(['*', '?']).flat_map(|part| {
        let (text, wildcard) = match part.as_bytes().last() {
            Some(b'*') => (&part[..part.len() - 1], Some(Piece::AnyRun)),
            Some(b'?') => (&part[..part.len() - 1], Some(Piece::AnyCharacter)),
            _ => (part, None),
        };
        let text = (!text.is_empty()).then_some(Piece::Text(text));
        text.into_iter().chain(wildcard)
    })
}

impl Pattern {
    /// The pattern of these pieces.
    pub(super) fn new<'t>(pieces: impl IntoIterator<Item = Piece<'t>>, case: Case) -> Pattern {
        let mut segments = vec![Vec::new()];
        for piece in pieces {
            match piece {
                Piece::AnyRun => segments.push(Vec::new()),
                piece => segments.last_mut().expect("there is always one").push(piece),
            }
        }
        let mut segments = segments.iter().map(|pieces| Segment::new(pieces, case));
        let head = segments.next().expect("there is always one");
        let mut middle: Vec<Segment> = segments.collect();
        let rest = middle.pop().map(|tail| {
            middle.retain(|segment| !segment.is_empty());
            Rest { middle: middle.into(), tail }
        });
        Pattern { case, head, rest }
    }

    /// Refuses patterns that take long to match.
    pub(super) fn checked(self) -> Result<Pattern, PolicyError> {
        let is_long = |segment: &Segment| match segment {
            Segment::Literal(_) => false,
            Segment::Characters(wanted) => wanted.len() > WILD_SEGMENT_CHARACTERS_MAX,
        };
        match &self.rest {
            Some(rest) if rest.middle.iter().any(is_long) => Err(PolicyError::new(format!(
                "A pattern may have at most {WILD_SEGMENT_CHARACTERS_MAX} characters between two '*' \
                 if a '?' is among them"
            ))),
            _ => Ok(self),
        }
    }

    /// The text up to the first wildcard, and `true` if that is the whole pattern.
    pub(super) fn fixed_part(&self) -> (String, bool) {
        match &self.head {
            Segment::Literal(text) => (text.to_string(), self.rest.is_none()),
            Segment::Characters(wanted) => {
                let fixed: String = wanted.iter().map_while(|character| *character).collect();
                let is_whole = self.rest.is_none() && !wanted.contains(&None);
                (fixed, is_whole)
            }
        }
    }

    /// `true` if the pattern has these characters one after the other, without a wildcard among them.
    pub(super) fn has(&self, text: &str) -> bool {
        let rest = self.rest.iter().flat_map(|rest| rest.middle.iter().chain([&rest.tail]));
        let mut segments = [&self.head].into_iter().chain(rest);
        segments.any(|segment| match segment {
            Segment::Literal(literal) => literal.contains(text),
            Segment::Characters(wanted) => {
                let text: Vec<_> = text.chars().map(Some).collect();
                !text.is_empty() && wanted.windows(text.len()).any(|some| *some == text)
            }
        })
    }

    /// `true` if the whole text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        let Some(text) = self.head.strip_from_start(text, self.case) else { return false };
        let Some(rest) = &self.rest else { return text.is_empty() };
        let Some(mut text) = rest.tail.strip_from_end(text, self.case) else { return false };
        for segment in &rest.middle {
            match segment.skip_past(text, self.case) {
                Some(behind) => text = behind,
                None => return false,
            }
        }
        true
    }
}

impl Segment {
    fn new(pieces: &[Piece<'_>], case: Case) -> Segment {
        let mut characters = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => characters.extend(text.chars().map(Some)),
                Piece::AnyCharacter | Piece::AnyRun => characters.push(None),
            }
        }
        let literal: Option<String> = characters.iter().copied().collect();
        match literal {
            // Non-ASCII letters are compared one by one, because their case changes lengths.
            Some(text) if case == Case::Differs || text.is_ascii() => Segment::Literal(text.into()),
            _ => Segment::Characters(characters.into()),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Segment::Literal(text) => text.is_empty(),
            Segment::Characters(wanted) => wanted.is_empty(),
        }
    }

    /// Strips this segment from the start of the text, if it matches there.
    fn strip_from_start<'t>(&self, text: &'t str, case: Case) -> Option<&'t str> {
        match self {
            Segment::Literal(wanted) => match case {
                Case::Differs => text.strip_prefix(&**wanted),
                Case::Ignored => {
                    let (start, rest) = text.split_at_checked(wanted.len())?;
                    start.eq_ignore_ascii_case(wanted).then_some(rest)
                }
            },
            Segment::Characters(wanted) => {
                let mut characters = text.chars();
                let mut wanted = wanted.iter();
                let fits = wanted.all(|wanted| are_equal(*wanted, characters.next(), case));
                fits.then_some(characters.as_str())
            }
        }
    }

    /// Strips this segment from the end of the text, if it matches there.
    fn strip_from_end<'t>(&self, text: &'t str, case: Case) -> Option<&'t str> {
        match self {
            Segment::Literal(wanted) => match case {
                Case::Differs => text.strip_suffix(&**wanted),
                Case::Ignored => {
                    let start = text.len().checked_sub(wanted.len())?;
                    let (rest, end) = text.split_at_checked(start)?;
                    end.eq_ignore_ascii_case(wanted).then_some(rest)
                }
            },
            Segment::Characters(wanted) => {
                let mut characters = text.chars();
                let mut wanted = wanted.iter().rev();
                let fits = wanted.all(|wanted| are_equal(*wanted, characters.next_back(), case));
                fits.then_some(characters.as_str())
            }
        }
    }

    /// The text behind the first match of this segment.
    fn skip_past<'t>(&self, text: &'t str, case: Case) -> Option<&'t str> {
        if let (Segment::Literal(wanted), Case::Differs) = (self, case) {
            let at = memchr::memmem::find(text.as_bytes(), wanted.as_bytes())?;
            return Some(&text[at + wanted.len()..]);
        }
        let mut rest = text;
        loop {
            if let Some(behind) = self.strip_from_start(rest, case) {
                return Some(behind);
            }
            let mut characters = rest.chars();
            characters.next()?;
            rest = characters.as_str();
        }
    }
}

fn are_equal(wanted: Option<char>, found: Option<char>, case: Case) -> bool {
    match (wanted, found) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(wanted), Some(found)) => {
            wanted == found
                || case == Case::Ignored && wanted.to_lowercase().eq(found.to_lowercase())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str, case: Case) -> Pattern {
        Pattern::new(pieces(text), case)
    }

    /// The definition of a match, with all its backtracking.
    fn naive(pattern: &[char], text: &[char], case: Case) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => {
                (0..=text.len()).any(|skipped| naive(rest, &text[skipped..], case))
            }
            Some((wanted, rest)) => text.split_first().is_some_and(|(found, behind)| {
                let wanted = (*wanted != '?').then_some(*wanted);
                are_equal(wanted, Some(*found), case) && naive(rest, behind, case)
            }),
        }
    }

    #[test]
    fn patterns_match_whole_texts() {
        for (wanted, text, matches) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "a/b", true),
            ("a", "a", true),
            ("a", "A", false),
            ("?", "a", true),
            ("?", "", false),
            ("?", "ab", false),
            ("?", "\u{e4}", true),
            ("a*", "a", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("*b", "abc", false),
            ("a*c", "ac", true),
            ("a*a", "a", false),
            ("ab*ba", "aba", false),
            ("a*b*c", "a--b--c", true),
            ("a*b*c", "a--c--b", false),
            ("*a*b*", "ba", false),
            ("*aa*aa*", "aaa", false),
            ("*?", "", false),
            ("*?*?*", "ab", true),
            ("*?*?*", "a", false),
            ("a?c*", "abcd", true),
            ("*b?d", "abcd", true),
            ("**", "abc", true),
            ("photos/*/2024/*.jpg", "photos/me/2024/a.jpg", true),
            ("photos/*/2024/*.jpg", "photos/me/2023/a.jpg", false),
        ] {
            assert_eq!(pattern(wanted, Case::Differs).matches(text), matches, "{wanted} {text}");
        }
    }

    #[test]
    fn case_may_be_ignored() {
        for (wanted, text) in [
            ("s3:get*", "s3:GetObject"),
            ("S3:GETOBJECT", "s3:GetObject"),
            ("*OBJECT", "s3:GetObject"),
            ("*tob*", "s3:GetObject"),
            ("\u{c4}?", "\u{e4}x"),
        ] {
            assert!(pattern(wanted, Case::Ignored).matches(text), "{wanted} {text}");
            assert!(!pattern(wanted, Case::Differs).matches(text), "{wanted} {text}");
        }
    }

    proptest! {
        #[test]
        fn matches_are_those_of_the_definition(wanted in "[ab\u{e4}*?]{0,8}", text in "[aAb\u{e4}\u{c4}]{0,10}") {
            for case in [Case::Differs, Case::Ignored] {
                let (chars, of_text): (Vec<char>, Vec<char>) = (wanted.chars().collect(), text.chars().collect());
                prop_assert_eq!(pattern(&wanted, case).matches(&text), naive(&chars, &of_text, case));
            }
        }
    }

    #[test]
    fn hostile_patterns_take_no_time() {
        let text = "a".repeat(1024);
        let half = "?".repeat(WILD_SEGMENT_CHARACTERS_MAX / 2);
        for wanted in [
            "*a".repeat(500) + "b",
            "*a".repeat(500) + "*b*",
            "*a?".repeat(300) + "*b*",
            "*".repeat(10_000) + "b",
            format!("*a{half}b*"),
            format!("*{}b{}*", "a".repeat(100), "?".repeat(100)),
        ] {
            let pattern = pattern(&wanted, Case::Differs).checked().expect("it is taken");
            let start = Instant::now();
            assert!(!pattern.matches(&text));
            // A thousand times what it takes: backtracking would take years.
            assert!(start.elapsed() < Duration::from_secs(2), "{wanted:.40}");
        }
        let long = format!("*{}*", "?a".repeat(WILD_SEGMENT_CHARACTERS_MAX));
        assert!(pattern(&long, Case::Differs).checked().is_err());
    }
}
