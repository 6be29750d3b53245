//! Writing a remote blob.
//!
//! ```text
//!             up to 8 MiB                              seal: one PUT
//!  begun ───────────────────────────────────────────────────────────────────────► there
//!    │ more            parts of 8 MiB, two at a time   seal: last part, complete    ▲
//!    └──────► upload ──────────────────────────────────────────────────────────────┘
//!                │ dropped, or failed
//!                ▼
//!             aborted, in the background
//! ```
//! No name exists before the whole blob does. A writer holds at most three parts: one that is filled, and two that
//! are sent.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use object_store::multipart::PartId;
use object_store::{MultipartId, PutOptions, PutPayload};
use tokio::task::JoinHandle;

use super::Shared;
use super::blocks::{self, CHUNK, Encoder};
use super::bucket::Remote;
use super::call::{Failure, persist};
use crate::{BlobError, BlobId, BlobWriter, Seal, Sealed, SealedBlob};

/// Length of a part, and of the longest object that is sent by one PUT. S3 takes parts from 5 MiB on.
pub(super) const PART: usize = 8 << 20;
/// Parts of a writer that are sent at the same time.
const IN_FLIGHT_MAX: usize = 2;
/// Parts of an upload at S3.
const PARTS_MAX: usize = 10_000;

const _: () = assert!(PART.is_multiple_of(CHUNK));

type Part = JoinHandle<Result<PartId, Failure>>;

#[derive(Debug)]
pub(super) struct RemoteWriter {
    shared: Arc<Shared>,
    id: BlobId,
    encoder: Encoder,
    /// The chunks of the part that is being filled.
    chunks: Vec<Bytes>,
    filled: usize,
    upload: Option<Upload>,
    failure: Option<BlobError>,
}

#[derive(Debug)]
struct Upload {
    id: MultipartId,
    /// The first parts, which the service has.
    sent: Vec<PartId>,
    /// The following ones.
    in_flight: VecDeque<Part>,
}

impl RemoteWriter {
    pub(super) fn new(shared: Arc<Shared>, id: BlobId, expected: u64) -> Self {
        let encoder = Encoder::new(id, expected);
        Self { shared, id, encoder, chunks: Vec::new(), filled: 0, upload: None, failure: None }
    }

    fn write(&mut self, mut rest: &[u8]) -> Result<(), BlobError> {
        while let Some(chunk) = self.encoder.fill(&mut rest) {
            self.add(chunk)?;
        }
        Ok(())
    }

    fn add(&mut self, chunk: Bytes) -> Result<(), BlobError> {
        // Only when there is more than one part has, so that a body of one part needs no upload.
        if self.filled == PART {
            self.send_part()?;
        }
        self.filled += chunk.len();
        self.chunks.push(chunk);
        Ok(())
    }

    fn send_part(&mut self) -> Result<(), BlobError> {
        let remote = Arc::clone(&self.shared.remote);
        let object = remote.object(&self.id);
        let failed = |failure| remote.told(failure);
        if self.upload.is_none() {
            let (remote, object) = (Arc::clone(&remote), object.clone());
            let begun = self.shared.run(async move {
                persist(remote.patience, || remote.bucket.create_multipart(&object)).await
            });
            let id = begun.map_err(failed)?;
            self.upload = Some(Upload { id, sent: Vec::new(), in_flight: VecDeque::new() });
        }
        let upload = self.upload.as_mut().expect("it was begun");
        while upload.in_flight.len() >= IN_FLIGHT_MAX {
            upload.wait_for_first().map_err(failed)?;
        }
        let number = upload.sent.len() + upload.in_flight.len();
        if number == PARTS_MAX {
            let reason =
                format!("a body of more than {PARTS_MAX} parts of {PART} bytes is too long");
            return Err(failed(Failure::Refused(reason)));
        }
        let payload: PutPayload = std::mem::take(&mut self.chunks).into_iter().collect();
        self.filled = 0;
        // Over all writers, so that many of them do not share a slow line in so small pieces that all fail.
        let room = self.shared.room_for_a_part();
        let (id, remote) = (upload.id.clone(), Arc::clone(&remote));
        let part = self.shared.runtime().spawn(async move {
            let _room = room;
            let put = || remote.bucket.put_part(&object, &id, number, payload.clone());
            persist(remote.patience, put).await
        });
        upload.in_flight.push_back(part);
        Ok(())
    }

    /// Sends everything that was not sent, and lets the object appear.
    fn publish(&mut self) -> Result<(), Failure> {
        let remote = Arc::clone(&self.shared.remote);
        let object = remote.object(&self.id);
        let Some(upload) = self.upload.as_mut() else {
            let payload: PutPayload = std::mem::take(&mut self.chunks).into_iter().collect();
            let put = async move {
                let put =
                    || remote.bucket.put_opts(&object, payload.clone(), PutOptions::default());
                persist(remote.patience, put).await.map(drop)
            };
            return self.shared.run(put);
        };
        while !upload.in_flight.is_empty() {
            upload.wait_for_first()?;
        }
        let (id, sent) = (upload.id.clone(), std::mem::take(&mut upload.sent));
        let expected = blocks::object_bytes(self.encoder.bytes());
        let complete = async move {
            let complete = || remote.bucket.complete_multipart(&object, &id, sent.clone());
            let failure = match persist(remote.patience, complete).await {
                Ok(_) => return Ok(()),
                Err(failure) => failure,
            };
            // An earlier attempt may have succeeded, and only its answer was lost: then there is no upload any
            // more. No other writer has this id.
            match remote.length(&object).await {
                Ok(Some(length)) if length == expected => Ok(()),
                _ => Err(failure),
            }
        };
        self.shared.run(complete)?;
        self.upload = None;
        Ok(())
    }
}

impl Upload {
    fn wait_for_first(&mut self) -> Result<(), Failure> {
        let Some(part) = self.in_flight.pop_front() else { return Ok(()) };
        self.sent.push(super::joined(super::call::wait(part))?);
        Ok(())
    }
}

/// Aborts an upload, behind its parts: one that arrives later would stay.
async fn abort(remote: Arc<Remote>, id: BlobId, upload: Upload) {
    for part in &upload.in_flight {
        part.abort();
    }
    for part in upload.in_flight {
        let _ = part.await;
    }
    let object = remote.object(&id);
    // What fails is left to the rule of the bucket for unfinished uploads.
    let _ = persist(remote.patience, || remote.bucket.abort_multipart(&object, &upload.id)).await;
}

impl BlobWriter for RemoteWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.write(bytes).inspect_err(|error| self.failure = Some(error.clone()))
    }

    fn seal(mut self: Box<Self>, _: Seal) -> Result<Sealed, BlobError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if let Some(chunk) = self.encoder.finish() {
            self.add(chunk)?;
        }
        if self.upload.is_some() {
            self.send_part()?;
        }
        if let Err(failure) = self.publish() {
            self.shared.delete_in_background(self.id);
            return Err(self.shared.remote.told(failure));
        }
        let blob = SealedBlob { id: self.id, bytes: self.encoder.bytes() };
        Ok(Sealed { blob, contents_to_note: None })
    }
}

impl Drop for RemoteWriter {
    fn drop(&mut self) {
        if let Some(upload) = self.upload.take() {
            let remote = Arc::clone(&self.shared.remote);
            self.shared.in_background(abort(remote, self.id, upload));
        }
    }
}
