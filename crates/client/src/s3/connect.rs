//! Connections: timeouts and TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;

use super::request::Payload;
use super::trust::{Known, Verifier};

pub(crate) type Http = Client<HttpsConnector<HttpConnector>, Payload>;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest head of an answer.
const HEAD_BYTES_MAX: usize = 256 << 10;

/// The variable of the server with a file of authorities. A client in its environment trusts them, too.
const OF_SERVER: &str = "LITEIO_CA_FILE";

/// A client that follows no redirects. It trusts the authorities of browsers, the ones in the files
/// of the directory `authorities`, and the ones in the files that the variables `SSL_CERT_FILE`,
/// `AWS_CA_BUNDLE` and [`OF_SERVER`] name; with `insecure`, it trusts every certificate.
///
/// # Errors
/// One line that says what to change.
pub(crate) fn connect(insecure: bool, authorities: Option<&Path>) -> Result<Http, String> {
    if insecure {
        return connect_with(None);
    }
    let mut known = Known::read(authorities, None)?;
    if let Some(file) = std::env::var_os(OF_SERVER).filter(|it| !it.is_empty()) {
        let added = known.add(Path::new(&file));
        added.map_err(|reason| format!("{reason} (of the variable {OF_SERVER})"))?;
    }
    connect_with(Some(known))
}

/// The same for a program that knows no directory of authorities: it trusts the ones in a file of them in addition.
///
/// # Errors
/// One line that says what to change.
pub(crate) fn connect_trusting(ca_file: Option<&Path>) -> Result<Http, String> {
    connect_with(Some(Known::read(None, ca_file)?))
}

/// A client that trusts these certificates; without them, every one.
fn connect_with(known: Option<Known>) -> Result<Http, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?;
    let verifier = Arc::new(Verifier::new(known, provider)?);
    let config =
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
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
    Ok(client.http1_max_buf_size(HEAD_BYTES_MAX).pool_timer(TokioTimer::new()).build(connector))
}
