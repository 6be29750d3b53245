//! Objects: their heads, putting, copying and deleting them.

use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::Timestamp;

use super::document::escaped;
use super::encode::{encoded, encoded_path};
use super::exchange::S3;
use super::request::{Request, Sent};
use crate::error::Error;
use crate::text::of_http;

/// The head of an object.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) size: u64,
    pub(crate) modified: Option<Timestamp>,
    /// Without quotes.
    pub(crate) etag: String,
    pub(crate) version: Option<String>,
    pub(crate) headers: HeaderMap,
}

/// The object that is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopySource<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    pub(crate) version: Option<&'a str>,
    /// ETag that the source must still have, unless empty.
    pub(crate) etag: &'a str,
}

/// An object or version that is deleted.
#[derive(Clone, Debug)]
pub(crate) struct Removal {
    pub(crate) key: String,
    pub(crate) version: Option<String>,
}

/// Outcome of one deletion.
#[derive(Debug)]
pub(crate) struct Removed {
    pub(crate) key: String,
    pub(crate) version: Option<String>,
    /// Version of the delete marker that was made.
    pub(crate) marker: Option<String>,
    pub(crate) error: Option<String>,
}

/// A failure to store an object that must be new.
#[derive(Debug)]
pub(crate) struct NotStored {
    pub(crate) error: Error,
    /// `true` if the request was repeated: an earlier attempt may have stored the object.
    pub(crate) is_repeated: bool,
}

/// Headers that users may set on an object.
const CONTENT_HEADERS: [&str; 6] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
];

/// Limit of deletions in one request.
pub(crate) const REMOVALS_MAX: usize = 1000;

impl Head {
    pub(super) fn of(headers: &HeaderMap, size: u64) -> Head {
        let value = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
        Head {
            size,
            modified: value("last-modified").and_then(of_http),
            etag: value("etag").unwrap_or_default().trim_matches('"').to_owned(),
            version: value("x-amz-version-id").map(ToOwned::to_owned),
            headers: headers.clone(),
        }
    }

    /// Headers that give a copy the same metadata.
    pub(crate) fn metadata(&self) -> Vec<(String, String)> {
        let is_kept =
            |name: &str| CONTENT_HEADERS.contains(&name) || name.starts_with("x-amz-meta-");
        let text = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        self.headers.iter().filter(|(name, _)| is_kept(name.as_str())).filter_map(text).collect()
    }
}

impl S3 {
    /// The head of one part of an object.
    pub(crate) async fn head_part(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
        number: u32,
    ) -> Result<Head, Error> {
        let request = Request::new(Method::HEAD, bucket, key)
            .query("partNumber", &number.to_string())
            .query_if("versionId", version);
        let response = self.send(&request).await?;
        let size = response.header("content-length").and_then(|it| it.parse().ok());
        let size = size.ok_or_else(|| Error::transport("the service told no size"))?;
        Ok(Head::of(&response.headers, size))
    }

