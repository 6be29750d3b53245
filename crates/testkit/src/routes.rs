//! The routes of the test API: JSON in and out.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt as _, Limited};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::events::EventFilter;
use super::faults::FaultRule;
use super::filters::{check_names, check_operation, event_names, method_pattern, status_pattern};
use super::glob::Glob;
use super::guard::bad_request;
use super::history::{Happened, History};
use super::requests::RequestFilter;
use super::{PREFIX, RESET_OF_LOCALSTACK, TestApi};
use liteio_wire::origin::Origin;
use liteio_wire::reply::{ApiError, BoxError, Dialect, ErrorCode, Reply, ReplyBody};

/// Limit of a request document in bytes.
const BODY_BYTES_MAX: usize = 64 << 10;
/// Limit of entries in a response.
const LIMIT_MAX: usize = 10_000;
/// The longest wait, and the default one.
const WAIT_MS_MAX: u64 = 600_000;
const WAIT_MS: u64 = 10_000;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ResetDocument {
    bucket: Option<String>,
    space: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SpaceDocument {
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockDocument {
    now: Option<String>,
    advance_ms: Option<i64>,
    reset: Option<bool>,
    space: Option<String>,
}

/// The query parameters.
struct Query(Vec<(String, String)>);

impl Query {
    /// # Errors
    /// `InvalidRequest` for an unknown or repeated parameter.
    fn of(query: Option<&str>, known: &[&str]) -> Result<Query, ApiError> {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
        let pairs: Vec<(String, String)> = pairs.collect();
        for (place, (name, _)) in pairs.iter().enumerate() {
            if !known.contains(&&**name) {
                return Err(bad_request(format!(
                    "The parameter {name:?} is unknown: give {}.",
                    known.join(", ")
                )));
            }
            if pairs[..place].iter().any(|(other, _)| other == name) {
                return Err(bad_request(format!("The parameter {name:?} is given twice.")));
            }
        }
        Ok(Query(pairs))
    }

    fn get(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(other, _)| other == name);
        pair.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    fn glob(&self, name: &str) -> Option<Glob> {
        self.get(name).map(Glob::new)
    }

    /// # Errors
    /// `InvalidRequest` if it is not a number up to `max`.
    fn number(&self, name: &str, default: u64, max: u64) -> Result<u64, ApiError> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| *number <= max);
        number.ok_or_else(|| bad_request(format!("{name} is a number from 0 to {max}.")))
    }
}

