//! Archives whose members become objects: the entries of tar archives, and the names that may become
//! keys. Seeds of an import and uploads that are extracted use the same rules.

mod entry;
mod tar;

pub use self::entry::{Entry, Kind, MINIO, cut_off, damaged, words};
pub use self::tar::{Body, Tar};
