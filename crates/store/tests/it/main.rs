//! The store as its callers see it.

mod bucket;
mod copy_source;
mod crash;
mod damage;
mod directory;
mod disk_full;
mod fixtures;
mod harness;
mod list;
mod lock;
mod log_damage;
mod lost;
mod multipart;
mod object;
mod read_only;
mod reclaim;
mod repair;
mod scrub;
mod tree_damage;
mod vectors;
mod vectors_crash;
mod vectors_damage;
mod vectors_query;
mod vectors_successor;
mod verify;
mod versions;
