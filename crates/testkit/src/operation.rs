//! Classifies a request before it reaches its service: the access key that it claims, its
//! operation, and the error format that its sender expects. Fields in the body are read, and the
//! bytes put back.

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Uri};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use memchr::memmem;

use super::bodies::{PutBack, TestBody};
use liteio_auth::Service;
use liteio_s3 as s3;
use liteio_s3vectors as vectors;
use liteio_wire::origin::Origin;
use liteio_wire::reply::{ApiError, BoxError, Dialect, ErrorCode};

/// Limit of body bytes that are examined.
const PEEKED_BYTES_MAX: usize = 64 << 10;
/// The same of S3 Vectors, whose names may be behind all vectors: the limit of its bodies.
const VECTORS_BYTES_MAX: usize = 20 << 20;

/// An access key, and its session token.
type Claimed = (String, Option<String>);

/// The service in the credential scope of the signature header.
fn service(headers: &HeaderMap) -> Option<Service> {
    let authorization = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok())?;
    Service::claimed(authorization)
}

/// The error format that the sender expects.
pub(super) fn dialect(head: &Parts) -> Dialect {
    match service(&head.headers) {
        Some(Service::S3Vectors) => Dialect::S3Vectors,
        Some(Service::Iam) => Dialect::Iam,
        Some(Service::Sts) => Dialect::Sts,
        Some(Service::S3Tables) if !is_of_catalog(head) => Dialect::S3Vectors,
        Some(Service::S3Tables | Service::ExecuteApi) => Dialect::Iceberg,
        Some(Service::S3 | Service::S3Express) | None => Dialect::S3,
    }
}

/// `true` for a path of the Iceberg REST catalog, which S3 Tables has, too.
fn is_of_catalog(head: &Parts) -> bool {
    let path = head.uri.path();
    path.starts_with("/_iceberg/") || path.starts_with("/iceberg/v1/")
}

fn has_content_type(headers: &HeaderMap, essence: &str) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    content_type.is_some_and(|it| it.trim_start().to_ascii_lowercase().starts_with(essence))
}

/// The names that patterns of a bucket and a key can match in requests of an operation: of S3 Vectors the vector bucket and the index. An
/// operation of another service counts as if its requests had both.
pub(super) fn level_of(operation: &str) -> s3::Level {
    match (s3::level_of(operation), operation) {
        (Some(level), _) => level,
        (None, "ListVectorBuckets") => s3::Level::Service,
        (None, "ListIndexes") => s3::Level::Bucket,
        (None, name) if name.contains("VectorBucket") => s3::Level::Bucket,
        (None, _) => s3::Level::Key,
    }
}

/// The name of the operation, if known.
///
/// # Errors
/// The errors of the body.
pub(super) async fn operation(
    request: &mut Request<TestBody>,
    origin: &Origin,
) -> Result<Option<String>, ApiError> {
    let mut head = Request::new(()).into_parts().0;
    head.method = request.method().clone();
    head.uri = request.uri().clone();
    head.headers = request.headers().clone();
    let target = &origin.target;
    match service(&head.headers) {
        Some(Service::S3Vectors) => {
            return Ok(vectors::operation_of(&head.method, head.uri.path()).map(str::to_owned));
        }
        // Faults are for the operations of the other services.
        Some(Service::S3Tables | Service::ExecuteApi) => return Ok(None),
        Some(Service::S3 | Service::S3Express) => {}
        Some(Service::Iam | Service::Sts) | None => {
            let is_form = has_content_type(&head.headers, "application/x-www-form-urlencoded");
            if target.bucket().is_empty() && head.method == Method::POST && is_form {
                let body = peek(request, PEEKED_BYTES_MAX, |_| false).await?;
                return Ok(action(&body));
            }
            let in_query = action(head.uri.query().unwrap_or_default().as_bytes());
            if target.bucket().is_empty() && in_query.is_some() {
                return Ok(in_query);
            }
        }
    }
    if is_browser_form(&head.method, &head.headers) {
        return Ok(Some("PutObject".to_owned()));
    }
    Ok(s3::operation_of(&head, target).map(str::to_owned))
}

/// The vector bucket, empty without one, and the index that a request of S3 Vectors names in its body; `None` for other
/// services.
///
/// # Errors
/// The errors of the body.
pub(super) async fn vector_names(
    request: &mut Request<TestBody>,
) -> Result<Option<(String, Option<String>)>, ApiError> {
    if service(request.headers()) != Some(Service::S3Vectors) {
        return Ok(None);
    }
    let body = peek(request, VECTORS_BYTES_MAX, |_| false).await?;
    let names = vectors::names_in(request.method(), request.uri().path(), &body);
    Ok(Some(names.unwrap_or_default()))
}

