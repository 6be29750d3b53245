//! The crash model of vectors: random workloads on a simulated disk, with a power cut or a fault at
//! every single operation of the disk in turn. Afterwards keys, metadata and elements are those of
//! everything acknowledged, with the one write in flight whole or not at all; at `os`, those of some
//! moment since the last sync.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use liteio_disk::{Disk, Fault, SimulatedDisk};
use liteio_store::vectors::{
    CreateIndex, DistanceMetric, GetVectors, ListVectors, Metadata, MetadataValue, NewVectors,
    Number, Scalar, VectorBucket, VectorName, VectorQuery,
};
use liteio_store::{Durability, Owner, SeededRandom, Store, StoreConfig, StoreError};

use crate::harness::config;

const DIMENSION: u32 = 3;
const STEPS: usize = 14;
const SEEDS: u64 = 8;

/// The version of each key of each index.
type Model = BTreeMap<String, BTreeMap<String, u32>>;

#[derive(Clone, Debug)]
enum Step {
    CreateIndex(String),
    DeleteIndex(String),
    Put { index: String, keys: Vec<String>, version: u32 },
    Delete { index: String, keys: Vec<String> },
    Reclaim,
    Sync,
}

impl Step {
    fn apply(&self, model: &mut Model) {
        match self {
            Self::CreateIndex(index) => drop(model.entry(index.clone()).or_default()),
            Self::DeleteIndex(index) => drop(model.remove(index)),
            Self::Put { index, keys, version } => {
                if let Some(vectors) = model.get_mut(index) {
                    vectors.extend(keys.iter().map(|key| (key.clone(), *version)));
                }
            }
            Self::Delete { index, keys } => {
                if let Some(vectors) = model.get_mut(index) {
                    vectors.retain(|key, _| !keys.contains(key));
                }
            }
            Self::Reclaim | Self::Sync => {}
        }
    }

    fn run(&self, store: &Store) -> Result<(), StoreError> {
        match self {
            Self::CreateIndex(index) => {
                let options = CreateIndex::new(DIMENSION, DistanceMetric::Euclidean);
                match store.create_index(&bucket(store)?, name(index), options).wait() {
                    Err(StoreError::IndexExists { .. }) => Ok(()),
                    result => result.map(drop),
                }
            }
            Self::DeleteIndex(index) => match store.index(&bucket(store)?, &name(index)) {
                Ok(index) => store.delete_index(&index).wait(),
                Err(StoreError::NoSuchIndex { .. }) => Ok(()),
                Err(error) => Err(error),
            },
            Self::Put { index, keys, version } => {
                match store.index(&bucket(store)?, &name(index)) {
                    Ok(index) => store.put_vectors(&index, vectors(keys, *version)),
                    Err(StoreError::NoSuchIndex { .. }) => Ok(()),
                    Err(error) => Err(error),
                }
            }
            Self::Delete { index, keys } => match store.index(&bucket(store)?, &name(index)) {
                Ok(index) => store.delete_vectors(&index, keys.clone()),
                Err(StoreError::NoSuchIndex { .. }) => Ok(()),
                Err(error) => Err(error),
            },
            Self::Reclaim => store.reclaim().map(drop),
            Self::Sync => store.sync(),
        }
    }
}

fn bucket_name() -> VectorName {
    VectorName::bucket("media").expect("a name")
}

fn bucket(store: &Store) -> Result<VectorBucket, StoreError> {
    store.vector_bucket(&bucket_name())
}

fn name(index: &str) -> VectorName {
    VectorName::index(index).expect("a name")
}

fn elements(key: &str, version: u32) -> Vec<f32> {
    let first = key.bytes().next().unwrap_or(0);
    vec![f32::from(first), version as f32, 1.0]
}

fn metadata(version: u32) -> Metadata {
    let value = Scalar::Number(Number::Integer(version.into()));
    Metadata(vec![("version".to_owned(), MetadataValue::Scalar(value))])
}

fn vectors(keys: &[String], version: u32) -> NewVectors {
    let mut vectors = NewVectors::default();
    for key in keys {
        vectors.push_with(key.clone(), &elements(key, version), metadata(version));
    }
    vectors
}

