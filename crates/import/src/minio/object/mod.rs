//! The versions of a MinIO key, and their data.

use std::borrow::Cow;
use std::fs;
use std::io::{ErrorKind, Read, empty};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use liteio_store::{ETag, ImportedObject};

use super::Failed;
use super::bitrot::read_verified;
use super::kms::Secrets;
use super::s2::Unpacker;
use super::sse::{self, ObjectSecret, Opener};
use super::walk::read_metadata;
use super::xl_meta::{Object, Version, XlMeta, uuid};
use crate::seal::{Destination, Shape};
use crate::target::{Failure, SourceKey, SourceObject, SourceVersion};
use crate::{metadata, regular};

/// The only checksum algorithm that MinIO has written since 2020.
const HIGHWAY_HASH: u64 = 1;

/// The compressions of MinIO, today's and that before 2019: streams of S2 and of Snappy.
const COMPRESSIONS: [&str; 2] = ["klauspost/compress/s2", "golang/snappy/LZ77"];

/// A key, represented by its directory.
#[derive(Debug)]
pub(super) struct StoredKey {
    directory: PathBuf,
    /// The bytes of its `xl.meta`, loaded on first use.
    bytes: Vec<u8>,
    /// Versions, the oldest first.
    versions: Vec<Version>,
    /// Its bucket and name, to which the keys of encrypted objects are bound.
    name: (String, String),
    secrets: Arc<Secrets>,
}

impl StoredKey {
    pub(super) fn new(directory: &Path) -> StoredKey {
        StoredKey {
            directory: directory.to_owned(),
            bytes: Vec::new(),
            versions: Vec::new(),
            name: Default::default(),
            secrets: Arc::default(),
        }
    }

    /// A key with this bucket and name, whose encrypted versions are opened with `secrets`.
    pub(super) fn named(
        directory: &Path,
        bucket: &str,
        key: &str,
        secrets: &Arc<Secrets>,
    ) -> StoredKey {
        let (name, secrets) = ((bucket.to_owned(), key.to_owned()), Arc::clone(secrets));
        StoredKey { name, secrets, ..StoredKey::new(directory) }
    }

    /// The key of an encrypted object; `None` for others.
    ///
    /// # Errors
    /// [`Failed`] if nothing opens it.
    fn secret(&self, object: &Object) -> Result<Option<ObjectSecret>, Failed> {
        let (bucket, key) = &self.name;
        let open = || sse::open(object, bucket, key, &self.secrets);
        sse::is_encrypted(object).then(open).transpose()
    }

    /// Opens the parts of a version.
    ///
    /// # Errors
    /// [`Failed`] if the version cannot be read.
    fn parts(&self, version: &Version) -> Result<Vec<Part<'_>>, Failed> {
        let object = readable(version)?;
        let block_bytes = object.block_bytes;
        let inline = XlMeta::parse(&self.bytes)?.inline(version)?;
        let is_inline = object.system.contains_key("x-minio-internal-inline-data");
        if let (true, [bytes]) = (is_inline || inline.is_some(), &object.part_bytes[..]) {
            let place = match inline {
                Some(inline) => Place::Inline(inline),
                None if *bytes == 0 => Place::Inline(&[]),
                None => return Err(Failed::new("its inline bytes are missing")),
            };
            let number = object.part_numbers.first().copied().unwrap_or(1);
            return Ok(vec![Part { number, bytes: *bytes, block_bytes, place }]);
        }
        let directory = self.directory.join(uuid(&object.data_directory));
        if fs::symlink_metadata(&directory).is_ok_and(|it| !it.is_dir()) {
            return Err(Failed::new("it is no directory").of(&directory.display()));
        }
        let parts = object.part_numbers.iter().zip(&object.part_bytes);
        let parts = parts.map(|(number, bytes)| {
            let place = Place::File(directory.join(format!("part.{number}")));
            Part { number: *number, bytes: *bytes, block_bytes, place }
        });
        Ok(parts.collect())
    }
}

/// A part of an object.
struct Part<'m> {
    number: u64,
    bytes: u64,
    block_bytes: u64,
    place: Place<'m>,
}

enum Place<'m> {
    Inline(&'m [u8]),
    File(PathBuf),
}

