//! [`Template`]: a policy text, which may be a pattern with variables.
//!
//! `${aws:username}` is replaced by the request's value for a key, `${aws:username, 'nobody'}` by
//! `nobody` if it has none; `${*}`, `${?}` and `${$}` are the literal characters. The value of a
//! variable is compared literally: a `*` in it is not a wildcard.

use std::borrow::Cow;

use super::error::PolicyError;
use super::key::ContextKey;
use super::pattern::{self, Case, Pattern};
use super::request::Request;

/// The special characters of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syntax {
    /// `*` and `?` are wildcards.
    pub(super) wildcards: bool,
    /// `${…}` is a variable (since version 2012-10-17).
    pub(super) variables: bool,
    pub(super) case: Case,
}

/// A piece of a text, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    AnyCharacter,
    AnyRun,
    Variable(Variable),
}

/// A variable with its default value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    key: ContextKey,
    default: Option<Box<str>>,
}

/// A parsed text.
#[derive(Debug)]
pub(super) enum Template {
    /// A text without variables.
    Fixed(Pattern),
    /// The pieces from which each request builds its pattern.
    Variable(Box<[Piece]>, Case),
}

/// Splits a text into pieces.
pub(super) fn pieces(text: &str, syntax: Syntax) -> Result<Vec<Piece>, PolicyError> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = syntax.variables.then(|| rest.split_once("${")).flatten() {
        push_text(&mut found, before, syntax);
        // A default may contain the character that ends a variable.
        let end = match behind.split_once('\'') {
            Some((key, default)) if !key.contains('}') => {
                default.find("'}").map(|at| key.len() + at + 2)
            }
            _ => behind.find('}'),
        };
        let Some(end) = end else {
            return Err(PolicyError::about("A policy variable lacks its closing '}'", text));
        };
        found.push(variable(&behind[..end])?);
        rest = &behind[end + 1..];
    }
    push_text(&mut found, rest, syntax);
    Ok(found)
}

fn push_text(found: &mut Vec<Piece>, text: &str, syntax: Syntax) {
    if syntax.wildcards {
        found.extend(pattern::pieces(text).map(|piece| match piece {
            pattern::Piece::Text(text) => Piece::Text(text.to_owned()),
            pattern::Piece::AnyCharacter => Piece::AnyCharacter,
            pattern::Piece::AnyRun => Piece::AnyRun,
        }));
    } else if !text.is_empty() {
        found.push(Piece::Text(text.to_owned()));
    }
}

/// The piece for the text between `${` and `}`.
fn variable(inside: &str) -> Result<Piece, PolicyError> {
    if let "*" | "?" | "$" = inside {
        return Ok(Piece::Text(inside.to_owned()));
    }
    let (key, default) = match inside.split_once(',') {
        Some((key, default)) => (key, Some(default.trim())),
        None => (inside, None),
    };
    let key = key.trim();
    let is_name = key.contains(':') && !key.contains(|c: char| c.is_whitespace() || c == '$');
    if !is_name {
        return Err(PolicyError::about(
            "A policy variable must be the name of a condition key, such as ${aws:username}",
            inside,
        ));
    }
    let default = match default {
        None => None,
        Some(quoted) => {
            let text = quoted.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
            let text = text.ok_or_else(|| {
                PolicyError::about(
                    "The default of a policy variable must stand in single quotes, such as \
                     ${aws:username, 'nobody'}",
                    inside,
                )
            })?;
            Some(text.into())
        }
    };
    Ok(Piece::Variable(Variable { key: ContextKey::parse(key), default }))
}

impl Variable {
    pub(super) fn key(&self) -> &ContextKey {
        &self.key
    }

    /// The single value for a request; `None` without value and default, or with several values.
    fn value<'r>(&'r self, request: &Request<'r>) -> Option<Cow<'r, str>> {
        request.value(&self.key).single().or_else(|| self.default.as_deref().map(Cow::Borrowed))
    }
}

impl Template {
    /// Parses a text.
    ///
    /// # Errors
    /// A variable is malformed.
    pub(super) fn parse(text: &str, syntax: Syntax) -> Result<Template, PolicyError> {
        Template::new(pieces(text, syntax)?, syntax.case)
    }

