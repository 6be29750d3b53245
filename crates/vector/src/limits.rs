//! Every limit of this crate, with its unit in its name.

/// The largest number of elements of a vector.
pub const DIMENSION_MAX: usize = 65_536;

/// The largest number of slots of a file.
pub const SLOTS_MAX: u32 = u32::MAX - 1;

/// Bytes of the staging buffer of appended vectors: 85 of 768 elements are written with one call.
pub(crate) const STAGE_BYTES_MAX: usize = 256 << 10;

/// Bytes from which vectors of one call are written directly, past that buffer, even if others are staged
/// in it.
pub(crate) const RUN_BYTES_MIN: usize = 64 << 10;

/// The same while the buffer is empty.
pub(crate) const FIRST_RUN_BYTES_MIN: usize = 16 << 10;

/// Zeros that are kept preallocated behind the last vector, while commits are small.
pub(crate) const AHEAD_BYTES: u64 = 1 << 20;

/// Bytes of one write of such zeros. No writer waits for more than one of them.
pub(crate) const AHEAD_PIECE_BYTES: u64 = 128 << 10;

/// Bytes of space that small writes to a file in memory reserve at once, because page by page takes longer.
pub(crate) const RESERVE_PIECE_BYTES: u64 = 128 << 10;

/// Bytes from which a write allocates its own space as fast.
pub(crate) const RESERVE_WRITE_BYTES_MAX: u64 = 16 << 10;

/// The largest commit for which zeros are written ahead. Into blocks that were written before, one of
/// 30 KiB takes 0.2 instead of 0.4 ms, but every vector is written twice: larger ones gain less than
/// that costs.
pub(crate) const SMALL_COMMIT_BYTES: u64 = 64 << 10;

/// The largest batch that recovery has to check. A larger commit syncs its vectors before its
/// superblock; the second sync takes little compared with the first.
pub(crate) const CHECKED_BYTES_MAX: u64 = 4 << 20;

/// Bytes of neighbouring vectors that are read with one call: they stay in the second-level cache until they
/// are compared.
pub(crate) const READ_BYTES_MAX: usize = 128 << 10;

/// The address space that a file is first mapped with. Ten thousand files take 10 of 128 TiB.
pub(crate) const RESERVE_BYTES_MIN: u64 = 1 << 30;

/// The address space of a later map, in multiples of the file's size.
pub(crate) const RESERVE_GROWTH: u64 = 4;

/// The largest number of candidates that are all compared exactly.
pub const EXACT_CANDIDATES_MAX: usize = 1_024;

/// The same for each neighbour wanted: with many neighbours, codes exclude too few candidates. For 1,000 of
/// 20,000 codes take three quarters of the time, for 10,000 of 100,000 a quarter more.
pub const EXACT_CANDIDATES_PER_NEIGHBOUR: usize = 12;

/// The smallest dimension with codes. Errors of codes and distances of unrelated vectors from each other shrink alike
/// with the number of elements, so they exclude as many vectors of 128 as of 768: a search of 100,000 takes a fifth to
/// a twelfth of the time of comparing all. Shorter ones are compared.
pub const CODES_DIMENSION_MIN: usize = 128;

/// Vectors from which an index has partitions.
pub(crate) const PARTITIONS_FROM: usize = 65_536;

/// The mean recall below which more partitions are probed.
pub(crate) const RECALL_AT_10_MIN: f64 = 0.992;
pub(crate) const RECALL_AT_100_MIN: f64 = 0.985;

/// The work of searches, in entries scanned, after which one of them is answered exactly: for each vector of the
/// index. An exact comparison takes as long as some ten entries, so this is about 1 % of the work.
pub(crate) const WORK_PER_SAMPLE: u64 = 1_024;

/// The most vectors whose codes are made together, in the order of their partitions. Searches compare them exactly until
/// all of them have codes: some seconds.
pub(crate) const BATCH_MAX: u32 = 65_536;

/// Codes that are made before they are saved: while there is nothing else to do a share of all, at least so many;
/// otherwise the most. After a `kill -9` so many are made again.
pub(crate) const UNSAVED_SHARE: usize = 16;
pub(crate) const UNSAVED_MIN: usize = 1_024;
pub(crate) const UNSAVED_MAX: usize = 65_536;

/// The part of all vectors that a search by codes compares exactly at the most, and the number that it may
/// always compare. It takes some thousands where codes tell least; where they tell nothing, as among equal
/// vectors, one is as good as the other.
pub(crate) const EXACT_SHARE: usize = 16;
pub(crate) const EXACT_VECTORS_MIN: usize = 16_384;

/// Vectors of a partition that are compared first, for each neighbour wanted and at least: their distances
/// are the first threshold. With 512 at the least it is hardly lower, and a search of 100,000 takes a fifth more time.
pub(crate) const FIRSTS_PER_NEIGHBOUR: usize = 4;
pub(crate) const FIRSTS_MIN: usize = 128;

/// The standard deviations of its error by which the estimate of a distance is lowered to a bound. A
/// vector is compared more closely if the bound is below the threshold. The farthest neighbour is missed with
/// a probability of 1.1 %, nearer ones with a smaller one.
pub(crate) const BOUND_DEVIATIONS: f32 = 2.3;

/// The same for the estimate with the second bits, which has half of the error. With both, 0.6 % of ten neighbours
/// among 100,000 unrelated vectors are missed, and 0.5 % of a hundred. With 2.7 here it is 0.4 and 0.3 %, and half as
/// many vectors more are compared exactly, which is most of the time.
pub(crate) const SECOND_DEVIATIONS: f32 = 2.3;

/// Both where partitions are left out. These cost neighbours, too, and there are fewer vectors to be compared exactly.
pub(crate) const PROBED_DEVIATIONS: (f32, f32) = (2.6, 2.8);

/// Both in a file of at most `FEW_SLOTS`, where a miss rate of 0.03 % costs no more than 0.1 ms.
pub(crate) const FEW_DEVIATIONS: (f32, f32) = (3.0, 3.5);
pub(crate) const FEW_SLOTS: u32 = 20_000;

/// The largest number of neighbours of one search.
pub const NEIGHBOURS_MAX: usize = 10_000;

const _: () = assert!(AHEAD_BYTES.is_multiple_of(AHEAD_PIECE_BYTES));
const _: () = assert!(STAGE_BYTES_MAX >= DIMENSION_MAX * 4);
