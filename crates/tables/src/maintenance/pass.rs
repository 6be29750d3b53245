//! The steps of a pass.

use std::collections::BTreeSet;
use std::sync::Arc;

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
    /// Those of the store that are about more than one table.
    pub(super) fn run(&self) -> Result<(), StoreError> {
        let mut removes = false;
        self.each_bucket(&mut |bucket| {
            removes |= BucketMaintenance::of(bucket)?.removal.is_enabled;
            self.each_table(bucket, &mut |table| self.expire_due(bucket, table))
        })?;
        let mut places = BTreeSet::new();
        if removes {
            let survey = Survey::of(self)?;
            self.each_bucket(&mut |bucket| {
                let removal = BucketMaintenance::of(bucket)?.removal;
                if !removal.is_enabled {
                    return Ok(());
                }
                self.each_table(bucket, &mut |table| {
                    self.sweep_due(bucket, table, &survey, removal, &mut places)
                })
            })?;
        }
        self.tidy(&places)
    }

    /// Expires snapshots of a table, if that is configured.
    fn expire_due(&self, bucket: &Arc<Bucket>, table: &Table) -> Result<(), StoreError> {
        let Some((table, settings)) = self.current(bucket, table)? else { return Ok(()) };
        let snapshots = TableMaintenance::of(bucket, &settings)?.snapshots;
        if !snapshots.is_enabled {
            return Ok(());
        }
        let ended = self.expire(bucket, &table, snapshots);
        self.note(bucket, &table, Job::Snapshots, ended)
    }

    fn sweep_due(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        survey: &Survey,
        removal: Removal,
        places: &mut BTreeSet<(BucketId, String)>,
    ) -> Result<(), StoreError> {
        let Some((table, _)) = self.current(bucket, table)? else { return Ok(()) };
        let ended = self.sweep(bucket, &table, survey, removal, places);
        self.note(bucket, &table, Job::Removal, ended)
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
            // It was dropped or renamed meanwhile.
            Err(StoreError::Catalog(_) | StoreError::NoSuchBucket { .. }) => Ok(()),
            ended => ended,
        }
    }
}
