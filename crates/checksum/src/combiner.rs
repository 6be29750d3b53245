//! Flat combining: one thread or task digests the pieces of all bodies that arrive at the same time,
//! with a lane for each (`md5/lanes/`).
//!
//! ```text
//! update ─┬─► leads: own pieces and queued ones, step by step ─► own are digested ─► resigns
//!         │                       ▲ │                  ▲                               │
//!         │                       │ └─► digested       └── promoted ◄──┐               │
//!         └─► queued, asleep ─────┘                                    └───────────────┘
//!                  ▲──────────────── others, not digested yet ◄────────────────────────┘
//! ```
//!
//! There are never more jobs than `leaders × lanes`, so a leader has a free lane for every queued
//! job and takes it after its current step. A leader resigns when its own pieces are digested: no
//! body works for the others longer than for itself. A body that is alone takes two uncontended
//! locks for each batch.
//!
//! A task lets others run before it leads: their bodies may have arrived, too, and without a thread
//! of their own they could not bring them while it digests.

use std::collections::VecDeque;
use std::future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::Poll;

use bytes::{Buf as _, Bytes};
use parking_lot::Mutex;

use super::joined::Joined;
use super::md5::{BLOCK_BYTES, Kernel, Lane};
use super::sha256::{self, Stream};

/// Blocks of each lane between two looks at the queue: some 15 µs.
const STEP_BLOCKS: usize = 128;

/// Fewer bytes are digested at once: queueing them would take longer.
const SHARED_BYTES_MIN: usize = STEP_BLOCKS * BLOCK_BYTES;

/// Digests pieces of concurrent bodies together. Clones share the queue.
#[derive(Clone, Debug)]
pub(crate) struct Combiner(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    kernel: Kernel,
    state: Mutex<State>,
    /// Length of the queue, which leaders read without the lock.
    queued: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Queued>,
    /// Jobs that are not digested yet, of leaders, in their lanes and in the queue.
    jobs: usize,
    leaders: usize,
}

/// A job whose thread or task sleeps.
#[derive(Debug)]
struct Queued {
    job: Job,
    reply: oneshot::Sender<Reply>,
}

#[derive(Debug)]
enum Reply {
    Digested(Joined),
    /// The rest of the job, which leads now.
    Lead(Lead),
}

/// The part of the one that brings a job.
#[derive(Debug)]
enum Role {
    Leads(Lead),
    Sleeps(oneshot::Receiver<Reply>),
}

/// A job that leads. Dropped before it is digested, as by a task whose client is gone, it resigns.
#[derive(Debug)]
struct Lead {
    leader: Leader,
    job: Job,
}

/// Pieces of a body, to be digested in their order.
#[derive(Debug)]
struct Job {
    digests: Joined,
    /// The first one starts with a whole block, and the digest is at the end of a block.
    pieces: VecDeque<Bytes>,
}

impl Combiner {
    /// The one of the process.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: LazyLock<Combiner> = LazyLock::new(|| Combiner::new(Kernel::available()[0]));
        &SHARED
    }

    fn new(kernel: Kernel) -> Self {
        Self(Arc::new(Shared { kernel, state: Mutex::default(), queued: AtomicUsize::new(0) }))
    }

    /// Digests the next bytes of a body. May wait for another thread that digests them.
    pub(crate) fn update(&self, digests: &mut Joined, pieces: &[Bytes]) {
        *digests = match self.admit(digests, pieces) {
            None => alone(digests, pieces),
            Some(Role::Leads(lead)) => lead.digest(),
            Some(Role::Sleeps(reply)) => {
                reply.recv().map_or_else(|_| alone(digests, pieces), Reply::digest)
            }
        };
    }

    /// The same for a task: it sleeps without its thread.
    pub(crate) async fn update_in_task(&self, digests: &mut Joined, pieces: &[Bytes]) {
        *digests = match self.admit(digests, pieces) {
            None => alone(digests, pieces),
            Some(Role::Leads(lead)) => {
                let_others_run().await;
                lead.digest()
            }
            Some(Role::Sleeps(reply)) => {
                reply.await.map_or_else(|_| alone(digests, pieces), Reply::digest)
            }
        };
    }

    /// The part of the next bytes of a body; `None` if they are too few.
    fn admit(&self, digests: &Joined, pieces: &[Bytes]) -> Option<Role> {
        let bytes = pieces.iter().map(Bytes::len).sum::<usize>();
        (bytes >= SHARED_BYTES_MIN).then(|| self.admit_job(Job::new(digests.clone(), pieces)))
    }

    fn admit_job(&self, job: Job) -> Role {
        let Shared { kernel, state, queued } = &*self.0;
        let mut state = state.lock();
        state.jobs += 1;
        if state.needs_leader(*kernel) {
            state.leaders += 1;
            return Role::Leads(Lead { leader: Leader::new(self), job });
        }
        let (reply, receiver) = oneshot::channel();
        state.queue.push_back(Queued { job, reply });
        queued.store(state.queue.len(), Ordering::Relaxed);
        Role::Sleeps(receiver)
    }
}

