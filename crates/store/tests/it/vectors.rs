//! Vectors as their callers see them.

use std::sync::Arc;

use liteio_store::limits::OPEN_INDEXES_MAX;
use liteio_store::vectors::{
    Condition, CreateIndex, DistanceMetric, Filter, GetVectors, Index, IndexMode, Language,
    ListVectors, Metadata, MetadataValue, NewVectors, Number, QueryText, Relation, Scalar, Segment,
    Tagged, TextSearch, VectorBucket, VectorName, VectorQuery,
};
use liteio_store::{ManualClock, Store, StoreConfig, StoreError};

use crate::harness::{config, on_directory, over_a_database, owner};

pub(crate) fn bucket(store: &Store) -> VectorBucket {
    store.vector_bucket(&VectorName::bucket("media").expect("a name")).expect("there")
}

fn create_bucket(store: &Store) -> VectorBucket {
    let name = VectorName::bucket("media").expect("a name");
    store.create_vector_bucket(name, owner(), None, Vec::new()).wait().expect("new")
}

/// The index as it is now.
pub(crate) fn refresh(store: &Store, index: &Index) -> Index {
    store.index(&bucket(store), &index.name).expect("there")
}

pub(crate) fn create(store: &Store, dimension: u32, metric: DistanceMetric) -> Index {
    let bucket = create_bucket(store);
    let name = VectorName::index("films").expect("a name");
    store.create_index(&bucket, name, CreateIndex::new(dimension, metric)).wait().expect("new")
}

pub(crate) fn on_every_backend(test: impl Fn(&Store)) {
    over_a_database(&test);
    test(&Store::open(config(1)).expect("memory"));
    let directory = tempfile::tempdir().expect("a temporary directory");
    test(&Store::open(on_directory(directory.path())).expect("a new directory"));
}

fn text(value: &str) -> Metadata {
    let value = MetadataValue::Scalar(Scalar::String(value.to_owned()));
    Metadata(vec![("text".to_owned(), value)])
}

pub(crate) fn put(store: &Store, index: &Index, key: &str, vector: &[f32]) {
    let mut vectors = NewVectors::default();
    vectors.push_with(key, vector, text(key));
    store.put_vectors(index, vectors).expect("stored");
}

fn nearest(store: &Store, index: &Index, vector: &[f32], top_k: usize) -> Vec<String> {
    let query = VectorQuery::nearest(vector.to_vec(), top_k);
    let answer = store.query_vectors(index, &query).expect("an answer");
    answer.hits.into_iter().map(|hit| hit.key).collect()
}

fn get(store: &Store, index: &Index, key: &str) -> Option<Vec<f32>> {
    let query =
        GetVectors { keys: vec![key.to_owned()], with_elements: true, with_metadata: false };
    let mut found = store.get_vectors(index, &query).expect("an answer");
    found.pop().map(|vector| vector.elements.expect("elements"))
}

fn keys(store: &Store, index: &Index, query: ListVectors) -> Vec<String> {
    let mut query = query;
    let mut keys = Vec::new();
    loop {
        let page = store.list_vectors(index, &query).expect("a page");
        keys.extend(page.vectors.into_iter().map(|vector| vector.key));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return keys,
        }
    }
}

#[test]
fn a_vector_is_found_replaced_and_deleted() {
    on_every_backend(|store| {
        let index = create(store, 2, DistanceMetric::Euclidean);
        assert_eq!(nearest(store, &index, &[0.0, 0.0], 3), Vec::<String>::new());
        for (key, vector) in [("a", [0.0, 0.0]), ("b", [1.0, 0.0]), ("c", [5.0, 0.0])] {
            put(store, &index, key, &vector);
        }
        assert_eq!(nearest(store, &index, &[0.1, 0.0], 2), ["a", "b"]);
        put(store, &index, "a", &[9.0, 0.0]);
        assert_eq!(nearest(store, &index, &[0.1, 0.0], 3), ["b", "c", "a"]);
        assert_eq!(get(store, &index, "a"), Some(vec![9.0, 0.0]));
        let gone = vec!["b".to_owned(), "nobody".to_owned()];
        store.delete_vectors(&index, gone).expect("deleted");
        assert_eq!(nearest(store, &index, &[0.1, 0.0], 3), ["c", "a"]);
        assert_eq!(get(store, &index, "b"), None);
    });
}

