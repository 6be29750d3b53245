//! The readers of metrics, as they are configured.

use super::{ConfigError, error};

/// The readers of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsAuth {
    /// Users who may do `admin:Prometheus`, with a token that `mc admin prometheus generate` makes, or a signature.
    #[default]
    Jwt,
    /// Everybody.
    Public,
}

impl MetricsAuth {
    /// The readers by this name, which is MinIO's, too.
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
