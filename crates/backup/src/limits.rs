//! Limits of a backup.

/// Largest content of one object, in bytes. The writer's objects are smaller; a length that damage or an
/// attacker has changed allocates no more than this.
pub const CONTENT_BYTES_MAX: u64 = 80 << 20;

/// Largest object of a target, in bytes: the largest content, sealed.
pub const OBJECT_BYTES_MAX: u64 = CONTENT_BYTES_MAX + 4096;

/// Longest name of an object, in bytes. S3 has 1,024 for a key, which also has the prefix of the backup.
pub(crate) const NAME_BYTES_MAX: usize = 512;

/// Longest component of a name, in bytes: that of a file.
pub(crate) const COMPONENT_BYTES_MAX: usize = 255;

/// Bytes of a pack of blobs.
pub(crate) const PACK_BYTES: usize = 8 << 20;

/// Bytes of changes after which a segment ends. So many are written before the end of an interval, too, while their memory
/// is still in the cache of the processor.
pub(crate) const SEGMENT_BYTES: usize = 8 << 20;

/// Bytes of changes after which a chunk of a base ends.
pub(crate) const CHUNK_BYTES: usize = 4 << 20;

/// Bytes of the difference between a standby and a base, which is held in memory.
pub(crate) const DIFFERENCE_BYTES_MAX: usize = 512 << 20;

/// Bytes of records that wait in memory while the target does not answer. Beyond it the writer begins anew.
pub(crate) const WAITING_BYTES: usize = 64 << 20;
