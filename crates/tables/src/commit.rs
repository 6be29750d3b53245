//! Commits of tables: one, or several of a transaction.

use std::borrow::Cow;
use std::sync::Arc;

use liteio_access::Granted;
use liteio_iceberg::{CommitTable, Identifier, TableMetadata, Update};
use liteio_store::StoreError;
use liteio_store::tables::{
    CatalogError, Expected, Table, TableChange, TableKind, TableName, TableSettings,
};

use super::error::{ApiResult, Exception};
use super::limits::COMMIT_ATTEMPTS;
use super::metadata::{NewFile, is_unwritten, new_uuid, text_of_uuid, uuid_of};
use super::namespace::stored;
use super::{Call, once};

/// The state of a table.
pub(crate) struct Loaded {
    pub(crate) location: String,
    pub(crate) metadata: Arc<TableMetadata>,
}

/// The state that a commit leads to.
struct Next {
    /// The metadata that stay as they are have no change.
    change: Option<(TableChange, usize)>,
    loaded: Loaded,
}

/// A name as the store has it.
pub(crate) fn named(name: &Identifier) -> Result<TableName, StoreError> {
    TableName::new(stored(name.namespace())?, name.name().to_owned())
}

/// A table that has metadata.
///
/// # Errors
/// [`CatalogError::NoSuchTable`] for one that S3 Tables made without: clients of the catalog cannot use it yet.
pub(crate) fn written(table: Table) -> Result<Table, CatalogError> {
    match is_unwritten(&table.location) {
        true => Err(CatalogError::NoSuchTable { table: table.name.to_string() }),
        false => Ok(table),
    }
}

