//! Every limit of this crate, with its unit in its name.

/// Largest number of elements of a vector.
pub const DIMENSION_MAX: usize = 65_536;

/// Largest number of slots of a file. `u32::MAX` marks "no slot".
pub const SLOTS_MAX: u32 = u32::MAX - 1;

/// Bytes of the staging buffer of appended vectors: 85 vectors of 768 elements are written with one
/// call.
pub(crate) const STAGE_BYTES_MAX: usize = 256 << 10;

/// Bytes from which the vectors of one call are written directly, past the staging buffer, even if
/// it has other vectors.
pub(crate) const RUN_BYTES_MIN: usize = 64 << 10;

/// The same threshold while the buffer is empty.
pub(crate) const FIRST_RUN_BYTES_MIN: usize = 16 << 10;

/// Zeros kept preallocated behind the last vector, while commits are small.
pub(crate) const AHEAD_BYTES: u64 = 1 << 20;

/// Bytes per write of such zeros. A writer waits for at most one of them.
pub(crate) const AHEAD_PIECE_BYTES: u64 = 128 << 10;

/// Bytes of space that small writes to a file in memory reserve at once; page by page takes longer.
pub(crate) const RESERVE_PIECE_BYTES: u64 = 128 << 10;

/// Bytes from which a write allocates its own space just as fast.
pub(crate) const RESERVE_WRITE_BYTES_MAX: u64 = 16 << 10;

/// Largest commit for which zeros are written ahead. Into preallocated blocks a commit of 30 KiB
/// takes 0.2 instead of 0.4 ms, but every vector is written twice: larger commits gain less than
/// that costs.
pub(crate) const SMALL_COMMIT_BYTES: u64 = 64 << 10;

/// Largest batch that recovery has to read and check. A larger commit syncs its vectors before its
/// superblock; the second sync is short compared with the first.
pub(crate) const CHECKED_BYTES_MAX: u64 = 4 << 20;

/// Bytes of neighbouring vectors read with one call: they stay in the second-level cache until they
/// are compared.
pub(crate) const READ_BYTES_MAX: usize = 128 << 10;

/// Address space that a file is first mapped with. Ten thousand files take 10 of 128 TiB.
pub(crate) const RESERVE_BYTES_MIN: u64 = 1 << 30;

/// Address space of a later map, as a multiple of the file's size.
pub(crate) const RESERVE_GROWTH: u64 = 4;

/// Largest number of candidates that are compared exactly without codes.
pub const EXACT_CANDIDATES_MAX: usize = 1_024;

/// The same limit per wanted neighbour. With many neighbours, codes exclude too few candidates: for
/// 1,000 of 20,000 a search by codes takes three quarters of the time of comparing all, for 10,000
/// of 100,000 a quarter more.
pub const EXACT_CANDIDATES_PER_NEIGHBOUR: usize = 12;

/// Smallest dimension with codes. The errors of codes and the differences between distances of
/// unrelated vectors both shrink with the number of elements, so codes exclude as many vectors of
/// 128 elements as of 768: a search among 100,000 takes a fifth to a twelfth of the time of
/// comparing all. Shorter vectors are compared exactly.
pub const CODES_DIMENSION_MIN: usize = 128;

/// Number of vectors from which an index is partitioned.
pub(crate) const PARTITIONS_FROM: usize = 65_536;

/// Mean recall below which more partitions are probed.
pub(crate) const RECALL_AT_10_MIN: f64 = 0.992;
pub(crate) const RECALL_AT_100_MIN: f64 = 0.985;

/// Entries that searches scan, per vector of the index, before one query is answered exactly.
/// Comparing a vector exactly takes as long as scanning some ten entries, so samples are about 1 %
/// of the work.
pub(crate) const WORK_PER_SAMPLE: u64 = 1_024;

/// Most vectors whose codes are made in one batch, in the order of their partitions. Searches
/// compare them exactly until the whole batch has codes: some seconds.
pub(crate) const BATCH_MAX: u32 = 65_536;

/// Codes made before they are saved. While idle: a 1/`UNSAVED_SHARE` part of all, at least
/// `UNSAVED_MIN`. While busy: `UNSAVED_MAX`. A `kill -9` loses at most that many, which are made
/// again.
pub(crate) const UNSAVED_SHARE: usize = 16;
pub(crate) const UNSAVED_MIN: usize = 1_024;
pub(crate) const UNSAVED_MAX: usize = 65_536;

/// Most vectors that a search by codes compares exactly: a part of all, and a number that is always
/// allowed. Real data needs up to some thousands. Where codes tell nothing, as among equal vectors,
/// one vector is as good as another.
pub(crate) const EXACT_SHARE: usize = 16;
pub(crate) const EXACT_VECTORS_MIN: usize = 16_384;

/// Vectors of a group of partitions that are compared first: per wanted neighbour, and at least.
/// Their distances give the first threshold. A minimum of 512 hardly lowers it further, and makes a
/// search of 100,000 take a fifth longer.
pub(crate) const FIRSTS_PER_NEIGHBOUR: usize = 4;
pub(crate) const FIRSTS_MIN: usize = 128;

/// Standard deviations by which the estimate of a distance is lowered to a bound. A vector is
/// looked at more closely if its bound is below the threshold. The farthest neighbour is missed
/// with a probability of 1.1 %, nearer ones with a smaller one.
pub(crate) const BOUND_DEVIATIONS: f32 = 2.3;

/// The same for the estimate with second bits, which has half of the error. With both at 2.3, 0.6 %
/// of ten neighbours among 100,000 unrelated vectors are missed, and 0.5 % of a hundred. With 2.7
/// here it would be 0.4 % and 0.3 %, but half as many vectors again would be compared exactly,
/// which dominates the time.
pub(crate) const SECOND_DEVIATIONS: f32 = 2.3;

/// Both, where partitions are left out. That costs neighbours of its own, and there are fewer
/// vectors to compare exactly.
pub(crate) const PROBED_DEVIATIONS: (f32, f32) = (2.6, 2.8);

/// Both, in a file of at most `FEW_SLOTS`, where reducing the misses to 0.03 % costs at most 0.1
/// ms.
pub(crate) const FEW_DEVIATIONS: (f32, f32) = (3.0, 3.5);
pub(crate) const FEW_SLOTS: u32 = 20_000;

/// Largest number of neighbours of one search.
pub const NEIGHBOURS_MAX: usize = 10_000;

const _: () = assert!(AHEAD_BYTES.is_multiple_of(AHEAD_PIECE_BYTES));
const _: () = assert!(STAGE_BYTES_MAX >= DIMENSION_MAX * 4);
