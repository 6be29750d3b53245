//! Repair: keeps the readable part of a damaged store, and reports the rest.
//!
//! It runs on request only: it gives up data that a copy or a backup may still have.
//! 1. The log is replayed without its damaged records, which are reported.
//! 2. Everything is [verified](Store::verify). Records that are damaged, or whose blobs are missing
//!    or damaged, are removed and reported. Data that merely could not be read this time is left
//!    alone.
//! 3. Their blobs, damaged or not, are moved to `blobs/lost/`, as by any sweep.

use std::ops::RangeInclusive;
use std::sync::Arc;

use liteio_disk::Disk;
use liteio_kv::{Read, Transaction, Write as _};

use crate::config::StoreConfig;
use crate::directory;
use crate::encryption::MissingKeys;
use crate::error::StoreError;
use crate::meta::annotation::{AnnotationRecord, SetHead, SetId};
use crate::meta::bucket::StoreRecord;
use crate::meta::content::{Content, ContentId};
use crate::meta::object::ObjectRecord;
use crate::meta::upload::PartRecord;
use crate::meta::{reference, space};
use crate::open;
use crate::pending::{Committed, Pending};
use crate::reclaim::WithoutSpace;
use crate::store::{Opened, Store};
use crate::verify::{Damage, Remedy, VerifyProgress};

/// Bucket numbers that damaged records may have assigned: they are skipped for good.
const NUMBERS_SKIPPED: u32 = 1 << 16;
/// Most rounds of verification. Removing a record may damage another one that references it.
const ROUNDS_MAX: usize = 4;

/// The result of [`Store::repair`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Numbers of the damaged records of the log. Each record has the updates of a few requests.
    pub passed_over: Vec<RangeInclusive<u64>>,
    /// Number of unreadable blocks of sorted runs, of some 4 KiB of records each.
    pub lost_blocks: u64,
    /// The place and reason of the log's end, if it did not end in order.
    pub log_end: Option<String>,
    /// Damaged records and indexes that were removed.
    pub removed: Vec<Damage>,
    /// Damaged derived rows that were written again.
    pub mended: Vec<Damage>,
    /// Damage that is left: its owner must restore or delete the data, or the data could not be
    /// read this time and may be whole.
    pub left: Vec<Damage>,
    /// Blobs moved to `blobs/lost/`.
    pub set_aside: u64,
    /// Number of objects and parts by the key that is not configured: only their ciphertext was
    /// verified.
    pub missing: MissingKeys,
}

impl RepairReport {
    /// `true` if nothing was damaged. Missing keys are no damage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { passed_over, lost_blocks, log_end, removed, mended, left, set_aside, .. } = self;
        passed_over.is_empty()
            && (*lost_blocks, *set_aside) == (0, 0)
            && log_end.is_none()
            && [removed, mended, left].into_iter().all(Vec::is_empty)
    }
}

