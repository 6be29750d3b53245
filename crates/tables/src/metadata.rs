//! Metadata files of tables and views: objects of the warehouse, which never change.

use std::collections::VecDeque;
use std::sync::Arc;

use liteio_iceberg::{Invalid, TableMetadata, ViewMetadata};
use liteio_store::tables::NewMetadata;
use liteio_store::{
    BodyOptions, Bucket, BucketId, ChecksumAlgorithm, ContentHeaders, Encryption, GetOptions,
    ObjectChecksum, ObjectMetadata, Owner, PutOptions, RandomSource as _, Store, StoreError,
    SystemRandom,
};
use parking_lot::Mutex;

use super::error::{ApiResult, Exception};
use super::limits::{CACHE_BYTES_MAX, METADATA_BYTES_MAX};
use super::warehouse::{body_of, key_of, object_of, trimmed};
use liteio_access::state::App;

/// The checksum of an object without another one, as of a PUT.
const CHECKSUM: ChecksumAlgorithm = ChecksumAlgorithm::Crc64Nvme;

/// The property with another location for metadata files.
const METADATA_PATH: &str = "write.metadata.path";

/// Metadata of a kind.
pub(crate) trait Metadata: Sized {
    fn parse(bytes: &[u8]) -> Result<Self, Invalid>;
    fn to_bytes(&self) -> Vec<u8>;
    fn uuid(&self) -> &str;
    fn location(&self) -> &str;
    fn property(&self, key: &str) -> Option<&str>;
}

impl Metadata for TableMetadata {
    fn parse(bytes: &[u8]) -> Result<Self, Invalid> {
        TableMetadata::parse(bytes)
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn uuid(&self) -> &str {
        self.uuid()
    }

    fn location(&self) -> &str {
        self.location()
    }

    fn property(&self, key: &str) -> Option<&str> {
        self.property(key)
    }
}

impl Metadata for ViewMetadata {
    fn parse(bytes: &[u8]) -> Result<Self, Invalid> {
        ViewMetadata::parse(bytes)
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn uuid(&self) -> &str {
        self.uuid()
    }

    fn location(&self) -> &str {
        self.location()
    }

    fn property(&self, key: &str) -> Option<&str> {
        self.property(key)
    }
}

/// A cache of parsed metadata of tables, by their files. The oldest go first.
#[derive(Debug, Default)]
pub(crate) struct MetadataFiles {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: VecDeque<(FileId, usize, Arc<TableMetadata>)>,
    bytes: usize,
}

type FileId = (BucketId, String);

impl MetadataFiles {
    /// The metadata of a table at a location.
    pub(crate) fn table(
        &self,
        store: &Store,
        bucket: &Bucket,
        location: &str,
    ) -> ApiResult<Arc<TableMetadata>> {
        let id = (bucket.id, location.to_owned());
        if let Some(found) = self.kept.lock().find(&id) {
            return Ok(found);
        }
        let (metadata, bytes) = read::<TableMetadata>(store, bucket, location)?;
        let metadata = Arc::new(metadata);
        self.keep(id, bytes, &metadata);
        Ok(metadata)
    }

    /// Remembers the metadata of a file that was written.
    pub(crate) fn keep(&self, id: FileId, bytes: usize, metadata: &Arc<TableMetadata>) {
        self.kept.lock().keep(id, bytes, Arc::clone(metadata));
    }
}

impl Kept {
    fn find(&self, id: &FileId) -> Option<Arc<TableMetadata>> {
        let found = self.files.iter().rev().find(|(other, ..)| other == id);
        found.map(|(.., metadata)| Arc::clone(metadata))
    }

