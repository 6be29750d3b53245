//! Event delivery: from the store's outbox to the targets of notifications.
//!
//! The store writes an event in the transaction of the change that it describes (transactional
//! outbox). For each target, a task reads its queue in order ([`sender`]), makes AWS's message of
//! each event ([`message`]), sends it to the target ([`target`], of which there is one kind,
//! [`webhook`]), and deletes the accepted ones.

mod message;
mod sender;
pub mod settings;
mod target;
mod webhook;

pub use self::sender::Senders;
pub use self::target::Target;
pub use self::webhook::open_webhooks;
