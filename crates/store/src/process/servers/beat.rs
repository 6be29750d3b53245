//! The beat of a server: what it tells the others, and hears of them.

use std::collections::BTreeMap;

use liteio_kv::{Kv, Read as _, Transaction, Write as _};

use super::{
    ENDED_AFTER, HEARD_FOR, LEASE, LEASE_MARGIN, SUSPENDED_AFTER, ServerRecord, Servers, WANTED, ms,
};
use crate::error::StoreError;
use crate::meta::claim::Claim;
use crate::meta::moving::MovingRecord;
use crate::meta::server::{self, LeaseRecord, Running};
use crate::meta::space;
use crate::process::cluster::Job;

impl Servers {
    /// Begins the run: from now on its transactions are admitted.
    ///
    /// # Errors
    /// The errors of an update.
    pub(crate) fn join(&self, kv: &Kv) -> Result<(), StoreError> {
        let run = self.config.run;
        let sent_ms = self.clock.monotonic_ms();
        let record = self.record();
        let running = Running { primary: kv.primary() };
        let joined = kv.update(move |write| -> Result<(), StoreError> {
            // A move begins while no server runs, and looks again for one that joins meanwhile.
            MovingRecord::refuse(write)?;
            running.write(write, run)?;
            record.write(write, run)
        });
        joined.wait()?;
        let mut state = self.state.lock();
        (state.beat_ms, state.hears_since_ms) = (Some(sent_ms), sent_ms);
        drop(state);
        self.hear(kv)
    }

    /// Tells the others that this server runs, takes and renews the leases of its jobs, hears of the
    /// others, and ends the runs of those that have been silent for too long.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] if others have ended this run; the errors of an update.
    pub(crate) fn beat(&self, kv: &Kv) -> Result<(), StoreError> {
        let run = self.config.run;
        let (sent_ms, now_ms) = (self.clock.monotonic_ms(), self.clock.now_ms());
        let record = self.record();
        let running = Running { primary: kv.primary() };
        let wanted = self.wanted(sent_ms);
        let told = kv.update(move |write| -> Result<_, StoreError> {
            write.claim(Claim::Run(run))?;
            fetch_leases(write, wanted.iter().map(Job::name))?;
            match Running::read(write, run)? {
                None => return Err(Self::ended()),
                Some(told) if told == running => {}
                Some(_) => {
                    write.claim(Claim::RunAlone(run))?;
                    running.write(write, run)?;
                }
            }
            record.write(write, run)?;
            let until_ms = now_ms + ms(LEASE);
            let mut terms = Vec::new();
            for job in &wanted {
                let name = job.name();
                write.claim(Claim::JobAlone(&name))?;
                let lease = match LeaseRecord::read(write, &name)? {
                    Some(lease) if lease.run == run => LeaseRecord { until_ms, ..lease },
                    Some(lease) if now_ms < lease.until_ms => continue,
                    lease => LeaseRecord { run, term: lease.map_or(0, |it| it.term) + 1, until_ms },
                };
                lease.write(write, &name)?;
                terms.push((job.clone(), lease.term));
            }
            Ok(terms)
        });
        let terms = match told.wait() {
            Ok(terms) => terms,
            Err(error) => {
                if matches!(error, StoreError::Suspended { .. }) {
                    self.state.lock().is_ended = true;
                    self.leave_trace(kv)?;
                }
                return Err(error);
            }
        };
        self.told(sent_ms, terms);
        self.hear(kv)?;
        self.end_silent(kv, now_ms)?;
        // Rows that other servers have queued do not wake anybody here.
        self.alone.work.wake();
        self.alone.signals.raise_all();
        Ok(())
    }

    /// Ends the run, so that others need not wait for that. All of its updates have ended.
    ///
    /// # Errors
    /// The errors of an update.
    pub(crate) fn leave(&self, kv: &Kv) -> Result<(), StoreError> {
        let run = self.config.run;
        let jobs: Vec<_> = self.state.lock().jobs.keys().map(Job::name).collect();
        // Otherwise the row stays until the leftovers of the run are swept.
        let leaves_nothing = self.alone.staging.is_settled();
        let left = kv.update(move |write| -> Result<_, StoreError> {
            write.claim(Claim::RunAlone(run))?;
            fetch_leases(write, jobs.iter().cloned())?;
            for job in &jobs {
                write.claim(Claim::JobAlone(job))?;
                if let Some(lease) = LeaseRecord::read(write, job)?
                    && lease.run == run
                {
                    LeaseRecord { until_ms: 0, ..lease }.write(write, job)?;
                }
            }
            write.delete(&space::running(run))?;
            if leaves_nothing {
                write.delete(&space::server(run))?;
            }
            Ok(())
        });
        left.wait()?;
        self.state.lock().is_ended = true;
        Ok(())
    }

