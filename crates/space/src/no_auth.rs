//! Request guard of a server that does not check signatures. Such a server gives full access to
//! every client that reaches it. A browser reaches everything its user can, so a foreign web page
//! must not be able to use the server through it.

use http::header::{HOST, HeaderMap, ORIGIN};
use http::{Method, Request};

use liteio_wire::cors::Cors;
use liteio_wire::origin::without_port;
use liteio_wire::reply::{ApiError, ErrorCode};

/// The rules for unsigned requests.
#[derive(Debug)]
pub struct NoAuth {
    /// The access key of the user who counts as the sender.
    pub key: String,
    /// The CORS rules for pages that may use the server.
    cors: Option<Cors>,
    /// The server's host names, in addition to IP addresses. `None` if other machines may reach it:
    /// their names for it are unknown.
    names: Option<Vec<String>>,
}

impl NoAuth {
    /// Creates the rules for a server that treats every request as signed with `key`, and that
    /// pages of `cors_origins` may use. `names` are its domains; `None` if other machines can
    /// connect.
    pub fn new(key: String, cors_origins: &[String], names: Option<Vec<String>>) -> NoAuth {
        NoAuth { key, cors: Cors::of_server(cors_origins), names }
    }

    /// Rejects requests that a page of another origin can send without a preflight request, and
    /// requests for host names that an attacker's DNS points here (DNS rebinding).
    ///
    /// # Errors
    /// `AccessDenied`.
    pub fn check<B>(&self, request: &Request<B>) -> Result<(), ApiError> {
        let headers = request.headers();
        if let Some(names) = &self.names
            && !asked_host(request).is_none_or(|host| is_own(host, names))
        {
            return Err(ApiError::new(
                ErrorCode::AccessDenied,
                "Signatures are not checked here, so the server answers on this machine's names only: use \
                 localhost or an address, or give --domain NAME.",
            ));
        }
        // Browsers send a preflight request before other methods, and hide the response to a GET
        // from the page.
        if *request.method() == Method::POST
            && !self.is_own_page(request)
            && !self.may_post(headers)
        {
            return Err(ApiError::new(
                ErrorCode::AccessDenied,
                "Signatures are not checked here, so pages of this origin may not use the server: give \
                 --cors-origin ORIGIN.",
            ));
        }
        Ok(())
    }

    /// True for a page of this server: the console. Its host cannot be a rebound name, and objects
    /// that a browser opens have an opaque origin.
    fn is_own_page<B>(&self, request: &Request<B>) -> bool {
        let text = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let asked = request.uri().authority().map(|it| it.as_str()).or_else(|| text(HOST));
        let page = text(ORIGIN).and_then(|page| page.split_once("://"));
        let (Some(asked), Some((_, page))) = (asked, page) else { return false };
        let this_machine = ["localhost".to_owned()];
        let names = self.names.as_deref().unwrap_or(&this_machine);
        page.eq_ignore_ascii_case(asked)
            && asked_host(request).is_some_and(|host| is_own(host, names))
    }

    fn may_post(&self, headers: &HeaderMap) -> bool {
        let Some(page) = headers.get(ORIGIN) else { return true };
        let methods = |cors: &Cors| cors.allows(page, Method::POST.as_str());
        self.cors.as_ref().is_some_and(methods)
    }
}

/// The host in a request, without its port.
fn asked_host<B>(request: &Request<B>) -> Option<&str> {
    let header = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = request.uri().authority().map(|authority| authority.as_str()).or(header)?;
    Some(without_port(host))
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

    fn guard() -> NoAuth {
        let cors_origins = vec!["http://localhost:3*".to_owned()];
        let names = ["localhost", "s3.localhost"].map(str::to_owned).to_vec();
        NoAuth::new("liteio".to_owned(), &cors_origins, Some(names))
    }

    fn asked(method: &str, host: &str, page: Option<&str>) -> bool {
        let request = Request::builder().method(method).uri("/photos").header("host", host);
        let request = page.into_iter().fold(request, |request, it| request.header("origin", it));
        guard().check(&request.body(()).expect("a request")).is_ok()
    }

    #[test]
    fn pages_of_anywhere_cannot_post() {
        let rows = [
            ("POST", None, true),
            ("POST", Some("http://localhost:3000"), true),
            ("POST", Some("https://evil.example"), false),
            ("POST", Some("null"), false),
            ("POST", Some("http://localhost:4566"), true),
            ("POST", Some("http://127.0.0.1:4566"), false),
            ("GET", Some("https://evil.example"), true),
            ("PUT", Some("https://evil.example"), true),
        ];
        for (method, page, expected) in rows {
            assert_eq!(asked(method, "localhost:4566", page), expected, "{method} {page:?}");
        }
    }

    /// The owner of a DNS name decides where it points: a server for other machines, whose names
    /// are unknown, trusts IP addresses only.
    #[test]
    fn the_console_may_post_where_its_origin_is_certain() {
        let exposed = NoAuth { names: None, cors: None, ..guard() };
        let may_post = |host: &str| {
            let request = Request::post("/photos").header("host", host);
            let request = request.header("origin", format!("http://{host}")).body(());
            exposed.check(&request.expect("a request")).is_ok()
        };
        assert!(may_post("192.168.1.7:9000") && may_post("localhost:9000"));
        assert!(!may_post("evil.example:9000"));
    }

    #[test]
    fn names_that_are_made_to_lead_here_are_refused() {
        let rows = [
            ("localhost", true),
            ("photos.localhost:4566", true),
            ("127.0.0.1:4566", true),
            ("[::1]:4566", true),
            ("LOCALHOST.", true),
            ("evil.example", false),
            ("evil.example:4566", false),
            ("notlocalhost", false),
        ];
        for (host, expected) in rows {
            assert_eq!(asked("GET", host, None), expected, "{host}");
        }
    }
}
