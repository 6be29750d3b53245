//! The live trace of requests, in the format of MinIO's client.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::call::{Call, Query};
use super::{Admin, Answer};
use liteio_iam::minio::invalid_argument;
use liteio_observe::trace::{Entry, Heard};
use liteio_wire::reply::ApiError;

/// Interval after which an idle client is sent a blank.
const PULSE: Duration = Duration::from_secs(1);

/// MinIO's type number of S3 requests.
const TYPE_S3: u64 = 4;
/// MinIO's type number of all other requests.
const TYPE_INTERNAL: u64 = 8;

/// The types that a client can ask for. Only the first two have entries here.
const KINDS: [&str; 18] = [
    "s3",
    "internal",
    "storage",
    "os",
    "scanner",
    "decommission",
    "healing",
    "batch-replication",
    "batch-keyrotation",
    "batch-expire",
    "rebalance",
    "replication-resync",
    "bootstrap",
    "ftp",
    "ilm",
    "kms",
    "formatting",
    "batch-all",
];

/// The filter of the entries that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wanted {
    of_s3: bool,
    of_others: bool,
    errors_only: bool,
    milliseconds_min: f64,
}

pub(super) async fn trace(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let mut known = vec!["err", "threshold"];
    known.extend(KINDS);
    let wanted = Wanted::read(&call.begin("AdminTrace", &known)?)?;
    call.may(&["admin:ServerTrace"])?;
    let node = call.entrance().1.to_owned();
    let listener = admin.audience.join(call.account_id(), move |entry| wanted.includes(entry));
    let lines = stream::unfold((listener, node), |(mut listener, node)| async move {
        let silent_until = Instant::now() + PULSE;
        let line = loop {
            match tokio::time::timeout_at(silent_until, listener.next()).await {
                Err(_) => break b" ".to_vec(),
                Ok(None) => return None,
                Ok(Some(Heard::Request(entry))) => {
                    break format!("{}\n", told(&entry, &node)).into_bytes();
                }
                // The client's format cannot report lost entries.
                Ok(Some(Heard::Lost(_))) => {}
            }
        };
        Some((Ok::<_, Infallible>(Bytes::from(line)), (listener, node)))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(lines)).into_response())
}

impl Wanted {
    fn read(query: &Query<'_>) -> Result<Wanted, ApiError> {
        let is = |name: &str| match query.text(name) {
            "true" => Ok(true),
            "false" | "" => Ok(false),
            _ => Err(invalid_argument(format!("{name} must be true or false."))),
        };
        for kind in KINDS {
            is(kind)?;
        }
        let threshold = match query.text("threshold") {
            "" => Duration::ZERO,
            text => duration(text).ok_or_else(|| {
                invalid_argument("threshold must be a duration such as 0s, 20ms or 1m30s.")
            })?,
        };
        Ok(Wanted {
            of_s3: is("s3")?,
            of_others: is("internal")?,
            errors_only: is("err")?,
            milliseconds_min: threshold.as_secs_f64() * 1000.0,
        })
    }

    fn includes(&self, entry: &Entry) -> bool {
        let is_of_s3 = kind(entry) == TYPE_S3;
        let is_kind = if is_of_s3 { self.of_s3 } else { self.of_others };
        let is_error = entry.status == 0 || entry.status >= 400;
        is_kind && (is_error || !self.errors_only) && entry.milliseconds >= self.milliseconds_min
    }
}

/// Parses a Go duration: numbers with units.
fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanoseconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|it| it.is_ascii_digit() || *it == b'.').count();
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.bytes().take_while(|it| !it.is_ascii_digit() && *it != b'.').count();
        nanoseconds += number
            * match &rest[..unit] {
                "ns" => 1.0,
                "us" | "µs" | "μs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" => 60e9,
                "h" => 3600e9,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    let is_there = !text.is_empty() && nanoseconds <= i64::MAX as f64;
    is_there.then(|| Duration::from_nanos(nanoseconds as u64))
}

fn kind(entry: &Entry) -> u64 {
    let is_other = ["/_", "/minio/"].iter().any(|prefix| entry.path.starts_with(prefix));
    if is_other { TYPE_INTERNAL } else { TYPE_S3 }
}

/// An entry in MinIO's format.
fn told(entry: &Entry, node: &str) -> Value {
    let nanoseconds = (entry.milliseconds * 1e6) as u64;
    let kind = kind(entry);
    let operation = entry.operation.unwrap_or("Unknown");
    let prefix = if kind == TYPE_S3 { "s3" } else { "internal" };
    let mut told = json!({
        "type": kind,
        "nodename": node,
        "funcname": format!("{prefix}.{operation}"),
        "time": entry.time,
        "path": entry.path,
        "dur": nanoseconds,
        "bytes": entry.bytes_in.saturating_add(entry.bytes_out),
        "http": {
            "request": {
                "time": entry.time,
                "proto": entry.protocol,
                "method": entry.method,
                "path": entry.path,
                "rawquery": entry.query,
                "headers": headers(&entry.request_headers),
                "client": entry.client,
            },
            "response": {
                "time": entry.time,
                "headers": headers(&entry.response_headers),
                "statuscode": entry.status,
            },
            "stats": {
                "inputbytes": entry.bytes_in,
                "outputbytes": entry.bytes_out,
                "latency": nanoseconds,
                "timetofirstbyte": 0,
            },
        },
    });
    if let Some(error) = entry.denied.as_ref().or(entry.code.as_ref()) {
        told["error"] = json!(error);
    }
    told
}

/// Headers with all their values, in the case that clients look up.
fn headers(headers: &[(String, String)]) -> Value {
    let mut told = Map::new();
    for (name, value) in headers {
        let words = name.split('-').map(|word| {
            let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
            format!("{}{rest}", first.to_ascii_uppercase())
        });
        let name = words.collect::<Vec<_>>().join("-");
        let values = told.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(values) = values {
            values.push(json!(value));
        }
    }
    Value::Object(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        let rows = [
            ("0s", Some(0)),
            ("0", Some(0)),
            ("20ms", Some(20_000_000)),
            ("1m30s", Some(90_000_000_000)),
            ("1.5s", Some(1_500_000_000)),
            ("3µs", Some(3000)),
            ("", None),
            ("20", None),
            ("ms", None),
            ("1 s", None),
            ("-1s", None),
            ("1e300h", None),
        ];
        for (text, nanoseconds) in rows {
            assert_eq!(duration(text), nanoseconds.map(Duration::from_nanos), "{text:?}");
        }
    }
}