    fn keep(&mut self, id: FileId, bytes: usize, metadata: Arc<TableMetadata>) {
        if bytes > CACHE_BYTES_MAX / 4 || self.find(&id).is_some() {
            return;
        }
        self.files.push_back((id, bytes, metadata));
        self.bytes += bytes;
        while self.bytes > CACHE_BYTES_MAX || self.files.len() > FILES_MAX {
            let Some((_, bytes, _)) = self.files.pop_front() else { break };
            self.bytes -= bytes;
        }
    }
}

/// Most files in the cache: it is searched from one end to the other.
const FILES_MAX: usize = 512;

/// `true` for the location of a table that has no metadata yet: S3 Tables makes such tables. It is the location of the
/// table, with a slash at its end, which no file has.
pub(crate) fn is_unwritten(location: &str) -> bool {
    location.ends_with('/')
}

/// The reason why metadata cannot be read.
pub(crate) enum Unread {
    /// There is no such file, or it is not valid.
    Invalid(Exception),
    /// The store has failed, or is closed.
    Store(StoreError),
}

impl From<Exception> for Unread {
    fn from(exception: Exception) -> Unread {
        Unread::Invalid(exception)
    }
}

impl From<StoreError> for Unread {
    fn from(error: StoreError) -> Unread {
        Unread::Store(error)
    }
}

impl From<Unread> for Exception {
    fn from(unread: Unread) -> Exception {
        match unread {
            Unread::Invalid(exception) => exception,
            Unread::Store(error) => error.into(),
        }
    }
}

/// The metadata at a location, with the length of its file.
pub(crate) fn read<T: Metadata>(
    store: &Store,
    bucket: &Bucket,
    location: &str,
) -> Result<(T, usize), Unread> {
    let key = object_of(bucket, location)?;
    let invalid = |message: String| Unread::Invalid(Exception::validation(message));
    if key.as_str().contains(".gz.metadata.json") || key.as_str().ends_with(".gz") {
        return Err(invalid(format!(
            "{location:?} is compressed: LiteIO reads metadata files that are not. Set \
             write.metadata.compression-codec to none, and commit once more."
        )));
    }
    let opened = store.get_object(bucket, &key, &GetOptions::default());
    let opened = opened.map_err(|error| match StoreError::from(error) {
        StoreError::NoSuchKey { .. } | StoreError::IsDeleteMarker { .. } => {
            invalid(format!("There is no metadata file at {location:?}."))
        }
        error => error.into(),
    })?;
    let bytes = opened.found.object.bytes;
    if bytes > METADATA_BYTES_MAX {
        return Err(invalid(format!(
            "The metadata file has {bytes} bytes; {METADATA_BYTES_MAX} are read at most. Expire snapshots."
        )));
    }
    let body = body_of(opened)?;
    let metadata = T::parse(&body).map_err(|error| {
        invalid(format!("The metadata file at {location:?} is not valid: {error}"))
    })?;
    Ok((metadata, body.len()))
}

/// A metadata file that is to be written.
pub(crate) struct NewFile {
    pub(crate) location: String,
    pub(crate) metadata: NewMetadata,
    pub(crate) bytes: usize,
}

impl NewFile {
    /// Stages the next metadata file of a table or view, after the one at `previous`.
    pub(crate) fn stage<T: Metadata>(
        app: &App,
        bucket: &Bucket,
        owner: Owner,
        metadata: &T,
        previous: Option<&str>,
    ) -> ApiResult<NewFile> {
        // Both must be in the warehouse, also if only one is used.
        key_of(bucket, metadata.location())?;
        let directory = match metadata.property(METADATA_PATH) {
            Some(path) => trimmed(path).to_owned(),
            None => format!("{}/metadata", trimmed(metadata.location())),
        };
        let version = previous.and_then(version_of).map_or(0, |version| version + 1);
        let name = format!("{version:05}-{}.metadata.json", text_of_uuid(&new_uuid()?));
        let location = format!("{directory}/{name}");
        let key = object_of(bucket, &location)?;
        let content = metadata.to_bytes();
        let sealing = default_encryption(app, bucket)?;
        let sealing = sealing.map(|encryption| app.store.seal_object(&encryption)).transpose()?;
        let expected_bytes = Some(content.len() as u64);
        let options = BodyOptions { expected_bytes, algorithms: vec![CHECKSUM], sealing };
        let mut body = app.store.begin_body(options)?;
        body.write(&content)?;
        let body = body.finish()?;
        let checksum = body.digests().checksum(CHECKSUM).copied().map(ObjectChecksum::full_object);
        let headers = ContentHeaders {
            content_type: Some("application/json".to_owned()),
            ..ContentHeaders::default()
        };
        let options = PutOptions {
            metadata: ObjectMetadata { headers, ..ObjectMetadata::default() },
            checksum,
            owner,
            ..PutOptions::default()
        };
        let metadata = NewMetadata { key, body, options };
        Ok(NewFile { location, metadata, bytes: content.len() })
    }
}

/// The encryption of objects whose write names none.
fn default_encryption(app: &App, bucket: &Bucket) -> ApiResult<Option<Encryption>> {
    let Some(default) = &bucket.settings.default_encryption else {
        return Ok(app.encrypts_by_default.then_some(Encryption::Master));
    };
    default.encryption(app.store.keys()).map(Some).map_err(|key| {
        Exception::validation(format!(
            "The bucket is encrypted with the KMS key {key:?}, which the server does not have."
        ))
    })
}

/// The version in the name of a metadata file.
fn version_of(location: &str) -> Option<u64> {
    let name = location.rsplit('/').next()?;
    name.split('-').next()?.parse().ok()
}

/// A random UUID (version 4).
pub(crate) fn new_uuid() -> Result<[u8; 16], StoreError> {
    let mut uuid = [0; 16];
    SystemRandom.fill(&mut uuid)?;
    uuid[6] = uuid[6] & 0x0F | 0x40;
    uuid[8] = uuid[8] & 0x3F | 0x80;
    Ok(uuid)
}

/// A UUID as text.
pub(crate) fn text_of_uuid(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in uuid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// The UUID of a text; zeros for one that is none, which only a registered file can have.
pub(crate) fn uuid_of(text: &str) -> [u8; 16] {
    let digits: String = text.chars().filter(|it| *it != '-').collect();
    u128::from_str_radix(&digits, 16).unwrap_or_default().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_text_and_bytes() {
        let uuid = new_uuid().expect("random bytes");
        let text = text_of_uuid(&uuid);
        assert_eq!((text.len(), uuid_of(&text)), (36, uuid));
        assert_eq!(&text[14..15], "4");
    }

    #[test]
    fn versions_follow_the_names_of_files() {
        let of = |name: &str| version_of(&format!("s3://lake/t/metadata/{name}"));
        assert_eq!(of("00004-9f8c.metadata.json"), Some(4));
        assert_eq!(of("v3.metadata.json"), None);
    }
}