    /// The template of these pieces.
    pub(super) fn new(pieces: Vec<Piece>, case: Case) -> Result<Template, PolicyError> {
        if pieces.iter().any(|piece| matches!(piece, Piece::Variable(_))) {
            check_searched(&pieces)?;
            return Ok(Template::Variable(pieces.into(), case));
        }
        Ok(Template::Fixed(pattern_of(&pieces, &[], case).checked()?))
    }

    /// `true` if the text matches for this request. A variable without a value matches nothing.
    pub(super) fn matches(&self, text: &str, request: &Request<'_>) -> bool {
        match self {
            Template::Fixed(pattern) => pattern.matches(text),
            Template::Variable(pieces, case) => {
                // Fast path: most texts differ before the first variable.
                if let (Some(Piece::Text(start)), Case::Differs) = (pieces.first(), case)
                    && !text.starts_with(start.as_str())
                {
                    return false;
                }
                self.pattern(request).is_some_and(|pattern| pattern.matches(text))
            }
        }
    }

    /// `true` if the pattern has this text, without wildcards in it.
    pub(super) fn has(&self, text: &str, request: &Request<'_>) -> bool {
        match self {
            Template::Fixed(pattern) => pattern.has(text),
            Template::Variable(..) => {
                self.pattern(request).is_some_and(|pattern| pattern.has(text))
            }
        }
    }

    /// The pattern for a request. `None` if the request has no value for a variable, or if there is no variable.
    fn pattern(&self, request: &Request<'_>) -> Option<Pattern> {
        let Template::Variable(pieces, case) = self else { return None };
        let variables = pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(variable) => Some(variable.value(request)),
            _ => None,
        });
        let values = variables.collect::<Option<Vec<_>>>()?;
        Some(pattern_of(pieces, &values, *case))
    }

    /// The text up to the first wildcard or variable, and `true` if that is the whole template.
    pub(super) fn fixed_part(&self) -> (String, bool) {
        match self {
            Template::Fixed(pattern) => pattern.fixed_part(),
            Template::Variable(pieces, _) => match pieces.first() {
                Some(Piece::Text(text)) => (text.clone(), false),
                _ => (String::new(), false),
            },
        }
    }

    /// The keys of its variables.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ContextKey> {
        let pieces: &[Piece] = match self {
            Template::Fixed(_) => &[],
            Template::Variable(pieces, _) => pieces,
        };
        pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(variable) => Some(variable.key()),
            _ => None,
        })
    }
}

/// Refuses a `?` together with a variable between two `*`: such a segment is compared at every
/// position of a text, and the value of a variable may be as long as a header.
fn check_searched(pieces: &[Piece]) -> Result<(), PolicyError> {
    let parts: Vec<&[Piece]> = pieces.split(|piece| matches!(piece, Piece::AnyRun)).collect();
    let searched = parts.get(1..parts.len() - 1).unwrap_or_default();
    let has_both = |part: &&[Piece]| {
        part.iter().any(|piece| matches!(piece, Piece::AnyCharacter))
            && part.iter().any(|piece| matches!(piece, Piece::Variable(_)))
    };
    match searched.iter().any(has_both) {
        true => Err(PolicyError::new(
            "A policy variable and ? must not stand together between two *: use ${?} for the \
             character, or leave one of them out",
        )),
        false => Ok(()),
    }
}

/// The pattern of the pieces, with the values of their variables.
fn pattern_of(pieces: &[Piece], values: &[Cow<'_, str>], case: Case) -> Pattern {
    let mut values = values.iter();
    let pieces = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => pattern::Piece::Text(text),
        Piece::AnyCharacter => pattern::Piece::AnyCharacter,
        Piece::AnyRun => pattern::Piece::AnyRun,
        Piece::Variable(_) => pattern::Piece::Text(values.next().expect("one for each")),
    });
    Pattern::new(pieces, case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_beside_a_question_mark_is_not_searched_for() {
        let check = |text: &str| {
            let syntax = Syntax { case: Case::Differs, wildcards: true, variables: true };
            Template::parse(text, syntax).is_ok()
        };
        for text in ["*?${aws:Referer}*a", "a*b${aws:Referer}?*", "*${aws:Referer}c?d*e*"] {
            assert!(!check(text), "{text}");
        }
        for text in
            ["?${aws:Referer}*", "*?${aws:Referer}", "*${aws:Referer}*?*", "${aws:Referer}?"]
        {
            assert!(check(text), "{text}");
        }
    }
}
