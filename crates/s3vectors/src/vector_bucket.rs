//! Vector buckets: create, get, list, delete, their policies, and the default index mode.

use liteio_store::StoreError;
use liteio_store::limits::LIST_INDEXES_MAX;
use liteio_store::vectors::{Encryption, IndexMode, ListVectorBuckets, VectorBucket, VectorName};
use serde_json::{Value, json};

use super::context::Asked;
use super::error::{ApiResult, Exception};
use super::fields::Fields;
use super::{Answer, Call, answer, done, page_token, seconds, tags};
use liteio_policy::{Kind, Policy};

/// Longest ARN of a KMS key. S3 Vectors' limit.
const KMS_KEY_ARN_CHARACTERS_MAX: usize = 2048;
/// Its pattern in the service model.
const KMS_KEY_ARN: &str = "(arn:aws[-a-z0-9]*:kms:[-a-z0-9]*:[0-9]{12}:key/.+)";

pub(super) const MODES: [(&str, IndexMode); 2] =
    [("CLASSIC", IndexMode::Classic), ("ENHANCED", IndexMode::Enhanced)];

pub(super) fn mode_name(mode: IndexMode) -> &'static str {
    match mode {
        IndexMode::Classic => "CLASSIC",
        IndexMode::Enhanced => "ENHANCED",
    }
}

pub(super) fn create(call: &Call, mut fields: Fields) -> Answer {
    let name = fields.string("vectorBucketName")?;
    let name = VectorName::bucket(fields.require("vectorBucketName", name)?)?;
    let encryption = encryption(&mut fields)?;
    let tags = tags::take(&mut fields)?.unwrap_or_default();
    let asked = Asked { encryption: encryption.as_ref(), ..Asked::with_tags(&call.sent, &tags) };
    let owner = call.new_bucket(&name, &asked)?.owner();
    let bucket = call.app.store.create_vector_bucket(name, owner, encryption, tags).wait()?;
    answer(&json!({ "vectorBucketArn": call.buckets.arn(&bucket.owner.id, &bucket.name) }))
}

pub(super) fn get(call: &Call, mut fields: Fields) -> Answer {
    let granted = call.bucket(&mut fields)?;
    let bucket = granted.target();
    let mut output = summary(call, bucket);
    output["encryptionConfiguration"] = encryption_json(bucket.encryption.as_ref());
    output["defaultIndexMode"] = mode_name(bucket.default_mode).into();
    answer(&json!({ "vectorBucket": output }))
}

pub(super) fn list(call: &Call, mut fields: Fields) -> Answer {
    let max = fields.number("maxResults", 1..=LIST_INDEXES_MAX as u64)?;
    let prefix = prefix(&mut fields)?;
    let scope = format!("buckets {prefix}");
    let token = fields.string("nextToken")?;
    let query = ListVectorBuckets {
        after: token.map(|token| page_token::name(&scope, &token)).transpose()?,
        prefix,
        owner_id: Some(call.account()?.owner().id),
        max: max.map_or(LIST_INDEXES_MAX, |max| max as usize),
    };
    let page = call.app.store.list_vector_buckets(&query)?;
    let buckets: Vec<Value> = page.buckets.iter().map(|bucket| summary(call, bucket)).collect();
    let mut output = json!({ "vectorBuckets": buckets });
    if let Some(next) = page.next {
        output["nextToken"] = page_token::after(&scope, &next).into();
    }
    answer(&output)
}

pub(super) fn delete(call: &Call, mut fields: Fields) -> Answer {
    let granted = call.bucket(&mut fields)?;
    let bucket = granted.target();
    call.app.store.delete_vector_bucket(bucket).wait()?;
    done()
}

pub(super) fn put_default_index_mode(call: &Call, mut fields: Fields) -> Answer {
    let mode = fields.choice("defaultIndexMode", &MODES)?;
    let mode = fields.require("defaultIndexMode", mode)?;
    let granted = call.bucket(&mut fields)?;
    let bucket = granted.target();
    call.app.store.set_default_index_mode(bucket, mode).wait()?;
    done()
}

pub(super) fn put_policy(call: &Call, mut fields: Fields) -> Answer {
    let policy = fields.string("policy")?;
    let policy = fields.require("policy", policy)?;
    let granted = call.bucket(&mut fields)?;
    let bucket = granted.target();
    let parsed = Policy::parse(policy.as_bytes(), Kind::VectorBucket(&bucket.arn));
    let parsed = parsed.map_err(|error| match error.detail() {
        Some(part) => Exception::field("/policy", format!("{error} ({part})")),
        None => Exception::field("/policy", error.to_string()),
    })?;
    if parsed.is_public() {
        return Err(Exception::access_denied(
            "Public policies are blocked for vector buckets: name the accounts, users or roles in Principal",
        ));
    }
    call.app.store.put_vector_bucket_policy(bucket, policy).wait()?;
    done()
}