    pub(crate) async fn head(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
    ) -> Result<Head, Error> {
        let request = Request::new(Method::HEAD, bucket, key)
            .query_if("versionId", version)
            .header("x-amz-checksum-mode", "ENABLED");
        match self.send(&request).await {
            Ok(response) => {
                let size = response.header("content-length").and_then(|it| it.parse().ok());
                let size = size.ok_or_else(|| Error::transport("the service told no size"))?;
                Ok(Head::of(&response.headers, size))
            }
            Err(Error::Service(mut error)) if error.status == 404 => {
                error.message = format!("the object '{key}' does not exist");
                Err(Error::Service(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Stores a whole object; returns its ETag.
    pub(crate) async fn put(
        &self,
        bucket: &str,
        key: &str,
        headers: &[(String, String)],
        body: Bytes,
        sent: Option<Sent>,
    ) -> Result<(), Error> {
        let mut request = Request::new(Method::PUT, bucket, key).headers(headers).body(body);
        request.sent = sent;
        self.send(&request).await.map(drop)
    }

    /// Stores a whole object, unless there is one of its key.
    pub(crate) async fn put_new(
        &self,
        bucket: &str,
        key: &str,
        headers: &[(String, String)],
        body: Bytes,
    ) -> Result<(), NotStored> {
        self.put_if(bucket, key, headers, body, ("if-none-match", "*")).await
    }

    /// Stores a whole object, if a condition about the one of its key holds.
    pub(crate) async fn put_if(
        &self,
        bucket: &str,
        key: &str,
        headers: &[(String, String)],
        body: Bytes,
        condition: (&str, &str),
    ) -> Result<(), NotStored> {
        let request = Request::new(Method::PUT, bucket, key).headers(headers).body(body);
        let request = request.header(condition.0, condition.1);
        let (result, repetitions) = self.send_counted(&request).await;
        let not_stored = |error| NotStored { error, is_repeated: repetitions > 0 };
        result.map(drop).map_err(not_stored)
    }

    /// Copies within the service. Given headers replace the metadata of the source.
    pub(crate) async fn copy(
        &self,
        source: CopySource<'_>,
        bucket: &str,
        key: &str,
        headers: &[(String, String)],
    ) -> Result<(), Error> {
        let mut request = Request::new(Method::PUT, bucket, key).copy_from(source).headers(headers);
        let replaced = headers.iter().any(|(name, _)| {
            CONTENT_HEADERS.contains(&name.as_str()) || name.starts_with("x-amz-meta-")
        });
        if replaced {
            request = request.header("x-amz-metadata-directive", "REPLACE");
        }
        if headers.iter().any(|(name, _)| name == "x-amz-tagging") {
            request = request.header("x-amz-tagging-directive", "REPLACE");
        }
        self.send(&request).await?.document().await.map(drop)
    }

    /// Deletes one object or version, and returns the outcome.
    pub(crate) async fn delete(
        &self,
        bucket: &str,
        removal: &Removal,
        bypass: bool,
    ) -> Result<Removed, Error> {
        if removal.key.is_empty() {
            // The service would delete the bucket.
            return Err(Error::refused(format!("'{bucket}' names no object")));
        }
        let mut request = Request::new(Method::DELETE, bucket, &removal.key)
            .query_if("versionId", removal.version.as_deref());
        if bypass {
            request = request.header("x-amz-bypass-governance-retention", "true");
        }
        let response = self.send(&request).await?;
        let is_marker = response.header("x-amz-delete-marker") == Some("true");
        let version = response.header("x-amz-version-id").map(ToOwned::to_owned);
        Ok(Removed {
            key: removal.key.clone(),
            version: removal.version.clone(),
            marker: version.filter(|_| is_marker && removal.version.is_none()),
            error: None,
        })
    }

    /// Deletes up to [`REMOVALS_MAX`] objects or versions.
    pub(crate) async fn delete_many(
        &self,
        bucket: &str,
        removals: &[Removal],
        bypass: bool,
    ) -> Result<Vec<Removed>, Error> {
        assert!(removals.len() <= REMOVALS_MAX, "S3 would refuse the request");
        let objects: String = removals
            .iter()
            .map(|it| {
                let version = match &it.version {
                    Some(version) => format!("<VersionId>{}</VersionId>", escaped(version)),
                    None => String::new(),
                };
                format!("<Object><Key>{}</Key>{version}</Object>", escaped(&it.key))
            })
            .collect();
        let document =
            format!("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{objects}</Delete>");
        let mut request =
            Request::new(Method::POST, bucket, "").query("delete", "").document(document);
        // Idempotent.
        request.repeatable = true;
        if bypass {
            request = request.header("x-amz-bypass-governance-retention", "true");
        }
        let answer = self.send(&request).await?.document().await?;
        let mut removed = Vec::new();
        for element in answer.children() {
            let text = |name: &str| element.text(name).map(ToOwned::to_owned);
            let key = text("Key").unwrap_or_default();
            let version = text("VersionId").filter(|it| !it.is_empty());
            removed.push(match element.name.as_str() {
                "Deleted" => {
                    let marker = text("DeleteMarkerVersionId").filter(|_| version.is_none());
                    Removed { key, version, marker, error: None }
                }
                "Error" => {
                    let (message, code) = (text("Message"), text("Code"));
                    let message = message.unwrap_or_default();
                    let reason = format!("{message} ({})", code.unwrap_or_default());
                    Removed { key, version, marker: None, error: Some(reason) }
                }
                _ => continue,
            });
        }
        Ok(removed)
    }
}

impl Request {
    pub(super) fn copy_from(self, source: CopySource<'_>) -> Request {
        let CopySource { bucket, key, version, etag } = source;
        let version = version.map(|it| format!("?versionId={}", encoded(it))).unwrap_or_default();
        let path = format!("/{}/{}{version}", encoded(bucket), encoded_path(key));
        let mut request = self.header("x-amz-copy-source", path);
        if !etag.is_empty() {
            request = request.header("x-amz-copy-source-if-match", format!("\"{etag}\""));
        }
        request.slow = true;
        request
    }
}
