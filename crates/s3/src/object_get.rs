//! GetObject and HeadObject, implemented without s3s: they are the most frequent requests, and need
//! almost nothing of its typed layer.

use std::sync::Arc;

use http::header::{
    CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_RANGE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use liteio_store::{
    ArchiveAccess, Bucket, ByteRange, ChecksumType, FoundObject, GetOptions, ObjectKey,
    ObjectReader, ObjectVersion, OpenedObject, PartNumber, ReadError, Selection, StoreError,
};
use s3s::{S3Error, S3Result, s3_error};

use super::context::Sent;
use super::convert::{object_key, part_number_text, version_id};
use super::details::Details;
use super::encryption::{self, CustomerKey};
use super::headers::{header, header_value};
use super::lenient::LenientHeaders;
use super::query::Query;
use super::route::{Route, Target};
use super::{
    access, body_out, bucket_lifecycle, checksum, condition, error, header_text, metadata,
    object_lock, object_restore,
};
use liteio_access::Granted;
use liteio_access::state::App;
use liteio_wire::front::Allowance;
use liteio_wire::reply::ReplyBody;

const CHECKSUM_MODE: HeaderName = HeaderName::from_static("x-amz-checksum-mode");
const PARTS_COUNT: HeaderName = HeaderName::from_static("x-amz-mp-parts-count");

/// Attempts to authorize one read whose object is replaced between decision and read each time.
const DECISIONS_MAX: u32 = 8;

/// A GetObject or HeadObject request.
pub(super) struct ReadRequest<'a> {
    pub(super) head: &'a mut Parts,
    pub(super) route: &'static Route,
    pub(super) target: Target,
    pub(super) allowance: &'a Allowance,
    /// Report a missing object as 404 also to senders who may read it but not list the bucket.
    pub(super) tells_missing: bool,
}

impl ReadRequest<'_> {
    /// Answers the request.
    ///
    /// # Errors
    /// The errors of the operation.
    pub(super) async fn answer(self, app: &Arc<App>) -> S3Result<Response<ReplyBody>> {
        // The request is dropped here, so its memory is free while the first piece is read.
        let allowance = self.allowance;
        let (mut response, reader) = self.open(app).await?;
        if let Some(reader) = reader {
            *response.body_mut() = body_out::body(app, reader, allowance).await?;
        }
        Ok(response)
    }

    /// The response without its body, and the reader of the body.
    async fn open(self, app: &App) -> S3Result<(Response<ReplyBody>, Option<ObjectReader>)> {
        let mut granted = self.granted(app).await?;
        let read = Read::parse(app, self.head, &self.target.key)?;
        let mut tries = DECISIONS_MAX;
        let (found, reader) = loop {
            let (found, reader) = self.find(app, &granted, &read).await?;
            // Time of check to time of use: the decision may depend on the object's owner, ACL or
            // tags, and the object may have been replaced since. Then the request is authorized
            // again.
            if granted.holds_for(&found.object) {
                break (found, reader);
            }
            if tries == 0 {
                return Err(error::access_denied());
            }
            tries -= 1;
            granted = self.granted(app).await?;
        };
        let mut response = Response::new(ReplyBody::empty());
        if read.is_partial(&found) {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        }
        let mut headers = read.headers(granted.bucket(), &found)?;
        object_lock::insert(app, &mut headers, &found.object.lock)?;
        object_restore::insert(app, &mut headers, &found.object)?;
        // As on AWS, a read by version id does not tell the expiry, even of the current version.
        if read.options.version.is_none() {
            let bucket = granted.bucket();
            bucket_lifecycle::insert_expiration(app, &mut headers, bucket, &found.object)?;
        }
        *response.headers_mut() = headers;
        Ok((response, reader))
    }

    async fn granted(&self, app: &App) -> S3Result<Granted> {
        access::of_bucket(app, Sent::head(self.head), self.route, &self.target).await
    }

    async fn find(
        &self,
        app: &App,
        granted: &Granted,
        read: &Read,
    ) -> S3Result<(Box<FoundObject>, Option<ObjectReader>)> {
        let found = app.look(|store| match self.head.method {
            Method::HEAD => {
                let found = store.head_object(granted.bucket(), &read.key, &read.options);
                found.map(|found| (found, None))
            }
            _ => {
                let opened = store.get_object(granted.bucket(), &read.key, &read.options);
                opened.map(|OpenedObject { found, reader }| (found, Some(reader)))
            }
        });
        let error = match found.await {
            Ok(found) => return Ok(found),
            Err(error) => read.refusal(granted.bucket(), error),
        };
        if self.tells_missing {
            return Err(error);
        }
        let (sent, key) = (Sent::head(self.head), read.key.as_str());
        Err(access::hide_missing(app, granted, sent, key, error).await)
    }
}

/// The parameters of a read, and the response headers that the request overrides.
struct Read {
    key: ObjectKey,
    options: GetOptions,
    /// `Range` as sent.
    range_sent: Option<String>,
    wants_checksum: bool,
    overrides: Vec<(HeaderName, HeaderValue)>,
    customer: Option<CustomerKey>,
}

impl Read {
    fn parse(app: &App, head: &mut Parts, key: &str) -> S3Result<Read> {
        let customer = encryption::of_read(app, &head.headers, &head.extensions)?;
        let found = Parameters::of(Query::in_extensions(&head.extensions))?;
        let LenientHeaders { range, range_of, range_sent, object: conditions, .. } =
            condition::take(&mut head.headers, false)?;
        Ok(Read {
            key: object_key(key.to_owned())?,
            options: GetOptions {
                version: version_id(found.version)?,
                conditions,
                select: selection(found.part, range)?,
                range_of,
                customer_key: customer.as_ref().map(|customer| customer.key.clone()),
                // A HEAD tells the state of an archived object.
                archive: match head.method {
                    Method::HEAD => ArchiveAccess::Unrestricted,
                    _ => ArchiveAccess::Restored,
                },
            },
            range_sent,
            wants_checksum: header(&head.headers, CHECKSUM_MODE)
                .is_some_and(|mode| mode.eq_ignore_ascii_case("ENABLED")),
            overrides: found.overrides,
            customer,
        })
    }
}

