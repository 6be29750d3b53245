//! The findings of the last look at a table, which are kept beside it.
//!
//! Metadata files, manifest lists and manifests never change. So what a table names is known by the location of its metadata
//! alone, once they were read, even if one of these files is damaged or lost later. A table that names only files below its
//! own location then keeps nobody from deleting files elsewhere. One that has never been read since its last commit may name
//! any file of the account: `add_files`, a registered copy of metadata and a moved location all name files of others.

use std::sync::Arc;

use liteio_store::tables::{Table, TableDocument, TableSettings};
use liteio_store::{Bucket, StoreError};
use serde_json::json;

use super::walk::{Failure, Pass};

/// The findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Surveyed {
    /// The location of the metadata.
    pub(super) location: String,
    /// The prefixes of the keys at which the table may have files.
    pub(super) places: Vec<String>,
    /// `true` if it names files that are not below its location.
    pub(super) names_elsewhere: bool,
}

impl Surveyed {
    /// The findings among the settings of a table, if they are about its metadata at a location and can be read.
    pub(super) fn read(settings: &TableSettings, location: &str) -> Option<Surveyed> {
        let document = settings.document(TableDocument::Surveyed)?;
        let document = liteio_iceberg::json::parse(document).ok()?;
        if document["location"].as_str()? != location {
            return None;
        }
        let places = document["places"].as_array()?.iter();
        let places =
            places.map(|place| place.as_str().map(str::to_owned)).collect::<Option<_>>()?;
        let names_elsewhere = document["namesElsewhere"].as_bool()?;
        Some(Surveyed { location: location.to_owned(), places, names_elsewhere })
    }

    fn document(&self) -> Vec<u8> {
        let Surveyed { location, places, names_elsewhere } = self;
        json!({ "location": location, "places": places, "namesElsewhere": names_elsewhere })
            .to_string()
            .into_bytes()
    }
}

impl Pass<'_> {
    /// Keeps the findings about a table, if they are new.
    pub(super) fn keep_surveyed(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        surveyed: &Surveyed,
    ) -> Result<(), Failure> {
        if self.surveyed(bucket, table)?.as_ref() == Some(surveyed) {
            return Ok(());
        }
        let document = surveyed.document();
        let id = (table.name.clone(), table.uuid);
        let kept = self.store.change_table_settings(bucket, id, move |settings| {
            settings.set(TableDocument::Surveyed, Some(document.clone()));
            Ok(())
        });
        match kept.wait() {
            Err(error @ (StoreError::Closed | StoreError::Suspended { .. })) => Err(error.into()),
            // It was dropped or renamed meanwhile, commits came in between, or there is no room: the table was read, and nothing
            // is known of it later.
            _ => Ok(()),
        }
    }

    /// The findings of an earlier look at the same metadata of a table.
    pub(super) fn surveyed(
        &self,
        bucket: &Bucket,
        table: &Table,
    ) -> Result<Option<Surveyed>, Failure> {
        match self.store.table_with_settings(bucket, &table.name) {
            Ok(found) => {
                let found = found.filter(|(found, _)| found.uuid == table.uuid);
                Ok(found.and_then(|(_, settings)| Surveyed::read(&settings, &table.location)))
            }
            Err(StoreError::Corrupt { .. } | StoreError::NoSuchBucket { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_about_one_state_of_a_table() {
        let surveyed = Surveyed {
            location: "s3://b/t/metadata/1.json".to_owned(),
            places: vec!["t/".to_owned(), "t/metadata/".to_owned()],
            names_elsewhere: false,
        };
        let mut settings = TableSettings::default();
        assert_eq!(Surveyed::read(&settings, &surveyed.location), None);
        settings.set(TableDocument::Surveyed, Some(surveyed.document()));
        assert_eq!(Surveyed::read(&settings, &surveyed.location), Some(surveyed));
        assert_eq!(Surveyed::read(&settings, "s3://b/t/metadata/2.json"), None);
        for damaged in ["", "{}", r#"{"location":"s3://b/t/metadata/1.json","places":[1]}"#] {
            settings.set(TableDocument::Surveyed, Some(damaged.as_bytes().to_vec()));
            assert_eq!(Surveyed::read(&settings, "s3://b/t/metadata/1.json"), None, "{damaged}");
        }
    }
}
