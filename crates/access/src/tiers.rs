//! The tiers: buckets of other services that bodies move to, by the name that lifecycle rules use as
//! a storage class.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

/// Storage classes of AWS, which may stand for a tier and are none by themselves.
pub const AWS_CLASSES: [&str; 6] =
    ["DEEP_ARCHIVE", "GLACIER", "GLACIER_IR", "INTELLIGENT_TIERING", "ONEZONE_IA", "STANDARD_IA"];

/// Storage classes of AWS that no lifecycle rule moves to.
const OTHER_CLASSES: [&str; 9] = [
    "STANDARD",
    "REDUCED_REDUNDANCY",
    "EXPRESS_ONEZONE",
    "OUTPOSTS",
    "SNOW",
    "FSX_OPENZFS",
    "FSX_ONTAP",
    "AWS_BACKUP_WARM",
    "AWS_BACKUP_LOW_COST_WARM",
];

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// Longest kept failure: it comes from another server.
const ERROR_CHARACTERS_MAX: usize = 512;

/// A tier.
#[derive(Clone, PartialEq, Eq)]
pub struct Tier {
    /// Name.
    pub name: String,
    /// Kind of the service.
    pub kind: TierKind,
    /// URL of the service.
    pub url: String,
    /// Bucket there.
    pub bucket: String,
    /// Prefix of the keys there: empty, or with a slash at its end.
    pub prefix: String,
    /// Access key of the user who writes there.
    pub access_key: String,
    /// Secret key of that user.
    pub secret_key: String,
    /// Region; `None` to learn it from the first answer.
    pub region: Option<String>,
    /// Storage class of the objects there; `None` for the service's default.
    pub storage_class: Option<String>,
    /// Storage classes of AWS that stand for it.
    pub classes: Vec<String>,
    /// `true` if it was added at run time.
    pub is_made: bool,
}

/// The kind of the service of a tier, as MinIO's clients name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierKind {
    /// A MinIO or a LiteIO.
    Minio,
    /// Any S3.
    S3,
}

impl TierKind {
    /// The kind with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<TierKind> {
        match name {
            "minio" => Some(TierKind::Minio),
            "s3" => Some(TierKind::S3),
            _ => None,
        }
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TierKind::Minio => "minio",
            TierKind::S3 => "s3",
        }
    }
}

impl Tier {
    /// Checks the fields.
    ///
    /// # Errors
    /// One line that says what to change, without any secret.
    pub fn checked(mut self) -> Result<Tier, String> {
        let is_name = |byte: u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_');
        let is_length = (1..=NAME_BYTES_MAX).contains(&self.name.len());
        if !is_length || !self.name.bytes().all(is_name) {
            return Err("the name of a tier has upper-case letters, digits, '-' and '_'".to_owned());
        }
        let is_class = |name: &str| AWS_CLASSES.contains(&name);
        if is_class(&self.name) || OTHER_CLASSES.contains(&self.name.as_str()) {
            return Err(format!(
                "{} is a storage class: choose another name, and list it in classes",
                self.name
            ));
        }
        if let Some(class) = self.classes.iter().find(|class| !is_class(class)) {
            return Err(format!("{class:?} is not one of {}", AWS_CLASSES.join(", ")));
        }
        let rest = self.url.strip_prefix("http://").or(self.url.strip_prefix("https://"));
        if rest.is_none_or(|rest| rest.is_empty() || rest.contains(['@', '?', '#', ' '])) {
            return Err(
                "the URL of a tier is http://HOST or https://HOST, without a user".to_owned()
            );
        }
        if self.bucket.is_empty() || self.bucket.contains(['/', '?', '#', ' ']) {
            return Err("the bucket of a tier is the name of a bucket".to_owned());
        }
        if self.access_key.is_empty() || self.secret_key.is_empty() {
            return Err("a tier needs an access key and a secret key".to_owned());
        }
        let prefix = self.prefix.trim_matches('/');
        if prefix.len() > 512 || prefix.contains(char::is_control) {
            return Err("the prefix of a tier has at most 512 bytes".to_owned());
        }
        self.prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(self)
    }
}

// Secrets are never shown.
impl fmt::Debug for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tier")
            .field("name", &self.name)
            .field("url", &self.url)
            .field("bucket", &self.bucket)
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}

/// Counters and state of a tier since the start of the server.
#[derive(Debug, Default)]
pub struct TierFigures {
    /// Versions whose body has moved there.
    pub moved: AtomicU64,
    /// Bytes of these.
    pub moved_bytes: AtomicU64,
    /// Bytes that were read there.
    pub read_bytes: AtomicU64,
    /// Bodies that were deleted there.
    pub deleted: AtomicU64,
    /// Requests that failed.
    pub failed: AtomicU64,
    /// `true` while it does not take what it gets.
    pub is_failing: AtomicBool,
    last_error: Mutex<Option<String>>,
}

