//! Queries beside which vectors are replaced, at the moments that matter.

use liteio_vector::Slot;

use super::index::CreateIndex;
use super::put::NewVectors;
use super::query::VectorQuery;
use crate::config::StoreConfig;
use crate::indexes::Index;
use crate::indexes::columns::Selected;
use crate::indexes::filter::{Condition, Filter};
use crate::indexes::name::VectorName;
use crate::indexes::scope::Scope;
use crate::meta::Owner;
use crate::meta::vector::DistanceMetric;
use crate::meta::vector_metadata::{Metadata, MetadataValue, Scalar};
use crate::store::Store;

fn store_with_index() -> (Store, Index) {
    let store = Store::open(StoreConfig::memory()).expect("memory");
    let name = VectorName::bucket("media").expect("a name");
    let created = store.create_vector_bucket(name, Owner::default(), None, Vec::new());
    let bucket = created.wait().expect("new");
    let name = VectorName::index("films").expect("a name");
    let options = CreateIndex::new(1, DistanceMetric::Euclidean);
    let index = store.create_index(&bucket, name, options).wait().expect("new");
    (store, index)
}

fn put(store: &Store, index: &Index, key: &str) {
    let value = MetadataValue::Scalar(Scalar::String("red".to_owned()));
    let mut vectors = NewVectors::default();
    vectors.push_with(key, &[0.0], Metadata(vec![("colour".to_owned(), value)]));
    store.put_vectors(index, vectors).expect("stored");
}

#[test]
fn a_vector_replaced_after_the_view_was_made_is_not_missed() {
    let (store, index) = store_with_index();
    put(&store, &index, "k");
    let open = store.open_index(&index).expect("opens");
    let query = VectorQuery::nearest(vec![0.0], 1);
    let early = open.vectors.slots().view();
    put(&store, &index, "k");
    let answer = store.try_query(&open, &early, &index, &query, &[]).expect("no failure");
    assert_eq!(answer, None, "another view is needed");
    let late = open.vectors.slots().view();
    let answer = store.try_query(&open, &late, &index, &query, &[]).expect("no failure");
    assert_eq!(answer.map(|answer| answer.hits.len()), Some(1));
}

#[test]
fn a_filter_without_columns_notices_that_a_vector_was_replaced() {
    let (store, index) = store_with_index();
    put(&store, &index, "k");
    let open = store.open_index(&index).expect("opens");
    let red = Condition::Equal(Scalar::String("red".to_owned()));
    let filter = Filter::Key { key: "colour".to_owned(), condition: red };
    let select = |moment| {
        let snapshot = store.snapshot().expect("a snapshot");
        let scope = Scope { index: &index, snapshot: &snapshot, moment: &moment };
        scope.select_by_records(&filter).expect("no failure").map(|slots| slots.count())
    };
    let early = open.referenced.now();
    put(&store, &index, "k");
    assert_eq!(select(early), None);
    assert_eq!(select(open.referenced.now()), Some(1));
}

fn coloured(colour: &str) -> Filter {
    let condition = Condition::Equal(Scalar::String(colour.to_owned()));
    Filter::Key { key: "colour".to_owned(), condition }
}

/// The keys that `filter` finds by columns that are ready.
pub(super) fn selected(store: &Store, index: &Index, filter: &Filter) -> usize {
    let open = store.open_index(index).expect("opens");
    let moment = open.referenced.now();
    let snapshot = store.snapshot().expect("a snapshot");
    let scope = Scope { index, snapshot: &snapshot, moment: &moment };
    match scope.select(filter, &store.inner.vectors.columns).expect("no failure") {
        Selected::Slots(slots) => slots.count(),
        Selected::Pending(_) => panic!("not ready"),
        Selected::Replaced => panic!("replaced"),
        Selected::TooLarge => panic!("too large"),
    }
}

/// The wanted columns of a filter.
fn want(store: &Store, index: &Index, filter: &Filter) {
    let open = store.open_index(index).expect("opens");
    let moment = open.referenced.now();
    let snapshot = store.snapshot().expect("a snapshot");
    let scope = Scope { index, snapshot: &snapshot, moment: &moment };
    let columns = &store.inner.vectors.columns;
    match scope.select(filter, columns).expect("no failure") {
        Selected::Pending(entries) => columns.want(index, &entries, &mut columns.queue().lock()),
        _ => panic!("columns are there already"),
    }
}

