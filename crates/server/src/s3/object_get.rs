//! GetObject and HeadObject.

use std::ops::Range;
use std::sync::Arc;

use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH,
    CONTENT_RANGE, CONTENT_TYPE, EXPIRES,
};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode};
use liteio_store::{
    Bucket, ByteRange, ConditionResult, ObjectKey, ObjectReader, ObjectVersion, PartNumber,
    ReadConditions, ReadSelection, StoreError, VersionId,
};
use s3s::dto::{
    ChecksumMode, GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, Timestamp,
    TimestampFormat,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::access::allowed_bucket;
use super::convert::{header_value, insert_text, object_key, part_number, version_id};
use super::service::Answer;
use super::{Req, Resp, body_out, checksum, condition, error, metadata, unsupported};
use crate::front::lenient::{LenientHeaders, RangeHeader};
use crate::state::App;

const PARTS_COUNT: HeaderName = HeaderName::from_static("x-amz-mp-parts-count");

/// What GET and HEAD ask for alike.
struct Read {
    bucket: Arc<Bucket>,
    key: ObjectKey,
    version: Option<VersionId>,
    part: Option<PartNumber>,
    range: Option<ByteRange>,
    conditions: ReadConditions,
    wants_checksum: bool,
    overrides: [(HeaderName, Option<String>); 5],
    expires_override: Option<Timestamp>,
}

/// The two inputs are different types with the same fields.
macro_rules! read_of {
    ($request:expr) => {{
        let Req { input, headers, extensions, .. } = $request;
        unsupported::check_customer_key(&headers)?;
        let read = Read {
            bucket: allowed_bucket(&extensions)?,
            key: object_key(input.key)?,
            version: version_id(input.version_id)?,
            part: input.part_number.map(part_number).transpose()?,
            range: requested_range(&extensions),
            conditions: condition::of_object(&extensions),
            wants_checksum: wants_checksum(input.checksum_mode.as_ref()),
            overrides: [
                (CACHE_CONTROL, input.response_cache_control),
                (CONTENT_DISPOSITION, input.response_content_disposition),
                (CONTENT_ENCODING, input.response_content_encoding),
                (CONTENT_LANGUAGE, input.response_content_language),
                (CONTENT_TYPE, input.response_content_type),
            ],
            expires_override: input.response_expires,
        };
        read.check()?;
        read
    }};
}

pub(super) async fn get_object(
    app: &Arc<App>,
    request: Req<GetObjectInput>,
) -> Resp<GetObjectOutput> {
    let read = read_of!(request);
    let (object, selection, reader) = read.open(app)?;
    let mut response = S3Response::new(GetObjectOutput::default());
    response.headers = read.headers(app, &object, &selection, reader.range())?;
    response.output.metadata = metadata::user_metadata_of(&object);
    if is_partial(&selection, &reader) {
        response.extensions.insert(partial_content());
    }
    response.output.body = Some(body_out::body(app, reader).await?);
    Ok(response)
}

pub(super) async fn head_object(
    app: &Arc<App>,
    request: Req<HeadObjectInput>,
) -> Resp<HeadObjectOutput> {
    let read = read_of!(request);
    let (object, selection, range) = read.look(app)?;
    let mut response = S3Response::new(HeadObjectOutput::default());
    let partial = is_partial_range(&selection, &range);
    response.headers = read.headers(app, &object, &selection, range)?;
    response.output.metadata = metadata::user_metadata_of(&object);
    if partial {
        response.extensions.insert(partial_content());
    }
    Ok(response)
}

fn requested_range(extensions: &Extensions) -> Option<ByteRange> {
    Some(match extensions.get::<LenientHeaders>()?.range? {
        RangeHeader::FromTo { first, last } => ByteRange::FromTo { first, last },
        RangeHeader::From { first } => ByteRange::From(first),
        RangeHeader::Suffix { bytes } => ByteRange::Suffix(bytes),
    })
}

fn wants_checksum(mode: Option<&ChecksumMode>) -> bool {
    mode.is_some_and(|mode| mode.as_str().eq_ignore_ascii_case(ChecksumMode::ENABLED))
}

fn is_partial(selection: &ReadSelection, reader: &ObjectReader) -> bool {
    is_partial_range(selection, &reader.range())
}

/// Ranges and parts are 206, also when they are all of the object. The one part of an empty object
/// has no range that could be named.
fn is_partial_range(selection: &ReadSelection, range: &Range<u64>) -> bool {
    matches!(selection, ReadSelection::Range(_) | ReadSelection::Part(_)) && !range.is_empty()
}

fn partial_content() -> Answer {
    Answer { status: Some(StatusCode::PARTIAL_CONTENT), xml: None }
}

impl Read {
    fn check(&self) -> S3Result<()> {
        if self.part.is_some() && self.range.is_some() {
            return Err(s3_error!(
                InvalidRequest,
                "Cannot specify both Range header and partNumber query parameter"
            ));
        }
        Ok(())
    }

    /// What to read of this object: nothing if the conditions forbid it.
    fn select(&self, object: &ObjectVersion) -> Result<ReadSelection, StoreError> {
        match self.conditions.check(&object.etag, object.modified_ms) {
            ConditionResult::Proceed => {}
            ConditionResult::NotModified | ConditionResult::PreconditionFailed => {
                return Ok(ReadSelection::Nothing);
            }
        }
        Ok(match (self.part, self.range) {
            (Some(part), _) => ReadSelection::Part(part),
            (None, Some(range)) => ReadSelection::Range(range.resolve(object.bytes)?),
            (None, None) => ReadSelection::Whole,
        })
    }

    /// The object with a reader of what was asked for.
    fn open(&self, app: &App) -> S3Result<(ObjectVersion, ReadSelection, ObjectReader)> {
        let select = |object: &ObjectVersion| self.select(object);
        let opened = app.store.get_object(&self.bucket, &self.key, self.version.as_ref(), &select);
        let (object, selection, reader) = opened.map_err(error::from_store)?;
        self.check_conditions(&object, &selection)?;
        Ok((object, selection, reader))
    }

    /// The object and the range of it that was asked for, without its bytes.
    fn look(&self, app: &App) -> S3Result<(ObjectVersion, ReadSelection, Range<u64>)> {
        let (bucket, key, version) = (&self.bucket, &self.key, self.version.as_ref());
        let object = app.store.head_object(bucket, key, version).map_err(error::from_store)?;
        let selection = self.select(&object).map_err(error::from_store)?;
        self.check_conditions(&object, &selection)?;
        let range = match &selection {
            ReadSelection::Whole | ReadSelection::Nothing => 0..object.bytes,
            ReadSelection::Range(range) => range.clone(),
            ReadSelection::Part(part) => {
                let found = app.store.object_part(bucket, key, version, *part);
                let (object, part) = found.map_err(error::from_store)?;
                let selection = ReadSelection::Part(part.number);
                return Ok((object, selection, part.offset..part.offset + part.bytes));
            }
        };
        Ok((object, selection, range))
    }

    fn check_conditions(&self, object: &ObjectVersion, selection: &ReadSelection) -> S3Result<()> {
        if *selection != ReadSelection::Nothing {
            return Ok(());
        }
        match self.conditions.check(&object.etag, object.modified_ms) {
            ConditionResult::NotModified => Err(not_modified(object)?),
            ConditionResult::Proceed | ConditionResult::PreconditionFailed => {
                Err(error::precondition_failed())
            }
        }
    }

    fn headers(
        &self,
        app: &App,
        object: &ObjectVersion,
        selection: &ReadSelection,
        range: Range<u64>,
    ) -> S3Result<HeaderMap> {
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
        if is_partial_range(selection, &range) {
            let (last, bytes) = (range.end - 1, object.bytes);
            let text = format!("bytes {}-{last}/{bytes}", range.start);
            headers.insert(CONTENT_RANGE, header_value(&text)?);
        }
        if let (ReadSelection::Part(_), Some(parts)) = (selection, object.part_count) {
            headers.insert(PARTS_COUNT, HeaderValue::from(parts));
        }
        if self.wants_checksum {
            self.insert_checksum(app, object, selection, &mut headers)?;
        }
        Ok(headers)
    }

    /// The checksum of what is answered: of the object, or of the part. There is none of a range, and
    /// that of the object would make clients refuse it.
    fn insert_checksum(
        &self,
        app: &App,
        object: &ObjectVersion,
        selection: &ReadSelection,
        headers: &mut HeaderMap,
    ) -> S3Result<()> {
        let part = match selection {
            ReadSelection::Range(_) => return Ok(()),
            ReadSelection::Part(part) if object.part_count.is_some() => *part,
            ReadSelection::Part(_) | ReadSelection::Whole | ReadSelection::Nothing => {
                return match &object.checksum {
                    Some(checksum) => checksum::insert(headers, checksum),
                    None => Ok(()),
                };
            }
        };
        let version = Some(&object.version_id);
        let found = app.store.object_part(&self.bucket, &self.key, version, part);
        match found.map_err(error::from_store)?.1.checksum {
            Some(value) => checksum::insert_part(headers, &value, object.checksum.as_ref()),
            None => Ok(()),
        }
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
