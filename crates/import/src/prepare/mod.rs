//! Buckets and objects that are there before the first request is answered.
//!
//! A [`Plan`] is read and checked before the data is opened, so that a wrong one leaves no new data directory
//! behind. It makes what is missing and changes nothing else: a start with the same plan finds everything there.

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

/// Largest file of buckets.
const BUCKET_FILE_BYTES_MAX: u64 = 1 << 20;

/// The store that things are made in, and what buckets are made with.
pub struct Site {
    /// The store.
    pub store: Store,
    /// The owner of everything.
    pub owner: Owner,
    /// The region of new buckets.
    pub region: String,
    /// The object ownership of new buckets.
    pub object_ownership: Ownership,
    /// Of all that is to be made, this bucket alone; none for everything.
    pub only: Option<String>,
    /// Nobody waits for the end any more.
    pub given_up: Arc<AtomicBool>,
}

impl Site {
    fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// True for a bucket that is to be made.
    fn wants(&self, bucket: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == bucket)
    }
}

/// The things to make.
#[derive(Debug)]
pub struct Plan {
    buckets: Vec<InitialBucket>,
    seed: Option<Seed>,
    directories_are_buckets: bool,
}

impl Plan {
    /// Reads the files of a preparation.
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

    /// True when there is nothing to make.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.seed.is_none() && !self.directories_are_buckets
    }

    /// Makes what is missing. Waits for the disk.
    ///
    /// # Errors
    /// One line that names what could not be made. What was made before stays.
    pub fn make(&self, site: &Site) -> Result<(), String> {
        buckets::make(site, &self.buckets)?;
        if self.directories_are_buckets {
            buckets::make_of_directories(site)?;
        }
        self.seed.as_ref().map_or(Ok(()), |seed| seed.sow(site))
    }
}

/// The buckets in a file: one a line.
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
