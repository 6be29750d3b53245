//! The URL that `liteio health` asks.

use std::net::IpAddr;

use super::environment::{self, Variables};
use super::{ConfigError, ListenAddress, Profile, network};
use crate::cli::{HealthArgs, ServerArgs, Source};

/// The URL for `liteio health`: the given one, or the URL of a server that is started with these
/// variables.
///
/// # Errors
/// [`ConfigError`] if the address is invalid.
pub(crate) fn resolve_health_url(
    arguments: &HealthArgs,
    variables: &Variables,
) -> Result<String, ConfigError> {
    if let Some(url) = &arguments.url {
        return Ok(url.clone());
    }
    let mut server = ServerArgs {
        address: arguments.address.clone(),
        tls_self_signed: arguments.tls_self_signed,
        tls_cert: arguments.tls_cert.iter().cloned().collect(),
        ..ServerArgs::default()
    };
    let profile = arguments.profile.as_deref().map(Profile::parse).transpose()?;
    if server.address.is_some() {
        server.sources.note("address", Source::Flag);
    }
    environment::fill_address(&mut server, profile, variables)?;
    network::take_minio_certificates(&mut server, profile, variables);
    let default = format!("{}:{}", server.host(), server.port(profile));
    let mut address = ListenAddress::parse(server.address.as_deref().unwrap_or(&default))?;
    // A server on all interfaces is reached over the loopback interface.
    match address.host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) if ip.is_unspecified() => address.host = "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(ip)) if ip.is_unspecified() => address.host = "::1".to_owned(),
        _ => {}
    }
    let is_encrypted = !server.tls_cert.is_empty() || server.tls_self_signed;
    let scheme = if is_encrypted { "https" } else { "http" };
    Ok(format!("{scheme}://{address}"))
}
