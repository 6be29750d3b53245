//! An S3 request as the context of policy conditions.
//!
//! Source: the condition keys in "Actions, resources, and condition keys for Amazon S3" of the
//! service authorization reference, and "AWS global condition context keys" of the IAM user guide.
//! A key that AWS defines for some actions only has no value for others: a header that the
//! operation ignores must not satisfy a condition.

use std::borrow::Cow;
use std::sync::Arc;

use http::header::{AsHeaderName, IF_NONE_MATCH};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderValue, Method, Uri};
use jiff::Timestamp;
use liteio_store::RetentionPeriod;
use percent_encoding::percent_decode_str;
use s3s::S3Result;
use s3s::dto::{ObjectLockLegalHold, ObjectLockRetention, Tagging};
use s3s::xml::{Deserialize, Deserializer};

use super::dates::unix_seconds;
use super::error;
use super::event_hold::{self, SentEventHold};
use super::headers::header;
use super::query::Query;
use super::route::Route;
use super::tagging::{self, Tagged, Tags};
use liteio_access::circumstances;
use liteio_auth::SignedAs;
use liteio_policy::{Context, ContextKey, Value};
use liteio_wire::origin::Origin;

/// The parts of a request that authorization may use.
#[derive(Clone, Copy)]
pub(super) struct Sent<'a> {
    pub(super) method: &'a Method,
    pub(super) uri: &'a Uri,
    pub(super) headers: &'a HeaderMap,
    pub(super) extensions: &'a Extensions,
}

/// The tags in the request document, available once it was read.
#[derive(Clone, Debug)]
struct SentTags(Tags);

/// The object lock in the request document, available once it was read.
#[derive(Clone, Debug, Default)]
struct SentLock {
    mode: Option<String>,
    retain_until: Option<String>,
    legal_hold: Option<String>,
    event_hold: Option<String>,
    /// The duration of the event hold in days; a year has 365.
    event_hold_days: Option<String>,
}

/// Stores the condition values of a request document in the extensions, for the decision.
///
/// # Errors
/// `MalformedXML`, and the errors for invalid tags.
pub(super) fn note_document(
    operation: &str,
    document: &[u8],
    extensions: &mut Extensions,
) -> S3Result<()> {
    match operation {
        "PutObjectTagging" => {
            let tags = parse::<Tagging>(document)?.tag_set;
            extensions.insert(SentTags(tagging::of_document(tags, Tagged::Object)?));
        }
        "PutObjectRetention" => {
            let ObjectLockRetention { mode, retain_until_date } = parse(document)?;
            let retain_until = retain_until_date.and_then(unix_seconds);
            let retain_until = retain_until.and_then(|it| Timestamp::from_second(it).ok());
            let hold = SentEventHold::of(document)?;
            extensions.insert(SentLock {
                mode: mode.map(|mode| mode.as_str().to_owned()),
                retain_until: retain_until.map(|until| until.to_string()),
                legal_hold: None,
                event_hold: hold.status().map(str::to_owned),
                event_hold_days: hold.days().map(|days| days.to_string()),
            });
            extensions.insert(hold);
        }
        "PutObjectLegalHold" => {
            let ObjectLockLegalHold { status } = parse(document)?;
            let legal_hold = status.map(|status| status.as_str().to_owned());
            extensions.insert(SentLock { legal_hold, ..SentLock::default() });
        }
        _ => {}
    }
    Ok(())
}

fn parse<T>(document: &[u8]) -> S3Result<T>
where
    T: for<'xml> Deserialize<'xml>,
{
    T::deserialize(&mut Deserializer::new(document)).map_err(|_| error::malformed_xml())
}

impl<'a> Sent<'a> {
    /// The request with this head; the body is never part of a decision.
    pub(super) fn head(head: &'a Parts) -> Sent<'a> {
        Sent {
            method: &head.method,
            uri: &head.uri,
            headers: &head.headers,
            extensions: &head.extensions,
        }
    }

    /// The value of a header, if it is valid text.
    pub(super) fn header(&self, name: impl AsHeaderName) -> Option<&'a str> {
        header(self.headers, name)
    }

