//! Requests to the authentication layer, and its results.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::FutureExt;
use hmac::{Hmac, KeyInit, Mac};
use http::Request;
use http::request::Parts;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty};
use sha1::Sha1;

use super::signer::Signer;
use crate::Rules;
use crate::{AuthBody, Authenticator};
use liteio_identity::{CurrentDirectory, Directory, Sessions};
use liteio_wire::reply::ApiError;

const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
pub(super) const DATE: &str = "20130524T000000Z";
pub(super) const DATE_UNIX_SECONDS: i64 = 1_369_353_600;
/// A signature of the right length that matches nothing.
pub(super) const NO_SIGNATURE: &str =
    "0000000000000000000000000000000000000000000000000000000000000000";

/// An authenticator whose clock stands at [`DATE`].
static AUTHENTICATOR: LazyLock<Authenticator> = LazyLock::new(|| {
    let users = [("example", ACCESS_KEY, SECRET_KEY)];
    let directory = CurrentDirectory::new(
        Directory::of_roots(&users).expect("valid users"),
        Sessions::default(),
    );
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(DATE_UNIX_SECONDS.unsigned_abs());
    Authenticator::new(Arc::new(directory), Rules::strict("us-east-1"), Arc::new(move || now))
});

/// The only user, at the time of the clock.
pub(super) const SIGNER: Signer<'static> = Signer {
    access_key: ACCESS_KEY,
    secret_key: SECRET_KEY,
    time: DATE,
    region: "us-east-1",
    service: "s3",
};

/// The user's Version 2 signature.
pub(super) fn sign_version_2(text: &str) -> String {
    let mac = Hmac::<Sha1>::new_from_slice(SECRET_KEY.as_bytes()).expect("any length");
    let code = mac.chain_update(text).finalize().into_bytes();
    base64_simd::STANDARD.encode_to_string(code.as_slice())
}

/// A body that has arrived, in pieces.
pub(super) struct Pieces(VecDeque<Bytes>);

impl Pieces {
    /// Pieces of `piece_bytes`; a single one for 0.
    pub(super) fn new(body: &[u8], piece_bytes: usize) -> Self {
        let piece_bytes = if piece_bytes == 0 { body.len().max(1) } else { piece_bytes };
        Pieces(body.chunks(piece_bytes).map(Bytes::copy_from_slice).collect())
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

/// The outcome of authentication. A refusal is well-formed and reveals no secret.
pub(super) fn authenticate(
    head: &Parts,
    body: &[u8],
    piece_bytes: usize,
) -> Result<Request<AuthBody>, ApiError> {
    let request = Request::from_parts(head.clone(), Pieces::new(body, piece_bytes));
    let outcome =
        AUTHENTICATOR.authenticate(request, None).now_or_never().expect("nothing to wait for");
    if let Err(error) = &outcome {
        let status = error.status();
        assert!(status.is_client_error() || status == 501, "{status}: {error}");
        assert!(!error.message().is_empty());
        let shown = format!("{error} {error:?} {:?}", error.elements());
        assert!(!shown.contains(SECRET_KEY), "a secret shows in {shown}");
    }
    outcome
}

/// `true` if a request without a body is accepted. Secret and clock are taken from the examples
/// published by AWS.
pub fn is_accepted(request: Request<Empty<Bytes>>) -> bool {
    let outcome = AUTHENTICATOR.authenticate(request, None).now_or_never();
    outcome.expect("nothing to wait for").is_ok()
}

/// The text of an element of the error document.
pub(super) fn element<'a>(error: &'a ApiError, name: &str) -> Option<&'a str> {
    error.elements().iter().find(|(other, _)| *other == name).map(|(_, text)| &**text)
}

/// A body as received by a handler: the data, and its end.
pub(super) fn read(mut body: AuthBody) -> (Vec<u8>, Result<(), ApiError>) {
    let mut data = Vec::new();
    loop {
        match body.frame().now_or_never().expect("nothing to wait for") {
            None => break,
            Some(Ok(frame)) => data.extend_from_slice(&frame.into_data().expect("data only")),
            Some(Err(error)) => {
                let after = body.frame().now_or_never().expect("nothing to wait for");
                assert!(after.is_none(), "an error is the last item");
                return (data, Err(error));
            }
        }
    }
    assert!(body.is_end_stream());
    (data, Ok(()))
}
