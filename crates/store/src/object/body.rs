//! Staging of bodies, before the transaction that publishes them.
//!
//! ```text
//! begin ──► Memory ── more than an inline body ──► Blob ──► finish: sealed, durable ──► StagedBody
//!             │                                      │                                     │
//!             └──────────── dropped: no trace ───────┴── the reclaimer deletes the blob ◄──┘ dropped
//! ```

use bytes::Bytes;
use liteio_blob::{BlobError, BlobId, BlobStore, BlobWriter, Seal};
use liteio_checksum::{ChecksumAlgorithm, DigestSet, Digests};

use crate::encryption::{
    BodyKey, ObjectSealing, PartSalt, Sealer, Sealing, SealingTarget, stored_bytes,
};
use crate::error::StoreError;
use crate::limits::PART_BYTES_MAX;
use crate::meta::content::{Content, Extent};
use crate::name::UploadId;
use crate::process::{StagedBlob, Staging};
use crate::store::Store;

/// Options of a body, known before its first byte.
#[derive(Clone, Debug, Default)]
pub struct BodyOptions {
    /// Declared length in bytes. A hint only: it decides where the bytes are kept.
    pub expected_bytes: Option<u64>,
    /// Checksums to compute besides MD5.
    pub algorithms: Vec<ChecksumAlgorithm>,
    /// The encryption of the body.
    pub sealing: Option<Sealing>,
}

/// A body that is being received. Dropping it before [`BodyWriter::finish`] leaves no trace.
///
/// Its two halves, [`BodyHasher`] and [`BodySink`], can also run on a thread each: hashing a large
/// body takes longer than writing it.
#[derive(Debug)]
pub struct BodyWriter {
    hasher: BodyHasher,
    sink: BodySink,
}

/// Computes the digests of a body.
#[derive(Debug)]
pub struct BodyHasher {
    digests: DigestSet,
}

/// Stores the bytes of a body: in memory while they are few, else in a blob. Dropping it before
/// [`BodySink::finish`] leaves no trace.
#[derive(Debug)]
pub struct BodySink {
    store: Store,
    bytes: u64,
    target: Target,
    sealing: Option<Sealing>,
}

#[derive(Debug)]
enum Target {
    /// Plaintext; encrypted by `finish`, or when it moves to a blob.
    Memory(Vec<u8>),
    /// `writer` is declared before `blob`, so that it is dropped before the blob is discarded.
    Blob {
        writer: Box<dyn BlobWriter>,
        blob: StagedBlob,
        /// Encrypts on the way to the blob, if the body is encrypted.
        sealer: Option<Box<Sealer>>,
    },
}

/// The bytes of a complete body, with the promised durability. Dropping it leaves no trace.
#[derive(Debug)]
pub struct StoredBytes {
    bytes: u64,
    content: Content,
    blob: Option<StagedBlob>,
    sealing: Option<Sealing>,
}

/// A complete body with the promised durability, not visible yet. Dropping it leaves no trace:
/// [`Store::reclaim`], which the store calls by itself, deletes its blob.
#[derive(Debug)]
pub struct StagedBody {
    digests: Digests,
    content: Content,
    blob: Option<StagedBlob>,
    sealing: Option<Sealing>,
}

/// A staged body without the blob that waits for its record.
#[derive(Clone, Debug)]
pub(crate) struct NewBody {
    /// Digests of the plaintext.
    pub(crate) digests: Digests,
    /// The entity tag: the MD5 of the bytes, or a tag that does not reveal it for encrypted bytes.
    pub(crate) tag: [u8; 16],
    pub(crate) content: Content,
    pub(crate) sealing: Option<SealingTarget>,
}

impl NewBody {
    /// A body of unencrypted bytes that are stored already.
    pub(crate) fn plain(digests: Digests, content: Content) -> Self {
        let tag = digests.md5;
        Self { digests, tag, content, sealing: None }
    }

    /// The data key of an object's body; `None` if it is not encrypted.
    ///
    /// # Errors
    /// [`StoreError::Internal`] for the body of a part.
    pub(crate) fn object_sealing(&self) -> Result<Option<&ObjectSealing>, StoreError> {
        match &self.sealing {
            None => Ok(None),
            Some(SealingTarget::Object(sealing)) => Ok(Some(sealing)),
            Some(SealingTarget::Part { .. }) => Err(sealed_for_another()),
        }
    }