fn workload(seed: u64) -> Vec<Step> {
    let random = SeededRandom::new(seed);
    let mut steps = vec![Step::CreateIndex("one".to_owned())];
    let pick = |names: &[&str]| names[random.below(names.len() as u64) as usize].to_owned();
    let index = || pick(&["one", "one", "one", "two"]);
    let keys = || {
        let mut keys: Vec<String> =
            (0..=random.below(3)).map(|_| pick(&["a", "b", "c", "d", "e"])).collect();
        keys.sort();
        keys.dedup();
        keys
    };
    for version in 1..STEPS as u32 {
        steps.push(match random.below(13) {
            0 => Step::CreateIndex("two".to_owned()),
            1 => Step::DeleteIndex(index()),
            2 => Step::CreateIndex("one".to_owned()),
            3 | 4 => Step::Delete { index: index(), keys: keys() },
            5 => Step::Reclaim,
            6 => Step::Sync,
            _ => Step::Put { index: index(), keys: keys(), version },
        });
    }
    steps
}

fn open(disk: &SimulatedDisk, durability: Durability) -> Result<Store, StoreError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    // Synced when a step asks for it, and not in between.
    let sync_interval = Duration::from_secs(1_000_000);
    Store::open_on(disk, StoreConfig { durability, sync_interval, ..config(7) })
}

/// Everything that a store holds, each vector read, listed and found.
fn contents(store: &Store) -> Result<Model, StoreError> {
    let mut model = Model::new();
    let query = liteio_store::vectors::ListIndexes { max: 100, ..Default::default() };
    for index in store.list_indexes(&bucket(store)?, &query)?.indexes {
        let page = store.list_vectors(&index, &ListVectors::default())?;
        let keys: Vec<String> = page.vectors.into_iter().map(|vector| vector.key).collect();
        let mut found = BTreeMap::new();
        for chunk in keys.chunks(100) {
            let query =
                GetVectors { keys: chunk.to_vec(), with_elements: true, with_metadata: true };
            for vector in store.get_vectors(&index, &query)? {
                let data = vector.elements.expect("elements");
                let version = data[1] as u32;
                assert_eq!(data, elements(&vector.key, version));
                assert_eq!(vector.metadata, Some(metadata(version)), "{}", vector.key);
                let query = VectorQuery::nearest(data, 1);
                let nearest = store.query_vectors(&index, &query)?.hits;
                assert_eq!(nearest[0].key, vector.key);
                found.insert(vector.key, version);
            }
        }
        assert!(found.keys().eq(keys.iter()), "{found:?} {keys:?}");
        let all = store.query_vectors(&index, &VectorQuery::nearest(vec![0.0; 3], 100))?;
        assert_eq!(all.hits.len(), found.len());
        model.insert(index.name.to_string(), found);
    }
    Ok(model)
}

/// The states that a crash may leave.
struct Models {
    /// The acknowledged state, last, and before it the states to which a power cut may go back.
    acknowledged: Vec<Model>,
    /// The last of them with the step that failed.
    in_flight: Option<Model>,
}

/// Runs the steps until one fails.
fn run(store: &Store, steps: &[Step], durability: Durability) -> Models {
    let mut acknowledged = vec![Model::new()];
    for step in steps {
        let mut next = acknowledged.last().expect("at least one").clone();
        step.apply(&mut next);
        if step.run(store).is_err() {
            return Models { acknowledged, in_flight: Some(next) };
        }
        if durability == Durability::Fsync || matches!(step, Step::Sync) {
            acknowledged.clear();
        }
        acknowledged.push(next);
    }
    Models { acknowledged, in_flight: None }
}

/// Checks that the state on a disk is one of the models, without damage, and that writing continues.
fn check_restart(disk: &SimulatedDisk, models: &Models, context: &str) {
    let store = open(disk, Durability::Fsync).unwrap_or_else(|error| panic!("{context}: {error}"));
    let found = contents(&store).unwrap_or_else(|error| panic!("{context}: {error}"));
    let Models { acknowledged, in_flight } = models;
    assert!(
        acknowledged.contains(&found) || Some(&found) == in_flight.as_ref(),
        "{context}: found {found:?}, acknowledged {acknowledged:?}, in flight {in_flight:?}"
    );
    store.reclaim().unwrap_or_else(|error| panic!("{context}: {error}"));
    let report = store.verify(&mut |_| {}).expect("verified");
    assert_eq!(report.damaged, [], "{context}");
    let mut later = found;
    for step in [
        Step::CreateIndex("one".to_owned()),
        Step::Put {
            index: "one".to_owned(),
            keys: vec!["z".to_owned(), "a".to_owned()],
            version: 99,
        },
    ] {
        step.run(&store).unwrap_or_else(|error| panic!("{context}: {error}"));
        step.apply(&mut later);
    }
    assert_eq!(contents(&store).expect("readable"), later, "{context}");
    let live = later.len();
    let disk: &dyn Disk = disk;
    let files = disk
        .list("vectors")
        .map_or(0, |files| files.iter().filter(|file| file.name.ends_with(".slots")).count());
    assert!(files <= live, "{context}: {files} files of {live} indexes");
}

