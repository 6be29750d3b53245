//! Servers and engines, and the durability of their acknowledged writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A server or engine that was measured, or could not be.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Target {
    /// Name, unique in a report.
    pub name: String,
    /// Version that it reports, if any.
    pub version: Option<String>,
    /// Durability of an acknowledged write.
    pub durability: Durability,
    /// Reason that it was not measured; `None` if it was.
    pub absent: Option<String>,
    /// Usage over the whole run, by metric.
    pub resources: BTreeMap<String, f64>,
    /// Remarks on its figures.
    pub notes: Vec<String>,
}

impl Target {
    /// A target of which nothing else is known yet.
    pub fn new(name: impl Into<String>, durability: Durability) -> Target {
        Target {
            name: name.into(),
            version: None,
            durability,
            absent: None,
            resources: BTreeMap::new(),
            notes: Vec::new(),
        }
    }
}

/// Event that an acknowledged write survives.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Unknown: not stated and not tested.
    Unknown,
    /// It differs by row; the row's name says it.
    ByRow,
    /// Nothing: it is in memory.
    Memory,
    /// The end of the process, not of the machine.
    Process,
    /// A power cut, but only for a part of the data or in most cases.
    Partial,
    /// A power cut.
    PowerCut,
}

/// A [`Level`] with its exact meaning.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Durability {
    /// Event that it survives.
    pub level: Level,
    /// Details in a few words, such as "data synced, directory not".
    pub detail: String,
}

impl Durability {
    /// A durability of this level.
    pub fn new(level: Level, detail: impl Into<String>) -> Durability {
        Durability { level, detail: detail.into() }
    }

    /// Unknown durability.
    pub fn unknown(detail: impl Into<String>) -> Durability {
        Durability::new(Level::Unknown, detail)
    }
}

impl Level {
    /// The durability in two words.
    pub fn label(self) -> &'static str {
        match self {
            Level::Unknown => "not known",
            Level::ByRow => "by row",
            Level::Memory => "in memory",
            Level::Process => "not synced",
            Level::Partial => "partly synced",
            Level::PowerCut => "durable",
        }
    }

    /// Remark beside the name of a target; empty if the rows say it.
    pub fn remark(self) -> &'static str {
        if self == Level::ByRow { "" } else { self.label() }
    }
}
