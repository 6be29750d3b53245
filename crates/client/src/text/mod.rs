//! Values as users write and read them.

mod count;
mod duration;
mod pattern;
mod size;
mod table;
mod time;

pub(crate) use count::count;
pub(crate) use duration::in_words;
pub use duration::parse_duration;
pub(crate) use pattern::{Flat, Glob};
pub(crate) use size::{human, human_narrow, parse_size};
pub(crate) use table::{Side, table};
pub(crate) use time::{for_people, of_http, of_iso, of_system};
