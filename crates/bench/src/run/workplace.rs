//! The directory of all data during a run.

use std::fs;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use crate::error::BenchError;

/// A directory that is removed with its content at the end of the run.
#[derive(Debug)]
pub(crate) struct Workplace {
    path: PathBuf,
}

impl Workplace {
    /// A new directory below `directory`, which is created if it is missing.
    pub(crate) fn below(directory: &Path) -> Result<Workplace, BenchError> {
        let path = directory.join(format!("liteio-bench-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(BenchError::file(&path))?;
        // Absolute, because servers run in directories of their own.
        let path = path.canonicalize().map_err(BenchError::file(&path))?;
        Ok(Workplace { path })
    }

    /// Its path, absolute.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Writes the dirty pages of the file system that `directory` is on.
pub(crate) fn sync_file_system(directory: &Path) {
    if let Ok(folder) = fs::File::open(directory) {
        let _ = rustix::fs::syncfs(folder.as_fd());
    }
}
