//! Settings of tables: documents that are kept as they are given. They go with their table, by whatever name.

use std::sync::Arc;

use liteio_kv::{Read as _, Write as _};

use super::beside::place_of;
use super::table::claim;
use super::{Table, TableKind, TableName};
use crate::error::StoreError;
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::meta::claim::Claim;
use crate::meta::space;
use crate::meta::table::TableRecord;
pub use crate::meta::{TableDocument, TableSettings, TableTags};
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::Store;

impl Store {
    /// The table with a name and its settings, from one snapshot; `None` if there is no such table.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn table_with_settings(
        &self,
        bucket: &Bucket,
        name: &TableName,
    ) -> Result<Option<(Table, TableSettings)>, StoreError> {
        let snapshot = self.snapshot()?;
        let place = TableKind::Table.place(bucket.id, name);
        let of_settings = place_of(bucket.id, name);
        snapshot.fetch([&space::bucket(bucket.name.as_str()), &place, &of_settings])?;
        bucket.require(&snapshot)?;
        let Some(record) = TableRecord::read(&snapshot, &place)? else { return Ok(None) };
        let settings = TableSettings::read(&snapshot, &of_settings)?;
        Ok(Some((Table::new(name, record), settings)))
    }

    /// Changes the settings of the table with a name and an id. `change_all` may run several times.
    ///
    /// Fails with [`CatalogError::NoSuchTable`](super::CatalogError::NoSuchTable), the errors of `change_all`, and with
    /// [`StoreError::InvalidRequest`] for more than [`DOCUMENT_BYTES_MAX`] bytes.
    pub fn change_table_settings<F>(
        &self,
        bucket: &Arc<Bucket>,
        (name, id): (TableName, [u8; 16]),
        change_all: F,
    ) -> Pending<()>
    where
        F: Fn(&mut TableSettings) -> Result<(), StoreError> + Send + 'static,
    {
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, _| {
            write.claim(Claim::Bucket(bucket.id))?;
            claim(write, bucket.id, &name)?;
            let place = TableKind::Table.place(bucket.id, &name);
            let of_settings = place_of(bucket.id, &name);
            write.fetch([&space::bucket(bucket.name.as_str()), &place, &of_settings])?;
            bucket.require(write)?;
            let record = TableRecord::read(write, &place)?.filter(|record| record.uuid == id);
            record.ok_or_else(|| TableKind::Table.missing(&name))?;
            let mut settings = TableSettings::read(write, &of_settings)?;
            change_all(&mut settings)?;
            if settings.bytes() > DOCUMENT_BYTES_MAX {
                let message =
                    format!("the documents of the table have more than {DOCUMENT_BYTES_MAX} bytes");
                return Err(StoreError::InvalidRequest { message });
            }
            settings.write(write, &of_settings)?;
            Ok(Committed::new(()))
        })
    }
}
