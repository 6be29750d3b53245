//! The end of a run: everything is right again, and what is left is compared.

use std::sync::Arc;

use liteio_store::{ClusterDatabase, ClusterView};

use super::history::Outcome;
use super::op::{BUCKETS, KEYS, Named, Op};
use super::run::{Check, Run, SERVERS};
use super::world::{Rates, Turn};

/// Most turns until nothing is left to do.
const TURNS_MAX: usize = 40;
/// Turns until those that have died are known to be dead.
const TURNS_MIN: usize = 9;
/// Time of a turn.
const TURN_MS: u64 = 8_000;

impl Run {
    /// Ends all faults, and compares what is left.
    pub(super) fn settle(&mut self) -> Check {
        self.tell("all faults end".to_owned());
        {
            let mut state = self.shared.world.state();
            (state.yields, state.rates) = (0, Rates::default());
            state.slots.iter_mut().for_each(|slot| slot.is_cut_off = false);
        }
        for server in 0..SERVERS {
            while self.turn(server) == Turn::Waiting {
                self.go_on(server);
            }
        }
        self.blobs.deliver_late();
        self.shared.deliver_late(&mut self.shared.world.state());
        for server in (0..SERVERS).filter(|it| self.servers[*it].is_open).collect::<Vec<_>>() {
            self.begin(server, Op::Beat);
            if self.is_done() {
                self.begin(server, Op::CountLost);
            }
        }
        self.check()?;
        // All of them die, so that nobody remembers what is left over.
        for server in 0..SERVERS {
            self.kill(server);
            self.begin(server, Op::Open);
        }
        for turn in 0..TURNS_MAX {
            self.pass(TURN_MS);
            for server in 0..SERVERS {
                self.begin(server, Op::Beat);
                self.begin(server, Op::Tidy);
            }
            // A failover may lose the row of a server that was cut off and is ended without having said so again.
            let leaves_orphans = self.has_lost_a_run || self.plan.fails_over && self.plan.cuts;
            self.begin(0, Op::Verify { leaves_orphans });
            self.check()?;
            if turn >= TURNS_MIN && self.is_done() && self.check_servers().is_ok() {
                break;
            }
        }
        if !self.is_done() {
            return Err(format!("in the end something is left over: {:?}", self.last));
        }
        for server in 0..SERVERS {
            self.compare(server);
            self.check()?;
        }
        self.check_servers()
    }

    fn is_done(&self) -> bool {
        matches!(self.last, Some(Outcome::Answered(_)))
    }

    /// Compares everything that a server shows.
    fn compare(&mut self, server: usize) {
        for bucket in 0..BUCKETS.len() {
            self.begin(server, Op::Versions { bucket });
            self.begin(server, Op::List { bucket, prefix: "", is_grouped: true });
            self.begin(server, Op::Usage { bucket });
            self.begin(server, Op::Settings { bucket });
            self.begin(server, Op::Uploads { bucket });
            for key in 0..KEYS.len() {
                let place = (bucket, key);
                self.begin(server, Op::Get { place });
                for version in self.versions(place) {
                    self.begin(server, Op::GetVersion { place, version });
                }
            }
        }
        self.begin(server, Op::Users);
        self.begin(server, Op::Events);
    }

    fn versions(&self, (bucket, key): (usize, usize)) -> Vec<Named> {
        let state = self.shared.world.state();
        let found = state.history.model().buckets.get(&bucket);
        found.map_or(Vec::new(), |it| it.versions(key).iter().map(|it| it.made.name()).collect())
    }

    /// Checks that no dead server is in the list of servers, or has a job.
    fn check_servers(&self) -> Check {
        let database: ClusterDatabase = Arc::clone(&self.shared.database) as _;
        let view = ClusterView::read(&database).map_err(|error| error.to_string())?;
        let running = view.servers.iter().filter(|server| server.is_running).map(|it| it.run);
        let running: Vec<u32> = running.collect();
        let jobs_are_theirs = view.jobs.iter().all(|job| running.contains(&job.run));
        if view.servers.len() != SERVERS || running.len() != SERVERS || !jobs_are_theirs {
            return Err(format!("in the end some servers are not those that run: {view:?}"));
        }
        let unclaimed = self.shared.database.unclaimed();
        match unclaimed.is_empty() {
            true => Ok(()),
            false => Err(format!("ranges were read without claims: {unclaimed:#?}")),
        }
    }
}
