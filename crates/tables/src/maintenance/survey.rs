//! All tables and views of the server, before files are deleted: where they are, and what they name elsewhere.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use liteio_iceberg::maintenance::References;
use liteio_iceberg::{TableMetadata, ViewMetadata};
use liteio_store::tables::{Table, TableName};
use liteio_store::{Bucket, BucketId, StoreError};

use super::files::{FILES_MAX, references_of};
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
}

impl Survey {
    /// Looks at all tables and views.
    pub(super) fn of(pass: &Pass<'_>) -> Result<Survey, StoreError> {
        let mut survey = Survey::default();
        pass.each_bucket(&mut |bucket| {
            pass.each_table(bucket, &mut |table| {
                let looked = survey.look_at_table(pass, bucket, table);
                survey.note(bucket, table, looked)
            })?;
            pass.each_namespace(bucket, &mut |namespace| {
                pass.each_view(bucket, namespace, &mut |view| {
                    let looked = survey.look_at_view(pass, bucket, view);
                    survey.note(bucket, view, looked)
                })
            })
        })?;
        Ok(survey)
    }

    /// The reason for which no file of a table may be deleted, if there is one.
    pub(super) fn refusal(
        &self,
        bucket: &Bucket,
        table: &TableName,
        prefix: &str,
    ) -> Option<String> {
        if let Some(reason) = self.unknown.get(&bucket.owner.id) {
            return Some(reason.clone());
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
        is_shared
            .then(|| "Another table or view has files at the location of the table.".to_owned())
    }

    /// `true` if a table names the file at a location outside of its own.
    pub(super) fn names(&self, location: &str) -> bool {
        self.elsewhere.contains(location)
    }

    fn note(
        &mut self,
        bucket: &Bucket,
        table: &Table,
        looked: Result<(), Failure>,
    ) -> Result<(), StoreError> {
        match looked {
            Ok(()) => Ok(()),
            Err(Failure::Stop(error)) => Err(error),
            Err(Failure::OfTable(message)) => {
                let (bucket_name, name) = (&bucket.name, &table.name);
                let reason = format!(
                    "Not all files are known that tables name: {bucket_name}/{name}: {message}"
                );
                self.unknown.entry(bucket.owner.id.clone()).or_insert(reason);
                Ok(())
            }
        }
    }

    fn look_at_table(
        &mut self,
        pass: &Pass<'_>,
        bucket: &Arc<Bucket>,
        table: &Table,
    ) -> Result<(), Failure> {
        let owner = (true, table.name.clone());
        if is_unwritten(&table.location) {
            return self.add_place(bucket, &table.location, &owner);
        }
        let (metadata, _) = read::<TableMetadata>(pass.store, bucket, &table.location)?;
        self.add_places(bucket, &metadata, &table.location, &owner)?;
        let references = references_of(pass.store, bucket, (&metadata, &table.location))?;
        let own = format!("{}/", trimmed(metadata.location()));
        references.outside(&own).for_each(|location| self.elsewhere.add(location));
        match self.elsewhere.len() <= FILES_MAX {
            true => Ok(()),
            false => Err(Failure::OfTable(format!(
                "More than {FILES_MAX} files are outside of the locations of their tables."
            ))),
        }
    }

    fn look_at_view(
        &mut self,
        pass: &Pass<'_>,
        bucket: &Arc<Bucket>,
        view: &Table,
    ) -> Result<(), Failure> {
        let (metadata, _) = read::<ViewMetadata>(pass.store, bucket, &view.location)?;
        self.add_places(bucket, &metadata, &view.location, &(false, view.name.clone()))
    }

    fn add_places(
        &mut self,
        bucket: &Bucket,
        metadata: &impl Metadata,
        location: &str,
        owner: &Owner,
    ) -> Result<(), Failure> {
        self.add_place(bucket, metadata.location(), owner)?;
        // A file that is in no directory of the bucket is known by its name alone.
        if let Some((directory, _)) = location.rsplit_once('/')
            && key_of(bucket, directory).is_ok()
        {
            self.add_place(bucket, directory, owner)?;
        }
        for path in PATHS.iter().filter_map(|path| metadata.property(path)) {
            // One in another bucket has no files here.
            if key_of(bucket, path).is_ok() {
                self.add_place(bucket, path, owner)?;
            }
        }
        Ok(())
    }

    fn add_place(&mut self, bucket: &Bucket, location: &str, owner: &Owner) -> Result<(), Failure> {
        let place = (bucket.id, prefix_of(bucket, location)?);
        let owners = self.places.entry(place).or_default();
        if !owners.contains(owner) {
            owners.push(owner.clone());
        }
        Ok(())
    }
}

/// The prefix of the keys below a location.
pub(super) fn prefix_of(bucket: &Bucket, location: &str) -> Result<String, Failure> {
    let key = key_of(bucket, location)?;
    Ok(format!("{}/", key.trim_end_matches('/')))
}
