//! The service: s3s, with the steps before and after an operation that s3s does not have.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPIRES};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::S3ServiceBuilder;
use s3s::{Body, S3Result};

use super::S3Api;
use super::access::{Access, AlreadyAuthenticated, AnyName};
use super::document::Document;
use super::host::Domains;
use super::limits::XML_BODY_BYTES_MAX;
use super::refusal::{self, Refusal};
use super::{condition, error};
use crate::auth::AuthBody;
use crate::front::lenient::LenientHeaders;
use crate::reply::{Reply, ReplyBody};
use crate::state::App;

/// The parts of a response that the outputs of s3s have no place for.
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
    pub(crate) async fn call(&self, request: Request<AuthBody>) -> Reply {
        let mut request = prepare(request.map(Body::http_body)).await.map_err(refusal::of_error)?;
        let refusal = Refusal::default();
        request.extensions_mut().insert(refusal.clone());
        let response = self.inner.call(request).await.map_err(|error| {
            let error: s3s::StdError = error.into();
            refusal::of_error(error::internal(&*error))
        })?;
        let status = response.status();
        match refusal.take() {
            Some(error) => Err(error),
            None if status.is_client_error() || status.is_server_error() => {
                Err(refusal::of_response(&response))
            }
            None => Ok(finish(response)),
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

fn finish(mut response: Response<Body>) -> Response<ReplyBody> {
    let answer = response.extensions_mut().remove::<Answer>().unwrap_or_default();
    if let Some(status) = answer.status {
        *response.status_mut() = status;
    }
    if let Some(xml) = answer.xml {
        response.headers_mut().remove(CONTENT_LENGTH);
        let xml_type = HeaderValue::from_static("application/xml");
        response.headers_mut().insert(CONTENT_TYPE, xml_type);
        return response.map(|_| ReplyBody::from(xml));
    }
    response.map(|body| match body.bytes() {
        Some(bytes) => ReplyBody::from(bytes),
        None => ReplyBody::stream(body),
    })
}
