//! Amazon S3 Vectors: JSON over HTTP, one operation a path.
//!
//! Requests that are signed for the service `s3vectors` come here. Who may do what is decided as for
//! buckets: a vector bucket and everything in it belongs to its owner.

mod arn;
mod document;
mod elements;
mod error;
mod fields;
mod filter;
mod float;
mod index;
mod page_token;
mod put_body;
mod query;
mod query_body;
mod reader;
mod resource;
mod tags;
mod vector;
mod vector_bucket;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use serde::Serialize;

use self::arn::Arns;
pub(crate) use self::error::refusal;
use self::error::{ApiError, ApiResult};
use self::fields::Fields;
use crate::auth::{AuthBody, Gathered, Identity, TooLarge, User};
use crate::reply::{Reply, ReplyBody};
use crate::state::App;

/// Largest body of a request. S3 Vectors' limit.
const BODY_BYTES_MAX: usize = 20 << 20;

/// One request, on a blocking thread.
struct Call {
    app: Arc<App>,
    arns: Arns,
    /// Who asks.
    user: Arc<User>,
    body: Bytes,
}

/// What an operation answers.
type Answer = ApiResult<Vec<u8>>;

/// An operation.
type Operation = fn(&Call, Fields) -> Answer;

/// The operations that are a path of their own. The three of tags are told by method.
const OPERATIONS: [(&str, Operation); 19] = [
    ("CreateIndex", index::create),
    ("CreateVectorBucket", vector_bucket::create),
    ("DeleteIndex", index::delete),
    ("DeleteVectorBucket", vector_bucket::delete),
    ("DeleteVectorBucketPolicy", vector_bucket::delete_policy),
    ("DeleteVectors", vector::delete),
    ("GetIndex", index::get),
    ("GetVectorBucket", vector_bucket::get),
    ("GetVectorBucketPolicy", vector_bucket::get_policy),
    ("GetVectors", vector::get),
    ("ListIndexes", index::list),
    ("ListVectorBuckets", vector_bucket::list),
    ("ListVectors", vector::list),
    ("PutVectorBucketDefaultIndexMode", vector_bucket::put_default_index_mode),
    ("PutVectorBucketPolicy", vector_bucket::put_policy),
    ("PutVectors", vector::put),
    ("QueryVectors", query::query),
    ("UpdateIndexMode", index::update_mode),
    ("UpdateMetadataConfiguration", index::update_metadata_configuration),
];

/// Where a request goes.
enum Route {
    Operation(&'static str, Operation),
    Tags(Method, String),
}

/// S3 Vectors of a server, behind authentication.
pub(crate) struct VectorsService {
    app: Arc<App>,
    arns: Arns,
}

impl VectorsService {
    pub(crate) fn new(app: Arc<App>) -> VectorsService {
        let arns = Arns::new(&app.region);
        VectorsService { app, arns }
    }

    /// Answers one request. Its extensions hold the `Identity` of its sender.
    pub(crate) async fn call(&self, request: Request<AuthBody>) -> Reply {
        let mut response = Response::new(ReplyBody::from(self.answer(request).await?));
        let json_type = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json_type);
        Ok(response)
    }

    async fn answer(&self, request: Request<AuthBody>) -> Answer {
        let (parts, body) = request.into_parts();
        let user = parts.extensions.get::<Identity>().and_then(Identity::user);
        let user = Arc::clone(user.ok_or_else(ApiError::access_denied)?);
        let route = route(&parts.method, parts.uri.path())?;
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let body = collect(body).await?;
        let call = Call { app: Arc::clone(&self.app), arns: self.arns.clone(), user, body };
        let work = move || match route {
            // They read their bodies themselves.
            Route::Operation("PutVectors" | "QueryVectors", operation) => {
                operation(&call, Fields::empty())
            }
            Route::Operation(_, operation) => operation(&call, Fields::of_body(&call.body)?),
            Route::Tags(method, arn) => tags::answer(&call, &method, &arn, &query),
        };
        self.app.offload.run(work).await?
    }
}

fn route(method: &Method, path: &str) -> ApiResult<Route> {
    let path = path.strip_prefix('/').unwrap_or(path);
    if let Some(arn) = path.strip_prefix("tags/") {
        let arn = percent_encoding::percent_decode_str(arn).decode_utf8();
        let arn = arn.map_err(|_| ApiError::field("resourceArn", "it is not UTF-8"))?;
        return Ok(Route::Tags(method.clone(), arn.into_owned()));
    }
    let found = OPERATIONS.iter().find(|(name, _)| *name == path && method == Method::POST);
    found.map(|(name, run)| Route::Operation(name, *run)).ok_or_else(ApiError::unknown_operation)
}

/// The whole body.
async fn collect(mut body: AuthBody) -> ApiResult<Bytes> {
    let too_large =
        || ApiError::invalid(format!("The request body has more than {BODY_BYTES_MAX} bytes."));
    let declared = body.size_hint().exact();
    if declared.is_some_and(|bytes| bytes > BODY_BYTES_MAX as u64) {
        return Err(too_large());
    }
    let mut gathered = Gathered::new(declared, BODY_BYTES_MAX);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| refusal(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        // At once when it was gathered before, for its signature.
        if let Some(whole) = gathered.add(data).map_err(|TooLarge| too_large())? {
            return Ok(whole);
        }
    }
    Ok(gathered.finish())
}

/// An answer as JSON.
fn answer(output: &impl Serialize) -> Answer {
    serde_json::to_vec(output).map_err(|error| ApiError::internal(&error))
}

/// The answer of operations that have nothing to say.
fn done() -> Answer {
    Ok(b"{}".to_vec())
}

/// Milliseconds since 1970 as the protocol writes times: seconds.
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
