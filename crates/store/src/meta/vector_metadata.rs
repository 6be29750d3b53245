//! Metadata of vectors: names with values. Part of records: a new kind of value goes to the
//! end of its enum.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A number. Whole numbers are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Number {
    /// A whole number.
    Integer(i128),
    /// Any other finite number.
    Float(f64),
}

impl Number {
    /// Compares by exact value, without rounding.
    #[must_use]
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left.cmp(&right),
            (Self::Integer(left), Self::Float(right)) => compare_whole(left, right),
            (Self::Float(left), Self::Integer(right)) => compare_whole(right, left).reverse(),
            // Adding 0 turns −0 into 0.
            (Self::Float(left), Self::Float(right)) => (left + 0.0).total_cmp(&(right + 0.0)),
        }
    }
}

/// Compares a whole number with a finite one.
fn compare_whole(whole: i128, float: f64) -> Ordering {
    // 2¹²⁷: from there on no whole number fits into 128 bits, and the cast would saturate.
    const END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float >= END {
        return Ordering::Less;
    }
    if float < -END {
        return Ordering::Greater;
    }
    let part = float.trunc() as i128;
    let rest = || 0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Less);
    whole.cmp(&part).then_with(rest)
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
    /// `true` if both are of one kind and equal, numbers by value.
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
    /// Anything else, in the caller's own notation. It is stored and never parsed, so only
    /// non-filterable keys may have it.
    Document(String),
}

impl MetadataValue {
    /// The scalars in it: one, or the elements of a list.
    #[must_use]
    pub fn scalars(&self) -> &[Scalar] {
        match self {
            Self::Scalar(scalar) => std::slice::from_ref(scalar),
            Self::List(scalars) => scalars,
            Self::Document(_) => &[],
        }
    }

    /// Size towards limits, in bytes: the length of texts, 8 for a number, 1 for a boolean.
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

    /// Size of keys and values towards limits, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(key, value)| key.len() + value.bytes()).sum()
    }
}

/// [`Metadata`] borrowed from the bytes of a record: one value is taken out without copying the
/// others.
#[derive(Debug, Deserialize)]
pub(crate) struct BorrowedMetadata<'a>(#[serde(borrow)] Vec<(&'a str, BorrowedValue<'a>)>);

/// [`MetadataValue`], borrowed.
#[derive(Debug, Deserialize)]
enum BorrowedValue<'a> {
    #[serde(borrow)]
    Scalar(BorrowedScalar<'a>),
    List(Vec<BorrowedScalar<'a>>),
    Document(&'a str),
}

/// [`Scalar`], borrowed.
#[derive(Debug, Deserialize)]
enum BorrowedScalar<'a> {
    String(&'a str),
    Number(Number),
    Boolean(bool),
}

impl BorrowedMetadata<'_> {
    /// The value of `key`.
    pub(crate) fn get(&self, key: &str) -> Option<MetadataValue> {
        let (_, value) = self.0.iter().find(|(name, _)| *name == key)?;
        Some(match value {
            BorrowedValue::Scalar(scalar) => MetadataValue::Scalar(scalar.to_owned()),
            BorrowedValue::List(list) => {
                MetadataValue::List(list.iter().map(BorrowedScalar::to_owned).collect())
            }
            BorrowedValue::Document(text) => MetadataValue::Document((*text).to_owned()),
        })
    }
}

impl BorrowedScalar<'_> {
    fn to_owned(&self) -> Scalar {
        match self {
            Self::String(text) => Scalar::String((*text).to_owned()),
            Self::Number(number) => Scalar::Number(*number),
            Self::Boolean(value) => Scalar::Boolean(*value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrowed_metadata_has_the_same_values() {
        let scalars = vec![
            Scalar::String("text".to_owned()),
            Scalar::Number(Number::Integer(-7)),
            Scalar::Number(Number::Float(0.5)),
            Scalar::Boolean(true),
        ];
        let mut fields: Vec<(String, MetadataValue)> = Vec::new();
        for (place, scalar) in scalars.iter().enumerate() {
            fields.push((format!("{place}"), MetadataValue::Scalar(scalar.clone())));
        }
        fields.push(("list".to_owned(), MetadataValue::List(scalars)));
        fields.push(("nothing".to_owned(), MetadataValue::List(Vec::new())));
        fields.push(("document".to_owned(), MetadataValue::Document("{}".to_owned())));
        let metadata = Metadata(fields);
        let bytes = crate::meta::record::append(&metadata, Vec::new());
        let borrowed: BorrowedMetadata<'_> = postcard::from_bytes(&bytes).expect("its own bytes");
        for (key, value) in &metadata.0 {
            assert_eq!(borrowed.get(key).as_ref(), Some(value));
        }
        assert_eq!(borrowed.get("other"), None);
    }

    #[test]
    fn numbers_are_compared_by_value_and_whole_ones_exactly() {
        let large = Number::Integer((1 << 53) + 1);
        assert!(large.compare(Number::Integer(1 << 53)).is_gt());
        assert!(Number::Integer(2).compare(Number::Float(2.0)).is_eq());
        assert!(Number::Float(-0.0).compare(Number::Integer(0)).is_eq());
        assert!(Number::Float(1.5).compare(Number::Integer(2)).is_lt());
        // In ascending order; their neighbours are the same as `f64`, or differ behind the point.
        let ascending = [
            Number::Float(f64::MIN),
            Number::Integer(i128::from(i64::MIN)),
            Number::Integer(-(1 << 53) - 1),
            Number::Float(-9_007_199_254_740_992.0),
            Number::Float(-2.5),
            Number::Integer(-2),
            Number::Float(-1.5),
            Number::Float(0.0),
            Number::Float(f64::from_bits(1)),
            Number::Integer(1),
            Number::Float(1.5),
            Number::Float(9_007_199_254_740_992.0),
            Number::Integer((1 << 53) + 1),
            Number::Integer(i128::from(i64::MAX)),
            Number::Float(9_223_372_036_854_775_808.0),
            Number::Integer((1 << 63) + 1),
            Number::Integer(i128::from(u64::MAX)),
            Number::Float(18_446_744_073_709_551_616.0),
            Number::Float(f64::MAX),
        ];
        for (place, number) in ascending.iter().enumerate() {
            for (other_place, other) in ascending.iter().enumerate() {
                let expected = place.cmp(&other_place);
                assert_eq!(number.compare(*other), expected, "{number:?}, {other:?}");
            }
        }
        assert!(Number::Integer(i128::MAX).compare(Number::Float(1e300)).is_lt());
        assert!(Number::Integer(i128::MIN).compare(Number::Float(-1e300)).is_gt());
        let equal = Number::Integer(1 << 60).compare(Number::Float((1_u64 << 60) as f64));
        assert!(equal.is_eq());
        let two = Scalar::Number(Number::Integer(2));
        assert!(two.equals(&Scalar::Number(Number::Float(2.0))));
        assert!(!two.equals(&Scalar::String("2".to_owned())));
    }
}
