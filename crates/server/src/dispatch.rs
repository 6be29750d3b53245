//! Dispatch between health, S3, S3 Vectors and STS. No other module knows that there are several services.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use http::header::{AUTHORIZATION, ORIGIN};
use http::request::Parts;
use http::{Method, Request};
use http_body::Body as _;
use http_body_util::Empty;
use liteio_store::{ListBuckets, Store, StoreError, StoreHealth};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::access;
use crate::admin::Admin;
use crate::auth::{AuthBody, Authenticator, BodyFault, Identity, Rules, Service};
use crate::console::{Console, browser};
use crate::delivery::Follower;
use crate::events::{Senders, Target};
use crate::front::body::RequestBody;
use crate::front::{Allowance, Handler, HandlerFuture, Observer, Observers, Plan};
use crate::iam::minio::Manager;
use crate::iam::{self, Api, Iam, Users, Watch, is_web_identity};
use crate::no_auth::NoAuth;
use crate::operational::{Health, Operational, Readiness, Way, is_signed};
use crate::origin::{Locale, Origin};
use crate::reply::{self, ApiError, Reply};
use crate::s3::{self, S3Service};
use crate::state::App;
use crate::trace::Tracer;
use crate::vectors::{self, VectorsService};

/// The handler behind the front.
pub(crate) struct Dispatch {
    services: Arc<Services>,
    app: Arc<App>,
    locale: Arc<Locale>,
    senders: Arc<Senders>,
    users: Arc<Users>,
    observers: Observers,
    followers: Arc<[Arc<dyn Follower>]>,
    _watch: Watch,
    stopping: Arc<AtomicBool>,
}

struct Services {
    operational: Operational,
    /// Objects have the origin of the console's pages.
    has_console: bool,
    tracer: Arc<Tracer>,
    authenticator: Authenticator,
    no_auth: Option<NoAuth>,
    s3: S3Service,
    vectors: VectorsService,
    iam: Iam,
}

impl Dispatch {
    /// The services over `app`, for these users, with events for these targets.
    pub(crate) fn new(
        app: App,
        users: Users,
        targets: Vec<Arc<dyn Target>>,
        followers: Vec<Arc<dyn Follower>>,
        no_auth: Option<NoAuth>,
        console: bool,
    ) -> Dispatch {
        let app = Arc::new(app);
        let followers: Arc<[_]> = followers.into();
        let users = Arc::new(users);
        let watch = users.watch(&app);
        let senders = Arc::new(Senders::start(&app, targets));
        let stopping = Arc::new(AtomicBool::new(false));
        let readiness = {
            let (app, stopping) = (Arc::clone(&app), Arc::clone(&stopping));
            let logged = Mutex::default();
            let lost_at_start = app.look(Store::outbox_state).map_or(0, |outbox| outbox.lost());
            let followers = Arc::clone(&followers);
            move || readiness(&app, &stopping, &logged, lost_at_start, &followers)
        };
        let details = {
            let (app, senders) = (Arc::clone(&app), Arc::clone(&senders));
            let followers = Arc::clone(&followers);
            move || {
                let mut told = details(&app, &senders);
                told.extend(followers.iter().map(|it| (it.name().to_owned(), it.state())));
                told
            }
        };
        let has_buckets = {
            let app = Arc::clone(&app);
            move || app.look(has_buckets)
        };
        let health = Health::new(readiness, details, has_buckets);
        let tracer = Arc::new(Tracer::new());
        let clock = Arc::clone(app.store.clock());
        let time = move || UNIX_EPOCH + Duration::from_millis(clock.now_ms());
        let directory = Arc::clone(users.current());
        let rules = Rules {
            region: app.region.clone(),
            takes_any_region: app.takes_any_region,
            everyone_is: no_auth.as_ref().map(|it| it.key.clone()),
        };
        let authenticator = Authenticator::new(directory, rules, Arc::new(time));
        let mut observers: Vec<Arc<dyn Observer>> = vec![Arc::clone(&tracer) as _];
        for follower in &*followers {
            follower.start();
            observers.push(Arc::clone(follower) as _);
        }
        let observers = observers.into();
        let manager = Manager::new(Arc::clone(&app), Arc::clone(&users));
        let admin = Admin::new(Arc::clone(&app), manager, Arc::clone(&tracer));
        let has_console = console;
        let console =
            has_console.then(|| Arc::new(Console::new(Arc::clone(&app), no_auth.is_some())));
        let services = Services {
            operational: Operational::new(health, Arc::clone(&tracer), console).with_admin(admin),
            has_console,
            tracer: Arc::clone(&tracer),
            authenticator,
            no_auth,
            s3: S3Service::new(Arc::clone(&app)),
            vectors: VectorsService::new(Arc::clone(&app)),
            iam: Iam::new(Arc::clone(&app), Arc::clone(&users)),
        };
        let clock = Arc::clone(app.store.clock());
        let locale = Arc::new(Locale { region: app.region.clone(), clock });
        Dispatch {
            services: Arc::new(services),
            app,
            locale,
            senders,
            users,
            observers,
            followers,
            _watch: watch,
            stopping,
        }
    }

