//! Request guard of a server that does not check signatures. Such a server gives full access to
//! every client that reaches it. A browser reaches everything its user can, so a foreign web page
//! must not be able to use the server through it, with any method: a GET may be a request of IAM,
//! and its answer a secret that a page on a rebound name can read.

use http::header::{HOST, ORIGIN, REFERER};
use http::{HeaderName, HeaderValue, Method, Request};

use liteio_wire::cors::Cors;
use liteio_wire::origin::without_port;
use liteio_wire::reply::{ApiError, ErrorCode};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Tells browsers which pages may embed an answer (Fetch standard, `Cross-Origin-Resource-Policy`).
pub const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Only pages of the same machine, as long as the server does not know the page.
pub const SAME_SITE: HeaderValue = HeaderValue::from_static("same-site");

/// A page that rules allow.
const CROSS_ORIGIN: HeaderValue = HeaderValue::from_static("cross-origin");

/// Names by which containers reach their host. `internal` is no domain of the public DNS, so nobody
/// can make them lead elsewhere.
const OF_ENGINES: [&str; 4] = [
    "host.docker.internal",
    "gateway.docker.internal",
    "host.containers.internal",
    "host.testcontainers.internal",
];

/// The host names to which a server without signatures answers, in addition to IP addresses.
#[derive(Clone, Debug)]
pub struct HostNames {
    /// Its domains; names below them count, too.
    pub domains: Vec<String>,
    /// Its own names, if other machines can reach it. They may also use names without a dot, such as
    /// those of services in a Compose file: no public DNS server decides about these.
    pub of_container: Option<Vec<String>>,
}

impl HostNames {
    fn include(&self, host: &str) -> bool {
        let is_known = || {
            let host = host.trim_end_matches('.');
            let own = self.of_container.as_deref()?;
            let mut exact = own.iter().map(String::as_str).chain(OF_ENGINES);
            Some(!host.contains('.') || exact.any(|name| name.eq_ignore_ascii_case(host)))
        };
        is_own(host, &self.domains) || is_known().unwrap_or(false)
    }
}

/// The rules for unsigned requests.
#[derive(Debug)]
pub struct NoAuth {
    /// The access key of the user who counts as the sender.
    pub key: String,
    /// The CORS rules for pages that may use the server.
    cors: Option<Cors>,
    names: HostNames,
}

/// The sender of a request, as far as a browser tells.
enum Sender<'a> {
    /// A program, this server's own page, or a person who typed the address.
    Own,
    /// A page of another origin, and its origin if it is known.
    Page(Option<&'a str>),
}

impl NoAuth {
    /// Creates the rules for a server that treats every request as signed with `key`, and that
    /// pages of `cors_origins` may use.
    pub fn new(key: String, cors_origins: &[String], names: HostNames) -> NoAuth {
        NoAuth { key, cors: Cors::of_server(cors_origins), names }
    }

