//! Files that hold a secret.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Reads a file as text.
///
/// # Errors
/// One line with the path and the reason.
pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Reads a file and parses its text.
///
/// # Errors
/// One line with the path, and the reason or the error of `parse`.
pub fn parsed<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, String> {
    parse(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads the only secret in a file, without the white space around it.
///
/// # Errors
/// One line with the path and the reason, also for an empty file.
pub fn read_secret(path: &Path) -> Result<String, String> {
    match read(path)?.trim() {
        "" => Err(format!("{} is empty: it must have the secret", path.display())),
        secret => Ok(secret.to_owned()),
    }
}

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
