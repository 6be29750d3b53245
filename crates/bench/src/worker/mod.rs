//! Engines that are measured in processes of their own: a process is asked for one task, measures its
//! phases, and answers with an outcome. Each benchmark has tasks of its own; all else is here.

pub(crate) mod build;
pub(crate) mod measured;
pub(crate) mod plan;
pub(crate) mod program;
pub(crate) mod record;

mod failure;
mod outcome;

pub use failure::{Failure, NoSuchThing, locked_version};
pub use outcome::{Outcome, Phase};
pub use plan::{RATE, RowPlan, TIME};
pub(crate) use program::{Ended, Program};
