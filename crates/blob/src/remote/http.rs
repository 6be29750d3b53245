//! The connections to a service: HTTP/1.1 by hyper, TLS by rustls.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper::header::{HeaderValue, USER_AGENT};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector as Connector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Below the time after which services close idle connections: 20 s at S3.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Makes clients of one set of connections.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    client: Client<HttpsConnector<HttpConnector>, HttpRequestBody>,
}

impl Connections {
    /// Connections that trust the authorities of browsers, and those in `authorities`, PEM.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(super) fn new(authorities: Option<&[u8]>) -> Result<Self, String> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(pem) = authorities {
            let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
            let unreadable = |error| {
                format!("the certificates of the blob store's authorities cannot be read: {error}")
            };
            // Certificates of kinds that are not supported are passed over.
            roots.add_parsable_certificates(certificates.map_err(unreadable)?);
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be used: {error}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        http.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let mut client = Client::builder(TokioExecutor::new());
        let client = client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT);
        Ok(Self { client: client.build(connector) })
    }
}

impl Connector for Connections {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connections {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let agent = HeaderValue::from_static(concat!("liteio/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(USER_AGENT, agent);
        let response = self.client.request(request).await;
        let response = response.map_err(|error| {
            let kind = if error.is_connect() {
                HttpErrorKind::Connect
            } else {
                HttpErrorKind::Interrupted
            };
            failed(kind, &error)
        })?;
        Ok(response.map(|body| {
            HttpResponseBody::new(body.map_err(|error| failed(HttpErrorKind::Interrupted, &error)))
        }))
    }
}

/// An error with the text of its causes, which say most.
fn failed(kind: HttpErrorKind, error: &dyn StdError) -> HttpError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    HttpError::new(kind, std::io::Error::other(text))
}
