//! The body that leaves the authentication layer: plain, streamed, verified on its way.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use s3s::{S3Error, S3ErrorCode};
use sha2::{Digest, Sha256};

use super::chunked::ChunkedDecoder;
use super::error::{AuthError, CONTENT_SHA256_MISMATCH, custom_code, status_of};
use super::gathered::{Gathered, TooLarge};
use super::post_file::FileDecoder;
use super::signing_key::{Signature, hex_digest};

pub(super) type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a body failed on its way in. Nothing of it may be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthBodyError {
    /// The S3 error code.
    pub code: S3ErrorCode,
    /// The message, for the eyes of the client.
    pub message: Cow<'static, str>,
}

impl AuthBodyError {
    pub(super) fn new(code: S3ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        AuthBodyError { code, message: message.into() }
    }

    /// Finds one of ours in an error that others have wrapped.
    #[must_use]
    pub fn find<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a AuthBodyError> {
        let mut next = Some(error);
        // Bounded, for an error that is its own source.
        for _ in 0..16 {
            let error = next?;
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }

    /// What the connection's own body reported. An error that has an S3 code keeps it.
    fn of_connection(error: &(dyn StdError + 'static)) -> Self {
        if let Some(found) = AuthBodyError::find(error) {
            return found.clone();
        }
        if let Some(found) = error.downcast_ref::<S3Error>() {
            let message = found.message().unwrap_or("The request body could not be read");
            return AuthBodyError::new(found.code().clone(), message.to_owned());
        }
        incomplete()
    }
}

fn incomplete() -> AuthBodyError {
    AuthBodyError::new(
        S3ErrorCode::IncompleteBody,
        "You did not provide the number of bytes specified by the Content-Length HTTP header",
    )
}

impl fmt::Display for AuthBodyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code.as_str(), self.message)
    }
}

impl StdError for AuthBodyError {}

impl From<AuthBodyError> for S3Error {
    fn from(error: AuthBodyError) -> S3Error {
        let status = status_of(&error.code);
        let mut s3_error = S3Error::with_message(error.code, error.message);
        s3_error.set_status_code(status);
        s3_error
    }
}

impl From<AuthBodyError> for AuthError {
    fn from(error: AuthBodyError) -> AuthError {
        AuthError::new(error.code, error.message)
    }
}

/// The error of a body, in the extensions of every request that has one, for whoever answers when
/// a layer in between has turned the error into something else.
#[derive(Debug, Clone, Default)]
pub struct BodyFault(Arc<OnceLock<AuthBodyError>>);

impl BodyFault {
    /// The error, once the body has failed.
    #[must_use]
    pub fn get(&self) -> Option<&AuthBodyError> {
        self.0.get()
    }
}

/// What a decoder made of its input.
pub(super) enum Step {
    /// Some of the body.
    Data(Bytes),
    /// All input is used up.
    NeedsInput,
    /// The body has ended, whatever else may come.
    Ended,
}

type BoxedBody = Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>;

/// Where bytes come from.
#[derive(Default)]
pub(super) enum Source {
    #[default]
    Empty,
    /// Never locked: the mutex only makes a `Send` body `Sync`, as s3s wants it.
    Stream(Mutex<BoxedBody>),
    Buffered(Bytes),
}

