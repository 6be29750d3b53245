//! An object store that speaks Amazon S3: durable by default, one static binary.
//!
//! The command `liteio` is a thin shell around [`run`]. Tests and other programs start
//! servers of their own, as many in one process as they like:
//!
//! ```
//! use std::io::{Read, Write};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = liteio::Server::builder().memory().credentials("alice", "alice's secret").spawn().await?;
//!
//! // Any S3 client takes `server.endpoint()`; here we only ask whether it is there.
//! let address = server.address();
//! let answer = tokio::task::spawn_blocking(move || -> std::io::Result<String> {
//!     let mut stream = std::net::TcpStream::connect(address)?;
//!     stream.write_all(b"GET /_liteio/health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
//!     let mut answer = String::new();
//!     stream.read_to_string(&mut answer)?;
//!     Ok(answer)
//! })
//! .await??;
//! assert!(answer.starts_with("HTTP/1.1 200 OK"));
//!
//! server.stop().await;
//! # Ok(())
//! # }
//! ```

mod banner;
mod cli;
mod command;
mod config;
mod dispatch;
#[cfg(test)]
mod encrypted_serve_tests;
mod exec;
mod health;
mod keys;
mod made_credentials;
mod open;
mod platform;
mod repair;
#[cfg(test)]
mod serve_tests;
mod server;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

pub use config::{
    AuditPosts, AuditRotation, AuditSettings, AuditWebhook, CertificateFiles, Config, ConfigError,
    ConsoleAddress, CredentialsSource, DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY, Durability,
    EventSettings, InitialBucket, KeySources, ListenAddress, MasterKeySource, MetricsAuth,
    ObjectOwnership, OidcIssuer, OtlpSettings, Preparation, Profile, PublicAccess, Scrub, Storage,
    TestAccess, TlsSettings, Webhook,
};
pub use liteio_observe::telemetry::LogFormat;
pub use liteio_testkit::{FaultRule, TestControl, TestError, TestSpace};
pub use liteio_wire::front::limits::Limits;
pub use liteio_wire::proxy::Network;
pub use server::{Server, ServerBuilder, ServerError, ServerHandle};

/// Runs the command with these arguments, of which the first is the program's name and selects the
/// applet.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    liteio_applets::run(arguments.into_iter().collect(), command::run)
}
