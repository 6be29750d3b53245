//! Conversion of redb's errors and panics into errors of the key space.

use std::cell::Cell;
use std::io;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use redb::{CommitError, DatabaseError, StorageError, TableError, TransactionError};

use crate::KvError;

/// Runs a call of redb. redb verifies the pages that it commits, but trusts those that it reads,
/// and panics on some damaged ones. Such a panic becomes an error of this call.
///
/// Unwinding is safe: a transaction that panicked is dropped with its staged changes, so no
/// half-done state is visible.
#[inline]
pub(super) fn guarded<T, E: Into<KvError>>(
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, KvError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(Into::into),
        // Its words are for those who develop redb.
        Err(_) => Err(damaged()),
    }
}

/// Suppresses the output of redb's panics from now on, for commands and tests that read damaged trees. These panics are caught
/// and become errors. All other panics are printed as before.
pub fn silence_panics_of_damage() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|place| place.file().contains("/redb-")) {
                print(panic);
            }
        }));
    });
}

/// A value of redb whose drop may panic, too, after a call has.
pub(super) struct EndsQuietly<T>(Option<T>);

impl<T> EndsQuietly<T> {
    pub(super) fn new(inner: T) -> Self {
        Self(Some(inner))
    }

    /// Takes the value out, for a call that consumes it.
    pub(super) fn into_inner(mut self) -> T {
        self.0.take().expect("only the end takes it")
    }
}

impl<T> Deref for EndsQuietly<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_ref().expect("only the end takes it")
    }
}

impl<T> DerefMut for EndsQuietly<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("only the end takes it")
    }
}

impl<T> Drop for EndsQuietly<T> {
    fn drop(&mut self) {
        let inner = self.0.take();
        // The call before it has reported the damage.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(inner)));
    }
}

thread_local! {
    /// The last damage that this thread met, for the error message of the call that fails because
    /// of it.
    static DAMAGE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Notes a damaged page of the file.
#[cold]
pub(super) fn note_damage(what: String) {
    DAMAGE.set(Some(what));
}

#[cold]
fn damaged() -> KvError {
    let told = match DAMAGE.take() {
        Some(what) => format!("the tree meta.redb is damaged: {what}"),
        None => "a page of the tree meta.redb is not what it should be".to_owned(),
    };
    KvError::Corrupt(told)
}

impl From<StorageError> for KvError {
    fn from(error: StorageError) -> Self {
        match error {
            // Of its header: the file can be read, and is none of redb.
            StorageError::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                Self::Corrupt(format!("the tree meta.redb is damaged: {error}"))
            }
            StorageError::Io(error) => error.into(),
            StorageError::Corrupted(reason) => Self::Corrupt(DAMAGE.take().unwrap_or(reason)),
            StorageError::DatabaseClosed => Self::Closed,
            other => Self::Io(Arc::new(io::Error::other(other))),
        }
    }
}

impl From<TransactionError> for KvError {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::Storage(error) => error.into(),
            other => Self::Io(Arc::new(io::Error::other(other))),
        }
    }
}

impl From<CommitError> for KvError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Storage(error) => error.into(),
            other => Self::Io(Arc::new(io::Error::other(other))),
        }
    }
}

impl From<TableError> for KvError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Storage(error) => error.into(),
            other => Self::Corrupt(other.to_string()),
        }
    }
}

impl From<DatabaseError> for KvError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Storage(error) => error.into(),
            other => Self::Corrupt(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_of_another_format_is_damage_and_an_error_of_the_device_is_none() {
        let told = |kind, what: &str| KvError::from(StorageError::Io(io::Error::new(kind, what)));
        let header = told(io::ErrorKind::InvalidData, "magic number mismatch");
        let is_damage = matches!(&header, KvError::Corrupt(what) if what.contains("meta.redb"));
        assert!(is_damage, "{header:?}");
        assert!(matches!(told(io::ErrorKind::Other, "no answer"), KvError::Io(_)));
    }

    #[test]
    fn the_words_of_a_panic_are_not_told() {
        let call = || -> Result<(), StorageError> { panic!("entered unreachable code") };
        let told = guarded(call).expect_err("damaged").to_string();
        assert!(told.contains("meta.redb") && !told.contains("unreachable"), "{told}");
    }
}
