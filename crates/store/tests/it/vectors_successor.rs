//! Vector buckets that were deleted, and whose name another owner has taken since. A caller that
//! resolved the name before must not reach the successor.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_store::vectors::{
    CreateIndex, DistanceMetric, Index, IndexMode, ListIndexes, Tagged, TextSearch, VectorBucket,
    VectorName,
};
use liteio_store::{ManualClock, Owner, Store, StoreConfig, StoreError};

use crate::harness::{config, owner};

fn create_bucket(store: &Store, owner: Owner) -> VectorBucket {
    let name = VectorName::bucket("media").expect("a name");
    store.create_vector_bucket(name, owner, None, Vec::new()).wait().expect("new")
}

fn create_index(store: &Store, bucket: &VectorBucket) -> Index {
    let options = CreateIndex::new(1, DistanceMetric::Euclidean);
    let name = VectorName::index("films").expect("a name");
    store.create_index(bucket, name, options).wait().expect("new")
}

fn tags(name: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), "x".to_owned())]
}

/// A vector bucket of another owner, with a policy, tags and perhaps an index, that has the name of
/// a deleted one.
struct Successor {
    store: Store,
    /// The deleted vector bucket and its index.
    old: (VectorBucket, Index),
    /// Those that have their names.
    new: (VectorBucket, Option<Index>),
}

/// Everything that callers can see of a successor.
#[derive(Debug, PartialEq)]
struct Contents {
    bucket: VectorBucket,
    policy: String,
    tags: BTreeMap<String, String>,
    indexes: Vec<(Index, BTreeMap<String, String>)>,
}

impl Successor {
    fn new(has_index: bool) -> Self {
        // Of a time when indexes could be CLASSIC.
        let clock = Arc::new(ManualClock::new(1_790_726_399_999));
        let store = Store::open(StoreConfig { clock, ..config(1) }).expect("memory");
        let bucket = create_bucket(&store, owner());
        let index = create_index(&store, &bucket);
        store.delete_index(&index).wait().expect("deleted");
        store.delete_vector_bucket(&bucket).wait().expect("deleted");
        let other = Owner { id: "other".to_owned(), display_name: "Other".to_owned() };
        let successor = create_bucket(&store, other);
        let new_index = has_index.then(|| create_index(&store, &successor));
        store.put_vector_bucket_policy(&successor, "{}".to_owned()).wait().expect("set");
        let tagged = new_index.clone().map(Tagged::Index);
        for tagged in tagged.iter().chain([&Tagged::Bucket(successor.clone())]) {
            store.add_vector_tags(tagged, tags("kept")).wait().expect("added");
        }
        Self { store, old: (bucket, index), new: (successor, new_index) }
    }

    fn contents(&self) -> Contents {
        let (store, bucket) = (&self.store, current_bucket(&self.store));
        let query = ListIndexes { max: 10, ..ListIndexes::default() };
        let indexes = store.list_indexes(&bucket, &query).expect("listed").indexes;
        let tags = |tagged: Tagged| store.vector_tags(&tagged).expect("there");
        Contents {
            policy: store.vector_bucket_policy(&bucket).expect("there"),
            tags: tags(Tagged::Bucket(bucket.clone())),
            indexes: indexes.into_iter().map(|it| (it.clone(), tags(Tagged::Index(it)))).collect(),
            bucket,
        }
    }
}

fn current_bucket(store: &Store) -> VectorBucket {
    store.vector_bucket(&VectorName::bucket("media").expect("a name")).expect("there")
}

