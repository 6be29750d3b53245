//! The client for all servers: hyper on kept connections, its own signer, bodies from one seed.

pub(crate) mod connection;
pub(crate) mod drive;
pub(crate) mod empty;
pub(crate) mod payload;
pub(crate) mod pieces;
pub(crate) mod sign;

#[cfg(test)]
mod tests;

pub(crate) use connection::{Connection, Expect, Request};
pub(crate) use drive::{Driven, Limit, drive};
pub(crate) use payload::{Payload, Payloads, Stock};
pub(crate) use sign::Endpoint;
pub use sign::PayloadMode;