impl Source {
    pub(super) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        if body.is_end_stream() {
            return Source::Empty;
        }
        let body = http_body_util::BodyExt::map_err(body, Into::into);
        Source::Stream(Mutex::new(Box::pin(body)))
    }

    pub(super) fn buffered(data: Bytes) -> Self {
        if data.is_empty() { Source::Empty } else { Source::Buffered(data) }
    }

    pub(super) fn has_data(&self) -> bool {
        !matches!(self, Source::Empty)
    }

    /// The next data; `None` at the end. Trailers of the transfer encoding are ignored.
    pub(super) fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, AuthBodyError>>> {
        loop {
            let body = match self {
                Source::Empty => return Poll::Ready(None),
                Source::Buffered(data) => {
                    let data = std::mem::take(data);
                    *self = Source::Empty;
                    return Poll::Ready(Some(Ok(data)));
                }
                Source::Stream(body) => body,
            };
            match ready!(body.get_mut().as_mut().poll_frame(context)) {
                None => {
                    *self = Source::Empty;
                    return Poll::Ready(None);
                }
                Some(Err(error)) => {
                    *self = Source::Empty;
                    let error: &(dyn StdError + 'static) = &*error;
                    return Poll::Ready(Some(Err(AuthBodyError::of_connection(error))));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if data.is_empty() => {}
                    Ok(data) => return Poll::Ready(Some(Ok(data))),
                    Err(_) => {}
                },
            }
        }
    }

    pub(super) async fn next_data(&mut self) -> Option<Result<Bytes, AuthBodyError>> {
        std::future::poll_fn(|context| self.poll_data(context)).await
    }

    /// Reads everything: `bytes_declared`, if that is known. `EntityTooLarge` past `bytes_max`.
    pub(super) async fn collect(
        &mut self,
        bytes_declared: Option<u64>,
        bytes_max: usize,
    ) -> Result<Bytes, AuthBodyError> {
        let too_large =
            |TooLarge| AuthBodyError::new(S3ErrorCode::EntityTooLarge, ENTITY_TOO_LARGE);
        let mut gathered = Gathered::new(bytes_declared, bytes_max);
        while let Some(data) = self.next_data().await.transpose()? {
            if let Some(whole) = gathered.add(data).map_err(too_large)? {
                return Ok(whole);
            }
        }
        Ok(gathered.finish())
    }
}

pub(super) const ENTITY_TOO_LARGE: &str =
    "Your proposed upload exceeds the maximum allowed object size.";

/// What is done to the bytes between the connection and the handler.
pub(super) enum Verifier {
    /// Passed on, their number checked when one is declared.
    Plain { remaining: Option<u64> },
    /// Passed on and hashed.
    Hashed { remaining: Option<u64>, hasher: Sha256, expected: Signature },
    /// aws-chunked framing taken off.
    Chunked(Box<ChunkedDecoder>),
    /// The file of a form cut out.
    FormFile(Box<FileDecoder>),
}

impl Verifier {
    fn remaining(&self) -> Option<u64> {
        match self {
            Verifier::Plain { remaining } | Verifier::Hashed { remaining, .. } => *remaining,
            Verifier::Chunked(decoder) => Some(decoder.decoded_remaining()),
            Verifier::FormFile(_) => None,
        }
    }

    fn decode(&mut self, input: &mut Bytes) -> Result<Step, AuthBodyError> {
        match self {
            Verifier::Plain { remaining } => {
                count_down(remaining, input)?;
                Ok(Step::Data(std::mem::take(input)))
            }
            Verifier::Hashed { remaining, hasher, expected } => {
                count_down(remaining, input)?;
                hasher.update(&*input);
                // The last bytes do not leave before the hash is known to fit, even for a reader
                // who counts and never asks for the end.
                if *remaining == Some(0) {
                    check_hash(hasher.clone(), expected)?;
                }
                Ok(Step::Data(std::mem::take(input)))
            }
            Verifier::Chunked(decoder) => decoder.decode(input),
            Verifier::FormFile(decoder) => decoder.decode(input),
        }
    }

    /// The connection's body has ended.
    fn finish(&mut self) -> Result<(), AuthBodyError> {
        match self {
            Verifier::Plain { remaining } | Verifier::Hashed { remaining, .. }
                if remaining.is_some_and(|remaining| remaining > 0) =>
            {
                Err(incomplete())
            }
            Verifier::Plain { .. } => Ok(()),
            Verifier::Hashed { hasher, expected, .. } => check_hash(hasher.clone(), expected),
            Verifier::Chunked(decoder) => decoder.finish(),
            Verifier::FormFile(decoder) => decoder.finish(),
        }
    }

    /// Whether data that completes the declared length must wait for the end of the input, because
    /// what proves it comes after it.
    fn proof_follows_data(&self) -> bool {
        matches!(self, Verifier::Chunked(_))
    }
}

