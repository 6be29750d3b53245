//! Tags: validation, and the two forms in which they are sent, header and document.

use std::borrow::Cow;

use http::StatusCode;
use percent_encoding::percent_decode_str;
use s3s::dto::Tag;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::details::Details;
use super::error;
use super::limits::{BUCKET_TAGS_MAX, TAG_KEY_CHARACTERS_MAX, TAG_VALUE_CHARACTERS_MAX, TAGS_MAX};

/// Tags in order.
pub(super) type Tags = Vec<(String, String)>;

/// The kind of resource that is tagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tagged {
    Object,
    Bucket,
    /// A bucket that CreateBucket makes.
    NewBucket,
}

/// Checks the tags of a document.
pub(super) fn of_document(sent: Vec<Tag>, tagged: Tagged) -> S3Result<Tags> {
    let pair = |tag: Tag| match (tag.key, tag.value) {
        (Some(key), Some(value)) => Ok((key, value)),
        _ => Err(error::malformed_xml()),
    };
    let tags: Tags = sent.into_iter().map(pair).collect::<S3Result<_>>()?;
    in_order(tags, tagged)
}

/// Converts tags for a document.
pub(super) fn to_document(tags: Tags) -> Vec<Tag> {
    tags.into_iter().map(|(key, value)| Tag { key: Some(key), value: Some(value) }).collect()
}

/// Parses `name=value&name=value`, encoded like a query.
///
/// # Errors
/// `InvalidArgument` for invalid encoding, an empty name or a repeated name; `BadRequest` for too
/// many tags; `InvalidTag` for tags that break S3's other rules.
pub(super) fn parse_header(text: &str) -> S3Result<Tags> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let tags: Tags = pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(key)?, decode(value)?))
        })
        .collect::<Option<_>>()
        .ok_or_else(|| malformed_header(text))?;
    // Too many tags are rejected below; comparing each with all others would be quadratic.
    let has_wrong_name = tags.iter().any(|(key, value)| {
        // Unlike in a document, a character that no tag has is an error of the header. (Recorded on
        // AWS in LocalStack's `test_object_tagging_exc`.)
        key.is_empty() || !key.chars().chain(value.chars()).all(is_tag_character)
    }) || (tags.len() <= TAGS_MAX && name_twice(&tags).is_some());
    if has_wrong_name {
        return Err(malformed_header(text));
    }
    in_order(tags, Tagged::Object)
}

/// Checks the tags and puts them in AWS's response order.
fn in_order(mut tags: Tags, tagged: Tagged) -> S3Result<Tags> {
    check(&tags, tagged)?;
    tags.sort_unstable();
    Ok(tags)
}

fn decode(text: &str) -> Option<String> {
    let is_escape =
        |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|it| it.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8().map(Cow::into_owned).ok()
}

fn malformed_header(text: &str) -> S3Error {
    s3_error!(
        Details::argument("x-amz-tagging", text),
        InvalidArgument,
        "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters \
         without tag name duplicates."
    )
}

fn name_twice(tags: &[(String, String)]) -> Option<&str> {
    let mut names = tags.iter().map(|(key, _)| &**key).enumerate();
    let is_twice =
        |(position, key): &(usize, &str)| tags[..*position].iter().any(|(other, _)| other == key);
    names.find(is_twice).map(|(_, key)| key)
}