#[test]
fn everything_is_there_after_reopening_and_freed_slots_are_used_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = || Store::open(on_directory(directory.path())).expect("opens");
    let store = open();
    let index = create(&store, 4, DistanceMetric::Cosine);
    for round in 0..5_u8 {
        for number in 0..50_u8 {
            put(
                &store,
                &index,
                &format!("{number}"),
                &[1.0, f32::from(number), 0.0, f32::from(round)],
            );
        }
    }
    store.close();
    let file = std::fs::read_dir(directory.path().join("vectors")).expect("a directory");
    let bytes = |entry: std::fs::DirEntry| entry.metadata().expect("metadata").len();
    let bytes: u64 = file.map(|entry| bytes(entry.expect("an entry"))).sum();
    assert!(bytes < (64 << 10) + (2 << 20), "replaced vectors keep {bytes} bytes");
    let store = open();
    for number in 0..50_u8 {
        let expected = vec![1.0, f32::from(number), 0.0, 4.0];
        assert_eq!(get(&store, &index, &format!("{number}")), Some(expected));
    }
    assert_eq!(nearest(&store, &index, &[1.0, 7.0, 0.0, 4.0], 1), ["7"]);
    put(&store, &index, "new", &[-1.0, 0.0, 0.0, 0.0]);
    assert_eq!(get(&store, &index, "0"), Some(vec![1.0, 0.0, 0.0, 4.0]));
}

#[test]
fn keys_of_four_bytes_a_character_are_kept_listed_and_verified() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = || Store::open(on_directory(directory.path())).expect("opens");
    let key = |number: u32| format!("{}{number:04}", "\u{1f980}".repeat(1020));
    let all: Vec<String> = (0..300).map(key).collect();
    let store = open();
    let index = create(&store, 2, DistanceMetric::Euclidean);
    for keys in all.chunks(100) {
        let mut vectors = NewVectors::default();
        keys.iter().for_each(|key| vectors.push(key.as_str(), &[1.0, 2.0]));
        store.put_vectors(&index, vectors).expect("stored");
    }
    store.delete_vectors(&index, all[7..9].to_vec()).expect("deleted");
    let kept = [&all[..7], &all[9..]].concat();
    let page = || ListVectors { max: 7, ..ListVectors::default() };
    assert_eq!(keys(&store, &index, page()), kept);
    store.close();
    let store = open();
    assert_eq!(keys(&store, &index, page()), kept);
    assert_eq!(get(&store, &index, &all[299]), Some(vec![1.0, 2.0]));
    assert_eq!(get(&store, &index, &all[8]), None);
    let report = store.verify(&mut |_| {}).expect("verified");
    assert_eq!((report.vectors, report.damaged.len()), (298, 0));
}

#[test]
fn a_request_is_stored_whole_or_not_at_all_and_names_what_is_wrong() {
    on_every_backend(|store| {
        let index = create(store, 2, DistanceMetric::Cosine);
        let rows: [(&str, &[f32], &str); 6] = [
            ("", &[1.0, 0.0], "/vectors/1/key"),
            ("long", &[1.0], "/vectors/1/data/float32"),
            ("nan", &[1.0, f32::NAN], "/vectors/1/data/float32/1"),
            ("infinite", &[f32::INFINITY, 0.0], "/vectors/1/data/float32/0"),
            ("zero", &[0.0, -0.0], "/vectors/1/data/float32"),
            ("good", &[1.0, 0.0], "/vectors/1/key"),
        ];
        for (key, vector, expected) in rows {
            let mut vectors = NewVectors::default();
            vectors.push("good", &[1.0, 1.0]);
            vectors.push(key, vector);
            let error = store.put_vectors(&index, vectors).expect_err(key);
            match error {
                StoreError::InvalidField { path, .. } => assert_eq!(path, expected, "{key}"),
                error => panic!("{key}: {error}"),
            }
            assert_eq!(get(store, &index, "good"), None, "{key}");
        }
    });
}

