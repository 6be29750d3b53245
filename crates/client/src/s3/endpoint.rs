//! Addresses of services, buckets and objects.

use super::encode::encoded_path;

/// Address of a service: scheme, host and port, and a path in front of all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    secure: bool,
    /// Host and port. The default port of the scheme is left out.
    authority: String,
    /// Empty, or a path with a slash in front and none at the end.
    prefix: String,
    style: Style,
}

/// Place of the bucket name in an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// In the host at AWS and services like it, in the path everywhere else.
    #[default]
    Auto,
    Path,
    Host,
}

/// Address of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) authority: String,
    /// Encoded.
    pub(super) path: String,
}

/// Services with virtual-hosted buckets.
const HOST_STYLE: [&str; 4] =
    [".amazonaws.com", ".amazonaws.com.cn", ".aliyuncs.com", ".storage.googleapis.com"];

impl Endpoint {
    /// Parses a URL.
    ///
    /// # Errors
    /// One line that says what a URL must look like.
    pub(crate) fn parse(url: &str, style: Style) -> Result<Endpoint, String> {
        let wrong = |reason: &str| {
            format!("the URL '{}' {reason}; write http(s)://HOST[:PORT]", without_user(url))
        };
        let (secure, rest) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err(wrong("does not begin with http:// or https://")),
        };
        let (authority, prefix) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err(wrong("holds credentials"));
        }
        if rest.contains(['?', '#']) {
            return Err(wrong("has a query or a fragment"));
        }
        let standard = if secure { ":443" } else { ":80" };
        // Without the default port, as services expect the signed header `Host`.
        let authority = authority.strip_suffix(standard).unwrap_or(authority).to_ascii_lowercase();
        let parsed: http::uri::Authority =
            authority.parse().map_err(|_| wrong("has no valid host"))?;
        if parsed.host().is_empty() || (authority.ends_with(':')) {
            return Err(wrong("has no valid host"));
        }
        let prefix = prefix.trim_end_matches('/').to_owned();
        if prefix.parse::<http::uri::PathAndQuery>().is_err() && !prefix.is_empty() {
            return Err(wrong("has no valid path"));
        }
        Ok(Endpoint { secure, authority, prefix, style })
    }

    /// Parses the URL of an alias, which has no path: `mc` refuses a configuration with one.
    ///
    /// # Errors
    /// One line that says what to write instead.
    pub(crate) fn parse_for_alias(url: &str, alias: &str) -> Result<Endpoint, String> {
        // What looks like a path may be a part of a secret.
        if url.contains('@') {
            let shown = without_user(url);
            return Err(format!(
                "the URL '{shown}' holds credentials; write http(s)://HOST[:PORT]"
            ));
        }
        let start = url.find("://").map_or(0, |at| at + 3);
        let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
        let (host, rest) = url.split_at(end);
        let endpoint = Endpoint::parse(host, Style::Auto)?;
        match rest.trim_matches('/').is_empty() {
            true => Ok(endpoint),
            false => Err(format!(
                "'{url}' is no endpoint, which has no path, query or fragment; write {}, and name the bucket behind \
                 the alias: {alias}/BUCKET",
                endpoint.url()
            )),
        }
    }

    /// Scheme, host and path.
    pub(crate) fn url(&self) -> String {
        format!("{}://{}{}", self.scheme(), self.authority, self.prefix)
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// The region in a host name of AWS.
    pub(crate) fn region(&self) -> Option<&str> {
        let name = self.authority.strip_suffix(".amazonaws.com")?;
        let name = name.strip_prefix("s3.").or_else(|| name.strip_prefix("s3-"))?;
        Some(name.strip_prefix("dualstack.").unwrap_or(name))
    }

    /// The address of an object, a bucket, or the service.
    pub(super) fn address(&self, bucket: &str, key: &str, region: &str) -> Address {
        let authority = match self.authority.as_str() {
            // The host of the first region does not serve buckets of other regions.
            "s3.amazonaws.com" if region != "us-east-1" => format!("s3.{region}.amazonaws.com"),
            other => other.to_owned(),
        };
        let in_host = !bucket.is_empty() && self.has_host_for(bucket);
        let mut path = self.prefix.clone();
        if !in_host && !bucket.is_empty() {
            path = format!("{path}/{}", encoded_path(bucket));
        }
        // An object needs a slash after the bucket, and no address has an empty path.
        if !key.is_empty() || path.is_empty() || in_host {
            path = format!("{path}/{}", encoded_path(key));
        }
        let authority = if in_host { format!("{bucket}.{authority}") } else { authority };
        Address { authority, path }
    }

    fn has_host_for(&self, bucket: &str) -> bool {
        // A certificate for *.HOST covers only one label.
        let dots_spoil = self.secure && bucket.contains('.');
        let bytes = bucket.as_bytes();
        let is_label =
            |it: &u8| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'-' | b'.');
        let possible = (3..=63).contains(&bytes.len()) && bytes.iter().all(is_label) && !dots_spoil;
        let wanted = match self.style {
            Style::Path => false,
            Style::Host => true,
            Style::Auto => {
                let dotted = format!(".{}", self.authority);
                HOST_STYLE.iter().any(|suffix| dotted.ends_with(suffix))
            }
        };
        possible && wanted
    }
}

