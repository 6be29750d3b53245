//! The columns of inventories, by their names in CSV and Parquet, and their values.

use std::sync::Arc;

use liteio_access::object_ownership;
use liteio_policy::acl::{Acl, Grantee, decode};
use liteio_s3::bucket_inventory::checksum_name;
use liteio_store::{
    Bucket, ETag, EncryptionScheme, EventHold, LegalHold, ListedObject, ObjectVersion,
    RetentionMode, Subject, VersionId,
};
use serde_json::{Value, json};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Flag,
    Number,
    /// Milliseconds since 1970.
    Time,
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Bucket,
    Key,
    VersionId,
    IsLatest,
    IsDeleteMarker,
    Size,
    LastModifiedDate,
    ETag,
    StorageClass,
    IsMultipartUploaded,
    ReplicationStatus,
    EncryptionStatus,
    RetainUntilDate,
    LockMode,
    LegalHoldStatus,
    EventHoldStatus,
    AccessTier,
    BucketKeyStatus,
    ChecksumAlgorithm,
    AccessControlList,
    Owner,
    ExpirationDate,
}

/// The value of a column in one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Null,
    Text(String),
    Flag(bool),
    Number(i64),
    /// Milliseconds since 1970.
    Time(i64),
}

/// The columns, in their order: name in CSV and in a configuration, name in Parquet, type.
const COLUMNS: [(Column, &str, &str, Kind); 22] = [
    (Column::Bucket, "Bucket", "bucket", Kind::Text),
    (Column::Key, "Key", "key", Kind::Text),
    (Column::VersionId, "VersionId", "version_id", Kind::Text),
    (Column::IsLatest, "IsLatest", "is_latest", Kind::Flag),
    (Column::IsDeleteMarker, "IsDeleteMarker", "is_delete_marker", Kind::Flag),
    (Column::Size, "Size", "size", Kind::Number),
    (Column::LastModifiedDate, "LastModifiedDate", "last_modified_date", Kind::Time),
    (Column::ETag, "ETag", "e_tag", Kind::Text),
    (Column::StorageClass, "StorageClass", "storage_class", Kind::Text),
    (Column::IsMultipartUploaded, "IsMultipartUploaded", "is_multipart_uploaded", Kind::Flag),
    (Column::ReplicationStatus, "ReplicationStatus", "replication_status", Kind::Text),
    (Column::EncryptionStatus, "EncryptionStatus", "encryption_status", Kind::Text),
    (
        Column::RetainUntilDate,
        "ObjectLockRetainUntilDate",
        "object_lock_retain_until_date",
        Kind::Time,
    ),
    (Column::LockMode, "ObjectLockMode", "object_lock_mode", Kind::Text),
    (
        Column::LegalHoldStatus,
        "ObjectLockLegalHoldStatus",
        "object_lock_legal_hold_status",
        Kind::Text,
    ),
    (
        Column::EventHoldStatus,
        "ObjectLockEventHoldStatus",
        "object_lock_event_hold_status",
        Kind::Text,
    ),
    (
        Column::AccessTier,
        "IntelligentTieringAccessTier",
        "intelligent_tiering_access_tier",
        Kind::Text,
    ),
    (Column::BucketKeyStatus, "BucketKeyStatus", "bucket_key_status", Kind::Text),
    (Column::ChecksumAlgorithm, "ChecksumAlgorithm", "checksum_algorithm", Kind::Text),
    (
        Column::AccessControlList,
        "ObjectAccessControlList",
        "object_access_control_list",
        Kind::Text,
    ),
    (Column::Owner, "ObjectOwner", "object_owner", Kind::Text),
    (Column::ExpirationDate, "LifecycleExpirationDate", "lifecycle_expiration_date", Kind::Time),
];

