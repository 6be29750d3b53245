//! The phases of a file of vectors.

use serde::{Deserialize, Serialize};

use crate::report::Unit;

/// One thing that is measured.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotPhase {
    /// Single vectors are appended, without a commit.
    RawInsert,
    /// A vector is appended and committed.
    InsertCommit,
    /// So many vectors are appended, then committed.
    Batch(u32),
    /// The same vector is copied again and again.
    HotCopied,
    /// The same vector is borrowed again and again.
    HotBorrowed,
    /// A file is opened, and one vector copied from it. Its pages are in the page cache.
    ColdRead,
    /// 1,000 vectors are copied in order.
    SequentialCopied,
    /// 1,000 vectors are borrowed in order.
    SequentialBorrowed,
    /// A new file gets 1,000 vectors one by one, and a commit.
    Growth,
}

impl SlotPhase {
    /// All of them, in the order of reports.
    pub const ALL: [SlotPhase; 11] = [
        SlotPhase::RawInsert,
        SlotPhase::InsertCommit,
        SlotPhase::Batch(10),
        SlotPhase::Batch(100),
        SlotPhase::Batch(1_000),
        SlotPhase::HotCopied,
        SlotPhase::HotBorrowed,
        SlotPhase::ColdRead,
        SlotPhase::SequentialCopied,
        SlotPhase::SequentialBorrowed,
        SlotPhase::Growth,
    ];

    /// Identifier in an outcome, name for people, and the meaning of the time.
    fn texts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            SlotPhase::RawInsert => (
                "raw_insert",
                "Raw insert",
                "per vector; no commit, so nothing of it is durable yet",
            ),
            SlotPhase::InsertCommit => {
                ("insert_commit", "Insert with commit", "one vector, durable")
            }
            SlotPhase::Batch(_) => ("batch", "Batch", "the whole batch, durable"),
            SlotPhase::HotCopied => {
                ("hot_copied", "Hot read, copied", "the same vector again and again")
            }
            SlotPhase::HotBorrowed => {
                ("hot_borrowed", "Hot read, borrowed", "the same vector again and again")
            }
            SlotPhase::ColdRead => (
                "cold_read",
                "Cold read",
                "open the file, copy one vector, close; the page cache has the file",
            ),
            SlotPhase::SequentialCopied => {
                ("sequential_copied", "Sequential read of 1,000, copied", "all 1,000 together")
            }
            SlotPhase::SequentialBorrowed => {
                ("sequential_borrowed", "Sequential read of 1,000, borrowed", "all 1,000 together")
            }
            SlotPhase::Growth => (
                "growth",
                "Growth from empty to 1,000",
                "make the file, append 1,000 one by one, one commit",
            ),
        }
    }

    pub(crate) fn id(self) -> String {
        match self {
            SlotPhase::Batch(vectors) => format!("batch_{vectors}"),
            phase => phase.texts().0.to_owned(),
        }
    }

    pub(crate) fn title(self) -> String {
        match self {
            SlotPhase::Batch(vectors) => {
                format!("Batch of {} with commit", Unit::Count.format(f64::from(vectors)))
            }
            phase => phase.texts().1.to_owned(),
        }
    }

    pub(crate) fn note(self) -> &'static str {
        self.texts().2
    }
}
