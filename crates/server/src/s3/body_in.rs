//! The body of a request, on its way into the store.

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use liteio_store::limits::{INLINE_BYTES_MAX, PART_BYTES_MAX};
use liteio_store::{BodyOptions, BodyWriter, ChecksumAlgorithm, StagedBody, Store, StoreError};
use s3s::dto::StreamingBlob;
use s3s::{S3Error, S3Result, StdError, s3_error};
use tokio::task::JoinHandle;

use super::blocking;
use super::convert::header;
use super::error;
use super::limits::BATCH_BYTES;
use crate::app::App;
use crate::auth::AuthBodyError;

/// The declared length of the body of a PUT, which S3 demands.
pub(super) fn declared_bytes(headers: &HeaderMap) -> S3Result<u64> {
    let Some(length) = header(headers, CONTENT_LENGTH.as_str()) else {
        return Err(s3_error!(
            MissingContentLength,
            "You must provide the Content-Length HTTP header."
        ));
    };
    let invalid = |_| s3_error!(InvalidArgument, "The Content-Length HTTP header is invalid.");
    match length.parse().map_err(invalid)? {
        bytes if bytes <= PART_BYTES_MAX => Ok(bytes),
        _ => Err(error::too_large()),
    }
}

/// Receives a body and stages it: nothing of it is visible before it is committed, and nothing stays
/// if it is dropped.
///
/// A small body is taken in on this thread, without a hop. A larger one is hashed and written in
/// batches on blocking threads, each while the next one is received: a slow client holds no thread.
pub(super) async fn receive(
    app: &App,
    body: Option<StreamingBlob>,
    bytes_expected: Option<u64>,
    algorithms: Vec<ChecksumAlgorithm>,
) -> S3Result<StagedBody> {
    let mut body = Receiver { stream: body, bytes: 0, bytes_expected };
    let options = BodyOptions { expected_bytes: bytes_expected, algorithms };
    match bytes_expected {
        Some(bytes) if bytes <= INLINE_BYTES_MAX as u64 => {
            let writer = app.store.begin_body(options).map_err(error::from_store)?;
            receive_inline(app, &mut body, writer).await
        }
        _ => receive_in_batches(app, &mut body, options).await,
    }
}

async fn receive_inline(
    app: &App,
    body: &mut Receiver,
    mut writer: BodyWriter,
) -> S3Result<StagedBody> {
    while let Some(chunk) = body.next().await? {
        if writer.will_block(chunk.len()) {
            let written = blocking(app, move || writer.write(&chunk).map(|()| writer));
            writer = written.await?;
        } else {
            writer.write(&chunk).map_err(error::from_store)?;
        }
    }
    if writer.is_inline() {
        return writer.finish().map_err(error::from_store);
    }
    blocking(app, move || writer.finish()).await
}

async fn receive_in_batches(
    app: &App,
    body: &mut Receiver,
    options: BodyOptions,
) -> S3Result<StagedBody> {
    let mut batches = Batches { store: app.store.clone(), options: Some(options), writer: None };
    let mut writing: Option<JoinHandle<S3Result<Batches>>> = None;
    let mut batch = Vec::new();
    let mut batch_bytes = 0;
    while let Some(chunk) = body.next().await? {
        batch_bytes += chunk.len();
        batch.push(chunk);
        if batch_bytes < BATCH_BYTES {
            continue;
        }
        if let Some(task) = writing.take() {
            batches = ended(task).await?;
        }
        let full = std::mem::take(&mut batch);
        batch_bytes = 0;
        let offload = app.offload.clone();
        // A task of its own, so that it goes on while this one waits for the client.
        writing = Some(tokio::spawn(async move {
            match offload.run(move || batches.write(&full)).await {
                Ok(result) => result.map_err(error::from_store),
                Err(error) => Err(error::from_offload(error)),
            }
        }));
        batches = Batches { store: app.store.clone(), options: None, writer: None };
    }
    if let Some(task) = writing {
        batches = ended(task).await?;
    }
    blocking(app, move || batches.write(&batch)?.finish()).await
}

async fn ended(task: JoinHandle<S3Result<Batches>>) -> S3Result<Batches> {
    match task.await {
        Ok(result) => result,
        Err(_) => Err(s3_error!(ServiceUnavailable, "The server is stopping.")),
    }
}

/// The writing side of a larger body. The writer is begun where it may wait for the disk.
struct Batches {
    store: Store,
    options: Option<BodyOptions>,
    writer: Option<BodyWriter>,
}

impl Batches {
    fn write(mut self, batch: &[Bytes]) -> Result<Batches, StoreError> {
        if let Some(options) = self.options.take() {
            self.writer = Some(self.store.begin_body(options)?);
        }
        if let Some(writer) = &mut self.writer {
            batch.iter().try_for_each(|chunk| writer.write(chunk))?;
        }
        Ok(self)
    }

    fn finish(self) -> Result<StagedBody, StoreError> {
        self.writer.ok_or(StoreError::Closed)?.finish()
    }
}

/// The receiving side: counts, and knows when there is too much or too little.
struct Receiver {
    stream: Option<StreamingBlob>,
    bytes: u64,
    bytes_expected: Option<u64>,
}

impl Receiver {
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
                None => error::too_large(),
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

/// Why a body broke off: with the authentication layer's code, or because the client went away.
pub(super) fn from_body(error: &StdError) -> S3Error {
    let error: &(dyn std::error::Error + 'static) = &**error;
    AuthBodyError::find(error).map_or_else(incomplete_body, |found| found.clone().into())
}
