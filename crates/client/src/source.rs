//! A source for imports: a service, with its buckets, their settings, and all versions of their
//! objects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;

use crate::error::Error;
use crate::keys::ServiceKeys;
use crate::s3::{
    Credentials, Download, Endpoint, Listed, Lister, S3, Scope, Settings, Style, connect,
};

/// A service to read.
#[derive(Clone, Debug)]
pub struct Source {
    s3: Arc<S3>,
}

/// A failure to read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The service refuses this object or setting, or fails at it.
    #[error("{0}")]
    Refused(String),
    /// There is no such object or setting.
    #[error("{0}")]
    Missing(String),
    /// The service does not accept the keys, so it will refuse every request.
    #[error("{line}")]
    Keys {
        /// The answer of the service.
        line: String,
        /// The key to correct.
        wrong: WrongKey,
    },
    /// The service does not answer, even after repetitions.
    #[error("{0}")]
    Broken(String),
}

/// The key that a service does not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongKey {
    /// The access key.
    Access,
    /// The secret key.
    Secret,
    /// The session token.
    Session,
}

impl WrongKey {
    /// The key that an error of this code is about.
    fn of_code(code: &str) -> Option<WrongKey> {
        Some(match code {
            "InvalidAccessKeyId" => WrongKey::Access,
            "SignatureDoesNotMatch" => WrongKey::Secret,
            "ExpiredToken" | "TokenRefreshRequired" | "InvalidToken" => WrongKey::Session,
            _ => return None,
        })
    }
}

/// A version of an object, or a delete marker, in a listing.
#[derive(Clone, Debug)]
pub struct SourceEntry {
    /// Key.
    pub key: String,
    /// Version, if the listing has versions.
    pub version: Option<String>,
    /// `true` for a delete marker.
    pub is_delete_marker: bool,
    /// Size.
    pub bytes: u64,
    /// Entity tag, without quotes.
    pub etag: String,
    /// Time of the write, in milliseconds since 1970, if the service reports it.
    pub modified_ms: Option<u64>,
}

/// A listing in progress: entries in the order of their keys, the newest version of a key first.
#[derive(Debug)]
pub struct SourceListing(Lister);

/// An object whose bytes are being read.
pub struct SourceObject {
    download: Download,
    /// Headers of the answer, with names in lower case. Values that are not text are left out.
    pub headers: BTreeMap<String, String>,
}

impl Source {
    /// Connects to a service by its URL. Without keys, requests are anonymous.
    ///
    /// # Errors
    /// One line that says what to change.
    pub fn connect(url: &str, keys: Option<ServiceKeys>, region: &str) -> Result<Source, String> {
        let endpoint = Endpoint::parse(url, Style::Auto)?;
        let credentials = keys.map(Credentials::from);
        let settings = Settings { idle: Duration::from_secs(60), retries: 5 };
        let http = connect(false, None)?;
        let s3 = S3::new(endpoint, credentials, region.to_owned(), http, settings);
        Ok(Source { s3: Arc::new(s3) })
    }

    /// Names of the buckets of the user.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn buckets(&self) -> Result<Vec<String>, SourceError> {
        let buckets = self.s3.buckets().await.map_err(told)?;
        Ok(buckets.into_iter().map(|bucket| bucket.key).collect())
    }

    /// `Enabled`, `Suspended`, or empty if the bucket never had versioning.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn versioning(&self, bucket: &str) -> Result<String, SourceError> {
        self.s3.versioning(bucket).await.map_err(told)
    }

    /// A setting of a bucket as the service sends it. `parameter` is its query parameter, such as
    /// `lifecycle`.
    ///
    /// # Errors
    /// [`SourceError::Missing`] if the bucket has none.
    pub async fn setting(&self, bucket: &str, parameter: &str) -> Result<Bytes, SourceError> {
        self.s3.raw_setting(bucket, parameter).await.map_err(told)
    }

    /// The objects below a prefix, or all their versions.
    #[must_use]
    pub fn list(&self, bucket: &str, prefix: &str, versions: bool) -> SourceListing {
        let listed = if versions { Listed::Versions } else { Listed::Objects };
        let (bucket, prefix) = (bucket.to_owned(), prefix.to_owned());
        SourceListing(Lister::new(&self.s3, Scope { bucket, prefix, recursive: true, listed }))
    }

    /// Begins to read an object.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn open(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
    ) -> Result<SourceObject, SourceError> {
        let download = self.s3.download(bucket, key, version, 0).await.map_err(told)?;
        let headers = texts(&download.head.headers);
        Ok(SourceObject { download, headers })
    }

    /// Size of a part of an object that was uploaded in parts, and the number of parts; `None` if
    /// the service does not report it.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn part(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
        number: u32,
    ) -> Result<Option<(u64, u32)>, SourceError> {
        let head = self.s3.head_part(bucket, key, version, number).await.map_err(told)?;
        let count = head.headers.get("x-amz-mp-parts-count").and_then(|it| it.to_str().ok());
        Ok(count.and_then(|count| Some((head.size, count.parse().ok()?))))
    }

    /// The tags of an object.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn tags(
        &self,
        bucket: &str,
        key: &str,
        version: Option<&str>,
    ) -> Result<Vec<(String, String)>, SourceError> {
        self.s3.tags(bucket, key, version).await.map_err(told)
    }
}

impl SourceListing {
    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn next(&mut self) -> Result<Option<SourceEntry>, SourceError> {
        let Some(entry) = self.0.next().await.map_err(told)? else { return Ok(None) };
        let modified_ms = entry.modified.and_then(|time| u64::try_from(time.as_millisecond()).ok());
        Ok(Some(SourceEntry {
            key: entry.key,
            version: entry.version,
            is_delete_marker: entry.is_delete_marker,
            bytes: entry.size,
            etag: entry.etag,
            modified_ms,
        }))
    }
}

impl SourceObject {
    /// Size of the object.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.download.head.size
    }

    /// The next bytes. The end is reported only after the digest of all bytes was compared, if the
    /// service sends one.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, SourceError> {
        self.download.chunk().await.map_err(told)
    }
}

impl std::fmt::Debug for SourceObject {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SourceObject")
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

fn texts(headers: &HeaderMap) -> BTreeMap<String, String> {
    let texts = headers.iter().filter_map(|(name, value)| {
        let value = std::str::from_utf8(value.as_bytes()).ok()?;
        Some((name.as_str().to_owned(), value.to_owned()))
    });
    texts.collect()
}

fn told(error: Error) -> SourceError {
    let line = error.line();
    match (WrongKey::of_code(error.code()), error.status()) {
        (Some(wrong), _) => SourceError::Keys { line, wrong },
        (None, Some(404)) => SourceError::Missing(line),
        (None, Some(_)) => SourceError::Refused(line),
        (None, None) => SourceError::Broken(line),
    }
}
