//! Telling events to others: from the outbox of the store to the targets of notifications.
//!
//! The store writes an event in the transaction of the change that it tells of. For each target a task reads its
//! queue in order ([`sender`]), makes AWS's document of each event ([`message`]), gives it to the target
//! ([`target`], of which there is one kind, [`webhook`]), and deletes those that were taken.

mod message;
mod sender;
pub mod settings;
mod target;
mod webhook;

pub use self::sender::Senders;
pub use self::target::Target;
pub use self::webhook::open_webhooks;