    /// The decoded value of a query parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&'a str> {
        self.query().get(name)
    }

    /// The query parameters.
    pub(super) fn query(&self) -> &'a Query {
        Query::in_extensions(self.extensions)
    }

    /// The origin of the request, if it came through the HTTP front end.
    pub(super) fn origin(&self) -> Option<&'a Origin> {
        self.extensions.get::<Arc<Origin>>().map(|origin| &**origin)
    }

    /// True for operations that use the headers of writes. A rename and an annotation are PUTs, but ignore them.
    fn is_write(&self) -> bool {
        matches!(*self.method, Method::PUT | Method::POST)
            && !matches!(self.operation(), Some("RenameObject" | "PutObjectAnnotation"))
    }

    /// True if the tags in the header become the new object's. A copy takes the source's tags
    /// unless `x-amz-tagging-directive` is REPLACE.
    fn brings_tags(&self) -> bool {
        let replaces = || self.header("x-amz-tagging-directive") == Some("REPLACE");
        self.is_write() && (self.operation() != Some("CopyObject") || replaces())
    }

    fn operation(&self) -> Option<&'static str> {
        self.extensions.get::<&'static Route>().map(|route| route.operation)
    }

    /// The value of a header that only writes use.
    fn of_write(&self, name: &str) -> Value<'a> {
        Value::of(self.header(name).filter(|_| self.is_write()))
    }

    /// `*` if `If-None-Match` is `*`. Other values do not prevent an overwrite, so they must not
    /// satisfy the condition key.
    fn if_none_match(&self) -> Value<'a> {
        let mut values = self.headers.get_all(IF_NONE_MATCH).iter();
        let is_any = |value: &HeaderValue| matches!(value.as_bytes(), b"*" | b"\"*\"");
        match (values.next(), values.next()) {
            (Some(value), None) if self.is_write() && is_any(value) => Value::text("*"),
            _ => Value::None,
        }
    }

    /// The value of a query parameter that the operation knows.
    fn of_list(&self, name: &str) -> Value<'a> {
        let route = self.extensions.get::<&'static Route>();
        let is_known = route.is_some_and(|route| route.known.contains(&name));
        Value::of(self.parameter(name).filter(|_| is_known))
    }

    /// The tags in the request; empty if they are invalid, because the request will be rejected for
    /// them anyway.
    fn tags(&self) -> Tags {
        match (self.extensions.get(), self.header("x-amz-tagging").filter(|_| self.brings_tags())) {
            (Some(SentTags(tags)), _) => tags.clone(),
            (None, Some(tags)) => tagging::parse_header(tags).unwrap_or_default(),
            (None, None) => Tags::new(),
        }
    }

    /// `s3:x-amz-object-annotation-directive`, of copies only. The default is the value that a copy without one has.
    fn annotation_directive(&self) -> Value<'a> {
        match self.operation() {
            Some("CopyObject") => {
                Value::text(self.header("x-amz-object-annotation-directive").unwrap_or("COPY"))
            }
            _ => Value::None,
        }
    }

    /// `s3:x-amz-object-if-match`, of changes of annotations only.
    fn object_if_match(&self) -> Value<'a> {
        let is_change =
            matches!(self.operation(), Some("PutObjectAnnotation" | "DeleteObjectAnnotation"));
        Value::of(self.header("x-amz-object-if-match").filter(|_| is_change))
    }

    fn lock(&self, header: &str, of_document: fn(&SentLock) -> &Option<String>) -> Value<'a> {
        match self.extensions.get::<SentLock>() {
            Some(lock) => Value::of(of_document(lock).as_deref()),
            None => self.of_write(header),
        }
    }

    /// Days of the duration of the requested event hold.
    fn event_hold_days(&self) -> Value<'a> {
        if let Some(lock) = self.extensions.get::<SentLock>() {
            return Value::of(lock.event_hold_days.as_deref());
        }
        let Value::One(years) = self.of_write(event_hold::YEARS.as_str()) else {
            return self.of_write(event_hold::DAYS.as_str());
        };
        match years.parse() {
            Ok(years) => {
                let days = RetentionPeriod::Years(years).days();
                Value::One(Cow::Owned(days.to_string()))
            }
            // The write is refused.
            Err(_) => Value::None,
        }
    }

    /// Days until the requested retention ends, rounded up.
    fn retention_days(&self) -> Value<'a> {
        let Value::One(until) = self.lock(RETAIN_UNTIL, |lock| &lock.retain_until) else {
            return Value::None;
        };
        let Ok(until) = until.parse::<Timestamp>() else { return Value::None };
        let Some(origin) = self.origin() else { return Value::None };
        let seconds = until.as_second() - origin.found.now().as_second();
        Value::One(Cow::Owned((seconds.max(0) as u64).div_ceil(86_400).to_string()))
    }

    /// Bucket and key of the copy source in the form of the condition key: `bucket/key`.
    fn copy_source(&self) -> Value<'a> {
        let Value::One(source) = self.of_write("x-amz-copy-source") else { return Value::None };
        let source = source.strip_prefix('/').unwrap_or(&source);
        let source = source.split_once("?versionId=").map_or(source, |(source, _)| source);
        // Decoded like the copy itself decodes it, where a plus is a space.
        let source = source.replace('+', "%20");
        let source = percent_decode_str(&source).decode_utf8_lossy().into_owned();
        Value::One(Cow::Owned(source))
    }

    /// `s3:ObjectCreationOperation`: true for requests that need `s3:PutObject` and create an
    /// object, false for starting a multipart upload and uploading a part.
    fn creates_object(&self) -> Value<'a> {
        match self.operation() {
            Some(
                "PutObject"
                | "PostObject"
                | "CopyObject"
                | "CompleteMultipartUpload"
                | "RenameObject",
            ) => Value::bool(true),
            Some("CreateMultipartUpload" | "UploadPart" | "UploadPartCopy") => Value::bool(false),
            _ => Value::None,
        }
    }

    fn signed_as(&self) -> Option<&'a SignedAs> {
        self.extensions.get()
    }
}

