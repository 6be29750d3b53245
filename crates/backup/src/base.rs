//! Bases: all pairs of a store, in chunks, and a manifest.
//!
//! The contents of an object `base/B/N` are places and changes. The pairs are of different moments between the record B
//! and `complete_at`; with all records from one to the other on top they are the state after `complete_at`.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::code::{Decoder, Encoder};
use crate::place::{self, Placed};
use crate::seal::Content;

/// The manifest of a base, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The number of the record before the first one that has to be applied.
    pub start: u64,
    /// The number of the record from which on states can be restored.
    pub complete_at: u64,
    /// The time at which it was complete, in milliseconds since 1970.
    pub time_ms: u64,
    /// Number of its chunks.
    pub chunks: u64,
    /// Number of its pairs.
    pub pairs: u64,
    /// Bytes of its chunks.
    pub bytes: u64,
    /// The segment with the first record that has to be applied.
    pub first_segment: u64,
    /// The number of the segment behind those that complete it.
    pub last_segment: u64,
    /// The pack with the first blob that was packed for it.
    pub first_pack: u32,
    /// Number of damaged pairs and blobs, which could not be backed up whole.
    pub unreadable: u64,
    /// The state of an earlier generation that the standby had when it was promoted and began this
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// A state of a generation that another one continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The generation.
    pub generation: u64,
    /// The number of its last record.
    pub through: u64,
}

/// A chunk of a base.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) placed: Vec<Placed>,
    pub(crate) changes: Vec<u8>,
}

impl Chunk {
    pub(crate) fn encode(&self) -> Content {
        let bytes = 64 * (1 + self.placed.len()) + self.changes.len();
        let mut encoder = Encoder::with_capacity(bytes);
        place::encode(&self.placed, &mut encoder);
        encoder.bytes(&self.changes);
        encoder.end()
    }

    /// The chunk in the contents of the object `name`.
    pub(crate) fn decode(name: &str, contents: &[u8], backup: [u8; 16]) -> Result<Self, Error> {
        let mut decoder = Decoder::new(name, contents);
        let placed = place::decode(&mut decoder, backup)?;
        let changes = decoder.bytes()?.to_vec();
        if decoder.is_empty() { Ok(Self { placed, changes }) } else { Err(decoder.cut()) }
    }
}
