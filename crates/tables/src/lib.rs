//! The REST catalog of Apache Iceberg, and the API of S3 Tables on the same catalogs: a bucket is a warehouse.
//!
//! Requests below `/_iceberg/v1/`, and those that are signed for `s3tables`, arrive here, authenticated. The body is collected, then the operation runs on a
//! blocking thread as a whole. Permission is decided on the ARNs of S3 Tables.
//!
//! ```text
//! request ──► Route (prefix, subject, operation) ──► body ──► access ──► Granted (bucket)
//!                                                                 │
//!             metadata file of the bucket ◄── MetadataFiles ◄─────┤ load
//!             requirements, updates ──► liteio_iceberg ──► new file ──► Store::commit_tables
//! ```
//!
//! A commit reads the current metadata, checks its requirements, applies its updates, and writes the new file and the
//! new location in one transaction, which compares the location with the one that was read. If another commit came
//! first, all of it is done again while the requirements hold.
//!
//! | Module | Content |
//! |---|---|
//! | `route` | The table of operations; paths |
//! | `config`, `namespace`, `table`, `view`, `transaction`, `token` | The operations |
//! | `vend` | Credentials for the files of one table |
//! | `warehouse` | Warehouses, and the locations in them |
//! | `metadata` | Metadata files: read, written, and a cache of the parsed ones |
//! | `commit` | Commits of tables, one or several |
//! | `once`, `replay` | Requests that are sent again with the same `Idempotency-Key`: the answer that is written with a change, and the one that is given again |
//! | `kept` | The number of such answers of an account, which is limited |
//! | `register` | Metadata files that exist become tables and views |
//! | `purge` | Deletion of the files of a dropped table |
//! | `maintenance` | Expiry of snapshots, and deletion of files that no table names |
//! | [`s3tables`] | S3 Tables: its routes, operations and errors |
//! | `context`, `error`, `page`, `limits` | Facts for conditions of policies; the error model, and the only map from `StoreError` to it; pages; limits |
//!
//! The crate must not know s3s, sockets, TLS or the front. Names of buckets are resolved in `liteio_access`; rules of
//! metadata are in `liteio_iceberg`.
//!
//! ```
//! use http::Request;
//!
//! let head = |path: &str| Request::get(path).body(()).expect("a request").into_parts().0;
//! assert_eq!(liteio_tables::path_of(&head("/_iceberg/v1/config")), Some("v1/config"));
//! assert_eq!(liteio_tables::path_of(&head("/bucket/key")), None);
//! ```

mod commit;
mod config;
mod context;
mod error;
mod kept;
mod limits;
mod maintenance;
mod metadata;
mod namespace;
mod once;
mod page;
mod place;
mod purge;
mod register;
mod replay;
mod route;
pub mod s3tables;
mod table;
mod token;
mod transaction;
mod vend;
mod view;
mod warehouse;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use serde_json::Value;

use self::context::RequestTags;
pub use self::error::refusal;
use self::error::{ApiResult, Exception};
use self::limits::{BODY_BYTES_MAX, TOKEN_BODY_BYTES_MAX};
pub use self::maintenance::{Maintenance, MaintenanceFigures};
use self::metadata::MetadataFiles;
use self::route::{Route, Subject};
use liteio_access::state::App;
use liteio_access::{Action, Granted, Principal, Question, Refusal, TableBuckets, TableQuestion};
use liteio_auth::{AuthBody, CollectError, Identity, Service, collect};
use liteio_iceberg::{Identifier, Invalid, Namespace};
use liteio_identity::AccessKey;
use liteio_store::{ObjectKey, Store};
use liteio_wire::origin::{Origin, carried};
use liteio_wire::reply::{ApiError, Reply, ReplyBody};

/// The path of the catalog. No bucket can have that name.
const PATH: &str = "/_iceberg/";
/// The path of the catalog of S3 Tables in AWS, for requests that are signed for that service: it may be a bucket, too.
const PATH_OF_AWS: &str = "/iceberg/";

/// The header by which a client asks for credentials.
const ACCESS_DELEGATION: HeaderName = HeaderName::from_static("x-iceberg-access-delegation");

/// Settings of the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The warehouse of requests that name none.
    pub warehouse: Option<String>,
    /// Tables and views get a location in the warehouse where clients ask for one outside of it, as S3 Tables does.
    /// Otherwise such requests are refused.
    pub own_locations: bool,
}