/// The digest of bytes by this thread. Also where a leader has panicked with them in its lanes.
fn alone(digests: &Joined, pieces: &[Bytes]) -> Joined {
    let mut digests = digests.clone();
    pieces.iter().for_each(|piece| digests.update(piece));
    digests
}

/// Puts the task behind those that can run.
async fn let_others_run() {
    let mut has_waited = false;
    future::poll_fn(|context| match std::mem::replace(&mut has_waited, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

impl Reply {
    fn digest(self) -> Joined {
        match self {
            Self::Digested(digests) => digests,
            Self::Lead(lead) => lead.digest(),
        }
    }
}

impl Lead {
    /// Digests its job, and queued ones until it is digested.
    fn digest(self) -> Joined {
        let Self { mut leader, mut job } = self;
        while !job.is_digested() {
            leader.take_queued();
            leader.step(&mut job);
        }
        job.digests
    }
}

impl State {
    fn needs_leader(&self, kernel: Kernel) -> bool {
        self.jobs > self.leaders * kernel.lanes_max
    }
}

/// A leading thread or task. Dropping it resigns.
#[derive(Debug)]
struct Leader {
    combiner: Combiner,
    /// Jobs in the lanes beside its own.
    others: Vec<Queued>,
}

impl Leader {
    fn new(combiner: &Combiner) -> Self {
        Self { combiner: combiner.clone(), others: Vec::new() }
    }

    fn take_queued(&mut self) {
        let Shared { kernel, state, queued } = &*self.combiner.0;
        let room = kernel.lanes_max - 1 - self.others.len();
        if room > 0 && queued.load(Ordering::Relaxed) > 0 {
            let queue = &mut state.lock().queue;
            self.others.extend(queue.drain(..room.min(queue.len())));
            queued.store(queue.len(), Ordering::Relaxed);
        }
    }

    /// Digests the next blocks of each job, and wakes those that are digested.
    fn step(&mut self, own: &mut Job) {
        if self.others.is_empty() {
            return own.step_alone();
        }
        let others = self.others.iter_mut().map(|other| &mut other.job);
        let jobs = std::iter::once(&mut *own).chain(others).map(Job::states);
        let (mut lanes, streams): (Vec<_>, Vec<_>) = jobs.unzip();
        let blocks = self.combiner.0.kernel.compress(&mut lanes, STEP_BLOCKS);
        sha256::compress_all(streams.into_iter().flatten().map(|stream| stream.first(blocks)));
        own.advance(blocks);
        self.others.iter_mut().for_each(|other| other.job.advance(blocks));
        let digested: Vec<_> =
            self.others.extract_if(.., |other| other.job.is_digested()).collect();
        if !digested.is_empty() {
            // Before they wake and bring more.
            self.combiner.0.state.lock().jobs -= digested.len();
            for Queued { job, reply } in digested {
                // It sleeps until now, unless it is a task that is gone.
                let _ = reply.send(Reply::Digested(job.digests));
            }
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let Shared { kernel, state, queued } = &*self.combiner.0;
        let mut state = state.lock();
        state.jobs -= 1;
        state.leaders -= 1;
        if std::thread::panicking() {
            // Half digested. They begin again, alone.
            state.jobs -= self.others.len();
            self.others.clear();
        }
        // They have waited longer than the queue.
        for other in self.others.drain(..).rev() {
            state.queue.push_front(other);
        }
        let promoted = match state.needs_leader(*kernel) {
            true => state.queue.pop_front(),
            false => None,
        };
        state.leaders += usize::from(promoted.is_some());
        queued.store(state.queue.len(), Ordering::Relaxed);
        drop(state);
        if let Some(Queued { job, reply }) = promoted {
            // It sleeps until now. A task that is gone lets the next one lead: nobody receives the
            // reply, which resigns.
            let _ = reply.send(Reply::Lead(Lead { leader: Leader::new(&self.combiner), job }));
        }
    }
}

impl Job {
    fn new(digests: Joined, pieces: &[Bytes]) -> Self {
        let mut job = Self { digests, pieces: pieces.iter().cloned().collect() };
        job.settle();
        job
    }

    fn is_digested(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The next blocks, for MD5 and for SHA-256 if that is wanted.
    fn states(&mut self) -> (Lane<'_>, Option<Stream<'_>>) {
        let blocks = self.pieces.front().map_or(&[][..], |piece| piece.as_chunks().0);
        let (md5, sha256) = self.digests.states();
        (Lane { state: md5, blocks }, sha256.map(|state| Stream { state, blocks }))
    }

    /// Digests as many blocks as in a lane, without others.
    fn step_alone(&mut self) {
        if let Some(piece) = self.pieces.front_mut() {
            let most = piece.len() / BLOCK_BYTES * BLOCK_BYTES;
            self.digests.update(&piece.split_to(most.min(STEP_BLOCKS * BLOCK_BYTES)));
        }
        self.settle();
    }

    /// Continues after blocks that were digested in the lane.
    fn advance(&mut self, blocks: usize) {
        self.digests.advance(blocks);
        if let Some(piece) = self.pieces.front_mut() {
            piece.advance(blocks * BLOCK_BYTES);
        }
        self.settle();
    }

    /// Digests what comes before the next whole block.
    fn settle(&mut self) {
        while let Some(piece) = self.pieces.front_mut() {
            let to_block = (BLOCK_BYTES - self.digests.md5().rest_bytes()) % BLOCK_BYTES;
            if to_block == 0 && piece.len() >= BLOCK_BYTES {
                return;
            }
            // The end of a block, or of a piece that does not fill one.
            let bytes = if to_block == 0 { piece.len() } else { to_block.min(piece.len()) };
            self.digests.update(&piece.split_to(bytes));
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::task::{Context, Waker};
    use std::thread;

    use proptest::prelude::*;

    use super::*;
    use crate::md5::Md5;

    const STEP_BYTES: usize = STEP_BLOCKS * BLOCK_BYTES;

    fn combiners() -> impl Iterator<Item = Combiner> {
        Kernel::available().into_iter().map(Combiner::new)
    }

    fn bytes(length: usize, seed: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 31 + at / 251 + seed * 57) as u8).collect()
    }

    /// The bytes in pieces of these lengths, again and again.
    fn pieces(bytes: &[u8], lengths: &[usize]) -> Vec<Bytes> {
        let (mut rest, mut pieces) = (bytes, Vec::new());
        for length in lengths.iter().cycle() {
            let (piece, after) = rest.split_at(rest.len().min(*length));
            pieces.push(Bytes::copy_from_slice(piece));
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        pieces
    }

    /// The digests by MD5 and SHA-256.
    type Both = ([u8; 16], Option<[u8; 32]>);

    fn both(bytes: &[u8]) -> Both {
        use sha2::Digest as _;
        (Md5::digest(bytes), Some(sha2::Sha256::digest(bytes).into()))
    }

    /// A job of some steps, and its digests. Every third one has no SHA-256.
    fn job(steps: usize, seed: usize) -> (Job, Both) {
        let bytes = bytes(steps * STEP_BYTES, seed);
        let has_sha256 = !seed.is_multiple_of(3);
        let (md5, sha256) = both(&bytes);
        let expected = (md5, sha256.filter(|_| has_sha256));
        (Job::new(Joined::new(has_sha256), &pieces(&bytes, &[bytes.len()])), expected)
    }

    fn leads(role: Role) -> Lead {
        match role {
            Role::Leads(lead) => lead,
            Role::Sleeps(_) => panic!("it should lead"),
        }
    }

    fn sleeps(role: Role) -> oneshot::Receiver<Reply> {
        match role {
            Role::Leads(_) => panic!("another leads"),
            Role::Sleeps(reply) => reply,
        }
    }

    fn digested(reply: oneshot::Receiver<Reply>) -> Both {
        match reply.try_recv().expect("a reply") {
            Reply::Digested(digests) => digests.finish(),
            Reply::Lead(_) => panic!("it should be digested"),
        }
    }

    fn promoted(reply: oneshot::Receiver<Reply>) -> Lead {
        match reply.try_recv().expect("a reply") {
            Reply::Digested(_) => panic!("its leader has resigned"),
            Reply::Lead(lead) => lead,
        }
    }

    fn assert_idle(combiner: &Combiner) {
        let state = combiner.0.state.lock();
        assert_eq!((state.jobs, state.leaders, state.queue.len()), (0, 0, 0));
        assert_eq!(combiner.0.queued.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_leader_digests_shorter_jobs_and_hands_over_longer_ones() {
        for combiner in combiners() {
            let (own, own_digest) = job(2, 1);
            let own = leads(combiner.admit_job(own));
            let (other, other_digest) = job(if combiner.0.kernel.lanes_max > 2 { 5 } else { 1 }, 2);
            let other = sleeps(combiner.admit_job(other));
            if combiner.0.kernel.lanes_max > 2 {
                let (short, short_digest) = job(1, 3);
                let short = sleeps(combiner.admit_job(short));
                assert_eq!(own.digest().finish(), own_digest);
                assert_eq!(digested(short), short_digest);
                let rest = promoted(other);
                assert_eq!(
                    rest.job.digests.md5().bytes(),
                    2 * STEP_BYTES as u64,
                    "digested in lanes so far"
                );
                assert_eq!(rest.digest().finish(), other_digest);
            } else {
                assert_eq!(own.digest().finish(), own_digest);
                assert_eq!(digested(other), other_digest);
            }
            assert_idle(&combiner);
        }
    }

    #[test]
    fn there_is_a_leader_for_every_lane_and_nobody_waits_for_more_than_a_step() {
        for combiner in combiners() {
            let lanes = combiner.0.kernel.lanes_max;
            let (own, own_digest) = job(3, 0);
            let own = leads(combiner.admit_job(own));
            let others: Vec<_> = (1..lanes).map(|seed| job(2, seed)).collect();
            let digests: Vec<_> = others.iter().map(|(_, digest)| *digest).collect();
            let replies: Vec<_> =
                others.into_iter().map(|(job, _)| sleeps(combiner.admit_job(job))).collect();
            // One more than there are lanes.
            let (more, more_digest) = job(1, lanes);
            let more = leads(combiner.admit_job(more));
            let Lead { mut leader, job: mut own } = own;
            leader.take_queued();
            assert_eq!(leader.others.len(), lanes - 1, "everybody has a lane");
            // This one resigns with nothing to hand over.
            assert_eq!(more.digest().finish(), more_digest);
            leader.step(&mut own);
            leader.step(&mut own);
            for (reply, digest) in replies.into_iter().zip(digests) {
                assert_eq!(digested(reply), digest);
            }
            leader.step(&mut own);
            assert_eq!(own.digests.finish(), own_digest);
            drop(leader);
            assert_idle(&combiner);
        }
    }

    #[test]
    fn a_leader_that_panics_loses_no_job_of_others() {
        let panics = |_: &mut [Lane<'_>], _| panic!("on purpose");
        let combiner = Combiner::new(Kernel::for_tests(3, panics));
        let (own, _) = job(2, 1);
        let own = leads(combiner.admit_job(own));
        let in_lane = sleeps(combiner.admit_job(job(2, 2).0));
        let Lead { mut leader, job: mut own } = own;
        leader.take_queued();
        let queued = sleeps(combiner.admit_job(job(2, 3).0));
        catch_unwind(AssertUnwindSafe(move || {
            let mut leader = leader;
            leader.step(&mut own);
        }))
        .expect_err("the kernel panics");
        in_lane.try_recv().expect_err("its leader has panicked");
        let lead = promoted(queued);
        assert!(!lead.job.is_digested());
        let state = combiner.0.state.lock();
        assert_eq!((state.jobs, state.leaders), (1, 1), "the promoted one");
    }

    #[test]
    fn threads_beside_one_that_panics_digest_their_bytes() {
        // Two lanes and more panic; one alone does not.
        let panics = |lanes: &mut [Lane<'_>], _| assert!(lanes.is_empty(), "on purpose");
        let combiner = Combiner::new(Kernel::for_tests(16, panics));
        let panicked = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|seed| {
                    let combiner = &combiner;
                    scope.spawn(move || {
                        let bytes = bytes(20 * STEP_BYTES + seed, seed);
                        let mut digests = Joined::new(true);
                        combiner.update(&mut digests, &pieces(&bytes, &[STEP_BYTES]));
                        assert_eq!(digests.finish(), both(&bytes));
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().err()).count()
        });
        assert!(panicked < 8, "the last one is alone");
        assert_idle(&combiner);
    }

    #[test]
    fn tasks_digest_together_and_one_that_is_gone_keeps_no_other_waiting() {
        /// The tasks that are dropped before any of them digests.
        const GONE: [&[usize]; 5] = [&[], &[0], &[1], &[0, 1, 2], &[0, 4]];
        for (combiner, gone) in combiners().flat_map(|it| GONE.map(|gone| (it.clone(), gone))) {
            let bytes: Vec<_> = (0..5).map(|seed| bytes(3 * STEP_BYTES + seed, seed)).collect();
            let run = |bytes: &[u8]| {
                let (combiner, pieces) = (combiner.clone(), pieces(bytes, &[STEP_BYTES, 100]));
                Box::pin(async move {
                    let mut digests = Joined::new(true);
                    combiner.update_in_task(&mut digests, &pieces).await;
                    digests.finish()
                })
            };
            let mut context = Context::from_waker(Waker::noop());
            let mut tasks: Vec<_> = bytes.iter().map(|bytes| Some(run(bytes))).collect();
            for task in tasks.iter_mut().flatten() {
                assert!(task.as_mut().poll(&mut context).is_pending(), "others come first");
            }
            gone.iter().for_each(|task| tasks[*task] = None);
            let mut left: Vec<_> = tasks.into_iter().zip(&bytes).collect();
            left.retain(|(task, _)| task.is_some());
            // One that resigns with its own digest lets the next lead: at most one more each time.
            for _ in 0..left.len() {
                left.retain_mut(|(task, bytes)| match task {
                    Some(task) => match task.as_mut().poll(&mut context) {
                        Poll::Ready(digest) => {
                            assert_eq!(digest, both(bytes));
                            false
                        }
                        Poll::Pending => true,
                    },
                    None => false,
                });
            }
            assert!(left.is_empty(), "{gone:?}");
            assert_idle(&combiner);
        }
    }

    #[test]
    fn short_updates_are_not_queued_and_change_nothing_else() {
        for combiner in combiners() {
            let own = leads(combiner.admit_job(job(1, 1).0));
            let mut digests = Joined::new(true);
            combiner.update(&mut digests, &pieces(&bytes(SHARED_BYTES_MIN - 1, 2), &[1000]));
            assert_eq!(digests.finish(), both(&bytes(SHARED_BYTES_MIN - 1, 2)));
            own.digest();
            assert_idle(&combiner);
        }
    }

    #[test]
    fn any_number_of_threads_agrees_with_one() {
        for combiner in combiners() {
            for threads in [1, 2, 3, 17, 40] {
                thread::scope(|scope| {
                    for seed in 0..threads {
                        let combiner = &combiner;
                        scope.spawn(move || {
                            let bytes = bytes(9 * STEP_BYTES + seed * 1_117, seed);
                            let lengths = [STEP_BYTES * 2, 1 + seed, 64, 777 * (1 + seed), 63, 0];
                            let pieces = pieces(&bytes, &lengths);
                            let mut digests = Joined::new(true);
                            for batch in pieces.chunks(1 + seed % 5) {
                                combiner.update(&mut digests, batch);
                            }
                            assert_eq!(digests.md5().bytes(), bytes.len() as u64);
                            assert_eq!(digests.finish(), both(&bytes), "{seed} of {threads}");
                        });
                    }
                });
                assert_idle(&combiner);
            }
        }
    }

    proptest! {
        #[test]
        fn bodies_of_any_lengths_in_any_pieces_agree_with_the_library(
            bodies in prop::collection::vec(
                (0_usize..60_000, prop::collection::vec(1_usize..20_000, 1..5)), 1..20,
            ),
        ) {
            use md5::Digest as _;
            for combiner in combiners() {
                thread::scope(|scope| {
                    for (seed, (length, lengths)) in bodies.iter().enumerate() {
                        let combiner = &combiner;
                        scope.spawn(move || {
                            let bytes = bytes(*length, seed);
                            let mut digests = Joined::new(true);
                            combiner.update(&mut digests, &pieces(&bytes, lengths));
                            let (md5, sha256) = digests.finish();
                            let expected: [u8; 16] = md5::Md5::digest(&bytes).into();
                            assert_eq!((md5, sha256), (expected, both(&bytes).1));
                        });
                    }
                });
            }
        }
    }
}
