//! Targets of replication, which have a secret as access keys do.

use liteio_store::BucketId;

use super::super::limits::REMOTES_MAX;
use super::super::records::RemoteRecord;
use super::super::state::seal_secret;
use super::error;
use super::{AdminResult, Desk};

/// A target to add.
#[derive(Clone, Debug)]
pub struct NewRemote {
    /// URL of the service.
    pub url: String,
    /// Bucket there.
    pub bucket: String,
    /// Name of the bucket that is copied to it.
    pub source: String,
    /// Number of that bucket.
    pub source_id: BucketId,
    /// Access key.
    pub access_key: String,
    /// Secret key.
    pub secret_key: String,
    /// Region, if one was named.
    pub region: Option<String>,
    /// `true` to change the credentials of the one that is there.
    pub is_update: bool,
}

/// A target as a list shows it: without its secret.
#[derive(Clone, Debug)]
pub struct ListedRemote {
    /// ARN.
    pub arn: String,
    /// URL of the service.
    pub url: String,
    /// Bucket there.
    pub bucket: String,
    /// Name of the bucket that is copied to it.
    pub source: String,
    /// Access key.
    pub access_key: String,
    /// Region.
    pub region: Option<String>,
}

impl Desk<'_> {
    /// Adds a target, or changes its credentials, and returns its ARN. The same service, bucket and
    /// source have one target.
    ///
    /// # Errors
    /// `XMinioAdminInvalidArgument` for a URL or an update of nothing.
    pub fn set_remote(&mut self, new: NewRemote) -> AdminResult<String> {
        if new.access_key.is_empty() || new.secret_key.is_empty() {
            return Err(error::invalid_argument(
                "The target needs an access key and a secret key.",
            ));
        }
        let is_same = |it: &RemoteRecord| {
            (&it.url, &it.bucket, it.source_id) == (&new.url, &new.bucket, new.source_id)
        };
        let known = self.draft.state.remotes.values().find(|it| is_same(it));
        let known = known.map(|it| it.arn.clone());
        if new.is_update && known.is_none() {
            return Err(error::invalid_argument("There is no such target to update: add it."));
        }
        if known.is_none() && self.draft.state.remotes.len() >= REMOTES_MAX {
            let message = format!("An account has at most {REMOTES_MAX} targets of replication.");
            return Err(error::too_many(message));
        }
        let arn = match known {
            Some(arn) => arn,
            None => {
                let region = new.region.as_deref().unwrap_or_default();
                let id = self.new_id("")?.to_lowercase();
                format!("arn:minio:replication:{region}:{id}:{}", new.bucket)
            }
        };
        let sealed = seal_secret(new.secret_key.as_bytes(), self.secrets);
        let secret = sealed.map_err(|error| error::of_store(&error))?;
        self.draft.put(RemoteRecord {
            arn: arn.clone(),
            url: new.url,
            bucket: new.bucket,
            source: new.source,
            source_id: new.source_id,
            access_key: new.access_key,
            secret,
            region: new.region,
            created: self.now,
        });
        Ok(arn)
    }

    /// The targets of a bucket; of all buckets of the account without one.
    pub fn list_remotes(&self, source: Option<BucketId>) -> Vec<ListedRemote> {
        let all = self.draft.state.remotes.values();
        let wanted = all.filter(|it| source.is_none_or(|source| it.source_id == source));
        let listed = wanted.map(|it| ListedRemote {
            arn: it.arn.clone(),
            url: it.url.clone(),
            bucket: it.bucket.clone(),
            source: it.source.clone(),
            access_key: it.access_key.clone(),
            region: it.region.clone(),
        });
        listed.collect()
    }

    /// Removes a target of a bucket.
    ///
    /// # Errors
    /// `XMinioAdminInvalidArgument` if there is none.
    pub fn remove_remote(&mut self, source: BucketId, arn: &str) -> AdminResult<()> {
        let found = self.draft.state.get::<RemoteRecord>(arn);
        if found.is_none_or(|it| it.arn != arn || it.source_id != source) {
            return Err(error::invalid_argument(
                "There is no target with this ARN for the bucket.",
            ));
        }
        self.draft.delete::<RemoteRecord>(arn);
        Ok(())
    }
}
