//! The rows: operations and clients, in the order of the report.

use crate::report::Unit;
use crate::run::metrics::RATE;
use crate::run::{Job, RowPlan};

/// Concurrent clients, each doing one operation after another on its own connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) clients: usize,
    pub(crate) work: Work,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Work {
    /// PutObject under a new key, with so many entries of user metadata.
    Put { bytes: usize, key: KeyShape, metadata: usize },
    /// GetObject of one of the fixed objects of a size.
    Get { bytes: usize },
    /// GetObject of [`COLD_OBJECTS`] objects in turn, of which the page cache has none.
    GetCold { bytes: usize },
    /// PutObject under a new key, and GetObject of it: its first read.
    PutGet { bytes: usize },
    /// GetObject of a range of one of the fixed objects of a size.
    Range { of: usize, start: usize, bytes: usize },
    /// GetObject or PutObject, in a fixed random order: `reads` of 100 operations read.
    Mixed { reads: u64, bytes: usize },
    /// HeadObject of an object that is there, or is not.
    Head { existing: bool },
    /// DeleteObject of an object of a size.
    Delete { bytes: usize },
    /// DeleteObject of an object that is not there.
    DeleteMissing,
    /// DeleteObjects of so many objects.
    DeleteMany { objects: usize },
    /// CopyObject of one of the fixed objects of a size to a new key.
    Copy { bytes: usize },
    /// ListObjectsV2 of one of the fixed buckets, all pages.
    List(Listing),
    /// PutObject of [`VERSIONED_KEYS`] keys in turn, in a bucket that keeps every version.
    PutVersion { bytes: usize },
    /// ListObjectVersions of so many versions, ten of each key, all pages.
    ListVersions { versions: usize },
    /// PutObject with SSE-S3 under a new key.
    PutEncrypted { bytes: usize },
    /// GetObject of one of the fixed objects of a size that were put with SSE-S3.
    GetEncrypted { bytes: usize },
    /// A multipart upload of parts of so many bytes to a new key, from creating to completing it.
    Multipart { parts: usize, bytes: usize },
    /// CreateBucket and DeleteBucket.
    BucketCycle,
    /// HeadBucket.
    BucketHead,
    /// PutObject of so many objects of [`SCALE_BYTES`].
    ScaleWrite { objects: usize },
    /// The listing of them, all pages.
    ScaleList { objects: usize },
    /// DeleteObject of them, one by one.
    ScaleDelete { objects: usize },
    /// ListObjectsV2 of a prefix whose objects, so many, were deleted just before.
    ListDeleted { objects: usize },
}

/// Shape of the keys of new objects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum KeyShape {
    /// A folder and a number.
    Plain,
    /// 256 bytes.
    Long,
    /// Letters of several scripts.
    Unicode,
    /// Twenty folders.
    Deep,
}

/// A fixed bucket whose keys are spread evenly over folders, if there are any, and the listed part:
/// everything, one folder (`prefix`), or the folders without their keys (`delimiter`).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Listing {
    pub(crate) keys: usize,
    /// Length of each object.
    pub(crate) bytes: usize,
    pub(crate) folders: usize,
    pub(crate) prefix: bool,
    pub(crate) delimiter: bool,
}

/// Number of objects that are read from the disk.
pub(crate) const COLD_OBJECTS: u64 = 24;
/// Number of keys whose objects get new versions.
pub(crate) const VERSIONED_KEYS: u64 = 100;

/// Length of the objects of the scale rows.
pub(crate) const SCALE_BYTES: usize = 256;
/// Number of clients that write and delete in the scale rows.
const SCALE_CLIENTS: usize = 16;
/// Number of clients of the mixed rows.
const MIXED_CLIENTS: usize = 16;
/// Length of the objects of the mixed rows.
const MIXED_BYTES: usize = 16 << 10;
/// Length of the object whose ranges are read.
const RANGED_BYTES: usize = 10 << 20;

const KB: usize = 1 << 10;
const MB: usize = 1 << 20;

/// A job that fills one row.
pub(crate) fn job(group: &str, name: String, clients: usize, work: Work) -> Job<Case> {
    let mut job = Job::new(Case { clients, work }, vec![RowPlan::new(group, name, ROW, RATE)]);
    job.writes = work.writes();
    job
}

