//! Encryption of table buckets: the default encryption of the bucket. Tables have that of their bucket.

use liteio_access::Granted;
use liteio_store::tables::TableKind;
use liteio_store::{Bucket, DefaultEncryption, DefaultMethod};
use serde_json::{Value, json};

use super::error::not_found;
use super::resource::{given, granted, optional_text, text};
use crate::commit::named;
use crate::error::{ApiResult, Exception};
use crate::{Answer, Call, Output};

pub(super) fn of_bucket(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    told(call, granted.bucket())
}

pub(super) fn of_table(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    call.store.table(granted.bucket(), TableKind::Table, &named(call.identifier()?)?)?;
    told(call, granted.bucket())
}

/// The method of new objects of a bucket, if they are encrypted.
fn method_in<'b>(call: &Call<'_>, bucket: &'b Bucket) -> Option<&'b DefaultMethod> {
    let of_server = call.shared.app.encrypts_by_default.then_some(&DefaultMethod::Master);
    let own = bucket.settings.default_encryption.as_ref();
    own.map(|default| &default.method).or(of_server)
}

/// `true` if an `EncryptionConfiguration` is that of the bucket.
pub(super) fn is_of_bucket(call: &Call<'_>, bucket: &Bucket, asked: &Value) -> ApiResult<bool> {
    let method = method_of(asked)?;
    Ok(method_in(call, bucket) == Some(&method))
}

fn told(call: &Call<'_>, bucket: &Bucket) -> Answer {
    let configuration = match method_in(call, bucket) {
        None => return Err(not_found("New objects of the table bucket are not encrypted.")),
        Some(DefaultMethod::Master) => json!({ "sseAlgorithm": "AES256" }),
        Some(DefaultMethod::Named { key: None }) => json!({ "sseAlgorithm": "aws:kms" }),
        Some(DefaultMethod::Named { key: Some(key) }) => {
            json!({ "sseAlgorithm": "aws:kms", "kmsKeyArn": key })
        }
    };
    Output::json(&json!({ "encryptionConfiguration": configuration }))
}

pub(super) fn put(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let asked = given(&document, "encryptionConfiguration");
    let asked =
        asked.ok_or_else(|| Exception::bad_request("encryptionConfiguration is missing."))?;
    let default = DefaultEncryption { method: method_of(asked)?, bucket_key: false };
    let granted = granted(call)?;
    // A missing key is reported here, and not later by every write.
    let encryption = default.encryption(call.store.keys()).map_err(|key| {
        Exception::bad_request(format!("The server does not have the KMS key {key:?}."))
    })?;
    call.store.seal_object(&encryption)?;
    set(call, &granted, Some(default))?;
    Output::json(&json!({}))
}

pub(super) fn delete(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    set(call, &granted, None)?;
    Ok(Output::Empty)
}

/// S3 Tables has no word about keys of customers: those that S3 has blocked stay so.
fn set(call: &Call<'_>, granted: &Granted, default: Option<DefaultEncryption>) -> ApiResult<()> {
    let bucket = granted.bucket();
    let blocks = bucket.settings.blocks_customer_keys;
    Ok(call.store.set_default_encryption(bucket, default, blocks).wait()?)
}

/// The method of an `EncryptionConfiguration`.
fn method_of(configuration: &Value) -> ApiResult<DefaultMethod> {
    let key = optional_text(configuration, "kmsKeyArn")?.map(str::to_owned);
    match (text(configuration, "sseAlgorithm")?, key) {
        ("AES256", None) => Ok(DefaultMethod::Master),
        ("AES256", Some(_)) => Err(Exception::bad_request("kmsKeyArn needs aws:kms.")),
        ("aws:kms", key) => Ok(DefaultMethod::Named { key }),
        _ => Err(Exception::bad_request("sseAlgorithm must be AES256 or aws:kms.")),
    }
}

/// `true` for the encryption with the master key.
pub(super) fn is_of_master_key(configuration: &Value) -> ApiResult<bool> {
    Ok(method_of(configuration)? == DefaultMethod::Master)
}
