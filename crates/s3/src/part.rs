//! UploadPart, UploadPartCopy and ListParts.

use http::header::ETAG;
use liteio_store::{
    ArchiveAccess, ByteRange, ChecksumType, CopyPartOptions, CopyPartOutcome, EncryptionScheme,
    PartPage, StoreError,
};
use s3s::dto::*;
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::answer::xml_response;
use super::checksum::{self, BodyChecks};
use super::context::Sent;
use super::convert::{object_key, page_size, part_number, upload_id};
use super::details::Details;
use super::headers::etag_header;
use super::limits::LIST_PARTS_MAX;
use super::metadata::storage_class_or_standard;
use super::object_copy::{self, from_copy};
use super::xml::XmlWriter;
use super::{Req, Resp, body_in, condition, encryption, error, unsupported};
use liteio_access::Granted;
use liteio_access::state::App;

pub(super) async fn upload_part(
    app: &App,
    granted: Granted,
    request: Req<UploadPartInput>,
) -> Resp<UploadPartOutput> {
    let Req { input, headers, extensions, .. } = request;
    let customer = encryption::customer_key(app, &headers, &extensions)?;
    let checks = BodyChecks::from_request(&headers, &extensions)?;
    let number = part_number(input.part_number)?;
    let key = object_key(input.key)?;
    let id = upload_id(&input.upload_id)?;
    let bytes_expected = body_in::declared_bytes(&headers)?;
    let upload = app.look(|store| store.upload(granted.bucket(), &key, &id));
    let upload = upload.await.map_err(error::from_store)?;
    let sealing = match (&upload.encryption, &customer) {
        (None, None) => None,
        (_, customer) => {
            let customer = customer.as_ref().map(|customer| &customer.key);
            let sealing = app.look(|store| store.seal_part(granted.bucket(), &key, &id, customer));
            sealing.await.map_err(encryption::from_part)?
        }
    };
    let kind = upload.checksum.map(|(_, kind)| kind);
    let (kept, sent) = (upload.checksum.map(|(algorithm, _)| algorithm), checks.algorithm());
    if let (Some(kept), None, Some(ChecksumType::Composite)) = (kept, sent, kind) {
        // S3 computes only checksums whose part values can be combined.
        return Err(checksum::other_algorithm(kept, None));
    }
    let algorithms = checksum::of_both(kept, sent)?;
    let kept = algorithms.first().copied();
    let body =
        body_in::receive(app, input.body, &extensions, Some(bytes_expected), algorithms, sealing)
            .await?;
    checks.verify_part(body.digests())?;
    let checksum = kept.and_then(|algorithm| body.digests().checksum(algorithm).copied());
    let sent = checks.algorithm().and_then(|it| body.digests().checksum(it).copied());
    let part = app.store.put_part(granted.bucket(), &key, &id, number, body, checksum).await;
    let part = part.map_err(error::from_store)?;
    let mut response = S3Response::new(UploadPartOutput::default());
    response.headers.insert(ETAG, etag_header(&part.etag)?);
    // As on AWS, a checksum is shown to clients that chose or sent one.
    if let Some(checksum) = sent.or(part.checksum.filter(|_| !upload.has_default_checksum)) {
        checksum::insert_value(&mut response.headers, &checksum)?;
    }
    encryption::insert(&mut response.headers, upload.encryption.as_ref(), customer.as_ref())?;
    Ok(response)
}

pub(super) async fn upload_part_copy(
    app: &App,
    granted: Granted,
    request: Req<UploadPartCopyInput>,
) -> Resp<UploadPartCopyOutput> {
    let Req { input, method, uri, headers, extensions, .. } = request;
    let sent = Sent { method: &method, uri: &uri, headers: &headers, extensions: &extensions };
    object_copy::refuse_body(&headers)?;
    unsupported::check_write(&headers, &extensions)?;
    let customer = encryption::customer_key(app, &headers, &extensions)?;
    let number = part_number(input.part_number)?;
    let key = object_key(input.key)?;
    let id = upload_id(&input.upload_id)?;
    let range_sent = input.copy_source_range;
    let mut options = CopyPartOptions {
        range: range_sent.as_deref().map(copy_range).transpose()?,
        conditions: condition::of_copy_source(&extensions),
        source_key: encryption::copy_source_key(app, &headers, &extensions)?,
        customer_key: customer.as_ref().map(|customer| customer.key.clone()),
        source_archive: ArchiveAccess::Restored,
    };
    let upload = app.look(|store| store.upload(granted.bucket(), &key, &id));
    let upload = upload.await.map_err(error::from_store)?;
    if customer.is_some() || upload.encryption == Some(EncryptionScheme::Customer) {
        let customer = options.customer_key.as_ref();
        let sealing = app.look(|store| store.seal_part(granted.bucket(), &key, &id, customer));
        sealing.await.map_err(encryption::from_part)?;
    }
    let range = options.range;
    let conditions = &mut options.conditions;
    let source = input.copy_source;
    let source = object_copy::source(app, &granted, sent, source, conditions).await?;
    // A blocking thread: the source is read once, for the part's MD5.
    let copied = app.blocking(move |store| {
        store.copy_part(source, granted.bucket(), &key, &id, number, options).wait()
    });
    let copied = copied.await.map_err(|error| from_part_copy(error, range, range_sent.as_deref()));
    let mut copied = copied?;
    copied.part.checksum = copied.part.checksum.filter(|_| !upload.has_default_checksum);
    let mut response = copied_part(&copied)?;
    encryption::insert(&mut response.headers, upload.encryption.as_ref(), customer.as_ref())?;
    Ok(response)
}

