//! Connections of this server to services that do not speak HTTP.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::tls::{Trust, client_config};

/// Time limit of connecting, and that of the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A stream of bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens connections over TCP and TLS.
#[derive(Clone)]
pub struct Dialer {
    tls: TlsConnector,
}

impl Dialer {
    /// A dialer that also trusts the certificate authorities in `ca_file`.
    ///
    /// # Errors
    /// One line that says what to change.
    pub fn new(ca_file: Option<&Path>) -> Result<Dialer, String> {
        let config = client_config(Trust::Authorities(ca_file))?;
        Ok(Dialer { tls: TlsConnector::from(Arc::new(config)) })
    }

    /// The configuration of its connections over TLS, for a client that opens its own.
    pub fn tls_config(&self) -> &ClientConfig {
        self.tls.config()
    }

    /// Opens a connection, with TLS if it is secure.
    ///
    /// # Errors
    /// The host does not answer, or has no certificate that is trusted.
    pub async fn dial(
        &self,
        host: &str,
        port: u16,
        is_secure: bool,
    ) -> io::Result<Box<dyn Stream>> {
        let tcp = within(TcpStream::connect((host, port))).await?;
        tcp.set_nodelay(true)?;
        if !is_secure {
            return Ok(Box::new(tcp));
        }
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Box::new(within(self.tls.connect(name, tcp)).await?))
    }
}

async fn within<T>(connecting: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let timed_out = |_| io::Error::from(io::ErrorKind::TimedOut);
    tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.map_err(timed_out)?
}
