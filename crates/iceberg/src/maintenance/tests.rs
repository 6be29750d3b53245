//! Expiry, manifests of PyIceberg, and files that nothing names.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::avro::tests::{file, long, text};
use crate::table::tests::{FIRST, SECOND, parsed, table, with};
use crate::{Invalid, TableMetadata, Update};

use super::{
    Content, Entries, EntryStatus, Policy, References, expired, read_manifest, read_manifest_list,
};

/// Files that PyIceberg 0.12.0 wrote: two appends, a delete of the second one's only file, a new column and a new spec.
macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/fixtures/", $name))
    };
}

fn entries(file: &[u8]) -> Vec<(EntryStatus, Content, String, i64)> {
    let mut entries = Vec::new();
    read_manifest(file, |it| entries.push((it.status, it.content, it.path.to_owned(), it.length)))
        .expect("the manifest is whole");
    entries
}

#[test]
fn files_of_pyiceberg_are_read() {
    for (version, metadata, list, manifest, paths) in [
        (
            1,
            &fixture!("v1.metadata.json")[..],
            &fixture!("v1-delete-list.avro")[..],
            &fixture!("v1-delete-manifest.avro")[..],
            ["b82b432e-95e4-4706-b800-4298f14babd2", "9e58e29f-7539-4d5e-9f9b-e7b3991227ec"],
        ),
        (
            2,
            fixture!("v2.metadata.json"),
            fixture!("v2-delete-list.avro"),
            fixture!("v2-delete-manifest.avro"),
            ["94254dd5-b4e8-49e0-b1b7-35dd7954a9f7", "2b289010-5089-4e36-af70-a49a775eb873"],
        ),
    ] {
        let metadata = TableMetadata::parse(metadata).expect("PyIceberg wrote it");
        assert_eq!(metadata.format_version(), version);
        assert_eq!(TableMetadata::parse(&metadata.to_bytes()), Ok(metadata.clone()));
        let snapshot = metadata.current_snapshot().expect("there are three");
        let manifests = read_manifest_list(list).expect("the list is whole");
        assert_eq!(manifests.len(), 2);
        let base = format!("file:///tmp/warehouse/n/t{version}");
        assert_eq!(manifests[0].path, format!("{base}/metadata/{}-m0.avro", paths[1]));
        assert_eq!(manifests[0].length, i64::try_from(manifest.len()).expect("short"));
        assert_eq!(manifests[0].content, Content::Data);
        assert_eq!(manifests[0].added_snapshot_id, Some(snapshot.id));
        assert_eq!(manifests[0].sequence_number, snapshot.sequence_number);
        let oldest = i64::from(version == 2);
        assert_eq!(
            (manifests[1].sequence_number, manifests[1].min_sequence_number),
            (oldest, oldest)
        );
        let entries = entries(manifest);
        let path = format!("{base}/data/00000-0-{}.parquet", paths[0]);
        assert_eq!(entries, [(EntryStatus::Deleted, Content::Data, path, 889)]);
    }
    let appended = entries(fixture!("v2-append-manifest.avro"));
    assert_eq!(appended[0].0, EntryStatus::Added);
    // A manifest is no manifest list, nor the other way round.
    assert!(read_manifest_list(fixture!("v2-append-manifest.avro")).is_err());
    assert!(read_manifest(fixture!("v2-append-list.avro"), |_| {}).is_err());
}

#[test]
fn no_damage_of_a_manifest_panics() {
    let whole = fixture!("v2-delete-manifest.avro");
    // Most of the file is its schema.
    for at in (0..whole.len()).filter(|at| at % 8 == 0 || whole.len() - at < 400) {
        let mut damaged = whole.to_vec();
        damaged[at] ^= 0x55;
        drop(read_manifest(&damaged, |_| {}));
        drop(read_manifest_list(&whole[..at]));
    }
}

