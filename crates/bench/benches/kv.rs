//! `cargo bench --bench kv`: our key space and plain redb inside this process, with the entries of
//! `liteio-bench kv`. A minute or two; for rivals, memory and `kill -9` use `liteio-bench`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use liteio_bench::kv::data::{Data, Key, SEED, Value};
use liteio_bench::kv::engine::{Candidate, Engine, Synced};
use liteio_bench::kv::{LITEIO, LITEIO_MEMORY, REDB};

/// Entries that are there before anything is measured.
const PRELOAD: u64 = 100_000;
const SCAN_ENTRIES: usize = 1_000;

/// An engine with its data, and the next entry that is new.
struct Loaded {
    name: String,
    engine: Box<dyn Engine>,
    next: AtomicU64,
    _directory: tempfile::TempDir,
}

fn data() -> Data {
    Data::new(SEED)
}

fn load(candidate: &Candidate, sync: Synced, name: &str) -> Loaded {
    let directory = tempfile::tempdir_in(".").expect("a directory can be made");
    let engine = (candidate.open)(directory.path(), sync).expect("the engine can be opened");
    for start in (0..PRELOAD).step_by(10_000) {
        engine.put_all(&pairs(start..start + 10_000)).expect("it takes entries");
    }
    let name = name.to_owned();
    Loaded { name, engine, next: AtomicU64::new(PRELOAD), _directory: directory }
}

fn pairs(numbers: std::ops::Range<u64>) -> Vec<(Key, Value)> {
    numbers.map(|number| (data().key(number), data().value(number))).collect()
}

impl Loaded {
    /// So many entries that are not there yet.
    fn new_pairs(&self, count: u64) -> Vec<(Key, Value)> {
        let start = self.next.fetch_add(count, Ordering::Relaxed);
        pairs(start..start + count)
    }

    fn put(&self, count: u64) -> Duration {
        let pairs = self.new_pairs(count);
        let begin = Instant::now();
        for (key, value) in &pairs {
            self.engine.put(key, value).expect("it takes entries");
        }
        begin.elapsed()
    }

    /// The time until so many threads have put `count` entries together.
    fn put_by(&self, writers: usize, count: u64) -> Duration {
        let pairs = self.new_pairs(count.max(writers as u64));
        let begin = Instant::now();
        thread::scope(|scope| {
            for part in pairs.chunks(pairs.len().div_ceil(writers)) {
                scope.spawn(move || {
                    for (key, value) in part {
                        self.engine.put(key, value).expect("it takes entries");
                    }
                });
            }
        });
        begin.elapsed().mul_f64(count as f64 / pairs.len() as f64)
    }
}

fn not_synced(criterion: &mut Criterion) {
    let engines = [
        load(&LITEIO, Synced::No, "liteio"),
        load(&LITEIO_MEMORY, Synced::No, "liteio-memory"),
        load(&REDB, Synced::No, "redb"),
    ];
    let mut group = criterion.benchmark_group("Get at random");
    for loaded in &engines {
        let (mut step, mut value) = (0, Vec::new());
        group.bench_function(&loaded.name, |bencher| {
            bencher.iter(|| {
                step += 1;
                value.clear();
                let key = data().key(data().random_entry(step, PRELOAD));
                assert!(loaded.engine.get(&key, &mut value).expect("it answers"));
            });
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("Scan 1,000 in order");
    group.throughput(Throughput::Elements(SCAN_ENTRIES as u64));
    for loaded in &engines {
        let mut step = 0;
        group.bench_function(&loaded.name, |bencher| {
            bencher.iter(|| {
                step += 1;
                let (mut entries, mut sum) = (0, 0_u64);
                let from = data().key(data().random_entry(step, PRELOAD));
                let mut entry = |_: &[u8], value: &[u8]| {
                    entries += 1;
                    sum += u64::from(value[0]);
                };
                loaded.engine.scan(&from, SCAN_ENTRIES, &mut entry).expect("it answers");
                (entries, sum)
            });
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("Put, not synced");
    for loaded in &engines {
        group.bench_function(&loaded.name, |bencher| {
            bencher.iter_custom(|count| loaded.put(count));
        });
    }
    group.finish();
}

fn synced(criterion: &mut Criterion) {
    let engines = [load(&LITEIO, Synced::Each, "liteio"), load(&REDB, Synced::Each, "redb")];
    let mut group = criterion.benchmark_group("Synced put");
    for writers in [1, 8, 64] {
        for loaded in &engines {
            let id = BenchmarkId::new(&loaded.name, format!("{writers} writers"));
            group.bench_function(id, |bencher| {
                bencher.iter_custom(|count| loaded.put_by(writers, count));
            });
        }
    }
    group.finish();
    let mut group = criterion.benchmark_group("Synced transaction");
    for size in [10, 1_000] {
        group.throughput(Throughput::Elements(size));
        for loaded in &engines {
            group.bench_function(BenchmarkId::new(&loaded.name, size), |bencher| {
                bencher.iter_custom(|count| {
                    let batches: Vec<_> = (0..count).map(|_| loaded.new_pairs(size)).collect();
                    let begin = Instant::now();
                    for batch in &batches {
                        loaded.engine.put_all(batch).expect("it takes entries");
                    }
                    begin.elapsed()
                });
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = kv;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1500));
    targets = not_synced, synced
}
criterion_main!(kv);
