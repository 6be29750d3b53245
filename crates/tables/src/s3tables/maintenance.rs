//! The configuration of maintenance, and the results of its last runs.

use liteio_store::tables::TableDocument;
use liteio_store::{DocumentKind, StoreError};
use serde_json::{Value, json};

use super::resource::{bucket_arn, given, granted, granted_table, table_arn, time};
use super::table::locations;
use crate::error::{ApiResult, Exception};
use crate::maintenance::{BucketMaintenance, Job, Runs, TableMaintenance, sweep_refusal};
use crate::{Answer, Call, Output};

pub(super) fn of_bucket(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    let maintenance = BucketMaintenance::of(granted.bucket())?;
    Output::json(&json!({
        "tableBucketARN": bucket_arn(call, &granted),
        "configuration": maintenance.configuration(),
    }))
}

pub(super) fn put_of_bucket(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let value = value(&document)?;
    let job = job(call, &[Job::Removal])?;
    // Refused before anybody learns whether the bucket exists.
    BucketMaintenance::default().with(value)?;
    let granted = granted(call)?;
    let value = value.clone();
    let changed = move |document: Option<&[u8]>| {
        let maintenance = BucketMaintenance::read(document)?;
        let next = maintenance.with(&value).map_err(|error| invalid(&error))?;
        Ok(Some(next.document()))
    };
    debug_assert_eq!(job, Job::Removal, "the only one of table buckets");
    call.store.change_document(granted.bucket(), DocumentKind::TableMaintenance, changed).wait()?;
    Ok(Output::Empty)
}

pub(super) fn of_table(call: &Call<'_>) -> Answer {
    let (granted, table, settings) = granted_table(call)?;
    let maintenance = TableMaintenance::of(granted.bucket(), &settings)?;
    Output::json(&json!({
        "tableARN": table_arn(call, &granted, &table.uuid),
        "configuration": maintenance.configuration(),
    }))
}

pub(super) fn put_of_table(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let value = value(&document)?;
    let job = job(call, &[Job::Compaction, Job::Snapshots])?;
    TableMaintenance::default().with(job, value)?;
    let (granted, table, _) = granted_table(call)?;
    let (value, bucket) = (value.clone(), granted.bucket().clone());
    let id = (table.name, table.uuid);
    let changed = call.store.change_table_settings(granted.bucket(), id, move |settings| {
        let maintenance = TableMaintenance::of(&bucket, settings)?;
        let next = maintenance.with(job, &value).map_err(|error| invalid(&error))?;
        settings.set(TableDocument::Maintenance, Some(next.document()));
        Ok(())
    });
    changed.wait()?;
    Ok(Output::Empty)
}

pub(super) fn status(call: &Call<'_>) -> Answer {
    let (granted, table, settings) = granted_table(call)?;
    let removal = BucketMaintenance::of(granted.bucket())?.removal;
    let maintenance = TableMaintenance::of(granted.bucket(), &settings)?;
    let runs = Runs::read(settings.document(TableDocument::MaintenanceRuns))?;
    // Metadata that cannot be read are told by the last run.
    let reason = match locations(call, &granted, &table) {
        Ok((_, location)) if removal.is_enabled => {
            sweep_refusal(granted.bucket(), &settings, &location)
        }
        _ => None,
    };
    let jobs = [
        // It is not executed, whatever its configuration.
        (Job::Compaction, false),
        (Job::Snapshots, maintenance.snapshots.is_enabled),
        (Job::Removal, removal.is_enabled && reason.is_none()),
    ];
    let mut status = serde_json::Map::new();
    for (job, is_enabled) in jobs {
        let mut of_job = json!({ "status": "Disabled" });
        match runs.last(job) {
            _ if !is_enabled => {
                if let Some(reason) = reason.filter(|_| job == Job::Removal) {
                    of_job["failureMessage"] = reason.into();
                }
            }
            None => of_job["status"] = "Not_Yet_Run".into(),
            Some(run) => {
                let name = if run.failure.is_some() { "Failed" } else { "Successful" };
                of_job["status"] = name.into();
                of_job["lastRunTimestamp"] = time(run.ended_ms).into();
                if let Some(failure) = &run.failure {
                    of_job["failureMessage"] = failure.as_str().into();
                }
            }
        }
        status.insert(job.name().to_owned(), of_job);
    }
    Output::json(&json!({
        "tableARN": table_arn(call, &granted, &table.uuid),
        "status": status,
    }))
}

/// The field `value` of a body.
fn value(document: &Value) -> ApiResult<&Value> {
    let value = given(document, "value").filter(|value| value.is_object());
    value.ok_or_else(|| Exception::bad_request("value must be an object."))
}

/// The job that the path of the request names, one of `jobs`.
fn job(call: &Call<'_>, jobs: &[Job]) -> ApiResult<Job> {
    let job = jobs.iter().find(|job| job.name() == call.route.last).copied();
    job.ok_or_else(|| {
        let names: Vec<_> = jobs.iter().map(|job| job.name()).collect();
        Exception::bad_request(format!("type must be one of {}.", names.join(", ")))
    })
}

/// The error in a transaction of a configuration that was checked before it.
fn invalid(error: &Exception) -> StoreError {
    StoreError::InvalidRequest { message: error.message().to_owned() }
}
