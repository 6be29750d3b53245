//! Conditions and ranges of a request, from the headers that [`lenient`](super::lenient) has parsed.

use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{Extensions, HeaderMap};
use liteio_store::{ReadConditions, WriteConditions};
use s3s::{S3Result, s3_error};

use super::lenient::LenientHeaders;

/// The conditions on an object that is read.
pub(super) fn of_object(extensions: &Extensions) -> ReadConditions {
    extensions.get::<LenientHeaders>().map(|headers| headers.object.clone()).unwrap_or_default()
}

/// The conditions on the source of a copy.
pub(super) fn of_copy_source(extensions: &Extensions) -> ReadConditions {
    let headers = extensions.get::<LenientHeaders>();
    headers.map(|headers| headers.copy_source.clone()).unwrap_or_default()
}

/// The conditions of a write on the object that it replaces or deletes. S3 takes only `*` in
/// `If-None-Match` here; we also take ETags.
pub(super) fn of_write(extensions: &Extensions) -> WriteConditions {
    let ReadConditions { if_match, if_none_match, .. } = of_object(extensions);
    WriteConditions { if_match, if_none_match, ..WriteConditions::default() }
}

/// Takes the conditional headers off a request. A condition without an ETag is ignored on a read and
/// refused on a write, which must not go ahead as if there were none.
pub(super) fn take(headers: &mut HeaderMap, is_write: bool) -> S3Result<LenientHeaders> {
    let guards = [IF_MATCH, IF_NONE_MATCH].map(|name| headers.contains_key(name));
    let lenient = LenientHeaders::take(headers);
    let parsed = [lenient.object.if_match.is_some(), lenient.object.if_none_match.is_some()];
    if is_write && guards != parsed {
        return Err(s3_error!(InvalidArgument, "A conditional header names no ETag"));
    }
    Ok(lenient)
}
