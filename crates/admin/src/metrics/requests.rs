//! [`Requests`]: counters of requests by operation.
//!
//! Each request increments a few atomics of its operation, found in an immutable table: no lock,
//! and no memory that grows with client input. Only errors are counted under a lock, by code.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use liteio_wire::front::{Finished, Observer};
use liteio_wire::reply::ApiError;

/// The operation label of requests without an operation: operational ones, preflights, and requests
/// refused before routing.
pub(super) const OTHER: &str = "other";
/// Limit of distinct error counters, higher than the number of existing errors. Any further ones
/// share a counter.
const ERRORS_MAX: usize = 4_096;

/// Upper bounds of the duration buckets, in microseconds, and as shown, in seconds.
pub(super) const ENDS: [(u64, &str); 17] = [
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
    (60_000_000, "60"),
];

/// Status classes. The first one counts clients that disconnected before the response.
pub(super) const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// The counters of one operation, on their own cache lines to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell {
    classes: [AtomicU64; CLASSES.len()],
    /// Requests by the first bound that is not below the duration; the last counter is for longer
    /// ones.
    durations: [AtomicU64; ENDS.len() + 1],
    nanoseconds: AtomicU64,
    /// Answered requests by the first bound that is not below the time until the head of the answer.
    first_bytes: [AtomicU64; ENDS.len() + 1],
    first_byte_nanoseconds: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

/// The values of one operation.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) operation: &'static str,
    /// True for operations of the S3 API.
    pub(super) is_s3: bool,
    pub(super) classes: [u64; CLASSES.len()],
    pub(super) durations: [u64; ENDS.len() + 1],
    pub(super) seconds: f64,
    pub(super) first_bytes: [u64; ENDS.len() + 1],
    pub(super) first_byte_seconds: f64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    /// Error counts by code.
    pub(super) errors: BTreeMap<String, u64>,
}

/// The counters of a server.
#[derive(Debug)]
pub(super) struct Requests {
    /// [`OTHER`], then the operations of S3, then all others.
    names: Vec<&'static str>,
    s3: usize,
    places: HashMap<&'static str, usize>,
    cells: Box<[Cell]>,
    /// Counts by index of the operation and error code.
    errors: Mutex<BTreeMap<(usize, String), u64>>,
    rejected: AtomicU64,
}

impl Requests {
    /// Creates the counters for the operations of S3 and of all other services.
    pub(super) fn new(
        s3: impl Iterator<Item = &'static str>,
        others: impl Iterator<Item = &'static str>,
    ) -> Requests {
        let (mut names, mut places) = (vec![OTHER], HashMap::from([(OTHER, 0)]));
        let mut add = |name| {
            // Some operations of different services have the same name.
            places.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            });
        };
        s3.for_each(&mut add);
        let s3 = places.len() - 1;
        let mut add = |name| {
            places.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            });
        };
        others.for_each(&mut add);
        let cells = names.iter().map(|_| Cell::default()).collect();
        let (errors, rejected) = (Mutex::default(), AtomicU64::new(0));
        Requests { names, s3, places, cells, errors, rejected }
    }

    /// The number of inputs that were not valid HTTP requests and were answered with an error.
    pub(super) fn rejected_count(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// The values of every operation that was requested at least once.
    pub(super) fn figures(&self) -> Vec<Figures> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut all = Vec::new();
        for (place, (cell, operation)) in self.cells.iter().zip(&self.names).enumerate() {
            let classes = cell.classes.each_ref().map(read);
            if classes.iter().all(|count| *count == 0) {
                continue;
            }
            let of_this = (place, String::new())..(place + 1, String::new());
            let errors = self.errors.lock();
            let errors = errors.range(of_this).map(|((_, code), count)| (code.clone(), *count));
            all.push(Figures {
                operation,
                is_s3: (1..=self.s3).contains(&place),
                classes,
                durations: cell.durations.each_ref().map(read),
                seconds: Duration::from_nanos(read(&cell.nanoseconds)).as_secs_f64(),
                first_bytes: cell.first_bytes.each_ref().map(read),
                first_byte_seconds: Duration::from_nanos(read(&cell.first_byte_nanoseconds))
                    .as_secs_f64(),
                bytes_in: read(&cell.bytes_in),
                bytes_out: read(&cell.bytes_out),
                errors: errors.collect(),
            });
        }
        all
    }

    fn count(&self, operation: Option<&str>, status: u16, duration: Duration) -> (usize, &Cell) {
        let place = operation.and_then(|name| self.places.get(name)).copied().unwrap_or(0);
        let cell = &self.cells[place];
        let class = usize::from(status / 100).min(CLASSES.len() - 1);
        cell.classes[class].fetch_add(1, Ordering::Relaxed);
        add_time(&cell.durations, &cell.nanoseconds, duration);
        (place, cell)
    }

    fn count_error(&self, place: usize, code: &str) {
        let mut errors = self.errors.lock();
        let is_full = errors.len() >= ERRORS_MAX;
        let key = (place, code.to_owned());
        if let Some(count) = errors.get_mut(&key) {
            *count += 1;
        } else {
            let key = if is_full { (0, OTHER.to_owned()) } else { key };
            *errors.entry(key).or_default() += 1;
        }
    }
}

