//! Comparing a query with the codes of a chunk, by the fastest kernel that the processor has.

mod scalar;

use super::chunk::{CHUNK_BLOCKS, CHUNK_SLOTS, Chunk};
use super::encode::QueryCode;

/// For each slot of a chunk, whether it is a candidate: a bit a slot, a byte a block.
pub(crate) type Masks = [u8; CHUNK_BLOCKS];

/// For each slot of a chunk a bound below |r − q|², or infinity if it is no candidate.
pub(crate) type Bounds = [f32; CHUNK_SLOTS];

/// Scans one chunk. The third argument is the number of standard deviations by which an estimate is
/// lowered to a bound.
type Scan = fn(&Chunk, &QueryCode, f32, &Masks, &mut Bounds);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanner {
    pub(crate) name: &'static str,
    scan: Scan,
}

impl Scanner {
    /// All that this processor can run, the fastest first. The last is the scalar one.
    pub(crate) fn available() -> Vec<Self> {
        vec![Self { name: "scalar", scan: scalar::scan }]
    }

    pub(crate) fn best() -> Self {
        Self::available()[0]
    }

    #[inline]
    pub(crate) fn scan(
        self,
        chunk: &Chunk,
        query: &QueryCode,
        deviations: f32,
        masks: &Masks,
        bounds: &mut Bounds,
    ) {
        assert_eq!(query.planes.len(), chunk.words, "codes of the same width");
        (self.scan)(chunk, query, deviations, masks, bounds);
    }
}

/// The factors of the query in the formula of a bound:
/// square + (|r|² − scale·(per_level·S + per_one·ones + shift + slack)).
#[derive(Clone, Copy, Debug)]
struct Formula {
    square: f32,
    per_level: f32,
    per_one: f32,
    shift: f32,
}

impl Formula {
    fn new(query: &QueryCode, deviations: f32) -> Self {
        Self {
            square: query.square,
            per_level: query.per_level,
            per_one: query.per_one,
            shift: query.shift + deviations * query.deviation,
        }
    }
}