impl TestApi {
    /// Answers a request to the test API.
    pub async fn operate<B>(&self, request: Request<B>, origin: &Origin) -> Reply
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (head, body) = request.into_parts();
        self.guard.check(&head, origin)?;
        let path = match origin.target.path() {
            RESET_OF_LOCALSTACK => "/reset",
            path => path.strip_prefix(PREFIX).unwrap_or_default(),
        };
        let mut segments = Vec::new();
        for segment in path.split('/').skip(1) {
            let decoded = percent_encoding::percent_decode_str(segment).decode_utf8();
            segments.push(decoded.map_err(|_| bad_request("The path is not UTF-8."))?);
        }
        let segments: Vec<&str> = segments.iter().map(Cow::as_ref).collect();
        let query = head.uri.query();
        let of_space = |query| Query::of(query, &["space"]);
        match (head.method.as_str(), &*segments) {
            ("POST", ["reset"]) => {
                let query = of_space(query)?;
                let document: ResetDocument = or_default(body).await?;
                let space = document.space.as_deref().or(query.get("space"));
                self.reset(space, document.bucket.as_deref()).await?;
                Ok(empty())
            }
            ("GET", ["snapshots"]) => {
                let slot = self.slot(of_space(query)?.get("space"))?;
                let snapshots = slot.snapshots.lock();
                let listed: Vec<Value> = snapshots
                    .iter()
                    .map(|(name, it)| json!({ "name": name, "created": format!("{:.3}", it.created) }))
                    .collect();
                Ok(answer(StatusCode::OK, &json!({ "snapshots": listed })))
            }
            ("PUT", ["snapshots", name]) => {
                let is_new = self.take_snapshot(of_space(query)?.get("space"), name).await?;
                let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
                Ok(answer(status, &json!({ "name": name })))
            }
            ("DELETE", ["snapshots", name]) => {
                self.delete_snapshot(of_space(query)?.get("space"), name)?;
                Ok(empty())
            }
            ("POST", ["snapshots", name, "restore"]) => {
                self.restore(of_space(query)?.get("space"), name).await?;
                Ok(empty())
            }
            ("POST", ["spaces"]) => {
                Query::of(query, &[])?;
                let document: SpaceDocument = or_default(body).await?;
                let space = self.create_space(document.name).await?;
                Ok(answer(StatusCode::CREATED, &space))
            }
            ("GET", ["spaces"]) => {
                Query::of(query, &[])?;
                let listed = self.named.all().into_iter().map(|slot| {
                    let access_key = slot.credentials.as_ref().map(|(access_key, _)| access_key);
                    json!({ "name": slot.name, "access_key": access_key })
                });
                Ok(answer(StatusCode::OK, &json!({ "spaces": listed.collect::<Vec<_>>() })))
            }
            ("DELETE", ["spaces", name]) => {
                Query::of(query, &[])?;
                self.delete_space(name)?;
                Ok(empty())
            }
            ("POST", ["faults"]) => {
                let query = of_space(query)?;
                let mut rule: FaultRule = read(body).await?;
                rule.space = rule.space.or_else(|| query.get("space").map(str::to_owned));
                let id = self.add_fault(rule)?;
                Ok(answer(StatusCode::CREATED, &json!({ "id": id })))
            }
            ("GET", ["faults"]) => {
                let slot = self.slot(of_space(query)?.get("space"))?;
                Ok(answer(StatusCode::OK, &json!({ "faults": slot.faults.list() })))
            }
            ("DELETE", ["faults"]) => {
                self.slot(of_space(query)?.get("space"))?.faults.clear();
                Ok(empty())
            }
            ("DELETE", ["faults", id]) => {
                let space = of_space(query)?;
                match self.remove_fault(space.get("space"), id)? {
                    true => Ok(empty()),
                    false => Err(not_found(format!("There is no fault {id:?}."))),
                }
            }
            ("GET", ["clock"]) => {
                let slot = self.slot(of_space(query)?.get("space"))?;
                Ok(answer(StatusCode::OK, &slot.told_time()))
            }
            ("PUT", ["clock"]) => {
                let query = of_space(query)?;
                let ClockDocument { now, advance_ms, reset, space } = read(body).await?;
                let space = space.as_deref().or(query.get("space"));
                match (now, advance_ms, reset) {
                    (Some(now), None, None) => self.set_time(space, &now).await?,
                    (None, Some(ms), None) => self.advance_ms(space, ms).await?,
                    (None, None, Some(true)) => self.reset_time(space).await?,
                    _ => {
                        return Err(bad_request(
                            "Give exactly one of \"now\", \"advance_ms\" and \"reset\": true.",
                        ));
                    }
                }
                Ok(answer(StatusCode::OK, &self.slot(space)?.told_time()))
            }
            ("GET", ["requests"]) => {
                let query = Query::of(query, &[FILTERS, &["limit"]].concat())?;
                let filter = self.request_filter(&query)?;
                let since = query.number("since", 0, u64::MAX)?;
                let limit = query.number("limit", LIMIT_MAX as u64, LIMIT_MAX as u64)? as usize;
                let found = self.requests.since(since, limit, |it| filter.accepts(it));
                Ok(answer(StatusCode::OK, &listed("requests", found)))
            }
            ("DELETE", ["requests"]) => {
                let slot = self.slot(of_space(query)?.get("space"))?;
                self.requests.forget(&slot.name);
                Ok(empty())
            }
            ("GET", ["requests", "wait"]) => {
                let query = Query::of(query, &[FILTERS, &["count", "timeout_ms"]].concat())?;
                let filter = self.request_filter(&query)?;
                let count = query.number("count", 1, LIMIT_MAX as u64)? as usize;
                let wait = self.wait(&self.requests, &query, count, |it| filter.accepts(it));
                Ok(answer(StatusCode::OK, &listed("requests", wait.await?)))
            }
            ("GET", ["events", "wait"]) => {
                let known = ["bucket", "key", "name", "since", "space", "count", "timeout_ms"];
                let query = Query::of(query, &known)?;
                let filter = EventFilter {
                    bucket: query.glob("bucket"),
                    key: query.glob("key"),
                    name: query.get("name").map(event_names).transpose()?,
                    space: self.slot(query.get("space"))?.name.clone(),
                };
                let count = query.number("count", 1, LIMIT_MAX as u64)? as usize;
                let wait = self.wait(&self.events, &query, count, |it| filter.accepts(it));
                Ok(answer(StatusCode::OK, &listed("events", wait.await?)))
            }
            (_, segments) => Err(unknown(segments)),
        }
    }

    fn request_filter(&self, query: &Query) -> Result<RequestFilter, ApiError> {
        if let Some(pattern) = query.get("operation") {
            check_operation(pattern, &self.recorded)?;
            check_names(pattern, query.get("bucket"), query.get("key"), &self.recorded)?;
        }
        Ok(RequestFilter {
            operation: query.glob("operation"),
            bucket: query.glob("bucket"),
            key: query.glob("key"),
            method: query.get("method").map(method_pattern).transpose()?,
            status: query.get("status").map(status_pattern).transpose()?,
            user: query.glob("user"),
            space: self.slot(query.get("space"))?.name.clone(),
        })
    }

    /// Waits until this many entries exist.
    ///
    /// # Errors
    /// 408 on timeout, 503 if the server stops.
    async fn wait<T: Happened + Clone>(
        &self,
        history: &History<T>,
        query: &Query,
        count: usize,
        accepts: impl Fn(&T) -> bool,
    ) -> Result<Found<T>, ApiError> {
        let since = query.number("since", 0, u64::MAX)?;
        let milliseconds = query.number("timeout_ms", WAIT_MS, WAIT_MS_MAX)?;
        let deadline = Instant::now() + Duration::from_millis(milliseconds);
        let mut changes = history.changes();
        let mut stopping = self.stopping.subscribe();
        loop {
            // Marked before the entries are read, so that an entry added in between wakes the wait
            // (no lost wake-up).
            changes.mark_unchanged();
            let found = history.since(since, LIMIT_MAX, &accepts);
            if found.0.len() >= count {
                return Ok(found);
            }
            let there = found.0.len();
            let changed = async {
                tokio::select! {
                    changed = changes.changed() => changed.is_ok(),
                    _ = stopping.wait_for(|stopping| *stopping) => false,
                }
            };
            match timeout_at(deadline, changed).await {
                Ok(true) => {}
                Ok(false) => {
                    let message = "The server is stopping.";
                    let status = StatusCode::SERVICE_UNAVAILABLE;
                    return Err(ApiError::with_status(
                        Dialect::S3,
                        "ServiceUnavailable",
                        status,
                        message,
                    ));
                }
                Err(_) => {
                    let message = format!(
                        "{there} of {count} came within {milliseconds} ms: check the filters, or give a longer timeout."
                    );
                    let status = StatusCode::REQUEST_TIMEOUT;
                    return Err(ApiError::with_status(
                        Dialect::S3,
                        "RequestTimeout",
                        status,
                        message,
                    ));
                }
            }
        }
    }
}

