//! [`nearest`]: the known name that a mistyped one probably stands for.

/// The name of `known` that differs least from `word`, in at most a third of its characters; the first of several. Case
/// does not count.
///
/// ```
/// use liteio_wire::nearest::nearest;
///
/// let known = ["GetObject", "GetObjectAcl", "PutObject"];
/// assert_eq!(nearest("getobjct", known), Some("GetObject"));
/// assert_eq!(nearest("Nonsense", known), None);
/// ```
#[must_use]
pub fn nearest<'n>(word: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    nearest_within(word.chars().count().max(3) / 3, word, known)
}

/// The same for at most this many characters.
#[must_use]
pub fn nearest_within<'n>(
    differences_max: usize,
    word: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let word: Vec<char> = word.chars().take(CHARACTERS_MAX + 1).collect();
    if word.len() > CHARACTERS_MAX {
        return None;
    }
    let compared = known.into_iter().map(|name| (differences(&word, name), name));
    let near = compared.filter(|(differences, _)| *differences <= differences_max);
    near.min_by_key(|(differences, _)| *differences).map(|(_, name)| name)
}

/// Longer words are no mistyped names, and would take time.
const CHARACTERS_MAX: usize = 64;

/// The number of characters to insert, delete, replace or swap with their neighbour (optimal string alignment).
fn differences(word: &[char], name: &str) -> usize {
    let name: Vec<char> = name.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=name.len()).collect();
    for (at, of_word) in word.iter().enumerate() {
        let mut row = vec![at + 1];
        for (in_name, of_name) in name.iter().enumerate() {
            let is_other = !of_word.eq_ignore_ascii_case(of_name);
            let replaced = last[in_name] + usize::from(is_other);
            let mut fewest = replaced.min(last[in_name + 1] + 1).min(row[in_name] + 1);
            let is_swapped = at > 0
                && in_name > 0
                && of_word.eq_ignore_ascii_case(&name[in_name - 1])
                && word[at - 1].eq_ignore_ascii_case(of_name);
            if is_swapped {
                fewest = fewest.min(before_last[in_name - 1] + 1);
            }
            row.push(fewest);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognized_and_other_words_are_not() {
        let known = ["ACCESS_KEY", "SECRET_KEY", "BUCKET", "DATA_DIR"];
        for (word, expected) in [
            ("ACCES_KEY", Some("ACCESS_KEY")),
            ("ACESS_KYE", Some("ACCESS_KEY")),
            ("buckets", Some("BUCKET")),
            ("DATADIR", Some("DATA_DIR")),
            ("SERVICE", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(1 << 20), known), None);
    }
}
