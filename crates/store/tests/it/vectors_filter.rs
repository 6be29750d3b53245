//! Filters find what evaluating them on each vector finds, whatever is written meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_disk::effort::seeds;
use liteio_store::Store;
use liteio_store::vectors::{
    Condition, DistanceMetric, Filter, Index, Metadata, MetadataValue, NewVectors, Number,
    Relation, Scalar, VectorQuery,
};

use crate::harness::{config, on_directory};
use crate::vectors::{bucket, create, key_is, on_every_backend, refresh};

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn scalar(&mut self) -> Scalar {
        let texts = ["", "a", "ab", "b", "2", "true", "Été"];
        let wholes = [0, 1, 2, -3, 1 << 53, (1 << 53) + 1, i128::from(u64::MAX)];
        let floats = [-0.0, 2.0, 2.5, -3.0, 9_007_199_254_740_992.0, 1e300];
        match self.below(4) {
            0 => Scalar::String(texts[self.below(7) as usize].to_owned()),
            1 => Scalar::Number(Number::Integer(wholes[self.below(7) as usize])),
            2 => Scalar::Number(Number::Float(floats[self.below(6) as usize])),
            _ => Scalar::Boolean(self.below(2) == 0),
        }
    }

    fn scalars(&mut self) -> Vec<Scalar> {
        (0..self.below(5)).map(|_| self.scalar()).collect()
    }

    /// Values of every kind; `own` belongs to one vector alone, and `all` is the same everywhere.
    fn metadata(&mut self) -> Metadata {
        let mut fields = Vec::new();
        let own = Scalar::Number(Number::Integer(self.below(1 << 30).into()));
        fields.push(("own".to_owned(), MetadataValue::Scalar(own)));
        fields.push(("all".to_owned(), MetadataValue::Scalar(Scalar::Boolean(true))));
        if self.below(3) > 0 {
            fields.push(("some".to_owned(), MetadataValue::Scalar(self.scalar())));
        }
        if self.below(3) > 0 {
            fields.push(("list".to_owned(), MetadataValue::List(self.scalars())));
        }
        Metadata(fields)
    }

    fn condition(&mut self) -> Condition {
        let relations =
            [Relation::Less, Relation::LessOrEqual, Relation::Greater, Relation::GreaterOrEqual];
        match self.below(7) {
            0 => Condition::Equal(self.scalar()),
            1 => Condition::NotEqual(self.scalar()),
            2 => Condition::In(self.scalars()),
            3 => Condition::NotIn(self.scalars()),
            4 => Condition::Exists(self.below(2) == 0),
            5 => Condition::StartsWith(["", "a", "É"][self.below(3) as usize].to_owned()),
            _ => loop {
                if let Scalar::Number(number) = self.scalar() {
                    break Condition::Number(relations[self.below(4) as usize], number);
                }
            },
        }
    }

    fn filter(&mut self, depth: u64, model: &Model) -> Filter {
        match self.below(if depth == 0 { 4 } else { 7 }) {
            kind @ 4.. => {
                let filters = (0..self.below(4)).map(|_| self.filter(depth - 1, model)).collect();
                if kind == 4 { Filter::Any(filters) } else { Filter::All(filters) }
            }
            0 => {
                // Values of `own` that are there, and one that is not.
                let mut values = vec![Scalar::Number(Number::Integer(-1))];
                for _ in 0..self.below(4) {
                    let Some((_, metadata)) =
                        model.iter().nth(self.below(model.len() as u64 + 1) as usize)
                    else {
                        continue;
                    };
                    let value = metadata.get("own").expect("each has one");
                    values.extend(value.scalars().iter().cloned());
                }
                key_is("own", Condition::In(values))
            }
            1 => key_is("some", self.condition()),
            2 => key_is("list", self.condition()),
            _ => key_is(["all", "own", "none"][self.below(3) as usize], self.condition()),
        }
    }
}

type Model = BTreeMap<String, Metadata>;

fn keys_found(store: &Store, index: &Index, filter: &Filter) -> BTreeSet<String> {
    let query =
        VectorQuery { filter: Some(filter.clone()), ..VectorQuery::nearest(vec![0.0], 10_000) };
    let answer = store.query_vectors(index, &query).expect("an answer");
    let keys: BTreeSet<String> = answer.hits.iter().map(|hit| hit.key.clone()).collect();
    assert_eq!(keys.len(), answer.hits.len(), "each once");
    keys
}

fn check(store: &Store, index: &Index, model: &Model, random: &mut Random) {
    let filter = random.filter(2, model);
    let matching = model.iter().filter(|(_, metadata)| filter.matches(metadata));
    let expected: BTreeSet<String> = matching.map(|(key, _)| key.clone()).collect();
    assert_eq!(keys_found(store, index, &filter), expected, "{filter:?}");
}

