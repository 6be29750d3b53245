//! Recall: the share of the true neighbours that a search finds.

use std::collections::HashMap;

use liteio_disk::effort::{is_full, seeds};
use liteio_vector::{Durability, Metric, Neighbour, Search, Slot, SlotSet, VectorIndex};

use crate::harness::{Generator, clustered, shape, unrelated};

const QUERIES: usize = 30;
const SEEDS: u64 = 3;

/// Vectors, and queries to search them for.
struct Set {
    vectors: Vec<f32>,
    queries: Vec<Vec<f32>>,
}

fn index_of(vectors: &[f32], dimension: usize, metric: Metric) -> VectorIndex {
    let index = VectorIndex::in_memory(shape(dimension, metric)).expect("created");
    index.slots().append_many(vectors).expect("appended");
    index.slots().commit(Durability::Os).expect("committed");
    index
}

/// Some of the vectors, a little moved.
fn queries_near(vectors: &[f32], dimension: usize) -> Vec<Vec<f32>> {
    let mut generator = Generator::new(99);
    let count = (vectors.len() / dimension) as u64;
    let mut query = || {
        let start = generator.below(count) as usize * dimension;
        let vector = &vectors[start..start + dimension];
        vector.iter().map(|element| element + 0.3 * generator.normal()).collect()
    };
    (0..QUERIES).map(|_| query()).collect()
}

/// The part of the true neighbours that was found. All distances must be exact.
fn recall(
    index: &VectorIndex,
    queries: &[Vec<f32>],
    neighbours: usize,
    filter: Option<&SlotSet>,
) -> f64 {
    let view = index.slots().view();
    let mut found = 0;
    let mut expected = 0;
    for query in queries {
        let search = Search { filter, ..Search::new(query, neighbours) };
        let exact = view.search_exactly(&search).expect("found");
        let approximate = index.search(&view, &search).expect("found");
        assert_eq!(approximate.len(), exact.len(), "as many as there are");
        assert!(approximate.is_sorted_by(|a, b| a.distance <= b.distance));
        let pair = |neighbour: &Neighbour| (neighbour.slot, neighbour.distance);
        let truth: HashMap<Slot, f64> = exact.iter().map(pair).collect();
        for neighbour in &approximate {
            if let Some(distance) = truth.get(&neighbour.slot) {
                assert_eq!(*distance, neighbour.distance);
                found += 1;
            }
            assert!(filter.is_none_or(|filter| filter.contains(neighbour.slot)));
        }
        expected += truth.len();
    }
    found as f64 / expected as f64
}

/// The recall over several sets of vectors, so that no lucky draw hides a loss: the mean must be good,
/// and none may be bad. A quick run has one set, without a mean.
fn check_recall(metric: Metric, neighbours: &[usize], set: impl Fn(u64) -> Set) {
    let mut recalls = vec![Vec::new(); neighbours.len()];
    for seed in seeds(1, SEEDS) {
        let Set { vectors, queries } = set(seed + 1);
        let index = index_of(&vectors, 768, metric);
        let half: SlotSet = (0..vectors.len() as u32 / 768).step_by(2).map(Slot::new).collect();
        for (neighbours, recalls) in neighbours.iter().zip(&mut recalls) {
            recalls.push(recall(&index, &queries, *neighbours, None));
            recalls.push(recall(&index, &queries, *neighbours, Some(&half)));
        }
    }
    for (neighbours, recalls) in neighbours.iter().zip(recalls) {
        let mean = recalls.iter().sum::<f64>() / recalls.len() as f64;
        let is_good = mean >= 0.99 || !is_full();
        let is_good = is_good && recalls.iter().all(|recall| *recall >= 0.98);
        assert!(is_good, "{metric:?}, {neighbours} neighbours: {recalls:?}");
    }
}

#[test]
fn nearly_all_neighbours_are_found_among_clustered_vectors() {
    for metric in [Metric::Cosine, Metric::Euclidean] {
        check_recall(metric, &[1, 10, 100], |seed| {
            let vectors = clustered(10_000, 768, 100, seed);
            let queries = queries_near(&vectors, 768);
            Set { vectors, queries }
        });
    }
}

#[test]
fn nearly_all_neighbours_are_found_among_unrelated_vectors() {
    for metric in [Metric::Cosine, Metric::Euclidean] {
        check_recall(metric, &[10, 100], |seed| {
            let vectors = unrelated(20_000, 768, seed);
            let queries = unrelated(QUERIES, 768, 1_000 + seed);
            Set { vectors, queries: queries.chunks(768).map(<[f32]>::to_vec).collect() }
        });
    }
}

#[test]
fn all_neighbours_are_found_among_few_vectors() {
    let vectors = unrelated(4_000, 768, 1);
    let queries: Vec<Vec<f32>> =
        unrelated(100, 768, 1_001).chunks(768).map(<[f32]>::to_vec).collect();
    for metric in [Metric::Cosine, Metric::Euclidean] {
        let found = recall(&index_of(&vectors, 768, metric), &queries, 10, None);
        assert!(found >= 0.999, "{metric:?}: {found}");
    }
}

#[test]
fn nearly_all_of_thousands_of_neighbours_are_found() {
    // By codes, but for the third row: among so few vectors all of them are compared.
    let rows =
        [(768, 20_000, 1_000), (768, 20_000, 1_600), (256, 30_000, 10_000), (256, 125_000, 10_000)];
    for row in seeds(2, 4) {
        let (dimension, count, neighbours) = rows[row as usize];
        let vectors = unrelated(count, dimension, 1);
        let queries = unrelated(3, dimension, 1_001);
        let queries: Vec<Vec<f32>> = queries.chunks(dimension).map(<[f32]>::to_vec).collect();
        let metric = if neighbours == 1_000 { Metric::Cosine } else { Metric::Euclidean };
        let found = recall(&index_of(&vectors, dimension, metric), &queries, neighbours, None);
        assert!(found >= 0.99, "{neighbours} of {count}, {metric:?}: {found}");
    }
}
