//! [`Authorized`]: a request whose sender may make it.

use http::request::Parts;
use http::{Extensions, HeaderMap, Method, Uri};

use super::context::Sent;
use liteio_access::Granted;

/// An authorized request, taken apart for its handler.
pub(super) struct Authorized<Body> {
    pub(super) granted: Granted,
    pub(super) key: String,
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) extensions: Extensions,
    pub(super) body: Body,
}

impl<Body> Authorized<Body> {
    /// The request for `key` with this head.
    pub(super) fn new(granted: Granted, key: &str, head: Parts, body: Body) -> Authorized<Body> {
        let Parts { method, uri, headers, extensions, .. } = head;
        Authorized { granted, key: key.to_owned(), method, uri, headers, extensions, body }
    }

    /// The request as the context of a decision.
    pub(super) fn sent(&self) -> Sent<'_> {
        Sent {
            method: &self.method,
            uri: &self.uri,
            headers: &self.headers,
            extensions: &self.extensions,
        }
    }
}
