//! The domains of a server, and the buckets that hosts in them name.

use std::sync::Arc;

/// The domains whose subdomains are buckets: lower-case names without a port.
#[derive(Clone, Debug)]
pub struct Domains {
    names: Arc<[String]>,
    /// The domains whose subdomains are websites of buckets.
    sites: Arc<[String]>,
    region: Arc<str>,
}

impl Domains {
    /// These domains, for a server in the region `region`.
    pub fn new(names: Vec<String>, region: &str) -> Domains {
        let sites = names.iter().flat_map(|name| site_domains(name, region)).collect();
        Domains { names: names.into(), sites, region: region.into() }
    }

    /// The length of the bucket name at the start of `bucket.s3-website.domain[:port]`.
    pub(super) fn site_bytes(&self, host: &str) -> Option<usize> {
        let name = without_port(host);
        self.sites.iter().filter_map(|site| subdomain_bytes(name, site)).min()
    }

    /// The length of the bucket name at the start of `bucket.domain[:port]`, using the longest
    /// matching domain. Between them may be the name of the service in a region.
    pub(super) fn bucket_bytes(&self, host: &str) -> Option<usize> {
        let name = without_port(host);
        if self.names.iter().any(|domain| name.eq_ignore_ascii_case(domain)) {
            return None;
        }
        let bytes = self.names.iter().filter_map(|domain| subdomain_bytes(name, domain)).min()?;
        let bytes = bytes - self.service_bytes(&name[..bytes]);
        (bytes > 0).then_some(bytes)
    }

    /// The length of the name of S3 in a region at the end of a text, with the dot before it: AWS's
    /// `s3.REGION`, `s3-REGION` and `s3.dualstack.REGION`. 0 without one.
    fn service_bytes(&self, name: &str) -> usize {
        let is = |label: &str, text: &str| label.eq_ignore_ascii_case(text);
        let is_region = |label: &str| is_region(label) || is(label, &self.region);
        let mut labels = name.rsplit('.');
        let service = match [labels.next(), labels.next(), labels.next()] {
            [Some(region), Some(s3), _] if is(s3, "s3") && is_region(region) => {
                s3.len() + 1 + region.len()
            }
            [Some(region), Some(dual), Some(s3)]
                if is(s3, "s3") && is(dual, "dualstack") && is_region(region) =>
            {
                s3.len() + 1 + dual.len() + 1 + region.len()
            }
            [Some(last), ..] => match last.split_once('-') {
                Some((s3, region)) if is(s3, "s3") && is_region(region) => last.len(),
                _ => return 0,
            },
            _ => return 0,
        };
        // The dot, if a bucket is before it.
        service + usize::from(service < name.len())
    }
}

/// `true` for a name in the form of AWS's regions, such as `eu-central-1` or `us-gov-west-1`.
fn is_region(name: &str) -> bool {
    let Some((place, number)) = name.rsplit_once('-') else { return false };
    let is_word =
        |word: &str| word.len() >= 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_number = (1..=2).contains(&number.len()) && number.bytes().all(|it| it.is_ascii_digit());
    let area = place.split('-').next().unwrap_or_default();
    is_number && area.len() <= 4 && place.contains('-') && place.split('-').all(is_word)
}

/// The host suffixes of bucket websites for a domain: `BUCKET.s3-website.DOMAIN`,
/// `BUCKET.s3-website-REGION.DOMAIN` and `BUCKET.s3-website.REGION.DOMAIN`.
fn site_domains(domain: &str, region: &str) -> [String; 3] {
    [
        format!("s3-website.{domain}"),
        format!("s3-website-{region}.{domain}"),
        format!("s3-website.{region}.{domain}"),
    ]
}

/// The buckets that a host may name on a socket for websites only, the most specific first: the
/// whole host, then each prefix before a dot.
pub(super) fn site_buckets(host: &str) -> Vec<&str> {
    let name = without_port(host);
    let dots = name.rmatch_indices('.').map(|(at, _)| &name[..at]);
    std::iter::once(name).chain(dots).filter(|name| !name.is_empty()).collect()
}

/// A host without its port.
pub fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn subdomain_bytes(name: &str, domain: &str) -> Option<usize> {
    let dot = name.len().checked_sub(domain.len() + 1)?;
    let rest = name.get(dot..)?;
    let is_below = rest.strip_prefix('.').is_some_and(|rest| rest.eq_ignore_ascii_case(domain));
    (is_below && dot > 0).then_some(dot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_name_buckets() {
        assert_eq!(site_buckets("www.a.example:8080"), ["www.a.example", "www.a", "www"]);
        assert_eq!(site_buckets("bucket"), ["bucket"]);
        assert!(site_buckets("").is_empty() && site_buckets(":80").is_empty());
        assert_eq!(
            site_domains("example.com", "eu-central-1"),
            [
                "s3-website.example.com",
                "s3-website-eu-central-1.example.com",
                "s3-website.eu-central-1.example.com"
            ]
        );
    }
}
