//! The binary and the server, as their users see them.

mod bucket;
mod checksum;
mod command;
mod compatibility;
mod conditional;
mod copy_source;
mod damaged_files;
mod dependencies;
mod documents;
mod form;
mod harness;
mod hostile;
mod listing;
mod multipart;
mod object;
mod object_store;
mod range;
mod raw;
mod repair;
mod reply;
mod scrub;
mod sources;
mod vector_values;
mod vectors;
mod verify;
