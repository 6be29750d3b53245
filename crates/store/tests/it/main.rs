//! The store as its callers see it.

mod bucket;
mod directory;
mod disk_full;
mod harness;
mod list;
mod multipart;
mod object;
mod reclaim;
