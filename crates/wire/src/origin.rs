//! [`Origin`]: the sender of a request, its connection, and its target. Determined once, where the
//! request enters, and carried in its extensions.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use http::header::HOST;
use http::request::Parts;
use http::{HeaderValue, Uri, Version};
use jiff::Timestamp;
use liteio_disk::{Clock, SystemClock};
use percent_encoding::percent_decode_str;

use crate::record::RequestRecord;
use crate::request_id::RequestIds;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// `true` if the connection is encrypted.
    pub secure: bool,
    /// The encryption, if it ends in this server and not in a proxy.
    pub tls: Option<Tls>,
}

/// The encryption of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The version, such as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, by the name that OpenSSL and AWS use.
    pub cipher: &'static str,
}

impl Peer {
    /// The scheme of URLs that lead back to this server.
    pub fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// The address for the log, without a port if the port is unknown.
    pub fn name(&self) -> impl fmt::Display + use<> {
        let address = self.address;
        fmt::from_fn(move |formatter| match address.port() {
            0 => write!(formatter, "{}", address.ip()),
            _ => write!(formatter, "{address}"),
        })
    }
}

/// The domains whose subdomains are buckets: lower-case names without a port.
#[derive(Clone, Debug)]
pub struct Domains {
    names: Arc<[String]>,
    /// The domains whose subdomains are websites of buckets.
    sites: Arc<[String]>,
    region: Arc<str>,
}

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

impl Domains {
    /// These domains, for a server in the region `region`.
    pub fn new(names: Vec<String>, region: &str) -> Domains {
        let sites = names.iter().flat_map(|name| site_domains(name, region)).collect();
        Domains { names: names.into(), sites, region: region.into() }
    }

    /// The length of the bucket name at the start of `bucket.s3-website.domain[:port]`.
    fn site_bytes(&self, host: &str) -> Option<usize> {
        let name = without_port(host);
        self.sites.iter().filter_map(|site| subdomain_bytes(name, site)).min()
    }