    /// The way of what the operational routes answer. A bucket has its name to itself.
    fn operational_way(&self, head: &Parts, origin: &Origin) -> Option<Way> {
        let claim = Operational::claim(head, &origin.target)?;
        let has_bucket = || {
            let bucket = origin.target.bucket();
            self.app.look(|store| access::bucket_for_rules(store, bucket)).is_ok()
        };
        (!claim.is_borrowed || !has_bucket()).then_some(claim.way)
    }
}

impl Handler for Dispatch {
    fn plan(&self, head: &Parts, origin: &Origin) -> Plan {
        match self.operational_way(head, origin) {
            // Exempt from the limits: the answer must show that the server is overloaded, not dead.
            Some(Way::Health) => return Plan { exempt: true, ..Plan::default() },
            Some(Way::Operator) => return Plan { held: true, ..Plan::default() },
            None => {}
        }
        let target = &origin.target;
        if target.is_site() {
            return Plan::default();
        }
        let form = self.services.authenticator.is_form_upload(head, target.host_bucket());
        let held = !form && s3::holds_body(head, target.names_key());
        Plan { exempt: false, held, form }
    }

    fn call(
        &self,
        request: Request<RequestBody>,
        origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture {
        let services = Arc::clone(&self.services);
        let (head, body) = request.into_parts();
        let way = self.operational_way(&head, origin);
        let origin = Arc::clone(origin);
        match way {
            Some(Way::Health) => {
                let request = Request::from_parts(head, Empty::new());
                return Box::pin(async move { services.operational.call(request).await });
            }
            Some(Way::Operator) => {
                let request = Request::from_parts(head, body);
                return Box::pin(async move {
                    let reply = services.operator(request, &origin, &allowance).await;
                    reply.map_err(|error| Operational::refusal(origin.target.path(), error))
                });
            }
            None => {}
        }
        origin.found.note_locale(&self.locale);
        if origin.target.is_site() {
            return Box::pin(async move { services.s3.website(&head, &origin, &allowance).await });
        }
        if head.method == Method::OPTIONS {
            return Box::pin(async move { services.s3.preflight(&head, &origin) });
        }
        if services.has_console
            && origin.target.host_bucket().is_none()
            && browser::looks_for_console(&head)
        {
            return Box::pin(async { browser::to_console() });
        }
        let is_document = services.has_console && browser::opens_document(&head);
        let page = head.headers.get(ORIGIN).cloned();
        let method = head.method.clone();
        let request = Request::from_parts(head, body);
        Box::pin(async move {
            let checked = services.no_auth.as_ref().map_or(Ok(()), |it| it.check(&request));
            let reply = match checked {
                Ok(()) => services.signed(request, &origin, &allowance).await,
                Err(error) => Err(error),
            };
            let reply = if is_document { browser::sandboxed(reply) } else { reply };
            let headers = page.and_then(|it| services.s3.cors_headers(&it, &method, &origin));
            reply::with_headers(reply, headers)
        })
    }

    fn observers(&self) -> Observers {
        Arc::clone(&self.observers)
    }

    fn scrub(&self) {
        self.app.store.scrub_now();
    }

    fn reload(&self) {
        self.users.read_again();
        self.followers.iter().for_each(|follower| follower.reopen());
    }

    fn stop(&self) {
        self.services.tracer.stop();
        self.stopping.store(true, Ordering::Relaxed);
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            self.senders.stop();
            for follower in &*self.followers {
                follower.close().await;
            }
            let closed = self.app.blocking(|store| -> Result<(), StoreError> {
                store.close();
                Ok(())
            });
            if let Err(error) = closed.await {
                tracing::error!(%error, "the store was not closed");
            }
        })
    }
}

/// True when there is a bucket.
fn has_buckets(store: &Store) -> bool {
    let one = ListBuckets { max: 1, ..ListBuckets::default() };
    store.list_buckets(&one).is_ok_and(|page| !page.buckets.is_empty())
}

/// Damage that has shown so far, without names: whoever asks for the health need not be known. What it is goes
/// into the log, once, and into `logged`.
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
        log(format!("the first that the scrub found: {}", scrub.first_damage.unwrap_or_default()));
        let damaged = scrub.damaged;
        return Some(format!("the scrub has found damage ({damaged}): run `liteio verify`"));
    }
    let reads = store.stats().damaged_reads;
    let told = "reads have met damaged or missing data since the start: run `liteio verify`";
    (reads > 0).then(|| format!("{reads} {told} to find it"))
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
            let told = told.or_else(|| lost_events(&app.store, lost_at_start));
            let told = told.or_else(|| followers.iter().find_map(|it| it.loss()));
            told.map_or(Readiness::Ready, |told| Readiness::Degraded(told.into()))
        }
        StoreHealth::ReadOnly { reason } => Readiness::Degraded(reason.into()),
        StoreHealth::Full => Readiness::Degraded("the storage device is full".into()),
    }
}

