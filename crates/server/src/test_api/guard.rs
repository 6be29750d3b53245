//! Who may use the test API: programs, on this machine unless said otherwise. Never a page of the web: a browser
//! reaches what its user does, and the test API asks for no signature.

use http::header::{HOST, ORIGIN};
use http::request::Parts;

use crate::config::TestAccess;
use crate::no_auth::is_own;
use crate::origin::{Origin, without_port};
use crate::reply::{ApiError, ErrorCode};

/// The check of every request to the test API.
#[derive(Debug)]
pub(super) struct Guard {
    access: TestAccess,
    /// The names that the server is asked by, beside addresses.
    domains: Vec<String>,
}

impl Guard {
    pub(super) fn new(access: TestAccess, domains: Vec<String>) -> Guard {
        Guard { access, domains }
    }

    /// Refuses other machines, pages, and names that were made to lead here (DNS rebinding).
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

fn denied(message: &'static str) -> ApiError {
    ApiError::new(ErrorCode::AccessDenied, message)
}

/// The refusal of what cannot be understood.
pub(super) fn bad_request(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, message.into())
}