    /// Rejects requests of pages of other origins, unless `--cors-origin` or `rules_allow` (for an
    /// origin, by the rules of the bucket) allow them, and requests for host names that an
    /// attacker's DNS points here (DNS rebinding). Returns the [`RESOURCE_POLICY`] of the answer.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub fn check<B>(
        &self,
        request: &Request<B>,
        rules_allow: impl FnOnce(&HeaderValue) -> bool,
    ) -> Result<HeaderValue, ApiError> {
        if !asked_host(request).is_none_or(|host| self.names.include(without_port(host))) {
            return Err(ApiError::new(
                ErrorCode::AccessDenied,
                "Signatures are not checked here, so the server answers to its own names only: use localhost \
                 or an address, or give --domain NAME.",
            ));
        }
        let Sender::Page(page) = sender(request) else { return Ok(SAME_SITE) };
        let page = page.and_then(|page| HeaderValue::from_str(page).ok());
        let allows = |cors: &Cors, page: &HeaderValue| cors.allows(page, request.method().as_str());
        match page {
            Some(page) if self.cors.as_ref().is_some_and(|cors| allows(cors, &page)) => {
                Ok(CROSS_ORIGIN)
            }
            Some(page) if rules_allow(&page) => Ok(CROSS_ORIGIN),
            _ => Err(ApiError::new(
                ErrorCode::AccessDenied,
                "Signatures are not checked here, so pages of this origin may not use the server: give \
                 --cors-origin ORIGIN, or put CORS rules on the bucket.",
            )),
        }
    }

    /// The page of another origin that only the rules of the bucket can allow to send this request.
    pub fn foreign_page<B>(&self, request: &Request<B>) -> Option<HeaderValue> {
        let Sender::Page(Some(page)) = sender(request) else { return None };
        let page = HeaderValue::from_str(page).ok()?;
        let is_allowed =
            self.cors.as_ref().is_some_and(|cors| cors.allows(&page, request.method().as_str()));
        (!is_allowed).then_some(page)
    }

    /// Rejects a request of IAM in the URL of another method than POST. A page can send one without
    /// telling its origin, as the address of an image. With an Authorization header it cannot,
    /// because browsers ask before they send that header to another origin.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub fn check_iam(&self, method: &Method, is_in_header: bool) -> Result<(), ApiError> {
        match *method == Method::POST || is_in_header {
            true => Ok(()),
            false => Err(ApiError::new(
                ErrorCode::AccessDenied,
                "Signatures are not checked here, so IAM takes a URL with parameters only with an Authorization \
                 header: send a POST, as SDKs do.",
            )),
        }
    }
}

/// The sender of a request. Browsers send `Origin` with every POST and with every request that a
/// script can read, and `Sec-Fetch-Site` with all others to a secure address or this machine.
fn sender<B>(request: &Request<B>) -> Sender<'_> {
    let text = |name| request.headers().get(name).map(|it| it.to_str().unwrap_or_default());
    if let Some(page) = text(ORIGIN) {
        let authority = page.split_once("://").map(|(_, authority)| authority);
        let is_own = authority
            .zip(asked_host(request))
            .is_some_and(|(page, asked)| page.eq_ignore_ascii_case(asked));
        return if is_own { Sender::Own } else { Sender::Page(Some(page)) };
    }
    match text(SEC_FETCH_SITE) {
        None | Some("none" | "same-origin") => Sender::Own,
        // An image or a link of a page: the browser writes the address of the page.
        Some(_) => Sender::Page(text(REFERER).and_then(origin_of)),
    }
}

/// The origin in a URL.
fn origin_of(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    (!authority.contains('@')).then(|| &url[..scheme.len() + 3 + authority.len()])
}

/// The host in a request, with its port.
fn asked_host<B>(request: &Request<B>) -> Option<&str> {
    let header = request.headers().get(HOST).map(|host| host.to_str().unwrap_or_default());
    request.uri().authority().map(|authority| authority.as_str()).or(header)
}

