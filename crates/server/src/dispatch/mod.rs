//! Dispatches requests to the operational routes or to a space. No other module knows that there
//! are several services.

mod details;
mod health;
mod operational;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Empty;
use liteio_store::StoreError;

use self::health::Judge;
use crate::agreement::Agreement;
use crate::backup::{Copies, Pair};
use crate::spaces::Spaces;
use liteio_access as access;
use liteio_admin::console::browser;
use liteio_admin::metrics::Counters;
use liteio_admin::operational::{Claim, Health, Operational, Way};
use liteio_iam as iam;
use liteio_iam::settings::SignInSettings;
use liteio_observe::delivery::Follower;
use liteio_observe::trace::Tracer;
use liteio_s3 as s3;
use liteio_s3vectors as vectors;
use liteio_tables as tables;
use liteio_wire::budget::Budget;
use liteio_wire::front::body::RequestBody;
use liteio_wire::front::{
    Allowance, Handler, HandlerFuture, Isolate, Observer, Observers, Plan, Planned,
};
use liteio_wire::origin::Origin;
use liteio_wire::pinned::pin_in;
use liteio_wire::reply::{self, ApiError};

/// Seconds since a standby last had everything that the backup has, on each of its answers.
const BEHIND: HeaderName = HeaderName::from_static("x-liteio-behind");

/// The handler behind the HTTP front end.
#[derive(Clone)]
pub(crate) struct Dispatch {
    spaces: Spaces,
    operational: Arc<Operational>,
    tracer: Arc<Tracer>,
    counters: Arc<Counters>,
    observers: Observers,
    followers: Arc<[Arc<dyn Follower>]>,
    health: Arc<Health>,
    judge: Arc<Judge>,
    copies: Option<Arc<Copies>>,
    /// The other servers; `None` for a server that is alone.
    agreement: Option<Arc<Agreement>>,
    /// The backup of the main space, or its standby.
    pair: Arc<Pair>,
    /// If the console is enabled, objects share the origin of its pages.
    console: Arc<ConsoleSettings>,
    stopping: Arc<AtomicBool>,
}

/// The settings of the console.
pub(crate) struct ConsoleSettings {
    /// It is there.
    pub(crate) is_on: bool,
    /// The sign-in by an issuer.
    pub(crate) sign_in: Option<SignInSettings>,
}

impl Dispatch {
    /// Creates the handler for these spaces, with followers of every request, and the backup and the
    /// copies of the main space.
    pub(crate) fn new(
        spaces: Spaces,
        followers: Vec<Arc<dyn Follower>>,
        pair: Arc<Pair>,
        copies: Option<Copies>,
        console: ConsoleSettings,
    ) -> Dispatch {
        let followers: Arc<[_]> = followers.into();
        let stopping = Arc::new(AtomicBool::new(false));
        let judge = Arc::new(Judge::new(&spaces, &stopping, &followers, &pair));
        let tracer = Arc::new(Tracer::default());
        let others = vectors::operation_names()
            .chain(iam::operation_names())
            .chain(tables::operation_names());
        let counters = Arc::new(Counters::new(s3::operation_names(), others));
        let health = health::of(&judge, &counters);
        counters.watch_followers(&followers);
        let mut observers: Vec<Arc<dyn Observer>> =
            vec![Arc::clone(&counters) as _, Arc::clone(&tracer) as _];
        for follower in &*followers {
            follower.start();
            observers.push(Arc::clone(follower) as _);
        }
        observers.extend(spaces.observer());
        let health = Arc::new(health);
        let shown = (&health, &tracer, &counters, &pair);
        let operational = operational::of(shown, &spaces.main(), &console);
        let agreement = Agreement::of(&spaces.main()).map(Arc::new);
        Dispatch {
            operational: Arc::new(operational),
            spaces,
            tracer,
            counters,
            observers: observers.into(),
            followers,
            health,
            judge,
            copies: copies.map(Arc::new),
            agreement,
            pair,
            console: Arc::new(console),
            stopping,
        }
    }

    /// The counters of the metrics.
    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Describes the readiness in a few words each time it is called, for the service manager.
    pub(crate) fn condition(&self) -> Arc<dyn Fn() -> String + Send + Sync> {
        let judge = Arc::clone(&self.judge);
        Arc::new(move || judge.condition())
    }

