//! [`SimulatedTarget`]: a target in memory that fails on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::name::{check, check_object};
use super::{Listed, PutMode, Target, TargetError};

/// A target in memory. Clones share their state. What it does depends on the calls only.
///
/// ```
/// use bytes::Bytes;
/// use liteio_backup::target::{PutMode, SimulatedTarget, Target, TargetError};
///
/// let target = SimulatedTarget::new();
/// target.lose_answers(1);
/// let lost = target.put("a", Bytes::from_static(b"1"), PutMode::New);
/// assert!(matches!(lost, Err(TargetError::Broken(_))));
/// assert_eq!(target.get("a")?, "1");
/// # Ok::<(), TargetError>(())
/// ```
#[derive(Clone, Default)]
pub struct SimulatedTarget {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug, Default)]
struct State {
    objects: BTreeMap<String, Bytes>,
    operations: u64,
    /// Calls that are fulfilled before all others break; `None` for no such limit.
    left: Option<u64>,
    /// The reason why all calls are refused.
    refusal: Option<String>,
    /// Puts that are fulfilled, and whose answers are lost.
    lost_answers: u64,
    /// Objects that cannot be read.
    unreadable: BTreeSet<String>,
}

impl SimulatedTarget {
    /// An empty target that works.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fulfils the next `operations` calls, and answers all later ones with [`TargetError::Broken`]: they
    /// change nothing.
    pub fn fail_after(&self, operations: u64) {
        self.state.lock().left = Some(operations);
    }

    /// Answers all calls with [`TargetError::Refused`].
    pub fn refuse(&self, reason: &str) {
        self.state.lock().refusal = Some(reason.to_owned());
    }

    /// Fulfils the next `puts` puts that would succeed, but answers them with [`TargetError::Broken`].
    pub fn lose_answers(&self, puts: u64) {
        self.state.lock().lost_answers = puts;
    }

    /// Answers reads of an object with [`TargetError::Unreadable`].
    pub fn fail_reads_of(&self, name: &str) {
        self.state.lock().unreadable.insert(name.to_owned());
    }

    /// Ends everything that [`Self::fail_after`], [`Self::refuse`], [`Self::lose_answers`] and [`Self::fail_reads_of`] began.
    pub fn recover(&self) {
        let mut state = self.state.lock();
        (state.left, state.refusal, state.lost_answers) = (None, None, 0);
        state.unreadable.clear();
    }

    /// An independent target with the same objects, which works.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let objects = self.state.lock().objects.clone();
        Self { state: Arc::new(Mutex::new(State { objects, ..State::default() })) }
    }

    /// Number of calls so far: puts, gets, listings and deletions, fulfilled or not.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// Names of all objects, in their order. This is no operation.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.state.lock().objects.keys().cloned().collect()
    }
}

impl State {
    /// Begins an operation.
    fn begin(&mut self) -> Result<(), TargetError> {
        self.operations += 1;
        if let Some(reason) = &self.refusal {
            return Err(TargetError::Refused(reason.clone()));
        }
        match &mut self.left {
            Some(0) => Err(broken()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

fn broken() -> TargetError {
    TargetError::Broken("the simulated target does not answer".to_owned())
}

impl Target for SimulatedTarget {
    fn put(&self, name: &str, bytes: Bytes, mode: PutMode) -> Result<(), TargetError> {
        check_object(name, &bytes)?;
        let mut state = self.state.lock();
        state.begin()?;
        if mode == PutMode::New && state.objects.contains_key(name) {
            return Err(TargetError::exists(name));
        }
        state.objects.insert(name.to_owned(), bytes);
        if state.lost_answers > 0 {
            state.lost_answers -= 1;
            return Err(broken());
        }
        Ok(())
    }

    fn swap(&self, name: &str, old: Option<&Bytes>, bytes: Bytes) -> Result<(), TargetError> {
        check_object(name, &bytes)?;
        let mut state = self.state.lock();
        state.begin()?;
        match (state.objects.get(name), old) {
            (Some(found), _) if *found == bytes => return Ok(()),
            (Some(found), Some(old)) if found == old => {}
            (None, None) => {}
            (Some(_), _) => return Err(TargetError::exists(name)),
            (None, Some(_)) => return Err(TargetError::not_found(name)),
        }
        state.objects.insert(name.to_owned(), bytes);
        if state.lost_answers > 0 {
            state.lost_answers -= 1;
            return Err(broken());
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Result<Bytes, TargetError> {
        check(name)?;
        let mut state = self.state.lock();
        state.begin()?;
        if state.unreadable.contains(name) {
            return Err(TargetError::Unreadable {
                name: name.to_owned(),
                reason: "the simulated target cannot read it".to_owned(),
                request_id: None,
            });
        }
        state.objects.get(name).cloned().ok_or_else(|| TargetError::not_found(name))
    }

    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        found: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let listed: Vec<Listed> = {
            let mut state = self.state.lock();
            state.begin()?;
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            let objects = state.objects.range::<str, _>((from, Bound::Unbounded));
            let objects = objects.filter(|(name, _)| name.starts_with(prefix));
            objects
                .map(|(name, it)| Listed { name: name.clone(), bytes: it.len() as u64 })
                .collect()
        }; // Unlocked: `found` may call this target.
        let _ = listed.into_iter().try_for_each(found);
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), TargetError> {
        check(name)?;
        let mut state = self.state.lock();
        state.begin()?;
        state.objects.remove(name);
        Ok(())
    }

    fn shown(&self) -> String {
        "memory:".to_owned()
    }
}

impl fmt::Debug for SimulatedTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = self.state.lock().objects.len();
        formatter.debug_struct("SimulatedTarget").field("objects", &objects).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::contract;

    const ONE: Bytes = Bytes::from_static(b"1");

    #[test]
    fn a_simulated_target_keeps_the_contract() {
        contract::target_contract(&SimulatedTarget::new());
    }

    #[test]
    fn failures_begin_and_end_when_told() {
        let target = SimulatedTarget::new();
        target.fail_after(1);
        target.put("a", ONE, PutMode::New).expect("the last that is fulfilled");
        assert_eq!(target.put("b", ONE, PutMode::New), Err(broken()));
        assert_eq!(target.delete("a"), Err(broken()));
        target.recover();
        target.refuse("no right");
        assert_eq!(target.get("a"), Err(TargetError::Refused("no right".to_owned())));
        target.recover();
        assert_eq!(target.get("a"), Ok(ONE));
        assert_eq!(target.names(), ["a"]);
        assert_eq!(target.operations(), 5);
    }

    #[test]
    fn a_lost_answer_leaves_the_object() {
        let target = SimulatedTarget::new();
        target.lose_answers(1);
        assert_eq!(target.put("a", ONE, PutMode::New), Err(broken()));
        assert_eq!(target.put("a", ONE, PutMode::New), Err(TargetError::exists("a")));
        target.put("b", ONE, PutMode::New).expect("answered");
    }

    #[test]
    fn clones_share_and_snapshots_do_not() {
        let target = SimulatedTarget::new();
        let (shared, snapshot) = (target.clone(), target.snapshot());
        target.put("a", ONE, PutMode::New).expect("stored");
        assert_eq!(shared.get("a"), Ok(ONE));
        assert_eq!(snapshot.get("a"), Err(TargetError::not_found("a")));
    }
}
