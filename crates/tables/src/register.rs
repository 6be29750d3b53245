//! Registration: a file of metadata that exists becomes a table or a view.

use liteio_access::{Action, Granted};
use liteio_iceberg::{Identifier, Register};
use liteio_store::StoreError;
use liteio_store::tables::{CatalogError, Expected, TableChange, TableKind};

use super::commit::named;
use super::error::ApiResult;
use super::metadata::{Metadata, new_uuid, read, uuid_of};
use super::warehouse::{key_of, object_of};
use super::{Call, once};

/// A table or view that was registered.
pub(crate) struct Registered<M> {
    pub(crate) granted: Granted,
    pub(crate) name: Identifier,
    pub(crate) location: String,
    pub(crate) metadata: M,
}

impl Call<'_> {
    /// Registers the table or view that the body names.
    pub(crate) fn register<M: Metadata>(&self, kind: TableKind) -> ApiResult<Registered<M>> {
        let request = self.read(Register::from_value)?;
        let name = self.named(&request.name)?;
        let granted = self.granted_named(&name)?;
        let (bucket, location) = (granted.bucket(), request.metadata_location);
        // The answer shows what is there.
        self.allows_object(&granted, Action::GetObject, &object_of(bucket, &location)?)?;
        let (metadata, _) = read::<M>(self.store, bucket, &location)?;
        key_of(bucket, metadata.location())?;
        let table = named(&name)?;
        let expected = match self.store.table(bucket, kind, &table) {
            Ok(found) if request.overwrites => {
                self.allows(&granted, &[Action::UpdateTableMetadataLocation], &name)?;
                Expected::Location(found.location)
            }
            // The commit refuses a name that is taken.
            Ok(_)
            | Err(StoreError::Catalog(
                CatalogError::NoSuchTable { .. } | CatalogError::NoSuchView { .. },
            )) => Expected::Missing,
            Err(error) => return Err(error.into()),
        };
        let writer = self.writer(|| once::of_metadata(&name, &location))?;
        let commit = |uuid| {
            let (table, expected) = (table.clone(), expected.clone());
            let change = TableChange::new(kind, table, expected, uuid, location.clone());
            writer.commit_tables(bucket, vec![change]).wait()
        };
        match commit(uuid_of(metadata.uuid())) {
            // A second name for the metadata is another table for its policies.
            Err(StoreError::Catalog(CatalogError::IdTaken { .. })) => commit(new_uuid()?)?,
            committed => committed?,
        };
        Ok(Registered { granted, name, location, metadata })
    }
}
