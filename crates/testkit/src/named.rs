//! [`Named`]: the spaces other than the main one, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::StatusCode;
use parking_lot::RwLock;

use super::guard::bad_request;
use liteio_wire::reply::{ApiError, Dialect};

/// Limit of such spaces. Each has its own threads and store.
const SPACES_MAX: usize = 1000;

/// Spaces by name.
#[derive(Debug)]
pub(super) struct Named<T>(RwLock<BTreeMap<String, Arc<T>>>);

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(RwLock::default())
    }
}

impl<T> Named<T> {
    /// Rejects a name that is taken, and a space beyond the limit. Called before a space is
    /// created, to save the work.
    ///
    /// # Errors
    /// 409 or 400.
    pub(super) fn check_room(&self, name: &str) -> Result<(), ApiError> {
        check_room(&self.0.read(), name)
    }

    /// Adds a space. Checks again under the same lock as the insertion: of concurrent requests with
    /// one name, all but the first fail.
    ///
    /// # Errors
    /// As [`Named::check_room`].
    pub(super) fn add(&self, name: &str, space: Arc<T>) -> Result<(), ApiError> {
        let mut spaces = self.0.write();
        check_room(&spaces, name)?;
        spaces.insert(name.to_owned(), space);
        Ok(())
    }

    pub(super) fn remove(&self, name: &str) -> Option<Arc<T>> {
        self.0.write().remove(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<T>> {
        self.0.read().get(name).cloned()
    }

    /// The first space by name that `fits` accepts.
    pub(super) fn find(&self, fits: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        self.0.read().values().find(|space| fits(space)).cloned()
    }

    /// All spaces, sorted by name.
    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.0.read().values().cloned().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }
}

fn check_room<T>(spaces: &BTreeMap<String, T>, name: &str) -> Result<(), ApiError> {
    if spaces.contains_key(name) {
        let message = format!("There is a space {name:?}: choose another name, or delete it.");
        let status = StatusCode::CONFLICT;
        return Err(ApiError::with_status(Dialect::S3, "SpaceAlreadyExists", status, message));
    }
    match spaces.len() >= SPACES_MAX {
        true => Err(bad_request(format!("There are {SPACES_MAX} spaces: delete one first."))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    const THREADS: usize = 4;

    #[test]
    fn of_those_who_add_a_name_at_once_one_is_told_that_it_did() {
        let named = Named::default();
        let barrier = Barrier::new(THREADS);
        for round in 0..SPACES_MAX {
            let name = round.to_string();
            let add = |number: usize| {
                barrier.wait();
                named.add(&name, Arc::new(number)).is_ok().then_some(number)
            };
            let told: Vec<usize> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..THREADS).map(|number| scope.spawn(move || add(number))).collect();
                threads.into_iter().filter_map(|it| it.join().expect("no panic")).collect()
            });
            assert_eq!(told, [*named.get(&name).expect("added")]);
        }
        assert!(named.check_room("another").is_err(), "there are as many as there may be");
        assert!(named.remove("7").is_some() && named.remove("7").is_none());
        assert!(named.check_room("another").is_ok() && named.check_room("8").is_err());
    }
}
