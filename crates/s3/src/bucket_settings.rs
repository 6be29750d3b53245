//! Bucket settings that are stored and returned without effect: tags, request payment, acceleration.

use std::collections::HashSet;

use http::HeaderMap;
use liteio_store::DocumentKind;
use s3s::dto::*;
use s3s::xml::{Deserialize, Deserializer, Serialize, Serializer};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::answer::no_content;
use super::plain::wants_status_200;
use super::tagging::{self, Tagged};
use super::{Req, Resp, error};
use liteio_access::Granted;
use liteio_access::state::App;

/// Stores a document, replacing the previous one of its kind.
pub(super) async fn keep(
    app: &App,
    granted: &Granted,
    kind: DocumentKind,
    document: &impl Serialize,
) -> S3Result<()> {
    let kept = app.store.put_document(granted.bucket(), kind, to_xml(document)?).await;
    kept.map_err(error::from_store)
}

/// The stored document of a kind, if any.
pub(super) fn kept<T>(granted: &Granted, kind: DocumentKind) -> S3Result<Option<T>>
where
    T: for<'xml> Deserialize<'xml>,
{
    granted.bucket().settings.document(kind).map(from_xml).transpose()
}

/// Deletes the document of a kind.
pub(super) async fn drop_kept(app: &App, granted: &Granted, kind: DocumentKind) -> S3Result<()> {
    app.store.delete_document(granted.bucket(), kind).await.map_err(error::from_store)
}

/// Parses a document written by [`to_xml`].
pub(super) fn from_xml<T>(document: &[u8]) -> S3Result<T>
where
    T: for<'xml> Deserialize<'xml>,
{
    T::deserialize(&mut Deserializer::new(document)).map_err(S3Error::internal_error)
}

/// Adds a generated ID, starting with `prefix`, to every rule without one. Returns true if all IDs
/// differ.
pub(super) fn name_rules(mut ids: Vec<&mut Option<String>>, prefix: &str) -> bool {
    let given = ids.iter().filter_map(|id| id.as_ref()).filter(|id| !id.is_empty());
    let mut taken: HashSet<String> = given.cloned().collect();
    let mut free = (1_usize..).map(|number| format!("{prefix}-{number}"));
    for id in &mut ids {
        if id.as_ref().is_none_or(String::is_empty) {
            **id = free.find(|id| taken.insert(id.clone()));
        }
    }
    taken.len() == ids.len()
}

/// Serializes a document for the store.
pub(super) fn to_xml(document: &impl Serialize) -> S3Result<Vec<u8>> {
    let mut bytes = Vec::new();
    document.serialize(&mut Serializer::new(&mut bytes)).map_err(S3Error::internal_error)?;
    Ok(bytes)
}

/// Checks bucket tags and serializes them for the store.
pub(super) fn tagging_document(tags: TagSet, tagged: Tagged) -> S3Result<Vec<u8>> {
    let tags = tagging::of_document(tags, tagged)?;
    to_xml(&Tagging { tag_set: tagging::to_document(tags) })
}

pub(super) async fn put_bucket_tagging(
    app: &App,
    granted: Granted,
    request: Req<PutBucketTaggingInput>,
) -> Resp<PutBucketTaggingOutput> {
    let tags = request.input.tagging.tag_set;
    if tags.is_empty() {
        // As on AWS, there are no tags then, and not an empty set of them.
        drop_kept(app, &granted, DocumentKind::Tagging).await?;
        return Ok(tagged(app, &request.headers));
    }
    let document = tagging_document(tags, Tagged::Bucket)?;
    let kept = app.store.put_document(granted.bucket(), DocumentKind::Tagging, document).await;
    kept.map_err(error::from_store)?;
    Ok(tagged(app, &request.headers))
}

/// 204, as on AWS. MinIO has 200, the only status that minio-js takes for success.
fn tagged(app: &App, headers: &HeaderMap) -> S3Response<PutBucketTaggingOutput> {
    match wants_status_200(app, headers) {
        true => S3Response::new(PutBucketTaggingOutput::default()),
        false => no_content(PutBucketTaggingOutput::default()),
    }
}

pub(super) async fn get_bucket_tagging(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketTaggingInput>,
) -> Resp<GetBucketTaggingOutput> {
    let kept: Option<Tagging> = kept(&granted, DocumentKind::Tagging)?;
    let tagging = kept.ok_or_else(|| s3_error!(NoSuchTagSet, "The TagSet does not exist"))?;
    Ok(S3Response::new(GetBucketTaggingOutput { tag_set: tagging.tag_set }))
}

pub(super) async fn delete_bucket_tagging(
    app: &App,
    granted: Granted,
    _request: Req<DeleteBucketTaggingInput>,
) -> Resp<DeleteBucketTaggingOutput> {
    drop_kept(app, &granted, DocumentKind::Tagging).await?;
    Ok(S3Response::new(DeleteBucketTaggingOutput::default()))
}

pub(super) async fn put_bucket_request_payment(
    app: &App,
    granted: Granted,
    request: Req<PutBucketRequestPaymentInput>,
) -> Resp<PutBucketRequestPaymentOutput> {
    let configuration = request.input.request_payment_configuration;
    if ![Payer::BUCKET_OWNER, Payer::REQUESTER].contains(&configuration.payer.as_str()) {
        return Err(error::malformed_xml());
    }
    keep(app, &granted, DocumentKind::RequestPayment, &configuration).await?;
    Ok(S3Response::new(PutBucketRequestPaymentOutput::default()))
}

pub(super) async fn get_bucket_request_payment(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketRequestPaymentInput>,
) -> Resp<GetBucketRequestPaymentOutput> {
    let kept: Option<RequestPaymentConfiguration> = kept(&granted, DocumentKind::RequestPayment)?;
    let payer = kept.map_or(Payer::from_static(Payer::BUCKET_OWNER), |it| it.payer);
    Ok(S3Response::new(GetBucketRequestPaymentOutput { payer: Some(payer) }))
}

pub(super) async fn put_bucket_accelerate_configuration(
    app: &App,
    granted: Granted,
    request: Req<PutBucketAccelerateConfigurationInput>,
) -> Resp<PutBucketAccelerateConfigurationOutput> {
    let configuration = request.input.accelerate_configuration;
    let status = configuration.status.as_ref().map(BucketAccelerateStatus::as_str);
    let known = [BucketAccelerateStatus::ENABLED, BucketAccelerateStatus::SUSPENDED];
    if granted.bucket().name.as_str().contains('.') {
        return Err(s3_error!(
            InvalidRequest,
            "S3 Transfer Acceleration is not supported for buckets with periods (.) in their names"
        ));
    }
    if !status.is_some_and(|status| known.contains(&status)) {
        return Err(error::malformed_xml());
    }
    keep(app, &granted, DocumentKind::Accelerate, &configuration).await?;
    Ok(S3Response::new(PutBucketAccelerateConfigurationOutput::default()))
}

pub(super) async fn get_bucket_accelerate_configuration(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketAccelerateConfigurationInput>,
) -> Resp<GetBucketAccelerateConfigurationOutput> {
    let kept: Option<AccelerateConfiguration> = kept(&granted, DocumentKind::Accelerate)?;
    let status = kept.and_then(|configuration| configuration.status);
    Ok(S3Response::new(GetBucketAccelerateConfigurationOutput { status, request_charged: None }))
}
