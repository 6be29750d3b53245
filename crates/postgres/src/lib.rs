//! The engine of a key space that many servers share, in PostgreSQL 14 or newer:
//! [`Database`](liteio_kv::database::Database).
//!
//! ```no_run
//! use liteio_kv::database::{Database, Want};
//! use liteio_postgres::{ClusterId, Postgres, PostgresConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "postgres://liteio@db1,db2/liteio?sslmode=verify-full";
//! let config = PostgresConfig::parse(url, |name| std::env::var_os(name))?.with_cluster("prod")?;
//! liteio_postgres::create(&config, ClusterId([7; 16]))?;
//! let database = Postgres::open(&config)?;
//! let fetched = database.fetch(&[Want::Key(b"key".to_vec())])?;
//! println!("{:?}, as of {} ms", fetched.answers, fetched.now_ms);
//! # Ok(())
//! # }
//! ```
//!
//! # A cluster
//! is a schema of the database with its name, so that one database holds several. `sql/` has its
//! migrations. Rows are bytes with a version (`kv`), the sums of counters are in several rows (`counter`), and
//! everything that writes is a function: [`Database::commit`](liteio_kv::database::Database::commit) is one call in one round
//! trip.
//!
//! # A commit
//! runs READ COMMITTED: each statement of its function sees what was committed before it.
//!
//! 1. It takes its claims: advisory locks by hash (`locks`), sorted. Commits with the same claim go on one after the
//!    other.
//! 2. It compares the rows that were read, and the digests of ranges. What others change meanwhile is theirs to claim.
//! 3. It locks the rows that it writes, in the order of their keys, and compares them. What differs comes back, and
//!    nothing is written.
//! 4. It counts its worker up from the number before: a late commit after a settlement finds another number.
//! 5. It writes. All of its rows have the version of the group.
//!
//! # Lost answers
//! An error is acted on by its SQLSTATE. A commit did not happen only if the database says that it has rolled
//! back, or nothing was sent; everything else, and a commit that no longer waits for its standby,
//! is open until [`Database::settle`](liteio_kv::database::Database::settle) asks the worker's number.
//!
//! # The parts
//! | Module | Content |
//! |---|---|
//! | `config/` | [`PostgresConfig`]: the URL, the password |
//! | `schema` | [`create`], [`migrate`], [`status`], [`check`]: the cluster's schema |
//! | `engine` | [`Postgres`], the engine |
//! | `commit`, `fetch`, `view`, `statements`, `locks` | groups and wants as parameters, rows as answers, the statements |
//! | `gather` | one statement for the rows of many requests |
//! | `core`, `pool`, `session`, `tls`, `wait` | the connections and their threads |
//! | `error`, `limits` | [`PostgresError`], the meaning of a SQLSTATE; limits with their reasons |
//!
//! # PgBouncer
//! From version 1.21 on, in the mode of transactions, with `max_prepared_statements`; older ones with
//! `statement_cache=0`. It refuses the settings of a session, so the role should have them: `ALTER ROLE liteio SET enable_seqscan =
//! off`, likewise `jit` and `statement_timeout = '10s'`.

mod commit;
mod config;
mod core;
mod engine;
mod error;
mod fetch;
mod gather;
mod limits;
mod locks;
mod pool;
mod primary;
mod schema;
mod session;
mod statements;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
mod tls;
mod view;
mod wait;

pub use config::PostgresConfig;
pub use engine::{Postgres, PostgresStats};
pub use error::PostgresError;
pub use limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
pub use schema::{ClusterId, ClusterStatus, check, create, migrate, set_fingerprint, status};
