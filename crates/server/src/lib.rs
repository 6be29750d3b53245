//! Server.
pub mod auth;
