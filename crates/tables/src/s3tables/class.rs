//! The storage class of table buckets and tables, which is `STANDARD`, and the configuration of request metrics, which is
//! kept: the server has its metrics in any case.

use liteio_store::DocumentKind;
use serde_json::json;

use super::error::not_found;
use super::resource::{bucket_arn, given, granted, granted_table};
use super::schema::check_storage_class;
use crate::error::Exception;
use crate::{Answer, Call, Output};

pub(super) fn of_bucket(call: &Call<'_>) -> Answer {
    granted(call)?;
    told()
}

pub(super) fn of_table(call: &Call<'_>) -> Answer {
    granted_table(call)?;
    told()
}

fn told() -> Answer {
    Output::json(&json!({ "storageClassConfiguration": { "storageClass": "STANDARD" } }))
}

pub(super) fn put(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    if given(&document, "storageClassConfiguration").is_none() {
        return Err(Exception::bad_request("storageClassConfiguration is missing."));
    }
    check_storage_class(&document)?;
    granted(call)?;
    Output::json(&json!({}))
}

pub(super) fn metrics(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    let id = granted.bucket().settings.document(DocumentKind::TableMetrics);
    let id = id.ok_or_else(|| not_found("The table bucket has no configuration of metrics."))?;
    Output::json(&json!({
        "tableBucketARN": bucket_arn(call, &granted),
        "id": String::from_utf8_lossy(id),
    }))
}

pub(super) fn put_metrics(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    let (kind, id) = (DocumentKind::TableMetrics, b"EntireTableBucket".to_vec());
    call.store.put_document(granted.bucket(), kind, id).wait()?;
    Ok(Output::Empty)
}

pub(super) fn delete_metrics(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    call.store.delete_document(granted.bucket(), DocumentKind::TableMetrics).wait()?;
    Ok(Output::Empty)
}
