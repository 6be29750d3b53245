//! An object store that speaks Amazon S3 and S3 Vectors: durable by default, one static binary.
//!
//! The command `liteio` is a thin shell around [`run`]. Tests and other programs start servers of their own, any
//! number in one process:
//!
//! ```
//! use std::io::{Read, Write};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = liteio::Server::builder().memory().credentials("alice", "alice's secret").spawn().await?;
//!
//! // Any S3 client uses `server.endpoint()`. Here a plain request asks for the health.
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
//!
//! # Modules
//! This crate composes the others: it resolves settings, opens users and data, listens, and passes requests on.
//!
//! ```text
//! main ──► run ──► liteio_applets ──► command ──► cli ──► config ──► server ──► dispatch ──► spaces ──► open
//!                                       └──► exec, verify, repair, keys, health, backup, give_back, about
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | `server` | [`Server::builder`], [`ServerHandle`]: any number of servers in one process |
//! | `dispatch` | The choice between routes for operators, the test API and the space |
//! | `spaces` | The main space, or the spaces of the test API, of which no other module knows |
//! | `open` | Opening the users, the targets of events and the data of a configuration, and what is prepared in it |
//! | `cli`, `config` | Every setting once; settings checked together, from flags, our variables and the variables of other servers (`config/environment`), and profiles |
//! | `backup` | The continuous backup of a server, and the commands on one |
//! | `command`, `about`, `banner`, `health`, `exec`, `give_back`, `verify`, `repair`, `keys`, `key_text` | The command and its subcommands; master keys as text |
//! | `output` | Standard output of the commands |
//! | `made_credentials` | Credentials that are made at the first start of a container |
//! | `notify` | Messages to the service manager |
//! | `platform` | Signals and limits of the process |
//! | `own_pages` | Resident pages of the program's own file |
//!
//! The crate must not know redb, file names, page layouts or syncs: those are below `liteio_store`. Only `server`
//! names `dispatch`, and only `dispatch` and `open` know that there are several services.
//!
//! # Features
//! | Feature | Content |
//! |---|---|
//! | `cluster` (default) | Blob stores that several servers share, in `liteio-store` |
//! | `testkit` (default) | The test API, `/_liteio/test`, for programs that embed a server too |
//! | `otlp` (default) | Spans of requests for collectors of OpenTelemetry |
//! | `test-util` | Servers over a store that the caller has opened |

// `say!` does not panic when nobody reads.
#![warn(clippy::print_stdout)]

mod about;
mod agreement;
mod backup;
mod banner;
mod cli;
mod cluster;
mod command;
mod config;
mod credentials_command;
mod dispatch;
#[cfg(test)]
mod encrypted_serve_tests;
mod exec;
mod give_back;
mod health;
mod init_scripts;
mod key_text;
mod keys;
mod made_credentials;
mod minio_volume;
mod notify;
mod open;
mod output;
mod own_pages;
mod platform;
mod repair;
#[cfg(test)]
mod serve_tests;
mod server;
mod spaces;
mod verify;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

pub use config::{
    AuditPosts, AuditRotation, AuditSettings, AuditWebhook, BackupSettings, BackupTarget,
    BlobsPlace, CertificateFiles, ClusterSettings, Config, ConfigError, ConsoleAddress,
    CredentialsSource, DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY, Destination, Durability,
    EventSettings, InitialBucket, KeySources, ListenAddress, MasterKeySource, MetricsAuth,
    NatsServer, ObjectOwnership, OidcIssuer, OtlpSettings, Preparation, Profile, PublicAccess,
    RedisFormat, RedisServer, ReplicationSettings, Scrub, SignInSettings, SqsQueue, Storage,
    TestAccess, TierSettings, TlsSettings, Webhook,
};
pub use liteio_access::remote::{RemoteKind, RemoteSources, RemoteTarget};
pub use liteio_access::tiers::{Tier, TierKind};
pub use liteio_observe::telemetry::LogFormat;
#[cfg(feature = "testkit")]
pub use liteio_testkit::{FaultRule, TestControl, TestError, TestSpace};
pub use liteio_wire::front::limits::Limits;
pub use liteio_wire::proxy::Network;
pub use server::{Server, ServerBuilder, ServerError, ServerHandle};

/// Runs the command with these arguments, of which the first is the program's name and selects the
/// applet.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    liteio_applets::run(arguments.into_iter().collect(), command::run)
}
