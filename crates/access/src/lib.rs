//! Access control: the decision about a request, and the value that proves it.
//!
//! A request is a [`Principal`] that asks for an [`Action`] on a resource, in a context. The decision (module
//! `decision`) is a pure function of the request and the documents of the resource, in AWS's order, and denies by
//! default.
//!
//! ```text
//! name, Principal, Question ──► bucket / VectorBuckets: resolve once ──► documents of the bucket
//!                                                                           │ decision
//!                               Granted (id, principal, seen object) ◄──────┴──────► Refusal
//! ```
//!
//! [`bucket`] and [`VectorBuckets`] resolve a name once per request, and decide. Only they make a [`Granted`] (a
//! capability). The methods of the store take the bucket in it, not a name. A handler without a `Granted` cannot
//! call them, and a new bucket with the same name is never used by mistake (time of check to time of use). A
//! decision that depends on an object says so: [`Granted::holds_for`] tells a reader whether the decision is about
//! the object that it got.
//!
//! | Module | Content |
//! |---|---|
//! | `action`, `principal`, `resource` | Actions by their names in policies; the sender; facts about the resource for conditions |
//! | [`circumstances`] | The peer, the time and headers for conditions, for every service |
//! | `decision` | The order of evaluation, and the reason of a refusal |
//! | `documents` | The documents of a bucket that matter for access, parsed once per change |
//! | `delivery` | The permission of the server to deliver access logs and inventories |
//! | `granted`, `vectors`, `tables` | Resolution and permission for buckets, vector buckets and indexes, catalogs of buckets |
//! | [`listeners`] | Requests without an end, which listen to events |
//! | [`minio_event`] | Events as MinIO tells them, for its stream and for targets |
//! | `logged` | The receiver of requests on buckets with access logs |
//! | [`state`] | `App`: what all handlers of a server share, and the ways to read (`look`, `blocking`, `read_piece`) |
//! | [`remote`] | The targets of replication, with what happened at each |
//! | [`tiers`] | The tiers that bodies move to, with what happened at each |
//! | [`offload`] | The only way to blocking threads, bounded |
//!
//! The crate must not know s3s, the operations of services or sockets. Decisions know neither HTTP nor the state of
//! a server. No other crate resolves a name for a request.
//!
//! ```
//! use liteio_access::{Action, Principal, Question, Refusal};
//! use liteio_policy::{Context, ContextKey, Value};
//! use liteio_store::{BucketName, NewBucket, Owner, Store, StoreConfig, StoreError};
//!
//! struct NoFacts;
//! impl Context for NoFacts {
//!     fn value(&self, _: &ContextKey) -> Value<'_> {
//!         Value::None
//!     }
//! }
//!
//! # fn main() -> Result<(), StoreError> {
//! let store = Store::open(StoreConfig::memory())?;
//! let name = BucketName::new("photos")?;
//! store.create_bucket(NewBucket::new(name, Owner::default(), "us-east-1".to_owned())).wait()?;
//!
//! let actions = [Action::GetObject];
//! let question = Question { key: Some("cat.jpg"), ..Question::about_bucket(&actions, &NoFacts) };
//! let ask = |bucket: &str| liteio_access::bucket(&store, &Principal::Anonymous, bucket, &question);
//!
//! // No document grants anything to anonymous senders.
//! assert!(matches!(ask("photos"), Err(Refusal::Denied(_))));
//! // An unknown name is an error of the store.
//! assert!(matches!(ask("music"), Err(Refusal::Store(StoreError::NoSuchBucket { .. }))));
//! store.close();
//! # Ok(())
//! # }
//! ```

mod action;
pub mod circumstances;
mod decision;
mod delivery;
mod documents;
mod granted;
pub mod listeners;
mod logged;
pub mod minio_event;
pub mod offload;
mod principal;
pub mod remote;
mod resource;
pub mod state;
mod tables;
pub mod tiers;
mod vectors;

pub use self::action::Action;
pub use self::decision::Rules;
pub use self::delivery::{Delivery, DeliveryService, delivery};
pub use self::documents::{object_ownership, policy_of, public_access_block};
pub use self::granted::{
    Granted, GrantedAccount, Question, Refusal, account, bucket, bucket_for_rules, bucket_list,
};
pub use self::logged::{AccessLog, LoggedKind, LoggedRequest};
pub use self::principal::Principal;
pub use self::tables::{TableBuckets, TableQuestion};
pub use self::vectors::{Named, VectorBuckets, VectorQuestion};
