//! Receives request bodies into the store.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::header::CONTENT_LENGTH;
use http::{Extensions, HeaderMap};
use liteio_store::limits::{INLINE_BYTES_MAX, PART_BYTES_MAX};
use liteio_store::{
    BodyHasher, BodyOptions, BodySink, BodyWriter, ChecksumAlgorithm, ChecksumValue, Sealing,
    StagedBody, Store, StoreError,
};
use s3s::dto::StreamingBlob;
use s3s::{S3Error, S3Result, StdError, s3_error};

use super::details::Details;
use super::error;
use super::headers::header;
use super::lane::{self, Batch, Lane};
use super::limits::{BATCH_BYTES, COPIED_CHUNK_BYTES, TASK_BYTES_MAX};
use liteio_access::state::App;
use liteio_auth::PayloadHash;
use liteio_wire::reply::ApiError;

/// The declared body length of a PUT, which S3 requires.
pub(super) fn declared_bytes(headers: &HeaderMap) -> S3Result<u64> {
    let Some(length) = header(headers, CONTENT_LENGTH) else {
        return Err(s3_error!(
            MissingContentLength,
            "You must provide the Content-Length HTTP header."
        ));
    };
    let invalid = |_| {
        s3_error!(
            Details::argument("Content-Length", length),
            InvalidArgument,
            "The Content-Length HTTP header is invalid."
        )
    };
    match length.parse().map_err(invalid)? {
        bytes if bytes <= PART_BYTES_MAX => Ok(bytes),
        bytes => Err(error::too_large(bytes, PART_BYTES_MAX)),
    }
}

/// Receives a body and stages it: it is invisible until committed, and dropping it leaves nothing
/// behind.
///
/// A small body is hashed and stored on this thread, without a thread switch. A larger one is cut
/// into batches, hashed on one [`Lane`] and written on another, while the next batches are
/// received. The SHA-256 that the client has signed is compared here: computed together with MD5, it
/// costs little more.
pub(super) async fn receive(
    app: &App,
    body: Option<StreamingBlob>,
    extensions: &Extensions,
    bytes_expected: Option<u64>,
    mut algorithms: Vec<ChecksumAlgorithm>,
    sealing: Option<Sealing>,
) -> S3Result<StagedBody> {
    let signed = extensions.get::<PayloadHash>().and_then(PayloadHash::take);
    if signed.is_some() && !algorithms.contains(&ChecksumAlgorithm::Sha256) {
        algorithms.push(ChecksumAlgorithm::Sha256);
    }
    let mut body = Receiver { stream: body, bytes: 0, bytes_expected };
    let options = BodyOptions { expected_bytes: bytes_expected, algorithms, sealing };
    let staged = match bytes_expected {
        Some(bytes) if bytes <= INLINE_BYTES_MAX as u64 => {
            let writer = app.store.begin_body(options).map_err(error::from_store)?;
            receive_inline(app, &mut body, writer).await?
        }
        _ => receive_in_batches(app, &mut body, options).await?,
    };
    if let Some(signed) = signed {
        let computed = staged.digests().checksum(ChecksumAlgorithm::Sha256);
        signed.check(computed.map_or(&[], ChecksumValue::bytes)).map_err(error::of_api)?;
    }
    Ok(staged)
}

async fn receive_inline(
    app: &App,
    body: &mut Receiver,
    mut writer: BodyWriter,
) -> S3Result<StagedBody> {
    while let Some(chunk) = body.next().await? {
        if writer.will_block(chunk.len()) {
            let written = app.blocking(move |_| writer.write(&chunk).map(|()| writer));
            writer = written.await.map_err(error::from_store)?;
        } else {
            writer.write(&chunk).map_err(error::from_store)?;
        }
    }
    if writer.is_inline() {
        return writer.finish().map_err(error::from_store);
    }
    app.blocking(move |_| writer.finish()).await.map_err(error::from_store)
}

