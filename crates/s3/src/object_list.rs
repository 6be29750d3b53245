//! ListObjects, ListObjectsV2 and ListObjectVersions.

use liteio_store::limits::LIST_KEYS_MAX;
use liteio_store::{
    Bucket, ListEntry, ListPage, ListQuery, ListStart, ListToken, ListVersionsQuery, ListedObject,
    Owner, VersionEntry, VersionId, VersionPage,
};
use s3s::dto::*;
use s3s::{S3Result, s3_error};

use super::access::BUCKET_REGION;
use super::answer::xml_response;
use super::convert::page_size;
use super::details::Details;
use super::headers::header_value;
use super::metadata::storage_class_or_standard;
use super::object_restore::{self, Now};
use super::page_token::{KeyEncoding, key_in_url, wrong_token};
use super::xml::XmlWriter;
use super::{Req, Resp, checksum, error, ownership};
use liteio_access::Granted;
use liteio_access::state::App;

/// Estimated XML bytes per entry, to size the buffer.
const ENTRY_BYTES: usize = 384;

impl XmlWriter {
    /// Writes an element with a key or a part of one.
    pub(super) fn key(&mut self, name: &str, key: &str, encoding: KeyEncoding) {
        match encoding {
            KeyEncoding::Plain => self.text(name, key),
            KeyEncoding::Url => self.value(name, key_in_url(key)),
        }
    }

    pub(super) fn optional_key(&mut self, name: &str, key: Option<&str>, encoding: KeyEncoding) {
        if let Some(key) = key {
            self.key(name, key, encoding);
        }
    }

    pub(super) fn encoding_type(&mut self, encoding: KeyEncoding) {
        if encoding == KeyEncoding::Url {
            self.word("EncodingType", "url");
        }
    }

    pub(super) fn common_prefix(&mut self, prefix: &str, encoding: KeyEncoding) {
        self.open("CommonPrefixes");
        self.key("Prefix", prefix, encoding);
        self.close("CommonPrefixes");
    }

    /// The elements that object and version listings share, except the owner.
    fn object(&mut self, object: &ListedObject, encoding: KeyEncoding, now: Now) {
        self.key("Key", &object.key, encoding);
        self.date("LastModified", object.modified_ms);
        self.etag(object.etag);
        if let Some((algorithm, kind)) = object.checksum {
            self.word("ChecksumAlgorithm", checksum::name(algorithm));
            self.word("ChecksumType", checksum::type_name(kind));
        }
        self.value("Size", object.bytes);
        self.text("StorageClass", storage_class_or_standard(object.storage_class.as_deref()));
        self.restore_status(object.restore.as_deref(), now);
    }

    fn owner_of(&mut self, object: &ListedObject, owners: &Owners) {
        match owners {
            Owners::NotTold => {}
            Owners::OfAll(owner) => self.owner("Owner", owner),
            Owners::OfEach(of_bucket) => {
                self.owner("Owner", object.owner.as_ref().unwrap_or(of_bucket));
            }
        }
    }
}

/// Treats an empty delimiter as none.
fn delimiter(asked: Option<String>) -> Option<String> {
    asked.filter(|delimiter| !delimiter.is_empty())
}

async fn page(app: &App, granted: Granted, query: ListQuery) -> s3s::S3Result<ListPage> {
    let page = app.blocking(move |store| store.list_objects(granted.bucket(), &query)).await;
    page.map_err(error::from_store)
}

/// The owners in a listing.
enum Owners {
    NotTold,
    /// The same owner for all objects.
    OfAll(Owner),
    /// That of each object, or else of the bucket.
    OfEach(Owner),
}

impl Owners {
    /// The owners to report for a bucket, if any.
    fn of(bucket: &Bucket, are_told: bool) -> S3Result<Owners> {
        Ok(match are_told {
            false => Owners::NotTold,
            true => match ownership::owner_of_all(bucket)? {
                Some(owner) => Owners::OfAll(owner),
                None => Owners::OfEach(bucket.owner.clone()),
            },
        })
    }
}

