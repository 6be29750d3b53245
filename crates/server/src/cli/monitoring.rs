//! The arguments of the commands for monitoring: `liteio health` and `liteio metrics-token`.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

/// The arguments of `liteio health`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HealthArgs {
    /// http://HOST:PORT or https://HOST:PORT of the server [default: the address in
    /// LITEIO_ADDRESS].
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Profile of the server, which determines the default port.
    #[arg(long, env = "LITEIO_PROFILE", hide = true)]
    pub(crate) profile: Option<String>,
    /// Address of the server, if no URL is given.
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_ADDRESS")]
    pub(crate) address: Option<String>,
    /// PEM file of certificate authorities to trust, in addition to the built-in public ones.
    /// Without it, any certificate of a server on this machine is accepted.
    #[arg(long, value_name = "FILE", env = "LITEIO_CA_FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Certificate of the server: if given, and without a URL, the check uses HTTPS.
    #[arg(long, env = "LITEIO_TLS_CERT", hide = true)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The same for the server's self-signed certificate.
    #[arg(long, env = "LITEIO_TLS_SELF_SIGNED", hide = true, action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) tls_self_signed: bool,
}

/// The arguments of `liteio metrics-token`.
#[derive(Args, Clone, Debug)]
pub(crate) struct MetricsTokenArgs {
    /// Access key of a root user, or of one who may do admin:Prometheus [default: the one in
    /// LITEIO_ACCESS_KEY_FILE or MINIO_ROOT_USER, or liteio].
    #[arg(long, value_name = "KEY", env = "LITEIO_ACCESS_KEY")]
    pub(crate) access_key: Option<String>,
    /// Its secret key [default: the one in LITEIO_SECRET_KEY_FILE or MINIO_ROOT_PASSWORD, or
    /// liteio123]. Prefer the variable: arguments are visible in the process list.
    #[arg(long, value_name = "SECRET", env = "LITEIO_SECRET_KEY", hide_env_values = true)]
    pub(crate) secret_key: Option<String>,
    /// Days until the token ends.
    #[arg(long, value_name = "DAYS", default_value_t = 36_500,
        value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) days: u32,
}
