//! CreateMultipartUpload, CompleteMultipartUpload, AbortMultipartUpload and ListMultipartUploads.

use http::header::HeaderName;
use http::{Extensions, HeaderMap};
use liteio_store::limits::PART_NUMBER_MAX;
use liteio_store::{
    Bucket, ChecksumAlgorithm, ChecksumType, ChecksumValue, CompleteOptions, CompletePart,
    EncryptionScheme, ListUploadsQuery, ObjectVersion, PartNumber, StoreError, Upload, UploadEntry,
    UploadOptions,
};
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CreateMultipartUploadInput, CreateMultipartUploadOutput,
    ListMultipartUploadsInput, ListMultipartUploadsOutput,
};
use s3s::{S3Error, S3ErrorCode, S3Response, S3Result, s3_error};

use super::acl::NewObjectAcl;
use super::answer::xml_response;
use super::checksum::{self, DEFAULT_ALGORITHM};
use super::completed_parts::{AnnouncedBytes, CompletedPart, CompletedParts};
use super::convert::{object_key, object_url, page_size, part_number, upload_id};
use super::dates::unix_seconds;
use super::details::Details;
use super::encryption::{self, Asked, CustomerKey};
use super::headers::{header, insert_text};
use super::limits::LIST_PARTS_MAX;
use super::metadata::{self, storage_class_or_standard};
use super::page_token::KeyEncoding;
use super::xml::XmlWriter;
use super::{
    Req, Resp, bucket_lifecycle, condition, error, event_cause, object_lock, replica, unsupported,
};
use liteio_access::Granted;
use liteio_access::state::App;

pub(super) async fn create_multipart_upload(
    app: &App,
    granted: Granted,
    request: Req<CreateMultipartUploadInput>,
) -> Resp<CreateMultipartUploadOutput> {
    let Req { input, headers, extensions, .. } = request;
    unsupported::check_write(&headers, &extensions)?;
    let NewObjectAcl { owner, acl } = NewObjectAcl::of_request(app, &granted, &headers)?;
    let asked = requested_checksum(&headers)?;
    let wanted = Asked::of_write(app, granted.bucket(), &headers, &extensions)?;
    let options = UploadOptions {
        metadata: metadata::from_request(&headers, &extensions)?,
        // Every object gets a checksum, as for PutObject.
        checksum: asked.or(Some((DEFAULT_ALGORITHM, DEFAULT_ALGORITHM.default_type()))),
        has_default_checksum: asked.is_none(),
        owner,
        lock: object_lock::of_request(app, &headers)?,
        acl,
        encryption: wanted.encryption.clone(),
    };
    let key = object_key(input.key)?;
    let upload =
        app.store.create_upload(granted.bucket(), key, options).await.map_err(error::from_store)?;
    let mut xml = XmlWriter::new("InitiateMultipartUploadResult", 0);
    xml.text("Bucket", granted.bucket().name.as_str());
    xml.text("Key", upload.key.as_str());
    xml.value("UploadId", upload.id);
    let mut response = xml_response(xml.finish());
    bucket_lifecycle::insert_abort(app, &mut response.headers, granted.bucket(), &upload)?;
    if let Some((algorithm, kind)) = asked {
        insert_algorithm(&mut response.headers, algorithm, kind)?;
    }
    wanted.insert(&mut response.headers, upload.encryption.as_ref())?;
    Ok(response)
}

fn insert_algorithm(
    headers: &mut HeaderMap,
    algorithm: ChecksumAlgorithm,
    kind: ChecksumType,
) -> S3Result<()> {
    let name = HeaderName::from_static("x-amz-checksum-algorithm");
    insert_text(headers, name, Some(checksum::name(algorithm)))?;
    let name = HeaderName::from_static("x-amz-checksum-type");
    insert_text(headers, name, Some(checksum::type_name(kind)))
}