impl Part<'_> {
    /// Passes its verified bytes to `take`.
    ///
    /// # Errors
    /// [`Failed`], and the errors of `take`.
    fn read<E: From<Failed>>(self, take: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let Part { bytes, block_bytes, place, .. } = self;
        let path = match place {
            Place::Inline(mut inline) => {
                return read_verified(&mut inline, bytes, block_bytes, take);
            }
            Place::File(path) => path,
        };
        let mut file: Box<dyn Read> = match regular::open(&path) {
            Ok(file) => Box::new(file),
            Err(error) if bytes == 0 && error.kind() == ErrorKind::NotFound => Box::new(empty()),
            Err(error) => return Err(Failed::reading(&error).of(&path.display()).into()),
        };
        read_verified(&mut file, bytes, block_bytes, take)
    }
}

impl SourceKey for StoredKey {
    fn versions(&mut self) -> Result<Vec<SourceVersion>, Failure> {
        self.bytes = read_metadata(&self.directory.join("xl.meta"))?;
        let meta = XlMeta::parse(&self.bytes);
        let mut versions = meta.map_err(|error| Failed::from(error).of(&"its xl.meta"))?.versions;
        versions.reverse();
        self.versions = versions;
        let described = self.versions.iter().map(|version| SourceVersion {
            modified_ms: version.modified_ns / 1_000_000,
            is_null: version.is_null(),
            object: version
                .object
                .as_ref()
                .map(|object| SourceObject { bytes: plain_bytes(object), etag: etag(object) }),
        });
        Ok(described.collect())
    }

    fn read(&mut self, to: Destination<'_>, index: usize) -> Result<ImportedObject, Failure> {
        let version = &self.versions[index];
        let object = readable(version)?;
        let (metadata, lock) = metadata::of_headers(&object.user).map_err(Failed::Proven)?;
        let secret = self.secret(object)?;
        let encryption = secret.is_some().then(|| sse::encryption(object));
        let tag = etag(object);
        let is_multipart =
            object.part_bytes.len() > 1 || matches!(tag, Some(ETag::Multipart { .. }));
        let shape = match is_multipart {
            true => Shape::Parts,
            false => Shape::Whole(plain_bytes(object)),
        };
        let mut bodies = to.object(shape, encryption.as_ref())?;
        for (part, bytes) in self.parts(version)?.into_iter().zip(plain_sizes(object)?) {
            let mut plain = Plain {
                opener: secret.as_ref().map(|secret| secret.part(part.number)),
                unpacker: is_compressed(object).then(Unpacker::default),
            };
            let mut stager = bodies.stager(bytes)?;
            let too_long = || Failed::new("it has more bytes than its metadata say");
            let mut write = |bytes: &[u8]| match stager.write(bytes)? {
                true => Ok(()),
                false => Err(Failure::from(too_long())),
            };
            part.read::<Failure>(&mut |bytes| write(&plain.open(bytes, false)?))?;
            write(&plain.open(&[], true)?)?;
            if stager.left() > 0 {
                return Err(Failed::new("it is cut off").into());
            }
            bodies.add(stager)?;
        }
        // Encrypted bytes are bound to their positions, and the tags of SSE-KMS are no MD5s.
        if secret.is_none() {
            compare(tag, bodies.md5s())?;
        }
        let (content, etag) = bodies.finish(tag);
        Ok(ImportedObject { content, etag, metadata, checksum: None, lock })
    }
}

/// Makes the bytes of a client of stored ones: decrypts them, then decompresses them.
struct Plain {
    opener: Option<Opener>,
    unpacker: Option<Unpacker>,
}

impl Plain {
    fn open<'b>(&mut self, stored: &'b [u8], is_end: bool) -> Result<Cow<'b, [u8]>, Failed> {
        let mut bytes = Cow::Borrowed(stored);
        if let Some(opener) = &mut self.opener {
            bytes = Cow::Owned(opener.open(&bytes, is_end)?);
        }
        if let Some(unpacker) = &mut self.unpacker {
            bytes = Cow::Owned(unpacker.open(&bytes, is_end)?);
        }
        Ok(bytes)
    }
}

fn is_compressed(object: &Object) -> bool {
    object.system.contains_key("x-minio-internal-compression")
}

/// The lengths of the parts as clients see them.
///
/// # Errors
/// [`Failed`] if the metadata do not tell.
fn plain_sizes(object: &Object) -> Result<Vec<u64>, Failed> {
    let unknown = || Failed::new("the sizes of its parts do not fit together");
    if is_compressed(object) {
        let sizes = object.part_actual_bytes.clone();
        return if sizes.len() == object.part_bytes.len() { Ok(sizes) } else { Err(unknown()) };
    }
    if !sse::is_encrypted(object) {
        return Ok(object.part_bytes.clone());
    }
    let sizes = object.part_bytes.iter().map(|bytes| sse::plain_bytes(*bytes));
    sizes.collect::<Option<Vec<u64>>>().ok_or_else(unknown)
}

