//! Object events in all buckets, as reported by the stores after each commit. Kept in memory only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use liteio_store::{Event, EventObserver};
use serde::Serialize;

use super::glob::Glob;
use super::history::{Happened, History};
use liteio_wire::origin::timestamp;

/// The latest events.
pub type Events = History<Told>;

/// An event.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    pub(super) name: String,
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) version_id: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) etag: Option<String>,
    pub(super) time: String,
    #[serde(skip)]
    pub(super) space: String,
}

impl Happened for Told {
    fn space(&self) -> &str {
        &self.space
    }

    fn bytes(&self) -> usize {
        self.key.len() + 512
    }
}

impl Told {
    fn of(event: &Event, space: &str) -> Told {
        let time: Timestamp = timestamp(event.time_ms);
        Told {
            name: format!("s3:{}", event.kind.name()),
            bucket: event.bucket.clone(),
            key: event.key.clone(),
            version_id: event.version.clone(),
            size: event.bytes,
            etag: event.etag.as_ref().map(ToString::to_string),
            time: format!("{time:.3}"),
            space: space.to_owned(),
        }
    }
}

/// The event observer of a space's store, until the space is replaced or deleted.
#[derive(Debug)]
pub struct Tap {
    events: Arc<Events>,
    space: String,
    is_closed: AtomicBool,
}

impl Tap {
    /// Creates the observer of `space`, which adds its events to `events`.
    pub fn new(events: &Arc<Events>, space: &str) -> Arc<Tap> {
        let (events, space) = (Arc::clone(events), space.to_owned());
        Arc::new(Tap { events, space, is_closed: AtomicBool::new(false) })
    }

    /// Drops further events: requests in flight finish in a space that no longer exists.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

impl EventObserver for Tap {
    fn told(&self, event: &Arc<Event>) {
        self.events.add(Told::of(event, &self.space), &self.is_closed);
    }
}

/// A filter of events.
#[derive(Debug, Default)]
pub(super) struct EventFilter {
    pub(super) bucket: Option<Glob>,
    pub(super) key: Option<Glob>,
    pub(super) name: Option<Glob>,
    pub(super) space: String,
}

impl EventFilter {
    pub(super) fn accepts(&self, event: &Told) -> bool {
        let fits =
            |glob: &Option<Glob>, text: &str| glob.as_ref().is_none_or(|glob| glob.matches(text));
        event.space == self.space
            && fits(&self.bucket, &event.bucket)
            && fits(&self.key, &event.key)
            && fits(&self.name, &event.name)
    }
}
