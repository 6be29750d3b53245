use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use bytes::Bytes;
use liteio_kv::{Kv, KvConfig};
use proptest::prelude::*;

use super::*;
use crate::meta::ObjectMetadata;
use crate::meta::content::Content;
use crate::meta::object::{Extensions, ObjectRecord};

const BUCKET: BucketId = BucketId(7);

pub(crate) fn record(stamp: u8, is_null: bool, is_delete_marker: bool) -> ObjectRecord {
    ObjectRecord {
        stamp: [stamp; 16],
        is_null,
        is_delete_marker,
        bytes: 5,
        etag: ETag::Md5([stamp; 16]),
        modified_ms: u64::from(stamp),
        owner: Some(Owner { id: "id".into(), display_name: "name".into() }),
        checksum: None,
        metadata: ObjectMetadata::default(),
        extensions: Extensions::default(),
        content: Content::Inline(Bytes::from_static(b"hello")),
    }
}

/// The keys in the bucket, and some in its neighbours that must never show.
fn kv_with<'k>(keys: impl IntoIterator<Item = &'k str>) -> Kv {
    let kv = Kv::memory(KvConfig::default()).expect("memory");
    let keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
    let filled = kv.update::<(), StoreError, _>(move |write| {
        let record = record(1, true, false);
        for bucket in [BucketId(6), BucketId(8)] {
            record.write(write, &space::current(bucket, "a/neighbour"))?;
        }
        for key in &keys {
            record.write(write, &space::current(BUCKET, key))?;
        }
        Ok(())
    });
    filled.wait().expect("fills");
    kv
}

fn page(kv: &Kv, query: &ListQuery) -> ListPage {
    list(&kv.snapshot().expect("snapshot"), &Bucket::with_id(BUCKET), query).expect("lists")
}

fn text(entry: &ListEntry) -> &str {
    match entry {
        ListEntry::Object(object) => &object.key,
        ListEntry::Prefix(prefix) => prefix,
    }
}

/// Keys as they are, common prefixes in brackets.
fn shown(page: &ListPage) -> Vec<String> {
    let show = |entry: &ListEntry| match entry {
        ListEntry::Object(object) => object.key.clone(),
        ListEntry::Prefix(prefix) => format!("[{prefix}]"),
    };
    page.entries.iter().map(show).collect()
}

fn query(prefix: &str, delimiter: &str, after: ListStart, max: usize) -> ListQuery {
    let (prefix, delimiter) = (prefix.into(), Some(delimiter.into()));
    ListQuery { prefix, delimiter, after, max, with_restores: false }
}

#[test]
fn common_prefixes_stand_among_the_keys_and_once_only() {
    let kv = kv_with(["a/1", "a/2", "a0", "b", "c/", "c/d/e", "d--x--y", "d--x", "é/x"]);
    let cases: [(&str, &str, &[&str]); 6] = [
        ("", "/", &["[a/]", "a0", "b", "[c/]", "d--x", "d--x--y", "[é/]"]),
        ("a/", "/", &["a/1", "a/2"]),
        ("c/", "/", &["c/", "[c/d/]"]),
        ("", "--", &["a/1", "a/2", "a0", "b", "c/", "c/d/e", "[d--]", "é/x"]),
        ("d--", "--", &["d--x", "[d--x--]"]),
        ("nothing", "/", &[]),
    ];
    for (prefix, delimiter, expected) in cases {
        let page = page(&kv, &query(prefix, delimiter, ListStart::Beginning, 1000));
        assert_eq!(shown(&page), expected, "{prefix:?} {delimiter:?}");
        assert_eq!(page.next, None);
    }
}

#[test]
fn a_marker_may_be_anything_and_hides_the_common_prefix_it_lies_in() {
    let kv = kv_with(["a/1", "a/3", "b", "c/1"]);
    let cases: [(&str, &[&str]); 8] = [
        ("", &["[a/]", "b", "[c/]"]),
        ("a", &["[a/]", "b", "[c/]"]),
        ("a/", &["b", "[c/]"]),
        ("a/2", &["b", "[c/]"]),
        ("b", &["[c/]"]),
        ("bb", &["[c/]"]),
        ("\n", &["[a/]", "b", "[c/]"]),
        ("zzz", &[]),
    ];
    for (marker, expected) in cases {
        let after = ListStart::AfterKey(marker.into());
        assert_eq!(shown(&page(&kv, &query("", "/", after, 1000))), expected, "{marker:?}");
    }
    let after = ListStart::AfterKey("a/2".into());
    assert_eq!(shown(&page(&kv, &query("", "", after, 1000))), ["a/3", "b", "c/1"]);
}

