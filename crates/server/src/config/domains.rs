//! The region and the domains of a server.

use std::net::IpAddr;

use super::{ConfigError, error};

pub(super) const DEFAULT_REGION: &str = "us-east-1";

/// Virtual-hosted-style domains that need no setting: browsers and resolvers map them to this
/// machine.
pub(super) const ALWAYS_DOMAINS: [&str; 2] = ["localhost", "s3.localhost"];

const REGION_BYTES_MAX: usize = 63;
const DOMAIN_BYTES_MAX: usize = 253;
const DOMAIN_LABEL_BYTES_MAX: usize = 63;

pub(super) fn resolve_region(region: &str) -> Result<String, ConfigError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if region.is_empty() || region.len() > REGION_BYTES_MAX || !region.bytes().all(allowed) {
        return error(format!(
            "the region {region:?} is not valid: give 1 to {REGION_BYTES_MAX} letters, digits, - \
             and _, such as {DEFAULT_REGION}"
        ));
    }
    Ok(region.to_owned())
}

pub(super) fn resolve_domains(names: &[String]) -> Result<Vec<String>, ConfigError> {
    let mut domains = ALWAYS_DOMAINS.map(str::to_owned).to_vec();
    for name in names {
        if !is_host_name(name) || name.parse::<IpAddr>().is_ok() {
            return error(format!(
                "the domain {name:?} is not valid: give --domain a host name without scheme or \
                 port, such as s3.example.com"
            ));
        }
        let name = name.to_ascii_lowercase();
        if !domains.contains(&name) {
            domains.push(name);
        }
    }
    Ok(domains)
}

pub(super) fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=DOMAIN_LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= DOMAIN_BYTES_MAX && name.split('.').all(is_label)
}
