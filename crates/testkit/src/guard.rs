//! Access control of the test API: programs only, by default on this machine. Never a web page: a
//! browser can reach everything its user can, and the test API needs no signature.

use http::header::{FORWARDED, HOST, HeaderMap, ORIGIN, VIA};
use http::request::Parts;

use liteio_space::no_auth::is_own;
use liteio_wire::origin::{Origin, without_port};
use liteio_wire::reply::{ApiError, ErrorCode};

/// The clients that may use the test API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestAccess {
    /// Programs on this machine only.
    Local,
    /// Every client that can reach the server.
    Any,
}

/// The access check of the test API.
#[derive(Debug)]
pub(super) struct Guard {
    access: TestAccess,
    /// The server's host names, in addition to IP addresses.
    domains: Vec<String>,
}

impl Guard {
    pub(super) fn new(access: TestAccess, domains: Vec<String>) -> Guard {
        Guard { access, domains }
    }

    /// Rejects other machines, web pages, and host names that an attacker's DNS points here (DNS
    /// rebinding).
    ///
    /// # Errors
    /// `AccessDenied`.
    pub(super) fn check(&self, head: &Parts, origin: &Origin) -> Result<(), ApiError> {
        let is_local = origin.peer.address.ip().to_canonical().is_loopback();
        if self.access == TestAccess::Local && !is_local {
            return Err(denied(
                "The test API answers programs on the machine of the server only: start it with --test-api=any \
                 (LITEIO_TEST_API=any) to let others use it.",
            ));
        }
        // Behind a proxy on this machine, every remote client has a loopback address.
        if self.access == TestAccess::Local && is_passed_on(&head.headers) {
            return Err(denied(
                "The test API answers programs on the machine of the server only, and a proxy has passed this request \
                 on: ask the server itself, or start it with --test-api=any (LITEIO_TEST_API=any).",
            ));
        }
        let fetch_site = head.headers.get("sec-fetch-site");
        if head.headers.contains_key(ORIGIN) || fetch_site.is_some_and(|it| it != "none") {
            return Err(denied(
                "Pages may not use the test API: call it from the program that runs the tests.",
            ));
        }
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = head.uri.authority().map(|it| it.as_str()).or(host).unwrap_or_default();
        if !is_own(without_port(host), &self.domains) {
            return Err(denied(
                "The test API answers to addresses, localhost and the domains of the server: use one of these, or \
                 start the server with --domain NAME.",
            ));
        }
        Ok(())
    }
}

/// True if a header that proxies add is present.
fn is_passed_on(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        *name == FORWARDED
            || *name == VIA
            || *name == "x-real-ip"
            || name.as_str().starts_with("x-forwarded-")
    })
}

fn denied(message: &'static str) -> ApiError {
    ApiError::new(ErrorCode::AccessDenied, message)
}

/// The error for an invalid request.
pub(super) fn bad_request(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, message.into())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use liteio_wire::origin::{Domains, Entrance, Found, Peer, Target};
    use liteio_wire::request_id::RequestIdSource;

    /// True if a request from this address with this header is accepted.
    fn is_answered(access: TestAccess, address: &str, header: (&str, &str)) -> bool {
        let request = Request::builder().uri("/_liteio/test/clock").header(HOST, "localhost:9000");
        let request = request.header(header.0, header.1).body(());
        let (head, ()) = request.expect("a request").into_parts();
        let address = format!("{address}:1234").parse().expect("an address");
        let origin = Origin {
            ids: RequestIdSource::new([0; 24]).next(),
            peer: Peer { address, secure: false, tls: None },
            target: Target::of(&head, &Domains::new(Vec::new(), ""), Entrance::All),
            version: head.version,
            found: Found::default(),
        };
        Guard::new(access, vec!["localhost".to_owned()]).check(&head, &origin).is_ok()
    }

    #[test]
    fn other_machines_need_to_be_let_in() {
        let rows = [
            ("127.0.0.1", true),
            ("127.8.8.8", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("192.0.2.1", false),
            ("10.0.0.1", false),
            ("[2001:db8::1]", false),
            ("[::ffff:192.0.2.1]", false),
        ];
        for (address, is_local) in rows {
            let header = ("accept", "*/*");
            assert_eq!(is_answered(TestAccess::Local, address, header), is_local, "{address}");
            assert!(is_answered(TestAccess::Any, address, header), "{address}");
        }
    }

    #[test]
    fn a_proxy_on_this_machine_speaks_for_others() {
        for header in [
            ("forwarded", "for=203.0.113.5"),
            ("x-forwarded-for", "203.0.113.5"),
            ("x-forwarded-for", "127.0.0.1"),
            ("x-forwarded-proto", "https"),
            ("X-Forwarded-Host", "s3.example"),
            ("x-real-ip", "203.0.113.5"),
            ("via", "1.1 proxy"),
        ] {
            assert!(!is_answered(TestAccess::Local, "127.0.0.1", header), "{header:?}");
            assert!(is_answered(TestAccess::Any, "127.0.0.1", header), "{header:?}");
        }
    }
}