#[test]
fn metadata_has_limits_and_filterable_values_have_kinds() {
    let store = Store::open(config(1)).expect("memory");
    let bucket = create_bucket(&store);
    let name = VectorName::index("films").expect("a name");
    let mut options = CreateIndex::new(1, DistanceMetric::Euclidean);
    options.non_filterable = vec!["text".to_owned()];
    let index = store.create_index(&bucket, name, options).wait().expect("new");
    let long = |bytes: usize| MetadataValue::Scalar(Scalar::String("x".repeat(bytes)));
    let document = || MetadataValue::Document("{}".to_owned());
    let many = |count: usize| (0..count).map(|key| (format!("{key}"), long(1))).collect();
    type Row<'a> = (Vec<(String, MetadataValue)>, Option<&'a str>);
    let rows: [Row<'_>; 9] = [
        (vec![("text".into(), long(40_956))], None),
        (vec![("text".into(), long(40_957))], Some("/vectors/0/metadata")),
        (vec![("genre".into(), long(2_043))], None),
        (vec![("genre".into(), long(2_044))], Some("/vectors/0/metadata")),
        (vec![("text".into(), document())], None),
        (vec![("genre".into(), document())], Some("/vectors/0/metadata/genre")),
        (many(50), None),
        (many(51), Some("/vectors/0/metadata")),
        (vec![(String::new(), long(1))], Some("/vectors/0/metadata/")),
    ];
    for (metadata, expected) in rows {
        let mut vectors = NewVectors::default();
        vectors.push_with("k", &[1.0], Metadata(metadata.clone()));
        match (store.put_vectors(&index, vectors), expected) {
            (Ok(()), None) => {
                let query = GetVectors {
                    keys: vec!["k".to_owned()],
                    with_elements: false,
                    with_metadata: true,
                };
                let found = store.get_vectors(&index, &query).expect("an answer");
                assert_eq!(found[0].metadata, Some(Metadata(metadata)));
            }
            (Err(StoreError::InvalidField { path, .. }), Some(expected)) => {
                assert_eq!(path, expected);
            }
            (result, expected) => panic!("{result:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn a_listing_is_complete_in_pages_and_in_segments() {
    on_every_backend(|store| {
        let index = create(store, 1, DistanceMetric::Euclidean);
        let all: Vec<String> = (0..100).map(|number| format!("{number:03}")).collect();
        for key in &all {
            put(store, &index, key, &[1.0]);
        }
        assert_eq!(keys(store, &index, ListVectors { max: 7, ..ListVectors::default() }), all);
        for count in [1, 3, 16] {
            let mut found = Vec::new();
            for segment in 0..count {
                let segment = Segment::new(segment, count).expect("a segment");
                let query = ListVectors { max: 4, segment, ..ListVectors::default() };
                found.extend(keys(store, &index, query));
            }
            found.sort();
            assert_eq!(found, all, "{count} segments");
        }
        assert!(Segment::new(0, 17).is_err() && Segment::new(3, 3).is_err());
    });
}

#[test]
fn a_page_of_vectors_ends_at_a_megabyte() {
    let store = Store::open(config(1)).expect("memory");
    let index = create(&store, 4096, DistanceMetric::Euclidean);
    for number in 0..100 {
        put(&store, &index, &format!("{number:03}"), &[1.0; 4096]);
    }
    let query = ListVectors { with_elements: true, ..ListVectors::default() };
    let page = store.list_vectors(&index, &query).expect("a page");
    assert_eq!(page.vectors.len(), 64);
    assert_eq!(keys(&store, &index, query).len(), 100);
}

#[test]
fn a_deleted_index_is_gone_with_its_files_and_a_new_one_of_its_name_is_empty() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    let index = create(&store, 2, DistanceMetric::Cosine);
    for number in 0..600 {
        put(&store, &index, &format!("{number}"), &[1.0, 0.0]);
    }
    let refused = store.delete_vector_bucket(&bucket(&store)).wait();
    assert!(matches!(refused, Err(StoreError::VectorBucketNotEmpty { .. })));
    store.delete_index(&index).wait().expect("deleted");
    let again = VectorName::index("films").expect("a name");
    let options = CreateIndex::new(2, DistanceMetric::Cosine);
    let new = store.create_index(&bucket(&store), again, options).wait().expect("new");
    store.reclaim().expect("reclaimed");
    let mut vectors = NewVectors::default();
    vectors.push("late", &[1.0, 0.0]);
    let error = store.put_vectors(&index, vectors).expect_err("the old index is gone");
    assert!(matches!(error, StoreError::NoSuchIndex { .. }), "{error}");
    assert_eq!(nearest(&store, &new, &[1.0, 0.0], 5), Vec::<String>::new());
    put(&store, &new, "only", &[1.0, 0.0]);
    assert_eq!(nearest(&store, &new, &[1.0, 0.0], 5), ["only"]);
    store.delete_index(&new).wait().expect("deleted");
    store.delete_vector_bucket(&bucket(&store)).wait().expect("empty");
    store.reclaim().expect("reclaimed");
    let left = std::fs::read_dir(directory.path().join("vectors")).expect("a directory");
    assert_eq!(left.count(), 0);
}

#[test]
fn readers_beside_writers_find_every_vector_that_is_there() {
    let store = Store::open(config(1)).expect("memory");
    let index = create(&store, 8, DistanceMetric::Euclidean);
    let vector = |number: usize| {
        let mut vector = [0.0; 8];
        vector[number % 8] = 1.0;
        vector
    };
    for number in 0..8 {
        put(&store, &index, &format!("{number}"), &vector(number));
    }
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (store, index) = (&store, &index);
            scope.spawn(move || {
                for round in 0..300 {
                    let number = (round + writer) % 8;
                    put(store, index, &format!("{number}"), &vector(number));
                }
            });
        }
        for _ in 0..300 {
            for number in [0, 5] {
                let mut found = nearest(&store, &index, &vector(number), 8);
                assert_eq!(found[0], format!("{number}"));
                found.sort();
                assert_eq!(found, ["0", "1", "2", "3", "4", "5", "6", "7"]);
                assert_eq!(
                    get(&store, &index, &format!("{number}")),
                    Some(vector(number).to_vec())
                );
            }
        }
    });
}

