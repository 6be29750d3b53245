//! The resource of a request as condition keys: its account, and the tags of the object.

use std::borrow::Cow;

use liteio_store::{Bucket, ObjectVersion};

use liteio_identity::User;
use liteio_policy::{Context, ContextKey, Value};

/// The context of a request, extended by facts about its resource.
pub(super) struct WithResource<'c> {
    pub(super) user: Option<&'c User>,
    pub(super) bucket: &'c Bucket,
    /// The existing object, if the decision read it.
    pub(super) object: Option<&'c ObjectVersion>,
    pub(super) context: &'c dyn Context,
}

impl Context for WithResource<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        match key {
            ContextKey::ExistingObjectTag(name) => {
                let tags = self.object.into_iter().flat_map(|object| &object.metadata.tags);
                let found = tags.into_iter().find(|(tag, _)| **tag == **name);
                found.map_or(Value::None, |(_, value)| Value::One(Cow::Borrowed(value)))
            }
            // Only the number of the sender's own account is known here.
            ContextKey::ResourceAccount | ContextKey::S3ResourceAccount => {
                let owner = self.user.filter(|user| user.is_of(&self.bucket.owner.id));
                Value::of(owner.map(|user| &*user.caller.account))
            }
            key => self.context.value(key),
        }
    }
}

/// The context for the question whether the sender may list a key.
pub(super) struct ListingOf<'c> {
    pub(super) key: &'c str,
    pub(super) delimiter: Option<&'c str>,
    pub(super) context: &'c (dyn Context + Sync),
}

impl Context for ListingOf<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        match key {
            ContextKey::S3Prefix => Value::text(self.key),
            ContextKey::S3Delimiter if self.delimiter.is_some() => Value::of(self.delimiter),
            key => self.context.value(key),
        }
    }
}
