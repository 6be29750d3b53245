//! The service: s3s, and what it cannot do itself before and after an operation.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPIRES};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::S3ServiceBuilder;
use s3s::{Body, S3Error, S3Result, s3_error};

use super::S3Api;
use super::access::{Access, AlreadyAuthenticated, AnyName};
use super::document::Document;
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
    match Document::of(&request) {
        Some(document) => document.read(request).await,
        None => Ok(request),
    }
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
