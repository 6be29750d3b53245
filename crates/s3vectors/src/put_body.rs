//! Parses the body of PutVectors.

use liteio_store::StoreError;
use liteio_store::invalid_field::pointer;
use liteio_store::limits::PUT_VECTORS_MAX;
use liteio_store::vectors::{Metadata, NewVectors};
use serde_json::Value;

use super::error::{ApiResult, Exception};
use super::fields::{Fields, Others, TreeError, tree};
use super::reader::{Reader, TREE_VALUES_MAX, value_count_bound};
use super::{document, elements};

/// Limit of JSON values in the metadata of all vectors of a request: forty for each of the metadata
/// keys that they can have. A value takes up to 32 bytes in memory until it is stored, but as
/// little as two bytes in the body.
const METADATA_VALUES_MAX: usize = 8 * TREE_VALUES_MAX;

/// The vectors of a request, and the fields that identify the index.
pub(super) struct PutBody {
    pub(super) fields: Fields,
    pub(super) vectors: NewVectors,
}

impl PutBody {
    pub(super) fn parse(body: &[u8]) -> ApiResult<PutBody> {
        let mut others = Others::default();
        let mut vectors = None;
        let mut reader = Reader::new(body);
        reader.object(String::new, |reader, name| {
            if name == "vectors" {
                vectors = Some(parse_vectors(reader)?);
                return Ok(());
            }
            others.take(reader, name)
        })?;
        reader.end()?;
        let fields = others.into_fields();
        let vectors = fields.require("vectors", vectors)?;
        Ok(PutBody { fields, vectors })
    }
}

fn parse_vectors(reader: &mut Reader<'_>) -> ApiResult<NewVectors> {
    let mut vectors = NewVectors::default();
    let mut metadata_values = 0;
    if reader.value()? != b'[' {
        return Err(Exception::field("/vectors", "it is not a list"));
    }
    let mut count = 0;
    reader.list(|reader, position| {
        count = position + 1;
        if count > PUT_VECTORS_MAX {
            // They are counted only.
            return reader.skip(|| path_of(position)).map(drop);
        }
        let start = reader.rest();
        parse_vector(reader, position, &mut vectors, &mut metadata_values)?;
        if position == 0 {
            // Preallocation: the other vectors are probably as long as the first one, in text and
            // in elements.
            let others = (reader.rest() / (start - reader.rest()).max(1)).min(PUT_VECTORS_MAX - 1);
            let elements = vectors.elements.len() * others;
            vectors.elements.reserve_exact(elements + elements / 32);
        }
        Ok(())
    })?;
    match count > PUT_VECTORS_MAX {
        true => {
            let range = 1..=PUT_VECTORS_MAX as u64;
            Err(StoreError::wrong_length("/vectors", count, &range).into())
        }
        false => Ok(vectors),
    }
}

/// The path of a vector in the request.
fn path_of(position: usize) -> String {
    format!("/vectors/{position}")
}

fn parse_vector(
    reader: &mut Reader<'_>,
    position: usize,
    vectors: &mut NewVectors,
    metadata_values: &mut usize,
) -> ApiResult<()> {
    let path = |field: &str| format!("{}{field}", path_of(position));
    if reader.value()? != b'{' {
        return Err(Exception::field(path(""), "it is not an object"));
    }
    let (mut key, mut metadata, mut has_elements) = (None, Metadata::default(), None);
    reader.object(
        || path(""),
        |reader, name| {
            match (name, reader.value()?) {
                ("key", b'"') => key = Some(reader.string()?),
                ("key", _) => return Err(Exception::field(path("/key"), "it is not a string")),
                ("data", b'{') => {
                    let elements = &mut vectors.elements;
                    has_elements = Some(elements::read(reader, || path("/data"), elements)?);
                }
                ("data", _) => return Err(Exception::field(path("/data"), "it is not an object")),
                ("metadata", _) => {
                    let text = reader.skip(|| path("/metadata"))?;
                    *metadata_values += value_count_bound(text);
                    if *metadata_values > METADATA_VALUES_MAX {
                        let message = format!(
                            "the metadata of all vectors has more than {METADATA_VALUES_MAX} values"
                        );
                        return Err(Exception::field(path("/metadata"), message));
                    }
                    let value = tree(text)
                        .map_err(|error| wrong_metadata(text, &path("/metadata"), &error))?;
                    metadata = match value {
                        Value::Null => Metadata::default(),
                        Value::Object(map) => document::metadata(map),
                        _ => {
                            return Err(Exception::field(path("/metadata"), "it is not an object"));
                        }
                    };
                }
                _ => reader.pass_over(|| pointer(&path(""), name))?,
            }
            Ok(())
        },
    )?;
    let required = |field| StoreError::required(path(field));
    match has_elements {
        Some(true) => {}
        Some(false) => return Err(required("/data/float32").into()),
        None => return Err(required("/data").into()),
    }
    vectors.keys.push(key.ok_or_else(|| required("/key"))?);
    vectors.metadata.push(metadata);
    vectors.ends.push(vectors.elements.len());
    Ok(())
}

