//! The stored records of users, groups, roles, policies and identity providers: JSON, under a key
//! made of kind, account and name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) use super::tag_set::Tags;
use liteio_policy::{Kind, Policy, PolicyError};
use liteio_store::BucketId;

/// A policy document: its source text and its parsed form.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) text: String,
    pub(super) policy: Arc<Policy>,
}

impl Document {
    /// A policy for an identity.
    pub(super) fn of_identity(text: &str) -> Result<Document, PolicyError> {
        Document::new(text, Policy::parse(text.as_bytes(), Kind::Identity))
    }

    /// A new managed policy, which has the newest version of the language: IAM still takes older
    /// ones for inline policies.
    pub(super) fn of_managed(text: &str) -> Result<Document, PolicyError> {
        Document::new(text, Policy::parse_managed(text.as_bytes()))
    }

    /// A trust policy of a role.
    pub(super) fn of_trust(text: &str) -> Result<Document, PolicyError> {
        Document::new(text, Policy::parse(text.as_bytes(), Kind::Trust))
    }

    fn new(text: &str, policy: Result<Policy, PolicyError>) -> Result<Document, PolicyError> {
        Ok(Document { text: text.to_owned(), policy: Arc::new(policy?) })
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        let document = Document::of_identity(&String::deserialize(deserializer)?);
        document.map_err(|error| D::Error::custom(error.explained()))
    }
}

fn trust<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
    Document::of_trust(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// The policies of a user, a group or a role.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Policies {
    /// Inline policies, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) inline: BTreeMap<String, Document>,
    /// Managed policies, by ARN.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) attached: BTreeSet<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A kind of record.
pub(super) trait Record: Serialize + DeserializeOwned + Clone + Send + Sync {
    /// The kind, which begins the key of a record.
    const KIND: &'static str;

    /// The name, unique in its account ignoring case.
    fn name(&self) -> &str;
}

macro_rules! records {
    ($($record:ident $kind:literal $name:ident;)*) => {
        $(impl Record for $record {
            const KIND: &'static str = $kind;

            fn name(&self) -> &str {
                &self.$name
            }
        })*
    };
}

records! {
    UserRecord "user" name;
    GroupRecord "group" name;
    RoleRecord "role" name;
    PolicyRecord "policy" name;
    ProviderRecord "provider" url;
    ServiceKeyRecord "key" id;
    RemoteRecord "remote" arn;
    TierRecord "tier" name;
}

/// A user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UserRecord {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) id: String,
    /// The creation time in seconds since 1970, like all times here.
    pub(super) created: i64,
    #[serde(default)]
    pub(super) keys: Vec<KeyRecord>,
    /// All of its keys and sessions are refused.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) disabled: bool,
    #[serde(default)]
    pub(super) policies: Policies,
    #[serde(default)]
    pub(super) tags: Tags,
}

/// An access key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeyRecord {
    pub(super) id: String,
    /// The sealed secret in base64.
    pub(super) secret: String,
    pub(super) active: bool,
    pub(super) created: i64,
}

/// An access key of any user, including the root user, that may have fewer rights than its user: a
/// service account in MinIO's terms. It has its own record kind, which older programs skip.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ServiceKeyRecord {
    pub(super) id: String,
    /// The sealed secret, as in [`KeyRecord`].
    pub(super) secret: String,
    pub(super) active: bool,
    pub(super) created: i64,
    /// The unique id of its user; for a root user, the account.
    pub(super) owner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    /// The time from which it is refused, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<i64>,
    /// Narrows the rights of its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) policy: Option<Document>,
}

/// A target of replication, added at run time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RemoteRecord {
    pub(super) arn: String,
    pub(super) url: String,
    pub(super) bucket: String,
    /// The name of the bucket that is copied to it, and its number.
    pub(super) source: String,
    pub(super) source_id: BucketId,
    pub(super) access_key: String,
    /// The sealed secret, as in [`KeyRecord`].
    pub(super) secret: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<String>,
    pub(super) created: i64,
}

/// A tier, added at run time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TierRecord {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) url: String,
    pub(super) bucket: String,
    pub(super) prefix: String,
    pub(super) access_key: String,
    /// The sealed secret, as in [`KeyRecord`].
    pub(super) secret: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) storage_class: Option<String>,
    pub(super) created: i64,
}

/// A group of users.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GroupRecord {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) id: String,
    pub(super) created: i64,
    /// The unique ids of its members.
    #[serde(default)]
    pub(super) members: BTreeSet<String>,
    /// Its policies do not apply.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) disabled: bool,
    #[serde(default)]
    pub(super) policies: Policies,
}

/// A role.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RoleRecord {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) id: String,
    pub(super) created: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    pub(super) session_seconds_max: u32,
    #[serde(deserialize_with = "trust")]
    pub(super) trust: Document,
    #[serde(default)]
    pub(super) policies: Policies,
    #[serde(default)]
    pub(super) tags: Tags,
}

/// A managed policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PolicyRecord {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) updated: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    pub(super) versions: Vec<VersionRecord>,
    /// The numbers of the default version, and of the next one.
    pub(super) default: u32,
    pub(super) next: u32,
    #[serde(default)]
    pub(super) tags: Tags,
}

/// A version of a managed policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct VersionRecord {
    pub(super) number: u32,
    pub(super) created: i64,
    pub(super) document: Document,
}

impl PolicyRecord {
    /// The default version.
    pub(super) fn current(&self) -> Option<&VersionRecord> {
        self.versions.iter().find(|version| version.number == self.default)
    }
}

/// A provider of web identities (OpenID Connect).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ProviderRecord {
    /// The URL without its scheme, as in ARNs.
    pub(super) url: String,
    pub(super) created: i64,
    #[serde(default)]
    pub(super) client_ids: Vec<String>,
    #[serde(default)]
    pub(super) thumbprints: Vec<String>,
    #[serde(default)]
    pub(super) tags: Tags,
}