/// The reason why events are being lost, or were since the start, when so many had been lost, if any are.
fn lost_events(store: &Store, lost_at_start: u64) -> Option<String> {
    let outbox = match store.outbox_state() {
        Ok(outbox) => outbox,
        Err(error) => return Some(format!("the outbox of events cannot be read: {error}")),
    };
    if let full @ 1.. = store.full_event_queues(&outbox) {
        let told =
            "queues of events are full, and new events are lost: a webhook does not take them";
        return Some(format!("{full} {told}"));
    }
    let lost = outbox.lost().saturating_sub(lost_at_start);
    let told = "events were lost since the start, because too many waited for a webhook";
    (lost > 0).then(|| format!("{lost} {told}"))
}

/// The state of what works in the background, without names, for people and programs that ask for the health.
fn details(app: &App, senders: &Senders) -> Map<String, Value> {
    let mut told = Map::new();
    if let Some(scrub) = app.store.scrub_state() {
        let scrub = json!({
            "running": scrub.begun_ms.is_some(),
            "ended_ms": scrub.ended_ms,
            "records": scrub.records,
            "damaged": scrub.damaged,
        });
        told.insert("scrub".to_owned(), scrub);
    }
    let outbox = app.look(Store::outbox_state).unwrap_or_default();
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

impl Services {
    /// Gives a request to the operational routes, with the identity of its sender if it is signed.
    async fn operator(
        &self,
        request: Request<RequestBody>,
        origin: &Origin,
        allowance: &Allowance,
    ) -> Reply {
        let (mut head, body) = request.into_parts();
        // A bearer's token is the matter of the route that knows it.
        let is_bearer = head.headers.get(AUTHORIZATION).is_some_and(|value| {
            value.as_bytes().get(..7).is_some_and(|it| it.eq_ignore_ascii_case(b"bearer "))
        });
        if is_bearer || self.no_auth.is_none() && !is_signed(&head) {
            head.extensions.insert(Identity::Anonymous);
            return self.operational.call(Request::from_parts(head, body)).await;
        }
        let request = Request::from_parts(head, body);
        if let Some(no_auth) = &self.no_auth {
            no_auth.check(&request)?;
        }
        let request = self.authenticated(request, origin, allowance).await?;
        self.operational.call(request).await
    }

    /// Authenticates a request, and looks for room for its body.
    async fn authenticated(
        &self,
        request: Request<RequestBody>,
        origin: &Origin,
        allowance: &Allowance,
    ) -> Result<Request<AuthBody>, ApiError> {
        let host_bucket = origin.target.host_bucket();
        let request = self.authenticator.authenticate(request, host_bucket).await?;
        let Some(key) = request.extensions().get().and_then(Identity::key) else {
            return Ok(request);
        };
        origin.found.note_user(&key.user.name);
        origin.found.note_key(&key.id, key.user.session.is_some());
        // Before its body is read.
        if !request.body().is_end_stream() {
            allowance.admit_body()?;
        }
        Ok(request)
    }

    /// Authenticates a request and gives it to the service that it is signed for.
    async fn signed(
        &self,
        request: Request<RequestBody>,
        origin: &Origin,
        allowance: &Allowance,
    ) -> Reply {
        let authorization = request.headers().get(AUTHORIZATION).cloned();
        let (head, body) = request.into_parts();
        let is_web_identity = origin.target.bucket().is_empty() && is_web_identity(&head);
        let request = Request::from_parts(head, body);
        let request = match self.authenticated(request, origin, allowance).await {
            Ok(request) => request,
            Err(error) => {
                let claimed = authorization.as_ref().and_then(|it| it.to_str().ok());
                return Err(match claimed.and_then(Service::claimed) {
                    Some(Service::S3Vectors) => vectors::refusal(&error),
                    Some(Service::Iam) => iam::refusal(&error),
                    Some(Service::Sts) => iam::for_sts(&iam::refusal(&error)),
                    _ => error,
                });
            }
        };
        match request.extensions().get() {
            Some(Service::S3Vectors) => return self.vectors.call(request).await,
            Some(Service::Iam) => return self.iam.call(Api::Iam, request, origin).await,
            Some(Service::Sts) => return self.iam.call(Api::Sts, request, origin).await,
            None if is_web_identity => return self.iam.call(Api::Sts, request, origin).await,
            Some(Service::S3) | None => {}
        }
        let fault = request.extensions().get::<BodyFault>().cloned();
        let reply = self.s3.call(request, allowance).await;
        match (reply, fault.as_ref().and_then(BodyFault::get)) {
            // A failed body is the client's fault, even if a layer in between turned its error into an
            // internal one.
            (Err(error), Some(fault)) if error.status().is_server_error() => Err(fault.clone()),
            (reply, _) => reply,
        }
    }
}
