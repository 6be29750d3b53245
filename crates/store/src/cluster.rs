//! A store as one of several servers: its beats, and the view of all.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;

use liteio_kv::Kv;
use liteio_kv::database::DatabaseConfig;

use crate::agreement::SETTINGS;
use crate::backend::ClusterDatabase;
use crate::error::StoreError;
use crate::meta::server;
use crate::process::{BEAT_EVERY, Background, Calls, Member};
use crate::store::{Inner, Store};
use crate::vectors::MirrorFigures;

/// The servers of a cluster, and the jobs that they do, as they have told it last.
#[derive(Clone, Debug)]
pub struct ClusterView {
    /// The time of the database, in milliseconds since 1970.
    pub now_ms: u64,
    /// The servers, by their runs.
    pub servers: Vec<ClusterServer>,
    /// The jobs that a server does.
    pub jobs: Vec<ClusterJob>,
}

/// A server of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterServer {
    /// The number of its run.
    pub run: u32,
    /// Its name.
    pub name: String,
    /// Time of its last beat, in milliseconds since 1970.
    pub beat_ms: u64,
    /// `false` if its run is over.
    pub is_running: bool,
}

/// A job in the background, and the server that does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterJob {
    /// Its name.
    pub name: String,
    /// The run of the server.
    pub run: u32,
    /// The number of the term.
    pub term: u64,
}

impl ClusterView {
    /// Reads what the servers have told.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn read(database: &ClusterDatabase) -> Result<Self, StoreError> {
        let kv = Kv::over(Arc::clone(database), DatabaseConfig::default())?;
        let now_ms = kv.moment()?.map_or(0, |moment| moment.now_ms);
        let snapshot = kv.snapshot()?;
        let servers = server::all(&snapshot)?;
        let servers = servers.into_iter().map(|(run, record, running)| ClusterServer {
            run,
            name: record.name,
            beat_ms: record.beat_ms,
            is_running: running.is_some(),
        });
        let jobs =
            server::all_leases(&snapshot)?.into_iter().filter(|(_, it)| it.until_ms > now_ms);
        let jobs = jobs.map(|(name, it)| ClusterJob { name, run: it.run, term: it.term });
        Ok(Self { now_ms, servers: servers.collect(), jobs: jobs.collect() })
    }
}

/// The state of one of several servers, for metrics and health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterFigures {
    /// The reason why it answers no requests; `None` if it does.
    pub suspended: Option<String>,
    /// `true` once the others have ended it: only another start can serve again.
    pub is_over: bool,
    /// The reason why the place of bodies has not answered for half a minute; `None` if it has.
    pub blobs_failure: Option<String>,
    /// Number of runs of other servers that are over and whose leftovers wait to be swept.
    pub runs_waiting: u64,
    /// The cache of vectors.
    pub vectors: MirrorFigures,
}

impl Store {
    /// The state among other servers, without asking the database; `None` for a store of one process.
    #[must_use]
    pub fn cluster_figures(&self) -> Option<ClusterFigures> {
        let cluster = &self.shared().cluster;
        self.reads_may_wait().then(|| ClusterFigures {
            suspended: cluster.serving().err().map(|error| error.to_string()),
            is_over: cluster.is_over(),
            blobs_failure: cluster.blobs_failure(),
            runs_waiting: cluster.ended_runs().len() as u64,
            vectors: self.mirror_figures().unwrap_or_default(),
        })
    }

    /// A handle of the key space, for calls that wait for the database: the lock of the store is not held
    /// meanwhile.
    pub(crate) fn kv(&self) -> Result<Kv, StoreError> {
        self.inner.kv.read().clone().ok_or(StoreError::Closed)
    }

    /// `true` if reads of records may wait for a network.
    #[must_use]
    pub fn reads_may_wait(&self) -> bool {
        self.inner.is_member
    }

    /// Tells the other servers that this one runs, hears of them, and takes over jobs that it was asked for.
    /// An open store does so each second. Without other servers it does nothing.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] if others have ended the run of this server; the errors of an update.
    pub fn beat(&self) -> Result<(), StoreError> {
        let parts = self.inner.member.lock().as_ref().map(Member::parts);
        let Some((servers, clock)) = parts else { return Ok(()) };
        let kv = self.kv()?;
        if let Some(moment) = kv.moment()? {
            clock.set(moment);
            // Requests agree by themselves; work in the background goes by rules, too, and a server may get no request.
            self.shared().buckets.agree(moment.epochs[SETTINGS]);
        }
        servers.beat(&kv)
    }

    /// Joins the other servers.
    pub(crate) fn join(&self) -> Result<(), StoreError> {
        let member = self.inner.member.lock();
        let Some(member) = &*member else { return Ok(()) };
        match &*self.inner.kv.read() {
            Some(kv) => member.join(kv),
            None => Err(StoreError::Closed),
        }
    }

    /// Starts the threads of the beats, and of the probes of the blobs.
    pub(crate) fn start_beats(&self) -> Result<(), StoreError> {
        let mut member = self.inner.member.lock();
        let Some(member) = &mut *member else { return Ok(()) };
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let calls = Arc::new(Calls::<()>::default());
        let own_calls = Arc::clone(&calls);
        let thread = thread::Builder::new().name("liteio-beat".to_owned());
        let thread = thread.spawn(move || {
            let mut pause = BEAT_EVERY;
            while own_calls.wait(pause) {
                let Some(inner) = weak.upgrade() else { return };
                let store = Self::of(inner);
                // Without the database the standing of the server tells it.
                if store.beat().is_err() {
                    store.shared().counters.beats_missed.fetch_add(1, Ordering::Relaxed);
                }
                // Answers wait for what the others tell.
                pause = if store.has_one_primary() { BEAT_EVERY } else { BEAT_EVERY / 5 };
            }
        })?;
        member.beats = Some(Background::new(calls, thread));
        member.start_probes(Arc::clone(&self.shared().blobs))
    }
}