impl Settings {
    /// Settings with a warehouse: the name of a bucket, `s3://BUCKET`, or the ARN of a table bucket.
    ///
    /// # Errors
    /// A sentence about a text that names no whole bucket.
    pub fn with_warehouse(warehouse: &str) -> Result<Settings, String> {
        let name = warehouse::bucket_of(warehouse)
            .map_err(|error| ApiError::from(error).message().to_owned())?;
        match name.is_empty() {
            true => Err("The name of the bucket is empty.".to_owned()),
            false => Ok(Settings { warehouse: Some(name), ..Settings::default() }),
        }
    }
}

/// The sender of a token request whose client authenticates itself by the scheme Basic.
#[derive(Clone, Debug)]
pub struct BasicCredentials(pub HeaderValue);

/// The answers of the token route to requests with a valid key: it signs tokens.
pub trait Tokens: Send + Sync {
    /// A bearer token for the holder of an access key; `None` for an unknown key or a wrong secret.
    fn issue(&self, access_key: &str, secret: &str, seconds: u32) -> Option<String>;
}

/// The names of all operations of the REST catalog and of S3 Tables. Some are in both.
pub fn operation_names() -> impl Iterator<Item = &'static str> {
    route::operation_names().chain(s3tables::operation_names())
}

/// The path below the catalog's, if a request is for it.
pub fn path_of(head: &Parts) -> Option<&str> {
    let path = head.uri.path();
    if let Some(path) = path.strip_prefix(PATH) {
        return Some(path);
    }
    let path = path.strip_prefix(PATH_OF_AWS).filter(|path| path.starts_with("v1/"))?;
    let authorization = head.headers.get(AUTHORIZATION)?.to_str().ok()?;
    (Service::claimed(authorization) == Some(Service::S3Tables)).then_some(path)
}

/// The path of the catalog at an address of its own, where it is at the root. No bucket has the name `v1`.
pub fn path_at_root(head: &Parts) -> Option<&str> {
    head.uri.path().strip_prefix('/').filter(|path| path.starts_with("v1/"))
}

/// `true` for a request whose body is in memory as a whole, as all of S3 Tables are: their hash is signed, and no header
/// has it.
pub fn holds_body(head: &Parts) -> bool {
    let authorization = head.headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    authorization.and_then(Service::claimed) == Some(Service::S3Tables)
}

/// `true` for the route that issues tokens, which anybody may call.
pub fn is_for_token(path: &str) -> bool {
    path == "v1/oauth/tokens"
}

/// An operation of the catalog.
#[derive(Clone, Copy, Debug)]
struct Operation {
    name: &'static str,
    /// The action of policies.
    action: Action,
    handler: Handler,
}

/// The handler of an operation.
type Handler = fn(&Call<'_>) -> Answer;

/// The answer of an operation.
type Answer = ApiResult<Output>;

/// An answer, before it becomes a response.
#[derive(Debug)]
enum Output {
    /// A document, with its entity tag.
    Json(Vec<u8>, Option<HeaderValue>),
    /// An error in the format of OAuth.
    Unauthorized(Vec<u8>),
    /// Nothing to say.
    Empty,
    /// The client has the document.
    NotModified(HeaderValue),
}

impl Output {
    fn json(value: &Value) -> Answer {
        Ok(Output::Json(value.to_string().into_bytes(), None))
    }
}

/// State of the catalog that lives as long as the server.
struct Shared {
    app: Arc<App>,
    settings: Settings,
    buckets: TableBuckets,
    files: MetadataFiles,
    staged: place::Staged,
    kept: kept::KeptAnswers,
    /// The routes that are served, for clients.
    endpoints: Vec<String>,
    tokens: Box<dyn Tokens>,
}

/// The Iceberg REST catalog of a server, behind authentication.
pub struct TablesService {
    shared: Arc<Shared>,
}

/// One request, processed on a blocking thread.
struct Call<'s> {
    shared: &'s Shared,
    store: &'s Store,
    sent: &'s Sent,
    route: &'s Route,
    body: &'s [u8],
    /// The key of the request, if it has one.
    once: Option<once::Once>,
}

/// The parts of a request that operations use.
struct Sent {
    path: String,
    origin: Option<Arc<Origin>>,
    headers: HeaderMap,
    query: Vec<(String, String)>,
    principal: Principal,
    key: Option<Arc<AccessKey>>,
    basic: Option<HeaderValue>,
    /// The tags of the request, once its body has been read.
    tags: OnceLock<RequestTags>,
}

impl TablesService {
    /// Creates the service.
    pub fn new(app: Arc<App>, settings: Settings, tokens: Box<dyn Tokens>) -> TablesService {
        let accounts = Arc::clone(&app);
        let account_id = move |canonical_id: &str| accounts.account_id(canonical_id);
        let buckets = TableBuckets::new(app.region.clone(), account_id);
        let files = MetadataFiles::default();
        let endpoints = route::endpoints().collect();
        let staged = place::Staged::default();
        let kept = kept::KeptAnswers::default();
        let shared = Shared { app, settings, buckets, files, staged, kept, endpoints, tokens };
        TablesService { shared: Arc::new(shared) }
    }

