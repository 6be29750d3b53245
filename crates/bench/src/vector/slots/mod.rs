//! Files of vectors: writing, committing, reading.

pub mod engine;
pub mod phase;
pub mod work;

mod liteio;
mod plain;

pub use liteio::LiteIoSlots;
pub use plain::PlainFile;
