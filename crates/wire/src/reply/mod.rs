//! Replies: the one error and the one body that the whole server answers with.
//!
//! A handler returns a [`Reply`]. An error stays a value until the response leaves: `front` writes the
//! document, because only it has the ids of the request and the path as it was sent.

mod body;
mod code;
mod error;

use http::{HeaderMap, Response};

pub use self::body::{BoxError, ReplyBody};
pub use self::code::ErrorCode;
pub use self::error::{ApiError, Dialect};

/// Mark in the extensions of a response that must not be sent: the connection, or the stream of HTTP/2, is closed
/// without an answer. An error of the body is not enough: that of an answer to HEAD, of a 204 or of a 304 is never polled.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer is withheld")]
pub struct Withheld;

/// The answer of a handler.
pub type Reply = Result<Response<ReplyBody>, ApiError>;

/// The reply with these headers, be it an error or not.
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
