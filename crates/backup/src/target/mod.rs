//! Targets: places for the immutable objects of a backup, such as a bucket or a directory.
//!
//! | Module | Content |
//! |---|---|
//! | `name` | the check of names, the same for all targets |
//! | `directory` | [`DirectoryTarget`]: a directory of this machine, such as another disk or NFS |
//! | `s3` | [`S3Target`]: a bucket of any S3 |
//! | `location` | locations as users write them |
//! | `simulated` | `SimulatedTarget` (feature `test-util`): in memory, fails on demand |
//! | `contract` | the suite that all targets pass (feature `test-util`) |

#[cfg(any(test, feature = "test-util"))]
pub mod contract;
mod directory;
mod location;
mod name;
mod s3;
#[cfg(any(test, feature = "test-util"))]
mod simulated;

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

pub use self::directory::DirectoryTarget;
use self::location::Location;
pub use self::s3::{S3Settings, S3Target};
#[cfg(any(test, feature = "test-util"))]
pub use self::simulated::SimulatedTarget;

/// A place for immutable objects.
///
/// A name is one or more components of `A-Z a-z 0-9 . _ -`, joined by `/`; none is `.` or `..`, and the
/// first is not `tmp`. No name is ever a folder of another: `a` and `a/b` exclude each other. Other names are
/// [`TargetError::Refused`].
///
/// Calls block, so they are for threads of their own: a thread that runs asynchronous tasks must not call.
pub trait Target: Debug + Send + Sync {
    /// Stores an object: whole, or not at all; durable when it returns.
    ///
    /// # Errors
    /// [`TargetError::Exists`] for [`PutMode::New`]. After [`TargetError::Broken`] the object may have been
    /// stored: repeated, the call may answer `Exists`, and the caller compares what is there.
    fn put(&self, name: &str, bytes: Bytes, mode: PutMode) -> Result<(), TargetError>;

    /// Stores an object in the place of `old`, if that is there unchanged (compare and swap); with
    /// `None`, if there is none. Of several callers at most one succeeds. No two objects of one name
    /// may ever have the same bytes.
    ///
    /// # Errors
    /// [`TargetError::Exists`] if there is another one, [`TargetError::NotFound`] if there is none.
    /// After [`TargetError::Broken`] the object may have been stored: the repeated call succeeds then.
    fn swap(&self, name: &str, old: Option<&Bytes>, bytes: Bytes) -> Result<(), TargetError>;

    /// Reads a whole object, of up to [`OBJECT_BYTES_MAX`](crate::OBJECT_BYTES_MAX) bytes.
    ///
    /// # Errors
    /// [`TargetError::NotFound`] if there is none, [`TargetError::Unreadable`] if it is there and cannot be read, and the
    /// other errors.
    fn get(&self, name: &str) -> Result<Bytes, TargetError>;

    /// Calls `found` with every object whose name begins with `prefix` and comes after `after`, in the
    /// order of names (bytes), until it breaks. `found` may call this target. An object that is stored or
    /// deleted meanwhile may be found or not.
    ///
    /// # Errors
    /// [`TargetError::Refused`] and [`TargetError::Broken`]; some objects may have been found before.
    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        found: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<(), TargetError>;

    /// Deletes an object; a missing one is no error.
    ///
    /// # Errors
    /// [`TargetError::Refused`] and [`TargetError::Broken`].
    fn delete(&self, name: &str) -> Result<(), TargetError>;

    /// The URL without secrets, for messages.
    fn shown(&self) -> String;
}

/// The target at `s3://BUCKET/PREFIX`, or at `file:///ABSOLUTE/PATH`, whose path is taken as it is written.
/// Nothing is read or sent yet.
///
/// # Errors
/// One line that says what to change. It has no secrets.
pub fn open(location: &str, s3: &S3Settings) -> Result<Arc<dyn Target>, String> {
    Ok(match location::parse(location)? {
        Location::Directory(path) => Arc::new(DirectoryTarget::new(&path)),
        Location::Bucket { bucket, prefix } => Arc::new(S3Target::new(&bucket, &prefix, s3)?),
    })
}

/// Treatment of an object that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutMode {
    /// It stays, and the call fails with [`TargetError::Exists`].
    New,
    /// It is replaced, as a whole and at once.
    Replace,
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name.
    pub name: String,
    /// Size.
    pub bytes: u64,
}

/// A failure of a target.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum TargetError {
    /// There is no such object.
    #[error("the backup has no object {name}")]
    NotFound {
        /// Name of the object.
        name: String,
    },
    /// There is such an object already.
    #[error("the backup has an object {name} already")]
    Exists {
        /// Name of the object.
        name: String,
    },
    /// The target refuses for good, as it does with wrong credentials: one line that says what to change.
    #[error("{0}")]
    Refused(String),
    /// The target answers, but fails to read this object, even after repetitions.
    #[error("{name} of the backup cannot be read: {reason}")]
    Unreadable {
        /// Name of the object.
        name: String,
        /// The reason, which is the same for each attempt.
        reason: String,
        /// The id of the request in the log of the target, if it tells one.
        request_id: Option<String>,
    },
    /// The target fails at the moment: the same call may succeed later.
    #[error("{0}")]
    Broken(String),
}

impl TargetError {
    fn not_found(name: &str) -> Self {
        Self::NotFound { name: name.to_owned() }
    }

    fn exists(name: &str) -> Self {
        Self::Exists { name: name.to_owned() }
    }
}
