//! Isolates objects that a browser opens as pages, so that they cannot act as the console, with
//! which they share an origin.

use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN,
    REFERER, USER_AGENT, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderName, Method, StatusCode};

use liteio_wire::front::Isolate;
use liteio_wire::reply::{Reply, ReplyBody};

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// `Sec-Fetch-Dest` values for which a response becomes a document that runs scripts.
const DOCUMENTS: [&str; 5] = ["document", "embed", "frame", "iframe", "object"];

/// A sandbox with an opaque origin: scripts in it cannot reach the console's storage or session.
/// Pages work otherwise.
const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads",
);

/// The content types that need no sandbox, as the whole value of the header: a browser may read a
/// longer value in another way.
///
/// PDF cannot run scripts of its origin, and browsers' viewers do not work in a sandbox.
const HARMLESS: [&[u8]; 1] = [b"application/pdf"];

/// The isolation of every answer to a request, errors included.
pub fn isolation(head: &Parts) -> Option<Isolate> {
    let may_be_cached = matches!(head.method, Method::GET | Method::HEAD);
    let may_be_shown = may_be_cached || head.method == Method::POST;
    match (may_be_shown && !is_program(head), may_be_cached) {
        (true, true) => Some(|headers| {
            vary(headers);
            confine(headers);
        }),
        (true, false) => Some(confine),
        (false, true) => Some(vary),
        (false, false) => None,
    }
}

/// Tells caches not to give the answer to another use: they may hold answers that were made for
/// programs.
fn vary(headers: &mut HeaderMap) {
    headers.append(VARY, HeaderValue::from_static("Sec-Fetch-Dest"));
}

/// Puts an answer into the sandbox.
///
/// It is the same for all uses. A browser may show later what it has loaded for a video, and a 304
/// changes only some headers of the cached answer.
fn confine(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !is_harmless(headers) {
        headers.append(CONTENT_SECURITY_POLICY, SANDBOX);
    }
}

fn is_harmless(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) => HARMLESS.contains(&kind.as_bytes()),
        _ => false,
    }
}

/// True for a request that no browser sends to open a page: it is signed in a header, and has no
/// header of a browser.
fn is_program(head: &Parts) -> bool {
    let signature = head.headers.get(AUTHORIZATION);
    signature.is_some_and(|it| it.as_bytes().starts_with(b"AWS"))
        && ![SEC_FETCH_DEST, SEC_FETCH_SITE, ORIGIN, REFERER]
            .iter()
            .any(|name| head.headers.contains_key(name))
        && !looks_like_browser(head)
}

/// True if a browser may show the response as a document.
///
/// Browsers send `Sec-Fetch-Dest` only to secure origins and to localhost. Over plain HTTP from
/// elsewhere, every request of a browser counts as opening a document.
fn opens_document(head: &Parts) -> bool {
    if !matches!(head.method, Method::GET | Method::POST) {
        return false;
    }
    match text(head, &SEC_FETCH_DEST) {
        Some(destination) => DOCUMENTS.contains(&destination),
        None => looks_like_browser(head),
    }
}

/// True for the name of a browser, or for a wish for HTML.
fn looks_like_browser(head: &Parts) -> bool {
    text(head, &USER_AGENT).is_some_and(|it| it.starts_with("Mozilla/"))
        || text(head, &ACCEPT).is_some_and(|it| it.contains("text/html"))
}

fn text<'a>(head: &'a Parts, name: &HeaderName) -> Option<&'a str> {
    head.headers.get(name).and_then(|it| it.to_str().ok())
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

