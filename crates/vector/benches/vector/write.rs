//! Appending and committing.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use liteio_vector::{Durability, SlotFile};

use crate::Place;
use crate::data::{DIMENSION, Generator, TestFile};

/// Vectors after which a new file is begun, so that a run does not fill the disk.
const FILE_VECTORS: u64 = 20_000;

pub(crate) fn bench(criterion: &mut Criterion, place: &Place) {
    let mut group = criterion.benchmark_group(format!("write/{}", place.name));
    let vectors = Generator::new(1).vectors(1_000);
    let one = &vectors[..DIMENSION];
    group.bench_function("raw_insert", |bencher| {
        bencher.iter_custom(|iterations| {
            in_fresh_files(place, iterations, 1, |file| {
                black_box(file.append(black_box(one)).expect("appended"));
            })
        });
    });
    group.bench_function("insert_with_commit", |bencher| {
        bencher.iter_custom(|iterations| {
            in_fresh_files(place, iterations, 1, |file| {
                file.append(black_box(one)).expect("appended");
                file.commit(Durability::Fsync).expect("committed");
            })
        });
    });
    group.sample_size(50);
    for count in [10, 100, 1_000] {
        group.throughput(Throughput::Elements(count));
        group.bench_with_input(
            BenchmarkId::new("batch_with_commit", count),
            &count,
            |bencher, _| {
                let batch = &vectors[..count as usize * DIMENSION];
                bencher.iter_custom(|iterations| {
                    in_fresh_files(place, iterations, count, |file| {
                        file.append_many(black_box(batch)).expect("appended");
                        file.commit(Durability::Fsync).expect("committed");
                    })
                });
            },
        );
    }
    group.throughput(Throughput::Elements(1_000));
    group.bench_function("grow_from_empty_to_1000", |bencher| {
        bencher.iter(|| {
            let test = TestFile::create(place);
            for vector in vectors.chunks_exact(DIMENSION) {
                test.file.append(black_box(vector)).expect("appended");
            }
            test.file.commit(Durability::Fsync).expect("committed");
        });
    });
    group.finish();
}

/// Runs `work`, which appends `count` vectors, so many times, and measures it without the making of
/// new files.
fn in_fresh_files(
    place: &Place,
    iterations: u64,
    count: u64,
    work: impl Fn(&SlotFile),
) -> Duration {
    let per_file = (FILE_VECTORS / count).max(1);
    let mut left = iterations;
    let mut measured = Duration::ZERO;
    while left > 0 {
        let test = TestFile::create(place);
        let rounds = left.min(per_file);
        let start = Instant::now();
        for _ in 0..rounds {
            work(&test.file);
        }
        measured += start.elapsed();
        left -= rounds;
    }
    measured
}