const COPY_RANGE: &str = "x-amz-copy-source-range";

/// Parses `bytes=first-last`, the only form that a copy accepts.
fn copy_range(text: &str) -> S3Result<ByteRange> {
    match ByteRange::parse(text) {
        Some(range @ ByteRange::FromTo { .. }) if text.starts_with("bytes=") => Ok(range),
        _ => Err(s3_error!(
            Details::argument(COPY_RANGE, text),
            InvalidArgument,
            "The x-amz-copy-source-range value must be of the form bytes=first-last where first and \
             last are the zero-based offsets of the first and last bytes to copy"
        )),
    }
}

fn from_part_copy(
    error: StoreError,
    range: Option<ByteRange>,
    range_sent: Option<&str>,
) -> S3Error {
    let first = match range {
        Some(ByteRange::FromTo { first, .. }) => first,
        _ => 0,
    };
    match error {
        // Not 416, because the range is of the source and not of the requested resource.
        StoreError::InvalidRange { object_bytes } if first >= object_bytes => s3_error!(
            InvalidRequest,
            "The specified copy range is invalid for the source object size"
        ),
        StoreError::InvalidRange { object_bytes } => s3_error!(
            Details::argument(COPY_RANGE, range_sent.unwrap_or_default()),
            InvalidArgument,
            "Range specified is not valid for source object of size: {object_bytes}"
        ),
        error => from_copy(error),
    }
}

fn copied_part(copied: &CopyPartOutcome) -> Resp<UploadPartCopyOutput> {
    let mut xml = XmlWriter::new("CopyPartResult", 0);
    xml.date("LastModified", copied.part.modified_ms);
    xml.etag(copied.part.etag);
    if let Some(checksum) = &copied.part.checksum {
        checksum::write_value(&mut xml, checksum);
    }
    let mut response = xml_response(xml.finish());
    object_copy::insert_source_version(&mut response.headers, copied.source_version)?;
    Ok(response)
}

pub(super) async fn list_parts(
    app: &App,
    granted: Granted,
    request: Req<ListPartsInput>,
) -> Resp<ListPartsOutput> {
    let input = request.input;
    // ListParts accepts a customer key, but does not need it.
    encryption::customer_key(app, &request.headers, &request.extensions)?;
    let key = object_key(input.key)?;
    let id = upload_id(&input.upload_id)?;
    let max = page_size("max-parts", input.max_parts, LIST_PARTS_MAX)?;
    let marker = input.part_number_marker.unwrap_or_default();
    // A marker above all part numbers is valid: the page is empty.
    let marker = u16::try_from(marker.min(i32::from(u16::MAX))).map_err(|_| {
        s3_error!(
            Details::argument("part-number-marker", &marker.to_string()),
            InvalidArgument,
            "Argument part-number-marker must be an integer between 0 and 2147483647"
        )
    })?;
    let name = granted.bucket().name.to_string();
    let page =
        app.blocking(move |store| store.list_parts(granted.bucket(), &key, &id, Some(marker), max));
    let page = page.await.map_err(error::from_store)?;
    Ok(xml_response(parts_document(&name, &page, marker, max)))
}

fn parts_document(bucket: &str, page: &PartPage, marker: u16, max: usize) -> bytes::Bytes {
    let upload = &page.upload;
    let mut xml = XmlWriter::new("ListPartsResult", 256 * page.parts.len());
    xml.text("Bucket", bucket);
    xml.text("Key", upload.key.as_str());
    xml.value("UploadId", upload.id);
    xml.owner("Initiator", &upload.owner);
    xml.owner("Owner", &upload.owner);
    let class = upload.metadata.storage_class.as_deref();
    xml.text("StorageClass", storage_class_or_standard(class));
    if let Some((algorithm, kind)) = upload.chosen_checksum() {
        xml.word("ChecksumAlgorithm", checksum::name(algorithm));
        xml.word("ChecksumType", checksum::type_name(kind));
    }
    xml.value("PartNumberMarker", marker);
    let last = page.parts.last().map_or(0, |part| part.number.get());
    xml.value("NextPartNumberMarker", last);
    xml.value("MaxParts", max);
    xml.value("IsTruncated", page.next.is_some());
    for part in &page.parts {
        xml.open("Part");
        xml.value("PartNumber", part.number);
        xml.date("LastModified", part.modified_ms);
        xml.etag(part.etag);
        if let Some(checksum) = part.checksum.as_ref().filter(|_| !upload.has_default_checksum) {
            checksum::write_value(&mut xml, checksum);
        }
        xml.value("Size", part.bytes);
        xml.close("Part");
    }
    xml.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_a_copy_is_strict() {
        let range = ByteRange::FromTo { first: 0, last: 9 };
        assert_eq!(copy_range("bytes=0-9").expect("valid"), range);
        for text in ["0-9", "bytes=0-", "bytes=-9", "bytes=9-0", "bytes=0-1,3-4", "bytes=a-b", ""] {
            assert_eq!(copy_range(text).expect_err(text).code().as_str(), "InvalidArgument");
        }
    }
}