/// The checksum algorithm and type that the client requests for an upload.
fn requested_checksum(headers: &HeaderMap) -> S3Result<Option<(ChecksumAlgorithm, ChecksumType)>> {
    let algorithm = header(headers, "x-amz-checksum-algorithm");
    let algorithm = algorithm.map(checksum::parse_algorithm).transpose()?;
    let kind = header(headers, "x-amz-checksum-type").map(checksum::parse_type).transpose()?;
    match (algorithm, kind) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(s3_error!(
            InvalidRequest,
            "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm \
             header."
        )),
        (Some(algorithm), kind) => {
            let kind = kind.unwrap_or(algorithm.default_type());
            if algorithm.supports(kind) {
                return Ok(Some((algorithm, kind)));
            }
            Err(S3Error::with_message(
                S3ErrorCode::InvalidRequest,
                format!(
                    "The {} checksum type cannot be used with the {} checksum algorithm.",
                    checksum::type_name(kind),
                    checksum::name(algorithm).to_ascii_lowercase()
                ),
            ))
        }
    }
}

pub(super) async fn complete_multipart_upload(
    app: &App,
    granted: Granted,
    request: Req<CompleteMultipartUploadInput>,
) -> Resp<CompleteMultipartUploadOutput> {
    let Req { input, headers, mut extensions, .. } = request;
    let customer = encryption::customer_key(app, &headers, &extensions)?;
    let key = object_key(input.key)?;
    let id = upload_id(&input.upload_id)?;
    // The upload no longer exists once completed, but a repeated Complete must still succeed.
    let upload = app.look(|store| store.upload(granted.bucket(), &key, &id)).await.ok();
    if let Some(upload) = &upload {
        check_key(app, &granted, upload, customer.as_ref()).await?;
    }
    let Some(CompletedParts(parts)) = extensions.remove() else {
        return Err(match &upload {
            Some(_) => error::invalid_request("You must specify at least one part"),
            None => error::from_store(StoreError::NoSuchUpload { upload: id.to_string() }),
        });
    };
    let parts = complete_parts(parts, upload.as_ref())?;
    let upload_kind = upload.as_ref().and_then(|upload| upload.checksum).map(|(_, kind)| kind);
    let checksum = checksum::object_checksum_in_headers(&headers, upload_kind)?;
    // As on AWS, a composite checksum of an upload for which no algorithm was chosen is ignored:
    // it has no checksums of parts.
    let has_none_of_parts = upload.as_ref().is_some_and(|it| it.chosen_checksum().is_none());
    let checksum = checksum.filter(|it| !(has_none_of_parts && it.parts.is_some()));
    let options = CompleteOptions {
        conditions: condition::of_write(&extensions),
        checksum,
        object_bytes: extensions.get().map(|AnnouncedBytes(bytes)| *bytes),
        cause: event_cause::of_request(app, &granted, &headers, &extensions),
        replica: replica::of_write(&headers)?,
    };
    check_type(&headers, upload.as_ref())?;
    let sent = SentParts::of(&input.upload_id, &parts);
    let object = app.store.complete_upload(granted.bucket(), &key, &id, parts, options).await;
    let object = object.map_err(|error| sent.refusal(error))?;
    completed(app, granted.bucket(), &object, &extensions)
}

/// The list of a Complete, for the errors that name a part of it.
struct SentParts {
    upload: String,
    etags: Vec<(PartNumber, Option<String>)>,
}

impl SentParts {
    fn of(upload: &str, parts: &[CompletePart]) -> SentParts {
        let etags = parts.iter().map(|part| (part.number, part.etag.clone())).collect();
        SentParts { upload: upload.to_owned(), etags }
    }

    /// AWS's error, with the upload, and the ETag of the part as the client sent it.
    fn refusal(&self, error: StoreError) -> S3Error {
        let part = match error {
            StoreError::InvalidPart { part } | StoreError::PartTooSmall { part, .. } => Some(part),
            _ => None,
        };
        let names_upload =
            matches!(error, StoreError::InvalidPart { .. } | StoreError::InvalidPartOrder);
        let mut error = error::from_store(error);
        if names_upload {
            error = Details::add(error, "UploadId", &self.upload);
        }
        let found = self.etags.iter().find(|(number, _)| Some(number.get()) == part);
        match found.and_then(|(_, etag)| etag.as_deref()) {
            Some(etag) => Details::add(error, "ETag", error::quoted(etag)),
            None => error,
        }
    }
}

