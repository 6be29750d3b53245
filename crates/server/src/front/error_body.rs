//! Error bodies as S3 writes them: Code, Message, Resource, RequestId and HostId, always.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::{Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use s3s::{Body, S3Error};

use super::request_id::RequestIds;

/// Error bodies above this size are passed on as they are, not completed.
const COMPLETED_BODY_BYTES_MAX: u64 = 64 << 10;

const PROLOGUE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// The response for an error: status, request ids, and for everything but HEAD and 304 the XML body.
/// `resource` is the path of the request as it was sent.
pub fn error_response(
    error: &S3Error,
    resource: &str,
    ids: &RequestIds,
    head: bool,
) -> Response<Body> {
    error_response_with(error, &[], resource, ids, head)
}

/// Like [`error_response`], with elements of its own between Message and Resource, such as the
/// diagnostics of `SignatureDoesNotMatch`.
pub fn error_response_with(
    error: &S3Error,
    elements: &[(&str, &str)],
    resource: &str,
    ids: &RequestIds,
    head: bool,
) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = error.status_code().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(headers) = error.headers() {
        response.headers_mut().extend(headers.clone());
    }
    ids.insert_into(response.headers_mut());
    if !head && response.status() != StatusCode::NOT_MODIFIED {
        let code = error.code().as_str();
        let xml = error_xml(code, error.message().unwrap_or(code), elements, resource, ids);
        *response.body_mut() = Body::from(Bytes::from(xml));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    }
    response
}

/// The XML of an error.
pub fn error_xml(
    code: &str,
    message: &str,
    elements: &[(&str, &str)],
    resource: &str,
    ids: &RequestIds,
) -> String {
    let mut xml = String::with_capacity(320 + message.len() + resource.len());
    xml.push_str(PROLOGUE);
    xml.push_str("<Error>");
    push_element(&mut xml, "Code", code);
    push_element(&mut xml, "Message", message);
    for (name, text) in elements {
        push_element(&mut xml, name, text);
    }
    push_element(&mut xml, "Resource", resource);
    push_element(&mut xml, "RequestId", ids.request_id());
    push_element(&mut xml, "HostId", ids.host_id());
    xml.push_str("</Error>");
    xml
}

/// Finishes a response of the S3 layer: HEAD errors and 304 lose their body, other error bodies get
/// the elements they lack.
pub async fn complete(
    response: Response<Body>,
    resource: &str,
    ids: &RequestIds,
    head: bool,
) -> Response<Body> {
    let status = response.status();
    if status == StatusCode::NOT_MODIFIED || (head && is_error(status)) {
        return without_body(response);
    }
    if !is_error(status) || !is_small_xml(&response) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => {
            // Only a body of the handler's own making can get here: there is nothing to pass on.
            tracing::error!(%error, "error body could not be read");
            Bytes::new()
        }
    };
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(complete_xml(body, resource, ids)))
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

fn without_body(mut response: Response<Body>) -> Response<Body> {
    *response.body_mut() = Body::empty();
    for name in [CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING] {
        response.headers_mut().remove(name);
    }
    response
}

fn is_small_xml(response: &Response<Body>) -> bool {
    let bytes = response.body().size_hint().upper();
    bytes.is_some_and(|bytes| (1..=COMPLETED_BODY_BYTES_MAX).contains(&bytes))
        && is_xml(response.headers())
}

fn is_xml(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    value.starts_with(b"application/xml") || value.starts_with(b"text/xml")
}

/// Inserts what is missing before the end of the `Error` element; any other XML stays as it is.
fn complete_xml(body: Bytes, resource: &str, ids: &RequestIds) -> Bytes {
    const END: &str = "</Error>";
    let Ok(text) = std::str::from_utf8(&body) else { return body };
    let Some(end) = text.trim_end().strip_suffix(END).map(str::len) else { return body };
    let wanted =
        [("Resource", resource), ("RequestId", ids.request_id()), ("HostId", ids.host_id())];
    let mut xml = String::with_capacity(text.len() + 160 + resource.len());
    xml.push_str(&text[..end]);
    for (name, value) in wanted {
        // Text is escaped, so a `<` can only open an element.
        if !text.contains(&format!("<{name}>")) {
            push_element(&mut xml, name, value);
        }
    }
    xml.push_str(END);
    xml.into()
}