pub(crate) fn films(store: &Store) -> Index {
    let bucket = create_bucket(store);
    let mut options = CreateIndex::new(1, DistanceMetric::Euclidean);
    options.text_search = vec![
        TextSearch { key: "title".to_owned(), language: Some(Language::English) },
        TextSearch { key: "plot".to_owned(), language: None },
    ];
    options.non_filterable = vec!["plot".to_owned()];
    let name = VectorName::index("films").expect("a name");
    store.create_index(&bucket, name, options).wait().expect("new")
}

fn film(store: &Store, index: &Index, key: &str, at: f32, fields: &[(&str, &str)]) {
    let year = Scalar::Number(Number::Integer(key.len() as i128));
    let mut metadata = vec![("length".to_owned(), MetadataValue::Scalar(year))];
    metadata.extend(fields.iter().map(|(key, value)| {
        ((*key).to_owned(), MetadataValue::Scalar(Scalar::String((*value).to_owned())))
    }));
    let mut vectors = NewVectors::default();
    vectors.push_with(key, &[at], Metadata(metadata));
    store.put_vectors(index, vectors).expect("stored");
}

pub(crate) fn found(store: &Store, index: &Index, query: &VectorQuery) -> Vec<String> {
    let answer = store.query_vectors(index, query).expect("an answer");
    answer.hits.into_iter().map(|hit| hit.key).collect()
}

