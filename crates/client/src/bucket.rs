//! A bucket for programs that keep objects of their own in it, each written and read as a whole.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::error::{Again, Error, ServiceError};
use crate::keys::ServiceKeys;
use crate::s3::{
    Credentials, Endpoint, Entry, Listed, Lister, NotStored, Removal, S3, Scope, Settings, Style,
    connect_trusting,
};

/// A bucket of a service.
#[derive(Clone, Debug)]
pub struct BucketClient {
    pub(crate) s3: Arc<S3>,
    pub(crate) bucket: String,
}

/// A failure, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketError {
    /// There is no such object.
    #[error("{0}")]
    Missing(String),
    /// There is such an object already.
    #[error("{0}")]
    Exists(String),
    /// The service refuses this for good. The line says what to change.
    #[error("{0}")]
    Refused(String),
    /// The certificate of the service is of no authority that is trusted.
    #[error("{0}; add its authority to the file that SSL_CERT_FILE or AWS_CA_BUNDLE names")]
    Untrusted(String),
    /// The service fails or does not answer, even after repetitions: the same call may succeed later.
    #[error("{0}")]
    Broken(String),
    /// The service answers with the status 500, even after repetitions, as it does for an object that it cannot read.
    #[error("{reason}")]
    Failed {
        /// The answer.
        reason: String,
        /// The id of the request in the log of the service, if it tells one.
        request_id: Option<String>,
    },
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketObject {
    /// Key.
    pub key: String,
    /// Size.
    pub bytes: u64,
}

/// A listing in progress, page by page.
#[derive(Debug)]
pub struct BucketListing {
    lister: Lister,
    client: BucketClient,
}

/// Time without progress after which a connection counts as dead, and number of repetitions: few, since the
/// caller has more patience of its own.
const SETTINGS: Settings = Settings { idle: Duration::from_secs(30), retries: 2 };

impl BucketClient {
    /// The bucket of a service at a URL. Nothing is sent yet. Without keys, requests are anonymous.
    ///
    /// # Errors
    /// One line that says what to change.
    pub fn connect(
        url: &str,
        bucket: &str,
        keys: Option<ServiceKeys>,
        region: Option<&str>,
    ) -> Result<BucketClient, String> {
        BucketClient::connect_trusting(url, bucket, keys, region, None)
    }

    /// The same, which also trusts the certificate authorities in the PEM file `ca_file`.
    ///
    /// # Errors
    /// One line that says what to change.
    pub fn connect_trusting(
        url: &str,
        bucket: &str,
        keys: Option<ServiceKeys>,
        region: Option<&str>,
        ca_file: Option<&Path>,
    ) -> Result<BucketClient, String> {
        let endpoint = Endpoint::parse(url, Style::Auto)?;
        // The region of a bucket at another place of AWS is learned from the first answer.
        let region = region.or(endpoint.region()).unwrap_or("us-east-1").to_owned();
        let credentials = keys.map(Credentials::from);
        let s3 = S3::new(endpoint, credentials, region, connect_trusting(ca_file)?, SETTINGS);
        Ok(BucketClient { s3: Arc::new(s3), bucket: bucket.to_owned() })
    }

    /// Stores an object, in place of one that is there.
    ///
    /// # Errors
    /// [`BucketError`].
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<(), BucketError> {
        let stored = self.s3.put(&self.bucket, key, &headers(), bytes, None).await;
        stored.map_err(|error| self.told(error))
    }

    /// Stores an object, unless there is one of its key.
    ///
    /// # Errors
    /// [`BucketError::Exists`] if there is. After [`BucketError::Broken`] it may have been stored.
    pub async fn put_new(&self, key: &str, bytes: Bytes) -> Result<(), BucketError> {
        let stored = self.s3.put_new(&self.bucket, key, &headers(), bytes.clone()).await;
        let Err(NotStored { error, is_repeated }) = stored else { return Ok(()) };
        let exists = || BucketError::Exists(format!("the object '{key}' exists already"));
        match error.status() {
            Some(412) if !is_repeated => Err(exists()),
            // The answer to an earlier attempt may be lost, though it stored the object. With 409 another
            // request for the key was in flight, which may have failed since.
            Some(409 | 412) => match self.fetch(key, bytes.len() as u64).await {
                Ok(Some(stored)) if is_repeated && stored == bytes => Ok(()),
                Ok(_) => Err(exists()),
                Err(missing) if is_missing(&missing) => Err(BucketError::Broken(format!(
                    "another request for the object '{key}' failed; try again"
                ))),
                Err(error) => Err(self.told(error)),
            },
            _ => Err(self.told(error)),
        }
    }

