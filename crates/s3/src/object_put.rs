//! PutObject, including appends, and POST of a form (browser-based uploads).

use http::header::{CONTENT_TYPE, ETAG, LOCATION};
use http::{Extensions, HeaderName, HeaderValue, Response, StatusCode};
use liteio_store::{
    Bucket, ChecksumAlgorithm, GetOptions, ObjectChecksum, ObjectKey, ObjectVersion, PutOptions,
    StoreError,
};
use s3s::{S3Result, s3_error};

use super::acl::NewObjectAcl;
use super::checksum::{BodyChecks, DEFAULT_ALGORITHM};
use super::convert::{object_key, object_url};
use super::details::Details;
use super::encryption::Asked;
use super::headers::{etag_header, header_value};
use super::metadata::UserMetadata;
use super::page_token::key_in_url;
use super::put_request::PutRequest;
use super::xml::XmlWriter;
use super::{
    body_in, bucket_lifecycle, checksum, condition, error, event_cause, metadata, object_lock,
    replica, snowball, unsupported,
};
use liteio_access::Granted;
use liteio_access::state::App;
use liteio_auth::PostForm;
use liteio_wire::reply::ReplyBody;

/// Answers the request. It needs almost nothing of s3s's typed layer, which took a fifth of the time
/// of a short one.
pub(super) async fn put_object(app: &App, request: PutRequest) -> S3Result<Response<ReplyBody>> {
    request.check_texts()?;
    let user = UserMetadata::of_request(&request.extensions);
    if user.is_true(unsupported::EXTRACTS_AS_METADATA) {
        // Boxed, so that other writes do not carry its state.
        return Box::pin(snowball::put(app, request)).await;
    }
    let offset = request.write_offset()?;
    let PutRequest { granted, key, headers, mut extensions, body, .. } = request;
    let checks = BodyChecks::from_request(&headers, &extensions)?;
    let NewObjectAcl { owner, acl } = NewObjectAcl::of_request(app, &granted, &headers)?;
    let options = PutOptions {
        metadata: metadata::from_request(&headers, &extensions)?,
        checksum: None,
        conditions: condition::of_write(&extensions),
        owner,
        lock: object_lock::of_request(app, &headers)?,
        acl,
        is_form: extensions.get::<PostForm>().is_some(),
        cause: event_cause::of_request(app, &granted, &headers, &extensions),
        replica: replica::of_write(&headers)?,
    };
    let key = object_key(key)?;
    let asked = Asked::of_write(app, granted.bucket(), &headers, &extensions)?;
    let sealing = asked.seal(app)?;
    let form = extensions.remove::<PostForm>();
    let append = Append::of_request(app, &granted, &key, offset, form.as_ref()).await?;
    let bytes_expected = match form {
        // The file's length is known only at the end of the form.
        Some(_) => None,
        None => Some(body_in::declared_bytes(&headers)?),
    };
    if append.is_some() && bytes_expected == Some(0) {
        return Err(s3_error!(
            InvalidRequest,
            "Request body cannot be empty when 'write offset' is specified."
        ));
    }
    let kept = append.and_then(|append| append.kept);
    let algorithms = match checksum::of_both(kept, checks.algorithm())? {
        none if none.is_empty() => vec![DEFAULT_ALGORITHM],
        algorithms => algorithms,
    };
    let algorithm = checks.algorithm().unwrap_or(algorithms[0]);
    let body =
        body_in::receive(app, Some(body), &extensions, bytes_expected, algorithms, sealing).await?;
    checks.verify(body.digests())?;
    let checksum = body.digests().checksum(algorithm).copied().map(ObjectChecksum::full_object);
    let options = PutOptions { checksum, ..options };
    let object = match append {
        None => app.store.put_object(granted.bucket(), key, body, options).await,
        Some(Append { offset, .. }) => {
            app.store.append_object(granted.bucket(), key, offset, body, options).await
        }
    };
    let object = object.map_err(error::from_store)?;
    let mut response = match form {
        Some(form) => form_response(app, &form, granted.bucket(), &object, &asked, &extensions)?,
        None => response(app, granted.bucket(), &object, &asked)?,
    };
    if append.is_some() {
        response.headers_mut().insert(OBJECT_SIZE, HeaderValue::from(object.bytes));
        if let (None, Some(appended)) = (&object.checksum, checksum) {
            checksum::insert_value(response.headers_mut(), &appended.value)?;
        }
    }
    Ok(response)
}

