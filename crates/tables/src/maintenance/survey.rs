//! All tables and views of the server, before files are deleted: where they are, and what they name elsewhere.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use liteio_iceberg::maintenance::References;
use liteio_iceberg::{TableMetadata, ViewMetadata};
use liteio_store::tables::{CatalogChanges, Table, TableKind, TableName};
use liteio_store::{Bucket, BucketId, StoreError};

use super::files::{FILES_MAX, references_of};
use super::surveyed::Surveyed;
use super::walk::{Failure, Pass};
use crate::metadata::{Metadata, is_unwritten, read};
use crate::vend::PATHS;
use crate::warehouse::{key_of, trimmed};

/// A table (`true`) or a view of a bucket, by its name.
pub(super) type Owner = (bool, TableName);

/// The findings.
#[derive(Default)]
pub(super) struct Survey {
    /// The prefixes of keys at which tables and views may have files, with their owners.
    places: BTreeMap<(BucketId, String), Vec<Owner>>,
    /// Files that a table names outside of its location.
    elsewhere: References,
    /// The reason for which not all files are known that the tables of an account name, by its canonical id.
    unknown: HashMap<String, String>,
    /// The reason for which that is so for all accounts.
    unknown_to_all: Option<String>,
    /// Changes of tables and views that are taken into account.
    changes: Arc<CatalogChanges>,
    buckets: HashMap<BucketId, Arc<Bucket>>,
    /// The buckets of all other accounts, by the canonical id of an account.
    others: HashMap<String, Arc<HashSet<BucketId>>>,
}

impl Survey {
    /// Looks at all tables and views. The catalogs are watched.
    pub(super) fn of(pass: &Pass<'_>) -> Result<Survey, StoreError> {
        let mut survey = Survey::default();
        pass.each_bucket(&mut |bucket| {
            let bucket = match bucket {
                Ok(bucket) => bucket,
                // Whose tables are in it is not known.
                Err((name, Failure::OfTable(message))) => {
                    survey.unknown_to_all.get_or_insert_with(|| unknown(name, &message));
                    return Ok(());
                }
                Err((_, Failure::Stop(error))) => return Err(error),
            };
            survey.buckets.insert(bucket.id, Arc::clone(bucket));
            let looked = survey.look_at_bucket(pass, bucket);
            survey.note(bucket, bucket.name.as_str(), looked)
        })?;
        Ok(survey)
    }

