//! Opening: the check that a directory is ours, and the order in which its files come and go.
//!
//! ```text
//! DIR/lock       held while the store is open; the process id of the holder
//! DIR/format     "liteio 1": the format of everything else. The first file, so that a directory without it
//!                is either new or not ours
//! DIR/clean      there after an orderly end: nothing to sweep
//! DIR/meta.redb, DIR/meta.redb.log   the key space
//! DIR/blobs/xx/  blobs by the first byte of their id
//! DIR/tmp/       files that have no name yet, where the file system has no O_TMPFILE
//! ```

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use liteio_disk::{DirectoryLock, Disk, OpenMode, RealDisk};

use crate::attachment::BlobAttachments;
use crate::blob::{BlobStore, FileBlobStore, MemoryBlobStore};
use crate::config::{Backend, StoreConfig};
use crate::error::StoreError;
use crate::kv::{Kv, KvConfig};
use crate::meta::bucket::{FORMAT, StoreRecord};

const FORMAT_FILE: &str = "format";
const NEW_FORMAT_FILE: &str = "format.new";
const FORMAT_MAGIC: &str = "liteio ";
const CLEAN_FILE: &str = "clean";
const KEY_SPACE_FILE: &str = "meta.redb";

/// Names that a new directory may hold already: those that an interrupted first start left, or file systems
/// put into their root.
const HARMLESS: [&str; 4] = ["lock", NEW_FORMAT_FILE, "tmp", "lost+found"];

/// The parts of an open store.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) config: StoreConfig,
    pub(crate) kv: Kv,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) disk: Option<Arc<dyn Disk>>,
    pub(crate) directory_lock: Option<DirectoryLock>,
    /// `true` when the last run ended in order.
    pub(crate) was_clean: bool,
}

pub(crate) fn open(config: StoreConfig) -> Result<Opened, StoreError> {
    open_backend(config, RealDisk::open, open_on)
}

/// Opens a store that is there, to look at it: the key space replays its log, and apart from that every
/// file stays as it is. Nothing may be written to it.
pub(crate) fn open_to_look(config: StoreConfig) -> Result<Opened, StoreError> {
    open_backend(config, RealDisk::open_existing, |disk, config| {
        if known_format(&*disk)?.is_none() {
            let path = "the data directory".to_owned();
            return Err(StoreError::NotADataDirectory { path });
        }
        // An end in order stays one, but closing must not make one of an end that was none.
        let was_clean = false;
        open_parts(disk, config, was_clean)
    })
}

fn open_backend(
    config: StoreConfig,
    open_disk: impl FnOnce(&Path) -> io::Result<RealDisk>,
    open_on: impl FnOnce(Arc<dyn Disk>, StoreConfig) -> Result<Opened, StoreError>,
) -> Result<Opened, StoreError> {
    match config.backend.clone() {
        Backend::Memory => open_memory(config),
        Backend::Directory(path) => {
            let disk = open_disk(&path)?;
            refuse_foreign(&disk, &path)?;
            let lock = DirectoryLock::acquire(&path).map_err(|error| match error.kind() {
                io::ErrorKind::ResourceBusy => StoreError::InUse { message: error.to_string() },
                _ => error.into(),
            })?;
            let opened = open_on(Arc::new(disk), config)?;
            Ok(Opened { directory_lock: Some(lock), ..opened })
        }
    }
}

fn open_memory(config: StoreConfig) -> Result<Opened, StoreError> {
    let kv = Kv::memory(kv_config(&config))?;
    prepare(&kv, &config)?;
    let blobs = Arc::new(MemoryBlobStore::new());
    Ok(Opened { config, kv, blobs, disk: None, directory_lock: None, was_clean: true })
}

pub(crate) fn open_on(disk: Arc<dyn Disk>, config: StoreConfig) -> Result<Opened, StoreError> {
    let format = known_format(&*disk)?;
    match format {
        Some(_) => {}
        None => {
            let names: Vec<String> = disk.list("")?.into_iter().map(|entry| entry.name).collect();
            refuse_names(names.iter().map(String::as_str), "the data directory")?;
            if disk.free_bytes()? < config.reserve_bytes {
                return Err(StoreError::NoSpace);
            }
            write_format(&*disk)?;
        }
    }
    // In a new directory there is nothing to sweep, either.
    let was_clean = take_clean_marker(&*disk)? || format.is_none();
    let opened = open_parts(disk, config, was_clean)?;
    opened.blobs.clean_temporary()?;
    prepare(&opened.kv, &opened.config)?;
    Ok(opened)
}

