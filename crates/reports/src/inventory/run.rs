//! [`Run`]: the writing of one inventory, a page of the listing at a time.
//!
//! ```text
//! step: a page of rows ──► file … full: next file ──► last page ──► symlink.txt, manifest.json, manifest.checksum
//! ```
//! A step runs on a blocking thread. Between two steps the run holds no snapshot and no thread: only the position, the
//! open body and the rows of an open row group.

use std::sync::Arc;

use liteio_access::DeliveryService;
use liteio_access::state::App;
use liteio_s3::bucket_inventory::{Format, Inventory, InventoryEncryption};
use liteio_store::{
    Bucket, Encryption, GetOptions, ListEntry, ListQuery, ListStart, ListVersionsQuery,
    ListedObject, ObjectKey, Store, StoreError, VersionEntry,
};

use super::column::{Column, Row, need_object};
use super::file::DataWriter;
use super::manifest::{self, DataFile, Names};
use crate::deliver::{DeliveryError, Parcel, Target};
use crate::limits::INVENTORY_PAGE_ROWS;

/// The writing of one inventory.
pub(super) struct Run {
    app: Arc<App>,
    source: Arc<Bucket>,
    inventory: Inventory,
    names: Names,
    started_ms: u64,
    columns: Vec<Column>,
    position: Position,
    file: Option<DataWriter>,
    files: Vec<DataFile>,
    /// Rows written so far.
    pub(super) rows: u64,
}

/// The position in the listing.
enum Position {
    Objects(ListStart),
    Versions(ListVersionsQuery),
}

impl Run {
    /// Begins an inventory that started at `started_ms`.
    pub(super) fn new(
        app: &Arc<App>,
        source: &Arc<Bucket>,
        inventory: Inventory,
        started_ms: u64,
    ) -> Run {
        let names = Names::new(&inventory, source.name.as_str(), source.created_ms, started_ms);
        let columns = Column::chosen(inventory.has_versions, &inventory.fields);
        let position = match inventory.has_versions {
            false => Position::Objects(ListStart::Beginning),
            true => Position::Versions(ListVersionsQuery {
                prefix: inventory.prefix.clone(),
                max: INVENTORY_PAGE_ROWS,
                ..ListVersionsQuery::default()
            }),
        };
        Run {
            app: Arc::clone(app),
            source: Arc::clone(source),
            inventory,
            names,
            started_ms,
            columns,
            position,
            file: None,
            files: Vec::new(),
            rows: 0,
        }
    }

