//! The operations of the test API, for its routes and for programs that embed a server.

use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use liteio_store::{BucketName, ShiftedClock, Store, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

use super::events::Tap;
use super::faults::FaultRule;
use super::guard::bad_request;
use super::slot::{Slot, Snapshot};
use super::{Contents, KEY_PREFIX, Making, NAME_BYTES_MAX, TestApi};
use liteio_space::MAIN;
use liteio_wire::origin::timestamp;
use liteio_wire::reply::{ApiError, Dialect, ErrorCode};

/// Limit of snapshots per space.
const SNAPSHOTS_MAX: usize = 100;
/// Limit of the days that a jump of the clock walks one by one: rules count in days up to a year, rarely more.
const WALKED_DAYS_MAX: usize = 400;
/// Limit of the versions that these walks look at, after which the jump goes to its end: about a second.
const WALKED_VERSIONS_MAX: u64 = 100_000;
/// The latest time that a clock can be set to, 9999-12-31.
const TIME_MS_MAX: i64 = 253_402_214_400_000;

/// The access data of a space, for its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestSpace {
    /// Its name.
    pub name: String,
    /// Access key of its root user; requests signed with it reach the space.
    pub access_key: String,
    /// Secret key of its root user.
    pub secret_key: String,
    /// Region of its buckets.
    pub region: String,
    /// URL of the server.
    pub endpoint: String,
}

/// The reason why an operation of the test API failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct TestError(String);

impl From<ApiError> for TestError {
    fn from(error: ApiError) -> TestError {
        TestError(error.message().to_owned())
    }
}

/// The test API of a server in this process: the same operations as over HTTP, on the main space.
#[derive(Clone)]
pub struct TestControl(pub(crate) Arc<TestApi>);

impl TestControl {
    /// The control of `tests`.
    pub fn new(tests: Arc<TestApi>) -> TestControl {
        TestControl(tests)
    }

    /// Resets the main space to its initial state.
    ///
    /// # Errors
    /// [`TestError`] if the disk of a data directory fails.
    pub async fn reset(&self) -> Result<(), TestError> {
        Ok(self.0.reset(None, None).await?)
    }

    /// Resets a bucket of the main space to its state at creation, with the configured contents.
    ///
    /// # Errors
    /// [`TestError`] if the bucket does not exist, or the disk of a data directory fails.
    pub async fn reset_bucket(&self, bucket: &str) -> Result<(), TestError> {
        Ok(self.0.reset(None, Some(bucket)).await?)
    }

    /// Takes a snapshot of the main space.
    ///
    /// # Errors
    /// [`TestError`] for a server with a data directory, and for an invalid name.
    pub async fn snapshot(&self, name: &str) -> Result<(), TestError> {
        Ok(self.0.take_snapshot(None, name).await.map(drop)?)
    }

    /// Restores a snapshot.
    ///
    /// # Errors
    /// [`TestError`] if it does not exist.
    pub async fn restore(&self, name: &str) -> Result<(), TestError> {
        Ok(self.0.restore(None, name).await?)
    }

    /// Creates a space; without a name, one is generated.
    ///
    /// # Errors
    /// [`TestError`] for a name that is invalid or taken.
    pub async fn create_space(&self, name: Option<String>) -> Result<TestSpace, TestError> {
        Ok(self.0.create_space(name).await?)
    }

    /// Deletes a space with its contents.
    ///
    /// # Errors
    /// [`TestError`] if it does not exist.
    pub fn delete_space(&self, name: &str) -> Result<(), TestError> {
        Ok(self.0.delete_space(name)?)
    }

    /// Adds a fault, and returns its ID.
    ///
    /// # Errors
    /// [`TestError`] for an invalid rule.
    pub fn add_fault(&self, rule: FaultRule) -> Result<String, TestError> {
        Ok(self.0.add_fault(rule)?)
    }

    /// Removes all faults of the main space.
    pub fn clear_faults(&self) {
        self.0.main.faults.clear();
    }

    /// Moves the clock by this many milliseconds, forwards or backwards; lifecycle rules run at
    /// once, day by day, restores that are due end, and inventories that are due are written.
    ///
    /// # Errors
    /// [`TestError`] if the time is out of range.
    pub async fn advance_ms(&self, milliseconds: i64) -> Result<(), TestError> {
        Ok(self.0.advance_ms(None, milliseconds).await?)
    }
}

