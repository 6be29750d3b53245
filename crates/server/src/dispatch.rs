//! Dispatches requests to the operational routes or to a space. No other module knows that there
//! are several services.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Empty;
use liteio_store::{ListBuckets, Store, StoreError, StoreHealth};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::agreement::Agreement;
use crate::backup::{BackupState, Copies, Pair, StandbyState};
use crate::spaces::Spaces;
use liteio_access as access;
use liteio_access::state::App;
use liteio_admin::console::Console;
use liteio_admin::console::browser;
use liteio_admin::metrics::{BackupFigures, Counters, Metrics, ReportFigures, StandbyFigures};
use liteio_admin::minio::Admin;
use liteio_admin::operational::{Claim, Health, Operational, Readiness, Way};
use liteio_auth::{Identity, is_signed};
use liteio_iam as iam;
use liteio_iam::minio::Manager;
use liteio_iam::settings::SignInSettings;
use liteio_observe::delivery::Follower;
use liteio_observe::events::Senders;
use liteio_observe::trace::{Audience, Tracer};
use liteio_s3 as s3;
use liteio_s3vectors as vectors;
use liteio_space::Space;
use liteio_tables as tables;
use liteio_wire::budget::Budget;
use liteio_wire::front::body::RequestBody;
use liteio_wire::front::{
    Allowance, Handler, HandlerFuture, Isolate, Observer, Observers, Plan, Planned,
};
use liteio_wire::origin::{Moment, Origin};
use liteio_wire::reply::{self, ApiError, Reply};

/// Seconds since a standby last had everything that the backup has, on each of its answers.
const BEHIND: HeaderName = HeaderName::from_static("x-liteio-behind");

/// The future of a callback.
type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

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
        let readiness = {
            let (spaces, stopping) = (spaces.clone(), Arc::clone(&stopping));
            let logged = Mutex::default();
            let outbox = spaces.main().app.store.outbox_state();
            let lost_at_start = outbox.map_or(0, |outbox| outbox.lost());
            let (followers, pair) = (Arc::clone(&followers), Arc::clone(&pair));
            move || {
                let app = &spaces.main().app;
                // At once: everything else asks the database.
                let figures = app.store.cluster_figures();
                if let Some(reason) = figures.and_then(|it| it.suspended.or(it.blobs_failure)) {
                    return Readiness::NotReady(reason.into());
                }
                let ready = readiness(app, &stopping, &logged, lost_at_start, &followers);
                match (ready, app.store.suspended()) {
                    // A standby is ready for what it is there for.
                    (Readiness::Ready, Some(reason)) if pair.standby_state().is_none() => {
                        Readiness::Degraded(reason.to_string().into())
                    }
                    (ready, _) => ready,
                }
            }
        };
        let details = {
            let spaces = spaces.clone();
            let (followers, pair) = (Arc::clone(&followers), Arc::clone(&pair));
            move || -> Later<Map<String, Value>> {
                let space = spaces.main();
                let (followers, pair) = (Arc::clone(&followers), Arc::clone(&pair));
                Box::pin(async move {
                    let figures = space.app.store.cluster_figures();
                    if figures.is_some_and(|it| it.suspended.is_some()) {
                        return Map::new();
                    }
                    let mut told = details(&space.app, &space.senders).await;
                    told.extend(followers.iter().map(|it| (it.name().to_owned(), it.state())));
                    let backup = pair.backup_state().as_ref().map(backup_details);
                    told.extend(backup.map(|it| ("backup".to_owned(), it)));
                    let standby = pair.standby_state().as_ref().map(standby_details);
                    told.extend(standby.map(|it| ("standby".to_owned(), it)));
                    told
                })
            }
        };
        let has_buckets = {
            let spaces = spaces.clone();
            move || -> Later<bool> {
                let space = spaces.main();
                Box::pin(async move { space.app.look(has_buckets).await })
            }
        };
        let over = {
            let spaces = spaces.clone();
            move || spaces.main().app.store.cluster_figures().filter(|it| it.is_over)?.suspended
        };
        let health = Health::new(readiness, details, has_buckets).with_over(over);
        let tracer = Arc::new(Tracer::default());
        let others = vectors::operation_names()
            .chain(iam::operation_names())
            .chain(tables::operation_names());
        let counters = Arc::new(Counters::new(s3::operation_names(), others));
        let mut observers: Vec<Arc<dyn Observer>> =
            vec![Arc::clone(&counters) as _, Arc::clone(&tracer) as _];
        for follower in &*followers {
            follower.start();
            observers.push(Arc::clone(follower) as _);
        }
        observers.extend(spaces.observer());
        let health = Arc::new(health);
        let shown = (&health, &tracer, &counters, &pair);
        let operational = operational(shown, &spaces.main(), &console);
        let agreement = Agreement::of(&spaces.main()).map(Arc::new);
        Dispatch {
            operational: Arc::new(operational),
            spaces,
            tracer,
            counters,
            observers: observers.into(),
            followers,
            health,
            copies: copies.map(Arc::new),
            agreement,
            pair,
            console: Arc::new(console),
            stopping,
        }
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

