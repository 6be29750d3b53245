//! Exports request spans to an OpenTelemetry collector: OTLP over HTTP, as JSON.
//!
//! One span per request except health checks, in the trace named by `traceparent` (W3C Trace
//! Context) or in a new one. Names and attributes follow the semantic conventions for HTTP and S3.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use liteio_store::{RandomSource as _, SystemRandom};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::delivery::{Destination, Follower, Sender};
use crate::otlp_settings::OtlpSettings;
use liteio_wire::front::{Finished, Heads, Observer};
use liteio_wire::http_client::http_client;

/// Time to deliver the queued spans when the server stops.
const END: Duration = Duration::from_secs(5);

/// OTLP's number of the span kind server.
const KIND_SERVER: u8 = 2;
/// OTLP's number of the span status error.
const STATUS_ERROR: u8 = 2;

/// Spans per request to the collector.
const BATCH_SPANS_MAX: usize = 100;

/// Lengths of trace and span IDs in bytes.
const TRACE_BYTES: usize = 16;
const SPAN_BYTES: usize = 8;

/// The span exporter of a server.
pub struct Spans {
    sender: Arc<Sender>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Spans {
    /// # Errors
    /// One line with advice, without any secret.
    pub fn open(settings: &OtlpSettings, ca_file: Option<&Path>) -> Result<Arc<Spans>, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let bad = || "a header for the collector of OpenTelemetry is not valid".to_owned();
            let mut value = HeaderValue::try_from(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::try_from(name).map_err(|_| bad())?, value);
        }
        let service = json!({
            "attributes": [
                text("service.name", &settings.service_name),
                text("service.version", env!("CARGO_PKG_VERSION")),
            ],
        });
        let body = Box::new(move |spans: &[Bytes]| ("application/json", document(&service, spans)));
        let (what, url) = ("collector of OpenTelemetry", settings.url.clone());
        let entries_max = BATCH_SPANS_MAX;
        let destination = Destination { what, url, headers, body, entries_max };
        let sender = Arc::new(Sender::new(destination, http_client(ca_file)?)?);
        Ok(Arc::new(Spans { sender, task: Mutex::default() }))
    }
}

#[async_trait::async_trait]
impl Follower for Spans {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn start(&self) {
        *self.task.lock() = Some(tokio::spawn(Arc::clone(&self.sender).run()));
    }

    async fn close(&self) {
        self.sender.queue().close();
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = tokio::time::timeout(END, task).await;
        }
    }

    fn state(&self) -> Value {
        let queue = self.sender.queue();
        json!({
            "waiting": queue.waiting(),
            "lost": queue.lost(),
            "failing": queue.is_failing(),
        })
    }

    fn lost(&self) -> u64 {
        self.sender.queue().lost()
    }
}

impl Observer for Spans {
    fn wants_heads(&self) -> bool {
        true
    }

    fn finished(&self, finished: &Finished<'_>) {
        let Some(heads) = finished.heads else { return };
        if finished.origin.found.is_health() {
            return;
        }
        let mut random = [0; TRACE_BYTES + SPAN_BYTES];
        if SystemRandom.fill(&mut random).is_err() {
            return;
        }
        let parent =
            heads.request.get("traceparent").and_then(|it| Parent::read(it.to_str().ok()?));
        // The caller's trace is not sampled, so its child spans are not either.
        if parent.as_ref().is_some_and(|parent| !parent.is_sampled) {
            return;
        }
        let span = span(finished, heads, parent.as_ref(), &random).to_string();
        self.sender.queue().push(&Bytes::from(span));
    }
}

/// The parent span in `traceparent`: `00-TRACE-SPAN-FLAGS` in lower-case hexadecimal.
#[derive(Debug, PartialEq, Eq)]
struct Parent {
    trace: String,
    span: String,
    is_sampled: bool,
}

