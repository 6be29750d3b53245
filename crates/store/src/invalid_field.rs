//! The rules that a field of a vector request can violate, in the words of S3 Vectors.
//!
//! The paths are JSON pointers (RFC 6901), as in the `fieldList` of S3 Vectors.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::error::{StoreError, Wording};

impl StoreError {
    /// The error of a field that violates a rule of which S3 Vectors' words are unknown.
    #[must_use]
    pub fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::InvalidField { path: path.into(), message: message.into(), wording: Wording::Plain }
    }

    /// The error of a field that violates a rule, which S3 Vectors answers with one sentence.
    pub(crate) fn sentence(
        path: impl Into<String>,
        sentence: &'static str,
        message: impl Into<String>,
    ) -> Self {
        let wording = Wording::Sentence(sentence);
        Self::InvalidField { path: path.into(), message: message.into(), wording }
    }

    /// The error of a vector that violates a rule. `key` is the key of the vector.
    pub(crate) fn record(path: impl Into<String>, key: &str, message: impl Into<String>) -> Self {
        let wording = Wording::Record(key.to_owned());
        Self::InvalidField { path: path.into(), message: message.into(), wording }
    }

    /// The error of a filter.
    #[must_use]
    pub fn filter(path: impl Into<String>, message: impl Into<String>) -> Self {
        let wording = Wording::Filter;
        Self::InvalidField { path: path.into(), message: message.into(), wording }
    }

    /// The error of a filter on a non-filterable metadata key.
    #[must_use]
    pub fn non_filterable(path: impl Into<String>, key: &str) -> Self {
        let message =
            format!("the metadata key {key:?} is non-filterable, so filters cannot use it");
        Self::filter(path, message)
    }

    /// The error of a missing field.
    #[must_use]
    pub fn required(path: impl Into<String>) -> Self {
        constraint(path.into(), "Value", "must not be null")
    }

    /// The error of a text that is none of `words`.
    #[must_use]
    pub fn none_of(path: impl Into<String>, words: &[&str]) -> Self {
        let rule = format!("must satisfy enum value set: [{}]", words.join(", "));
        constraint(path.into(), "Value", &rule)
    }

    /// The error of a number out of `range`. The bound `MAX` of its type stands for none.
    #[must_use]
    pub fn out_of_range(path: impl Into<String>, range: &RangeInclusive<u64>) -> Self {
        constraint(path.into(), "Value", &format!("must be {}", bounds(range)))
    }

    /// The error of a text, a list or a map of `length`, whose length is not in `range`.
    #[must_use]
    pub fn wrong_length(
        path: impl Into<String>,
        length: usize,
        range: &RangeInclusive<u64>,
    ) -> Self {
        let value = format!("Value with length {length}");
        constraint(path.into(), &value, &format!("must have length {}", bounds(range)))
    }

    /// The error of a text that does not have the pattern of the service model.
    #[must_use]
    pub fn pattern(path: impl Into<String>, pattern: &str) -> Self {
        let rule = format!("must satisfy regular expression pattern: {pattern}");
        constraint(path.into(), "Value", &rule)
    }
}

/// A violated constraint of the service model.
fn constraint(path: String, value: &str, rule: &str) -> StoreError {
    let message = format!("{value} at '{path}' failed to satisfy constraint: Member {rule}");
    StoreError::InvalidField { path, message, wording: Wording::Constraint }
}

fn bounds(range: &RangeInclusive<u64>) -> String {
    match (*range.start(), *range.end()) {
        (least, u64::MAX) => format!("greater than or equal to {least}"),
        (0, most) => format!("less than or equal to {most}"),
        (least, most) => format!("between {least} and {most}, inclusive"),
    }
}

/// The JSON pointer of a member of the value at `path`, which is empty for the whole request.
#[must_use]
pub fn pointer(path: &str, member: impl Display) -> String {
    let mut pointer = format!("{path}/");
    for character in member.to_string().chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_have_the_words_of_the_service() {
        let rows = [
            (
                StoreError::wrong_length("/vectorBucketName", 2, &(3..=63)),
                "Value with length 2 at '/vectorBucketName' failed to satisfy constraint: \
                 Member must have length between 3 and 63, inclusive",
            ),
            (
                StoreError::wrong_length("/queryTexts", 0, &(1..=u64::MAX)),
                "Value with length 0 at '/queryTexts' failed to satisfy constraint: Member must \
                 have length greater than or equal to 1",
            ),
            (
                StoreError::wrong_length("/resourceArn", 1012, &(0..=1011)),
                "Value with length 1012 at '/resourceArn' failed to satisfy constraint: Member \
                 must have length less than or equal to 1011",
            ),
            (
                StoreError::out_of_range("/dimension", &(1..=4096)),
                "Value at '/dimension' failed to satisfy constraint: Member must be between 1 \
                 and 4096, inclusive",
            ),
            (
                StoreError::out_of_range("/topK", &(1..=u64::MAX)),
                "Value at '/topK' failed to satisfy constraint: Member must be greater than or \
                 equal to 1",
            ),
            (
                StoreError::none_of("/distanceMetric", &["euclidean", "cosine"]),
                "Value at '/distanceMetric' failed to satisfy constraint: Member must satisfy \
                 enum value set: [euclidean, cosine]",
            ),
            (
                StoreError::required("/vectors/0/key"),
                "Value at '/vectors/0/key' failed to satisfy constraint: Member must not be null",
            ),
        ];
        for (error, expected) in rows {
            let StoreError::InvalidField { message, wording, .. } = error else {
                panic!("{expected}");
            };
            assert_eq!((message.as_str(), wording), (expected, Wording::Constraint));
        }
    }

    #[test]
    fn pointers_escape_the_names_of_members() {
        let rows =
            [("", "a", "/a"), ("/a", "0", "/a/0"), ("/m", "x/y~z", "/m/x~1y~0z"), ("", "", "/")];
        for (path, member, expected) in rows {
            assert_eq!(pointer(path, member), expected);
        }
    }
}