/// State that all spaces share.
type Shared<'a> = (&'a Arc<Health>, &'a Arc<Tracer>, &'a Arc<Counters>, &'a Arc<Pair>);

/// Creates the operational routes over a space and the server-wide state.
fn operational(
    (health, tracer, counters, pair): Shared<'_>,
    space: &Arc<Space>,
    console: &ConsoleSettings,
) -> Operational {
    let (app, users) = (Arc::clone(&space.app), Arc::clone(&space.users));
    let manager = Manager::new(Arc::clone(&app), Arc::clone(&users));
    let audience = Audience::new(Arc::clone(tracer), Arc::clone(&app.directory));
    let admin = Admin::new(Arc::clone(&app), manager, audience.clone());
    let is_open = space.no_auth().is_some();
    let told = Arc::clone(space);
    let failing = move || told.senders.failing();
    let metrics = Metrics::new(Arc::clone(&app), Arc::clone(counters), failing);
    let reporting = Arc::clone(space);
    let metrics = metrics.with_reports(move || report_figures(reporting.reports.figures()));
    let pair = Arc::clone(pair);
    let metrics = metrics.with_backup(move || {
        let standby = pair.standby_state().as_ref().map(standby_figures);
        (pair.backup_state().as_ref().map(backup_figures), standby)
    });
    let sign_in = console.sign_in.clone().map(|settings| space.sign_in(settings));
    let console = console.is_on.then(|| Arc::new(Console::new(app, users, is_open, sign_in)));
    Operational::new(Arc::clone(health), audience, console).with_admin(admin).with_metrics(metrics)
}

