//! [`Record`]: the record of one request, which becomes a line when the request has ended.

use std::sync::Arc;
use std::time::Instant;

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, REFERER, USER_AGENT};
use http::{HeaderMap, HeaderName, Method};
use liteio_access::{LoggedKind, LoggedRequest};
use liteio_observe::trace::address_without_secrets;
use liteio_s3::bucket_logging::Logging;
use liteio_store::Bucket;
use liteio_wire::origin::timestamp;
use liteio_wire::record::{Ended, RequestRecord};
use parking_lot::Mutex;

use super::buffer::{Buffer, Entry};
use super::line::Line;
use super::operation;

const DECODED_LENGTH: HeaderName = HeaderName::from_static("x-amz-decoded-content-length");
const OBJECT_SIZE: HeaderName = HeaderName::from_static("x-amz-object-size");

/// The record of one request.
#[derive(Debug)]
pub(super) struct Record {
    buffer: Arc<Buffer>,
    source: Arc<Bucket>,
    rule: Arc<Logging>,
    begun_ms: u64,
    begun: Instant,
    method: Method,
    kind: LoggedKind,
    /// The line, complete but for the answer. It is taken at the end.
    line: Mutex<Line>,
}

impl Record {
    /// Begins the record of a request at the time `now_ms`, in milliseconds since 1970.
    pub(super) fn begin(
        buffer: &Arc<Buffer>,
        source: &Arc<Bucket>,
        rule: Arc<Logging>,
        now_ms: u64,
        request: &LoggedRequest<'_>,
    ) -> Record {
        let LoggedRequest { kind, method, headers, origin, .. } = *request;
        let target = &origin.target;
        let uri = match target.query() {
            Some(query) => address_without_secrets(&format!("{}?{query}", target.path())),
            None => target.path().to_owned(),
        };
        let text = |name: HeaderName| {
            let value = headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let auth_type = request.signed.map(|signed| match signed.auth_type() {
            "REST-QUERY-STRING" => "QueryString",
            "POST" => "-",
            _ => "AuthHeader",
        });
        let signature_version = request.signed.map(|signed| match signed.version() {
            "AWS" => "SigV2",
            _ => "SigV4",
        });
        let line = Line {
            owner: source.owner.id.clone(),
            bucket: source.name.as_str().to_owned(),
            time: timestamp(now_ms),
            remote_ip: origin.peer.address.ip().to_canonical().to_string(),
            requester: request.requester.map(str::to_owned),
            request_id: origin.ids.request_id().to_owned(),
            operation: operation::name(kind, method, origin.found.operation(), request.key),
            key: request.key.to_owned(),
            request_uri: format!("{method} {uri} {:?}", origin.version),
            referer: text(REFERER).map(|referer| address_without_secrets(&referer)),
            user_agent: text(USER_AGENT),
            version_id: request.version.map(str::to_owned),
            host_id: origin.ids.host_id().to_owned(),
            signature_version,
            cipher: origin.peer.tls.map(|tls| tls.cipher),
            auth_type,
            host: target.host().to_owned(),
            tls_version: origin.peer.tls.map(|tls| tls.version),
            object_bytes: sent_bytes(request),
            ..Line::default()
        };
        Record {
            buffer: Arc::clone(buffer),
            source: Arc::clone(source),
            rule,
            begun_ms: now_ms,
            begun: Instant::now(),
            method: method.clone(),
            kind,
            line: Mutex::new(line),
        }
    }

    /// Ends the record of the deletion of one of several keys, which is no request of its own.
    pub(super) fn end_deletion(self, status: u16, code: Option<&str>) {
        let code = code.map(str::to_owned);
        let line = Line {
            status,
            code,
            request_uri: String::new(),
            referer: None,
            user_agent: None,
            ..self.line.into_inner()
        };
        let entry = Entry { at_ms: self.begun_ms, line: line.text() };
        self.buffer.push(&self.source, &self.rule, entry);
    }

    fn has_body(&self) -> bool {
        self.method == Method::PUT || self.method == Method::POST
    }
}

/// The size of the object that a request writes.
fn sent_bytes(request: &LoggedRequest<'_>) -> Option<u64> {
    let writes = matches!(request.origin.found.operation(), Some("PutObject" | "UploadPart"));
    if request.kind != LoggedKind::Api || *request.method != Method::PUT || !writes {
        return None;
    }
    let number = |name| request.headers.get(name)?.to_str().ok()?.parse().ok();
    number(DECODED_LENGTH).or_else(|| number(CONTENT_LENGTH))
}

/// The size of the object that is read, from the headers of the answer.
fn read_bytes(headers: &HeaderMap) -> Option<u64> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let total = text(CONTENT_RANGE).and_then(|range| range.rsplit('/').next());
    total.or_else(|| text(OBJECT_SIZE)).or_else(|| text(CONTENT_LENGTH))?.parse().ok()
}

impl RequestRecord for Record {
    fn answered(&self, headers: &HeaderMap) {
        let mut line = self.line.lock();
        let reads = self.method == Method::GET || self.method == Method::HEAD;
        if reads && line.operation.ends_with(".OBJECT") && self.kind != LoggedKind::CopySource {
            line.object_bytes = read_bytes(headers);
        }
        // The end of a body that is received is not known here.
        if !self.has_body() {
            line.turn_around_ms = Some(self.begun.elapsed().as_millis());
        }
    }

    fn ended(&self, ended: &Ended<'_>) {
        let mut line = std::mem::take(&mut *self.line.lock());
        line.status = ended.status;
        line.code = ended.code.map(str::to_owned);
        if !(200..300).contains(&ended.status) {
            line.object_bytes = None;
        }
        if self.kind != LoggedKind::CopySource {
            line.bytes_sent = ended.bytes_out;
            line.is_acl_required = ended.is_acl_required;
        }
        line.total_ms = Some(ended.duration.as_millis());
        let entry = Entry { at_ms: self.begun_ms, line: line.text() };
        self.buffer.push(&self.source, &self.rule, entry);
    }
}
