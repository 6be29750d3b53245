//! Filters: conditions on the metadata of vectors, as a type.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::index::Index;
use crate::error::StoreError;
use crate::meta::vector::IndexMode;
use crate::meta::vector_metadata::{Metadata, MetadataValue, Number, Scalar};

/// Condition on the metadata of the vectors that a query may return.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// Vectors that all of these filters accept; without filters, every vector.
    All(Vec<Filter>),
    /// Vectors that any of these filters accepts.
    Any(Vec<Filter>),
    /// Vectors whose value of a metadata key meets a condition.
    Key {
        /// The key.
        key: String,
        /// Condition on its value.
        condition: Condition,
    },
}

/// Condition on the value of a metadata key. A list meets it if any of its elements does.
/// [`Condition::NotEqual`] and [`Condition::NotIn`] are the negations of `Equal` and `In`, so no
/// element of the list may be among their values.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// This value.
    Equal(Scalar),
    /// Not this value, or no value at all.
    NotEqual(Scalar),
    /// A number in this relation to another one.
    Number(Relation, Number),
    /// One of these values.
    In(Vec<Scalar>),
    /// None of these values, or no value at all.
    NotIn(Vec<Scalar>),
    /// A text with this prefix, byte for byte. Only with [`IndexMode::Enhanced`].
    StartsWith(String),
    /// Existence of a value.
    Exists(bool),
}

/// The order of a value and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Greater than the number.
    Greater,
    /// Greater than the number or the same.
    GreaterOrEqual,
    /// Less than the number.
    Less,
    /// Less than the number or the same.
    LessOrEqual,
}

impl Relation {
    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
        }
    }
}

impl Condition {
    /// `true` when a value, or its absence, meets the condition.
    #[must_use]
    pub fn matches(&self, value: Option<&MetadataValue>) -> bool {
        let scalars = value.map_or(&[][..], MetadataValue::scalars);
        let is_one_of = |wanted: &[Scalar]| {
            scalars.iter().any(|scalar| wanted.iter().any(|wanted| wanted.equals(scalar)))
        };
        match self {
            Self::Equal(wanted) => is_one_of(std::slice::from_ref(wanted)),
            Self::NotEqual(wanted) => !is_one_of(std::slice::from_ref(wanted)),
            Self::In(wanted) => is_one_of(wanted),
            Self::NotIn(wanted) => !is_one_of(wanted),
            Self::Number(relation, number) => scalars.iter().any(|scalar| match scalar {
                Scalar::Number(found) => relation.holds(found.compare(*number)),
                _ => false,
            }),
            Self::StartsWith(prefix) => scalars.iter().any(|scalar| match scalar {
                Scalar::String(found) => found.starts_with(prefix),
                _ => false,
            }),
            Self::Exists(wanted) => value.is_some() == *wanted,
        }
    }
}

impl Filter {
    /// `true` when the filter accepts a vector with this metadata.
    #[must_use]
    pub fn matches(&self, metadata: &Metadata) -> bool {
        match self {
            Self::All(filters) => filters.iter().all(|filter| filter.matches(metadata)),
            Self::Any(filters) => filters.iter().any(|filter| filter.matches(metadata)),
            Self::Key { key, condition } => condition.matches(metadata.get(key)),
        }
    }

    /// The metadata keys in the filter, sorted, each once.
    pub(crate) fn keys(&self) -> BTreeSet<&str> {
        match self {
            Self::All(filters) | Self::Any(filters) => {
                filters.iter().flat_map(Self::keys).collect()
            }
            Self::Key { key, .. } => BTreeSet::from([key.as_str()]),
        }
    }

    /// Refuses non-filterable keys, and conditions that `mode` does not support.
    pub(crate) fn check(&self, index: &Index, mode: IndexMode) -> Result<(), StoreError> {
        match self {
            Self::All(filters) | Self::Any(filters) => {
                filters.iter().try_for_each(|filter| filter.check(index, mode))
            }
            Self::Key { key, .. } if !index.is_filterable(key) => {
                Err(StoreError::non_filterable("/filter", key))
            }
            Self::Key { key, condition: Condition::StartsWith(_) }
                if mode == IndexMode::Classic =>
            {
                let message = format!("$startsWith, of the key {key:?}, needs the ENHANCED mode");
                Err(StoreError::filter("/filter", message))
            }
            Self::Key { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Scalar {
        Scalar::String(text.to_owned())
    }

    fn number(number: i128) -> Scalar {
        Scalar::Number(Number::Integer(number))
    }

    #[test]
    fn conditions_look_at_any_element_of_a_list_and_know_missing_values() {
        let list = MetadataValue::List(vec![text("a"), text("Été"), number(5)]);
        let two = MetadataValue::Scalar(number(2));
        let starts = |with: &str| Condition::StartsWith(with.to_owned());
        let more = |than| Condition::Number(Relation::Greater, Number::Integer(than));
        // Condition, and whether it allows the list, the number 2, and nothing.
        let rows = [
            (Condition::Equal(text("a")), [true, false, false]),
            (Condition::Equal(Scalar::Number(Number::Float(2.0))), [false, true, false]),
            (Condition::NotEqual(text("a")), [false, true, true]),
            (Condition::In(vec![text("b"), number(5)]), [true, false, false]),
            (Condition::NotIn(vec![text("b"), number(2)]), [true, false, true]),
            (more(2), [true, false, false]),
            (more(1), [true, true, false]),
            (Condition::Number(Relation::LessOrEqual, Number::Float(2.0)), [false, true, false]),
            (starts("Ét"), [true, false, false]),
            (starts("ét"), [false, false, false]),
            (starts("té"), [false, false, false]),
            (starts("a much longer text"), [false, false, false]),
            (starts("2"), [false, false, false]),
            (starts(""), [true, false, false]),
            (Condition::Exists(true), [true, true, false]),
            (Condition::Exists(false), [false, false, true]),
        ];
        for (condition, expected) in rows {
            let found = [Some(&list), Some(&two), None].map(|value| condition.matches(value));
            assert_eq!(found, expected, "{condition:?}");
        }
    }

    #[test]
    fn filters_are_combined() {
        let year = MetadataValue::Scalar(number(1999));
        let metadata = Metadata(vec![("year".to_owned(), year)]);
        let is = |year| Filter::Key {
            key: "year".to_owned(),
            condition: Condition::Equal(number(year)),
        };
        assert!(Filter::Any(vec![is(1998), is(1999)]).matches(&metadata));
        assert!(!Filter::All(vec![is(1998), is(1999)]).matches(&metadata));
        assert!(Filter::All(Vec::new()).matches(&metadata));
    }
}
