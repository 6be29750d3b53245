//! What is kept beside a vector: names with values. Part of records: a new kind of value goes to the
//! end of its enum.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A number, whole ones exactly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Number {
    /// A whole number.
    Integer(i128),
    /// Any other; finite.
    Float(f64),
}

impl Number {
    /// Compares by value, whole numbers exactly.
    #[must_use]
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left.cmp(&right),
            (left, right) => left.as_f64().total_cmp(&right.as_f64()),
        }
    }

    /// The nearest floating point number. Never −0.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Float(number) => number + 0.0,
        }
    }
}

/// A value without parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Scalar {
    /// Text.
    String(String),
    /// A number.
    Number(Number),
    /// Yes or no.
    Boolean(bool),
}

impl Scalar {
    /// Whether both are the same: of one kind, and numbers by value.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => left.compare(*right).is_eq(),
            (left, right) => left == right,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::String(text) => text.len(),
            Self::Number(_) => 8,
            Self::Boolean(_) => 1,
        }
    }
}

/// The value of a metadata key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MetadataValue {
    /// A single value.
    Scalar(Scalar),
    /// Some values.
    List(Vec<Scalar>),
    /// Anything else, in the caller's own notation. It is kept and never looked into, so only
    /// non-filterable keys may have it.
    Document(String),
}

impl MetadataValue {
    /// The values that it holds: one, or those of the list.
    #[must_use]
    pub fn scalars(&self) -> &[Scalar] {
        match self {
            Self::Scalar(scalar) => std::slice::from_ref(scalar),
            Self::List(scalars) => scalars,
            Self::Document(_) => &[],
        }
    }

    /// What it counts for limits: texts their bytes, numbers 8, booleans 1.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Document(text) => text.len(),
            value => value.scalars().iter().map(Scalar::bytes).sum(),
        }
    }
}

/// The metadata of a vector: every key once, in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata(pub Vec<(String, MetadataValue)>);

impl Metadata {
    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&MetadataValue> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// What it counts for limits: keys and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(key, value)| key.len() + value.bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value_and_whole_ones_exactly() {
        let large = Number::Integer((1 << 53) + 1);
        assert!(large.compare(Number::Integer(1 << 53)).is_gt());
        assert!(Number::Integer(2).compare(Number::Float(2.0)).is_eq());
        assert!(Number::Float(-0.0).compare(Number::Integer(0)).is_eq());
        assert!(Number::Float(1.5).compare(Number::Integer(2)).is_lt());
        let two = Scalar::Number(Number::Integer(2));
        assert!(two.equals(&Scalar::Number(Number::Float(2.0))));
        assert!(!two.equals(&Scalar::String("2".to_owned())));
    }
}
