//! Servers and engines, and the durability of their acknowledged writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A server or engine that was measured, or should have been.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Target {
    /// Its name, unique in a report.
    pub name: String,
    /// The version that it states, if any.
    pub version: Option<String>,
    /// The durability of an acknowledged write.
    pub durability: Durability,
    /// The reason that it was not measured; `None` if it was.
    pub absent: Option<String>,
    /// The usage over the whole run, by metric.
    pub resources: BTreeMap<String, f64>,
    /// Remarks for judging its figures.
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

/// The event that an acknowledged write survives.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nobody said, or nobody tried.
    Unknown,
    /// It differs by row: what a row demands stands in its name.
    ByRow,
    /// Nothing: it is in memory.
    Memory,
    /// The end of the process, not of the machine.
    Process,
    /// A part of what is written survives a power cut, or it does most of the time.
    Partial,
    /// A power cut.
    PowerCut,
}

/// A [`Level`] with what exactly is meant.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Durability {
    /// The event that it survives.
    pub level: Level,
    /// In a few words, such as "data synced, directory not".
    pub detail: String,
}

impl Durability {
    /// A durability of this level.
    pub fn new(level: Level, detail: impl Into<String>) -> Durability {
        Durability { level, detail: detail.into() }
    }

    /// Nothing is known.
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

    /// The remark beside the name of a target: nothing, if the rows say it.
    pub fn remark(self) -> &'static str {
        if self == Level::ByRow { "" } else { self.label() }
    }
}
