//! Reading a remote blob.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::AbortHandle;

use super::Shared;
use super::ahead::Granted;
use super::blocks::{self, BLOCK_BODY, CHUNK_BLOCKS, CHUNK_BODY};
use super::call::wait;
use super::fetch::{Fetch, Fetched};
use crate::{BlobError, BlobId, BlobPiece, BlobReader};

/// Least and most that a sequential reader fetches beyond the bytes that it was asked for: a caller without room
/// asks for little at a time, and each GET costs a round trip.
const WINDOW_MIN: u64 = 512 << 10;
const WINDOW_MAX: u64 = 4 << 20;
/// A reader that skips at most so many bytes goes on with its fetch.
const SKIPPED_MAX: u64 = CHUNK_BODY;

/// A reader of a blob. It asks for nothing before its first read.
#[derive(Debug)]
pub(super) struct RemoteReader {
    shared: Arc<Shared>,
    id: BlobId,
    body_bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The last chunk, while some of it was not returned yet.
    chunk: Option<Fetched>,
    /// The running fetch, whose chunks follow. A thread that waits for it has taken it out.
    running: Option<Running>,
    /// The place behind the last byte that was returned.
    position: u64,
    /// The number of bytes of the next sequential fetch.
    window: u64,
}

#[derive(Debug)]
struct Running {
    chunks: Receiver<Result<Fetched, BlobError>>,
    /// The place of its next chunk.
    next: u64,
    /// The place behind its last one.
    end: u64,
    task: AbortHandle,
    _granted: Granted,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may wait for the service, and would notice only with the next chunk that nobody reads it.
        self.task.abort();
    }
}

impl RemoteReader {
    pub(super) fn new(shared: Arc<Shared>, id: BlobId, body_bytes: u64) -> Self {
        let state = State { chunk: None, running: None, position: 0, window: WINDOW_MIN };
        Self { shared, id, body_bytes, state: Mutex::new(state) }
    }

    fn check(&self, range: &Range<u64>) {
        assert!(range.end <= self.body_bytes, "{range:?} is not within {} bytes", self.body_bytes);
    }

    /// The next chunk of the fetch that leads to `start`, which is running or begins now.
    fn chunk_at(&self, range: &Range<u64>) -> Result<Fetched, BlobError> {
        let running = self.state.lock().running.take().filter(|it| it.leads_to(range.start));
        let mut running = match running {
            Some(running) => running,
            None => {
                if let Some(kept) = self.kept(range.start) {
                    return Ok(kept);
                }
                self.begin(range)
            }
        };
        loop {
            let chunk = match wait(running.chunks.recv()) {
                Some(chunk) => chunk?,
                // Its runtime has been shut down.
                None => {
                    let reason = "The blob store was closed: repeat the request.".to_owned();
                    return Err(BlobError::Unavailable { reason });
                }
            };
            running.next = chunk.end();
            if chunk.end() > range.start {
                if running.next < running.end {
                    self.state.lock().running = Some(running);
                }
                return Ok(chunk);
            }
        }
    }

    /// The chunk with the byte at `start`, if it is kept on this machine.
    fn kept(&self, start: u64) -> Option<Fetched> {
        let cache = self.shared.cache.as_ref()?;
        let number = start / CHUNK_BODY;
        let first = number * CHUNK_BLOCKS;
        let last = (first + CHUNK_BLOCKS).min(blocks::blocks(self.body_bytes));
        let range = blocks::object_range(self.body_bytes, &(first..last));
        let bytes = cache.get(&self.id, number, (range.end - range.start) as usize)?;
        Some(Fetched { start: number * CHUNK_BODY, bytes })
    }

    /// Begins a fetch of the blocks of `range`, and of more if the reads are sequential.
    fn begin(&self, range: &Range<u64>) -> Running {
        let window = {
            let mut state = self.state.lock();
            let window = state.window;
            let is_sequential = range.start > 0 && range.start == state.position;
            if is_sequential {
                state.window = (window * 2).min(WINDOW_MAX);
            }
            if is_sequential { window } else { 0 }
        };
        let end = range.end.max(range.start.saturating_add(window)).min(self.body_bytes);
        let body = BLOCK_BODY as u64;
        let mut blocks = range.start / body..end.div_ceil(body);
        if self.shared.cache.is_some() {
            // Only whole chunks are kept.
            blocks.start -= blocks.start % CHUNK_BLOCKS;
            let all = blocks::blocks(self.body_bytes);
            blocks.end = blocks.end.next_multiple_of(CHUNK_BLOCKS).min(all);
        }
        let granted = self.shared.ahead.grant((blocks.end - blocks.start).div_ceil(CHUNK_BLOCKS));
        let (to, chunks) = mpsc::channel(granted.chunks());
        let (next, end) = (blocks.start * body, (blocks.end * body).min(self.body_bytes));
        let fetch = Fetch {
            remote: Arc::clone(&self.shared.remote),
            cache: self.shared.cache.clone(),
            id: self.id,
            body_bytes: self.body_bytes,
            blocks,
            to,
        };
        let task = self.shared.runtime().spawn(fetch.run()).abort_handle();
        Running { chunks, next, end, task, _granted: granted }
    }
}

impl Running {
    fn leads_to(&self, start: u64) -> bool {
        (self.next..self.end).contains(&start) && start - self.next <= SKIPPED_MAX
    }
}

impl State {
    /// Returns the bytes at the start of `range` from the last chunk, which is dropped with its last byte.
    fn take(&mut self, range: &Range<u64>) -> Option<Bytes> {
        let chunk = self.chunk.as_ref()?;
        let bytes = chunk.first_of(range)?;
        self.position = range.start + bytes.len() as u64;
        if self.position == chunk.end() {
            self.chunk = None;
        }
        Some(bytes)
    }

    fn returned(&mut self, chunk: Fetched, range: &Range<u64>) -> Option<Bytes> {
        self.chunk = Some(chunk);
        self.take(range)
    }
}

impl BlobReader for RemoteReader {
    fn read(&self, range: Range<u64>) -> Result<BlobPiece, BlobError> {
        self.check(&range);
        if range.is_empty() {
            return Ok(BlobPiece::Shared(Bytes::new()));
        }
        if let Some(bytes) = self.state.lock().take(&range) {
            return Ok(BlobPiece::Shared(bytes));
        }
        let chunk = self.chunk_at(&range)?;
        let bytes = self.state.lock().returned(chunk, &range);
        Ok(BlobPiece::Shared(bytes.expect("the chunk has the first byte of the range")))
    }

    fn try_read(&self, range: Range<u64>) -> Result<Option<BlobPiece>, BlobError> {
        self.check(&range);
        if range.is_empty() {
            return Ok(Some(BlobPiece::Shared(Bytes::new())));
        }
        let Some(mut state) = self.state.try_lock() else { return Ok(None) };
        if let Some(bytes) = state.take(&range) {
            return Ok(Some(BlobPiece::Shared(bytes)));
        }
        let Some(running) = state.running.as_mut().filter(|it| it.next == range.start) else {
            return Ok(None);
        };
        let Ok(chunk) = running.chunks.try_recv() else { return Ok(None) };
        running.next = chunk.as_ref().map_or(running.end, Fetched::end);
        if running.next >= running.end {
            state.running = None;
        }
        let chunk = chunk?;
        Ok(state.returned(chunk, &range).map(BlobPiece::Shared))
    }
}