    /// The key salt of a part of `upload`; `None` if it is not encrypted.
    ///
    /// # Errors
    /// [`StoreError::Internal`] for a body that is not encrypted as the upload requires.
    pub(crate) fn part_salt(
        &self,
        upload: &UploadId,
        is_encrypted: bool,
    ) -> Result<Option<PartSalt>, StoreError> {
        match &self.sealing {
            None if !is_encrypted => Ok(None),
            Some(SealingTarget::Part { upload: sealed_for, salt })
                if is_encrypted && sealed_for == upload =>
            {
                Ok(Some(*salt))
            }
            _ => Err(sealed_for_another()),
        }
    }
}

fn sealed_for_another() -> StoreError {
    StoreError::Internal { what: "a body is encrypted for something else".to_owned() }
}

impl Store {
    /// Starts a body. May wait for the disk if more than an inline body is declared.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] if the device is full; [`StoreError::PartTooLarge`].
    pub fn begin_body(&self, options: BodyOptions) -> Result<BodyWriter, StoreError> {
        let sink = self.begin_sink(options.expected_bytes, options.sealing)?;
        Ok(BodyWriter { hasher: BodyHasher::new(&options.algorithms), sink })
    }

    /// Starts a body of `options.expected_bytes` bytes that stays in memory until it is finished, so
    /// that writing it does not wait for the disk. `None` if it must be begun as others.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] if the device is full; [`StoreError::PartTooLarge`].
    pub fn begin_body_in_memory(
        &self,
        options: &BodyOptions,
    ) -> Result<Option<BodyWriter>, StoreError> {
        let Some(bytes) = options.expected_bytes else { return Ok(None) };
        self.shared().gate.check()?;
        check_size(bytes)?;
        let target = if bytes <= self.inline_bytes_max() {
            Target::Memory(Vec::with_capacity(usize::try_from(bytes).unwrap_or(0)))
        } else {
            let begin = |blobs: &dyn BlobStore, id, bytes: Option<u64>| {
                Ok(bytes.and_then(|bytes| blobs.begin_in_memory(id, bytes)))
            };
            match begin_blob(self, Some(bytes), options.sealing.as_ref(), begin)? {
                Some(target) => target,
                None => return Ok(None),
            }
        };
        let sealing = options.sealing.clone();
        let sink = BodySink { store: self.clone(), bytes: 0, target, sealing };
        Ok(Some(BodyWriter { hasher: BodyHasher::new(&options.algorithms), sink }))
    }

    /// `true` if [`Store::make_room`] should be called soon, by a thread that may wait for the disk.
    #[must_use]
    pub fn is_room_low(&self) -> bool {
        self.shared().blobs.is_room_low()
    }

    /// Makes room ahead for short bodies. [`BodyWriter::finish`] does it, too.
    pub fn make_room(&self) {
        let mut random = [0; 8];
        if self.is_room_low() && self.shared().config.random.fill(&mut random).is_ok() {
            self.shared().blobs.make_room(u64::from_be_bytes(random));
        }
    }

    /// Starts the storing half of a body, see [`Store::begin_body`].
    ///
    /// # Errors
    /// The errors of [`Store::begin_body`].
    pub fn begin_sink(
        &self,
        expected_bytes: Option<u64>,
        sealing: Option<Sealing>,
    ) -> Result<BodySink, StoreError> {
        self.shared().cluster.standing()?;
        let expected = expected_bytes.unwrap_or(0);
        check_size(expected)?;
        let target = if expected > self.inline_bytes_max() {
            begin_waiting(self, expected_bytes, sealing.as_ref())?
        } else {
            // At most the inline limit, which is small.
            Target::Memory(Vec::with_capacity(usize::try_from(expected).unwrap_or(0)))
        };
        Ok(BodySink { store: self.clone(), bytes: 0, target, sealing })
    }

    fn inline_bytes_max(&self) -> u64 {
        self.shared().config.inline_bytes_max as u64
    }
}

fn check_size(bytes: u64) -> Result<(), StoreError> {
    match bytes > PART_BYTES_MAX {
        true => Err(StoreError::PartTooLarge { bytes, maximum: PART_BYTES_MAX }),
        false => Ok(()),
    }
}

fn begin_waiting(
    store: &Store,
    expected_bytes: Option<u64>,
    sealing: Option<&Sealing>,
) -> Result<Target, StoreError> {
    let begin = |blobs: &dyn BlobStore, id, bytes| blobs.begin(id, bytes).map(Some);
    begin_blob(store, expected_bytes, sealing, begin)?.ok_or(StoreError::Closed)
}

