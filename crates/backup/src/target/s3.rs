//! [`S3Target`]: a bucket of any S3, or the part of it below a prefix.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;

use bytes::Bytes;
use liteio_client::{BucketClient, BucketError, ServiceKeys};
use tokio::runtime::{Builder, Runtime};

use super::name::{check, check_object, is_name};
use super::{Listed, PutMode, Target, TargetError};
use crate::limits::OBJECT_BYTES_MAX;

/// The service of an S3 target, and the keys of its user.
#[derive(Clone, Default)]
pub struct S3Settings {
    /// URL of the service; by default that of AWS in the region.
    pub endpoint: Option<String>,
    /// Region; by default that in the endpoint of AWS, or `us-east-1`. The service may name another.
    pub region: Option<String>,
    /// Access key.
    pub access_key: Option<String>,
    /// Secret key.
    pub secret_key: Option<String>,
    /// Session token of temporary keys.
    pub session_token: Option<String>,
    /// PEM file of certificate authorities to trust in addition.
    pub ca_file: Option<PathBuf>,
}

/// A bucket, or the part of it below a prefix. The service must know `If-None-Match` for
/// [`PutMode::New`] and `If-Match` for [`Target::swap`], as AWS does since 2024: one that ignores
/// them replaces what is there.
#[derive(Debug)]
pub struct S3Target {
    client: BucketClient,
    bucket: String,
    /// Empty, or with a slash at the end.
    prefix: String,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl S3Target {
    /// The objects of a bucket below a prefix. Nothing is sent yet.
    ///
    /// # Errors
    /// One line that says what to change.
    pub fn new(bucket: &str, prefix: &str, settings: &S3Settings) -> Result<Self, String> {
        let url = settings.url();
        let region = settings.region.as_deref();
        let (keys, ca_file) = (Some(settings.keys()?), settings.ca_file.as_deref());
        let client = BucketClient::connect_trusting(&url, bucket, keys, region, ca_file)?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
        let slash = if prefix.is_empty() { "" } else { "/" };
        let prefix = format!("{prefix}{slash}");
        Ok(Self { client, bucket: bucket.to_owned(), prefix, runtime: Some(runtime) })
    }

    fn wait<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("it is not dropped").block_on(call)
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Goes on with a listing of names in ascending order.
    fn go_on(
        &self,
        key: &str,
        bytes: u64,
        last: &mut String,
        found: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, TargetError> {
        let name = key.strip_prefix(&self.prefix).unwrap_or_default();
        // Objects of others, such as folders that consoles make.
        if !is_name(name) {
            return Ok(ControlFlow::Continue(()));
        }
        if name <= last.as_str() {
            return Err(TargetError::Refused(format!(
                "{} does not list its objects in the order of their names; choose a bucket of \
                 a general kind",
                self.shown()
            )));
        }
        name.clone_into(last);
        Ok(found(Listed { name: name.to_owned(), bytes }))
    }
}

impl Target for S3Target {
    fn put(&self, name: &str, bytes: Bytes, mode: PutMode) -> Result<(), TargetError> {
        check_object(name, &bytes)?;
        let key = self.key(name);
        let stored = self.wait(async {
            match mode {
                PutMode::New => self.client.put_new(&key, bytes).await,
                PutMode::Replace => self.client.put(&key, bytes).await,
            }
        });
        stored.map_err(|error| told(name, error))
    }

    fn swap(&self, name: &str, old: Option<&Bytes>, bytes: Bytes) -> Result<(), TargetError> {
        check_object(name, &bytes)?;
        let key = self.key(name);
        let Some(old) = old else {
            let stored = self.wait(self.client.put_new(&key, bytes.clone()));
            return match stored.map_err(|error| told(name, error)) {
                // Of an earlier call, whose answer was lost.
                Err(TargetError::Exists { .. }) if self.get(name)? == bytes => Ok(()),
                stored => stored,
            };
        };
        self.wait(self.client.put_over(&key, old, bytes)).map_err(|error| told(name, error))
    }

    fn get(&self, name: &str) -> Result<Bytes, TargetError> {
        check(name)?;
        let read = self.wait(self.client.get(&self.key(name), OBJECT_BYTES_MAX));
        read.map_err(|error| match error {
            BucketError::Failed { reason, request_id } => {
                TargetError::Unreadable { name: name.to_owned(), reason, request_id }
            }
            error => told(name, error),
        })
    }

    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        found: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let after = after.filter(|it| !it.is_empty());
        let from = after.map(|it| self.key(it));
        let mut listing = self.client.list(&self.key(prefix), from.as_deref());
        let mut last = after.unwrap_or_default().to_owned();
        // `found` is called outside of the runtime: it may call this target.
        while let Some(object) = self.wait(listing.next()).map_err(|error| told(prefix, error))? {
            if self.go_on(&object.key, object.bytes, &mut last, found)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), TargetError> {
        check(name)?;
        self.wait(self.client.delete(&self.key(name))).map_err(|error| told(name, error))
    }

    fn shown(&self) -> String {
        let shown = format!("s3://{}/{}", self.bucket, self.prefix);
        shown.trim_end_matches('/').to_owned()
    }
}

impl Drop for S3Target {
    fn drop(&mut self) {
        // The last owner may be an asynchronous task, which must not wait for threads.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl S3Settings {
    fn url(&self) -> String {
        match (&self.endpoint, &self.region) {
            (Some(endpoint), _) => endpoint.clone(),
            (None, Some(region)) => format!("https://s3.{region}.amazonaws.com"),
            // For this host the client learns the region of the bucket.
            (None, None) => "https://s3.amazonaws.com".to_owned(),
        }
    }

    /// The keys: a backup that anybody can write to is a mistake, so there must be some.
    fn keys(&self) -> Result<ServiceKeys, String> {
        let given = |key: &Option<String>| key.clone().filter(|it| !it.is_empty());
        match (given(&self.access_key), given(&self.secret_key)) {
            (Some(access_key), Some(secret_key)) => Ok(ServiceKeys {
                access_key,
                secret_key,
                session_token: given(&self.session_token),
            }),
            (Some(_), None) => {
                Err("the backup's access key has no secret key: give both".to_owned())
            }
            (None, Some(_)) => {
                Err("the backup's secret key has no access key: give both".to_owned())
            }
            (None, None) => {
                Err("a backup to s3:// needs an access key and a secret key: give both".to_owned())
            }
        }
    }
}

// Secrets are never shown.
impl fmt::Debug for S3Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("S3Settings")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}

fn told(name: &str, error: BucketError) -> TargetError {
    match error {
        BucketError::Missing(_) => TargetError::not_found(name),
        BucketError::Exists(_) => TargetError::exists(name),
        BucketError::Refused(reason) => TargetError::Refused(reason),
        BucketError::Untrusted(reason) => TargetError::Refused(format!(
            "{reason}; add its authority to the file that --ca-file (LITEIO_CA_FILE) names"
        )),
        // Without the id of the request: a log tells a reason once, as long as it is the same.
        BucketError::Failed { reason, .. } if !name.is_empty() => {
            TargetError::Broken(format!("{name} of the backup: {reason}"))
        }
        BucketError::Failed { reason, .. } | BucketError::Broken(reason) => {
            TargetError::Broken(reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::open;

    fn settings() -> S3Settings {
        S3Settings {
            endpoint: Some("http://localhost:1".to_owned()),
            access_key: Some("user".to_owned()),
            secret_key: Some("hush".to_owned()),
            session_token: Some("hush".to_owned()),
            ..S3Settings::default()
        }
    }

    #[test]
    fn what_is_missing_is_named_and_secrets_are_not_shown() {
        let target = open("s3://bucket/pre/fix/", &settings()).expect("complete");
        assert_eq!(target.shown(), "s3://bucket/pre/fix");
        let shown = format!("{target:?} {:?}", settings());
        assert!(shown.contains("user") && !shown.contains("hush"), "{shown}");

        let no = |change: fn(&mut S3Settings)| {
            let mut settings = settings();
            change(&mut settings);
            open("s3://bucket", &settings).expect_err("something is wrong")
        };
        assert!(no(|it| it.access_key = None).contains("no access key"));
        assert!(no(|it| it.secret_key = Some(String::new())).contains("no secret key"));
        assert!(no(|it| it.endpoint = Some("localhost".to_owned())).contains("http(s)://"));
        assert!(no(|it| (it.access_key, it.secret_key) = (None, None)).contains("needs"));
    }

    #[test]
    fn aws_is_the_default_service() {
        let url = |region: Option<&str>| {
            S3Settings { region: region.map(str::to_owned), ..S3Settings::default() }.url()
        };
        assert_eq!(url(Some("eu-west-1")), "https://s3.eu-west-1.amazonaws.com");
        assert_eq!(url(None), "https://s3.amazonaws.com");
    }
}
