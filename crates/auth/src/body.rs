//! The body that leaves the authentication layer: without framing, and verified while it streams.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;

use super::chunked::ChunkedDecoder;
use super::payload_hash::StreamedHash;
use super::post_file::FileDecoder;
use super::step::Step;
use liteio_wire::reply::{ApiError, BoxError, ErrorCode};

/// The error of the connection's body. An [`ApiError`] is kept.
fn of_connection(error: &(dyn StdError + 'static)) -> ApiError {
    ApiError::find(error).cloned().unwrap_or_else(incomplete)
}

fn incomplete() -> ApiError {
    ApiError::new(
        ErrorCode::IncompleteBody,
        "You did not provide the number of bytes specified by the Content-Length HTTP header",
    )
}

/// The error of a body, in the extensions of every request with a body. The dispatcher answers with
/// it if a layer in between has replaced the error by an internal one.
#[derive(Debug, Clone, Default)]
pub struct BodyFault(Arc<OnceLock<ApiError>>);

impl BodyFault {
    /// The error, once the body has failed.
    #[must_use]
    pub fn get(&self) -> Option<&ApiError> {
        self.0.get()
    }
}

type BoxedBody = Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>;

/// The source of a body's bytes.
#[derive(Default)]
pub(super) enum Source {
    #[default]
    Empty,
    /// Never locked: the mutex only makes a `Send` body `Sync`, as the typed layer requires.
    Stream(Mutex<BoxedBody>),
    Buffered(Bytes),
}

impl Source {
    pub(super) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        // An empty body needs no stream, so its declarations are checked with the head.
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
    ) -> Poll<Option<Result<Bytes, ApiError>>> {
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
                    return Poll::Ready(Some(Err(of_connection(error))));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if data.is_empty() => {}
                    Ok(data) => return Poll::Ready(Some(Ok(data))),
                    Err(_) => {}
                },
            }
        }
    }

    pub(super) async fn next_data(&mut self) -> Option<Result<Bytes, ApiError>> {
        std::future::poll_fn(|context| self.poll_data(context)).await
    }
}

/// The verification between the connection and the handler.
pub(super) enum Verifier {
    /// Passed through; the length is checked if one is declared.
    Plain { remaining: Option<u64> },
    /// Passed through and hashed, unless its reader does that.
    Hashed { remaining: Option<u64>, hash: StreamedHash },
    /// The aws-chunked framing is removed.
    Chunked(Box<ChunkedDecoder>),
    /// The file is extracted from a form.
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

    fn decode(&mut self, input: &mut Bytes) -> Result<Step, ApiError> {
        match self {
            Verifier::Plain { remaining } => {
                count_down(remaining, input)?;
                Ok(Step::Data(std::mem::take(input)))
            }
            Verifier::Hashed { remaining, hash } => {
                count_down(remaining, input)?;
                hash.update(input);
                // The last bytes leave only if the hash matches: a reader that counts bytes may
                // never poll for the end.
                if *remaining == Some(0) {
                    hash.check()?;
                }
                Ok(Step::Data(std::mem::take(input)))
            }
            Verifier::Chunked(decoder) => decoder.decode(input),
            Verifier::FormFile(decoder) => decoder.decode(input),
        }
    }

    /// Ends the input: the connection's body has ended.
    fn finish(&mut self) -> Result<(), ApiError> {
        match self {
            Verifier::Plain { remaining } | Verifier::Hashed { remaining, .. }
                if remaining.is_some_and(|remaining| remaining > 0) =>
            {
                Err(incomplete())
            }
            Verifier::Plain { .. } => Ok(()),
            Verifier::Hashed { hash, .. } => hash.check(),
            Verifier::Chunked(decoder) => decoder.finish(),
            Verifier::FormFile(decoder) => decoder.finish(),
        }
    }

    /// `true` if the data that completes the declared length must be held back until the end of the
    /// input, because its proof (final chunk, trailer) follows it.
    fn proof_follows_data(&self) -> bool {
        matches!(self, Verifier::Chunked(_))
    }
}

