//! TLS of the server's own clients: webhooks and `liteio health`.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::provider;

/// The certificates that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust<'a> {
    /// Certificates of the public authorities, and of the authorities in a PEM file.
    Authorities(Option<&'a Path>),
    /// Any certificate: the server is on this machine.
    Any,
}

/// The TLS configuration of a client.
///
/// # Errors
/// One line that tells what to change.
pub fn client_config(trust: Trust<'_>) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?;
    Ok(match trust {
        Trust::Authorities(file) => {
            builder.with_root_certificates(authorities(file)?).with_no_client_auth()
        }
        Trust::Any => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer(provider())))
            .with_no_client_auth(),
    })
}

fn authorities(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let Some(path) = file else {
        return Ok(roots);
    };
    let unreadable = |error: &dyn std::fmt::Display| {
        format!("cannot read certificates from {}: {error}", path.display())
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|it| unreadable(&it))?;
    let mut count = 0;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
        count += 1;
    }
    match count {
        0 => Err(unreadable(&"it contains no PEM certificate")),
        _ => Ok(roots),
    }
}

/// Accepts any certificate, if its key has signed the handshake.
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
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
