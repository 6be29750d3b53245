//! The S3 API: one table of operations, one file per family of operations.
//!
//! A request arrives authenticated, with its `Identity` in its extensions and a verified body. [`S3Service`] finds
//! its line in the table (`dispatch`), asks for the decision (`access`), and has s3s parse it into a typed input.
//! The handler calls the store. Reads of objects and PutObject bypass s3s.
//!
//! ```text
//! request ──► service ──► route ──► access ──► Granted ──► s3s: typed input ──► handler ──► Store
//!                           │                     └──► object_get (GetObject, HeadObject), object_put
//!                           └── dispatch: operation, action, parameters, handler
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | `service`, `route`, `query`, `dispatch` | The service; from method, path and query to an operation; the parameters, decoded once; the table |
//! | `access`, `access_log`, `context` | The question to `liteio_access`; requests for access logs; the facts of a request for conditions |
//! | `error`, `details`, `refusal` | The only map from `StoreError` to S3; elements of error documents; errors on their way out of s3s |
//! | `authorized`, `plain`, `document`, `document_rules`, `xml` | Authorized requests, and those for which s3s has no types; XML documents, and the table of their elements |
//! | `convert`, `headers`, `dates`, `answer`, `lenient`, `condition`, `header_text`, `metadata`, `checksum`, `encryption`, `encoded_word`, `tagging`, `event_cause`, `unsupported`, `request_headers` | Headers and values that operations share |
//! | `body_in`, `lane`, `body_out` | Bodies into the store, in batches on blocking threads; pieces of objects to the client |
//! | `object_get`, `object_put`, `put_request`, `object_copy`, `object_delete`, `object_rename`, `object_restore`, `object_annotation`, `object_list`, `object_attributes`, `object_tagging`, `object_lock`, `object_version`, `page_token` | Operations on objects |
//! | `multipart`, `part`, `completed_parts` | Multipart uploads |
//! | `bucket`, `bucket_…`, `lifecycle_times` | Operations on buckets and their settings, one file each; the times of lifecycle actions beside each other; `bucket_defaults` answers for settings that no bucket can have yet |
//! | `acl`, `acl_request`, `ownership` | ACLs of buckets and objects; whether they count, and whose new objects are |
//! | `website`, `website_rules` | Websites of buckets |
//! | [`archive`], `snowball` | tar archives, for seeds and for MinIO's uploads whose members become objects |
//! | `force_delete`, `listen` | MinIO's deletes of everything below a name; its stream of events |
//! | [`foreign`] | Documents of buckets of other stores, for imports |
//! | `limits` | Limits of XML, metadata, tags and batches |
//!
//! The crate must not know sockets, TLS, IAM or names of buckets: a handler gets a `Granted`. Only `lane` reaches
//! blocking threads itself; other reads go through `App`. Nothing imports `dispatch`.
//!
//! ```
//! use http::Request;
//! use liteio_wire::origin::{Domains, Entrance, Target};
//!
//! let uri = "/photos/cat.jpg?partNumber=1&uploadId=7";
//! let (head, ()) = Request::put(uri).body(())?.into_parts();
//! let target = Target::of(&head, &Domains::new(Vec::new(), "us-east-1"), Entrance::All);
//! assert_eq!((target.bucket(), target.key()), ("photos", "cat.jpg"));
//!
//! assert_eq!(liteio_s3::operation_of(&head, &target), Some("UploadPart"));
//! assert_eq!(liteio_s3::known_operation("UploadParts"), None);
//! # Ok::<(), http::Error>(())
//! ```

mod access;
mod access_log;
mod acl;
mod acl_request;
mod answer;
pub mod archive;
mod authorized;
mod body_in;
mod body_out;
mod bucket;
mod bucket_abac;
mod bucket_configurations;
mod bucket_cors;
mod bucket_defaults;
mod bucket_encryption;
pub mod bucket_inventory;
mod bucket_lifecycle;
pub mod bucket_logging;
mod bucket_notification;
mod bucket_ownership;
mod bucket_policy;
mod bucket_public_access;
mod bucket_replication;
mod bucket_settings;
mod bucket_versioning;
mod bucket_website;
mod checksum;
mod completed_parts;
mod condition;
mod context;
mod control;
mod convert;
mod cut;
mod dates;
mod details;
mod directory_bucket;
mod dispatch;
mod document;
mod document_rules;
mod encoded_word;
mod encryption;
mod error;
mod event_cause;
mod event_hold;
mod force_delete;
pub mod foreign;
mod header_text;
mod headers;
mod lane;
mod lenient;
mod lifecycle_times;
mod limits;
mod listen;
mod metadata;
#[cfg(test)]
mod model_tests;
mod multipart;
mod object_annotation;
mod object_attributes;
mod object_copy;
mod object_delete;
mod object_get;
mod object_list;
mod object_lock;
mod object_put;
mod object_rename;
mod object_restore;
mod object_tagging;
mod object_version;
mod ownership;
mod page_token;
mod part;
mod plain;
mod put_request;
mod query;
mod refusal;
mod replica;
pub mod replication;
mod replication_status;
mod request_headers;
mod route;
mod service;
mod snowball;
mod tagging;
mod unsupported;
mod website;
mod website_rules;
mod xml;

use std::sync::Arc;

use s3s::{S3Request, S3Response, S3Result};

pub use self::document::holds_body;
pub use self::route::{Level, known_operation, level_of, operation_names, operation_of};
pub use self::service::S3Service;
use liteio_access::state::App;

type Req<T> = S3Request<T>;
type Resp<T> = S3Result<S3Response<T>>;

/// The state that the operations share.
struct S3Api {
    app: Arc<App>,
}
