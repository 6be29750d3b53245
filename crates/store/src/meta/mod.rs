//! Records, and where they stand in the key space.

mod types;

pub use types::{ContentHeaders, ObjectMetadata, Owner};
