//! Keys of encryption as MinIO's KMS API (`/minio/kms/v1/…`) describes them: `mc admin kms key`.
//!
//! Keys come from files that the server reads when it starts, so they are listed and checked here, and made elsewhere.

use std::sync::Arc;

use axum::extract::State;
use serde_json::{Value, json};

use super::call::{Call, json};
use super::{Admin, Answer};
use liteio_iam::minio::{invalid_argument, kms_key_exists, kms_not_configured, not_implemented};
use liteio_store::KeyRing;
use liteio_wire::reply::ApiError;

/// The keys of the server.
struct Keys {
    /// Id of the newest master key, as `liteio key list` prints it.
    master: Option<String>,
    /// Names of the named keys, the default key first.
    names: Vec<String>,
}

impl Keys {
    /// The keys, of which there is at least one.
    ///
    /// # Errors
    /// `NotImplemented` without any key, as MinIO answers without a KMS.
    fn of(admin: &Admin) -> Result<Keys, ApiError> {
        let keys = admin.app.ask(|store| Keys::in_ring(store.keys()));
        match keys.master.is_none() && keys.names.is_empty() {
            true => Err(kms_not_configured()),
            false => Ok(keys),
        }
    }

    fn in_ring(ring: &KeyRing) -> Keys {
        let master = ring.ids().into_iter().find(|id| id.name.is_none());
        Keys {
            master: master.map(|id| id.to_string()),
            names: ring.names().map(str::to_owned).collect(),
        }
    }

    /// The key of SSE-KMS requests without a name; without named keys, the master key of SSE-S3.
    fn default(&self) -> &str {
        self.names.first().or(self.master.as_ref()).map_or("", String::as_str)
    }
}

/// The names of the named keys. The master key has none.
pub(super) async fn list(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("KMSListKeys", &["pattern"])?;
    call.may(&["kms:ListKeys"])?;
    let pattern = query.text("pattern");
    let prefix = pattern.strip_suffix('*').unwrap_or(pattern);
    if prefix.contains(['*', '?']) {
        return Err(invalid_argument(
            "The pattern is the beginning of a name, with a final * or without.",
        )
        .into());
    }
    let names = Keys::of(&admin)?.names;
    let matching = names.iter().filter(|name| name.starts_with(prefix));
    json(&matching.map(|name| json!({ "name": name })).collect::<Vec<Value>>())
}

/// The state of one key, or of the default key.
pub(super) async fn status(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("KMSKeyStatus", &["key-id"])?;
    call.may(&["kms:KeyStatus"])?;
    let keys = Keys::of(&admin)?;
    let asked = match query.text("key-id") {
        "" => keys.default(),
        name => name,
    };
    let is_known = keys.master.as_deref() == Some(asked)
        || admin.app.ask(|store| store.keys().find_name(asked).is_some());
    json(&match is_known {
        // The keys are in the memory of the server, so a known key encrypts and decrypts.
        true => json!({ "key-id": asked }),
        // As MinIO answers: an error of the key, not of the request.
        false => {
            let others = match (call.may(&["kms:ListKeys"]), &keys.names[..]) {
                (Err(_), _) => String::new(),
                (Ok(_), []) => "; it has no named keys".to_owned(),
                (Ok(_), names) => format!("; it has: {}", names.join(", ")),
            };
            let told = format!("the server has no key of this name{others}");
            json!({ "key-id": asked, "encryption-error": told })
        }
    })
}

/// Refuses to create a key, and tells how to make one.
pub(super) async fn create(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let name = call.begin("KMSCreateKey", &["key-id"])?.required("key-id")?;
    call.may(&["kms:CreateKey"])?;
    if admin.app.ask(|store| store.keys().names().any(|known| known == name)) {
        return Err(kms_key_exists(name).into());
    }
    Err(not_implemented(
        "LiteIO reads keys from a file when it starts: make the key with `liteio key new FILE --name NAME`, \
         and start the server with --kms-key-file FILE.",
    )
    .into())
}

/// The default key, and the state of all keys.
pub(super) async fn service(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    call.begin("KMSStatus", &[])?;
    call.may(&["kms:Status"])?;
    let keys = Keys::of(&admin)?;
    json(&json!({ "name": "LiteIO", "default-key-id": keys.default(), "endpoints": {} }))
}
