use liteio_kv::{Kv, KvConfig, Write};
use proptest::prelude::*;

use super::super::list::tests::record;
use super::*;

const BUCKET: BucketId = BucketId(7);

/// A version of a key: its stamp, of which newer ones are smaller, and what it is.
type Row = (String, u8, Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Null,
    Version,
    DeleteMarker,
}

/// Puts each row where it belongs: the newest of a key is current, unless it is a delete marker.
fn kv_with(rows: &[Row]) -> Kv {
    let kv = Kv::memory(KvConfig::default()).expect("memory");
    let rows = rows.to_vec();
    let filled = kv.update::<(), StoreError, _>(move |write| {
        for bucket in [BucketId(6), BucketId(8)] {
            record(1, true, false).write(write, &space::current(bucket, "a"))?;
            record(9, true, false).write(write, &space::history(bucket, "a", &[9; 16]))?;
        }
        let mut previous: Option<&str> = None;
        for (key, stamp, kind) in &rows {
            let is_marker = *kind == Kind::DeleteMarker;
            let record = record(*stamp, *kind == Kind::Null, is_marker);
            if previous == Some(key.as_str()) || is_marker {
                record.write(write, &space::history(BUCKET, key, &[*stamp; 16]))?;
                if record.is_null {
                    write.put(&space::null_version(BUCKET, key), &record.stamp)?;
                }
            } else {
                record.write(write, &space::current(BUCKET, key))?;
            }
            previous = Some(key);
        }
        Ok(())
    });
    filled.wait().expect("fills");
    kv
}

fn page(kv: &Kv, query: &ListVersionsQuery) -> VersionPage {
    list(&kv.snapshot().expect("snapshot"), &Bucket::with_id(BUCKET), query).expect("lists")
}

/// One line for an entry: key, version, `*` for the latest, `x` for a delete marker.
fn shown(page: &VersionPage) -> Vec<String> {
    let line = |key: &str, version: &VersionId, is_latest: bool, end: &str| {
        let latest = if is_latest { "*" } else { "" };
        format!("{key} {}{latest}{end}", &version.to_string()[..4])
    };
    let show = |entry: &VersionEntry| match entry {
        VersionEntry::Version(version) => {
            line(&version.key, &version.version_id, version.is_latest, "")
        }
        VersionEntry::DeleteMarker(marker) => {
            line(&marker.key, &marker.version_id, marker.is_latest, "x")
        }
        VersionEntry::Prefix(prefix) => format!("[{prefix}]"),
    };
    page.entries.iter().map(show).collect()
}

fn model(rows: &[Row], query: &ListVersionsQuery) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut previous = None;
    for (key, stamp, kind) in rows {
        let is_latest = previous != Some(key);
        previous = Some(key);
        let Some(rest) = key.strip_prefix(&query.prefix) else { continue };
        let delimiter = query.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty());
        if let Some(at) = delimiter.and_then(|delimiter| rest.find(delimiter)) {
            let end = query.prefix.len() + at + delimiter.map_or(0, str::len);
            let line = format!("[{}]", &key[..end]);
            let is_behind = query.key_marker.as_ref().is_none_or(|marker| key[..end] > **marker);
            if is_behind && lines.last() != Some(&line) {
                lines.push(line);
            }
            continue;
        }
        if query.key_marker.as_ref().is_some_and(|marker| key <= marker) {
            continue;
        }
        let version = match kind {
            Kind::Null => "null".to_owned(),
            _ => format!("{stamp:02x}{stamp:02x}"),
        };
        let latest = if is_latest { "*" } else { "" };
        let end = if *kind == Kind::DeleteMarker { "x" } else { "" };
        lines.push(format!("{key} {version}{latest}{end}"));
    }
    lines
}

