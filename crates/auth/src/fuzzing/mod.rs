//! The properties that hold for any request at all, one function for each fuzz target of `fuzz/`.
//!
//! The functions panic when it does not. They know the secret of a user, so that they get past the
//! signature and see what it protects. The tests of this module run them over the corpus of every
//! target, and over variations of it. The [`signer`] serves all tests of signatures.

mod aws_chunked;
mod exchange;
mod post_form;
mod post_policy;
mod session_token;
pub mod signer;
mod sigv4;
#[cfg(test)]
mod tests;

pub use aws_chunked::aws_chunked;
pub use exchange::is_accepted;
pub use post_form::post_form;
pub use post_policy::post_policy;
pub use session_token::session_token;
pub use sigv4::sigv4;
