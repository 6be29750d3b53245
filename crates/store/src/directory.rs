//! The files of a data directory, and its markers `format` and `clean`.
//!
//! ```text
//! DIR/lock       held while the store is open; the process id of the holder
//! DIR/format     "liteio 1", "liteio 2" where blobs may be in segments, "liteio 3" where bodies may
//!                be in rows, too, or "liteio 4" while it is a standby's: the format of all other
//!                files. It is created first, so a directory without it is new or foreign
//! DIR/clean      exists after an orderly shutdown: no orphans to sweep
//! DIR/meta.redb, DIR/meta.redb.log   the key space
//! DIR/blobs/xx/  blobs by the first byte of their id
//! DIR/blobs/segments/    short blobs, many in a file
//! DIR/blobs/lost/    orphans: blobs that no record referenced
//! DIR/tmp/       unnamed files, where the file system has no O_TMPFILE
//! DIR/copy       exists in a copy of a store's directory that no store has opened
//! DIR/restoring  exists while a backup is restored into the directory, which has no `format` yet
//! ```

use std::collections::BTreeSet;
use std::io;

use liteio_disk::{Disk, OpenMode};

use crate::config::{Role, StoreConfig};
use crate::error::StoreError;
use crate::name::BucketName;

pub(crate) const FORMAT_FILE: &str = "format";
pub(crate) const KEY_SPACE_FILE: &str = "meta.redb";
const NEW_FORMAT_FILE: &str = "format.new";
const FORMAT_MAGIC: &str = "liteio ";
const CLEAN_FILE: &str = "clean";
const RESTORING_FILE: &str = "restoring";
pub(crate) const COPY_FILE: &str = "copy";
const COPY_MAGIC: &str = "liteio copy of ";

/// The format of a directory without segments.
const FORMAT_OF_FILES: u32 = 1;
/// The format of a directory that may have segments, whose blobs earlier programs would miss.
const FORMAT_OF_SEGMENTS: u32 = 2;
/// The format of a directory where bodies may be in rows, whose records earlier programs would take
/// for damaged.
const FORMAT_OF_ROWS: u32 = 3;
/// The format of the directory of a standby, which programs that know no standbys would write to. It
/// has the files of [`FORMAT_OF_ROWS`], and gets that format with its promotion.
const FORMAT_OF_STANDBY: u32 = 4;

/// The newest format that this program knows.
const FORMAT_KNOWN: u32 = FORMAT_OF_STANDBY;

/// The format to write to a directory of the format `found` that a program with this configuration
/// writes to; `None` if it has that already, or a newer one. A standby's directory that is opened as
/// another's has been promoted.
pub(crate) fn format_to_write(found: Option<u32>, config: &StoreConfig) -> Option<u32> {
    match (found, format_of(config)) {
        (Some(FORMAT_OF_STANDBY), wanted) if wanted < FORMAT_OF_STANDBY => Some(FORMAT_OF_ROWS),
        (Some(found), wanted) if found >= wanted => None,
        (_, wanted) => Some(wanted),
    }
}

/// Writes the format of a standby's directory that was promoted.
pub(crate) fn write_promoted(disk: &dyn Disk) -> Result<(), StoreError> {
    write_format(disk, FORMAT_OF_ROWS)
}

/// The role of the server of a directory of this format.
pub(crate) fn role_of(format: u32) -> Role {
    match format {
        FORMAT_OF_STANDBY => Role::Standby,
        _ => Role::Primary,
    }
}

/// The format of a directory that a program with this configuration creates.
pub(crate) fn format_of(config: &StoreConfig) -> u32 {
    if config.role == Role::Standby {
        return FORMAT_OF_STANDBY;
    }
    match (config.record_body_bytes_max < config.inline_bytes_max, config.segment_bytes_max) {
        (true, _) => FORMAT_OF_ROWS,
        (false, 0) => FORMAT_OF_FILES,
        (false, _) => FORMAT_OF_SEGMENTS,
    }
}

