//! A request of the catalog as the context of policy conditions.

use std::borrow::Cow;

use super::Sent;
use liteio_access::circumstances;
use liteio_policy::{Context, ContextKey, Value};

/// The tags that a request sets, or the keys of those that it removes, with empty values.
#[derive(Debug)]
pub(crate) struct RequestTags {
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) are_set: bool,
}

/// The head of a request, and the tags that it is about.
pub(crate) struct Asked<'a>(pub(crate) &'a Sent);

impl Context for Asked<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        let tags = self.0.tags.get();
        match (key, tags) {
            (ContextKey::RequestTag(name), Some(RequestTags { tags, are_set: true })) => {
                let tag = tags.iter().find(|(key, _)| **key == **name);
                Value::of(tag.map(|(_, value)| value.as_str()))
            }
            (ContextKey::TagKeys, Some(RequestTags { tags, .. })) if !tags.is_empty() => {
                Value::Many(tags.iter().map(|(key, _)| Cow::Borrowed(key.as_str())).collect())
            }
            _ => circumstances::value(key, self.0.origin.as_deref(), &self.0.headers),
        }
    }
}
