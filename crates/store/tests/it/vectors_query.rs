//! Queries of vectors with many results, in pages.

use std::collections::HashSet;
use std::sync::Arc;

use liteio_store::vectors::{
    Condition, DistanceMetric, Filter, Hit, Index, IndexMode, Language, Metadata, MetadataValue,
    NewVectors, QueryText, Scalar, TextSearch, VectorQuery,
};
use liteio_store::{ManualClock, Store, StoreConfig, StoreError};

use crate::harness::{config, on_directory};
use crate::vectors::{create, films, found, key_is, on_every_backend, put, refresh};

#[test]
fn texts_are_found_by_how_they_start_where_the_mode_is_enhanced() {
    let starts = |with: &str| key_is("text", Condition::StartsWith(with.to_owned()));
    let is = |text: &str| Scalar::String(text.to_owned());
    let query = |filter| VectorQuery { filter: Some(filter), ..VectorQuery::nearest(vec![0.0], 9) };
    on_every_backend(|store| {
        let index = create(store, 1, DistanceMetric::Euclidean);
        for (at, key) in ["war", "warm", "wax", "swarm"].into_iter().enumerate() {
            put(store, &index, key, &[at as f32]);
        }
        assert_eq!(found(store, &index, &query(starts("war"))), ["war", "warm"]);
        let not = key_is("text", Condition::NotEqual(is("warm")));
        let both = Filter::All(vec![starts("wa"), not]);
        assert_eq!(found(store, &index, &query(both.clone())), ["war", "wax"]);
        let either = Filter::Any(vec![both, starts("swa")]);
        assert_eq!(found(store, &index, &query(either)), ["war", "wax", "swarm"]);
    });
    // Of a time when indexes could be CLASSIC.
    let clock = Arc::new(ManualClock::new(1_790_726_399_999));
    let store = Store::open(StoreConfig { clock, ..config(1) }).expect("memory");
    let index = create(&store, 1, DistanceMetric::Euclidean);
    put(&store, &index, "war", &[0.0]);
    store.set_index_mode(&index, IndexMode::Classic).wait().expect("allowed");
    let index = refresh(&store, &index);
    let nested = query(Filter::Any(vec![Filter::All(vec![starts("w")])]));
    match store.query_vectors(&index, &nested) {
        Err(StoreError::InvalidField { path, message, .. }) => {
            assert!(path == "/filter" && message.contains("$startsWith"), "{path}: {message}");
        }
        result => panic!("{result:?}"),
    }
    let enhanced = VectorQuery { mode: Some(IndexMode::Enhanced), ..nested };
    assert_eq!(found(&store, &index, &enhanced), ["war"]);
}

/// The key of a vector, its element, and its texts by metadata key.
type Row<'text> = (String, f32, &'text [(&'text str, &'text str)]);

/// Puts vectors, many at once.
fn put_texts(store: &Store, index: &Index, rows: &[Row<'_>]) {
    for rows in rows.chunks(500) {
        let mut vectors = NewVectors::default();
        for (key, at, texts) in rows {
            let scalar = |text: &str| MetadataValue::Scalar(Scalar::String(text.to_owned()));
            let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), scalar(text)));
            vectors.push_with(key, &[*at], Metadata(texts.collect()));
        }
        store.put_vectors(index, vectors).expect("stored");
    }
}

fn words(key: &str, text: &str) -> QueryText {
    QueryText { key: key.to_owned(), text: text.to_owned() }
}

/// The hits of all pages of a query, in order, and the number of pages.
fn pages(store: &Store, index: &Index, query: &VectorQuery) -> (Vec<Hit>, usize) {
    let (mut query, mut hits, mut pages) = (query.clone(), Vec::new(), 0);
    loop {
        let page = store.query_vectors(index, &query).expect("a page");
        pages += 1;
        hits.extend(page.hits);
        // As a text, which is how it travels.
        match page.next {
            Some(next) => query.after = Some(next.to_string().parse().expect("a position")),
            None => return (hits, pages),
        }
    }
}

