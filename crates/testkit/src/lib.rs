//! The test API, `/_liteio/test`: tests create spaces of their own, take and restore snapshots, inject faults, move
//! the time, and read recorded requests and events.
//!
//! ```text
//! guard ──► routes ──► slot (a space that can be replaced) ──► space
//!              │         ├──► faults ──► bodies
//!              │         └──► snapshots
//!              └────► requests, events (ring buffers)
//! ```
//!
//! Requests for services pass [`TestApi::call`]: it chooses the space by the access key, and applies the faults of
//! that space. Without the option `--test-api` no server creates any of this.
//!
//! | Module | Content |
//! |---|---|
//! | `guard` | The clients that may use the API: programs, by default on this machine; never web pages |
//! | `routes`, `control` | The routes (JSON), and the operations behind them, which programs with an embedded server call too |
//! | `slot`, `named` | The place of a space, which survives a reset; spaces by name |
//! | `faults`, `bodies`, `glob`, `operation` | Rules by which requests fail, wait or are cut off; bodies that they slow down or cut; patterns; the operation and access key of a request |
//! | `filters` | Names of operations and events in filters, checked |
//! | `requests`, `events`, `history` | Recorded requests and events, numbered, with waiting for more |
//!
//! The crate must not know IAM, routes for operators or settings: the server passes a function that makes a space.
//! Its `control` module alone calls `Store::reset`, which ignores object locks.
//!
//! ```
//! use liteio_testkit::FaultRule;
//!
//! // A body of `POST /_liteio/test/faults`.
//! let rule: FaultRule = serde_json::from_str(r#"{"operation": "Put*", "status": 503, "times": 2}"#)?;
//! assert_eq!(rule.operation.as_deref(), Some("Put*"));
//! assert_eq!((rule.status, rule.times), (Some(503), Some(2)));
//!
//! // Unknown fields are rejected.
//! assert!(serde_json::from_str::<FaultRule>(r#"{"state": 503}"#).is_err());
//! # Ok::<(), serde_json::Error>(())
//! ```

mod bodies;
mod control;
mod events;
mod faults;
mod filters;
mod glob;
mod guard;
mod history;
mod named;
mod operation;
mod requests;
mod routes;
mod slot;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, Request};
use liteio_store::{ShiftedClock, Store, StoreImage};
use tokio::sync::watch;

pub use self::control::{TestControl, TestError, TestSpace};
pub use self::events::{Events, Tap};
pub use self::faults::FaultRule;
use self::guard::Guard;
pub use self::guard::TestAccess;
use self::named::Named;
use self::requests::Requests;
use self::slot::Slot;
use liteio_access::state::App;
use liteio_space::{MAIN, Space};
use liteio_wire::cors::PreflightAnswer;
use liteio_wire::front::body::RequestBody;
use liteio_wire::front::{Allowance, Observer};
use liteio_wire::origin::Origin;
use liteio_wire::reply::{ApiError, Reply};

/// Path prefix of the test API.
const PREFIX: &str = "/_liteio/test";
/// LocalStack's path of `/reset`, for suites that were made for it.
const RESET_OF_LOCALSTACK: &str = "/_localstack/state/reset";
/// The header that names the space of a request. It takes precedence over the access key.
const SPACE_HEADER: &str = "x-liteio-space";

/// The start of the access keys of spaces.
const KEY_PREFIX: &str = "LITEIO";

/// Limit of a name in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The reason why a request may have reached the main space by mistake.
#[derive(Clone, Copy, Debug)]
enum Doubt {
    /// It has no access key.
    Unsigned,
    /// Its access key is like that of a space, but no space has it.
    EndedKey,
    /// Its access key is one that no space has.
    OtherKey,
}

/// The parameters of a new space.
pub struct Making {
    /// The name of the space.
    pub name: String,
    /// Access key and secret key of its root user; `None` for the configured ones, in the main
    /// space.
    pub credentials: Option<(String, String)>,
    /// The clock of its store.
    pub clock: Arc<ShiftedClock>,
    /// The observer of its events.
    pub tap: Arc<Tap>,
    /// Its initial contents.
    pub contents: Contents,
}

