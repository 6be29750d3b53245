//! Settings of connections, and the error type for any setting.

use std::path::PathBuf;

/// An invalid setting, alone or combined with others: one line that tells what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// The error of a setting, as a result.
///
/// # Errors
/// Always: [`ConfigError`] with this message.
pub fn error<T>(message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError(message.into()))
}

/// The certificates of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// Pairs of PEM files, selected by the requested server name; the first is for all other names.
    /// Empty for a self-signed certificate.
    pub certificates: Vec<CertificateFiles>,
}

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, followed by its intermediate certificates.
    pub certificate: PathBuf,
    /// The unencrypted private key.
    pub key: PathBuf,
}
