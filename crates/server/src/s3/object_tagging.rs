//! GetObjectTagging, PutObjectTagging and DeleteObjectTagging.

use liteio_store::{GetOptions, VersionChange};
use s3s::S3Response;
use s3s::dto::{
    DeleteObjectTaggingInput, DeleteObjectTaggingOutput, GetObjectTaggingInput,
    GetObjectTaggingOutput, PutObjectTaggingInput, PutObjectTaggingOutput,
};

use super::convert::{object_key, version_id};
use super::tagging::{self, Tagged};
use super::{Req, Resp, error, metadata};
use crate::access::Granted;
use crate::state::App;

pub(super) async fn get_object_tagging(
    app: &App,
    granted: Granted,
    request: Req<GetObjectTaggingInput>,
) -> Resp<GetObjectTaggingOutput> {
    let key = object_key(request.input.key)?;
    let version = version_id(request.input.version_id)?;
    let options = GetOptions { version, ..GetOptions::default() };
    let found = app.look(|store| store.head_object(granted.bucket(), &key, &options));
    let object = found.map_err(error::from_store)?.object;
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
    let tags = tagging::of_document(request.input.tagging.tag_set, Tagged::Object)?;
    let key = object_key(request.input.key)?;
    let version = version_id(request.input.version_id)?;
    let change = VersionChange::Tags(tags);
    let changed = app.store.change_object(granted.bucket(), key, version, change).await;
    let object = changed.map_err(error::from_store)?;
    let version_id = metadata::shown_version(granted.bucket(), &object);
    Ok(S3Response::new(PutObjectTaggingOutput { version_id }))
}

pub(super) async fn delete_object_tagging(
    app: &App,
    granted: Granted,
    request: Req<DeleteObjectTaggingInput>,
) -> Resp<DeleteObjectTaggingOutput> {
    let key = object_key(request.input.key)?;
    let version = version_id(request.input.version_id)?;
    let change = VersionChange::Tags(Vec::new());
    let changed = app.store.change_object(granted.bucket(), key, version, change).await;
    let object = changed.map_err(error::from_store)?;
    let version_id = metadata::shown_version(granted.bucket(), &object);
    Ok(S3Response::new(DeleteObjectTaggingOutput { version_id }))
}