    /// Answers one request for `path` below the catalog's. Its extensions hold the sender's `Identity`.
    pub async fn call(&self, request: Request<AuthBody>, path: &str) -> Reply {
        Ok(response(self.answer(request, path).await?))
    }

    async fn answer(&self, request: Request<AuthBody>, path: &str) -> Answer {
        let route = Route::of(request.method(), path)?;
        let is_for_token = is_for_token(path);
        let principal = Principal::new(request.extensions().get::<Identity>());
        if matches!(principal, Principal::Anonymous) && !is_for_token {
            return Err(Exception::not_authorized(
                "The request is neither signed nor has it a bearer token.",
            ));
        }
        let most = if is_for_token { TOKEN_BODY_BYTES_MAX } else { BODY_BYTES_MAX };
        self.run(request, route, most, once::Once::of).await
    }

    /// Runs the operation of a route, with a body of `most` bytes. `key_of` finds the key of the request.
    async fn run(
        &self,
        request: Request<AuthBody>,
        route: Route,
        most: usize,
        key_of: fn(&Sent, &str, &[u8]) -> ApiResult<Option<once::Once>>,
    ) -> Answer {
        let (parts, body) = request.into_parts();
        let identity = parts.extensions.get::<Identity>();
        let origin = parts.extensions.get::<Arc<Origin>>().cloned();
        if let Some(origin) = &origin {
            origin.found.note_operation(route.operation.name);
        }
        let query = parts.uri.query().unwrap_or_default();
        let sent = Sent {
            path: parts.uri.path().to_owned(),
            origin,
            query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            principal: Principal::new(identity),
            key: identity.and_then(Identity::key).cloned(),
            basic: parts.extensions.get::<BasicCredentials>().map(|it| it.0.clone()),
            tags: OnceLock::new(),
            headers: parts.headers,
        };
        let body: Bytes = collect(body, most).await.map_err(|error| match error {
            CollectError::TooLarge => {
                Exception::bad_request(format!("The body has more than {most} bytes."))
            }
            CollectError::Body(error) => Exception::bad_request(error.message().to_owned()),
        })?;
        let shared = Arc::clone(&self.shared);
        let app = Arc::clone(&self.shared.app);
        let work = carried(move || {
            let (shared, sent, route) = (&*shared, &sent, &route);
            let once = key_of(sent, route.operation.name, &body)?;
            let store = &shared.app.store;
            replay::answer(&Call { shared, store, sent, route, body: &body, once })
        });
        app.blocking(move |_| work()).await
    }
}

/// The response of an answer.
fn response(output: Output) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::empty());
    let headers = response.headers_mut();
    let json_type = HeaderValue::from_static("application/json");
    let (status, body) = match output {
        Output::Json(body, tag) => {
            headers.insert(CONTENT_TYPE, json_type);
            headers.extend(tag.map(|tag| (ETAG, tag)));
            (StatusCode::OK, body)
        }
        Output::Unauthorized(body) => {
            headers.insert(CONTENT_TYPE, json_type);
            (StatusCode::UNAUTHORIZED, body)
        }
        Output::Empty => (StatusCode::NO_CONTENT, Vec::new()),
        Output::NotModified(tag) => {
            headers.insert(ETAG, tag);
            (StatusCode::NOT_MODIFIED, Vec::new())
        }
    };
    *response.status_mut() = status;
    *response.body_mut() = ReplyBody::from(body);
    response
}

