//! Parses the body of QueryVectors.

use liteio_store::StoreError;

use super::elements;
use super::error::{ApiResult, Exception};
use super::fields::{Fields, Others};
use super::reader::Reader;

/// The vector of a query, and its other fields. The vector is parsed like the vectors of
/// PutVectors: equal text gives equal elements, and an element that is not a number is reported by
/// its position.
pub(super) struct QueryBody {
    pub(super) fields: Fields,
    pub(super) vector: Option<Vec<f32>>,
}

impl QueryBody {
    /// Parses a body; an empty one has no fields.
    pub(super) fn parse(body: &[u8]) -> ApiResult<QueryBody> {
        let mut others = Others::default();
        let mut vector = None;
        if !body.is_empty() {
            let mut reader = Reader::new(body);
            reader.object(String::new, |reader, name| {
                if name != "queryVector" {
                    return others.take(reader, name);
                }
                vector = read_vector(reader)?;
                Ok(())
            })?;
            reader.end()?;
        }
        Ok(QueryBody { fields: others.into_fields(), vector })
    }
}

fn read_vector(reader: &mut Reader<'_>) -> ApiResult<Option<Vec<f32>>> {
    let path = || "/queryVector".to_owned();
    match reader.value()? {
        b'{' => {
            let mut elements = Vec::new();
            match elements::read(reader, path, &mut elements)? {
                true => Ok(Some(elements)),
                false => Err(StoreError::required("/queryVector/float32").into()),
            }
        }
        b'n' => reader.pass_over(path).map(|()| None),
        _ => Err(Exception::field(path(), "it is not an object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_is_read_wherever_it_stands_and_other_fields_are_kept() {
        let rows: [(&str, Option<&[f32]>); 5] = [
            (r#"{"topK":3,"queryVector":{"float32":[1,-2.5e0]}}"#, Some(&[1.0, -2.5])),
            (r#"{"queryVector":{"x":[{}],"float32":[0.1]},"topK":3}"#, Some(&[0.1])),
            (r#"{"queryVector":{"float32":[]},"topK":3}"#, Some(&[])),
            (r#"{"topK":3,"queryVector":null}"#, None),
            (r#"{"topK":3}"#, None),
        ];
        for (body, expected) in rows {
            let mut parsed = QueryBody::parse(body.as_bytes()).expect(body);
            assert_eq!(parsed.vector.as_deref(), expected, "{body}");
            assert_eq!(parsed.fields.number("topK", 1..=9).expect("a number"), Some(3), "{body}");
        }
        let infinite = QueryBody::parse(br#"{"queryVector":{"float32":[1e400,-Infinity,NaN]}}"#);
        let elements = infinite.expect("numbers of a kind").vector.expect("a vector");
        assert!(elements.iter().all(|element| !element.is_finite()), "{elements:?}");
        assert_eq!(QueryBody::parse(b"").expect("nothing").vector, None);
    }

    #[test]
    fn many_fields_have_no_more_values_than_one() {
        let list = vec!["0"; 60_000].join(",");
        let body = |fields: &str| {
            let fields = fields.split(' ').map(|name| format!(r#""{name}":[{list}]"#));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        };
        assert!(QueryBody::parse(body("a b").as_bytes()).is_ok());
        let error = QueryBody::parse(body("a b c").as_bytes()).err().expect("too many");
        assert!(format!("{error:?}").contains("131072 JSON values"), "{error:?}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let rows = [
            (r#"{"queryVector":{}}"#, "'/queryVector/float32'"),
            (r#"{"queryVector":{"float32":null}}"#, "'/queryVector/float32'"),
            (r#"{"queryVector":{"float32":[1,"x"]}}"#, "'/queryVector/float32/1'"),
            (r#"{"queryVector":{"float32":[nan]}}"#, "'/queryVector/float32/0'"),
            (r#"{"queryVector":[1]}"#, "'/queryVector'"),
            (r#"{"queryVector":nothing}"#, "not valid JSON"),
            (r#"{"queryVector":{"float32":[1]}"#, "not valid JSON"),
            (r#"{"topK":01}"#, "not valid JSON"),
            (r#"{"topK":1} {}"#, "not valid JSON"),
            (r#"{"filter":{"n":1e400}}"#, "'/filter'"),
            (r#"{"filter":{"n":1e400,}}"#, "not valid JSON"),
            (r#"{"filter":{"n":NaN}}"#, "'/filter': JSON has no NaN: leave the key out"),
            (r#"{"filter":{"n":"\ud800x"}}"#, "'/filter': a text has half of a surrogate pair"),
            ("[]", "not valid JSON"),
        ];
        for (body, expected) in rows {
            let error = QueryBody::parse(body.as_bytes()).err().expect(body);
            assert!(format!("{error:?}").contains(expected), "{body}: {error:?}");
        }
    }
}
