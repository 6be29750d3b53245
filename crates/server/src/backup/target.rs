//! [`OpenedTarget`]: the place of a backup, with its keys.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use liteio_backup::target::{self, S3Settings, Target};

use crate::config::{BackupTarget, Storage};
use crate::keys;
use liteio_wire::private_file;

/// The place of a backup. Nothing was read or sent yet.
#[derive(Clone, Debug)]
pub(crate) struct OpenedTarget {
    pub(crate) target: Arc<dyn Target>,
    pub(crate) key: Option<[u8; 32]>,
}

impl OpenedTarget {
    /// Checks the location, and reads the files of keys.
    ///
    /// # Errors
    /// One line that says what to change, without any secret.
    pub(crate) fn open(target: &BackupTarget) -> Result<OpenedTarget, String> {
        let key = target.key_file.as_deref().map(keys::backup_key).transpose()?;
        let secret_key = match &target.secret_key_file {
            Some(path) => {
                let read = private_file::read_secret(path);
                Some(read.map_err(|error| format!("the secret key: {error}"))?)
            }
            None => target.secret_key.clone(),
        };
        let settings = S3Settings {
            endpoint: target.endpoint.clone(),
            region: target.region.clone(),
            access_key: target.access_key.clone(),
            secret_key,
            session_token: target.session_token.clone(),
            ca_file: target.ca_file.clone(),
        };
        Ok(OpenedTarget { target: target::open(&target.location, &settings)?, key })
    }
}

/// Refuses a backup in the data directory, which would back itself up, and one around it, whose
/// files a restore would meet.
///
/// # Errors
/// One line that says what to change.
pub(crate) fn check_apart(location: &str, storage: &Storage) -> Result<(), String> {
    let Storage::Directory { path, .. } = storage else { return Ok(()) };
    let Some(backup) = location.strip_prefix("file://") else { return Ok(()) };
    let (backup, data) = (real(Path::new(backup)), real(path));
    match backup.starts_with(&data) || data.starts_with(&backup) {
        true => Err(format!(
            "the backup in {} and the data directory {} must not contain each other: choose another \
             directory, best on another disk",
            backup.display(),
            data.display()
        )),
        false => Ok(()),
    }
}

/// The path without symbolic links and `..`, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut existing = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut missing: Vec<OsString> = Vec::new();
    loop {
        if let Ok(mut real) = fs::canonicalize(&existing) {
            real.extend(missing.iter().rev());
            return real;
        }
        let name = existing.file_name().map(ToOwned::to_owned);
        match name {
            Some(name) if existing.pop() => missing.push(name),
            // It ends with `..`, or nothing of it exists.
            _ => return existing,
        }
    }
}

#[cfg(test)]
mod tests {
    use liteio_store::Durability;

    use super::*;

    #[test]
    fn a_backup_and_its_data_are_apart() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path();
        fs::create_dir(root.join("data")).expect("made");
        std::os::unix::fs::symlink(root.join("data"), root.join("link")).expect("made");
        let check = |backup: &str, data: &str| {
            let storage =
                Storage::Directory { path: root.join(data), durability: Durability::Fsync };
            check_apart(&format!("file://{}/{backup}", root.display()), &storage)
        };
        for (backup, data) in [
            ("data", "data"),
            ("data/backup", "data"),
            ("link/backup/deep", "data"),
            ("data", "link/below"),
            ("new", "new/data"),
            ("new/backup", "new"),
        ] {
            let reason = check(backup, data).expect_err(backup);
            assert!(reason.contains("choose another directory"), "{reason}");
        }
        for (backup, data) in [("backup", "data"), ("data-backup", "data"), ("new/a", "new/b")] {
            check(backup, data).expect(backup);
        }
        check_apart("s3://bucket", &Storage::Memory).expect("elsewhere");
    }
}
