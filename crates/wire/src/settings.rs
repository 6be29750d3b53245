//! Settings of connections, and the error of a setting of any kind.

use std::path::PathBuf;

/// A setting that is not valid, alone or with the others: one line that says what to change.
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
    /// Pairs of files in PEM, chosen by the name that the client asks for; the first is for all other
    /// names. None for a certificate that the server signs for itself.
    pub certificates: Vec<CertificateFiles>,
}

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, and behind it those that signed it.
    pub certificate: PathBuf,
    /// Its private key, not encrypted.
    pub key: PathBuf,
}