/// Entries with their numbers, and the number after the last.
type Found<T> = (Vec<(u64, T)>, u64);

/// The filter parameters of requests.
const FILTERS: &[&str] =
    &["operation", "bucket", "key", "method", "status", "user", "space", "since"];

fn listed<T: Serialize>(name: &str, (entries, next): Found<T>) -> Value {
    #[derive(Serialize)]
    struct Numbered<T> {
        sequence: u64,
        #[serde(flatten)]
        entry: T,
    }
    let entries: Vec<_> =
        entries.into_iter().map(|(sequence, entry)| Numbered { sequence, entry }).collect();
    json!({ name: entries, "next": next })
}

/// The error for an unknown method or path.
fn unknown(segments: &[&str]) -> ApiError {
    let allowed = match segments {
        ["reset"] | ["snapshots", _, "restore"] => "POST",
        ["snapshots"] | ["requests", "wait"] | ["events", "wait"] => "GET",
        ["snapshots", _] => "PUT, DELETE",
        ["spaces"] => "GET, POST",
        ["spaces", _] | ["faults", _] => "DELETE",
        ["faults"] => "GET, POST, DELETE",
        ["clock"] => "GET, PUT",
        ["requests"] => "GET, DELETE",
        _ => return not_found("The test API has no such path: see docs/testing.md."),
    };
    let message = "The specified method is not allowed against this resource.";
    let error = ApiError::new(ErrorCode::MethodNotAllowed, message);
    error.with_headers(HeaderMap::from_iter([(ALLOW, HeaderValue::from_static(allowed))]))
}

fn not_found(message: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::new(ErrorCode::NoSuchKey, message)
}

/// Parses the request document.
///
/// # Errors
/// `InvalidRequest`, with the reason.
async fn read<T, B>(body: B) -> Result<T, ApiError>
where
    T: DeserializeOwned,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let bytes = bytes(body).await?;
    serde_json::from_slice(&bytes).map_err(|error| bad_request(format!("The document: {error}.")))
}

/// Parses the request document; the default for an empty body.
async fn or_default<T, B>(body: B) -> Result<T, ApiError>
where
    T: DeserializeOwned + Default,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let bytes = bytes(body).await?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    serde_json::from_slice(&bytes).map_err(|error| bad_request(format!("The document: {error}.")))
}

async fn bytes<B>(body: B) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let collected = Limited::new(body, BODY_BYTES_MAX).collect().await;
    let collected = collected.map_err(|error| {
        let found = ApiError::find(&*error).cloned();
        found.unwrap_or_else(|| {
            bad_request(format!(
                "The document broke off, or is longer than {BODY_BYTES_MAX} bytes."
            ))
        })
    })?;
    Ok(collected.to_bytes())
}

fn empty() -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn answer(status: StatusCode, value: &impl Serialize) -> Response<ReplyBody> {
    let mut json = serde_json::to_vec(value).unwrap_or_default();
    json.push(b'\n');
    let mut response = Response::new(ReplyBody::from(json));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
