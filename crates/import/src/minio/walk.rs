//! The buckets and keys of a drive.

use std::fs::{self, DirEntry};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use liteio_store::limits::OBJECT_KEY_BYTES_MAX;
use liteio_store::{Bucket, ObjectKey};

use super::drive::OWN_DIRECTORY;
use super::kms::Secrets;
use super::object::StoredKey;
use super::{Failed, bucket};
use crate::regular;
use crate::target::{Failure, Job, Jobs, Target, is_bucket_name};

/// Directories of the drive that are not buckets.
const NO_BUCKETS: [&str; 3] = [".minio.sys", "lost+found", OWN_DIRECTORY];
/// Suffix of the directory name of a key that ends with `/`.
const DIRECTORY: &str = "__XLDIR__";

/// Finds every key of every bucket, and imports each bucket's settings before its keys.
pub(super) fn buckets(
    target: &Target,
    jobs: &Jobs<'_>,
    root: &Path,
    secrets: &Secrets,
) -> Result<(), Failure> {
    let secrets = Arc::new(secrets.clone());
    let mut names = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        match entry.file_name().into_string() {
            Ok(name) if NO_BUCKETS.contains(&&*name) => {}
            Ok(name) if entry.file_type()?.is_dir() => names.push(name),
            _ => target.no_object(&entry.path().display().to_string(), "it is no bucket"),
        }
    }
    names.sort_unstable();
    for name in names {
        // MinIO does not show such a directory as a bucket.
        if target.is_of_volume() && !is_bucket_name(&name) {
            target.no_object(&root.join(&name).display().to_string(), "it is no bucket");
            continue;
        }
        match bucket::open(target, root, &name) {
            Ok(bucket) => {
                let secrets = Arc::clone(&secrets);
                Walk { target, jobs, bucket, secrets }.directory(&root.join(&name), "")?;
            }
            Err(Failure::LeftOut(reason)) => target.tally.left_out(&name, &reason),
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

struct Walk<'w> {
    target: &'w Target,
    jobs: &'w Jobs<'w>,
    bucket: Arc<Bucket>,
    secrets: Arc<Secrets>,
}

impl Walk<'_> {
    /// `prefix` is the prefix of the keys in the directory.
    fn directory(&self, path: &Path, prefix: &str) -> Result<(), Failure> {
        if prefix.len() > OBJECT_KEY_BYTES_MAX + DIRECTORY.len() {
            self.leave_out(path, "the keys of everything in it would be longer than 1024 bytes");
            return Ok(());
        }
        let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<DirEntry>, _>>);
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                self.leave_out(path, &error.to_string());
                return Ok(());
            }
        };
        let is_object = entries.iter().any(|entry| {
            entry.file_name() == "xl.meta" && entry.file_type().is_ok_and(|kind| kind.is_file())
        });
        if is_object {
            self.key(path, prefix)?;
        }
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let Some(name) = name.to_str() else {
                self.leave_out(&path, "its name is not UTF-8");
                continue;
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    if !(is_object && is_data_directory(&path, name)) {
                        self.directory(&path, &format!("{prefix}{name}/"))?;
                    }
                }
                Ok(kind) if kind.is_file() && matches!(name, "xl.meta" | "xl.meta.bkp") => {}
                Ok(kind) if !kind.is_file() => self.leave_out(&path, "it is no regular file"),
                Ok(_) => {
                    self.target.no_object(&path.display().to_string(), "it belongs to no xl.meta");
                }
                Err(error) => self.leave_out(&path, &error.to_string()),
            }
        }
        Ok(())
    }

    /// `prefix` is the key followed by `/`.
    fn key(&self, path: &Path, prefix: &str) -> Result<(), Failure> {
        let key = match prefix.strip_suffix('/').map(|key| (key, key.strip_suffix(DIRECTORY))) {
            Some((_, Some(key))) => format!("{key}/"),
            Some((key, None)) => key.to_owned(),
            None => {
                self.leave_out(path, "it has no key");
                return Ok(());
            }
        };
        match ObjectKey::new(key) {
            Ok(key) => {
                let (bucket, secrets) = (self.bucket.name.as_str(), &self.secrets);
                let source = Box::new(StoredKey::named(path, bucket, key.as_str(), secrets));
                self.jobs.push(Job { bucket: Arc::clone(&self.bucket), key, source })
            }
            Err(error) => {
                self.leave_out(path, &error.to_string());
                Ok(())
            }
        }
    }

    fn leave_out(&self, path: &Path, reason: &str) {
        self.target.tally.left_out(&path.display().to_string(), reason);
    }
}

/// True for a directory with the parts of a version: its name is a UUID or `legacy`, and it
/// contains only files named `part.N`.
fn is_data_directory(path: &Path, name: &str) -> bool {
    let is_uuid = name.len() == 36
        && name.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    let is_part = |entry: std::io::Result<DirEntry>| {
        entry.is_ok_and(|entry| {
            entry.file_name().to_string_lossy().starts_with("part.")
                && entry.file_type().is_ok_and(|kind| kind.is_file())
        })
    };
    (is_uuid || name == "legacy")
        && fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_part))
}

/// Reads a small metadata file.
///
/// # Errors
/// [`Failed`].
pub(super) fn read_metadata(path: &Path) -> Result<Vec<u8>, Failed> {
    /// The size of two thousand versions with the longest inline data of MinIO's defaults.
    const BYTES_MAX: u64 = 256 << 20;
    let read = || {
        let mut bytes = Vec::new();
        regular::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| Failed::reading(&error).of(&"its xl.meta"))?;
    match bytes.len() as u64 {
        0..=BYTES_MAX => Ok(bytes),
        _ => Err(Failed::new(
            "its xl.meta is longer than 256 MiB: start MinIO on it and import with `liteio import s3 URL`",
        )),
    }
}
