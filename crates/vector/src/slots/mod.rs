//! The slot file: vectors of one width, one after the other.

mod ahead;
mod commit;
mod file;
mod format;
mod live;
mod readers;
mod recover;
mod view;
mod writer;

pub use file::{SlotFile, Verified, Written};
pub use format::vector_crc;
pub use view::View;

pub(crate) use commit::Stamp;
pub(crate) use file::{Opened, directory_of};
pub(crate) use format::metric_number;
pub(crate) use writer::Runs;
