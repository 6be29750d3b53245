//! Connections: timeouts and trusted authorities.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::request::Payload;

pub(crate) type Http = Client<HttpsConnector<HttpConnector>, Payload>;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest head of an answer.
const HEAD_BYTES_MAX: usize = 256 << 10;

/// A client that follows no redirects. It trusts the authorities of browsers, the ones in the files
/// of the directory `authorities`, and the ones in the file that the variable `SSL_CERT_FILE`
/// names; with `insecure`, it trusts every certificate.
///
/// # Errors
/// One line that says what to change.
pub(crate) fn connect(insecure: bool, authorities: Option<&Path>) -> Result<Http, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?;
    let config = if insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer(provider)))
            .with_no_client_auth()
    } else {
        builder.with_root_certificates(roots(authorities)?).with_no_client_auth()
    };
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

fn roots(directory: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = std::env::var_os("SSL_CERT_FILE").filter(|it| !it.is_empty()) {
        // A file of the system may have certificates of kinds that are not supported; these are
        // skipped.
        roots.add_parsable_certificates(certificates(Path::new(&file))?);
    }
    // Most users have no such directory.
    let Some(entries) = directory.and_then(|it| std::fs::read_dir(it).ok()) else {
        return Ok(roots);
    };
    for entry in entries {
        let path = entry.map_err(|error| format!("cannot list authorities: {error}"))?.path();
        if !path.is_file() {
            continue;
        }
        for certificate in certificates(&path)? {
            roots.add(certificate).map_err(|error| unreadable(&path, &error))?;
        }
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    certificates.map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("cannot read certificates from {}: {error}", path.display())
}

/// Accepts every certificate, if its key signs the handshake.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
