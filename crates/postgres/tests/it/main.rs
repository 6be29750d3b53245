//! The engine on a real PostgreSQL.

mod commits;
mod faults;
mod fetches;
mod harness;
mod pooler;
mod proxy;
mod schema;
mod tls;
