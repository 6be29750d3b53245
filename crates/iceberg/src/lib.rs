//! The metadata of Apache Iceberg's tables and views, and the values of its REST catalog. Pure.
//!
//! A catalog reads a metadata file, checks the requirements of a commit, applies its updates and writes the next file. This
//! crate is the middle: documents in, documents out. Ids, locations and the time are arguments.
//!
//! Sources: "Iceberg Table Spec", "Iceberg View Spec" and `rest-catalog-open-api.yaml` of Apache Iceberg 1.10. Where these are
//! silent, the behaviour is the reference implementation's.
//!
//! ```text
//! body ──► json ──► CommitTable { requirements, updates }
//!                        │ check          │ apply
//! file ──► json ──► TableMetadata ──────► TableMetadata ──► next file
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | `names`, `request` | Namespaces and identifiers; bodies of requests |
//! | `update`, `requirement` | Updates and requirements of commits |
//! | `table` | Metadata of a table: checks, creation, updates |
//! | `view` | Metadata of a view: checks, creation, updates |
//! | `document` | The checked document of both, and how its fields are read |
//! | `schema`, `partition`, `sort`, `transform`, `snapshot`, `files` | Parts of metadata |
//! | [`maintenance`], `avro` | Snapshots to expire, manifests, files that nothing names |
//! | [`json`], `error`, `limits` | JSON that loses nothing; refusals; limits |
//! | `fuzzing` | Checks for fuzz targets (feature `fuzzing`) |
//!
//! The crate must not know any other crate of the workspace, HTTP, the store, randomness or the clock.
//!
//! ```
//! use liteio_iceberg::{CommitTable, CreateTable, Invalid, TableMetadata};
//!
//! let request = liteio_iceberg::json::parse(br#"{"name": "events", "schema": {"type": "struct",
//!     "fields": [{"id": 1, "name": "at", "required": true, "type": "timestamptz"}]}}"#)?;
//! let uuid = "9c12d441-03fe-4693-9a96-a0705ddf69c1";
//! let location = "s3://warehouse/events";
//! let first = TableMetadata::create(&CreateTable::from_value(&request)?, uuid, location, 1_000)?;
//!
//! // A commit: what must still hold, and what changes.
//! let commit = liteio_iceberg::json::parse(br#"{
//!     "requirements": [{"type": "assert-current-schema-id", "current-schema-id": 0}],
//!     "updates": [{"action": "set-properties", "updates": {"owner": "ada"}}]}"#)?;
//! let commit = CommitTable::from_value(&commit)?;
//! for requirement in &commit.requirements {
//!     TableMetadata::check(Some(&first), requirement).expect("nobody came first");
//! }
//! let file = "s3://warehouse/events/metadata/00000.metadata.json";
//! let second = first.apply(&commit.updates, 2_000, Some(file))?;
//! assert_eq!(second.property("owner"), Some("ada"));
//! assert_eq!(second.metadata_log().collect::<Vec<_>>(), [(1_000, file)]);
//! assert_eq!(TableMetadata::parse(&second.to_bytes())?, second);
//! # Ok::<(), Invalid>(())
//! ```

mod avro;
mod document;
mod error;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod json;
mod limits;
pub mod maintenance;
mod names;
mod partition;
mod request;
mod requirement;
mod schema;
mod snapshot;
mod sort;
mod table;
#[cfg(test)]
mod tests;
mod transform;
mod update;
mod view;

pub use self::error::{Failed, Invalid};
pub use self::limits::{NAME_BYTES_MAX, NAMESPACE_BYTES_MAX, NAMESPACE_LEVELS_MAX};
pub use self::names::{Identifier, LEVEL_SEPARATOR, Namespace, check_name};
pub use self::request::{
    CommitTable, CommitTransaction, CommitView, CreateNamespace, CreateTable, CreateView, Register,
    Rename, UpdateNamespaceProperties,
};
pub use self::requirement::{Requirement, ViewRequirement};
pub use self::snapshot::{MAIN_BRANCH, ReferenceKind, Snapshot, SnapshotReference};
pub use self::table::TableMetadata;
pub use self::update::{Update, ViewUpdate};
pub use self::view::ViewMetadata;
