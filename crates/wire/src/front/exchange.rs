//! [`Exchange`]: one request with its answer. It is shared by both bodies, reported to observers,
//! and written to the access log.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::limits::BODY_FREE_BYTES;
use super::observer::{Finished, Heads, Observers};
use crate::budget::{Charge, Client, Resource};
use crate::connection::ConnectionState;
use crate::origin::{Origin, answering_now, log_failure};
use crate::record::Ended;
use crate::reply::{BoxError, ReplyBody};
use crate::request_id::RequestIds;

/// The tracing target of the access log.
pub(crate) const ACCESS_LOG: &str = "liteio::access";

/// One request and its response. It lives until both bodies end. Then the charge for its body is
/// released, observers are notified and the line of the access log is written, even if the client
/// has closed the connection before.
pub struct Exchange {
    /// The HTTP method.
    pub method: Method,
    /// The connection of the request.
    pub connection: Arc<ConnectionState>,
    client: Client,
    origin: Arc<Origin>,
    pub(super) started: Instant,
    status: AtomicU16,
    /// Duration until the head of the answer.
    first_byte: OnceLock<Duration>,
    /// The error code, if the answer is an error.
    code: OnceLock<String>,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    /// `true` once the sender is authenticated.
    is_admitted: AtomicBool,
    /// The charge for the body.
    charge: Mutex<Option<Charge>>,
    observers: Observers,
    /// The heads, if an observer wants them.
    heads: Option<Mutex<Heads>>,
}

impl Exchange {
    /// The request ids.
    pub fn ids(&self) -> &RequestIds {
        &self.origin.ids
    }

    /// The exchange of a request that begins now.
    pub fn new(
        head: &Parts,
        origin: Arc<Origin>,
        connection: Arc<ConnectionState>,
        client: Client,
        observers: Observers,
    ) -> Exchange {
        let heads = observers.iter().any(|observer| observer.wants_heads()).then(|| {
            Mutex::new(Heads {
                uri: head.uri.clone(),
                version: head.version,
                request: head.headers.clone(),
                response: HeaderMap::new(),
            })
        });
        Exchange {
            method: head.method.clone(),
            origin,
            connection,
            client,
            started: Instant::now(),
            status: AtomicU16::new(0),
            first_byte: OnceLock::new(),
            code: OnceLock::new(),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            is_admitted: AtomicBool::new(false),
            charge: Mutex::new(None),
            observers,
            heads,
        }
    }

    /// Notes the head of the answer.
    pub(super) fn set_answer(&self, status: StatusCode, headers: &HeaderMap) {
        self.status.store(status.as_u16(), Ordering::Relaxed);
        self.first_byte.get_or_init(|| self.started.elapsed());
        if let Some(heads) = &self.heads {
            heads.lock().response = headers.clone();
        }
        self.origin.found.records().for_each(|record| record.answered(headers));
    }

    pub(crate) fn set_code(&self, code: &str) {
        self.code.get_or_init(|| code.to_owned());
    }

