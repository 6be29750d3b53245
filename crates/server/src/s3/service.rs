//! The service: s3s, and what it cannot do itself before and after an operation.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPIRES};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use liteio_store::DigestSet;
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::S3ServiceBuilder;
use s3s::{Body, S3Error, S3Result, s3_error};

use super::S3Api;
use super::access::{Access, AlreadyAuthenticated, AnyName};
use super::body_in;
use super::checksum::BodyChecks;
use super::host::Domains;
use super::limits::XML_BODY_BYTES_MAX;
use super::{condition, error};
use crate::app::App;
use crate::front::lenient::LenientHeaders;

/// What an operation says about its response and s3s has no place for.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// Instead of the status that follows from the output.
    pub(super) status: Option<StatusCode>,
    /// The document to answer with, instead of one made from the output.
    pub(super) xml: Option<Bytes>,
}

/// `Expires` as it was sent: S3 keeps it verbatim, s3s refuses what is no date.
#[derive(Clone, Debug)]
pub(super) struct VerbatimExpires(pub(super) HeaderValue);

/// The S3 service of a server, behind authentication.
pub(crate) struct S3Service {
    inner: s3s::service::S3Service,
}

impl S3Service {
    /// The service over `app`; subdomains of `domains` are buckets.
    #[must_use]
    pub(crate) fn new(app: Arc<App>, domains: Domains) -> S3Service {
        let mut builder = S3ServiceBuilder::new(S3Api { app: Arc::clone(&app) });
        let mut config = S3Config::default();
        config.xml_max_body_size = XML_BODY_BYTES_MAX;
        builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
        builder.set_host(domains);
        builder.set_auth(AlreadyAuthenticated);
        builder.set_access(Access { app });
        builder.set_validation(AnyName);
        S3Service { inner: builder.build() }
    }

    /// Answers one request. Its extensions hold the `Identity` of its sender.
    pub(crate) async fn call(&self, request: Request<Body>) -> Response<Body> {
        let answered = match prepare(request).await {
            Ok(request) => self.inner.call(request).await,
            Err(error) => return error_response(error),
        };
        match answered {
            Ok(response) => finish(response),
            Err(error) => {
                let error: s3s::StdError = error.into();
                tracing::error!(%error, "the typed layer failed");
                error_response(s3_error!(
                    InternalError,
                    "We encountered an internal error. Please try again."
                ))
            }
        }
    }
}

/// Takes off what s3s would refuse, and verifies what it would take unseen.
async fn prepare(mut request: Request<Body>) -> S3Result<Request<Body>> {
    let is_write = !matches!(*request.method(), Method::GET | Method::HEAD);
    let lenient = condition::take(request.headers_mut(), is_write)?;
    if lenient != LenientHeaders::default() {
        request.extensions_mut().insert(lenient);
    }
    if let Some(expires) = request.headers_mut().remove(EXPIRES) {
        request.extensions_mut().insert(VerbatimExpires(expires));
    }
    let Some(document) = Document::of(&request) else { return Ok(request) };
    let (parts, body) = request.into_parts();
    let checks = document.checks(&parts)?;
    let bytes = collect(body).await?;
    if !checks.is_empty() {
        let algorithms: Vec<_> = checks.algorithm().into_iter().collect();
        let mut digests = DigestSet::new(&algorithms);
        digests.update(&bytes);
        checks.verify(&digests.finish())?;
    }
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// A request whose body is a document that s3s parses. The handlers see only what is in it, so it is
/// read and verified here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Document {
    /// Must come with a digest.
    DeleteObjects,
    /// Its checksum headers speak of the object.
    CompleteMultipartUpload,
    /// Or a small object, in virtual-host addressing: reading it whole does no harm.
    CreateBucket,
}

impl Document {
    fn of(request: &Request<Body>) -> Option<Document> {
        let has_query = |name: &str| {
            let pairs = request.uri().query().unwrap_or_default().split('&');
            pairs.into_iter().any(|pair| pair.split('=').next() == Some(name))
        };
        match *request.method() {
            Method::POST if has_query("delete") => Some(Document::DeleteObjects),
            Method::POST if has_query("uploadId") => Some(Document::CompleteMultipartUpload),
            Method::PUT => {
                let path = request.uri().path().trim_start_matches('/');
                let is_bucket = !path.strip_suffix('/').unwrap_or(path).contains('/');
                let bytes = request.body().size_hint().upper();
                let is_small = bytes.is_some_and(|bytes| bytes <= 64 << 10);
                (is_bucket && is_small).then_some(Document::CreateBucket)
            }
            _ => None,
        }
    }

    fn checks(self, parts: &http::request::Parts) -> S3Result<BodyChecks> {
        if self == Document::CompleteMultipartUpload {
            return BodyChecks::content_md5_only(&parts.headers);
        }
        let checks = BodyChecks::from_request(&parts.headers, &parts.extensions)?;
        if self == Document::DeleteObjects && checks.is_empty() {
            return Err(s3_error!(
                InvalidRequest,
                "Missing required header for this request: Content-MD5 OR x-amz-checksum-*"
            ));
        }
        Ok(checks)
    }
}

async fn collect(mut body: Body) -> S3Result<Bytes> {
    if let Some(bytes) = body.bytes() {
        return Ok(bytes);
    }
    let too_large = || s3_error!(MaxMessageLengthExceeded, "Your request was too big.");
    if body.size_hint().lower() > XML_BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    let mut collected = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| body_in::from_body(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        if collected.len() + data.len() > XML_BODY_BYTES_MAX {
            return Err(too_large());
        }
        collected.extend_from_slice(&data);
    }
    Ok(collected.freeze())
}

fn finish(mut response: Response<Body>) -> Response<Body> {
    if response.status().is_client_error() {
        complete_message(&mut response);
    }
    let Some(answer) = response.extensions_mut().remove::<Answer>() else { return response };
    if let Some(status) = answer.status {
        *response.status_mut() = status;
    }
    if let Some(xml) = answer.xml {
        *response.body_mut() = Body::from(xml);
        response.headers_mut().remove(CONTENT_LENGTH);
        let xml_type = HeaderValue::from_static("application/xml");
        response.headers_mut().insert(CONTENT_TYPE, xml_type);
    }
    response
}

/// s3s refuses some requests with a code alone: here is what AWS says.
fn complete_message(response: &mut Response<Body>) {
    let Some(bytes) = response.body().bytes() else { return };
    let Ok(text) = std::str::from_utf8(&bytes) else { return };
    let Some((head, tail)) = text.split_once("</Code></Error>") else { return };
    let code = head.rsplit('>').next().unwrap_or_default();
    let message = match code {
        "InvalidURI" => "Couldn't parse the specified URI.",
        "KeyTooLongError" => "Your key is too long",
        "MalformedXML" => error::MALFORMED_XML,
        "MaxMessageLengthExceeded" => "Your request was too big.",
        "MethodNotAllowed" => "The specified method is not allowed against this resource.",
        "MissingContentLength" => "You must provide the Content-Length HTTP header.",
        "MissingRequestBodyError" => "Request Body is empty",
        _ => return,
    };
    let xml = format!("{head}</Code><Message>{message}</Message></Error>{tail}");
    *response.body_mut() = Body::from(xml);
}

fn error_response(error: S3Error) -> Response<Body> {
    error.to_http_response().unwrap_or_else(|_| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}
