//! Queries beside which vectors are replaced, at the moments that matter.

use super::index::CreateIndex;
use super::put::NewVectors;
use super::query::VectorQuery;
use crate::config::StoreConfig;
use crate::indexes::Index;
use crate::indexes::columns::Scope;
use crate::indexes::filter::{Condition, Filter};
use crate::indexes::name::VectorName;
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