const RETAIN_UNTIL: &str = "x-amz-object-lock-retain-until-date";

impl Context for Sent<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        use ContextKey as Key;
        match key {
            Key::S3Prefix => self.of_list("prefix"),
            Key::S3Delimiter => self.of_list("delimiter"),
            Key::S3MaxKeys => self.of_list("max-keys"),
            Key::S3AnnotationPrefix => self.of_list("annotation-prefix"),
            Key::S3MaxAnnotationResults => self.of_list("max-annotation-results"),
            Key::S3ObjectAnnotationDirective => self.annotation_directive(),
            Key::S3ObjectIfMatch => self.object_if_match(),
            Key::S3VersionId => Value::of(self.parameter("versionId")),
            Key::S3AuthType => Value::of(self.signed_as().map(SignedAs::auth_type)),
            Key::S3SignatureVersion => Value::of(self.signed_as().map(SignedAs::version)),
            Key::S3SignatureAge => self
                .signed_as()
                .and_then(|signed| signed.age_ms)
                .map_or(Value::None, |age| Value::One(Cow::Owned(age.to_string()))),
            Key::S3ContentSha256 => {
                Value::of(self.signed_as().and_then(|signed| signed.content_sha256.as_deref()))
            }
            Key::S3ObjectCreationOperation => self.creates_object(),
            Key::S3IfMatch => self.of_write("if-match"),
            Key::S3IfNoneMatch => self.if_none_match(),
            Key::S3ObjectLockMode => self.lock("x-amz-object-lock-mode", |lock| &lock.mode),
            Key::S3ObjectLockRetainUntilDate => self.lock(RETAIN_UNTIL, |lock| &lock.retain_until),
            Key::S3ObjectLockRemainingRetentionDays => self.retention_days(),
            Key::S3ObjectLockLegalHold => {
                self.lock("x-amz-object-lock-legal-hold", |lock| &lock.legal_hold)
            }
            Key::S3ObjectLockEventHold => {
                self.lock(event_hold::STATUS.as_str(), |lock| &lock.event_hold)
            }
            Key::S3ObjectLockEventHoldDurationDays => self.event_hold_days(),
            Key::S3Acl => self.of_write("x-amz-acl"),
            Key::S3CopySource => self.copy_source(),
            Key::S3GrantFullControl => self.of_write("x-amz-grant-full-control"),
            Key::S3GrantRead => self.of_write("x-amz-grant-read"),
            Key::S3GrantReadAcp => self.of_write("x-amz-grant-read-acp"),
            Key::S3GrantWrite => self.of_write("x-amz-grant-write"),
            Key::S3GrantWriteAcp => self.of_write("x-amz-grant-write-acp"),
            Key::S3MetadataDirective => self.of_write("x-amz-metadata-directive"),
            Key::S3ObjectOwnership => self.of_write("x-amz-object-ownership"),
            Key::S3ServerSideEncryption => self.of_write("x-amz-server-side-encryption"),
            Key::S3KmsKeyId => self.of_write("x-amz-server-side-encryption-aws-kms-key-id"),
            Key::S3CustomerAlgorithm => {
                self.of_write("x-amz-server-side-encryption-customer-algorithm")
            }
            Key::S3StorageClass => self.of_write("x-amz-storage-class"),
            Key::S3WebsiteRedirectLocation => self.of_write("x-amz-website-redirect-location"),
            Key::S3RequestObjectTagKeys => {
                let names = self.tags().into_iter().map(|(name, _)| Cow::Owned(name));
                let names: Vec<_> = names.collect();
                if names.is_empty() { Value::None } else { Value::Many(names) }
            }
            Key::RequestObjectTag(name) => {
                let found = self.tags().into_iter().find(|(tag, _)| **tag == **name);
                found.map_or(Value::None, |(_, value)| Value::One(Cow::Owned(value)))
            }
            key => circumstances::value(key, self.origin(), self.headers),
        }
    }
}

/// The context of a decision about an object that is not the request's path: a copy source, or one
/// of several objects to delete.
pub(super) struct OtherObject<'a> {
    pub(super) sent: Sent<'a>,
    pub(super) version: Option<&'a str>,
}

impl Context for OtherObject<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        match key {
            ContextKey::S3VersionId => Value::of(self.version),
            key => self.sent.value(key),
        }
    }
}

/// The context of a decision about the target of a copy that takes the source's tags.
pub(super) struct CopiedTags<'a> {
    pub(super) sent: Sent<'a>,
    pub(super) tags: &'a [(String, String)],
}

impl Context for CopiedTags<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        match key {
            ContextKey::RequestObjectTag(name) => {
                let found = self.tags.iter().find(|(tag, _)| **tag == **name);
                Value::of(found.map(|(_, value)| &**value))
            }
            ContextKey::S3RequestObjectTagKeys => {
                Value::Many(self.tags.iter().map(|(name, _)| Cow::Borrowed(&**name)).collect())
            }
            key => self.sent.value(key),
        }
    }
}
