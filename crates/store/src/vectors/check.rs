//! Checks of vectors and their metadata, before anything is stored.

use std::collections::HashSet;

use super::put::NewVectors;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::invalid_field::pointer;
use crate::limits::{
    FILTERABLE_BYTES_MAX, METADATA_BYTES_MAX, METADATA_KEY_CHARACTERS_MAX, METADATA_KEYS_MAX,
    PUT_VECTORS_MAX, VECTOR_KEY_CHARACTERS_MAX,
};
use crate::meta::vector::DistanceMetric;
use crate::meta::vector_metadata::{Metadata, MetadataValue, Number, Scalar};

/// Checks a metadata key of the configuration of an index; `path` says where it is.
pub(super) fn metadata_key(key: &str, path: impl Fn() -> String) -> Result<(), StoreError> {
    length(key.chars().count(), METADATA_KEY_CHARACTERS_MAX, path)
}

/// Checks the key of a vector.
pub(super) fn vector_key(key: &str, path: impl Fn() -> String) -> Result<(), StoreError> {
    length(key.chars().count(), VECTOR_KEY_CHARACTERS_MAX, path)
}

/// Checks the number of vectors or keys of one request.
pub(super) fn count(count: usize, count_max: usize, path: &str) -> Result<(), StoreError> {
    length(count, count_max, || path.to_owned())
}

fn length(length: usize, max: usize, path: impl Fn() -> String) -> Result<(), StoreError> {
    match (1..=max).contains(&length) {
        true => Ok(()),
        false => Err(StoreError::wrong_length(path(), length, &(1..=max as u64))),
    }
}

/// Checks a whole request, before anything of it is stored.
pub(super) fn new_vectors(vectors: &NewVectors, index: &Index) -> Result<(), StoreError> {
    count(vectors.keys.len(), PUT_VECTORS_MAX, "/vectors")?;
    let mut seen = HashSet::with_capacity(vectors.keys.len());
    for (position, key) in vectors.keys.iter().enumerate() {
        vector_key(key, || format!("/vectors/{position}/key"))?;
        if !seen.insert(key) {
            let message = format!("the key {key:?} is there twice");
            return Err(StoreError::field(format!("/vectors/{position}/key"), message));
        }
    }
    let mut start = 0;
    for (position, (key, end)) in vectors.keys.iter().zip(&vectors.ends).enumerate() {
        if let Some(wrong) = wrong_elements(&vectors.elements[start..*end], index) {
            let path = wrong.path(&format!("/vectors/{position}/data/float32"));
            return Err(StoreError::record(path, key, wrong.message));
        }
        start = *end;
    }
    for (position, (key, given)) in vectors.keys.iter().zip(&vectors.metadata).enumerate() {
        if let Some(wrong) = wrong_metadata(given, index) {
            let path = wrong.path(&format!("/vectors/{position}/metadata"));
            return Err(StoreError::record(path, key, wrong.message));
        }
    }
    Ok(())
}

/// The fault of a vector or of its metadata.
pub(super) struct Wrong {
    /// The element, or the metadata key; `None` for the whole.
    member: Option<String>,
    /// The violated rule.
    pub(super) message: String,
}

impl Wrong {
    fn whole(message: impl Into<String>) -> Option<Self> {
        Some(Self { member: None, message: message.into() })
    }

    fn member(member: impl Into<String>, message: impl Into<String>) -> Option<Self> {
        Some(Self { member: Some(member.into()), message: message.into() })
    }

    /// The path of the fault in a value at `path`.
    pub(super) fn path(&self, path: &str) -> String {
        self.member.as_ref().map_or_else(|| path.to_owned(), |member| pointer(path, member))
    }
}