/// Names that a new directory may have already: leftovers of an interrupted first start, the one
/// that file systems create in their root, the one of macOS, and those that keep a directory in Git.
const HARMLESS: [&str; 8] =
    ["lock", NEW_FORMAT_FILE, "tmp", "lost+found", ".DS_Store", ".gitignore", ".gitkeep", ".keep"];

/// Directories of the store whose names are valid bucket names.
const OWN_DIRECTORIES: [&str; 3] = ["blobs", "tmp", "vectors"];

/// MinIO's directory for its own files.
const DRIVE_OF_MINIO: &str = ".minio.sys";

/// Refuses a directory with foreign content, before anything in it is touched. With `takes_empty`,
/// empty directories with bucket names are accepted.
pub(crate) fn refuse_foreign(
    disk: &dyn Disk,
    path: &str,
    takes_empty: bool,
) -> Result<(), StoreError> {
    let entries = disk.list("")?;
    if entries.iter().any(|entry| entry.name == FORMAT_FILE) {
        return Ok(());
    }
    let empty = if takes_empty { empty_directories(disk)? } else { Vec::new() };
    let is_known = |name: &str| {
        HARMLESS.contains(&name) || empty.iter().any(|directory| directory.as_str() == name)
    };
    let path = path.to_owned();
    if entries.iter().any(|entry| entry.name == RESTORING_FILE) {
        return Err(StoreError::HalfRestored { path });
    }
    if entries.iter().any(|entry| entry.name == KEY_SPACE_FILE) {
        return Err(format_is_missing());
    }
    if entries.iter().any(|entry| entry.name == DRIVE_OF_MINIO) {
        return Err(StoreError::DriveOfMinio { path });
    }
    // Listings leave out hidden files, so that the directory may look empty.
    match entries.iter().map(|entry| &entry.name).filter(|name| !is_known(name.as_str())).min() {
        None => Ok(()),
        Some(foreign) => {
            Err(StoreError::NotADataDirectory { path: format!("{path}, which has {foreign:?},") })
        }
    }
}

/// The error for a directory without a format file: that of a store has lost it, as copies by hand do.
pub(crate) fn without_format(disk: &dyn Disk, path: String) -> StoreError {
    let has = |name: &str| has_file(disk, name).unwrap_or(false);
    match has(KEY_SPACE_FILE) {
        _ if has(RESTORING_FILE) => StoreError::HalfRestored { path },
        true => format_is_missing(),
        false => StoreError::NotADataDirectory { path },
    }
}

fn format_is_missing() -> StoreError {
    StoreError::corrupt(format!(
        "the file `{FORMAT_FILE}` is missing, but {KEY_SPACE_FILE} is there. Nothing was changed: put `{FORMAT_FILE}` back from a \
         copy of this directory"
    ))
}

/// Empty directories with bucket names that are not the store's own.
pub(crate) fn empty_directories(disk: &dyn Disk) -> Result<Vec<BucketName>, StoreError> {
    let mut empty = Vec::new();
    for entry in disk.list("")? {
        let is_own = OWN_DIRECTORIES.contains(&entry.name.as_str());
        let Ok(name) = BucketName::new(entry.name) else { continue };
        if entry.is_dir && !is_own && disk.list(name.as_str())?.is_empty() {
            empty.push(name);
        }
    }
    Ok(empty)
}

/// Removes all files of a directory but the lock.
///
/// # Errors
/// The errors of the disk.
pub(crate) fn remove_files(disk: &dyn Disk, path: &str) -> Result<(), StoreError> {
    for entry in disk.list(path)? {
        let name = if path.is_empty() { entry.name } else { format!("{path}/{}", entry.name) };
        match entry.is_dir {
            true => remove_files(disk, &name)?,
            false if name == "lock" => {}
            false => disk.remove_if_there(&name)?,
        }
    }
    Ok(())
}

