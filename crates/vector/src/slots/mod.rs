//! The slot file: vectors of one dimension in slots of equal size.
//!
//! ```text
//! append ─► writer (staging, slot allocation) ─► commit (superblock, sync) ─► published ─► View
//!              ▲                                                                  │ free
//!              └──── free slots ◄──── readers (epochs: no view sees them) ◄───────┘
//! ```

mod ahead;
mod commit;
mod committer;
mod file;
mod format;
mod live;
mod reader;
mod readers;
mod recover;
mod shared;
mod sums;
mod view;
mod writer;

pub use file::{SlotFile, Verified};
pub use format::vector_crc;
pub use view::View;
pub use writer::Written;

pub(crate) use committer::Stamp;
pub(crate) use file::directory_of;
pub(crate) use format::metric_number;
pub(crate) use reader::Reader;
pub(crate) use shared::Opened;
pub(crate) use writer::Runs;