fn without_user(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str, style: Style) -> Endpoint {
        Endpoint::parse(url, style).expect("it is valid")
    }

    #[test]
    fn addresses_follow_the_style_and_keep_the_path_of_the_endpoint() {
        let rows = [
            (
                "http://localhost:9000",
                Style::Auto,
                "bucket",
                "a b",
                "localhost:9000",
                "/bucket/a%20b",
            ),
            ("http://localhost:9000/", Style::Auto, "", "", "localhost:9000", "/"),
            ("http://localhost:80", Style::Auto, "bucket", "", "localhost", "/bucket"),
            (
                "https://x.io:443/storage/s3/",
                Style::Auto,
                "bucket",
                "k",
                "x.io",
                "/storage/s3/bucket/k",
            ),
            ("https://x.io/storage/s3", Style::Auto, "", "", "x.io", "/storage/s3"),
            (
                "https://s3.amazonaws.com",
                Style::Auto,
                "bucket",
                "k/",
                "bucket.s3.amazonaws.com",
                "/k/",
            ),
            ("https://s3.amazonaws.com", Style::Auto, "bucket", "", "bucket.s3.amazonaws.com", "/"),
            (
                "https://s3.amazonaws.com",
                Style::Auto,
                "a.bucket",
                "k",
                "s3.amazonaws.com",
                "/a.bucket/k",
            ),
            (
                "https://s3.amazonaws.com",
                Style::Path,
                "bucket",
                "k",
                "s3.amazonaws.com",
                "/bucket/k",
            ),
            ("http://minio:9000", Style::Host, "bucket", "k", "bucket.minio:9000", "/k"),
            ("http://minio:9000", Style::Host, "Bucket", "k", "minio:9000", "/Bucket/k"),
            ("http://[::1]:9000", Style::Auto, "bucket", "/k//", "[::1]:9000", "/bucket//k//"),
        ];
        for (url, style, bucket, key, authority, path) in rows {
            let address = endpoint(url, style).address(bucket, key, "us-east-1");
            let expected = Address { authority: authority.to_owned(), path: path.to_owned() };
            assert_eq!(address, expected, "{url} {bucket} {key}");
        }
    }

    #[test]
    fn regions_of_aws_have_hosts() {
        let aws = endpoint("https://s3.amazonaws.com", Style::Auto);
        let address = aws.address("bucket", "k", "eu-west-1");
        assert_eq!(address.authority, "bucket.s3.eu-west-1.amazonaws.com");
        assert_eq!(aws.region(), None);
        for host in ["s3.eu-west-1", "s3-eu-west-1", "s3.dualstack.eu-west-1"] {
            let aws = endpoint(&format!("https://{host}.amazonaws.com"), Style::Auto);
            assert_eq!(aws.region(), Some("eu-west-1"));
        }
    }

    #[test]
    fn the_url_of_an_alias_has_no_path() {
        for url in ["http://localhost:9000", "http://localhost:9000/", "https://[::1]//"] {
            Endpoint::parse_for_alias(url, "here").expect(url);
        }
        for rest in ["/photos", "/photos/", "/?a=b", "?a=b", "#a", "/photos#a"] {
            let url = format!("http://localhost:9000{rest}");
            let reason = Endpoint::parse_for_alias(&url, "here").expect_err(rest);
            assert!(reason.contains("write http://localhost:9000, "), "{reason}");
            assert!(reason.ends_with("here/BUCKET"), "{reason}");
        }
        for url in ["http://key:12/secret@host", "http://key:secret@host/photos", "http:///photos"]
        {
            let reason = Endpoint::parse_for_alias(url, "here").expect_err(url);
            assert!(!reason.contains("12") && !reason.contains("secret"), "{reason}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_secrets() {
        for url in ["localhost:9000", "ftp://x", "http://", "http:///x", "http://x/?y", "http://x:"]
        {
            assert!(Endpoint::parse(url, Style::Auto).is_err(), "{url}");
        }
        let reason = Endpoint::parse("http://key:secret@host", Style::Auto).expect_err("refused");
        assert!(!reason.contains("secret"), "{reason}");
    }
}