/// Adds a duration to a histogram and to its sum.
fn add_time(histogram: &[AtomicU64; ENDS.len() + 1], sum: &AtomicU64, duration: Duration) {
    let microseconds = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let bucket = ENDS.partition_point(|(end, _)| *end < microseconds);
    histogram[bucket].fetch_add(1, Ordering::Relaxed);
    let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    sum.fetch_add(nanoseconds, Ordering::Relaxed);
}

impl Observer for Requests {
    fn finished(&self, finished: &Finished<'_>) {
        let operation = finished.origin.found.operation();
        let (place, cell) = self.count(operation, finished.status, finished.duration);
        if let Some(first_byte) = finished.first_byte {
            add_time(&cell.first_bytes, &cell.first_byte_nanoseconds, first_byte);
        }
        if finished.bytes_in > 0 {
            cell.bytes_in.fetch_add(finished.bytes_in, Ordering::Relaxed);
        }
        if finished.bytes_out > 0 {
            cell.bytes_out.fetch_add(finished.bytes_out, Ordering::Relaxed);
        }
        if let Some(code) = finished.code {
            self.count_error(place, code);
        }
    }

    fn rejected(&self, _: &ApiError) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Requests {
        Requests::new(
            ["GetObject", "PutObject"].into_iter(),
            ["PutObject", "QueryVectors"].into_iter(),
        )
    }

    #[test]
    fn requests_are_counted_by_operation_class_and_duration() {
        let requests = requests();
        let micros = Duration::from_micros;
        requests.count(Some("GetObject"), 200, micros(250));
        requests.count(Some("GetObject"), 206, micros(251));
        requests.count(Some("QueryVectors"), 503, Duration::from_secs(3600));
        requests.count(Some("Unheard"), 0, micros(0));
        requests.count(None, 999, micros(1));
        let figures = requests.figures();
        let told: Vec<_> = figures.iter().map(|it| (it.operation, it.is_s3, it.classes)).collect();
        let expected = [
            (OTHER, false, [1, 0, 0, 0, 0, 1]),
            ("GetObject", true, [0, 0, 2, 0, 0, 0]),
            ("QueryVectors", false, [0, 0, 0, 0, 0, 1]),
        ];
        assert_eq!(told, expected);
        assert_eq!(figures[1].durations[..3], [1, 1, 0]);
        assert_eq!(figures[2].durations[ENDS.len()], 1);
        assert!((figures[1].seconds - 501e-6).abs() < 1e-12);
    }

    #[test]
    fn there_is_no_end_of_codes_and_an_end_of_what_they_take() {
        let requests = requests();
        for number in 0..2 * ERRORS_MAX {
            let (place, _) = requests.count(Some("GetObject"), 404, Duration::ZERO);
            requests.count_error(place, &format!("Code{number}"));
        }
        let figures = requests.figures();
        assert_eq!(figures[0].operation, "GetObject");
        assert_eq!(requests.errors.lock().len(), ERRORS_MAX + 1);
        assert_eq!(requests.errors.lock().values().sum::<u64>(), 2 * ERRORS_MAX as u64);
    }
}