#[test]
fn a_column_hears_of_what_is_put_and_deleted_while_it_is_made() {
    let (store, index) = store_with_index();
    let columns = &store.inner.vectors.columns;
    for key in ["stays", "replaced", "goes", "reused"] {
        put(&store, &index, key);
    }
    let red = coloured("red");
    want(&store, &index, &red);
    let making = columns.claim(index.id);
    assert_eq!(making.keys(), ["colour"]);
    // What a snapshot of this moment shows.
    let value = || Some(MetadataValue::Scalar(Scalar::String("red".to_owned())));
    let seen: Vec<_> = (0..4).map(|slot| (Slot::new(slot), vec![value()])).collect();
    put(&store, &index, "replaced");
    store.delete_vectors(&index, vec!["goes".to_owned(), "reused".to_owned()]).expect("deleted");
    let mut blue = NewVectors::default();
    let text = MetadataValue::Scalar(Scalar::String("blue".to_owned()));
    for number in 0..3 {
        let metadata = Metadata(vec![("colour".to_owned(), text.clone())]);
        blue.push_with(format!("{number}"), &[1.0], metadata);
    }
    store.put_vectors(&index, blue).expect("stored");
    put(&store, &index, "new");
    making.learn(&seen);
    making.finish();
    drop(making);
    assert_eq!(selected(&store, &index, &red), 3, "stays, replaced and new");
    assert_eq!(selected(&store, &index, &coloured("blue")), 3);
    store.delete_vectors(&index, vec!["stays".to_owned(), "0".to_owned()]).expect("deleted");
    put(&store, &index, "1");
    assert_eq!(selected(&store, &index, &red), 3, "replaced, new and 1");
    assert_eq!(selected(&store, &index, &coloured("blue")), 1);
}

#[test]
fn columns_that_are_not_finished_are_made_again() {
    let (store, index) = store_with_index();
    put(&store, &index, "k");
    let red = coloured("red");
    want(&store, &index, &red);
    drop(store.inner.vectors.columns.claim(index.id));
    let query = VectorQuery { filter: Some(red), ..VectorQuery::nearest(vec![0.0], 9) };
    assert_eq!(store.query_vectors(&index, &query).expect("an answer").hits.len(), 1);
}

#[test]
fn what_does_not_fit_into_memory_is_found_in_records_and_what_is_evicted_is_made_again() {
    let (store, index) = store_with_index();
    for start in 0..20 {
        let mut vectors = NewVectors::default();
        for number in start * 100..start * 100 + 100 {
            let text = |text: String| MetadataValue::Scalar(Scalar::String(text));
            let long = text(format!("{number} {}", "long ".repeat(20)));
            let [a, b] = ["a", "b"].map(|key| (key.to_owned(), text(format!("{}", number % 50))));
            let metadata = Metadata(vec![a, b, ("long".to_owned(), long)]);
            vectors.push_with(format!("{number}"), &[0.0], metadata);
        }
        store.put_vectors(&index, vectors).expect("stored");
    }
    let count = |filter: Filter| {
        let query = VectorQuery { filter: Some(filter), ..VectorQuery::nearest(vec![0.0], 5_000) };
        store.query_vectors(&index, &query).expect("an answer").hits.len()
    };
    let is = |key: &str, text: &str| Filter::Key {
        key: key.to_owned(),
        condition: Condition::Equal(Scalar::String(text.to_owned())),
    };
    let long = |number: usize| is("long", &format!("{number} {}", "long ".repeat(20)));
    let columns = &store.inner.vectors.columns;
    assert_eq!((count(is("a", "7")), count(long(1_234))), (40, 1));
    // Room for one of the short columns, and not for the long one.
    columns.limit(40_000);
    for round in 0..4 {
        assert_eq!(count(long(round)), 1);
        assert_eq!(count(is("a", "7")), 40);
        assert_eq!(count(is("b", "9")), 40);
        assert_eq!(count(Filter::All(vec![is("a", "7"), is("b", "7"), long(57)])), 1);
        assert_eq!(count(Filter::Any(vec![is("a", "1"), long(2), long(3)])), 42);
        assert!(columns.memory() <= 40_000, "{}", columns.memory());
        let key = format!("{round}");
        store.delete_vectors(&index, vec![key.clone()]).expect("deleted");
        assert_eq!(count(is("long", &format!("{key} {}", "long ".repeat(20)))), 0);
        let mut vectors = NewVectors::default();
        let value = |text: String| MetadataValue::Scalar(Scalar::String(text));
        let text = value(format!("{round} {}", "long ".repeat(20)));
        let [a, b] = ["a", "b"].map(|key| (key.to_owned(), value(format!("{}", round % 50))));
        vectors.push_with(key, &[0.0], Metadata(vec![a, b, ("long".to_owned(), text)]));
        store.put_vectors(&index, vectors).expect("stored");
    }
}
