//! Metadata that clients give their objects. Part of records: a new field needs a new record
//! version.

use serde::{Deserialize, Serialize};

/// The owner of a bucket, an object or an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Canonical id.
    pub id: String,
    /// Display name.
    pub display_name: String,
}

/// Headers that are stored with an object and sent with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHeaders {
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Cache-Control`.
    pub cache_control: Option<String>,
    /// `Content-Disposition`.
    pub content_disposition: Option<String>,
    /// `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// `Content-Language`.
    pub content_language: Option<String>,
    /// `Expires`, as it was sent.
    pub expires: Option<String>,
    /// `x-amz-website-redirect-location`.
    pub website_redirect_location: Option<String>,
}

/// Metadata that a client gives an object.
// The storage class comes first, because listings show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectMetadata {
    /// `x-amz-storage-class`; `None` for `STANDARD`.
    pub storage_class: Option<String>,
    /// Headers.
    pub headers: ContentHeaders,
    /// User metadata: lower-case names without `x-amz-meta-`, values as sent.
    pub user: Vec<(String, String)>,
    /// Tags.
    pub tags: Vec<(String, String)>,
}
