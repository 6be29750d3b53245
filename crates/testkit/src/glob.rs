//! Glob patterns: `*` matches any run of characters, `?` any single one.

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob(Vec<char>);

impl Glob {
    pub(super) fn new(text: &str) -> Glob {
        Glob(text.chars().collect())
    }

    /// True if the pattern matches the whole text.
    pub(super) fn matches(&self, text: &str) -> bool {
        let (pattern, text) = (&self.0, text.chars().collect::<Vec<_>>());
        let (mut at, mut in_text) = (0, 0);
        // Backtracking point: the last star, and the text position where matching after it was last
        // tried.
        let mut star: Option<(usize, usize)> = None;
        while in_text < text.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, in_text));
                    at += 1;
                }
                Some(character) if *character == '?' || *character == text[in_text] => {
                    at += 1;
                    in_text += 1;
                }
                _ => {
                    let Some((place, tried)) = star else { return false };
                    star = Some((place, tried + 1));
                    (at, in_text) = (place + 1, tried + 1);
                }
            }
        }
        pattern[at..].iter().all(|character| *character == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        let rows = [
            ("", "", true),
            ("*", "", true),
            ("Put*", "PutObject", true),
            ("Put*", "GetObject", false),
            ("*Object", "PutObject", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-d", false),
            ("a?c", "aüc", true),
            ("a?c", "ac", false),
            ("5??", "503", true),
            ("logs/*.txt", "logs/2026/a.txt", true),
            ("PutObject", "PutObjectAcl", false),
        ];
        for (pattern, text, expected) in rows {
            assert_eq!(Glob::new(pattern).matches(text), expected, "{pattern} {text}");
        }
    }
}