pub(crate) fn push_element(xml: &mut String, name: &str, text: &str) {
    xml.push('<');
    xml.push_str(name);
    xml.push('>');
    push_escaped(xml, text);
    xml.push_str("</");
    xml.push_str(name);
    xml.push('>');
}

/// Escapes markup; what XML 1.0 cannot carry at all becomes U+FFFD, so that the document stays valid.
fn push_escaped(xml: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\'' => xml.push_str("&apos;"),
            '\t' => xml.push_str("&#x9;"),
            '\n' => xml.push_str("&#xA;"),
            '\r' => xml.push_str("&#xD;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            other => xml.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use s3s::s3_error;

    use super::*;
    use crate::front::request_id::RequestIdSource;

    fn ids() -> RequestIds {
        RequestIdSource::new([3; 24]).next()
    }

    async fn text(response: Response<Body>) -> String {
        let bytes = response.into_body().collect().await.expect("body is in memory").to_bytes();
        String::from_utf8(bytes.to_vec()).expect("XML is UTF-8")
    }

    #[tokio::test]
    async fn an_error_has_all_five_elements() {
        let ids = ids();
        let error = s3_error!(NoSuchKey, "no <key> & \"quote\" \u{1}\r");
        let response = error_response(&error, "/bucket/a%20b", &ids, false);
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert_eq!(response.headers()["x-amz-request-id"], ids.request_id());
        assert_eq!(
            text(response).await,
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code>\
                 <Message>no &lt;key&gt; &amp; &quot;quote&quot; \u{fffd}&#xD;</Message>\
                 <Resource>/bucket/a%20b</Resource><RequestId>{}</RequestId>\
                 <HostId>{}</HostId></Error>",
                ids.request_id(),
                ids.host_id()
            )
        );
    }

    #[tokio::test]
    async fn head_errors_have_no_body() {
        let response = error_response(&s3_error!(NoSuchKey, "gone"), "/b/k", &ids(), true);
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert!(!response.headers().contains_key(CONTENT_TYPE));
        assert_eq!(text(response).await, "");
    }

    #[tokio::test]
    async fn bodies_of_the_s3_layer_are_completed() {
        let ids = ids();
        let response = s3_error!(NoSuchBucket, "no bucket").to_http_response().expect("serializes");
        let xml = text(complete(response, "/b", &ids, false).await).await;
        assert!(xml.contains("<Code>NoSuchBucket</Code><Message>no bucket</Message>"), "{xml}");
        assert!(xml.contains("<Resource>/b</Resource>"), "{xml}");
        assert!(xml.contains(&format!("<RequestId>{}</RequestId>", ids.request_id())), "{xml}");
        assert!(xml.ends_with(&format!("<HostId>{}</HostId></Error>", ids.host_id())), "{xml}");

        let again = complete_xml(Bytes::from(xml.clone()), "/other", &ids);
        assert_eq!(again, xml.as_bytes(), "a complete body is left alone");
    }

    #[tokio::test]
    async fn head_and_not_modified_lose_their_body() {
        for (head, status) in [(true, 404), (false, 304), (true, 304)] {
            let mut response = s3_error!(NoSuchKey).to_http_response().expect("serializes");
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            let response = complete(response, "/b", &ids(), head).await;
            assert_eq!(response.headers().get(CONTENT_TYPE), None);
            assert_eq!(text(response).await, "");
        }
    }

    #[tokio::test]
    async fn answers_that_are_no_errors_pass_untouched() {
        let response = Response::new(Body::from("<Error></Error>".to_owned()));
        assert_eq!(text(complete(response, "/b", &ids(), false).await).await, "<Error></Error>");
    }
}
