//! Amazon S3 Vectors: JSON over HTTP, one operation per path.
//!
//! Requests that are signed for the service `s3vectors`, and unsigned ones for its operations, arrive here, authenticated.
//! The body is collected, then the operation runs on a blocking thread as a whole. Permission is decided by the policies
//! of users and of the vector bucket, as for buckets.
//!
//! ```text
//! request ──► OPERATIONS (path, action, function) ──► body ──► reader: elements straight into vectors
//!                                                       └────► fields, filter, document
//!             resource: names ──► access ──► Granted ──► Store ──► JSON
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | `vector_bucket`, `index`, `vector`, `query`, `tags` | The operations |
//! | `put_body`, `query_body`, `elements`, `float`, `reader` | Bodies of PutVectors and QueryVectors: a pull parser without a JSON tree, numbers as the nearest `f32` |
//! | `fields`, `unique`, `document`, `filter` | Other fields, with the path of an error; JSON trees without repeated members; metadata; filters |
//! | `arn`, `resource`, `context` | Names in requests, permission on them, facts for conditions |
//! | `names` | Names in a request that nothing has checked yet, for the test API |
//! | `page_token` | Opaque tokens, checked when they come back |
//! | `error` | The exceptions, and the only map from `StoreError` to them |
//!
//! The crate must not know s3s, sockets, TLS, the front or names of buckets (`BucketName`): resolution is in
//! `liteio_access`.
//!
//! ```
//! use http::Method;
//!
//! let operation = liteio_s3vectors::operation_of(&Method::POST, "/QueryVectors");
//! assert_eq!(operation, Some("QueryVectors"));
//! assert_eq!(liteio_s3vectors::operation_of(&Method::GET, "/QueryVectors"), None);
//! assert_eq!(liteio_s3vectors::known_operation("PutVectors"), Some("PutVectors"));
//! ```

mod arn;
mod context;
mod document;
mod elements;
mod error;
mod fields;
mod filter;
mod float;
mod index;
mod names;
mod page_token;
mod put_body;
mod query;
mod query_body;
mod reader;
mod resource;
mod tags;
mod unique;
mod vector;
mod vector_bucket;

pub use self::names::names_in;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response};
use serde::Serialize;

use self::context::Sent;
pub use self::error::refusal;
use self::error::{ApiResult, Exception};
use self::fields::Fields;
use liteio_access::state::App;
use liteio_access::{Action, Principal, VectorBuckets};
use liteio_auth::{AuthBody, CollectError, Identity, collect};
use liteio_wire::origin::{Origin, carried};
use liteio_wire::reply::{Reply, ReplyBody};

/// Largest request body. S3 Vectors' limit.
const BODY_BYTES_MAX: usize = 20 << 20;

/// One request, processed on a blocking thread.
struct Call {
    app: Arc<App>,
    buckets: Arc<VectorBuckets>,
    sent: Sent,
    /// The sender, always a user.
    principal: Principal,
    /// The operation's action, for authorization.
    action: Action,
    body: Bytes,
}

/// The response body of an operation.
type Answer = ApiResult<Vec<u8>>;

/// The handler of an operation.
type Operation = fn(&Call, Fields) -> Answer;

/// The table of operations: path, action, handler. The three tag operations share a path and are
/// distinguished by method.
const OPERATIONS: [(&str, Action, Operation); 19] = [
    ("CreateIndex", Action::CreateIndex, index::create),
    ("CreateVectorBucket", Action::CreateVectorBucket, vector_bucket::create),
    ("DeleteIndex", Action::DeleteIndex, index::delete),
    ("DeleteVectorBucket", Action::DeleteVectorBucket, vector_bucket::delete),
    ("DeleteVectorBucketPolicy", Action::DeleteVectorBucketPolicy, vector_bucket::delete_policy),
    ("DeleteVectors", Action::DeleteVectors, vector::delete),
    ("GetIndex", Action::GetIndex, index::get),
    ("GetVectorBucket", Action::GetVectorBucket, vector_bucket::get),
    ("GetVectorBucketPolicy", Action::GetVectorBucketPolicy, vector_bucket::get_policy),
    ("GetVectors", Action::GetVectors, vector::get),
    ("ListIndexes", Action::ListIndexes, index::list),
    ("ListVectorBuckets", Action::ListVectorBuckets, vector_bucket::list),
    ("ListVectors", Action::ListVectors, vector::list),
    (
        "PutVectorBucketDefaultIndexMode",
        Action::PutVectorBucketDefaultIndexMode,
        vector_bucket::put_default_index_mode,
    ),
    ("PutVectorBucketPolicy", Action::PutVectorBucketPolicy, vector_bucket::put_policy),
    ("PutVectors", Action::PutVectors, vector::put),
    ("QueryVectors", Action::QueryVectors, query::query),
    ("UpdateIndexMode", Action::UpdateIndexMode, index::update_mode),
    (
        "UpdateMetadataConfiguration",
        Action::UpdateMetadataConfiguration,
        index::update_metadata_configuration,
    ),
];

