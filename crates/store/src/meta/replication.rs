//! Replication of a bucket: its rules, the state of a version, and the rows of the queue.

use serde::{Deserialize, Serialize};

use super::record::{self, Sealed};
use crate::encryption::EncryptionScheme;
use crate::error::StoreError;
use crate::name::BucketId;

/// The replication configuration of a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replication {
    /// Rules, those of a higher priority first.
    pub rules: Vec<ReplicationRule>,
    /// Document from which they were read. Clients get it back.
    pub document: Vec<u8>,
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicationRule {
    /// Id, unique in the bucket.
    pub id: String,
    /// `false` for a rule that selects nothing.
    pub is_enabled: bool,
    /// Priority, unique in the bucket.
    pub priority: i32,
    /// Prefix of the key.
    pub prefix: String,
    /// Tags that an object must have.
    pub tags: Vec<(String, String)>,
    /// ARN of the target.
    pub target: String,
    /// `true` if delete markers are copied.
    pub copies_markers: bool,
    /// `true` if deletions of versions are repeated at the target: MinIO's extension.
    pub copies_deletions: bool,
    /// `true` if versions from before the rule are copied.
    pub copies_existing: bool,
    /// `true` if changes of the metadata of replicas are copied.
    pub copies_changed_replicas: bool,
    /// `true` if objects encrypted with a named key are copied.
    pub copies_named_encryption: bool,
    /// Storage class of the copies; `None` for the one of the source.
    pub storage_class: Option<String>,
}

impl ReplicationRule {
    fn matches(&self, key: &str, tags: &[(String, String)]) -> bool {
        self.is_enabled
            && key.starts_with(&self.prefix)
            && self.tags.iter().all(|tag| tags.contains(tag))
    }
}

impl ReplicationRule {
    /// `true` if objects with this encryption are copied. As on AWS, those under the key of a client
    /// are not, since the server does not have it, and those under a named key only on request.
    pub(crate) fn copies(&self, encryption: Option<&EncryptionScheme>) -> bool {
        match encryption {
            None | Some(EncryptionScheme::Master) => true,
            Some(EncryptionScheme::Named { .. }) => self.copies_named_encryption,
            Some(EncryptionScheme::Customer) => false,
        }
    }
}

impl Replication {
    /// The rules that select a version, at most one for each target: the one of the highest
    /// priority.
    pub fn rules_for<'a>(
        &'a self,
        key: &str,
        tags: &[(String, String)],
    ) -> Vec<&'a ReplicationRule> {
        let mut found: Vec<&ReplicationRule> = Vec::new();
        for rule in &self.rules {
            if rule.matches(key, tags) && found.iter().all(|other| other.target != rule.target) {
                found.push(rule);
            }
        }
        found
    }

    /// The ARNs of all targets, each once.
    pub fn targets(&self) -> Vec<&str> {
        let mut targets: Vec<&str> = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.is_enabled) {
            if !targets.contains(&&*rule.target) {
                targets.push(&rule.target);
            }
        }
        targets
    }
}

/// The replication status of a version, as `x-amz-replication-status` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicationStatus {
    /// A copy is queued.
    Pending,
    /// Every target has it.
    Completed,
    /// A target refuses it. The copy is tried again.
    Failed,
    /// The version is a copy.
    Replica,
}

impl ReplicationStatus {
    /// The text of the header.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Replica => "REPLICA",
        }
    }
}

/// The state of one version: an extension of its record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VersionReplication {
    pub(crate) is_replica: bool,
    /// Times of the last changes of tags, retention and legal hold, in milliseconds since 1970.
    /// 0 for none since the version was made.
    pub(crate) changes: ChangeTimes,
    pub(crate) copies: Vec<CopyState>,
}

/// Times of the last changes of a version's metadata, in milliseconds since 1970: of two stores
/// that change the same version, the later change wins in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeTimes {
    /// Tags.
    pub tags_ms: u64,
    /// Retention.
    pub retention_ms: u64,
    /// Legal hold.
    pub legal_hold_ms: u64,
}

/// The state of the copy of a version at one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyState {
    pub(crate) target: String,
    /// Number of the last row that was queued for it.
    pub(crate) row: u64,
    pub(crate) status: ReplicationStatus,
    /// `true` if the target has the version, though its tags or lock may be out of date.
    pub(crate) is_sent: bool,
    /// The version id of the copy, if the target chose one.
    pub(crate) version: Option<String>,
}

impl VersionReplication {
    /// The status as a whole; `None` if nothing copies the version.
    pub(crate) fn status(&self) -> Option<ReplicationStatus> {
        let has = |status| self.copies.iter().any(|copy| copy.status == status);
        match () {
            () if has(ReplicationStatus::Failed) => Some(ReplicationStatus::Failed),
            () if has(ReplicationStatus::Pending) => Some(ReplicationStatus::Pending),
            () if self.is_replica => Some(ReplicationStatus::Replica),
            () if self.copies.is_empty() => None,
            () => Some(ReplicationStatus::Completed),
        }
    }

    pub(crate) fn copy(&self, target: &str) -> Option<&CopyState> {
        self.copies.iter().find(|copy| copy.target == target)
    }

    /// Notes that the row `row` was queued for a target.
    pub(crate) fn queued(&mut self, target: &str, row: u64) {
        match self.copies.iter_mut().find(|copy| copy.target == target) {
            Some(copy) => {
                copy.row = row;
                copy.status = ReplicationStatus::Pending;
            }
            None => self.copies.push(CopyState {
                target: target.to_owned(),
                row,
                status: ReplicationStatus::Pending,
                is_sent: false,
                version: None,
            }),
        }
    }
}