/// Phase of every row.
pub(crate) const ROW: &str = "row";

/// All rows: `quick` has fewer clients and objects, `large` 100 MB and 100,000 objects too.
pub(crate) fn jobs(quick: bool, large: bool) -> Vec<Job<Case>> {
    let mut jobs = Vec::new();
    let mut add = |group, name: &str, clients, work: Work| {
        jobs.push(described(job(group, name.to_owned(), clients, work)));
    };
    let plain = |bytes| Work::Put { bytes, key: KeyShape::Plain, metadata: 0 };
    let mut sizes =
        vec![("1 B", 1), ("1 KB", KB), ("64 KB", 64 * KB), ("1 MB", MB), ("10 MB", 10 * MB)];
    if large {
        sizes.push(("100 MB", 100 * MB));
    }
    for (name, bytes) in &sizes {
        add("Write", &format!("Write {name}"), 1, plain(*bytes));
    }
    for (name, bytes, clients) in [("64 KB", 64 * KB, 16), ("1 MB", MB, 4)] {
        add("Write", &format!("Write {name}, {}", counted(clients)), clients, plain(bytes));
    }
    if !quick {
        // Bodies that arrive at the same time are hashed together.
        for clients in [2, 16] {
            let name = format!("Write 10 MB, {}", counted(clients));
            add("Write", &name, clients, plain(10 * MB));
        }
    }
    for (name, bytes) in &sizes[1..] {
        add("Read", &format!("Read {name}"), 1, Work::Get { bytes: *bytes });
    }
    if !quick {
        add("Read", "Read 10 MB from the disk", 1, Work::GetCold { bytes: 10 * MB });
    }
    for (name, bytes) in [("64 KB", 64 * KB), ("1 MB", MB)] {
        add("Read", &format!("Write and read {name}"), 1, Work::PutGet { bytes });
    }
    let range = |start, bytes| Work::Range { of: RANGED_BYTES, start, bytes };
    add("Range read", "Range 256 KB at the start", 1, range(0, 256 * KB));
    add("Range read", "Range 256 KB in the middle", 1, range(RANGED_BYTES / 2, 256 * KB));
    add("Range read", "Range 256 KB at the end", 1, range(RANGED_BYTES - 256 * KB, 256 * KB));
    add("Range read", "Range 4 KB", 1, range(RANGED_BYTES / 3, 4 * KB));

    let clients: &[usize] = if quick { &[1, 10, 50] } else { &[1, 10, 25, 50, 64, 100, 200] };
    for clients in clients {
        add("Parallel", &format!("Write 1 KB, {}", counted(*clients)), *clients, plain(KB));
    }
    for clients in clients {
        add(
            "Parallel",
            &format!("Read 1 KB, {}", counted(*clients)),
            *clients,
            Work::Get { bytes: KB },
        );
    }
    for (name, reads) in [("90/10", 90), ("50/50", 50), ("10/90", 10)] {
        let work = Work::Mixed { reads, bytes: MIXED_BYTES };
        add("Mixed", &format!("Mixed {name} reads and writes"), MIXED_CLIENTS, work);
    }
    add("Stat", "Stat existing", 1, Work::Head { existing: true });
    add("Stat", "Stat missing", 1, Work::Head { existing: false });
    add("Delete", "Delete existing", 1, Work::Delete { bytes: KB });
    add("Delete", "Delete 64 KB", 1, Work::Delete { bytes: 64 * KB });
    add("Delete", "Delete missing", 1, Work::DeleteMissing);
    add("Delete", "Delete 1,000 at once", 1, Work::DeleteMany { objects: 1000 });
    add("Copy", "Copy 1 KB", 1, Work::Copy { bytes: KB });
    add("Copy", "Copy 1 MB", 1, Work::Copy { bytes: MB });
    let of = |keys, bytes| Listing { keys, bytes, folders: 0, prefix: false, delimiter: false };
    for (name, keys) in [("10", 10), ("50", 50), ("100", 100), ("1,000", 1000)] {
        add("List", &format!("List {name}"), 1, Work::List(of(keys, SCALE_BYTES)));
    }
    // Some stores keep short bodies where a listing reads.
    for (name, bytes) in [("4 KB", 4 * KB), ("16 KB", 16 * KB)] {
        add("List", &format!("List 1,000 of {name}"), 1, Work::List(of(1000, bytes)));
    }
    let folders = Listing { folders: 4, ..of(200, SCALE_BYTES) };
    let prefix = Listing { prefix: true, ..folders };
    add("List", "List prefix, 50 of 200", 1, Work::List(prefix));
    let delimiter = Listing { delimiter: true, ..folders };
    add("List", "List delimiter, 4 folders of 200", 1, Work::List(delimiter));
    add("Versions", "Write 1 KB, versioned", 1, Work::PutVersion { bytes: KB });
    add("Versions", "List 1,000 versions", 1, Work::ListVersions { versions: 1000 });
    add("Encryption", "Write 10 MB, encrypted", 1, Work::PutEncrypted { bytes: 10 * MB });
    add("Encryption", "Read 10 MB, encrypted", 1, Work::GetEncrypted { bytes: 10 * MB });
    add("Multipart", "Multipart 15 MB in 3 parts", 1, Work::Multipart { parts: 3, bytes: 5 * MB });
    add("Multipart", "Multipart 25 MB in 5 parts", 1, Work::Multipart { parts: 5, bytes: 5 * MB });
    if !quick {
        let work = Work::Multipart { parts: 3, bytes: 5 * MB };
        add("Multipart", "Multipart 15 MB in 3 parts, 16 clients", 16, work);
    }
    add("Bucket", "Bucket create and delete", 1, Work::BucketCycle);
    add("Bucket", "Bucket info", 1, Work::BucketHead);
    for metadata in [0, 5, 20] {
        let work = Work::Put { bytes: KB, key: KeyShape::Plain, metadata };
        add("Metadata", &format!("Write 1 KB with {metadata} metadata keys"), 1, work);
    }
    let odd = |bytes, key| Work::Put { bytes, key, metadata: 0 };
    add("Edge", "Write empty object", 1, odd(0, KeyShape::Plain));
    add("Edge", "Write 1 KB, key of 256 bytes", 1, odd(KB, KeyShape::Long));
    add("Edge", "Write 1 KB, Unicode key", 1, odd(KB, KeyShape::Unicode));
    add("Edge", "Write 1 KB, key of 20 folders", 1, odd(KB, KeyShape::Deep));

    let scales: &[usize] = match (quick, large) {
        (true, false) => &[1000],
        (false, false) => &[1000, 10_000],
        (_, true) => &[1000, 10_000, 100_000],
    };
    for objects in scales.iter().copied() {
        let shown = Unit::Count.format(objects as f64);
        add("Scale", &format!("Scale: write {shown}"), SCALE_CLIENTS, Work::ScaleWrite { objects });
        add("Scale", &format!("Scale: list {shown}"), 1, Work::ScaleList { objects });
        add(
            "Scale",
            &format!("Scale: delete {shown}"),
            SCALE_CLIENTS,
            Work::ScaleDelete { objects },
        );
        let name = format!("Scale: first list after {shown} deletions");
        add("Scale", &name, 1, Work::ListDeleted { objects });
    }
    jobs
}