impl Parent {
    fn read(text: &str) -> Option<Parent> {
        let fields: Vec<&str> = text.split('-').collect();
        let (version, trace, span, flags) = match *fields {
            [version, trace, span, flags] => (version, trace, span, flags),
            // Later versions of the header may have more fields.
            [version, trace, span, flags, ..] if version != "00" => (version, trace, span, flags),
            _ => return None,
        };
        let is_hex = |field: &str, digits: usize| {
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            field.len() == digits && field.bytes().all(is_digit)
        };
        let is_id = |field: &str, bytes: usize| {
            is_hex(field, 2 * bytes) && field.bytes().any(|byte| byte != b'0')
        };
        let is_valid = is_hex(version, 2)
            && version != "ff"
            && is_id(trace, TRACE_BYTES)
            && is_id(span, SPAN_BYTES)
            && is_hex(flags, 2);
        let flags = u8::from_str_radix(flags, 16).ok().filter(|_| is_valid)?;
        let is_sampled = flags & 1 == 1;
        Some(Parent { trace: trace.to_owned(), span: span.to_owned(), is_sampled })
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// An integer attribute; OTLP's JSON writes 64-bit integers as strings.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn hex(bytes: &[u8]) -> String {
    hex_simd::encode_to_string(bytes, hex_simd::AsciiCase::Lower)
}

fn span(
    finished: &Finished<'_>,
    heads: &Heads,
    parent: Option<&Parent>,
    random: &[u8; TRACE_BYTES + SPAN_BYTES],
) -> Value {
    let (origin, status) = (finished.origin, finished.status);
    let (target, found) = (&origin.target, &origin.found);
    let (trace, id) = random.split_at(TRACE_BYTES);
    let begun = finished.begun().duration_since(UNIX_EPOCH).unwrap_or_default();
    let header = |name: &str| heads.request.get(name).and_then(|value| value.to_str().ok());
    let vectors = found.vectors();
    let template = match (target.bucket(), target.names_key()) {
        _ if vectors.is_some() => "/{operation}",
        ("", _) => "/",
        (_, false) => "/{bucket}",
        (_, true) => "/{bucket}/{key}",
    };
    let method = finished.method.as_str();
    let mut attributes = vec![
        text("http.request.method", method),
        text("http.route", template),
        text("url.path", heads.uri.path()),
        text("url.scheme", origin.peer.scheme()),
        text("client.address", &origin.peer.address.ip().to_canonical().to_string()),
        number("http.request.body.size", finished.bytes_in),
        number("http.response.body.size", finished.bytes_out),
        text("aws.request_id", origin.ids.request_id()),
    ];
    if status != 0 {
        attributes.push(number("http.response.status_code", status.into()));
    }
    if let Some(operation) = found.operation() {
        attributes.extend([text("rpc.system", "aws-api"), text("rpc.method", operation)]);
        let (bucket, key) = (target.bucket(), target.names_key().then(|| target.key()));
        let (names, bucket, of_bucket) = match vectors {
            Some((bucket, index)) => {
                (["aws.s3vectors.bucket", "aws.s3vectors.index"], bucket, index)
            }
            None => (["aws.s3.bucket", "aws.s3.key"], bucket, key),
        };
        if !bucket.is_empty() {
            attributes.push(text(names[0], bucket));
        }
        attributes.extend(of_bucket.map(|value| text(names[1], value)));
    }
    if let Some(agent) = header("user-agent") {
        attributes.push(text("user_agent.original", agent));
    }
    if !target.host().is_empty() {
        attributes.push(text("server.address", target.host()));
    }
    if let Some(user) = found.user() {
        attributes.push(text("user.id", user));
    }
    let is_failed = status == 0 || status >= 500;
    match finished.code {
        Some(code) => attributes.push(text("error.type", code)),
        None if status == 0 => attributes.push(text("error.type", "client_gone")),
        None if is_failed => attributes.push(text("error.type", &status.to_string())),
        None => {}
    }
    let name = found.operation().map_or_else(|| format!("{method} {template}"), str::to_owned);
    let mut span = json!({
        "traceId": parent.map_or_else(|| hex(trace), |parent| parent.trace.clone()),
        "spanId": hex(id),
        "flags": 1,
        "name": name,
        "kind": KIND_SERVER,
        "startTimeUnixNano": begun.as_nanos().to_string(),
        "endTimeUnixNano": (begun + finished.duration).as_nanos().to_string(),
        "attributes": attributes,
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = parent.span.clone().into();
    }
    if let Some(state) = header("tracestate").filter(|_| parent.is_some()) {
        span["traceState"] = state.into();
    }
    if is_failed {
        span["status"] = json!({ "code": STATUS_ERROR });
    }
    span
}

/// An `ExportTraceServiceRequest` of spans that are already JSON.
fn document(service: &Value, spans: &[Bytes]) -> Bytes {
    let mut body = format!("{{\"resourceSpans\":[{{\"resource\":{service},").into_bytes();
    body.extend_from_slice(b"\"scopeSpans\":[{\"scope\":{\"name\":\"liteio\"},\"spans\":[");
    body.extend_from_slice(&spans.join(&b","[..]));
    body.extend_from_slice(b"]}]}]}");
    Bytes::from(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_read_as_w3c_has_it() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let span = "00f067aa0ba902b7";
        for (text, is_sampled) in [
            (format!("00-{trace}-{span}-01"), Some(true)),
            (format!("00-{trace}-{span}-00"), Some(false)),
            (format!("01-{trace}-{span}-03-more"), Some(true)),
            (format!("00-{trace}-{span}-01-more"), None),
            (format!("ff-{trace}-{span}-01"), None),
            (format!("00-{}-{span}-01", "0".repeat(32)), None),
            (format!("00-{trace}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{span}-01", trace.to_uppercase()), None),
            (format!("00-{trace}-{span}"), None),
            (String::new(), None),
            ("é-é-é-é".to_owned(), None),
        ] {
            let read = Parent::read(&text);
            assert_eq!(read.as_ref().map(|parent| parent.is_sampled), is_sampled, "{text}");
            if let Some(parent) = read {
                assert_eq!((&*parent.trace, &*parent.span), (trace, span));
            }
        }
    }
}
