//! The key-value benchmark: `liteio-bench kv`.
//!
//! From the bottom up: [`data`] makes keys and values, [`engine`] is the interface of
//! engines, [`task`] the question to a process, [`worker`] the process of an engine. [`rows`] lists the
//! rows, [`roster`] the engines, and [`run`] puts it together. Every engine runs in
//! processes of its own, so that its memory is its own and it can be killed.

pub mod data;
pub mod engine;
pub mod options;
pub mod rows;
pub mod run;
pub mod worker;

pub(crate) mod roster;
pub(crate) mod task;

mod liteio;
mod plain_redb;
mod seen;
mod work;

#[cfg(test)]
mod tests;
