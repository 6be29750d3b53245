//! Multipart uploads.

mod complete;
mod list;
mod part;
mod seal;
mod since;
pub(crate) mod upload;

pub use complete::{CompleteOptions, CompletePart};
pub use list::{ListUploadsQuery, PartPage, UploadEntry, UploadPage};
pub use part::{CopyPartOptions, CopyPartOutcome, Part};
pub(crate) use upload::end;
pub use upload::{Upload, UploadOptions};
