//! The tags of a user, role, policy or identity provider.

use std::collections::{BTreeMap, btree_map};

use serde::{Deserialize, Deserializer, Serialize};

/// Tags, sorted by key. No two keys differ by case only: conditions ignore the case of a key, so
/// one reader would see the value of one, and another reader that of the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Tags(BTreeMap<String, String>);

impl Tags {
    /// Adds a tag that no key equals, ignoring case.
    ///
    /// # Errors
    /// There is such a key, which is returned.
    pub(super) fn add(&mut self, key: &str, value: &str) -> Result<(), String> {
        match self.same(key) {
            Some(known) => Err(known.to_owned()),
            None => {
                self.0.insert(key.to_owned(), value.to_owned());
                Ok(())
            }
        }
    }

    /// Sets a tag. It replaces the tag whose key is equal, ignoring case.
    pub(super) fn set(&mut self, key: String, value: String) {
        self.remove(&key);
        self.0.insert(key, value);
    }

    /// Removes the tag whose key is equal, ignoring case.
    pub(super) fn remove(&mut self, key: &str) {
        if let Some(known) = self.same(key).map(str::to_owned) {
            self.0.remove(&known);
        }
    }

    /// The key that is equal, ignoring case.
    pub(super) fn same(&self, key: &str) -> Option<&str> {
        let lower = key.to_lowercase();
        self.0.keys().find(|known| known.to_lowercase() == lower).map(String::as_str)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> btree_map::Iter<'_, String, String> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Tags {
    type Item = (&'a String, &'a String);
    type IntoIter = btree_map::Iter<'a, String, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Tags {
    type Item = (String, String);
    type IntoIter = btree_map::IntoIter<String, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Older versions stored keys that differ by case only. The first of them in order counts for
/// everyone: for conditions on the resource, for its sessions, and in lists.
impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tags, D::Error> {
        let mut tags = Tags::default();
        for (key, value) in BTreeMap::<String, String>::deserialize(deserializer)? {
            if let Err(known) = tags.add(&key, &value) {
                tracing::warn!(tag = key, counts = known, "a tag differs by case only");
            }
        }
        Ok(tags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Tags {
        serde_json::from_str(json).expect("tags")
    }

    #[test]
    fn keys_that_differ_by_case_only_are_one_key() {
        let mut tags = Tags::default();
        tags.add("Team", "red").expect("new");
        for key in ["Team", "TEAM", "team", "tEAM"] {
            assert_eq!(tags.add(key, "admin"), Err("Team".to_owned()), "{key}");
        }
        tags.add("\u{c9}quipe", "x").expect("new");
        assert_eq!(tags.add("\u{e9}quipe", "y"), Err("\u{c9}quipe".to_owned()));
        tags.set("TEAM".to_owned(), "blue".to_owned());
        assert_eq!(tags, read(r#"{"TEAM": "blue", "\u00c9quipe": "x"}"#));
        tags.remove("team");
        assert_eq!(tags.len(), 1);
    }

    #[test]
    fn stored_tags_of_older_versions_have_one_reader() {
        let rows = [
            (r#"{"Team": "red", "TEAM": "admin"}"#, r#"{"TEAM":"admin"}"#),
            (r#"{"TEAM": "admin", "Team": "red", "team": "x"}"#, r#"{"TEAM":"admin"}"#),
            (r#"{"a": "1", "B": "2"}"#, r#"{"B":"2","a":"1"}"#),
            ("{}", "{}"),
        ];
        for (stored, expected) in rows {
            let tags = read(stored);
            assert_eq!(serde_json::to_string(&tags).expect("JSON"), expected, "{stored}");
        }
    }
}