    /// `true` if an earlier run with the same start has completed this inventory.
    pub(super) fn is_complete(&self, store: &Store) -> Result<bool, DeliveryError> {
        let key = self.names.checksum();
        let bucket = self.target().open(&self.app, &key)?;
        let found = store.head_object(&bucket, &ObjectKey::new(key)?, &GetOptions::default());
        match found.map_err(StoreError::from) {
            Ok(_) => Ok(true),
            Err(StoreError::NoSuchKey { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the rows of the next page. `true` if it was the last page, and the inventory is complete.
    pub(super) fn step(&mut self, store: &Store) -> Result<bool, DeliveryError> {
        let is_last = match &mut self.position {
            Position::Objects(after) => {
                let query = ListQuery {
                    prefix: self.inventory.prefix.clone(),
                    after: std::mem::take(after),
                    max: INVENTORY_PAGE_ROWS,
                    ..ListQuery::default()
                };
                let page = store.list_objects(&self.source, &query)?;
                let next = page.next.map(ListStart::Token);
                for entry in page.entries {
                    if let ListEntry::Object(listed) = entry {
                        self.push(store, &listed, false)?;
                    }
                }
                let is_last = next.is_none();
                self.position = Position::Objects(next.unwrap_or_default());
                is_last
            }
            Position::Versions(query) => {
                let page = store.list_versions(&self.source, query)?;
                let is_last = page.next.is_none();
                if let Some((key, version)) = page.next {
                    (query.key_marker, query.version_marker) = (Some(key), version);
                }
                for entry in page.entries {
                    match entry {
                        VersionEntry::Version(listed) => self.push(store, &listed, false)?,
                        VersionEntry::DeleteMarker(listed) => self.push(store, &listed, true)?,
                        VersionEntry::Prefix(_) => {}
                    }
                }
                is_last
            }
        };
        if is_last {
            self.end(store)?;
        }
        Ok(is_last)
    }

    fn push(
        &mut self,
        store: &Store,
        listed: &ListedObject,
        is_delete_marker: bool,
    ) -> Result<(), DeliveryError> {
        let object = match need_object(&self.columns) && !is_delete_marker {
            false => None,
            true => {
                let key = ObjectKey::new(listed.key.as_str())?;
                match store.find_object(&self.source, &key, Some(&listed.version_id)) {
                    Ok(object) => Some(object),
                    // Deleted since the page was read.
                    Err(
                        StoreError::NoSuchKey { .. }
                        | StoreError::NoSuchVersion { .. }
                        | StoreError::IsDeleteMarker { .. },
                    ) => return Ok(()),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let row = Row {
            bucket: &self.source,
            listed,
            is_delete_marker,
            object: object.as_ref(),
            day_ms: store.lifecycle_day_ms(),
            now_ms: store.now_ms(),
        };
        let cells: Vec<_> = self.columns.iter().map(|column| row.cell(*column)).collect();
        if self.file.is_none() {
            self.file = Some(self.begin_file()?);
        }
        if let Some(file) = &mut self.file {
            file.push(&self.columns, &cells)?;
        }
        self.rows += 1;
        if let Some(file) = self.file.take_if(|file| file.is_full()) {
            self.files.push(file.finish(store)?);
        }
        Ok(())
    }

    fn target(&self) -> Target<'_> {
        let bucket = &self.inventory.target;
        let encryption = self.inventory.encryption.as_ref().map(|encryption| match encryption {
            InventoryEncryption::Master => "AES256",
            InventoryEncryption::Named(_) => "aws:kms",
        });
        let service = DeliveryService::Inventories;
        Target { service, source: &self.source, bucket, encryption }
    }

    /// The target bucket, if it takes an object with this key.
    fn open(&self, key: &str) -> Result<Arc<Bucket>, DeliveryError> {
        let target = self.target().open(&self.app, key)?;
        let refused = |reason: &str| Err(DeliveryError::Refused(reason.to_owned()));
        let account = self.inventory.target_account.as_ref();
        if account.is_some_and(|account| *account != self.app.account_id(&target.owner.id)) {
            return refused("the destination bucket belongs to another account");
        }
        if target.region != self.source.region {
            return refused("the destination bucket is in another region");
        }
        Ok(target)
    }

    fn encryption(&self) -> Result<Option<Encryption>, DeliveryError> {
        match &self.inventory.encryption {
            None => Ok(None),
            Some(InventoryEncryption::Master) => Ok(Some(Encryption::Master)),
            Some(InventoryEncryption::Named(key)) => {
                let found = self.app.store.keys().find_name(key).map(str::to_owned);
                let missing =
                    || DeliveryError::Refused(format!("the server has no KMS key {key:?}"));
                let key = Some(found.ok_or_else(missing)?);
                Ok(Some(Encryption::Named { key, context: None, bucket_key: false }))
            }
        }
    }

    fn begin_file(&self) -> Result<DataWriter, DeliveryError> {
        let key = self.names.data(self.files.len());
        let bucket = self.open(&key)?;
        let content_type = match self.inventory.format {
            Format::Csv => "application/gzip",
            Format::Parquet => "application/vnd.apache.parquet",
        };
        let parcel = Parcel { key: &key, content_type, encryption: self.encryption()? };
        let writing = Target::begin(&self.app, &bucket, parcel)?;
        Ok(DataWriter::new(key, writing, self.inventory.format, &self.columns))
    }

    /// Writes the last file and what lists the files; the checksum of the manifest last, so that its presence says that
    /// the inventory is complete.
    fn end(&mut self, store: &Store) -> Result<(), DeliveryError> {
        if let Some(file) = self.file.take() {
            self.files.push(file.finish(store)?);
        }
        let symlink = manifest::symlink(&self.inventory.target, &self.files);
        self.put(store, &self.names.symlink(), "text/plain", &symlink)?;
        let source = self.source.name.as_str();
        let (columns, files) = (&self.columns, &self.files);
        let text = manifest::manifest(&self.inventory, source, self.started_ms, columns, files);
        let md5 = self.put(store, &self.names.manifest(), "application/json", &text)?;
        self.put(store, &self.names.checksum(), "text/plain", &manifest::hex(&md5))?;
        Ok(())
    }

    fn put(
        &self,
        store: &Store,
        key: &str,
        content_type: &'static str,
        text: &str,
    ) -> Result<[u8; 16], DeliveryError> {
        let bucket = self.open(key)?;
        let parcel = Parcel { key, content_type, encryption: self.encryption()? };
        let mut writing = Target::begin(&self.app, &bucket, parcel)?;
        writing.write(text.as_bytes())?;
        Ok(writing.finish(store, None)?.1)
    }
}
