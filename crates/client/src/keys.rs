//! [`ServiceKeys`]: the keys of a user, from callers outside of the command line.

use std::fmt;

use crate::s3::{Credentials, PostToSign, sign_post};

/// Keys of a user of a service.
#[derive(Clone)]
pub struct ServiceKeys {
    /// Access key.
    pub access_key: String,
    /// Secret key.
    pub secret_key: String,
    /// Session token.
    pub session_token: Option<String>,
}

impl ServiceKeys {
    /// The headers that a signed POST has in addition to `host` and `content-type`.
    pub fn sign_post(&self, post: PostToSign<'_>) -> Vec<(&'static str, String)> {
        sign_post(&Credentials::from(self.clone()), post)
    }
}

impl From<ServiceKeys> for Credentials {
    fn from(keys: ServiceKeys) -> Credentials {
        let ServiceKeys { access_key, secret_key, session_token } = keys;
        Credentials { access_key, secret_key, session_token }
    }
}

// Secrets are never shown.
impl fmt::Debug for ServiceKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServiceKeys")
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}
