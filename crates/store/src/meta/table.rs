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
}
