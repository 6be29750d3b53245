//! Copies from a service to a service.

use std::sync::Arc;

use super::pool::Pool;
use super::protection::{Kept, Protection};
use super::reader::Reader;
use super::upload::{Sizes, end, upload};
use super::{Job, Properties};
use crate::error::Error;
use crate::s3::{CopySource, Head, Part, Sent, Span, Upload};
use crate::session::Session;
use crate::target::Remote;

/// Size above which an object is copied in parts.
const COPY_BYTES_MAX: u64 = 5 << 30;
const COPY_PART_BYTES: u64 = 512 << 20;
const PARTS_MAX: u64 = 10_000;
const PARTS_AT_ONCE: usize = 4;

/// Copies an object within its service.
pub(super) async fn copy(
    session: &Arc<Session>,
    job: &Job,
    source: &Remote,
    target: &Remote,
    properties: &Properties,
) -> Result<(), Error> {
    let version = job.version.as_deref();
    let from = CopySource { bucket: &source.bucket, key: &source.key, version, etag: &job.etag };
    let is_large = job.size > COPY_BYTES_MAX;
    if !is_large && properties.attributes.is_empty() {
        // The service copies the metadata by itself.
        let mut headers = properties.headers(&target.key, Vec::new());
        headers.retain(|(name, _)| name != "content-type");
        return source.s3.copy(from, &target.bucket, &target.key, &headers).await;
    }
    let head = source.s3.head(&source.bucket, &source.key, version).await?;
    if !is_large {
        // The service copies the tags by itself.
        let headers = properties.headers(&target.key, head.metadata());
        return source.s3.copy(from, &target.bucket, &target.key, &headers).await;
    }
    let properties = with_tags(properties, source, version, &head).await?;
    let headers = properties.headers(&target.key, head.metadata());
    let from = CopySource { etag: &head.etag, ..from };
    let upload = target.s3.begin_upload(&target.bucket, &target.key, &headers).await?;
    session.open_upload(&target.s3, &upload);
    let result = copy_parts(from, &upload, head.size, target).await;
    end(session, target, &upload, result).await
}

async fn copy_parts(
    from: CopySource<'_>,
    upload: &Upload,
    size: u64,
    target: &Remote,
) -> Result<(), Error> {
    let part_bytes = COPY_PART_BYTES.max(size.div_ceil(PARTS_MAX));
    let mut pool: Pool<Result<Part, Error>> = Pool::new(PARTS_AT_ONCE);
    let mut parts = Vec::new();
    let mut first = 0;
    let mut number = 0;
    while first < size {
        while let Some(part) = pool.room().await {
            parts.push(part?);
        }
        number += 1;
        let span = Span { first, last: (first + part_bytes).min(size) - 1 };
        let (s3, upload) = (target.s3.clone(), upload.clone());
        let (bucket, key, etag) =
            (from.bucket.to_owned(), from.key.to_owned(), from.etag.to_owned());
        let version = from.version.map(ToOwned::to_owned);
        pool.add(async move {
            let version = version.as_deref();
            let from = CopySource { bucket: &bucket, key: &key, version, etag: &etag };
            s3.copy_part(&upload, number, from, span).await
        });
        first = span.last + 1;
    }
    while let Some(part) = pool.next().await {
        parts.push(part?);
    }
    parts.sort_by_key(|part| part.number);
    target.s3.complete_upload(upload, &parts).await
}

/// Copies an object through this machine, with its metadata, tags, and the protection that is kept.
pub(super) async fn stream(
    session: &Arc<Session>,
    job: &Job,
    source: &Remote,
    target: &Remote,
    properties: &Properties,
    sent: Option<Sent>,
) -> Result<(), Error> {
    let error = match attempt(session, job, source, target, properties, sent.clone()).await {
        Err(error) if is_about_class(&error, properties) => error,
        result => return result,
    };
    let properties = Properties { kept: Kept::AllButClass, ..properties.clone() };
    attempt(session, job, source, target, &properties, sent).await?;
    tell_lost(session, target, &error);
    Ok(())
}

/// `true` if the target does not have the storage class of the source.
fn is_about_class(error: &Error, properties: &Properties) -> bool {
    properties.kept == Kept::Protection && error.code() == "InvalidStorageClass"
}

async fn attempt(
    session: &Arc<Session>,
    job: &Job,
    source: &Remote,
    target: &Remote,
    properties: &Properties,
    sent: Option<Sent>,
) -> Result<(), Error> {
    let version = job.version.as_deref();
    let download = source.s3.download(&source.bucket, &source.key, version, 0).await?;
    let properties = with_tags(properties, source, version, &download.head).await?;
    let protection = Protection::of(properties.kept, &download.head, target).await?;
    let mut of_source = download.head.metadata();
    of_source.extend(protection.headers);
    let headers = properties.headers(&target.key, of_source);
    let sizes = Sizes::of(Some(download.head.size), properties.no_multipart);
    let mut reader = Reader::object(download);
    upload(session, target, headers, &mut reader, sizes, sent).await?;
    if let Some(lost) = protection.lost {
        tell_lost(session, target, &Error::refused(lost));
    }
    Ok(())
}

/// Reports a copy that is there without all of the protection of its source.
fn tell_lost(session: &Session, target: &Remote, reason: &Error) {
    let message = format!("`{}` is copied, but not as it was:", target.name());
    session.output.failure(&message, reason);
}

/// Properties with the tags of the source, unless others were requested.
async fn with_tags(
    properties: &Properties,
    source: &Remote,
    version: Option<&str>,
    head: &Head,
) -> Result<Properties, Error> {
    let mut properties = properties.clone();
    if properties.tags.is_empty() && head.headers.contains_key("x-amz-tagging-count") {
        properties.tags = source.s3.tags(&source.bucket, &source.key, version).await?;
    }
    Ok(properties)
}
