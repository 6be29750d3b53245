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
//! | `schema`, `partition`, `sort`, `transform`, `snapshot`, `files` | Parts of metadata |
//! | [`maintenance`], `avro` | Snapshots to expire, manifests, files that nothing names |
//! | `json`, `error`, `limits` | JSON that loses nothing; refusals; limits |
//!
//! The crate must not know any other crate of the workspace, HTTP, the store, randomness or the clock.

mod avro;
mod error;
mod files;
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
