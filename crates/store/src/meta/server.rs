//! Records of the servers that share a key space, and of the jobs that one of them does.

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::record::{self, Sealed};
use super::space;
use crate::error::StoreError;

/// A server, as it has told at its last beat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerRecord {
    /// Its name, for people.
    pub(crate) name: String,
    /// Time of its last beat, in milliseconds since 1970.
    pub(crate) beat_ms: u64,
    /// No reader that it has open began earlier. Later readers begin later.
    pub(crate) reads_since_ms: u64,
}

impl ServerRecord {
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        record::split_version(value, 1)?;
        Sealed::open(key, value, "the record of a server")?.decode("the record of a server")
    }

    pub(crate) fn read(from: &impl Read, run: u32) -> Result<Option<Self>, StoreError> {
        let key = space::server(run);
        from.get(&key)?.map(|value| Self::decode(&key, &value)).transpose()
    }

    pub(crate) fn write(&self, to: &mut impl Write, run: u32) -> Result<(), StoreError> {
        let key = space::server(run);
        Ok(to.put(&key, &record::seal(1, &key, self, &[]))?)
    }
}

/// The server that does a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaseRecord {
    /// Its run.
    pub(crate) run: u32,
    /// Number of the term: one more with each change of the server.
    pub(crate) term: u64,
    /// Time until which nobody else may take over, in milliseconds since 1970.
    pub(crate) until_ms: u64,
}

impl LeaseRecord {
    pub(crate) fn read(from: &impl Read, job: &str) -> Result<Option<Self>, StoreError> {
        let key = space::job(job);
        let Some(value) = from.get(&key)? else { return Ok(None) };
        record::split_version(&value, 1)?;
        Sealed::open(&key, &value, "the lease of a job")?.decode("the lease of a job").map(Some)
    }

    pub(crate) fn write(&self, to: &mut impl Write, job: &str) -> Result<(), StoreError> {
        let key = space::job(job);
        Ok(to.put(&key, &record::seal(1, &key, self, &[]))?)
    }
}