/// A manifest of format version 2 with these entries: status, content, path.
fn manifest(entries: &[(i64, i64, &str)]) -> Vec<u8> {
    let schema = r#"{"type": "record", "name": "manifest_entry", "fields": [
        {"name": "status", "type": "int", "field-id": 0},
        {"name": "snapshot_id", "type": ["null", "long"], "field-id": 1},
        {"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
            {"name": "content", "type": "int", "field-id": 134},
            {"name": "file_path", "type": "string", "field-id": 100},
            {"name": "lower_bounds", "field-id": 125, "type": ["null", {"type": "array", "logicalType": "map", "items":
                {"type": "record", "name": "k126_v127", "fields": [
                    {"name": "key", "type": "int", "field-id": 126}, {"name": "value", "type": "bytes", "field-id": 127}]}}]},
            {"name": "file_size_in_bytes", "type": "long", "field-id": 104}]}}]}"#;
    let objects = entries.iter().flat_map(|(status, content, path)| {
        let bounds = [long(1), long(1), long(3), text("low"), long(0)].concat();
        [long(*status), long(0), long(*content), text(path), bounds, long(9)].concat()
    });
    file(schema, "deflate", &[(entries.len().try_into().expect("short"), objects.collect())])
}

/// A manifest list of format version 1, without field ids.
fn manifest_list(paths: &[&str]) -> Vec<u8> {
    let schema = r#"{"type": "record", "name": "manifest_file", "fields": [
        {"name": "manifest_path", "type": "string"}, {"name": "manifest_length", "type": "long"},
        {"name": "added_snapshot_id", "type": ["null", "long"]}]}"#;
    let objects = paths.iter().flat_map(|path| [text(path), long(5), long(0)].concat());
    file(schema, "null", &[(paths.len().try_into().expect("short"), objects.collect())])
}

