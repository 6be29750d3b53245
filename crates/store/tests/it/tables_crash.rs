//! The crash model of catalogs: commits of two tables with the files of their metadata, with a power cut or a fault at
//! every single operation of the disk in turn. Afterwards every table is at a location that was acknowledged last, or
//! was in flight, its file is whole, and both tables of a commit have moved or none; there is no file of a commit that
//! has not happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use liteio_disk::{Disk, Fault, SimulatedDisk};
use liteio_store::tables::{
    Expected, NamespaceName, NewMetadata, TableChange, TableKind, TableName,
};
use liteio_store::{
    Durability, ListEntry, ListQuery, PutOptions, Selection, Store, StoreConfig, StoreError,
};

use crate::harness::*;

const SEEDS: u64 = 2;

/// The locations of the tables, by their names.
type Model = BTreeMap<&'static str, String>;

/// A commit of these tables, to this version.
#[derive(Clone, Debug)]
struct Commit(&'static [&'static str], u32);

const STEPS: [Commit; 6] = [
    Commit(&["one"], 0),
    Commit(&["two"], 1),
    Commit(&["one", "two"], 2),
    Commit(&["two"], 3),
    Commit(&["one", "two"], 4),
    Commit(&["one", "two", "three"], 5),
];

fn open(disk: &SimulatedDisk, seed: u64, durability: Durability) -> Result<Store, StoreError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    // Synced when the store closes, and not in between.
    let sync_interval = Duration::from_secs(1_000_000);
    // Files in blobs, of which some are left to the log.
    let logged_bytes_max = [0, usize::MAX][(seed % 2) as usize];
    let config = StoreConfig { durability, sync_interval, logged_bytes_max, ..config(seed) };
    Store::open_on(disk, config)
}

fn namespace() -> NamespaceName {
    NamespaceName::new(vec!["n".to_owned()]).expect("a name")
}

fn named(name: &str) -> TableName {
    TableName::new(namespace(), name.to_owned()).expect("a name")
}

fn file(name: &str, version: u32) -> String {
    format!("{name}/metadata/{version}")
}

fn content(file: &str) -> Vec<u8> {
    // Longer than what is inline.
    file.repeat(20).into_bytes()
}

impl Commit {
    fn apply(&self, model: &mut Model) {
        let Self(tables, version) = self;
        model.extend(tables.iter().map(|name| (*name, file(name, *version))));
    }

    fn run(&self, store: &Store, model: &Model) -> Result<(), StoreError> {
        let Self(tables, version) = self;
        let change = |name: &&'static str| {
            let expected = match model.get(name) {
                None => Expected::Missing,
                Some(location) => Expected::Location(location.clone()),
            };
            let location = file(name, *version);
            let body = stage(store, &content(&location))?;
            let metadata =
                NewMetadata { key: key(&location), body, options: PutOptions::default() };
            // The sums of the letters of the names differ.
            let id = [name.bytes().fold(0, u8::wrapping_add); 16];
            let change = TableChange::new(TableKind::Table, named(name), expected, id, location);
            Ok(change.with_metadata(metadata))
        };
        let changes = tables.iter().map(change).collect::<Result<Vec<_>, StoreError>>()?;
        store.commit_tables(&store.bucket(&name("bucket"))?, changes).wait().map(drop)
    }
}

/// The tables of a store, whose files are whole and the only ones that a commit may have left.
fn contents(store: &Store, versions: u32) -> Model {
    let bucket = bucket(store, "bucket");
    let mut model = Model::new();
    for name in ["one", "two", "three"] {
        match store.table(&bucket, TableKind::Table, &named(name)) {
            Ok(table) => {
                let (_, bytes) =
                    try_get(store, &table.location, Selection::Whole).expect("its file");
                assert_eq!(bytes, content(&table.location));
                model.insert(name, table.location);
            }
            Err(StoreError::Catalog(_)) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
    let query = ListQuery { max: 1000, ..ListQuery::default() };
    let page = store.list_objects(&bucket, &query).expect("listed");
    let keys: BTreeSet<String> = page
        .entries
        .into_iter()
        .filter_map(|entry| match entry {
            ListEntry::Object(object) => Some(object.key),
            ListEntry::Prefix(_) => None,
        })
        .collect();
    let mut of_commits = BTreeSet::new();
    for Commit(tables, version) in STEPS.iter().filter(|commit| commit.1 < versions) {
        of_commits.extend(tables.iter().map(|name| file(name, *version)));
    }
    assert_eq!(keys, of_commits, "the files of the commits that have happened");
    model
}

/// The number of commits that the tables of a model have had.
fn versions(model: &Model) -> u32 {
    let version = |location: &String| location.rsplit('/').next().and_then(|it| it.parse().ok());
    model.values().filter_map(version).max().map_or(0, |last: u32| last + 1)
}

/// Runs the commits until one fails: the states that a crash may leave, the oldest first.
fn run(store: &Store, durability: Durability) -> Vec<Model> {
    let mut states = vec![Model::new()];
    for step in STEPS {
        let before = states.last().expect("at least one").clone();
        let mut next = before.clone();
        step.apply(&mut next);
        let has_failed = step.run(store, &before).is_err();
        if durability == Durability::Fsync && !has_failed {
            states.clear();
        }
        states.push(next);
        if has_failed {
            break;
        }
    }
    states
}

fn check_restart(disk: &SimulatedDisk, seed: u64, states: &[Model], context: &str) {
    let store = open(disk, seed, Durability::Fsync);
    let store = store.unwrap_or_else(|error| panic!("{context}: {error}"));
    let found: Model = ["one", "two", "three"]
        .into_iter()
        .filter_map(|name| {
            let table = store.table(&bucket(&store, "bucket"), TableKind::Table, &named(name));
            Some((name, table.ok()?.location))
        })
        .collect();
    assert!(states.contains(&found), "{context}: found {found:?}, possible {states:?}");
    assert_eq!(contents(&store, versions(&found)), found, "{context}");
    let report = store.verify(&mut |_| {}).expect("verified");
    assert_eq!(report.damaged, [], "{context}");
    // Writing goes on.
    let next = Commit(&["one", "two"], 9);
    next.run(&store, &found).unwrap_or_else(|error| panic!("{context}: {error}"));
}

fn check(seed: u64, durability: Durability) {
    let base = SimulatedDisk::new(seed);
    let store = open(&base, seed, Durability::Fsync).expect("an empty disk");
    create_bucket(&store, "bucket");
    let bucket = bucket(&store, "bucket");
    store.create_namespace(&bucket, namespace(), BTreeMap::new()).wait().expect("created");
    store.close();
    let disk = base.kill();
    let store = open(&disk, seed, durability).expect("opens");
    let opened = disk.operations();
    let states = run(&store, durability);
    let last = states.last().expect("at least one");
    assert_eq!(&contents(&store, STEPS.len() as u32), last);
    let count = disk.operations();
    drop(store);
    let faults = [Fault::Io, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync];
    for at in opened..count {
        for fault in [Fault::Crash, faults[((seed + at) % 4) as usize]] {
            let context = format!("seed {seed}, {durability:?}, {fault:?} at operation {at}");
            let disk = base.kill();
            disk.set_fault(at, fault);
            let Ok(store) = open(&disk, seed, durability) else { continue };
            let states = run(&store, durability);
            drop(store);
            check_restart(&disk.crash(), seed, &states, &context);
        }
    }
}

#[test]
fn a_commit_of_tables_is_whole_or_nothing_after_a_crash_or_fault_at_any_operation() {
    for seed in 0..SEEDS {
        check(seed, Durability::Fsync);
        check(seed, Durability::Os);
    }
}
