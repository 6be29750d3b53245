//! Prepares buckets and objects before the first request is served.
//!
//! A [`Plan`] is read and checked before the data is opened, so that an invalid one does not leave
//! a new data directory behind. It creates missing items and changes nothing else, so it is
//! idempotent.

mod buckets;
mod policy;
mod seed;
pub mod settings;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_store::{Owner, Store};

use self::seed::Seed;
use crate::prepare::settings::{InitialBucket, Preparation};
use liteio_policy::acl::Ownership;

/// Largest bucket file.
const BUCKET_FILE_BYTES_MAX: u64 = 1 << 20;

/// The store to prepare, and the properties of new buckets.
pub struct Site {
    /// The store.
    pub store: Store,
    /// The owner of new buckets and objects.
    pub owner: Owner,
    /// The region of new buckets.
    pub region: String,
    /// The object ownership of new buckets.
    pub object_ownership: Ownership,
    /// Restricts the preparation to this bucket; `None` for everything.
    pub only: Option<String>,
    /// Set if the caller no longer waits.
    pub given_up: Arc<AtomicBool>,
}

impl Site {
    fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// True if the bucket is to be prepared.
    fn wants(&self, bucket: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == bucket)
    }
}

/// The buckets and objects to create.
#[derive(Debug)]
pub struct Plan {
    buckets: Vec<InitialBucket>,
    seed: Option<Seed>,
    directories_are_buckets: bool,
}

impl Plan {
    /// Reads the files that the settings name.
    ///
    /// # Errors
    /// One line that names the file.
    pub fn read(settings: &Preparation) -> Result<Plan, String> {
        let mut buckets = settings.buckets.clone();
        if let Some(path) = &settings.bucket_file {
            buckets.extend(read_bucket_file(path)?);
        }
        let seed = settings.seed.as_deref().map(Seed::find).transpose()?;
        let directories_are_buckets = settings.directories_are_buckets;
        Ok(Plan { buckets, seed, directories_are_buckets })
    }

    /// True if there is nothing to create.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.seed.is_none() && !self.directories_are_buckets
    }

    /// Creates the missing items. Blocks on the disk.
    ///
    /// # Errors
    /// One line that names the item that failed. Items created before it stay.
    pub fn make(&self, site: &Site) -> Result<(), String> {
        buckets::make(site, &self.buckets)?;
        if self.directories_are_buckets {
            buckets::make_of_directories(site)?;
        }
        self.seed.as_ref().map_or(Ok(()), |seed| seed.sow(site))
    }
}

/// Parses a bucket file: one bucket per line.
fn read_bucket_file(path: &Path) -> Result<Vec<InitialBucket>, String> {
    let failed = |reason: &dyn std::fmt::Display| {
        format!("cannot read the buckets in {}: {reason}", path.display())
    };
    let length = std::fs::metadata(path).map_err(|error| failed(&error))?.len();
    if length > BUCKET_FILE_BYTES_MAX {
        return Err(failed(&format_args!("it has more than {BUCKET_FILE_BYTES_MAX} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let mut buckets = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let bucket = line.parse();
        let bucket =
            bucket.map_err(|reason| format!("{}, line {}: {reason}", path.display(), index + 1))?;
        buckets.push(bucket);
    }
    Ok(buckets)
}
