//! `quota`: the most bytes that a bucket may have.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::note::tell;
use crate::cli::QuotaVerb;
use crate::error::Error;
use crate::s3::AdminCall;
use crate::session::Session;
use crate::target::{Remote, Target};
use crate::text::{human, parse_size};

pub(super) async fn run(session: &Arc<Session>, verb: QuotaVerb) -> Result<(), Error> {
    match verb {
        QuotaVerb::Set { target, size } => {
            let bytes = parse_size(&size).map_err(Error::Refused)?;
            if bytes == 0 {
                return Err(Error::refused("a quota is at least 1 byte; `quota clear` removes it"));
            }
            let remote = Target::bucket(session, &target)?;
            set(&remote, bytes).await?;
            let Remote { bucket, .. } = remote;
            let text = format!("Successfully set bucket quota of {} on `{bucket}`", human(bytes));
            tell(session, text, json!({ "bucket": bucket, "quota": bytes, "type": "hard" }))
        }
        QuotaVerb::Clear { target } => {
            let remote = Target::bucket(session, &target)?;
            set(&remote, 0).await?;
            let Remote { bucket, .. } = remote;
            let text = format!("Successfully cleared bucket quota configured on `{bucket}`");
            tell(session, text, json!({ "bucket": bucket }))
        }
        QuotaVerb::Info { target } => {
            let Remote { s3, bucket, .. } = Target::bucket(session, &target)?;
            let call = AdminCall::new(Method::GET, "get-bucket-quota").query("bucket", &bucket);
            let found = s3.admin_json(call).await?;
            let number = |name: &str| found[name].as_u64().unwrap_or_default();
            match number("size").max(number("quota")) {
                0 => tell(
                    session,
                    format!("Bucket `{bucket}` has no quota"),
                    json!({ "bucket": bucket }),
                ),
                bytes => {
                    let text = format!("Bucket `{bucket}` has hard quota of {}", human(bytes));
                    let json = json!({ "bucket": bucket, "quota": bytes, "type": "hard" });
                    tell(session, text, json)
                }
            }
        }
    }
}

async fn set(remote: &Remote, bytes: u64) -> Result<(), Error> {
    let kind = if bytes == 0 { Value::Null } else { "hard".into() };
    let mut document = json!({ "quota": bytes, "size": bytes, "rate": 0, "requests": 0 });
    if !kind.is_null() {
        document["quotatype"] = kind;
    }
    let call = AdminCall::new(Method::PUT, "set-bucket-quota").query("bucket", &remote.bucket);
    remote.s3.admin(call.json(&document)?).await.map(drop)
}
