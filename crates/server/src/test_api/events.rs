//! The events of objects in all buckets, as the store tells them to a target of its own.

use std::sync::Arc;

use jiff::Timestamp;
use liteio_store::{Event, QueuedEvent, Store, StoreError};
use serde::Serialize;
use tokio::task::JoinHandle;

use super::EVENTS_TARGET;
use super::glob::Glob;
use super::history::{Happened, History};
use crate::origin::timestamp;
use crate::state::App;

/// Events that are read at once.
const PAGE: usize = 256;

/// The last events.
pub(super) type Events = History<Told>;

/// An event.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Told {
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
}

impl Told {
    fn of(event: Event, space: &str) -> Told {
        let time: Timestamp = timestamp(event.time_ms);
        Told {
            name: format!("s3:{}", event.kind.name()),
            bucket: event.bucket,
            key: event.key,
            version_id: event.version,
            size: event.bytes,
            etag: event.etag.map(|etag| etag.to_string()),
            time: format!("{time:.3}"),
            space: space.to_owned(),
        }
    }
}

/// The task that reads the events of one store. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Tap(JoinHandle<()>);

impl Tap {
    /// Begins to read the events of the store of a space.
    pub(super) fn open(events: &Arc<Events>, app: &Arc<App>, space: &str) -> Tap {
        let (events, app, space) = (Arc::clone(events), Arc::clone(app), space.to_owned());
        Tap(tokio::spawn(async move {
            if let Err(error) = read(&events, &app, &space).await
                && !matches!(error, StoreError::Closed)
            {
                tracing::error!(%error, "the events of a space cannot be read");
            }
        }))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn read(events: &Events, app: &Arc<App>, space: &str) -> Result<(), StoreError> {
    loop {
        let seen = app.store.events_queued(EVENTS_TARGET);
        let page = app.blocking(|store: &Store| store.queued_events(EVENTS_TARGET, None, PAGE));
        let page = page.await?;
        if page.is_empty() {
            app.store.wait_for_events(EVENTS_TARGET, seen).await;
            continue;
        }
        let numbers = page.iter().map(|event| event.number).collect();
        for QueuedEvent { event, .. } in page {
            // A damaged one is found by `liteio verify`.
            if let Ok(event) = event {
                events.add(Told::of(event, space));
            }
        }
        app.store.forget_events(EVENTS_TARGET, numbers).await?;
    }
}

/// The events that somebody waits for.
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
