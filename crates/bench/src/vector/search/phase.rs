//! The phases of a search.

use serde::{Deserialize, Serialize};

/// One thing that is measured.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchPhase {
    /// All vectors are added and made ready for searching.
    Build,
    /// Searches.
    Top {
        /// Neighbours that are wanted.
        neighbours: u32,
        /// Threads, each with a search of its own.
        threads: u32,
        /// One of so many vectors passes the filter; 1: there is none.
        every: u32,
    },
}

impl SearchPhase {
    /// All of them, in the order of reports.
    pub const ALL: [SearchPhase; 7] = [
        SearchPhase::Build,
        top(10, 1, 1),
        top(10, 2, 1),
        top(100, 1, 1),
        top(10, 1, 2),
        top(10, 1, 10),
        top(10, 1, 100),
    ];

    /// Its identifier in an outcome.
    pub fn id(self) -> String {
        match self {
            SearchPhase::Build => "build".to_owned(),
            SearchPhase::Top { neighbours, threads, every } => {
                format!("top_{neighbours}_threads_{threads}_every_{every}")
            }
        }
    }

    /// Its name for people.
    pub fn title(self) -> String {
        match self {
            SearchPhase::Build => "Build".to_owned(),
            SearchPhase::Top { neighbours, threads, every: 1 } => {
                format!("Top {neighbours}, {threads} thread{}", if threads == 1 { "" } else { "s" })
            }
            SearchPhase::Top { neighbours, every, .. } => {
                format!("Top {neighbours}, filter 1/{every}")
            }
        }
    }
}

const fn top(neighbours: u32, threads: u32, every: u32) -> SearchPhase {
    SearchPhase::Top { neighbours, threads, every }
}
