//! Directory buckets, as far as SDKs need them to go on with an ordinary bucket.
//!
//! For a name in the form `BASE--ZONE--x-s3` SDKs ask for a session (CreateSession) before other requests,
//! sign them with its keys for the service `s3express`, and send its token as
//! `x-amz-s3session-token`. Such a bucket is an ordinary one here, and a session is one of STS, for
//! the sender and this bucket alone.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderValue, Response, Uri};
use liteio_auth::Identity;
use liteio_store::{ListBuckets, zone_of_bucket_name};
use s3s::dto::{CreateBucketInput, ListDirectoryBucketsInput, ListDirectoryBucketsOutput};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use serde_json::json;

use super::answer::xml_response;
use super::context::Sent;
use super::details::Details;
use super::page_token::{name_of_token, token_after};
use super::plain::{PlainRequest, PlainResponse};
use super::route::{LIST_OF_DIRECTORIES as LIST, OPERATION, Route};
use super::xml::XmlWriter;
use super::{Req, Resp, error};
use liteio_access::GrantedAccount;
use liteio_access::state::App;
use liteio_wire::reply::ReplyBody;

const SESSION: &str = "CreateSession";
const MODE: &str = "x-amz-create-session-mode";

/// Length of a session. S3's.
const SESSION_LENGTH: Duration = Duration::from_secs(5 * 60);
/// Most buckets of a page. S3's.
const LIST_MAX: usize = 1000;

/// The actions of a session that only reads.
const READS: [&str; 5] = [
    "s3:GetObject",
    "s3:GetObjectAttributes",
    "s3:ListBucket",
    "s3:ListBucketMultipartUploads",
    "s3:ListMultipartUploadParts",
];

/// Names the operation in the query, for s3s.
pub(super) fn name_operation(route: &Route, head: &mut Parts) {
    let query = head.uri.query().unwrap_or_default();
    if route.operation != LIST || query.contains("x-id=") {
        return;
    }
    let separator = if query.is_empty() { "" } else { "&" };
    let path = format!("{}?{query}{separator}{OPERATION}={LIST}", head.uri.path());
    let mut parts = head.uri.clone().into_parts();
    let Ok(path) = PathAndQuery::try_from(path) else { return };
    parts.path_and_query = Some(path);
    if let Ok(uri) = Uri::from_parts(parts) {
        head.uri = uri;
    }
}

/// True for the session of a bucket that is not there. An SDK with an endpoint begins one before it
/// makes the bucket, which would fail otherwise.
pub(super) fn is_early(route: &Route, error: &S3Error) -> bool {
    route.operation == SESSION && *error.code() == S3ErrorCode::NoSuchBucket
}

/// Begins a session for the sender.
pub(super) async fn create_session(app: &App, request: PlainRequest) -> PlainResponse {
    let bucket = request.granted.bucket().name.clone();
    session(app, request.sent(), bucket.as_str())
}

