//! The binary and the server, as their users see them.

mod command;
mod dependencies;
mod hostile;
mod raw;
mod sources;
