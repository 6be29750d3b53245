//! Running closures over what was fetched, again and again, until all of their reads are known:
//! [`Closures`] of a group over a database, and in tests one closure over the local engine.

mod group;
#[cfg(any(test, feature = "test-util"))]
mod pieces;

pub(crate) use group::Closures;
#[cfg(any(test, feature = "test-util"))]
pub(crate) use pieces::run;
