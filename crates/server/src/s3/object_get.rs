//! GetObject and HeadObject.

use std::sync::Arc;

use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH,
    CONTENT_RANGE, CONTENT_TYPE, EXPIRES,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use liteio_store::{
    ByteRange, FoundObject, GetOptions, ObjectKey, ObjectVersion, OpenedObject, PartNumber,
    ReadError, Selection, StoreError,
};
use s3s::dto::{
    ChecksumMode, GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, Timestamp,
    TimestampFormat,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::convert::{header_value, insert_text, object_key, part_number, version_id};
use super::service::Answer;
use super::{Req, Resp, body_out, checksum, condition, error, metadata, unsupported};
use crate::access::Granted;
use crate::state::App;

const PARTS_COUNT: HeaderName = HeaderName::from_static("x-amz-mp-parts-count");

/// The parameters that GET and HEAD share.
struct Read {
    key: ObjectKey,
    options: GetOptions,
    wants_checksum: bool,
    overrides: [(HeaderName, Option<String>); 5],
    expires_override: Option<Timestamp>,
}

/// The two inputs are different types with the same fields.
macro_rules! read_of {
    ($request:expr) => {{
        let Req { input, headers, extensions, .. } = $request;
        unsupported::check_customer_key(&headers)?;
        let part = input.part_number.map(part_number).transpose()?;
        Read {
            key: object_key(input.key)?,
            options: GetOptions {
                version: version_id(input.version_id)?,
                conditions: condition::of_object(&extensions),
                select: selection(part, condition::range(&extensions))?,
            },
            wants_checksum: wants_checksum(input.checksum_mode.as_ref()),
            overrides: [
                (CACHE_CONTROL, input.response_cache_control),
                (CONTENT_DISPOSITION, input.response_content_disposition),
                (CONTENT_ENCODING, input.response_content_encoding),
                (CONTENT_LANGUAGE, input.response_content_language),
                (CONTENT_TYPE, input.response_content_type),
            ],
            expires_override: input.response_expires,
        }
    }};
}

pub(super) async fn get_object(
    app: &Arc<App>,
    granted: Granted,
    request: Req<GetObjectInput>,
) -> Resp<GetObjectOutput> {
    let read = read_of!(request);
    let opened = app.look(|store| store.get_object(granted.bucket(), &read.key, &read.options));
    let OpenedObject { found, reader } = opened.map_err(from_read)?;
    let mut response = S3Response::new(GetObjectOutput::default());
    response.headers = read.headers(&found)?;
    response.output.metadata = metadata::user_metadata_of(&found.object);
    if read.is_partial(&found) {
        response.extensions.insert(partial_content());
    }
    response.output.body = Some(body_out::body(app, reader).await?);
    Ok(response)
}

pub(super) async fn head_object(
    app: &Arc<App>,
    granted: Granted,
    request: Req<HeadObjectInput>,
) -> Resp<HeadObjectOutput> {
    let read = read_of!(request);
    let found = app.look(|store| store.head_object(granted.bucket(), &read.key, &read.options));
    let found = found.map_err(from_read)?;
    let mut response = S3Response::new(HeadObjectOutput::default());
    response.headers = read.headers(&found)?;
    response.output.metadata = metadata::user_metadata_of(&found.object);
    if read.is_partial(&found) {
        response.extensions.insert(partial_content());
    }
    Ok(response)
}

/// The selected bytes. A range and a part exclude each other.
fn selection(part: Option<PartNumber>, range: Option<ByteRange>) -> S3Result<Selection> {
    match (part, range) {
        (Some(_), Some(_)) => Err(s3_error!(
            InvalidRequest,
            "Cannot specify both Range header and partNumber query parameter"
        )),
        (Some(part), None) => Ok(Selection::Part(part)),
        (None, Some(range)) => Ok(Selection::Range(range)),
        (None, None) => Ok(Selection::Whole),
    }
}

fn wants_checksum(mode: Option<&ChecksumMode>) -> bool {
    mode.is_some_and(|mode| mode.as_str().eq_ignore_ascii_case(ChecksumMode::ENABLED))
}

fn partial_content() -> Answer {
    Answer { status: Some(StatusCode::PARTIAL_CONTENT), xml: None }
}

impl Read {
    /// Ranges and parts are 206, also when they are all of the object. The one part of an empty object
    /// has no range that could be named.
    fn is_partial(&self, found: &FoundObject) -> bool {
        self.options.select != Selection::Whole && !found.range.is_empty()
    }

    fn headers(&self, found: &FoundObject) -> S3Result<HeaderMap> {
        let FoundObject { object, part, range, .. } = found;
        let mut headers = metadata::object_headers(object)?;
        for (name, value) in &self.overrides {
            insert_text(&mut headers, name.clone(), value.as_deref())?;
        }
        if let Some(expires) = &self.expires_override {
            let mut text = Vec::new();
            let formatted = expires.format(TimestampFormat::HttpDate, &mut text);
            formatted.map_err(S3Error::internal_error)?;
            insert_text(&mut headers, EXPIRES, std::str::from_utf8(&text).ok())?;
        }
        headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
        if self.is_partial(found) {
            let (last, bytes) = (range.end - 1, object.bytes);
            let text = format!("bytes {}-{last}/{bytes}", range.start);
            headers.insert(CONTENT_RANGE, header_value(&text)?);
        }
        if let (Some(_), Some(parts)) = (part, object.part_count) {
            headers.insert(PARTS_COUNT, HeaderValue::from(parts));
        }
        if self.wants_checksum {
            self.insert_checksum(found, &mut headers)?;
        }
        Ok(headers)
    }

    /// The checksum of what is answered: of the object, or of the part. There is none of a range, and
    /// that of the object would make clients refuse it.
    fn insert_checksum(&self, found: &FoundObject, headers: &mut HeaderMap) -> S3Result<()> {
        let FoundObject { object, part, .. } = found;
        match (part.as_ref().filter(|_| object.part_count.is_some()), &object.checksum) {
            _ if matches!(self.options.select, Selection::Range(_)) => Ok(()),
            (Some(part), whole) => match &part.checksum {
                Some(value) => checksum::insert_part(headers, value, whole.as_ref()),
                None => Ok(()),
            },
            (None, Some(checksum)) => checksum::insert(headers, checksum),
            (None, None) => Ok(()),
        }
    }
}

fn from_read(error: ReadError) -> S3Error {
    match error {
        ReadError::NotModified { object } => not_modified(&object).unwrap_or_else(|error| error),
        ReadError::Store(error) => error::from_store(error),
    }
}

/// 304, with the headers that a cache refreshes its copy by.
fn not_modified(object: &ObjectVersion) -> S3Result<S3Error> {
    let mut headers = metadata::object_headers(object)?;
    for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_DISPOSITION] {
        headers.remove(name);
    }
    let mut error = error::from_store(StoreError::NotModified);
    error.set_headers(headers);
    Ok(error)
}
