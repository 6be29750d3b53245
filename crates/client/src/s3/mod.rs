//! The protocol: [`S3`] has a method for each operation that the verbs need.

mod admin;
mod bucket;
mod checksum;
mod connect;
mod document;
mod download;
mod encode;
mod endpoint;
mod exchange;
mod listing;
mod multipart;
mod object;
mod presign;
mod request;
mod settings;
mod sign;
mod tree;

pub(crate) use admin::AdminCall;
pub(crate) use bucket::Bucket;
pub use checksum::md5_base64;
pub(crate) use connect::{Http, connect};
pub use document::escaped;
pub(crate) use document::{is_error_document, pairs_in_document, text_in_document};
pub(crate) use download::Download;
pub(crate) use encode::decoded;
pub use encode::tags_header;
pub(crate) use endpoint::{Endpoint, Style};
pub(crate) use exchange::{S3, Settings};
pub(crate) use listing::{Entry, Listed, Lister, Scope};
pub(crate) use multipart::{Part, Span, Upload};
pub(crate) use object::{CopySource, Head, NotStored, REMOVALS_MAX, Removal, Removed};
pub(crate) use request::{Request, Sent};
pub(crate) use settings::{EventHold, Locked, Retention};
pub(crate) use sign::Credentials;
pub(crate) use tree::Shape;
