//! Numbers with their nouns.

/// A number with a noun, which the caller gives in the singular: `1 day`, `2 days`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        for (number, expected) in [(0, "0 days"), (1, "1 day"), (2, "2 days")] {
            assert_eq!(count(number, "day"), expected);
        }
    }
}
