//! [`Target`]: the bucket and the key that a request addresses.

use std::ops::Range;

use http::header::HOST;
use http::request::Parts;
use http::{HeaderValue, Uri};
use percent_encoding::percent_decode_str;

use super::domains::{Domains, site_buckets, without_port};

/// The kind of socket that accepted a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// Any request, addressed by path or host.
    All,
    /// Websites only.
    Sites,
    /// Any request; the Iceberg REST catalog is at the root of the path, too.
    Catalog,
}

/// The place of the bucket name in a request.
#[derive(Clone, Debug)]
enum Place {
    /// The first segment of the path.
    Path(Range<usize>),
    /// The start of the host.
    Host(usize),
}

/// The bucket and the key that a request addresses, before any check.
#[derive(Clone, Debug)]
pub struct Target {
    uri: Uri,
    /// The decoded path, if it differs from the path as sent.
    decoded: Option<Box<str>>,
    host: Option<HeaderValue>,
    place: Place,
    /// The kind of website access; `None` for an API request.
    site: Option<Entrance>,
    /// The catalog is at the root of the path.
    has_catalog: bool,
}

impl Target {
    /// The target of a request with this head.
    pub fn of(head: &Parts, domains: &Domains, entrance: Entrance) -> Target {
        let uri = head.uri.clone();
        let host = match head.headers.get(HOST) {
            Some(host) => Some(host.clone()),
            None => uri.authority().and_then(|it| HeaderValue::from_str(it.as_str()).ok()),
        };
        let name = host.as_ref().and_then(|host| host.to_str().ok()).unwrap_or_default();
        let (place, site) = match domains.site_bytes(name) {
            Some(bytes) => (Some(Place::Host(bytes)), Some(Entrance::All)),
            None if entrance == Entrance::Sites => {
                (Some(Place::Host(without_port(name).len())), Some(Entrance::Sites))
            }
            None => (domains.bucket_bytes(name).map(Place::Host), None),
        };
        let decoded = match uri.path().contains('%') {
            true => Some(percent_decode_str(uri.path()).decode_utf8_lossy().into()),
            false => None,
        };
        let place = match place {
            Some(place) => place,
            None => {
                let path = decoded.as_deref().unwrap_or(uri.path());
                let start = usize::from(path.starts_with('/'));
                let bytes = path[start..].find('/').unwrap_or(path.len() - start);
                Place::Path(start..start + bytes)
            }
        };
        let has_catalog = entrance == Entrance::Catalog;
        Target { uri, decoded, host, place, site, has_catalog }
    }

    /// The decoded path. Bucket and key are found in it, as in the path that operations read: a
    /// slash ends the bucket even if it is encoded.
    fn decoded(&self) -> &str {
        self.decoded.as_deref().unwrap_or(self.uri.path())
    }

    /// The path as sent.
    pub fn path(&self) -> &str {
        self.uri.path()
    }

    /// The query as sent.
    pub fn query(&self) -> Option<&str> {
        self.uri.query()
    }

    /// The host as sent, with its port; empty if there was none.
    pub fn host(&self) -> &str {
        self.host.as_ref().and_then(|host| host.to_str().ok()).unwrap_or_default()
    }

    /// The bucket; empty for the service itself.
    pub fn bucket(&self) -> &str {
        match &self.place {
            Place::Path(range) => &self.decoded()[range.clone()],
            Place::Host(bytes) => &self.host()[..*bytes],
        }
    }

    /// `true` for a request to a website.
    pub fn is_site(&self) -> bool {
        self.site.is_some()
    }

    /// The buckets that the host of a website may name; the first existing one is used.
    pub fn site_buckets(&self) -> Vec<&str> {
        match self.site {
            Some(Entrance::Sites) => site_buckets(self.host()),
            Some(Entrance::All | Entrance::Catalog) => vec![self.bucket()],
            None => Vec::new(),
        }
    }

    /// `true` at an address where the Iceberg REST catalog is at the root of the path.
    pub fn has_catalog(&self) -> bool {
        self.has_catalog
    }

    /// The bucket, if the host names it rather than the path.
    pub fn host_bucket(&self) -> Option<&str> {
        match self.place {
            Place::Path(_) => None,
            Place::Host(_) => Some(self.bucket()),
        }
    }

    /// The names of the query parameters, such as `versionId,X-Amz-Signature`. Values may be secret
    /// and are left out.
    pub(crate) fn query_names(&self) -> String {
        let pairs = self.uri.query().unwrap_or_default().split('&');
        let names = pairs.map(|pair| pair.split('=').next().unwrap_or_default());
        names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(",")
    }

    /// `true` if the request names a key.
    pub fn names_key(&self) -> bool {
        !self.key().is_empty()
    }

