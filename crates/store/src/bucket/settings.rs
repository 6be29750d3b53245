//! Settings of buckets: versioning, and documents that the store keeps without interpretation.

use std::collections::BTreeSet;
use std::sync::Arc;

use liteio_kv::{Transaction, Write as _};

use super::ListBuckets;
use crate::encryption::DefaultEncryption;
use crate::error::StoreError;
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::meta::bucket::BucketRecord;
use crate::meta::claim::Claim;
use crate::meta::event::{Cause, Event, EventKind};
use crate::meta::{
    DefaultRetention, DocumentKind, Lifecycle, Notifications, Quota, Replication, Versioning,
    document,
};
use crate::object::history;
use crate::outbox;
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, ForgetBucket};
use crate::replication::{NewResync, begin};
use crate::store::{Shared, Store};

impl Store {
    /// Enables or suspends versioning.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], with [`StoreError::InvalidRequest`] for
    /// [`Versioning::Never`], to which no bucket returns, and with
    /// [`StoreError::InvalidBucketState`] for suspending versioning while versions may be locked.
    pub fn set_versioning(&self, bucket: &Arc<Bucket>, versioning: Versioning) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let is_replicated = document::read(write, bucket.id, document::REPLICATION)?.is_some();
            let forget = change(write, shared, &bucket, |record| {
                match versioning {
                    Versioning::Never => {
                        let message = "versioning can be suspended, and not be undone".to_owned();
                        return Err(StoreError::InvalidRequest { message });
                    }
                    Versioning::Suspended if record.object_lock => {
                        let message = "An Object Lock configuration is present on this bucket, so the \
                             versioning state cannot be changed.";
                        return Err(invalid_state(message));
                    }
                    Versioning::Suspended if is_replicated => {
                        let message = "A replication configuration is present on this bucket, so the \
                             versioning state cannot be changed.";
                        return Err(invalid_state(message));
                    }
                    Versioning::Enabled | Versioning::Suspended => record.versioning = versioning,
                }
                Ok(())
            })?;
            Ok(Committed::with_guard((), forget))
        })
    }

    /// Enables object lock, and sets the default retention of new versions.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidBucketState`] unless
    /// versioning is enabled.
    pub fn set_object_lock(
        &self,
        bucket: &Arc<Bucket>,
        default_retention: Option<DefaultRetention>,
    ) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |record| {
                if record.versioning != Versioning::Enabled {
                    let message = "Versioning must be 'Enabled' on the bucket to apply a Object Lock \
                         configuration";
                    return Err(invalid_state(message));
                }
                record.object_lock = true;
                Ok(())
            })?;
            let document = default_retention.as_ref().map(DefaultRetention::encode);
            document::replace(write, bucket.id, document::OBJECT_LOCK, document.as_deref())?;
            Ok(Committed::with_guard((), forget))
        })
    }

    /// Sets the lifecycle rules of a bucket, which the caller has checked, or removes them.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidRequest`] for more
    /// than [`DOCUMENT_BYTES_MAX`] bytes.
    pub fn set_lifecycle(&self, bucket: &Arc<Bucket>, lifecycle: Option<Lifecycle>) -> Pending<()> {
        let document = lifecycle.as_ref().map(Lifecycle::encode);
        self.set_document(bucket, document::LIFECYCLE, document)
    }

    /// Sets the default encryption of new objects, `None` for no encryption; and whether those with
    /// keys of customers (SSE-C) are refused, `None` for nothing that a client gets back.
    ///
    /// Fails with [`StoreError::NoSuchBucket`].
    pub fn set_default_encryption(
        &self,
        bucket: &Arc<Bucket>,
        encryption: Option<DefaultEncryption>,
        blocks_customer_keys: Option<bool>,
    ) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        let default = encryption.as_ref().map(document::encode_setting);
        let blocked = blocks_customer_keys.as_ref().map(document::encode_setting);
        let frees = default.is_none() && blocked.is_none();
        let set = move |write: &mut Transaction<'_>, shared: &Arc<Shared>| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            let settings =
                [(document::ENCRYPTION, &default), (document::BLOCKED_ENCRYPTION, &blocked)];
            for (number, setting) in settings {
                document::replace(write, bucket.id, number, setting.as_deref())?;
            }
            Ok(Committed::with_guard((), forget))
        };
        match frees {
            true => self.update_freeing(set),
            false => self.update(set),
        }
    }

    /// Sets the quota of a bucket, or removes it. Objects that are there stay, whatever their size.
    ///
    /// Fails with [`StoreError::NoSuchBucket`].
    pub fn set_quota(&self, bucket: &Arc<Bucket>, quota: Option<Quota>) -> Pending<()> {
        let document = quota.as_ref().map(document::encode_setting);
        self.set_document(bucket, document::QUOTA, document)
    }

    /// `true` if the notifications of a bucket name the target. Reads the settings of all buckets until one does.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn notifies(&self, target: &str) -> Result<bool, StoreError> {
        let mut query = ListBuckets { max: usize::MAX, ..ListBuckets::default() };
        loop {
            let page = self.list_buckets(&query)?;
            for listed in &page.buckets {
                let bucket = match self.bucket(&listed.name) {
                    Err(StoreError::NoSuchBucket { .. }) => continue,
                    found => found?,
                };
                let rules = bucket.settings.notifications.as_ref().map(|it| &it.rules);
                if rules.is_some_and(|rules| rules.iter().any(|rule| rule.target == target)) {
                    return Ok(true);
                }
            }
            if page.next.is_none() {
                return Ok(false);
            }
            query.after = page.next;
        }
    }

    /// Sets the notifications of a bucket, which the caller has checked, or removes them. Every
    /// target gets a test event.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidRequest`] for more
    /// than [`DOCUMENT_BYTES_MAX`] bytes.
    pub fn set_notifications(
        &self,
        bucket: &Arc<Bucket>,
        notifications: Option<Notifications>,
        cause: Cause,
    ) -> Pending<()> {
        let Some(notifications) = notifications else {
            return self.set_document(bucket, document::NOTIFICATION, None);
        };
        let document = Some(document::encode_setting(&notifications));
        if let Err(error) = check_length(document.as_deref()) {
            return Pending::ready(Err(error));
        }
        let bucket = Arc::clone(bucket);
        let rules = notifications.rules;
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            document::replace(write, bucket.id, document::NOTIFICATION, document.as_deref())?;
            let mut told = BTreeSet::new();
            let mut wakes = Vec::new();
            for rule in &rules {
                if told.insert(&rule.target) {
                    wakes.push(outbox::note(
                        write,
                        shared,
                        &rule.target,
                        &test(shared, &bucket, &cause),
                    )?);
                }
            }
            Ok(Committed::with_guard((), (forget, wakes)))
        })
    }

    /// Sets the replication rules of a bucket, which the caller has checked, or removes them.
    /// `resyncs` queue the versions that are there already.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], with [`StoreError::InvalidRequest`] unless
    /// versioning is enabled, and for more than [`DOCUMENT_BYTES_MAX`] bytes.
    pub fn set_replication(
        &self,
        bucket: &Arc<Bucket>,
        replication: Option<Replication>,
        resyncs: Vec<NewResync>,
    ) -> Pending<()> {
        let Some(replication) = replication else {
            return self.set_document(bucket, document::REPLICATION, None);
        };
        let document = Some(document::encode_setting(&replication));
        if let Err(error) = check_length(document.as_deref()) {
            return Pending::ready(Err(error));
        }
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |record| match record.versioning {
                Versioning::Enabled => Ok(()),
                Versioning::Never | Versioning::Suspended => {
                    let message = "Versioning must be 'Enabled' on the bucket to apply a replication \
                                   configuration";
                    Err(StoreError::InvalidRequest { message: message.to_owned() })
                }
            })?;
            document::replace(write, bucket.id, document::REPLICATION, document.as_deref())?;
            let mut wakes = Vec::new();
            for resync in &resyncs {
                wakes.push(begin(write, shared, &bucket, resync)?);
            }
            Ok(Committed::with_guard((), (forget, wakes)))
        })
    }

    /// Puts a document of a bucket, which the caller has checked, replacing the one of its kind.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidRequest`] for more
    /// than [`DOCUMENT_BYTES_MAX`] bytes.
    pub fn put_document(
        &self,
        bucket: &Arc<Bucket>,
        kind: DocumentKind,
        document: Vec<u8>,
    ) -> Pending<()> {
        self.set_document(bucket, kind as u8, Some(document))
    }

    /// Replaces or deletes the document with the number `kind`. Deleting works also when the disk
    /// is full.
    fn set_document(
        &self,
        bucket: &Arc<Bucket>,
        number: u8,
        document: Option<Vec<u8>>,
    ) -> Pending<()> {
        if let Err(error) = check_length(document.as_deref()) {
            return Pending::ready(Err(error));
        }
        let bucket = Arc::clone(bucket);
        let frees = document.is_none();
        let set = move |write: &mut Transaction<'_>, shared: &Arc<Shared>| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            document::replace(write, bucket.id, number, document.as_deref())?;
            Ok(Committed::with_guard((), forget))
        };
        match frees {
            true => self.update_freeing(set),
            false => self.update(set),
        }
    }

    /// Changes the document of a kind: `change` gets the old document and returns the new one, or
    /// `None` to delete it. It may run several times.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], the errors of `change`, and the errors of
    /// [`Store::put_document`].
    pub fn change_document<F>(
        &self,
        bucket: &Arc<Bucket>,
        kind: DocumentKind,
        change_one: F,
    ) -> Pending<()>
    where
        F: Fn(Option<&[u8]>) -> Result<Option<Vec<u8>>, StoreError> + Send + 'static,
    {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            let document = change_one(document::read(write, bucket.id, kind as u8)?.as_deref())?;
            check_length(document.as_deref())?;
            document::replace(write, bucket.id, kind as u8, document.as_deref())?;
            Ok(Committed::with_guard((), forget))
        })
    }

    /// The document of a kind, if the bucket has one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn get_document(
        &self,
        bucket: &Bucket,
        kind: DocumentKind,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        document::read(&self.snapshot()?, bucket.id, kind as u8)
    }

    /// Deletes the document of a kind; deleting a missing one is no error.
    ///
    /// Fails with [`StoreError::NoSuchBucket`].
    pub fn delete_document(&self, bucket: &Arc<Bucket>, kind: DocumentKind) -> Pending<()> {
        self.set_document(bucket, kind as u8, None)
    }
}