    /// Replaces an object, if its bytes are still `old`.
    ///
    /// # Errors
    /// [`BucketError::Exists`] if they are others, and [`BucketError::Missing`]. After
    /// [`BucketError::Broken`] it may have been stored.
    pub async fn put_over(&self, key: &str, old: &Bytes, bytes: Bytes) -> Result<(), BucketError> {
        let exists = || BucketError::Exists(format!("the object '{key}' has been replaced"));
        let (etag, found) = self.get_tagged(key, old.len() as u64).await?;
        if found.as_ref() == Some(&bytes) {
            // The answer to an earlier call was lost.
            return Ok(());
        }
        if found.as_ref() != Some(old) {
            return Err(exists());
        }
        let tag = format!("\"{etag}\"");
        let condition = ("if-match", tag.as_str());
        let stored = self.s3.put_if(&self.bucket, key, &headers(), bytes.clone(), condition).await;
        let Err(NotStored { error, is_repeated }) = stored else { return Ok(()) };
        match error.status() {
            Some(409 | 412) => match self.get_tagged(key, bytes.len() as u64).await? {
                (_, Some(stored)) if is_repeated && stored == bytes => Ok(()),
                _ => Err(exists()),
            },
            _ if is_missing(&error) => {
                Err(BucketError::Missing(format!("the object '{key}' does not exist")))
            }
            _ => Err(self.told(error)),
        }
    }

    /// The entity tag of an object, and its bytes unless they are more than `bytes_max`.
    async fn get_tagged(
        &self,
        key: &str,
        bytes_max: u64,
    ) -> Result<(String, Option<Bytes>), BucketError> {
        match self.fetch_tagged(key, bytes_max).await {
            Err(error) if is_missing(&error) => {
                Err(BucketError::Missing(format!("the object '{key}' does not exist")))
            }
            found => found.map_err(|error| self.told(error)),
        }
    }

    /// Reads an object of up to `bytes_max` bytes. Its length is verified, and its digest if the service
    /// sends one.
    ///
    /// # Errors
    /// [`BucketError::Refused`] for a larger one, and the other errors.
    pub async fn get(&self, key: &str, bytes_max: u64) -> Result<Bytes, BucketError> {
        match self.fetch(key, bytes_max).await {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(BucketError::Refused(format!(
                "the object '{key}' has more than {bytes_max} bytes; see what wrote it"
            ))),
            Err(error) if is_missing(&error) => {
                Err(BucketError::Missing(format!("the object '{key}' does not exist")))
            }
            Err(error) => Err(self.told(error)),
        }
    }

    /// The objects whose keys begin with `prefix` and come after `after`, in the order of their keys.
    #[must_use]
    pub fn list(&self, prefix: &str, after: Option<&str>) -> BucketListing {
        let (bucket, prefix) = (self.bucket.clone(), prefix.to_owned());
        let scope = Scope { bucket, prefix, recursive: true, listed: Listed::Objects };
        let lister = Lister::new(&self.s3, scope);
        let lister = match after {
            Some(key) => lister.after(key),
            None => lister,
        };
        BucketListing { lister, client: self.clone() }
    }

    /// Deletes an object; a missing one is no error.
    ///
    /// # Errors
    /// [`BucketError`].
    pub async fn delete(&self, key: &str) -> Result<(), BucketError> {
        let removal = Removal { key: key.to_owned(), version: None };
        match self.s3.delete(&self.bucket, &removal, false).await {
            Err(error) if is_missing(&error) => Ok(()),
            result => result.map(drop).map_err(|error| self.told(error)),
        }
    }

    /// The bytes of an object; `None` for more than `bytes_max`.
    async fn fetch(&self, key: &str, bytes_max: u64) -> Result<Option<Bytes>, Error> {
        Ok(self.fetch_tagged(key, bytes_max).await?.1)
    }

    async fn fetch_tagged(
        &self,
        key: &str,
        bytes_max: u64,
    ) -> Result<(String, Option<Bytes>), Error> {
        let mut download = self.s3.download(&self.bucket, key, None, 0).await?;
        let etag = download.head.etag.clone();
        if download.head.size > bytes_max {
            return Ok((etag, None));
        }
        let mut bytes = BytesMut::with_capacity(download.head.size as usize);
        while let Some(chunk) = download.chunk().await? {
            bytes.extend_from_slice(&chunk);
        }
        Ok((etag, Some(bytes.freeze())))
    }

    fn told(&self, error: Error) -> BucketError {
        match error {
            Error::Service(error) => self.told_by_service(&error),
            Error::Transport { reason, remedy: Some(_), again: Again::None } => {
                BucketError::Untrusted(reason)
            }
            // Its remedy is for the command line.
            Error::Transport { reason, remedy: Some(_), .. } => BucketError::Broken(format!(
                "{reason}; see that the service runs, and that the endpoint is right"
            )),
            Error::Transport { reason, .. } => BucketError::Broken(reason),
            error => BucketError::Refused(error.to_string()),
        }
    }

