//! Virtual-host addressing: `bucket.domain`.

use std::sync::Arc;

use s3s::S3Result;
use s3s::host::{S3Host, VirtualHost};

/// The domains whose subdomains are buckets: lower-case names without a port.
#[derive(Clone, Debug)]
pub(crate) struct Domains(Arc<[String]>);

impl S3Host for Domains {
    fn parse_host_header<'a>(&'a self, host: &'a str) -> S3Result<VirtualHost<'a>> {
        let virtual_host = VirtualHost::new(host);
        Ok(match self.bucket(host) {
            Some(bucket) => virtual_host.with_bucket(bucket),
            None => virtual_host,
        })
    }
}

impl Domains {
    /// These domains.
    #[must_use]
    pub(crate) fn new(names: Vec<String>) -> Domains {
        Domains(names.into())
    }

    /// The bucket of a host, by the longest domain that fits.
    #[must_use]
    pub(crate) fn bucket<'a>(&self, host: &'a str) -> Option<&'a str> {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        if self.0.iter().any(|domain| name.eq_ignore_ascii_case(domain)) {
            return None;
        }
        self.0.iter().filter_map(|domain| subdomain(name, domain)).min_by_key(|name| name.len())
    }
}

fn subdomain<'a>(name: &'a str, domain: &str) -> Option<&'a str> {
    let dot = name.len().checked_sub(domain.len() + 1)?;
    let (bucket, rest) = (name.get(..dot)?, name.get(dot..)?);
    let is_below = rest.strip_prefix('.').is_some_and(|rest| rest.eq_ignore_ascii_case(domain));
    (is_below && !bucket.is_empty()).then_some(bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains_are_buckets() {
        let domains = Domains::new(vec!["localhost".to_owned(), "s3.localhost".to_owned()]);
        let rows = [
            ("localhost", None),
            ("localhost:9000", None),
            ("s3.localhost:9000", None),
            ("photos.localhost:9000", Some("photos")),
            ("my.photos.S3.LocalHost", Some("my.photos")),
            ("otherlocalhost", None),
            ("example.com", None),
            (".localhost", None),
            ("", None),
        ];
        for (host, bucket) in rows {
            assert_eq!(domains.bucket(host), bucket, "{host}");
        }
    }
}