fn open_parts(
    disk: Arc<dyn Disk>,
    config: StoreConfig,
    was_clean: bool,
) -> Result<Opened, StoreError> {
    let (durability, logged) = (config.durability, config.logged_bytes_max);
    let blobs = Arc::new(FileBlobStore::open(Arc::clone(&disk), durability, logged)?);
    let attachments = Some(Arc::new(BlobAttachments(Arc::clone(&blobs))) as _);
    let kv_config = KvConfig { attachments, ..kv_config(&config) };
    let kv = Kv::open(Arc::clone(&disk), KEY_SPACE_FILE, kv_config)?;
    Ok(Opened { config, kv, blobs, disk: Some(disk), directory_lock: None, was_clean })
}

fn kv_config(config: &StoreConfig) -> KvConfig {
    KvConfig {
        durability: config.durability,
        cache_bytes: config.cache_bytes,
        reserve_bytes: config.reserve_bytes,
        sync_interval: config.sync_interval,
        ..KvConfig::default()
    }
}

/// Makes the store's own record, or checks it.
fn prepare(kv: &Kv, config: &StoreConfig) -> Result<(), StoreError> {
    if StoreRecord::read(&kv.snapshot()?)?.is_some() {
        return Ok(());
    }
    let record = StoreRecord { format: FORMAT, next_bucket: 1, created_ms: config.clock.now_ms() };
    kv.update(move |write| record.write(write)).wait()
}

/// Refuses a directory that holds something else, before anything in it is touched.
fn refuse_foreign(disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
    let entries = disk.list("")?;
    let mut names = entries.iter().map(|entry| entry.name.as_str());
    if names.clone().any(|name| name == FORMAT_FILE) {
        return Ok(());
    }
    refuse_names(&mut names, &path.display().to_string())
}

fn refuse_names<'a>(
    mut names: impl Iterator<Item = &'a str>,
    path: &str,
) -> Result<(), StoreError> {
    match names.all(|name| HARMLESS.contains(&name)) {
        true => Ok(()),
        false => Err(StoreError::NotADataDirectory { path: path.to_owned() }),
    }
}

/// The format of what is there, if anything is; a newer one than this program knows is refused.
fn known_format(disk: &dyn Disk) -> Result<Option<u32>, StoreError> {
    match read_format(disk)? {
        Some(found) if found > FORMAT => Err(StoreError::FormatTooNew { found, known: FORMAT }),
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
        None => Err(StoreError::NotADataDirectory { path: "the data directory".to_owned() }),
    }
}

fn write_format(disk: &dyn Disk) -> Result<(), StoreError> {
    let file = disk.open(NEW_FORMAT_FILE, OpenMode::CreateOrWrite)?;
    let text = format!("{FORMAT_MAGIC}{FORMAT}\n");
    file.set_len(0)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync_data()?;
    disk.rename(NEW_FORMAT_FILE, FORMAT_FILE)?;
    Ok(disk.sync_dir("")?)
}

/// Takes the marker away before anything is written that would make it a lie.
fn take_clean_marker(disk: &dyn Disk) -> Result<bool, StoreError> {
    match disk.remove(CLEAN_FILE) {
        Ok(()) => {
            disk.sync_dir("")?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Notes that the store ended in order: nothing to sweep, also after a power cut, which must not bring
/// back blobs that were deleted from the directories `removed_from`.
pub(crate) fn mark_clean(disk: &dyn Disk, removed_from: &BTreeSet<u8>) -> io::Result<()> {
    for first_byte in removed_from {
        disk.sync_dir(&format!("blobs/{first_byte:02x}"))?;
    }
    disk.open(CLEAN_FILE, OpenMode::CreateOrWrite)?;
    disk.sync_dir("")
}
