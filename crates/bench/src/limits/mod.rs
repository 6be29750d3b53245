//! LiteIO beside the limits of the machine: `liteio-bench limits`.
//!
//! [`bare`] does with a file, a socket and a hash what a server cannot do faster, [`bare_server`] answers requests
//! without a store, [`fresh`] and [`tables`] start servers for a single figure, [`rows`] lists the rows, and [`run`] puts it together.

pub mod run;
mod tables;

mod bare;
mod bare_server;
mod fresh;
mod rows;
