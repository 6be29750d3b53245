//! The tags of the object that a request is about, as condition keys.

use std::borrow::Cow;

use liteio_store::ObjectVersion;

use crate::policy::{Context, ContextKey, Value};

/// The context of a request, with the tags of the object that is there.
pub(super) struct WithExistingTags<'c> {
    pub(super) object: Option<&'c ObjectVersion>,
    pub(super) context: &'c dyn Context,
}

impl Context for WithExistingTags<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        match key {
            ContextKey::ExistingObjectTag(name) => {
                let tags = self.object.into_iter().flat_map(|object| &object.metadata.tags);
                let found = tags.into_iter().find(|(tag, _)| **tag == **name);
                found.map_or(Value::None, |(_, value)| Value::One(Cow::Borrowed(value)))
            }
            key => self.context.value(key),
        }
    }
}
