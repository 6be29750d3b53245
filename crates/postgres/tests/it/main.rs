//! The engine on a real PostgreSQL.

mod commits;
mod fetches;
mod harness;
mod schema;
