//! The state shared by the handlers of one server, and their paths to reads. It depends on no
//! handler.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use liteio_store::{Bucket, DocumentKind, ObjectReader, Store, StoreError};

use tokio::sync::Notify;

use crate::decision::Rules;
use crate::listeners::Listeners;
use crate::logged::AccessLog;
use crate::offload::{Offload, OffloadError};
use crate::remote::{RemoteTarget, RemoteTargets};
use crate::tiers::{Tier, Tiers};
use liteio_identity::{Account, CurrentDirectory, id_of_canonical_id};
use liteio_policy::acl::{Ownership, PublicAccessBlock, encode};
use liteio_wire::cors::Cors;

/// The shared state of one server.
#[derive(Debug)]
pub struct App {
    /// Buckets, objects and vectors. On a connection's thread, handlers use it for writes only: a
    /// write does not block, because its result is a future of the group commit. Reads go through
    /// the methods below.
    pub store: Store,
    /// The region of the server, and of its buckets unless others were asked for.
    pub region: String,
    /// `true` if buckets may be created in any region.
    pub takes_any_region: bool,
    /// The targets of events.
    pub event_targets: Vec<EventTarget>,
    /// The targets of replication.
    pub remote_targets: RemoteTargets,
    /// The tiers that bodies move to.
    pub tiers: Arc<Tiers>,
    /// `true` if Signature Version 2 is accepted in the Authorization header.
    pub takes_version_2: bool,
    /// `true` if client keys (SSE-C) are accepted over unencrypted connections.
    pub allows_keys_in_plain: bool,
    /// `true` in the place of a MinIO server: archives are extracted (`X-Amz-Meta-Snowball-Auto-Extract`) and names
    /// force-deleted (`x-minio-force-delete`), and notifications may overlap, which is refused otherwise; statuses and the actions that
    /// requests need are MinIO's.
    pub acts_as_minio: bool,
    /// `true` if an ACL beside a new object or bucket is ignored, not refused, where the object ownership disables ACLs. It opens
    /// nothing: no ACL is stored.
    pub ignores_disabled_acls: bool,
    /// The object ownership of new buckets that name none.
    pub object_ownership: Ownership,
    /// `true` if new buckets have a public access block, as on AWS.
    pub blocks_public_access: bool,
    /// `true` if objects are encrypted with the master key (SSE-S3) in buckets without a default
    /// encryption of their own, as on AWS.
    pub encrypts_by_default: bool,
    /// The CORS rules of requests to buckets without their own, and to no bucket.
    pub cors: Option<Arc<Cors>>,
    /// `true` if metrics are public.
    pub metrics_are_public: bool,
    /// The current users and accounts.
    pub directory: Arc<CurrentDirectory>,
    /// The receiver of requests on buckets with access logs; none where nobody delivers them.
    access_log: OnceLock<Arc<dyn AccessLog>>,
    /// Notified when an inventory configuration was put.
    pub inventory_changed: Notify,
    /// Requests that listen to events.
    pub listeners: Listeners,
    offload: Offload,
}

/// The settings in the shared state: the fields of [`App`] of the same names.
#[derive(Debug, Default)]
pub struct Settings {
    /// See [`App::region`].
    pub region: String,
    /// See [`App::takes_any_region`].
    pub takes_any_region: bool,
    /// See [`App::event_targets`].
    pub event_targets: Vec<EventTarget>,
    /// See [`App::remote_targets`].
    pub remote_targets: Vec<RemoteTarget>,
    /// See [`App::tiers`].
    pub tiers: Vec<Tier>,
    /// See [`App::takes_version_2`].
    pub takes_version_2: bool,
    /// See [`App::allows_keys_in_plain`].
    pub allows_keys_in_plain: bool,
    /// See [`App::acts_as_minio`].
    pub acts_as_minio: bool,
    /// See [`App::ignores_disabled_acls`].
    pub ignores_disabled_acls: bool,
    /// See [`App::object_ownership`].
    pub object_ownership: Ownership,
    /// See [`App::blocks_public_access`].
    pub blocks_public_access: bool,
    /// See [`App::encrypts_by_default`].
    pub encrypts_by_default: bool,
    /// See [`App::cors`].
    pub cors: Option<Arc<Cors>>,
    /// See [`App::metrics_are_public`].
    pub metrics_are_public: bool,
}

/// A target of events, as bucket notifications name it.
#[derive(Clone, Debug)]
pub struct EventTarget {
    /// The name that ARNs in notifications end with.
    pub name: String,
    /// The kind, as the last component of MinIO's ARNs names it: `webhook`, `sqs`, `redis`, `nats`.
    pub kind: &'static str,
    /// The names of the users who may use it; empty for all.
    pub users: Vec<String>,
    /// Scheme, host and port of its URL.
    pub origin: String,
}

impl EventTarget {
    /// `true` if the user with this name may use it.
    pub fn is_open_to(&self, user: &str) -> bool {
        self.users.is_empty() || self.users.iter().any(|name| name == user)
    }
}

/// A piece of an object, nothing at its end, with the reader of those that follow.
pub type Piece = (ObjectReader, Option<Bytes>);

/// The future of [`App::read_piece`].
pub type ReadingPiece = Pin<Box<dyn Future<Output = Result<Piece, StoreError>> + Send>>;

