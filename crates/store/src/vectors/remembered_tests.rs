//! Columns that are made again after a start.

use std::fs;
use std::path::PathBuf;

use super::index::CreateIndex;
use super::meanwhile_tests::selected;
use super::put::NewVectors;
use super::query::VectorQuery;
use super::remembered::remembered_path;
use crate::config::StoreConfig;
use crate::indexes::Index;
use crate::indexes::filter::{Condition, Filter};
use crate::indexes::name::VectorName;
use crate::limits::REMEMBERED_KEYS_MAX;
use crate::meta::Owner;
use crate::meta::vector::DistanceMetric;
use crate::meta::vector_metadata::{Metadata, MetadataValue, Number, Scalar};
use crate::store::Store;

struct Fixture {
    directory: tempfile::TempDir,
    index: Index,
}

impl Fixture {
    /// A closed store with an index of ten vectors, each with a number of its own, after a filter
    /// on each of `keys`.
    fn filtered_by(keys: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(StoreConfig::directory(directory.path())).expect("opens");
        let name = VectorName::bucket("media").expect("a name");
        let bucket = store.create_vector_bucket(name, Owner::default(), None, Vec::new()).wait();
        let name = VectorName::index("films").expect("a name");
        let options = CreateIndex::new(1, DistanceMetric::Euclidean);
        let index = store.create_index(&bucket.expect("new"), name, options).wait().expect("new");
        let mut vectors = NewVectors::default();
        for number in 0..10 {
            let value = MetadataValue::Scalar(Scalar::Number(Number::Integer(number)));
            let metadata = Metadata(vec![("number".to_owned(), value)]);
            vectors.push_with(format!("{number}"), &[0.0], metadata);
        }
        store.put_vectors(&index, vectors).expect("stored");
        for key in keys {
            let found = find(&store, &index, filter(key));
            assert_eq!(found, usize::from(*key == "number"), "{key}");
        }
        store.close();
        Self { directory, index }
    }

    fn open(&self) -> Store {
        Store::open(StoreConfig::directory(self.directory.path())).expect("opens")
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join(remembered_path(self.index.id))
    }
}

/// One of the ten vectors by `number`, and none by any other key.
fn filter(key: &str) -> Filter {
    let condition = Condition::Equal(Scalar::Number(Number::Integer(7)));
    Filter::Key { key: key.to_owned(), condition }
}

fn find(store: &Store, index: &Index, filter: Filter) -> usize {
    let query = VectorQuery { filter: Some(filter), ..VectorQuery::nearest(vec![0.0], 10) };
    store.query_vectors(index, &query).expect("an answer").hits.len()
}

/// Waits for the threads that make columns; their number.
fn wait_for_columns(store: &Store) -> usize {
    let next = || store.inner.vectors.columns.queue().lock().thread.take();
    let threads = std::iter::from_fn(next);
    threads.map(|thread| thread.join().expect("no panic")).count()
}

#[test]
fn columns_that_filters_used_before_a_start_are_made_without_being_asked_for() {
    let fixture = Fixture::filtered_by(&["number"]);
    let store = fixture.open();
    assert!(wait_for_columns(&store) > 0, "made at the start");
    assert_eq!(selected(&store, &fixture.index, &filter("number")), 1, "ready");
    let mut vectors = NewVectors::default();
    let value = MetadataValue::Scalar(Scalar::Number(Number::Integer(7)));
    vectors.push_with("new", &[0.0], Metadata(vec![("number".to_owned(), value)]));
    store.put_vectors(&fixture.index, vectors).expect("stored");
    assert_eq!(selected(&store, &fixture.index, &filter("number")), 2, "and kept up to date");
}

#[test]
fn an_index_that_no_filter_was_used_on_is_not_opened_at_the_start() {
    let fixture = Fixture::filtered_by(&[]);
    let store = fixture.open();
    assert_eq!(wait_for_columns(&store), 0);
    assert!(store.inner.vectors.if_open(fixture.index.id).is_none());
}

#[test]
fn damage_to_what_is_remembered_costs_no_more_than_the_time_of_the_first_filter() {
    let fixture = Fixture::filtered_by(&["number"]);
    let whole = fs::read(fixture.file()).expect("there");
    let mut later = whole.clone();
    later[0] += 1;
    let mut flipped = whole.clone();
    flipped[3] ^= 1;
    let long = [&whole[..], &[0; 100_000]].concat();
    for bytes in [Vec::new(), whole[..whole.len() - 1].to_vec(), later, flipped, long] {
        fs::write(fixture.file(), bytes).expect("written");
        let store = fixture.open();
        wait_for_columns(&store);
        assert_eq!(find(&store, &fixture.index, filter("number")), 1);
        store.close();
        assert!(fs::read(fixture.file()).expect("there") == whole, "written again");
    }
}

#[test]
fn only_the_keys_used_last_are_remembered() {
    let keys: Vec<String> =
        (0..REMEMBERED_KEYS_MAX + 5).map(|number| format!("{number}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let fixture = Fixture::filtered_by(&keys);
    let store = fixture.open();
    wait_for_columns(&store);
    let mut ready = store.inner.vectors.columns.ready_keys(fixture.index.id);
    ready.sort_by_key(|key| key.parse::<usize>().ok());
    assert_eq!(ready, keys[5..]);
}

#[test]
fn what_is_remembered_of_a_deleted_index_is_removed_with_its_files() {
    let fixture = Fixture::filtered_by(&["number"]);
    let store = fixture.open();
    wait_for_columns(&store);
    assert!(fixture.file().exists());
    store.delete_index(&fixture.index).wait().expect("deleted");
    store.reclaim().expect("reclaimed");
    store.remember_columns(&fixture.index);
    assert!(!fixture.file().exists());
}
