//! The front of every request: ids on every response, limits, checks of the head, the access log,
//! and the error document.

mod allowance;
pub mod body;
pub mod check;
mod error_document;
pub mod exchange;
mod handler;
pub mod limits;
mod observer;
pub(crate) mod pace;
pub mod received;

use std::sync::Arc;
use std::time::SystemTime;

use http::header::{
    CONNECTION, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderValue, RETRY_AFTER, SERVER,
};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Version};
use http_body::Body as _;
use httpdate::HttpDate;

pub use self::allowance::{Allowance, PieceRoom, Room};
use self::body::RequestBody;
use self::error_document::error_response;
use self::exchange::{Exchange, ResponseBody};
pub use self::handler::{Handler, HandlerFuture, Isolate, Plan, Planned};
use self::limits::{Limits, REASON_CHARACTERS_MAX};
pub use self::observer::{Finished, Heads, Observer, Observers};
use self::received::ReceivedBody;
use crate::budget::{Budget, Client, Resource, Seat};
use crate::connection::ConnectionState;
use crate::origin::{DenialBy, Domains, Entrance, Found, Origin, Peer, Target, answering};
use crate::proxy::Proxies;
use crate::reply::{ApiError, ErrorCode, Reply, ReplyBody, Withheld};
use crate::request_id::{RequestIdSource, RequestIds};

/// The sender of the requests of one connection.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The address of the other end.
    pub peer: Peer,
    /// The client that requests are charged to.
    pub client: Client,
    /// The other end is a trusted proxy: each request names its own sender.
    pub(crate) is_proxy: bool,
    /// The kind of socket that accepted the connection.
    pub entrance: Entrance,
}

impl Sender {
    /// The sender at the other end of a connection with this seat.
    pub fn new(peer: Peer, entrance: Entrance, seat: &Seat, front: &Front) -> Sender {
        let is_proxy = front.proxies.trust(peer.address.ip());
        Sender { peer, client: seat.client().clone(), is_proxy, entrance }
    }
}

/// The front of one server.
pub struct Front {
    /// The limits of requests and connections.
    pub limits: Limits,
    /// The handler behind the front.
    pub handler: Arc<dyn Handler>,
    observers: Observers,
    ids: RequestIdSource,
    /// The resources that all clients share.
    pub budget: Arc<Budget>,
    domains: Domains,
    /// The trusted proxies.
    pub proxies: Proxies,
}

impl Front {
    /// The front of a server.
    pub fn new(
        limits: Limits,
        domains: Domains,
        proxies: Proxies,
        seed: [u8; 24],
        handler: Arc<dyn Handler>,
    ) -> Front {
        let budget = Budget::new(|resource| limits.of(resource));
        handler.watch_budget(&budget);
        Front {
            limits,
            observers: handler.observers(),
            handler,
            ids: RequestIdSource::new(seed),
            budget,
            domains,
            proxies,
        }
    }

