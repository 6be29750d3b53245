//! Protection of a copy like that of its source: encryption, storage class, retention, legal hold.

use jiff::Timestamp;

use crate::error::Error;
use crate::s3::Head;
use crate::target::Remote;

/// Headers of the encryption. The key of a customer (SSE-C) is not among them: no service can tell it.
const ENCRYPTION: [&str; 3] = [
    "x-amz-server-side-encryption",
    "x-amz-server-side-encryption-aws-kms-key-id",
    "x-amz-server-side-encryption-bucket-key-enabled",
];
const STORAGE_CLASS: &str = "x-amz-storage-class";
const REDIRECT: &str = "x-amz-website-redirect-location";
/// The first part of the headers of retentions, legal holds and event holds.
const LOCK: &str = "x-amz-object-lock-";
const RETAIN_UNTIL: &str = "x-amz-object-lock-retain-until-date";
const EVENT_HOLD: &str = "x-amz-object-lock-event-hold";
const LEGAL_HOLD: &str = "x-amz-object-lock-legal-hold";

/// The code for a bucket without object lock.
pub(crate) const NO_LOCK: &str = "ObjectLockConfigurationNotFoundError";

/// The protection that copies keep beside metadata and tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kept {
    /// None: the target's defaults apply, as in `mc`.
    #[default]
    Nothing,
    /// All that the target has. An object is never stored without the encryption that it had.
    Protection,
    /// As before, but for the storage class, which the target does not have.
    AllButClass,
}

/// The headers that give a copy the protection of its source, and a part of it that the target cannot
/// have.
#[derive(Debug, Default)]
pub(super) struct Protection {
    pub(super) headers: Vec<(String, String)>,
    pub(super) lost: Option<&'static str>,
}

impl Protection {
    /// The protection of an object for its copy.
    ///
    /// # Errors
    /// The target does not tell whether it has object lock.
    pub(super) async fn of(kept: Kept, head: &Head, target: &Remote) -> Result<Self, Error> {
        if kept == Kept::Nothing {
            return Ok(Protection::default());
        }
        let mut headers = headers(head, kept, Timestamp::now());
        let is_lock = |(name, _): &(String, String)| name.starts_with(LOCK);
        let mut lost = None;
        // A user without the right to read the setting may have the right to write retentions: the write fails if not.
        let may_lock = async || match has_lock(target).await {
            Err(error) if error.status() == Some(403) => Ok(true),
            found => found,
        };
        if headers.iter().any(is_lock) && !may_lock().await? {
            headers.retain(|header| !is_lock(header));
            lost =
                Some("its retention or legal hold is lost, because the bucket has no object lock");
        }
        Ok(Protection { headers, lost })
    }
}

/// The headers of the protection at this time.
fn headers(head: &Head, kept: Kept, now: Timestamp) -> Vec<(String, String)> {
    let value = |name: &str| head.headers.get(name).and_then(|it| it.to_str().ok());
    let until = value(RETAIN_UNTIL).and_then(|it| it.parse::<Timestamp>().ok());
    // A retention that is over would be refused, and protects nothing. An event hold has no end.
    let is_over = until.is_some_and(|it| it <= now) && value(EVENT_HOLD) != Some("ON");
    let is_kept = |name: &str| match name {
        STORAGE_CLASS => kept == Kept::Protection,
        REDIRECT => true,
        LEGAL_HOLD => value(LEGAL_HOLD) == Some("ON"),
        name if name.starts_with(LOCK) => !is_over,
        name => ENCRYPTION.contains(&name),
    };
    let text = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    head.headers.iter().filter(|(name, _)| is_kept(name.as_str())).filter_map(text).collect()
}

/// `true` if the bucket has object lock.
///
/// # Errors
/// The service does not tell, or not this user.
pub(crate) async fn has_lock(target: &Remote) -> Result<bool, Error> {
    match target.s3.raw_setting(&target.bucket, "object-lock").await {
        Ok(_) => Ok(true),
        Err(error) if error.code() == NO_LOCK => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn names(source: &[(&'static str, &'static str)], kept: Kept) -> Vec<String> {
        let mut all = HeaderMap::new();
        for &(name, value) in source {
            all.insert(name, http::HeaderValue::from_static(value));
        }
        let head =
            Head { size: 0, modified: None, etag: String::new(), version: None, headers: all };
        let now = "2026-01-01T00:00:00Z".parse().expect("a time");
        let mut names: Vec<_> = headers(&head, kept, now).into_iter().map(|it| it.0).collect();
        names.sort();
        names
    }

    #[test]
    fn retentions_that_are_over_and_holds_that_are_off_are_left_out() {
        let of = |until: &'static str, event: &'static str, legal: &'static str| {
            let source = [
                ("x-amz-object-lock-mode", "GOVERNANCE"),
                (RETAIN_UNTIL, until),
                (EVENT_HOLD, event),
                (LEGAL_HOLD, legal),
            ];
            names(&source, Kept::Protection)
        };
        assert_eq!(of("2027-01-01T00:00:00.000Z", "OFF", "ON").len(), 4);
        assert_eq!(of("2025-01-01T00:00:00.000Z", "OFF", "ON"), [LEGAL_HOLD]);
        assert!(of("2025-01-01T00:00:00.000Z", "OFF", "OFF").is_empty());
        assert_eq!(of("2025-01-01T00:00:00.000Z", "ON", "OFF").len(), 3);
    }

    #[test]
    fn the_encryption_is_always_kept_and_the_class_where_there_is_it() {
        let source = [
            ("content-type", "image/jpeg"),
            ("x-amz-server-side-encryption", "AES256"),
            ("x-amz-server-side-encryption-customer-algorithm", "AES256"),
            (STORAGE_CLASS, "STANDARD_IA"),
        ];
        assert_eq!(
            names(&source, Kept::Protection),
            ["x-amz-server-side-encryption", STORAGE_CLASS]
        );
        assert_eq!(names(&source, Kept::AllButClass), ["x-amz-server-side-encryption"]);
    }
}