/// The initial contents of a space.
pub enum Contents {
    /// A new in-memory store with the configured contents.
    Prepared,
    /// A new in-memory store with the contents of a snapshot.
    Image(Arc<StoreImage>),
    /// This emptied store in a directory, with the configured contents.
    Emptied(Store),
}

/// Recreates the configured contents of a bucket.
pub(crate) type PrepareBucket =
    Box<dyn Fn(Arc<App>, String) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Creates a space.
pub(crate) type MakeSpace =
    Box<dyn Fn(Making) -> BoxFuture<'static, Result<Space, String>> + Send + Sync>;

/// The settings of the test API.
pub struct Setup {
    /// The allowed clients.
    pub access: TestAccess,
    /// The server's domains.
    pub domains: Vec<String>,
    /// The region of the server.
    pub region: String,
    /// The server's URL, for the creators of spaces.
    pub endpoint: String,
    /// The main space.
    pub main: Space,
    /// The clock of the main space.
    pub clock: Arc<ShiftedClock>,
    /// The events of all spaces.
    pub events: Arc<Events>,
    /// The observer of events in the main space.
    pub tap: Arc<Tap>,
    /// The main space is in memory.
    pub is_in_memory: bool,
    /// The names of all operations that faults can be for.
    pub operations: Vec<&'static str>,
    /// The names of further operations that requests can have, without those of the admin API.
    pub other_operations: Vec<&'static str>,
    /// Opens the store and users of a space.
    pub make: MakeSpace,
    /// Recreates the configured contents of one bucket.
    pub prepare: PrepareBucket,
}

/// The test API of one server.
pub struct TestApi {
    guard: Guard,
    region: String,
    endpoint: String,
    main: Arc<Slot>,
    named: Named<Slot>,
    make: MakeSpace,
    prepare: PrepareBucket,
    operations: Vec<&'static str>,
    /// The operations that filters of requests can be for.
    recorded: Vec<&'static str>,
    requests: Arc<Requests>,
    events: Arc<Events>,
    stopping: watch::Sender<bool>,
}

impl TestApi {
    /// Creates the test API of a server.
    pub fn new(setup: Setup) -> TestApi {
        let Setup { access, domains, region, endpoint, main, clock, events, .. } = setup;
        let Setup { tap, is_in_memory, operations, other_operations, make, prepare, .. } = setup;
        let recorded = operations.iter().copied().chain(other_operations).collect();
        let main = Slot::new(MAIN.to_owned(), None, clock, is_in_memory, main, tap);
        TestApi {
            guard: Guard::new(access, domains),
            region,
            endpoint,
            main: Arc::new(main),
            named: Named::default(),
            make,
            prepare,
            operations,
            recorded,
            requests: Arc::default(),
            events,
            stopping: watch::Sender::new(false),
        }
    }

