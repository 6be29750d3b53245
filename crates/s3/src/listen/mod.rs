//! MinIO's stream of events: `GET /BUCKET?events=…` and `GET /?events=…`, as `mc watch`, `mc mirror --watch` and
//! MinIO's SDKs ask for it.
//!
//! ```text
//! commit ──► store: EventObserver ──► Mailbox (filter, bounded) ──► one line of JSON for each event, when the client takes it
//! ```
//!
//! Nothing is kept for a client that is not connected, and one that reads too slowly is disconnected. Only events of
//! this process are told, so servers of a cluster refuse the request. The sender's rights are decided again with
//! each ping, and before events if the last decision is ten seconds old.

mod mailbox;
mod wanted;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Response};
use http_body::{Body, Frame};
use liteio_store::Observing;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use tokio::time::{Instant, sleep_until};

use self::mailbox::{Heard, Mailbox};
use self::wanted::{Ping, Scope, Wanted};
use super::access::{self, Permission};
use super::context::Sent;
use super::route::{Route, Target};
use liteio_access::listeners::Seat;
use liteio_access::state::App;
use liteio_wire::reply::{BoxError, ReplyBody};

/// The operations that this module answers.
pub(super) fn is_for(route: &Route) -> bool {
    matches!(route.operation, "ListenBucketNotification" | "ListenNotification")
}

/// Answers with a body that has no end.
pub(super) async fn answer(
    app: &Arc<App>,
    head: &Parts,
    route: &'static Route,
    target: &Target,
) -> S3Result<Response<ReplyBody>> {
    let permission = access::of_request(app, Sent::head(head), route, target).await?;
    let (scope, sender) = match permission {
        Permission::Bucket(granted) => {
            let owner = granted.bucket().owner.id.clone();
            let bucket = Some(granted.bucket().name.as_str().to_owned());
            (Scope { bucket, owner }, granted.principal_id().unwrap_or_default().to_owned())
        }
        Permission::Account(granted) => {
            let owner = granted.owner().id;
            (Scope { bucket: None, owner: owner.clone() }, owner)
        }
    };
    let wanted = Wanted::of(Sent::head(head).query())?;
    if app.ask(|store| store.cluster_figures().is_some()) {
        return Err(S3Error::with_message(
            S3ErrorCode::NotImplemented,
            "Servers of a cluster know only their own events: send them to a webhook instead.",
        ));
    }
    let too_many = || s3_error!(SlowDown, "Too many clients listen to events.");
    let seat = app.listeners.join(&sender).ok_or_else(too_many)?;
    let ping = wanted.ping.clone();
    let mailbox = Arc::new(Mailbox::new(scope, wanted, app.region.clone()));
    let listening = Listening {
        _observing: app.ask(|store| store.observe_events(Arc::clone(&mailbox) as _)),
        feed: Feed { mailbox, seat, decided: Instant::now() },
        app: Arc::clone(app),
        head: Parts::clone(head),
        route,
        target: target.clone(),
    };
    let lines = unfold(Some(listening), move |listening| {
        let ping = ping.clone();
        async move { listening?.next(&ping).await }
    });
    let mut response = Response::new(ReplyBody::stream(Lines(Box::pin(lines))));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// A request that listens.
struct Listening {
    feed: Feed,
    /// Events are told while it lives.
    _observing: Observing,
    app: Arc<App>,
    head: Parts,
    route: &'static Route,
    target: Target,
}

/// The events for the sender of a request.
struct Feed {
    mailbox: Arc<Mailbox>,
    seat: Seat,
    /// Time of the last decision about the sender.
    decided: Instant,
}

/// Longest time for which a decision about the sender holds.
const DECISION_INTERVAL: Duration = Duration::from_secs(10);

type Line = Result<Bytes, BoxError>;

impl Listening {
    /// The next line, and the state after it; nothing at the end.
    async fn next(mut self, ping: &Ping) -> Option<(Line, Option<Listening>)> {
        let still_holds = access::still_holds(&self.app, &mut self.head, self.route, &self.target);
        let line = self.feed.next(ping, still_holds).await?;
        let goes_on = line.is_ok();
        Some((line, goes_on.then_some(self)))
    }
}

impl Feed {
    /// The next line; nothing at the end. `still_holds` decides about the sender again.
    async fn next(&mut self, ping: &Ping, still_holds: impl Future<Output = bool>) -> Option<Line> {
        let silent_until = Instant::now() + ping.interval;
        let (line, is_ping) = tokio::select! {
            biased;
            () = self.seat.over() => return None,
            heard = self.mailbox.next() => match heard {
                Heard::Lines(lines) => (lines, false),
                Heard::TooSlow => {
                    // Without an error, the client would take the stream for complete.
                    return Some(Err("events were lost: the client reads too slowly".into()));
                }
            },
            () = sleep_until(silent_until) => (Bytes::from_static(ping.bytes), true),
        };
        // Asked behind the wait, which may have been longer than a decision holds.
        if is_ping || self.decided.elapsed() >= DECISION_INTERVAL {
            self.decided = Instant::now();
            if !still_holds.await {
                return None;
            }
        }
        Some(Ok(line))
    }
}

/// The body of lines.
struct Lines(Pin<Box<dyn Stream<Item = Line> + Send>>);

impl Body for Lines {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.as_mut().poll_next(context).map(|line| line.map(|line| line.map(Frame::data)))
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use liteio_access::listeners::Listeners;
    use liteio_store::EventObserver as _;

    use super::mailbox::tests::{event, mailbox};
    use super::*;

    #[tokio::test]
    async fn events_after_a_silence_are_not_told_by_an_old_decision() {
        let (listeners, mailbox) = (Listeners::default(), Arc::new(mailbox(None)));
        let seat = listeners.join("owner").expect("a place");
        let mut feed = Feed { mailbox, seat, decided: Instant::now() };
        let ping = Ping { interval: Duration::from_secs(3600), bytes: b" " };
        feed.mailbox.told(&event("a", "owner", "in/x"));
        let line = feed.next(&ping, ready(false)).await;
        assert!(matches!(line, Some(Ok(_))), "the decision is new");
        for still_holds in [true, false] {
            let old = Instant::now().checked_sub(DECISION_INTERVAL);
            feed.decided = old.expect("a machine that runs for longer");
            feed.mailbox.told(&event("a", "owner", "in/x"));
            let line = feed.next(&ping, ready(still_holds)).await;
            assert_eq!(matches!(line, Some(Ok(_))), still_holds);
            assert!(feed.decided.elapsed() < DECISION_INTERVAL);
        }
    }
}