pub(super) fn get_policy(call: &Call, mut fields: Fields) -> Answer {
    let granted = call.bucket(&mut fields)?;
    let bucket = granted.target();
    let policy = call.app.store.vector_bucket_policy(bucket)?;
    answer(&json!({ "policy": policy }))
}

pub(super) fn delete_policy(call: &Call, mut fields: Fields) -> Answer {
    let granted = call.bucket(&mut fields)?;
    let bucket = granted.target();
    call.app.store.delete_vector_bucket_policy(bucket).wait()?;
    done()
}

/// The `prefix` of a listing.
pub(super) fn prefix(fields: &mut Fields) -> ApiResult<String> {
    let prefix = fields.string("prefix")?;
    let Some(prefix) = prefix else { return Ok(String::new()) };
    let characters = prefix.chars().count();
    match (1..=63).contains(&characters) {
        true => Ok(prefix),
        false => Err(StoreError::wrong_length("/prefix", characters, &(1..=63)).into()),
    }
}

/// The `encryptionConfiguration` of a vector bucket or an index.
pub(super) fn encryption(fields: &mut Fields) -> ApiResult<Option<Encryption>> {
    let Some(mut fields) = fields.object("encryptionConfiguration")? else { return Ok(None) };
    let kind = fields.choice("sseType", &[("AES256", "AES256"), ("aws:kms", "aws:kms")])?;
    let kind = kind.unwrap_or("AES256");
    let kms_key = fields.string("kmsKeyArn")?;
    match (kind, &kms_key) {
        ("AES256", Some(_)) => {
            Err(Exception::field(fields.path("kmsKeyArn"), "it is only for the sseType aws:kms"))
        }
        ("aws:kms", None) => {
            Err(Exception::field(fields.path("kmsKeyArn"), "it is required for aws:kms"))
        }
        ("aws:kms", Some(arn)) if !is_kms_key_arn(arn) => {
            Err(StoreError::pattern(fields.path("kmsKeyArn"), KMS_KEY_ARN).into())
        }
        _ => Ok(Some(Encryption { kind: kind.to_owned(), kms_key })),
    }
}

/// True if a text matches the pattern for the ARN of a KMS key in the service model of S3 Vectors.
fn is_kms_key_arn(text: &str) -> bool {
    let is_word =
        |part: &str| part.bytes().all(|byte| matches!(byte, b'-' | b'a'..=b'z' | b'0'..=b'9'));
    let mut parts = text.splitn(6, ':');
    let [Some("arn"), Some(partition), Some("kms"), Some(region), Some(account), Some(key)] =
        std::array::from_fn(|_| parts.next())
    else {
        return false;
    };
    text.chars().count() <= KMS_KEY_ARN_CHARACTERS_MAX
        && partition.strip_prefix("aws").is_some_and(is_word)
        && is_word(region)
        && account.len() == 12
        && account.bytes().all(|byte| byte.is_ascii_digit())
        && key.strip_prefix("key/").is_some_and(|key| !key.is_empty() && !key.contains('\n'))
}

pub(super) fn encryption_json(encryption: Option<&Encryption>) -> Value {
    match encryption {
        None => json!({ "sseType": "AES256" }),
        Some(Encryption { kind, kms_key: None }) => json!({ "sseType": kind }),
        Some(Encryption { kind, kms_key: Some(key) }) => {
            json!({ "sseType": kind, "kmsKeyArn": key })
        }
    }
}

fn summary(call: &Call, bucket: &VectorBucket) -> Value {
    json!({
        "vectorBucketName": bucket.name.as_str(),
        "vectorBucketArn": call.buckets.arn(&bucket.owner.id, &bucket.name),
        "creationTime": seconds(bucket.created_ms),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_arns_of_keys_are_taken_for_such() {
        let arn = |key: &str| format!("arn:aws:kms:us-east-2:111122223333:key/{key}");
        let good = [
            &*arn("1234abcd-12ab-34cd-56ef-1234567890ab"),
            "arn:aws-us-gov:kms::000000000000:key/a:b/c",
            &arn(&"x".repeat(KMS_KEY_ARN_CHARACTERS_MAX - arn("").len())),
        ];
        for arn in good {
            assert!(is_kms_key_arn(arn), "{arn}");
        }
        let bad = [
            "",
            &*arn(""),
            &arn("a\nb"),
            &arn(&"x".repeat(KMS_KEY_ARN_CHARACTERS_MAX + 1 - arn("").len())),
            "arn:aws:kms:",
            "arn:aws:s3:us-east-2:111122223333:key/a",
            "arn:azure:kms:us-east-2:111122223333:key/a",
            "arn:AWS:kms:us-east-2:111122223333:key/a",
            "arn:aws:kms:US:111122223333:key/a",
            "arn:aws:kms:us-east-2:11112222333:key/a",
            "arn:aws:kms:us-east-2:11112222333x:key/a",
            "arn:aws:kms:us-east-2:111122223333:alias/a",
            " arn:aws:kms:us-east-2:111122223333:key/a",
        ];
        for arn in bad {
            assert!(!is_kms_key_arn(arn), "{arn}");
        }
    }
}