/// Puts and deletes vectors, some of them again.
fn change(store: &Store, index: &Index, model: &mut Model, random: &mut Random) {
    let mut vectors = NewVectors::default();
    let mut keys = BTreeSet::new();
    for _ in 0..random.below(500) {
        keys.insert(format!("{}", random.below(3_000)));
    }
    for key in keys {
        let metadata = random.metadata();
        vectors.push_with(&key, &[random.below(1_000) as f32], metadata.clone());
        model.insert(key, metadata);
    }
    if !vectors.keys.is_empty() {
        store.put_vectors(index, vectors).expect("stored");
    }
    let gone: BTreeSet<String> =
        (0..random.below(100)).map(|_| format!("{}", random.below(3_000))).collect();
    model.retain(|key, _| !gone.contains(key));
    if !gone.is_empty() {
        store.delete_vectors(index, gone.into_iter().collect()).expect("deleted");
    }
}

#[test]
fn filters_find_what_each_vector_alone_says() {
    for seed in seeds(1, 3) {
        on_every_backend(|store| {
            let index = create(store, 1, DistanceMetric::Euclidean);
            let (mut random, mut model) = (Random(seed), Model::new());
            for round in 0..60 {
                change(store, &index, &mut model, &mut random);
                // Not at first, so that columns are made of what is there already.
                for _ in 0..if round < 20 { 0 } else { 8 } {
                    check(store, &index, &model, &mut random);
                }
            }
        });
    }
}

#[test]
fn filters_find_the_same_after_a_restart() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut random, mut model) = (Random(7), Model::new());
    let store = Store::open(on_directory(directory.path())).expect("a new directory");
    let index = create(&store, 1, DistanceMetric::Euclidean);
    store.close();
    for _ in 0..4 {
        let store = Store::open(on_directory(directory.path())).expect("opens");
        let index = refresh(&store, &index);
        for _ in 0..4 {
            check(&store, &index, &model, &mut random);
            change(&store, &index, &mut model, &mut random);
        }
        // Not only dropped: the thread that makes columns may hold the store a moment longer.
        store.close();
    }
}

/// Vectors whose `colour` is red never change it, and are put again and again.
#[test]
fn filters_beside_writers_lose_and_double_nothing_while_columns_are_made() {
    let store = Store::open(config(1)).expect("memory");
    let index = create(&store, 1, DistanceMetric::Euclidean);
    let colour = |colour: &str, other: usize| {
        let text = |text: String| MetadataValue::Scalar(Scalar::String(text));
        let colour = ("colour".to_owned(), text(colour.to_owned()));
        Metadata(vec![colour, ("other".to_owned(), text(other.to_string()))])
    };
    for start in (0..4_000).step_by(500) {
        let mut vectors = NewVectors::default();
        for number in start..start + 500 {
            vectors.push_with(format!("blue {number}"), &[0.0], colour("blue", number));
        }
        store.put_vectors(&index, vectors).expect("stored");
    }
    let red: BTreeSet<String> = (0..20).map(|number| format!("red {number}")).collect();
    let put_red = |round: usize| {
        let mut vectors = NewVectors::default();
        for key in &red {
            vectors.push_with(key, &[1.0], colour("red", round));
        }
        store.put_vectors(&index, vectors).expect("stored");
    };
    put_red(0);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !is_done.load(Ordering::Relaxed) {
                round += 1;
                put_red(round);
                let blue = (0..5).map(|number| format!("blue {}", round * 5 % 4_000 + number));
                store.delete_vectors(&index, blue.collect()).expect("deleted");
            }
        });
        let is_red = || key_is("colour", Condition::Equal(Scalar::String("red".to_owned())));
        for round in 0..200 {
            // A key that was never used has no column, and neither have those of another index.
            let new_key = key_is(&format!("new {}", round % 40), Condition::Exists(false));
            let both = Filter::All(vec![new_key, is_red()]);
            for filter in [is_red(), both] {
                assert_eq!(keys_found(&store, &index, &filter), red, "{filter:?}");
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn an_index_is_deleted_and_a_store_closed_while_columns_are_made() {
    for closes in [false, true] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(on_directory(directory.path())).expect("a new directory");
        let index = create(&store, 1, DistanceMetric::Euclidean);
        let mut random = Random(1);
        for start in 0..20 {
            let mut vectors = NewVectors::default();
            for number in 0..500 {
                vectors.push_with(format!("{start} {number}"), &[0.0], random.metadata());
            }
            store.put_vectors(&index, vectors).expect("stored");
        }
        std::thread::scope(|scope| {
            for key in ["own", "all", "some", "list"] {
                let (store, index) = (&store, &index);
                scope.spawn(move || {
                    let filter = key_is(key, Condition::Exists(false));
                    let query =
                        VectorQuery { filter: Some(filter), ..VectorQuery::nearest(vec![0.0], 1) };
                    // An answer or an error, but an end.
                    drop(store.query_vectors(index, &query));
                });
            }
            if closes {
                store.close();
            } else {
                store.delete_index(&index).wait().expect("deleted");
            }
        });
        if !closes {
            assert!(store.index(&bucket(&store), &index.name).is_err());
        }
    }
}
