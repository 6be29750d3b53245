//! Reading single vectors and many.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use liteio_vector::{Slot, SlotFile};

use crate::Place;
use crate::data::{DIMENSION, PATH, TestFile, shape};

pub(crate) fn bench(criterion: &mut Criterion, place: &Place) {
    let mut group = criterion.benchmark_group(format!("read/{}", place.name));
    let test = TestFile::with_vectors(place, 1_000);
    let view = test.file.view();
    let mut buffer = vec![0.0; DIMENSION];
    group.bench_function("hot_copied", |bencher| {
        bencher.iter(|| {
            let vector = view.borrowed(black_box(Slot::new(50))).expect("there");
            buffer.copy_from_slice(vector);
            black_box(&mut buffer);
        });
    });
    group.bench_function("hot_borrowed", |bencher| {
        bencher.iter(|| {
            black_box(view.borrowed(black_box(Slot::new(50))).expect("there"));
        });
    });
    group.bench_function("hot_read_into", |bencher| {
        bencher.iter(|| {
            test.file.read_into(black_box(Slot::new(50)), &mut buffer).expect("there");
            black_box(&mut buffer);
        });
    });
    let all = Slot::new(0)..Slot::new(1_000);
    group.throughput(Throughput::Elements(1_000));
    group.bench_function("sequential_1000_copied", |bencher| {
        bencher.iter(|| {
            for (_, vector) in view.borrowed_all(black_box(all.clone())).expect("mapped") {
                buffer.copy_from_slice(vector);
                black_box(&mut buffer);
            }
        });
    });
    group.bench_function("sequential_1000_borrowed", |bencher| {
        bencher.iter(|| {
            let vectors = view.borrowed_all(black_box(all.clone())).expect("mapped");
            vectors.for_each(|(_, vector)| {
                black_box(vector);
            });
        });
    });
    group.throughput(Throughput::Elements(1));
    drop(view);
    let TestFile { disk, file, directory: _directory } = TestFile::with_vectors(place, 10_000);
    drop(file);
    group.bench_function("cold_read", |bencher| {
        bencher.iter(|| {
            let file = SlotFile::open(&disk, PATH, shape()).expect("opens");
            file.read_into(black_box(Slot::new(5_000)), &mut buffer).expect("there");
            black_box(&mut buffer);
        });
    });
    group.bench_function("cold_read_mapped", |bencher| {
        bencher.iter(|| {
            let file = SlotFile::open(&disk, PATH, shape()).expect("opens");
            let view = file.view();
            let vector = view.vector(black_box(Slot::new(5_000))).expect("there");
            buffer.copy_from_slice(&vector);
            black_box(&mut buffer);
        });
    });
    group.finish();
}
