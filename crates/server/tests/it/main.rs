//! The binary and the server, as their users see them.

mod bucket;
mod checksum;
mod command;
mod compatibility;
mod conditional;
mod dependencies;
mod documents;
mod harness;
mod listing;
mod multipart;
mod object;
mod object_store;
mod range;
mod sources;
