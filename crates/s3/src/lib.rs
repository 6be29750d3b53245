//! The S3 API: one table of operations, one file per family of them.
//!
//! A request arrives authenticated, with its `Identity` in its extensions and a plain body.
//! [`S3Service`] passes it to s3s, which parses it into a typed input, calls [`access`] for the decision,
//! and then the operation in the table of [`dispatch`]. [`error`] alone maps errors of the store to those of
//! S3.

mod access;
mod acl;
mod acl_request;
mod body_in;
mod body_out;
mod bucket;
mod bucket_abac;
mod bucket_configurations;
mod bucket_cors;
mod bucket_defaults;
mod bucket_encryption;
mod bucket_lifecycle;
mod bucket_notification;
mod bucket_ownership;
mod bucket_policy;
mod bucket_public_access;
mod bucket_settings;
mod bucket_versioning;
mod bucket_website;
mod checksum;
mod completed_parts;
mod condition;
mod context;
mod convert;
mod dispatch;
mod document;
mod document_rules;
mod encryption;
mod error;
mod event_cause;
pub mod foreign;
mod lane;
mod lenient;
mod limits;
mod metadata;
mod multipart;
mod object_attributes;
mod object_copy;
mod object_delete;
mod object_get;
mod object_list;
mod object_lock;
mod object_put;
mod object_rename;
mod object_tagging;
mod object_version;
mod page_token;
mod part;
mod plain;
mod refusal;
mod route;
mod service;
mod tagging;
mod unsupported;
mod website;
mod website_rules;
mod xml;

use std::sync::Arc;

use s3s::{S3Request, S3Response, S3Result};

pub use self::document::holds_body;
pub use self::route::{known_operation, operation_names, operation_of};
pub use self::service::S3Service;
use liteio_access::state::App;

type Req<T> = S3Request<T>;
type Resp<T> = S3Result<S3Response<T>>;

/// The state that the operations share.
struct S3Api {
    app: Arc<App>,
}
