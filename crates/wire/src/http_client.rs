//! The HTTP client for requests that this server makes itself.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::tls::{Trust, client_config};

/// Time limit of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum bytes of the head of an answer.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// A client of HTTP and HTTPS that sends whole bodies.
pub type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A client that follows no redirects. It also trusts the certificate authorities in `ca_file`.
///
/// # Errors
/// One line that says what to change.
pub fn http_client(ca_file: Option<&Path>) -> Result<HttpClient, String> {
    let config = client_config(Trust::Authorities(ca_file))?;
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

/// The error and its causes, in one line.
pub fn in_one_line(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        line = format!("{line}: {next}");
        cause = next.source();
    }
    line.replace(['\n', '\r'], " ")
}