impl App {
    /// The state of a server over an open store.
    pub fn new(
        store: Store,
        settings: Settings,
        directory: Arc<CurrentDirectory>,
        offload: Offload,
    ) -> App {
        let Settings {
            region,
            takes_any_region,
            event_targets,
            remote_targets,
            tiers,
            takes_version_2,
            allows_keys_in_plain,
            acts_as_minio,
            ignores_disabled_acls,
            object_ownership,
            blocks_public_access,
            encrypts_by_default,
            cors,
            metrics_are_public,
        } = settings;
        App {
            store,
            region,
            takes_any_region,
            event_targets,
            remote_targets: RemoteTargets::new(remote_targets),
            tiers: Arc::new(Tiers::new(tiers)),
            takes_version_2,
            allows_keys_in_plain,
            acts_as_minio,
            ignores_disabled_acls,
            object_ownership,
            blocks_public_access,
            encrypts_by_default,
            cors,
            metrics_are_public,
            directory,
            access_log: OnceLock::new(),
            inventory_changed: Notify::new(),
            listeners: Listeners::default(),
            offload,
        }
    }

    /// The rules of decisions about requests.
    pub fn rules(&self) -> Rules {
        if self.acts_as_minio { Rules::Minio } else { Rules::Aws }
    }

    /// Sends requests on buckets with access logs to `log` from now on. The first counts.
    pub fn log_requests_to(&self, log: Arc<dyn AccessLog>) {
        self.access_log.get_or_init(|| log);
    }

    /// The receiver of a request on `bucket`, if that has server access logging.
    pub fn access_log_of(&self, bucket: &Bucket) -> Option<&dyn AccessLog> {
        bucket.settings.document(DocumentKind::Logging)?;
        self.access_log.get().map(|log| &**log)
    }

    /// The documents of a new bucket with this object ownership.
    pub fn documents_of_new_bucket(&self, ownership: Ownership) -> Vec<(DocumentKind, Vec<u8>)> {
        let block = self.blocks_public_access.then(|| encode(&PublicAccessBlock::ALL));
        let documents = [
            (DocumentKind::OwnershipControls, ownership.document()),
            (DocumentKind::PublicAccessBlock, block),
        ];
        documents.into_iter().filter_map(|(kind, document)| Some((kind, document?))).collect()
    }

    /// The time by the clock of the store, in seconds since 1970.
    pub fn now_unix_seconds(&self) -> i64 {
        i64::try_from(self.store.now_ms() / 1000).unwrap_or(i64::MAX)
    }

    /// The current account with this canonical id.
    pub fn account(&self, canonical_id: &str) -> Option<Arc<Account>> {
        self.directory.now().account_of_canonical_id(canonical_id).map(Arc::clone)
    }

    /// The 12 digits of the account with this canonical id. A deleted account has the digits
    /// derived from its canonical id.
    pub fn account_id(&self, canonical_id: &str) -> String {
        let account = self.account(canonical_id);
        account.map_or_else(|| id_of_canonical_id(canonical_id), |account| account.id.clone())
    }

    /// Looks up one or a few records, on this thread. The key space reads from its cache in
    /// microseconds, and a miss costs the read of one page: both are faster than a hop to another
    /// thread and back. A key space elsewhere leaves the other tasks of the thread to others while it
    /// waits. The future is ready when it is first polled.
    #[expect(clippy::unused_async, reason = "callers await whatever reads")]
    pub async fn look<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.store)
    }

    /// Asks for what the store has in memory and what no record says: its clock, its settings, its
    /// keys, its standing.
    pub fn ask<T>(&self, ask: impl FnOnce(&Store) -> T) -> T {
        ask(&self.store)
    }

    /// Runs work that may wait for the disk on a blocking thread: walking many records, reading,
    /// copying or writing files.
    ///
    /// # Errors
    /// Errors of the work. [`StoreError::Internal`] if it panicked, [`StoreError::Closed`] if the
    /// server stopped before it began.
    pub async fn blocking<T, E>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let store = self.store.clone();
        self.offload.run(move || work(&store)).await.map_err(StoreError::from)?
    }

    /// Reads the next piece of an object like [`App::blocking`], once [`ObjectReader::try_next`] has
    /// found none in memory. Any task can run the future. Boxed, because it is larger than the rest
    /// of what a request needs, and few of them read from a disk.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`].
    pub fn read_piece(self: &Arc<App>, mut reader: ObjectReader) -> ReadingPiece {
        let app = Arc::clone(self);
        Box::pin(
            async move { app.blocking(move |_| reader.next().map(|piece| (reader, piece))).await },
        )
    }

    /// The blocking threads, for lanes, which outlive the call that starts them.
    pub fn offload(&self) -> Offload {
        self.offload.clone()
    }
}

/// Reports a job that did not complete as an error of the store.
impl From<OffloadError> for StoreError {
    fn from(error: OffloadError) -> StoreError {
        match error {
            OffloadError::Panicked => StoreError::Internal { what: error.to_string() },
            OffloadError::Stopping => StoreError::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use std::thread;

    use liteio_store::{BucketName, StoreConfig};

    use super::*;

    /// Outside of a runtime, so that a task or a thread of one could not be started.
    #[test]
    fn a_look_is_done_on_this_thread_when_it_is_first_polled() {
        let store = Store::open(StoreConfig::memory()).expect("memory");
        let app = App::new(store, Settings::default(), Arc::default(), Offload::default());
        let name = BucketName::new("missing").expect("a name");
        let look = app.look(|store| (store.bucket(&name).is_err(), thread::current().id()));
        // The app, what is looked for, and the state: nothing is copied or boxed.
        assert!(size_of_val(&look) <= 6 * size_of::<usize>(), "{}", size_of_val(&look));
        let mut context = Context::from_waker(Waker::noop());
        let looked = pin!(look).poll(&mut context);
        assert_eq!(looked, Poll::Ready((true, thread::current().id())));
    }
}
