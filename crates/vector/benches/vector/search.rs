//! Searching 100,000 vectors, whose recall is printed beside.

use std::cell::Cell;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion};
use liteio_vector::{Durability, Search, Slot, SlotSet, VectorIndex};

use crate::data::{DIMENSION, Generator, shape};

const VECTORS: usize = 100_000;
const CLUSTERS: usize = 200;
const QUERIES: usize = 100;

pub(crate) fn bench(criterion: &mut Criterion) {
    for (name, is_clustered) in [("clustered", true), ("unrelated", false)] {
        let mut generator = Generator::new(1);
        let mut vectors = generator.vectors(VECTORS + QUERIES);
        if is_clustered {
            let centres = generator.vectors(CLUSTERS);
            for vector in vectors.chunks_exact_mut(DIMENSION) {
                let centre = generator.number() as usize % CLUSTERS * DIMENSION;
                for (element, centre) in vector.iter_mut().zip(&centres[centre..]) {
                    *element = centre + 0.4 * *element;
                }
            }
        }
        let index = VectorIndex::in_memory(shape()).expect("created");
        let (stored, queries) = vectors.split_at(VECTORS * DIMENSION);
        index.slots().append_many(stored).expect("appended");
        index.slots().commit(Durability::Os).expect("committed");
        index.prepare().expect("prepared");
        let queries: Vec<&[f32]> = queries.chunks_exact(DIMENSION).collect();
        bench_index(criterion, name, &index, &queries);
    }
}

fn bench_index(criterion: &mut Criterion, name: &str, index: &VectorIndex, queries: &[&[f32]]) {
    let mut group = criterion.benchmark_group(format!("search/{name}"));
    let view = index.slots().view();
    for part in [1, 2, 10, 100] {
        let matching = (0..VECTORS as u32).step_by(part).map(Slot::new).collect::<SlotSet>();
        let filter = (part > 1).then_some(&matching);
        for (neighbours, threads) in [(10, 1), (100, 1), (10, 2)] {
            let search = |query| Search { filter, threads, ..Search::new(query, neighbours) };
            let recall = recall(index, queries, search);
            println!("{name}, 1/{part}, top {neighbours}: recall {recall:.4}");
            let what = format!("top_{neighbours}_threads_{threads}");
            let next = Cell::new(0);
            group.bench_function(BenchmarkId::new(what, format!("1 of {part}")), |bencher| {
                bencher.iter(|| {
                    next.set((next.get() + 1) % queries.len());
                    let search = search(queries[next.get()]);
                    black_box(index.search(&view, &search).expect("found"));
                });
            });
        }
    }
    group.sample_size(10);
    group.bench_function("exact", |bencher| {
        bencher
            .iter(|| black_box(view.search_exactly(&Search::new(queries[0], 10)).expect("found")));
    });
    group.finish();
}

fn recall<'query>(
    index: &VectorIndex,
    queries: &[&'query [f32]],
    search: impl Fn(&'query [f32]) -> Search<'query>,
) -> f64 {
    let view = index.slots().view();
    let (mut found, mut expected) = (0, 0);
    for query in queries {
        let search = search(query);
        let exact = view.search_exactly(&search).expect("found");
        let approximate = index.search(&view, &search).expect("found");
        expected += exact.len();
        found += exact.iter().filter(|exact| approximate.contains(exact)).count();
    }
    found as f64 / expected as f64
}
