//! The address to listen on.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::domains::is_host_name;
use super::{ConfigError, Profile, error};
use crate::cli::{ServerArgs, Source};

const DEFAULT_ADDRESS: &str = "127.0.0.1:9000";
const DEFAULT_PORT: u16 = 9000;

/// The address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// An IP address without brackets, or a host name.
    pub host: String,
    /// 0 picks a free port.
    pub port: u16,
}

impl ListenAddress {
    /// Parses `HOST:PORT`; IPv6 addresses are in brackets, an empty host means all IPv4 interfaces.
    ///
    /// # Errors
    /// [`ConfigError`] if the host is neither an IP address nor a host name, or the port is missing.
    pub fn parse(text: &str) -> Result<ListenAddress, ConfigError> {
        ListenAddress::parse_for("--address", text)
    }

    /// Parses the value of `option`.
    pub(super) fn parse_for(option: &str, text: &str) -> Result<ListenAddress, ConfigError> {
        let advice = || {
            ConfigError(format!(
                "the address {text:?} is not valid: give {option} HOST:PORT, such as {DEFAULT_ADDRESS}"
            ))
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(advice)?;
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or_else(advice)?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let valid = match bracketed {
            Some(host) => host.parse::<Ipv6Addr>().is_ok(),
            None => host.is_empty() || host.parse::<IpAddr>().is_ok() || is_host_name(host),
        };
        // Without brackets, a colon could belong to the port or to the address.
        if !valid || (bracketed.is_none() && host.contains(':')) {
            return Err(advice());
        }
        let host = if host.is_empty() { "0.0.0.0" } else { bracketed.unwrap_or(host) };
        Ok(ListenAddress { host: host.to_owned(), port })
    }

    /// True if only this machine can connect.
    pub fn is_loopback(&self) -> bool {
        let ip = self.host.parse::<IpAddr>().map(|ip| ip.to_canonical());
        ip.map_or(self.host.eq_ignore_ascii_case("localhost"), |ip| ip.is_loopback())
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(formatter, "[{}]:{}", self.host, self.port),
            false => write!(formatter, "{}:{}", self.host, self.port),
        }
    }
}

/// Refuses the flag of a part of the address beside --address, which has it already, and notes a part that counts for
/// nothing beside the address of a variable.
pub(super) fn check_parts(arguments: &mut ServerArgs) -> Result<(), ConfigError> {
    let Some(address) = arguments.address.clone() else { return Ok(()) };
    let given = address.rsplit_once(':').unwrap_or((&address, ""));
    let port = arguments.port.map(|port| port.to_string());
    let parts = [("host", arguments.host.clone(), given.0), ("port", port, given.1)];
    let sources = &arguments.sources;
    let mut notes = Vec::new();
    for (part, value, counts) in parts {
        let (Some(value), Some(own)) = (value, sources.get(part)) else { continue };
        // Of the variables of others, each image sets its own, and the first one counts.
        if own.rank() < Source::Variable("LITEIO_".to_owned()).rank() {
            continue;
        }
        if (own, sources.get("address")) == (&Source::Flag, Some(&Source::Flag)) {
            return error(format!(
                "--address {address} has a {part}: remove --{part} {value}, or write it into --address HOST:PORT"
            ));
        }
        if value != counts {
            let name = |setting: &str| match sources.get(setting) {
                Some(Source::Variable(name)) => name.clone(),
                _ => format!("--{setting}"),
            };
            let (part, whole) = (name(part), name("address"));
            notes.push(format!(
                "{part} {value} has no effect beside {whole} {address}: remove one of them"
            ));
        }
    }
    arguments.notes.extend(notes);
    Ok(())
}

impl ServerArgs {
    /// The port to listen on if no address is given.
    pub(super) fn port(&self, profile: Option<Profile>) -> u16 {
        self.port.or(profile.map(Profile::port)).unwrap_or(DEFAULT_PORT)
    }
}
