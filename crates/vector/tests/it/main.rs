//! The crate as its callers see it.

mod codes;
mod crash;
mod damage;
mod harness;
mod partitions;
mod recall;
mod search;
mod slots;
mod threads;
