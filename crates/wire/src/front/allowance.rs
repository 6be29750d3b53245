//! [`Allowance`]: the memory that a request may use for its body and its answer.
//!
//! The body is charged as it is received. An answer from an object is charged piece by piece while
//! the pieces are on their way to the client, a document as a whole. If there is no room, a
//! document is refused, but an object continues in small uncharged pieces, one at a time: no client
//! waits for memory that another one holds.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;

use super::exchange::Exchange;
use super::limits::{
    ANSWER_FREE_BYTES, ANSWER_PIECE_BYTES, BODY_WINDOW_BYTES_MAX, HELD_BODY_COPIES,
};
use super::{Plan, slow_down};
use crate::budget::{Charge, Resource};
use crate::reply::{ApiError, ReplyBody};

/// The memory of one request.
#[derive(Clone)]
pub struct Allowance {
    exchange: Arc<Exchange>,
    plan: Plan,
    /// The declared length of the body, if there is one.
    body_bytes: Option<u64>,
}

impl Allowance {
    pub(super) fn new(exchange: Arc<Exchange>, plan: Plan, body_bytes: Option<u64>) -> Allowance {
        Allowance { exchange, plan, body_bytes }
    }

    /// Notes that the sender is authenticated, and checks whether there is room for the body, so
    /// that one that would not fit is refused before it is sent. Nothing is reserved: declaring a
    /// length costs the client nothing, so it must not take room from others.
    ///
    /// # Errors
    /// `SlowDown` if other requests use the room.
    pub fn admit_body(&self) -> Result<(), ApiError> {
        self.exchange.admit();
        let copies = if self.plan.held { HELD_BODY_COPIES } else { 1 };
        let bytes = self.body_bytes.unwrap_or(u64::MAX).saturating_mul(copies);
        let in_memory = bytes.min(BODY_WINDOW_BYTES_MAX);
        if self.exchange.has_room(in_memory) { Ok(()) } else { Err(slow_down(Resource::BodyBytes)) }
    }

    /// The memory for an answer in pieces.
    pub fn pieces(&self) -> PieceRoom {
        PieceRoom { none: self.exchange.answer_charge(), place: Arc::default() }
    }

    /// Charges an answer that is in memory as a whole.
    ///
    /// # Errors
    /// `SlowDown` if there is no room for it.
    pub(super) fn charge_document(&self, body: &mut ReplyBody) -> Result<(), ApiError> {
        let Some(bytes) = body.in_memory().filter(|it| it.len() as u64 > ANSWER_FREE_BYTES) else {
            return Ok(());
        };
        let mut charge = self.exchange.answer_charge();
        if !charge.grow_to(bytes.len() as u64) {
            return Err(slow_down(Resource::AnswerBytes));
        }
        *bytes = hold(std::mem::take(bytes), charge);
        Ok(())
    }
}

impl fmt::Debug for Allowance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Allowance { plan, body_bytes, .. } = self;
        let mut formatter = formatter.debug_struct("Allowance");
        formatter.field("plan", plan).field("body_bytes", body_bytes).finish_non_exhaustive()
    }
}

/// The memory of an answer in pieces, of which one is in memory at a time.
#[derive(Debug)]
pub struct PieceRoom {
    none: Charge,
    place: Arc<Place>,
}

/// The slot of the one piece in memory.
#[derive(Debug, Default)]
struct Place {
    is_taken: AtomicBool,
    waiting: AtomicWaker,
}

impl PieceRoom {
    /// Room for the next piece of `bytes_left`, once the client has taken the piece before.
    pub fn poll(&self, bytes_left: u64, context: &mut Context<'_>) -> Poll<Room> {
        if let Some(room) = self.take(bytes_left) {
            return Poll::Ready(room);
        }
        self.place.waiting.register(context.waker());
        // Register first, then check again: the slot may have become free in between, without a
        // waker to wake.
        self.take(bytes_left).map_or(Poll::Pending, Poll::Ready)
    }

    /// Room for the next piece, if no other is in memory.
    pub fn take(&self, bytes_left: u64) -> Option<Room> {
        if self.place.is_taken.swap(true, Ordering::Acquire) {
            return None;
        }
        let place = TakenPlace(Arc::clone(&self.place));
        let is_long = bytes_left > ANSWER_FREE_BYTES;
        let charge = is_long.then(|| self.none.another(ANSWER_PIECE_BYTES)).flatten();
        Some(Room { charge, _place: place })
    }
}

/// Room for one piece of an answer, until it is dropped: charged to the budget, or uncharged for a
/// small piece.
#[derive(Debug)]
pub struct Room {
    charge: Option<Charge>,
    _place: TakenPlace,
}

#[derive(Debug)]
struct TakenPlace(Arc<Place>);

impl Drop for TakenPlace {
    // `Release` before the wake: the woken task must see the slot free.
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
        self.0.waiting.wake();
    }
}

impl Room {
    /// Maximum length of the piece, if it is below the usual one.
    pub fn bytes_max(&self) -> Option<u64> {
        self.charge.is_none().then_some(ANSWER_FREE_BYTES)
    }

    /// The bytes, which release the room when their last clone is dropped.
    pub fn hold(self, bytes: Bytes) -> Bytes {
        hold(bytes, self)
    }
}

/// The bytes, keeping `kept` until their last clone is dropped.
fn hold<T: Send + 'static>(bytes: Bytes, kept: T) -> Bytes {
    Bytes::from_owner(Held { bytes, _kept: kept })
}

struct Held<T> {
    bytes: Bytes,
    _kept: T,
}

impl<T> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
