//! The targets of events in MinIO's settings, `.minio.sys/config/config.json`.
//!
//! ```text
//! {"notify_webhook": {"NAME": [{"key": "enable", "value": "on"}, {"key": "endpoint", "value": "http://…"}, …]}, "notify_kafka": …}
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::drive::SYSTEM;
use super::kms::Secrets;
use super::object::read_small;

const PLACE: &str = "config/config.json";
/// Limit of the document, which MinIO writes with all defaults: about 10 KiB.
const DOCUMENT_BYTES_MAX: u64 = 4 << 20;
const KINDS: &str = "notify_";
const WEBHOOKS: &str = "notify_webhook";

/// A webhook of a former MinIO.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerWebhook {
    /// The name that notifications refer to.
    pub name: String,
    /// The URL that events are posted to.
    pub url: String,
    /// The value of the `Authorization` header.
    pub token: Option<String>,
}

// Written by hand, so that no secret is logged; the URL's path and query may be one.
impl std::fmt::Debug for FormerWebhook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FormerWebhook").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The targets that MinIO sent events to.
#[derive(Debug, Default)]
pub(super) struct Targets {
    pub(super) webhooks: Vec<FormerWebhook>,
    /// Lines about targets that have no counterpart here.
    pub(super) notes: Vec<String>,
}

#[derive(Deserialize)]
struct Setting {
    key: String,
    #[serde(default)]
    value: String,
}

/// Reads the targets of a drive. A drive without settings has none.
pub(super) fn read(root: &Path, secrets: &Secrets) -> Targets {
    let directory = root.join(SYSTEM).join(PLACE);
    if !directory.join("xl.meta").exists() {
        return Targets::default();
    }
    let unread = |reason: String| Targets {
        webhooks: Vec::new(),
        notes: vec![format!(
            "the targets of events in MinIO's settings are not brought over: {reason}"
        )],
    };
    let stored = match read_small(&directory, DOCUMENT_BYTES_MAX) {
        Ok(stored) => stored,
        Err(error) => return unread(error.to_string()),
    };
    match secrets.settings(PLACE, &stored) {
        Some(plain) => parse(&plain).unwrap_or_else(|| unread("they are damaged".to_owned())),
        None => unread("they are encrypted, and no key opens them".to_owned()),
    }
}

fn parse(document: &[u8]) -> Option<Targets> {
    let kinds: BTreeMap<String, Value> = serde_json::from_slice(document).ok()?;
    let mut targets = Targets::default();
    for (kind, value) in kinds.into_iter().filter(|(kind, _)| kind.starts_with(KINDS)) {
        let named: BTreeMap<String, Vec<Setting>> = serde_json::from_value(value).ok()?;
        for (name, settings) in named {
            let of = |key: &str| {
                let found = settings.iter().find(|setting| setting.key == key);
                found.map(|setting| setting.value.as_str()).filter(|value| !value.is_empty())
            };
            if of("enable") != Some("on") {
                continue;
            }
            match of("endpoint") {
                Some(url) if kind == WEBHOOKS && of("client_cert").is_none() => {
                    let token = of("auth_token").map(str::to_owned);
                    targets.webhooks.push(FormerWebhook { name, url: url.to_owned(), token });
                }
                _ => targets.notes.push(format!(
                    "the target {kind}:{name} of MinIO's events is not brought over: only webhooks without client certificates are; give others by --event-target or MinIO's variables"
                )),
            }
        }
    }
    Some(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_that_are_on_are_found_and_others_named() {
        let document = br#"{"api":{"_":[{"key":"odirect","value":"on"}]},
            "notify_webhook":{"_":[{"key":"enable","value":"off"},{"key":"endpoint","value":""}],
            "T1":[{"key":"enable","value":"on"},{"key":"endpoint","value":"http://h/x"},{"key":"auth_token","value":"hush"}],
            "T2":[{"key":"enable","value":"on"},{"key":"endpoint","value":"http://h/y"},{"key":"client_cert","value":"c"}]},
            "notify_kafka":{"K":[{"key":"enable","value":"on"},{"key":"brokers","value":"h:1"}],"_":[{"key":"enable","value":"off"}]}}"#;
        let targets = parse(document).expect("valid");
        let expected = FormerWebhook {
            name: "T1".to_owned(),
            url: "http://h/x".to_owned(),
            token: Some("hush".to_owned()),
        };
        assert_eq!(targets.webhooks, [expected]);
        let has = |name: &str| targets.notes.iter().any(|note| note.contains(name));
        assert!(targets.notes.len() == 2 && has("notify_webhook:T2") && has("notify_kafka:K"));
        assert!(!format!("{targets:?}").contains("hush"));
        assert!(parse(b"{\"notify_webhook\":1}").is_none() && parse(b"x").is_none());
    }
}