    /// The key, decoded; empty for a bucket.
    pub fn key(&self) -> &str {
        let path = self.decoded();
        match &self.place {
            Place::Path(range) => path.get(range.end + 1..).unwrap_or_default(),
            Place::Host(_) => path.strip_prefix('/').unwrap_or(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn target(host: &str, path: &str) -> Target {
        let request = Request::builder().uri(path).header("host", host).body(());
        let (head, ()) = request.expect("a request").into_parts();
        let domains = vec!["localhost".to_owned(), "s3.localhost".to_owned()];
        Target::of(&head, &Domains::new(domains, "eu-west-1"), Entrance::All)
    }

    #[test]
    fn hosts_of_websites() {
        let rows = [
            ("photos.s3-website.localhost:9000", Some("photos")),
            ("my.photos.S3-Website-EU-West-1.localhost", Some("my.photos")),
            ("photos.s3-website.eu-west-1.localhost", Some("photos")),
            ("photos.s3-website-us-east-1.localhost", None),
            ("s3-website.localhost", None),
            ("photos.localhost", None),
        ];
        for (host, bucket) in rows {
            let target = target(host, "/a%20b/");
            assert_eq!(target.is_site(), bucket.is_some(), "{host}");
            if let Some(bucket) = bucket {
                assert_eq!((target.site_buckets(), target.key()), (vec![bucket], "a b/"));
            }
        }
        let request = Request::builder().uri("/a").header("host", "www.example.com:80").body(());
        let (head, ()) = request.expect("a request").into_parts();
        let target = Target::of(&head, &Domains::new(Vec::new(), "eu-west-1"), Entrance::Sites);
        assert_eq!(target.site_buckets(), ["www.example.com", "www.example", "www"]);
        assert_eq!(target.key(), "a");
    }

    #[test]
    fn path_and_virtual_host() {
        let rows = [
            ("127.0.0.1:9000", "/", "", ""),
            ("127.0.0.1:9000", "/bucket", "bucket", ""),
            ("127.0.0.1:9000", "/bucket/", "bucket", ""),
            ("127.0.0.1:9000", "/bucket/a%20b//c", "bucket", "a b//c"),
            ("127.0.0.1:9000", "/%62ucket/a%2Fb", "bucket", "a/b"),
            ("127.0.0.1:9000", "/bucket%2Fa%2fb", "bucket", "a/b"),
            ("127.0.0.1:9000", "*", "*", ""),
            ("localhost:9000", "/bucket/key", "bucket", "key"),
            ("s3.localhost", "/bucket/key", "bucket", "key"),
            ("otherlocalhost", "/bucket/key", "bucket", "key"),
            (".localhost", "/bucket/key", "bucket", "key"),
            ("[::1]:9000", "/bucket/key", "bucket", "key"),
            ("", "/bucket/key", "bucket", "key"),
        ];
        for (host, path, bucket, key) in rows {
            let target = target(host, path);
            assert_eq!((target.bucket(), target.key()), (bucket, key), "{host}{path}");
            assert_eq!(target.host_bucket(), None, "{host}");
        }
        let rows = [
            ("photos.localhost:9000", "/key", "photos", "key"),
            ("photos.localhost:9000", "/%6Bey%2fa", "photos", "key/a"),
            ("photos.localhost:9000", "/", "photos", ""),
            ("my.photos.S3.LocalHost", "/a/b", "my.photos", "a/b"),
            ("my.photos.S3.localhost", "//a", "my.photos", "/a"),
        ];
        for (host, path, bucket, key) in rows {
            let target = target(host, path);
            assert_eq!((target.bucket(), target.key()), (bucket, key), "{host}{path}");
            assert_eq!(target.host_bucket(), Some(bucket), "{host}");
        }
    }

    /// Endpoints of AWS in a region, and the hosts of LocalStack.
    #[test]
    fn hosts_with_a_region() {
        let rows = [
            ("s3.us-east-1.localhost", None),
            ("s3.us-east-1.localhost:9000", None),
            ("s3-us-west-2.localhost", None),
            ("s3.dualstack.eu-west-1.localhost", None),
            ("S3.EU-West-1.LocalHost", None),
            ("photos.s3.us-east-1.localhost:9000", Some("photos")),
            ("my.photos.s3.ap-southeast-2.localhost", Some("my.photos")),
            ("photos.s3.us-gov-west-1.localhost", Some("photos")),
            ("photos.s3-us-west-2.localhost", Some("photos")),
            ("photos.s3.dualstack.eu-west-1.localhost", Some("photos")),
            ("photos.s3.eu-west-1.s3.localhost", Some("photos")),
            // Names of buckets that only look like it.
            ("us-east-1.localhost", Some("us-east-1")),
            ("photos.us-east-1.localhost", Some("photos.us-east-1")),
            ("s3.photos.localhost", Some("s3.photos")),
            ("photos.s3.data-1.localhost", Some("photos.s3.data-1")),
            ("photos.s3.eu-west.localhost", Some("photos.s3.eu-west")),
            ("photos.dualstack.eu-west-1.localhost", Some("photos.dualstack.eu-west-1")),
            ("dualstack.eu-west-1.localhost", Some("dualstack.eu-west-1")),
            ("s3-photos.localhost", Some("s3-photos")),
            ("s3-.localhost", Some("s3-")),
            ("photos.s3-website-us-east-1.localhost", Some("photos.s3-website-us-east-1")),
        ];
        for (host, bucket) in rows {
            let target = target(host, "/a/b");
            assert_eq!(target.host_bucket(), bucket, "{host}");
            let expected = if bucket.is_some() { "a/b" } else { "b" };
            assert_eq!(target.key(), expected, "{host}");
        }
    }

    #[test]
    fn a_host_that_is_no_text_names_no_bucket() {
        let request = Request::builder().uri("/bucket/key");
        let host = HeaderValue::from_bytes("é.localhost".as_bytes()).expect("a header");
        let (head, ()) = request.header("host", host).body(()).expect("a request").into_parts();
        let target =
            Target::of(&head, &Domains::new(vec!["localhost".to_owned()], ""), Entrance::All);
        assert_eq!((target.bucket(), target.host()), ("bucket", ""));
    }
}
