//! The task that moves bodies into tiers and deletes them there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use liteio_access::state::App;
use liteio_store::{
    Job, MoveId, QueuedMove, Store, StoreError, TierDeletion, TierMove, TierMoveState, TierPiece,
};
use tokio::time::{Instant, sleep};

use crate::limits::{LONG_QUEUE_PAUSE, LOOK_EVERY, MOVES_AT_A_TIME, PAGE, WAIT_MAX, WAIT_MIN};
use crate::remote::{Remote, Remotes, TierFailure};

/// The result of the work on a row.
enum Outcome {
    /// The row is gone.
    Done,
    /// The body is in the tier.
    Moved { tier: String },
    /// The row waits for something that is not the tier.
    Waits,
    /// The tier failed.
    Failed { tier: String, line: String },
}

/// The rows of a look that nothing could be done about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// At most a page of them.
    Little,
    /// More.
    Much,
}

impl Seen {
    fn of(rows: usize) -> Seen {
        if rows > PAGE { Seen::Much } else { Seen::Little }
    }
}

/// The task.
struct Worker {
    app: Arc<App>,
    remotes: Arc<Remotes>,
    /// Tiers that failed, the time at which they are tried again, and the wait until then.
    failed: HashMap<String, (Instant, Duration)>,
    /// Rows that were reported.
    told: HashSet<MoveId>,
}

pub(crate) async fn run(app: Arc<App>, remotes: Arc<Remotes>) {
    let mut worker = Worker { app, remotes, failed: HashMap::new(), told: HashSet::new() };
    loop {
        // Another server moves and deletes: this one would delete what that one has, and could not note it.
        let Ok(Some(store)) = worker.app.store.for_job(Job::Tiers) else {
            sleep(LOOK_EVERY).await;
            continue;
        };
        let (moved, deleted) = (worker.moves(&store).await, worker.deletions(&store).await);
        let pause = match (moved, deleted) {
            // Long queues of tiers that are down are not read each second.
            (Ok(Seen::Much), Ok(_)) | (Ok(_), Ok(Seen::Much)) => LONG_QUEUE_PAUSE,
            (Ok(Seen::Little), Ok(Seen::Little)) => LOOK_EVERY,
            // The disk fails, the store is closed, or another server has taken over.
            (Err(_), _) | (_, Err(_)) => WAIT_MIN,
        };
        sleep(pause).await;
    }
}

impl Worker {
    /// `true` while a tier that failed is left alone.
    fn rests(&self, tier: &str) -> bool {
        self.failed.get(tier).is_some_and(|(until, _)| *until > Instant::now())
    }

    fn note(&mut self, tier: &str, line: &str) {
        let now = Instant::now();
        let wait = match self.failed.get(tier) {
            // Work that was in flight when it failed.
            Some((until, _)) if *until > now => return,
            Some((_, wait)) => (*wait * 2).min(WAIT_MAX),
            None => WAIT_MIN,
        };
        self.failed.insert(tier.to_owned(), (now + wait, wait));
        if let Some((_, figures)) = self.app.tiers.get(tier) {
            figures.note_failure(line);
            if figures.is_failing.swap(true, Ordering::Relaxed) {
                return;
            }
        }
        tracing::warn!(tier, reason = line, "a tier cannot be used; its rows wait");
    }

    fn recovered(&mut self, tier: &str) {
        if self.failed.remove(tier).is_some() {
            tracing::info!(tier, "the tier can be used again");
        }
        if let Some((_, figures)) = self.app.tiers.get(tier) {
            figures.note_success();
        }
    }

    /// Moves what is queued, in the order of the rows.
    async fn moves(&mut self, store: &Store) -> Result<Seen, StoreError> {
        let (mut after, mut passed): (Option<MoveId>, usize) = (None, 0);
        loop {
            let last = after.clone();
            let read = move |store: &Store| store.tier_moves(last.as_ref(), PAGE);
            let page: Vec<QueuedMove> = self.app.blocking(read).await?;
            let Some(end) = page.last().map(|queued| queued.id.clone()) else {
                return Ok(Seen::of(passed));
            };
            after = Some(end);
            let mut queued = page.into_iter();
            let mut in_flight = stream::FuturesUnordered::new();
            loop {
                while in_flight.len() < MOVES_AT_A_TIME
                    && let Some(QueuedMove { id, class }) = queued.next()
                {
                    let tier = class.and_then(|class| self.app.tiers.of_class(&class));
                    if tier.is_some_and(|tier| !self.rests(&tier)) {
                        let (app, remotes) = (Arc::clone(&self.app), Arc::clone(&self.remotes));
                        let store = store.clone();
                        in_flight.push(async move {
                            let outcome = move_one(&app, &store, &remotes, &id).await;
                            (id, outcome)
                        });
                    } else {
                        passed += 1;
                    }
                }
                let Some((id, outcome)) = in_flight.next().await else { break };
                match outcome {
                    Ok(Outcome::Done | Outcome::Waits) => {}
                    Ok(Outcome::Moved { tier }) => self.recovered(&tier),
                    Ok(Outcome::Failed { tier, line }) => self.note(&tier, &line),
                    Err(error @ (StoreError::Closed | StoreError::Suspended { .. })) => {
                        return Err(error);
                    }
                    Err(error) => {
                        if self.told.len() < PAGE && self.told.insert(id) {
                            tracing::error!(%error, "a body cannot move into its tier");
                        }
                    }
                }
            }
        }
    }