/// The length of an object as clients see it.
fn plain_bytes(object: &Object) -> u64 {
    match is_compressed(object) || sse::is_encrypted(object) {
        true => plain_sizes(object).unwrap_or_default().iter().sum(),
        false => object.bytes,
    }
}

/// The ETag; none if it is encrypted, because then it is the MD5 of the bytes.
fn etag(object: &Object) -> Option<ETag> {
    object.user.get("etag").and_then(|tag| ETag::parse(tag))
}

/// Compares an object's ETag with the MD5s of its parts, because block checksums do not protect the
/// order of blocks. A multipart ETag of another number of parts cannot be compared: MinIO then
/// stores other parts than the client uploaded.
///
/// # Errors
/// [`Failed`] if the ETag belongs to other bytes.
fn compare(tag: Option<ETag>, md5s: &[[u8; 16]]) -> Result<(), Failed> {
    let of_bytes = match (tag, md5s) {
        (Some(ETag::Md5(_)), [md5]) => ETag::Md5(*md5),
        (Some(ETag::Multipart { parts, .. }), _) if parts as usize == md5s.len() => {
            ETag::multipart(md5s)
        }
        _ => return Ok(()),
    };
    match tag == Some(of_bytes) {
        true => Ok(()),
        false => Err(Failed::new(format!(
            "its bytes do not match its entity tag, but {of_bytes}: start MinIO on it, and if it is whole there, \
             import it with `liteio import s3 URL`"
        ))),
    }
}

fn is_packed_by(object: &Object, name: &str) -> bool {
    object.system.get("x-minio-internal-compression").is_some_and(|it| it == name.as_bytes())
}

/// The object of a version, if its data is unmodified client data and on this drive.
fn readable(version: &Version) -> Result<&Object, Failed> {
    let left_out = |reason: &str| Err(Failed::new(reason));
    let Some(object) = &version.object else { return left_out("it is a delete marker") };
    let has = |prefix: &str| object.system.keys().any(|name| name.starts_with(prefix));
    let is_away =
        object.system.get("x-minio-internal-transition-status").is_some_and(|it| it == b"complete");
    let total = object.part_bytes.iter().try_fold(0_u64, |total, bytes| total.checked_add(*bytes));
    match () {
        () if object.is_legacy => left_out(
            "it was written by MinIO before 2020: start MinIO on it and import with `liteio import s3 URL`",
        ),
        () if is_compressed(object) && !COMPRESSIONS.iter().any(|it| is_packed_by(object, it)) => {
            left_out("it is compressed: start MinIO on it and import with `liteio import s3 URL`")
        }
        () if is_away && !object.user.contains_key("x-amz-restore") => {
            left_out("its bytes are in another tier")
        }
        () if has("x-minio-internal-purgestatus") => left_out("it is about to be deleted"),
        () if object.drives != (1, 0) => left_out("it is spread over several drives"),
        () if object.checksum_algorithm != HIGHWAY_HASH => {
            left_out("the algorithm of its checksums is not known")
        }
        () if object.part_bytes.is_empty()
            || object.part_bytes.len() != object.part_numbers.len()
            || total != Some(object.bytes) =>
        {
            left_out("the sizes of its parts do not fit together")
        }
        () => Ok(object),
    }
}

/// Reads a metadata object of at most `bytes_max` bytes.
///
/// # Errors
/// [`Failed`].
pub(super) fn read_small(directory: &Path, bytes_max: u64) -> Result<Vec<u8>, Failed> {
    let mut key = StoredKey::new(directory);
    key.bytes = read_metadata(&directory.join("xl.meta"))?;
    let newest = XlMeta::parse(&key.bytes)?.versions.into_iter().next();
    let newest = newest.ok_or_else(|| Failed::new("it has no version"))?;
    let object = readable(&newest)?;
    if is_compressed(object) || sse::is_encrypted(object) {
        return Err(Failed::new("it is compressed or encrypted"));
    }
    if object.bytes > bytes_max {
        return Err(Failed::new("it is too long"));
    }
    let mut content = Vec::new();
    for part in key.parts(&newest)? {
        part.read::<Failed>(&mut |bytes| {
            content.extend_from_slice(bytes);
            Ok(())
        })?;
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