    /// The length of the bucket name at the start of `bucket.domain[:port]`, using the longest
    /// matching domain. Between them may be the name of the service in a region.
    fn bucket_bytes(&self, host: &str) -> Option<usize> {
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
fn site_buckets(host: &str) -> Vec<&str> {
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

/// The origin of one request.
#[derive(Debug)]
pub struct Origin {
    /// The ids of the request.
    pub ids: RequestIds,
    /// The sender.
    pub peer: Peer,
    /// The bucket and the key.
    pub target: Target,
    /// The version of HTTP.
    pub version: Version,
    /// Findings of the inner layers, for the log.
    pub found: Found,
}

/// The name of the main space, for requests that name no other.
pub const MAIN_SPACE: &str = "main";

/// The name, the region and the time of the services that answer a request.
#[derive(Debug)]
pub struct Locale {
    /// The name of the space.
    pub space: String,
    /// The region.
    pub region: String,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// `true` once the space was reset or deleted: requests still in flight are not recorded.
    pub is_closed: AtomicBool,
}

/// The time of an authenticated request, in seconds since 1970, by the same clock that judged its
/// signature.
#[derive(Clone, Copy, Debug)]
pub struct Moment(pub i64);

/// A time in milliseconds since 1970, limited to the last representable date.
pub fn timestamp(ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}

/// The account whose policies the reason of a refusal names. Another account must not learn it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialBy {
    /// The account of the sender.
    Sender,
    /// The owner of the bucket.
    Owner,
    /// The reason names none.
    Nobody,
}

/// The user, the operation and other findings of a request, noted by the layers that determine
/// them.
#[derive(Debug, Default)]
pub struct Found {
    /// The name of the user, and the canonical id of its account.
    user: OnceLock<(String, String)>,
    /// The canonical id of the owner of the bucket.
    owner: OnceLock<String>,
    is_health: OnceLock<()>,
    is_scrape: OnceLock<()>,
    /// The access key, and `true` if it belongs to a session.
    key: OnceLock<(String, bool)>,
    operation: OnceLock<&'static str>,
    /// The names of a vector bucket and, unless it is about the bucket alone, of an index.
    vectors: OnceLock<(String, Option<String>)>,
    denial: OnceLock<(DenialBy, String)>,
    locale: OnceLock<Arc<Locale>>,
    is_acl_required: OnceLock<()>,
    record: OnceLock<Box<dyn RequestRecord>>,
    /// The record of a copy about its source.
    source_record: OnceLock<Box<dyn RequestRecord>>,
}

impl Found {
    /// Notes the user whose signature was verified, and the canonical id of its account. The first counts.
    pub fn note_user(&self, name: &str, account: &str) {
        self.user.get_or_init(|| (name.to_owned(), account.to_owned()));
    }

    /// The canonical id of the account of the user, if there is one.
    pub fn account(&self) -> Option<&str> {
        self.user.get().map(|(_, account)| account.as_str())
    }

    /// Notes the canonical id of the owner of the requested bucket, once its name is resolved. The
    /// first call counts.
    pub fn note_owner(&self, canonical_id: &str) {
        self.owner.get_or_init(|| canonical_id.to_owned());
    }

    /// The canonical id of the owner of the bucket, if the request has reached one.
    pub fn owner(&self) -> Option<&str> {
        self.owner.get().map(String::as_str)
    }

    /// Notes that the request is answered as a health check.
    pub fn note_health(&self) {
        self.is_health.get_or_init(|| ());
    }

    /// `true` if the request was answered as a health check.
    pub fn is_health(&self) -> bool {
        self.is_health.get().is_some()
    }

    /// Notes that the request is answered with metrics.
    pub fn note_scrape(&self) {
        self.is_scrape.get_or_init(|| ());
    }

    /// `true` for a health check and for a scrape of metrics, which machines repeat day and night.
    pub fn is_routine(&self) -> bool {
        self.is_health() || self.is_scrape.get().is_some()
    }

    /// Notes the access key whose signature was verified, and whether it belongs to a session. The
    /// first call counts.
    pub fn note_key(&self, id: &str, is_of_session: bool) {
        self.key.get_or_init(|| (id.to_owned(), is_of_session));
    }

    /// The access key, if any, and `true` if it belongs to a session.
    pub fn key(&self) -> Option<(&str, bool)> {
        self.key.get().map(|(id, is_of_session)| (&**id, *is_of_session))
    }

    /// Notes the operation. The first counts.
    pub fn note_operation(&self, name: &'static str) {
        self.operation.get_or_init(|| name);
    }

    /// Notes the vector bucket, and the index, that a body names. The first call counts.
    pub fn note_vectors(&self, bucket: &str, index: Option<&str>) {
        self.vectors.get_or_init(|| (bucket.to_owned(), index.map(str::to_owned)));
    }

    /// The vector bucket, and the index, of the request.
    pub fn vectors(&self) -> Option<(&str, Option<&str>)> {
        self.vectors.get().map(|(bucket, index)| (&**bucket, index.as_deref()))
    }

    /// Notes the reason why access was denied, and whose documents it names. The first counts.
    pub fn note_denial(&self, by: DenialBy, reason: impl FnOnce() -> String) {
        self.denial.get_or_init(|| (by, reason()));
    }

    /// The reason why access was denied, if it was.
    pub fn denial(&self) -> Option<&str> {
        self.denial.get().map(|(_, reason)| reason.as_str())
    }

    /// The account whose documents the reason names.
    pub fn denial_by(&self) -> Option<DenialBy> {
        self.denial.get().map(|(by, _)| *by)
    }

    /// Notes that only an ACL allows the request.
    pub fn note_acl_required(&self) {
        self.is_acl_required.get_or_init(|| ());
    }

    /// `true` if only an ACL allows the request.
    pub fn is_acl_required(&self) -> bool {
        self.is_acl_required.get().is_some()
    }

    /// Notes the record to be told of the end of the request, made by `begin`. The first counts.
    pub fn note_record(&self, begin: impl FnOnce() -> Box<dyn RequestRecord>) {
        self.record.get_or_init(begin);
    }

    /// Notes the record of a copy that is about its source, likewise.
    pub fn note_source_record(&self, begin: impl FnOnce() -> Box<dyn RequestRecord>) {
        self.source_record.get_or_init(begin);
    }

    /// The records that the request leaves; most requests leave none.
    pub fn records(&self) -> impl Iterator<Item = &dyn RequestRecord> {
        let records = [self.record.get(), self.source_record.get()];
        records.into_iter().flatten().map(|record| &**record)
    }

    /// Notes region and clock of the services that answer.
    pub fn note_locale(&self, locale: &Arc<Locale>) {
        self.locale.get_or_init(|| Arc::clone(locale));
    }

    /// The space of the services that answer, once the request has reached them.
    pub fn locale(&self) -> Option<&Locale> {
        self.locale.get().map(|locale| &**locale)
    }

    /// The region of the services that answer, once the request has reached them.
    pub fn region(&self) -> Option<&str> {
        self.locale.get().map(|locale| &*locale.region)
    }

    /// The time by the clock of the services that answer; by the system clock before the request
    /// has reached them.
    pub fn now(&self) -> Timestamp {
        let now_ms = self.locale.get().map_or_else(|| SystemClock.now_ms(), |it| it.clock.now_ms());
        timestamp(now_ms)
    }

    /// The user's name, if there is one.
    pub fn user(&self) -> Option<&str> {
        self.user.get().map(|(name, _)| name.as_str())
    }

    /// The operation's name, if it is known.
    pub fn operation(&self) -> Option<&'static str> {
        self.operation.get().copied()
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
