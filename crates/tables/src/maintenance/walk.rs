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

use super::Counts;
use crate::error::Exception;
use crate::metadata::{Unread, is_unwritten};

/// Buckets on a page.
const BUCKETS: usize = 100;

/// A bucket of a walk, or the name of one and the reason why it cannot be read.
pub(super) type Found<'b> = Result<&'b Arc<Bucket>, (&'b str, Failure)>;

/// A pass.
pub(super) struct Pass<'p> {
    pub(super) app: &'p App,
    /// By the handle of the job: once another server has taken over, nothing more of the pass commits.
    pub(super) store: &'p Store,
    pub(super) now_ms: u64,
    pub(super) counts: &'p Counts,
    is_stopping: &'p AtomicBool,
}

impl<'p> Pass<'p> {
    pub(super) fn new(
        app: &'p App,
        store: &'p Store,
        counts: &'p Counts,
        is_stopping: &'p AtomicBool,
    ) -> Pass<'p> {
        Pass { app, store, now_ms: store.now_ms(), counts, is_stopping }
    }

    /// Tells about a failure that is not the end of the pass.
    pub(super) fn tell(&self, what: &str, failure: &Failure) {
        if let Failure::OfTable(message) = failure {
            self.counts.failures.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(what, message, "the maintenance of tables goes on without it");
        }
    }

    /// The table, if it has not been dropped since, and has metadata.
    pub(super) fn current(
        &self,
        bucket: &Bucket,
        table: &Table,
    ) -> Result<Option<(Table, TableSettings)>, Failure> {
        let found = self.store.table_with_settings(bucket, &table.name)?;
        Ok(found.filter(|(found, _)| found.uuid == table.uuid && !is_unwritten(&found.location)))
    }

    /// Calls `visit` with each bucket, or with the name of one and the reason why it cannot be read. Those that are deleted
    /// meanwhile are left out.
    pub(super) fn each_bucket(
        &self,
        visit: &mut dyn FnMut(Found<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let query = ListBuckets { after, max: BUCKETS, ..ListBuckets::default() };
            let page = self.store.list_buckets(&query)?;
            for listed in &page.buckets {
                let name = listed.name.as_str();
                match bucket_for_rules(self.store, name) {
                    Ok(bucket) => visit(Ok(&bucket))?,
                    Err(Refusal::Store(StoreError::NoSuchBucket { .. })) => {}
                    Err(Refusal::Store(error)) => match Failure::from(error) {
                        Failure::Stop(error) => return Err(error),
                        failure => visit(Err((name, failure)))?,
                    },
                    // Names of a list are valid.
                    Err(_) => {}
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Calls `visit` with each table of a bucket, or with the name of one whose record cannot be read.
    ///
    /// # Errors
    /// A failure that is about all tables of the bucket.
    pub(super) fn each_table(
        &self,
        bucket: &Arc<Bucket>,
        visit: &mut dyn FnMut(Result<&Table, &TableName>) -> Result<(), StoreError>,
    ) -> Result<(), Failure> {
        let mut after = None;
        loop {
            self.check_stop()?;
            let prefix = String::new();
            let walk = TableWalk { namespace: None, prefix, after, max: LIST_TABLES_MAX };
            let page = match self.store.walk_tables(bucket, &walk) {
                // It was deleted meanwhile.
                Err(StoreError::NoSuchBucket { .. }) => return Ok(()),
                page => page?,
            };
            let tables = page.tables.iter().map(Ok).chain(page.unreadable.iter().map(Err));
            for table in tables {
                self.check_stop()?;
                visit(table).map_err(Failure::Stop)?;
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Calls `visit` with each namespace of a bucket.
    ///
    /// # Errors
    /// Those of `visit`, and a namespace whose record cannot be read: what is in it is not known.
    pub(super) fn each_namespace(
        &self,
        bucket: &Arc<Bucket>,
        visit: &mut dyn FnMut(&NamespaceName) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut parents = vec![None];
        while let Some(parent) = parents.pop() {
            let mut range = NameRange { after: None, max: LIST_TABLES_MAX };
            loop {
                let page = match self.store.list_namespaces(bucket, parent.as_ref(), &range) {
                    // It was dropped meanwhile.
                    Err(StoreError::Catalog(_) | StoreError::NoSuchBucket { .. }) => break,
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
    ///
    /// # Errors
    /// Those of `visit`, and a view or namespace whose record cannot be read.
    pub(super) fn each_view(
        &self,
        bucket: &Arc<Bucket>,
        namespace: &NamespaceName,
        visit: &mut dyn FnMut(&Table) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut range = NameRange { after: None, max: LIST_TABLES_MAX };
        loop {
            let page = match self.store.list_tables(bucket, TableKind::View, namespace, &range) {
                // It was dropped meanwhile.
                Err(StoreError::Catalog(_) | StoreError::NoSuchBucket { .. }) => return Ok(()),
                page => page?,
            };
            for name in page.names {
                let name = TableName::new(namespace.clone(), name)?;
                match self.store.table(bucket, TableKind::View, &name) {
                    Ok(view) => visit(&view)?,
                    // It was dropped or renamed meanwhile.
                    Err(StoreError::Catalog(_)) => {}
                    Err(error) => return Err(of_name(&name, error)),
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

/// A failure about the table or view with a name.
fn of_name(name: &TableName, error: StoreError) -> Failure {
    match Failure::from(error) {
        Failure::OfTable(message) => Failure::OfTable(format!("{name}: {message}")),
        stop => stop,
    }
}

impl From<Unread> for Failure {
    fn from(unread: Unread) -> Failure {
        match unread {
            Unread::Invalid(exception) => exception.into(),
            Unread::Store(error) => error.into(),
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
