//! The front of every request: ids on every response, limits, checks of the head, the access log, and
//! the error document.

mod admission;
pub(crate) mod body;
pub(crate) mod check;
mod error_document;
pub(crate) mod exchange;
mod handler;
pub(crate) mod limits;
pub(crate) mod request_id;

use std::convert::Infallible;
use std::sync::Arc;

use http::header::{CONNECTION, HeaderValue, SERVER};
use http::{Method, Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;

pub(crate) use self::admission::Admission;
use self::body::RequestBody;
use self::error_document::error_response;
use self::exchange::{Exchange, ResponseBody};
pub(crate) use self::handler::{Handler, HandlerFuture, Plan};
use self::limits::{Budget, Limits};
use self::request_id::{RequestIdSource, RequestIds};
use crate::connection::ConnectionState;
use crate::origin::{Domains, Found, Origin, Peer, Target};
use crate::reply::{ApiError, ErrorCode, ReplyBody};

/// The front of one server.
pub(crate) struct Front {
    pub(crate) limits: Limits,
    pub(crate) handler: Arc<dyn Handler>,
    ids: RequestIdSource,
    budget: Budget,
    domains: Domains,
}

impl Front {
    pub(crate) fn new(
        limits: Limits,
        domains: Vec<String>,
        seed: [u8; 24],
        handler: Arc<dyn Handler>,
    ) -> Front {
        Front {
            limits,
            handler,
            ids: RequestIdSource::new(seed),
            budget: Budget::new(&limits),
            domains: Domains::new(domains),
        }
    }

    /// Answers one request of a connection.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: Peer,
        connection: Arc<ConnectionState>,
    ) -> Result<Response<ResponseBody>, Infallible> {
        connection.request_started();
        let (mut parts, incoming) = request.into_parts();
        let ids = self.ids.next();
        let share = self.budget.try_share();
        let overloaded = share.is_none();
        let origin = Arc::new(Origin {
            peer,
            target: Target::of(&parts, &self.domains),
            found: Found::default(),
        });
        parts.extensions.insert(Arc::clone(&origin));
        let exchange = Arc::new(Exchange::new(
            ids.clone(),
            parts.method.clone(),
            Arc::clone(&origin),
            connection,
            share,
        ));
        let plan = self.handler.plan(&parts, &origin);
        if !incoming.is_end_stream() {
            let bytes = incoming.size_hint().upper();
            parts.extensions.insert(Admission::new(Arc::clone(&exchange), bytes));
        }
        let stall_timeout = self.limits.body_stall_timeout;
        let body = RequestBody::new(incoming, Arc::clone(&exchange), stall_timeout, plan.held);
        let head = parts.method == Method::HEAD;
        let checked = match check::check_head(&parts) {
            _ if plan.exempt => Ok(()),
            Ok(()) if overloaded => Err(slow_down()),
            checked => checked,
        };
        let reply = match checked {
            Ok(()) => self.handler.call(Request::from_parts(parts, body), &origin).await,
            Err(error) => {
                drop(body);
                Err(error)
            }
        };
        let response = reply.unwrap_or_else(|error| {
            exchange.set_code(error.code());
            error_response(error, origin.target.path(), &ids, head)
        });
        Ok(finish(response, &ids, exchange))
    }

    /// A whole response, ready to be written, to bytes that never became a request.
    pub(crate) fn reject(&self, error: &ApiError) -> Vec<u8> {
        let ids = self.ids.next();
        let status = error.status();
        tracing::info!(
            target: exchange::ACCESS_LOG,
            id = %ids.request_id(),
            status = status.as_u16(),
            code = error.code(),
            "rejected before it was a request"
        );
        let xml = error_document::xml_document(error, "/", &ids);
        format!(
            "HTTP/1.1 {status}\r\nx-amz-request-id: {}\r\nx-amz-id-2: {}\r\nserver: LiteIO\r\n\
             content-type: application/xml\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{xml}",
            ids.request_id(),
            ids.host_id(),
            xml.len()
        )
        .into_bytes()
    }
}

/// The answer when the budget is spent.
pub(crate) fn slow_down() -> ApiError {
    ApiError::new(ErrorCode::SlowDown, "Please reduce your request rate.")
}

/// The answer to a client that sends nothing of what is waited for.
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

fn finish(
    mut response: Response<ReplyBody>,
    ids: &RequestIds,
    exchange: Arc<Exchange>,
) -> Response<ResponseBody> {
    exchange.set_status(response.status());
    let headers = response.headers_mut();
    ids.insert_into(headers);
    headers.insert(SERVER, HeaderValue::from_static("LiteIO"));
    if exchange.connection.is_request_unread() {
        // The rest of the body will not be read, so the connection cannot be reused; tell the client.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response.map(|body| ResponseBody::new(body, exchange))
}