/// The bucket and the key of a request, as patterns match them: of S3 Vectors the vector bucket and the index.
pub(super) fn bucket_and_key(origin: &Origin) -> (&str, &str) {
    match origin.found.vectors() {
        Some((bucket, index)) => (bucket, index.unwrap_or_default()),
        None => (origin.target.bucket(), origin.target.key()),
    }
}

/// The value of `Action` in a form.
fn action(form: &[u8]) -> Option<String> {
    let mut fields = form_urlencoded::parse(form);
    fields.find(|(name, _)| name == "Action").map(|(_, value)| value.into_owned())
}

/// The access key that a request claims, unverified.
///
/// # Errors
/// The errors of the body, if the key is in a form.
pub(super) async fn claimed_key(
    request: &mut Request<TestBody>,
) -> Result<Option<Claimed>, ApiError> {
    if let Some(claimed) = claimed_in_head(request.headers(), request.uri()) {
        return Ok(Some(claimed));
    }
    if !is_browser_form(request.method(), request.headers()) {
        return Ok(None);
    }
    let is_enough = |bytes: &[u8]| field(bytes, b"file").is_some();
    let form = peek(request, PEEKED_BYTES_MAX, is_enough).await?;
    let value = |name| field(&form, name).map(|it| String::from_utf8_lossy(it).into_owned());
    let credential = value(b"x-amz-credential").or_else(|| value(b"awsaccesskeyid"));
    Ok(credential.map(|it| (key_of(&it), value(b"x-amz-security-token"))))
}

/// The same of the signature header or a presigned URL.
pub(super) fn claimed_in_head(headers: &HeaderMap, uri: &Uri) -> Option<Claimed> {
    let text = |name: &str| {
        let value = headers.get(name).and_then(|it| it.to_str().ok());
        value.map(str::to_owned)
    };
    let token = text("x-amz-security-token");
    if let Some(authorization) = text("authorization") {
        let credential = authorization.split_once("Credential=");
        let key = credential.and_then(|(_, rest)| rest.split(['/', ',', ' ']).next());
        return key.map(|key| (key.to_owned(), token));
    }
    let query = uri.query().unwrap_or_default();
    let parameter = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(other, _)| other == name).map(|(_, value)| value.into_owned())
    };
    let credential = parameter("X-Amz-Credential").or_else(|| parameter("AWSAccessKeyId"))?;
    Some((key_of(&credential), parameter("X-Amz-Security-Token").or(token)))
}

fn is_browser_form(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::POST && has_content_type(headers, "multipart/form-data")
}

fn key_of(credential: &str) -> String {
    credential.split('/').next().unwrap_or_default().trim().to_owned()
}

/// The value of a field of a browser form, as far as it was received.
fn field<'f>(form: &'f [u8], name: &[u8]) -> Option<&'f [u8]> {
    let wanted = [b"name=\"", name, b"\""].concat();
    let lower = form.to_ascii_lowercase();
    let at = memmem::find_iter(&lower, &wanted).find(|at| *at > 0 && lower[at - 1] != b'e')?;
    let begin = at + memmem::find(&form[at..], b"\r\n\r\n")? + 4;
    let end = memmem::find(&form[begin..], b"\r\n").unwrap_or(form.len() - begin);
    Some(&form[begin..begin + end])
}

/// Reads the start of a body until `is_enough` is true, and puts it back into the request.
async fn peek(
    request: &mut Request<TestBody>,
    bytes_max: usize,
    is_enough: impl Fn(&[u8]) -> bool,
) -> Result<Bytes, ApiError> {
    let mut read = BytesMut::new();
    let mut failed = None;
    while read.len() < bytes_max && !is_enough(&read) {
        match request.body_mut().frame().await {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    read.extend_from_slice(&data);
                }
            }
            Some(Err(error)) => {
                failed = Some(error);
                break;
            }
            None => break,
        }
    }
    if let Some(error) = failed {
        return Err(failure(&error));
    }
    let front = read.freeze();
    let rest = std::mem::take(request.body_mut());
    *request.body_mut() = PutBack { front: front.clone(), rest }.boxed_unsync();
    debug_assert!(request.body().size_hint().lower() >= front.len() as u64);
    Ok(front)
}

fn failure(error: &BoxError) -> ApiError {
    ApiError::find(&**error).cloned().unwrap_or_else(|| {
        ApiError::new(ErrorCode::IncompleteBody, "The body of the request broke off.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_forms() {
        let form = b"--x\r\nContent-Disposition: form-data; name=\"X-Amz-Credential\"\r\n\r\nAKIA/2026/r\r\n--x\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n\r\nbytes";
        assert_eq!(field(form, b"x-amz-credential"), Some(&b"AKIA/2026/r"[..]));
        assert_eq!(field(form, b"file"), Some(&b"bytes"[..]));
        assert_eq!(field(form, b"key"), None);
        assert_eq!(key_of("AKIA/2026/r"), "AKIA");
    }
}
