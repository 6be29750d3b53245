//! GetObjectAttributes.

use std::sync::Arc;

use http::header::LAST_MODIFIED;
use liteio_store::{ChecksumType, GetOptions, ObjectPartPage, PartNumber};
use s3s::dto::{GetObjectAttributesInput, GetObjectAttributesOutput, ObjectAttributes};
use s3s::{S3Result, s3_error};

use super::answer::xml_response;
use super::convert::{object_key, page_size, version_id};
use super::dates::http_date;
use super::details::Details;
use super::limits::LIST_PARTS_MAX;
use super::xml::XmlWriter;
use super::{Req, Resp, checksum, encryption, error, metadata};
use liteio_access::Granted;
use liteio_access::state::App;

/// The requested attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wanted {
    etag: bool,
    checksum: bool,
    parts: bool,
    storage_class: bool,
    size: bool,
}

impl Wanted {
    /// Parses the header, which may be repeated, each time with a list.
    fn parse(lists: &[ObjectAttributes]) -> S3Result<Wanted> {
        let mut wanted = Wanted::default();
        if lists.iter().all(|list| list.as_str().trim().is_empty()) {
            return Err(error::invalid_request(
                "The x-amz-object-attributes header specifying the attributes to be retrieved is either \
                 missing or empty",
            ));
        }
        for name in lists.iter().flat_map(|list| list.as_str().split(',')) {
            match name.trim() {
                "ETag" => wanted.etag = true,
                "Checksum" => wanted.checksum = true,
                "ObjectParts" => wanted.parts = true,
                "StorageClass" => wanted.storage_class = true,
                "ObjectSize" => wanted.size = true,
                other => {
                    let details = Details::argument("x-amz-object-attributes", other);
                    return Err(s3_error!(
                        details,
                        InvalidArgument,
                        "Invalid attribute name specified."
                    ));
                }
            }
        }
        Ok(wanted)
    }
}

pub(super) async fn get_object_attributes(
    app: &App,
    granted: Granted,
    request: Req<GetObjectAttributesInput>,
) -> Resp<GetObjectAttributesOutput> {
    let customer = encryption::of_read(app, &request.headers, &request.extensions)?;
    let input = request.input;
    let wanted = Wanted::parse(&input.object_attributes)?;
    let key = object_key(input.key)?;
    let options = GetOptions {
        version: version_id(input.version_id)?,
        customer_key: customer.map(|customer| customer.key),
        ..GetOptions::default()
    };
    let page = PartsPage {
        after: after_part(input.part_number_marker)?,
        max: page_size("max-parts", input.max_parts, LIST_PARTS_MAX)?,
    };
    let bucket = Arc::clone(granted.bucket());
    let found = if wanted.parts {
        let PartsPage { after, max } = page;
        let found = app.blocking(move |store| {
            store.list_object_parts(granted.bucket(), &key, &options, after, max)
        });
        found.await.map_err(error::from_store)?
    } else {
        let found = app.look(|store| store.head_object(granted.bucket(), &key, &options));
        let object = found.await.map_err(error::from_store)?.object;
        ObjectPartPage { object, parts: Vec::new(), is_truncated: false }
    };
    let object = &found.object;
    let mut response = xml_response(document(&found, wanted, page));
    response.headers.insert(LAST_MODIFIED, http_date(object.modified_ms)?);
    metadata::insert_version(&mut response.headers, &bucket, object)?;
    Ok(response)
}

/// First part and length of a page of parts.
#[derive(Clone, Copy, Debug)]
struct PartsPage {
    after: Option<PartNumber>,
    max: usize,
}

fn after_part(marker: Option<i32>) -> S3Result<Option<PartNumber>> {
    match marker {
        None | Some(0) => Ok(None),
        Some(marker) => PartNumber::try_from(marker).map(Some).map_err(|_| {
            s3_error!(
                Details::argument("part-number-marker", &marker.to_string()),
                InvalidArgument,
                "Argument part-number-marker must be an integer between 0 and 10000"
            )
        }),
    }
}

fn document(found: &ObjectPartPage, wanted: Wanted, page: PartsPage) -> bytes::Bytes {
    let object = &found.object;
    let mut xml = XmlWriter::new("GetObjectAttributesResponse", 128 * found.parts.len());
    if wanted.etag {
        // Only GetObjectAttributes sends ETags without quotes.
        xml.value("ETag", object.etag);
    }
    if let Some(checksum) = object.checksum.as_ref().filter(|_| wanted.checksum) {
        // Only GetObjectAttributes sends composite checksums without the number of parts.
        xml.open("Checksum");
        checksum::write_attribute(&mut xml, checksum);
        xml.close("Checksum");
    }
    if let Some(count) = object.part_count.filter(|_| wanted.parts) {
        write_parts(&mut xml, count, page, found);
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

fn write_parts(xml: &mut XmlWriter, count: u32, page: PartsPage, found: &ObjectPartPage) {
    xml.open("ObjectParts");
    xml.value("PartsCount", count);
    // AWS lists the parts of objects with composite checksums only, also on an empty page; otherwise
    // it sends only their number.
    let kind = found.object.checksum.as_ref().map(|checksum| checksum.kind);
    if kind == Some(ChecksumType::Composite) {
        let shown = &found.parts;
        let marker = page.after.map_or(0, PartNumber::get);
        xml.value("PartNumberMarker", marker);
        xml.value("NextPartNumberMarker", shown.last().map_or(0, |part| part.number.get()));
        xml.value("MaxParts", page.max);
        xml.value("IsTruncated", found.is_truncated);
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