/// `true` if there is a file of this name.
///
/// # Errors
/// [`StoreError::Io`] if that cannot be determined.
pub(crate) fn has_file(disk: &dyn Disk, name: &str) -> Result<bool, StoreError> {
    match disk.open(name, OpenMode::Read) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Refuses to create a new key space where there was one: beside existing blobs, which no record
/// would reference and the sweep would delete; and after an orderly shutdown, which only an
/// existing key space has.
pub(crate) fn refuse_lost_key_space(disk: &dyn Disk, key_space: &str) -> Result<(), StoreError> {
    if has_file(disk, key_space)? {
        return Ok(());
    }
    let missing = |proof: &str| {
        StoreError::corrupt(format!(
            "{key_space} is missing, but {proof}. Nothing was changed: put {key_space} and {key_space}.log back from \
             a copy, or move the directory away to begin anew"
        ))
    };
    if has_file(disk, CLEAN_FILE)? {
        return Err(missing("the directory was in use before"));
    }
    let list = |path: &str| match disk.list(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries,
    };
    for entry in list("blobs")? {
        if !list(&format!("blobs/{}", entry.name))?.is_empty() {
            return Err(missing("there are blobs"));
        }
    }
    Ok(())
}

/// Refuses a key space whose directory of blobs is gone, as one on a file system that is not mounted: an empty one would be made
/// in its place, and objects would be missing one by one. That directory is durable before the key space is created.
pub(crate) fn refuse_lost_blobs(disk: &dyn Disk, key_space: &str) -> Result<(), StoreError> {
    match disk.list("blobs") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Other errors are those of its opening.
        _ => return Ok(()),
    }
    if !has_file(disk, key_space)? {
        return Ok(());
    }
    Err(StoreError::corrupt(format!(
        "the directory blobs is missing, but there is {key_space}. Nothing was changed: mount it, or put it back from a \
         copy; if it was empty, make it anew"
    )))
}

/// The format of the directory; `None` if it has none. A newer format than this program's is
/// refused.
pub(crate) fn known_format(disk: &dyn Disk) -> Result<Option<u32>, StoreError> {
    match read_format(disk)? {
        Some(found) if found > FORMAT_KNOWN => {
            Err(StoreError::FormatTooNew { found, known: FORMAT_KNOWN })
        }
        format => Ok(format),
    }
}

fn read_format(disk: &dyn Disk) -> Result<Option<u32>, StoreError> {
    let file = match disk.open(FORMAT_FILE, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = [0; 64];
    let length = file.read_at(&mut bytes, 0)?;
    let text = std::str::from_utf8(&bytes[..length]).ok();
    let number = text.and_then(|text| text.strip_prefix(FORMAT_MAGIC)?.trim_end().parse().ok());
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(StoreError::NotADataDirectory {
            path: "the data directory, whose file `format` is empty or of another program,"
                .to_owned(),
        }),
    }
}

/// Writes the format file, atomically: a torn one would make the directory foreign.
pub(crate) fn write_format(disk: &dyn Disk, format: u32) -> Result<(), StoreError> {
    let file = disk.open(NEW_FORMAT_FILE, OpenMode::CreateOrWrite)?;
    let text = format!("{FORMAT_MAGIC}{format}\n");
    file.set_len(0)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync_data()?;
    disk.rename(NEW_FORMAT_FILE, FORMAT_FILE)?;
    Ok(disk.sync_dir("")?)
}

/// Refuses to restore into a directory that is not empty, unless a restore into it was begun.
///
/// # Errors
/// [`StoreError::InvalidRequest`].
pub(crate) fn check_restore(disk: &dyn Disk, path: &str) -> Result<(), StoreError> {
    let entries = disk.list("")?;
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let is_harmless = || entries.iter().all(|entry| HARMLESS.contains(&entry.name.as_str()));
    if !has(FORMAT_FILE) && (has(RESTORING_FILE) || is_harmless()) {
        return Ok(());
    }
    let message = format!("{path} is not empty: restore into a directory that is");
    Err(StoreError::InvalidRequest { message })
}

