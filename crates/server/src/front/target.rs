//! Which bucket and key a request addresses, for the router and the log. Nothing is decided by it
//! but the way to the operational routes.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Bucket and key as they stand in the request, before any check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    /// The bucket; empty for the service itself.
    pub(crate) bucket: &'a str,
    /// The key, decoded; empty for a bucket.
    pub(crate) key: Cow<'a, str>,
    /// Whether the bucket came from the host.
    pub(crate) virtual_host: bool,
}

impl<'a> Target<'a> {
    /// `domains` are lower-case names without a port.
    pub(crate) fn of(host: &'a str, path: &'a str, domains: &[String]) -> Target<'a> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (bucket, key, virtual_host) = match bucket_of_host(host, domains) {
            Some(bucket) => (bucket, path, true),
            None => {
                let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
                (bucket, key, false)
            }
        };
        Target { bucket, key: percent_decode_str(key).decode_utf8_lossy(), virtual_host }
    }
}

/// The bucket in `bucket.domain[:port]`, by the longest domain that fits.
fn bucket_of_host<'a>(host: &'a str, domains: &[String]) -> Option<&'a str> {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_domain = |domain: &String| name.eq_ignore_ascii_case(domain);
    if domains.iter().any(is_domain) {
        return None;
    }
    domains
        .iter()
        .filter_map(|domain| {
            let end = name.len().checked_sub(domain.len() + 1)?;
            let (bucket, rest) = (name.get(..end)?, name.get(end + 1..)?);
            let dot = name.as_bytes()[end] == b'.';
            (dot && !bucket.is_empty() && rest.eq_ignore_ascii_case(domain)).then_some(bucket)
        })
        .min_by_key(|bucket| bucket.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_and_virtual_host() {
        let domains = ["localhost".to_owned(), "s3.localhost".to_owned()];
        let rows = [
            ("127.0.0.1:9000", "/", "", ""),
            ("127.0.0.1:9000", "/bucket", "bucket", ""),
            ("127.0.0.1:9000", "/bucket/a%20b//c", "bucket", "a b//c"),
            ("localhost:9000", "/bucket/key", "bucket", "key"),
            ("s3.localhost", "/bucket/key", "bucket", "key"),
            ("photos.localhost:9000", "/key", "photos", "key"),
            ("my.photos.S3.localhost", "/a/b", "my.photos", "a/b"),
            ("otherlocalhost", "/bucket/key", "bucket", "key"),
            (".localhost", "/bucket/key", "bucket", "key"),
            ("[::1]:9000", "/bucket/key", "bucket", "key"),
            ("é.localhost", "/key", "é", "key"),
        ];
        for (host, path, bucket, key) in rows {
            let target = Target::of(host, path, &domains);
            assert_eq!((target.bucket, &*target.key), (bucket, key), "{host}{path}");
        }
    }
}
