//! Files that hold a secret.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Replaces a file atomically, readable by its owner only. The old content stays valid until the
/// rename.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    let mut file = create(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // Synced before the rename, and the directory after it: a crash leaves the old or the new file,
    // never a torn one.
    fs::rename(&temporary, path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

fn create(path: &Path) -> io::Result<fs::File> {
    let _ = fs::remove_file(path);
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}