#[test]
fn versions_of_a_key_go_from_new_to_old_in_one_order_with_the_keys() {
    let rows = [
        ("a".to_owned(), 3, Kind::DeleteMarker),
        ("a".to_owned(), 4, Kind::Version),
        ("a".to_owned(), 5, Kind::Null),
        ("a\0".to_owned(), 1, Kind::Null),
        ("b".to_owned(), 6, Kind::Version),
        ("b".to_owned(), 7, Kind::DeleteMarker),
    ];
    let kv = kv_with(&rows);
    let all = ListVersionsQuery { max: 100, ..ListVersionsQuery::default() };
    let expected =
        ["a 0303*x", "a 0404", "a null", "a\0 null*", "b 0606*", "b 0707x"].map(str::to_owned);
    assert_eq!(shown(&page(&kv, &all)), expected);
    let from_a = |version_marker| ListVersionsQuery {
        key_marker: Some("a".into()),
        version_marker,
        ..all.clone()
    };
    for (marker, skipped) in [
        (Some(VersionId::Id([3; 16])), 1),
        (Some(VersionId::Id([4; 16])), 2),
        (Some(VersionId::Null), 3),
        (None, 3),
        (Some(VersionId::Id([0; 16])), 0),
        (Some(VersionId::Id([200; 16])), 3),
    ] {
        // Behind a version that is gone, the next one may be the latest.
        assert_eq!(shown(&page(&kv, &from_a(marker))), expected[skipped..], "{marker:?}");
    }
    // A `null` that is gone hides nothing of its key.
    let gone = ListVersionsQuery {
        key_marker: Some("b".into()),
        version_marker: Some(VersionId::Null),
        ..all
    };
    assert_eq!(shown(&page(&kv, &gone)), ["b 0606*", "b 0707x"]);
}

fn text(length: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let letters = vec!["a", "b", "/", "\0", "\u{1}", "\u{10ffff}"];
    prop::collection::vec(prop::sample::select(letters), length).prop_map(|parts| parts.concat())
}

fn versions() -> impl Strategy<Value = Vec<Row>> {
    let kind = prop::sample::select(vec![Kind::Version, Kind::DeleteMarker]);
    let versions = prop::collection::btree_map(1_u8..200, kind, 1..4);
    // At most one version of a key is null.
    let of_key = (versions, prop::option::of(0_usize..4));
    prop::collection::btree_map(text(1..5), of_key, 0..20).prop_map(|keys| {
        let mut rows = Vec::new();
        for (key, (versions, null)) in keys {
            for (i, (stamp, kind)) in versions.into_iter().enumerate() {
                rows.push((key.clone(), stamp, if null == Some(i) { Kind::Null } else { kind }));
            }
        }
        rows
    })
}

proptest! {
    #[test]
    fn a_listing_is_what_the_model_says_at_once_and_page_by_page(
        rows in versions(),
        prefix in text(0..3),
        delimiter in prop::option::of(text(0..2)),
        key_marker in prop::option::of(text(0..4)),
        max in 1_usize..8,
    ) {
        let kv = kv_with(&rows);
        let query =
            ListVersionsQuery { prefix, delimiter, key_marker, max, ..ListVersionsQuery::default() };
        let expected = model(&rows, &query);
        let all = page(&kv, &ListVersionsQuery { max: 1000, ..query.clone() });
        prop_assert_eq!(shown(&all), &expected[..]);
        prop_assert_eq!(all.next, None);
        let mut paged = Vec::new();
        let mut next = query;
        loop {
            let page = page(&kv, &next);
            paged.extend(shown(&page));
            let Some((key, version)) = page.next else { break };
            prop_assert_eq!(page.entries.len(), max);
            next.key_marker = Some(key);
            next.version_marker = version;
        }
        prop_assert_eq!(paged, expected);
    }
}

#[test]
fn no_room_shows_nothing_and_promises_nothing() {
    let kv = kv_with(&[("a".to_owned(), 1, Kind::Null)]);
    assert_eq!(page(&kv, &ListVersionsQuery::default()), VersionPage::default());
}