impl Call<'_> {
    /// The current state of a table.
    pub(crate) fn load(&self, granted: &Granted, name: &Identifier) -> ApiResult<Loaded> {
        let table = self.store.table(granted.bucket(), TableKind::Table, &named(name)?)?;
        self.load_of(granted, table)
    }

    fn load_of(&self, granted: &Granted, table: Table) -> ApiResult<Loaded> {
        let Table { location, .. } = written(table)?;
        let metadata = self.shared.files.table(self.store, granted.bucket(), &location)?;
        Ok(Loaded { location, metadata })
    }

    /// Commits all of `commits`, or none. Where another commit came first, the requirements decide whether these still
    /// hold.
    pub(crate) fn commit(
        &self,
        granted: &Granted,
        commits: &[(&Identifier, &CommitTable)],
    ) -> ApiResult<Vec<Loaded>> {
        Ok(until_first(|| self.try_commit(granted, commits))?)
    }

    fn try_commit(
        &self,
        granted: &Granted,
        commits: &[(&Identifier, &CommitTable)],
    ) -> Result<Vec<Loaded>, Attempt<Exception>> {
        let nexts = commits.iter().map(|(name, commit)| self.next(granted, name, commit));
        let nexts = nexts.collect::<ApiResult<Vec<_>>>()?;
        let (mut changes, mut loaded, mut written) = (Vec::new(), Vec::new(), Vec::new());
        for next in nexts {
            if let Some((change, bytes)) = next.change {
                changes.push(change);
                written.push((loaded.len(), bytes));
            }
            loaded.push(next.loaded);
        }
        let outcome = || match (commits, &loaded[..]) {
            ([(name, _)], [loaded]) if self.route.operation.name == "CommitTable" => {
                once::of_metadata(name, &loaded.location)
            }
            _ => once::empty(),
        };
        match changes.is_empty() {
            true => self.unchanged(outcome)?,
            false => _ = self.writer(outcome)?.commit_tables(granted.bucket(), changes).wait()?,
        }
        for (place, bytes) in written {
            let Loaded { location, metadata } = &loaded[place];
            self.shared.files.keep((granted.bucket().id, location.clone()), bytes, metadata);
        }
        Ok(loaded)
    }

    /// Decides a commit on the current state of its table.
    fn next(&self, granted: &Granted, name: &Identifier, commit: &CommitTable) -> ApiResult<Next> {
        let table = named(name)?;
        let found = self.store.table(granted.bucket(), TableKind::Table, &table);
        let current = match found {
            Ok(found) => Some(self.load_of(granted, found)?),
            Err(StoreError::Catalog(CatalogError::NoSuchTable { .. })) if commit.is_create() => {
                None
            }
            Err(error) => return Err(error.into()),
        };
        let metadata = current.as_ref().map(|current| &*current.metadata);
        for requirement in &commit.requirements {
            TableMetadata::check(metadata, requirement)?;
        }
        let updates = self.updates_of(granted, commit);
        let mut settings = TableSettings::default();
        let (next, expected) = match &current {
            None => {
                let uuid = text_of_uuid(&new_uuid()?);
                let next = TableMetadata::from_updates(&updates, &uuid, self.now_ms())?;
                let place = self.shared.staged.place(granted.bucket().id, next.location());
                settings = place.settings();
                (next, Expected::Missing)
            }
            Some(Loaded { location, metadata }) => {
                let next = metadata.apply(&updates, self.now_ms(), Some(location))?;
                if next == **metadata {
                    let (location, metadata) = (location.clone(), Arc::clone(metadata));
                    return Ok(Next { change: None, loaded: Loaded { location, metadata } });
                }
                (next, Expected::Location(location.clone()))
            }
        };
        let previous = current.as_ref().map(|current| &*current.location);
        self.changed(granted, (table, settings), next, expected, previous)
    }

    /// The updates of a commit, but for locations that are overridden.
    fn updates_of<'c>(&self, granted: &Granted, commit: &'c CommitTable) -> Cow<'c, [Update]> {
        let is_overridden = |update: &Update| match update {
            Update::SetLocation(asked) => self.is_overridden(granted.bucket(), asked),
            _ => false,
        };
        match commit.updates.iter().any(is_overridden) {
            true => commit.updates.iter().filter(|it| !is_overridden(it)).cloned().collect(),
            false => Cow::Borrowed(&commit.updates),
        }
    }

    /// The change of a table to new metadata, whose file is staged. Only a new table gets the settings.
    fn changed(
        &self,
        granted: &Granted,
        (table, settings): (TableName, TableSettings),
        next: TableMetadata,
        expected: Expected,
        previous: Option<&str>,
    ) -> ApiResult<Next> {
        let (app, owner) = (&self.shared.app, granted.owner());
        let file = NewFile::stage(app, granted.bucket(), owner, &next, previous)?;
        let (uuid, location) = (uuid_of(next.uuid()), file.location);
        let change = TableChange::new(TableKind::Table, table, expected, uuid, location.clone());
        let change = change.with_settings(settings).with_metadata(file.metadata);
        let change = Some((change, file.bytes));
        Ok(Next { change, loaded: Loaded { location, metadata: Arc::new(next) } })
    }

    /// Creates a table with these metadata and settings.
    pub(crate) fn create(
        &self,
        granted: &Granted,
        name: &Identifier,
        metadata: TableMetadata,
        settings: TableSettings,
    ) -> ApiResult<Loaded> {
        let table = (named(name)?, settings);
        let next = self.changed(granted, table, metadata, Expected::Missing, None)?;
        let Next { change, loaded } = next;
        if let Some((change, bytes)) = change {
            let writer = self.writer(|| once::of_metadata(name, &loaded.location))?;
            writer.commit_tables(granted.bucket(), vec![change]).wait()?;
            let id = (granted.bucket().id, loaded.location.clone());
            self.shared.files.keep(id, bytes, &loaded.metadata);
        }
        Ok(loaded)
    }
}

/// The end of an attempt to commit.
pub(crate) enum Attempt<E> {
    /// Another commit came first.
    Lost(StoreError),
    /// A refusal that another attempt does not change.
    Refused(E),
}

impl From<Exception> for Attempt<Exception> {
    fn from(exception: Exception) -> Self {
        Attempt::Refused(exception)
    }
}

impl<E: From<StoreError>> From<StoreError> for Attempt<E> {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Catalog(
                CatalogError::Changed { .. }
                | CatalogError::TableExists { .. }
                | CatalogError::NoSuchTable { .. }
                | CatalogError::NoSuchView { .. },
            ) => Attempt::Lost(error),
            _ => Attempt::Refused(error.into()),
        }
    }
}

impl From<Attempt<Exception>> for Exception {
    fn from(attempt: Attempt<Exception>) -> Exception {
        match attempt {
            Attempt::Lost(error) => error.into(),
            Attempt::Refused(exception) => exception,
        }
    }
}

/// Makes attempts, each on the newest state, until one is first or is refused; [`COMMIT_ATTEMPTS`] at most.
pub(crate) fn until_first<T, E>(
    mut attempt: impl FnMut() -> Result<T, Attempt<E>>,
) -> Result<T, Attempt<E>> {
    for _ in 1..COMMIT_ATTEMPTS {
        match attempt() {
            Err(Attempt::Lost(_)) => {}
            ended => return ended,
        }
    }
    attempt()
}
