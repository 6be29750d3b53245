//! The rows: what is measured, with how many clients, in the order of the report.

use crate::report::Curve;

/// One row.
#[derive(Clone, Debug)]
pub struct Case {
    /// The heading that it stands under.
    pub group: &'static str,
    /// Its name, unique.
    pub name: String,
    /// How many clients work at the same time, each on its own connection.
    pub clients: usize,
    /// What one operation is.
    pub work: Work,
    /// Its place in a chart.
    pub curve: Option<Curve>,
    /// The most rounds; the longest rows have one.
    pub rounds_max: usize,
    /// What a reader must know.
    pub note: Option<String>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// PutObject of so many bytes under a new key.
    Put {
        /// Bytes of the body.
        bytes: usize,
        /// What the key looks like.
        key: KeyShape,
        /// Entries of user metadata.
        metadata: usize,
    },
    /// GetObject of one of the fixed objects of a size.
    Get {
        /// Bytes of the body.
        bytes: usize,
    },
    /// GetObject of a range of one of the fixed objects of a size.
    Range {
        /// Bytes of the object.
        of: usize,
        /// The first byte.
        start: usize,
        /// Bytes of the range.
        bytes: usize,
    },
    /// GetObject or PutObject, in a fixed random order.
    Mixed {
        /// How many of 100 operations read.
        reads: u64,
        /// Bytes of each body.
        bytes: usize,
    },
    /// HeadObject of an object that is there, or is not.
    Head {
        /// Whether it is.
        existing: bool,
    },
    /// DeleteObject of an object that is there, or is not.
    Delete {
        /// Whether it is.
        existing: bool,
    },
    /// DeleteObjects of so many objects.
    DeleteMany {
        /// Objects in one request.
        objects: usize,
    },
    /// CopyObject of one of the fixed objects of a size to a new key.
    Copy {
        /// Bytes of the object.
        bytes: usize,
    },
    /// ListObjectsV2 of one of the fixed buckets, all pages.
    List(Listing),
    /// A multipart upload to a new key, from creating to completing it.
    Multipart {
        /// How many parts.
        parts: usize,
        /// Bytes of each.
        bytes: usize,
    },
    /// CreateBucket and DeleteBucket.
    BucketCycle,
    /// HeadBucket.
    BucketHead,
    /// So many objects of [`SCALE_BYTES`], written by [`SCALE_CLIENTS`] clients.
    ScaleWrite {
        /// How many.
        objects: usize,
    },
    /// The listing of them, all pages.
    ScaleList {
        /// How many.
        objects: usize,
    },
    /// The deletion of them, one by one, by [`SCALE_CLIENTS`] clients.
    ScaleDelete {
        /// How many.
        objects: usize,
    },
}

/// What the keys of new objects look like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeyShape {
    /// A folder and a number.
    Plain,
    /// 256 bytes.
    Long,
    /// Letters of several scripts.
    Unicode,
    /// Twenty folders.
    Deep,
}

/// A fixed bucket, and what of it is listed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Listing {
    /// Keys in the bucket, evenly over the folders.
    pub keys: usize,
    /// Folders; the bucket has none if it is 0.
    pub folders: usize,
    /// Whether only one folder is listed.
    pub prefix: bool,
    /// Whether the folders are listed instead of what is in them.
    pub delimiter: bool,
}

/// Bytes of the objects of the scale rows.
pub const SCALE_BYTES: usize = 256;
/// How many clients write and delete in the scale rows.
pub const SCALE_CLIENTS: usize = 16;
/// How many clients work in the mixed rows.
const MIXED_CLIENTS: usize = 16;
/// Bytes of the objects of the mixed rows.
const MIXED_BYTES: usize = 16 << 10;
/// The object that ranges are read of.
const RANGED_BYTES: usize = 10 << 20;

const KB: usize = 1 << 10;
const MB: usize = 1 << 20;

/// How much is measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// Fewer clients and fewer objects.
    pub quick: bool,
    /// 100 MB and 100,000 objects too.
    pub large: bool,
}

