//! Resolves the access to metrics.

use super::{ConfigError, error};

/// The access to metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsAuth {
    /// Users with `admin:Prometheus`, by a token from `mc admin prometheus generate` or a signed
    /// request.
    #[default]
    Jwt,
    /// Everybody, without authentication.
    Public,
}

impl MetricsAuth {
    /// Parses the name, which is the same in MinIO.
    ///
    /// # Errors
    /// [`ConfigError`] for other names.
    pub fn parse(name: &str) -> Result<MetricsAuth, ConfigError> {
        match name {
            "jwt" => Ok(MetricsAuth::Jwt),
            "public" => Ok(MetricsAuth::Public),
            other => error(format!(
                "{other:?} is not a valid --metrics-auth: give jwt (tokens) or public (no authentication)"
            )),
        }
    }
}
