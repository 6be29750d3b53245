//! Bodies as boto3 makes them: Python's JSON, and numbers with the digits that Python prints for
//! the `float` of a 32-bit element.

use std::fmt::Write as _;

use bytes::Bytes;

use super::rows::{GET_VECTORS, TOP_K};
use crate::client::Payload;
use crate::vector::data::DIMENSION;

/// The vector bucket of the benchmark.
pub(crate) const BUCKET: &str = "bench-vectors";
/// Its index.
pub(crate) const INDEX: &str = "films";

/// The key of a vector.
pub(crate) fn key(number: u32) -> String {
    format!("film-{number:07}")
}

/// The number of a key.
pub(crate) fn number(key: &str) -> Option<u32> {
    key.strip_prefix("film-")?.parse().ok()
}

/// CreateVectorBucket.
pub(crate) fn create_bucket() -> Payload {
    payload(format!("{{\"vectorBucketName\": \"{BUCKET}\"}}"))
}

/// DeleteVectorBucket.
pub(crate) fn delete_bucket() -> Payload {
    create_bucket()
}

/// CreateIndex.
pub(crate) fn create_index() -> Payload {
    payload(format!(
        "{}, \"dataType\": \"float32\", \"dimension\": {DIMENSION}, \"distanceMetric\": \"cosine\"}}",
        index()
    ))
}

/// DeleteIndex.
pub(crate) fn delete_index() -> Payload {
    payload(format!("{}}}", index()))
}

/// PutVectors of vectors stored one after another. The first one has the number `first`.
pub(crate) fn put(first: u32, vectors: &[f32]) -> Payload {
    let mut text = format!("{}, \"vectors\": [", index());
    for (number, vector) in (first..).zip(vectors.chunks_exact(DIMENSION)) {
        let comma = if number == first { "" } else { ", " };
        let _ = write!(text, "{comma}{{\"key\": \"{}\", \"data\": ", key(number));
        push_vector(&mut text, vector);
        let genre = ["drama", "comedy", "documentary"][(number % 3) as usize];
        let year = 1950 + number % 75;
        let _ = write!(text, ", \"metadata\": {{\"genre\": \"{genre}\", \"year\": {year}}}}}");
    }
    text.push_str("]}");
    payload(text)
}

/// QueryVectors.
pub(crate) fn query(vector: &[f32]) -> Payload {
    let mut text = format!("{}, \"topK\": {TOP_K}, \"queryVector\": ", index());
    push_vector(&mut text, vector);
    text.push_str(", \"returnDistance\": true}");
    payload(text)
}

/// GetVectors of several vectors, evenly spread over all, beginning with `first`.
pub(crate) fn get(first: u32, indexed: u32) -> (Payload, Vec<u32>) {
    let count = GET_VECTORS.min(indexed);
    let step = indexed / count.max(1);
    let numbers: Vec<u32> = (0..count).map(|place| (first + place * step) % indexed).collect();
    let keys: Vec<String> = numbers.iter().map(|number| format!("\"{}\"", key(*number))).collect();
    let keys = keys.join(", ");
    let text = format!("{}, \"keys\": [{keys}], \"returnData\": true}}", index());
    (payload(text), numbers)
}

fn index() -> String {
    format!("{{\"vectorBucketName\": \"{BUCKET}\", \"indexName\": \"{INDEX}\"")
}

fn payload(text: String) -> Payload {
    let payload = Payload::new(Bytes::from(text));
    // Hashed now, so that signing does not hash in the measured time.
    payload.sha256();
    payload
}

fn push_vector(text: &mut String, vector: &[f32]) {
    text.push_str("{\"float32\": [");
    for (place, element) in vector.iter().enumerate() {
        if place > 0 {
            text.push_str(", ");
        }
        push_number(text, f64::from(*element));
    }
    text.push_str("]}");
}

/// Appends a finite number in the form of Python's `repr`: the fewest digits that identify it, with
/// an exponent of at least two digits below 0.0001 and from 10¹⁶ on.
fn push_number(text: &mut String, number: f64) {
    let size = number.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) {
        let _ = write!(text, "{number:?}");
        return;
    }
    let shown = format!("{number:e}");
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    let _ = write!(text, "{digits}e{sign}{exponent:0>2}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_python_prints() {
        for (element, python) in [
            (0.1_f32, "0.10000000149011612"),
            (-1.0, "-1.0"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.0001, "9.999999747378752e-05"),
            (0.00012, "0.00011999999696854502"),
            (1e-7, "1.0000000116860974e-07"),
            (1.5e-12, "1.4999999940062958e-12"),
            (1e20, "1.0000000200408773e+20"),
            (123_456_790_000.0, "123456790528.0"),
            (3.0, "3.0"),
        ] {
            let mut text = String::new();
            push_number(&mut text, f64::from(element));
            assert_eq!(text, python);
        }
    }

    #[test]
    fn bodies_are_json_with_the_elements_that_were_meant() {
        let vectors: Vec<f32> = (0..2 * DIMENSION).map(|place| (place as f32).sin()).collect();
        let body = put(7, &vectors);
        let parsed: serde_json::Value = serde_json::from_slice(&body.bytes).expect("it is JSON");
        let second = &parsed["vectors"][1];
        assert_eq!(second["key"], "film-0000008");
        let element = second["data"]["float32"][5].as_f64().map(|element| element as f32);
        assert_eq!(element, Some(vectors[DIMENSION + 5]));
        assert_eq!(second["metadata"]["genre"], "documentary");
        assert!(
            body.bytes.starts_with(b"{\"vectorBucketName\": \"bench-vectors\", \"indexName\": ")
        );
        let (_, numbers) = get(3, 1_000);
        assert_eq!((numbers.len(), numbers[1], number(&key(numbers[99]))), (100, 13, Some(993)));
        let parsed: serde_json::Value =
            serde_json::from_slice(&query(&vectors[..DIMENSION]).bytes).expect("it is JSON");
        assert_eq!(parsed["topK"], 10);
    }
}
