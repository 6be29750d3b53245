//! `encrypt`: the encryption that new objects of a bucket get.

use std::sync::Arc;

use serde_json::json;

use super::note::tell;
use crate::cli::EncryptVerb;
use crate::error::Error;
use crate::s3::Shape;
use crate::session::Session;
use crate::target::Target;

const ENCRYPTION: Shape = Shape {
    root: "ServerSideEncryptionConfiguration",
    lists: &[("Rule", "Rules")],
    numbers: &[],
    flags: &[],
    parents: &["Rule", "ApplyServerSideEncryptionByDefault"],
};

/// The code for a bucket without encryption.
const NONE: &str = "ServerSideEncryptionConfigurationNotFoundError";

pub(super) async fn run(session: &Arc<Session>, verb: EncryptVerb) -> Result<(), Error> {
    match verb {
        EncryptVerb::Set { arguments } => {
            let parts: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let (default, target) = match parts[..] {
                ["sse-s3", target] => (json!({ "SSEAlgorithm": "AES256" }), target),
                ["sse-kms", key, target] => {
                    (json!({ "SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key }), target)
                }
                ["sse-s3", ..] => return Err(Error::refused("sse-s3 takes no key")),
                ["sse-kms", ..] => return Err(Error::refused("sse-kms needs the name of a key")),
                _ => {
                    let kind = parts.first().unwrap_or(&"");
                    return Err(Error::refused(format!(
                        "'{kind}' is no type of encryption; write sse-s3 or sse-kms"
                    )));
                }
            };
            let remote = Target::bucket(session, target)?;
            let rules = json!({ "Rules": [{ "ApplyServerSideEncryptionByDefault": default }] });
            let document = ENCRYPTION.to_xml(&rules).map_err(Error::Refused)?;
            remote.s3.put_setting(&remote.bucket, "encryption", document).await?;
            let text =
                format!("Auto encryption configuration has been set successfully for {target}");
            tell(session, text, json!({ "op": "set", "url": target }))
        }
        EncryptVerb::Clear { target } => {
            let remote = Target::bucket(session, &target)?;
            remote.s3.delete_setting(&remote.bucket, "encryption").await?;
            let text =
                format!("Auto encryption configuration has been cleared successfully for {target}");
            tell(session, text, json!({ "op": "clear", "url": target }))
        }
        EncryptVerb::Info { target } => {
            let remote = Target::bucket(session, &target)?;
            let shape = (ENCRYPTION, NONE);
            let found = remote.s3.setting_json(&remote.bucket, "encryption", shape).await?;
            let found = found.unwrap_or_default();
            let default = &found["Rules"][0]["ApplyServerSideEncryptionByDefault"];
            let text = |name: &str| default[name].as_str().unwrap_or_default().to_owned();
            let (algorithm, key) = (text("SSEAlgorithm"), text("KMSMasterKeyID"));
            let words = match algorithm.as_str() {
                "" => format!("Auto encryption is not enabled for {target}"),
                "AES256" => format!("Auto encryption 'sse-s3' is enabled for {target}"),
                _ => format!("Auto encryption 'sse-kms' is enabled for {target} with key {key}"),
            };
            let mut json = json!({ "op": "info", "url": target });
            if !algorithm.is_empty() {
                json["encryption"] = json!({ "algorithm": algorithm });
            }
            if !key.is_empty() {
                json["encryption"]["keyID"] = key.into();
            }
            tell(session, words, json)
        }
    }
}
