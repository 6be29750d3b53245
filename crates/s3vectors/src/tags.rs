//! Tags of vector buckets and indexes.

use http::Method;
use liteio_store::StoreError;
use liteio_store::invalid_field::pointer;
use liteio_store::vectors::Tagged;
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::context::Asked;
use super::error::{ApiResult, Exception};
use super::fields::Fields;
use super::{Answer, Call, arn, done};
use liteio_access::Action;

const KEY_CHARACTERS: std::ops::RangeInclusive<u64> = 1..=128;
const VALUE_CHARACTERS: std::ops::RangeInclusive<u64> = 0..=256;
/// The pattern of both in the service model.
const PATTERN: &str = r"([\p{L}\p{Z}\p{N}_.:/=+\-@]*)";

/// Answers ListTagsForResource, TagResource and UntagResource.
pub(super) fn answer(call: &Call, method: &Method, arn: &str, query: &str) -> Answer {
    let names = arn::resource(arn)?;
    let tagged = |asked: &Asked<'_>| {
        Ok::<_, Exception>(match &names.index {
            None => Tagged::Bucket((**call.named_bucket(&names.bucket, asked)?.target()).clone()),
            Some(index) => {
                let granted = call.named_index((&names.bucket, index), None, asked)?;
                Tagged::Index((**granted.target()).clone())
            }
        })
    };
    let store = &call.app.store;
    match *method {
        Method::GET => {
            let tagged = tagged(&Asked::plain(&call.sent))?;
            super::answer(&json!({ "tags": store.vector_tags(&tagged)? }))
        }
        Method::POST => {
            let mut fields = Fields::of_body(&call.body)?;
            let tags = take(&mut fields)?;
            let tags = fields.require("tags", tags)?;
            let tagged = tagged(&Asked::with_tags(&call.sent, &tags))?;
            store.add_vector_tags(&tagged, tags).wait()?;
            done()
        }
        Method::DELETE => {
            let keys = tag_keys(query)?;
            let named = keys.iter().map(String::as_str).collect();
            let tagged = tagged(&Asked { tag_keys: named, ..Asked::plain(&call.sent) })?;
            store.remove_vector_tags(&tagged, keys).wait()?;
            done()
        }
        _ => Err(Exception::unknown_operation("tags/")),
    }
}

/// The action of a tag request, by its method.
pub(super) fn action(method: &Method) -> Option<Action> {
    match *method {
        Method::GET => Some(Action::ListTagsForResource),
        Method::POST => Some(Action::TagResource),
        Method::DELETE => Some(Action::UntagResource),
        _ => None,
    }
}

/// Takes and checks the field `tags`.
pub(super) fn take(fields: &mut Fields) -> ApiResult<Option<Vec<(String, String)>>> {
    let tags = fields.texts("tags")?;
    for (key, value) in tags.iter().flatten() {
        let path = || pointer("/tags", key);
        check(key, KEY_CHARACTERS, path)?;
        if is_reserved(key) {
            return Err(Exception::field(
                path(),
                "System tags cannot be added/updated by requester: keys that begin with aws: are \
                 reserved",
            ));
        }
        check(value, VALUE_CHARACTERS, path)?;
    }
    Ok(tags)
}

/// True for keys with AWS's reserved prefix, in any case.
fn is_reserved(key: &str) -> bool {
    key.as_bytes().get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"aws:"))
}

/// Checks the key or the value of a tag: letters, digits, spaces and some signs.
fn check(
    text: &str,
    range: std::ops::RangeInclusive<u64>,
    path: impl Fn() -> String,
) -> ApiResult<()> {
    let is_allowed = |character: char| {
        character.is_alphanumeric()
            || (character.is_whitespace() && !character.is_control())
            || "_.:/=+-@".contains(character)
    };
    let characters = text.chars().count();
    if !range.contains(&(characters as u64)) {
        return Err(StoreError::wrong_length(path(), characters, &range).into());
    }
    match text.chars().all(is_allowed) {
        true => Ok(()),
        false => Err(StoreError::pattern(path(), PATTERN).into()),
    }
}

/// The values of `tagKeys` in a query.
fn tag_keys(query: &str) -> ApiResult<Vec<String>> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let values = pairs.filter(|(name, _)| *name == "tagKeys").map(|(_, value)| value);
    let decoded = values.map(|value| {
        let value = value.replace('+', " ");
        percent_decode_str(&value).decode_utf8().map(std::borrow::Cow::into_owned)
    });
    let keys: Result<Vec<String>, _> = decoded.collect();
    let keys = keys.map_err(|_| Exception::field("/tagKeys", "it is not UTF-8"))?;
    if keys.is_empty() {
        return Err(StoreError::required("/tagKeys").into());
    }
    for (position, key) in keys.iter().enumerate() {
        check(key, KEY_CHARACTERS, || pointer("/tagKeys", position))?;
    }
    Ok(keys)
}