    /// Answers one request of a connection.
    ///
    /// # Errors
    /// [`Withheld`]: nothing must be sent.
    pub async fn answer(
        &self,
        request: Request<ReceivedBody>,
        sender: Sender,
        connection: Arc<ConnectionState>,
    ) -> Result<Response<ResponseBody>, Withheld> {
        let (mut parts, incoming) = request.into_parts();
        let (Sender { peer, client, entrance, .. }, told) = match sender.is_proxy {
            true => self.told(sender, &mut parts.headers),
            false => (sender, Ok(())),
        };
        // Takes the place of the request in the budget; a refusal is answered below.
        let is_within_limits = connection.request_started(&client);
        let origin = Arc::new(Origin {
            ids: self.ids.next(),
            peer,
            target: Target::of(&parts, &self.domains, entrance),
            version: parts.version,
            found: Found::default(),
        });
        parts.extensions.insert(Arc::clone(&origin));
        let observers = Arc::clone(&self.observers);
        // The exchange before the checks: a refused request gets its ids and its line in the log,
        // too.
        let exchange = Exchange::new(&parts, Arc::clone(&origin), connection, client, observers);
        let exchange = Arc::new(exchange);
        let plan = match self.handler.plan(&parts, &origin) {
            Planned::Now(plan) => plan,
            Planned::Later(plan) => plan.await,
        };
        let allowance = Allowance::new(Arc::clone(&exchange), plan, incoming.size_hint().upper());
        let body = RequestBody::new(incoming, Arc::clone(&exchange), &self.limits, plan);
        let (head, version) = (parts.method == Method::HEAD, parts.version);
        let is_waiting = is_waiting_for_continue(&parts, &body);
        // Order of precedence: an exempt request passes always, then the bounds of the head, then
        // the budget.
        let checked = match check::check_head(&parts) {
            _ if plan.exempt => Ok(()),
            Ok(()) if !is_within_limits => Err(slow_down(Resource::Requests)),
            checked => checked.and(told),
        };
        let reply = match checked {
            Ok(()) => {
                let request = Request::from_parts(parts, body);
                let answer = self.handler.call(request, &origin, allowance.clone());
                answering(Arc::clone(&origin), answer).await
            }
            Err(error) => {
                // Before the answer: an unread body decides whether the connection can be reused.
                drop(body);
                Err(error)
            }
        };
        // A document is charged before its head is sent, because only then can it still be refused.
        let reply = reply.and_then(|mut response| {
            allowance.charge_document(response.body_mut()).map(|()| response)
        });
        let reply = match plan.isolate {
            Some(isolate) => isolated(reply, isolate),
            None => reply,
        };
        let response = reply.unwrap_or_else(|error| {
            // A 304 or a redirect is the requested outcome, not an error.
            if error.status().as_u16() >= 400 {
                exchange.set_code(error.code());
                note_reason(&origin.found, &error);
            }
            error_response(error, origin.target.path(), &origin.ids, head)
        });
        let response = finish(response, version, &origin.ids, exchange, is_waiting);
        match response.extensions().get() {
            Some(&withheld) => Err(withheld),
            None => Ok(response),
        }
    }

    /// The sender of a request that a trusted proxy forwards. The host that the client asked for
    /// replaces the proxy's own.
    fn told(&self, proxy: Sender, headers: &mut HeaderMap) -> (Sender, Result<(), ApiError>) {
        // Refuse rather than guess: one of the headers may be forged.
        let Ok(told) = self.proxies.told(proxy.peer, headers) else {
            let error = ApiError::new(
                ErrorCode::InvalidRequest,
                "The headers Forwarded and X-Forwarded-For name different clients: have the proxy remove \
                 the one that it does not set.",
            );
            return (proxy, Err(error));
        };
        if let Some(host) = told.host {
            headers.insert(HOST, host);
        }
        let client = Client::at(&self.budget, told.peer.address.ip());
        (Sender { peer: told.peer, client, ..proxy }, Ok(()))
    }

    /// A complete response to bytes that never became a request.
    pub(crate) fn reject(&self, error: &ApiError, peer: &Peer) -> Vec<u8> {
        let ids = self.ids.next();
        let status = error.status();
        let reason = detail(error).unwrap_or(error.message());
        tracing::info!(
            target: exchange::ACCESS_LOG,
            id = %ids.request_id(),
            client = %peer.name(),
            status = status.as_u16(),
            code = error.code(),
            reason,
            "rejected before it was a request"
        );
        self.observers.iter().for_each(|observer| observer.rejected(error));
        let xml = error_document::xml_document(error, "/", &ids);
        let retry = error.headers().get(RETRY_AFTER).and_then(|seconds| seconds.to_str().ok());
        let retry = retry.map(|seconds| format!("Retry-After: {seconds}\r\n"));
        format!(
            "HTTP/1.1 {status}\r\nx-amz-request-id: {}\r\nx-amz-id-2: {}\r\nDate: {}\r\nServer: LiteIO\r\n{}\
             Content-Type: application/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{xml}",
            ids.request_id(),
            ids.host_id(),
            HttpDate::from(SystemTime::now()),
            retry.unwrap_or_default(),
            xml.len()
        )
        .into_bytes()
    }
}

