//! Reports of a running LiteIO: to its log, its operators and the targets of its users.
//!
//! Observers of requests ([`trace`], [`audit`], `otlp`) implement `liteio_wire::front::Observer`. They only read what
//! they are given, and never delay a request: what is slow waits in a bounded queue ([`delivery`]).
//!
//! | module | subject |
//! |---|---|
//! | [`telemetry`] | the log, written by a thread of its own |
//! | [`trace`] | the live trace: requests that have ended, without their secrets |
//! | [`audit`] | the audit log: a file with rotation, or webhooks |
//! | `otlp` | spans for OpenTelemetry (feature `otlp`) |
//! | [`events`] | event notifications of buckets, sent to webhooks |
//! | [`delivery`] | bounded queues and HTTP delivery that all of them share |

pub mod audit;
pub mod delivery;
pub mod events;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod otlp_settings;
pub mod telemetry;
pub mod trace;
