//! The clients of tiers.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;

use bytes::Bytes;
use http::Method;
use liteio_access::tiers::{Tier, TierFigures, Tiers};
use liteio_client::{
    BucketAnswer, BucketCall, BucketClient, CallBody, CallError, ServiceKeys, md5_base64,
};
use liteio_store::{TierBodies, TierError};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::limits::READ_MAX;

/// A failed request to a tier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TierFailure(pub String);

impl From<CallError> for TierFailure {
    fn from(error: CallError) -> TierFailure {
        TierFailure(error.line)
    }
}

/// The clients of all tiers.
#[derive(Debug)]
pub(crate) struct Remotes {
    tiers: Arc<Tiers>,
    runtime: Handle,
    clients: Mutex<HashMap<String, Arc<Remote>>>,
}

/// The client of a tier.
#[derive(Debug)]
pub(crate) struct Remote {
    tier: Arc<Tier>,
    pub(crate) figures: Arc<TierFigures>,
    client: BucketClient,
}

impl Remotes {
    pub(crate) fn new(tiers: Arc<Tiers>) -> Remotes {
        Remotes { tiers, runtime: Handle::current(), clients: Mutex::default() }
    }

    /// The client of the tier with this name.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Remote>, TierFailure> {
        let missing = || {
            TierFailure(format!("the tier {name} is not configured: configure it as it was before"))
        };
        let (tier, figures) = self.tiers.get(name).ok_or_else(missing)?;
        let mut clients = self.clients.lock();
        if let Some(known) = clients.get(name).filter(|known| Arc::ptr_eq(&known.tier, &tier)) {
            return Ok(Arc::clone(known));
        }
        let remote = Arc::new(Remote::new(tier, figures)?);
        clients.insert(name.to_owned(), Arc::clone(&remote));
        Ok(remote)
    }
}

impl TierBodies for Remotes {
    fn tier_of(&self, class: &str) -> Option<String> {
        self.tiers.of_class(class)
    }

    fn read(&self, tier: &str, name: &str, range: Range<u64>) -> Result<Bytes, TierError> {
        let remote = self.get(tier).map_err(|failure| TierError::Unavailable(failure.0))?;
        let (sender, receiver) = sync_channel(1);
        let (of_task, name) = (Arc::clone(&remote), name.to_owned());
        // The calling thread belongs to no task, so it waits for one.
        let task = self.runtime.spawn(async move {
            let _ = sender.send(of_task.read(&name, range).await);
        });
        let read = receiver.recv_timeout(READ_MAX).unwrap_or_else(|_| {
            task.abort();
            Err(TierError::Unavailable("it does not answer in time".to_owned()))
        });
        match &read {
            Ok(bytes) => {
                remote.figures.read_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            }
            Err(error) => remote.figures.note_failure(&error.to_string()),
        }
        read
    }
}

impl Remote {
    fn new(tier: Arc<Tier>, figures: Arc<TierFigures>) -> Result<Remote, TierFailure> {
        let keys = ServiceKeys {
            access_key: tier.access_key.clone(),
            secret_key: tier.secret_key.clone(),
            session_token: None,
        };
        let region = tier.region.as_deref().filter(|region| !region.is_empty());
        let client = BucketClient::connect(&tier.url, &tier.bucket, Some(keys), region);
        Ok(Remote { client: client.map_err(TierFailure)?, tier, figures })
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.tier.prefix)
    }

    async fn call(
        &self,
        method: Method,
        name: &str,
        headers: Vec<(String, String)>,
        bytes: Bytes,
    ) -> Result<BucketAnswer, CallError> {
        let (key, query, body) = (self.key(name), Vec::new(), CallBody::Whole(bytes));
        self.client.call(BucketCall { method, key, query, headers, body, is_slow: false }).await
    }

    async fn read(&self, name: &str, range: Range<u64>) -> Result<Bytes, TierError> {
        self.client.read(&self.key(name), range).await.map_err(|error| match error.status {
            // The bucket may be back later; an object that is gone is lost.
            Some(404 | 416) if error.code != "NoSuchBucket" => TierError::Missing(error.line),
            _ => TierError::Unavailable(error.line),
        })
    }

    /// `true` if the tier has a piece of this length, and with this entity tag if one is given.
    pub(crate) async fn has(
        &self,
        name: &str,
        bytes: u64,
        etag: Option<&str>,
    ) -> Result<bool, TierFailure> {
        match self.call(Method::HEAD, name, Vec::new(), Bytes::new()).await {
            Err(error) if error.status == Some(404) => Ok(false),
            Err(error) => Err(error.into()),
            Ok(head) => {
                let length = head.header("content-length").and_then(|text| text.parse().ok());
                let is_same = etag.is_none_or(|etag| head.header("etag") == Some(etag));
                Ok(length == Some(bytes) && is_same)
            }
        }
    }

    /// Uploads a piece, which the service verifies by its MD5, and looks whether it is there.
    pub(crate) async fn put(&self, name: &str, bytes: &Bytes) -> Result<(), TierFailure> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut headers = vec![
            pair("content-md5", &md5_base64(bytes)),
            pair("content-type", "application/octet-stream"),
        ];
        headers.extend(self.tier.storage_class.iter().map(|it| pair("x-amz-storage-class", it)));
        let put = self.call(Method::PUT, name, headers, bytes.clone()).await?;
        match self.has(name, bytes.len() as u64, put.header("etag")).await? {
            true => Ok(()),
            false => Err(TierFailure(format!("{name} is not there as it was uploaded"))),
        }
    }

    /// Deletes a piece; a missing one is no error.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), TierFailure> {
        match self.call(Method::DELETE, name, Vec::new(), Bytes::new()).await {
            Err(error) if error.code == "NoSuchKey" => Ok(()),
            result => Ok(result.map(drop)?),
        }
    }
}

/// Writes, reads and deletes an object at a tier.
///
/// # Errors
/// The first request that fails.
pub async fn verify_tier(tier: &Tier) -> Result<(), TierFailure> {
    let remote = Remote::new(Arc::new(tier.clone()), Arc::default())?;
    let (name, bytes) = ("probe", Bytes::from_static(b"LiteIO"));
    remote.put(name, &bytes).await?;
    let read = remote.read(name, 0..bytes.len() as u64).await;
    let read = read.map_err(|error| TierFailure(error.to_string()))?;
    if read != bytes {
        return Err(TierFailure("other bytes come back than were stored".to_owned()));
    }
    remote.delete(name).await
}

/// `true` if there are objects below the prefix of a tier.
///
/// # Errors
/// A failed listing.
pub async fn is_tier_used(tier: &Tier) -> Result<bool, TierFailure> {
    let remote = Remote::new(Arc::new(tier.clone()), Arc::default())?;
    let first = remote.client.list(&tier.prefix, None).next().await;
    Ok(first.map_err(|error| TierFailure(error.to_string()))?.is_some())
}
