//! The usage of buckets, compared with a count of their records.

use std::collections::HashMap;

use liteio_kv::Read as _;

use super::verifier::Verifier;
use super::{Damage, Remedy};
use crate::error::StoreError;
use crate::meta::object::Listed;
use crate::meta::usage::UsageRecord;
use crate::meta::{Usage, space};
use crate::name::BucketId;

/// The count of a bucket.
#[derive(Debug, Default)]
struct Counted {
    row: UsageRecord,
    /// The counter. A key space that several servers share keeps most of it beside the row.
    told: Usage,
    usage: Usage,
    /// `true` if a record cannot be read, so that the right count is unknown.
    is_unknown: bool,
}

impl Verifier<'_> {
    /// Checks that a usage row can be decoded.
    pub(super) fn verify_usage_row(
        &mut self,
        id: BucketId,
        place: &[u8],
        value: &[u8],
    ) -> Result<(), StoreError> {
        // Not damage if the row was replaced meanwhile.
        if let Err(error) = UsageRecord::decode(place, value)
            && self.is_still_there(place, value)?
        {
            let is_damaged = matches!(error, StoreError::Corrupt { .. });
            self.note_usage(id, error.to_string(), is_damaged);
        }
        Ok(())
    }

    /// Compares all rows with the records of one snapshot, which concurrent writes do not disturb.
    pub(super) fn verify_usage(&mut self) -> Result<(), StoreError> {
        let snapshot = self.store.snapshot()?;
        let mut counted = HashMap::new();
        for id in self.buckets.keys() {
            let Some(row) = UsageRecord::read(&snapshot, *id)? else { continue };
            let Some(counter) = snapshot.counter::<UsageRecord>(&space::usage(*id))? else {
                continue;
            };
            let told = Usage::from(counter.counts);
            counted.insert(*id, Counted { row, told, ..Counted::default() });
        }
        for space in [space::ALL_CURRENT, space::ALL_HISTORY] {
            self.store.walk(&snapshot, space, &mut |place, value| {
                let id = space::split_current(place).map(|(id, _)| id);
                let id = id.or_else(|| space::split_history(place).map(|(id, ..)| id));
                let Some(counted) = id.and_then(|id| counted.get_mut(&id)) else { return Ok(()) };
                match Listed::decode(place, value) {
                    // While a row is being counted, it covers only the places up to its own.
                    Ok(listed) if counted.row.covers(place) => {
                        counted.usage.add(place, (listed.bytes, listed.is_delete_marker));
                    }
                    Ok(_) => {}
                    Err(_) => counted.is_unknown = true,
                }
                Ok(())
            })?;
        }
        let mut wrong: Vec<_> = counted.into_iter().collect();
        wrong.retain(|(_, counted)| !counted.is_unknown && counted.told != counted.usage);
        wrong.sort_unstable_by_key(|(id, _)| *id);
        for (id, Counted { told: counter, usage, .. }) in wrong {
            let what = format!("its usage says {}, there are {}", told(&counter), told(&usage));
            self.note_usage(id, what, true);
        }
        Ok(())
    }

    fn note_usage(&mut self, id: BucketId, what: String, is_damaged: bool) {
        // A row of a deleted bucket does not matter.
        let Some(bucket) = self.buckets.get(&id).map(|bucket| bucket.name.clone()) else { return };
        let remedy = match is_damaged {
            true => Remedy::Recount(bucket.clone(), id),
            false => Remedy::None,
        };
        let bucket = Some(bucket);
        self.report.damaged.push(Damage { bucket, key: None, version: None, what, remedy });
    }
}

fn told(usage: &Usage) -> String {
    let Usage { objects, versions, delete_markers, bytes } = usage;
    format!(
        "{objects} objects, {versions} versions, {delete_markers} delete markers, {bytes} bytes"
    )
}
