//! Snapshots, branches and tags that are too old leave a table by an ordinary commit.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use liteio_iceberg::TableMetadata;
use liteio_iceberg::maintenance::{Policy, expired};
use liteio_store::tables::{CatalogError, Expected, Table, TableChange, TableKind};
use liteio_store::{Bucket, StoreError};

use super::config::Snapshots;
use super::walk::{Failure, Pass};
use crate::commit::{Attempt, until_first};
use crate::metadata::{NewFile, is_unwritten, read};

impl Pass<'_> {
    /// Expires the snapshots of a table. A commit of a client that comes first wins, and all is decided again on its state.
    pub(super) fn expire(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        snapshots: Snapshots,
    ) -> Result<(), Failure> {
        match until_first(|| self.try_expire(bucket, table, snapshots)) {
            // It was dropped or renamed meanwhile.
            Err(Attempt::Lost(StoreError::Catalog(CatalogError::NoSuchTable { .. }))) => Ok(()),
            Err(Attempt::Lost(_)) => {
                let message = "Other commits came first each time; the next run tries it again.";
                Err(Failure::OfTable(message.to_owned()))
            }
            Err(Attempt::Refused(failure)) => Err(failure),
            Ok(()) => Ok(()),
        }
    }

    fn try_expire(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        snapshots: Snapshots,
    ) -> Result<(), Attempt<Failure>> {
        let (kind, name) = (TableKind::Table, table.name.clone());
        let current = self.store.table(bucket, kind, &name)?;
        let location = current.location;
        if current.uuid != table.uuid || is_unwritten(&location) {
            return Ok(());
        }
        let (metadata, _) =
            read::<TableMetadata>(self.store, bucket, &location).map_err(Failure::from)?;
        let default = snapshots.policy(self.store.lifecycle_day_ms() / 24);
        let Some(policy) = Policy::of(&metadata, default).map_err(Failure::from)? else {
            return Ok(());
        };
        let now_ms = i64::try_from(self.now_ms).unwrap_or(i64::MAX);
        let expired = expired(&metadata, &policy, now_ms);
        if expired.is_empty() {
            return Ok(());
        }
        let next = metadata.apply(&expired.updates(), now_ms, Some(&location));
        let next = next.map_err(Failure::from)?;
        let owner = bucket.owner.clone();
        let file = NewFile::stage(self.app, bucket, owner, &next, Some(&location));
        let file = file.map_err(Failure::from)?;
        let expected = Expected::Location(location);
        let change = TableChange::new(kind, name, expected, table.uuid, file.location);
        let change = change.with_metadata(file.metadata);
        self.store.commit_tables(bucket, vec![change]).wait()?;
        self.counts.snapshots_expired.fetch_add(expired.snapshots.len() as u64, Ordering::Relaxed);
        tracing::info!(bucket = %bucket.name, table = %table.name, snapshots = expired.snapshots.len(),
            "snapshots of a table have expired");
        Ok(())
    }
}

impl From<Failure> for Attempt<Failure> {
    fn from(failure: Failure) -> Self {
        Attempt::Refused(failure)
    }
}