impl Column {
    /// The columns of an inventory: of all versions or of current objects, with these optional ones.
    pub(super) fn chosen(has_versions: bool, optional: &[String]) -> Vec<Column> {
        let is_chosen = |column: Column, name: &str| match column {
            Column::Bucket | Column::Key => true,
            Column::VersionId | Column::IsLatest | Column::IsDeleteMarker => has_versions,
            _ => optional.iter().any(|it| it == name),
        };
        let chosen = COLUMNS.iter().filter(|(column, name, ..)| is_chosen(*column, name));
        chosen.map(|(column, ..)| *column).collect()
    }

    fn row(self) -> &'static (Column, &'static str, &'static str, Kind) {
        // Every column is in the table, in the order of the variants.
        COLUMNS.iter().find(|(column, ..)| *column == self).unwrap_or(&COLUMNS[0])
    }

    /// The name in CSV.
    pub(super) fn name(self) -> &'static str {
        self.row().1
    }

    /// The name in Parquet.
    pub(super) fn parquet_name(self) -> &'static str {
        self.row().2
    }

    pub(super) fn kind(self) -> Kind {
        self.row().3
    }

    /// `true` if every row has a value.
    pub(super) fn is_required(self) -> bool {
        matches!(self, Column::Bucket | Column::Key)
    }

    /// `true` if a listing lacks the value, so that the object is looked up.
    fn needs_object(self) -> bool {
        matches!(
            self,
            Column::EncryptionStatus
                | Column::RetainUntilDate
                | Column::LockMode
                | Column::LegalHoldStatus
                | Column::EventHoldStatus
                | Column::BucketKeyStatus
                | Column::AccessControlList
                | Column::ReplicationStatus
                | Column::Owner
                | Column::ExpirationDate
        )
    }
}

/// `true` if one of these columns needs the object itself.
pub(super) fn need_object(columns: &[Column]) -> bool {
    columns.iter().any(|column| column.needs_object())
}

/// A version of an object, or a delete marker.
#[derive(Clone, Debug)]
pub(super) struct Row<'s> {
    pub(super) bucket: &'s Arc<Bucket>,
    pub(super) listed: &'s ListedObject,
    pub(super) is_delete_marker: bool,
    /// The object, if columns need it.
    pub(super) object: Option<&'s ObjectVersion>,
    /// The length of a day of the lifecycle, in milliseconds.
    pub(super) day_ms: u64,
    /// The time of the row, in milliseconds since 1970: an event hold moves the end of a retention.
    pub(super) now_ms: u64,
}