impl Slot {
    /// The time in the response format.
    pub(super) fn told_time(&self) -> Value {
        let now = timestamp(self.space().app.store.now_ms());
        json!({ "now": format!("{now:.3}"), "offset_ms": self.clock.offset_ms() })
    }
}

impl TestApi {
    /// Resets a space to its initial state: without faults, clock shift, requests and events.
    pub(super) async fn reset(
        &self,
        space: Option<&str>,
        bucket: Option<&str>,
    ) -> Result<(), ApiError> {
        let slot = self.slot(space)?;
        let _alone = slot.replacing.lock().await;
        if let Some(bucket) = bucket {
            return self.reset_bucket(&slot, bucket).await;
        }
        let former = slot.space();
        // Prepared contents get the machine's time.
        slot.clock.set_offset_ms(0);
        match slot.is_in_memory {
            true => self.put_in_place(&slot, Contents::Prepared).await?,
            false => self.empty(&slot).await?,
        }
        former.close_record();
        slot.faults.clear();
        self.requests.forget(&slot.name);
        self.events.forget(&slot.name);
        Ok(())
    }

    /// Resets a bucket to its state at creation, with the configured contents.
    async fn reset_bucket(&self, slot: &Slot, bucket: &str) -> Result<(), ApiError> {
        let name = BucketName::new(bucket).map_err(|error| bad_request(error.to_string()))?;
        let app = Arc::clone(&slot.space().app);
        let documents = app.documents_of_new_bucket(app.object_ownership);
        let reset = app.blocking(move |store| store.reset_bucket(&name, documents)).await;
        reset.map_err(|error| match error {
            StoreError::NoSuchBucket { .. } => ApiError::with_status(
                Dialect::S3,
                "NoSuchBucket",
                StatusCode::NOT_FOUND,
                format!("There is no bucket {bucket:?} to reset: create it first."),
            ),
            error => internal(error.to_string()),
        })?;
        (self.prepare)(app, bucket.to_owned()).await.map_err(internal)
    }

    /// Empties the store of a space in a directory, and starts a space with fresh users on it.
    async fn empty(&self, slot: &Slot) -> Result<(), ApiError> {
        let former = slot.space();
        // Waits for a running change of users; later ones must not start with the old users.
        let changing = former.users.changing().await;
        let emptied = former.app.blocking(|store| store.reset()).await;
        emptied.map_err(|error: StoreError| internal(error.to_string()))?;
        let store = former.app.store.clone();
        self.put_in_place(slot, Contents::Emptied(store)).await?;
        former.users.retire(changing);
        Ok(())
    }

    /// Creates a space and puts it into a slot; the caller holds the slot's replacement lock.
    async fn put_in_place(&self, slot: &Slot, contents: Contents) -> Result<(), ApiError> {
        let tap = match &contents {
            // The store keeps the observer that it was opened with.
            Contents::Emptied(_) => slot.tap(),
            Contents::Prepared | Contents::Image(_) => Tap::new(&self.events, &slot.name),
        };
        let making = Making {
            name: slot.name.clone(),
            credentials: slot.credentials.clone(),
            clock: Arc::clone(&slot.clock),
            tap: Arc::clone(&tap),
            contents,
        };
        let space = (self.make)(making).await.map_err(internal)?;
        slot.replace(space, tap);
        Ok(())
    }

    /// Takes a snapshot; true if the name is new.
    pub(super) async fn take_snapshot(
        &self,
        space: Option<&str>,
        name: &str,
    ) -> Result<bool, ApiError> {
        check_name("snapshot", name)?;
        let slot = self.slot(space)?;
        in_memory(&slot)?;
        let image = slot.space().app.blocking(|store| store.image()).await;
        let image = Arc::new(image.map_err(|error: StoreError| internal(error.to_string()))?);
        let mut snapshots = slot.snapshots.lock();
        if snapshots.len() >= SNAPSHOTS_MAX && !snapshots.contains_key(name) {
            let message = format!("There are {SNAPSHOTS_MAX} snapshots: delete one first.");
            return Err(bad_request(message));
        }
        let snapshot = Snapshot { created: Timestamp::now(), image };
        Ok(snapshots.insert(name.to_owned(), snapshot).is_none())
    }