/// True for an IP address, and for one of the names or a name below it.
pub fn is_own(host: &str, names: &[String]) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_below = |name: &String| {
        let rest = host.strip_suffix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    bare.parse::<std::net::IpAddr>().is_ok() || names.iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of_container: Option<&[&str]>) -> HostNames {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        HostNames {
            domains: owned(&["localhost", "s3.localhost", "s3.example.com"]),
            of_container: of_container.map(owned),
        }
    }

    fn guard(of_container: Option<&[&str]>) -> NoAuth {
        let cors_origins = vec!["http://localhost:3*".to_owned()];
        NoAuth::new("liteio".to_owned(), &cors_origins, names(of_container))
    }

    /// The resource policy of the answer; `None` for a refusal.
    fn asked(method: &str, host: &str, headers: &[(&str, &str)]) -> Option<HeaderValue> {
        let request = Request::builder().method(method).uri("/photos").header("host", host);
        let request = headers.iter().fold(request, |it, (name, value)| it.header(*name, *value));
        let request = request.body(()).expect("a request");
        let by_rules = |page: &HeaderValue| page == "https://rules.example" && method == "GET";
        guard(Some(&[])).check(&request, by_rules).ok()
    }

    #[test]
    fn pages_of_other_origins_may_do_nothing() {
        let origin = |it| ("origin", it);
        let site = |it| ("sec-fetch-site", it);
        let from = |it| ("referer", it);
        type Row<'a> = (&'a [(&'a str, &'a str)], Option<HeaderValue>);
        let rows: &[Row<'_>] = &[
            // Programs, a typed address, and the console.
            (&[], Some(SAME_SITE)),
            (&[site("none")], Some(SAME_SITE)),
            (&[site("same-origin")], Some(SAME_SITE)),
            (&[origin("http://localhost:4566"), site("same-origin")], Some(SAME_SITE)),
            (&[from("https://evil.example/")], Some(SAME_SITE)),
            // Scripts and forms.
            (&[origin("http://localhost:3000")], Some(CROSS_ORIGIN)),
            (&[origin("https://evil.example")], None),
            (&[origin("https://evil.example"), site("same-origin")], None),
            (&[origin("http://127.0.0.1:4566")], None),
            (&[origin("null")], None),
            (&[origin("")], None),
            (&[origin("null"), from("http://localhost:3000/")], None),
            // Images, links and frames.
            (&[site("cross-site")], None),
            (&[site("same-site")], None),
            (&[site("of tomorrow")], None),
            (&[site("cross-site"), from("https://evil.example/page")], None),
            (&[site("same-site"), from("http://localhost:3000/page?x")], Some(CROSS_ORIGIN)),
            (&[site("same-site"), from("http://localhost:3000")], Some(CROSS_ORIGIN)),
            (&[site("cross-site"), from("http://localhost:3000@evil.example/")], None),
        ];
        for (headers, expected) in rows {
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE"] {
                let found = asked(method, "localhost:4566", headers);
                assert_eq!(found, *expected, "{method} {headers:?}");
            }
        }
    }

    #[test]
    fn rules_of_a_bucket_let_pages_in() {
        let page = [("origin", "https://rules.example")];
        assert_eq!(asked("GET", "localhost:4566", &page), Some(CROSS_ORIGIN));
        assert_eq!(asked("PUT", "localhost:4566", &page), None);
        let image = [("sec-fetch-site", "cross-site"), ("referer", "https://rules.example/a")];
        assert_eq!(asked("GET", "localhost:4566", &image), Some(CROSS_ORIGIN));
    }

    /// The owner of a DNS name decides where it points.
    #[test]
    fn names_that_are_made_to_lead_here_are_refused() {
        // Host, on this machine only, in a container named `store` or `app.example.net`.
        let rows = [
            ("localhost", true, true),
            ("photos.localhost:4566", true, true),
            ("photos.s3.eu-west-1.localhost", true, true),
            ("127.0.0.1:4566", true, true),
            ("[::1]:4566", true, true),
            ("LOCALHOST.", true, true),
            ("photos.s3.example.com", true, true),
            ("192.168.1.7:9000", true, true),
            ("evil.example", false, false),
            ("evil.example:4566", false, false),
            ("notlocalhost.example", false, false),
            ("localhost.evil.example", false, false),
            ("evil.store", false, false),
            ("", false, true),
            // Names of a Compose file.
            ("store:4566", false, true),
            ("localstack", false, true),
            ("host.docker.internal:4566", false, true),
            ("evil.docker.internal", false, false),
            ("APP.example.net", false, true),
            ("evil.app.example.net", false, false),
        ];
        for (host, on_loopback, in_container) in rows {
            let is_answered = |guard: NoAuth| {
                let request = Request::get("/photos").header("host", host).body(());
                guard.check(&request.expect("a request"), |_| false).is_ok()
            };
            assert_eq!(is_answered(guard(None)), on_loopback, "{host}");
            let container = guard(Some(&["store", "app.example.net"]));
            assert_eq!(is_answered(container), in_container, "{host} in a container");
        }
    }

    #[test]
    fn iam_in_a_url_needs_a_header_that_pages_cannot_send() {
        let guard = guard(None);
        let rows =
            [(Method::POST, false, true), (Method::GET, true, true), (Method::GET, false, false)];
        for (method, is_in_header, expected) in rows {
            assert_eq!(guard.check_iam(&method, is_in_header).is_ok(), expected, "{method}");
        }
    }
}