/// The part of an error that is finer than its message.
fn detail(error: &ApiError) -> Option<&str> {
    let detail = error.elements().iter().find(|(name, _)| *name == "Detail");
    detail.map(|(_, detail)| detail.as_str())
}

/// Notes the reason of a refusal that only the client would see: the message, or the faulty part of a document. The reason of
/// the layer that refused is finer and comes first. The client has this one, so it names nobody's policies.
fn note_reason(found: &Found, error: &ApiError) {
    let reason = match detail(error) {
        Some(detail) => detail,
        // The usual message of S3 is the code once more.
        None if error.code() == "AccessDenied" && error.message() != "Access Denied" => {
            error.message()
        }
        None => return,
    };
    found.note_denial(DenialBy::Nobody, || reason.chars().take(REASON_CHARACTERS_MAX).collect());
}

/// The error when the budget of a resource is exhausted, or the share of a client in it.
pub(crate) fn slow_down(resource: Resource) -> ApiError {
    let too_many = match resource {
        Resource::Connections => "too many open connections, of this address or of all",
        Resource::Requests => "too many requests at work, of this address or of all",
        Resource::BodyBytes => {
            "too many bytes of request bodies in memory, of this user, this address or all"
        }
        Resource::AnswerBytes => {
            "too many bytes of answers in memory, of this user, this address or all"
        }
    };
    let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("1"))]);
    let error = ApiError::new(ErrorCode::SlowDown, "Please reduce your request rate.");
    error.with("Detail", too_many).with_headers(headers)
}

/// The error for a client that sends too slowly.
pub(crate) fn request_timeout() -> ApiError {
    ApiError::new(
        ErrorCode::RequestTimeout,
        "Your socket connection to the server was not read from or written to within the timeout \
         period. Idle connections will be closed.",
    )
}

fn body_too_large() -> ApiError {
    ApiError::new(
        ErrorCode::EntityTooLarge,
        "Your proposed upload exceeds the maximum allowed object size.",
    )
}

/// `true` for a request that waits for `100 Continue` in vain: an empty body is never asked for.
///
/// botocore sends `Expect` with empty objects, too. It keeps the status line that it read in place
/// of the 100 for the next request of that connection, and then waits for one answer too many until
/// it times out.
fn is_waiting_for_continue(parts: &Parts, body: &RequestBody) -> bool {
    body.is_end_stream() && parts.headers.contains_key(EXPECT)
}

/// Completes the headers of a reply, good or bad: a browser shows an error as a page, too, and
/// updates what it has cached by the headers of a 304.
fn isolated(mut reply: Reply, isolate: Isolate) -> Reply {
    match &mut reply {
        Ok(response) => isolate(response.headers_mut()),
        Err(error) => {
            if error.status() != StatusCode::NOT_MODIFIED {
                // The document has its own.
                error.headers_mut().remove(CONTENT_TYPE);
            }
            isolate(error.headers_mut());
        }
    }
    reply
}

fn finish(
    mut response: Response<ReplyBody>,
    version: Version,
    ids: &RequestIds,
    exchange: Arc<Exchange>,
    is_waiting: bool,
) -> Response<ResponseBody> {
    let status = response.status();
    let headers = response.headers_mut();
    ids.insert_into(headers);
    headers.insert(SERVER, HeaderValue::from_static("LiteIO"));
    // The rest of the body will not be read, so the connection cannot be reused; tell the client.
    // An abandoned HTTP/2 stream affects no other.
    if version != Version::HTTP_2 && (exchange.connection.is_request_unread() || is_waiting) {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    exchange.set_answer(status, headers);
    response.map(|body| ResponseBody::new(body, exchange))
}
