//! A pool with a limited number of tasks.

use std::future::Future;

use tokio::task::{JoinError, JoinSet};

/// A pool of tasks, which end with it.
pub(crate) struct Pool<T> {
    tasks: JoinSet<T>,
    limit: usize,
}

impl<T: Send + 'static> Pool<T> {
    pub(crate) fn new(limit: usize) -> Pool<T> {
        Pool { tasks: JoinSet::new(), limit }
    }

    /// The result of a finished task. While the pool is full, it waits for one. To be called before
    /// a task is added, until it returns `None`.
    pub(crate) async fn room(&mut self) -> Option<T> {
        if self.tasks.len() >= self.limit {
            return self.next().await;
        }
        match self.tasks.try_join_next() {
            Some(result) => Some(value(result).await),
            None => None,
        }
    }

    pub(crate) fn add(&mut self, task: impl Future<Output = T> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// The result of the next task that finishes; `None` if none is left.
    pub(crate) async fn next(&mut self) -> Option<T> {
        match self.tasks.join_next().await {
            Some(result) => Some(value(result).await),
            None => None,
        }
    }
}

async fn value<T>(result: Result<T, JoinError>) -> T {
    match result {
        Ok(value) => value,
        // The program is ending, and this future with it.
        Err(error) if error.is_cancelled() => std::future::pending().await,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