/// Begins a blob by `begin`, which gets its id and the length of what is stored.
fn begin_blob(
    store: &Store,
    expected_bytes: Option<u64>,
    sealing: Option<&Sealing>,
    begin: impl FnOnce(
        &dyn BlobStore,
        BlobId,
        Option<u64>,
    ) -> Result<Option<Box<dyn BlobWriter>>, BlobError>,
) -> Result<Option<Target>, StoreError> {
    store.inner.check_open()?;
    // Encryption adds a tag to each block.
    let expected_bytes = match sealing {
        Some(_) => expected_bytes.and_then(stored_bytes),
        None => expected_bytes,
    };
    // The space is checked for the declared length at once, before any byte is written.
    store.inner.check_space(expected_bytes.unwrap_or(0))?;
    // Registered as in flight before its file exists, so that the sweep never takes it for an
    // orphan.
    let blob = Staging::begin(store.shared())?;
    let writer = begin(&*store.shared().blobs, blob.id(), expected_bytes)?;
    let sealer = || sealing.map(|sealing| Box::new(sealing.key().sealer()));
    Ok(writer.map(|writer| Target::Blob { writer, blob, sealer: sealer() }))
}

impl BodyWriter {
    /// Appends to the body. May wait for the disk, see [`BodyWriter::will_block`].
    ///
    /// # Errors
    /// [`StoreError::PartTooLarge`], [`StoreError::NoSpace`], [`StoreError::Poisoned`] or
    /// [`StoreError::Io`]. The body cannot be continued; drop the writer.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.sink.append(bytes)?;
        self.hasher.update(bytes);
        Ok(())
    }

    /// Appends pieces to the body. Waits for the disk, and for threads that hash other bodies with
    /// it, see [`BodyHasher::update_together`].
    ///
    /// # Errors
    /// The errors of [`BodyWriter::write`].
    pub fn write_together(&mut self, pieces: &[Bytes]) -> Result<(), StoreError> {
        pieces.iter().try_for_each(|piece| self.sink.append(piece))?;
        self.hasher.update_together(pieces);
        Ok(())
    }

    /// Appends pieces to a body of [`Store::begin_body_in_memory`], by a task, see
    /// [`DigestSet::update_in_task`].
    ///
    /// # Errors
    /// The errors of [`BodyWriter::write`].
    pub async fn write_in_task(&mut self, pieces: &[Bytes]) -> Result<(), StoreError> {
        pieces.iter().try_for_each(|piece| self.sink.append(piece))?;
        self.hasher.digests.update_in_task(pieces).await;
        Ok(())
    }

    /// `true` if [`BodyWriter::finish_in_memory`] does not wait for the disk.
    #[must_use]
    pub fn finishes_in_memory(&mut self) -> bool {
        match &mut self.sink.target {
            Target::Memory(_) => true,
            Target::Blob { writer, .. } => writer.seals_in_memory(),
        }
    }

    /// Ends a body that is in memory. It becomes durable with its record. The caller looks after
    /// [`Store::is_room_low`].
    ///
    /// # Errors
    /// The errors of [`BodyWriter::finish`].
    pub fn finish_in_memory(self) -> Result<StagedBody, StoreError> {
        let digests = self.hasher.finish();
        Ok(StagedBody::new(digests, self.sink.seal()?))
    }

    /// `true` while all bytes are in memory, so that [`BodyWriter::finish`] does not touch the
    /// disk.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        matches!(self.sink.target, Target::Memory(_))
    }

    /// `true` if writing `next_bytes` more may wait for the disk.
    #[must_use]
    pub fn will_block(&self, next_bytes: usize) -> bool {
        self.sink.will_block(next_bytes)
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sink.bytes
    }

    /// Ends the body and gives it the promised durability. A body in memory becomes durable with
    /// its record.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`], [`StoreError::Poisoned`] or [`StoreError::Io`].
    pub fn finish(self) -> Result<StagedBody, StoreError> {
        let digests = self.hasher.finish();
        Ok(StagedBody::new(digests, self.sink.finish()?))
    }
}

impl BodyHasher {
    /// Computes MD5 and the checksums of `algorithms`.
    #[must_use]
    pub fn new(algorithms: &[ChecksumAlgorithm]) -> Self {
        Self { digests: DigestSet::new(algorithms) }
    }

    /// Digests more bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        self.digests.update(bytes);
    }

    /// Digests more bytes of the body, together with bodies that other threads digest at the same
    /// time. May wait for one of these threads, so it is not for threads that must not block.
    pub fn update_together(&mut self, pieces: &[Bytes]) {
        self.digests.update_together(pieces);
    }

    /// The digests of all bytes.
    #[must_use]
    pub fn finish(self) -> Digests {
        self.digests.finish()
    }
}