    fn told_by_service(&self, error: &ServiceError) -> BucketError {
        let (bucket, url) = (&self.bucket, self.s3.endpoint().url());
        let remedy = match (error.status, error.code.as_str()) {
            (500, _) => {
                let reason = format!("{url}: {}", error.reason());
                return BucketError::Failed { reason, request_id: error.request_id.clone() };
            }
            (400, "RequestTimeout") | (408 | 429 | 502.., _) => {
                return BucketError::Broken(format!("{url}: {}", error.reason()));
            }
            (_, "NoSuchBucket") | (404, _) => {
                format!("make the bucket '{bucket}', or correct its name or the endpoint")
            }
            (_, "InvalidAccessKeyId" | "SignatureDoesNotMatch") => {
                "correct the access key and the secret key".to_owned()
            }
            (_, "ExpiredToken" | "TokenRefreshRequired" | "InvalidToken") => {
                "get new credentials for a session".to_owned()
            }
            (_, "RequestTimeTooSkewed") => "set the clock of this machine".to_owned(),
            (_, "InvalidObjectState") => "restore the object from its archive".to_owned(),
            (_, "XMinioAdminBucketQuotaExceeded") => {
                format!("raise the quota of the bucket '{bucket}', or remove objects from it")
            }
            (401 | 403, _) => format!(
                "give the user the rights s3:ListBucket, s3:GetObject, s3:PutObject and \
                 s3:DeleteObject for the bucket '{bucket}'"
            ),
            (300..=399, _) => "set the endpoint, or the region, of the bucket".to_owned(),
            _ => "see that the endpoint is one of S3 that knows this request".to_owned(),
        };
        BucketError::Refused(format!("{url}: {}; {remedy}", error.reason()))
    }
}

impl BucketListing {
    /// The next object; `None` at the end.
    ///
    /// # Errors
    /// [`BucketError`].
    pub async fn next(&mut self) -> Result<Option<BucketObject>, BucketError> {
        let next = self.lister.next().await.map_err(|error| self.client.told(error))?;
        Ok(next.map(|Entry { key, size: bytes, .. }| BucketObject { key, bytes }))
    }
}

fn headers() -> [(String, String); 1] {
    [("content-type".to_owned(), "application/octet-stream".to_owned())]
}

/// `true` if the bucket has no such object. A service that does not know the path at all answers 404 too, but
/// not with this code.
fn is_missing(error: &Error) -> bool {
    error.code() == "NoSuchKey"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> BucketClient {
        BucketClient::connect("http://localhost:1", "bucket", None, None).expect("an endpoint")
    }

    #[test]
    fn failures_that_pass_are_told_from_those_that_stay() {
        let rows = [
            (400, "RequestTimeout", None),
            (400, "ExpiredToken", Some("session")),
            (400, "InvalidRequest", Some("endpoint")),
            (400, "XMinioAdminBucketQuotaExceeded", Some("raise the quota of the bucket 'bucket'")),
            (301, "PermanentRedirect", Some("region")),
            (403, "AccessDenied", Some("s3:PutObject")),
            (403, "SignatureDoesNotMatch", Some("secret key")),
            (403, "RequestTimeTooSkewed", Some("clock")),
            (404, "NoSuchBucket", Some("make the bucket 'bucket'")),
            (404, "NotFound", Some("endpoint")),
            (429, "TooManyRequests", None),
            (500, "InternalError", None),
            (501, "NotImplemented", Some("endpoint")),
            (503, "SlowDown", None),
            (507, "InsufficientStorage", None),
        ];
        for (status, code, remedy) in rows {
            let error = ServiceError { status, code: code.to_owned(), ..ServiceError::default() };
            match (client().told(Error::Service(error)), remedy) {
                (BucketError::Refused(line), Some(remedy)) => {
                    assert!(line.contains(remedy) && !line.contains('\n'), "{line}");
                }
                (BucketError::Broken(line), None) => assert!(line.contains(code), "{line}"),
                (BucketError::Failed { reason, .. }, None) if status == 500 => {
                    assert!(reason.contains(code), "{reason}");
                }
                (told, _) => panic!("{status} {code}: {told:?}"),
            }
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let keys = ServiceKeys {
            access_key: "user".to_owned(),
            secret_key: "hush".to_owned(),
            session_token: Some("hush".to_owned()),
        };
        let client = BucketClient::connect("http://localhost:1", "b", Some(keys.clone()), None);
        let shown = format!("{keys:?} {:?}", client.expect("an endpoint"));
        assert!(shown.contains("user") && !shown.contains("hush"), "{shown}");
    }
}