/// Begins to restore into a directory that passes [`check_restore`]. What an earlier restore has
/// written of the key space is removed, and its blobs are kept.
///
/// # Errors
/// [`StoreError::Io`], [`StoreError::NoSpace`].
pub(crate) fn begin_restore(disk: &dyn Disk) -> Result<(), StoreError> {
    let entries = disk.list("")?;
    disk.open(RESTORING_FILE, OpenMode::CreateOrWrite)?.sync_data()?;
    disk.sync_dir("")?;
    for entry in entries.iter().filter(|entry| entry.name.starts_with("meta.redb")) {
        disk.remove(&entry.name)?;
    }
    if entries.iter().any(|entry| entry.name == "vectors") {
        for entry in disk.list("vectors")? {
            disk.remove(&format!("vectors/{}", entry.name))?;
        }
    }
    Ok(())
}

/// Ends a restore: from here on the directory is a store.
pub(crate) fn end_restore(disk: &dyn Disk, format: u32) -> Result<(), StoreError> {
    // All names must be durable before the one that makes the directory valid.
    disk.sync_dir("")?;
    write_format(disk, format)?;
    disk.remove(RESTORING_FILE)?;
    Ok(disk.sync_dir("")?)
}

/// The content of a directory that a copy is made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyTarget {
    /// Nothing, or an interrupted copy or restore.
    Unfinished,
    /// A copy of the store that was created at this time, in milliseconds since 1970. No store has opened it since.
    Copy(u64),
    /// Anything else, a data directory in use included.
    Foreign,
}

/// The state of a directory as the target of a copy.
///
/// # Errors
/// [`StoreError::Io`].
pub(crate) fn copy_target(disk: &dyn Disk) -> Result<CopyTarget, StoreError> {
    if check_restore(disk, "").is_ok() {
        return Ok(CopyTarget::Unfinished);
    }
    let file = match disk.open(COPY_FILE, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(CopyTarget::Foreign),
        file => file?,
    };
    let mut bytes = [0; 64];
    let length = file.read_at(&mut bytes, 0)?;
    let text = std::str::from_utf8(&bytes[..length]).ok();
    let created = text.and_then(|text| text.strip_prefix(COPY_MAGIC)?.trim_end().parse().ok());
    Ok(created.map_or(CopyTarget::Foreign, CopyTarget::Copy))
}

/// Marks a directory that is not finished yet as a copy of the store that was created at this time.
pub(crate) fn mark_copy(disk: &dyn Disk, created_ms: u64) -> Result<(), StoreError> {
    let file = disk.open(COPY_FILE, OpenMode::CreateOrWrite)?;
    file.set_len(0)?;
    file.write_at(format!("{COPY_MAGIC}{created_ms}\n").as_bytes(), 0)?;
    file.sync_data()?;
    Ok(disk.sync_dir("")?)
}

/// Removes the mark of a copy, which a store changes from now on.
pub(crate) fn unmark_copy(disk: &dyn Disk) -> Result<(), StoreError> {
    match disk.remove(COPY_FILE) {
        // Durable before the first write: a later copy must not replace what is written here.
        Ok(()) => Ok(disk.sync_dir("")?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes the marker of an orderly shutdown; `true` if it existed. Called before the first write
/// that would make it untrue.
pub(crate) fn take_clean_marker(disk: &dyn Disk) -> Result<bool, StoreError> {
    match disk.remove(CLEAN_FILE) {
        Ok(()) => {
            // Durable before this run writes: after a crash the marker must not come back.
            disk.sync_dir("")?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Writes the marker of an orderly shutdown, which must hold after a power cut, too. So the
/// directories in `removed_from` are synced first: a removal that a power cut undoes leaves an
/// orphan.
pub(crate) fn mark_clean(disk: &dyn Disk, removed_from: &BTreeSet<u8>) -> io::Result<()> {
    for first_byte in removed_from {
        match disk.sync_dir(&format!("blobs/{first_byte:02x}")) {
            // The directory was deleted together with the blob: nothing can come back.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
    }
    disk.open(CLEAN_FILE, OpenMode::CreateOrWrite)?;
    disk.sync_dir("")
}
