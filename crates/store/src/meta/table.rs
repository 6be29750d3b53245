//! Records of the catalog of a bucket: namespaces, and tables and views in them. Their metadata are objects of
//! the bucket; a record has the location of the current one.

use std::collections::BTreeMap;

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::record::{self, Sealed};
use super::space;
use crate::error::StoreError;
use crate::name::BucketId;

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamespaceRecord {
    pub(crate) created_ms: u64,
    pub(crate) updated_ms: u64,
    pub(crate) properties: BTreeMap<String, String>,
}

impl NamespaceRecord {
    pub(crate) fn read(
        from: &impl Read,
        bucket: BucketId,
        (parent, name): (&str, &str),
    ) -> Result<Option<Self>, StoreError> {
        let place = space::namespace(bucket, parent, name);
        let value = from.get(&place)?;
        value.map(|value| Self::decode(&place, &value)).transpose()
    }

    pub(crate) fn write(&self, to: &mut impl Write, place: &[u8]) -> Result<(), StoreError> {
        Ok(to.put(place, &self.encode(place))?)
    }

    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(1, place, self, &[])
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        decode(place, bytes, "the record of a namespace")
    }
}

/// A table or a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableRecord {
    /// The id that it has had since its creation.
    pub(crate) uuid: [u8; 16],
    /// The URI of its current metadata.
    pub(crate) location: String,
    pub(crate) created_ms: u64,
    pub(crate) updated_ms: u64,
}

impl TableRecord {
    pub(crate) fn read(from: &impl Read, place: &[u8]) -> Result<Option<Self>, StoreError> {
        let value = from.get(place)?;
        value.map(|value| Self::decode(place, &value)).transpose()
    }

    pub(crate) fn write(&self, to: &mut impl Write, place: &[u8]) -> Result<(), StoreError> {
        Ok(to.put(place, &self.encode(place))?)
    }

    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(1, place, self, &[])
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        decode(place, bytes, "the record of a table")
    }
}

/// A kind of document of a table. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TableDocument {
    /// The policy.
    Policy = 1,
    /// The tags.
    Tags = 2,
    /// The configuration of maintenance.
    Maintenance = 3,
    /// The last runs of maintenance.
    MaintenanceRuns = 4,
    /// The location that the server has chosen for the files of the table.
    Place = 5,
    /// The findings of the last look of maintenance at its files.
    Surveyed = 6,
}

/// Documents of a table, which the store keeps and does not interpret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSettings {
    /// By their numbers, also those that only newer versions know.
    documents: BTreeMap<u8, Vec<u8>>,
}

impl TableSettings {
    /// The document of a kind, if the table has one.
    #[must_use]
    pub fn document(&self, kind: TableDocument) -> Option<&[u8]> {
        self.documents.get(&(kind as u8)).map(Vec::as_slice)
    }

    /// Replaces the document of a kind, or removes it.
    pub fn set(&mut self, kind: TableDocument, document: Option<Vec<u8>>) {
        match document {
            Some(document) => self.documents.insert(kind as u8, document),
            None => self.documents.remove(&(kind as u8)),
        };
    }

    /// `true` without documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Bytes of all documents.
    pub(crate) fn bytes(&self) -> usize {
        self.documents.values().map(Vec::len).sum()
    }

    pub(crate) fn read(from: &impl Read, place: &[u8]) -> Result<Self, StoreError> {
        let value = from.get(place)?;
        let settings = value.map(|value| Self::decode(place, &value)).transpose()?;
        Ok(settings.unwrap_or_default())
    }

    /// Writes the documents. Without any there is no row.
    pub(crate) fn write(&self, to: &mut impl Write, place: &[u8]) -> Result<(), StoreError> {
        match self.is_empty() {
            true => Ok(to.delete(place)?),
            false => Ok(to.put(place, &record::seal(1, place, self, &[]))?),
        }
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        decode(place, bytes, "the settings of a table")
    }
}

/// Tags of a table or a table bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableTags(pub BTreeMap<String, String>);

impl TableTags {
    /// The document of the tags; none without tags.
    #[must_use]
    pub fn encode(&self) -> Option<Vec<u8>> {
        (!self.0.is_empty()).then(|| record::encode(1, self))
    }

