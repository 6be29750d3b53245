//! The bucket policy. The document is stored as sent; [`liteio_access`] evaluates it.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use liteio_store::DocumentKind;
use s3s::dto::{
    DeleteBucketPolicyInput, DeleteBucketPolicyOutput, GetBucketPolicyStatusInput,
    GetBucketPolicyStatusOutput, PolicyStatus,
};
use s3s::{S3Error, S3ErrorCode, S3Response, S3Result, s3_error};

use super::bucket_settings::drop_kept;
use super::details::Details;
use super::plain::{self, PlainRequest, PlainResponse};
use super::{Req, Resp, error};
use liteio_access::state::App;
use liteio_access::{Granted, policy_of, public_access_block};
use liteio_policy::{Kind, Policy};
use liteio_wire::reply::ReplyBody;

pub(super) async fn put_bucket_policy(app: &App, request: PlainRequest) -> PlainResponse {
    let PlainRequest { granted, body: document, .. } = request;
    let bucket = granted.bucket();
    let policy = Policy::parse(&document, Kind::Bucket(bucket.name.as_str()));
    let policy = policy.map_err(|error| {
        let malformed = S3Error::with_message(S3ErrorCode::MalformedPolicy, error.to_string());
        match error.detail() {
            Some(part) => Details::add(malformed, "Detail", part),
            None => malformed,
        }
    })?;
    let block = public_access_block(bucket).map_err(error::from_store)?;
    if block.unwrap_or_default().block_public_policy && policy.is_public() {
        return Err(s3_error!(
            AccessDenied,
            "The policy grants access to the public, which the public access block of the bucket \
             prevents (BlockPublicPolicy)."
        ));
    }
    let kept = app.store.put_document(bucket, DocumentKind::Policy, document.to_vec()).await;
    kept.map_err(error::from_store)?;
    plain::no_content()
}

pub(super) async fn get_bucket_policy(_app: &App, request: PlainRequest) -> PlainResponse {
    let document = document(&request.granted)?;
    let mut response = Response::new(ReplyBody::from(document.to_vec()));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}

pub(super) async fn delete_bucket_policy(
    app: &App,
    granted: Granted,
    _request: Req<DeleteBucketPolicyInput>,
) -> Resp<DeleteBucketPolicyOutput> {
    drop_kept(app, &granted, DocumentKind::Policy).await?;
    Ok(S3Response::new(DeleteBucketPolicyOutput::default()))
}

pub(super) async fn get_bucket_policy_status(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketPolicyStatusInput>,
) -> Resp<GetBucketPolicyStatusOutput> {
    let policy = policy_of(granted.bucket()).ok_or_else(no_such_policy)?;
    let policy_status = Some(PolicyStatus { is_public: Some(policy.is_public()) });
    Ok(S3Response::new(GetBucketPolicyStatusOutput { policy_status }))
}

fn document(granted: &Granted) -> S3Result<&[u8]> {
    granted.bucket().settings.document(DocumentKind::Policy).ok_or_else(no_such_policy)
}

fn no_such_policy() -> S3Error {
    s3_error!(NoSuchBucketPolicy, "The bucket policy does not exist")
}