fn count_down(remaining: &mut Option<u64>, data: &Bytes) -> Result<(), ApiError> {
    if let Some(left) = remaining {
        *left = left.checked_sub(data.len() as u64).ok_or_else(|| {
            let message = "The request body is longer than its Content-Length.";
            ApiError::new(ErrorCode::InvalidRequest, message)
        })?;
    }
    Ok(())
}

/// The body of an authenticated request.
///
/// It ends cleanly only if all declarations about it hold: its length, its hash, the signatures of
/// its chunks, its trailer. Otherwise its last item is an [`ApiError`], and the bytes that would
/// complete the declared length are never returned.
///
/// Most requests have none, and every layer moves its request into the next: so a body is one
/// pointer.
pub struct AuthBody(Option<Box<Rest>>);

/// The rest of a body that has not ended.
struct Rest {
    source: Source,
    verifier: Verifier,
    /// Data that was read but not decoded, followed by more of it.
    input: Bytes,
    input_after: Bytes,
    /// Decoded data that waits for its proof.
    held: Option<Bytes>,
    fault: BodyFault,
}

impl AuthBody {
    pub(super) fn new(source: Source, verifier: Verifier) -> Self {
        // An empty body: its declarations were checked with the head.
        if matches!(
            (&source, &verifier),
            (Source::Empty, Verifier::Plain { remaining: None | Some(0) })
        ) {
            return AuthBody(None);
        }
        AuthBody::after((Bytes::new(), Bytes::new()), source, verifier)
    }

    /// A body that begins with bytes that were read ahead of its source.
    pub(super) fn after(read: (Bytes, Bytes), source: Source, verifier: Verifier) -> Self {
        let (input, input_after) = read;
        let fault = BodyFault::default();
        AuthBody(Some(Box::new(Rest { source, verifier, input, input_after, held: None, fault })))
    }

    /// The shared slot in which other layers find the error of this body, unless it is empty.
    pub(super) fn fault(&self) -> Option<BodyFault> {
        self.0.as_ref().map(|body| body.fault.clone())
    }
}

impl Rest {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ApiError>> {
        loop {
            if self.input.is_empty() {
                self.input = std::mem::take(&mut self.input_after);
            }
            if self.input.is_empty() {
                match ready!(self.source.poll_data(context)) {
                    Some(data) => self.input = data?,
                    None => {
                        // Only a verified end releases the held data.
                        self.verifier.finish()?;
                        return Poll::Ready(Ok(self.held.take()));
                    }
                }
            }
            match self.verifier.decode(&mut self.input)? {
                Step::NeedsInput => {}
                Step::Ended => return Poll::Ready(Ok(None)),
                Step::Data(data) => {
                    // The declared length is complete, but its proof may still follow.
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
    type Error = ApiError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ApiError>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.0 else { return Poll::Ready(None) };
        let next = ready!(body.poll_next(context));
        Poll::Ready(match next {
            Ok(Some(data)) => Some(Ok(Frame::data(data))),
            Ok(None) => {
                this.0 = None;
                None
            }
            Err(error) => {
                // The first error counts; layers in between may replace the one in the stream.
                let _ = body.fault.0.set(error.clone());
                // The held bytes are dropped with the source: without proof they never leave.
                this.0 = None;
                Some(Err(error))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let Some(body) = &self.0 else { return SizeHint::with_exact(0) };
        let held = body.held.as_ref().map_or(0, |held| held.len() as u64);
        body.verifier
            .remaining()
            .map_or_else(SizeHint::default, |remaining| SizeHint::with_exact(remaining + held))
    }
}

impl fmt::Debug for AuthBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remaining = self.0.as_ref().map_or(Some(0), |body| body.verifier.remaining());
        formatter.debug_struct("AuthBody").field("remaining", &remaining).finish_non_exhaustive()
    }
}
