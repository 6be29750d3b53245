//! GetObjectTagging, PutObjectTagging and DeleteObjectTagging.

use liteio_store::VersionChange;
use s3s::S3Response;
use s3s::dto::{
    DeleteObjectTaggingInput, DeleteObjectTaggingOutput, GetObjectTaggingInput,
    GetObjectTaggingOutput, PutObjectTaggingInput, PutObjectTaggingOutput,
};

use super::tagging::{self, Tagged};
use super::{Req, Resp, event_cause, metadata, object_version, replica};
use liteio_access::Granted;
use liteio_access::state::App;

pub(super) async fn get_object_tagging(
    app: &App,
    granted: Granted,
    request: Req<GetObjectTaggingInput>,
) -> Resp<GetObjectTaggingOutput> {
    let GetObjectTaggingInput { key, version_id, .. } = request.input;
    let object = object_version::find_tagged(app, &granted, key, version_id).await?;
    Ok(S3Response::new(GetObjectTaggingOutput {
        version_id: metadata::shown_version(granted.bucket(), &object),
        tag_set: tagging::to_document(object.metadata.tags),
    }))
}

pub(super) async fn put_object_tagging(
    app: &App,
    granted: Granted,
    request: Req<PutObjectTaggingInput>,
) -> Resp<PutObjectTaggingOutput> {
    let cause = event_cause::of_request(app, &granted, &request.headers, &request.extensions);
    let PutObjectTaggingInput { key, version_id, tagging, .. } = request.input;
    let tags = VersionChange::Tags(tagging::of_document(tagging.tag_set, Tagged::Object)?);
    let tags = replica::changed(&request.headers, tags)?;
    let object = object_version::change(app, &granted, key, version_id, tags, cause).await?;
    let version_id = metadata::shown_version(granted.bucket(), &object);
    Ok(S3Response::new(PutObjectTaggingOutput { version_id }))
}

pub(super) async fn delete_object_tagging(
    app: &App,
    granted: Granted,
    request: Req<DeleteObjectTaggingInput>,
) -> Resp<DeleteObjectTaggingOutput> {
    let cause = event_cause::of_request(app, &granted, &request.headers, &request.extensions);
    let DeleteObjectTaggingInput { key, version_id, .. } = request.input;
    let none = replica::changed(&request.headers, VersionChange::NoTags)?;
    let object = object_version::change(app, &granted, key, version_id, none, cause).await?;
    let version_id = metadata::shown_version(granted.bucket(), &object);
    Ok(S3Response::new(DeleteObjectTaggingOutput { version_id }))
}
