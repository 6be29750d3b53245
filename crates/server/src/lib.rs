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

mod access;
mod acl;
mod admin;
mod applets;
mod audit;
mod auth;
mod banner;
mod budget;
mod circumstances;
mod cli;
mod command;
mod config;
mod connection;
mod console;
mod cors;
mod delivery;
mod dispatch;
mod events;
mod exec;
mod file_stamp;
mod front;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod health;
mod http_client;
mod iam;
mod identity;
mod import;
mod keys;
mod made_credentials;
mod metrics;
mod no_auth;
mod offload;
mod open;
mod operational;
mod operator;
mod origin;
#[cfg(feature = "otlp")]
mod otlp;
mod platform;
mod policy;
mod prepare;
mod private_file;
mod proxy;
mod repair;
mod reply;
mod request_id;
mod s3;
mod serve;
mod server;
mod space;
mod state;
mod tables;
mod telemetry;
mod test_api;
mod tls;
mod trace;
mod vectors;
mod verify;
mod website;

pub use applets::run;
pub use config::{
    AuditPosts, AuditRotation, AuditSettings, AuditWebhook, CertificateFiles, Config, ConfigError,
    ConsoleAddress, CredentialsSource, DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY, Durability,
    EventSettings, InitialBucket, KeySources, ListenAddress, MasterKeySource, MetricsAuth,
    ObjectOwnership, OidcIssuer, OtlpSettings, Preparation, Profile, PublicAccess, Scrub, Storage,
    TestAccess, TlsSettings, Webhook,
};
pub use front::limits::Limits;
pub use proxy::Network;
pub use server::{Server, ServerBuilder, ServerError, ServerHandle};
pub use telemetry::LogFormat;
pub use test_api::{FaultRule, TestControl, TestError, TestSpace};