    /// Writes the row of this run, which is over, if there is none: a failover may have lost its begin, and without
    /// the row nobody would sweep its leftovers.
    fn leave_trace(&self, kv: &Kv) -> Result<(), StoreError> {
        if self.state.lock().has_left_trace {
            return Ok(());
        }
        let (run, record) = (self.config.run, self.record());
        let left = kv.update(move |write| -> Result<_, StoreError> {
            write.claim(Claim::RunAlone(run))?;
            match ServerRecord::read(write, run)? {
                Some(_) => Ok(()),
                None => record.write(write, run),
            }
        });
        left.wait()?;
        self.state.lock().has_left_trace = true;
        Ok(())
    }

    fn record(&self) -> ServerRecord {
        let now_ms = self.clock.now_ms();
        let reads_since_ms = self.readers.since_ms(now_ms);
        ServerRecord { name: self.config.name.clone(), beat_ms: now_ms, reads_since_ms }
    }

    /// The jobs that somebody has asked for not long ago. The others are forgotten.
    fn wanted(&self, monotonic_ms: u64) -> Vec<Job> {
        let jobs = &mut self.state.lock().jobs;
        jobs.retain(|_, wanted| monotonic_ms < wanted.asked_ms + ms(WANTED));
        jobs.keys().cloned().collect()
    }

    fn told(&self, sent_ms: u64, terms: Vec<(Job, u64)>) {
        let mut state = self.state.lock();
        if state.serving(sent_ms).is_err() {
            state.hears_since_ms = sent_ms;
        }
        state.beat_ms = Some(sent_ms);
        let until_ms = sent_ms + ms(LEASE - LEASE_MARGIN);
        state.jobs.values_mut().for_each(|wanted| wanted.term = None);
        for (job, number) in terms {
            if let Some(wanted) = state.jobs.get_mut(&job) {
                wanted.term = Some((number, until_ms));
            }
        }
    }

    /// Reads the rows of all servers.
    fn hear(&self, kv: &Kv) -> Result<(), StoreError> {
        let primary = kv.primary();
        let snapshot = kv.snapshot()?;
        let (mut servers, mut running) = (BTreeMap::new(), Vec::new());
        let mut primaries = Vec::new();
        for (run, record, right) in server::all(&snapshot)? {
            servers.insert(run, record);
            let Some(right) = right else { continue };
            running.push(run);
            if run != self.config.run {
                primaries.push(right.primary);
            }
        }
        // The rows are of this primary if no other one was met meanwhile.
        if let Some(at) = primary.filter(|_| kv.primary() == primary) {
            self.primaries.hear(at, primaries);
        }
        let mut state = self.state.lock();
        (state.servers, state.running) = (servers, running);
        Ok(())
    }

    /// Ends the runs of servers that have been silent for too long. A server that did not hear them itself waits
    /// until it has: after an outage of the database all of them are silent, and none is dead.
    fn end_silent(&self, kv: &Kv, now_ms: u64) -> Result<(), StoreError> {
        let monotonic_ms = self.clock.monotonic_ms();
        if monotonic_ms < self.state.lock().hears_since_ms + ms(HEARD_FOR) {
            return Ok(());
        }
        let is_silent =
            move |it: &ServerRecord| it.beat_ms.saturating_add(ms(ENDED_AFTER)) < now_ms;
        let state = self.state.lock();
        let running = state.running.iter().filter(|run| **run != self.config.run);
        let silent = running.filter(|run| state.servers.get(run).is_some_and(is_silent));
        let silent: Vec<_> = silent.copied().collect();
        drop(state);
        for run in silent {
            let ended = kv.update(move |write| -> Result<_, StoreError> {
                write.claim(Claim::RunAlone(run))?;
                // It may have beaten meanwhile.
                if ServerRecord::read(write, run)?.is_none_or(|it| is_silent(&it)) {
                    write.delete(&space::running(run))?;
                }
                Ok(())
            });
            ended.wait()?;
        }
        Ok(())
    }
}

/// Fetches the leases of these jobs together: one by one they would be more fetches than an update may
/// have.
fn fetch_leases(
    write: &Transaction<'_>,
    jobs: impl Iterator<Item = String>,
) -> Result<(), StoreError> {
    Ok(write.fetch(jobs.map(|job| space::job(&job)))?)
}

// A server that is ended was suspended long before, by its own clock.
const _: () = assert!(SUSPENDED_AFTER.as_millis() * 3 < ENDED_AFTER.as_millis());
