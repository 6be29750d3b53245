//! What must hold for any bytes at all, one function for each fuzz target of `fuzz/`.
//!
//! The functions panic when it does not. The tests of this module run them over the corpus of every
//! target, and over variations of it.

mod keys;
mod records;
#[cfg(test)]
mod tests;

pub use keys::key;
pub use records::record;

/// The log of the key space: whatever its file holds, it is replayed up to the first byte that was
/// not written so, or refused.
pub fn kv_log(data: &[u8]) {
    crate::kv::fuzzing::log(data);
}

/// The footer of a blob: decoded to what was encoded, or refused.
pub fn blob_footer(data: &[u8]) {
    crate::blob::fuzzing::footer(data);
}
