//! Starts and controls servers, for the command, for tests and for programs that embed one.

mod builder;
mod handle;
mod spawn;

use std::io;

pub use self::builder::{Server, ServerBuilder};
pub use self::handle::ServerHandle;
use crate::config::{ConfigError, ListenAddress};
use crate::open::OpenError;

/// The reason why a server did not start. No request was served.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A setting is not valid, or a file that it names: a certificate, the users, a key.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Listening on the address failed.
    #[error(
        "cannot listen on {address}: {source}; choose another with {option} HOST:PORT{}",
        right_to_listen(source)
    )]
    Listen {
        /// The address.
        address: ListenAddress,
        /// The option that sets it.
        option: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The random source of the system failed.
    #[error("cannot read random bytes from the system: {0}")]
    Random(getrandom::Error),
    /// The self-signed certificate is unusable.
    #[error("{0}")]
    Tls(String),
    /// The data cannot be opened: in use, of a newer format, not writable, full, or damaged.
    #[error("{0}")]
    Open(String),
}

/// The advice about an address that the process has no right to.
fn right_to_listen(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; for a port below 1024 the unit of a service needs AmbientCapabilities=CAP_NET_BIND_SERVICE and \
             CapabilityBoundingSet=CAP_NET_BIND_SERVICE (`systemctl edit liteio`)"
        }
        _ => "",
    }
}

impl From<OpenError> for ServerError {
    fn from(error: OpenError) -> ServerError {
        match error {
            OpenError::Setting(reason) => ServerError::Config(ConfigError(reason)),
            OpenError::Failed(reason) => ServerError::Open(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_needs_a_right_is_told_with_the_capability() {
        let told = |kind: io::ErrorKind| {
            let address = ListenAddress { host: "0.0.0.0".to_owned(), port: 443 };
            let error = ServerError::Listen { address, option: "--address", source: kind.into() };
            error.to_string()
        };
        let denied = told(io::ErrorKind::PermissionDenied);
        assert!(denied.contains("AmbientCapabilities=CAP_NET_BIND_SERVICE"), "{denied}");
        // Most ports below 1024 are chosen on a laptop, without a unit.
        let first = "choose another with --address HOST:PORT; for a port below 1024";
        assert!(denied.contains(first), "{denied}");
        let taken = told(io::ErrorKind::AddrInUse);
        assert!(taken.ends_with("; choose another with --address HOST:PORT"), "{taken}");
    }
}
