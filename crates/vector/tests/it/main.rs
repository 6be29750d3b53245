//! The crate as its callers see it.

mod harness;
mod recall;
mod slots;
