//! Event delivery: from the store's outbox to the targets of notifications.
//!
//! The store writes an event in the transaction of the change that it describes (transactional
//! outbox). For each target, a task reads its queue in order ([`sender`]), makes AWS's message of
//! each event ([`message`]), sends it to the target ([`target`]; the kinds are [`webhook`],
//! [`sqs`], [`redis`] and [`nats`], and [`open`] makes them of the [`settings`]), and deletes the accepted ones.

mod connection;
mod message;
mod nats;
mod open;
mod redis;
mod sender;
pub mod settings;
mod sqs;
mod target;
mod webhook;

pub use self::open::open_targets;
pub use self::sender::Senders;
pub use self::target::Target;
