//! The history of a run: the states of the model, one for each commit, and what operations have answered.
//!
//! The database is simulated, so that the order of commits is known, and with it the one order in which
//! operations must seem to happen: one that has committed, where it has; any other at some moment between
//! its begin and its answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_store::VersionId;

use super::model::{BEHIND_MS, Content, EXPIRING, Expected, Facts, Made, Model};
use super::op::{Answer, KEYS, Op, OpId};

/// A version, as an operation has told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundVersion {
    pub(super) id: VersionId,
    /// Time of the write, if it was told.
    pub(super) modified_ms: Option<u64>,
}

/// The end of an operation.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Answered(Answer<FoundVersion>),
    /// It failed, for no reason of its own.
    Failed {
        error: String,
        /// `true` if that says that nothing has happened.
        is_certain: bool,
    },
    /// It must not fail so.
    Broken(String),
}

#[derive(Debug)]
struct State {
    op: Op,
    /// The place in the log at which it began.
    begun: usize,
    /// Number of failovers before it.
    failovers: u32,
    facts: Facts,
    effect: Option<Effect>,
}

/// A commit of an operation.
#[derive(Debug)]
struct Effect {
    commit: u64,
    expected: Expected,
    /// `true` if a failover has lost it.
    is_lost: bool,
}

#[derive(Debug, Default)]
pub(super) struct History {
    /// The states in the order of time.
    log: Vec<Arc<Model>>,
    /// The states that are left, with the numbers of their commits.
    lineage: Vec<(u64, Arc<Model>)>,
    ops: BTreeMap<OpId, State>,
    /// Number of failovers that have lost commits.
    failovers: u32,
    ids: BTreeMap<OpId, VersionId>,
    /// The first deviation.
    pub(super) violation: Option<String>,
}

impl History {
    pub(super) fn new() -> Self {
        let model = Arc::<Model>::default();
        Self { log: vec![Arc::clone(&model)], lineage: vec![(0, model)], ..Self::default() }
    }

    /// The state that the servers hold now.
    pub(super) fn model(&self) -> &Model {
        self.lineage.last().map(|(_, model)| &**model).expect("the first one stays")
    }

    pub(super) fn id_of(&self, op: OpId) -> Option<VersionId> {
        self.ids.get(&op).copied()
    }

