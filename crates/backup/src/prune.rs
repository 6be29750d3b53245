//! Pruning: the removal of what no kept moment needs.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::Error;
use crate::base::{Chunk, Manifest};
use crate::log::Log;
use crate::names::{GENERATIONS, Name};
use crate::place::{Placed, packs_of};
use crate::repository::{Generation, Repository};

/// The moments that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Every moment of this time is kept, in milliseconds.
    pub keep_ms: u64,
    /// At least so many bases are kept.
    pub bases: usize,
}

/// The result of [`prune`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Number of removed objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of objects that are kept.
    pub kept: u64,
}

/// The kept part of a generation: its newest bases, and the segments since the oldest of them.
struct Kept {
    generation: Generation,
    /// The kept bases, the oldest first.
    bases: Vec<Manifest>,
}

/// Time after its last sign for which a writer counts as running, in milliseconds. It gives one each minute.
const RUNNING_MS: u64 = 10 * 60 * 1000;
/// Time after its last sign for which the generation of a second writer is kept at least, in milliseconds.
const SECOND_WRITER_MS: u64 = 24 * 60 * 60 * 1000;

/// Removes every object that no moment needs which `retention` keeps at `now_ms`. The newest state of the backup is kept
/// always, that of each writer that still runs. A prune that is interrupted leaves every kept moment whole.
///
/// # Errors
/// [`Error::Refused`] while a writer makes its first base, which may name what no kept moment needs; the errors of the target; those of a damaged object, which may name packs: then nothing is removed.
pub fn prune(repository: &Repository, retention: &Retention, now_ms: u64) -> Result<Pruned, Error> {
    let kept = kept(repository, retention, now_ms)?;
    let packs = needed_packs(repository, &kept)?;
    let newest = kept.iter().map(|kept| kept.generation.id).max();
    let is_needed = |name: Name| {
        let Some(kept) = kept.iter().find(|kept| kept.generation.id == name.generation()) else {
            // Packs of an older generation may have what a later one names.
            return matches!(name, Name::Pack { generation, pack } if packs.contains(&(generation, pack)))
                // A later generation than all that have a base is being written.
                || newest.is_none_or(|newest| name.generation() > newest);
        };
        let oldest = kept.bases.first();
        match name {
            Name::Alive { .. } => true,
            Name::Log { index, .. } => oldest.is_none_or(|base| index >= base.first_segment),
            // A later base than all complete ones is being written.
            Name::Chunk { base, .. } | Name::Manifest { base, .. } => {
                oldest.is_none_or(|oldest| base >= oldest.start)
            }
            // Every later base and segment may name a pack that was stored since.
            Name::Pack { generation, pack } => {
                oldest.is_none_or(|base| pack >= base.first_pack)
                    || packs.contains(&(generation, pack))
            }
        }
    };
    let mut pruned = Pruned::default();
    let mut unneeded = Vec::new();
    repository.target.list(GENERATIONS, None, &mut |listed| {
        match Name::parse(&listed.name) {
            Some(name) if !is_needed(name) => {
                unneeded.push((name, listed.name));
                pruned.bytes += listed.bytes;
            }
            _ => pruned.kept += 1,
        }
        ControlFlow::Continue(())
    })?;
    // Manifests first: a base without all of its chunks must not count as complete. Then in order, so that what is left
    // of a log is its end.
    unneeded.sort_by_key(|(name, _)| (!matches!(name, Name::Manifest { .. }), *name));
    for (_, name) in &unneeded {
        repository.target.delete(name)?;
        pruned.objects += 1;
    }
    Ok(pruned)
}

/// The generations with kept bases, in order.
fn kept(repository: &Repository, retention: &Retention, now_ms: u64) -> Result<Vec<Kept>, Error> {
    let oldest_ms = now_ms.saturating_sub(retention.keep_ms);
    let mut all = Vec::new();
    let mut begins_ms = Vec::new();
    // A base is at least as young as those before it, whatever the clock was: one that was made while the clock was
    // wrong by years must not make all earlier ones old.
    let mut time_ms = 0;
    for id in repository.generation_ids()? {
        let generation = repository.generation(id)?;
        if let Some(damaged) = generation.damaged.first() {
            return Err(Error::Damaged(format!("nothing is removed: {damaged}")));
        }
        let bases = generation.bases.iter().map(|base| {
            time_ms = time_ms.max(base.time_ms);
            (base.clone(), time_ms)
        });
        let bases: Vec<(Manifest, u64)> = bases.collect();
        begins_ms.push(generation.begin_ms());
        all.push((generation, bases));
    }
    let signed_ms = |generation: &Generation| generation.alive.map(|alive| alive.time_ms);
    let is_first_base = |(generation, bases): &(Generation, Vec<_>)| {
        let signed_ms = signed_ms(generation);
        bases.is_empty() && signed_ms.is_some_and(|at| now_ms.abs_diff(at) < RUNNING_MS)
    };
    if let Some((generation, _)) = all.last().filter(|it| all.len() > 1 && is_first_base(it)) {
        return Err(Error::Refused(format!(
            "nothing is removed: generation {} is being written and has no complete base yet, try again once it has",
            generation.name()
        )));
    }
    // The writer of a generation has ended before the next one begins, unless a directory and a restored copy of it are
    // backed up to one place.
    let is_of_second_writer = |index: usize, generation: &Generation| {
        let next_ms = begins_ms.get(index + 1);
        next_ms.zip(signed_ms(generation)).is_some_and(|(next_ms, signed_ms)| {
            let is_kept_ms = retention.keep_ms.max(SECOND_WRITER_MS);
            signed_ms > *next_ms && signed_ms.saturating_add(is_kept_ms) >= now_ms
        })
    };
    let mut kept = Vec::new();
    let mut count = 0;
    let mut is_enough = false;
    for (index, (generation, bases)) in all.into_iter().enumerate().rev() {
        if is_enough && !is_of_second_writer(index, &generation) {
            continue;
        }
        let is_second = std::mem::replace(&mut is_enough, false);
        let mut of_this = Vec::new();
        for (base, time_ms) in bases.into_iter().rev() {
            of_this.push(base);
            count += 1;
            // The newest base that is as old as that leads to all moments since.
            is_enough = time_ms <= oldest_ms && (is_second || count >= retention.bases.max(1));
            if is_enough {
                break;
            }
        }
        of_this.reverse();
        if !of_this.is_empty() {
            kept.push(Kept { generation, bases: of_this });
        }
        is_enough |= is_second;
    }
    kept.reverse();
    Ok(kept)
}

/// The packs that the oldest kept base of each generation names, and the segments that complete it. Later bases and
/// segments name these, and packs that were stored since: a blob that is older than the base was in the store when the
/// base was made.
fn needed_packs(repository: &Repository, kept: &[Kept]) -> Result<HashSet<(u64, u32)>, Error> {
    let mut packs = HashSet::new();
    let mut add = |placed: &[Placed]| {
        for (blob, place) in placed {
            packs.extend(packs_of(blob, place).map(|pack| (place.generation, pack)));
        }
    };
    for Kept { generation, bases } in kept {
        let Some(base) = bases.first() else { continue };
        for index in 0..base.chunks {
            let name = Name::Chunk { generation: generation.id, base: base.start, index };
            let contents = repository.read(name)?;
            add(&Chunk::decode(&name.to_string(), &contents, repository.id)?.placed);
        }
        let mut log = Log::new(repository, generation, base.first_segment, base.start);
        while log.next_index() < base.last_segment
            && let Some(segment) = log.next()?
        {
            add(&segment.placed);
        }
    }
    Ok(packs)
}
