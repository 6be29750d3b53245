//! Files of vectors: writing, committing, reading.

pub mod engine;
pub mod phase;
pub mod work;

mod liteio;

pub use liteio::LiteIoSlots;