    pub(super) fn break_with(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    pub(super) fn begin(&mut self, id: OpId, op: &Op, now_ms: u64) {
        let begun = self.log.len() - 1;
        let (forgets, expires) = (Vec::new(), Vec::new());
        let facts = Facts { id, begun_ms: now_ms, now_ms, users_stamp: None, forgets, expires };
        let failovers = self.failovers;
        self.ops.insert(id, State { op: op.clone(), begun, failovers, facts, effect: None });
    }

    /// Tells what an operation has seen before it decides.
    pub(super) fn facts(&mut self, id: OpId) -> Option<&mut Facts> {
        self.ops.get_mut(&id).map(|state| &mut state.facts)
    }

    /// An update of an operation has committed, which writes these keys.
    pub(super) fn committed(&mut self, id: OpId, commit: u64, now_ms: u64, keys: &[&[u8]]) {
        let mut model = self.model().clone();
        let Some(state) = self.ops.get_mut(&id).filter(|state| state.op.writes()) else { return };
        let mut facts = Facts { now_ms, ..state.facts.clone() };
        // Another server may have taken some of them.
        facts
            .forgets
            .retain(|(number, ..)| keys.iter().any(|it| it.ends_with(&number.to_be_bytes())));
        if matches!(state.op, Op::Lifecycle) {
            // It has a commit for each bucket, and others.
            state.effect = None;
            facts.expires =
                model.buckets.values().map(|it| it.id).filter(|id| expires(*id, keys)).collect();
        }
        let what = format!("operation {id} {:?}", state.op);
        if state.effect.as_ref().is_some_and(|effect| !effect.is_lost) {
            return self.break_with(format!("{what} has committed twice"));
        }
        let expected = model.apply(&state.op, &facts);
        if let Answer::Refused(kind) = expected {
            return self.break_with(format!("{what} has committed, and not failed with {kind}"));
        }
        state.effect = Some(Effect { commit, expected, is_lost: false });
        self.push(commit, model);
    }

    fn push(&mut self, commit: u64, model: Model) {
        let model = Arc::new(model);
        self.log.push(Arc::clone(&model));
        self.lineage.push((commit, model));
    }

    /// The commits behind this one are lost.
    pub(super) fn fail_over(&mut self, newest: u64) {
        self.failovers += 1;
        self.lineage.retain(|(commit, _)| *commit <= newest);
        let (_, model) = self.lineage.last().expect("the first one stays");
        self.log.push(Arc::clone(model));
        for effect in self.ops.values_mut().filter_map(|state| state.effect.as_mut()) {
            effect.is_lost |= effect.commit > newest;
        }
    }

    pub(super) fn finish(&mut self, id: OpId, outcome: &Outcome, now_ms: u64) {
        let Some(state) = self.ops.get(&id) else { return };
        let what = format!("operation {id} {:?}", state.op);
        let effect = state.effect.as_ref();
        match outcome {
            Outcome::Broken(error) => self.break_with(format!("{what}: {error}")),
            Outcome::Failed { error, is_certain } => {
                let has_happened = effect.is_some_and(|effect| !effect.is_lost);
                if *is_certain && has_happened && !state.op.is_own() {
                    self.break_with(format!(
                        "{what} has committed, and said that it failed: {error}"
                    ));
                }
            }
            Outcome::Answered(_) if state.op.is_own() => {}
            // It has found the bucket that was there, and a failover has brought an earlier one back.
            Outcome::Answered(Answer::Refused("NoSuchBucket"))
                if effect.is_none() && state.failovers < self.failovers => {}
            // Likewise: it has found the bucket of the copy, and looked for the source behind the failover.
            Outcome::Answered(Answer::Refused("NoSuchKey"))
                if matches!(state.op, Op::Copy { .. })
                    && effect.is_none()
                    && state.failovers < self.failovers => {}
            Outcome::Answered(found) => {
                let expected = match effect {
                    Some(effect) => vec![effect.expected.clone()],
                    None => self.expected(state, now_ms),
                };
                match expected.iter().find(|expected| self.explains(expected, found)) {
                    Some(expected) => {
                        for (made, found) in pairs(expected, found) {
                            if !made.is_null {
                                self.ids.insert(made.by, found.id);
                            }
                        }
                    }
                    None => {
                        let has = if effect.is_some() { "has" } else { "has not" };
                        let known = &self.ids;
                        self.break_with(format!(
                            "{what} {has} committed, and answered {found:?}; possible were {expected:?}, \
                             with the ids {known:?}"
                        ));
                    }
                }
            }
        }
    }

    /// The body with this entity tag, if there was one at any time.
    pub(super) fn body_of(&self, etag: &str) -> Option<Vec<u8>> {
        let models = self.log.iter().rev();
        let mut versions = models.flat_map(|model| {
            let keys = model.buckets.values().flat_map(|bucket| bucket.keys.values());
            keys.flatten().filter_map(|version| version.content.as_ref())
        });
        versions.find(|content| content.etag == etag).map(Content::body)
    }

    /// The answers of an operation that has not committed, at each moment since its begin.
    fn expected(&self, state: &State, now_ms: u64) -> Vec<Expected> {
        let mut all: Vec<Expected> = Vec::new();
        for model in &self.log[state.begun..] {
            for now_ms in [now_ms, state.facts.begun_ms.saturating_sub(BEHIND_MS)] {
                let mut after = Model::clone(model);
                let forgets = Vec::new();
                let facts = Facts { now_ms, forgets, ..state.facts.clone() };
                let expected = after.apply(&state.op, &facts);
                let is_nothing = after == **model || matches!(expected, Answer::Refused(_));
                if is_nothing && !all.contains(&expected) {
                    all.push(expected);
                }
            }
        }
        all
    }

    fn explains(&self, expected: &Expected, found: &Answer<FoundVersion>) -> bool {
        expected.shape() == found.shape()
            && pairs(expected, found).iter().all(|(made, found)| self.fits(made, found))
    }

    fn fits(&self, made: &Made, found: &FoundVersion) -> bool {
        let (from_ms, to_ms) = made.at_ms;
        let is_of_its_time =
            found.modified_ms.is_none_or(|at| at + BEHIND_MS >= from_ms && at <= to_ms);
        is_of_its_time
            && match (made.is_null, self.ids.get(&made.by)) {
                (true, _) => found.id.is_null(),
                (false, Some(id)) => found.id == *id,
                (false, None) => {
                    !found.id.is_null() && !self.ids.values().any(|id| *id == found.id)
                }
            }
    }
}

/// `true` if one of these keys is that of the object of a bucket that may end.
fn expires(bucket: u32, keys: &[&[u8]]) -> bool {
    let place = [&bucket.to_be_bytes()[..], KEYS[EXPIRING].as_bytes()].concat();
    keys.iter().any(|key| key.windows(place.len()).any(|window| window == place))
}

/// The versions of both, in the same order.
fn pairs(expected: &Expected, found: &Answer<FoundVersion>) -> Vec<(Made, FoundVersion)> {
    let versions = expected.versions().into_iter().cloned();
    versions.zip(found.versions().into_iter().copied()).collect()
}
