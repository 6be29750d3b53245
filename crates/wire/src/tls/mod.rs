//! TLS: certificates with their keys, and the configurations of servers and clients.
//!
//! [`ServerTls`] encrypts connections. Its certificates are reloaded when their files change
//! ([`Certificates`]); a pair is checked when it is read ([`Pair`]).

mod certificates;
mod client;
mod pair;
mod self_signed;
mod validity;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::crypto::{CryptoProvider, aws_lc_rs::Ticketer};
use rustls::{ServerConfig, version};
use sha2::{Digest as _, Sha256};

pub use self::certificates::Certificates;
pub use self::client::{Trust, client_config};
use self::pair::Pair;
use crate::settings::TlsSettings;

/// Protocol names in the handshake (ALPN).
pub(crate) const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

/// The TLS configuration of a server.
pub struct ServerTls {
    /// For connections that are served.
    pub serving: Arc<ServerConfig>,
    /// For connections that are refused because there are too many. HTTP/1.1 only, since the
    /// refusal is written by hand.
    pub(crate) refusing: Arc<ServerConfig>,
    /// Certificates and their keys.
    pub certificates: Arc<Certificates>,
}

impl ServerTls {
    /// The TLS configuration with the certificate files of the settings.
    ///
    /// # Errors
    /// One line that tells what to change.
    pub fn open(settings: &TlsSettings) -> Result<ServerTls, String> {
        ServerTls::new(Certificates::open(&settings.certificates)?)
    }

    /// The TLS configuration with a self-signed certificate for these domains, kept in the data
    /// directory if there is one.
    ///
    /// # Errors
    /// One line that tells what to change.
    pub fn self_signed(domains: &[String], directory: Option<&Path>) -> Result<ServerTls, String> {
        ServerTls::new(self_signed::open(domains, directory)?)
    }

    fn new(certificates: Certificates) -> Result<ServerTls, String> {
        let certificates = Arc::new(certificates);
        let failed = |error: rustls::Error| format!("TLS cannot be used: {error}");
        let config = |protocols: &[&[u8]]| {
            let mut config = ServerConfig::builder_with_provider(provider())
                .with_protocol_versions(&[&version::TLS13, &version::TLS12])?
                .with_no_client_auth()
                .with_cert_resolver(Arc::clone(&certificates) as _);
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            config.ticketer = Ticketer::new()?;
            Ok(Arc::new(config))
        };
        let serving = config(&[HTTP_2, HTTP_1]).map_err(failed)?;
        let refusing = config(&[HTTP_1]).map_err(failed)?;
        Ok(ServerTls { serving, refusing, certificates })
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The SHA-256 of a certificate in the usual notation: `AB:CD:…`.
pub fn fingerprint(certificate: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(certificate) {
        let colon = if text.is_empty() { "" } else { ":" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{colon}{byte:02X}");
    }
    text
}
