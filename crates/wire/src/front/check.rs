//! Checks of the head alone, before `100 Continue` and before any byte of the body: a refusal here
//! costs next to nothing.

use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, DATE, EXPECT, HOST, HeaderMap, HeaderName,
};
use http::request::Parts;
use http::{HeaderValue, Method, Version};
use percent_encoding::percent_decode_str;

use super::body_too_large;
use super::limits::{BODY_BYTES_MAX, HEADERS_MAX, URI_BYTES_MAX};
use crate::reply::{ApiError, ErrorCode};

const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");

/// Headers that must not be repeated, in addition to most `x-amz-…` headers. Two parsers that
/// choose different copies would see different requests.
const SINGLE: [HeaderName; 7] =
    [HOST, AUTHORIZATION, CONTENT_LENGTH, CONTENT_MD5, CONTENT_TYPE, DATE, EXPECT];

/// `x-amz-…` headers that are lists, and may therefore be repeated.
const LISTS: [&str; 2] = ["x-amz-object-attributes", "x-amz-optional-object-attributes"];

/// Checks method, target and headers.
///
/// # Errors
/// The error to answer.
pub fn check_head(parts: &Parts) -> Result<(), ApiError> {
    if matches!(parts.method, Method::CONNECT | Method::TRACE) {
        return Err(ApiError::new(
            ErrorCode::MethodNotAllowed,
            "The specified method is not allowed against this resource.",
        ));
    }
    check_target(parts)?;
    // HTTP/2 headers; hyper counts the headers of HTTP/1.1 while it parses them.
    if parts.headers.len() > HEADERS_MAX {
        return Err(head_too_large());
    }
    check_repeated(&parts.headers)?;
    check_host(parts)?;
    check_length(&parts.headers)
}

fn check_target(parts: &Parts) -> Result<(), ApiError> {
    let uri = &parts.uri;
    let bytes = uri.path_and_query().map_or(0, |target| target.as_str().len());
    if bytes > URI_BYTES_MAX {
        return Err(uri_too_long());
    }
    let path = uri.path();
    // `*` is the only target without a leading slash (asterisk form, RFC 9112, section 3.2.4).
    let asterisk = parts.method == Method::OPTIONS && path == "*";
    if !(path.starts_with('/') || asterisk) || !is_encoded_utf8(path) {
        return Err(ApiError::new(ErrorCode::InvalidURI, "Couldn't parse the specified URI."));
    }
    Ok(())
}

/// The error for a target above [`URI_BYTES_MAX`].
pub(crate) fn uri_too_long() -> ApiError {
    let message = format!("The request URI is longer than {URI_BYTES_MAX} bytes.");
    ApiError::new(ErrorCode::RequestURITooLong, message)
}

/// The error for a head above its limits.
pub(crate) fn head_too_large() -> ApiError {
    ApiError::new(
        ErrorCode::RequestHeaderSectionTooLarge,
        "Your request header and query parameters exceed the maximum allowed size or number.",
    )
}

