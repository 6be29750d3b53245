//! A fetch: one GET of a range of blocks, read ahead of its reader.
//!
//! ```text
//!            ┌──────────── answer cut, damaged once, refused for now ───────────┐
//!            ▼                                                                  │
//!  GET from the next block ─► bytes ─► chunk whole, verified ─► (kept) ─► to the reader ─► end
//!                                         │ damaged again
//!                                         ▼
//!                                      Corrupt
//! ```
//! Bytes go to the reader only as chunks that were verified. As many chunks wait for it as the fetch was granted;
//! then the task waits, and with it the service.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::{GetOptions, GetRange};
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use super::blocks::{self, BLOCK_BODY, CHUNK_BLOCKS};
use super::bucket::{Remote, wrong_length};
use super::cache::BlockCache;
use super::call::{Attempts, Failure, attempt, judge};
use crate::{BlobError, BlobId};

/// Verified bytes of a blob.
#[derive(Clone, Debug)]
pub(super) struct Fetched {
    /// Their place in the body.
    pub(super) start: u64,
    pub(super) bytes: Bytes,
}

impl Fetched {
    /// The bytes at the start of `range`, if they are here.
    pub(super) fn first_of(&self, range: &Range<u64>) -> Option<Bytes> {
        let at = range.start.checked_sub(self.start)?;
        let end = (range.end - self.start).min(self.bytes.len() as u64);
        (at < end).then(|| self.bytes.slice(at as usize..end as usize))
    }

    /// The place in the body behind them.
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// Work of a task.
pub(super) struct Fetch {
    pub(super) remote: Arc<Remote>,
    pub(super) cache: Option<Arc<BlockCache>>,
    pub(super) id: BlobId,
    pub(super) body_bytes: u64,
    /// The blocks that are still to come.
    pub(super) blocks: Range<u64>,
    pub(super) to: Sender<Result<Fetched, BlobError>>,
}

/// The reason for the end of one answer.
enum End {
    /// All blocks have come, or nobody reads them any more.
    Done,
    Failed(Failure),
    Damaged,
    Error(BlobError),
}

impl Fetch {
    /// Fetches until the end, an error, or until the reader is dropped.
    pub(super) async fn run(mut self) {
        let mut attempts = Attempts::new(self.remote.patience);
        // The block whose chunk was damaged: bytes may be damaged on their way, so it is fetched twice.
        let mut damaged = None;
        loop {
            let before = self.blocks.start;
            let end = self.one_answer().await;
            if self.blocks.start > before {
                attempts.progress();
            }
            let error = match end {
                End::Done => return,
                End::Error(error) => error,
                End::Damaged if damaged != Some(self.blocks.start) => {
                    damaged = Some(self.blocks.start);
                    continue;
                }
                End::Damaged => {
                    let what = "a block does not match its checksum";
                    BlobError::Corrupt { id: self.id, what }
                }
                End::Failed(Failure::Transient(reason)) => match attempts.pause().await {
                    true => continue,
                    false => self.remote.told(Failure::Transient(reason)),
                },
                End::Failed(failure) => self.explained(failure).await,
            };
            // A reader that is gone needs no error.
            let _ = self.to.send(Err(error)).await;
            return;
        }
    }

    async fn explained(&self, failure: Failure) -> BlobError {
        if matches!(failure, Failure::Refused(_))
            && let Err(error) = self.remote.check_length(&self.id, self.body_bytes).await
        {
            return error;
        }
        self.remote.told_of(&self.id, failure)
    }

    /// Reads the answer to one GET, chunk by chunk.
    async fn one_answer(&mut self) -> End {
        let (remote, body_bytes) = (Arc::clone(&self.remote), self.body_bytes);
        let wanted = blocks::object_range(body_bytes, &self.blocks);
        let range = Some(GetRange::Bounded(wanted));
        let options = GetOptions { range, ..GetOptions::default() };
        let object = remote.object(&self.id);
        let answer = attempt(remote.patience, remote.bucket.get_opts(&object, options)).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => return End::Failed(failure),
        };
        if answer.meta.size != blocks::object_bytes(body_bytes) {
            return End::Error(wrong_length(&self.id));
        }
        let mut stream = answer.into_stream();
        let (mut chunk, mut left) = (Vec::new(), self.next_length());
        while !self.blocks.is_empty() {
            let mut bytes = match timeout(remote.patience.stall, stream.next()).await {
                Ok(Some(Ok(bytes))) => bytes,
                Ok(Some(Err(error))) => return End::Failed(judge(error)),
                Ok(None) => return End::Failed(Failure::Transient("an answer was cut".to_owned())),
                Err(_) => {
                    let stall = remote.patience.stall;
                    return End::Failed(Failure::Transient(format!("no byte in {stall:?}")));
                }
            };
            while !bytes.is_empty() && !self.blocks.is_empty() {
                let taken = bytes.split_to(bytes.len().min(left));
                chunk.reserve_exact(left);
                chunk.extend_from_slice(&taken);
                left -= taken.len();
                if left > 0 {
                    break;
                }
                match self.deliver(std::mem::take(&mut chunk)).await {
                    Ok(true) => left = self.next_length(),
                    Ok(false) => return End::Done,
                    Err(end) => return end,
                }
            }
        }
        End::Done
    }

    /// The blocks of the next chunk. Chunks of the body are aligned, so that each can be kept.
    fn next_blocks(&self) -> Range<u64> {
        let start = self.blocks.start;
        start..((start / CHUNK_BLOCKS + 1) * CHUNK_BLOCKS).min(self.blocks.end)
    }

    /// Length of the next chunk in the object.
    fn next_length(&self) -> usize {
        let range = blocks::object_range(self.body_bytes, &self.next_blocks());
        (range.end - range.start) as usize
    }

    /// Verifies a chunk and sends it; `false` if nobody reads it.
    async fn deliver(&mut self, encoded: Vec<u8>) -> Result<bool, End> {
        let now = self.next_blocks();
        let keep = self.cache.clone().filter(|_| self.is_whole(&now));
        let copy = keep.map(|cache| (cache, encoded.clone()));
        let Some(bytes) = blocks::decode(&self.id, now.start, encoded) else {
            return Err(End::Damaged);
        };
        if let Some((cache, encoded)) = copy {
            let id = self.id;
            let put = move || cache.put(&id, now.start / CHUNK_BLOCKS, &encoded);
            // It only saves later fetches, so what fails is not told.
            let _ = tokio::task::spawn_blocking(put).await;
        }
        let start = now.start * BLOCK_BODY as u64;
        self.blocks.start = now.end;
        Ok(self.to.send(Ok(Fetched { start, bytes })).await.is_ok())
    }

    /// `true` if these blocks are a whole chunk of the body, or its last one.
    fn is_whole(&self, now: &Range<u64>) -> bool {
        let is_end = now.end == blocks::blocks(self.body_bytes);
        now.start.is_multiple_of(CHUNK_BLOCKS) && (now.end.is_multiple_of(CHUNK_BLOCKS) || is_end)
    }
}
