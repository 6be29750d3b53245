//! Reports of a running LiteIO: to its log, its operators and the targets of its users.
//!
//! Observers of requests ([`trace`], [`audit`], `otlp`) implement `liteio_wire::front::Observer`. They read what
//! they are given and never delay a request: slow targets are served from a bounded queue ([`delivery`]). Events
//! come from the outbox of the store, where the transaction of the change has written them ([`events`]).
//!
//! ```text
//! finished request ──► trace ──► listeners
//!                  ├─► audit ──► file
//!                  │      └────► delivery ──► webhooks
//!                  └─► otlp ───► delivery ──► collector
//! outbox of the store ──► events ──► webhooks, queues
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | [`telemetry`] | The log, written by a thread of its own (`background`) |
//! | [`trace`] | The live trace: finished requests (`entry`) without their secrets, to each account its own (`audience`) |
//! | [`audit`] | The audit log: `entry`, `file` and its `rotation`, webhooks |
//! | `otlp`, [`otlp_settings`] | Spans for OpenTelemetry (feature `otlp`), and their settings |
//! | [`events`] | Event notifications of buckets: `sender` (one task per target), `message` (AWS's document), `webhook`, `sqs`, `redis`, `nats` |
//! | [`delivery`] | `queue`, bounded, and `sender` (HTTP), which the others share |
//!
//! The crate must not know the signatures of requests or services: it sees requests only as observers do.
//!
//! ```
//! use liteio_observe::audit::settings::AuditWebhook;
//! use liteio_observe::events::settings::Webhook;
//!
//! let webhook = Webhook::parse("thumbnails=http://localhost:8080/hook?key=hush")?;
//! assert_eq!(webhook.name, "thumbnails");
//!
//! // A URL may hold a secret: neither settings nor errors show it.
//! assert!(!format!("{webhook:?}").contains("hush"));
//! let error = AuditWebhook::new("http://user:hush@localhost/", None).unwrap_err();
//! assert!(!error.to_string().contains("hush"));
//! # Ok::<(), liteio_wire::settings::ConfigError>(())
//! ```

pub mod audit;
pub mod delivery;
pub mod events;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod otlp_settings;
pub mod telemetry;
pub mod trace;
