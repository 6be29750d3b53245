//! `liteio import minio`: the directory of a single drive of MinIO.
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

use std::io;

use super::target::{Failure, Target};
use crate::cli::ImportMinioArgs;

/// Something of the source cannot be read: the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
struct Failed(String);

impl Failed {
    fn new(reason: impl Into<String>) -> Failed {
        Failed(reason.into())
    }

    fn reading(error: &io::Error) -> Failed {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Failed::new("it is cut off"),
            io::ErrorKind::NotFound => Failed::new("its file is missing"),
            _ => Failed(error.to_string()),
        }
    }
}

impl From<msgpack::Malformed> for Failed {
    fn from(error: msgpack::Malformed) -> Failed {
        Failed(error.to_string())
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Failure {
        Failure::LeftOut(failed.0)
    }
}

pub(super) fn run(arguments: &ImportMinioArgs) -> Result<bool, String> {
    let root = &arguments.directory;
    drive::check(root)?;
    let target = Target::open(&arguments.target, Some(root))?;
    target.import(|target, jobs| walk::buckets(target, jobs, root))
}
