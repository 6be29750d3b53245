//! A file of the simulated disk: the bytes that readers see, the bytes of the device, and the
//! changes between the two.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::generator::Generator;
use crate::content::{Content, SECTOR_BYTES};

#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: u64,
    /// Lock order: the disk's lock first, if both are taken.
    pub(super) state: Mutex<NodeState>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct NodeState {
    /// The bytes that reads see.
    pub(super) current: Content,
    /// The bytes that the device has for certain.
    durable: Content,
    /// Changes that lead from `durable` to `current`, in order. Invariant unless `lost_a_sync`:
    /// applying all of them to `durable` gives `current`.
    pending: Vec<Change>,
    /// A sync failed: `pending` was cleared although `durable` is behind `current`.
    lost_a_sync: bool,
    /// `true` for a temporary file that was not linked yet.
    pub(super) is_linkable: bool,
    /// Names of this file in the directories that readers see.
    pub(super) names: u64,
    pub(super) handles: u64,
    /// `true` while a handle has the exclusive lock.
    pub(super) is_locked: bool,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: u64, data: Arc<[u8]> },
    SetLen(u64),
}

/// The share of unsynced changes that survives a power cut. All-or-nothing outcomes are drawn
/// often, since bugs hide there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mood {
    Lose,
    Keep,
    Mix,
}

impl Mood {
    pub(super) fn draw(generator: &mut Generator) -> Self {
        match generator.below(6) {
            0 => Self::Lose,
            1 => Self::Keep,
            _ => Self::Mix,
        }
    }
}

impl Node {
    pub(super) fn new(id: u64, state: NodeState) -> Arc<Self> {
        Arc::new(Self { id, state: Mutex::new(state) })
    }
}

impl NodeState {
    /// An empty file with its first name.
    pub(super) fn named() -> Self {
        Self { names: 1, ..Self::default() }
    }

    /// An empty file that `link` accepts, with `names` names: none, or one below `tmp/`.
    pub(super) fn temporary(names: u64) -> Self {
        Self { is_linkable: true, names, ..Self::default() }
    }

    /// A file with this content after a reboot.
    pub(super) fn found(content: Content) -> Self {
        Self { current: content.clone(), durable: content, ..Self::default() }
    }

    /// The file that the next process finds. After a failed sync the kernel has marked pages clean
    /// that the device does not have, and may drop them at any time: here it does.
    pub(super) fn after_kill(&self) -> Self {
        let mut next = self.clone();
        if self.lost_a_sync {
            next.current = self.durable.clone();
            next.lost_a_sync = false;
        }
        next.is_linkable = false;
        next.names = 0;
        next.handles = 0;
        next.is_locked = false;
        next
    }

    pub(super) fn write(&mut self, data: &[u8], offset: u64) {
        if data.is_empty() {
            return;
        }
        self.current.write(data, offset);
        self.pending.push(Change::Write { offset, data: Arc::from(data) });
    }

    pub(super) fn set_len(&mut self, len: u64) {
        self.current.set_len(len);
        self.pending.push(Change::SetLen(len));
    }

    /// Makes a range read as zeros. For a crash it is a write of zeros.
    pub(super) fn discard(&mut self, offset: u64, bytes: u64) {
        let bytes = bytes.min(self.current.len().saturating_sub(offset));
        if bytes == 0 {
            return;
        }
        self.current.discard(offset, bytes);
        self.pending.push(Change::Write { offset, data: vec![0; bytes as usize].into() });
    }

    pub(super) fn sync(&mut self) {
        self.durable = self.current.clone();
        self.pending.clear();
    }

    /// A failed sync: a part of the changes reaches the device, the rest never will.
    pub(super) fn fail_sync(&mut self, generator: &mut Generator) {
        self.durable = self.after_power_cut(Mood::draw(generator), generator);
        self.pending.clear();
        self.lost_a_sync = true;
    }

    /// The bytes of the device after a power cut.
    ///
    /// A sector has its state after one of the changes that touched it, or before all of them: the
    /// kernel writes sectors at any time and in any order, but always in their current state. The
    /// length is chosen independently.
    pub(super) fn after_power_cut(&self, mood: Mood, generator: &mut Generator) -> Content {
        let keep_of_256 = match mood {
            _ if self.pending.is_empty() => return self.durable.clone(),
            Mood::Lose => 0,
            Mood::Keep => 256,
            Mood::Mix => [0, 32, 128, 224, 256][generator.below(5) as usize],
        };
        match keep_of_256 {
            0 => return self.durable.clone(),
            // After a failed sync `current` has bytes that the device can no longer get.
            256 if !self.lost_a_sync => return self.current.clone(),
            _ => {}
        }
        // Replay: `seen` follows the page cache change by change, `kept` takes sectors from it. A
        // sector copied at a later change overwrites an earlier state, as the device would.
        let mut seen = self.durable.clone();
        let mut kept = self.durable.clone();
        let mut kept_len = kept.len();
        for change in &self.pending {
            let is_whole = generator.below(256) < keep_of_256;
            let is_torn = !is_whole && generator.coin();
            match change {
                Change::Write { offset, data } => {
                    seen.write(data, *offset);
                    let end = offset + data.len() as u64;
                    let sectors = offset / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES);
                    if is_whole {
                        kept.copy_sectors(&seen, sectors);
                        kept_len = kept_len.max(end);
                    } else if is_torn {
                        tear(&mut kept, &seen, sectors, generator);
                        // Without the bytes the length may still have grown: to the end of the
                        // write, or to a point within it.
                        if generator.coin() {
                            let len = offset + generator.below(data.len() as u64 + 1);
                            kept_len = kept_len.max(if generator.coin() { end } else { len });
                        }
                    }
                }
                Change::SetLen(len) => {
                    seen.set_len(*len);
                    if is_whole || is_torn {
                        kept.set_len(*len);
                        kept_len = *len;
                    }
                }
            }
        }
        kept.set_len(kept_len);
        kept
    }
}

/// Copies some of `sectors`: none (the new length may still be there, without the bytes), a prefix,
/// or a random subset.
fn tear(kept: &mut Content, seen: &Content, sectors: Range<u64>, generator: &mut Generator) {
    match generator.below(3) {
        0 => {}
        1 => {
            let count = generator.below(sectors.end - sectors.start + 1);
            kept.copy_sectors(seen, sectors.start..sectors.start + count);
        }
        _ => sectors.filter(|_| generator.coin()).for_each(|sector| {
            kept.copy_sectors(seen, sector..sector + 1);
        }),
    }
}
