//! Object metadata: from request headers into the store, and back into response headers.

use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE,
    CONTENT_TYPE, ETAG, EXPIRES, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED,
};
use http::{Extensions, StatusCode};
use liteio_store::{Bucket, ContentHeaders, ObjectMetadata, ObjectVersion, Versioning};
use s3s::{S3Error, S3Result, s3_error};

use super::dates::http_date;
use super::details::Details;
use super::header_text::{self, SystemHeaders};
use super::headers::{etag_header, header, header_value, insert_text};
use super::limits::USER_METADATA_BYTES_MAX;
use super::{encoded_word, error, tagging};

/// The content type of objects put without one. AWS's default.
const DEFAULT_CONTENT_TYPE: &str = "binary/octet-stream";

const STANDARD: &str = "STANDARD";
const STORAGE_CLASSES: [&str; 13] = [
    STANDARD,
    "REDUCED_REDUNDANCY",
    "STANDARD_IA",
    "ONEZONE_IA",
    "INTELLIGENT_TIERING",
    "GLACIER",
    "DEEP_ARCHIVE",
    "GLACIER_IR",
    // The class of directory buckets, and those of other services behind S3's interface.
    "EXPRESS_ONEZONE",
    "FSX_OPENZFS",
    "FSX_ONTAP",
    "AWS_BACKUP_WARM",
    "AWS_BACKUP_LOW_COST_WARM",
];

const REDIRECT: HeaderName = HeaderName::from_static("x-amz-website-redirect-location");
const STORAGE_CLASS: HeaderName = HeaderName::from_static("x-amz-storage-class");
pub(super) const REPLICATION_STATUS: HeaderName =
    HeaderName::from_static("x-amz-replication-status");
const TAGGING: HeaderName = HeaderName::from_static("x-amz-tagging");
const TAGGING_COUNT: HeaderName = HeaderName::from_static("x-amz-tagging-count");
const VERSION_ID: HeaderName = HeaderName::from_static("x-amz-version-id");

/// The user metadata of a request, which [`take_user`] removed from its headers.
#[derive(Clone, Debug, Default)]
pub(super) struct UserMetadata(Vec<(String, String)>);

impl UserMetadata {
    /// The user metadata of the request with these extensions.
    pub(super) fn of_request(extensions: &Extensions) -> &UserMetadata {
        static NONE: UserMetadata = UserMetadata(Vec::new());
        extensions.get().unwrap_or(&NONE)
    }

    /// The value of a name without `x-amz-meta-`.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// True for the value `true`, in any case.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Sets the value of a name, in place of another one.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value.to_owned()));
    }

    /// Without these names.
    pub(super) fn without(mut self, names: &[&str]) -> UserMetadata {
        self.0.retain(|(name, _)| !names.contains(&&**name));
        self
    }
}

const USER: &str = "x-amz-meta-";

/// Removes the user metadata from the headers, for the extensions. s3s would reject text that looks
/// like a broken encoded word.
///
/// # Errors
/// `InvalidArgument` for a value that is not UTF-8.
pub(super) fn take_user(headers: &mut HeaderMap) -> S3Result<Option<UserMetadata>> {
    let names = headers.keys().filter(|name| name.as_str().len() > USER.len());
    let names: Vec<HeaderName> =
        names.filter(|name| name.as_str().starts_with(USER)).cloned().collect();
    let mut user = Vec::with_capacity(names.len());
    for name in names {
        // Repeated headers are one, with commas, as in S3.
        let values: Vec<&[u8]> = headers.get_all(&name).iter().map(HeaderValue::as_bytes).collect();
        let value = String::from_utf8(values.join(&b','));
        let value = value.map_err(|_| {
            error::invalid_argument(format!("The value of {name} is not UTF-8, nor ASCII."))
        })?;
        user.push((name.as_str()[USER.len()..].to_owned(), encoded_word::decode(&value).into()));
        headers.remove(&name);
    }
    Ok((!user.is_empty()).then_some(UserMetadata(user)))
}

/// The metadata in a write request.
pub(super) fn from_request(
    headers: &HeaderMap,
    extensions: &Extensions,
) -> S3Result<ObjectMetadata> {
    Ok(ObjectMetadata {
        headers: content_headers(headers, extensions)?,
        user: user_metadata(extensions)?,
        tags: tags(headers)?,
        storage_class: storage_class(headers)?,
    })
}

/// The tags in the header of a write request.
pub(super) fn tags(headers: &HeaderMap) -> S3Result<Vec<(String, String)>> {
    header(headers, TAGGING).map_or(Ok(Vec::new()), tagging::parse_header)
}

/// The requested storage class; `None` for STANDARD.
pub(super) fn storage_class(headers: &HeaderMap) -> S3Result<Option<String>> {
    match header(headers, STORAGE_CLASS) {
        None | Some(STANDARD) => Ok(None),
        Some(class) => Ok(Some(known_storage_class(class)?.to_owned())),
    }
}

/// A storage class, if it is one.
pub(super) fn known_storage_class(class: &str) -> S3Result<&str> {
    match STORAGE_CLASSES.contains(&class) {
        true => Ok(class),
        false => Err(s3_error!(
            Details::of("StorageClassRequested", error::quoted(class)),
            InvalidStorageClass,
            "The storage class you specified is not valid"
        )),
    }
}

