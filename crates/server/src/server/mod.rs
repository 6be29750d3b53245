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
    #[error("cannot listen on {address}: {source}; choose another with {option} HOST:PORT")]
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

impl From<OpenError> for ServerError {
    fn from(error: OpenError) -> ServerError {
        match error {
            OpenError::Setting(reason) => ServerError::Config(ConfigError(reason)),
            OpenError::Failed(reason) => ServerError::Open(reason),
        }
    }
}
