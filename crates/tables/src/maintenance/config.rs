//! Configurations of maintenance, in the form of S3 Tables.
//!
//! Source: "S3 Tables maintenance" and "Maintenance for table buckets" in the S3 User Guide, with the defaults there. They
//! hold for a bucket that CreateTableBucket has made. Any bucket has a catalog here, so in others nothing is maintained
//! before somebody asks for it.

use liteio_iceberg::maintenance::Policy;
use liteio_store::tables::{TableDocument, TableSettings};
use liteio_store::{Bucket, DocumentKind, StoreError};
use serde_json::{Value, json};

use crate::error::{ApiResult, Exception, exception};

/// The only size of files after a compaction that may be asked for, as compaction is not executed. AWS's default.
const TARGET_FILE_MB: u64 = 512;

/// A job of maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Compaction,
    Snapshots,
    Removal,
}

impl Job {
    /// The name in S3 Tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Job::Compaction => "icebergCompaction",
            Job::Snapshots => "icebergSnapshotManagement",
            Job::Removal => "icebergUnreferencedFileRemoval",
        }
    }
}

/// Removal of files that no snapshot names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    pub(crate) is_enabled: bool,
    /// Days for which nothing must have named a file before it counts as noncurrent.
    pub(crate) unreferenced_days: u64,
    /// Days for which it is kept then.
    pub(crate) noncurrent_days: u64,
}

/// Expiry of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshots {
    pub(crate) is_enabled: bool,
    pub(crate) min_to_keep: u64,
    pub(crate) max_age_hours: u64,
}

/// Compaction. It is not executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compaction {
    is_enabled: bool,
    strategy: Option<String>,
}

/// The configuration of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketMaintenance {
    /// `true` for a bucket that S3 Tables made: its tables have the defaults of AWS.
    is_table_bucket: bool,
    pub(crate) removal: Removal,
}

/// The configuration of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableMaintenance {
    pub(crate) compaction: Compaction,
    pub(crate) snapshots: Snapshots,
}

impl Default for BucketMaintenance {
    fn default() -> BucketMaintenance {
        let removal = Removal { is_enabled: false, unreferenced_days: 3, noncurrent_days: 10 };
        BucketMaintenance { is_table_bucket: false, removal }
    }
}

impl BucketMaintenance {
    /// That of a new table bucket.
    pub(crate) fn of_table_bucket() -> BucketMaintenance {
        let mut maintenance = BucketMaintenance { is_table_bucket: true, ..Default::default() };
        maintenance.removal.is_enabled = true;
        maintenance
    }

    /// That of a bucket.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub(crate) fn of(bucket: &Bucket) -> Result<BucketMaintenance, StoreError> {
        BucketMaintenance::read(bucket.settings.document(DocumentKind::TableMaintenance))
    }

    pub(crate) fn read(document: Option<&[u8]>) -> Result<BucketMaintenance, StoreError> {
        let Some(document) = document else { return Ok(BucketMaintenance::default()) };
        let document = parsed(document)?;
        let is_table_bucket = document["isTableBucket"] == true;
        let found = BucketMaintenance { is_table_bucket, ..Default::default() };
        found.with(&document["configuration"][Job::Removal.name()]).map_err(|_| corrupt())
    }

    pub(crate) fn document(&self) -> Vec<u8> {
        let document = json!({
            "isTableBucket": self.is_table_bucket,
            "configuration": self.configuration(),
        });
        document.to_string().into_bytes()
    }

    /// The same with the members of a `TableBucketMaintenanceConfigurationValue`.
    pub(crate) fn with(mut self, value: &Value) -> ApiResult<BucketMaintenance> {
        let settings = settings(value, Job::Removal)?;
        set_status(value, &mut self.removal.is_enabled)?;
        set_number(settings, "unreferencedDays", &mut self.removal.unreferenced_days)?;
        set_number(settings, "nonCurrentDays", &mut self.removal.noncurrent_days)?;
        Ok(self)
    }

    /// A `TableBucketMaintenanceConfiguration`.
    pub(crate) fn configuration(&self) -> Value {
        let Removal { is_enabled, unreferenced_days, noncurrent_days } = self.removal;
        let settings =
            json!({ "unreferencedDays": unreferenced_days, "nonCurrentDays": noncurrent_days });
        json!({ Job::Removal.name(): of_job(Job::Removal, is_enabled, settings) })
    }
}

