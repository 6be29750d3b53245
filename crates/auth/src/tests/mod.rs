//! Tests of the layer as a whole: requests in, identities, errors and bodies out.

mod chunked;
mod forms;
mod header;
mod hostile;
mod presigned;
mod published;
mod signer;
mod sigv2;
mod sigv2_header;
mod unchecked;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame};
use http_body_util::BodyExt;

use super::amz_date::AmzDate;
use super::{AuthBody, Authenticator, Identity, Rules};
use liteio_identity::{CurrentDirectory, Directory, Sessions};
use liteio_wire::reply::ApiError;

pub(super) const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
pub(super) const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
pub(super) const DATE: &str = "20130524T000000Z";
pub(super) const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// An authenticator whose clock stands at a date plus a number of seconds.
pub(super) fn authenticator_at(date: &str, seconds_later: i64) -> Authenticator {
    authenticator_of(directory(), date, seconds_later)
}

/// The users of the tests.
fn directory() -> Arc<CurrentDirectory> {
    let users = [("example", ACCESS_KEY, SECRET_KEY), ("other", "OTHERKEY", "other-secret")];
    Arc::new(CurrentDirectory::new(
        Directory::of_roots(&users).expect("valid users"),
        Sessions::default(),
    ))
}

/// An authenticator for these users, whose clock stands at a date plus a number of seconds.
fn authenticator_of(
    directory: Arc<CurrentDirectory>,
    date: &str,
    seconds_later: i64,
) -> Authenticator {
    let date = AmzDate::parse(date).expect("valid date");
    let seconds = u64::try_from(date.unix_seconds() + seconds_later).expect("after 1970");
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    Authenticator::new(directory, Rules::strict("us-east-1"), Arc::new(move || now))
}

/// An authenticator whose clock was moved to a date plus a number of seconds; that of the machine stands at the date plus
/// another number.
pub(super) fn authenticator_moved(date: &str, moved: i64, machine: i64) -> Authenticator {
    let machine = authenticator_at(date, machine);
    authenticator_at(date, moved).with_signers_by(machine.clock)
}

pub(super) fn authenticator() -> Authenticator {
    authenticator_at(DATE, 0)
}

/// A body of given frames that counts the frames requested.
#[derive(Default)]
pub(super) struct TestBody {
    frames: VecDeque<Result<Bytes, String>>,
    polled: Arc<AtomicUsize>,
}

impl TestBody {
    pub(super) fn new(frames: impl IntoIterator<Item = impl Into<Bytes>>) -> Self {
        let frames = frames.into_iter().map(|frame| Ok(frame.into())).collect();
        TestBody { frames, ..TestBody::default() }
    }

    /// The connection breaks after the frames.
    pub(super) fn broken(mut self) -> Self {
        self.frames.push_back(Err("connection reset".to_owned()));
        self
    }

    pub(super) fn polled(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.polled)
    }
}

impl Body for TestBody {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        self.polled.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(self.frames.pop_front().map(|frame| frame.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty()
    }
}

pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
    runtime.block_on(future)
}

pub(super) fn authenticate(
    authenticator: &Authenticator,
    request: Request<TestBody>,
) -> Result<Request<AuthBody>, ApiError> {
    block_on(authenticator.authenticate(request, None))
}

/// Like [`authenticate`], for a request whose host names a bucket.
pub(super) fn authenticate_by_host(
    authenticator: &Authenticator,
    request: Request<TestBody>,
    bucket: &str,
) -> Result<Request<AuthBody>, ApiError> {
    block_on(authenticator.authenticate(request, Some(bucket)))
}

/// A body as received by a handler: the data, and its end.
pub(super) fn read(mut body: AuthBody) -> (Vec<u8>, Result<(), ApiError>) {
    let fault = body.fault();
    block_on(async move {
        let mut data = Vec::new();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => data.extend_from_slice(&frame.into_data().expect("data only")),
                Err(error) => {
                    assert!(body.frame().await.is_none(), "an error is the last item");
                    let kept = fault.as_ref().and_then(|fault| fault.get());
                    assert_eq!(kept.expect("kept"), &error);
                    return (data, Err(error));
                }
            }
        }
        assert!(body.is_end_stream());
        (data, Ok(()))
    })
}

/// The code of the error that a body ends with.
pub(super) fn body_code(body: AuthBody) -> String {
    read(body).1.expect_err("the body must fail").code().to_owned()
}

#[track_caller]
pub(super) fn assert_user(request: &Request<AuthBody>, name: &str) {
    match request.extensions().get::<Identity>() {
        Some(Identity::User(key)) => assert_eq!(key.user.name, name),
        other => panic!("expected user {name}, found {other:?}"),
    }
}

/// Checks code, status and a part of the message, and that no secret is revealed.
#[track_caller]
pub(super) fn assert_refused<T>(result: Result<T, ApiError>, code: &str, message: &str) {
    let Err(error) = result else { panic!("expected {code}, but it was accepted") };
    assert_eq!(error.code(), code, "{error}");
    assert!(error.message().contains(message), "{error} lacks {message:?}");
    assert!(error.status().is_client_error() || error.status() == 501, "{}", error.status());
    let shown = format!("{error} {error:?} {:?}", error.elements());
    assert!(!shown.contains(SECRET_KEY), "a secret shows in {shown}");
}

/// The text of an element of the error document.
pub(super) fn element<'a>(error: &'a ApiError, name: &str) -> Option<&'a str> {
    error.elements().iter().find(|(other, _)| *other == name).map(|(_, text)| &**text)
}
