//! Random updates, applied by both crates. Where both accept them, the metadata must be the same; where one refuses, the reason
//! must be one of the known differences.

use std::collections::BTreeMap;

use liteio_iceberg::{CreateTable, TableMetadata};
use liteio_iceberg_compared::{by_ours, by_theirs, comparable, created_by_theirs};
use serde_json::{Value, json};

const TABLES: u64 = 200;
const COMMITS: u64 = 15;
const UUID: &str = "9c12d441-03fe-4693-9a96-a0705ddf69c1";

/// Apache's crate refuses these.
const ONLY_THEY_REFUSE: &[&str] = &[
    // The removal of the current snapshot: it forgets to unset it. The reference implementation removes the branch main.
    "Cannot set invalid snapshot log: latest entry is not the current snapshot",
    // A snapshot without a parent and with an old number, as of a second one of two concurrent replacements: the number of the
    // table goes back. The reference implementation has the same fault where the first one made two snapshots.
    "Invalid snapshot with id",
];

/// `liteio-iceberg` refuses these.
const ONLY_WE_REFUSE: &[&str] = &[
    // The reference implementation refuses it, too.
    "the column must not be in a list or map",
];

/// A generator of numbers: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).expect("an index")].clone()
    }
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.expect("it is after 1970").as_millis()).expect("it is this century")
}

fn created(random: &mut Random) -> Value {
    let body = json!({
        "name": "t",
        "schema": {"type": "struct", "fields": [
            {"id": 1, "name": "id", "required": true, "type": "long"},
            {"id": 2, "name": "at", "required": false, "type": "timestamptz"},
            {"id": 3, "name": "s", "required": false, "type": {"type": "struct", "fields": [
                {"id": 4, "name": "x", "required": false, "type": "string"}]}},
            {"id": 5, "name": "l", "required": false, "type":
                {"type": "list", "element-id": 6, "element-required": false, "element": "int"}}]},
        "partition-spec": {"fields": [{"source-id": 2, "name": "at_day", "transform": "day"}]},
        "properties": {"format-version": random.one_of(&["1", "2", "2", "3"]),
            "write.metadata.previous-versions-max": "4"},
    });
    let request = CreateTable::from_value(&body).expect("it is a request");
    TableMetadata::create(&request, UUID, "s3://bucket/t", now_ms())
        .expect("it is valid")
        .to_value()
}

fn ids(metadata: &Value, list: &str, id: &str) -> Vec<i64> {
    let list = metadata[list].as_array().into_iter().flatten();
    list.filter_map(|it| it[id].as_i64()).collect()
}

