//! The key-value benchmark: `liteio-bench kv`.
//!
//! From the bottom up: [`data`] makes keys and values, [`engine`] is what an engine must be able to
//! do, [`task`] what a process is asked and answers, [`worker`] the process of an engine. [`rows`]
//! lists what is measured, [`roster`] who, and [`run`] puts it together. Every engine runs in
//! processes of its own, so that its memory is its own and it can be killed.

pub mod data;
pub mod engine;
pub mod options;
pub mod roster;
pub mod rows;
pub mod run;
pub mod task;
pub mod worker;

mod liteio;
mod plain_redb;
mod record;
mod seen;
mod work;

pub use liteio::{LITEIO, LITEIO_MEMORY};
pub use plain_redb::REDB;

#[cfg(test)]
mod tests;