/// Compares the customer key of a Complete with the one that encrypted the parts. As on AWS, it is
/// required if the client requested a checksum other than the default.
async fn check_key(
    app: &App,
    granted: &Granted,
    upload: &Upload,
    customer: Option<&CustomerKey>,
) -> S3Result<()> {
    let is_customers = upload.encryption == Some(EncryptionScheme::Customer);
    let has_asked = upload.checksum.is_some_and(|(asked, _)| asked != DEFAULT_ALGORITHM);
    if customer.is_none() && !(is_customers && has_asked) {
        return Ok(());
    }
    let customer = customer.map(|customer| &customer.key);
    let sealing =
        app.look(|store| store.seal_part(granted.bucket(), &upload.key, &upload.id, customer));
    sealing.await.map(drop).map_err(encryption::from_part)
}

/// Checks that the checksum type of a Complete is the upload's.
fn check_type(headers: &HeaderMap, upload: Option<&Upload>) -> S3Result<()> {
    let Some(text) = header(headers, "x-amz-checksum-type") else { return Ok(()) };
    let asked = checksum::parse_type(text)?;
    let Some(upload) = upload else { return Ok(()) };
    match upload.chosen_checksum() {
        Some((_, kind)) if kind == asked => Ok(()),
        chosen => Err(S3Error::with_message(
            S3ErrorCode::InvalidRequest,
            format!(
                "The upload was created using the {} checksum mode. The complete request must use \
                 the same checksum mode.",
                chosen.map_or("null", |(_, kind)| checksum::type_name(kind))
            ),
        )),
    }
}

fn complete_parts(
    parts: Vec<CompletedPart>,
    upload: Option<&Upload>,
) -> S3Result<Vec<CompletePart>> {
    if parts.is_empty() || parts.len() > usize::from(PART_NUMBER_MAX) {
        return Err(error::malformed_xml());
    }
    parts.into_iter().map(|part| complete_part(part, upload)).collect()
}

fn complete_part(part: CompletedPart, upload: Option<&Upload>) -> S3Result<CompletePart> {
    let number = part_number(part.number.ok_or_else(error::malformed_xml)?)?;
    let checksum = checksum_of_part(&part)?;
    if let (None, Some((algorithm, ChecksumType::Composite))) =
        (checksum, upload.and_then(|upload| upload.checksum))
    {
        return Err(S3Error::with_message(
            S3ErrorCode::InvalidRequest,
            format!(
                "The upload was created using a {} checksum. The complete request must include the \
                 checksum for each part. It was missing for part {number} in the request.",
                checksum::name(algorithm).to_ascii_lowercase()
            ),
        ));
    }
    let etag = part.etag.ok_or_else(error::malformed_xml)?;
    Ok(CompletePart { number, etag: Some(etag.into_value()), checksum })
}

fn checksum_of_part(part: &CompletedPart) -> S3Result<Option<ChecksumValue>> {
    match &part.checksums[..] {
        [] => Ok(None),
        [(algorithm, text)] => checksum::parse_element(*algorithm, text).map(Some),
        _ => Err(s3_error!(
            InvalidRequest,
            "Expecting a single checksum for each part. Multiple checksum Types are not allowed."
        )),
    }
}

fn completed(
    app: &App,
    bucket: &Bucket,
    object: &ObjectVersion,
    extensions: &Extensions,
) -> Resp<CompleteMultipartUploadOutput> {
    let (name, key) = (bucket.name.as_str(), object.key.as_str());
    let mut xml = XmlWriter::new("CompleteMultipartUploadResult", 0);
    xml.text("Location", &object_url(extensions, name, key));
    xml.text("Bucket", name);
    xml.text("Key", key);
    xml.etag(object.etag);
    if let Some(checksum) = &object.checksum {
        checksum::write(&mut xml, checksum);
    }
    let mut response = xml_response(xml.finish());
    metadata::insert_new_version(&mut response.headers, object)?;
    bucket_lifecycle::insert_expiration(app, &mut response.headers, bucket, object)?;
    if object.encryption != Some(EncryptionScheme::Customer) {
        encryption::insert(&mut response.headers, object.encryption.as_ref(), None)?;
    }
    Ok(response)
}