impl Default for TableMaintenance {
    fn default() -> TableMaintenance {
        TableMaintenance {
            compaction: Compaction { is_enabled: false, strategy: None },
            snapshots: Snapshots { is_enabled: false, min_to_keep: 1, max_age_hours: 120 },
        }
    }
}

impl TableMaintenance {
    /// That of a table of a bucket.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub(crate) fn of(
        bucket: &Bucket,
        settings: &TableSettings,
    ) -> Result<TableMaintenance, StoreError> {
        let mut found = TableMaintenance::default();
        found.snapshots.is_enabled = BucketMaintenance::of(bucket)?.is_table_bucket;
        let Some(document) = settings.document(TableDocument::Maintenance) else {
            return Ok(found);
        };
        let document = parsed(document)?;
        for job in [Job::Compaction, Job::Snapshots] {
            found = found.with(job, &document[job.name()]).map_err(|_| corrupt())?;
        }
        Ok(found)
    }

    pub(crate) fn document(&self) -> Vec<u8> {
        self.configuration().to_string().into_bytes()
    }

    /// The same with the members of a `TableMaintenanceConfigurationValue` of a job.
    pub(crate) fn with(mut self, job: Job, value: &Value) -> ApiResult<TableMaintenance> {
        let settings = settings(value, job)?;
        match job {
            Job::Compaction => self.compaction = self.compaction.with(value, settings)?,
            Job::Snapshots => {
                set_status(value, &mut self.snapshots.is_enabled)?;
                set_number(settings, "minSnapshotsToKeep", &mut self.snapshots.min_to_keep)?;
                set_number(settings, "maxSnapshotAgeHours", &mut self.snapshots.max_age_hours)?;
            }
            Job::Removal => return Err(Exception::bad_request("It is configured for the bucket.")),
        }
        Ok(self)
    }

    /// A `TableMaintenanceConfiguration`.
    pub(crate) fn configuration(&self) -> Value {
        let Snapshots { is_enabled, min_to_keep, max_age_hours } = self.snapshots;
        let snapshots =
            json!({ "minSnapshotsToKeep": min_to_keep, "maxSnapshotAgeHours": max_age_hours });
        let Compaction { is_enabled: compacts, strategy } = &self.compaction;
        let mut compaction = json!({ "targetFileSizeMB": TARGET_FILE_MB });
        if let Some(strategy) = strategy {
            compaction["strategy"] = strategy.as_str().into();
        }
        json!({
            Job::Compaction.name(): of_job(Job::Compaction, *compacts, compaction),
            Job::Snapshots.name(): of_job(Job::Snapshots, is_enabled, snapshots),
        })
    }
}

impl Compaction {
    fn with(mut self, value: &Value, settings: &Value) -> ApiResult<Compaction> {
        set_status(value, &mut self.is_enabled)?;
        let mut target_mb = TARGET_FILE_MB;
        set_number(settings, "targetFileSizeMB", &mut target_mb)?;
        match settings.get("strategy") {
            None | Some(Value::Null) => {}
            Some(Value::String(strategy)) => self.strategy = Some(strategy.clone()),
            Some(_) => return Err(Exception::bad_request("strategy must be a string.")),
        }
        let is_default = target_mb == TARGET_FILE_MB
            && self.strategy.as_deref().is_none_or(|strategy| strategy == "auto");
        match is_default {
            true => Ok(self),
            false => Err(exception(
                "NotImplemented",
                http::StatusCode::NOT_IMPLEMENTED,
                "LiteIO does not compact tables: icebergCompaction takes the default settings of AWS only \
                 (targetFileSizeMB 512, strategy auto), which have no effect.",
            )),
        }
    }
}

impl Snapshots {
    /// The policy for a table without properties of its own. An hour has `hour_ms` milliseconds.
    pub(crate) fn policy(&self, hour_ms: u64) -> Policy {
        let age_ms = self.max_age_hours.saturating_mul(hour_ms);
        Policy {
            max_snapshot_age_ms: i64::try_from(age_ms).unwrap_or(i64::MAX),
            min_snapshots_to_keep: usize::try_from(self.min_to_keep).unwrap_or(usize::MAX),
            ..Policy::DEFAULT
        }
    }
}

fn of_job(job: Job, is_enabled: bool, settings: Value) -> Value {
    let status = if is_enabled { "enabled" } else { "disabled" };
    json!({ "status": status, "settings": { job.name(): settings } })
}

