//! The steps of a pass.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use liteio_store::tables::{Table, TableDocument};
use liteio_store::{Bucket, BucketId, StoreError};

use super::config::{BucketMaintenance, Job, Removal, TableMaintenance};
use super::runs::{Run, Runs};
use super::survey::Survey;
use super::walk::{Failure, Pass};

impl Pass<'_> {
    /// Makes the pass. Failures of single tables are noted in their last runs.
    ///
    /// # Errors
    /// The store is closed, or another server has taken over; metadata that are about no single table or bucket cannot be
    /// read.
    pub(super) fn run(&self) -> Result<(), StoreError> {
        let mut removes = false;
        self.each_bucket(&mut |bucket| {
            let bucket = match bucket {
                Ok(bucket) => bucket,
                Err((name, failure)) => return self.without(name, Err(failure)),
            };
            removes |= self.removal(bucket)?.is_some();
            let expired = self.each_table(bucket, &mut |table| match table {
                Ok(table) => self.expire_due(bucket, table),
                Err(name) => {
                    let failure = Failure::OfTable("Its record cannot be read.".to_owned());
                    self.without(&format!("{}/{name}", bucket.name), Err(failure))
                }
            });
            self.without(bucket.name.as_str(), expired)
        })?;
        let mut places = BTreeSet::new();
        if removes {
            self.store.watch_catalogs().wait()?;
            let swept = self.sweep_all(&mut places);
            // Without a watch commits note nothing. One that stays costs them a row, until the next pass.
            let ended = self.store.unwatch_catalogs().wait();
            swept.and(ended)?;
        } else {
            // Of a server that ended during a removal, which is off now.
            self.store.unwatch_catalogs().wait()?;
        }
        self.tidy(&places)
    }

    /// Deletes the files of all tables that nothing names. The catalogs are watched.
    fn sweep_all(&self, places: &mut BTreeSet<(BucketId, String)>) -> Result<(), StoreError> {
        let mut survey = Survey::of(self)?;
        self.each_bucket(&mut |bucket| {
            // The first step has told about one that cannot be read.
            let Ok(bucket) = bucket else { return Ok(()) };
            let Some(removal) = self.removal(bucket)? else { return Ok(()) };
            let swept = self.each_table(bucket, &mut |table| match table {
                Ok(table) => self.sweep_due(bucket, table, &mut survey, removal, places),
                Err(_) => Ok(()),
            });
            self.without(bucket.name.as_str(), swept)
        })
    }

    /// The removal of unreferenced files in a bucket, if it is on. It is off where that cannot be read.
    fn removal(&self, bucket: &Bucket) -> Result<Option<Removal>, StoreError> {
        match BucketMaintenance::of(bucket) {
            Ok(found) => Ok(Some(found.removal).filter(|removal| removal.is_enabled)),
            Err(error) => self.without(bucket.name.as_str(), Err(error.into())).map(|()| None),
        }
    }

    /// Goes on after a failure that is about one thing, and tells about it.
    ///
    /// # Errors
    /// A failure that ends the pass.
    fn without(&self, what: &str, ended: Result<(), Failure>) -> Result<(), StoreError> {
        match ended {
            Ok(()) => Ok(()),
            Err(Failure::Stop(error)) => Err(error),
            Err(failure) => {
                self.tell(what, &failure);
                Ok(())
            }
        }
    }

    /// Expires snapshots of a table, if that is configured.
    fn expire_due(&self, bucket: &Arc<Bucket>, table: &Table) -> Result<(), StoreError> {
        let ended = self.try_expire_due(bucket, table);
        match ended {
            Ok(None) => Ok(()),
            Ok(Some(())) => self.note(bucket, table, Job::Snapshots, Ok(())),
            Err(failure) => self.note(bucket, table, Job::Snapshots, Err(failure)),
        }
    }

    /// `None` if there is nothing to do by the configuration.
    fn try_expire_due(&self, bucket: &Arc<Bucket>, table: &Table) -> Result<Option<()>, Failure> {
        let Some((table, settings)) = self.current(bucket, table)? else { return Ok(None) };
        let snapshots = TableMaintenance::of(bucket, &settings)?.snapshots;
        match snapshots.is_enabled {
            true => self.expire(bucket, &table, snapshots).map(Some),
            false => Ok(None),
        }
    }

    fn sweep_due(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        survey: &mut Survey,
        removal: Removal,
        places: &mut BTreeSet<(BucketId, String)>,
    ) -> Result<(), StoreError> {
        match self.sweep(bucket, table, survey, removal, places) {
            Ok(None) => Ok(()),
            Ok(Some(())) => self.note(bucket, table, Job::Removal, Ok(())),
            Err(failure) => self.note(bucket, table, Job::Removal, Err(failure)),
        }
    }

    /// Notes the end of a job on a table. What stops the server, or another one that has taken over, is no failure of it.
    fn note(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        job: Job,
        ended: Result<(), Failure>,
    ) -> Result<(), StoreError> {
        let failure = match ended {
            Ok(()) => None,
            Err(Failure::Stop(error)) => return Err(error),
            Err(Failure::OfTable(message)) => {
                self.counts.failures.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(bucket = %bucket.name, table = %table.name, job = job.name(), message,
                    "the maintenance of a table failed");
                Some(message)
            }
        };
        let run = Run { ended_ms: self.now_ms, failure };
        let id = (table.name.clone(), table.uuid);
        let noted = self.store.change_table_settings(bucket, id, move |settings| {
            let mut runs =
                Runs::read(settings.document(TableDocument::MaintenanceRuns)).unwrap_or_default();
            runs.note(job, run.clone());
            settings.set(TableDocument::MaintenanceRuns, Some(runs.document()));
            Ok(())
        });
        match noted.wait() {
            // It was dropped or renamed meanwhile, or its settings cannot be read: then there is no place for the note.
            Err(StoreError::Catalog(_) | StoreError::NoSuchBucket { .. }) => Ok(()),
            Err(StoreError::Corrupt { .. }) => Ok(()),
            ended => ended,
        }
    }
}