pub(crate) fn counted(clients: usize) -> String {
    if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") }
}

/// Adds charts, notes and the limit of rounds.
fn described(mut job: Job<Case>) -> Job<Case> {
    let Case { clients, work } = job.work;
    let row = job.rows.remove(0);
    let parallel = row.group == "Parallel";
    let by_clients = |row: RowPlan, title| row.curve(title, "clients", clients as f64);
    let by_objects = |row: RowPlan, title, objects| row.curve(title, "objects", objects as f64);
    let row = match work {
        Work::Put { .. } if parallel => by_clients(row, "Writes of 1 KB by concurrency"),
        Work::Get { .. } if parallel => by_clients(row, "Reads of 1 KB by concurrency"),
        Work::Mixed { .. } => row.note(format!("{MIXED_CLIENTS} clients, 16 KB")),
        Work::Range { .. } => row.note("of an object of 10 MB"),
        Work::ScaleWrite { objects } => {
            by_objects(row, "Scale: objects written per second", objects)
                .note(format!("objects of {SCALE_BYTES} B, {SCALE_CLIENTS} clients"))
        }
        Work::ScaleDelete { objects } => {
            by_objects(row, "Scale: objects deleted per second", objects)
                .note(format!("one by one, {SCALE_CLIENTS} clients"))
        }
        Work::ScaleList { objects } => by_objects(row, "Scale: whole listings per second", objects)
            .note("one operation is the whole listing, page after page"),
        Work::ListDeleted { .. } => row.note("a prefix whose objects were just deleted"),
        Work::PutVersion { .. } => row.note(format!("{VERSIONED_KEYS} keys in turn")),
        Work::ListVersions { .. } => row.note("ten of each key, page after page"),
        work if work.is_encrypted() => row.note("SSE-S3: with a key of the server"),
        Work::DeleteMany { .. } => row.note("one operation deletes them all"),
        Work::PutGet { .. } => row.note("one operation writes an object and reads it"),
        _ => row,
    };
    if let Work::ScaleWrite { objects }
    | Work::ScaleList { objects }
    | Work::ScaleDelete { objects }
    | Work::ListDeleted { objects } = work
        && objects > 1000
    {
        job.rounds_max = 1;
    }
    job.rows.push(row);
    job
}