pub(crate) fn key_is(key: &str, condition: Condition) -> Filter {
    Filter::Key { key: key.to_owned(), condition }
}

#[test]
fn a_filter_is_applied_before_the_search_and_follows_every_change() {
    on_every_backend(|store| {
        let index = create(store, 1, DistanceMetric::Euclidean);
        for number in 0..200_u8 {
            put(store, &index, &format!("{number}"), &[f32::from(number)]);
        }
        let is = |text: &str| Condition::Equal(Scalar::String(text.to_owned()));
        let query = |filter: Filter| VectorQuery {
            filter: Some(filter),
            ..VectorQuery::nearest(vec![0.0], 3)
        };
        let some = Filter::Any(vec![
            key_is("text", is("199")),
            key_is("text", is("150")),
            key_is("text", is("nobody")),
        ]);
        assert_eq!(found(store, &index, &query(some.clone())), ["150", "199"]);
        // Slots are given back and used again, with other metadata.
        for number in 0..200_u8 {
            put(store, &index, &format!("{number}"), &[f32::from(200 - number)]);
        }
        assert_eq!(found(store, &index, &query(some.clone())), ["199", "150"]);
        store.delete_vectors(&index, vec!["199".to_owned()]).expect("deleted");
        assert_eq!(found(store, &index, &query(some)), ["150"]);
        let none = key_is("text", Condition::Exists(false));
        assert_eq!(found(store, &index, &query(none)), Vec::<String>::new());
        let both =
            Filter::All(vec![key_is("text", Condition::Exists(true)), key_is("text", is("3"))]);
        assert_eq!(found(store, &index, &query(both)), ["3"]);
    });
}

#[test]
fn words_are_found_alone_and_together_with_vectors() {
    on_every_backend(|store| {
        let index = films(store);
        film(store, &index, "a", 0.0, &[("title", "The Running Man"), ("plot", "a man runs")]);
        film(store, &index, "bb", 1.0, &[("title", "Running with scissors, running")]);
        film(store, &index, "ccc", 2.0, &[("title", "Standing still"), ("plot", "a man stands")]);
        film(store, &index, "dddd", 3.0, &[]);
        let text = |key: &str, text: &str| QueryText { key: key.to_owned(), text: text.to_owned() };
        let by_text = |texts: Vec<QueryText>| VectorQuery {
            texts,
            top_k: 10,
            with_scores: true,
            ..Default::default()
        };
        // Stems are found in English, words as they are without a language.
        assert_eq!(found(store, &index, &by_text(vec![text("title", "runs")])), ["bb", "a"]);
        assert_eq!(found(store, &index, &by_text(vec![text("plot", "running")])), [""; 0]);
        let both = by_text(vec![text("title", "running"), text("plot", "man")]);
        let answer = store.query_vectors(&index, &both).expect("an answer");
        assert_eq!(answer.hits[0].key, "a");
        assert_eq!(answer.hits[0].text_scores.len(), 2);
        assert_eq!((answer.hits[0].fused, answer.hits[0].distance), (None, None));
        let hybrid = VectorQuery {
            vector: Some(vec![2.9]),
            filter: Some(key_is("length", Condition::Number(Relation::Less, Number::Integer(4)))),
            ..by_text(vec![text("title", "running")])
        };
        let answer = store.query_vectors(&index, &hybrid).expect("an answer");
        let keys: Vec<&str> = answer.hits.iter().map(|hit| hit.key.as_str()).collect();
        // 1/61 + 1/62, then 1/62 + 1/63, then 1/61 alone.
        assert_eq!(keys, ["bb", "a", "ccc"]);
        assert_eq!(answer.hits[0].fused, Some(1.0 / 62.0 + 1.0 / 61.0));
        assert_eq!(answer.hits[2].text_scores, []);
        // A replaced or deleted vector is no longer found by its old words.
        film(store, &index, "bb", 1.0, &[("title", "Walking")]);
        store.delete_vectors(&index, vec!["a".to_owned()]).expect("deleted");
        assert_eq!(found(store, &index, &by_text(vec![text("title", "running")])), [""; 0]);
        assert_eq!(found(store, &index, &by_text(vec![text("title", "walk")])), ["bb"]);
    });
}