/// The names of all operations.
pub fn operation_names() -> impl Iterator<Item = &'static str> {
    let tags = [Method::GET, Method::POST, Method::DELETE];
    let tags = tags.into_iter().filter_map(|method| tags::action(&method));
    OPERATIONS.iter().map(|(_, action, _)| *action).chain(tags).map(name_of)
}

/// The handler that a request is routed to.
enum Route {
    Operation(&'static str, Operation),
    Tags(Method, String),
}

impl Route {
    /// Route and action of a request.
    fn of(method: &Method, path: &str) -> ApiResult<(Route, Action)> {
        let path = path.strip_prefix('/').unwrap_or(path);
        if let Some(arn) = path.strip_prefix("tags/") {
            let arn = percent_encoding::percent_decode_str(arn).decode_utf8();
            let arn = arn.map_err(|_| Exception::field("/resourceArn", "it is not UTF-8"))?;
            let action = tags::action(method).ok_or_else(|| Exception::unknown_operation(path))?;
            return Ok((Route::Tags(method.clone(), arn.into_owned()), action));
        }
        let found = OPERATIONS.iter().find(|(name, ..)| *name == path && method == Method::POST);
        let (name, action, run) = found.ok_or_else(|| Exception::unknown_operation(path))?;
        Ok((Route::Operation(name, *run), *action))
    }
}

/// The name of an operation: its action without the service prefix.
fn name_of(action: Action) -> &'static str {
    action.name().rsplit(':').next().unwrap_or_default()
}

/// The name of a request's operation, if it has one.
pub fn operation_of(method: &Method, path: &str) -> Option<&'static str> {
    Route::of(method, path).ok().map(|(_, action)| name_of(action))
}

/// The static name of an operation, if it exists.
pub fn known_operation(name: &str) -> Option<&'static str> {
    let known = OPERATIONS.iter().map(|(_, action, _)| name_of(*action));
    known.into_iter().find(|known| *known == name)
}

/// The S3 Vectors service of a server, behind authentication.
pub struct VectorsService {
    app: Arc<App>,
    buckets: Arc<VectorBuckets>,
}

impl VectorsService {
    /// Creates the service.
    pub fn new(app: Arc<App>) -> VectorsService {
        let accounts = Arc::clone(&app);
        let account_id = move |canonical_id: &str| accounts.account_id(canonical_id);
        let buckets = Arc::new(VectorBuckets::new(app.region.clone(), account_id));
        VectorsService { app, buckets }
    }

    /// Answers one request. Its extensions hold the sender's `Identity`.
    pub async fn call(&self, request: Request<AuthBody>) -> Reply {
        let mut response = Response::new(ReplyBody::from(self.answer(request).await?));
        let json_type = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json_type);
        Ok(response)
    }

    async fn answer(&self, request: Request<AuthBody>) -> Answer {
        let (parts, body) = request.into_parts();
        let principal = Principal::new(parts.extensions.get::<Identity>());
        if matches!(principal, Principal::Anonymous) {
            return Err(Exception::access_denied("Access Denied: the request has no signature"));
        }
        let (route, action) = Route::of(&parts.method, parts.uri.path())?;
        if let Some(origin) = parts.extensions.get::<Arc<Origin>>() {
            origin.found.note_operation(name_of(action));
        }
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let body = collect(body, BODY_BYTES_MAX).await.map_err(|error| match error {
            CollectError::TooLarge => Exception::body_too_large(),
            CollectError::Body(error) => refusal(&error).into(),
        })?;
        let (app, buckets) = (Arc::clone(&self.app), Arc::clone(&self.buckets));
        let origin = parts.extensions.get::<Arc<Origin>>().cloned();
        let sent = Sent { origin, headers: parts.headers };
        let call = Call { app, buckets, sent, principal, action, body };
        let work = carried(move || match route {
            // These operations parse their bodies with the streaming reader.
            Route::Operation("PutVectors" | "QueryVectors", operation) => {
                operation(&call, Fields::empty())
            }
            Route::Operation(_, operation) => {
                let fields = Fields::of_body(&call.body)?;
                call.note_sent(&fields);
                operation(&call, fields)
            }
            Route::Tags(method, arn) => tags::answer(&call, &method, &arn, &query),
        });
        self.app.blocking(move |_| work()).await
    }
}

/// A JSON response.
fn answer(output: &impl Serialize) -> Answer {
    serde_json::to_vec(output).map_err(|error| Exception::internal(&error))
}

/// An empty response.
fn done() -> Answer {
    Ok(b"{}".to_vec())
}

/// Converts milliseconds since 1970 to seconds, the unit of the protocol.
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