/// One to three updates that belong together.
fn updates(random: &mut Random, metadata: &Value, number: i64) -> Vec<Value> {
    let version = metadata["format-version"].as_i64().expect("it is there");
    let current = metadata["current-schema-id"].clone();
    let schemas = metadata["schemas"].as_array().expect("it is there");
    let schema = schemas.iter().find(|it| it["schema-id"] == current).expect("it is there");
    let snapshots = ids(metadata, "snapshots", "snapshot-id");
    let any_snapshot = |random: &mut Random| match snapshots.is_empty() || random.below(20) == 0 {
        true => 77,
        false => random.one_of(&snapshots),
    };
    let few = random.below(3);
    match random.below(20) {
        0..=2 => {
            let mut schema = schema.clone();
            let fields = schema["fields"].as_array_mut().expect("it is there");
            let next = metadata["last-column-id"].as_i64().expect("it is there") + 1;
            match random.below(4) {
                0 if fields.len() > 4 => drop(fields.pop()),
                1 => {}
                _ => fields.push(json!({"id": next, "name": format!("c{}", random.below(9)), "required": false,
                    "type": random.one_of(&["int", "decimal(9, 2)", "fixed[3]", "date"])})),
            }
            let mut updates = vec![json!({"action": "add-schema", "schema": schema})];
            if random.below(3) > 0 {
                updates.push(json!({"action": "set-current-schema", "schema-id": -1}));
            }
            updates
        }
        3 => vec![json!({"action": "set-current-schema", "schema-id": random.below(4)})],
        4..=5 => {
            let (source, transform) = random.one_of(&[
                (1, "identity"), (1, "bucket[4]"), (1, "truncate[10]"), (2, "hour"), (2, "day"), (2, "void"),
                (4, "identity"), (1, "day"), (6, "identity"), (3, "identity"), (99, "identity"),
            ]);
            let name = format!("p{source}_{}", &transform[..3]);
            let mut updates = vec![json!({"action": "add-spec", "spec": {"fields": [
                {"source-id": source, "name": name, "transform": transform}]}})];
            if random.below(3) > 0 {
                updates.push(json!({"action": "set-default-spec", "spec-id": -1}));
            }
            updates
        }
        6 => vec![json!({"action": "set-default-spec", "spec-id": random.below(4)})],
        7 => {
            let (source, transform) = random.one_of(&[(1, "identity"), (2, "year"), (4, "truncate[3]"), (5, "identity")]);
            let order = json!({"order-id": 1, "fields": [{"source-id": source, "transform": transform,
                "direction": random.one_of(&["asc", "desc"]), "null-order": "nulls-last"}]});
            let order = random.one_of(&[order, json!({"order-id": 0, "fields": []})]);
            vec![json!({"action": "add-sort-order", "sort-order": order}),
                json!({"action": "set-default-sort-order", "sort-order-id": -1})]
        }
        8 => vec![json!({"action": "set-default-sort-order", "sort-order-id": random.below(3)})],
        9..=12 => {
            let last = metadata["last-sequence-number"].as_i64().unwrap_or_default();
            let sequence = if version == 1 { 0 } else { last + random.one_of(&[1, 1, 1, 1, 2, 0]) };
            let mut snapshot = json!({"snapshot-id": number, "sequence-number": sequence, "timestamp-ms": now_ms(),
                "summary": {"operation": "append", "a": "b"}, "manifest-list": format!("s3://bucket/{number}.avro"),
                "schema-id": current});
            if let Some(parent) = metadata["current-snapshot-id"].as_i64().filter(|id| *id != -1) {
                snapshot["parent-snapshot-id"] = json!(parent);
            }
            if version == 3 {
                let next = metadata["next-row-id"].as_i64().unwrap_or_default();
                snapshot["first-row-id"] = json!(next - random.one_of(&[0, 0, 0, 1]));
                snapshot["added-rows"] = json!(random.below(5));
            }
            let name = if version == 1 { "main" } else { random.one_of(&["main", "main", "main", "dev"]) };
            vec![json!({"action": "add-snapshot", "snapshot": snapshot}),
                json!({"action": "set-snapshot-ref", "ref-name": name, "type": "branch", "snapshot-id": number})]
        }
        13 => {
            let name = if version == 1 { "main" } else { random.one_of(&["main", "dev", "tag"]) };
            let mut update = json!({"action": "set-snapshot-ref", "ref-name": name, "snapshot-id": any_snapshot(random),
                "type": if name == "tag" { "tag" } else { "branch" }});
            if version > 1 && random.below(2) == 0 {
                update["max-ref-age-ms"] = json!(random.below(3) + 1);
            }
            vec![update]
        }
        14 => vec![json!({"action": "remove-snapshots", "snapshot-ids": [any_snapshot(random)]})],
        15 => vec![json!({"action": "remove-snapshot-ref", "ref-name": random.one_of(&["main", "dev", "tag", "none"])})],
        16 => random.one_of(&[
            vec![json!({"action": "set-properties", "updates": {"a": format!("{number}"), "b": "c"}})],
            vec![json!({"action": "remove-properties", "removals": ["a", "unknown"]})],
            vec![json!({"action": "set-location", "location": format!("s3://bucket/{number}")})],
        ]),
        17 => {
            let snapshot = any_snapshot(random);
            random.one_of(&[
                vec![json!({"action": "set-statistics", "statistics": {"snapshot-id": snapshot, "statistics-path": "p",
                    "file-size-in-bytes": 4, "file-footer-size-in-bytes": 2, "blob-metadata": []}})],
                vec![json!({"action": "remove-statistics", "snapshot-id": snapshot})],
                vec![json!({"action": "set-partition-statistics", "partition-statistics":
                    {"snapshot-id": snapshot, "statistics-path": "q", "file-size-in-bytes": 4}})],
                vec![json!({"action": "remove-partition-statistics", "snapshot-id": snapshot})],
            ])
        }
        18 => random.one_of(&[
            vec![json!({"action": "remove-schemas", "schema-ids": [few]})],
            vec![json!({"action": "remove-partition-specs", "spec-ids": [few]})],
        ]),
        // See `comparable`: Apache's crate has no keys before.
        _ if version < 3 || random.below(2) == 0 => {
            vec![json!({"action": "upgrade-format-version", "format-version": few + 1})]
        }
        _ => random.one_of(&[
            vec![json!({"action": "add-encryption-key", "encryption-key":
                {"key-id": format!("k{}", few), "encrypted-key-metadata": "YQ=="}})],
            vec![json!({"action": "remove-encryption-key", "key-id": format!("k{}", few)})],
        ]),
    }
}