impl Row<'_> {
    /// The value of a column.
    pub(super) fn cell(&self, column: Column) -> Cell {
        let listed = self.listed;
        // A delete marker has no contents.
        let of_contents = |cell: Cell| if self.is_delete_marker { Cell::Null } else { cell };
        match column {
            Column::Bucket => text(self.bucket.name.as_str()),
            Column::Key => text(&listed.key),
            Column::VersionId => match listed.version_id {
                VersionId::Null => Cell::Null,
                id => text(&id.to_string()),
            },
            Column::IsLatest => Cell::Flag(listed.is_latest),
            Column::IsDeleteMarker => Cell::Flag(self.is_delete_marker),
            Column::Size => of_contents(Cell::Number(number(listed.bytes))),
            Column::LastModifiedDate => Cell::Time(number(listed.modified_ms)),
            Column::ETag => of_contents(text(&listed.etag.to_string())),
            Column::StorageClass => {
                of_contents(text(listed.storage_class.as_deref().unwrap_or("STANDARD")))
            }
            Column::IsMultipartUploaded => {
                of_contents(Cell::Flag(matches!(listed.etag, ETag::Multipart { .. })))
            }
            // There is no intelligent tiering.
            Column::AccessTier => Cell::Null,
            Column::ChecksumAlgorithm => {
                let algorithm = listed.checksum.map(|(algorithm, _)| checksum_name(algorithm));
                of_contents(algorithm.map_or(Cell::Null, text))
            }
            _ => match self.object {
                Some(object) if !self.is_delete_marker => self.of_object(column, object),
                _ => Cell::Null,
            },
        }
    }

    fn of_object(&self, column: Column, object: &ObjectVersion) -> Cell {
        match column {
            Column::EncryptionStatus => text(match &object.encryption {
                None => "NOT-SSE",
                Some(EncryptionScheme::Master) => "SSE-S3",
                Some(EncryptionScheme::Named { .. }) => "SSE-KMS",
                Some(EncryptionScheme::Customer) => "SSE-C",
            }),
            Column::BucketKeyStatus => match &object.encryption {
                Some(EncryptionScheme::Named { bucket_key: true, .. }) => text("ENABLED"),
                _ => text("DISABLED"),
            },
            Column::RetainUntilDate => {
                let retention = object.lock.retention_at(self.now_ms);
                retention.map_or(Cell::Null, |it| Cell::Time(number(it.until_ms)))
            }
            Column::LockMode => match object.lock.retention.map(|it| it.mode) {
                None => Cell::Null,
                Some(RetentionMode::Governance) => text("GOVERNANCE"),
                Some(RetentionMode::Compliance) => text("COMPLIANCE"),
            },
            Column::EventHoldStatus => match object.lock.event_hold {
                EventHold::On(_) => text("ON"),
                EventHold::Off => text("OFF"),
                EventHold::Never => Cell::Null,
            },
            Column::LegalHoldStatus => match object.lock.legal_hold {
                LegalHold::On => text("ON"),
                LegalHold::Off => text("OFF"),
                LegalHold::Never => Cell::Null,
            },
            Column::ReplicationStatus => {
                object.replication.map_or(Cell::Null, |status| text(status.name()))
            }
            Column::Owner => text(&self.owner(object).0),
            Column::AccessControlList => access_control_list(&self.owner(object)),
            Column::ExpirationDate => self.expiration(object),
            _ => Cell::Null,
        }
    }

    /// The canonical id of the owner, and the ACL where it counts.
    fn owner(&self, object: &ObjectVersion) -> (String, Option<Acl>) {
        match object_ownership(self.bucket) {
            Ok(ownership) if ownership.acls_count() => {
                let acl = object.acl.as_deref().and_then(|acl| decode(acl).ok());
                (object.owner.id.clone(), acl)
            }
            _ => (self.bucket.owner.id.clone(), None),
        }
    }

    fn expiration(&self, object: &ObjectVersion) -> Cell {
        let lifecycle = self.bucket.settings.lifecycle.as_ref().filter(|_| self.listed.is_latest);
        let Some(lifecycle) = lifecycle else { return Cell::Null };
        let key = object.key.as_str();
        let subject = Subject { key, bytes: Some(object.bytes), tags: &object.metadata.tags };
        let due = lifecycle.expiration(&subject, object.modified_ms, self.day_ms);
        due.map_or(Cell::Null, |due| Cell::Time(number(due.at_ms)))
    }
}

/// The ACL as AWS has it in inventories: JSON in base64.
fn access_control_list((owner, acl): &(String, Option<Acl>)) -> Cell {
    let of_owner =
        || json!({ "canonicalId": owner, "type": "CanonicalUser", "permission": "FULL_CONTROL" });
    let grants: Vec<Value> = match acl {
        None => vec![of_owner()],
        Some(acl) => acl
            .grants()
            .iter()
            .map(|grant| {
                let permission = grant.permission.name();
                match &grant.grantee {
                    Grantee::Account { id, .. } => {
                        json!({ "canonicalId": id, "type": "CanonicalUser", "permission": permission })
                    }
                    Grantee::Group(group) => {
                        json!({ "uri": group.uri(), "type": "Group", "permission": permission })
                    }
                }
            })
            .collect(),
    };
    let list = json!({ "version": "2022-11-10", "status": "AVAILABLE", "grants": grants });
    Cell::Text(base64_simd::STANDARD.encode_to_string(list.to_string()))
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
