//! Policies of table buckets and tables.

use liteio_policy::{Kind, Policy};
use liteio_store::DocumentKind;
use liteio_store::tables::TableDocument;
use serde_json::json;

use super::error::{access_denied, not_found};
use super::resource::{bucket_arn, granted, granted_table, table_arn, text};
use crate::error::{ApiResult, Exception};
use crate::{Answer, Call, Output};

pub(super) fn put_of_bucket(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let policy = text(&document, "resourcePolicy")?;
    let granted = granted(call)?;
    check(policy, Kind::TableBucket(&bucket_arn(call, &granted)))?;
    let (kind, policy) = (DocumentKind::TableBucketPolicy, policy.as_bytes().to_vec());
    call.store.put_document(granted.bucket(), kind, policy).wait()?;
    Output::json(&json!({}))
}

pub(super) fn of_bucket(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    let policy = granted.bucket().settings.document(DocumentKind::TableBucketPolicy);
    told(policy, "The table bucket has no policy.")
}

pub(super) fn delete_of_bucket(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    call.store.delete_document(granted.bucket(), DocumentKind::TableBucketPolicy).wait()?;
    Ok(Output::Empty)
}

pub(super) fn put_of_table(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let policy = text(&document, "resourcePolicy")?;
    let (granted, table, _) = granted_table(call)?;
    check(policy, Kind::Table(&table_arn(call, &granted, &table.uuid)))?;
    let policy = policy.as_bytes().to_vec();
    let id = (table.name, table.uuid);
    let changed = call.store.change_table_settings(granted.bucket(), id, move |settings| {
        settings.set(TableDocument::Policy, Some(policy.clone()));
        Ok(())
    });
    changed.wait()?;
    Output::json(&json!({}))
}

pub(super) fn of_table(call: &Call<'_>) -> Answer {
    let (_, _, settings) = granted_table(call)?;
    told(settings.document(TableDocument::Policy), "The table has no policy.")
}

pub(super) fn delete_of_table(call: &Call<'_>) -> Answer {
    let (granted, table, _) = granted_table(call)?;
    let id = (table.name, table.uuid);
    let changed = call.store.change_table_settings(granted.bucket(), id, |settings| {
        settings.set(TableDocument::Policy, None);
        Ok(())
    });
    changed.wait()?;
    Ok(Output::Empty)
}

/// Checks a policy before it is kept.
fn check(policy: &str, kind: Kind<'_>) -> ApiResult<()> {
    let parsed = Policy::parse(policy.as_bytes(), kind);
    let parsed = parsed.map_err(|error| Exception::bad_request(error.explained()))?;
    match parsed.is_public() {
        false => Ok(()),
        true => Err(access_denied(
            "Public policies are blocked for table buckets: name the accounts, users or roles in Principal.",
        )),
    }
}

fn told(policy: Option<&[u8]>, missing: &str) -> Answer {
    let policy = policy.ok_or_else(|| not_found(missing))?;
    Output::json(&json!({ "resourcePolicy": String::from_utf8_lossy(policy) }))
}
