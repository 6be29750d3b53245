//! Vector buckets, their indexes, and vectors with keys and metadata.
//!
//! Elements are in the slot file of their index ([`liteio_vector`]); everything else is in the key
//! space. A vector exists when its record has committed: `key → slot, CRC, metadata`. A put writes
//! into free slots, syncs them, commits the records, and only then publishes the change to searches
//! and frees the replaced slots. A crash leaves at most slots that no record references; the next
//! opening frees them.
//!
//! ```
//! use liteio_store::vectors::{
//!     CreateIndex, DistanceMetric, NewVectors, VectorName, VectorQuery,
//! };
//! use liteio_store::{Owner, Store, StoreConfig};
//!
//! # fn main() -> Result<(), liteio_store::StoreError> {
//! let store = Store::open(StoreConfig::memory())?;
//! let name = VectorName::bucket("media")?;
//! let bucket = store.create_vector_bucket(name, Owner::default(), None, Vec::new()).wait()?;
//! let name = VectorName::index("films")?;
//! store.create_index(&bucket, name.clone(), CreateIndex::new(2, DistanceMetric::Cosine)).wait()?;
//!
//! let index = store.index(&bucket, &name)?;
//! let mut vectors = NewVectors::default();
//! vectors.push("alien", &[1.0, 0.1]);
//! vectors.push("amelie", &[0.1, 1.0]);
//! store.put_vectors(&index, vectors)?;
//!
//! let found = store.query_vectors(&index, &VectorQuery::nearest(vec![1.0, 0.0], 1))?;
//! assert_eq!(found.hits[0].key, "alien");
//! # Ok(())
//! # }
//! ```

mod bucket;
mod check;
mod compare;
mod delete;
mod figures;
mod fingerprint;
mod get;
mod index;
mod list;
mod log;
mod make_columns;
#[cfg(test)]
mod meanwhile_tests;
mod mirror;
mod open;
mod position;
mod publish;
mod put;
mod query;
mod rank;
mod remembered;
#[cfg(test)]
mod remembered_tests;
mod tags;

pub use bucket::{ListVectorBuckets, VectorBucket, VectorBucketPage};
pub use figures::VectorFigures;
pub use get::{GetVectors, StoredVector};
pub use index::{CreateIndex, IndexPage, ListIndexes};
pub(crate) use open::{DIRECTORY, path as path_of_index, shape, shape_of, used_slots};

pub use list::{ListVectors, Segment, VectorPage};
pub(crate) use mirror::Entries;
pub use mirror::MirrorFigures;
pub use position::QueryPosition;
pub use put::NewVectors;
pub use query::{Hit, QueryAnswer, QueryText, VectorQuery};
pub use tags::Tagged;

pub use liteio_vector::{Recall, map_files};

pub use crate::indexes::{Condition, Filter, Index, Relation, VectorName};
pub use crate::meta::vector::{DistanceMetric, Encryption, IndexMode, Language, TextSearch};
pub use crate::meta::vector_metadata::{Metadata, MetadataValue, Number, Scalar};
