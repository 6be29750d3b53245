//! The metrics of all rows and targets.

use crate::report::{Better, Metric, Unit};

/// Metric of rows about time.
pub(crate) const TIME: &str = "time";
/// Metric of rows about throughput.
pub(crate) const RATE: &str = "operations_per_second";
/// Metric of rows about vectors.
pub(crate) const VECTORS: &str = "vectors_per_second";
/// Share of the exact neighbours that were found.
pub(crate) const RECALL: &str = "recall";
/// Metric of rows about lost acknowledged puts.
pub(crate) const LOST: &str = "lost";
/// Bytes of bodies per second.
pub(crate) const THROUGHPUT: &str = "bytes_per_second";
/// Memory of an idle process, and of one connection to it.
pub(crate) const MEMORY: &str = "memory";
/// Memory of a process under load.
pub(crate) const MEMORY_PEAK: &str = "memory_peak";
/// Anonymous memory of an engine.
pub(crate) const MEMORY_OWN: &str = "memory_own";
/// Mapped pages of files.
pub(crate) const MEMORY_MAPPED: &str = "memory_mapped";

const HIGHER: [(&str, &str, Unit); 4] = [
    (RATE, "Operations per second", Unit::OperationsPerSecond),
    (VECTORS, "Vectors per second", Unit::OperationsPerSecond),
    (RECALL, "Recall", Unit::Share),
    (THROUGHPUT, "Throughput", Unit::BytesPerSecond),
];

/// Disk space of files.
pub(crate) const DISK: &str = "disk";
/// Time that 999 of 1,000 operations do not exceed.
pub(crate) const P999: &str = "p999";
/// The time of the longest operation.
pub(crate) const LONGEST: &str = "max";
/// Median time of a commit to a table, per that of a PUT of its metadata file.
pub(crate) const PUT_FACTOR: &str = "put_factor";
/// Processor time per operation of a whole process, without the benchmark's own work.
pub(crate) const OPERATION_CPU: &str = "operation_cpu";

/// Bytes that a program passes to the kernel for each byte of its input.
pub(crate) const PASSED: &str = "passed_factor";

const LOWER: [(&str, &str, Unit); 26] = [
    (TIME, "Time per operation", Unit::Nanoseconds),
    (OPERATION_CPU, "processor time per operation", Unit::Nanoseconds),
    (PUT_FACTOR, "Median time per that of a PUT of the same size", Unit::Factor),
    ("idle", "waited for that", Unit::Seconds),
    (LOST, "Acknowledged puts that are gone", Unit::Count),
    ("allocations", "allocations per operation", Unit::Count),
    ("allocated_bytes", "bytes allocated per operation", Unit::Bytes),
    ("written_bytes", "bytes written per operation", Unit::Bytes),
    ("server_cpu", "Server's processor time per operation", Unit::Nanoseconds),
    (MEMORY, "Memory of its own", Unit::Bytes),
    (MEMORY_OWN, "Memory of its own", Unit::Bytes),
    (MEMORY_MAPPED, "Mapped pages of files", Unit::Bytes),
    ("memory_idle", "Memory at the start", Unit::Bytes),
    (MEMORY_PEAK, "Memory at the most", Unit::Bytes),
    ("memory_end", "Memory at the end", Unit::Bytes),
    ("cpu", "Processor time", Unit::Seconds),
    ("close", "Time to close", Unit::Seconds),
    (DISK, "Disk used", Unit::Bytes),
    ("disk_factor", "… per byte put", Unit::Factor),
    ("disk_fixed", "Disk used by the fixed objects", Unit::Bytes),
    ("disk_fixed_factor", "… per byte stored", Unit::Factor),
    ("disk_written", "Disk written", Unit::Bytes),
    ("disk_written_factor", "Disk written per byte put", Unit::Factor),
    (PASSED, "Passed to write() per byte put", Unit::Factor),
    ("tree_factor", "… of that to the tree", Unit::Factor),
    ("log_factor", "… and to the log", Unit::Factor),
];

/// All metrics, in the order of tables.
pub(crate) fn metrics() -> Vec<Metric> {
    let of = |better| move |(id, title, unit)| Metric::new(id, title, unit, better);
    let mut metrics: Vec<Metric> = HIGHER.map(of(Better::Higher)).into();
    metrics.extend(Metric::percentiles());
    metrics.extend(LOWER.map(of(Better::Lower)));
    metrics
}
