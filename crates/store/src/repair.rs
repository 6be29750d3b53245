//! Repair: keeps what can be read of a damaged store, and names what cannot.
//!
//! It is never done unasked: it gives up what a copy or a backup may still have.
//! 1. The log is replayed without its damaged records, which are named.
//! 2. Everything is [verified](Store::verify). The records of damaged objects are removed, and named.
//! 3. Their blobs, damaged or not, are moved to `blobs/lost/`, as by any sweep.

use std::ops::RangeInclusive;
use std::sync::Arc;

use liteio_disk::Disk;

use crate::config::StoreConfig;
use crate::error::StoreError;
use crate::kv::{Read as _, Write as _};
use crate::meta::bucket::StoreRecord;
use crate::meta::content::Content;
use crate::meta::object::ObjectRecord;
use crate::meta::space;
use crate::open;
use crate::pending::Committed;
use crate::store::{Opened, Store};
use crate::verify::{Damage, VerifyProgress};

/// Numbers of buckets that damaged records may have taken: they are never used again.
const NUMBERS_SKIPPED: u32 = 1 << 16;
/// A removed record may leave another one that names it: so often the rest is verified again.
const ROUNDS_MAX: usize = 4;

/// The result of [`Store::repair`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Numbers of the damaged records of the log. Each has the updates of a few requests.
    pub passed_over: Vec<RangeInclusive<u64>>,
    /// The place where the log ended and the reason, if it did not end in order.
    pub log_end: Option<String>,
    /// What was damaged, and has been removed.
    pub removed: Vec<Damage>,
    /// What is damaged, and has to be restored or deleted by its owner.
    pub left: Vec<Damage>,
    /// Blobs moved to `blobs/lost/`.
    pub set_aside: u64,
}

impl RepairReport {
    /// `true` if nothing was damaged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Store {
    /// Repairs the store that `config` describes: opens it without the damaged records of its log, removes
    /// what is damaged, and closes it.
    ///
    /// With `only_look` all of it is done in memory, and the files stay as they are.
    ///
    /// # Errors
    /// As [`Store::open`]: a key space whose pages are damaged where it begins cannot be repaired.
    pub fn repair(
        config: StoreConfig,
        only_look: bool,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<RepairReport, StoreError> {
        repair_opened(open::open_to_repair(config, only_look)?, progress)
    }

    /// As [`Store::repair`], on `disk`. The backend in `config` is ignored.
    ///
    /// # Errors
    /// As [`Store::repair`].
    pub fn repair_on(
        disk: Arc<dyn Disk>,
        config: StoreConfig,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<RepairReport, StoreError> {
        repair_opened(open::open_to_repair_on(disk, config)?, progress)
    }

    /// Removes the record of `damage`, and the parts that only it names.
    fn remove_record(&self, damage: &Damage) -> Result<(), StoreError> {
        let place = damage.place.clone();
        let update = self.update(move |write, _| {
            let list = match write.get(&place)? {
                Some(value) => match ObjectRecord::decode_manifest(&place, &value) {
                    Ok(Content::Parts { list, count, .. }) => Some((list, count)),
                    _ => None,
                },
                None => None,
            };
            if let Some((list, count)) = list {
                for number in 1..=count {
                    write.delete(&space::part(&list, u16::try_from(number).unwrap_or(u16::MAX)))?;
                }
            }
            write.delete(&place)?;
            Ok(Committed::new(()))
        });
        update.wait()
    }

    /// Keeps the numbers of buckets from being used again that damaged records may have taken.
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
        log_end: opened.log_end.clone(),
        ..RepairReport::default()
    };
    let store = Store::from_opened(Opened { may_sweep: true, ..opened });
    let result = repair(&store, &mut report, progress);
    store.close();
    result.map(|()| report)
}

fn repair(
    store: &Store,
    report: &mut RepairReport,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<(), StoreError> {
    if !report.passed_over.is_empty() {
        store.skip_numbers()?;
    }
    for _ in 0..ROUNDS_MAX {
        let found = store.verify(progress)?;
        let (removable, left): (Vec<_>, Vec<_>) =
            found.damaged.into_iter().partition(|damage| !damage.place.is_empty());
        report.left = left;
        if removable.is_empty() {
            break;
        }
        for damage in removable {
            store.remove_record(&damage)?;
            report.removed.push(damage);
        }
    }
    // What cannot be read may name any blob.
    if report.left.is_empty() {
        report.set_aside = store.sweep()?.orphans;
    }
    Ok(())
}