    pub(super) fn delete_snapshot(&self, space: Option<&str>, name: &str) -> Result<(), ApiError> {
        let removed = self.slot(space)?.snapshots.lock().remove(name);
        removed.map(drop).ok_or_else(|| no_snapshot(name))
    }

    pub(super) async fn restore(&self, space: Option<&str>, name: &str) -> Result<(), ApiError> {
        let slot = self.slot(space)?;
        in_memory(&slot)?;
        let snapshot = slot.snapshots.lock().get(name).cloned();
        let snapshot = snapshot.ok_or_else(|| no_snapshot(name))?;
        let _alone = slot.replacing.lock().await;
        self.put_in_place(&slot, Contents::Image(snapshot.image)).await
    }

    pub(super) async fn create_space(&self, name: Option<String>) -> Result<TestSpace, ApiError> {
        let name = match name {
            Some(name) => name,
            None => format!("space-{}", random_text(8)?.to_lowercase()),
        };
        check_name("space", &name)?;
        if name == MAIN {
            return Err(bad_request(
                "The name \"main\" belongs to the main space, which always exists.",
            ));
        }
        self.named.check_room(&name)?;
        let access_key = format!("{KEY_PREFIX}{}", random_text(14)?);
        let secret_key = random_text(40)?;
        let clock = Arc::new(ShiftedClock::new(Arc::new(liteio_store::SystemClock)));
        let tap = Tap::new(&self.events, &name);
        let credentials = Some((access_key.clone(), secret_key.clone()));
        let making = Making {
            name: name.clone(),
            credentials: credentials.clone(),
            clock: Arc::clone(&clock),
            tap: Arc::clone(&tap),
            contents: Contents::Prepared,
        };
        let space = (self.make)(making).await.map_err(internal)?;
        let slot = Arc::new(Slot::new(name.clone(), credentials, clock, true, space, tap));
        if let Err(error) = self.named.add(&name, Arc::clone(&slot)) {
            slot.end();
            return Err(error);
        }
        let (region, endpoint) = (self.region.clone(), self.endpoint.clone());
        Ok(TestSpace { name, access_key, secret_key, region, endpoint })
    }

    pub(super) fn delete_space(&self, name: &str) -> Result<(), ApiError> {
        let removed = self.named.remove(name);
        let slot = removed.ok_or_else(|| no_space(name))?;
        slot.end();
        self.requests.forget(name);
        self.events.forget(name);
        Ok(())
    }

    pub(super) fn add_fault(&self, rule: FaultRule) -> Result<String, ApiError> {
        rule.check_operation(&self.operations)?;
        self.slot(rule.space.as_deref())?.faults.add(rule)
    }

    /// Removes a fault; false if it does not exist.
    pub(super) fn remove_fault(&self, space: Option<&str>, id: &str) -> Result<bool, ApiError> {
        Ok(self.slot(space)?.faults.remove(id))
    }

    pub(super) async fn set_time(&self, space: Option<&str>, now: &str) -> Result<(), ApiError> {
        let now: Timestamp = now.parse().map_err(|_| match is_too_late(now) {
            true => no_such_time(),
            false => bad_request("\"now\" is a time as in RFC 3339, such as 2026-01-01T00:00:00Z."),
        })?;
        let slot = self.slot(space)?;
        let shown = timestamp(slot.space().app.store.now_ms()).as_millisecond();
        let offset = slot.clock.offset_ms() + (now.as_millisecond() - shown);
        self.shift(&slot, offset).await
    }

    pub(super) async fn advance_ms(&self, space: Option<&str>, ms: i64) -> Result<(), ApiError> {
        let slot = self.slot(space)?;
        let offset = slot.clock.offset_ms().checked_add(ms).ok_or_else(no_such_time)?;
        self.shift(&slot, offset).await
    }

    pub(super) async fn reset_time(&self, space: Option<&str>) -> Result<(), ApiError> {
        let slot = self.slot(space)?;
        self.shift(&slot, 0).await
    }

