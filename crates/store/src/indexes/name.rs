//! Names of vector buckets and indexes.

use std::fmt;

use crate::error::StoreError;

/// The name of a vector bucket or of an index: 3 to 63 lower-case letters, digits, hyphens and
/// dots, with a letter or digit at either end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorName(String);

impl VectorName {
    /// The name of a vector bucket.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`] for `vectorBucketName`.
    pub fn bucket(name: impl Into<String>) -> Result<Self, StoreError> {
        Self::new(name.into(), "/vectorBucketName", "Invalid vector bucket name")
    }

    /// The name of an index.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`] for `indexName`.
    pub fn index(name: impl Into<String>) -> Result<Self, StoreError> {
        Self::new(name.into(), "/indexName", "Invalid index name")
    }

    fn new(name: String, field: &str, refusal: &'static str) -> Result<Self, StoreError> {
        // Before its length, which would hide the mistake.
        if name.starts_with("arn:") {
            let message = "an ARN belongs into vectorBucketArn or indexArn";
            return Err(StoreError::sentence(field, refusal, message));
        }
        let characters = name.chars().count();
        if !(3..=63).contains(&characters) {
            return Err(StoreError::wrong_length(field, characters, &(3..=63)));
        }
        match is_name(&name) {
            true => Ok(Self(name)),
            false => Err(StoreError::sentence(
                field,
                refusal,
                "a name has 3 to 63 lower-case letters, digits, hyphens and dots, and begins and \
                 ends with a letter or digit",
            )),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VectorName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_outer = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.first().is_some_and(is_outer)
        && bytes.last().is_some_and(is_outer)
        && bytes.iter().all(|byte| is_outer(byte) || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_pattern_of_their_arns() {
        let long = "x".repeat(64);
        for name in ["abc", "a-b", "a.b", "1-2", &long[1..]] {
            assert!(VectorName::bucket(name).is_ok(), "{name}");
        }
        for name in ["", "ab", "Abc", "-ab", "ab-", "a_b", "äbc", "a/b", &long] {
            let error = VectorName::index(name).expect_err(name);
            assert!(
                matches!(&error, StoreError::InvalidField { path, .. } if path == "/indexName")
            );
        }
    }
}
