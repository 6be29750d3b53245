//! Parses URLs.

use http::{HeaderValue, Uri};

use super::{BAD_URL, Failure, failure};

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_encrypted: bool,
    /// The host, without brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// The host as in the URL, with the port unless it is the default.
    pub(super) authority: String,
    pub(super) path: String,
}

impl Target {
    pub(super) fn parse(url: &str) -> Result<Target, Failure> {
        let bad = || Failure(BAD_URL, format!("URL rejected: {url:?}"));
        let with_scheme =
            if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let uri: Uri = with_scheme.parse().map_err(|_| bad())?;
        let is_encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return failure(1, format!("Protocol of {url:?} not supported")),
        };
        let authority = uri.authority().ok_or_else(bad)?;
        if authority.as_str().contains('@') {
            return failure(BAD_URL, "credentials in a URL are not supported here");
        }
        let host = authority.host();
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        Ok(Target {
            is_encrypted,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
        })
    }

    pub(super) fn redirected(&self, location: &HeaderValue) -> Result<Target, Failure> {
        let location =
            location.to_str().map_err(|_| Failure(BAD_URL, "bad Location".to_owned()))?;
        if location.starts_with('/') && !location.starts_with("//") {
            return Ok(Target { path: location.to_owned(), ..self.clone() });
        }
        let next = Target::parse(location)?;
        if next.host != self.host {
            return failure(BAD_URL, format!("the redirection to {location} is another host's"));
        }
        Ok(next)
    }
}
