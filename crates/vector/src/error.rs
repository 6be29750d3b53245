//! The errors of this crate.

use std::io;

use crate::metric::Metric;
use crate::slot::Slot;

/// The reason why vectors could not be stored or found. One variant per reaction of a caller.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The vector, or the query, does not have the dimension of the file.
    #[error("a vector has {found} elements, the file holds vectors of {expected}")]
    WrongLength {
        /// Expected number of elements; a multiple of the dimension for many vectors at once.
        expected: usize,
        /// Number of elements given.
        found: usize,
    },
    /// An element is infinite or not a number.
    #[error("element {element} of vector {vector} is not a finite number")]
    NotFinite {
        /// The index of the vector among those given.
        vector: usize,
        /// The index of the element in the vector.
        element: usize,
    },
    /// The vector has length zero, so no direction and no cosine.
    #[error("vector {vector} has the length zero, which has no cosine distance")]
    ZeroLength {
        /// The index of the vector among those given.
        vector: usize,
    },
    /// The dimension is out of range.
    #[error("{dimension} is not a dimension from 1 to {dimension_max}")]
    InvalidDimension {
        /// The requested dimension.
        dimension: usize,
        /// The limit.
        dimension_max: usize,
    },
    /// The file has another dimension. It was not changed.
    #[error("the file holds vectors of {found} elements, not of {expected}")]
    OtherDimension {
        /// The requested dimension.
        expected: usize,
        /// The dimension of the file.
        found: usize,
    },
    /// The file has another metric. It was not changed.
    #[error("the file compares vectors by {found:?}, not by {expected:?}")]
    OtherMetric {
        /// The requested metric.
        expected: Metric,
        /// The metric of the file.
        found: Metric,
    },
    /// The vector in this slot is not the appended one. Other vectors are not affected.
    #[error("the vector in slot {0} is not the one that was put")]
    DamagedVector(Slot),
    /// The slot has no vector.
    #[error("there is no vector in slot {0}")]
    NoSuchSlot(Slot),
    /// The file has no slot left.
    #[error("the file has no slot left: delete vectors or use another file")]
    Full,
    /// The search asked for too many neighbours.
    #[error("{neighbours} neighbours were asked for, {neighbours_max} are allowed")]
    TooManyNeighbours {
        /// The requested number.
        neighbours: usize,
        /// The limit.
        neighbours_max: usize,
    },
    /// The file exists already.
    #[error("{path} exists already")]
    AlreadyThere {
        /// The path on its disk.
        path: String,
    },
    /// The file does not exist.
    #[error("{path} does not exist")]
    NotThere {
        /// The path on its disk.
        path: String,
    },
    /// The file is open already, here or in another process.
    #[error("the file is open already: {0}")]
    InUse(io::Error),
    /// The file is damaged, or is no slot file. It was not changed.
    #[error("the file is damaged: {0}")]
    Corrupt(&'static str),
    /// The file was written by a later version. It was not changed.
    #[error("the file has format {found}, this version reads up to {known}: use a newer one")]
    FormatTooNew {
        /// The format of the file.
        found: u32,
        /// The newest format that this version reads.
        known: u32,
    },
    /// The device is full. Nothing committed is lost; staged vectors can be committed once there is
    /// space.
    #[error("no space left for vectors: free space, then commit again")]
    NoSpace(#[source] io::Error),
    /// A sync failed: nothing is written until the file is opened again. Reads continue.
    #[error("writing has stopped after a failed sync: {0}")]
    Poisoned(io::Error),
    /// The device failed.
    #[error("vectors could not be read or written: {0}")]
    Io(io::Error),
}

impl From<io::Error> for VectorError {
    fn from(error: io::Error) -> Self {
        if liteio_disk::is_poisoned(&error) {
            return Self::Poisoned(error);
        }
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace(error),
            io::ErrorKind::ResourceBusy => Self::InUse(error),
            _ => Self::Io(error),
        }
    }
}
