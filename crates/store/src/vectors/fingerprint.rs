//! Fingerprint of a query: a hash for the tokens of its pages.

use crc_fast::CrcAlgorithm::Crc64Nvme;

use super::query::{QueryText, VectorQuery};
use crate::indexes::filter::{Condition, Filter, Relation};
use crate::meta::vector::IndexMode;
use crate::meta::vector_metadata::{Number, Scalar};

impl VectorQuery {
    /// Hash of everything that determines the results and their order. The position of the page and
    /// the requested parts of the results are not included. It is the same on every platform, and
    /// in every version of the program until the fields of queries change, so clients may keep it
    /// in tokens. It is not cryptographic: another query with the same hash can be constructed.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        // Every field by name, so that a new one cannot be forgotten here.
        let Self { vector, texts, top_k, filter, mode, with_metadata: _, with_scores: _, after: _ } =
            self;
        let mut bytes = Bytes::default();
        bytes.option(vector.as_deref(), Bytes::elements);
        bytes.list(texts, |bytes, QueryText { key, text }| {
            bytes.text(key);
            bytes.text(text);
        });
        bytes.number(*top_k as u64);
        bytes.option(filter.as_ref(), Bytes::filter);
        bytes.option(mode.as_ref(), |bytes, mode| {
            bytes.tag(match mode {
                IndexMode::Classic => 0,
                IndexMode::Enhanced => 1,
            });
        });
        crc_fast::checksum(Crc64Nvme, &bytes.0)
    }
}

