//! `liteio import minio`: imports the directory of a single-drive MinIO.
//!
//! ```text
//! DIR/.minio.sys/format.json                          the drives of the deployment
//! DIR/.minio.sys/buckets/BUCKET/.metadata.bin/        the settings of a bucket, an object like any other
//! DIR/BUCKET/KEY/xl.meta                              the versions of a key, with the bytes of small ones
//! DIR/BUCKET/KEY/<data directory>/part.N              the bytes of the others
//! ```
//! A key that ends with `/` is a directory whose name ends with `__XLDIR__`.

mod bitrot;
mod bucket;
mod drive;
mod msgpack;
mod object;
mod walk;
mod xl_meta;

use std::fmt::Display;
use std::io;

use super::target::{Failure, Target};
use crate::cli::ImportMinioArgs;

/// The reason why an item of the source is not imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Failed {
    /// The item is damaged, or cannot be represented here.
    #[error("{0}")]
    Proven(String),
    /// The item could not be read; it may be intact.
    #[error("{0}")]
    Unread(String),
}

impl Failed {
    fn new(reason: impl Into<String>) -> Failed {
        Failed::Proven(reason.into())
    }

    fn reading(error: &io::Error) -> Failed {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Failed::new("it is cut off"),
            io::ErrorKind::NotFound => Failed::new("its file is missing"),
            io::ErrorKind::InvalidInput => Failed::Proven(error.to_string()),
            _ => Failed::Unread(error.to_string()),
        }
    }

    /// Adds the name of the item to the reason.
    fn of(self, what: &dyn Display) -> Failed {
        match self {
            Failed::Proven(reason) => Failed::Proven(format!("{what}: {reason}")),
            Failed::Unread(reason) => Failed::Unread(format!("{what}: {reason}")),
        }
    }
}

impl From<msgpack::Malformed> for Failed {
    fn from(error: msgpack::Malformed) -> Failed {
        Failed::Proven(error.to_string())
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Failure {
        match failed {
            Failed::Proven(reason) => Failure::LeftOut(reason),
            Failed::Unread(reason) => Failure::Unread(reason),
        }
    }
}

pub(super) fn run(arguments: &ImportMinioArgs) -> Result<bool, String> {
    let root = &arguments.directory;
    drive::check(root)?;
    let target = Target::open(&arguments.target, Some(root))?;
    target.import(|target, jobs| walk::buckets(target, jobs, root))
}
