use std::collections::BTreeSet;

use liteio_store::{
    ListEntry, ListQuery, ListStart, ListVersionsQuery, SeededRandom, VersionEntry,
};

use crate::harness::*;

#[test]
fn pages_put_together_are_the_whole_listing() {
    on_every_backend(|store| {
        let random = SeededRandom::new(11);
        let letters = ["a", "b", "/", "ä", "\0", "~"];
        let mut keys = BTreeSet::new();
        while keys.len() < 60 {
            let length = 1 + random.below(5);
            let key: String = (0..length).map(|_| letters[random.below(6) as usize]).collect();
            keys.insert(key);
        }
        for object in &keys {
            put(store, object, b"x");
        }
        for prefix in ["", "a", "a/", "/", "ä", "nothing"] {
            for delimiter in [None, Some("/"), Some("b/")] {
                let expected = expect(&keys, prefix, delimiter);
                for max in [1, 2, 7, 1000] {
                    let mut query = ListQuery {
                        prefix: prefix.to_owned(),
                        delimiter: delimiter.map(str::to_owned),
                        max,
                        ..ListQuery::default()
                    };
                    let mut shown = Vec::new();
                    loop {
                        let page =
                            store.list_objects(&bucket(store, "bucket"), &query).expect("list");
                        assert!(page.entries.len() <= max);
                        shown.extend(page.entries.into_iter().map(|entry| match entry {
                            ListEntry::Object(object) => object.key,
                            ListEntry::Prefix(prefix) => format!("prefix {prefix}"),
                        }));
                        let Some(token) = page.next else { break };
                        query.after = ListStart::Token(token);
                    }
                    assert_eq!(shown, expected, "{prefix:?} {delimiter:?} {max}");
                }
            }
        }
    });
}

/// A listing by definition: every key with the prefix, those with the delimiter rolled up.
fn expect(keys: &BTreeSet<String>, prefix: &str, delimiter: Option<&str>) -> Vec<String> {
    let mut shown = Vec::new();
    for key in keys.iter().filter(|key| key.starts_with(prefix)) {
        let rest = &key[prefix.len()..];
        let end = delimiter.and_then(|delimiter| Some(rest.find(delimiter)? + delimiter.len()));
        let line = match end {
            Some(end) => format!("prefix {prefix}{}", &rest[..end]),
            None => key.clone(),
        };
        if shown.last() != Some(&line) {
            shown.push(line);
        }
    }
    shown
}

#[test]
fn a_page_is_cut_only_when_something_follows() {
    on_every_backend(|store| {
        for object in ["a/1", "a/2", "b"] {
            put(store, object, b"x");
        }
        let list = |delimiter: Option<&str>, max| {
            let delimiter = delimiter.map(str::to_owned);
            let query = ListQuery { delimiter, max, ..ListQuery::default() };
            store.list_objects(&bucket(store, "bucket"), &query).expect("list")
        };
        assert!(list(None, 3).next.is_none() && list(None, 2).next.is_some());
        assert!(list(Some("/"), 2).next.is_none() && list(Some("/"), 1).next.is_some());
        let nothing = list(None, 0);
        assert!(nothing.entries.is_empty() && nothing.next.is_none());
    });
}

#[test]
fn a_listing_shows_size_tag_and_owner() {
    on_every_backend(|store| {
        let version = put(store, "a", &bytes(1, 300));
        let query = ListQuery { max: 10, ..ListQuery::default() };
        let page = store.list_objects(&bucket(store, "bucket"), &query).expect("list");
        let [ListEntry::Object(object)] = &page.entries[..] else { panic!("{page:?}") };
        assert_eq!(
            (object.bytes, object.etag, object.modified_ms),
            (300, version.etag, version.modified_ms)
        );
        let query = ListVersionsQuery { max: 10, ..ListVersionsQuery::default() };
        let versions = store.list_versions(&bucket(store, "bucket"), &query).expect("list");
        let [VersionEntry::Version(listed)] = &versions.entries[..] else { panic!("{versions:?}") };
        assert!(listed.version_id.is_null() && listed.is_latest);
        assert_eq!(listed, object);
    });
}
