//! The errors of this crate.

use std::io;

use crate::metric::Metric;
use crate::slot::Slot;

/// The reason why vectors could not be stored or found: one variant for each thing that a caller can
/// act on.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The vector, or the query, has not the dimension of the file.
    #[error("a vector has {found} elements, the file holds vectors of {expected}")]
    WrongLength {
        /// Elements, or for many vectors at once a multiple of them, that were expected.
        expected: usize,
        /// Elements that were given.
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
    /// A vector of length zero has no direction, so no cosine.
    #[error("vector {vector} has the length zero, which has no cosine distance")]
    ZeroLength {
        /// The index of the vector among those given.
        vector: usize,
    },
    /// No file can be made for this dimension.
    #[error("{dimension} is not a dimension from 1 to {dimension_max}")]
    InvalidDimension {
        /// The dimension that was asked for.
        dimension: usize,
        /// The limit.
        dimension_max: usize,
    },
    /// The file was made for another dimension. It has not been changed.
    #[error("the file holds vectors of {found} elements, not of {expected}")]
    OtherDimension {
        /// The dimension that was asked for.
        expected: usize,
        /// The dimension of the file.
        found: usize,
    },
    /// The file was made for another metric. It has not been changed.
    #[error("the file compares vectors by {found:?}, not by {expected:?}")]
    OtherMetric {
        /// The metric that was asked for.
        expected: Metric,
        /// The metric of the file.
        found: Metric,
    },
    /// The vector in this slot is not the one that was appended. Others are not affected.
    #[error("the vector in slot {0} is not the one that was put")]
    DamagedVector(Slot),
    /// There is no vector in this slot.
    #[error("there is no vector in slot {0}")]
    NoSuchSlot(Slot),
    /// The file cannot take more vectors.
    #[error("the file has no slot left: delete vectors or use another file")]
    Full,
    /// Too many neighbours were asked for.
    #[error("{neighbours} neighbours were asked for, {neighbours_max} are allowed")]
    TooManyNeighbours {
        /// The number asked for.
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
    /// The file is damaged, or not ours. It has not been changed.
    #[error("the file is damaged: {0}")]
    Corrupt(&'static str),
    /// The file was written by a later version. It has not been changed.
    #[error("the file has format {found}, this version reads up to {known}: use a newer one")]
    FormatTooNew {
        /// The format of the file.
        found: u32,
        /// The newest format that is known.
        known: u32,
    },
    /// The device is full. Nothing that was committed is lost; what waits can be committed when
    /// there is space again.
    #[error("no space left for vectors: free space, then commit again")]
    NoSpace(#[source] io::Error),
    /// A sync has failed: nothing is written until the file is opened again. Reads go on.
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
