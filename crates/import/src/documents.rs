//! Bucket settings in the documents that other stores keep or send.

use liteio_store::{DocumentKind, Quota, Versioning};
use serde_json::Value;

use super::target::{BucketSettings, Target};
use liteio_iam::minio::in_aws_form;
use liteio_policy::{Kind, Policy};
use liteio_s3::foreign;

/// The documents of a bucket; missing ones are empty.
#[derive(Debug, Default)]
pub(crate) struct Documents<'b> {
    pub policy: &'b [u8],
    pub lifecycle: &'b [u8],
    pub object_lock: &'b [u8],
    pub versioning: Versioning,
    /// The document of the versioning.
    pub versioning_document: &'b [u8],
    pub tags: &'b [u8],
    pub cors: &'b [u8],
    pub encryption: &'b [u8],
    /// JSON of MinIO.
    pub quota: &'b [u8],
    pub notifications: &'b [u8],
}

/// Parses and checks the documents of the bucket `name`. Invalid settings are skipped and reported.
pub(crate) fn settings(target: &Target, name: &str, documents: &Documents<'_>) -> BucketSettings {
    let left_out = |what: &str, reason: &str| {
        target.tally.left_out(&format!("the {what} of {name}"), reason);
    };
    let without = |what: &str, reason: &str| {
        let line = format!("the {what} of {name} is not brought over: {reason}");
        target.tally.note(&line);
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
    if let Err(reason) = foreign::check_versioning(documents.versioning_document) {
        left_out("exclusions from versioning", &reason);
    }
    if !documents.lifecycle.is_empty() {
        let is_tier = |class: &str| target.tiers.iter().any(|tier| tier == class);
        match foreign::lifecycle(documents.lifecycle, &is_tier) {
            Ok((lifecycle, unusable)) => {
                settings.lifecycle = Some(lifecycle);
                for rule in unusable {
                    left_out(&format!("lifecycle rule {}", rule.name), &rule.reason);
                }
            }
            Err(reason) => left_out("lifecycle", &reason),
        }
    }
    if !documents.policy.is_empty() {
        let text = str::from_utf8(documents.policy).map(in_aws_form).unwrap_or_default();
        match Policy::parse(text.as_bytes(), Kind::Bucket(name)) {
            Ok(_) => {
                settings.documents.push((DocumentKind::Policy, text.into_owned().into_bytes()))
            }
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
    if !documents.encryption.is_empty() {
        let ring = target.store.keys();
        let default = foreign::default_encryption(documents.encryption);
        let default = default.and_then(|default| {
            default.map(|default| target.sealer.bucket_default(ring, default)).transpose()
        });
        match default {
            Ok(default) => settings.encryption = default,
            // A server that takes the place of MinIO would store plain what its clients take for encrypted.
            Err(reason) if target.is_of_volume() => left_out("default encryption", &reason),
            Err(reason) => without("default encryption", &reason),
        }
    }
    if !documents.notifications.is_empty() {
        let kind_of = |name: &str| {
            target.event_targets.iter().find(|known| known.name == name).map(|known| known.kind)
        };
        let missing = |what: &str, reason: &str| {
            if !target.is_of_volume() {
                return without(what, reason);
            }
            // The server does not come back to it: the target that is set later gets no events.
            target.tally.warning(&format!(
                "the {what} of {name} is not taken over: {reason} Set the notifications of the bucket again; if only a target \
                 was not set, move .liteio away and start with its variables (MINIO_NOTIFY_…), which takes over everything again"
            ));
        };
        match foreign::notifications(documents.notifications, &kind_of) {
            Ok((notifications, left_out)) => {
                settings.notifications = notifications;
                for one in left_out {
                    missing(&format!("notification to {}", one.name), &one.reason);
                }
            }
            Err(reason) => missing("notification configuration", &reason),
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
    use std::path::Path;
    use std::sync::Arc;

    use liteio_store::{
        DefaultMethod, EncryptionKey, KeyRing, NamedKey, Owner, Store, StoreConfig,
    };

    use super::*;
    use crate::tally::Tally;
    use crate::target::KnownTarget;

    fn target(keys: KeyRing, webhooks: &[&str]) -> Target {
        let store = Store::open(StoreConfig { keys: keys.into(), ..StoreConfig::memory() });
        let store = store.expect("opens");
        let mut target = Target::of(store, Tally::new(0), Owner::default(), Path::new("data"));
        target.event_targets = webhooks.iter().map(|name| KnownTarget::webhook(name)).collect();
        target
    }

    #[test]
    fn a_default_encryption_is_taken_with_the_keys_that_there_are() {
        let key = || vec![EncryptionKey::new([1; 32])];
        let named = || vec![NamedKey { name: "reports".to_owned(), versions: key() }];
        let document = |algorithm: &str, key: &str| {
            format!(
                "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
                 <SSEAlgorithm>{algorithm}</SSEAlgorithm>{key}</ApplyServerSideEncryptionByDefault>\
                 </Rule></ServerSideEncryptionConfiguration>"
            )
        };
        let of = |ring: KeyRing, algorithm: &str, key: &str| {
            let encryption = document(algorithm, key);
            let documents = Documents { encryption: encryption.as_bytes(), ..Default::default() };
            let settings = settings(&target(ring, &[]), "bucket", &documents);
            settings.encryption.map(|default| default.method)
        };
        let master = || KeyRing::new(key(), Vec::new());
        assert_eq!(of(master(), "AES256", ""), Some(DefaultMethod::Master));
        assert_eq!(of(KeyRing::default(), "AES256", ""), None);
        let id = "<KMSMasterKeyID>arn:aws:kms:reports</KMSMasterKeyID>";
        let found = Some(DefaultMethod::Named { key: Some("reports".to_owned()) });
        assert_eq!(of(KeyRing::new(Vec::new(), named()), "aws:kms", id), found);
        // A key that there is not becomes the master key, and never none.
        assert_eq!(of(master(), "aws:kms", id), Some(DefaultMethod::Master));
        assert_eq!(of(KeyRing::default(), "aws:kms", id), None);
    }

    #[test]
    fn notifications_are_taken_for_webhooks_that_there_are() {
        let document = b"<NotificationConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
            <QueueConfiguration><Id></Id><Filter><S3Key><FilterRule><Name>prefix</Name><Value>in/</Value>\
            </FilterRule></S3Key></Filter><Event>s3:ObjectCreated:*</Event><Event>s3:ObjectAccessed:*</Event><Queue>arn:minio:sqs::T1:webhook</Queue>\
            </QueueConfiguration></NotificationConfiguration>";
        let documents = Documents { notifications: document, ..Default::default() };
        let of = |webhooks| settings(&target(KeyRing::default(), webhooks), "bucket", &documents);
        let rules = of(&["T1"]).notifications.expect("taken").rules;
        assert_eq!((&*rules[0].target, &*rules[0].prefix), ("T1", "in/"));
        assert_eq!(rules[0].events, ["ObjectCreated:*"]);
        assert_eq!(of(&["T2"]).notifications, None);
    }

    #[test]
    fn a_notification_that_cannot_be_taken_leaves_the_others() {
        let rule = |target: &str, event: &str| {
            format!(
                "<QueueConfiguration><Id></Id><Event>{event}</Event><Queue>arn:minio:sqs::{target}:webhook</Queue>\
                 </QueueConfiguration>"
            )
        };
        // As MinIO, which sends an event to each target, and knows events that never occur here.
        let rules = [
            rule("T1", "s3:ObjectAccessed:*"),
            rule("T1", "s3:ObjectCreated:*"),
            rule("T3", "s3:ObjectCreated:*"),
            rule("T2", "s3:ObjectCreated:*"),
        ];
        let document =
            format!("<NotificationConfiguration>{}</NotificationConfiguration>", rules.concat());
        let notifications = document.as_bytes();
        let documents = Documents { notifications, ..Default::default() };
        let settings = settings(&target(KeyRing::default(), &["T1", "T2"]), "bucket", &documents);
        let taken = settings.notifications.expect("two");
        let targets: Vec<&str> = taken.rules.iter().map(|rule| &*rule.target).collect();
        assert_eq!(targets, ["T1", "T2"]);
        let kept = String::from_utf8(taken.document).expect("text");
        assert!(!kept.contains("ObjectAccessed") && !kept.contains("T3"), "{kept}");

        let kind_of = |name: &str| (name != "T3").then_some("webhook");
        let (_, left_out) = foreign::notifications(notifications, &kind_of).expect("a document");
        let names: Vec<&str> = left_out.iter().map(|one| &*one.name).collect();
        let expected = [
            "arn:minio:sqs::T1:webhook (s3:ObjectAccessed:*)",
            "arn:minio:sqs::T3:webhook (s3:ObjectCreated:*)",
        ];
        assert_eq!(names, expected);
        assert!(left_out[1].reason.contains("no target named 'T3'"), "{}", left_out[1].reason);
    }

    fn transition(class: &str) -> String {
        format!(
            "<LifecycleConfiguration><Rule><ID>old</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter>\
             <Transition><Days>30</Days><StorageClass>{class}</StorageClass></Transition></Rule>\
             </LifecycleConfiguration>"
        )
    }

    /// MinIO writes null for what a statement does not have.
    #[test]
    fn a_policy_of_minio_is_taken_without_its_nulls() {
        let document =
            br#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":["*"]},
            "Action":null,"NotAction":["s3:DeleteObject"],"Resource":["arn:aws:s3:::bucket/*"]}]}"#;
        let documents = Documents { policy: document, ..Default::default() };
        let target = target(KeyRing::default(), &[]);
        let taken = settings(&target, "bucket", &documents).documents;
        assert_eq!(target.tally.skipped(), 0);
        let text = String::from_utf8_lossy(&taken[0].1);
        assert!(text.contains("NotAction") && !text.contains("null"), "{text}");
    }

    #[test]
    fn a_lifecycle_rule_that_cannot_be_taken_is_left_out_alone() {
        let only_minio = "<Rule><ID>markers</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter>\
             <DelMarkerExpiration><Days>3</Days></DelMarkerExpiration></Rule>";
        let expiring = "<Rule><ID>short</ID><Status>Enabled</Status><Filter><Prefix>tmp/</Prefix></Filter>\
             <Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>";
        let document = transition("COLD")
            .replace("</LifecycleConfiguration>", &format!("{only_minio}\n{expiring}"));
        let documents = Documents { lifecycle: document.as_bytes(), ..Default::default() };
        let target = target(KeyRing::default(), &[]);
        let taken = settings(&target, "bucket", &documents).lifecycle.expect("a lifecycle");
        let taken = format!("{taken:?}");
        assert!(taken.contains("\"short\"") && !taken.contains("\"markers\""), "{taken}");
        assert_eq!(target.tally.skipped(), 2, "the rules old and markers");
    }

    #[test]
    fn a_setting_that_cannot_be_taken_is_left_out() {
        let none = Documents::default;
        let excludes = br#"<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status>
            <ExcludedPrefixes><Prefix>tmp/</Prefix></ExcludedPrefixes></VersioningConfiguration>"#;
        let enabled = br#"<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status>
            </VersioningConfiguration>"#;
        let [cold, warm] = ["COLD", "WARM"].map(transition);
        let rows = [
            (Documents { policy: b"{}", ..none() }, false),
            (Documents { versioning_document: excludes, ..none() }, false),
            (Documents { versioning_document: enabled, ..none() }, true),
            (Documents { lifecycle: b"<L", ..none() }, false),
            (Documents { lifecycle: cold.as_bytes(), ..none() }, false),
            (Documents { lifecycle: warm.as_bytes(), ..none() }, true),
            (Documents { object_lock: b"<L", ..none() }, false),
            (Documents { tags: b"<L", ..none() }, false),
            (Documents { cors: b"<L", ..none() }, false),
            (Documents { quota: b"{", ..none() }, false),
            (Documents { quota: br#"{"quota":9,"quotatype":"fifo"}"#, ..none() }, false),
            (Documents { quota: br#"{"size":9,"rate":1}"#, ..none() }, false),
            (none(), true),
        ];
        for (documents, is_whole) in rows {
            let mut target = target(KeyRing::default(), &[]);
            target.tiers = vec!["WARM".to_owned()];
            settings(&target, "bucket", &documents);
            assert_eq!(target.tally.finish("data"), is_whole, "{documents:?}");
        }
    }

    #[test]
    fn a_server_in_the_place_of_minio_does_not_lose_a_default_encryption_unnoticed() {
        let document = b"<ServerSideEncryptionConfiguration><Rule>\
            <ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>\
            </ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>";
        let documents = Documents { encryption: document, ..Default::default() };
        let directory = tempfile::tempdir().expect("a directory");
        let of_volume = |name: &str, keys| {
            let (data, owner) = (directory.path().join(name), Owner::default());
            Target::of_volume(&data, owner, 0, keys, Vec::new(), Arc::default()).expect("opens")
        };
        for (target, left_out) in [
            (target(KeyRing::default(), &[]), 0),
            (of_volume("without-key", KeyRing::default()), 1),
        ] {
            settings(&target, "bucket", &documents);
            assert_eq!(target.tally.skipped(), left_out);
        }
        let key = KeyRing::new(vec![EncryptionKey::new([1; 32])], Vec::new());
        let target = of_volume("with-key", key);
        assert!(settings(&target, "bucket", &documents).encryption.is_some());
        assert_eq!(target.tally.skipped(), 0);
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