fn count_down(remaining: &mut Option<u64>, data: &Bytes) -> Result<(), AuthBodyError> {
    if let Some(left) = remaining {
        *left = left.checked_sub(data.len() as u64).ok_or_else(|| {
            let message = "The request body is longer than its Content-Length.";
            AuthBodyError::new(S3ErrorCode::InvalidRequest, message)
        })?;
    }
    Ok(())
}

fn check_hash(hasher: Sha256, expected: &Signature) -> Result<(), AuthBodyError> {
    if hex_digest(&hasher.finalize()) == *expected {
        return Ok(());
    }
    let code = custom_code("XAmzContentSHA256Mismatch");
    Err(AuthBodyError::new(code, CONTENT_SHA256_MISMATCH))
}

/// The body of an authenticated request.
///
/// It ends cleanly only when everything that was declared about it holds: its length, its hash, the
/// signatures of its chunks, its trailer. Otherwise its last item is an [`AuthBodyError`], and the
/// bytes that would complete the declared length are never given out.
pub struct AuthBody {
    source: Source,
    verifier: Verifier,
    /// Data that was read but not decoded, and more of it.
    input: Bytes,
    input_after: Bytes,
    /// Decoded data that waits for its proof.
    held: Option<Bytes>,
    ended: bool,
    fault: BodyFault,
}

impl AuthBody {
    pub(super) fn new(source: Source, verifier: Verifier) -> Self {
        let ended = match (&source, &verifier) {
            // Nothing will come; what must be checked was checked with the head.
            (Source::Empty, Verifier::Plain { remaining: None | Some(0) }) => true,
            (Source::Empty, Verifier::Hashed { remaining: None | Some(0), .. }) => true,
            _ => false,
        };
        AuthBody {
            source,
            verifier,
            input: Bytes::new(),
            input_after: Bytes::new(),
            held: None,
            ended,
            fault: BodyFault::default(),
        }
    }

    /// Bytes that were read ahead of the source.
    pub(super) fn with_input(mut self, first: Bytes, second: Bytes) -> Self {
        (self.input, self.input_after) = (first, second);
        self
    }

    /// Where an error of this body can be seen after others have read it.
    pub(super) fn fault(&self) -> BodyFault {
        self.fault.clone()
    }

    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, AuthBodyError>> {
        loop {
            if self.input.is_empty() {
                self.input = std::mem::take(&mut self.input_after);
            }
            if self.input.is_empty() {
                match ready!(self.source.poll_data(context)) {
                    Some(data) => self.input = data?,
                    None => {
                        self.verifier.finish()?;
                        return Poll::Ready(Ok(self.held.take()));
                    }
                }
            }
            match self.verifier.decode(&mut self.input)? {
                Step::NeedsInput => {}
                Step::Ended => return Poll::Ready(Ok(None)),
                Step::Data(data) => {
                    let last = self.verifier.remaining() == Some(0);
                    if last && self.verifier.proof_follows_data() {
                        self.held = Some(data);
                    } else {
                        return Poll::Ready(Ok(Some(data)));
                    }
                }
            }
        }
    }
}

impl Body for AuthBody {
    type Data = Bytes;
    type Error = AuthBodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AuthBodyError>>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        let next = ready!(this.poll_next(context));
        Poll::Ready(match next {
            Ok(Some(data)) => Some(Ok(Frame::data(data))),
            Ok(None) => {
                this.ended = true;
                None
            }
            Err(error) => {
                this.ended = true;
                (this.source, this.held) = (Source::Empty, None);
                let _ = this.fault.0.set(error.clone());
                Some(Err(error))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        if self.ended {
            return SizeHint::with_exact(0);
        }
        let held = self.held.as_ref().map_or(0, |held| held.len() as u64);
        self.verifier
            .remaining()
            .map_or_else(SizeHint::default, |remaining| SizeHint::with_exact(remaining + held))
    }
}

impl fmt::Debug for AuthBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remaining = self.verifier.remaining();
        formatter.debug_struct("AuthBody").field("remaining", &remaining).finish_non_exhaustive()
    }
}
