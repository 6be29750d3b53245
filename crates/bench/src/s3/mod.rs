//! The S3 benchmark: `liteio-bench s3`.
//!
//! From the bottom up: [`api`] sends an operation, [`session`] keeps the state of a target,
//! [`case`] lists the rows, [`work`] measures one, [`rival`] and [`server`] start targets, and
//! [`run`] puts it together.

pub mod options;
pub mod run;

pub(crate) mod case;
pub(crate) mod rival;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod work;

mod api;