/// The keys of a session of the sender that may do what the sender may, in this bucket.
pub(super) fn session(app: &App, sent: Sent<'_>, bucket: &str) -> PlainResponse {
    let key = sent.extensions.get().and_then(Identity::key).ok_or_else(error::access_denied)?;
    if zone_of_bucket_name(bucket).is_none() {
        return Err(error::invalid_request(
            "A session is for a bucket whose name has the form BASE--ZONE--x-s3.",
        ));
    }
    if key.is_of_service {
        return Err(s3_error!(AccessDenied, "A service account cannot call CreateSession"));
    }
    // As on AWS for buckets without a default of their own, objects have the encryption of the bucket.
    let encryption = "x-amz-server-side-encryption";
    if let Some(name) = sent.headers.keys().find(|name| name.as_str().starts_with(encryption)) {
        return Err(error::header_not_implemented(
            name.as_str(),
            "A session has no encryption of its own: set the default of the bucket.",
        ));
    }
    let actions = match sent.header(MODE) {
        None | Some("ReadWrite") => json!("s3:*"),
        Some("ReadOnly") if key.user.session_policies.is_some() => {
            return Err(s3_error!(
                NotImplemented,
                "A session with policies of its own cannot begin one that only reads."
            ));
        }
        Some("ReadOnly") => json!(READS),
        Some(other) => {
            return Err(s3_error!(
                Details::argument(MODE, error::quoted(other)),
                InvalidArgument,
                "The mode of a session is ReadOnly or ReadWrite."
            ));
        }
    };
    let arn = format!("arn:aws:s3:::{bucket}");
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow", "Action": actions, "Resource": [arn, format!("{arn}/*")],
        }],
    });
    let seconds = u32::try_from(SESSION_LENGTH.as_secs()).unwrap_or(u32::MAX);
    let now = app.now_unix_seconds();
    let issued = app.directory.narrow(key, now, seconds, policy.to_string());
    let issued = issued.map_err(error::from_store)?;
    let mut xml = XmlWriter::new("CreateSessionResult", 4096);
    xml.open("Credentials");
    xml.text("AccessKeyId", &issued.access_key);
    xml.text("SecretAccessKey", &issued.secret_key);
    xml.text("SessionToken", &issued.token);
    xml.date("Expiration", u64::try_from(issued.expires).unwrap_or(0).saturating_mul(1000));
    xml.close("Credentials");
    let mut response = Response::new(ReplyBody::from(xml.finish()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    Ok(response)
}

/// Checks the document of CreateBucket for a directory bucket; false for an ordinary one.
///
/// # Errors
/// `InvalidBucketName` and `InvalidRequest` if document and name do not agree.
pub(super) fn check_configuration(input: &CreateBucketInput) -> S3Result<bool> {
    let configuration = input.create_bucket_configuration.as_ref();
    let Some(configuration) =
        configuration.filter(|it| it.bucket.is_some() || it.location.is_some())
    else {
        return Ok(zone_of_bucket_name(&input.bucket).is_some());
    };
    let Some(zone) = zone_of_bucket_name(&input.bucket) else {
        return Err(s3_error!(
            Details::of("BucketName", error::quoted(&input.bucket)),
            InvalidBucketName,
            "The specified bucket is not valid. The name of a directory bucket has the form \
             BASE--ZONE--x-s3."
        ));
    };
    let named = configuration.location.as_ref().and_then(|location| location.name.as_deref());
    let kind = configuration.bucket.as_ref().and_then(|bucket| bucket.type_.as_ref());
    let is_directory = kind.is_none_or(|kind| kind.as_str() == "Directory");
    match named.is_none_or(|named| named == zone) && is_directory {
        true => Ok(true),
        false => Err(error::invalid_request(
            "The location and the type of a directory bucket do not agree with its name.",
        )),
    }
}

/// Lists the buckets of the sender whose names have the form of directory buckets.
pub(super) async fn list_directory_buckets(
    app: &App,
    granted: GrantedAccount,
    request: Req<ListDirectoryBucketsInput>,
) -> Resp<ListDirectoryBucketsOutput> {
    let owner_id = granted.owner().id.clone();
    let ListDirectoryBucketsInput { continuation_token, max_directory_buckets } = request.input;
    let max = match max_directory_buckets.map(usize::try_from) {
        None => LIST_MAX,
        Some(Ok(max)) if max <= LIST_MAX => max,
        Some(_) => {
            return Err(s3_error!(
                Details::named("max-directory-buckets"),
                InvalidArgument,
                "Argument max-directory-buckets must be an integer between 0 and {LIST_MAX}"
            ));
        }
    };
    let mut after = continuation_token.as_deref().map(name_of_token).transpose()?;
    let mut found = Vec::new();
    let mut next = None;
    let mut is_done = max == 0;
    while !is_done {
        let query = ListBuckets {
            prefix: None,
            after: after.take(),
            owner_id: Some(owner_id.clone()),
            max: liteio_store::limits::LIST_BUCKETS_MAX,
        };
        let page = app.blocking(move |store| store.list_buckets(&query)).await;
        let page = page.map_err(error::from_store)?;
        let is_directory = |name: &str| zone_of_bucket_name(name).is_some();
        found.extend(page.buckets.into_iter().filter(|it| is_directory(it.name.as_str())));
        after = page.next;
        if found.len() > max {
            found.truncate(max);
            next = found.last().map(|bucket| token_after(bucket.name.as_str()));
            break;
        }
        is_done = after.is_none();
    }
    let mut xml = XmlWriter::new("ListAllMyDirectoryBucketsResult", 160 * found.len());
    xml.open("Buckets");
    for bucket in &found {
        xml.open("Bucket");
        xml.text("Name", bucket.name.as_str());
        xml.date("CreationDate", bucket.created_ms);
        xml.close("Bucket");
    }
    xml.close("Buckets");
    xml.optional_text("ContinuationToken", next.as_deref());
    Ok(xml_response(xml.finish()))
}
