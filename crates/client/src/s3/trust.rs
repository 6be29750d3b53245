//! The certificates that a client accepts.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The name of the error about a server whose certificate is one of an authority.
pub(super) const IS_AUTHORITY: &str = "CaUsedAsEndEntity";

/// The variables that name files of authorities: that of OpenSSL, and that of the AWS CLI and the SDKs.
const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "AWS_CA_BUNDLE"];

/// The certificates that a client knows.
pub(super) struct Known {
    roots: RootCertStore,
    /// The certificates of files, which may be those of servers, too.
    given: Vec<CertificateDer<'static>>,
}

impl Known {
    /// The authorities of browsers, those in the files that [`VARIABLES`] name, in the files of a
    /// directory, and in another file.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(super) fn read(directory: Option<&Path>, file: Option<&Path>) -> Result<Known, String> {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let mut known = Known { roots, given: Vec::new() };
        for variable in VARIABLES {
            let Some(file) = std::env::var_os(variable).filter(|it| !it.is_empty()) else {
                continue;
            };
            // A file of the system may have certificates of kinds that are not supported; these are
            // skipped.
            let certificates = certificates(Path::new(&file))
                .map_err(|reason| format!("{reason} (of the variable {variable})"))?;
            known.roots.add_parsable_certificates(certificates.iter().cloned());
            known.given.extend(certificates);
        }
        if let Some(file) = file {
            known.add(file)?;
        }
        // Most users have no such directory.
        let Some(entries) = directory.and_then(|it| std::fs::read_dir(it).ok()) else {
            return Ok(known);
        };
        for entry in entries {
            let path = entry.map_err(|error| format!("cannot list authorities: {error}"))?.path();
            if path.is_file() {
                known.add(&path)?;
            }
        }
        Ok(known)
    }

    /// Adds the certificates of a file.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(super) fn add(&mut self, file: &Path) -> Result<(), String> {
        for certificate in certificates(file)? {
            self.roots.add(certificate.clone()).map_err(|error| unreadable(file, &error))?;
            self.given.push(certificate);
        }
        Ok(())
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    certificates.map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("cannot read certificates from {}: {error}", path.display())
}

/// Accepts servers by their authorities, or every server whose key signs the handshake. A certificate that is one of an
/// authority, as `openssl req -x509` makes it, is accepted as that of a server if it is itself among the given ones, as OpenSSL
/// does it.
#[derive(Debug)]
pub(super) struct Verifier {
    by_authority: Option<Arc<WebPkiServerVerifier>>,
    given: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    /// A verifier that accepts servers by these certificates; without them, every server.
    ///
    /// # Errors
    /// One line that says what is wrong.
    pub(super) fn new(
        known: Option<Known>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Verifier, String> {
        let Some(Known { roots, given }) = known else {
            return Ok(Verifier { by_authority: None, given: Vec::new(), provider });
        };
        let roots = Arc::new(roots);
        let builder = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let by_authority =
            builder.build().map_err(|error| format!("TLS cannot be used: {error}"))?;
        Ok(Verifier { by_authority: Some(by_authority), given, provider })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(by_authority) = &self.by_authority else {
            return Ok(ServerCertVerified::assertion());
        };
        match by_authority.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The time of the certificate is checked before its kind, its name is not.
            Err(Error::InvalidCertificate(error))
                if error.to_string().contains(IS_AUTHORITY)
                    && self.given.iter().any(|it| it.as_ref() == certificate.as_ref()) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
