//! Bucket settings in the documents that other stores keep or send.

use liteio_store::{DocumentKind, Versioning};

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
    settings
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
            (none(), true),
        ];
        for (documents, is_whole) in rows {
            let tally = Tally::new(0);
            settings(&tally, "bucket", &documents);
            assert_eq!(tally.finish("data"), is_whole, "{documents:?}");
        }
    }
}
