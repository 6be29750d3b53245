//! Browsers that open an object as a page, and what keeps the object from acting as the console.

use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue,
    USER_AGENT,
};
use http::request::Parts;
use http::{HeaderName, Method, StatusCode};

use crate::reply::{Reply, ReplyBody};

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The uses of an answer in which it becomes a document, and its scripts run.
const DOCUMENTS: [&str; 5] = ["document", "embed", "frame", "iframe", "object"];

/// An opaque origin: what runs in it reaches no storage and no session of the console's. Pages work otherwise.
const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads",
);

/// True for a request whose answer a browser may show as a document.
///
/// Browsers tell the use of an answer to secure origins and to this machine only. Over plain HTTP from elsewhere,
/// whatever comes from a browser counts as one.
pub(crate) fn opens_document(head: &Parts) -> bool {
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

/// True for somebody who has typed the address of the server: neither signed nor asking for an object.
pub(crate) fn looks_for_console(head: &Parts) -> bool {
    head.method == Method::GET
        && head.uri.path() == "/"
        && head.uri.query().is_none()
        && !head.headers.contains_key(AUTHORIZATION)
        && opens_document(head)
}

/// Puts an answer that becomes a document into an origin of its own. Documents in PDF hold no script of their
/// origin, and the viewers of browsers refuse to work in a sandbox.
pub(crate) fn sandboxed(reply: Reply) -> Reply {
    let mut response = reply?;
    let kind = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/pdf") {
        response.headers_mut().append(CONTENT_SECURITY_POLICY, SANDBOX);
    }
    Ok(response)
}

/// The way from `/` to the console.
pub(crate) fn to_console() -> Reply {
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

    fn opens(method: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        opens_document(&request.body(()).expect("a request").into_parts().0)
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
            let response = sandboxed(Ok(response)).expect("no error");
            let policy = response.headers().get(CONTENT_SECURITY_POLICY);
            assert_eq!(policy == Some(&SANDBOX), expected, "{kind:?}");
        }
    }
}