impl BodySink {
    /// Appends to the body. May wait for the disk.
    ///
    /// # Errors
    /// The errors of [`BodyWriter::write`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        check_size(self.bytes + bytes.len() as u64)?;
        // Longer than declared, or of unknown length: the bytes so far move to a blob.
        if self.will_block(bytes.len())
            && let Target::Memory(buffer) = &mut self.target
        {
            let buffered = std::mem::take(buffer);
            let mut target = begin_waiting(&self.store, None, self.sealing.as_ref())?;
            target.append(&buffered)?;
            self.target = target;
        }
        self.target.append(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn will_block(&self, next_bytes: usize) -> bool {
        match &self.target {
            Target::Memory(buffer) => {
                buffer.len().saturating_add(next_bytes) as u64 > self.store.inline_bytes_max()
            }
            Target::Blob { .. } => true,
        }
    }

    /// Gives the bytes the promised durability. Bytes in memory become durable with their record.
    ///
    /// # Errors
    /// The errors of [`BodyWriter::finish`].
    pub fn finish(self) -> Result<StoredBytes, StoreError> {
        let store = self.store.clone();
        let stored = self.seal()?;
        store.make_room();
        Ok(stored)
    }

    fn seal(self) -> Result<StoredBytes, StoreError> {
        let (bytes, sealing) = (self.bytes, self.sealing);
        let stored = match &sealing {
            Some(_) => stored_bytes(bytes),
            None => Some(bytes),
        };
        let (content, blob) = match self.target {
            Target::Memory(buffer) => (Content::Inline(encrypted(buffer, sealing.as_ref())?), None),
            Target::Blob { mut writer, blob, sealer } => {
                if let Some(sealer) = sealer {
                    // The last block, which may be short.
                    writer.append(&sealer.finish())?;
                }
                let seal = if blob.is_one_of_few() { Seal::InLog } else { Seal::WithRecord };
                let sealed = writer.seal(seal)?;
                let bytes = sealed.blob.bytes;
                // A difference is a bug of the writer or the sealer. It must not become an object.
                assert_eq!(Some(bytes), stored, "what was appended is what was sealed");
                let extent = Extent { blob: sealed.blob.id.0, blob_bytes: bytes, offset: 0, bytes };
                blob.sealed(sealed);
                (Content::Extents(vec![extent]), Some(blob))
            }
        };
        Ok(StoredBytes { bytes, content, blob, sealing })
    }
}

/// The stored form of a short body.
fn encrypted(bytes: Vec<u8>, sealing: Option<&Sealing>) -> Result<Bytes, StoreError> {
    let Some(sealing) = sealing else { return Ok(bytes.into()) };
    let mut sealer = sealing.key().sealer();
    let mut stored = Vec::new();
    sealer.append(&bytes, |block| {
        stored.extend_from_slice(block);
        Ok(())
    })?;
    let last = sealer.finish();
    match stored.is_empty() {
        true => Ok(last.into()),
        false => Ok([stored, last].concat().into()),
    }
}

impl Target {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Memory(buffer) => buffer.extend_from_slice(bytes),
            Self::Blob { writer, sealer: None, .. } => writer.append(bytes)?,
            Self::Blob { writer, sealer: Some(sealer), .. } => {
                sealer.append(bytes, |block| Ok(writer.append(block)?))?;
            }
        }
        Ok(())
    }
}

impl StagedBody {
    /// Joins the two finished halves of one body.
    ///
    /// # Panics
    /// If the two halves have different lengths.
    #[must_use]
    pub fn new(digests: Digests, stored: StoredBytes) -> Self {
        // The halves may have run on two threads. A piece that only one of them saw must not become
        // an object.
        assert_eq!(stored.bytes, digests.bytes, "what was hashed is what was stored");
        let StoredBytes { content, blob, sealing, .. } = stored;
        Self { digests, content, blob, sealing }
    }

    /// The digests of the bytes.
    #[must_use]
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    /// `true` if the bytes are in memory, and become durable with their record.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.blob.is_none()
    }

    /// The stored content, and the key of its bytes.
    pub(super) fn stored(&self) -> (&Content, Option<&BodyKey>) {
        (&self.content, self.sealing.as_ref().map(Sealing::key))
    }

    pub(crate) fn into_parts(self) -> (NewBody, Option<StagedBlob>) {
        let Self { digests, content, blob, sealing } = self;
        let md5 = digests.md5;
        let tag = sealing.as_ref().map_or(md5, |sealing| sealing.tag(&md5));
        let sealing = sealing.map(Sealing::into_target);
        (NewBody { digests, tag, content, sealing }, blob)
    }
}
