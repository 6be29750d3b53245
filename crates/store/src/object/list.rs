//! ListObjects.

use std::fmt;

use crate::checksum::{ChecksumAlgorithm, ChecksumType};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::Owner;
use crate::name::BucketName;
use crate::store::Store;

/// Which objects to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Keys that begin so.
    pub prefix: String,
    /// Keys that go on with it behind the prefix are shown as one common prefix up to and with it.
    /// An empty one is none.
    pub delimiter: Option<String>,
    /// Where the page begins.
    pub after: ListStart,
    /// At most so many keys and common prefixes.
    pub max: usize,
}

/// Where a page begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListStart {
    /// At the beginning.
    #[default]
    Beginning,
    /// Behind this key. Common prefixes that are not greater than it are not shown, either.
    AfterKey(String),
    /// Where the last page ended.
    Token(ListToken),
}

/// Where a page ended: opaque text that is safe in a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListToken(String);

impl ListToken {
    /// Takes the text of a token.
    ///
    /// # Errors
    /// [`StoreError::InvalidRequest`] for text that no page gave.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        todo!("{text}")
    }
}

impl fmt::Display for ListToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// Keys and common prefixes in one order.
    pub entries: Vec<ListEntry>,
    /// Where the next page begins; none when nothing follows.
    pub next: Option<ListToken>,
    /// The last key or common prefix of the page.
    pub last: Option<String>,
}

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListEntry {
    /// An object.
    Object(ListedObject),
    /// A common prefix.
    Prefix(String),
}

/// What a listing shows of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key.
    pub key: String,
    /// Size.
    pub bytes: u64,
    /// Entity tag.
    pub etag: ETag,
    /// When it was written, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Its storage class; none is `STANDARD`.
    pub storage_class: Option<String>,
    /// Whose it is.
    pub owner: Owner,
    /// Which checksum it has.
    pub checksum: Option<(ChecksumAlgorithm, ChecksumType)>,
}

impl Store {
    /// A page of the current objects of a bucket, in the order of the bytes of their keys.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn list_objects(
        &self,
        bucket: &BucketName,
        query: &ListQuery,
    ) -> Result<ListPage, StoreError> {
        todo!("{bucket} {query:?}")
    }
}