#[test]
fn the_best_sum_of_several_texts_is_found_however_many_are_better_in_one_of_them() {
    let high: &[(&str, &str)] =
        &[("title", "zebra zebra zebra"), ("plot", "x x x x x x x x x zebra")];
    let low: &[(&str, &str)] =
        &[("title", "x x x x x x x x x zebra"), ("plot", "zebra zebra zebra")];
    let both: &[(&str, &str)] = &[("title", "x zebra zebra"), ("plot", "x zebra zebra")];
    let mut rows: Vec<Row<'_>> = Vec::new();
    for number in 0..250_u8 {
        rows.push((format!("high-{number}"), f32::from(number), high));
        rows.push((format!("low-{number}"), f32::from(number), low));
    }
    rows.push(("both".to_owned(), 1000.0, both));
    on_every_backend(|store| {
        let index = films(store);
        put_texts(store, &index, &rows);
        let query = VectorQuery {
            texts: vec![words("title", "zebra"), words("plot", "zebra"), words("plain", "zebra")],
            top_k: 100,
            with_scores: true,
            ..VectorQuery::default()
        };
        let index = with_plain_text(store, &index);
        let found = store.query_vectors(&index, &query).expect("an answer").hits;
        assert_eq!((found.len(), found[0].key.as_str()), (100, "both"));
        let sum = |hit: &Hit| hit.text_scores.iter().map(|(_, score)| score).sum::<f64>();
        assert!(found.is_sorted_by(|left, right| sum(left) >= sum(right)));
        for hit in &found {
            let keys: Vec<&str> = hit.text_scores.iter().map(|(key, _)| key.as_str()).collect();
            assert_eq!(keys, ["title", "plot"], "{}", hit.key);
        }
        // The nearest is fused with the best texts, and its own texts are scored, too.
        let hybrid = VectorQuery { vector: Some(vec![1000.0]), top_k: 300, ..query.clone() };
        let found = store.query_vectors(&index, &hybrid).expect("an answer").hits;
        assert_eq!(found.len(), 300);
        for hit in &found {
            assert_eq!(hit.text_scores.len(), 2, "{}", hit.key);
        }
        let without = VectorQuery { with_scores: false, ..query };
        let found = store.query_vectors(&index, &without).expect("an answer").hits;
        assert_eq!((found[0].key.as_str(), found[0].text_scores.len()), ("both", 0));
    });
}

/// The index with words in the metadata key `plain`, too.
fn with_plain_text(store: &Store, index: &Index) -> Index {
    let added = vec![TextSearch { key: "plain".to_owned(), language: None }];
    store.add_text_search(index, added).wait().expect("added");
    refresh(store, index)
}

