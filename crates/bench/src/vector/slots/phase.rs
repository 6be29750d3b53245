//! What is measured of a file of vectors.

use serde::{Deserialize, Serialize};

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

    /// Its identifier in an outcome.
    pub fn id(self) -> String {
        match self {
            SlotPhase::RawInsert => "raw_insert".to_owned(),
            SlotPhase::InsertCommit => "insert_commit".to_owned(),
            SlotPhase::Batch(vectors) => format!("batch_{vectors}"),
            SlotPhase::HotCopied => "hot_copied".to_owned(),
            SlotPhase::HotBorrowed => "hot_borrowed".to_owned(),
            SlotPhase::ColdRead => "cold_read".to_owned(),
            SlotPhase::SequentialCopied => "sequential_copied".to_owned(),
            SlotPhase::SequentialBorrowed => "sequential_borrowed".to_owned(),
            SlotPhase::Growth => "growth".to_owned(),
        }
    }

    /// Its name for people.
    pub fn title(self) -> String {
        match self {
            SlotPhase::RawInsert => "Raw insert".to_owned(),
            SlotPhase::InsertCommit => "Insert with commit".to_owned(),
            SlotPhase::Batch(1_000) => "Batch of 1,000 with commit".to_owned(),
            SlotPhase::Batch(vectors) => format!("Batch of {vectors} with commit"),
            SlotPhase::HotCopied => "Hot read, copied".to_owned(),
            SlotPhase::HotBorrowed => "Hot read, borrowed".to_owned(),
            SlotPhase::ColdRead => "Cold read".to_owned(),
            SlotPhase::SequentialCopied => "Sequential read of 1,000, copied".to_owned(),
            SlotPhase::SequentialBorrowed => "Sequential read of 1,000, borrowed".to_owned(),
            SlotPhase::Growth => "Growth from empty to 1,000".to_owned(),
        }
    }

    /// What its time is the time of.
    pub fn note(self) -> &'static str {
        match self {
            SlotPhase::RawInsert => "per vector; no commit, so nothing of it is durable yet",
            SlotPhase::InsertCommit => "one vector, durable",
            SlotPhase::Batch(_) => "the whole batch, durable",
            SlotPhase::HotCopied | SlotPhase::HotBorrowed => "the same vector again and again",
            SlotPhase::ColdRead => {
                "open the file, copy one vector, close; the page cache has the file"
            }
            SlotPhase::SequentialCopied | SlotPhase::SequentialBorrowed => "all 1,000 together",
            SlotPhase::Growth => "make the file, append 1,000 one by one, one commit",
        }
    }
}
