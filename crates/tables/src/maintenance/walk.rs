//! A pass, and its walks over buckets, tables and views.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_access::state::App;
use liteio_access::{Refusal, bucket_for_rules};
use liteio_store::limits::LIST_TABLES_MAX;
use liteio_store::tables::{
    NameRange, NamespaceName, Table, TableKind, TableName, TableSettings, TableWalk,
};
use liteio_store::{Bucket, ListBuckets, Store, StoreError};

use crate::error::Exception;
use crate::metadata::is_unwritten;

/// Buckets on a page.
const BUCKETS: usize = 100;

/// A pass.
pub(super) struct Pass<'p> {
    pub(super) app: &'p App,
    /// By the handle of the job: once another server has taken over, nothing more of the pass commits.
    pub(super) store: &'p Store,
    pub(super) now_ms: u64,
    is_stopping: &'p AtomicBool,
}

impl<'p> Pass<'p> {
    pub(super) fn new(app: &'p App, store: &'p Store, is_stopping: &'p AtomicBool) -> Pass<'p> {
        Pass { app, store, now_ms: store.now_ms(), is_stopping }
    }

    /// The table, if it has not been dropped since, and has metadata.
    pub(super) fn current(
        &self,
        bucket: &Bucket,
        table: &Table,
    ) -> Result<Option<(Table, TableSettings)>, StoreError> {
        let found = self.store.table_with_settings(bucket, &table.name)?;
        Ok(found.filter(|(found, _)| found.uuid == table.uuid && !is_unwritten(&found.location)))
    }

    /// Calls `visit` with each bucket. Those that are deleted meanwhile are left out.
    pub(super) fn each_bucket(
        &self,
        visit: &mut dyn FnMut(&Arc<Bucket>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let query = ListBuckets { after, max: BUCKETS, ..ListBuckets::default() };
            let page = self.store.list_buckets(&query)?;
            for listed in &page.buckets {
                let visited = match bucket_for_rules(self.store, listed.name.as_str()) {
                    Ok(bucket) => visit(&bucket),
                    Err(Refusal::Store(error)) => Err(error),
                    // Names of a list are valid.
                    Err(_) => continue,
                };
                match visited {
                    Err(StoreError::NoSuchBucket { .. }) => {}
                    ended => ended?,
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Calls `visit` with each table of a bucket.
    pub(super) fn each_table(
        &self,
        bucket: &Arc<Bucket>,
        visit: &mut dyn FnMut(&Table) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            self.check_stop()?;
            let prefix = String::new();
            let walk = TableWalk { namespace: None, prefix, after, max: LIST_TABLES_MAX };
            let page = self.store.walk_tables(bucket, &walk)?;
            for table in &page.tables {
                self.check_stop()?;
                visit(table)?;
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Calls `visit` with each namespace of a bucket.
    pub(super) fn each_namespace(
        &self,
        bucket: &Arc<Bucket>,
        visit: &mut dyn FnMut(&NamespaceName) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut parents = vec![None];
        while let Some(parent) = parents.pop() {
            let mut range = NameRange { after: None, max: LIST_TABLES_MAX };
            loop {
                let page = match self.store.list_namespaces(bucket, parent.as_ref(), &range) {
                    // The parent was dropped meanwhile.
                    Err(StoreError::Catalog(_)) => break,
                    page => page?,
                };
                for namespace in page.namespaces {
                    visit(&namespace)?;
                    parents.push(Some(namespace));
                }
                range.after = page.next;
                if range.after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Calls `visit` with each view in a namespace.
    pub(super) fn each_view(
        &self,
        bucket: &Arc<Bucket>,
        namespace: &NamespaceName,
        visit: &mut dyn FnMut(&Table) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut range = NameRange { after: None, max: LIST_TABLES_MAX };
        loop {
            let page = match self.store.list_tables(bucket, TableKind::View, namespace, &range) {
                // It was dropped meanwhile.
                Err(StoreError::Catalog(_)) => return Ok(()),
                page => page?,
            };
            for name in page.names {
                let name = TableName::new(namespace.clone(), name)?;
                match self.store.table(bucket, TableKind::View, &name) {
                    Ok(view) => visit(&view)?,
                    // It was dropped or renamed meanwhile.
                    Err(StoreError::Catalog(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            range.after = page.next;
            if range.after.is_none() {
                return Ok(());
            }
        }
    }

    /// # Errors
    /// [`StoreError::Closed`] if the server stops.
    pub(super) fn check_stop(&self) -> Result<(), StoreError> {
        match self.is_stopping.load(Ordering::Relaxed) {
            true => Err(StoreError::Closed),
            false => Ok(()),
        }
    }
}

/// The end of a job that did not do all.
#[derive(Debug)]
pub(super) enum Failure {
    /// It fails for this table; the message is for its owner.
    OfTable(String),
    /// The pass ends.
    Stop(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            StoreError::Closed | StoreError::Suspended { .. } => Failure::Stop(error),
            error => Failure::OfTable(error.to_string()),
        }
    }
}

impl From<Exception> for Failure {
    fn from(exception: Exception) -> Failure {
        Failure::OfTable(exception.message().to_owned())
    }
}

impl From<liteio_iceberg::Invalid> for Failure {
    fn from(invalid: liteio_iceberg::Invalid) -> Failure {
        Failure::OfTable(invalid.to_string())
    }
}