/// The fault of a vector for an index: its dimension, an element that is not finite, or the norm
/// zero where distances are cosine.
pub(super) fn wrong_elements(vector: &[f32], index: &Index) -> Option<Wrong> {
    if vector.len() != index.dimension as usize {
        let (dimension, length) = (index.dimension, vector.len());
        return Wrong::whole(format!(
            "vector must have length {dimension}, but has length {length}"
        ));
    }
    if !vector.iter().fold(true, |all, element| all & element.is_finite()) {
        let element = vector.iter().position(|element| !element.is_finite()).unwrap_or(0);
        let message = format!("element {element} is not a finite 32-bit floating point number");
        return Wrong::member(element.to_string(), message);
    }
    if index.metric == DistanceMetric::Cosine && vector.iter().all(|element| *element == 0.0) {
        return Wrong::whole("cosine distance does not support vectors with zero norm");
    }
    None
}

fn wrong_metadata(metadata: &Metadata, index: &Index) -> Option<Wrong> {
    if metadata.0.len() > METADATA_KEYS_MAX {
        return Wrong::whole(format!("Metadata object must have at most {METADATA_KEYS_MAX} keys"));
    }
    let (mut filterable, mut total) = (0, 0);
    let (mut largest, mut largest_filterable): ((usize, &str), (usize, &str)) = ((0, ""), (0, ""));
    for (key, value) in &metadata.0 {
        let characters = key.chars().count();
        if !(1..=METADATA_KEY_CHARACTERS_MAX).contains(&characters) {
            return Wrong::member(
                key,
                format!(
                    "a metadata key has 1 to {METADATA_KEY_CHARACTERS_MAX} characters, not \
                     {characters}"
                ),
            );
        }
        let bytes = key.len() + value.bytes();
        total += bytes;
        largest = largest.max((bytes, key.as_str()));
        let is_finite = |scalar: &Scalar| !matches!(scalar, Scalar::Number(Number::Float(number)) if !number.is_finite());
        if !value.scalars().iter().all(is_finite) {
            let message = format!("a number of the metadata key {key:?} is not finite");
            return Wrong::member(key, message);
        }
        if !index.is_filterable(key) {
            continue;
        }
        filterable += bytes;
        largest_filterable = largest_filterable.max((bytes, key.as_str()));
        if let MetadataValue::Document(text) = value {
            let found = found(text);
            let message = format!(
                "the value of the filterable metadata key {key:?} is not a string, a number, a \
                 boolean or a list of these, but {found}"
            );
            return Wrong::member(key, message);
        }
    }
    if total > METADATA_BYTES_MAX {
        let (bytes, key) = largest;
        return Wrong::whole(format!(
            "Metadata must have at most {METADATA_BYTES_MAX} bytes, but has {total}: {key:?} has {bytes}"
        ));
    }
    if filterable > FILTERABLE_BYTES_MAX {
        let (bytes, key) = largest_filterable;
        return Wrong::whole(format!(
            "Filterable metadata must have at most {FILTERABLE_BYTES_MAX} bytes: {key:?} has {bytes}; \
             only a new index can name it in nonFilterableMetadataKeys"
        ));
    }
    None
}

/// The kind of a JSON value that is neither a scalar nor a list of scalars; of a list the first element that is no scalar.
fn found(text: &str) -> String {
    let kind = |first: u8| match first {
        b'n' => "null",
        b'{' => "an object",
        _ => "a list",
    };
    let first = text.bytes().next().unwrap_or_default();
    if first != b'[' {
        return kind(first).to_owned();
    }
    let (mut element, mut is_text, mut is_escaped) = (0, false, false);
    for byte in text.bytes().skip(1) {
        if is_text {
            is_text = byte != b'"' || is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b',' => element += 1,
            // No number, `true` or `false` has an n.
            b'n' | b'{' | b'[' => {
                return format!("a list whose element {element} is {}", kind(byte));
            }
            _ => {}
        }
    }
    kind(first).to_owned()
}

#[cfg(test)]
mod tests {
    use super::found;

    #[test]
    fn the_first_element_that_is_no_scalar_is_found() {
        let rows = [
            ("null", "null"),
            (r#"{"a":[1]}"#, "an object"),
            ("[null]", "a list whose element 0 is null"),
            (r#"[1.5e3,true,false,{"a":1},null]"#, "a list whose element 3 is an object"),
            (r#"["a,n]","\"[,\\",[2]]"#, "a list whose element 2 is a list"),
        ];
        for (text, expected) in rows {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
