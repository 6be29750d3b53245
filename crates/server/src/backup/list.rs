//! `liteio backup list` and `liteio backup status`.

use liteio_backup::{Manifest, Parent, Repository};

use super::CommandError;
use super::moment::{now_ms, shown};
use crate::output::say;

/// Prints the generations with their bases.
pub(super) fn list(repository: &Repository) -> Result<bool, CommandError> {
    say!("{}", heading(repository));
    for id in repository.generation_ids()? {
        let generation = repository.generation(id)?;
        say!("generation {}", generation.name());
        if let Some(parent) = generation.bases.first().and_then(|base| base.parent) {
            let Parent { generation, through } = parent;
            say!("  continues record {through} of generation {generation:016x}, by a promotion");
        }
        for base in &generation.bases {
            let Manifest { complete_at, time_ms, pairs, bytes, unreadable, .. } = base;
            let damaged = match unreadable {
                0 => String::new(),
                count => format!(", {count} unreadable"),
            };
            say!(
                "  base {complete_at} of {}: {pairs} pairs, {bytes} bytes{damaged}",
                shown(*time_ms)
            );
        }
        say!("  {} segments, {} bytes", generation.segments.len(), generation.segment_bytes);
        match repository.reach(&generation)? {
            Some((from_ms, to_ms)) => {
                say!("  restorable from {} to {}", shown(from_ms), shown(to_ms));
            }
            None => say!("  nothing can be restored: it has no complete base"),
        }
    }
    Ok(true)
}

/// Prints how far the backup reaches. `Ok(false)` if it has no complete base.
pub(super) fn status(repository: &Repository) -> Result<bool, CommandError> {
    say!("{}", heading(repository));
    let mut reached: Option<(u64, u64)> = None;
    let mut alive_ms = None;
    for id in repository.generation_ids()? {
        let generation = repository.generation(id)?;
        alive_ms = generation.alive.map(|alive| alive.time_ms).max(alive_ms);
        if let Some((from_ms, to_ms)) = repository.reach(&generation)? {
            let (first_ms, last_ms) = reached.unwrap_or((from_ms, to_ms));
            reached = Some((first_ms.min(from_ms), last_ms.max(to_ms)));
        }
    }
    // A segment is a sign, too, and newer than the mark of each minute.
    let newest_ms = reached.map_or(0, |(_, to_ms)| to_ms);
    if let Some(alive_ms) = alive_ms.map(|alive_ms| alive_ms.max(newest_ms)) {
        let seconds = now_ms().saturating_sub(alive_ms) / 1000;
        say!("last sign of the writer: {}, {seconds} seconds ago", shown(alive_ms));
    }
    match reached {
        Some((from_ms, to_ms)) => {
            say!("restorable from {} to {}", shown(from_ms), shown(to_ms));
        }
        None => say!("nothing can be restored: there is no complete base yet"),
    }
    Ok(reached.is_some())
}

fn heading(repository: &Repository) -> String {
    let identity = repository.identity();
    let encrypted = if identity.key.is_some() { "encrypted" } else { "not encrypted" };
    format!(
        "{}: {encrypted}, of a data directory created at {}",
        repository.shown(),
        shown(identity.store_created_ms)
    )
}
