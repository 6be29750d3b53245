//! Bucket settings in the documents that other stores keep or send.

use liteio_store::{DocumentKind, Quota, Versioning};
use serde_json::Value;

use super::tally::Tally;
use super::target::BucketSettings;
use liteio_policy::{Kind, Policy};
use liteio_s3::foreign;

/// The documents of a bucket; missing ones are empty.
#[derive(Debug, Default)]
pub(crate) struct Documents<'b> {
    pub policy: &'b [u8],
    pub lifecycle: &'b [u8],
    pub object_lock: &'b [u8],
    pub versioning: Versioning,
    pub tags: &'b [u8],
    pub cors: &'b [u8],
    /// JSON of MinIO.
    pub quota: &'b [u8],
}

/// Parses and checks the documents of the bucket `name`. Invalid settings are skipped and reported.
pub(crate) fn settings(tally: &Tally, name: &str, documents: &Documents<'_>) -> BucketSettings {
    let left_out = |what: &str, reason: &str| {
        tally.left_out(&format!("the {what} of {name}"), reason);
    };
    let mut settings =
        BucketSettings { versioning: documents.versioning, ..BucketSettings::default() };
    if !documents.object_lock.is_empty() {
        settings.versioning = Versioning::Enabled;
        let default = foreign::default_retention(documents.object_lock).unwrap_or_else(|reason| {
            left_out("default retention", &reason);
            None
        });
        settings.object_lock = Some(default);
    }
    if !documents.lifecycle.is_empty() {
        match foreign::lifecycle(documents.lifecycle) {
            Ok(lifecycle) => settings.lifecycle = Some(lifecycle),
            Err(reason) => left_out("lifecycle", &reason),
        }
    }
    if !documents.policy.is_empty() {
        match Policy::parse(documents.policy, Kind::Bucket(name)) {
            Ok(_) => settings.documents.push((DocumentKind::Policy, documents.policy.to_vec())),
            Err(error) => left_out("policy", &error.to_string()),
        }
    }
    if !documents.tags.is_empty() {
        match foreign::bucket_tags(documents.tags) {
            Ok(document) => settings.documents.push((DocumentKind::Tagging, document)),
            Err(reason) => left_out("tags", &reason),
        }
    }
    if !documents.cors.is_empty() {
        match foreign::cors(documents.cors) {
            Ok(document) => settings.documents.push((DocumentKind::Cors, document)),
            Err(reason) => left_out("CORS configuration", &reason),
        }
    }
    if !documents.quota.is_empty() {
        match quota(documents.quota) {
            Ok(quota) => settings.quota = quota,
            Err(reason) => left_out("quota", &reason),
        }
    }
    settings
}

/// The quota in a document of MinIO; `None` if it sets none.
fn quota(document: &[u8]) -> Result<Option<Quota>, String> {
    let document: Value = serde_json::from_slice(document).map_err(|error| error.to_string())?;
    let number = |name: &str| document[name].as_u64().unwrap_or_default();
    if !matches!(document["quotatype"].as_str(), None | Some("" | "hard")) {
        return Err("only hard quotas are supported".to_owned());
    }
    if number("rate") != 0 || number("requests") != 0 {
        return Err("quotas of rates and requests are not supported".to_owned());
    }
    // Older versions write only `quota`.
    let bytes = number("size").max(number("quota"));
    Ok((bytes != 0).then_some(Quota { bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_cannot_be_taken_is_left_out() {
        let none = Documents::default;
        let rows = [
            (Documents { policy: b"{}", ..none() }, false),
            (Documents { lifecycle: b"<L", ..none() }, false),
            (Documents { object_lock: b"<L", ..none() }, false),
            (Documents { tags: b"<L", ..none() }, false),
            (Documents { cors: b"<L", ..none() }, false),
            (Documents { quota: b"{", ..none() }, false),
            (Documents { quota: br#"{"quota":9,"quotatype":"fifo"}"#, ..none() }, false),
            (Documents { quota: br#"{"size":9,"rate":1}"#, ..none() }, false),
            (none(), true),
        ];
        for (documents, is_whole) in rows {
            let tally = Tally::new(0);
            settings(&tally, "bucket", &documents);
            assert_eq!(tally.finish("data"), is_whole, "{documents:?}");
        }
    }

    #[test]
    fn the_quota_has_two_names() {
        let rows = [
            (r#"{"quota":9,"size":9,"rate":0,"requests":0,"quotatype":"hard"}"#, Some(9)),
            (r#"{"quota":7,"quotatype":"hard"}"#, Some(7)),
            (r#"{"quota":0,"size":0}"#, None),
        ];
        for (document, bytes) in rows {
            let bytes = bytes.map(|bytes| Quota { bytes });
            assert_eq!(quota(document.as_bytes()), Ok(bytes), "{document}");
        }
    }
}
