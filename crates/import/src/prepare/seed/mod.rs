//! Seed data: the top directories of a directory or archive become buckets, and the files in them
//! objects.
//!
//! ```text
//! directory ──► import::walk ─┐
//!                             ├──► Sower ──► store: put_object
//! archive ──► tar, zip ───────┘
//! ```
//! Existing objects are left unchanged. [Names](clutter) that tools leave at the top are passed
//! over. Another item that is neither a file nor a directory fails the start, so that the author of
//! the seed notices. Memory is bounded by [`PIECE_BYTES`], the writes in flight and the names of one
//! entry, for any archive.

mod archive;
mod clutter;
mod sower;
mod zip;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use self::archive::Format;
use self::clutter::Clutter;
use self::sower::Sower;
use super::Site;
use crate::walk::{Found, FoundFile, walk};

/// Size of one read.
const PIECE_BYTES: usize = 256 << 10;

/// The location of seed data, which existed when the configuration was read.
#[derive(Debug)]
pub(super) enum Seed {
    Directory(PathBuf),
    Archive { path: PathBuf, format: Format },
}

impl Seed {
    /// Finds the seed and its kind.
    ///
    /// # Errors
    /// One line that names the seed.
    pub(super) fn find(path: &Path) -> Result<Seed, String> {
        // A relative path is looked for in the working directory, which a build tool or an editor chooses.
        let shown = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let shown = shown.display();
        let failed = |error: io::Error| format!("cannot read the seed {shown}: {error}");
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Ok(Seed::Directory(path.to_owned()));
        }
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let Some(format) = Format::of_name(name).filter(|_| metadata.is_file()) else {
            return Err(format!(
                "the seed {shown} is neither a directory nor a file whose name ends with .tar, .tar.gz, .tgz or .zip"
            ));
        };
        File::open(path).map_err(failed)?;
        Ok(Seed::Archive { path: path.to_owned(), format })
    }

    /// Stores the missing objects.
    ///
    /// # Errors
    /// One line that names the seed and the entry, and how many objects were stored before.
    pub(super) fn sow(&self, site: &Site) -> Result<(), String> {
        let mut sower = Sower::new(site);
        let (path, sown) = match self {
            Seed::Directory(path) => (path, sow_directory(path, &mut sower)),
            Seed::Archive { path, format } => (path, archive::sow(path, *format, &mut sower)),
        };
        // Writes in flight complete or fail in any case, so they are counted before the error is
        // returned.
        let ended = sower.finish();
        let counts = sower.counts();
        match sown.and(ended) {
            Ok(()) => {
                let (objects, present) = (counts.put, counts.present);
                tracing::info!(seed = %path.display(), objects, present, "the seed was put");
                Ok(())
            }
            Err(reason) => {
                let stay = match counts.put {
                    0 => String::new(),
                    put => format!(" (objects put before it, which stay: {put})"),
                };
                Err(format!("cannot seed from {}: {reason}{stay}", path.display()))
            }
        }
    }
}

/// An error that ends the walk.
struct Refused(String);

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        Refused(error.to_string())
    }
}

fn sow_directory(root: &Path, sower: &mut Sower<'_>) -> Result<(), String> {
    let root = &fs::canonicalize(root).map_err(|error| error.to_string())?;
    for entry in fs::read_dir(root).map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !sower.clutter.takes(&entry.file_name().to_string_lossy(), is_directory) && !is_directory
        {
            return Err(format!("{:?} is no directory, and so no bucket", entry.path()));
        }
    }
    let mut sow = |found: Found<'_>| match found {
        Found::Bucket(name) | Found::File(FoundFile { bucket: name, .. })
            if sower.clutter.takes(name, true) || !sower.wants(name) =>
        {
            Ok(())
        }
        Found::LeftOut(path, _) if is_below_clutter(root, path, &mut sower.clutter) => Ok(()),
        Found::Bucket(name) => sower.bucket(name).map(drop).map_err(Refused),
        Found::LeftOut(path, reason) => Err(Refused(format!("{path:?}: {reason}"))),
        Found::File(found) => {
            let failed = |error: io::Error| Refused(format!("{:?}: {error}", found.path));
            let mut file = File::open(&found.path).map_err(failed)?;
            let bucket = sower.bucket(found.bucket).map_err(Refused)?;
            let put = sower.object(&bucket, found.key, found.bytes, &mut file);
            put.map_err(|reason| Refused(format!("{:?}: {reason}", found.path)))
        }
    };
    walk(root, None, &mut sow).map_err(|Refused(reason)| reason)
}

/// `true` for a path whose first name below `root` is passed over.
fn is_below_clutter(root: &Path, path: &Path, clutter: &mut Clutter) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return false };
    let mut names = below.iter();
    let Some(top) = names.next() else { return false };
    let is_directory = names.next().is_some() || path.is_dir();
    clutter.takes(&top.to_string_lossy(), is_directory)
}
