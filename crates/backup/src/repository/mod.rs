//! [`Repository`]: a backup at its target.

mod generation;
mod packed;
mod verification;

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use liteio_disk::RandomSource as _;
use liteio_store::Store;
use serde::{Deserialize, Serialize};

pub use self::generation::{Alive, Generation};
pub(crate) use self::packed::{PackedBlob, Packs, crc_of};
pub use self::verification::Verification;
use crate::Error;
use crate::names::{GENERATIONS, IDENTITY, Name};
use crate::seal::{Content, SealError, Sealer};
use crate::target::{PutMode, Target, TargetError};

/// The newest format.
const FORMAT: u32 = 1;
/// Times that making a backup is tried when another one seems to make it at the same time.
const ATTEMPTS: usize = 3;

/// A backup at its target, opened.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(crate) target: Arc<dyn Target>,
    pub(crate) sealer: Sealer,
    pub(crate) id: [u8; 16],
    identity: Identity,
}

/// The identity of a backup: its only object that is never encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Version of the layout of the objects.
    pub format: u32,
    /// 16 random bytes, in hexadecimal.
    pub id: String,
    /// The time at which the store was created that is backed up, in milliseconds since 1970.
    pub store_created_ms: u64,
    /// Fingerprint of the key that encrypts it, in hexadecimal.
    pub key: Option<String>,
}

impl Repository {
    /// Opens the backup at `target`, with the key that encrypts it, if any.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none, or if the key is missing or wrong; the errors of the target.
    pub fn open(target: Arc<dyn Target>, key: Option<&[u8; 32]>) -> Result<Self, Error> {
        match read_identity(&*target)? {
            Some(identity) => Self::with(target, key, identity),
            None => Err(Error::Refused(format!("there is no backup at {}", target.shown()))),
        }
    }

    /// Opens the backup of the store that was created at `store_created_ms`, or makes it.
    ///
    /// # Errors
    /// [`Error::Refused`] if the backup is of another store, or if the key is missing or wrong; the errors of
    /// the target.
    pub fn open_or_create(
        target: Arc<dyn Target>,
        key: Option<&[u8; 32]>,
        store_created_ms: u64,
    ) -> Result<Self, Error> {
        Self::open_known_or_create(target, key, store_created_ms, None)
    }

    /// Opens the repository of a store, or makes it where the store was not backed up to before.
    ///
    /// # Errors
    /// [`Error::Refused`] for one of another store, and if the one that the store was backed up to is not there any more;
    /// the errors of the target and of the store.
    pub fn of_store(
        target: Arc<dyn Target>,
        key: Option<&[u8; 32]>,
        store: &Store,
    ) -> Result<Self, Error> {
        let known = store.backup_at(&target.shown())?;
        Self::open_known_or_create(target, key, store.created_ms()?, known)
    }

