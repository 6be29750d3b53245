//! The other end of a connection.

use std::fmt;
use std::net::SocketAddr;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// `true` if the connection is encrypted.
    pub secure: bool,
    /// The encryption, if it ends in this server and not in a proxy.
    pub tls: Option<Tls>,
}

/// The encryption of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The version, such as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, by the name that OpenSSL and AWS use.
    pub cipher: &'static str,
}

impl Peer {
    /// The scheme of URLs that lead back to this server.
    pub fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// The address for the log, without a port if the port is unknown.
    pub fn name(&self) -> impl fmt::Display + use<> {
        let address = self.address;
        fmt::from_fn(move |formatter| match address.port() {
            0 => write!(formatter, "{}", address.ip()),
            _ => write!(formatter, "{address}"),
        })
    }
}