    /// Looks at the tables and views that have changed since the last look at changes.
    pub(super) fn look_at_changes(&mut self, pass: &Pass<'_>) -> Result<(), Failure> {
        let changes = Arc::new(pass.store.catalog_changes()?);
        for change in changes.since(&self.changes)? {
            if !self.buckets.contains_key(&change.bucket) {
                self.find_buckets(pass)?;
            }
            // A bucket that is gone has no tables.
            let Some(bucket) = self.buckets.get(&change.bucket).map(Arc::clone) else { continue };
            let looked = match pass.store.table(&bucket, change.kind, &change.name) {
                Ok(table) if change.kind == TableKind::Table => {
                    self.look_at_table(pass, &bucket, &table).map(drop)
                }
                Ok(view) => self.look_at_view(pass, &bucket, &view),
                // It was dropped or renamed since; the new name is another change.
                Err(StoreError::Catalog(_) | StoreError::NoSuchBucket { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            };
            let name = format!("{}/{}", bucket.name, change.name);
            self.note(&bucket, &name, looked).map_err(Failure::Stop)?;
        }
        self.changes = changes;
        Ok(())
    }

    /// The changes that are taken into account.
    pub(super) fn changes(&self) -> &Arc<CatalogChanges> {
        &self.changes
    }

    /// The buckets of other accounts. What their tables name was looked at, too, as far as it can be read; but how often they
    /// change must not decide whether files of this account are ever deleted.
    pub(super) fn others_of(&mut self, account: &str) -> Arc<HashSet<BucketId>> {
        if let Some(others) = self.others.get(account) {
            return Arc::clone(others);
        }
        let others = self.buckets.values().filter(|bucket| bucket.owner.id != account);
        let others = Arc::new(others.map(|bucket| bucket.id).collect::<HashSet<_>>());
        self.others.insert(account.to_owned(), Arc::clone(&others));
        others
    }

    /// Finds buckets that were created since.
    fn find_buckets(&mut self, pass: &Pass<'_>) -> Result<(), StoreError> {
        self.others.clear();
        pass.each_bucket(&mut |bucket| {
            match bucket {
                Ok(bucket) => _ = self.buckets.insert(bucket.id, Arc::clone(bucket)),
                Err((name, Failure::OfTable(message))) => {
                    self.unknown_to_all.get_or_insert_with(|| unknown(name, &message));
                }
                Err((_, Failure::Stop(error))) => return Err(error),
            }
            Ok(())
        })
    }

    fn look_at_bucket(&mut self, pass: &Pass<'_>, bucket: &Arc<Bucket>) -> Result<(), Failure> {
        pass.each_table(bucket, &mut |table| {
            let (name, looked) = match table {
                Ok(table) => {
                    let looked = self.look_at_table(pass, bucket, table);
                    let kept = looked.and_then(|found| match found {
                        Some(surveyed) => pass.keep_surveyed(bucket, table, &surveyed),
                        None => Ok(()),
                    });
                    (&table.name, kept)
                }
                Err(name) => {
                    let message = "The record of the table cannot be read.";
                    (name, Err(Failure::OfTable(message.to_owned())))
                }
            };
            self.note(bucket, &format!("{}/{name}", bucket.name), looked)
        })?;
        pass.each_namespace(bucket, &mut |namespace| {
            pass.each_view(bucket, namespace, &mut |view| {
                let looked = self.look_at_view(pass, bucket, view);
                let name = format!("{}/{}", bucket.name, view.name);
                self.note(bucket, &name, looked).map_err(Failure::Stop)
            })
        })
    }

    /// Checks that files of a table may be deleted.
    ///
    /// # Errors
    /// The reason for which no file of it may be.
    pub(super) fn check(
        &self,
        bucket: &Bucket,
        table: &TableName,
        prefix: &str,
    ) -> Result<(), Failure> {
        let of_account = self.unknown.get(&bucket.owner.id);
        if let Some(reason) = of_account.or(self.unknown_to_all.as_ref()) {
            return Err(Failure::OfTable(reason.clone()));
        }
        let own: Owner = (true, table.clone());
        let is_other = |owners: &Vec<Owner>| owners.iter().any(|owner| *owner != own);
        let above = prefix.match_indices('/').map(|(at, _)| &prefix[..=at]);
        let mut around = above.filter_map(|above| self.places.get(&(bucket.id, above.to_owned())));
        let mut below = self
            .places
            .range((bucket.id, prefix.to_owned())..)
            .take_while(|((id, place), _)| *id == bucket.id && place.starts_with(prefix))
            .map(|(_, owners)| owners);
        let is_shared = around.any(is_other) || below.any(is_other);
        match is_shared {
            true => {
                let reason = "Another table or view has files at the location of the table.";
                Err(Failure::OfTable(reason.to_owned()))
            }
            false => Ok(()),
        }
    }

    /// `true` if a table names the file at a location outside of its own.
    pub(super) fn names(&self, location: &str) -> bool {
        self.elsewhere.contains(location)
    }

    /// Notes that the files named by something in a bucket are not known.
    fn note(
        &mut self,
        bucket: &Bucket,
        what: &str,
        looked: Result<(), Failure>,
    ) -> Result<(), StoreError> {
        match looked {
            Ok(()) => Ok(()),
            Err(Failure::Stop(error)) => Err(error),
            Err(Failure::OfTable(message)) => {
                let of_account = self.unknown.entry(bucket.owner.id.clone());
                of_account.or_insert_with(|| unknown(what, &message));
                Ok(())
            }
        }
    }

    /// Looks at a table. The findings are new if they are returned.
    fn look_at_table(
        &mut self,
        pass: &Pass<'_>,
        bucket: &Arc<Bucket>,
        table: &Table,
    ) -> Result<Option<Surveyed>, Failure> {
        let owner = (true, table.name.clone());
        if is_unwritten(&table.location) {
            let place = prefix_of(bucket, &table.location)?;
            self.add_place(bucket, place, &owner);
            return Ok(None);
        }
        let failure = match self.read_table(pass, bucket, table) {
            Ok(surveyed) => return Ok(Some(surveyed)),
            Err(Failure::Stop(error)) => return Err(Failure::Stop(error)),
            Err(failure) => failure,
        };
        match pass.surveyed(bucket, table)? {
            // Its own files stay, since it cannot be read when they are swept either.
            Some(surveyed) if !surveyed.names_elsewhere => {
                surveyed.places.into_iter().for_each(|it| self.add_place(bucket, it, &owner));
                Ok(None)
            }
            _ => Err(failure),
        }
    }

    /// Reads all that a table names.
    fn read_table(
        &mut self,
        pass: &Pass<'_>,
        bucket: &Arc<Bucket>,
        table: &Table,
    ) -> Result<Surveyed, Failure> {
        let (metadata, _) = read::<TableMetadata>(pass.store, bucket, &table.location)?;
        let places = places_of(bucket, &metadata, &table.location)?;
        let owner = (true, table.name.clone());
        places.iter().for_each(|place| self.add_place(bucket, place.clone(), &owner));
        let references = references_of(pass.store, bucket, (&metadata, &table.location))?;
        let own = format!("{}/", trimmed(metadata.location()));
        let mut outside = references.outside(&own).peekable();
        let names_elsewhere = outside.peek().is_some();
        add_within(&mut self.elsewhere, outside, FILES_MAX)?;
        Ok(Surveyed { location: table.location.clone(), places, names_elsewhere })
    }

    fn look_at_view(
        &mut self,
        pass: &Pass<'_>,
        bucket: &Arc<Bucket>,
        view: &Table,
    ) -> Result<(), Failure> {
        let (metadata, _) = read::<ViewMetadata>(pass.store, bucket, &view.location)?;
        let owner = (false, view.name.clone());
        let places = places_of(bucket, &metadata, &view.location)?;
        places.into_iter().for_each(|place| self.add_place(bucket, place, &owner));
        Ok(())
    }

    fn add_place(&mut self, bucket: &Bucket, prefix: String, owner: &Owner) {
        let owners = self.places.entry((bucket.id, prefix)).or_default();
        if !owners.contains(owner) {
            owners.push(owner.clone());
        }
    }
}

/// The prefixes of the keys at which a table or view may have files.
fn places_of(
    bucket: &Bucket,
    metadata: &impl Metadata,
    location: &str,
) -> Result<Vec<String>, Failure> {
    let mut places = vec![prefix_of(bucket, metadata.location())?];
    // A file that is in no directory of the bucket is known by its name alone.
    if let Some((directory, _)) = location.rsplit_once('/')
        && key_of(bucket, directory).is_ok()
    {
        places.push(prefix_of(bucket, directory)?);
    }
    for path in PATHS.iter().filter_map(|path| metadata.property(path)) {
        // One in another bucket has no files here.
        if key_of(bucket, path).is_ok() {
            places.push(prefix_of(bucket, path)?);
        }
    }
    Ok(places)
}

/// Adds files that are outside of the locations of their tables, of which `most` are held in memory.
fn add_within<'l>(
    files: &mut References,
    locations: impl Iterator<Item = &'l str>,
    most: usize,
) -> Result<(), Failure> {
    for location in locations {
        if files.len() >= most && !files.contains(location) {
            return Err(Failure::OfTable(format!(
                "More than {most} files are outside of the locations of their tables."
            )));
        }
        files.add(location);
    }
    Ok(())
}

fn unknown(what: &str, message: &str) -> String {
    format!("Not all files are known that tables name: {what}: {message}")
}

/// The prefix of the keys below a location.
pub(super) fn prefix_of(bucket: &Bucket, location: &str) -> Result<String, Failure> {
    let key = key_of(bucket, location)?;
    Ok(format!("{}/", key.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_files_are_held_than_allowed() {
        let mut files = References::default();
        add_within(&mut files, ["s3://b/1", "s3://b/2", "s3://b/1"].into_iter(), 2).expect("two");
        add_within(&mut files, ["s3://b/2"].into_iter(), 2).expect("a known one");
        let refused = add_within(&mut files, ["s3://b/3", "s3://b/4"].into_iter(), 2);
        assert!(
            matches!(refused, Err(Failure::OfTable(message)) if message.contains("More than 2 files"))
        );
        assert_eq!(files.len(), 2);
    }
}
