//! Deletion of the files of a dropped table.
//!
//! A location is any place in the bucket that the creator of the table has named, so the right to drop tables is not
//! enough for what is there: the sender must be allowed to delete each object.
//!
//! The drop notes the purge. If the server ends before the last object is deleted, maintenance deletes the rest: those that
//! were written before the purge began, which the sender was allowed to delete.

use liteio_access::{Action, Granted};
use liteio_iceberg::Identifier;
use liteio_store::tables::{Purge, TableDrop, TableKind, TableName};
use liteio_store::{DeleteTarget, ListEntry, ListQuery, ListStart, ObjectKey, StoreError};

use super::commit::named;
use super::error::{ApiResult, Exception};
use super::limits::PURGE_PAGE;
use super::warehouse::key_of;
use super::{Call, once};

impl Call<'_> {
    /// Drops a table, and deletes everything below its location.
    ///
    /// # Errors
    /// As [`Call::purge_below`], and those of the metadata.
    pub(crate) fn purge(&self, granted: &Granted, name: &Identifier) -> ApiResult<()> {
        let loaded = self.load(granted, name)?;
        self.purge_below(granted, name, loaded.metadata.location(), None)
    }

    /// Drops a table whose metadata are at `expected`, if that is given, and deletes everything below `location`. It
    /// is refused where another table or view has its metadata there: nobody knows then which files are whose.
    ///
    /// The name goes first, so that no reader finds a table whose files are half gone.
    pub(crate) fn purge_below(
        &self,
        granted: &Granted,
        name: &Identifier,
        location: &str,
        expected: Option<String>,
    ) -> ApiResult<()> {
        let bucket = granted.bucket();
        let key = key_of(bucket, location)?;
        let prefix = format!("{}/", key.trim_end_matches('/'));
        let own = named(name)?;
        let is_below = |at: &str| key_of(bucket, at).is_ok_and(|key| key.starts_with(&prefix));
        let is_others = |kind: TableKind, other: &TableName, at: &str| {
            !(kind == TableKind::Table && *other == own) && is_below(at)
        };
        if let Some(other) = self.store.find_table(bucket, &is_others)? {
            return Err(Exception::bad_request(format!(
                "The files of {name} cannot be deleted: {other} is below the location of the table, too. Drop it \
                 without purgeRequested."
            )));
        }
        let purge = Purge {
            bucket: bucket.id,
            prefix: prefix.clone(),
            table: name.to_string(),
            began_ms: self.store.now_ms(),
        };
        // All of them first, so that a refusal finds the table as it was.
        self.each_page(granted, &prefix, &|keys| {
            keys.iter().try_for_each(|key| self.allows_object(granted, Action::DeleteObject, key))
        })?;
        self.writer(once::empty)?
            .drop_table_at(
                bucket,
                TableKind::Table,
                own.clone(),
                TableDrop { expected, purge: Some(purge.clone()) },
            )
            .wait()?;
        // What fails from here on is told as it is: the answer with the key is that of the drop.
        if let Some(once) = &self.once {
            once.take_permission();
        }
        // A table may have been created or registered there since, also by the same name.
        if self.store.find_table(bucket, &|_, _, at| is_below(at))?.is_some() {
            return Ok(self.store.end_purge(purge).wait()?);
        }
        self.each_page(granted, &prefix, &|keys| {
            for key in &keys {
                self.allows_object(granted, Action::DeleteObject, key)?;
            }
            let targets = keys.into_iter().map(|key| DeleteTarget::new(key, None)).collect();
            let deleted = self.store.delete_objects(bucket, targets).wait()?;
            deleted.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
            Ok(())
        })?;
        Ok(self.store.end_purge(purge).wait()?)
    }

    /// Calls `visit` with the keys of objects, page by page; never with none.
    fn each_page(
        &self,
        granted: &Granted,
        prefix: &str,
        visit: &dyn Fn(Vec<ObjectKey>) -> ApiResult<()>,
    ) -> ApiResult<()> {
        let prefix = prefix.to_owned();
        let mut query = ListQuery { prefix, max: PURGE_PAGE, ..ListQuery::default() };
        loop {
            let page = self.store.list_objects(granted.bucket(), &query)?;
            let keys = page.entries.into_iter().filter_map(|entry| match entry {
                ListEntry::Object(object) => ObjectKey::new(object.key).ok(),
                ListEntry::Prefix(_) => None,
            });
            let keys: Vec<_> = keys.collect();
            if !keys.is_empty() {
                visit(keys)?;
            }
            match page.next {
                Some(next) => query.after = ListStart::Token(next),
                None => return Ok(()),
            }
        }
    }
}