async fn receive_in_batches(
    app: &App,
    body: &mut Receiver,
    options: BodyOptions,
) -> S3Result<StagedBody> {
    let Some(first) = body.next_batch().await? else {
        let writer = app.store.begin_body(options).map_err(error::from_store)?;
        return writer.finish().map_err(error::from_store);
    };
    let Some(second) = body.next_batch().await? else {
        return receive_short(app, first, options).await;
    };
    let hashing = Lane::new(app.offload(), BodyHasher::new(&options.algorithms));
    let (store, expected_bytes, sealing) =
        (app.store.clone(), options.expected_bytes, options.sealing);
    let storing = Storing { store, expected_bytes, sealing, sink: None };
    let storing = Lane::new(app.offload(), storing);
    for batch in [first, second] {
        push(&hashing, &storing, batch).await?;
    }
    while let Some(batch) = body.next_batch().await? {
        push(&hashing, &storing, batch).await?;
    }
    let stored = async {
        let sink = storing.finish().await?.sink;
        let stored = app.blocking(move |_| sink.ok_or(StoreError::Closed)?.finish()).await;
        stored.map_err(error::from_store)
    };
    // The end of hashing overlaps with the fsync of the file.
    let (hasher, stored) = futures_util::future::try_join(hashing.finish(), stored).await?;
    Ok(StagedBody::new(hasher.finish(), stored))
}

/// Stages a body of one batch, which gains nothing from lanes. A short one is digested with others by
/// its own task, and written by the commit of its record; of a longer one a blocking call writes all.
async fn receive_short(app: &App, batch: Batch, mut options: BodyOptions) -> S3Result<StagedBody> {
    let bytes = batch.iter().map(Bytes::len).sum::<usize>();
    if bytes <= TASK_BYTES_MAX {
        options.expected_bytes = Some(bytes as u64);
        let writer = app.store.begin_body_in_memory(&options).map_err(error::from_store)?;
        if let Some(mut writer) = writer {
            writer.write_in_task(&batch).await.map_err(error::from_store)?;
            if !writer.finishes_in_memory() {
                return app.blocking(move |_| writer.finish()).await.map_err(error::from_store);
            }
            let staged = writer.finish_in_memory().map_err(error::from_store)?;
            if app.store.is_room_low() {
                let store = app.store.clone();
                app.offload().start(move || store.make_room());
            }
            return Ok(staged);
        }
    }
    let staged = app.blocking(move |store| {
        let mut writer = store.begin_body(options)?;
        writer.write_together(&batch)?;
        writer.finish()
    });
    staged.await.map_err(error::from_store)
}

async fn push(hashing: &Lane<BodyHasher>, storing: &Lane<Storing>, batch: Batch) -> S3Result<()> {
    // Back-pressure: both lanes must have room before more of the body is read.
    hashing.push(Arc::clone(&batch)).await?;
    storing.push(batch).await
}

impl lane::Worker for BodyHasher {
    fn work(&mut self, batch: &[Bytes]) -> Result<(), StoreError> {
        self.update_together(batch);
        Ok(())
    }
}

struct Storing {
    store: Store,
    expected_bytes: Option<u64>,
    sealing: Option<Sealing>,
    /// Opened with the first batch, on the lane's blocking thread, because opening may wait for the
    /// disk.
    sink: Option<BodySink>,
}

impl lane::Worker for Storing {
    fn work(&mut self, batch: &[Bytes]) -> Result<(), StoreError> {
        let sink = match &mut self.sink {
            Some(sink) => sink,
            none => none.insert(self.store.begin_sink(self.expected_bytes, self.sealing.take())?),
        };
        batch.iter().try_for_each(|chunk| sink.append(chunk))
    }
}

/// The receiving side. Counts the bytes and fails if they are more or fewer than declared.
struct Receiver {
    stream: Option<StreamingBlob>,
    bytes: u64,
    bytes_expected: Option<u64>,
}

