//! Errors in the answers to refused requests.

use http::{HeaderMap, StatusCode};

use super::document::Element;
use crate::error::ServiceError;

/// The error in an answer.
pub(super) fn told(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> ServiceError {
    let status = status.as_u16();
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let (region, request_id) = (text("x-amz-bucket-region"), text("x-amz-request-id"));
    let error = ServiceError { status, region, request_id, ..ServiceError::default() };
    let mut error = match Element::parse(body) {
        Ok(root) if root.name == "Error" => described(&root, error),
        _ => described_in_json(body, error),
    };
    // An answer to HEAD has no document.
    let known = match status {
        301 | 307 | 308 => ("Redirect", "the service answers with a redirect"),
        400 => ("BadRequest", "the request is not valid"),
        403 => ("AccessDenied", "access denied"),
        404 => ("NotFound", "it does not exist"),
        405 => ("MethodNotAllowed", "this is not allowed here"),
        412 => ("PreconditionFailed", "it has changed meanwhile"),
        501 => ("NotImplemented", "the service does not know this operation"),
        503 => ("ServiceUnavailable", "the service is busy"),
        _ => ("", ""),
    };
    if error.message.is_empty() && is_of_tls(body) {
        error.message = "the server takes encrypted connections only: use https://".to_owned();
    }
    if error.code.is_empty() {
        error.code = known.0.to_owned();
    }
    if error.message.is_empty() {
        error.message = known.1.to_owned();
    }
    // HEAD names the region of a bucket in a header, and MinIO that of the server in documents, in
    // answers of any status. Only these say that it is a wrong one.
    if !matches!(status, 301 | 307 | 400) {
        error.region = None;
    }
    error
}

/// The error in a document of S3.
pub(super) fn described(root: &Element, error: ServiceError) -> ServiceError {
    let text = |name: &str| root.text(name).unwrap_or_default().to_owned();
    let region = region(root.text("Region")).or(error.region);
    ServiceError { code: text("Code"), message: text("Message"), region, ..error }
}

/// The error in a document of an admin API, which is JSON.
fn described_in_json(body: &[u8], error: ServiceError) -> ServiceError {
    let Ok(document) = serde_json::from_slice::<serde_json::Value>(body) else { return error };
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    let region = region(document["Region"].as_str()).or(error.region);
    ServiceError { code: text("Code"), message: text("Message"), region, ..error }
}

/// Answers to plain HTTP at addresses of TLS: of servers in Go such as MinIO, of nginx and of Apache.
const OF_TLS: [&str; 3] = [
    "HTTP request to an HTTPS server",
    "HTTP request was sent to HTTPS port",
    "plain HTTP to an SSL",
];

fn is_of_tls(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    OF_TLS.iter().any(|it| text.contains(it))
}

/// The region in a document, which may be there without a text.
fn region(text: Option<&str>) -> Option<String> {
    text.filter(|region| !region.is_empty()).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_by(status: u16, body: &str) -> ServiceError {
        let status = StatusCode::from_u16(status).expect("a status");
        told(status, &HeaderMap::new(), body.as_bytes())
    }

    #[test]
    fn a_wrong_region_is_told_in_xml_and_json() {
        let code = "AuthorizationHeaderMalformed";
        let xml = format!("<Error><Code>{code}</Code><Region>eu-west-1</Region></Error>");
        let json = format!(r#"{{"Code": "{code}", "Message": "", "Region": "eu-west-1"}}"#);
        for body in [xml, json] {
            let error = told_by(400, &body);
            assert_eq!((error.code.as_str(), error.region.as_deref()), (code, Some("eu-west-1")));
            // Of MinIO, which names it in each of its errors.
            assert_eq!(told_by(403, &body).region, None);
        }
        assert_eq!(told_by(400, "<Error><Region/></Error>").region, None);
    }

    #[test]
    fn the_id_of_the_request_is_told() {
        let id = http::HeaderValue::from_static("0123");
        let headers =
            HeaderMap::from_iter([(http::HeaderName::from_static("x-amz-request-id"), id)]);
        let error = told(StatusCode::INTERNAL_SERVER_ERROR, &headers, b"");
        assert_eq!((error.status, error.request_id.as_deref()), (500, Some("0123")));
        assert!(error.to_string().ends_with("status 500), request id 0123"), "{error}");
        let error = told(StatusCode::NOT_FOUND, &headers, b"");
        assert!(error.to_string().ends_with("(NotFound, status 404)"), "{error}");
    }

    #[test]
    fn addresses_of_tls_are_told() {
        let nginx = "<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>";
        for body in ["Client sent an HTTP request to an HTTPS server.\n", nginx] {
            assert!(told_by(400, body).message.contains("https://"), "{body}");
        }
        assert_eq!(told_by(400, "").message, "the request is not valid");
    }
}
