//! GetObjectAttributes.

use http::header::LAST_MODIFIED;
use liteio_store::{ObjectVersion, PartInfo, PartNumber};
use s3s::dto::{GetObjectAttributesInput, GetObjectAttributesOutput, ObjectAttributes};
use s3s::{S3Result, s3_error};

use super::access::allowed_bucket;
use super::convert::{http_date, object_key, page_size, version_id, xml_response};
use super::limits::LIST_PARTS_MAX;
use super::xml::XmlWriter;
use super::{Req, Resp, blocking, checksum, error, metadata, unsupported};
use crate::state::App;

/// Which attributes are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wanted {
    etag: bool,
    checksum: bool,
    parts: bool,
    storage_class: bool,
    size: bool,
}

impl Wanted {
    /// The header may be repeated, and hold a list each time.
    fn parse(lists: &[ObjectAttributes]) -> S3Result<Wanted> {
        let mut wanted = Wanted::default();
        for name in lists.iter().flat_map(|list| list.as_str().split(',')) {
            match name.trim() {
                "ETag" => wanted.etag = true,
                "Checksum" => wanted.checksum = true,
                "ObjectParts" => wanted.parts = true,
                "StorageClass" => wanted.storage_class = true,
                "ObjectSize" => wanted.size = true,
                _ => {
                    return Err(s3_error!(InvalidArgument, "Invalid attribute name specified."));
                }
            }
        }
        Ok(wanted)
    }
}

pub(super) async fn get_object_attributes(
    app: &App,
    request: Req<GetObjectAttributesInput>,
) -> Resp<GetObjectAttributesOutput> {
    unsupported::check_customer_key(&request.headers)?;
    let input = request.input;
    let wanted = Wanted::parse(&input.object_attributes)?;
    let (bucket, key) = (allowed_bucket(&request.extensions)?, object_key(input.key)?);
    let version = version_id(input.version_id)?;
    let page = PartsPage {
        after: after_part(input.part_number_marker)?,
        max: page_size("max-parts", input.max_parts, LIST_PARTS_MAX)?,
    };
    let object = app.store.head_object(&bucket, &key, version.as_ref());
    let object = object.map_err(error::from_store)?;
    // Parts are listed only where they have checksums; else only their number is told.
    let parts = match (wanted.parts && object.part_count.is_some(), &object.checksum) {
        (true, Some(_)) => {
            let (store, version) = (app.store.clone(), object.version_id);
            let (after, max) = (page.after, page.max + 1);
            let parts = blocking(app, move || {
                store.list_object_parts(&bucket, &key, Some(&version), after, max)
            });
            parts.await?
        }
        _ => Vec::new(),
    };
    let mut response = xml_response(document(&object, wanted, &page, &parts));
    response.headers.insert(LAST_MODIFIED, http_date(object.modified_ms)?);
    metadata::insert_version(&mut response.headers, &object)?;
    Ok(response)
}

/// Where a page of parts begins, and how long it may be.
struct PartsPage {
    after: Option<PartNumber>,
    max: usize,
}

fn after_part(marker: Option<i32>) -> S3Result<Option<PartNumber>> {
    match marker {
        None | Some(0) => Ok(None),
        Some(marker) => PartNumber::try_from(marker).map(Some).map_err(|_| {
            s3_error!(
                InvalidArgument,
                "Argument part-number-marker must be an integer between 0 and 10000"
            )
        }),
    }
}

fn document(
    object: &ObjectVersion,
    wanted: Wanted,
    page: &PartsPage,
    parts: &[PartInfo],
) -> bytes::Bytes {
    let mut xml = XmlWriter::new("GetObjectAttributesResponse", 128 * parts.len());
    if wanted.etag {
        // Without quotes, here alone.
        xml.value("ETag", object.etag);
    }
    if let Some(checksum) = object.checksum.as_ref().filter(|_| wanted.checksum) {
        xml.open("Checksum");
        checksum::write(&mut xml, checksum);
        xml.close("Checksum");
    }
    if let Some(count) = object.part_count.filter(|_| wanted.parts) {
        write_parts(&mut xml, count, page, parts);
    }
    if wanted.storage_class {
        let class = metadata::storage_class_or_standard(object.metadata.storage_class.as_deref());
        xml.text("StorageClass", class);
    }
    if wanted.size {
        xml.value("ObjectSize", object.bytes);
    }
    xml.finish()
}

fn write_parts(xml: &mut XmlWriter, count: u32, page: &PartsPage, parts: &[PartInfo]) {
    xml.open("ObjectParts");
    xml.value("PartsCount", count);
    if !parts.is_empty() {
        let shown = &parts[..parts.len().min(page.max)];
        let marker = page.after.map_or(0, PartNumber::get);
        xml.value("PartNumberMarker", marker);
        xml.value("NextPartNumberMarker", shown.last().map_or(marker, |part| part.number.get()));
        xml.value("MaxParts", page.max);
        xml.value("IsTruncated", parts.len() > page.max);
        for part in shown {
            xml.open("Part");
            xml.value("PartNumber", part.number);
            xml.value("Size", part.bytes);
            if let Some(checksum) = &part.checksum {
                checksum::write_value(xml, checksum);
            }
            xml.close("Part");
        }
    }
    xml.close("ObjectParts");
}
