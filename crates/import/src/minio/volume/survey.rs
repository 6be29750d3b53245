//! The state of a volume of MinIO: whether MinIO has written to it since, and how much it holds.
//!
//! Two states are compared in two steps. MinIO renames every file into place from `.minio.sys/tmp`, and replaces that
//! directory when it starts: so [`stamp`] costs a few system calls and is the same as long as MinIO was not started.
//! After a start the [`Survey`] decides, which walks over the names, sizes and times of all files with data.

use std::fs::{self, DirEntry, Metadata};
use std::hash::Hasher as _;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use twox_hash::XxHash64;

use super::super::drive::{OWN_DIRECTORY, SYSTEM};

/// Entries of MinIO's directory whose times change when MinIO is started, or writes.
const STAMPED: [&str; 4] = ["tmp", "format.json", "buckets", "multipart"];

/// The files with data in a volume at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Hash of the names, sizes and modification times of all of them.
    pub(super) digest: u64,
    /// Keys: files with versions.
    pub(super) keys: u64,
    /// Bytes of the buckets, with metadata and checksums.
    pub(super) bytes: u64,
    /// Multipart uploads that were left open.
    pub(super) uploads: u64,
}

/// The times that change whenever MinIO is started on the volume or writes to it.
pub(super) fn stamp(root: &Path) -> String {
    let times = STAMPED.iter().map(|name| {
        let metadata = fs::symlink_metadata(root.join(SYSTEM).join(name));
        let time = metadata.map(|it| format!("{}.{:09}", it.mtime(), it.mtime_nsec()));
        time.unwrap_or_else(|_| "none".to_owned())
    });
    times.collect::<Vec<_>>().join(" ")
}

/// Walks over the volume. Reads no file.
///
/// # Errors
/// A directory cannot be read.
pub(super) fn survey(root: &Path) -> io::Result<Survey> {
    let mut walk = Walk { root, hash: XxHash64::with_seed(0), survey: Survey::default() };
    for entry in sorted(root)? {
        let name = entry.file_name();
        if entry.file_type()?.is_dir() && name != SYSTEM && name != OWN_DIRECTORY {
            walk.directory(&entry.path())?;
        }
    }
    walk.survey.bytes += walk.survey.keys * RECORD_BYTES;
    let (keys, bytes) = (walk.survey.keys, walk.survey.bytes);
    let system = root.join(SYSTEM);
    for bucket in sorted_if_there(&system.join("buckets"))? {
        let settings = bucket.path().join(".metadata.bin");
        if settings.is_dir() {
            walk.directory(&settings)?;
        }
    }
    let users = system.join("config/iam");
    if users.is_dir() {
        walk.directory(&users)?;
    }
    let mut uploads = 0;
    for of_key in sorted_if_there(&system.join("multipart"))? {
        uploads += sorted_if_there(&of_key.path())?.len() as u64;
    }
    Ok(Survey { digest: walk.hash.finish(), keys, bytes, uploads })
}

/// Bytes that a key needs here beside its data: its record, and its place in the write-ahead log.
const RECORD_BYTES: u64 = 2 << 10;

struct Walk<'w> {
    root: &'w Path,
    hash: XxHash64,
    survey: Survey,
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path) -> io::Result<()> {
        for entry in sorted(path)? {
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.directory(&entry.path())?;
            } else if kind.is_file() {
                self.file(path, &entry, &entry.metadata()?);
            }
        }
        Ok(())
    }

    fn file(&mut self, directory: &Path, entry: &DirEntry, metadata: &Metadata) {
        let name = entry.file_name();
        // Relative, so that the volume may be mounted elsewhere.
        let directory = directory.strip_prefix(self.root).unwrap_or(directory);
        for bytes in [directory.as_os_str(), name.as_os_str()] {
            self.hash.write(bytes.as_encoded_bytes());
            self.hash.write(&[0]);
        }
        self.hash.write(&metadata.len().to_le_bytes());
        // In seconds: a copy of the volume may have rounded times.
        self.hash.write(&metadata.mtime().to_le_bytes());
        self.survey.bytes += metadata.len();
        self.survey.keys += u64::from(name == "xl.meta");
    }
}

fn sorted(path: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<DirEntry>>>()?;
    entries.sort_unstable_by_key(DirEntry::file_name);
    Ok(entries)
}

fn sorted_if_there(path: &Path) -> io::Result<Vec<DirEntry>> {
    match sorted(path) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        entries => entries,
    }
}
