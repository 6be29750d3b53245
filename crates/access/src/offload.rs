//! The only way to blocking threads. The store is synchronous: work that may wait for the disk goes
//! through here; work that memory can answer does not.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// Maximum number of concurrent jobs on blocking threads. Concurrent writers share one sync, so
/// many must be able to wait together; each holds a thread of a few dozen KiB. The number stays
/// below tokio's own limit of 512, above which it queues without bound.
pub(crate) const OFFLOAD_JOBS_MAX: usize = 256;

/// The error of a job that did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OffloadError {
    /// The job panicked. Its work may be half done.
    #[error("a job on a blocking thread panicked")]
    Panicked,
    /// The runtime is shutting down; the job never started.
    #[error("the server is stopping")]
    Stopping,
}

/// Runs work on blocking threads, a bounded number at a time. Clones share the bound.
#[derive(Clone, Debug)]
pub struct Offload {
    jobs: Arc<Semaphore>,
}

impl Default for Offload {
    fn default() -> Offload {
        Offload::new(OFFLOAD_JOBS_MAX)
    }
}

impl Offload {
    /// At most `jobs_max` jobs at a time; further ones wait.
    pub fn new(jobs_max: usize) -> Offload {
        Offload { jobs: Arc::new(Semaphore::new(jobs_max)) }
    }

    /// Runs `job` on a blocking thread. Dropping the future does not stop a job that has started.
    ///
    /// # Errors
    /// [`OffloadError`] when the job panicked or never started.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, OffloadError> {
        let permit = Arc::clone(&self.jobs).acquire_owned().await;
        let permit = permit.map_err(|_| OffloadError::Stopping)?;
        on_thread(permit, job).await.map_err(|error| match error.is_panic() {
            true => OffloadError::Panicked,
            false => OffloadError::Stopping,
        })
    }

    /// Starts `job` on a blocking thread, now or once there is room, without waiting. It may be
    /// dropped unstarted when the runtime shuts down.
    pub fn start(&self, job: impl FnOnce() + Send + 'static) {
        if let Ok(permit) = Arc::clone(&self.jobs).try_acquire_owned() {
            on_thread(permit, job);
            return;
        }
        let jobs = Arc::clone(&self.jobs);
        tokio::spawn(async move {
            if let Ok(permit) = jobs.acquire_owned().await {
                on_thread(permit, job);
            }
        });
    }
}

fn on_thread<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    job: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    tokio::task::spawn_blocking(move || {
        // Held by the thread, not by the waiting future, which may be dropped first.
        let _permit = permit;
        job()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn no_more_jobs_than_allowed_run_at_a_time() {
        let offload = Offload::new(2);
        let running = Arc::new(AtomicUsize::new(0));
        let jobs = (0..32).map(|job| {
            let (offload, running) = (offload.clone(), Arc::clone(&running));
            async move {
                let count = offload.run(move || {
                    let count = running.fetch_add(1, Ordering::SeqCst) + 1;
                    std::thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                    (job, count)
                });
                count.await.expect("the job runs")
            }
        });
        let counts = futures_util::future::join_all(jobs).await;
        assert_eq!(counts.len(), 32);
        assert!(counts.iter().all(|(_, count)| *count <= 2), "{counts:?}");
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_frees_its_place() {
        let offload = Offload::new(1);
        let panicked = offload.run(|| assert!(std::hint::black_box(false), "on purpose")).await;
        assert_eq!(panicked, Err(OffloadError::Panicked));
        assert_eq!(offload.run(|| 7).await, Ok(7));
    }
}