/// The task of a row of the queue.
// The order is part of the record format: add at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicationTask {
    /// Bring the version, its tags and its lock to the target.
    Version {
        /// `true` to send it also if the target is said to have it.
        again: bool,
    },
    /// Delete the version at the target.
    Delete {
        /// The version id of the copy, if the target chose one.
        version: Option<String>,
    },
}

/// A row of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicationRow {
    pub(crate) bucket: BucketId,
    pub(crate) bucket_name: String,
    /// Key of the object.
    pub key: String,
    /// The stamp of the version.
    pub stamp: [u8; 16],
    /// `true` for the version `null`.
    pub is_null: bool,
    /// The task.
    pub task: ReplicationTask,
}

impl ReplicationRow {
    /// The number of the bucket.
    #[must_use]
    pub fn bucket_number(&self) -> BucketId {
        self.bucket
    }

    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(1, place, self, &[])
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "a row of the queue of replication";
        record::split_version(bytes, 1)?;
        Sealed::open(place, bytes, WHAT)?.decode(WHAT)
    }
}

/// Version of the record of a cancelled resynchronization. Its fields are those of version 1.
const CANCELLED: u8 = 2;

/// A walk over the versions of a bucket that queues them for one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resync {
    /// Id, as MinIO's clients name it.
    pub id: String,
    /// ARN of the target.
    pub target: String,
    pub(crate) bucket: BucketId,
    pub(crate) bucket_name: String,
    /// `true` to queue also what the target is said to have.
    pub again: bool,
    /// Only versions older than this time, in milliseconds since 1970.
    pub before_ms: u64,
    /// Time of its begin, in milliseconds since 1970.
    pub started_ms: u64,
    /// Time of its last step, in milliseconds since 1970.
    pub stepped_ms: u64,
    /// Number of the pass: history, current versions, history again.
    pub(crate) pass: u8,
    /// The record key of the last version that the pass looked at.
    pub(crate) position: Option<Vec<u8>>,
    /// Versions looked at.
    pub seen: u64,
    /// Versions queued.
    pub queued: u64,
    /// Bytes of the versions queued.
    pub bytes: u64,
    /// `true` once all versions were looked at, or it was cancelled.
    pub is_done: bool,
    /// `true` if it was cancelled, which a version of the record of its own tells.
    #[serde(skip)]
    pub is_cancelled: bool,
}

impl Resync {
    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        let version = if self.is_cancelled { CANCELLED } else { 1 };
        record::seal(version, place, self, &[])
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "the record of a resynchronization";
        let (version, _) = record::split_version(bytes, CANCELLED)?;
        let resync: Self = Sealed::open(place, bytes, WHAT)?.decode(WHAT)?;
        Ok(Self { is_cancelled: version == CANCELLED, ..resync })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(priority: i32, prefix: &str, tags: &[(&str, &str)], target: &str) -> ReplicationRule {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        ReplicationRule {
            id: priority.to_string(),
            is_enabled: true,
            priority,
            prefix: prefix.to_owned(),
            tags: tags.iter().map(owned).collect(),
            target: target.to_owned(),
            ..ReplicationRule::default()
        }
    }

    #[test]
    fn each_target_has_the_rule_of_the_highest_priority() {
        let rules = vec![
            rule(3, "a/", &[("k", "v")], "one"),
            rule(2, "a/", &[], "one"),
            rule(1, "", &[], "two"),
            ReplicationRule { is_enabled: false, ..rule(0, "", &[], "three") },
        ];
        let replication = Replication { rules, document: Vec::new() };
        let ids = |key: &str, tags: &[(String, String)]| -> Vec<String> {
            replication.rules_for(key, tags).iter().map(|rule| rule.id.clone()).collect()
        };
        let tag = [("k".to_owned(), "v".to_owned())];
        assert_eq!(ids("a/b", &tag), ["3", "1"]);
        assert_eq!(ids("a/b", &[]), ["2", "1"]);
        assert_eq!(ids("b", &tag), ["1"]);
        assert_eq!(replication.targets(), ["one", "two"]);
    }

    #[test]
    fn a_cancelled_walk_is_one_after_decoding() {
        for is_cancelled in [false, true] {
            let resync = Resync {
                id: "walk".to_owned(),
                target: "arn".to_owned(),
                bucket: BucketId(3),
                bucket_name: "bucket".to_owned(),
                again: true,
                before_ms: 1,
                started_ms: 2,
                stepped_ms: 3,
                pass: 1,
                position: Some(vec![4]),
                seen: 5,
                queued: 6,
                bytes: 7,
                is_done: is_cancelled,
                is_cancelled,
            };
            let encoded = resync.encode(b"place");
            assert_eq!(encoded[0], if is_cancelled { 2 } else { 1 });
            assert_eq!(Resync::decode(b"place", &encoded).expect("own bytes"), resync);
        }
    }

    #[test]
    fn a_version_is_completed_when_every_target_has_it() {
        let mut state = VersionReplication::default();
        assert_eq!(state.status(), None);
        state.queued("one", 1);
        state.queued("two", 2);
        assert_eq!(state.status(), Some(ReplicationStatus::Pending));
        state.copies[0].status = ReplicationStatus::Completed;
        assert_eq!(state.status(), Some(ReplicationStatus::Pending));
        state.copies[1].status = ReplicationStatus::Failed;
        assert_eq!(state.status(), Some(ReplicationStatus::Failed));
        state.queued("two", 3);
        assert_eq!(state.status(), Some(ReplicationStatus::Pending));
        state.copies[1].status = ReplicationStatus::Completed;
        assert_eq!(state.status(), Some(ReplicationStatus::Completed));
        let replica = VersionReplication { is_replica: true, ..VersionReplication::default() };
        assert_eq!(replica.status(), Some(ReplicationStatus::Replica));
    }
}