    /// Shifts the clock of a space, applies the lifecycle rules that are due on each day until then, ends restores, writes inventories, and
    /// maintains tables.
    async fn shift(&self, slot: &Slot, offset_ms: i64) -> Result<(), ApiError> {
        let shown = timestamp(slot.space().app.store.now_ms()).as_millisecond();
        let then = shown - slot.clock.offset_ms();
        let then = then.checked_add(offset_ms).ok_or_else(no_such_time)?;
        if !(0..=TIME_MS_MAX).contains(&then) {
            return Err(no_such_time());
        }
        let space = slot.space();
        let clock = Arc::clone(&slot.clock);
        let walked = space.app.blocking(move |store| -> Result<(), StoreError> {
            let days = walk_days(store, &clock, shown, then);
            clock.set_offset_ms(offset_ms);
            days?;
            // A running pass continues from its position with the new time; then a full pass
            // follows.
            if store.lifecycle_state()?.is_running {
                store.run_lifecycle()?;
            }
            store.run_lifecycle()?;
            store.run_restores()
        });
        walked.await.map_err(|error| internal(error.to_string()))?;
        space.reports.write_inventories().await;
        let maintained = space.maintenance.run_now().await;
        maintained.map_err(|error| internal(error.to_string()))?;
        Ok(())
    }
}

/// Walks the lifecycle once for each day before that of `then_ms`, as it would without a jump: a version that expires becomes noncurrent
/// on its own day, so that the rules for noncurrent versions count from there. The clock is left at the last of these days.
fn walk_days(
    store: &Store,
    clock: &ShiftedClock,
    now_ms: i64,
    then_ms: i64,
) -> Result<(), StoreError> {
    let day_ms = i64::try_from(store.lifecycle_day_ms()).unwrap_or(i64::MAX);
    let offset_ms = clock.offset_ms();
    let mut looked_at = 0;
    for day in (now_ms / day_ms + 1..then_ms / day_ms).take(WALKED_DAYS_MAX) {
        clock.set_offset_ms(offset_ms + (day * day_ms - now_ms));
        looked_at += store.run_lifecycle()?.looked_at;
        if looked_at > WALKED_VERSIONS_MAX {
            break;
        }
    }
    Ok(())
}

fn in_memory(slot: &Slot) -> Result<(), ApiError> {
    match slot.is_in_memory {
        true => Ok(()),
        false => Err(not_implemented(
            "Snapshots are for spaces in memory only: start the server with --memory, or make a space (POST \
             /_liteio/test/spaces).",
        )),
    }
}

fn check_name(what: &str, name: &str) -> Result<(), ApiError> {
    let is_valid = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-' | b'_'));
    if is_valid {
        return Ok(());
    }
    Err(bad_request(format!(
        "The name of a {what} has 1 to {NAME_BYTES_MAX} letters, digits, dots, hyphens and underscores."
    )))
}

fn no_snapshot(name: &str) -> ApiError {
    let message = format!("There is no snapshot {name:?}.");
    ApiError::with_status(Dialect::S3, "NoSuchSnapshot", StatusCode::NOT_FOUND, message)
}

pub(super) fn no_space(name: &str) -> ApiError {
    let message = format!("There is no space {name:?}.");
    ApiError::with_status(Dialect::S3, "NoSuchSpace", StatusCode::NOT_FOUND, message)
}

fn no_such_time() -> ApiError {
    bad_request("The clock shows times from 1970-01-01 to 9999-12-30.")
}

/// True for a time in RFC 3339 that is later than the latest [`Timestamp`], which is on the day before the last of the year 9999.
fn is_too_late(time: &str) -> bool {
    let date = time.trim_start_matches('+').split_once('-');
    date.is_some_and(|(year, rest)| {
        year.parse::<u32>().is_ok_and(|year| year >= 9999)
            && format!("2000-{rest}").parse::<Timestamp>().is_ok()
    })
}

fn not_implemented(message: &'static str) -> ApiError {
    ApiError::new(ErrorCode::NotImplemented, message)
}

fn internal(reason: String) -> ApiError {
    ApiError::with_status(Dialect::S3, "InternalError", StatusCode::INTERNAL_SERVER_ERROR, reason)
}

/// Random letters and digits.
fn random_text(length: usize) -> Result<String, ApiError> {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes).map_err(|error| internal(error.to_string()))?;
    Ok(bytes.into_iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}
