//! Storing objects at a target that fails at times.

use std::thread;
use std::time::Duration;

use bytes::Bytes;
use liteio_store::backup::{FeedError, FeedWatch};

use super::bandwidth::Bandwidth;
use super::status::Status;
use crate::Error;
use crate::names::Name;
use crate::repository::Repository;
use crate::seal::Content;
use crate::target::{PutMode, TargetError};

/// The patience of a writer.
pub trait Pace: Send + Sync {
    /// Waits before the target is tried again, longer the more attempts have failed. `false` to give up.
    fn pause(&self, attempt: u32) -> bool;

    /// Waits, to keep a limit. Returns early to end it.
    fn rest(&self, duration: Duration);
}

/// Stores the objects of a backup.
#[derive(Clone)]
pub(super) struct Uploader<'a> {
    pub(super) repository: &'a Repository,
    pub(super) pace: &'a dyn Pace,
    pub(super) status: &'a Status,
    /// Ends the patience: what a feed that has fallen behind holds back is freed, and a new generation begins.
    pub(super) watch: FeedWatch,
    pub(super) bandwidth: &'a Bandwidth,
}

/// An object, sealed, that is stored later.
#[derive(Debug)]
pub(super) struct Ready {
    name: Name,
    object: Bytes,
}

impl Uploader<'_> {
    /// Stores an object that nobody else stores, as often as it takes. Returns its size.
    ///
    /// # Errors
    /// [`Error::Target`] if the pace gives up; [`Error::Refused`] if there is another object of this name.
    pub(super) fn put(&self, name: Name, contents: &[u8], compress: bool) -> Result<u64, Error> {
        self.store(&self.seal(name, contents, compress)?)
    }

    /// An object for [`Uploader::put_all`] or [`Uploader::store`].
    pub(super) fn seal(&self, name: Name, contents: &[u8], compress: bool) -> Result<Ready, Error> {
        Ok(Ready { name, object: self.repository.seal(name, contents, compress)? })
    }

    /// The same for content that is not needed any more.
    pub(super) fn seal_content(
        &self,
        name: Name,
        content: Content,
        compress: bool,
    ) -> Result<Ready, Error> {
        Ok(Ready { name, object: self.repository.seal_content(name, content, compress)? })
    }

    /// [`Uploader::put`] of several objects at the same time, each by a thread of its own. After an error some of them may
    /// have been stored.
    pub(super) fn put_all(&self, ready: &[Ready]) -> Result<(), Error> {
        let Some((first, others)) = ready.split_first() else { return Ok(()) };
        thread::scope(|scope| {
            let spawn = |ready| {
                let thread = thread::Builder::new().name("liteio-backup-put".to_owned());
                thread.spawn_scoped(scope, move || self.store(ready))
            };
            let threads: Vec<_> = others.iter().map(|ready| (ready, spawn(ready))).collect();
            let mut stored = self.store(first).map(drop);
            for (ready, thread) in threads {
                let result = match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|_| {
                        Err(Error::Refused("an upload has failed: see the log".to_owned()))
                    }),
                    // There are no more threads.
                    Err(_) => self.store(ready),
                };
                stored = stored.and(result.map(drop));
            }
            stored
        })
    }

    /// [`Uploader::put`] of a sealed object.
    pub(super) fn store(&self, ready: &Ready) -> Result<u64, Error> {
        let bytes = ready.object.len() as u64;
        let wait = self.bandwidth.wait(bytes);
        if !wait.is_zero() {
            self.pace.rest(wait);
        }
        self.again(|| self.put_once(ready.name, &ready.object))?;
        self.sent(bytes);
        Ok(bytes)
    }

    /// Stores an object in the place of another one.
    pub(super) fn replace(&self, name: Name, contents: &[u8]) -> Result<(), Error> {
        let object = self.repository.seal(name, contents, false)?;
        let text = name.to_string();
        self.again(|| Ok(self.repository.target.put(&text, object.clone(), PutMode::Replace)?))?;
        self.sent(object.len() as u64);
        Ok(())
    }

    fn put_once(&self, name: Name, object: &Bytes) -> Result<(), Error> {
        let (target, text) = (&self.repository.target, name.to_string());
        match target.put(&text, object.clone(), PutMode::New) {
            Err(TargetError::Exists { .. }) => {}
            stored => return Ok(stored?),
        }
        // The answer to an earlier attempt was lost, or another writer has the same generation.
        if target.get(&text)? == *object {
            return Ok(());
        }
        Err(Error::Refused(format!("{}: another writer has stored {text}", target.shown())))
    }

    /// Tries until it succeeds, or fails for another reason than the target.
    pub(super) fn again<T>(&self, attempt: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        let mut failed = 0;
        loop {
            // After a failure it may be an empty directory, whose file system is not mounted any more, that answers.
            let known = if failed > 0 { self.repository.check_identity() } else { Ok(()) };
            let error = match known.and_then(|()| attempt()) {
                Err(Error::Target(error)) => error,
                result => {
                    if failed > 0 {
                        self.status.change(|state| state.error = None);
                    }
                    return result;
                }
            };
            self.status.change(|state| state.fail(error.to_string()));
            if !self.pace.pause(failed) {
                return Err(error.into());
            }
            if self.watch.is_behind() {
                return Err(Error::Refused(FeedError::Behind.to_string()));
            }
            failed += 1;
        }
    }

    fn sent(&self, bytes: u64) {
        self.status.change(|state| {
            state.sent_bytes += bytes;
            state.sent_objects += 1;
        });
    }
}
