//! Replies: the only error type and the only body type of the whole server.
//!
//! A handler returns a [`Reply`]. An error stays a value until the response leaves: `front` writes
//! the document, because only it has the ids of the request and the path as sent.

mod body;
mod code;
mod error;

use http::{HeaderMap, Response};

pub use self::body::{BoxError, ReplyBody};
pub use self::code::ErrorCode;
pub use self::error::{ApiError, Dialect};

/// Marks a response that must not be sent (in its extensions): the connection or the HTTP/2 stream
/// is closed without an answer. An error of the body would not suffice: the body of an answer to
/// HEAD, of a 204 or a 304 is never polled.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer is withheld")]
pub struct Withheld;

/// The answer of a handler.
pub type Reply = Result<Response<ReplyBody>, ApiError>;

/// The reply with additional headers, whether it is an error or not.
pub fn with_headers(reply: Reply, headers: Option<HeaderMap>) -> Reply {
    match (headers, reply) {
        (None, reply) => reply,
        (Some(headers), Ok(mut response)) => {
            response.headers_mut().extend(headers);
            Ok(response)
        }
        (Some(headers), Err(error)) => Err(error.with_more_headers(headers)),
    }
}