impl Receiver {
    /// The next batch: chunks of at least [`BATCH_BYTES`] in total, fewer only at the end of the
    /// body. `None` after the end.
    async fn next_batch(&mut self) -> S3Result<Option<Batch>> {
        let (mut batch, mut batch_bytes) = (Vec::new(), 0);
        let mut small = BytesMut::new();
        while batch_bytes < BATCH_BYTES
            && let Some(chunk) = self.next().await?
        {
            batch_bytes += chunk.len();
            if chunk.len() < COPIED_CHUNK_BYTES {
                small.extend_from_slice(&chunk);
                continue;
            }
            if !small.is_empty() {
                batch.push(small.split().freeze());
            }
            batch.push(chunk);
        }
        if !small.is_empty() {
            batch.push(small.freeze());
        }
        Ok((batch_bytes > 0).then(|| Arc::new(batch)))
    }

    async fn next(&mut self) -> S3Result<Option<Bytes>> {
        let next = match &mut self.stream {
            Some(stream) => stream.next().await,
            None => None,
        };
        let Some(chunk) = next else {
            return match self.bytes_expected {
                Some(expected) if expected != self.bytes => Err(incomplete_body()),
                _ => Ok(None),
            };
        };
        let chunk = chunk.map_err(|error| from_body(&error))?;
        self.bytes += chunk.len() as u64;
        if self.bytes > self.bytes_expected.unwrap_or(PART_BYTES_MAX) {
            return Err(match self.bytes_expected {
                Some(_) => incomplete_body(),
                None => error::too_large(self.bytes, PART_BYTES_MAX),
            });
        }
        Ok(Some(chunk))
    }
}

fn incomplete_body() -> S3Error {
    s3_error!(
        IncompleteBody,
        "You did not provide the number of bytes specified by the Content-Length HTTP header"
    )
}

/// The error for an interrupted body: the error of the layer that rejected it, else
/// `IncompleteBody`, because then the client closed the connection.
pub(super) fn from_body(error: &StdError) -> S3Error {
    match ApiError::find(&**error) {
        Some(found) => error::of_api(found.clone()),
        None => incomplete_body(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::stream;

    use super::*;

    /// A connection's read buffer that counts itself while any chunk keeps it alive.
    struct ReadBuffer {
        bytes: Vec<u8>,
        alive: Arc<AtomicUsize>,
    }

    impl AsRef<[u8]> for ReadBuffer {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }

    impl Drop for ReadBuffer {
        fn drop(&mut self) {
            self.alive.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// A receiver of chunks of these lengths, each in its own buffer.
    fn receiver(lengths: Vec<usize>, alive: &Arc<AtomicUsize>) -> Receiver {
        let alive = Arc::clone(alive);
        let chunks = lengths.into_iter().enumerate().map(move |(number, length)| {
            alive.fetch_add(1, Ordering::SeqCst);
            let bytes = vec![number as u8; length.max(8 << 10)];
            let buffer = Bytes::from_owner(ReadBuffer { bytes, alive: Arc::clone(&alive) });
            Ok::<_, std::io::Error>(buffer.slice(..length))
        });
        let stream = Some(StreamingBlob::wrap(stream::iter(chunks)));
        Receiver { stream, bytes: 0, bytes_expected: None }
    }

    #[tokio::test]
    async fn a_body_in_tiny_chunks_does_not_keep_what_they_were_read_into() {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut receiver = receiver(vec![1; 5_000], &alive);
        let batch = receiver.next_batch().await.expect("received").expect("not empty");
        assert_eq!(alive.load(Ordering::SeqCst), 0, "buffers of the connection");
        assert_eq!(batch.len(), 1);
        assert_eq!(batch[0].len(), 5_000);
    }

    #[tokio::test]
    async fn chunks_of_any_length_keep_their_order() {
        let lengths = vec![3, 1, 40_000, 2, 8_191, 8_192, 1, 100_000, 5];
        let expected: Vec<u8> = lengths
            .iter()
            .enumerate()
            .flat_map(|(number, length)| vec![number as u8; *length])
            .collect();
        let mut receiver = receiver(lengths, &Arc::new(AtomicUsize::new(0)));
        let mut received = Vec::new();
        while let Some(batch) = receiver.next_batch().await.expect("received") {
            batch.iter().for_each(|chunk| received.extend_from_slice(chunk));
        }
        assert!(received == expected);
    }
}
