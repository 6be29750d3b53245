//! Clusters for tests, and groups to commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use liteio_kv::database::{
    Answer, ClaimName, CommitError, CounterWrite, Database, Digest, Fetched, Group, RangeRead, Row,
    RowWrite, Want, Worker,
};
use liteio_kv::{Counts, KvError};
use liteio_postgres::testing::Server;
use liteio_postgres::{ClusterId, Postgres, PostgresConfig};

/// The id of every cluster.
pub(crate) const ID: ClusterId = ClusterId([7; 16]);

static CLUSTERS: AtomicU64 = AtomicU64::new(1);

/// The settings for a URL, of a database that need not be safe.
pub(crate) fn config(url: &str) -> PostgresConfig {
    PostgresConfig::parse(url, |_| None).expect("the URL is valid").allow_unsafe(true)
}

/// The settings of a new cluster of a server, which is made.
pub(crate) fn created(server: &Server) -> PostgresConfig {
    let config = named(server);
    liteio_postgres::create(&config, ID).expect("it is made");
    config
}

/// The settings of a new cluster of a server, which is not made.
pub(crate) fn named(server: &Server) -> PostgresConfig {
    let name = format!("c{}", CLUSTERS.fetch_add(1, Relaxed));
    config(&server.url()).with_cluster(&name).expect("a name")
}

/// A new cluster of the shared server.
pub(crate) struct Cluster {
    pub(crate) server: Arc<Server>,
    pub(crate) config: PostgresConfig,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let server = Server::shared();
        let config = created(&server);
        Self { server, config }
    }

    /// A process with the cluster open.
    pub(crate) fn open(&self) -> Process {
        Process::open(&self.config)
    }
}

/// A process with one worker.
pub(crate) struct Process {
    pub(crate) database: Postgres,
    pub(crate) worker: Worker,
    pub(crate) number: u64,
    versions: u64,
}

impl Process {
    pub(crate) fn open(config: &PostgresConfig) -> Self {
        let database = Postgres::open(config).expect("it opens");
        let worker = Worker { run: database.run(), index: 0 };
        Self { database, worker, number: 0, versions: 0 }
    }

    /// A version that no other process has.
    pub(crate) fn version(&mut self) -> u64 {
        self.versions += 1;
        (u64::from(self.worker.run) << 40) | self.versions
    }

    /// Commits by the next number, which is used up if it succeeds. Returns the version.
    pub(crate) fn commit(&mut self, mut group: Group) -> Result<u64, CommitError> {
        group.version = self.version();
        self.database.commit(self.worker, self.number + 1, &group)?;
        self.number += 1;
        Ok(group.version)
    }

    /// Puts a row, whatever is there.
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) -> u64 {
        self.commit(Group { writes: vec![put(key, None, value)], ..Group::default() })
            .expect("it commits")
    }

    pub(crate) fn fetch(&self, wants: &[Want]) -> Fetched {
        self.database.fetch(wants).expect("it is fetched")
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Row> {
        let mut answers = self.fetch(&[Want::Key(key.to_vec())]).answers;
        match answers.remove(0) {
            Answer::Row(row) => row,
            other => panic!("{other:?}"),
        }
    }

    /// Keys of a range, with their versions.
    pub(crate) fn range(&self, lower: &[u8], upper: &[u8]) -> Vec<(Vec<u8>, u64)> {
        let (lower, upper) = (lower.to_vec(), Some(upper.to_vec()));
        let want = Want::Rows { lower, upper, max: 1_000, is_backward: false };
        match self.fetch(&[want]).answers.remove(0) {
            Answer::Rows { rows, is_whole: true } => {
                rows.into_iter().map(|(key, row)| (key, row.version)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn count(&self, key: &[u8]) -> Counts {
        match self.fetch(&[Want::Counter(key.to_vec())]).answers.remove(0) {
            Answer::Counts(counts) => counts,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn put(key: &[u8], expected: Option<u64>, value: &[u8]) -> RowWrite {
    RowWrite { key: key.to_vec(), expected, value: Some(value.to_vec()) }
}

pub(crate) fn delete(key: &[u8], expected: Option<u64>) -> RowWrite {
    RowWrite { key: key.to_vec(), expected, value: None }
}

pub(crate) fn claim(name: &[u8], is_shared: bool) -> ClaimName {
    ClaimName { name: name.to_vec(), is_shared }
}

pub(crate) fn counted(key: &[u8], begins_anew: bool, added: [i64; 4]) -> CounterWrite {
    CounterWrite { key: key.to_vec(), begins_anew, added: Counts(added) }
}

/// A range that was read, with rows of these versions.
pub(crate) fn read(lower: &[u8], upper: Option<&[u8]>, versions: &[u64]) -> RangeRead {
    let mut digest = Digest::default();
    versions.iter().for_each(|version| digest.add(*version));
    RangeRead { lower: lower.to_vec(), upper: upper.map(<[u8]>::to_vec), digest }
}

/// The rows of a conflict.
pub(crate) fn conflict(outcome: Result<u64, CommitError>) -> Vec<(Vec<u8>, Option<Row>)> {
    match outcome {
        Err(CommitError::Conflict(rows)) => rows,
        other => panic!("no conflict: {other:?}"),
    }
}

/// The error of a commit that was refused.
pub(crate) fn refused(outcome: Result<u64, CommitError>) -> KvError {
    match outcome {
        Err(CommitError::Refused(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}