/// Passes a request to the operational routes, with the sender's identity if it is signed.
async fn operate(
    operational: &Operational,
    space: &Space,
    request: Request<RequestBody>,
    origin: &Origin,
    allowance: &Allowance,
) -> Reply {
    // This also rejects a web page that reaches the server by DNS rebinding and sends a token.
    if let Some(no_auth) = space.no_auth() {
        no_auth.check(&request, |_| false)?;
    }
    let (mut head, body) = request.into_parts();
    // A bearer token is checked by the route that accepts it.
    let is_bearer = head.headers.get(AUTHORIZATION).is_some_and(|value| {
        value.as_bytes().get(..7).is_some_and(|it| it.eq_ignore_ascii_case(b"bearer "))
    });
    if is_bearer || space.no_auth().is_none() && !is_signed(&head) {
        head.extensions.insert(Identity::Anonymous);
        return operational.call(Request::from_parts(head, body)).await;
    }
    let request = Request::from_parts(head, body);
    let mut request = space.authenticated(request, origin, allowance).await?;
    request.extensions_mut().insert(Moment(space.app.now_unix_seconds()));
    operational.call(request).await
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
        let request = Request::from_parts(head, body);
        let is_health = claim.as_ref().is_some_and(|claim| matches!(claim.way, Way::Health));
        if let Some(agreement) = self.agreement.as_ref().filter(|_| !is_health) {
            let (this, origin, agreement) =
                (self.clone(), Arc::clone(origin), Arc::clone(agreement));
            let reads = matches!(*request.method(), Method::GET | Method::HEAD);
            return Box::pin(async move {
                let ahead = agreement.reach(&origin, !reads).await?;
                let answer = this.answer_claimed(claim, request, &origin, allowance);
                let reply = match ahead {
                    Some(ahead) => ahead.around(answer).await,
                    None => answer.await,
                };
                agreement.settle().await;
                reply
            });
        }
        self.answer_claimed(claim, request, origin, allowance)
    }

    /// Answers a request that the operational routes claim, or not.
    fn answer_claimed(
        &self,
        claim: Option<Claim>,
        request: Request<RequestBody>,
        origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture {
        match claim {
            Some(Claim { way, is_borrowed: true }) => {
                let (this, origin) = (self.clone(), Arc::clone(origin));
                Box::pin(async move {
                    let way = this.borrowed_way(way, &origin).await;
                    this.answer_by(way, request, &origin, allowance).await
                })
            }
            claim => self.answer_by(claim.map(|claim| claim.way), request, origin, allowance),
        }
    }

    /// Answers an operational request by its path, any other without one.
    fn answer_by(
        &self,
        way: Option<Way>,
        request: Request<RequestBody>,
        origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture {
        let (head, body) = request.into_parts();
        let origin = Arc::clone(origin);
        let is_for_console = way.is_none() && self.is_for_console(&head, &origin);
        let request = Request::from_parts(head, body);
        let shown = Arc::clone(&self.operational);
        let spaces = &self.spaces;
        match way {
            Some(Way::Health) => {
                origin.found.note_health();
                let request = request.map(|_| Empty::new());
                Box::pin(async move { shown.call(request).await })
            }
            Some(Way::Operator) => {
                #[cfg(feature = "testkit")]
                if let Some(tests) = spaces.test_api(&origin) {
                    return Box::pin(async move { tests.operate(request, &origin).await });
                }
                let space = spaces.main();
                // A reset replaces the space that the routes were created for, so the current one
                // is looked up each time.
                let shown = if spaces.can_be_replaced() {
                    let of_server = (&self.health, &self.tracer, &self.counters, &self.pair);
                    Arc::new(operational(of_server, &space, &self.console))
                } else {
                    shown
                };
                Box::pin(async move {
                    let reply = operate(&shown, &space, request, &origin, &allowance).await;
                    reply.map_err(|error| Operational::refusal(origin.target.path(), error))
                })
            }
            None if is_for_console => Box::pin(async { browser::to_console() }),
            None => {
                let spaces = spaces.clone();
                Box::pin(async move { spaces.call(request, &origin, &allowance).await })
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

/// True if a bucket exists.
fn has_buckets(store: &Store) -> bool {
    let one = ListBuckets { max: 1, ..ListBuckets::default() };
    store.list_buckets(&one).is_ok_and(|page| !page.buckets.is_empty())
}

/// The damage found so far, without names, because health checks are unauthenticated. The details
/// are logged once, and remembered in `logged`.
fn found_damage(store: &Store, logged: &Mutex<String>) -> Option<String> {
    let log = |what: String| {
        let mut logged = logged.lock();
        if *logged != what {
            tracing::error!(what, "damage was found, run `liteio verify`");
            *logged = what;
        }
    };
    if let Some(reason) = store.sweep_failure() {
        log(format!("orphans are not swept: {reason}"));
        return Some("orphans are not swept, because of damage: run `liteio verify`".to_owned());
    }
    if let Some(scrub) = store.scrub_state().filter(|scrub| scrub.damaged > 0) {
        log(format!("first damage found by the scrub: {}", scrub.first_damage.unwrap_or_default()));
        let damaged = scrub.damaged;
        return Some(format!("the scrub has found damage ({damaged}): run `liteio verify`"));
    }
    let reads = store.stats().damaged_reads;
    let told = "reads have found damaged or missing data since the start: run `liteio verify`";
    (reads > 0).then(|| format!("{reads} {told} to find it"))
}

/// The encrypted objects that nobody can read, because the server lacks their keys.
fn missing_keys(store: &Store) -> Option<String> {
    let advice = "start it with all keys that the directory needs; `liteio verify` names them";
    if let Some(scrub) = store.scrub_state().filter(|scrub| scrub.keyless > 0) {
        let keyless = scrub.keyless;
        return Some(format!(
            "the scrub has found {keyless} encrypted objects whose keys the server lacked: {advice}"
        ));
    }
    let reads = store.stats().keyless_reads;
    let told = "reads have met encrypted objects whose keys the server lacks:";
    (reads > 0).then(|| format!("{reads} {told} {advice}"))
}

fn readiness(
    app: &App,
    stopping: &AtomicBool,
    logged: &Mutex<String>,
    lost_at_start: u64,
    followers: &[Arc<dyn Follower>],
) -> Readiness {
    if stopping.load(Ordering::Relaxed) {
        return Readiness::NotReady("stopping".into());
    }
    match app.store.health() {
        StoreHealth::Ready => {
            let told = found_damage(&app.store, logged);
            let told = told.or_else(|| missing_keys(&app.store));
            let told = told.or_else(|| lost_events(&app.store, lost_at_start));
            let told = told.or_else(|| lost_commits(&app.store));
            let told = told.or_else(|| followers.iter().find_map(|it| it.loss()));
            told.map_or(Readiness::Ready, |told| Readiness::Degraded(told.into()))
        }
        StoreHealth::ReadOnly { reason } => Readiness::Degraded(reason.into()),
        StoreHealth::Full => Readiness::Degraded("the storage device is full".into()),
    }
}

/// Describes the loss of commits that the database had acknowledged.
fn lost_commits(store: &Store) -> Option<String> {
    let lost = store.stats().kv.commits_lost;
    let advice = "its failover went to a standby that lagged behind: see docs/cluster.md";
    (lost > 0).then(|| format!("the database has lost {lost} acknowledged commits: {advice}"))
}

/// Describes the loss of events: current, or since the start, at which `lost_at_start` had been
/// lost; `None` if there is none.
fn lost_events(store: &Store, lost_at_start: u64) -> Option<String> {
    let outbox = match store.outbox_state() {
        Ok(outbox) => outbox,
        Err(error) => return Some(format!("the outbox of events cannot be read: {error}")),
    };
    if let full @ 1.. = store.full_event_queues(&outbox) {
        let told =
            "queues of events are full, and new events are lost: a webhook does not accept them";
        return Some(format!("{full} {told}"));
    }
    let lost = outbox.lost().saturating_sub(lost_at_start);
    let told = "events were lost since the start, because the queue of a webhook was full";
    (lost > 0).then(|| format!("{lost} {told}"))
}

/// The metrics of access logs and inventories.
fn report_figures(figures: liteio_reports::Figures) -> ReportFigures {
    ReportFigures {
        log_objects: figures.log_objects,
        log_lines: figures.log_lines,
        log_lines_lost: figures.log_lines_lost,
        log_failures: figures.log_failures,
        log_bytes_waiting: figures.log_bytes_waiting,
        inventories: figures.inventories,
        inventory_rows: figures.inventory_rows,
        inventory_failures: figures.inventory_failures,
    }
}

/// The metrics of the backup.
fn backup_figures(state: &BackupState) -> BackupFigures {
    BackupFigures {
        seconds_behind: state.behind.as_secs_f64(),
        last_base_ms: state.base_ms,
        sent_bytes: state.sent_bytes,
        sent_objects: state.sent_objects,
        failures: state.failures,
        unreadable: state.unreadable,
        verified_ms: state.verification.map(|it| it.time_ms),
        verified_damaged: state.verification.map(|it| it.damaged),
    }
}

/// The metrics of the standby.
fn standby_figures(state: &StandbyState) -> StandbyFigures {
    StandbyFigures {
        seconds_behind: state.behind.as_secs_f64(),
        applied_ms: state.applied_ms,
        applied: state.applied,
        failures: state.failures,
        left_out: state.left_out,
    }
}

/// The state of the standby, without its reason and place, for health checks.
fn standby_details(state: &StandbyState) -> Value {
    json!({
        "seconds_behind": state.behind.as_secs(),
        "applied_ms": state.applied_ms,
        "failing": state.is_failing,
        "left_out": state.left_out,
    })
}

/// The state of the backup, without its reason and place, for health checks.
fn backup_details(state: &BackupState) -> Value {
    json!({
        "seconds_behind": state.behind.as_secs(),
        "last_base_ms": state.base_ms,
        "failing": state.is_failing,
        "unreadable": state.unreadable,
        "verified_ms": state.verification.map(|it| it.time_ms),
        "verified_damaged": state.verification.map(|it| it.damaged),
    })
}

/// The state of background work, without names, for health checks.
async fn details(app: &App, senders: &Senders) -> Map<String, Value> {
    let mut told = Map::new();
    if let Some(scrub) = app.store.scrub_state() {
        let scrub = json!({
            "running": scrub.begun_ms.is_some(),
            "ended_ms": scrub.ended_ms,
            "records": scrub.records,
            "damaged": scrub.damaged,
            "keyless": scrub.keyless,
        });
        told.insert("scrub".to_owned(), scrub);
    }
    if let outstanding @ 1.. = app.store.outstanding() {
        told.insert("lazy".to_owned(), json!({ "outstanding": outstanding }));
    }
    let outbox = app.look(Store::outbox_state).await.unwrap_or_default();
    if !(app.event_targets.is_empty() && outbox.queues.is_empty()) {
        let events = json!({
            "waiting": outbox.queues.values().map(|queue| queue.waiting).sum::<u64>(),
            "lost": outbox.lost(),
            "failing_targets": senders.failing(),
        });
        told.insert("events".to_owned(), events);
    }
    told
}