    pub(crate) fn add_bytes_in(&self, bytes: usize) -> u64 {
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed).saturating_add(bytes as u64)
    }

    /// Notes that the sender is authenticated.
    pub(super) fn admit(&self) {
        self.is_admitted.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_admitted(&self) -> bool {
        self.is_admitted.load(Ordering::Relaxed)
    }

    /// Charges for `in_memory` bytes of the body in total. `false` if there is no room.
    pub(super) fn charge(&self, in_memory: u64) -> bool {
        let bytes = in_memory.saturating_sub(BODY_FREE_BYTES);
        if bytes == 0 {
            return true;
        }
        let mut charge = self.charge.lock();
        charge.get_or_insert_with(|| self.body_charge()).grow_to(bytes)
    }

    /// `true` if `in_memory` bytes of the body are charged already, or could be charged now.
    pub(super) fn has_room(&self, in_memory: u64) -> bool {
        let bytes = in_memory.saturating_sub(BODY_FREE_BYTES);
        let charged = self.charge.lock().as_ref().map_or(0, Charge::amount);
        // The trial charge is dropped, and so released, at once.
        bytes <= charged || self.body_charge().grow_to(bytes - charged)
    }

    fn body_charge(&self) -> Charge {
        self.client.charge(Resource::BodyBytes, self.origin.found.user())
    }

    /// An empty charge for bytes of the answer.
    pub(super) fn answer_charge(&self) -> Charge {
        self.client.charge(Resource::AnswerBytes, self.origin.found.user())
    }

    fn add_bytes_out(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Exchange {
    fn tell_observers(&self, duration: Duration) {
        let heads = self.heads.as_ref().map(Mutex::lock);
        let finished = Finished {
            origin: &self.origin,
            method: &self.method,
            status: self.status.load(Ordering::Relaxed),
            code: self.code.get().map(String::as_str),
            bytes_in: self.bytes_in.load(Ordering::Relaxed),
            bytes_out: self.bytes_out.load(Ordering::Relaxed),
            duration,
            first_byte: self.first_byte.get().copied(),
            heads: heads.as_deref(),
        };
        self.observers.iter().for_each(|observer| observer.finished(&finished));
        for record in self.origin.found.records() {
            record.ended(&Ended {
                status: finished.status,
                code: finished.code,
                is_acl_required: self.origin.found.is_acl_required(),
                bytes_out: finished.bytes_out,
                duration,
            });
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let duration = self.started.elapsed();
        self.tell_observers(duration);
        if !tracing::enabled!(target: ACCESS_LOG, tracing::Level::INFO) {
            return;
        }
        let Origin { ids, peer, target, found, .. } = &*self.origin;
        let status = self.status.load(Ordering::Relaxed);
        // A probe each five seconds would be 17,280 lines a day.
        let is_quiet = found.is_routine() && (200..400).contains(&status);
        if is_quiet && !tracing::enabled!(target: ACCESS_LOG, tracing::Level::DEBUG) {
            return;
        }
        let query = target.query_names();
        let (bucket, index) = self.origin.bucket_and_index();
        // Status 0: the client left before there was an answer.
        tracing::info!(
            target: ACCESS_LOG,
            id = %ids.request_id(),
            client = %peer.name(),
            user = found.user(),
            method = %self.method,
            operation = found.operation(),
            bucket,
            index,
            key = target.key(),
            query = Some(&*query).filter(|query| !query.is_empty()),
            status,
            code = self.code.get().map(String::as_str),
            denied = found.denial(),
            cors = found.cors_refusal(),
            bytes_in = self.bytes_in.load(Ordering::Relaxed),
            bytes_out = self.bytes_out.load(Ordering::Relaxed),
            milliseconds = duration.as_micros() as f64 / 1000.0,
        );
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut formatter = formatter.debug_struct("Exchange");
        formatter
            .field("method", &self.method)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// The body of a response as passed to hyper; it counts its bytes.
#[derive(Debug)]
pub struct ResponseBody {
    body: ReplyBody,
    exchange: Arc<Exchange>,
}

impl ResponseBody {
    /// The body of a response; the exchange ends with it.
    pub fn new(body: ReplyBody, exchange: Arc<Exchange>) -> ResponseBody {
        ResponseBody { body, exchange }
    }

    /// The connection of the request.
    pub(crate) fn connection(&self) -> &ConnectionState {
        &self.exchange.connection
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let ResponseBody { body, exchange } = &mut *self;
        let polled = answering_now(&exchange.origin, || {
            let polled = Pin::new(body).poll_frame(context);
            if let Poll::Ready(Some(Err(error))) = &polled {
                // The status line is sent already, so closing the connection is the only way to
                // signal the failure.
                log_failure("answer broken off", error);
            }
            polled
        });
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                exchange.add_bytes_out(frame.data_ref().map_or(0, Bytes::len));
            }
            Poll::Ready(Some(Err(_)) | None) | Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.exchange.connection.response_ended();
    }
}