/// `true` if every `%` is followed by two hexadecimal digits and the decoded path is UTF-8.
fn is_encoded_utf8(path: &str) -> bool {
    if !path.contains('%') {
        return true;
    }
    let escapes_complete = path.split('%').skip(1).all(|after| {
        after.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    escapes_complete && percent_decode_str(path).decode_utf8().is_ok()
}

fn check_repeated(headers: &HeaderMap) -> Result<(), ApiError> {
    // Fast path: as many names as values means that no header is repeated.
    if headers.keys_len() == headers.len() {
        return Ok(());
    }
    for name in headers.keys() {
        let text = name.as_str();
        let amz = text.starts_with("x-amz-")
            && !text.starts_with("x-amz-meta-")
            && !LISTS.contains(&text);
        if (amz || SINGLE.contains(name)) && headers.get_all(name).iter().nth(1).is_some() {
            return Err(ApiError::new(
                ErrorCode::InvalidRequest,
                format!("The header {text} was given more than once."),
            ));
        }
    }
    Ok(())
}

fn check_host(parts: &Parts) -> Result<(), ApiError> {
    let host = parts.headers.get(HOST).map(HeaderValue::as_bytes);
    if host.is_none() && parts.version == Version::HTTP_11 {
        return Err(ApiError::new(ErrorCode::InvalidRequest, "The Host header is missing."));
    }
    let is_text = |host: &[u8]| host.iter().all(u8::is_ascii_graphic);
    if host.is_some_and(|host| !is_text(host)) {
        return Err(ApiError::new(
            ErrorCode::InvalidRequest,
            "The Host header is not a host name.",
        ));
    }
    // The absolute form names two hosts. If they differ, it is ambiguous which one was signed.
    match (parts.uri.authority(), host) {
        (Some(authority), Some(host))
            if !authority.as_str().as_bytes().eq_ignore_ascii_case(host) =>
        {
            Err(ApiError::new(
                ErrorCode::InvalidRequest,
                "The request line and the Host header differ.",
            ))
        }
        _ => Ok(()),
    }
}

fn check_length(headers: &HeaderMap) -> Result<(), ApiError> {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    match length.and_then(|digits| digits.parse::<u64>().ok()) {
        Some(bytes) if bytes > BODY_BYTES_MAX => Err(body_too_large()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn code(request: http::request::Builder) -> Option<String> {
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        check_head(&parts).err().map(|error| error.code().to_owned())
    }

    fn get(target: &str) -> http::request::Builder {
        Request::builder().uri(target).header("host", "localhost:9000")
    }

    #[test]
    fn targets() {
        let long = format!("/b/{}", "k".repeat(URI_BYTES_MAX));
        let rows = [
            ("/", None),
            ("/bucket/k%C3%A9y%2f..//x?versionId=%ff", None),
            ("/bucket/%c3%28", Some("InvalidURI")),
            ("/bucket/%", Some("InvalidURI")),
            ("/bucket/%1", Some("InvalidURI")),
            ("/bucket/%zz", Some("InvalidURI")),
            ("/b/k?response-content-type=text%2Fplain", None),
            ("/b?prefix=a%0ab", None),
            (&long, Some("RequestURITooLong")),
        ];
        for (target, expected) in rows {
            assert_eq!(code(get(target)).as_deref(), expected, "{target:.80}");
        }
    }

    #[test]
    fn methods() {
        assert_eq!(code(get("/").method("TRACE")).as_deref(), Some("MethodNotAllowed"));
        assert_eq!(code(get("*").method("OPTIONS")), None);
        assert_eq!(code(get("*")).as_deref(), Some("InvalidURI"));
    }

    #[test]
    fn repeated_headers() {
        let rows = [
            ("x-amz-date", Some("InvalidRequest")),
            ("x-amz-content-sha256", Some("InvalidRequest")),
            ("authorization", Some("InvalidRequest")),
            ("content-md5", Some("InvalidRequest")),
            ("x-amz-meta-note", None),
            ("x-amz-object-attributes", None),
            ("if-match", None),
            ("range", None),
        ];
        for (name, expected) in rows {
            let request = get("/b/k").header(name, "a").header(name, "b");
            assert_eq!(code(request).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn hosts() {
        let none = Request::builder().uri("/b");
        assert_eq!(code(none).as_deref(), Some("InvalidRequest"));
        let old = Request::builder().uri("/b").version(Version::HTTP_10);
        assert_eq!(code(old), None);
        let two = get("/b").header("host", "other");
        assert_eq!(code(two).as_deref(), Some("InvalidRequest"));
        let same = get("http://localhost:9000/b");
        assert_eq!(code(same), None);
        let different = get("http://other/b");
        assert_eq!(code(different).as_deref(), Some("InvalidRequest"));
    }

    #[test]
    fn lengths() {
        let sized = |bytes: u64| get("/b/k").method("PUT").header("content-length", bytes);
        assert_eq!(code(sized(BODY_BYTES_MAX)), None);
        assert_eq!(code(sized(BODY_BYTES_MAX + 1)).as_deref(), Some("EntityTooLarge"));
    }
}