/// All rows of an extent.
pub fn cases(extent: Extent) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |group, name: &str, clients, work| {
        let name = name.to_owned();
        cases.push(Case {
            group,
            name,
            clients,
            work,
            curve: None,
            rounds_max: usize::MAX,
            note: None,
        });
    };
    let plain = |bytes| Work::Put { bytes, key: KeyShape::Plain, metadata: 0 };
    let mut sizes =
        vec![("1 B", 1), ("1 KB", KB), ("64 KB", 64 * KB), ("1 MB", MB), ("10 MB", 10 * MB)];
    if extent.large {
        sizes.push(("100 MB", 100 * MB));
    }
    for (name, bytes) in &sizes {
        add("Write", &format!("Write {name}"), 1, plain(*bytes));
    }
    for (name, bytes) in &sizes[1..] {
        add("Read", &format!("Read {name}"), 1, Work::Get { bytes: *bytes });
    }
    let range = |start, bytes| Work::Range { of: RANGED_BYTES, start, bytes };
    add("Range read", "Range 256 KB at the start", 1, range(0, 256 * KB));
    add("Range read", "Range 256 KB in the middle", 1, range(RANGED_BYTES / 2, 256 * KB));
    add("Range read", "Range 256 KB at the end", 1, range(RANGED_BYTES - 256 * KB, 256 * KB));
    add("Range read", "Range 4 KB", 1, range(RANGED_BYTES / 3, 4 * KB));

    let clients: &[usize] = if extent.quick { &[1, 10, 50] } else { &[1, 10, 25, 50, 100, 200] };
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
    add("Delete", "Delete existing", 1, Work::Delete { existing: true });
    add("Delete", "Delete missing", 1, Work::Delete { existing: false });
    add("Delete", "Delete 1,000 at once", 1, Work::DeleteMany { objects: 1000 });
    add("Copy", "Copy 1 KB", 1, Work::Copy { bytes: KB });
    add("Copy", "Copy 1 MB", 1, Work::Copy { bytes: MB });
    let whole = |keys| Listing { keys, folders: 0, prefix: false, delimiter: false };
    for (name, keys) in [("10", 10), ("50", 50), ("100", 100), ("1,000", 1000)] {
        add("List", &format!("List {name}"), 1, Work::List(whole(keys)));
    }
    let prefix = Listing { keys: 200, folders: 4, prefix: true, delimiter: false };
    add("List", "List prefix, 50 of 200", 1, Work::List(prefix));
    let delimiter = Listing { keys: 200, folders: 4, prefix: false, delimiter: true };
    add("List", "List delimiter, 4 folders of 200", 1, Work::List(delimiter));
    add("Multipart", "Multipart 15 MB in 3 parts", 1, Work::Multipart { parts: 3, bytes: 5 * MB });
    add("Multipart", "Multipart 25 MB in 5 parts", 1, Work::Multipart { parts: 5, bytes: 5 * MB });
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

    let scales: &[usize] = match (extent.quick, extent.large) {
        (true, false) => &[1000],
        (false, false) => &[1000, 10_000],
        (_, true) => &[1000, 10_000, 100_000],
    };
    for objects in scales.iter().copied() {
        let shown = crate::report::Unit::Count.format(objects as f64);
        add("Scale", &format!("Scale: write {shown}"), SCALE_CLIENTS, Work::ScaleWrite { objects });
        add("Scale", &format!("Scale: list {shown}"), 1, Work::ScaleList { objects });
        add(
            "Scale",
            &format!("Scale: delete {shown}"),
            SCALE_CLIENTS,
            Work::ScaleDelete { objects },
        );
    }
    for case in &mut cases {
        describe(case);
    }
    cases
}

fn counted(clients: usize) -> String {
    if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") }
}

/// Adds charts, notes and the limit of rounds.
fn describe(case: &mut Case) {
    let curve = |title: &str, axis: &str, x: usize| {
        Some(Curve { title: title.to_owned(), axis: axis.to_owned(), x: x as f64 })
    };
    match &case.work {
        Work::Put { .. } if case.group == "Parallel" => {
            case.curve = curve("Writes of 1 KB by concurrency", "clients", case.clients);
        }
        Work::Get { .. } if case.group == "Parallel" => {
            case.curve = curve("Reads of 1 KB by concurrency", "clients", case.clients);
        }
        Work::Mixed { .. } => {
            case.note = Some(format!("{MIXED_CLIENTS} clients, 16 KB"));
        }
        Work::Range { .. } => case.note = Some("of an object of 10 MB".to_owned()),
        Work::ScaleWrite { objects } => {
            case.curve = curve("Scale: objects written per second", "objects", *objects);
            case.note = Some(format!("objects of {SCALE_BYTES} B, {SCALE_CLIENTS} clients"));
        }
        Work::ScaleDelete { objects } => {
            case.curve = curve("Scale: objects deleted per second", "objects", *objects);
            case.note = Some(format!("one by one, {SCALE_CLIENTS} clients"));
        }
        Work::ScaleList { objects } => {
            case.curve = curve("Scale: whole listings per second", "objects", *objects);
            case.note = Some("one operation is the whole listing, page after page".to_owned());
        }
        Work::DeleteMany { .. } => {
            case.note = Some("one operation deletes them all".to_owned());
        }
        _ => {}
    }
    if let Work::ScaleWrite { objects }
    | Work::ScaleList { objects }
    | Work::ScaleDelete { objects } = case.work
        && objects > 1000
    {
        case.rounds_max = 1;
    }
}

impl Work {
    /// Bytes of the largest body that it needs.
    pub fn bytes_max(&self) -> usize {
        match self {
            Work::Put { bytes, .. }
            | Work::Get { bytes }
            | Work::Range { of: bytes, .. }
            | Work::Mixed { bytes, .. }
            | Work::Copy { bytes }
            | Work::Multipart { bytes, .. } => *bytes,
            _ => KB,
        }
    }

    /// Bytes of bodies that one operation moves, for throughput; 0 if that says nothing.
    pub fn bytes_moved(&self) -> usize {
        match self {
            Work::Put { bytes, .. } | Work::Get { bytes } | Work::Range { bytes, .. } => *bytes,
            Work::Mixed { bytes, .. } => *bytes,
            Work::Multipart { parts, bytes } => parts * bytes,
            _ => 0,
        }
    }

    /// Whether it changes what is stored.
    pub fn writes(&self) -> bool {
        !matches!(
            self,
            Work::Get { .. }
                | Work::Range { .. }
                | Work::Head { .. }
                | Work::List(_)
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
            let cases = cases(Extent { quick, large });
            let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            assert_eq!(names.len(), cases.len());
            assert_eq!(names.contains("Read 100 MB"), large);
            assert_eq!(names.contains("Write 1 KB, 200 clients"), !quick);
        }
    }
}
