//! Patterns with wildcards.

/// A pattern for a whole path: `*` is any text including slashes, `?` is any character.
#[derive(Clone, Debug)]
pub(crate) struct Flat(Vec<char>);

/// A pattern for one name: `*` and `?` stop at slashes, `[a-z]` and `[^a-z]` are sets, `\` escapes
/// the next character.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    One(char),
    Any,
    AnyOne,
    Set { ranges: Vec<(char, char)>, negated: bool },
}

impl Flat {
    pub(crate) fn new(pattern: &str) -> Flat {
        Flat(pattern.chars().collect())
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let is_star = |at: usize| self.0[at] == '*';
        let is_one = |at: usize, it: char| self.0[at] == '?' || self.0[at] == it;
        matches(self.0.len(), is_star, is_one, |_| true, &text)
    }
}

impl Glob {
    /// # Errors
    /// One line that says what is wrong with the pattern.
    pub(crate) fn new(pattern: &str) -> Result<Glob, String> {
        let wrong = || format!("the pattern '{pattern}' ends within a set or after a backslash");
        let mut parts = Vec::new();
        let mut rest = pattern.chars().peekable();
        while let Some(next) = rest.next() {
            parts.push(match next {
                '*' => Part::Any,
                '?' => Part::AnyOne,
                '\\' => Part::One(rest.next().ok_or_else(wrong)?),
                '[' => {
                    let negated = rest.next_if_eq(&'^').is_some();
                    let mut ranges = Vec::new();
                    loop {
                        let low = match rest.next().ok_or_else(wrong)? {
                            ']' if !ranges.is_empty() => break,
                            '\\' => rest.next().ok_or_else(wrong)?,
                            low => low,
                        };
                        let high = match rest.next_if_eq(&'-') {
                            Some(_) => rest.next().ok_or_else(wrong)?,
                            None => low,
                        };
                        ranges.push((low, high));
                    }
                    Part::Set { ranges, negated }
                }
                other => Part::One(other),
            });
        }
        Ok(Glob { text: pattern.to_owned(), parts })
    }

    /// `true` if the last part of the path matches, or any part equals the pattern itself.
    pub(crate) fn matches_name(&self, path: &str) -> bool {
        let trimmed = path.trim_end_matches('/');
        let name = trimmed.rsplit('/').next().unwrap_or(trimmed);
        self.matches(name) || path.split('/').any(|part| part == self.text)
    }

    fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let is_star = |at: usize| matches!(self.parts[at], Part::Any);
        let is_one = |at: usize, it: char| match &self.parts[at] {
            Part::One(one) => *one == it,
            Part::AnyOne => it != '/',
            Part::Set { ranges, negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&it)) != *negated
            }
            Part::Any => false,
        };
        matches(self.parts.len(), is_star, is_one, |it| it != '/', &text)
    }
}

/// Greedy matching with one backtracking point, the last star: linear for usual patterns, and never
/// worse than the product of both lengths.
fn matches(
    parts: usize,
    is_star: impl Fn(usize) -> bool,
    is_one: impl Fn(usize, char) -> bool,
    star_takes: impl Fn(char) -> bool,
    text: &[char],
) -> bool {
    let (mut part, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        if part < parts && is_star(part) {
            star = Some((part, at));
            part += 1;
        } else if part < parts && is_one(part, text[at]) {
            part += 1;
            at += 1;
        } else {
            match star {
                Some((from, taken)) if star_takes(text[taken]) => {
                    star = Some((from, taken + 1));
                    part = from + 1;
                    at = taken + 1;
                }
                _ => return false,
            }
        }
    }
    (part..parts).all(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_patterns_match_across_slashes() {
        let rows = [
            ("*", "", true),
            ("*", "a/b", true),
            ("*.tmp", "a/b.tmp", true),
            ("a*b*c", "a/x/b/y/c", true),
            ("a*b*c", "a/x/b/y/d", false),
            ("a?c", "a/c", true),
            ("", "", true),
            ("", "a", false),
            (".*", ".git/x", true),
            (".*", "a/.git", false),
            ("ä*", "äö", true),
        ];
        for (pattern, text, expected) in rows {
            assert_eq!(Flat::new(pattern).matches(text), expected, "{pattern} {text}");
        }
        let stars = "*a".repeat(200);
        assert!(!Flat::new(&stars).matches(&"b".repeat(5000)));
    }

    #[test]
    fn globs_match_the_last_name() {
        let rows = [
            ("*.txt", "a/b/c.txt", true),
            ("*.txt", "a.txt/b", false),
            ("[a-c]?", "x/b1", true),
            ("[^a-c]?", "x/b1", false),
            ("\\*", "x/*", true),
            ("\\*", "x/y", false),
            ("photos", "a/photos/b", true),
            ("dir", "a/dir/", true),
        ];
        for (pattern, text, expected) in rows {
            let glob = Glob::new(pattern).expect("it is valid");
            assert_eq!(glob.matches_name(text), expected, "{pattern} {text}");
        }
        for pattern in ["[", "[a", "[]", "\\", "[a-"] {
            assert!(Glob::new(pattern).is_err(), "{pattern}");
        }
    }
}