    /// [`Repository::open_or_create`] for a store that was backed up there to the backup `known`, if it was: a location that
    /// has another one, or none, is not mounted perhaps, and nothing is made there.
    ///
    /// # Errors
    /// The errors of [`Repository::open_or_create`]; [`Error::Refused`] if the known backup is not there.
    pub(crate) fn open_known_or_create(
        target: Arc<dyn Target>,
        key: Option<&[u8; 32]>,
        store_created_ms: u64,
        known: Option<[u8; 16]>,
    ) -> Result<Self, Error> {
        let gone = |target: &dyn Target, what: &str| {
            Error::Refused(format!(
                "the backup that this data directory was written to is not at {} any more, {what}: mount its file system \
                 or put it back, or choose another directory or prefix to begin a new one",
                target.shown()
            ))
        };
        for _ in 0..ATTEMPTS {
            if let Some(identity) = read_identity(&*target)? {
                let repository = Self::with(target, key, identity)?;
                if repository.identity.store_created_ms != store_created_ms {
                    return Err(Error::Refused(format!(
                        "the backup at {} is of another data directory: choose another prefix, or mount the disk of \
                         the data if it is not mounted",
                        repository.target.shown()
                    )));
                }
                if known.is_some_and(|known| known != repository.id) {
                    return Err(gone(&*repository.target, "but another one"));
                }
                return Ok(repository);
            }
            if has_generations(&*target)? {
                return Err(Error::Refused(format!(
                    "{IDENTITY} is missing at {}, which has generations of a backup: put it back, or choose another \
                     prefix",
                    target.shown()
                )));
            }
            if known.is_some() {
                return Err(gone(&*target, "and nothing is in its place"));
            }
            let mut id = [0; 16];
            let filled = liteio_disk::SystemRandom.fill(&mut id);
            filled.map_err(|error| Error::Sealing(error.to_string()))?;
            let fingerprint = sealer(key, &id).fingerprint();
            let identity = Identity {
                format: FORMAT,
                id: hex(&id),
                store_created_ms,
                key: fingerprint.map(|it| hex(&it)),
            };
            let json = serde_json::to_vec(&identity).expect("plain data");
            match target.put(IDENTITY, json.into(), PutMode::New) {
                // Also after a lost answer: what is there is read.
                Ok(()) | Err(TargetError::Exists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Refused(format!("{} shows no object that is stored there", target.shown())))
    }

    fn with(
        target: Arc<dyn Target>,
        key: Option<&[u8; 32]>,
        identity: Identity,
    ) -> Result<Self, Error> {
        let shown = target.shown();
        if identity.format != FORMAT {
            let format = identity.format;
            let what = format!("the backup at {shown} has format {format}: use a newer LiteIO");
            return Err(Error::Refused(what));
        }
        let id = parse_hex(&identity.id);
        let id = id.ok_or_else(|| Error::Damaged(format!("{IDENTITY} at {shown} is damaged")))?;
        let sealer = sealer(key, &id);
        match (&identity.key, sealer.fingerprint().map(|it| hex(&it))) {
            (expected, found) if *expected == found => {}
            (Some(_), None) => {
                let what = format!(
                    "the backup at {shown} is encrypted: give its key file (--key-file, and --backup-key-file of a server)"
                );
                return Err(Error::Refused(what));
            }
            (Some(_), Some(_)) => {
                let what = format!(
                    "the backup at {shown} is encrypted with another key: give the one that it was begun with (--key-file, and \
                     --backup-key-file of a server), or choose another prefix to begin a new one"
                );
                return Err(Error::Refused(what));
            }
            (None, _) => {
                return Err(Error::Refused(format!(
                    "the backup at {shown} is not encrypted: remove the key file, or choose another prefix"
                )));
            }
        }
        Ok(Self { target, sealer, id, identity })
    }

    /// Reads the identity once more.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is another one now, or none; the errors of the target.
    pub(crate) fn check_identity(&self) -> Result<(), Error> {
        match read_identity(&*self.target)? {
            Some(identity) if identity == self.identity => Ok(()),
            _ => Err(Error::Refused(format!("{} has another backup now, or none", self.shown()))),
        }
    }

    /// Its identity.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The URL of its target.
    #[must_use]
    pub fn shown(&self) -> String {
        self.target.shown()
    }

    /// The contents of an object, verified.
    pub(crate) fn read(&self, name: Name) -> Result<Bytes, Error> {
        let name = name.to_string();
        Ok(self.sealer.open(&name, &self.target.get(&name)?)?)
    }

    /// The damage that an error tells of one object, whose bytes are not to be had: it says nothing about other objects.
    ///
    /// # Errors
    /// Any other error: a target that reads nothing at all fails, and has lost nothing.
    pub(crate) fn damage(&self, error: Error) -> Result<String, Error> {
        match error {
            Error::Damaged(what) => Ok(what),
            // The key was right for the identity, so another one is damage, too.
            Error::Seal(error) => Ok(error.to_string()),
            Error::Target(TargetError::Unreadable { ref request_id, .. })
                if self.target.get(IDENTITY).is_ok() =>
            {
                let id = request_id.as_ref().map(|id| format!(", request {id}"));
                Ok(format!("{error}{}", id.unwrap_or_default()))
            }
            error => Err(error),
        }
    }

    /// An object, to be stored under its name.
    pub(crate) fn seal(&self, name: Name, contents: &[u8], compress: bool) -> Result<Bytes, Error> {
        let sealed = self.sealer.seal(&name.to_string(), contents, compress);
        sealed.map_err(|error| Error::Sealing(error.to_string()))
    }

    /// [`Repository::seal`] without a copy of content that is not compressed.
    pub(crate) fn seal_content(
        &self,
        name: Name,
        content: Content,
        compress: bool,
    ) -> Result<Bytes, Error> {
        let sealed = self.sealer.seal_content(&name.to_string(), content, compress);
        sealed.map_err(|error| Error::Sealing(error.to_string()))
    }

    /// The JSON in an object.
    pub(crate) fn json<T: for<'a> Deserialize<'a>>(&self, name: Name) -> Result<T, Error> {
        let contents = self.read(name)?;
        let damaged = || {
            let what = "it has no JSON of this program";
            SealError::Damaged { name: name.to_string(), what }
        };
        serde_json::from_slice(&contents).map_err(|_| damaged().into())
    }
}

fn sealer(key: Option<&[u8; 32]>, id: &[u8; 16]) -> Sealer {
    key.map_or_else(Sealer::plain, |key| Sealer::with_key(key, id))
}

/// `true` if there is an object of a generation.
fn has_generations(target: &dyn Target) -> Result<bool, Error> {
    let mut is_found = false;
    target.list(GENERATIONS, None, &mut |_| {
        is_found = true;
        ControlFlow::Break(())
    })?;
    Ok(is_found)
}

fn read_identity(target: &dyn Target) -> Result<Option<Identity>, Error> {
    let json = match target.get(IDENTITY) {
        Err(TargetError::NotFound { .. }) => return Ok(None),
        json => json?,
    };
    let damaged = |_| Error::Damaged(format!("{IDENTITY} at {} is damaged", target.shown()));
    serde_json::from_slice(&json).map(Some).map_err(damaged)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse_hex(text: &str) -> Option<[u8; 16]> {
    let number = u128::from_str_radix(text, 16).ok()?;
    (text.len() == 32).then(|| number.to_be_bytes())
}
