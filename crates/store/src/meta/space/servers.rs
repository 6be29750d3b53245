//! Keys that only several servers have: the servers, the leases of jobs, and the move into a cluster.

use super::{JOB, MOVING, RUNNING, SERVER, USERS_STAMP};

/// The stamp of the entries about users.
pub(crate) const USERS_STAMP_KEY: &[u8] = &[USERS_STAMP];

/// The mark of a move into the cluster.
pub(crate) const MOVING_KEY: &[u8] = &[MOVING];

/// All servers.
pub(crate) const ALL_SERVERS: &[u8] = &[SERVER];

/// All leases of jobs.
pub(crate) const ALL_JOBS: &[u8] = &[JOB];

/// The record of the server with this run.
pub(crate) fn server(run: u32) -> Vec<u8> {
    [&[SERVER], &run.to_be_bytes()[..]].concat()
}

/// The run of a server.
pub(crate) fn split_server(key: &[u8]) -> Option<u32> {
    let run = key.strip_prefix(ALL_SERVERS)?;
    Some(u32::from_be_bytes(run.try_into().ok()?))
}

/// The row that lets the server of this run commit.
pub(crate) fn running(run: u32) -> Vec<u8> {
    [&[RUNNING], &run.to_be_bytes()[..]].concat()
}

/// The lease of a job.
pub(crate) fn job(name: &str) -> Vec<u8> {
    [&[JOB], name.as_bytes()].concat()
}

/// `true` for rows that are of several servers only.
pub(crate) fn is_of_servers(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(SERVER | RUNNING | JOB | USERS_STAMP | MOVING)))
}