    /// The tags of a document.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub fn decode(document: &[u8]) -> Result<Self, StoreError> {
        record::decode(document, "the tags of a table")
    }
}

/// A file in a bucket that no table names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnreferencedRecord {
    /// Time of the first look that found no name for it, in milliseconds since 1970.
    pub(crate) first_ms: u64,
    /// That of the last one.
    pub(crate) last_ms: u64,
    /// Time between looks that counts, in milliseconds.
    pub(crate) observed_ms: u64,
}

impl UnreferencedRecord {
    pub(crate) fn encode(self, place: &[u8]) -> Vec<u8> {
        record::seal(2, place, &self, &[])
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "the record of a file that no table names";
        let (version, _) = record::split_version(bytes, 2)?;
        let sealed = Sealed::open(place, bytes, WHAT)?;
        if version > 1 {
            return sealed.decode(WHAT);
        }
        // Nobody noted then when the file was looked at last, so none of the time since the first look counts.
        let first_ms: u64 = sealed.decode(WHAT)?;
        Ok(Self { first_ms, last_ms: first_ms, observed_ms: 0 })
    }
}

/// The files of a dropped table, which are still to be deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PurgeRecord {
    /// Namespace and name of the table, with dots between them.
    pub(crate) table: String,
    /// Time at which the purge began, in milliseconds since 1970. Later objects are not its own.
    pub(crate) began_ms: u64,
}

impl PurgeRecord {
    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(1, place, self, &[])
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        decode(place, bytes, "the record of a purge")
    }
}

/// A change of a table or view during the watch over the catalogs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChangeRecord {
    /// The location of its metadata after the change.
    pub(crate) location: String,
    /// The number of the change, from 1: the same location may come again, with a table that was dropped and registered.
    pub(crate) number: u64,
}

impl ChangeRecord {
    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(1, place, self, &[])
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        decode(place, bytes, "the record of a change of a table")
    }
}

fn decode<T: for<'a> Deserialize<'a>>(
    place: &[u8],
    bytes: &[u8],
    what: &str,
) -> Result<T, StoreError> {
    record::split_version(bytes, 1)?;
    Sealed::open(place, bytes, what)?.decode(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_record_and_one_under_another_key_are_refused() {
        let place = space::namespace(BucketId(3), "a", "b");
        let properties = BTreeMap::from([("owner".to_owned(), "me".to_owned())]);
        let namespace = NamespaceRecord { created_ms: 1, updated_ms: 2, properties };
        let encoded = namespace.encode(&place);
        assert_eq!(NamespaceRecord::decode(&place, &encoded).expect("own bytes"), namespace);
        NamespaceRecord::decode(b"other", &encoded).expect_err("under another key");
        let place = space::table(BucketId(3), "a", "t");
        let location = "s3://bucket/t/metadata/0.metadata.json".to_owned();
        let table = TableRecord { uuid: [7; 16], location, created_ms: 1, updated_ms: 2 };
        let encoded = table.encode(&place);
        assert_eq!(TableRecord::decode(&place, &encoded).expect("own bytes"), table);
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            TableRecord::decode(&place, &damaged).expect_err("damaged");
        }
        TableRecord::decode(&space::view(BucketId(3), "a", "t"), &encoded).expect_err("of a view");
    }

    #[test]
    fn a_note_of_an_earlier_program_has_no_age() {
        let place = space::unreferenced(BucketId(3), "t/a");
        let earlier = record::seal(1, &place, &5_u64, &[]);
        let read = UnreferencedRecord::decode(&place, &earlier).expect("version 1");
        assert_eq!(read, UnreferencedRecord { first_ms: 5, last_ms: 5, observed_ms: 0 });
        let note = UnreferencedRecord { first_ms: 5, last_ms: 9, observed_ms: 4 };
        assert_eq!(
            UnreferencedRecord::decode(&place, &note.encode(&place)).expect("own bytes"),
            note
        );
        UnreferencedRecord::decode(b"other", &earlier).expect_err("under another key");
    }
}