fn base(seed: u64) -> SimulatedDisk {
    // The disk of another system than Linux leaves temporary files in `tmp/` when it ends.
    let disk = match seed % 4 {
        3 => SimulatedDisk::with_named_temporaries(seed),
        _ => SimulatedDisk::new(seed),
    };
    let store = open(&disk, Durability::Fsync).expect("an empty disk");
    store
        .create_vector_bucket(bucket_name(), Owner::default(), None, Vec::new())
        .wait()
        .expect("new");
    store.close();
    disk
}

fn check_steps(seed: u64, steps: &[Step], durability: Durability) {
    let base = base(seed);
    let disk = base.kill();
    let store = open(&disk, durability).expect("opens");
    let opened = disk.operations();
    let models = run(&store, steps, durability);
    assert_eq!(models.in_flight, None, "seed {seed}: {steps:?}");
    let found = contents(&store).expect("readable");
    assert_eq!(Some(&found), models.acknowledged.last(), "seed {seed}: {steps:?}");
    let count = disk.operations();
    drop(store);
    check_restart(&disk.crash(), &models, &format!("seed {seed} at the end"));

    let faults = [Fault::Io, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync];
    for at in opened..count {
        for fault in [Fault::Crash, faults[((seed + at) % 4) as usize]] {
            let context = format!("seed {seed}, {fault:?} at operation {at}: {steps:?}");
            let disk = base.kill();
            disk.set_fault(at, fault);
            let Ok(store) = open(&disk, durability) else { continue };
            let models = run(&store, steps, durability);
            drop(store);
            check_restart(&disk.crash(), &models, &context);
        }
    }
}

#[test]
fn keys_metadata_and_elements_agree_after_a_crash_or_fault_at_any_operation() {
    (0..SEEDS).for_each(|seed| check_steps(seed, &workload(seed), Durability::Fsync));
}

#[test]
fn at_os_a_crash_or_fault_at_any_operation_leaves_a_moment_since_the_last_sync() {
    (0..SEEDS).for_each(|seed| check_steps(seed, &workload(seed), Durability::Os));
}

#[test]
fn at_os_an_index_whose_deletion_is_lost_has_its_vectors() {
    let put = |version| {
        let (index, keys) = ("one".to_owned(), vec!["a".to_owned(), "b".to_owned()]);
        Step::Put { index, keys, version }
    };
    let (create, delete) = (|| Step::CreateIndex("one".into()), Step::DeleteIndex("one".into()));
    let steps = [create(), put(1), Step::Sync, delete, Step::Reclaim, create(), put(2)];
    (0..SEEDS).for_each(|seed| check_steps(seed, &steps, Durability::Os));
}

#[test]
fn vectors_are_read_also_while_nothing_can_be_written() {
    for fault in [Fault::NoSpaceFrom, Fault::FailedSync] {
        for durability in [Durability::Fsync, Durability::Os] {
            let disk = base(1);
            let keys = ["a".to_owned(), "b".to_owned()];
            let put = Step::Put { index: "one".to_owned(), keys: keys.to_vec(), version: 1 };
            let store = open(&disk, durability).expect("opens");
            for step in [Step::CreateIndex("one".to_owned()), put] {
                step.run(&store).expect("done");
            }
            store.close();
            let store = open(&disk, durability).expect("opens");
            // Something is left to sync, at os.
            Step::CreateIndex("two".to_owned()).run(&store).expect("done");
            disk.set_fault(disk.operations(), fault);
            if fault == Fault::FailedSync {
                let _ = store.sync();
            }
            let index = store.index(&bucket(&store).expect("there"), &name("one")).expect("there");
            let answer = store.query_vectors(&index, &VectorQuery::nearest(vec![0.0; 3], 5));
            let found = answer.unwrap_or_else(|error| panic!("{fault:?}, {durability:?}: {error}"));
            assert_eq!(found.hits.len(), 2, "{fault:?}, {durability:?}");
        }
    }
}
