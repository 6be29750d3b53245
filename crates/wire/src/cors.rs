//! Cross-origin resource sharing: the permissions of a browser for pages of other origins. Pure
//! functions.
//!
//! The rules are the [rules of
//! S3](https://docs.aws.amazon.com/AmazonS3/latest/userguide/ManageCorsUsing.html): the first rule
//! whose origin, method and headers all match decides. A rule grants no access by itself: the
//! request needs its permission like any other.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// The headers that an answer depends on, for caches.
const VARIES: HeaderValue = HeaderValue::from_static(
    "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
);

/// The methods that rules may name.
pub const METHODS: [Method; 5] =
    [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::HEAD];

/// The headers of answers that pages of the server's origins may read: the headers of S3, and with
/// `*` all others, which browsers ignore for pages that send credentials.
const EXPOSED: [&str; 31] = [
    "Accept-Ranges",
    "Cache-Control",
    "Connection",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Range",
    "Content-Type",
    "Date",
    "ETag",
    "Expires",
    "Last-Modified",
    "Retry-After",
    "Server",
    "x-amz-bucket-region",
    "x-amz-checksum-crc32",
    "x-amz-checksum-crc32c",
    "x-amz-checksum-crc64nvme",
    "x-amz-checksum-sha1",
    "x-amz-checksum-sha256",
    "x-amz-checksum-type",
    "x-amz-delete-marker",
    "x-amz-id-2",
    "x-amz-mp-parts-count",
    "x-amz-request-id",
    "x-amz-server-side-encryption",
    "x-amz-storage-class",
    "x-amz-tagging-count",
    "x-amz-version-id",
    "*",
];

/// The kind of answer to a preflight request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreflightAnswer {
    /// Rules of the bucket, or of the server, allow the request.
    Allowed,
    /// The bucket exists, and no rule allows the request.
    Refused,
    /// The bucket does not exist, and no rule of the server allows the request.
    NoBucket,
}

/// The facts of a page's request that rules decide about.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The origin of the page.
    pub origin: HeaderValue,
    sent: Method,
    asked_method: Option<HeaderValue>,
    asked_headers: Option<HeaderValue>,
    is_navigation: bool,
}

impl PageRequest {
    /// The facts of a request; `None` if it names no origin.
    pub fn of(method: &Method, headers: &HeaderMap) -> Option<PageRequest> {
        let header = |name| headers.get(name).cloned();
        Some(PageRequest {
            origin: header(ORIGIN)?,
            sent: method.clone(),
            asked_method: header(ACCESS_CONTROL_REQUEST_METHOD),
            asked_headers: header(ACCESS_CONTROL_REQUEST_HEADERS),
            is_navigation: headers.get(SEC_FETCH_MODE).is_some_and(|mode| mode == "navigate"),
        })
    }

    /// A request with this method, of a page of this origin.
    pub fn with_method(origin: HeaderValue, method: Method) -> PageRequest {
        let (asked_method, asked_headers, is_navigation) = (None, None, false);
        PageRequest { origin, sent: method, asked_method, asked_headers, is_navigation }
    }

    /// `true` if a browser hides the answer from the page unless a rule allows it: not for a page of this host, and not for a
    /// form that leads to the answer.
    pub fn needs_permission(&self, host: &str) -> bool {
        let origin = self.origin.to_str().unwrap_or_default();
        let is_same = origin.split_once("://").is_some_and(|(_, of_page)| of_page == host);
        !is_same && !self.is_navigation
    }

    /// The method that is asked for; empty if it is no text, `None` if the header is missing.
    pub fn asked_method(&self) -> Option<&str> {
        self.asked_method.as_ref().map(|method| method.to_str().unwrap_or_default())
    }

    /// The method that a rule must allow. AWS reads the headers of a preflight request in every
    /// request of a page; browsers send them in preflight requests only.
    pub fn method(&self) -> &str {
        self.asked_method().unwrap_or(self.sent.as_str())
    }

    /// The header names that a rule must allow.
    pub fn headers(&self) -> Vec<&str> {
        let names = self.asked_headers.as_ref().and_then(|names| names.to_str().ok());
        names_in(names.unwrap_or_default()).collect()
    }

    /// The first name that is asked for and that no header can have.
    pub fn invalid_header(&self) -> Option<String> {
        let names = String::from_utf8_lossy(self.asked_headers.as_ref()?.as_bytes());
        let is_invalid = |name: &&str| HeaderName::from_bytes(name.as_bytes()).is_err();
        names_in(&names).find(is_invalid).map(str::to_owned)
    }
}

fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// `true` for a request that a browser may send without an origin and cache the answer of, such as that of `<img>`.
pub fn may_be_cached_without_origin(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET && !headers.contains_key(AUTHORIZATION)
}

/// The header `Vary` of answers that CORS rules may change.
pub fn vary() -> HeaderMap {
    HeaderMap::from_iter([(VARY, VARIES)])
}

