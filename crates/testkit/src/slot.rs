//! [`Slot`]: holds a space, and the state that survives when the space is replaced.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Method, Request, Response};
use jiff::Timestamp;
use liteio_store::{ShiftedClock, StoreImage};
use parking_lot::{Mutex, RwLock};
use tokio::time::sleep;

use super::bodies::{Slow, TestBody, cut};
use super::events::Tap;
use super::faults::{Asked, Faults};
use super::operation::{bucket_and_key, dialect, operation, vector_names};
use liteio_space::Space;
use liteio_wire::front::Allowance;
use liteio_wire::origin::Origin;
use liteio_wire::reply::{Reply, ReplyBody};

/// A replaceable space, and the state around it.
pub(super) struct Slot {
    pub(super) name: String,
    /// The root user's credentials, of a space created by the test API.
    pub(super) credentials: Option<(String, String)>,
    pub(super) clock: Arc<ShiftedClock>,
    pub(super) is_in_memory: bool,
    pub(super) faults: Faults,
    pub(super) snapshots: Mutex<BTreeMap<String, Snapshot>>,
    /// Serializes replacements.
    pub(super) replacing: tokio::sync::Mutex<()>,
    current: RwLock<Current>,
}

struct Current {
    space: Arc<Space>,
    tap: Arc<Tap>,
}

/// A snapshot of a space.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) created: Timestamp,
    pub(super) image: Arc<StoreImage>,
}

impl Slot {
    pub(super) fn new(
        name: String,
        credentials: Option<(String, String)>,
        clock: Arc<ShiftedClock>,
        is_in_memory: bool,
        space: Space,
        tap: Arc<Tap>,
    ) -> Slot {
        let space = Arc::new(space);
        Slot {
            name,
            credentials,
            clock,
            is_in_memory,
            faults: Faults::default(),
            snapshots: Mutex::default(),
            replacing: tokio::sync::Mutex::default(),
            current: RwLock::new(Current { space, tap }),
        }
    }

    /// The current space.
    pub(super) fn space(&self) -> Arc<Space> {
        Arc::clone(&self.current.read().space)
    }

    /// Replaces the space. Requests in flight finish in the old one, whose store is closed with the
    /// last of them.
    pub(super) fn replace(&self, space: Space, tap: Arc<Tap>) {
        let current = Current { space: Arc::new(space), tap };
        let former = std::mem::replace(&mut *self.current.write(), current);
        former.space.senders.stop();
        former.space.replicators.stop();
        former.space.tiering.stop();
        former.space.app.listeners.end();
        if !Arc::ptr_eq(&former.tap, &self.tap()) {
            former.tap.close();
        }
    }

    /// The event observer of the current store.
    pub(super) fn tap(&self) -> Arc<Tap> {
        Arc::clone(&self.current.read().tap)
    }

    /// Stops the background work of the space, and what slows its bodies down.
    pub(super) fn end(&self) {
        self.faults.clear();
        let current = self.current.read();
        current.tap.close();
        current.space.close_record();
        current.space.senders.stop();
        current.space.replicators.stop();
        current.space.tiering.stop();
        current.space.app.listeners.end();
    }

    /// Answers a service request, with the faults that apply to it.
    pub(super) async fn call(
        &self,
        mut request: Request<TestBody>,
        origin: &Arc<Origin>,
        allowance: &Allowance,
    ) -> Reply {
        let space = self.space();
        // A preflight request is not an operation, so no rule can match it.
        if *request.method() == Method::OPTIONS {
            return space.call(request, origin, allowance).await;
        }
        let name = operation(&mut request, origin).await?;
        if self.faults.is_empty() {
            let reply = space.call(request, origin, allowance).await;
            note_refused(&space, origin, name.as_deref(), &reply);
            return reply;
        }
        let vectors = vector_names(&mut request).await?;
        if let Some((bucket, index)) = &vectors {
            origin.found.note_vectors(bucket, index.as_deref());
        }
        let (bucket, key) = bucket_and_key(origin);
        let effects = self.faults.of(&Asked { operation: name.as_deref(), bucket, key });
        if !effects.latency.is_zero() {
            // So that a request is recorded whose client leaves meanwhile.
            space.note(origin, name.as_deref());
            sleep(effects.latency).await;
        }
        let (head, body) = request.into_parts();
        let reply = match effects.error(dialect(&head)) {
            Some(error) => {
                // Recorded, so that the request appears in the request log.
                space.note(origin, name.as_deref());
                space.refuse(Request::from_parts(head, body), origin, allowance, error).await
            }
            None if !effects.rates.is_empty() => {
                let body = Slow::new(body, effects.rates.clone());
                let request = Request::from_parts(head, body);
                space.call(request, origin, allowance).await
            }
            None => space.call(Request::from_parts(head, body), origin, allowance).await,
        };
        note_refused(&space, origin, name.as_deref(), &reply);
        let reply = match reply {
            Ok(response) if !effects.rates.is_empty() => {
                let rates = effects.rates.clone();
                Ok(response.map(|body| ReplyBody::stream(Slow::new(body, rates))))
            }
            reply => reply,
        };
        match (reply, effects.cut_after_bytes) {
            (Ok(response), Some(after)) => Ok(cut(response, after)),
            // The error document is written by an outer layer, so it cannot be cut: nothing is
            // sent.
            (Err(error), Some(_)) => {
                let mut response = Response::new(ReplyBody::empty());
                *response.status_mut() = error.status();
                Ok(cut(response, 0))
            }
            (reply, None) => reply,
        }
    }
}

/// Notes the operation of a request that was refused before its service did: one with an expired URL or a wrong signature. Without it, a
/// wait for the refused operation would reach its time limit.
fn note_refused(space: &Space, origin: &Origin, operation: Option<&str>, reply: &Reply) {
    if reply.is_err() {
        space.note(origin, operation);
    }
}