pub(super) async fn abort_multipart_upload(
    app: &App,
    granted: Granted,
    request: Req<AbortMultipartUploadInput>,
) -> Resp<AbortMultipartUploadOutput> {
    let input = request.input;
    let key = object_key(input.key)?;
    let id = upload_id(&input.upload_id)?;
    if let Some(initiated) = input.if_match_initiated_time {
        // Reading outside of a transaction is safe: the start time of an upload never changes.
        let upload = app.look(|store| store.upload(granted.bucket(), &key, &id));
        let upload = upload.await.map_err(error::from_store)?;
        if i64::try_from(upload.initiated_ms / 1000).ok() != unix_seconds(initiated) {
            return Err(error::precondition_failed("x-amz-if-match-initiated-time"));
        }
    }
    app.store.abort_upload(granted.bucket(), &key, &id).await.map_err(error::from_store)?;
    Ok(S3Response::new(AbortMultipartUploadOutput::default()))
}

pub(super) async fn list_multipart_uploads(
    app: &App,
    granted: Granted,
    request: Req<ListMultipartUploadsInput>,
) -> Resp<ListMultipartUploadsOutput> {
    let input = request.input;
    let encoding = KeyEncoding::parse(input.encoding_type.as_ref())?;
    let max = page_size("max-uploads", input.max_uploads, LIST_PARTS_MAX)?;
    let asked_prefix = input.prefix;
    let prefix = asked_prefix.clone().unwrap_or_default();
    let delimiter = input.delimiter.filter(|delimiter| !delimiter.is_empty());
    let key_marker = input.key_marker.filter(|marker| !marker.is_empty());
    // As on AWS, `upload-id-marker` is ignored without `key-marker`.
    let upload_marker = input.upload_id_marker.filter(|it| key_marker.is_some() && !it.is_empty());
    let query = ListUploadsQuery {
        prefix: prefix.clone(),
        delimiter: delimiter.clone(),
        key_marker: key_marker.clone(),
        upload_marker: upload_marker.clone(),
        max,
    };
    let page = app.blocking(move |store| store.list_uploads(granted.bucket(), &query)).await;
    let page = page.map_err(error::from_store)?;
    let mut xml = XmlWriter::new("ListMultipartUploadsResult", 384 * page.entries.len());
    xml.text("Bucket", &input.bucket);
    xml.key("KeyMarker", key_marker.as_deref().unwrap_or_default(), encoding);
    xml.text("UploadIdMarker", upload_marker.as_deref().unwrap_or_default());
    // As on AWS, the markers of the last upload are there on the last page, too.
    let last = page.entries.iter().rev().find_map(|entry| match entry {
        UploadEntry::Upload(upload) => Some((upload.key.as_str(), upload.id.to_string())),
        UploadEntry::Prefix(_) => None,
    });
    let next = page.next.as_ref().map(|(key, upload)| (key.as_str(), upload.clone()));
    let (next_key, next_upload) = next.or(last).unwrap_or_default();
    xml.key("NextKeyMarker", next_key, encoding);
    xml.text("NextUploadIdMarker", &next_upload);
    xml.optional_key("Prefix", asked_prefix.as_deref(), encoding);
    xml.optional_key("Delimiter", delimiter.as_deref(), encoding);
    xml.encoding_type(encoding);
    xml.value("MaxUploads", max);
    xml.value("IsTruncated", page.next.is_some());
    for entry in &page.entries {
        match entry {
            UploadEntry::Upload(upload) => write_upload(&mut xml, upload, encoding),
            UploadEntry::Prefix(prefix) => xml.common_prefix(prefix, encoding),
        }
    }
    Ok(xml_response(xml.finish()))
}

fn write_upload(xml: &mut XmlWriter, upload: &Upload, encoding: KeyEncoding) {
    xml.open("Upload");
    xml.key("Key", upload.key.as_str(), encoding);
    xml.value("UploadId", upload.id);
    xml.owner("Initiator", &upload.owner);
    xml.owner("Owner", &upload.owner);
    let class = upload.metadata.storage_class.as_deref();
    xml.text("StorageClass", storage_class_or_standard(class));
    xml.date("Initiated", upload.initiated_ms);
    if let Some((algorithm, kind)) = upload.chosen_checksum() {
        xml.word("ChecksumAlgorithm", checksum::name(algorithm));
        xml.word("ChecksumType", checksum::type_name(kind));
    }
    xml.close("Upload");
}