#[test]
fn more_indexes_than_are_kept_open_lose_nothing_and_find_what_they_found() {
    on_every_backend(|store| {
        let main = films(store);
        let bucket = bucket(store);
        let others: Vec<Index> = (0..OPEN_INDEXES_MAX + 3)
            .map(|number| {
                let name = VectorName::index(format!("other-{number}")).expect("a name");
                let options = CreateIndex::new(2, DistanceMetric::Euclidean);
                store.create_index(&bucket, name, options).wait().expect("new")
            })
            .collect();
        let title = QueryText { key: "title".to_owned(), text: "running".to_owned() };
        let by_text = VectorQuery { texts: vec![title], top_k: 10, ..Default::default() };
        let is = Condition::Equal(Scalar::String("Running".to_owned()));
        let filter = Some(key_is("title", is));
        let filtered = VectorQuery { filter, ..VectorQuery::nearest(vec![0.0], 3) };
        let queries = [VectorQuery::nearest(vec![0.0], 3), by_text, filtered];
        for (round, expected) in [vec![], vec!["a"], vec!["a", "bb"]].into_iter().enumerate() {
            for query in &queries {
                assert_eq!(found(store, &main, query), expected, "{query:?}");
            }
            let key = ["a", "bb", "ccc"][round];
            film(store, &main, key, round as f32, &[("title", "Running")]);
            // Opening all others closes this one, where files can be closed.
            for (number, other) in others.iter().enumerate() {
                put(store, other, &format!("{round}"), &[number as f32, round as f32]);
            }
        }
        for (number, other) in others.iter().enumerate() {
            assert_eq!(nearest(store, other, &[number as f32, 1.0], 1), ["1"]);
            assert_eq!(get(store, other, "2"), Some(vec![number as f32, 2.0]));
        }
    });
}

#[test]
fn queries_that_make_no_sense_are_refused_with_the_field() {
    let store = Store::open(config(1)).expect("memory");
    let index = films(&store);
    let text = |key: &str, text: &str| QueryText { key: key.to_owned(), text: text.to_owned() };
    let good = || VectorQuery::nearest(vec![1.0], 1);
    let plot = key_is("plot", Condition::Exists(true));
    let rows = [
        (VectorQuery { top_k: 0, ..good() }, "/topK"),
        (VectorQuery { top_k: 10_001, ..good() }, "/topK"),
        (VectorQuery { vector: None, ..good() }, "/queryVector"),
        (VectorQuery { vector: Some(vec![1.0, 2.0]), ..good() }, "/queryVector/float32"),
        (VectorQuery { filter: Some(Filter::All(vec![plot])), ..good() }, "/filter"),
        (VectorQuery { mode: Some(IndexMode::Classic), ..good() }, "/queryMode"),
        (VectorQuery { texts: vec![text("other", "x")], ..good() }, "/queryTexts/0/metadataKey"),
        (VectorQuery { texts: vec![text("title", "")], ..good() }, "/queryTexts/0/text"),
        (
            VectorQuery { texts: vec![text("title", "x"), text("title", "y")], ..good() },
            "/queryTexts/1/metadataKey",
        ),
    ];
    for (query, expected) in rows {
        match store.query_vectors(&index, &query) {
            Err(StoreError::InvalidField { path, .. }) => assert_eq!(path, expected),
            result => panic!("{expected}: {result:?}"),
        }
    }
}

