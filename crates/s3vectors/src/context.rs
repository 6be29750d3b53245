//! An S3 Vectors request as the context of policy conditions.

use std::borrow::Cow;
use std::sync::Arc;

use http::HeaderMap;
use liteio_store::vectors::Encryption;

use liteio_access::circumstances;
use liteio_policy::{Context, ContextKey, Value};
use liteio_wire::origin::Origin;

/// The parts of a request head that authorization may use.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) origin: Option<Arc<Origin>>,
    pub(super) headers: HeaderMap,
}

/// A request head, and the values from its body that conditions may test.
pub(super) struct Asked<'a> {
    pub(super) sent: &'a Sent,
    /// The tags to set.
    pub(super) tags: &'a [(String, String)],
    /// The keys of the tags to set or remove.
    pub(super) tag_keys: Vec<&'a str>,
    /// The encryption of the resource to create.
    pub(super) encryption: Option<&'a Encryption>,
}

impl<'a> Asked<'a> {
    /// A request that sets no tags and creates nothing.
    pub(super) fn plain(sent: &'a Sent) -> Asked<'a> {
        Asked { sent, tags: &[], tag_keys: Vec::new(), encryption: None }
    }

    /// A request that sets these tags.
    pub(super) fn with_tags(sent: &'a Sent, tags: &'a [(String, String)]) -> Asked<'a> {
        let tag_keys = tags.iter().map(|(key, _)| key.as_str()).collect();
        Asked { sent, tags, tag_keys, encryption: None }
    }
}

impl Context for Asked<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        match key {
            ContextKey::RequestTag(name) => {
                let tag = self.tags.iter().find(|(key, _)| **key == **name);
                Value::of(tag.map(|(_, value)| value.as_str()))
            }
            ContextKey::TagKeys if self.tag_keys.is_empty() => Value::None,
            ContextKey::TagKeys => {
                Value::Many(self.tag_keys.iter().map(|key| Cow::Borrowed(*key)).collect())
            }
            ContextKey::S3VectorsSseType => {
                Value::of(self.encryption.map(|encryption| encryption.kind.as_str()))
            }
            ContextKey::S3VectorsKmsKeyArn => {
                Value::of(self.encryption.and_then(|encryption| encryption.kms_key.as_deref()))
            }
            key => circumstances::value(key, self.sent.origin.as_deref(), &self.sent.headers),
        }
    }
}