/// The error for metadata that is not valid JSON or repeats a key. It names the key of the invalid
/// value, if the object can be parsed that far.
fn wrong_metadata(text: &[u8], path: &str, error: &TreeError) -> Exception {
    let mut wrong = None;
    if !matches!(error, TreeError::TooManyValues) {
        let read = Reader::new(text).object(
            || path.to_owned(),
            |reader, key| {
                let value = reader.skip(String::new)?;
                if let (None, Err(error)) = (&wrong, tree(value)) {
                    wrong = Some(Exception::field(pointer(path, key), error.to_string()));
                }
                Ok(())
            },
        );
        // Any other error ends the search for the key: the text is not an object, or is cut off.
        if matches!(error, TreeError::Ambiguous(_)) {
            wrong = wrong.or(read.err());
        }
    }
    wrong.unwrap_or_else(|| Exception::field(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_in_any_order_of_fields() {
        let body = r#" {"vectors":[
            {"key":"a","data":{"float32":[1,-2.5e0]},"metadata":{"k":[1,"x"]},"other":{"x":[]}},
            {"metadata":null,"data":{"float32":[]},"key":"\u00fc"}],
            "indexName":"films","vectorBucketName":"media"} "#;
        let mut parsed = PutBody::parse(body.as_bytes()).expect("valid");
        assert_eq!(parsed.vectors.keys, ["a", "ü"]);
        assert_eq!(parsed.vectors.elements, [1.0, -2.5]);
        assert_eq!(parsed.vectors.ends, [2, 2]);
        assert!(parsed.vectors.metadata[0].get("k").is_some());
        assert_eq!(parsed.fields.string("indexName").expect("text").as_deref(), Some("films"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let rows = [
            (r#"{"vectors":1}"#, "'/vectors'"),
            (r"{}", "'/vectors'"),
            (r#"{"vectors":[1]}"#, "'/vectors/0'"),
            (r#"{"vectors":[{"data":{"float32":[1]}}]}"#, "'/vectors/0/key'"),
            (r#"{"vectors":[{"key":1}]}"#, "'/vectors/0/key'"),
            (r#"{"vectors":[{"key":"a"}]}"#, "'/vectors/0/data'"),
            (r#"{"vectors":[{"key":"a","data":{}}]}"#, "'/vectors/0/data/float32'"),
            (r#"{"vectors":[{"key":"a","data":[]}]}"#, "'/vectors/0/data'"),
            (r#"{"vectors":[{"key":"a","data":{"float32":[1,"x"]}}]}"#, "data/float32/1'"),
            (r#"{"vectors":[{"key":"a","data":{"float32":{}}}]}"#, "'/vectors/0/data/float32'"),
            (r#"{"vectors":[{"key":"a","data":{"float32":[1]},"metadata":[]}]}"#, "metadata'"),
            (r#"{"vectors":[{"key":"a","data":{"float32":[01,1]}}]}"#, "data/float32/0'"),
            (r#"{"vectors":[{"key":"a","data":{"float32":[1,]}}]}"#, "data/float32/1'"),
            (r#"{"vectors":[{"key":"a","data":{"float32":[1 2]}}]}"#, "not valid JSON"),
            (r#"{"vectors":[{"key":"a","metadata":{"x":1,"y":1e400}}]}"#, "metadata/y'"),
            (r#"{"vectors":[{"key":"a","metadata":{"x":[NaN],"y":1e400}}]}"#, "metadata/x'"),
            (r#"{"vectors":[{"key":"a","metadata":{"x":-Infinity}}]}"#, "JSON has no -Infinity"),
            (r#"{"vectors":[{"key":"a","metadata":{"x":1,"y":"\ud800"}}]}"#, "metadata/y'"),
            (r#"{"vectors":[{"key":"a","metadata":{"\ud800":1}}]}"#, "half of a surrogate pair"),
            (r#"{"vectors":[{"key":"\udcff"}]}"#, "half of a surrogate pair"),
            (r#"{"vectors":[{"key":"a","metadata":{"x":1,,}}]}"#, "metadata'"),
            (r#"{"vectors":[{"key":"a","other":[1,,2]}]}"#, "not valid JSON"),
            (r#"{"vectors":[{"key":"a","other":[1:2]}]}"#, "not valid JSON"),
            (r#"{"vectors":[{"key":"a","other":tru}]}"#, "not valid JSON"),
            (r#"{"vectors":[{"key":"a","data":{"other":{"x" 1}}}]}"#, "not valid JSON"),
            (r#"{"vectors":["#, "not valid JSON"),
            (r#"{"vectors":[]} x"#, "not valid JSON"),
            ("[]", "not valid JSON"),
            ("", "not valid JSON"),
        ];
        for (body, expected) in rows {
            let error = PutBody::parse(body.as_bytes()).err().expect(body);
            assert!(format!("{error:?}").contains(expected), "{body}: {error:?}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let body = format!(r#"{{"vectors":[{{"key":"a","metadata":{{"x":{deep}}}}}]}}"#);
        assert!(PutBody::parse(body.as_bytes()).is_err());
    }
}
