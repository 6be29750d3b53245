//! A target: its client, and how a version is named there.

use bytes::Bytes;
use http::Method;
use jiff::Timestamp;
use liteio_access::remote::{RemoteKind, RemoteTarget};
use liteio_client::{BucketAnswer, BucketCall, BucketClient, CallBody, CallError, ServiceKeys};
use liteio_store::{ReplicationRow, VersionId};
use tokio::sync::OnceCell;

/// The namespace of documents, as an attribute.
pub(crate) const NAMESPACE: &str = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

/// Names and values.
pub(crate) type Pairs = Vec<(String, String)>;

/// The client of a target.
#[derive(Debug)]
pub(crate) struct Remote {
    client: BucketClient,
    configured: Option<RemoteKind>,
    found: OnceCell<RemoteKind>,
}

/// The identity of a version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) version: VersionId,
    pub(crate) stamp: &'a [u8; 16],
}

impl<'a> Identity<'a> {
    pub(crate) fn of_row(row: &'a ReplicationRow) -> Identity<'a> {
        let version = if row.is_null { VersionId::Null } else { VersionId::Id(row.stamp) };
        Identity { version, stamp: &row.stamp }
    }
}

impl Remote {
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(crate) fn new(target: &RemoteTarget) -> Result<Remote, String> {
        let keys = ServiceKeys {
            access_key: target.access_key.clone(),
            secret_key: target.secret_key.clone(),
            session_token: None,
        };
        let region = target.region.as_deref().filter(|region| !region.is_empty());
        let client = BucketClient::connect(&target.url, &target.bucket, Some(keys), region)?;
        Ok(Remote { client, configured: target.kind, found: OnceCell::new() })
    }

    /// The kind of the service, by the name that it gives itself.
    pub(crate) async fn kind(&self) -> Result<RemoteKind, CallError> {
        if let Some(kind) = self.configured {
            return Ok(kind);
        }
        let ask = || async {
            let head = self.call(Method::HEAD, "", Vec::new(), Vec::new(), Bytes::new()).await?;
            Ok(match head.header("server") {
                Some("LiteIO") => RemoteKind::Liteio,
                Some(name) if name.starts_with("MinIO") => RemoteKind::Minio,
                _ => RemoteKind::S3,
            })
        };
        self.found.get_or_try_init(ask).await.copied()
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        key: &str,
        query: Pairs,
        headers: Pairs,
        body: impl Into<Bytes>,
    ) -> Result<BucketAnswer, CallError> {
        let body = CallBody::Whole(body.into());
        self.send(BucketCall { method, key: key.to_owned(), query, headers, body, is_slow: false })
            .await
    }

    pub(crate) async fn send(&self, call: BucketCall) -> Result<BucketAnswer, CallError> {
        self.client.call(call).await
    }
}

/// A pair of texts.
pub(crate) fn pair(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// The name of a version at a service of a kind that keeps version ids. MinIO's are UUIDs.
pub(crate) fn version_name(kind: RemoteKind, version: VersionId) -> String {
    match (kind, version) {
        (RemoteKind::Minio, VersionId::Id(_)) => {
            let hex = version.to_string();
            let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
            parts.join("-")
        }
        _ => version.to_string(),
    }
}

/// The headers that make a request one for replication. Any other S3 has none.
pub(crate) fn source_headers(kind: RemoteKind, identity: Identity<'_>) -> Pairs {
    let request = pair("x-minio-source-replication-request", "true");
    let version = pair("x-minio-source-version-id", version_name(kind, identity.version));
    match kind {
        RemoteKind::Liteio => {
            let stamp = VersionId::Id(*identity.stamp).to_string();
            vec![request, version, pair("x-liteio-source-stamp", stamp)]
        }
        RemoteKind::Minio => vec![request, version, pair("x-amz-replication-status", "REPLICA")],
        RemoteKind::S3 => Vec::new(),
    }
}

/// A time with its milliseconds, as headers and documents have it.
pub(crate) fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    at.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_minio_is_a_uuid() {
        let version = VersionId::Id([0xab; 16]);
        let hex = "abababababababababababababababab";
        assert_eq!(version_name(RemoteKind::Liteio, version), hex);
        let uuid = "abababab-abab-abab-abab-abababababab";
        assert_eq!(version_name(RemoteKind::Minio, version), uuid);
        assert_eq!(version_name(RemoteKind::Minio, VersionId::Null), "null");
    }

    #[test]
    fn times_keep_their_milliseconds() {
        assert_eq!(time(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert!(time(u64::MAX).starts_with("9999-12-30"));
    }
}