fn write_entries(
    xml: &mut XmlWriter,
    entries: &[ListEntry],
    encoding: KeyEncoding,
    owners: Owners,
    now: Now,
) {
    for entry in entries {
        match entry {
            ListEntry::Object(object) => {
                xml.open("Contents");
                xml.object(object, encoding, now);
                xml.owner_of(object, &owners);
                xml.close("Contents");
            }
            ListEntry::Prefix(prefix) => xml.common_prefix(prefix, encoding),
        }
    }
}

pub(super) async fn list_objects(
    app: &App,
    granted: Granted,
    request: Req<ListObjectsInput>,
) -> Resp<ListObjectsOutput> {
    let input = request.input;
    let encoding = KeyEncoding::parse(input.encoding_type.as_ref())?;
    let max = page_size("max-keys", input.max_keys, LIST_KEYS_MAX)?;
    let prefix = input.prefix.unwrap_or_default();
    let marker = input.marker.unwrap_or_default();
    let delimiter = delimiter(input.delimiter);
    let query = ListQuery {
        prefix: prefix.clone(),
        delimiter: delimiter.clone(),
        after: after_key(marker.clone()),
        max,
        with_restores: object_restore::are_listed(&request.headers)?,
    };
    // As on AWS, an anonymous list names no owners.
    let owners = Owners::of(granted.bucket(), granted.principal_id().is_some())?;
    let region = header_value(&granted.bucket().region)?;
    let listed = page(app, granted, query).await?;
    let mut xml = XmlWriter::new("ListBucketResult", ENTRY_BYTES * listed.entries.len());
    xml.text("Name", &input.bucket);
    xml.key("Prefix", &prefix, encoding);
    xml.key("Marker", &marker, encoding);
    if delimiter.is_some() && listed.next.is_some() {
        // S3 sends NextMarker only with a delimiter; otherwise clients continue after the last key.
        xml.optional_key("NextMarker", listed.last.as_deref(), encoding);
    }
    xml.value("MaxKeys", max);
    xml.optional_key("Delimiter", delimiter.as_deref(), encoding);
    xml.encoding_type(encoding);
    xml.value("IsTruncated", listed.next.is_some());
    write_entries(&mut xml, &listed.entries, encoding, owners, Now::of(app));
    let mut response = xml_response(xml.finish());
    response.headers.insert(BUCKET_REGION, region);
    Ok(response)
}

fn after_key(key: String) -> ListStart {
    if key.is_empty() { ListStart::Beginning } else { ListStart::AfterKey(key) }
}

pub(super) async fn list_objects_v2(
    app: &App,
    granted: Granted,
    request: Req<ListObjectsV2Input>,
) -> Resp<ListObjectsV2Output> {
    let input = request.input;
    let encoding = KeyEncoding::parse(input.encoding_type.as_ref())?;
    let max = page_size("max-keys", input.max_keys, LIST_KEYS_MAX)?;
    let prefix = input.prefix.unwrap_or_default();
    let delimiter = delimiter(input.delimiter);
    let token = input.continuation_token;
    // A token takes precedence over `start-after`, which applies to the first page only.
    let after = match token.as_deref() {
        Some(token) => ListStart::Token(ListToken::parse(token).map_err(|_| wrong_token())?),
        None => after_key(input.start_after.clone().unwrap_or_default()),
    };
    let query = ListQuery {
        prefix: prefix.clone(),
        delimiter: delimiter.clone(),
        after,
        max,
        with_restores: object_restore::are_listed(&request.headers)?,
    };
    let owners = Owners::of(granted.bucket(), input.fetch_owner.unwrap_or(false))?;
    let region = header_value(&granted.bucket().region)?;
    let listed = page(app, granted, query).await?;
    let mut xml = XmlWriter::new("ListBucketResult", ENTRY_BYTES * listed.entries.len());
    xml.text("Name", &input.bucket);
    xml.key("Prefix", &prefix, encoding);
    xml.optional_text("ContinuationToken", token.as_deref());
    if let Some(next) = &listed.next {
        xml.text("NextContinuationToken", &next.to_string());
    }
    if token.is_none() {
        xml.optional_key("StartAfter", input.start_after.as_deref(), encoding);
    }
    xml.value("KeyCount", listed.entries.len());
    xml.value("MaxKeys", max);
    xml.optional_key("Delimiter", delimiter.as_deref(), encoding);
    xml.encoding_type(encoding);
    xml.value("IsTruncated", listed.next.is_some());
    write_entries(&mut xml, &listed.entries, encoding, owners, Now::of(app));
    let mut response = xml_response(xml.finish());
    response.headers.insert(BUCKET_REGION, region);
    Ok(response)
}