    /// True for a browser that opens the server's root instead of the console.
    fn is_for_console(&self, head: &Parts, origin: &Origin) -> bool {
        self.console.is_on
            && !origin.target.is_site()
            && origin.target.host_bucket().is_none()
            && browser::looks_for_console(head)
    }

    /// The isolation of an answer that shares the console's origin.
    fn isolation(&self, head: &Parts, origin: &Origin) -> Option<Isolate> {
        (self.console.is_on && !origin.target.is_site()).then(|| browser::isolation(head)).flatten()
    }

    /// The processing path of an operational request with a borrowed path, over which an existing
    /// bucket takes precedence.
    async fn borrowed_way(&self, way: Way, origin: &Origin) -> Option<Way> {
        let (space, bucket) = (self.spaces.main(), origin.target.bucket());
        let found = space.app.look(|store| access::bucket_for_rules(store, bucket)).await;
        found.is_err().then_some(way)
    }
}

impl Dispatch {
    /// Answers a request, without the headers of a standby.
    fn answer(
        &self,
        request: Request<RequestBody>,
        origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture {
        let (head, body) = request.into_parts();
        let claim = Operational::claim(&head, &origin.target);
        let is_health = claim.as_ref().is_some_and(|claim| matches!(claim.way, Way::Health));
        if let Some(agreement) = self.agreement.as_ref().filter(|_| !is_health) {
            let (this, origin, agreement) =
                (self.clone(), Arc::clone(origin), Arc::clone(agreement));
            let reads = matches!(head.method, Method::GET | Method::HEAD);
            return Box::pin(async move {
                let ahead = agreement.reach(&origin, !reads).await?;
                let answer = this.answer_claimed(claim, head, body, &origin, allowance);
                let reply = match ahead {
                    Some(ahead) => ahead.around(answer).await,
                    None => answer.await,
                };
                agreement.settle().await;
                reply
            });
        }
        self.answer_claimed(claim, head, body, origin, allowance)
    }

    /// Answers a request that the operational routes claim, or not.
    fn answer_claimed(
        &self,
        claim: Option<Claim>,
        head: Parts,
        body: RequestBody,
        origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture {
        match claim {
            Some(Claim { way, is_borrowed: true }) => {
                let (this, origin) = (self.clone(), Arc::clone(origin));
                Box::pin(async move {
                    let way = this.borrowed_way(way, &origin).await;
                    this.answer_by(way, head, body, &origin, allowance).await
                })
            }
            claim => self.answer_by(claim.map(|claim| claim.way), head, body, origin, allowance),
        }
    }

    /// Answers an operational request by its path, any other without one.
    fn answer_by(
        &self,
        way: Option<Way>,
        head: Parts,
        body: RequestBody,
        origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture {
        let origin = Arc::clone(origin);
        let is_for_console = way.is_none() && self.is_for_console(&head, &origin);
        let shown = Arc::clone(&self.operational);
        let spaces = &self.spaces;
        match way {
            Some(Way::Health) => {
                origin.found.note_health();
                let request = Request::from_parts(head, Empty::new());
                Box::pin(async move { shown.call(request).await })
            }
            Some(Way::Operator) => {
                let request = Request::from_parts(head, body);
                #[cfg(feature = "testkit")]
                if let Some(tests) = spaces.test_api(&origin) {
                    origin.found.note_routine();
                    return Box::pin(async move { tests.operate(request, &origin).await });
                }
                let space = spaces.main();
                // A reset replaces the space that the routes were created for, so the current one
                // is looked up each time.
                let shown = if spaces.can_be_replaced() {
                    let of_server = (&self.health, &self.tracer, &self.counters, &self.pair);
                    Arc::new(operational::of(of_server, &space, &self.console))
                } else {
                    shown
                };
                Box::pin(async move {
                    let reply =
                        operational::operate(&shown, &space, request, &origin, &allowance).await;
                    reply.map_err(|error| Operational::refusal(origin.target.path(), error))
                })
            }
            None if is_for_console => Box::pin(async { browser::to_console() }),
            None => {
                let spaces = spaces.clone();
                pin_in(Box::new_uninit(), async move {
                    spaces.call(Request::from_parts(head, body), &origin, &allowance).await
                }) as _
            }
        }
    }
}

impl Dispatch {
    /// The plan of an operational request by its path, of any other without one.
    fn plan_by(&self, way: Option<Way>, head: &Parts, origin: &Origin) -> Plan {
        match way {
            // Exempt from the limits: the response must show that the server is overloaded, not
            // dead.
            Some(Way::Health) => return Plan { exempt: true, ..Plan::default() },
            Some(Way::Operator) => return Plan { held: true, ..Plan::default() },
            None => {}
        }
        let target = &origin.target;
        if target.is_site() {
            return Plan::default();
        }
        let form = self.spaces.main().is_form_upload(head, origin);
        let held = s3::holds_body(head, target.names_key()) || tables::holds_body(head);
        let held = !form && held;
        Plan { held, form, isolate: self.isolation(head, origin), ..Plan::default() }
    }
}

/// The headers of every answer of a standby, and of refusals by a primary that has lost its lease.
fn pair_headers(pair: &Pair, status: StatusCode) -> Option<HeaderMap> {
    let behind = pair.standby_state();
    let behind = behind.map(|state| (BEHIND, HeaderValue::from(state.behind.as_secs())));
    let is_refused = status == StatusCode::SERVICE_UNAVAILABLE;
    let retry = is_refused.then(|| (RETRY_AFTER, HeaderValue::from_static("1")));
    let headers: HeaderMap = behind.into_iter().chain(retry).collect();
    (!headers.is_empty()).then_some(headers)
}

impl Handler for Dispatch {
    fn plan<'h>(&'h self, head: &'h Parts, origin: &'h Origin) -> Planned<'h> {
        match Operational::claim(head, &origin.target) {
            Some(Claim { way, is_borrowed: true }) => Planned::Later(Box::pin(async move {
                let way = self.borrowed_way(way, origin).await;
                self.plan_by(way, head, origin)
            })),
            claim => Planned::Now(self.plan_by(claim.map(|claim| claim.way), head, origin)),
        }
    }

    fn call(
        &self,
        request: Request<RequestBody>,
        origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture {
        let answer = self.answer(request, origin, allowance);
        if !self.pair.is_told() {
            return answer;
        }
        let pair = Arc::clone(&self.pair);
        Box::pin(async move {
            let reply = answer.await;
            let status = reply.as_ref().map_or_else(ApiError::status, Response::status);
            reply::with_headers(reply, pair_headers(&pair, status))
        })
    }

    fn observers(&self) -> Observers {
        Arc::clone(&self.observers)
    }

    fn watch_budget(&self, budget: &Arc<Budget>) {
        self.counters.watch_budget(budget);
    }

    fn scrub(&self) {
        self.spaces.main().app.store.scrub_now();
    }

    fn reload(&self) {
        self.spaces.main().users.read_again();
        self.followers.iter().for_each(|follower| follower.reopen());
        // The lines before tell of files. Settings are read once: an edited file of variables must not look applied.
        tracing::info!(
            "flags and variables, such as LITEIO_SECRET_KEY, are not read again: they need a restart"
        );
    }

    fn stop(&self) {
        self.tracer.stop();
        self.spaces.main().app.listeners.end();
        self.spaces.stop();
        self.stopping.store(true, Ordering::Relaxed);
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let space = self.spaces.main();
            space.senders.stop();
            space.replicators.stop();
            space.tiering.stop();
            for follower in &*self.followers {
                follower.close().await;
            }
            // After the last request, and before the store is closed, which takes the last log lines.
            space.reports.close().await;
            space.maintenance.close().await;
            // After the last write, and before the store is closed, which the backup reads.
            if let Some(copies) = &self.copies {
                copies.stop().await;
            }
            self.pair.stop().await;
            let closed = space.app.blocking(|store| -> Result<(), StoreError> {
                store.close();
                Ok(())
            });
            if let Err(error) = closed.await {
                tracing::error!(%error, "the store was not closed");
            }
        })
    }
}
