//! Settings of the OpenTelemetry collector.

use std::fmt;

use http::Uri;
use liteio_wire::settings::{ConfigError, error};

/// The collector's path for spans.
const TRACES: &str = "/v1/traces";

/// An OpenTelemetry collector.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpSettings {
    /// The URL that spans are posted to.
    pub url: String,
    /// The service name of this server.
    pub service_name: String,
    /// Additional request headers, often with a token.
    pub headers: Vec<(String, String)>,
}

// Written by hand, so that no secret is logged; the URL's path and query may be one.
impl fmt::Debug for OtlpSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OtlpSettings").finish_non_exhaustive()
    }
}

impl OtlpSettings {
    /// The collector at this endpoint, to which the path of spans is appended.
    ///
    /// # Errors
    /// [`ConfigError`] if the URL is invalid.
    pub fn new(endpoint: &str) -> Result<OtlpSettings, ConfigError> {
        let url = format!("{}{TRACES}", endpoint.trim_end_matches('/'));
        let is_url = url.parse::<Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|it| !it.as_str().contains('@'))
        });
        if !is_url || url.contains(['#', '?']) {
            return error(
                "the endpoint of OpenTelemetry is not valid: give http://HOST:4318 or \
                 https://HOST:4318, without a user, a query or a fragment",
            );
        }
        let service_name = "liteio".to_owned();
        Ok(OtlpSettings { url, service_name, headers: Vec::new() })
    }
}
