//! The S3 benchmark: `liteio-bench s3`.
//!
//! From the bottom up: [`data`] makes the bodies, [`sign`] and [`client`] send a request, [`api`] an
//! operation, [`drive`] lets clients work at the same time, [`session`] keeps what a target holds,
//! [`case`] lists the rows, [`work`] measures one, [`server`] and [`rival`] start targets, and
//! [`run`] puts it together.

pub mod api;
pub mod body;
pub mod case;
pub mod client;
pub mod data;
pub mod drive;
pub mod empty;
pub mod options;
pub mod rival;
pub mod run;
pub mod server;
pub mod session;
pub mod sign;
pub mod work;

mod record;

#[cfg(test)]
mod tests;