/// The storage class for listings, which name STANDARD explicitly.
pub(super) fn storage_class_or_standard(class: Option<&str>) -> &str {
    class.unwrap_or(STANDARD)
}

/// The checked value of `x-amz-website-redirect-location`.
pub(super) fn redirect(headers: &HeaderMap) -> S3Result<Option<String>> {
    match header(headers, REDIRECT) {
        None => Ok(None),
        Some(location) if is_redirect(location) => Ok(Some(location.to_owned())),
        Some(_) => Err(error::custom(
            "InvalidRedirectLocation",
            StatusCode::BAD_REQUEST,
            "The website redirect location must be non-empty and must start with 'http://', \
             'https://' or '/'.",
        )),
    }
}

fn is_redirect(location: &str) -> bool {
    ["http://", "https://", "/"].iter().any(|start| location.starts_with(start))
        && location.len() <= USER_METADATA_BYTES_MAX
}

fn content_headers(headers: &HeaderMap, extensions: &Extensions) -> S3Result<ContentHeaders> {
    let taken = extensions.get::<SystemHeaders>();
    let text = |name: HeaderName| SystemHeaders::text(taken, headers, &name);
    Ok(ContentHeaders {
        content_type: text(CONTENT_TYPE),
        cache_control: text(CACHE_CONTROL),
        content_disposition: text(CONTENT_DISPOSITION),
        content_encoding: text(CONTENT_ENCODING),
        content_language: text(CONTENT_LANGUAGE),
        expires: text(EXPIRES),
        website_redirect_location: redirect(headers)?,
    })
}

fn user_metadata(extensions: &Extensions) -> S3Result<Vec<(String, String)>> {
    let UserMetadata(mut user) = extensions.get().cloned().unwrap_or_default();
    let bytes: usize = user.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > USER_METADATA_BYTES_MAX {
        return Err(s3_error!(
            Details::of("Size", bytes).and("MaxSizeAllowed", USER_METADATA_BYTES_MAX),
            MetadataTooLarge,
            "Your metadata headers exceed the maximum allowed metadata size"
        ));
    }
    // Sorting makes records of equal requests equal.
    user.sort_unstable();
    Ok(user)
}

/// The headers that describe an object of `bucket`, for GET and HEAD, without those of its lock.
pub(super) fn object_headers(bucket: &Bucket, object: &ObjectVersion) -> S3Result<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(16);
    headers.insert(ETAG, etag_header(&object.etag)?);
    headers.insert(LAST_MODIFIED, http_date(object.modified_ms)?);
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let ObjectMetadata { headers: content, tags, storage_class, .. } = &object.metadata;
    match content.content_type.as_deref() {
        None => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(DEFAULT_CONTENT_TYPE));
        }
        Some(typed) => insert_kept(&mut headers, CONTENT_TYPE, typed)?,
    }
    let texts = [
        (CACHE_CONTROL, &content.cache_control),
        (CONTENT_DISPOSITION, &content.content_disposition),
        (CONTENT_ENCODING, &content.content_encoding),
        (CONTENT_LANGUAGE, &content.content_language),
        (EXPIRES, &content.expires),
        (REDIRECT, &content.website_redirect_location),
        (STORAGE_CLASS, storage_class),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            insert_kept(&mut headers, name, value)?;
        }
    }
    if !tags.is_empty() {
        headers.insert(TAGGING_COUNT, HeaderValue::from(tags.len()));
    }
    if let Some(status) = object.replication {
        headers.insert(REPLICATION_STATUS, HeaderValue::from_static(status.name()));
    }
    insert_version(&mut headers, bucket, object)?;
    Ok(headers)
}

/// Adds a header with a kept text.
fn insert_kept(headers: &mut HeaderMap, name: HeaderName, text: &str) -> S3Result<()> {
    let value = header_text::to_header(text);
    let value = value.ok_or_else(|| s3_error!(InternalError, "A kept {name} is no header."))?;
    headers.insert(name, value);
    Ok(())
}

/// Adds the version ID of a read object, in buckets that have ever been versioned.
pub(super) fn insert_version(
    headers: &mut HeaderMap,
    bucket: &Bucket,
    object: &ObjectVersion,
) -> S3Result<()> {
    let version = shown_version(bucket, object);
    insert_text(headers, VERSION_ID, version.as_deref())
}

/// The version ID of an object, in buckets that have ever been versioned.
pub(super) fn shown_version(bucket: &Bucket, object: &ObjectVersion) -> Option<String> {
    let is_shown = bucket.versioning != Versioning::Never || !object.version_id.is_null();
    is_shown.then(|| object.version_id.to_string())
}

/// Adds the version ID of a written object, unless it is `null`; only reads report `null`.
pub(super) fn insert_new_version(headers: &mut HeaderMap, object: &ObjectVersion) -> S3Result<()> {
    let version = Some(object.version_id).filter(|version| !version.is_null());
    insert_text(headers, VERSION_ID, version.map(|version| version.to_string()).as_deref())
}

/// Adds the headers of the user metadata.
pub(super) fn insert_user(headers: &mut HeaderMap, object: &ObjectVersion) -> S3Result<()> {
    for (name, value) in &object.metadata.user {
        let name = HeaderName::try_from(format!("x-amz-meta-{name}"));
        headers.insert(
            name.map_err(S3Error::internal_error)?,
            header_value(&encoded_word::encode(value))?,
        );
    }
    Ok(())
}
