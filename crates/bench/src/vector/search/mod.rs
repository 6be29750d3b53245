//! Nearest neighbours, compared with the exact ones.

pub mod engine;
pub mod phase;
pub mod questions;
pub mod work;

mod liteio;

pub use liteio::{ExactScan, LiteIoSearch};