const OBJECT_SIZE: HeaderName = HeaderName::from_static("x-amz-object-size");

/// A PutObject with an append offset, which AWS offers for directory buckets only.
#[derive(Clone, Copy, Debug)]
struct Append {
    offset: u64,
    /// The object's checksum algorithm.
    kept: Option<ChecksumAlgorithm>,
}

impl Append {
    /// The requested append. An append that cannot succeed is rejected before the body is received;
    /// the store checks again when it commits.
    async fn of_request(
        app: &App,
        granted: &Granted,
        key: &ObjectKey,
        offset: Option<i64>,
        form: Option<&PostForm>,
    ) -> S3Result<Option<Append>> {
        let Some(offset) = offset else { return Ok(None) };
        if form.is_some() {
            return Err(s3_error!(InvalidRequest, "A form upload cannot append to an object."));
        }
        let offset = u64::try_from(offset).map_err(|_| {
            s3_error!(
                Details::argument("x-amz-write-offset-bytes", &offset.to_string()),
                InvalidArgument,
                "The x-amz-write-offset-bytes header must not be negative."
            )
        })?;
        let options = GetOptions::default();
        let found = app.look(|store| store.head_object(granted.bucket(), key, &options));
        let found = match found.await.map_err(StoreError::from) {
            Ok(found) => Some(found.object),
            Err(StoreError::NoSuchKey { .. }) => None,
            Err(StoreError::CustomerKeyRequired) => {
                return Err(error::from_store(StoreError::EncryptedAppend));
            }
            Err(error) => return Err(error::from_store(error)),
        };
        let object_bytes = found.as_ref().map_or(0, |object| object.bytes);
        if object_bytes != offset {
            return Err(error::from_store(StoreError::InvalidWriteOffset { object_bytes }));
        }
        let checksum = found.and_then(|object| object.checksum);
        Ok(Some(Append { offset, kept: checksum.map(|checksum| checksum.value.algorithm) }))
    }
}

fn response(
    app: &App,
    bucket: &Bucket,
    object: &ObjectVersion,
    asked: &Asked,
) -> S3Result<Response<ReplyBody>> {
    let mut response = Response::new(ReplyBody::empty());
    let headers = response.headers_mut();
    headers.insert(ETAG, etag_header(&object.etag)?);
    if let Some(checksum) = &object.checksum {
        checksum::insert(headers, checksum)?;
    }
    metadata::insert_new_version(headers, object)?;
    bucket_lifecycle::insert_expiration(app, headers, bucket, object)?;
    asked.insert(headers, object.encryption.as_ref())?;
    Ok(response)
}

/// The success response that the form chooses: a redirect, a document, or a bare status.
fn form_response(
    app: &App,
    form: &PostForm,
    bucket: &Bucket,
    object: &ObjectVersion,
    asked: &Asked,
    extensions: &Extensions,
) -> S3Result<Response<ReplyBody>> {
    let mut response = response(app, bucket, object, asked)?;
    let (status, location) = match &form.success_redirect {
        Some(target) => (StatusCode::SEE_OTHER, redirect_location(target, form, object)?),
        None => {
            let url = object_url(extensions, &form.bucket, &form.key);
            (StatusCode::from_u16(form.success_status).unwrap_or_default(), header_value(&url)?)
        }
    };
    *response.status_mut() = status;
    if status == StatusCode::CREATED {
        let mut xml = XmlWriter::without_namespace("PostResponse");
        xml.text("Location", &String::from_utf8_lossy(location.as_bytes()));
        xml.text("Bucket", &form.bucket);
        xml.text("Key", &form.key);
        xml.etag(object.etag);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        *response.body_mut() = ReplyBody::from(xml.finish());
    }
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}

/// The redirect target after a form upload, with bucket, key and ETag in its query.
fn redirect_location(
    target: &str,
    form: &PostForm,
    object: &ObjectVersion,
) -> S3Result<HeaderValue> {
    let separator = if target.contains('?') { '&' } else { '?' };
    let (bucket, key) = (&form.bucket, key_in_url(&form.key));
    let etag = object.etag;
    header_value(&format!("{target}{separator}bucket={bucket}&key={key}&etag=%22{etag}%22"))
}
