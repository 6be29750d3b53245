//! Walks a directory of files as buckets and objects.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use liteio_store::ObjectKey;
use liteio_store::limits::OBJECT_KEY_BYTES_MAX;

/// An item found by the walk.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// A directory directly below the root.
    Bucket(&'a str),
    /// A file.
    File(FoundFile<'a>),
    /// An item that cannot be an object, with the reason.
    LeftOut(&'a Path, String),
}

/// A file that becomes an object.
#[derive(Debug)]
pub(crate) struct FoundFile<'a> {
    /// The name of its top directory, which may be an invalid bucket name.
    pub bucket: &'a str,
    pub key: ObjectKey,
    pub path: PathBuf,
    pub bytes: u64,
    /// Modification time in milliseconds since 1970.
    pub(crate) modified_ms: u64,
}

/// Calls `found` for all items below `root`: its directories are buckets, or, with `bucket`, the
/// root is one bucket. Symbolic links are followed only to files within `root`.
///
/// # Errors
/// The root cannot be read, or the error of `found`, which ends the walk.
pub(crate) fn walk<E: From<io::Error>>(
    root: &Path,
    bucket: Option<&str>,
    found: &mut dyn FnMut(Found<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let root = fs::canonicalize(root)?;
    if let Some(bucket) = bucket {
        found(Found::Bucket(bucket))?;
        let mut walk = Walk { root: &root, bucket, found };
        return walk.directory(&root, "");
    }
    for entry in fs::read_dir(&root)? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name();
        match (entry.file_type(), name.to_str()) {
            (Ok(kind), Some(name)) if kind.is_dir() => {
                found(Found::Bucket(name))?;
                Walk { root: &root, bucket: name, found }.directory(&path, "")?;
            }
            (Ok(kind), None) if kind.is_dir() => {
                found(Found::LeftOut(&path, "its name is not UTF-8".to_owned()))?;
            }
            (Ok(_), _) => {
                let reason = "it is in no bucket: give --bucket NAME to import all as one";
                found(Found::LeftOut(&path, reason.to_owned()))?;
            }
            (Err(error), _) => found(Found::LeftOut(&path, error.to_string()))?,
        }
    }
    Ok(())
}

/// The modification time of a file, in milliseconds since 1970.
pub(crate) fn modified_ms(metadata: &fs::Metadata) -> u64 {
    let since = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or(0)
}

struct Walk<'w, E> {
    root: &'w Path,
    bucket: &'w str,
    found: &'w mut dyn FnMut(Found<'_>) -> Result<(), E>,
}

impl<E: From<io::Error>> Walk<'_, E> {
    /// `prefix` is the prefix of the keys in the directory.
    fn directory(&mut self, path: &Path, prefix: &str) -> Result<(), E> {
        // Bounds the recursion depth as well.
        if prefix.len() >= OBJECT_KEY_BYTES_MAX {
            return self
                .leave_out(path, "the keys of everything in it would be longer than 1024 bytes");
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.leave_out(path, error),
        };
        for entry in entries {
            let (entry, kind) = match entry.and_then(|entry| Ok((entry.file_type()?, entry))) {
                Ok((kind, entry)) => (entry, kind),
                Err(error) => return self.leave_out(path, error),
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                self.leave_out(&entry.path(), "its name is not UTF-8")?;
                continue;
            };
            let key = format!("{prefix}{name}");
            match kind.is_dir() {
                true => self.directory(&entry.path(), &format!("{key}/"))?,
                false => self.entry(entry.path(), kind, key)?,
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: PathBuf, kind: FileType, key: String) -> Result<(), E> {
        let path = match kind.is_symlink() {
            false => path,
            true => match fs::canonicalize(&path) {
                Ok(leads_to) if leads_to.starts_with(self.root) => leads_to,
                Ok(_) => return self.leave_out(&path, "the link leads out of the directory"),
                Err(error) => {
                    return self.leave_out(&path, format!("the link leads nowhere: {error}"));
                }
            },
        };
        let metadata = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => metadata,
            Ok(metadata) if metadata.is_dir() => {
                return self.leave_out(&path, "links to directories are not followed");
            }
            Ok(_) => return self.leave_out(&path, "it is no regular file"),
            Err(error) => return self.leave_out(&path, error),
        };
        let key = match ObjectKey::new(key) {
            Ok(key) => key,
            Err(error) => return self.leave_out(&path, error),
        };
        let (bytes, modified_ms) = (metadata.len(), modified_ms(&metadata));
        let bucket = self.bucket;
        (self.found)(Found::File(FoundFile { bucket, key, path, bytes, modified_ms }))
    }

    fn leave_out(&mut self, path: &Path, reason: impl ToString) -> Result<(), E> {
        (self.found)(Found::LeftOut(path, reason.to_string()))
    }
}
