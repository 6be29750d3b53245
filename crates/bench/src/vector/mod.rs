//! The vector benchmark: `liteio-bench vector`.
//!
//! Three parts share a report. [`slots`] measures files of vectors: ours and Chassis's. [`search`]
//! measures nearest neighbours: ours, an exact scan, and usearch. [`served`] measures S3 Vectors
//! through a server. The first two run in processes ([`task`] is their work), so that rivals can be
//! programs of their own. [`rows`] lists the rows, [`roster`] the engines, and [`run`] puts
//! everything together. [`data`] makes the vectors.

pub mod data;
pub mod options;
pub mod rows;
pub mod run;
pub mod search;
pub mod slots;
pub mod task;

pub(crate) mod roster;
pub(crate) mod served;

pub use roster::run_own;

#[cfg(test)]
mod tests;
