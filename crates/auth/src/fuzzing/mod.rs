//! Properties that hold for any request, one function for each fuzz target of `fuzz/`.
//!
//! The functions panic if a property is violated. They know a user's secret, so they get past the
//! signature and test the code behind it. The tests of this module run them over the corpus of
//! every target and variations of it. All tests of signatures use the [`signer`].

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
