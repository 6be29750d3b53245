//! The handler behind the front, as the front sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::HeaderMap;
use http::Request;
use http::request::Parts;

use super::allowance::Allowance;
use super::body::RequestBody;
use super::observer::Observers;
use crate::budget::Budget;
use crate::origin::Origin;
use crate::reply::Reply;

/// The future of [`Handler::call`].
pub type HandlerFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// A plan, at once or after a look into the store. Few requests need one, so that others pay for no
/// future.
pub enum Planned<'h> {
    /// Decided by the head alone.
    Now(Plan),
    /// To be waited for.
    Later(Pin<Box<dyn Future<Output = Plan> + Send + 'h>>),
}

/// The treatment of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// Always answered, whatever its head and the number of other requests. Its body is not read.
    pub exempt: bool,
    /// The whole body is held in memory, and charged accordingly. Other bodies pass through a
    /// window.
    pub held: bool,
    /// The body is a form, whose first fields authenticate the sender.
    pub form: bool,
    /// Completes the headers of every answer, errors included.
    pub isolate: Option<Isolate>,
}

/// Completes the headers of an answer so that a browser keeps it apart from other pages of the
/// server. It sees the content type of the object also for a 304, which is sent without one.
pub type Isolate = fn(&mut HeaderMap);

/// Everything behind the front.
///
/// The request has passed the checks of its head, and has its [`Origin`] in an `Arc` among its
/// extensions. Errors are returned as values; the front writes their documents.
pub trait Handler: Send + Sync + 'static {
    /// Decides how a request is treated.
    fn plan<'h>(&'h self, head: &'h Parts, origin: &'h Origin) -> Planned<'h> {
        let _ = (head, origin);
        Planned::Now(Plan::default())
    }

    /// Answers one request, within its memory.
    fn call(
        &self,
        request: Request<RequestBody>,
        origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture;

    /// The observers that are notified of every request.
    fn observers(&self) -> Observers {
        Observers::default()
    }

    /// Receives the budget of the front, for metrics.
    fn watch_budget(&self, budget: &Arc<Budget>) {
        let _ = budget;
    }

    /// Starts a search for damage, unless one is running.
    fn scrub(&self) {}

    /// Reloads the configuration files that may change at run time.
    fn reload(&self) {}

    /// Called when the server begins to stop; requests in flight are still answered.
    fn stop(&self) {}

    /// Called once, after the last request: makes everything durable and closes it.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

#[cfg(any(test, feature = "test-util"))]
impl<F, Answer> Handler for F
where
    F: Fn(Request<RequestBody>) -> Answer + Send + Sync + 'static,
    Answer: Future<Output = Reply> + Send + 'static,
{
    fn call(
        &self,
        mut request: Request<RequestBody>,
        _origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture {
        request.extensions_mut().insert(allowance);
        Box::pin(self(request))
    }
}