pub(super) async fn list_object_versions(
    app: &App,
    granted: Granted,
    request: Req<ListObjectVersionsInput>,
) -> Resp<ListObjectVersionsOutput> {
    let input = request.input;
    let encoding = KeyEncoding::parse(input.encoding_type.as_ref())?;
    let max = page_size("max-keys", input.max_keys, LIST_KEYS_MAX)?;
    let prefix = input.prefix.unwrap_or_default();
    let delimiter = delimiter(input.delimiter);
    let key_marker = input.key_marker.unwrap_or_default();
    let version_marker = input.version_id_marker.unwrap_or_default();
    if key_marker.is_empty() && !version_marker.is_empty() {
        return Err(s3_error!(
            Details::argument("version-id-marker", &version_marker),
            InvalidArgument,
            "A version-id marker cannot be specified without a key marker."
        ));
    }
    let query = ListVersionsQuery {
        prefix: prefix.clone(),
        delimiter: delimiter.clone(),
        key_marker: Some(key_marker.clone()).filter(|marker| !marker.is_empty()),
        version_marker: match version_marker.as_str() {
            "" => None,
            text => Some(VersionId::parse(text).map_err(|_| {
                let details = Details::argument("version-id-marker", text);
                s3_error!(details, InvalidArgument, "Invalid version id specified")
            })?),
        },
        max,
        with_restores: object_restore::are_listed(&request.headers)?,
    };
    let owners = Owners::of(granted.bucket(), true)?;
    let listed = app.blocking(move |store| store.list_versions(granted.bucket(), &query)).await;
    let listed = listed.map_err(error::from_store)?;
    let mut xml = XmlWriter::new("ListVersionsResult", ENTRY_BYTES * listed.entries.len());
    xml.text("Name", &input.bucket);
    xml.key("Prefix", &prefix, encoding);
    xml.key("KeyMarker", &key_marker, encoding);
    xml.text("VersionIdMarker", &version_marker);
    if let Some((key, version)) = &listed.next {
        xml.key("NextKeyMarker", key, encoding);
        if let Some(version) = version {
            xml.value("NextVersionIdMarker", version);
        }
    }
    xml.value("MaxKeys", max);
    xml.optional_key("Delimiter", delimiter.as_deref(), encoding);
    xml.encoding_type(encoding);
    xml.value("IsTruncated", listed.next.is_some());
    write_versions(&mut xml, &listed, encoding, &owners, Now::of(app));
    Ok(xml_response(xml.finish()))
}

fn write_versions(
    xml: &mut XmlWriter,
    page: &VersionPage,
    encoding: KeyEncoding,
    owners: &Owners,
    now: Now,
) {
    for entry in &page.entries {
        match entry {
            VersionEntry::Version(version) => {
                xml.open("Version");
                xml.object(version, encoding, now);
                xml.value("VersionId", version.version_id);
                xml.value("IsLatest", version.is_latest);
                xml.owner_of(version, owners);
                xml.close("Version");
            }
            VersionEntry::DeleteMarker(marker) => {
                xml.open("DeleteMarker");
                xml.key("Key", &marker.key, encoding);
                xml.value("VersionId", marker.version_id);
                xml.value("IsLatest", marker.is_latest);
                xml.date("LastModified", marker.modified_ms);
                xml.owner_of(marker, owners);
                xml.close("DeleteMarker");
            }
            VersionEntry::Prefix(prefix) => xml.common_prefix(prefix, encoding),
        }
    }
}