#[test]
fn text_search_is_configured_later_and_ended_again() {
    let store = Store::open(config(1)).expect("memory");
    let index = create(&store, 1, DistanceMetric::Euclidean);
    put(&store, &index, "hello", &[1.0]);
    let refresh = || refresh(&store, &index);
    let query = VectorQuery {
        texts: vec![QueryText { key: "text".to_owned(), text: "Hello".to_owned() }],
        top_k: 1,
        ..Default::default()
    };
    assert!(store.query_vectors(&index, &query).is_err());
    let added = vec![TextSearch { key: "text".to_owned(), language: None }];
    store.add_text_search(&refresh(), added.clone()).wait().expect("added");
    assert_eq!(found(&store, &refresh(), &query), ["hello"]);
    let again = store.add_text_search(&refresh(), added).wait();
    assert!(matches!(again, Err(StoreError::TextSearchExists { .. })), "{again:?}");
    store.remove_text_search(&refresh(), vec!["text".to_owned()]).wait().expect("removed");
    assert!(store.query_vectors(&refresh(), &query).is_err());
    assert!(store.remove_text_search(&refresh(), vec!["text".to_owned()]).wait().is_err());
}

#[test]
fn classic_indexes_are_for_old_vector_buckets_only() {
    let clock = |ms| Arc::new(ManualClock::new(ms));
    // The day before, and the day.
    for (ms, is_allowed) in [(1_790_726_399_999, true), (1_790_726_400_000, false)] {
        let store = Store::open(StoreConfig { clock: clock(ms), ..config(1) }).expect("memory");
        let index = create(&store, 1, DistanceMetric::Euclidean);
        let bucket = bucket(&store);
        assert_eq!(index.mode, IndexMode::Enhanced);
        let set = store.set_index_mode(&index, IndexMode::Classic).wait();
        assert_eq!(set.is_ok(), is_allowed);
        let default = store.set_default_index_mode(&bucket, IndexMode::Classic).wait();
        assert_eq!(default.is_ok(), is_allowed);
        let mut options = CreateIndex::new(1, DistanceMetric::Cosine);
        options.text_search = vec![TextSearch { key: "text".to_owned(), language: None }];
        let name = VectorName::index("with-text").expect("a name");
        assert_eq!(store.create_index(&bucket, name, options).wait().is_ok(), !is_allowed);
    }
}

#[test]
fn tags_and_policies_come_back_and_go_with_what_they_belong_to() {
    let store = Store::open(config(1)).expect("memory");
    let index = create(&store, 1, DistanceMetric::Euclidean);
    let tagged = Tagged::Index(index.clone());
    let tags = |count: usize| (0..count).map(|it| (format!("{it}"), "x".to_owned())).collect();
    store.add_vector_tags(&tagged, tags(50)).wait().expect("added");
    assert!(store.add_vector_tags(&tagged, vec![("y".into(), "z".into())]).wait().is_err());
    store.remove_vector_tags(&tagged, vec!["0".into(), "none".into()]).wait().expect("gone");
    assert_eq!(store.vector_tags(&tagged).expect("tags").len(), 49);
    let of_bucket = Tagged::Bucket(bucket(&store));
    assert!(store.vector_tags(&of_bucket).expect("tags").is_empty());
    assert!(matches!(
        store.vector_bucket_policy(&bucket(&store)),
        Err(StoreError::NoSuchVectorPolicy { .. })
    ));
    store.put_vector_bucket_policy(&bucket(&store), "{ }".to_owned()).wait().expect("set");
    assert_eq!(store.vector_bucket_policy(&bucket(&store)).expect("a policy"), "{ }");
    store.delete_index(&index).wait().expect("deleted");
    store.delete_vector_bucket(&bucket(&store)).wait().expect("deleted");
    let index = create(&store, 1, DistanceMetric::Euclidean);
    let tagged = Tagged::Index(index);
    assert!(store.vector_tags(&tagged).expect("tags").is_empty());
    assert!(store.vector_bucket_policy(&bucket(&store)).is_err());
}