/// The query parameters of both operations. [`Route`] has already rejected parameters of other
/// operations; unknown ones are ignored.
#[derive(Default)]
struct Parameters {
    part: Option<PartNumber>,
    version: Option<String>,
    overrides: Vec<(HeaderName, HeaderValue)>,
}

impl Parameters {
    fn of(query: &Query) -> S3Result<Parameters> {
        let repeated = |name: &str| {
            let details = Details::named(name);
            s3_error!(details, InvalidArgument, "A query parameter is given more than once")
        };
        let mut found = Parameters::default();
        for (name, value) in query.pairs() {
            let is_repeated = match name {
                "partNumber" => found.part.replace(part_number_text(value)?).is_some(),
                "versionId" => found.version.replace(value.to_owned()).is_some(),
                _ => false,
            };
            if is_repeated {
                return Err(repeated(name));
            }
        }
        // As on AWS, which ignores other unknown parameters of a read.
        if let Some((name, value)) = query.unknown_override() {
            return Err(s3_error!(
                Details::argument(name, value),
                InvalidArgument,
                "{name} is not in the set of overridable response headers. Please refer to the S3 API \
                 documentation for a complete list of overridable response headers."
            ));
        }
        for (name, value) in query.overrides() {
            let sent = || format!("response-{name}");
            if found.overrides.iter().any(|(other, _)| *other == name) {
                return Err(repeated(&sent()));
            }
            let value = header_text::to_latin1(value).ok_or_else(|| {
                s3_error!(
                    Details::argument(sent(), value),
                    InvalidArgument,
                    "Header value cannot be represented using ISO-8859-1, or has control characters."
                )
            })?;
            found.overrides.push((name, value));
        }
        Ok(found)
    }
}

/// The selected bytes. Range and part number exclude each other.
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

impl Read {
    /// Ranges and parts are answered with 206 even if they cover the whole object. The single part
    /// of an empty object is 200, because no `Content-Range` can describe it.
    fn is_partial(&self, found: &FoundObject) -> bool {
        (found.is_range || found.part.is_some()) && !found.range.is_empty()
    }

    fn headers(&self, bucket: &Bucket, found: &FoundObject) -> S3Result<HeaderMap> {
        let FoundObject { object, part, range, .. } = found;
        let mut headers = metadata::object_headers(bucket, object)?;
        metadata::insert_user(&mut headers, object)?;
        encryption::insert(&mut headers, object.encryption.as_ref(), self.customer.as_ref())?;
        for (name, value) in &self.overrides {
            headers.insert(name, value.clone());
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

    /// Adds the checksum of the whole object or of the part. A range that is not the whole object gets
    /// none: clients would compare the object's checksum with the bytes of the range and fail.
    fn insert_checksum(&self, found: &FoundObject, headers: &mut HeaderMap) -> S3Result<()> {
        let FoundObject { object, part, .. } = found;
        let is_whole = found.range == (0..object.bytes);
        match (part.as_ref().filter(|_| object.part_count.is_some()), &object.checksum) {
            _ if found.is_range && !is_whole => Ok(()),
            // The checksum of a part belongs to a composite one; the others are of the whole object.
            (Some(part), Some(whole)) if whole.kind == ChecksumType::Composite => {
                match &part.checksum {
                    Some(value) => checksum::insert_part(headers, value, Some(whole)),
                    None => Ok(()),
                }
            }
            // The only part is the whole object.
            (Some(_), Some(checksum)) if is_whole => checksum::insert(headers, checksum),
            (Some(_), _) => Ok(()),
            (None, Some(checksum)) => checksum::insert(headers, checksum),
            (None, None) => Ok(()),
        }
    }
}

impl Read {
    /// Names the range or part that the object does not have.
    fn with_selection(&self, error: S3Error) -> S3Error {
        match (error.code().as_str(), self.options.select) {
            ("InvalidRange", _) => {
                let sent = self.range_sent.as_deref().unwrap_or_default();
                Details::add(error, "RangeRequested", error::quoted(sent))
            }
            ("InvalidPartNumber", Selection::Part(part)) => {
                Details::add(error, "PartNumberRequested", part)
            }
            _ => error,
        }
    }

    fn refusal(&self, bucket: &Bucket, error: ReadError) -> S3Error {
        match error {
            ReadError::NotModified { object } => {
                let customer = self.customer.as_ref();
                not_modified(bucket, &object, customer).unwrap_or_else(|error| error)
            }
            ReadError::Store(error) => self.with_selection(error::from_store(error)),
        }
    }
}

/// 304, with the headers that a cache updates its entry by.
fn not_modified(
    bucket: &Bucket,
    object: &ObjectVersion,
    customer: Option<&CustomerKey>,
) -> S3Result<S3Error> {
    let mut headers = metadata::object_headers(bucket, object)?;
    encryption::insert(&mut headers, object.encryption.as_ref(), customer)?;
    // The content type is not sent either, but decides how browsers may show the object.
    for name in [CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_DISPOSITION] {
        headers.remove(name);
    }
    let mut error = error::from_store(StoreError::NotModified);
    error.set_headers(headers);
    Ok(error)
}