#[test]
fn methods_of_a_deleted_vector_bucket_do_not_reach_its_successor() {
    type Method = fn(&Store, &VectorBucket) -> Result<(), StoreError>;
    let methods: [(&str, Method); 13] = [
        ("create_index", |store, bucket| {
            let options = CreateIndex::new(1, DistanceMetric::Euclidean);
            store.create_index(bucket, VectorName::index("new")?, options).wait().map(drop)
        }),
        ("index", |store, bucket| store.index(bucket, &VectorName::index("films")?).map(drop)),
        ("list_indexes", |store, bucket| {
            store.list_indexes(bucket, &ListIndexes::default()).map(drop)
        }),
        ("delete_vector_bucket", |store, bucket| store.delete_vector_bucket(bucket).wait()),
        ("set_default_index_mode", |store, bucket| {
            store.set_default_index_mode(bucket, IndexMode::Classic).wait()
        }),
        ("put_vector_bucket_policy", |store, bucket| {
            store.put_vector_bucket_policy(bucket, r#"{"a":1}"#.to_owned()).wait()
        }),
        ("vector_bucket_policy", |store, bucket| store.vector_bucket_policy(bucket).map(drop)),
        ("delete_vector_bucket_policy", |store, bucket| {
            store.delete_vector_bucket_policy(bucket).wait()
        }),
        ("vector_tags", |store, bucket| {
            store.vector_tags(&Tagged::Bucket(bucket.clone())).map(drop)
        }),
        ("add_vector_tags", |store, bucket| {
            store.add_vector_tags(&Tagged::Bucket(bucket.clone()), tags("added")).wait()
        }),
        ("add_vector_tags of none", |store, bucket| {
            store.add_vector_tags(&Tagged::Bucket(bucket.clone()), Vec::new()).wait()
        }),
        ("remove_vector_tags", |store, bucket| {
            let keys = vec!["kept".to_owned()];
            store.remove_vector_tags(&Tagged::Bucket(bucket.clone()), keys).wait()
        }),
        ("remove_vector_tags of none", |store, bucket| {
            store.remove_vector_tags(&Tagged::Bucket(bucket.clone()), Vec::new()).wait()
        }),
    ];
    for has_index in [false, true] {
        let successor = Successor::new(has_index);
        let before = successor.contents();
        assert_eq!((&before.bucket, before.indexes.len()), (&successor.new.0, has_index.into()));
        for (name, method) in &methods {
            let refused = method(&successor.store, &successor.old.0);
            let is_missing = matches!(refused, Err(StoreError::NoSuchVectorBucket { .. }));
            assert!(is_missing, "{name}, {has_index}: {refused:?}");
            assert_eq!(successor.contents(), before, "{name}");
        }
    }
}

#[test]
fn methods_of_a_deleted_index_do_not_reach_its_successor() {
    type Method = fn(&Store, &Index) -> Result<(), StoreError>;
    let methods: [(&str, Method); 7] = [
        ("delete_index", |store, index| store.delete_index(index).wait()),
        ("set_index_mode", |store, index| store.set_index_mode(index, IndexMode::Classic).wait()),
        ("add_text_search", |store, index| {
            let added = vec![TextSearch { key: "text".to_owned(), language: None }];
            store.add_text_search(index, added).wait()
        }),
        ("remove_text_search", |store, index| store.remove_text_search(index, Vec::new()).wait()),
        ("vector_tags", |store, index| store.vector_tags(&Tagged::Index(index.clone())).map(drop)),
        ("add_vector_tags", |store, index| {
            store.add_vector_tags(&Tagged::Index(index.clone()), tags("added")).wait()
        }),
        ("remove_vector_tags", |store, index| {
            let keys = vec!["kept".to_owned()];
            store.remove_vector_tags(&Tagged::Index(index.clone()), keys).wait()
        }),
    ];
    let other_bucket = Successor::new(true);
    let same_bucket = Successor::new(true);
    let old = same_bucket.new.1.clone().expect("there");
    same_bucket.store.delete_index(&old).wait().expect("deleted");
    create_index(&same_bucket.store, &same_bucket.new.0);
    for (successor, old) in [(&other_bucket, &other_bucket.old.1), (&same_bucket, &old)] {
        let before = successor.contents();
        assert_eq!(before.indexes.len(), 1);
        for (name, method) in &methods {
            let refused = method(&successor.store, old);
            let is_missing = matches!(refused, Err(StoreError::NoSuchIndex { .. }));
            assert!(is_missing, "{name}: {refused:?}");
            assert_eq!(successor.contents(), before, "{name}");
        }
    }
}
