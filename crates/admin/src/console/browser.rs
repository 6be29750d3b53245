//! Isolates objects that a browser opens as pages, so that they cannot act as the console, with
//! which they share an origin.

use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue,
    USER_AGENT, VARY,
};
use http::request::Parts;
use http::{HeaderName, Method, StatusCode};

use liteio_wire::reply::{Reply, ReplyBody};

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// `Sec-Fetch-Dest` values for which a response becomes a document that runs scripts.
const DOCUMENTS: [&str; 5] = ["document", "embed", "frame", "iframe", "object"];

/// A sandbox with an opaque origin: scripts in it cannot reach the console's storage or session.
/// Pages work otherwise.
const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads",
);

/// Decides about the isolation headers of the response to one request.
#[derive(Clone, Copy)]
pub struct Guard {
    is_document: bool,
    may_be_cached: bool,
}

impl Guard {
    /// Creates the guard for a request.
    pub fn of(head: &Parts) -> Guard {
        let may_be_cached = matches!(head.method, Method::GET | Method::HEAD);
        Guard { is_document: opens_document(head), may_be_cached }
    }

    /// Adds the sandbox to a response that becomes a document.
    ///
    /// Responses to other uses get no sandbox. `Vary` tells caches not to reuse them for a
    /// navigation: another page of the same site could have put them into the browser's cache.
    pub fn put(self, reply: Reply) -> Reply {
        let mut response = reply?;
        let headers = response.headers_mut();
        if self.may_be_cached {
            headers.append(VARY, HeaderValue::from_static("Sec-Fetch-Dest"));
        }
        if self.is_document && !is_pdf(headers) {
            headers.append(CONTENT_SECURITY_POLICY, SANDBOX);
        }
        Ok(response)
    }
}

/// True for PDF: it cannot run scripts of its origin, and browsers' viewers do not work in a
/// sandbox.
fn is_pdf(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/pdf")
}

/// True if a browser may show the response as a document.
///
/// Browsers send `Sec-Fetch-Dest` only to secure origins and to localhost. Over plain HTTP from
/// elsewhere, every request of a browser counts as opening a document.
fn opens_document(head: &Parts) -> bool {
    if !matches!(head.method, Method::GET | Method::POST) {
        return false;
    }
    let text = |name| head.headers.get(name).and_then(|it: &HeaderValue| it.to_str().ok());
    match text(SEC_FETCH_DEST) {
        Some(destination) => DOCUMENTS.contains(&destination),
        None => {
            text(USER_AGENT).is_some_and(|it| it.starts_with("Mozilla/"))
                || text(ACCEPT).is_some_and(|it| it.contains("text/html"))
        }
    }
}

/// True if a person typed the server's address into a browser: neither signed nor asking for an
/// object.
pub fn looks_for_console(head: &Parts) -> bool {
    head.method == Method::GET
        && head.uri.path() == "/"
        && head.uri.query().is_none()
        && !head.headers.contains_key(AUTHORIZATION)
        && opens_document(head)
}

/// Redirects `/` to the console.
pub fn to_console() -> Reply {
    let mut response = http::Response::new(ReplyBody::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(http::header::LOCATION, HeaderValue::from_static(super::PATH));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};

    use super::*;

    fn head(method: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    fn opens(method: &str, headers: &[(&str, &str)]) -> bool {
        opens_document(&head(method, headers))
    }

    #[test]
    fn documents_of_browsers_are_told_from_requests_of_pages_and_programs() {
        let browser = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64)");
        for destination in DOCUMENTS {
            assert!(opens("GET", &[("sec-fetch-dest", destination), browser]), "{destination}");
        }
        for destination in ["empty", "image", "script", "video", "worker"] {
            assert!(!opens("GET", &[("sec-fetch-dest", destination), browser]), "{destination}");
        }
        assert!(opens("GET", &[browser]));
        assert!(opens("GET", &[("accept", "text/html,application/xhtml+xml")]));
        assert!(!opens("GET", &[("user-agent", "aws-cli/2.0"), ("accept", "*/*")]));
        assert!(!opens("PUT", &[browser]) && !opens("HEAD", &[browser]));
    }

    #[test]
    fn everything_but_pdf_is_put_into_a_sandbox() {
        let rows = [
            (Some("text/html"), true),
            (Some("image/svg+xml; charset=utf-8"), true),
            (Some("text/xml"), true),
            (None, true),
            (Some("application/pdf"), false),
        ];
        for (kind, expected) in rows {
            let mut response = Response::new(ReplyBody::empty());
            if let Some(kind) = kind {
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            }
            let guard = Guard::of(&head("GET", &[("sec-fetch-dest", "document")]));
            let response = guard.put(Ok(response)).expect("no error");
            let policy = response.headers().get(CONTENT_SECURITY_POLICY);
            assert_eq!(policy == Some(&SANDBOX), expected, "{kind:?}");
        }
    }

    #[test]
    fn what_is_cached_of_one_use_answers_no_other_one() {
        let rows = [
            ("GET", "document", true),
            ("GET", "image", true),
            ("HEAD", "empty", true),
            ("PUT", "empty", false),
        ];
        for (method, destination, expected) in rows {
            let guard = Guard::of(&head(method, &[("sec-fetch-dest", destination)]));
            let mut response = Response::new(ReplyBody::empty());
            response.headers_mut().insert(VARY, HeaderValue::from_static("Origin"));
            let response = guard.put(Ok(response)).expect("no error");
            let varies: Vec<_> = response.headers().get_all(VARY).into_iter().collect();
            let expected: &[_] = if expected { &["Origin", "Sec-Fetch-Dest"] } else { &["Origin"] };
            assert_eq!(varies, expected, "{method} {destination}");
        }
    }
}