#[test]
fn a_page_says_that_more_follows_only_when_it_does() {
    let kv = kv_with(["a", "b/1", "b/2"]);
    let full = page(&kv, &query("", "/", ListStart::Beginning, 2));
    assert_eq!((shown(&full), full.next), (vec!["a".to_owned(), "[b/]".to_owned()], None));
    assert_eq!(full.last.as_deref(), Some("b/"));
    let first = page(&kv, &query("", "/", ListStart::Beginning, 1));
    assert_eq!(first.last.as_deref(), Some("a"));
    let token = ListToken::parse(&first.next.expect("more").to_string()).expect("own token");
    assert_eq!(shown(&page(&kv, &query("", "/", ListStart::Token(token), 1))), ["[b/]"]);
    let none = page(&kv, &query("", "", ListStart::Beginning, 0));
    assert_eq!(none, ListPage::default());
}

#[test]
fn what_no_page_gave_is_no_token() {
    for text in ["", "x", "k6", "k6g", "K61", "61", "kff", "k+1", "é", "k\u{e9}0"] {
        let error = ListToken::parse(text).expect_err(text);
        assert!(matches!(error, StoreError::InvalidRequest { .. }), "{text:?}: {error}");
    }
    for place in [Place::Key("a/ü\0".into()), Place::Prefix("/".into()), Place::Key("".into())] {
        let token = ListToken::new(&place);
        assert!(token.0.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{token}");
        let again = ListToken::parse(&token.0).expect("own token");
        assert_eq!(again.place().expect("own token"), place);
    }
}

#[test]
fn a_common_prefix_of_any_size_costs_one_step() {
    let keys: Vec<String> = (0..40_000).map(|i| format!("{}/{i:06}", i / 20_000)).collect();
    let kv = kv_with(keys.iter().map(String::as_str));
    let time = |delimiter: &str, max: usize| {
        let query = query("", delimiter, ListStart::Beginning, max);
        let best = (0..20).map(|_| {
            let start = Instant::now();
            page(&kv, &query);
            start.elapsed()
        });
        best.min().expect("twenty runs")
    };
    // Walking through the 40,000 keys would take 40 times as long as showing 1,000.
    let (grouped, thousand) = (time("/", 1000), time("", 1000));
    assert!(grouped < thousand, "{grouped:?} for two prefixes, {thousand:?} for 1,000 keys");
}

/// A listing, made without any thought of cost.
fn model(keys: &BTreeSet<String>, query: &ListQuery) -> (Vec<String>, bool) {
    let delimiter = query.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty());
    let mut shown = BTreeMap::new();
    for key in keys.iter().filter(|key| key.starts_with(&query.prefix)) {
        let rest = &key[query.prefix.len()..];
        let end = delimiter.and_then(|text| rest.find(text).map(|at| at + text.len()));
        match end.map(|end| key[..query.prefix.len() + end].to_owned()) {
            Some(common) => drop(shown.insert(common.clone(), format!("[{common}]"))),
            None => drop(shown.insert(key.clone(), key.clone())),
        }
    }
    if let ListStart::AfterKey(marker) = &query.after {
        shown.retain(|text, _| text > marker);
    }
    let is_truncated = query.max > 0 && shown.len() > query.max;
    (shown.into_values().take(query.max).collect(), is_truncated)
}

fn some_text(bytes: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let letters = vec!["a", "b", "/", "//", "-", "\0", "\u{1}", "ü", "\u{10ffff}"];
    prop::collection::vec(prop::sample::select(letters), bytes).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_listing_is_what_the_model_says(
        keys in prop::collection::btree_set(some_text(1..6), 0..40),
        prefix in some_text(0..3),
        delimiter in prop::option::of(some_text(0..3)),
        marker in prop::option::of(some_text(0..5)),
        max in 0_usize..12,
    ) {
        let kv = kv_with(keys.iter().map(String::as_str));
        let after = marker.map_or(ListStart::Beginning, ListStart::AfterKey);
        let query = ListQuery { prefix, delimiter, after, max, with_restores: false };
        let first = page(&kv, &query);
        let (expected, is_truncated) = model(&keys, &query);
        prop_assert_eq!(shown(&first), expected);
        prop_assert_eq!(first.next.is_some(), is_truncated);
        prop_assert_eq!(first.last.as_deref(), first.entries.last().map(text));

        // Page by page, by token and by marker, it is the same as at once.
        let (all, _) = model(&keys, &ListQuery { max: usize::MAX, ..query.clone() });
        for by_token in [true, false] {
            let mut paged = Vec::new();
            let mut query = ListQuery { max: max.max(1), ..query.clone() };
            loop {
                let page = page(&kv, &query);
                paged.extend(shown(&page));
                let Some(next) = page.next else { break };
                query.after = match by_token {
                    true => ListStart::Token(ListToken::parse(&next.0).expect("own token")),
                    false => ListStart::AfterKey(page.last.expect("a page that is followed")),
                };
            }
            prop_assert_eq!(&paged, &all);
        }
    }
}
