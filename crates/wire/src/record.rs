//! [`RequestRecord`]: the record that a request leaves, begun by an inner layer and ended by the front.

use std::fmt;
use std::time::Duration;

use http::HeaderMap;

/// The record of one request, for requests that leave one. It is called on the threads of connections, so it must not
/// block.
pub trait RequestRecord: fmt::Debug + Send + Sync {
    /// Called with the headers of the answer, before they are sent.
    fn answered(&self, headers: &HeaderMap);

    /// Called when the answer was taken completely, or the connection is gone.
    fn ended(&self, ended: &Ended<'_>);
}

/// The end of a request.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'e> {
    /// The status; 0 if the client left before there was an answer.
    pub status: u16,
    /// The error code, if the answer is an error.
    pub code: Option<&'e str>,
    /// `true` if only an ACL allowed the request.
    pub is_acl_required: bool,
    /// Bytes of the body of the answer that were sent.
    pub bytes_out: u64,
    /// Duration from the head of the request to the end of the answer.
    pub duration: Duration,
}