/// True if a browser opens a page of MinIO's console, such as a bookmark of one.
pub(crate) fn opens_page_of_minio(head: &Parts, path: &str) -> bool {
    // Fast path: this runs for every request, so one byte is tested before the paths are compared.
    matches!(path.as_bytes().get(1), Some(b'b' | b'l'))
        && (matches!(path, "/login" | "/browser") || path.starts_with("/browser/"))
        && head.method == Method::GET
        && !liteio_auth::is_signed(head)
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
    use http::Request;

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
    fn bookmarks_of_minios_console_are_told_from_buckets_and_programs() {
        let browser = head("GET", &[("user-agent", "Mozilla/5.0")]);
        for path in ["/login", "/browser", "/browser/photos", "/browser/photos/a%2Fb"] {
            assert!(opens_page_of_minio(&browser, path), "{path}");
        }
        for path in ["/", "/logins", "/login/a", "/browsers", "/photos/browser/"] {
            assert!(!opens_page_of_minio(&browser, path), "{path}");
        }
        assert!(!opens_page_of_minio(&head("GET", &[("user-agent", "curl/8")]), "/login"));
        assert!(!opens_page_of_minio(&head("PUT", &[("user-agent", "Mozilla/5.0")]), "/login"));
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

    /// The headers of an answer with these content types, after the isolation.
    fn isolated(request: &Parts, kinds: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for kind in kinds {
            headers.append(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if let Some(isolate) = isolation(request) {
            isolate(&mut headers);
        }
        headers
    }

    #[test]
    fn everything_but_exactly_pdf_is_put_into_a_sandbox() {
        let rows: [(&[&str], bool); 20] = [
            (&["application/pdf"], false),
            (&[], true),
            (&[""], true),
            (&["text/html"], true),
            (&["text/plain"], true),
            (&["image/svg+xml; charset=utf-8"], true),
            (&["text/xml"], true),
            // Browsers take the last type of a list, and the parameters of the first one.
            (&["application/pdf;x=,text/html"], true),
            (&["application/pdf,text/html"], true),
            (&["application/pdf, text/html"], true),
            (&["text/html,application/pdf"], true),
            (&["application/pdf", "text/html"], true),
            (&["application/pdf", "application/pdf"], true),
            (&["application/pdf;charset=utf-8"], true),
            (&["application/pdf; x=\"", "\",text/html"], true),
            (&["application/pdf "], true),
            (&["application/pdf\t"], true),
            (&["Application/PDF"], true),
            (&["application/pdf+html"], true),
            (&["*/*"], true),
        ];
        let request = head("GET", &[("sec-fetch-dest", "document")]);
        for (kinds, expected) in rows {
            let headers = isolated(&request, kinds);
            let policy = headers.get(CONTENT_SECURITY_POLICY);
            assert_eq!(policy == Some(&SANDBOX), expected, "{kinds:?}");
            assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff", "{kinds:?}");
        }
    }

    #[test]
    fn every_use_of_a_browser_is_isolated() {
        let signed = ("authorization", "AWS4-HMAC-SHA256 Credential=x");
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], bool);
        let rows: [Row<'_>; 15] = [
            ("GET", &[("sec-fetch-dest", "document")], true),
            ("GET", &[("sec-fetch-dest", "video"), signed], true),
            ("GET", &[("sec-fetch-dest", "empty"), signed], true),
            ("GET", &[("sec-fetch-site", "cross-site"), signed], true),
            ("GET", &[("user-agent", "Mozilla/5.0"), signed], true),
            ("GET", &[("accept", "text/html,*/*"), signed], true),
            ("GET", &[("origin", "null"), signed], true),
            ("GET", &[("referer", "http://127.0.0.1:9000/"), signed], true),
            // A public object or a link, by a browser that does not tell what it is.
            ("GET", &[], true),
            ("GET", &[("authorization", "Basic eDp4")], true),
            ("HEAD", &[], true),
            ("POST", &[("user-agent", "Mozilla/5.0")], true),
            ("GET", &[signed], false),
            ("GET", &[("user-agent", "aws-cli/2.0"), ("accept", "*/*"), signed], false),
            ("PUT", &[("user-agent", "Mozilla/5.0")], false),
        ];
        for (method, headers, expected) in rows {
            let isolated = isolated(&head(method, headers), &["text/html"]);
            for name in [CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS] {
                assert_eq!(isolated.contains_key(&name), expected, "{method} {headers:?} {name}");
            }
        }
    }

    #[test]
    fn what_is_cached_of_one_use_answers_no_other_one() {
        let signed = ("authorization", "AWS4-HMAC-SHA256 Credential=x");
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE"] {
            for request in [head(method, &[signed]), head(method, &[])] {
                let mut headers = HeaderMap::new();
                headers.insert(VARY, HeaderValue::from_static("Origin"));
                if let Some(isolate) = isolation(&request) {
                    isolate(&mut headers);
                }
                let varies: Vec<_> = headers.get_all(VARY).into_iter().collect();
                let expected: &[_] = match method {
                    "GET" | "HEAD" => &["Origin", "Sec-Fetch-Dest"],
                    _ => &["Origin"],
                };
                assert_eq!(varies, expected, "{method}");
            }
        }
    }
}