    /// Deletes what is queued for deletion.
    async fn deletions(&mut self, store: &Store) -> Result<Seen, StoreError> {
        let (mut after, mut passed): (Option<TierDeletion>, usize) = (None, 0);
        loop {
            let last = after.clone();
            let read = move |store: &Store| store.tier_deletions(last.as_ref(), PAGE);
            let page = self.app.blocking(read).await?;
            let Some(last) = page.last() else { return Ok(Seen::of(passed)) };
            after = Some(last.clone());
            for deletion in page {
                if self.rests(&deletion.tier) {
                    passed += 1;
                    continue;
                }
                let (asked, of_job) = (deletion.clone(), store.clone());
                let is_read = move |_: &Store| of_job.is_tier_body_read(&asked);
                if self.app.blocking(is_read).await? {
                    continue;
                }
                match self.delete(&deletion).await {
                    Err(TierFailure(line)) => self.note(&deletion.tier, &line),
                    Ok(()) => {
                        self.recovered(&deletion.tier);
                        let of_job = store.clone();
                        let end = move |_: &Store| of_job.finish_tier_deletion(&deletion);
                        self.app.blocking(end).await?;
                    }
                }
            }
        }
    }

    async fn delete(&self, deletion: &TierDeletion) -> Result<(), TierFailure> {
        let remote = self.remotes.get(&deletion.tier)?;
        for name in deletion.names() {
            remote.delete(&name).await?;
        }
        remote.figures.deleted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Moves one body.
async fn move_one(
    app: &App,
    store: &Store,
    remotes: &Remotes,
    id: &MoveId,
) -> Result<Outcome, StoreError> {
    let (row, of_job) = (id.clone(), store.clone());
    let mut begun = match app.blocking(move |_| of_job.begin_tier_move(&row)).await? {
        TierMoveState::Ready(begun) => begun,
        TierMoveState::Gone => return Ok(Outcome::Done),
        TierMoveState::NoTier { .. } => return Ok(Outcome::Waits),
    };
    let tier = begun.tier().to_owned();
    let failed = |TierFailure(line)| Outcome::Failed { tier: tier.clone(), line };
    let remote = match remotes.get(&tier) {
        Ok(remote) => remote,
        Err(failure) => return Ok(failed(failure)),
    };
    loop {
        let (read, piece) = next(app, begun).await?;
        begun = read;
        let Some(piece) = piece else { break };
        if let Err(failure) = upload(&remote, &piece).await {
            return Ok(failed(failure));
        }
        if !piece.is_uploaded && !store.note_tier_piece(&begun, &piece).await? {
            return Ok(Outcome::Done);
        }
    }
    if store.finish_tier_move(&begun).await? {
        remote.figures.moved.fetch_add(1, Ordering::Relaxed);
        remote.figures.moved_bytes.fetch_add(begun.bytes(), Ordering::Relaxed);
    }
    Ok(Outcome::Moved { tier })
}

async fn next(
    app: &App,
    mut begun: Box<TierMove>,
) -> Result<(Box<TierMove>, Option<TierPiece>), StoreError> {
    app.blocking(move |store| {
        let piece = store.next_tier_piece(&mut begun)?;
        Ok((begun, piece))
    })
    .await
}

/// Uploads a piece, unless it is there already.
async fn upload(remote: &Remote, piece: &TierPiece) -> Result<(), TierFailure> {
    let bytes = piece.bytes.len() as u64;
    if piece.is_uploaded && remote.has(&piece.name, bytes, None).await? {
        return Ok(());
    }
    remote.put(&piece.name, &piece.bytes).await
}
