//! The catalog of a bucket: namespaces, and tables and views in them.
//!
//! A table is a name with the location of its current metadata, a file that never changes. A commit writes a new
//! file and moves the location from the old one to it, in one transaction for any number of tables:
//!
//! ```text
//! new metadata ──► staged ──┐
//!                           ├─► one transaction: objects, locations ──► acknowledged
//! expected locations ───────┘
//!                another commit was first: nothing is written, no file is left behind
//! ```
//!
//! The content of metadata, and whether a commit's requirements hold, is decided above: they are JSON of Apache
//! Iceberg. Here a commit only tells which location it was decided on.
//!
//! ```
//! use liteio_store::tables::{CatalogError, Expected, NamespaceName, TableChange, TableKind, TableName};
//! use liteio_store::{BucketName, NewBucket, Owner, Store, StoreConfig, StoreError};
//!
//! # fn main() -> Result<(), StoreError> {
//! let store = Store::open(StoreConfig::memory())?;
//! let name = BucketName::new("lake")?;
//! store.create_bucket(NewBucket::new(name.clone(), Owner::default(), "us-east-1".to_owned())).wait()?;
//! let bucket = store.bucket(&name)?;
//! let sales = NamespaceName::new(vec!["sales".to_owned()])?;
//! store.create_namespace(&bucket, sales.clone(), Default::default()).wait()?;
//!
//! let orders = TableName::new(sales, "orders".to_owned())?;
//! let change = |expected, location: &str| {
//!     TableChange::new(TableKind::Table, orders.clone(), expected, [7; 16], location.to_owned())
//! };
//! let first = "s3://lake/orders/metadata/0.json";
//! store.commit_tables(&bucket, vec![change(Expected::Missing, first)]).wait()?;
//!
//! // Of two commits on the same state one fails.
//! let stale = Expected::Location(first.to_owned());
//! store.commit_tables(&bucket, vec![change(stale.clone(), "s3://lake/orders/metadata/1.json")]).wait()?;
//! let lost = store.commit_tables(&bucket, vec![change(stale, "s3://lake/orders/metadata/2.json")]).wait();
//! assert!(matches!(lost, Err(StoreError::Catalog(CatalogError::Changed { .. }))));
//! # Ok(())
//! # }
//! ```

mod answers;
mod beside;
mod changes;
mod commit;
mod name;
mod namespace;
mod purge;
mod settings;
mod table;
mod unreferenced;
mod walk;

pub use crate::catalog_error::CatalogError;
pub use crate::keyed_answer::KeyedAnswer;
pub use changes::{CatalogChange, CatalogChanges};
pub use commit::{Expected, NewMetadata, TableChange};
pub use name::{NamespaceName, TableName};
pub use namespace::{Namespace, NamespacePage, PropertyChange};
pub(crate) use namespace::{has_catalog, remove_catalog};
pub use purge::{Purge, PurgePage};
pub use settings::{TableDocument, TableSettings, TableTags};
pub use table::{Table, TableDrop, TableKind, TablePage};
pub use unreferenced::{Sighting, Unreferenced};
pub use walk::{NamespaceWalk, TableWalk, WalkedNamespaces, WalkedTables};

#[cfg(any(test, feature = "test-util"))]
impl crate::Store {
    /// Damages the record of a table, for tests of what goes on without it.
    pub fn damage_table(
        &self,
        bucket: &std::sync::Arc<crate::Bucket>,
        name: &TableName,
    ) -> crate::Pending<()> {
        let place = TableKind::Table.place(bucket.id, name);
        self.update(move |write, _| {
            liteio_kv::Write::put(write, &place, b"\x01damaged")?;
            Ok(crate::pending::Committed::new(()))
        })
    }
}

/// Selection of the names of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameRange {
    /// Names after this one, exclusive.
    pub after: Option<String>,
    /// Limit of names on the page, from 1 to [`LIST_TABLES_MAX`](crate::limits::LIST_TABLES_MAX).
    pub max: usize,
}
