//! Engines that are measured in processes of their own: a process is asked for one task, measures its
//! phases, and prints its outcome. Each benchmark has tasks of its own; all else is here.

pub(crate) mod build;
pub(crate) mod contestant;
pub(crate) mod measured;

mod lock;

pub use crate::run::{Failure, NoSuchThing, Outcome, Phase};
pub use build::RIVALS;
pub use lock::locked_version;
