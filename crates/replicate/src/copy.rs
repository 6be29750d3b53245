//! The work on one row of a queue.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use liteio_access::remote::{RemoteKind, RemoteTarget};
use liteio_access::state::App;
use liteio_client::{BucketCall, CallError, escaped_xml, tags_header};
use liteio_s3::replication::{checksum_header, checksum_names, metadata_headers};
use liteio_store::{
    ChecksumType, GetOptions, LegalHold, ObjectChecksum, ObjectKey, ObjectVersion, PartInfo,
    ReplicatedVersion, ReplicationRow, ReplicationTask, Store, StoreError,
};

use crate::body;
use crate::lock;
use crate::remote::{Identity, NAMESPACE, Pairs, Remote, pair, source_headers, time, version_name};

/// Parts read at a time.
const PARTS_AT_ONCE: usize = 1000;

/// The outcome of the work on a row.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The target has it.
    Done {
        /// The version id of the copy, if the target chose one.
        version: Option<String>,
        /// Bytes of a copied body.
        bytes: u64,
    },
    /// There is nothing to do.
    Gone,
    /// The target would take it for the current version, and has a later one.
    LeftOut,
    /// The target refuses it, for this reason.
    Refused(String),
    /// The target does not answer, or fails, for this reason.
    Down(String),
}

/// A reason why a row is not done.
pub(crate) enum NotDone {
    Call(CallError),
    Store(StoreError),
    Refused(String),
}

impl From<CallError> for NotDone {
    fn from(error: CallError) -> NotDone {
        NotDone::Call(error)
    }
}

impl From<StoreError> for NotDone {
    fn from(error: StoreError) -> NotDone {
        NotDone::Store(error)
    }
}

/// The work on a row for a target.
pub(crate) struct Copy<'a> {
    pub(crate) app: &'a Arc<App>,
    pub(crate) target: &'a RemoteTarget,
    pub(crate) remote: &'a Remote,
    pub(crate) row: &'a ReplicationRow,
}

/// A version with what is sent of it everywhere.
pub(crate) struct Sent<'a> {
    pub(crate) kind: RemoteKind,
    pub(crate) key: ObjectKey,
    pub(crate) version: &'a ReplicatedVersion,
    pub(crate) object: &'a ObjectVersion,
    storage_class: Option<String>,
}

