//! Conditional headers, from what the front has read of them to what the store decides by.

use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{Extensions, HeaderMap};
use liteio_store::{ETagText, EtagCondition, ReadConditions, WriteConditions};
use s3s::{S3Result, s3_error};

use crate::front::lenient::{self, LenientHeaders};

/// The conditions on an object that is read.
pub(super) fn of_object(extensions: &Extensions) -> ReadConditions {
    let Some(headers) = extensions.get::<LenientHeaders>() else {
        return ReadConditions::default();
    };
    ReadConditions {
        if_match: headers.if_match.as_ref().map(etags),
        if_none_match: headers.if_none_match.as_ref().map(etags),
        if_modified_since_s: headers.if_modified_since,
        if_unmodified_since_s: headers.if_unmodified_since,
    }
}

/// The conditions on the source of a copy.
pub(super) fn of_copy_source(extensions: &Extensions) -> ReadConditions {
    let Some(headers) = extensions.get::<LenientHeaders>() else {
        return ReadConditions::default();
    };
    ReadConditions {
        if_match: headers.copy_source_if_match.as_ref().map(etags),
        if_none_match: headers.copy_source_if_none_match.as_ref().map(etags),
        if_modified_since_s: headers.copy_source_if_modified_since,
        if_unmodified_since_s: headers.copy_source_if_unmodified_since,
    }
}

/// The conditions on what a write replaces or deletes. S3 takes only `*` in `If-None-Match` here; with
/// ETags it means what it says, too.
pub(super) fn of_write(extensions: &Extensions) -> WriteConditions {
    let Some(headers) = extensions.get::<LenientHeaders>() else {
        return WriteConditions::default();
    };
    WriteConditions {
        if_match: headers.if_match.as_ref().map(etags),
        if_none_match: headers.if_none_match.as_ref().map(etags),
        ..WriteConditions::default()
    }
}

/// Takes the conditional headers off a request. A condition without an ETag is ignored on a read and
/// refused on a write, which must not go ahead as if there were none.
pub(super) fn take(headers: &mut HeaderMap, is_write: bool) -> S3Result<LenientHeaders> {
    let guards = [IF_MATCH, IF_NONE_MATCH].map(|name| headers.contains_key(name));
    let lenient = LenientHeaders::take(headers);
    let parsed = [lenient.if_match.is_some(), lenient.if_none_match.is_some()];
    if is_write && guards != parsed {
        return Err(s3_error!(InvalidArgument, "A conditional header names no ETag"));
    }
    Ok(lenient)
}

fn etags(condition: &lenient::EtagCondition) -> EtagCondition {
    match condition {
        lenient::EtagCondition::Any => EtagCondition::Any,
        lenient::EtagCondition::Tags(tags) => {
            EtagCondition::Matches(tags.iter().map(etag_text).collect())
        }
    }
}

fn etag_text(tag: &lenient::EntityTag) -> ETagText {
    let mark = if tag.weak { "W/" } else { "" };
    ETagText::new(&format!("{mark}\"{}\"", tag.value))
}
