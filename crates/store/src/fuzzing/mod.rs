//! Properties that must hold for any bytes, one function per fuzz target of `fuzz/`.
//!
//! A function panics if its property does not hold. The tests of this module run the functions over
//! the corpus of every target, and over mutations of it.

mod keys;
mod records;
#[cfg(test)]
mod tests;

pub use keys::key;
pub use records::record;

/// The footer of a blob: decoded to the encoded values, or refused.
pub fn blob_footer(data: &[u8]) {
    liteio_blob::fuzzing::footer(data);
}