impl Copy<'_> {
    pub(crate) async fn run(&self) -> Outcome {
        match self.work().await {
            Ok(outcome) => outcome,
            Err(NotDone::Refused(line)) => Outcome::Refused(line),
            // The version went between two looks: the next one finds out.
            Err(NotDone::Store(
                StoreError::NoSuchKey { .. }
                | StoreError::NoSuchVersion { .. }
                | StoreError::IsDeleteMarker { .. }
                | StoreError::NoSuchBucket { .. },
            )) => Outcome::Down("the version was removed meanwhile".to_owned()),
            Err(NotDone::Store(error)) => Outcome::Refused(format!("the source: {error}")),
            Err(NotDone::Call(error)) => match error.status {
                None | Some(408 | 429 | 500..) => Outcome::Down(error.line),
                Some(_) => Outcome::Refused(error.line),
            },
        }
    }

    async fn work(&self) -> Result<Outcome, NotDone> {
        match &self.row.task {
            ReplicationTask::Delete { version } => self.delete(version.as_deref()).await,
            ReplicationTask::Version { again } => self.bring(*again).await,
        }
    }

    /// Deletes the version at the target.
    async fn delete(&self, version: Option<&str>) -> Result<Outcome, NotDone> {
        let kind = self.remote.kind().await?;
        let identity = Identity::of_row(self.row);
        let name = match (kind, version) {
            (RemoteKind::S3, None) => return Ok(Outcome::Gone),
            (RemoteKind::S3, Some(version)) => version.to_owned(),
            _ => version_name(kind, identity.version),
        };
        let query = vec![pair("versionId", name)];
        let headers = source_headers(kind, identity);
        let deleted = self.remote.call(Method::DELETE, &self.row.key, query, headers, "").await;
        match deleted {
            Err(error) if is_missing(&error) => Ok(Outcome::Gone),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(Outcome::Done { version: None, bytes: 0 }),
        }
    }

    /// Brings the version, its tags and its lock to the target.
    async fn bring(&self, again: bool) -> Result<Outcome, NotDone> {
        let (row, arn) = (self.row.clone(), self.target.arn.clone());
        let found = move |store: &Store| store.version_to_replicate(&row, &arn);
        let Some(version) = self.app.blocking(found).await? else { return Ok(Outcome::Gone) };
        let bucket = &version.bucket;
        let rules = bucket.settings.replication.as_ref();
        // Rules that were taken away do not copy any more, also not what they have queued.
        let is_named = rules.is_some_and(|it| it.targets().contains(&&*self.target.arn));
        if !is_named {
            return Ok(Outcome::Gone);
        }
        if !self.target.is_open_to(bucket) {
            let line =
                "the target is not for this bucket; add it for the bucket, or change the rule";
            return Err(NotDone::Refused(line.to_owned()));
        }
        let kind = self.remote.kind().await?;
        if kind == RemoteKind::S3 && !version.is_sent && self.is_overtaken().await? {
            return Ok(Outcome::LeftOut);
        }
        let Some(object) = &version.object else {
            if version.is_sent && !again {
                return Ok(Outcome::Done { version: version.target_version, bytes: 0 });
            }
            return self.mark(kind, &version).await;
        };
        let rule = rules.and_then(|it| {
            let rules = it.rules_for(&self.row.key, &object.metadata.tags);
            rules.into_iter().find(|rule| rule.target == self.target.arn)
        });
        let sent = Sent {
            kind,
            key: object.key.clone(),
            version: &version,
            object,
            storage_class: rule.and_then(|rule| rule.storage_class.clone()),
        };
        let (mut name, mut bytes) = (version.target_version.clone(), 0);
        if !version.is_sent || again {
            let made = match object.part_count {
                Some(_) => self.put_parts(&sent).await,
                None => self.put(&sent).await,
            };
            let made = match made {
                // MinIO's answer to a version that it has with this entity tag: it did not tell the first time. Copies
                // have no conditions of their own.
                Err(NotDone::Call(error)) if kind == RemoteKind::Minio && is_there(&error) => None,
                made => made?,
            };
            bytes = object.bytes;
            name = if kind == RemoteKind::S3 { made } else { None };
        }
        // First the annotations: a lock that is younger than they are would refuse them there.
        let mut kept = self.bring_annotations(&sent).await?;
        self.change(&sent, name.as_deref()).await?;
        if kept.is_some() {
            // That lock may be one that has been taken off now.
            kept = self.bring_annotations(&sent).await?;
        }
        if let Some(annotation) = kept {
            // It may last for years, and the versions of the key that come later must not wait for its end.
            let (target, key) = (&self.target.arn, &self.row.key);
            tracing::warn!(target, key, annotation, "a lock of the copy keeps an older annotation");
        }
        Ok(Outcome::Done { version: name, bytes })
    }

    async fn is_overtaken(&self) -> Result<bool, StoreError> {
        let (row, arn) = (self.row.clone(), self.target.arn.clone());
        self.app.blocking(move |store: &Store| store.has_later_copy(&row, &arn)).await
    }

    /// Adds a delete marker.
    async fn mark(
        &self,
        kind: RemoteKind,
        version: &ReplicatedVersion,
    ) -> Result<Outcome, NotDone> {
        let identity = Identity::of_row(self.row);
        let mut headers = source_headers(kind, identity);
        let mut query = Vec::new();
        if kind != RemoteKind::S3 {
            headers.push(pair("x-minio-source-deletemarker", "true"));
            headers.push(pair("x-minio-source-mtime", time(version.modified_ms)));
        }
        if kind == RemoteKind::Minio {
            let name = pair("versionId", version_name(kind, identity.version));
            // MinIO deletes the marker that it has, if it is sent again: its first answer may not have come.
            let known = vec![name.clone()];
            let found = self.remote.call(Method::HEAD, &self.row.key, known, Vec::new(), "").await;
            if found.is_err_and(|error| error.status == Some(405)) {
                return Ok(Outcome::Done { version: None, bytes: 0 });
            }
            query.push(name);
        }
        let answer = self.remote.call(Method::DELETE, &self.row.key, query, headers, "").await?;
        let made = answer.header("x-amz-version-id").map(str::to_owned);
        let version = made.filter(|_| kind == RemoteKind::S3);
        Ok(Outcome::Done { version, bytes: 0 })
    }

    /// Sends a version in one piece. Returns the version id that the target tells.
    async fn put(&self, sent: &Sent<'_>) -> Result<Option<String>, NotDone> {
        let mut headers = sent.headers(self.row, self.app.ask(Store::now_ms))?;
        let mut query = Vec::new();
        sent.identify(self.row, &mut query, &mut headers);
        let checksum = sent.object.checksum.as_ref();
        let checksum = checksum.filter(|it| it.kind == ChecksumType::FullObject);
        headers.extend(checksum.map(checksum_header));
        let body = body::open(self.app, sent.version, &sent.key, (None, sent.object.bytes)).await?;
        let call = BucketCall {
            method: Method::PUT,
            key: self.row.key.clone(),
            query,
            headers,
            body,
            is_slow: true,
        };
        let answer = self.remote.send(call).await?;
        Ok(answer.header("x-amz-version-id").map(str::to_owned))
    }

    /// Sends a version in its parts, so that the entity tag stays the same.
    async fn put_parts(&self, sent: &Sent<'_>) -> Result<Option<String>, NotDone> {
        let mut headers = sent.headers(self.row, self.app.ask(Store::now_ms))?;
        if let Some(checksum) = &sent.object.checksum {
            let (algorithm, kind) = checksum_names(checksum);
            headers.push(pair("x-amz-checksum-algorithm", algorithm));
            headers.push(pair("x-amz-checksum-type", kind));
        }
        let mut query = vec![pair("uploads", "")];
        sent.identify(self.row, &mut query, &mut headers);
        let key = &self.row.key;
        let begun = self.remote.call(Method::POST, key, query, headers, "").await?;
        let upload = begun
            .text("UploadId")
            .filter(|id| !id.is_empty())
            .ok_or_else(|| NotDone::Refused("the target gave the upload no id".to_owned()))?;
        let result = self.finish_parts(sent, &upload).await;
        if result.is_err() {
            // Best effort: a lifecycle rule of the target ends the others.
            let query = vec![pair("uploadId", &*upload)];
            let _ = self.remote.call(Method::DELETE, key, query, Vec::new(), "").await;
        }
        result
    }

    async fn finish_parts(&self, sent: &Sent<'_>, upload: &str) -> Result<Option<String>, NotDone> {
        let mut list = String::new();
        let mut after = None;
        loop {
            let (bucket, key) = (Arc::clone(&sent.version.bucket), sent.key.clone());
            let version = sent.version.version_id;
            let options = GetOptions { version: Some(version), ..GetOptions::default() };
            let read = move |store: &Store| {
                store.list_object_parts(&bucket, &key, &options, after, PARTS_AT_ONCE)
            };
            let page = self.app.blocking(read).await?;
            for part in &page.parts {
                list.push_str(&self.put_part(sent, upload, part).await?);
                after = Some(part.number);
            }
            if !page.is_truncated {
                break;
            }
        }
        let document = format!(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{list}\
             </CompleteMultipartUpload>"
        );
        let mut headers = vec![pair("content-type", "application/xml")];
        let mut query = vec![pair("uploadId", upload)];
        sent.identify(self.row, &mut query, &mut headers);
        if sent.kind == RemoteKind::Minio {
            query.retain(|(name, _)| name != "versionId");
        }
        if let Some(checksum) = sent.object.checksum.as_ref() {
            headers.push(checksum_header(checksum));
            headers.push(pair("x-amz-checksum-type", checksum_names(checksum).1));
        }
        let call = BucketCall {
            method: Method::POST,
            key: self.row.key.clone(),
            query,
            headers,
            body: liteio_client::CallBody::Whole(Bytes::from(document)),
            is_slow: true,
        };
        let answer = self.remote.send(call).await?;
        Ok(answer.header("x-amz-version-id").map(str::to_owned))
    }

    /// Sends a part. Returns its element in the list of a completion.
    async fn put_part(
        &self,
        sent: &Sent<'_>,
        upload: &str,
        part: &PartInfo,
    ) -> Result<String, NotDone> {
        let number = part.number.get().to_string();
        let query = vec![pair("partNumber", &*number), pair("uploadId", upload)];
        let checksum = part.checksum.map(ObjectChecksum::full_object);
        let headers = checksum.iter().map(checksum_header).collect();
        let selected = (Some(part.number), part.bytes);
        let body = body::open(self.app, sent.version, &sent.key, selected).await?;
        let key = self.row.key.clone();
        let call = BucketCall { method: Method::PUT, key, query, headers, body, is_slow: true };
        let answer = self.remote.send(call).await?;
        let etag = escaped_xml(answer.header("etag").unwrap_or_default());
        // MinIO wants the checksums of all parts in the list, also for a checksum of the whole.
        let listed = sent.object.checksum.as_ref().and_then(|whole| {
            let (header, name) = (checksum_header(whole).0, checksum_names(whole).0);
            let told = answer.header(&header).map(str::to_owned);
            let own = checksum.as_ref().map(checksum_header).filter(|(own, _)| *own == header);
            let value = escaped_xml(&told.or(own.map(|(_, value)| value))?);
            Some(format!("<Checksum{name}>{value}</Checksum{name}>"))
        });
        let listed = listed.unwrap_or_default();
        Ok(format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag>{listed}</Part>"))
    }

    /// Sends the tags and the lock of a version that the target has, as far as they were changed
    /// since the version was made.
    async fn change(&self, sent: &Sent<'_>, name: Option<&str>) -> Result<(), NotDone> {
        let changes = sent.version.changes;
        let version = match (sent.kind, name) {
            (RemoteKind::S3, Some(name)) => Some(name.to_owned()),
            // Without versions there, the object itself is changed.
            (RemoteKind::S3, None) => None,
            (kind, _) => Some(version_name(kind, sent.version.version_id)),
        };
        if changes.tags_ms > 0 {
            let tags = &sent.object.metadata.tags;
            let at = ("tagging", changes.tags_ms);
            match tags.is_empty() {
                true => self.set(sent, Method::DELETE, at, &version, String::new()).await?,
                false => self.set(sent, Method::PUT, at, &version, tagging(tags)).await?,
            }
        }
        if changes.retention_ms > 0 {
            let at = ("retention", changes.retention_ms);
            let document =
                lock::document(sent.kind, &sent.object.lock, self.app.ask(Store::now_ms));
            self.set(sent, Method::PUT, at, &version, document).await?;
        }
        if changes.legal_hold_ms > 0 {
            let at = ("legal-hold", changes.legal_hold_ms);
            let status = if sent.object.lock.legal_hold == LegalHold::On { "ON" } else { "OFF" };
            let document = format!("<LegalHold {NAMESPACE}><Status>{status}</Status></LegalHold>");
            self.set(sent, Method::PUT, at, &version, document).await?;
        }
        Ok(())
    }

    async fn set(
        &self,
        sent: &Sent<'_>,
        method: Method,
        (what, at_ms): (&str, u64),
        version: &Option<String>,
        document: String,
    ) -> Result<(), NotDone> {
        let mut query = vec![pair(what, "")];
        query.extend(version.as_deref().map(|version| pair("versionId", version)));
        let mut headers = source_headers(sent.kind, Identity::of_row(self.row));
        if sent.kind != RemoteKind::S3 {
            let what = what.replace('-', "");
            let name = format!("x-minio-source-replication-{what}-timestamp");
            headers.push((name, time(at_ms)));
        }
        if what == "retention" {
            headers.push(pair("x-amz-bypass-governance-retention", "true"));
        }
        if method == Method::PUT {
            headers.push(pair("content-type", "application/xml"));
            headers.push(pair("content-md5", liteio_client::md5_base64(document.as_bytes())));
        }
        match self.remote.call(method, &self.row.key, query, headers, document).await {
            // The copy was deleted there.
            Err(error) if is_missing(&error) => Ok(()),
            result => result.map(drop).map_err(NotDone::from),
        }
    }
}

