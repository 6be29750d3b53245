//! [`Generation`]: what one run of a writer has left.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::Repository;
use crate::Error;
use crate::base::Manifest;
use crate::names::{GENERATION_BITS, GENERATIONS, Name, generation_text};
use crate::segment::Segment;
use crate::target::TargetError;

/// A generation: one run of a writer.
#[derive(Clone, Debug)]
pub struct Generation {
    /// Its number. Later generations have greater ones.
    pub id: u64,
    /// The complete bases, in order.
    pub bases: Vec<Manifest>,
    /// The numbers of its segments, in order.
    pub segments: Vec<u64>,
    /// Bytes of its segments.
    pub segment_bytes: u64,
    /// The last sign of its writer.
    pub alive: Option<Alive>,
    /// Manifests that are damaged: their bases count as incomplete.
    pub damaged: Vec<String>,
}

/// The sign of a writer that it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alive {
    /// Everything that was acknowledged before this time is in the backup, in milliseconds since 1970.
    pub time_ms: u64,
    /// The number of the last record.
    pub through: u64,
}

impl Generation {
    /// The generation as it is named.
    #[must_use]
    pub fn name(&self) -> String {
        generation_text(self.id)
    }

    /// The time at which it began, in milliseconds since 1970, or that of an earlier one if the clock was set back then.
    pub(crate) fn begin_ms(&self) -> u64 {
        self.id >> GENERATION_BITS
    }
}

impl Repository {
    /// The numbers of all generations, in order.
    ///
    /// # Errors
    /// The errors of the target.
    pub fn generation_ids(&self) -> Result<Vec<u64>, Error> {
        let mut ids = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut found = None;
            self.target.list(GENERATIONS, after.as_deref(), &mut |listed| {
                let parsed = Name::parse(&listed.name);
                found = Some((listed.name, parsed));
                ControlFlow::Break(())
            })?;
            let Some((name, parsed)) = found else { return Ok(ids) };
            after = match parsed {
                Some(parsed) => {
                    ids.push(parsed.generation());
                    // Behind all of its names, and before those of the next generation.
                    Some(format!("{GENERATIONS}{}0", generation_text(parsed.generation())))
                }
                None => Some(name),
            };
        }
    }

    /// The times of the first and the last moment of a generation that can be restored, in milliseconds since 1970; `None`
    /// without a complete base.
    ///
    /// # Errors
    /// The errors of the target.
    pub fn reach(&self, generation: &Generation) -> Result<Option<(u64, u64)>, Error> {
        let (Some(first), Some(last)) = (generation.bases.first(), generation.bases.last()) else {
            return Ok(None);
        };
        let mut last_ms = last.time_ms;
        if let Some(&index) = generation.segments.last() {
            let name = Name::Log { generation: generation.id, index };
            let segment = self
                .read(name)
                .and_then(|contents| Segment::decode(&name.to_string(), &contents, self.id));
            last_ms = match segment {
                Err(Error::Seal(_) | Error::Damaged(_)) => last_ms,
                segment => last_ms.max(segment?.time_ms),
            };
        }
        let alive_ms = generation.alive.map_or(0, |alive| alive.time_ms);
        Ok(Some((first.time_ms, last_ms.max(alive_ms))))
    }

    /// The numbers of the packs of a generation.
    ///
    /// # Errors
    /// The errors of the target.
    pub(crate) fn packs(&self, id: u64) -> Result<Vec<u32>, Error> {
        let mut packs = Vec::new();
        let prefix = format!("{GENERATIONS}{}/packs/", generation_text(id));
        self.target.list(&prefix, None, &mut |listed| {
            if let Some(Name::Pack { pack, .. }) = Name::parse(&listed.name) {
                packs.push(pack);
            }
            ControlFlow::Continue(())
        })?;
        Ok(packs)
    }

    /// A generation.
    ///
    /// # Errors
    /// The errors of the target.
    pub fn generation(&self, id: u64) -> Result<Generation, Error> {
        let mut generation = Generation {
            id,
            bases: Vec::new(),
            segments: Vec::new(),
            segment_bytes: 0,
            alive: None,
            damaged: Vec::new(),
        };
        let prefix = format!("{GENERATIONS}{}/", generation_text(id));
        let mut bases = Vec::new();
        for part in ["base/", "log/"] {
            self.target.list(&format!("{prefix}{part}"), None, &mut |listed| {
                match Name::parse(&listed.name) {
                    Some(Name::Manifest { base, .. }) => bases.push(base),
                    Some(Name::Log { index, .. }) => {
                        generation.segments.push(index);
                        generation.segment_bytes += listed.bytes;
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            })?;
        }
        for base in bases {
            match self.json(Name::Manifest { generation: id, base }) {
                Ok(manifest) => generation.bases.push(manifest),
                Err(Error::Seal(error)) => generation.damaged.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        generation.alive = match self.json(Name::Alive { generation: id }) {
            // Only a sign.
            Err(Error::Target(TargetError::NotFound { .. }) | Error::Seal(_)) => None,
            alive => Some(alive?),
        };
        Ok(generation)
    }
}