#[test]
fn one_character_finds_the_texts_with_it_in_languages_without_spaces() {
    on_every_backend(|store| {
        let index = films(store);
        let japanese = TextSearch { key: "ja".to_owned(), language: Some(Language::Japanese) };
        store.add_text_search(&index, vec![japanese]).wait().expect("added");
        let index = refresh(store, &index);
        let rows = [("dog", "犬が公園を走る"), ("cat", "猫"), ("park", "公の園")];
        let texts = rows.map(|(key, text)| (key, [("ja", text)]));
        let rows = texts.iter().map(|(key, text)| ((*key).to_owned(), 0.0, &text[..]));
        put_texts(store, &index, &rows.collect::<Vec<Row<'_>>>());
        let by = |text: &str| {
            let texts = vec![words("ja", text)];
            found(store, &index, &VectorQuery { texts, top_k: 9, ..VectorQuery::default() })
        };
        assert_eq!(by("犬"), ["dog"]);
        assert_eq!(by("猫"), ["cat"]);
        // Of two characters both must be there, side by side.
        assert_eq!(by("公園"), ["dog"]);
    });
}

#[test]
fn thousands_of_results_come_in_pages_that_lose_and_double_none() {
    let long = "x".repeat(1_500);
    on_every_backend(|store| {
        let index = films(store);
        let texts: Vec<String> =
            (0..5).map(|count| format!("{long}{}", " zebra".repeat(count))).collect();
        let texts: Vec<[(&str, &str); 1]> =
            texts.iter().map(|text| [("title", text.as_str())]).collect();
        // Many are equally far away, and many have equal texts.
        let row =
            |number: usize| (format!("{number}"), (number / 7) as f32, &texts[number * 31 % 5][..]);
        put_texts(store, &index, &(0..3_000).map(row).collect::<Vec<_>>());
        let near = VectorQuery { with_metadata: true, ..VectorQuery::nearest(vec![-1.0], 10_000) };
        let text =
            VectorQuery { vector: None, texts: vec![words("title", "zebra")], ..near.clone() };
        let hybrid = VectorQuery { texts: text.texts.clone(), with_scores: true, ..near.clone() };
        let filter = Some(key_is("title", Condition::Equal(Scalar::String(long.clone()))));
        let filtered = VectorQuery { filter, ..near.clone() };
        let few = VectorQuery { top_k: 1_000, ..near.clone() };
        let rows = [
            (&near, 3_000, 5),
            (&text, 2_400, 4),
            (&hybrid, 3_000, 5),
            (&filtered, 600, 1),
            (&few, 1_000, 2),
        ];
        for (query, count, page_count) in rows {
            let (hits, pages) = pages(store, &index, query);
            assert_eq!((hits.len(), pages), (count, page_count));
            let keys: HashSet<&str> = hits.iter().map(|hit| hit.key.as_str()).collect();
            assert_eq!(keys.len(), count, "each once");
            assert!(hits.is_sorted_by(
                |left, right| left.distance <= right.distance || !query.texts.is_empty()
            ));
            assert!(hits.is_sorted_by(|left, right| left.fused >= right.fused));
            // The same without metadata is one page.
            let plain = VectorQuery { with_metadata: false, ..query.clone() };
            let whole = store.query_vectors(&index, &plain).expect("an answer");
            assert_eq!(whole.next, None);
            assert!(hits.iter().map(|hit| &hit.key).eq(whole.hits.iter().map(|hit| &hit.key)));
        }
    });
}

#[test]
fn results_that_stay_come_once_whatever_is_written_between_pages() {
    let long = "x".repeat(2_000);
    on_every_backend(|store| {
        let index = films(store);
        let texts: &[(&str, &str)] = &[("title", &long)];
        let row = |number: u16| (format!("{number}"), f32::from(number), texts);
        put_texts(store, &index, &(0..1_200).map(row).collect::<Vec<_>>());
        let mut query =
            VectorQuery { with_metadata: true, ..VectorQuery::nearest(vec![-1.0], 1_000) };
        let first = store.query_vectors(&index, &query).expect("a page");
        let last = first.hits.len() - 1;
        query.after = first.next;
        // Of those that were returned, the last and others go, and new ones come in before them.
        let gone = [0, 3, last].map(|number| format!("{number}"));
        store.delete_vectors(&index, gone.to_vec()).expect("deleted");
        let new: Vec<_> = (0..10).map(|number| (format!("new-{number}"), 0.5, texts)).collect();
        put_texts(store, &index, &new);
        let second = store.query_vectors(&index, &query).expect("a page").hits;
        let numbers: Vec<usize> = second.iter().map(|hit| hit.key.parse().expect("old")).collect();
        assert!(numbers[0] == last + 1 && numbers.is_sorted_by(|left, right| left + 1 == *right));
    });
}

#[test]
fn the_recall_of_an_index_is_measured_while_it_is_used() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("a new directory");
    let index = create(&store, 256, DistanceMetric::Euclidean);
    assert_eq!(store.recall(&index).expect("there"), None, "nobody has used it");
    let vector = |number: usize| -> Vec<f32> {
        (0..256).map(|place| ((number * 31 + place * 7) as f32 * 0.37).sin()).collect()
    };
    for first in (0..2_000).step_by(500) {
        let mut vectors = NewVectors::default();
        for number in first..first + 500 {
            vectors.push(format!("{number}"), &vector(number));
        }
        store.put_vectors(&index, vectors).expect("stored");
    }
    let recall = loop {
        let query = VectorQuery::nearest(vector(5_000), 10);
        assert_eq!(store.query_vectors(&index, &query).expect("an answer").hits.len(), 10);
        if let Some(recall) = store.recall(&index).expect("there") {
            break recall;
        }
    };
    assert!(recall.samples >= 8, "{recall:?}");
    assert!(recall.at_10 >= 0.99 && recall.at_100 >= 0.98, "{recall:?}");
    store.delete_index(&index).wait().expect("deleted");
    let gone = store.recall(&index).expect_err("it is gone");
    assert!(matches!(gone, StoreError::NoSuchIndex { .. }), "{gone}");
}
