//! `admin kms key`.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::service;
use crate::cli::{KmsKeyVerb, KmsVerb};
use crate::error::Error;
use crate::s3::AdminCall;
use crate::session::Session;
use crate::verbs::elsewhere;
use crate::verbs::note::tell;

pub(super) async fn run(session: &Arc<Session>, verb: KmsVerb) -> Result<(), Error> {
    match verb {
        KmsVerb::Key(KmsKeyVerb::Create { target, name }) => {
            let call = AdminCall::of_keys(Method::POST, "key/create").query("key-id", &name);
            service(session, &target)?.admin(call).await?;
            let text = format!("Created master key `{name}` successfully");
            tell(session, text, json!({ "keyId": name }))
        }
        KmsVerb::Key(KmsKeyVerb::List { target }) => {
            let call = AdminCall::of_keys(Method::GET, "key/list").query("pattern", "*");
            let found = service(session, &target)?.admin_json(call).await?;
            let names: Vec<&str> = found
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|key| key["name"].as_str())
                .collect();
            let text = match names.is_empty() {
                true => "no named keys".to_owned(),
                false => names.join("\n"),
            };
            tell(session, text, json!({ "target": target, "keys": names }))
        }
        KmsVerb::Key(KmsKeyVerb::Status { target, name }) => {
            let name = name.unwrap_or_default();
            let call = AdminCall::of_keys(Method::GET, "key/status").query("key-id", &name);
            let found = service(session, &target)?.admin_json(call).await?;
            status(session, &found)
        }
        KmsVerb::Other(arguments) => {
            let name = arguments.first().map_or("", String::as_str);
            Err(elsewhere(&format!("admin kms {name}"), "use MinIO's `mc` for a MinIO"))
        }
    }
}

/// Prints the state of a key; a key that does not encrypt is a failure.
fn status(session: &Session, found: &Value) -> Result<(), Error> {
    let text = |name: &str| found[name].as_str().unwrap_or_default();
    let (encryption, decryption) = (text("encryption-error"), text("decryption-error"));
    if !encryption.is_empty() || !decryption.is_empty() {
        let reason = if encryption.is_empty() { decryption } else { encryption };
        return Err(Error::refused(format!("key '{}': {reason}", text("key-id"))));
    }
    let id = text("key-id");
    tell(
        session,
        format!("Key: {id}\n   - Encryption ✔\n   - Decryption ✔"),
        json!({ "keyId": id, "encryption": true, "decryption": true }),
    )
}