fn check(tags: &[(String, String)], tagged: Tagged) -> S3Result<()> {
    match tagged {
        Tagged::Object if tags.len() > TAGS_MAX => {
            return Err(too_many("Object tags cannot be greater than 10"));
        }
        Tagged::Bucket | Tagged::NewBucket if tags.len() > BUCKET_TAGS_MAX => {
            return Err(too_many("Bucket tag count cannot be greater than 50"));
        }
        Tagged::Object | Tagged::Bucket | Tagged::NewBucket => {}
    }
    for (key, value) in tags {
        if !(1..=TAG_KEY_CHARACTERS_MAX).contains(&key.encode_utf16().count())
            || !key.chars().all(is_tag_character)
        {
            return Err(of_key("The TagKey you have provided is invalid", key));
        }
        if value.encode_utf16().count() > TAG_VALUE_CHARACTERS_MAX
            || !value.chars().all(is_tag_character)
        {
            let error = of_key("The TagValue you have provided is invalid", key);
            return Err(Details::add(error, "TagValue", error::quoted(value)));
        }
        if key.starts_with("aws:") {
            let message = match tagged {
                Tagged::Object => "Your TagKey cannot be prefixed with aws:",
                Tagged::Bucket => "System tags cannot be added/updated by requester",
                // Recorded on AWS in LocalStack's `test_create_bucket_with_tags_exc`, without the key.
                Tagged::NewBucket => {
                    return Err(invalid_tag(
                        "User-defined tag keys can't start with \"aws:\". This prefix is reserved for system \
                         tags. Remove \"aws:\" from your tag keys and try again.",
                    ));
                }
            };
            return Err(of_key(message, key));
        }
    }
    match name_twice(tags) {
        Some(key) => Err(of_key("Cannot provide multiple Tags with the same key", key)),
        None => Ok(()),
    }
}

/// True for letters, digits and spaces of any script, and `_ . : / = + - @`.
fn is_tag_character(character: char) -> bool {
    character.is_alphanumeric() || character == ' ' || "_.:/=+-@".contains(character)
        // Accepts combining marks, which belong to letters.
        || (!character.is_ascii() && !character.is_control())
}

fn of_key(message: &'static str, key: &str) -> S3Error {
    Details::add(invalid_tag(message), "TagKey", error::quoted(key))
}

/// Recorded on AWS in moto's `test_put_object_tagging_too_many_tags` and boto3's issue 1213; AWS documents
/// no code for it.
fn too_many(message: &'static str) -> S3Error {
    error::custom("BadRequest", StatusCode::BAD_REQUEST, message)
}

fn invalid_tag(message: &'static str) -> S3Error {
    S3Error::with_message(S3ErrorCode::InvalidTag, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_decoded() {
        let tags = parse_header("a=1&b%20c=%C3%BC+x&empty=&bare").expect("valid tags");
        let expected = [("a", "1"), ("b c", "ü x"), ("bare", ""), ("empty", "")];
        assert!(tags.iter().map(|(key, value)| (&**key, &**value)).eq(expected), "{tags:?}");
        assert_eq!(parse_header("").expect("no tags"), []);
    }

    #[test]
    fn rules_are_kept() {
        let eleven: Vec<String> = (0..11).map(|number| format!("k{number}=v")).collect();
        let rows = [
            (eleven.join("&"), "BadRequest"),
            ("a=1&a=2".to_owned(), "InvalidArgument"),
            ("=v".to_owned(), "InvalidArgument"),
            ("k%=v".to_owned(), "InvalidArgument"),
            ("k%2=v".to_owned(), "InvalidArgument"),
            ("k?=v".to_owned(), "InvalidArgument"),
            ("a=1,b=2".to_owned(), "InvalidArgument"),
            (format!("{}=v", "k".repeat(129)), "InvalidTag"),
            (format!("k={}", "v".repeat(257)), "InvalidTag"),
            ("aws:x=1".to_owned(), "InvalidTag"),
            ("k%01=1".to_owned(), "InvalidArgument"),
            ("k=%ff".to_owned(), "InvalidArgument"),
        ];
        for (text, code) in rows {
            let error = parse_header(&text).expect_err(&text);
            assert_eq!(error.code().as_str(), code, "{text}");
        }
        let ten: Vec<String> = (0..10).map(|number| format!("k{number}=v")).collect();
        assert_eq!(parse_header(&ten.join("&")).expect("ten are allowed").len(), 10);
        let longest = format!("{}={}", "k".repeat(128), "v".repeat(256));
        assert!(parse_header(&longest).is_ok());
    }
}