    /// True for a request to the test API itself.
    pub fn claims(origin: &Origin) -> bool {
        let path = origin.target.path();
        let rest = path.strip_prefix(PREFIX);
        path == RESET_OF_LOCALSTACK
            || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The observer that records finished requests.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.requests) as _
    }

    /// The main space, for requests that name no other.
    pub fn main(&self) -> Arc<Space> {
        self.main.space()
    }

    /// Ends all waits, and the slowing of bodies, because the server stops.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
        self.main.faults.clear();
        for slot in self.named.all() {
            slot.faults.clear();
            slot.space().app.listeners.end();
        }
    }

    /// The slot of a space by name.
    ///
    /// # Errors
    /// 404.
    fn slot(&self, name: Option<&str>) -> Result<Arc<Slot>, ApiError> {
        match name {
            None | Some(MAIN) => Ok(Arc::clone(&self.main)),
            Some(name) => self.named.get(name).ok_or_else(|| control::no_space(name)),
        }
    }

    /// Answers a service request.
    pub async fn call(
        &self,
        request: Request<RequestBody>,
        origin: &Arc<Origin>,
        allowance: &Allowance,
    ) -> Reply {
        let mut request = bodies::boxed(request);
        let (slot, doubt) = self.slot_of(&mut request, origin).await?;
        let reply = slot.call(request, origin, allowance).await;
        reply.map_err(|error| explained(error, doubt))
    }

    /// The space of a request: the one named in its header, else the one that knows its access key,
    /// else the main space. A preflight request, which browsers do not sign, goes to the first
    /// space whose CORS rules allow it, else to the first that has its bucket. The doubt is of the
    /// main space only.
    async fn slot_of(
        &self,
        request: &mut Request<bodies::TestBody>,
        origin: &Origin,
    ) -> Result<(Arc<Slot>, Option<Doubt>), ApiError> {
        if let Some(name) = request.headers().get(SPACE_HEADER) {
            let name = name
                .to_str()
                .map_err(|_| guard::bad_request("The name of the space is no text."))?;
            return Ok((self.slot(Some(name))?, None));
        }
        // The body is not examined if there is only one space.
        if self.named.is_empty() {
            let claimed = operation::claimed_in_head(request.headers(), request.uri());
            let of_space = claimed.filter(|(key, _)| key.starts_with(KEY_PREFIX));
            return Ok((Arc::clone(&self.main), of_space.map(|_| Doubt::EndedKey)));
        }
        let claimed = operation::claimed_key(request).await?;
        let doubt = match &claimed {
            None => Some(Doubt::Unsigned),
            Some((key, _)) if key.starts_with(KEY_PREFIX) => Some(Doubt::EndedKey),
            Some(_) => Some(Doubt::OtherKey),
        };
        let other = match claimed {
            // A user of another space may have been given the access key of the main space's root.
            Some((key, token)) if self.main().owns(&key, token.as_deref()) => None,
            Some((key, token)) => {
                self.named.find(|slot| slot.space().knows(&key, token.as_deref()))
            }
            None if *request.method() == Method::OPTIONS => {
                self.other_for_preflight(request.headers(), origin).await
            }
            None => None,
        };
        Ok(match other {
            Some(slot) => (slot, None),
            None => (Arc::clone(&self.main), doubt),
        })
    }

    /// The space that answers a preflight request instead of the main one.
    async fn other_for_preflight(&self, headers: &HeaderMap, origin: &Origin) -> Option<Arc<Slot>> {
        let of_main = self.main.space().preflight_answer(headers, origin).await;
        if of_main == PreflightAnswer::Allowed {
            return None;
        }
        let mut refusing = None;
        for slot in self.named.all() {
            let answer = slot.space().preflight_answer(headers, origin).await;
            match answer {
                PreflightAnswer::Allowed => return Some(slot),
                PreflightAnswer::Refused if refusing.is_none() => refusing = Some(slot),
                PreflightAnswer::Refused | PreflightAnswer::NoBucket => {}
            }
        }
        // Its error names the rules of the bucket, where the main space would say that there is no bucket.
        refusing.filter(|_| of_main == PreflightAnswer::NoBucket)
    }
}

/// Adds the way to a space to a refusal by the main one.
fn explained(error: ApiError, doubt: Option<Doubt>) -> ApiError {
    let code = match error.code() {
        // The same of S3 Vectors, and of IAM and STS.
        "UnrecognizedClientException" | "InvalidClientTokenId" => "InvalidAccessKeyId",
        code => code,
    };
    let sentence = match (doubt, code) {
        (Some(Doubt::Unsigned), "AccessDenied" | "NoSuchBucket" | "NoSuchKey") => {
            "This is the main space, as the request has no signature: name another in the header x-liteio-space."
        }
        (Some(Doubt::EndedKey), "InvalidAccessKeyId") => {
            "It is like the key of a space, which ends with the space: make the client in the test, or use one server \
             for all tests."
        }
        // Mostly a key in the code under test, such as `test`.
        (Some(Doubt::OtherKey), "InvalidAccessKeyId") => {
            "No space of this test server has it, either: each space has keys of its own, and keys in the code of a \
             client are not among them."
        }
        // Mostly variables that a suite sets against AWS: `testing` as the keys and as the token.
        (Some(Doubt::EndedKey | Doubt::OtherKey), "InvalidToken") => {
            "No space of this test server has this key and token: each space has keys of its own, without a token. \
             Variables such as AWS_SESSION_TOKEN, set after those of the space, take their place."
        }
        _ => return error,
    };
    error.with_sentence(sentence)
}
