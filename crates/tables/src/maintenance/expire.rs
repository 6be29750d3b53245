//! Snapshots, branches and tags that are too old leave a table by an ordinary commit.

use std::sync::Arc;

use liteio_iceberg::TableMetadata;
use liteio_iceberg::maintenance::{Policy, expired};
use liteio_store::tables::{CatalogError, Expected, Table, TableChange, TableKind};
use liteio_store::{Bucket, StoreError};

use super::config::Snapshots;
use super::walk::{Failure, Pass};
use crate::limits::COMMIT_ATTEMPTS;
use crate::metadata::{NewFile, is_unwritten, read};

impl Pass<'_> {
    /// Expires the snapshots of a table. A commit of a client that comes first wins, and all is decided again on its state.
    pub(super) fn expire(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        snapshots: Snapshots,
    ) -> Result<(), Failure> {
        let mut attempt = 1;
        loop {
            match self.try_expire(bucket, table, snapshots) {
                Err(Attempt::Lost) if attempt < COMMIT_ATTEMPTS => attempt += 1,
                Err(Attempt::Lost) => {
                    let message =
                        "Other commits came first each time; the next run tries it again.";
                    return Err(Failure::OfTable(message.to_owned()));
                }
                Err(Attempt::Failed(failure)) => return Err(failure),
                Ok(()) => return Ok(()),
            }
        }
    }

    fn try_expire(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        snapshots: Snapshots,
    ) -> Result<(), Attempt> {
        let (kind, name) = (TableKind::Table, table.name.clone());
        let current = match self.store.table(bucket, kind, &name) {
            Ok(current) if current.uuid == table.uuid => current,
            // It was dropped or renamed meanwhile.
            Ok(_) | Err(StoreError::Catalog(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let location = current.location;
        if is_unwritten(&location) {
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
        match self.store.commit_tables(bucket, vec![change]).wait() {
            Ok(_) => {}
            Err(StoreError::Catalog(CatalogError::Changed { .. })) => return Err(Attempt::Lost),
            Err(StoreError::Catalog(CatalogError::NoSuchTable { .. })) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        tracing::info!(bucket = %bucket.name, table = %table.name, snapshots = expired.snapshots.len(),
            "snapshots of a table have expired");
        Ok(())
    }
}

/// The end of an attempt that did not commit.
enum Attempt {
    /// Another commit came first.
    Lost,
    Failed(Failure),
}

impl From<Failure> for Attempt {
    fn from(failure: Failure) -> Attempt {
        Attempt::Failed(failure)
    }
}

impl From<StoreError> for Attempt {
    fn from(error: StoreError) -> Attempt {
        Attempt::Failed(error.into())
    }
}