/// The rules of a bucket, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    /// The rules, in the order in which they are tried.
    pub rules: Vec<CorsRule>,
}

/// One rule. A pattern has at most one `*`, which stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorsRule {
    /// Patterns of origins.
    pub origins: Vec<String>,
    /// Methods.
    pub methods: Vec<String>,
    /// Patterns of the header names that requests may have.
    pub headers: Vec<String>,
    /// Names of the response headers that pages may read.
    pub exposed: Vec<String>,
    /// Time in seconds for which a browser may cache the answer to a preflight.
    pub max_age_s: Option<u32>,
    /// If set, the origin `*` is answered with the origin that asks, and pages may send
    /// credentials. Rules of buckets never do that.
    pub echoes: bool,
}

impl Cors {
    /// The rules of a server for pages of these origins, which may do everything; `None` without
    /// origins. As in MinIO (`corsHandler` in `cmd/api-router.go`).
    pub fn of_server(origins: &[String]) -> Option<Cors> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let rule = CorsRule {
            origins: origins.to_vec(),
            methods: METHODS.iter().map(Method::to_string).collect(),
            headers: owned(&["*"]),
            exposed: owned(&EXPOSED),
            max_age_s: None,
            echoes: true,
        };
        (!origins.is_empty()).then(|| Cors { rules: vec![rule] })
    }

    /// The headers of the answer to a preflight request; `None` if it is not allowed.
    pub fn preflight(&self, request: &PageRequest) -> Option<HeaderMap> {
        let headers = request.headers();
        let (rule, pattern) = self.find(&request.origin, request.method(), &headers)?;
        let mut allowed = rule.answer(pattern, &request.origin);
        if !headers.is_empty() {
            // AWS names them in lower case, however the page spelled them.
            let names = headers.join(", ").to_ascii_lowercase();
            insert(&mut allowed, ACCESS_CONTROL_ALLOW_HEADERS, &names);
        }
        Some(allowed)
    }

    /// The headers of the answer to any other request of a page.
    pub fn actual(&self, request: &PageRequest) -> HeaderMap {
        match self.find(&request.origin, request.method(), &request.headers()) {
            Some((rule, pattern)) => rule.answer(pattern, &request.origin),
            // A cache must not give this answer to another origin.
            None => vary(),
        }
    }

    /// `true` if pages of this origin may send requests with this method.
    pub fn allows(&self, origin: &HeaderValue, method: &str) -> bool {
        self.find(origin, method, &[]).is_some()
    }

    /// The first matching rule, and the matching pattern of its origins.
    fn find(
        &self,
        origin: &HeaderValue,
        method: &str,
        headers: &[&str],
    ) -> Option<(&CorsRule, &str)> {
        let origin = origin.to_str().ok()?;
        self.rules.iter().find_map(|rule| {
            let pattern = rule.origins.iter().find(|pattern| matches(pattern, origin))?;
            let has_method = rule.methods.iter().any(|allowed| allowed == method);
            let takes =
                |name: &&str| rule.headers.iter().any(|pattern| matches_header(pattern, name));
            (has_method && headers.iter().all(takes)).then_some((rule, pattern.as_str()))
        })
    }
}

impl CorsRule {
    fn answer(&self, pattern: &str, origin: &HeaderValue) -> HeaderMap {
        let mut headers = vary();
        if pattern == "*" && !self.echoes {
            // With `*` a browser must not send credentials (Fetch standard, CORS protocol).
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        } else {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        insert(&mut headers, ACCESS_CONTROL_ALLOW_METHODS, &self.methods.join(", "));
        if !self.exposed.is_empty() {
            insert(&mut headers, ACCESS_CONTROL_EXPOSE_HEADERS, &self.exposed.join(", "));
        }
        if let Some(seconds) = self.max_age_s {
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(seconds));
        }
        headers
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            let rest = text.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        }
        None => pattern == text,
    }
}