/// The settings of a job in a value, `null` without any.
fn settings(value: &Value, job: Job) -> ApiResult<&Value> {
    match value.get("settings") {
        None | Some(Value::Null) => Ok(&Value::Null),
        Some(Value::Object(all)) => match (all.len(), all.get(job.name())) {
            (0, _) => Ok(&Value::Null),
            (1, Some(settings)) if settings.is_object() => Ok(settings),
            _ => Err(Exception::bad_request(format!("settings must belong to {}.", job.name()))),
        },
        Some(_) => Err(Exception::bad_request("settings must be an object.")),
    }
}

fn set_status(value: &Value, is_enabled: &mut bool) -> ApiResult<()> {
    match value.get("status") {
        None | Some(Value::Null) => {}
        Some(Value::String(status)) if status == "enabled" => *is_enabled = true,
        Some(Value::String(status)) if status == "disabled" => *is_enabled = false,
        Some(_) => return Err(Exception::bad_request("status must be enabled or disabled.")),
    }
    Ok(())
}

fn set_number(settings: &Value, name: &str, number: &mut u64) -> ApiResult<()> {
    const MAX: u64 = 2_147_483_647;
    let Some(value) = settings.get(name).filter(|value| !value.is_null()) else { return Ok(()) };
    let found = value.as_u64().filter(|found| (1..=MAX).contains(found));
    *number = found.ok_or_else(|| {
        Exception::bad_request(format!("{name} must be a number from 1 to {MAX}."))
    })?;
    Ok(())
}

fn parsed(document: &[u8]) -> Result<Value, StoreError> {
    liteio_iceberg::json::parse(document).map_err(|_| corrupt())
}

fn corrupt() -> StoreError {
    StoreError::Corrupt { what: "the configuration of maintenance of tables".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_kept_as_it_was_set() {
        let mut of_bucket = BucketMaintenance::of_table_bucket();
        let value = json!({ "status": "disabled", "settings": {
            "icebergUnreferencedFileRemoval": { "unreferencedDays": 4 } } });
        of_bucket = of_bucket.with(&value).expect("valid");
        let Removal { is_enabled, unreferenced_days, noncurrent_days } = of_bucket.removal;
        assert_eq!((is_enabled, unreferenced_days, noncurrent_days), (false, 4, 10));
        let read = BucketMaintenance::read(Some(&of_bucket.document())).expect("own bytes");
        assert_eq!(read, of_bucket);
        assert!(!BucketMaintenance::read(None).expect("none").removal.is_enabled);
        BucketMaintenance::read(Some(b"{")).expect_err("damaged");

        let value = json!({ "status": "enabled", "settings": {
            "icebergSnapshotManagement": { "minSnapshotsToKeep": 3, "maxSnapshotAgeHours": 2 } } });
        let table = TableMaintenance::default().with(Job::Snapshots, &value).expect("valid");
        let policy = table.snapshots.policy(3_600_000);
        assert_eq!((policy.min_snapshots_to_keep, policy.max_snapshot_age_ms), (3, 7_200_000));
        let value = json!({ "status": "enabled", "settings": {
            "icebergCompaction": { "targetFileSizeMB": 512, "strategy": "auto" } } });
        let table = table.with(Job::Compaction, &value).expect("valid");
        assert_eq!(table.configuration()["icebergCompaction"], value);
    }

    #[test]
    fn what_is_not_valid_or_not_executed_is_refused() {
        let of = |job: Job, value: Value| match job {
            Job::Removal => BucketMaintenance::default().with(&value).map(drop),
            job => TableMaintenance::default().with(job, &value).map(drop),
        };
        let settings = |job: Job, settings: Value| json!({ "settings": { job.name(): settings } });
        for (job, value) in [
            (Job::Removal, json!({ "status": "on" })),
            (Job::Removal, settings(Job::Removal, json!({ "nonCurrentDays": 0 }))),
            (Job::Removal, settings(Job::Removal, json!({ "nonCurrentDays": 1.5 }))),
            (Job::Removal, settings(Job::Snapshots, json!({}))),
            (Job::Snapshots, settings(Job::Snapshots, json!({ "minSnapshotsToKeep": -1 }))),
            (
                Job::Snapshots,
                settings(Job::Snapshots, json!({ "maxSnapshotAgeHours": 1_u64 << 31 })),
            ),
            (Job::Compaction, settings(Job::Compaction, json!({ "targetFileSizeMB": 256 }))),
            (Job::Compaction, settings(Job::Compaction, json!({ "strategy": "sort" }))),
        ] {
            of(job, value.clone()).expect_err(&value.to_string());
        }
    }
}