#[test]
fn both_crates_make_the_same_metadata() {
    let (mut same, mut both_refused) = (0, 0);
    let mut differences: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 1..=TABLES {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut metadata = created(&mut random);
        for commit in 0..COMMITS {
            let number = i64::try_from(commit).expect("small") * 10 + 100;
            let batches = random.below(2) + 1;
            let mut all = Vec::new();
            for batch in 0..batches {
                all.extend(updates(
                    &mut random,
                    &metadata,
                    number + i64::try_from(batch).expect("small"),
                ));
            }
            let file = format!("s3://bucket/{commit}.json");
            let ours = by_ours(&metadata, &all, now_ms(), &file);
            let theirs = by_theirs(&metadata, &all, &file);
            match (ours, theirs) {
                (Ok(ours), Ok(theirs)) => {
                    let (mut one, mut two) = (comparable(&ours), comparable(&theirs));
                    if ours == metadata {
                        // Apache's crate leaves it to its caller to write no file.
                        one["metadata-log"].take();
                        two["metadata-log"].take();
                    }
                    let names = one.as_object().into_iter().chain(two.as_object()).flatten();
                    for name in names.map(|(name, _)| name) {
                        let (one, two) = (&one[name], &two[name]);
                        let all = json!(all);
                        assert_eq!(
                            one, two,
                            "seed {seed}, commit {commit}: {name} after {all}\nof {metadata}"
                        );
                    }
                    metadata = ours;
                    same += 1;
                }
                (Err(_), Err(_)) => both_refused += 1,
                (Ok(ours), Err(error)) => {
                    if !ONLY_THEY_REFUSE.iter().any(|known| error.contains(known)) {
                        *differences.entry(format!("they: {error}")).or_default() += 1;
                    }
                    metadata = ours;
                }
                (Err(error), Ok(_)) => {
                    if !ONLY_WE_REFUSE.iter().any(|known| error.contains(known)) {
                        *differences.entry(format!("we: {error}")).or_default() += 1;
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
    // The generator makes both kinds.
    assert!(same > 1500 && both_refused > 150, "{same} the same, {both_refused} refused by both");
}

/// But for the fields of a key: Apache's crate gives them ids before the value, the reference implementation after it.
#[test]
fn both_crates_give_a_new_table_the_same_ids() {
    let list = |kind: Value| json!({"type": "list", "element-id": 60, "element-required": true, "element": kind});
    let body = json!({
        "name": "t",
        "schema": {"type": "struct", "schema-id": 7, "identifier-field-ids": [10], "fields": [
            {"id": 10, "name": "id", "required": true, "type": "long"},
            {"id": 30, "name": "point", "required": false, "type": {"type": "struct", "fields": [
                {"id": 5, "name": "x", "required": true, "type": "double"},
                {"id": 4, "name": "tags", "required": false, "type": list(json!("string"))}]}},
            {"id": 20, "name": "map", "required": false, "type": {"type": "map",
                "key-id": 21, "key": "string",
                "value-id": 22, "value-required": false, "value": {"type": "struct", "fields": [
                    {"id": 40, "name": "k", "required": true, "type": "int"}]}}},
            {"id": 50, "name": "at", "required": false, "type": "timestamptz"}]},
        "partition-spec": {"spec-id": 3, "fields": [
            {"source-id": 50, "field-id": 2000, "name": "at_day", "transform": "day"},
            {"source-id": 10, "field-id": 2007, "name": "id_bucket", "transform": "bucket[4]"}]},
        "write-order": {"order-id": 5, "fields": [
            {"source-id": 5, "transform": "identity", "direction": "desc", "null-order": "nulls-last"}]},
        "properties": {"a": "b"},
    });
    let request = CreateTable::from_value(&body).expect("it is a request");
    let ours = TableMetadata::create(&request, UUID, "s3://bucket/t", now_ms());
    let mut ours = comparable(&ours.expect("it is valid").to_value());
    let mut theirs = comparable(&created_by_theirs(&body, "s3://bucket/t").expect("it is valid"));
    // Apache's crate chooses a UUID, and sets no property of its own.
    theirs["table-uuid"] = json!(UUID);
    let properties = ours["properties"].as_object_mut().expect("there is one");
    properties.remove("write.parquet.compression-codec");
    assert_eq!(ours, theirs);
}