/// Header names are case-insensitive.
fn matches_header(pattern: &str, name: &str) -> bool {
    matches(&pattern.to_ascii_lowercase(), &name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(origins: &[&str], methods: &[&str], headers: &[&str]) -> CorsRule {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        CorsRule {
            origins: owned(origins),
            methods: owned(methods),
            headers: owned(headers),
            ..CorsRule::default()
        }
    }

    /// A request with these headers after the origin: the asked method, the asked names.
    fn request(origin: &'static str, sent: Method, asked: [&'static str; 2]) -> PageRequest {
        let names = [ORIGIN, ACCESS_CONTROL_REQUEST_METHOD, ACCESS_CONTROL_REQUEST_HEADERS];
        let values = [origin, asked[0], asked[1]].map(HeaderValue::from_static);
        let headers = names.into_iter().zip(values).filter(|(_, value)| !value.is_empty());
        PageRequest::of(&sent, &headers.collect()).expect("names its origin")
    }

    fn asks(origin: &'static str, method: &'static str, names: &'static str) -> PageRequest {
        request(origin, Method::OPTIONS, [method, names])
    }

    #[test]
    fn patterns_have_one_star() {
        let rows = [
            ("*", "", true),
            ("*", "http://a", true),
            ("http://a", "http://a", true),
            ("http://a", "http://A", false),
            ("http://a", "http://a.b", false),
            ("http://*.example.com", "http://www.example.com", true),
            ("http://*.example.com", "http://example.com", false),
            ("start*end", "startend", true),
            ("start*end", "start1end", true),
            ("start*end", "start1end1", false),
            // The two ends do not share a character.
            ("aba*aba", "aba", false),
            ("aba*aba", "abaaba", true),
        ];
        for (pattern, text, expected) in rows {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert!(matches_header("X-Amz-*", "x-amz-date"));
        assert!(!matches_header("X-Amz-*", "content-type"));
    }

    #[test]
    fn the_first_rule_for_origin_method_and_headers_answers() {
        let first = CorsRule {
            exposed: vec!["ETag".to_owned(), "x-amz-id-2".to_owned()],
            max_age_s: Some(3_000),
            ..rule(&["http://a"], &["GET", "PUT"], &["content-*"])
        };
        let cors = Cors { rules: vec![first, rule(&["*"], &["GET"], &["*"])] };
        let known = cors.preflight(&asks("http://a", "PUT", "Content-Type")).expect("allowed");
        assert_eq!(known[ACCESS_CONTROL_ALLOW_ORIGIN], "http://a");
        assert_eq!(known[ACCESS_CONTROL_ALLOW_CREDENTIALS], "true");
        assert_eq!(known[ACCESS_CONTROL_ALLOW_METHODS], "GET, PUT");
        // In lower case, as AWS gives them back.
        assert_eq!(known[ACCESS_CONTROL_ALLOW_HEADERS], "content-type");
        assert_eq!(known[ACCESS_CONTROL_EXPOSE_HEADERS], "ETag, x-amz-id-2");
        assert_eq!(known[ACCESS_CONTROL_MAX_AGE], "3000");
        assert_eq!(known[VARY], VARIES);
        // Only the rule for all origins allows the header.
        let other = cors.preflight(&asks("http://a", "GET", "x-b")).expect("allowed");
        assert_eq!(other[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!other.contains_key(ACCESS_CONTROL_ALLOW_CREDENTIALS));
        assert_eq!(cors.preflight(&asks("http://b", "PUT", "")), None);
        assert_eq!(cors.preflight(&asks("http://a", "PUT", "x-b")), None);
        assert_eq!(cors.preflight(&asks("http://a", "get", "")), None);
    }

    /// LocalStack's records of AWS: `test_cors_match_methods`, `test_cors_match_headers`.
    #[test]
    fn other_requests_may_have_the_headers_of_a_preflight_request() {
        let cors = Cors { rules: vec![rule(&["http://a"], &["GET"], &["content-*"])] };
        let rows = [
            ("http://a", Method::GET, ["", ""], true),
            ("http://b", Method::GET, ["", ""], false),
            ("http://a", Method::PUT, ["", ""], false),
            ("http://a", Method::GET, ["PUT", ""], false),
            ("http://a", Method::PUT, ["GET", ""], true),
            ("http://a", Method::GET, ["nonsense", ""], false),
            ("http://a", Method::GET, ["", "content-type"], true),
            ("http://a", Method::GET, ["", "content-type, x-amz-request-payer"], false),
        ];
        for (origin, sent, asked, is_allowed) in rows {
            let actual = cors.actual(&request(origin, sent.clone(), asked));
            let found = actual.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN);
            assert_eq!(found, is_allowed, "{origin} {sent} {asked:?}");
            assert!(actual.contains_key(VARY));
        }
    }

    #[test]
    fn the_rules_of_a_server_let_its_origins_do_everything() {
        assert_eq!(Cors::of_server(&[]), None);
        let cors = Cors::of_server(&["*".to_owned()]).expect("rules");
        let allowed = cors.preflight(&asks("http://b", "DELETE", "x-amz-date,x-other"));
        let allowed = allowed.expect("allowed");
        assert_eq!(allowed[ACCESS_CONTROL_ALLOW_ORIGIN], "http://b");
        assert_eq!(allowed[ACCESS_CONTROL_ALLOW_CREDENTIALS], "true");
        assert_eq!(allowed[ACCESS_CONTROL_ALLOW_HEADERS], "x-amz-date, x-other");
        let one = Cors::of_server(&["https://*.example.com".to_owned()]).expect("rules");
        assert_eq!(one.preflight(&asks("http://b", "GET", "")), None);
        let actual = one.actual(&request("https://a.example.com", Method::GET, ["", ""]));
        assert_eq!(actual[ACCESS_CONTROL_ALLOW_ORIGIN], "https://a.example.com");
        assert!(actual[ACCESS_CONTROL_EXPOSE_HEADERS].to_str().is_ok_and(|it| it.contains("ETag")));
    }
}