impl Sent<'_> {
    /// The headers of the metadata, the tags and the lock.
    fn headers(&self, row: &ReplicationRow, now_ms: u64) -> Result<Pairs, NotDone> {
        let headers = metadata_headers(&self.version.bucket, self.object);
        let mut headers = headers.map_err(NotDone::Refused)?;
        if let Some(class) = &self.storage_class {
            headers.retain(|(name, _)| name != "x-amz-storage-class");
            headers.push(pair("x-amz-storage-class", &**class));
        }
        let object = self.object;
        if !object.metadata.tags.is_empty() {
            headers.push(pair("x-amz-tagging", tags_header(&object.metadata.tags)));
        }
        headers.extend(lock::headers(self.kind, &object.lock, now_ms));
        match object.lock.legal_hold {
            LegalHold::Never => {}
            LegalHold::On => headers.push(pair("x-amz-object-lock-legal-hold", "ON")),
            LegalHold::Off => headers.push(pair("x-amz-object-lock-legal-hold", "OFF")),
        }
        headers.extend(source_headers(self.kind, Identity::of_row(row)));
        Ok(headers)
    }

    /// Adds what gives the copy the identity of the version, where the target takes that.
    fn identify(&self, row: &ReplicationRow, query: &mut Pairs, headers: &mut Pairs) {
        if self.kind == RemoteKind::S3 {
            return;
        }
        let identity = Identity::of_row(row);
        if !headers.iter().any(|(name, _)| name == "x-minio-source-replication-request") {
            headers.extend(source_headers(self.kind, identity));
        }
        headers.push(pair("x-minio-source-mtime", time(self.version.modified_ms)));
        headers.push(pair("x-minio-source-etag", self.object.etag.to_string()));
        if self.kind == RemoteKind::Minio {
            query.push(pair("versionId", version_name(self.kind, identity.version)));
        }
    }
}

fn tagging(tags: &[(String, String)]) -> String {
    let tag = |(key, value): &(String, String)| {
        let (key, value) = (escaped_xml(key), escaped_xml(value));
        format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>")
    };
    let tags: String = tags.iter().map(tag).collect();
    format!("<Tagging {NAMESPACE}><TagSet>{tags}</TagSet></Tagging>")
}

/// `true` if the target has the version that was sent.
fn is_there(error: &CallError) -> bool {
    error.code == "PreconditionFailed"
}

/// `true` if the target has no such version or object.
pub(crate) fn is_missing(error: &CallError) -> bool {
    matches!(&*error.code, "NoSuchKey" | "NoSuchVersion")
}