impl Work {
    /// The same work with at most `max` objects.
    pub(crate) fn with_at_most(self, max: usize) -> Work {
        match self {
            Work::DeleteMany { objects } => Work::DeleteMany { objects: objects.min(max) },
            Work::List(listing) => Work::List(Listing { keys: listing.keys.min(max), ..listing }),
            Work::ListVersions { versions } => Work::ListVersions { versions: versions.min(max) },
            Work::ScaleWrite { objects } => Work::ScaleWrite { objects: objects.min(max) },
            Work::ScaleList { objects } => Work::ScaleList { objects: objects.min(max) },
            Work::ScaleDelete { objects } => Work::ScaleDelete { objects: objects.min(max) },
            Work::ListDeleted { objects } => Work::ListDeleted { objects: objects.min(max) },
            other => other,
        }
    }

    /// Length of the largest body that it needs.
    pub(crate) fn bytes_max(&self) -> usize {
        match self {
            Work::Put { bytes, .. }
            | Work::Get { bytes }
            | Work::GetCold { bytes }
            | Work::PutGet { bytes }
            | Work::Delete { bytes }
            | Work::Range { of: bytes, .. }
            | Work::Mixed { bytes, .. }
            | Work::Copy { bytes }
            | Work::PutVersion { bytes }
            | Work::PutEncrypted { bytes }
            | Work::GetEncrypted { bytes }
            | Work::Multipart { bytes, .. } => *bytes,
            Work::List(listing) => listing.bytes,
            _ => KB,
        }
    }

    /// Body bytes that one operation moves; 0 if throughput says nothing.
    pub(crate) fn bytes_moved(&self) -> usize {
        match self {
            Work::Put { bytes, .. } | Work::Get { bytes } | Work::Range { bytes, .. } => *bytes,
            Work::GetCold { bytes } => *bytes,
            Work::Mixed { bytes, .. } | Work::PutVersion { bytes } => *bytes,
            Work::PutEncrypted { bytes } | Work::GetEncrypted { bytes } => *bytes,
            Work::Multipart { parts, bytes } => parts * bytes,
            Work::PutGet { bytes } => 2 * bytes,
            _ => 0,
        }
    }

    /// `true` if the target must encrypt.
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self, Work::PutEncrypted { .. } | Work::GetEncrypted { .. })
    }

    /// `true` if it changes the stored objects.
    pub(crate) fn writes(&self) -> bool {
        !matches!(
            self,
            Work::Get { .. }
                | Work::GetCold { .. }
                | Work::GetEncrypted { .. }
                | Work::Range { .. }
                | Work::Head { .. }
                | Work::List(_)
                | Work::ListVersions { .. }
                | Work::BucketHead
                | Work::ScaleList { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_a_name_of_its_own() {
        for (quick, large) in [(false, false), (true, false), (false, true), (true, true)] {
            let jobs = jobs(quick, large);
            let names: BTreeSet<&str> = jobs.iter().map(|job| job.rows[0].name.as_str()).collect();
            assert_eq!(names.len(), jobs.len());
            assert_eq!(names.contains("Read 100 MB"), large);
            assert_eq!(names.contains("Write 1 KB, 200 clients"), !quick);
        }
    }
}
