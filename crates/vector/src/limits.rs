//! Every limit of this crate, with its unit in its name.

/// The largest number of elements of a vector.
pub const DIMENSION_MAX: usize = 65_536;

/// The largest number of slots of a file.
pub const SLOTS_MAX: u32 = u32::MAX - 1;

/// Vectors wait in a buffer of this size before they are written: 85 of 768 elements in one call.
pub(crate) const STAGE_BYTES_MAX: usize = 256 << 10;

/// Vectors that come at once, and are at least so many bytes, are written without passing through that
/// buffer, whatever waits there.
pub(crate) const RUN_BYTES_MIN: usize = 64 << 10;

/// The same when nothing waits there.
pub(crate) const FIRST_RUN_BYTES_MIN: usize = 16 << 10;

/// How far the file is written with zeros before its end, while commits are small.
pub(crate) const AHEAD_BYTES: u64 = 1 << 20;

/// The zeros are written in pieces, so that no writer waits for more than one of them.
pub(crate) const AHEAD_PIECE_BYTES: u64 = 128 << 10;

/// In memory, space for small writes is taken in pieces of this size: page by page takes longer.
pub(crate) const RESERVE_PIECE_BYTES: u64 = 128 << 10;

/// A write of at least this takes its space as fast itself.
pub(crate) const RESERVE_WRITE_BYTES_MAX: u64 = 16 << 10;

/// A commit of more than this gains less from blocks that were written before than writing them costs:
/// with them, one of 30 KiB takes 0.2 instead of 0.4 ms, but every vector is written twice.
pub(crate) const SMALL_COMMIT_BYTES: u64 = 64 << 10;

/// A commit of more than this syncs its vectors before its superblock, so that opening need not check
/// them. The second sync is lost in the time of the first.
pub(crate) const CHECKED_BYTES_MAX: u64 = 4 << 20;

/// The address space that a file is first mapped with. Ten thousand files take 10 of 128 TiB.
pub(crate) const RESERVE_BYTES_MIN: u64 = 1 << 30;

/// A map is made for a file this many times its size.
pub(crate) const RESERVE_GROWTH: u64 = 4;

/// With at most so many candidates, all of them are compared exactly.
pub const EXACT_CANDIDATES_MAX: usize = 1_024;

/// The same with at most so many candidates for each neighbour wanted: codes do not spare enough of them
/// then. For 1,000 of 20,000 codes take three quarters of the time, for 10,000 of 100,000 a quarter more.
pub const EXACT_CANDIDATES_PER_NEIGHBOUR: usize = 12;

/// Below this dimension all candidates are compared exactly: a code of one bit an element says too
/// little, and the vectors are short.
pub const CODES_DIMENSION_MIN: usize = 256;

/// Codes are scanned in partitions of so many slots at most, each of which needs 4 bytes a slot
/// meanwhile. In smaller ones more vectors are looked at before the first neighbours are known: with
/// half as many slots a search takes a tenth longer.
pub(crate) const PARTITION_SLOTS_MAX: usize = 131_072;

/// So many vectors of a partition for each neighbour wanted, and at least so many, are looked at first,
/// to learn how near the neighbours are.
pub(crate) const FIRSTS_PER_NEIGHBOUR: usize = 4;
pub(crate) const FIRSTS_MIN: usize = 128;

/// The estimate of a distance is lowered by so many standard deviations of its error to decide
/// whether to look closer. A neighbour that is only just one is missed with a likelihood of 1.1 %, any
/// nearer one with less: of ten neighbours among 100,000 unrelated vectors 0.8 % are missed, with 2.4
/// 0.6 %, in about a tenth more time.
pub(crate) const BOUND_DEVIATIONS: f32 = 2.3;

/// The same in a file of at most `FEW_SLOTS`, where to miss 0.03 % costs no more than 0.1 ms.
pub(crate) const FEW_BOUND_DEVIATIONS: f32 = 3.0;
pub(crate) const FEW_SLOTS: u32 = 20_000;

/// The same for the estimate of the finer code, whose error is so small that this costs nothing.
pub(crate) const REFINED_DEVIATIONS: f32 = 3.5;

/// Vectors that have no code yet are compared exactly. More of them get codes first.
pub(crate) const WITHOUT_CODE_MAX: usize = 1_024;

/// The largest number of neighbours of one search.
pub const NEIGHBOURS_MAX: usize = 10_000;

const _: () = assert!(AHEAD_BYTES.is_multiple_of(AHEAD_PIECE_BYTES));
const _: () = assert!(STAGE_BYTES_MAX >= DIMENSION_MAX * 4);
