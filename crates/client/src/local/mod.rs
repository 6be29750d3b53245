//! Files: their names, walking over them, and writing them so that no half of one is ever seen.

mod content_type;
mod name;
mod walk;
mod write;

pub use content_type::content_type;
pub(crate) use name::below;
pub(crate) use walk::Walk;
pub(crate) use write::{NewFile, persist};
