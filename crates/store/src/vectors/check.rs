//! Checks of vectors and their metadata, before anything is stored.

use std::collections::HashSet;

use super::put::NewVectors;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::limits::{
    FILTERABLE_BYTES_MAX, METADATA_BYTES_MAX, METADATA_KEY_CHARACTERS_MAX, METADATA_KEYS_MAX,
    PUT_VECTORS_MAX, VECTOR_KEY_CHARACTERS_MAX,
};
use crate::meta::vector::DistanceMetric;
use crate::meta::vector_metadata::{Metadata, MetadataValue, Number, Scalar};

/// Checks a metadata key; `path` says where it is.
pub(super) fn metadata_key(key: &str, path: impl Fn() -> String) -> Result<(), StoreError> {
    let characters = key.chars().count();
    if (1..=METADATA_KEY_CHARACTERS_MAX).contains(&characters) {
        return Ok(());
    }
    let message = format!(
        "a metadata key has 1 to {METADATA_KEY_CHARACTERS_MAX} characters, not {characters}"
    );
    Err(StoreError::field(path(), message))
}

/// Checks the key of a vector.
pub(super) fn vector_key(key: &str, path: impl Fn() -> String) -> Result<(), StoreError> {
    let characters = key.chars().count();
    if (1..=VECTOR_KEY_CHARACTERS_MAX).contains(&characters) {
        return Ok(());
    }
    let message =
        format!("a key has 1 to {VECTOR_KEY_CHARACTERS_MAX} characters, this one has {characters}");
    Err(StoreError::field(path(), message))
}

/// Checks the number of vectors or keys of one request.
pub(super) fn count(count: usize, count_max: usize, path: &str) -> Result<(), StoreError> {
    if (1..=count_max).contains(&count) {
        return Ok(());
    }
    Err(StoreError::field(path, format!("1 to {count_max} are allowed, there are {count}")))
}

/// Checks a whole request, before anything of it is stored.
pub(super) fn new_vectors(vectors: &NewVectors, index: &Index) -> Result<(), StoreError> {
    count(vectors.keys.len(), PUT_VECTORS_MAX, "vectors")?;
    let mut seen = HashSet::with_capacity(vectors.keys.len());
    for (position, key) in vectors.keys.iter().enumerate() {
        vector_key(key, || format!("vectors[{position}].key"))?;
        if !seen.insert(key) {
            let message = format!("the key {key:?} is there twice");
            return Err(StoreError::field(format!("vectors[{position}].key"), message));
        }
    }
    let mut start = 0;
    for (position, end) in vectors.ends.iter().enumerate() {
        let vector = &vectors.elements[start..*end];
        elements(vector, index, || format!("vectors[{position}].data.float32"))?;
        start = *end;
    }
    for (position, given) in vectors.metadata.iter().enumerate() {
        metadata(given, index, || format!("vectors[{position}].metadata"))?;
    }
    Ok(())
}

/// Checks a vector for an index: dimension, finite elements, and for cosine distances a norm above
/// zero.
pub(super) fn elements(
    vector: &[f32],
    index: &Index,
    path: impl Fn() -> String,
) -> Result<(), StoreError> {
    if vector.len() != index.dimension as usize {
        let message = format!(
            "the vector has {} elements, the dimension of the index is {}",
            vector.len(),
            index.dimension
        );
        return Err(StoreError::field(path(), message));
    }
    if !vector.iter().fold(true, |all, element| all & element.is_finite()) {
        let element = vector.iter().position(|element| !element.is_finite()).unwrap_or(0);
        let message = "the element is not a finite 32-bit floating point number";
        return Err(StoreError::field(format!("{}[{element}]", path()), message));
    }
    if index.metric == DistanceMetric::Cosine && vector.iter().all(|element| *element == 0.0) {
        let message = "a vector of zeros has no cosine distance";
        return Err(StoreError::field(path(), message));
    }
    Ok(())
}

fn metadata(
    metadata: &Metadata,
    index: &Index,
    path: impl Fn() -> String,
) -> Result<(), StoreError> {
    if metadata.0.len() > METADATA_KEYS_MAX {
        let message =
            format!("at most {METADATA_KEYS_MAX} keys are allowed, not {}", metadata.0.len());
        return Err(StoreError::field(path(), message));
    }
    let (mut filterable, mut total) = (0, 0);
    for (key, value) in &metadata.0 {
        metadata_key(key, || format!("{}.{key}", path()))?;
        let bytes = key.len() + value.bytes();
        total += bytes;
        let is_finite = |scalar: &Scalar| !matches!(scalar, Scalar::Number(Number::Float(number)) if !number.is_finite());
        if !value.scalars().iter().all(is_finite) {
            return Err(StoreError::field(format!("{}.{key}", path()), "a number is not finite"));
        }
        if !index.is_filterable(key) {
            continue;
        }
        filterable += bytes;
        if matches!(value, MetadataValue::Document(_)) {
            let message = "a filterable value is a string, a number, a boolean or a list of these";
            return Err(StoreError::field(format!("{}.{key}", path()), message));
        }
    }
    let limits = [
        (total, METADATA_BYTES_MAX, "metadata"),
        (filterable, FILTERABLE_BYTES_MAX, "filterable metadata"),
    ];
    for (bytes, bytes_max, what) in limits {
        if bytes > bytes_max {
            let message = format!("{what} has {bytes} bytes, {bytes_max} are allowed");
            return Err(StoreError::field(path(), message));
        }
    }
    Ok(())
}
