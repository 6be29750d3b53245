//! Files: their names, walks over them, and atomic writes.

mod content_type;
mod name;
mod place;
mod walk;
mod write;

pub use content_type::content_type;
pub(crate) use name::RelativeName;
pub(crate) use place::Local;
pub(crate) use walk::Walk;
pub(crate) use write::{NewFile, persist};
