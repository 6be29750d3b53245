//! Conditions and ranges of a request, from the headers that [`lenient`](super::lenient) has parsed.

use http::header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE};
use http::{Extensions, HeaderMap, HeaderName};
use liteio_store::{ReadConditions, WriteConditions};
use s3s::{S3Result, s3_error};

use super::lenient::{
    LenientHeaders, RENAME_IF_MATCH, RENAME_IF_MODIFIED_SINCE, RENAME_IF_NONE_MATCH,
    RENAME_IF_UNMODIFIED_SINCE,
};

/// The conditions on the object to read.
pub(super) fn of_object(extensions: &Extensions) -> ReadConditions {
    extensions.get::<LenientHeaders>().map(|headers| headers.object.clone()).unwrap_or_default()
}

/// The conditions on a copy source.
pub(super) fn of_copy_source(extensions: &Extensions) -> ReadConditions {
    let headers = extensions.get::<LenientHeaders>();
    headers.map(|headers| headers.copy_source.clone()).unwrap_or_default()
}

/// The conditions on the object that a write replaces or deletes. S3 accepts only `*` in
/// `If-None-Match` here; we also accept ETags.
pub(super) fn of_write(extensions: &Extensions) -> WriteConditions {
    let ReadConditions { if_match, if_none_match, .. } = of_object(extensions);
    WriteConditions { if_match, if_none_match, ..WriteConditions::default() }
}

/// The header of the condition on a write, if it has one.
pub(super) fn name_of_write(extensions: &Extensions) -> Option<&'static str> {
    let object = &extensions.get::<LenientHeaders>()?.object;
    let named = [("If-None-Match", &object.if_none_match), ("If-Match", &object.if_match)];
    named.into_iter().find(|(_, condition)| condition.is_some()).map(|(name, _)| name)
}

/// The conditions on the object at the target key of a rename.
pub(super) fn of_rename(extensions: &Extensions) -> WriteConditions {
    let ReadConditions { if_modified_since_s, if_unmodified_since_s, .. } = of_object(extensions);
    WriteConditions { if_modified_since_s, if_unmodified_since_s, ..of_write(extensions) }
}

/// The conditions on the source object of a rename.
pub(super) fn of_rename_source(extensions: &Extensions) -> ReadConditions {
    let headers = extensions.get::<LenientHeaders>();
    headers.map(|headers| headers.rename_source.clone()).unwrap_or_default()
}

/// The condition headers that guard a write. Dates are used by renames only.
const GUARDS: [HeaderName; 8] = [
    IF_MATCH,
    IF_NONE_MATCH,
    RENAME_IF_MATCH,
    RENAME_IF_NONE_MATCH,
    RENAME_IF_MODIFIED_SINCE,
    RENAME_IF_UNMODIFIED_SINCE,
    IF_MODIFIED_SINCE,
    IF_UNMODIFIED_SINCE,
];

/// Removes the conditional headers from a request and parses them. A condition without a valid ETag
/// or date is ignored for a read, as on AWS, but rejected for a write: ignoring it would make the
/// write unconditional.
pub(super) fn take(headers: &mut HeaderMap, is_write: bool) -> S3Result<LenientHeaders> {
    let guards = match is_write {
        false => 0,
        true if !headers.contains_key("x-amz-rename-source") => 2,
        true => GUARDS.len(),
    };
    let sent: Vec<bool> = GUARDS[..guards].iter().map(|name| headers.contains_key(name)).collect();
    let lenient = LenientHeaders::take(headers);
    let LenientHeaders { object, rename_source: source, .. } = &lenient;
    let parsed = [
        object.if_match.is_some(),
        object.if_none_match.is_some(),
        source.if_match.is_some(),
        source.if_none_match.is_some(),
        source.if_modified_since_s.is_some(),
        source.if_unmodified_since_s.is_some(),
        object.if_modified_since_s.is_some(),
        object.if_unmodified_since_s.is_some(),
    ];
    match sent == parsed[..guards] {
        true => Ok(lenient),
        false if guards == 2 => {
            Err(s3_error!(InvalidArgument, "A conditional header names no ETag"))
        }
        false => Err(s3_error!(InvalidArgument, "A conditional header names no ETag or no date")),
    }
}