impl Call<'_> {
    /// The value of a parameter of the query.
    fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.sent.query.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as a JSON document.
    fn document(&self) -> ApiResult<Value> {
        liteio_iceberg::json::parse(self.body)
            .map_err(|error| Exception::bad_request(format!("The body is not valid JSON: {error}")))
    }

    /// A request by its body. What the body lacks makes it malformed.
    fn read<T>(&self, read: impl FnOnce(&Value) -> Result<T, Invalid>) -> ApiResult<T> {
        read(&self.document()?).map_err(|invalid| match invalid {
            Invalid::Illegal(_) => invalid.into(),
            invalid => Exception::bad_request(invalid.to_string()),
        })
    }

    /// The namespace in the path.
    fn namespace(&self) -> ApiResult<&Namespace> {
        match &self.route.subject {
            Subject::Namespace(namespace) => Ok(namespace),
            Subject::Named(name) => Ok(name.namespace()),
            Subject::Server | Subject::Warehouse | Subject::Id(_) => {
                Err(Exception::no_such_route())
            }
        }
    }

    /// The table or view in the path.
    fn identifier(&self) -> ApiResult<&Identifier> {
        match &self.route.subject {
            Subject::Named(name) => Ok(name),
            _ => Err(Exception::no_such_route()),
        }
    }

    /// Authorizes the operation on the subject of the route.
    fn granted(&self) -> ApiResult<Granted> {
        let (namespace, table) = match &self.route.subject {
            Subject::Server | Subject::Warehouse => (None, None),
            // Its names are not known yet.
            Subject::Id(_) => return Err(Exception::no_such_route()),
            Subject::Namespace(namespace) => (Some(namespace), None),
            Subject::Named(name) => (Some(name.namespace()), Some(name.name())),
        };
        self.granted_on(&[self.route.operation.action], namespace, table)
    }

    /// Authorizes actions on a namespace, or on a table or view in it.
    fn granted_on(
        &self,
        actions: &[Action],
        namespace: Option<&Namespace>,
        table: Option<&str>,
    ) -> ApiResult<Granted> {
        self.decided(&self.warehouse()?, actions, namespace, table)
    }

    /// Authorizes the operation on the warehouse `name`.
    fn granted_in(&self, name: &str) -> ApiResult<Granted> {
        self.decided(name, &[self.route.operation.action], None, None)
    }

    fn decided(
        &self,
        name: &str,
        actions: &[Action],
        namespace: Option<&Namespace>,
        table: Option<&str>,
    ) -> ApiResult<Granted> {
        let context = context::Asked(self.sent);
        let question = self.question(actions, namespace, table, &context);
        let granted = self.shared.buckets.bucket(self.store, &question, name);
        let granted = granted.map_err(|refusal| self.refused(refusal))?;
        if let Some(once) = &self.once {
            once.note(self.store, &self.shared.kept, &granted)?;
        }
        Ok(granted)
    }

    /// Authorizes other actions on a table or view of a warehouse that is authorized already.
    fn allows(&self, granted: &Granted, actions: &[Action], name: &Identifier) -> ApiResult<()> {
        let context = context::Asked(self.sent);
        let namespace = Some(name.namespace());
        let question = self.question(actions, namespace, Some(name.name()), &context);
        let allowed = self.shared.buckets.allows(self.store, granted, &question);
        allowed.map_err(|refusal| self.refused(refusal))
    }

    /// Authorizes an action on an object of the warehouse.
    fn allows_object(&self, granted: &Granted, action: Action, key: &ObjectKey) -> ApiResult<()> {
        let context = context::Asked(self.sent);
        let actions = [action];
        let question = Question {
            key: Some(key.as_str()),
            writes: action != Action::GetObject,
            ..Question::about_bucket(&actions, &context)
        };
        let allowed = granted.allows(self.store, &question);
        allowed.map_err(|refusal| self.refused(refusal))
    }

    fn question<'q>(
        &'q self,
        actions: &'q [Action],
        namespace: Option<&'q Namespace>,
        table: Option<&'q str>,
        context: &'q context::Asked<'q>,
    ) -> TableQuestion<'q> {
        let principal = &self.sent.principal;
        let found = self.sent.origin.as_deref().map(|origin| &origin.found);
        let namespace = namespace.map(Namespace::levels);
        TableQuestion { principal, actions, namespace, table, context, found }
    }

    /// The name of the bucket that the request is about.
    fn warehouse(&self) -> ApiResult<Cow<'_, str>> {
        match &self.route.prefix {
            Some(prefix) => warehouse::bucket_of(prefix).map(Cow::Owned),
            None => match &self.shared.settings.warehouse {
                Some(name) => Ok(Cow::Borrowed(name)),
                None => Err(warehouse::none_named()),
            },
        }
    }

    /// The error for a refused request. The reason goes to the log.
    fn refused(&self, refusal: Refusal) -> Exception {
        error::refused(refusal, |refusal| {
            if let (Refusal::Denied(denial), Some(origin)) = (refusal, &self.sent.origin) {
                origin.found.note_denial(denial.by(), || denial.to_string());
            }
        })
    }

    /// `true` if the client asks for credentials for the files of a table.
    fn is_delegated(&self) -> bool {
        let values = self.sent.headers.get_all(ACCESS_DELEGATION).iter();
        let mut ways = values.filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(','));
        ways.any(|way| way.trim() == "vended-credentials")
    }

    /// The time, in milliseconds since 1970, as metadata have it.
    fn now_ms(&self) -> i64 {
        i64::try_from(self.store.now_ms()).unwrap_or(i64::MAX)
    }
}