impl TierFigures {
    /// The last failure in one line, until the next success.
    pub fn last_error(&self) -> Option<String> {
        self.last_error.lock().clone()
    }

    /// Notes a failure.
    pub fn note_failure(&self, line: &str) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        *self.last_error.lock() = Some(line.chars().take(ERROR_CHARACTERS_MAX).collect());
    }

    /// Notes a success.
    pub fn note_success(&self) {
        if self.is_failing.swap(false, Ordering::Relaxed) {
            *self.last_error.lock() = None;
        }
    }
}

/// A tier with its figures, which outlive a change of its credentials.
type Known = (Arc<Tier>, Arc<TierFigures>);

/// All tiers.
#[derive(Debug, Default)]
pub struct Tiers {
    by_name: RwLock<BTreeMap<String, Known>>,
}

impl Tiers {
    /// These tiers.
    #[must_use]
    pub fn new(tiers: Vec<Tier>) -> Tiers {
        let known = |tier: Tier| (tier.name.clone(), (Arc::new(tier), Arc::default()));
        Tiers { by_name: RwLock::new(tiers.into_iter().map(known).collect()) }
    }

    /// The tier with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<(Arc<Tier>, Arc<TierFigures>)> {
        self.by_name.read().get(name).cloned()
    }

    /// All tiers with their figures, in the order of their names.
    #[must_use]
    pub fn all(&self) -> Vec<(Arc<Tier>, Arc<TierFigures>)> {
        self.by_name.read().values().cloned().collect()
    }

    /// The name of the tier that a storage class stands for: that with its name, or the first one
    /// that lists it.
    #[must_use]
    pub fn of_class(&self, class: &str) -> Option<String> {
        let by_name = self.by_name.read();
        let lists = |(tier, _): &&Known| tier.classes.iter().any(|listed| listed == class);
        let found = by_name.get(class).or_else(|| by_name.values().find(lists));
        found.map(|(tier, _)| tier.name.clone())
    }

    /// Replaces the tiers that were added at run time. Configured ones with the same name stay.
    pub fn replace_made(&self, made: Vec<Tier>) {
        let mut by_name = self.by_name.write();
        by_name.retain(|name, (tier, _)| !tier.is_made || made.iter().any(|it| it.name == *name));
        for tier in made {
            let known = by_name.get(&tier.name).cloned();
            match known {
                Some((known, _)) if !known.is_made || *known == tier => {}
                known => {
                    let figures = known.map(|(_, figures)| figures).unwrap_or_default();
                    by_name.insert(tier.name.clone(), (Arc::new(tier), figures));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(name: &str, classes: &[&str]) -> Tier {
        Tier {
            name: name.to_owned(),
            kind: TierKind::S3,
            url: "http://localhost:9".to_owned(),
            bucket: "cold".to_owned(),
            prefix: "/a/".to_owned(),
            access_key: "user".to_owned(),
            secret_key: "hush".to_owned(),
            region: None,
            storage_class: None,
            classes: classes.iter().map(|class| (*class).to_owned()).collect(),
            is_made: false,
        }
    }

    #[test]
    fn a_tier_is_checked_and_shows_no_secret() {
        let checked = tier("COLD", &["GLACIER"]).checked().expect("valid");
        assert_eq!(checked.prefix, "a/");
        assert!(!format!("{checked:?}").contains("hush"));
        for name in ["", "cold", "GLACIER", "STANDARD", "A B"] {
            tier(name, &[]).checked().expect_err(name);
        }
        tier("COLD", &["STANDARD"]).checked().expect_err("no class that stands for a tier");
        let with_user = Tier { url: "http://me:hush@localhost".to_owned(), ..tier("COLD", &[]) };
        assert!(!with_user.checked().expect_err("a user").contains("hush"));
    }

    #[test]
    fn a_class_stands_for_a_tier_and_made_ones_replace_no_configured_one() {
        let tiers = Tiers::new(vec![tier("COLD", &["GLACIER"])]);
        assert_eq!(tiers.of_class("COLD").as_deref(), Some("COLD"));
        assert_eq!(tiers.of_class("GLACIER").as_deref(), Some("COLD"));
        assert_eq!(tiers.of_class("STANDARD_IA"), None);
        let made = |name| Tier { is_made: true, bucket: "made".to_owned(), ..tier(name, &[]) };
        tiers.replace_made(vec![made("COLD"), made("WARM")]);
        assert_eq!(tiers.get("COLD").expect("configured").0.bucket, "cold");
        assert_eq!(tiers.get("WARM").expect("made").0.bucket, "made");
        tiers.replace_made(Vec::new());
        assert!(tiers.get("WARM").is_none() && tiers.get("COLD").is_some());
    }
}
