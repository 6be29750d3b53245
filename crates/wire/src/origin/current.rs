//! The request that the current task answers, for lines of the log about failures.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use super::Origin;

tokio::task_local! {
    static CURRENT: Option<Arc<Origin>>;
}

/// Polls `answer` as a part of the answer to the request of `origin`.
pub(crate) fn answering<F: Future>(
    origin: Arc<Origin>,
    answer: F,
) -> impl Future<Output = F::Output> {
    CURRENT.scope(Some(origin), answer)
}

/// Runs `step` as a part of the answer to the request of `origin`.
pub(crate) fn answering_now<T>(origin: &Arc<Origin>, step: impl FnOnce() -> T) -> T {
    CURRENT.sync_scope(Some(Arc::clone(origin)), step)
}

/// `step` for another thread, as a part of the answer to the current task's request.
pub fn carried<T>(step: impl FnOnce() -> T) -> impl FnOnce() -> T {
    // None for work of no request.
    let origin = CURRENT.try_with(Option::clone).ok().flatten();
    move || CURRENT.sync_scope(origin, step)
}

/// Logs a failure of the server, with the id and the names that the access log has of the current task's request.
///
/// Errors become answers far from the head of the request, where only the cause is known. But an operator searches the log by
/// the id that a user tells, and needs the name of the object to restore it. The query is left out: it may have secrets.
pub fn log_failure(what: &str, error: &dyn Display) {
    let origin = CURRENT.try_with(Option::clone).ok().flatten();
    if let Some(origin) = &origin {
        let (bucket, index) = origin.bucket_and_index();
        tracing::error!(
            id = %origin.ids.request_id(),
            operation = origin.found.operation(),
            bucket,
            index,
            key = origin.target.key(),
            %error,
            "{what}"
        );
    } else {
        // Work of no request, or of a task of its own.
        tracing::error!(%error, "{what}");
    }
}