/// The test event for a newly configured target.
fn test(shared: &Shared, bucket: &Bucket, cause: &Cause) -> Event {
    Event {
        kind: EventKind::Test,
        time_ms: shared.config.clock.now_ms(),
        bucket: bucket.name.as_str().to_owned(),
        bucket_owner_id: bucket.owner.id.clone(),
        rule: String::new(),
        cause: cause.clone(),
        key: String::new(),
        version: None,
        bytes: None,
        etag: None,
        restore: None,
        annotation: None,
        metadata: None,
    }
}

/// The stamp of the next change: one more in the upper half, and random bits, so that none comes twice. A number that is only
/// counted would, beside other servers, after a failover that has lost the commit with it: what a server knows of the lost
/// settings would then be taken for the new ones.
fn stamp_behind(stamp: u64, shared: &Shared) -> Result<u64, StoreError> {
    let mut random = [0; 4];
    shared.config.random.fill(&mut random)?;
    Ok(((stamp >> 32) + 1) << 32 | u64::from(u32::from_be_bytes(random)))
}

fn check_length(document: Option<&[u8]>) -> Result<(), StoreError> {
    if document.is_none_or(|document| document.len() <= DOCUMENT_BYTES_MAX) {
        return Ok(());
    }
    let message = format!("the document has more than {DOCUMENT_BYTES_MAX} bytes");
    Err(StoreError::InvalidRequest { message })
}

fn invalid_state(message: &str) -> StoreError {
    StoreError::InvalidBucketState { message: message.to_owned() }
}

/// Changes the record of a bucket and its settings stamp. The guard must live until the commit.
fn change(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Bucket,
    change: impl FnOnce(&mut BucketRecord) -> Result<(), StoreError>,
) -> Result<ForgetBucket, StoreError> {
    let record = BucketRecord::read(write, &bucket.name)?.filter(|record| record.id == bucket.id);
    let missing = || StoreError::NoSuchBucket { bucket: bucket.name.clone() };
    let mut record = record.ok_or_else(missing)?;
    write.claim(match record.is_version_1 {
        true => Claim::BucketAlone(bucket.id),
        false => Claim::Bucket(bucket.id),
    })?;
    if record.is_version_1 && history::index(write, record.id)? {
        record.versioning = Versioning::Suspended;
    }
    change(&mut record)?;
    record.settings_stamp = stamp_behind(record.settings_stamp, shared)?;
    record.write(write, &bucket.name)?;
    Ok(ForgetBucket::new(shared, &bucket.name))
}