#[test]
fn kinds_of_entries_are_read() {
    let read = entries(&manifest(&[(0, 0, "a"), (1, 1, "b"), (2, 2, "c")]));
    let kinds: Vec<_> = read.iter().map(|(status, content, ..)| (*status, *content)).collect();
    assert_eq!(
        kinds,
        [
            (EntryStatus::Existing, Content::Data),
            (EntryStatus::Added, Content::Deletes),
            (EntryStatus::Deleted, Content::EqualityDeletes),
        ]
    );
    let list = read_manifest_list(&manifest_list(&["m"])).expect("it is one");
    assert_eq!(
        (list[0].length, list[0].content, list[0].added_snapshot_id),
        (5, Content::Data, None)
    );
    assert_eq!((list[0].sequence_number, list[0].min_sequence_number), (0, 0));
    for (entry, words) in [
        ((3, 0, "a"), "status must be"),
        ((0, 3, "a"), "unknown content 3"),
        ((0, 0, ""), "file_path is missing"),
    ] {
        let error = read_manifest(&manifest(&[entry]), |_| {}).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert!(read_manifest_list(&manifest_list(&[""])).is_err());
}

#[test]
fn files_of_an_expired_snapshot_are_those_that_no_other_names() {
    let document = table();
    let before = parsed(&document);
    let remove = [Update::RemoveSnapshots(vec![FIRST])];
    let after = before.apply(&remove, 1_602_638_574_590, None).expect("it can be removed");
    let shared = manifest(&[(1, 0, "s3://bucket/kept"), (1, 0, "s3a://bucket/gone")]);
    let newer = manifest(&[
        (2, 0, "s3n://bucket/gone"),
        (0, 0, "s3://bucket/kept"),
        (1, 0, "s3://bucket/new"),
    ]);
    let files = [
        ("s3://bucket/test/location/1.avro", manifest_list(&["s3://bucket/m1"])),
        ("s3://bucket/test/location/2.avro", manifest_list(&["s3://bucket/m2"])),
        ("s3://bucket/m1", shared),
        ("s3://bucket/m2", newer),
    ];
    let within = |metadata: &TableMetadata, entries, files: &[(&str, Vec<u8>)]| {
        let mut references = References::of(metadata, Some("s3://bucket/m9.json"));
        let mut reads = BTreeSet::new();
        let added = references.add_snapshots(
            metadata,
            entries,
            |_| true,
            |location| {
                assert!(reads.insert(location.to_owned()), "{location} is read twice");
                let found = files.iter().find(|(name, _)| *name == location);
                found.map(|(_, file)| file.clone()).ok_or(Invalid::Stale(location.to_owned()))
            },
        );
        added.map(|()| references)
    };
    let references = |metadata: &TableMetadata, entries: Entries, files: &[(&str, Vec<u8>)]| {
        within(metadata, (entries, usize::MAX), files)
    };
    let old = references(&before, Entries::WithRemovals, &files).expect("all files are there");
    let new = references(&after, Entries::Live, &files[1..]).expect("its files are there");
    // A file that cannot be read leaves no references to delete by.
    let missing = references(&before, Entries::WithRemovals, &files[1..]).unwrap_err();
    assert_eq!(missing.to_string(), "s3://bucket/test/location/1.avro");
    let gone: Vec<_> = old.missing_in(&new).collect();
    assert_eq!(gone, ["s3://bucket/gone", "s3://bucket/m1", "s3://bucket/test/location/1.avro"]);
    assert_eq!(new.missing_in(&old).count(), 0);
    let bounded = |most| within(&after, (Entries::Live, most), &files[1..]);
    assert_eq!(bounded(new.len()).expect("as many as allowed").len(), new.len());
    let refused = bounded(new.len() - 1).unwrap_err().to_string();
    assert_eq!(refused, format!("The table has more than {} files.", new.len() - 1));
}

#[test]
fn spellings_of_a_location_name_one_file() {
    let mut references = References::default();
    for location in [
        "s3a://b/a",
        "S3N://b/b",
        "S3://b/i",
        "s3://b/c//d",
        "s3://b/e?f#g",
        "s3://b/%41",
        "file:///h",
    ] {
        references.add(location);
    }
    for (location, is_named) in [
        ("s3://b/a", true),
        ("s3n://b/a", true),
        ("s3://b/b", true),
        ("s3://b/i", true),
        ("S3://b/a", true),
        ("s3://b/c//d", true),
        ("s3://b/c/d", true),
        ("s3://b/e?f#g", true),
        ("s3://b/e?f", true),
        ("s3://b/e", true),
        ("s3://b/%41", true),
        ("file:///h", true),
        ("s3://b/A", false),
        ("s3://b/c", false),
        ("s3://c/a", false),
        ("gs://b/a", false),
    ] {
        assert_eq!(references.contains(location), is_named, "{location}");
    }
    // What only might be meant is never deleted.
    let named: Vec<_> = references.missing_in(&References::default()).map(str::to_owned).collect();
    assert_eq!(
        named,
        [
            "file:///h",
            "s3://b/%41",
            "s3://b/a",
            "s3://b/b",
            "s3://b/c//d",
            "s3://b/e?f#g",
            "s3://b/i"
        ]
        .map(str::to_owned)
    );
    let mut after = References::default();
    after.add("s3://b/c/d");
    after.add("s3://b//a");
    assert_eq!(references.missing_in(&after).count(), 6);
}

#[test]
fn what_could_be_a_file_elsewhere_is_outside_of_a_location() {
    let mut references = References::default();
    for location in ["s3://b/x//t/1", "S3://b/x//t/2", "s3://b/x//t/a?b", "s3://b/y/1", "s3://b/x"]
    {
        references.add(location);
    }
    let outside = |prefix: &str| references.outside(prefix).map(str::to_owned).collect::<Vec<_>>();
    let all = ["s3://b/x", "s3://b/x//t/1", "s3://b/x//t/2", "s3://b/x//t/a?b", "s3://b/y/1"];
    // Some readers look for them below `s3://b/x/t/`.
    assert_eq!(outside("s3://b/x//t/"), all);
    assert_eq!(outside("s3://b/x/"), ["s3://b/x", "s3://b/y/1"]);
    assert_eq!(outside("S3A://b/y/"), all[..4]);
}

#[test]
fn unreferenced_files_are_old_and_unnamed() {
    let references = References::of(&parsed(&table()), Some("s3://bucket/m.json"));
    let files = [
        ("s3://bucket/m.json", 1),
        ("s3a://bucket/test/location/1.avro", 1),
        ("s3://bucket/test/location/0.json", 1),
        ("s3://bucket/test/location/failed.avro", 99),
        ("s3://bucket/test/location/young.avro", 100),
    ];
    assert_eq!(references.unreferenced(files, 100), ["s3://bucket/test/location/failed.avro"]);
}

const DAY: i64 = 24 * 60 * 60 * 1000;
const NOW: i64 = 1000 * DAY;

/// A table whose branch main has the snapshots 1 to 5, one for each of the last days: 5 is a day old. 6 is of another branch,
/// and follows 2; 7 is of no branch. 6 and 7 are ten days old.
fn history() -> Value {
    let snapshot = |id: i64, parent: Option<i64>, days: i64| {
        json!({"snapshot-id": id, "parent-snapshot-id": parent,
        "sequence-number": 0, "timestamp-ms": NOW - days * DAY, "manifest-list": format!("{id}.avro")})
    };
    let mut document = table();
    document["last-updated-ms"] = json!(NOW);
    document["snapshots"] = json!([
        snapshot(1, None, 5),
        snapshot(2, Some(1), 4),
        snapshot(3, Some(2), 3),
        snapshot(4, Some(3), 2),
        snapshot(5, Some(4), 1),
        snapshot(6, Some(2), 10),
        snapshot(7, Some(99), 10)
    ]);
    document["snapshot-log"] = json!([]);
    document["current-snapshot-id"] = json!(5);
    document["refs"] = json!({"main": {"snapshot-id": 5, "type": "branch"}});
    document["properties"] = json!({});
    document
}

#[test]
fn snapshots_expire_by_age_and_number() {
    let refs = |more: Value| {
        let mut refs = history()["refs"].clone();
        refs.as_object_mut()
            .expect("it is one")
            .extend(more.as_object().expect("it is one").clone());
        with(history(), "/refs", refs)
    };
    let properties = |age_days: i64, least: usize| {
        json!({"history.expire.max-snapshot-age-ms": (age_days * DAY).to_string(),
            "history.expire.min-snapshots-to-keep": least.to_string()})
    };
    let dev = |more: Value| {
        let mut dev = json!({"snapshot-id": 6, "type": "branch"});
        dev.as_object_mut()
            .expect("it is one")
            .extend(more.as_object().expect("it is one").clone());
        refs(json!({"dev": dev}))
    };
    for (name, document, properties, snapshots, references) in [
        ("five days", history(), json!({}), vec![6, 7], vec![]),
        ("two days", history(), properties(2, 1), vec![1, 2, 3, 6, 7], vec![]),
        ("no age, three snapshots", history(), properties(0, 3), vec![1, 2, 6, 7], vec![]),
        (
            "no age, no number: the current one stays",
            history(),
            properties(0, 0),
            vec![1, 2, 3, 4, 6, 7],
            vec![],
        ),
        ("all are young", history(), properties(10, 1), vec![], vec![]),
        (
            "a tag keeps its snapshot, not those before it",
            refs(json!({"t": {"snapshot-id": 3, "type": "tag"}})),
            properties(0, 1),
            vec![1, 2, 4, 6, 7],
            vec![],
        ),
        (
            "a tag that is too old",
            refs(json!({"t": {"snapshot-id": 7, "type": "tag", "max-ref-age-ms": 9 * DAY}})),
            json!({}),
            vec![6, 7],
            vec!["t"],
        ),
        (
            "a tag of the last day of its age",
            refs(json!({"t": {"snapshot-id": 7, "type": "tag", "max-ref-age-ms": 10 * DAY}})),
            json!({}),
            vec![6],
            vec![],
        ),
        (
            "a branch keeps its newest snapshot",
            dev(json!({})),
            properties(0, 1),
            vec![1, 2, 3, 4, 7],
            vec![],
        ),
        (
            "a branch with a number",
            dev(json!({"min-snapshots-to-keep": 2})),
            properties(0, 1),
            vec![1, 3, 4, 7],
            vec![],
        ),
        (
            "a branch with an age",
            dev(json!({"max-snapshot-age-ms": 4 * DAY})),
            properties(0, 1),
            vec![1, 3, 4, 7],
            vec![],
        ),
        (
            "an older snapshot ends a branch",
            with(history(), "/snapshots/3/timestamp-ms", json!(NOW - 50 * DAY)),
            properties(3, 1),
            vec![1, 2, 3, 4, 6, 7],
            vec![],
        ),
        (
            "a branch that is too old",
            dev(json!({"max-ref-age-ms": DAY})),
            properties(0, 1),
            vec![1, 2, 3, 4, 6, 7],
            vec!["dev"],
        ),
        (
            "limits of main go before those of the table",
            with(history(), "/refs/main/max-snapshot-age-ms", json!(3 * DAY)),
            properties(0, 1),
            vec![1, 2, 6, 7],
            vec![],
        ),
        (
            "main has no age",
            with(history(), "/refs/main/max-ref-age-ms", json!(1)),
            properties(2, 1),
            vec![1, 2, 3, 6, 7],
            vec![],
        ),
        (
            "a circle of parents",
            with(history(), "/snapshots/0/parent-snapshot-id", json!(5)),
            properties(0, 9),
            vec![6, 7],
            vec![],
        ),
    ] {
        let metadata = parsed(&with(document, "/properties", properties));
        let policy = Policy::of(&metadata, Policy::DEFAULT).expect("numbers").expect("it is on");
        let found = expired(&metadata, &policy, NOW);
        assert_eq!(
            (&found.snapshots, &found.references),
            (&snapshots, &references.into_iter().map(str::to_owned).collect()),
            "{name}"
        );
        assert_eq!(found.is_empty(), found.updates().is_empty(), "{name}");
        // The commit is legal, and what is left names nothing that went.
        let after = metadata.apply(&found.updates(), NOW, None).expect(name);
        let left: BTreeSet<i64> = after.snapshots().map(|it| it.id).collect();
        assert!(
            snapshots.iter().all(|id| !left.contains(id))
                && after.refs().all(|(_, it)| left.contains(&it.snapshot_id)),
            "{name}"
        );
        assert_eq!(after.current_snapshot_id(), Some(5), "{name}");
        assert!(expired(&after, &policy, NOW).is_empty(), "{name}");
    }
}

#[test]
fn properties_of_a_table_make_its_policy() {
    let policy = |properties: Value| {
        Policy::of(&parsed(&with(table(), "/properties", properties)), Policy::DEFAULT)
    };
    assert_eq!(policy(json!({})), Ok(Some(Policy::DEFAULT)));
    assert_eq!(policy(json!({"gc.enabled": "false"})), Ok(None));
    assert_eq!(
        policy(json!({"gc.enabled": "TRUE", "history.expire.max-ref-age-ms": "7"})),
        Ok(Some(Policy { max_ref_age_ms: 7, ..Policy::DEFAULT }))
    );
    // Nothing is deleted by a guess.
    assert_eq!(policy(json!({"gc.enabled": "maybe"})), Ok(None));
    for (name, value) in
        [("max-snapshot-age-ms", "5 days"), ("min-snapshots-to-keep", "-1"), ("max-ref-age-ms", "")]
    {
        let error =
            policy(json!({format!("history.expire.{name}"): value})).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn the_current_snapshot_of_an_old_table_stays() {
    let metadata = parsed(&table());
    let found = expired(&metadata, &Policy::DEFAULT, i64::MAX);
    // The tag of the first one has an age of its own, which has passed.
    assert_eq!((found.snapshots, found.references), (vec![FIRST], vec!["test".to_owned()]));
    assert!(metadata.snapshot(SECOND).is_some());
}
