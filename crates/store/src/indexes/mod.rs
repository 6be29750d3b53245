//! Open indexes: their files, the slots in use, and derived data in memory.
//!
//! [`Store`](crate::Store) keeps the table of open indexes. The operations on them are in
//! [`vectors`](crate::vectors).

mod index;
pub(crate) mod mirrors;
pub(crate) mod name;

mod open;
pub(crate) mod referenced;
mod unused;

mod cache;
mod column;
pub(crate) mod columns;
mod dictionary;
pub(crate) mod filter;
pub(crate) mod fuse;
mod posting;
mod scalar;
pub(crate) mod scope;
mod selection;
pub(crate) mod text;
mod words;

pub use filter::{Condition, Filter, Relation};
pub use index::Index;
pub use name::VectorName;
pub(crate) use open::{OpenIndex, Vectors};
pub(crate) use unused::{Until, Unused};
