//! Keys of sets of annotations: their heads, records, payloads and deletions.

use super::{ANNOTATION, ANNOTATION_DELETION, ANNOTATIONS, PAYLOAD};

/// The prefix of all keys of heads of sets of annotations.
pub(crate) const ALL_ANNOTATION_SETS: &[u8] = &[ANNOTATIONS];
/// The prefix of all keys of annotations.
pub(crate) const ALL_ANNOTATIONS: &[u8] = &[ANNOTATION];
/// The prefix of all keys of payloads of annotations.
pub(crate) const ALL_PAYLOADS: &[u8] = &[PAYLOAD];
/// The prefix of all keys of sets of annotations to remove.
pub(crate) const ALL_ANNOTATION_DELETIONS: &[u8] = &[ANNOTATION_DELETION];

/// The head of a set of annotations.
pub(crate) fn annotations(set: &[u8; 16]) -> [u8; 17] {
    of_set(ANNOTATIONS, set)
}

/// The set in a key made by [`annotations`].
pub(crate) fn split_annotations(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.strip_prefix(&[ANNOTATIONS])?.try_into().ok()
}

/// The annotation `name` of a set. With an empty name it is the prefix of the keys of all.
pub(crate) fn annotation(set: &[u8; 16], name: &str) -> Vec<u8> {
    [&of_set(ANNOTATION, set)[..], name.as_bytes()].concat()
}

/// Set and name in a key made by [`annotation`].
pub(crate) fn split_annotation(bytes: &[u8]) -> Option<([u8; 16], &str)> {
    split_set_and_name(ANNOTATION, bytes)
}

/// The payload of the annotation `name` of a set.
pub(crate) fn payload(set: &[u8; 16], name: &str) -> Vec<u8> {
    [&of_set(PAYLOAD, set)[..], name.as_bytes()].concat()
}

/// Set and name in a key made by [`payload`].
pub(crate) fn split_payload(bytes: &[u8]) -> Option<([u8; 16], &str)> {
    split_set_and_name(PAYLOAD, bytes)
}

/// A set of annotations to remove.
pub(crate) fn annotation_deletion(set: &[u8; 16]) -> [u8; 17] {
    of_set(ANNOTATION_DELETION, set)
}

/// The set in a key made by [`annotation_deletion`].
pub(crate) fn split_annotation_deletion(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.strip_prefix(&[ANNOTATION_DELETION])?.try_into().ok()
}

fn of_set(tag: u8, set: &[u8; 16]) -> [u8; 17] {
    let mut bytes = [tag; 17];
    bytes[1..].copy_from_slice(set);
    bytes
}

fn split_set_and_name(tag: u8, bytes: &[u8]) -> Option<([u8; 16], &str)> {
    let (set, name) = bytes.strip_prefix(&[tag])?.split_first_chunk()?;
    Some((*set, std::str::from_utf8(name).ok()?))
}
