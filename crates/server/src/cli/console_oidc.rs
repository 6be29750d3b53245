//! The arguments of the sign-in to the console by OpenID Connect.

use std::fmt;
use std::path::PathBuf;

use clap::Args;

/// The raw settings of the sign-in.
#[derive(Args, Clone, Default)]
pub(crate) struct ConsoleOidcArgs {
    /// OpenID Connect issuer that people sign in to the console with, and the client id of this
    /// server there. It is also an issuer of --oidc-issuer or the credentials file.
    #[arg(long, value_name = "URL,CLIENT_ID", env = "LITEIO_CONSOLE_OIDC")]
    pub(crate) console_oidc: Option<String>,
    /// ARN of the role that people get with --console-oidc; {CLAIM} in it is replaced by a claim of
    /// their token.
    #[arg(long, value_name = "ARN", env = "LITEIO_CONSOLE_OIDC_ROLE")]
    pub(crate) console_oidc_role: Option<String>,
    /// Scopes that --console-oidc asks for [default: openid profile email].
    #[arg(long, value_name = "SCOPES", env = "LITEIO_CONSOLE_OIDC_SCOPE")]
    pub(crate) console_oidc_scope: Option<String>,
    /// Client secret of this server at --console-oidc. Prefer the file or the variable: arguments
    /// are visible in the process list.
    #[arg(long, value_name = "SECRET", env = "LITEIO_CONSOLE_OIDC_SECRET", hide_env_values = true)]
    pub(crate) console_oidc_secret: Option<String>,
    /// File with the client secret.
    #[arg(long, value_name = "FILE", env = "LITEIO_CONSOLE_OIDC_SECRET_FILE")]
    pub(crate) console_oidc_secret_file: Option<PathBuf>,
}

// Written by hand so that no secret appears in a log.
impl fmt::Debug for ConsoleOidcArgs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConsoleOidcArgs")
            .field("console_oidc", &self.console_oidc)
            .field("console_oidc_role", &self.console_oidc_role)
            .field("console_oidc_scope", &self.console_oidc_scope)
            .finish_non_exhaustive()
    }
}
