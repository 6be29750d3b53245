//! Records of the servers that share a key space, and of the jobs that one of them does.

use std::ops::Bound;

use liteio_kv::database::PrimaryId;
use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::key::successor;
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
    fn decode(key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        record::split_version(value, 1)?;
        Sealed::open(key, value, "the lease of a job")?.decode("the lease of a job")
    }

    pub(crate) fn read(from: &impl Read, job: &str) -> Result<Option<Self>, StoreError> {
        let key = space::job(job);
        from.get(&key)?.map(|value| Self::decode(&key, &value)).transpose()
    }

    pub(crate) fn write(&self, to: &mut impl Write, job: &str) -> Result<(), StoreError> {
        let key = space::job(job);
        Ok(to.put(&key, &record::seal(1, &key, self, &[]))?)
    }
}

/// The right of the server of a run to commit: a row that is there, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    /// The primary of the database that the server has met last, if it has told.
    pub(crate) primary: Option<PrimaryId>,
}

impl Running {
    pub(crate) fn read(from: &impl Read, run: u32) -> Result<Option<Self>, StoreError> {
        let Some(value) = from.get(&space::running(run))? else { return Ok(None) };
        Ok(Some(Self { primary: value.as_ref().try_into().ok().map(PrimaryId::from_be_bytes) }))
    }

    pub(crate) fn write(self, to: &mut impl Write, run: u32) -> Result<(), StoreError> {
        let value = self.primary.map(PrimaryId::to_be_bytes);
        Ok(to.put(&space::running(run), value.as_ref().map_or(&[][..], |it| it))?)
    }
}

/// All servers, by their runs, and those that may commit.
pub(crate) fn all(
    from: &impl Read,
) -> Result<Vec<(u32, ServerRecord, Option<Running>)>, StoreError> {
    let mut servers = Vec::new();
    walk(from, space::ALL_SERVERS, |key, value| {
        let run = space::split_server(key);
        let run = run.ok_or_else(|| StoreError::corrupt("the key of a server"))?;
        servers.push((run, ServerRecord::decode(key, value)?, None));
        Ok(())
    })?;
    from.fetch(servers.iter().map(|(run, ..)| space::running(*run)))?;
    for (run, _, running) in &mut servers {
        *running = Running::read(from, *run)?;
    }
    Ok(servers)
}

/// The leases of all jobs, by their names.
pub(crate) fn all_leases(from: &impl Read) -> Result<Vec<(String, LeaseRecord)>, StoreError> {
    let mut leases = Vec::new();
    walk(from, space::ALL_JOBS, |key, value| {
        let name = String::from_utf8_lossy(&key[space::ALL_JOBS.len()..]).into_owned();
        leases.push((name, LeaseRecord::decode(key, value)?));
        Ok(())
    })?;
    Ok(leases)
}

fn walk(
    from: &impl Read,
    prefix: &[u8],
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let end = successor(prefix).unwrap_or_default();
    let mut cursor = from.cursor(Bound::Included(prefix), Bound::Excluded(&end))?;
    while let Some((key, value)) = cursor.next()? {
        visit(key, value)?;
    }
    Ok(())
}