impl Store {
    /// Repairs the store that `config` describes: opens it without the damaged records of its log,
    /// removes what is damaged, and closes it.
    ///
    /// With `only_look` everything happens in memory, and no file changes.
    ///
    /// # Errors
    /// The errors of [`Store::open`]: a key space that is damaged at its root cannot be repaired.
    pub fn repair(
        config: StoreConfig,
        only_look: bool,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<RepairReport, StoreError> {
        repair_opened(open::open_to_repair(config, only_look)?, progress)
    }

    /// [`Store::repair`] on `disk`. The backend in `config` is ignored.
    ///
    /// # Errors
    /// The errors of [`Store::repair`].
    pub fn repair_on(
        disk: Arc<dyn Disk>,
        config: StoreConfig,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<RepairReport, StoreError> {
        repair_opened(open::open_to_repair_on(disk, config)?, progress)
    }

    /// Applies the remedy for `damage`, and returns the outcome.
    fn mend(&self, damage: &Damage) -> Result<Mended, StoreError> {
        let done = match damage.remedy.clone() {
            Remedy::None => return Ok(Mended::Nothing),
            Remedy::Remove(place) => self.update(move |write, _| {
                give_up(write, &place)?;
                Ok(Committed::new(Mended::Removed))
            }),
            Remedy::Index { row, stamp } => {
                self.update(move |write, _| write_row(write, &row, &stamp).map(Committed::new))
            }
            Remedy::Annotations { set, head } => {
                self.update(move |write, _| write_head(write, &set, &head).map(Committed::new))
            }
            Remedy::Headless(place) => self.update(move |write, _| {
                let set = set_of(&place);
                let head = set.map(|set| SetHead::read(write, &set));
                if matches!(head, Some(Ok(Some(_)))) {
                    return Ok(Committed::new(Mended::Nothing));
                }
                give_up(write, &place)?;
                Ok(Committed::new(Mended::Removed))
            }),
            Remedy::Recount(name, id) => {
                Pending::ready(self.recount(&name, id).map(|()| Mended::Written))
            }
        };
        match done.wait() {
            // The damage is a page of the tree itself: the write cannot be done.
            Err(StoreError::Corrupt { .. }) => Ok(Mended::Nothing),
            done => done,
        }
    }

    /// Skips bucket numbers that lost records may have assigned. A number that is used twice would
    /// give one bucket the records of another.
    fn skip_numbers(&self) -> Result<(), StoreError> {
        let update = self.update(|write, _| {
            if let Some(mut record) = StoreRecord::read(write)? {
                record.next_bucket = record.next_bucket.saturating_add(NUMBERS_SKIPPED);
                record.write(write)?;
            }
            Ok(Committed::new(()))
        });
        update.wait()
    }
}

fn repair_opened(
    opened: Opened,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<RepairReport, StoreError> {
    let mut report = RepairReport {
        passed_over: opened.kv.recovery().passed_over.clone(),
        lost_blocks: opened.kv.recovery().lost_blocks,
        log_end: opened.log_end.clone(),
        ..RepairReport::default()
    };
    if let Some(disk) = &opened.disk {
        // Blobs of removed records that are not moved below are left to the sweep of the next
        // start, which needs the marker gone.
        directory::take_clean_marker(&**disk)?;
    }
    let store = Store::from_opened(Opened { may_sweep: true, ..opened });
    let result = repair(&store, &mut report, progress);
    store.close();
    result.map(|()| report)
}

/// The outcome for one damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mended {
    Nothing,
    Removed,
    Written,
}

pub(crate) fn repair(
    store: &Store,
    report: &mut RepairReport,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<(), StoreError> {
    if !report.passed_over.is_empty() || report.lost_blocks > 0 {
        store.skip_numbers()?;
    }
    for _ in 0..ROUNDS_MAX {
        let found = store.verify(progress)?;
        report.left.clear();
        report.missing = found.missing;
        let mut is_changed = false;
        for damage in found.damaged {
            let mended = store.mend(&damage)?;
            is_changed |= mended != Mended::Nothing;
            let list = match mended {
                Mended::Nothing => &mut report.left,
                Mended::Removed => &mut report.removed,
                Mended::Written => &mut report.mended,
            };
            list.push(damage);
        }
        if !is_changed {
            break;
        }
    }
    // Usage counts of the buckets whose objects were removed.
    match store.count_usage() {
        Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => {}
        counted => counted?,
    }
    // A record that could not be read may reference any blob, so nothing is moved while one is
    // left.
    if report.left.is_empty() {
        report.set_aside = store.sweep_or(WithoutSpace::Keep)?.orphans;
    }
    Ok(())
}

/// Removes the record at `place`, and the parts that only it references. Unreferenced blobs are
/// left to the sweep, which moves them to `blobs/lost/`; the deletion queue would delete them.
fn give_up(write: &mut Transaction<'_>, place: &[u8]) -> Result<(), StoreError> {
    let value = write.get(place)?.map(|value| value.to_vec());
    write.delete(place)?;
    if let Some((kind, target, _)) = space::split_queue_row(place) {
        // The counts of a queue are derived: the next row recounts them.
        write.delete(kind.former_place())?;
        write.end_counter(&space::queue_counter(kind, &target))?;
    }
    if let Some(set) = space::split_annotations(place) {
        for name in annotations_of(write, &set)? {
            give_up(write, &space::annotation(&set, &name))?;
        }
        return Ok(write.delete(&space::annotation_deletion(&set))?);
    }
    if let Some((set, name)) = space::split_annotation(place) {
        return Ok(write.delete(&space::payload(&set, name))?);
    }
    let current = space::split_current(place).map(|(bucket, _)| bucket);
    if let Some(bucket) = current.or_else(|| space::split_history(place).map(|it| it.0)) {
        // The usage of an undecodable record is unknown, so the bucket is recounted.
        write.end_counter(&space::usage(bucket))?;
    }
    // The content of an undecodable record is unknown: its blobs become orphans.
    let Some(Ok(content)) = value.map(|value| manifest(place, &value)) else { return Ok(()) };
    let Some((list, count)) = content.part_list() else {
        return reference::give_up(&content, write).map(drop);
    };
    if reference::give_up(&content, write)? == [ContentId::Parts(list)] {
        for number in 1..=count {
            // A count comes from a damaged record, and may be too large.
            give_up(write, &space::part(&list, u16::try_from(number).unwrap_or(u16::MAX)))?;
        }
    }
    Ok(())
}

fn manifest(place: &[u8], value: &[u8]) -> Result<Content, StoreError> {
    if space::split_part(place).is_some() {
        return PartRecord::decode_manifest(place, value);
    }
    match space::split_current(place).is_some() || space::split_history(place).is_some() {
        true => ObjectRecord::decode_manifest(place, value),
        false => Ok(Content::default()),
    }
}

/// The set of the head or the annotation at `place`.
fn set_of(place: &[u8]) -> Option<SetId> {
    space::split_annotations(place).or_else(|| space::split_annotation(place).map(|(set, _)| set))
}

/// The names of the annotations of a set.
fn annotations_of(from: &impl Read, set: &SetId) -> Result<Vec<String>, StoreError> {
    let mut cursor = space::within(from, &space::annotation(set, ""))?;
    let mut found = Vec::new();
    while let Some((place, _)) = cursor.next()? {
        found.extend(space::split_annotation(place).map(|(_, name)| name.to_owned()));
    }
    Ok(found)
}

/// Writes the head of a set of annotations again, with the number of its rows.
fn write_head(
    write: &mut Transaction<'_>,
    set: &SetId,
    head: &SetHead,
) -> Result<Mended, StoreError> {
    let (mut count, mut tombstones) = (0, 0);
    for name in annotations_of(write, set)? {
        match AnnotationRecord::read(write, set, &name) {
            Ok(Some(record)) if record.is_deleted() => tombstones += 1,
            _ => count += 1,
        }
    }
    let head = SetHead { count, tombstones, revision: head.revision + 1, ..head.clone() };
    head.write(write, set)?;
    Ok(Mended::Written)
}

/// Writes the row of the null-version index again, unless it names another existing version.
fn write_row(
    write: &mut Transaction<'_>,
    row: &[u8],
    stamp: &[u8; 16],
) -> Result<Mended, StoreError> {
    let named = write.get(row)?.and_then(|found| <[u8; 16]>::try_from(&*found).ok());
    if let (Some(named), Some((bucket, key))) = (named, space::split_null_version(row))
        && let Ok(key) = std::str::from_utf8(key)
        && write.get(&space::history(bucket, key, &named))?.is_some()
    {
        return Ok(Mended::Nothing);
    }
    write.put(row, stamp)?;
    Ok(Mended::Written)
}