/// The bytes to hash. Every part is a tag, has a fixed length, or begins with its length, so no two
/// queries have the same bytes.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn tag(&mut self, tag: u8) {
        self.0.push(tag);
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn elements(&mut self, elements: &[f32]) {
        self.number(elements.len() as u64);
        self.0.reserve(size_of_val(elements));
        for element in elements {
            self.0.extend_from_slice(&element.to_le_bytes());
        }
    }

    fn option<T: ?Sized>(&mut self, value: Option<&T>, write: impl FnOnce(&mut Self, &T)) {
        self.tag(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn list<T>(&mut self, values: &[T], write: impl Fn(&mut Self, &T)) {
        self.number(values.len() as u64);
        values.iter().for_each(|value| write(self, value));
    }

    fn filter(&mut self, filter: &Filter) {
        match filter {
            Filter::All(filters) => {
                self.tag(0);
                self.list(filters, Self::filter);
            }
            Filter::Any(filters) => {
                self.tag(1);
                self.list(filters, Self::filter);
            }
            Filter::Key { key, condition } => {
                self.tag(2);
                self.text(key);
                self.condition(condition);
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Equal(value) => {
                self.tag(0);
                self.scalar(value);
            }
            Condition::NotEqual(value) => {
                self.tag(1);
                self.scalar(value);
            }
            Condition::Number(relation, value) => {
                self.tag(match relation {
                    Relation::Greater => 2,
                    Relation::GreaterOrEqual => 3,
                    Relation::Less => 4,
                    Relation::LessOrEqual => 5,
                });
                self.value(*value);
            }
            Condition::In(values) => {
                self.tag(6);
                self.list(values, Self::scalar);
            }
            Condition::NotIn(values) => {
                self.tag(7);
                self.list(values, Self::scalar);
            }
            Condition::StartsWith(text) => {
                self.tag(8);
                self.text(text);
            }
            Condition::Exists(exists) => self.tag(9 + u8::from(*exists)),
        }
    }

    fn scalar(&mut self, scalar: &Scalar) {
        match scalar {
            Scalar::String(text) => {
                self.tag(0);
                self.text(text);
            }
            Scalar::Number(number) => {
                self.tag(1);
                self.value(*number);
            }
            Scalar::Boolean(value) => self.tag(2 + u8::from(*value)),
        }
    }

    fn value(&mut self, number: Number) {
        match number {
            Number::Integer(whole) => {
                self.tag(0);
                self.0.extend_from_slice(&whole.to_le_bytes());
            }
            Number::Float(value) => {
                self.tag(1);
                self.number(value.to_bits());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn query() -> VectorQuery {
        let key = |condition| Filter::Key { key: "k".to_owned(), condition };
        let number = |value| Scalar::Number(Number::Float(value));
        let filter = Filter::All(vec![
            key(Condition::Number(Relation::Less, Number::Integer(-7))),
            Filter::Any(vec![key(Condition::In(vec![number(0.5), Scalar::Boolean(true)]))]),
            key(Condition::StartsWith("ü".to_owned())),
        ]);
        let text = QueryText { key: "title".to_owned(), text: "alien".to_owned() };
        VectorQuery {
            vector: Some(vec![1.0, -0.5, 3.25e-7]),
            texts: vec![text],
            top_k: 30,
            filter: Some(filter),
            mode: Some(IndexMode::Enhanced),
            ..VectorQuery::default()
        }
    }

    #[test]
    fn the_hash_is_the_same_everywhere_and_for_every_page() {
        // Tokens of other processes carry them.
        assert_eq!(query().fingerprint(), 0xdde6_a2ae_17f5_9a3c);
        assert_eq!(VectorQuery::nearest(vec![0.25; 768], 10).fingerprint(), 0x0be5_20fa_211f_c32b);
        assert_eq!(VectorQuery::default().fingerprint(), 0x70b1_4846_e685_8be5);
        let other_results = VectorQuery { with_metadata: true, with_scores: true, ..query() };
        assert_eq!(other_results.fingerprint(), query().fingerprint());
    }

    #[test]
    fn other_queries_have_other_hashes() {
        let of_key = |condition| Some(Filter::Key { key: "k".to_owned(), condition });
        let texts = |pairs: &[(&str, &str)]| {
            let text = |(key, text): &(&str, &str)| QueryText {
                key: (*key).to_owned(),
                text: (*text).to_owned(),
            };
            pairs.iter().map(text).collect::<Vec<_>>()
        };
        let number = |number| Scalar::Number(number);
        let conditions = [
            Condition::Equal(Scalar::String(String::new())),
            Condition::Equal(number(Number::Integer(1))),
            Condition::Equal(number(Number::Float(1.0))),
            Condition::Equal(Scalar::Boolean(true)),
            Condition::Equal(Scalar::Boolean(false)),
            Condition::NotEqual(Scalar::Boolean(false)),
            Condition::Number(Relation::Greater, Number::Integer(1)),
            Condition::Number(Relation::GreaterOrEqual, Number::Integer(1)),
            Condition::Number(Relation::Less, Number::Integer(1)),
            Condition::Number(Relation::LessOrEqual, Number::Integer(1)),
            Condition::In(vec![]),
            Condition::In(vec![Scalar::Boolean(true)]),
            Condition::NotIn(vec![Scalar::Boolean(true)]),
            Condition::StartsWith(String::new()),
            Condition::Exists(true),
            Condition::Exists(false),
        ];
        let vectors = [vec![], vec![0.0], vec![-0.0], vec![0.0, 0.0], vec![f32::MIN_POSITIVE]];
        let mut queries: Vec<VectorQuery> = [
            VectorQuery { top_k: 1, ..VectorQuery::default() },
            VectorQuery { mode: Some(IndexMode::Classic), ..VectorQuery::default() },
            VectorQuery { mode: Some(IndexMode::Enhanced), ..VectorQuery::default() },
            VectorQuery { texts: texts(&[("a", "bc")]), ..VectorQuery::default() },
            VectorQuery { texts: texts(&[("ab", "c")]), ..VectorQuery::default() },
            VectorQuery { texts: texts(&[("a", "b"), ("", "c")]), ..VectorQuery::default() },
            VectorQuery { filter: Some(Filter::All(vec![])), ..VectorQuery::default() },
            VectorQuery { filter: Some(Filter::Any(vec![])), ..VectorQuery::default() },
            VectorQuery::default(),
            query(),
        ]
        .into();
        queries.extend(vectors.map(|vector| VectorQuery::nearest(vector, 0)));
        queries.extend(
            conditions.map(|it| VectorQuery { filter: of_key(it), ..VectorQuery::default() }),
        );
        let hashes: BTreeSet<u64> = queries.iter().map(VectorQuery::fingerprint).collect();
        assert_eq!(hashes.len(), queries.len());
    }
}
