//! The error document. It is written here only, where the response leaves.

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::reply::{ApiError, Dialect, ReplyBody};
use crate::request_id::RequestIds;

const ERROR_TYPE: HeaderName = HeaderName::from_static("x-amzn-errortype");

const IAM_NAMESPACE: &str = "https://iam.amazonaws.com/doc/2010-05-08/";
const STS_NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

const WEBSITE_CODE: HeaderName = HeaderName::from_static("x-amz-error-code");
const WEBSITE_MESSAGE: HeaderName = HeaderName::from_static("x-amz-error-message");

const PROLOGUE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// The response for an error. HEAD and 304 have no body. `resource` is the path as the client sent
/// it.
pub(crate) fn error_response(
    error: ApiError,
    resource: &str,
    ids: &RequestIds,
    head: bool,
) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = error.status();
    let headers = response.headers_mut();
    headers.extend(error.headers().clone());
    headers.remove(CONTENT_LENGTH);
    headers.remove(CONTENT_TYPE);
    let error_type = match error.dialect() {
        Dialect::S3
        | Dialect::S3Control
        | Dialect::Iam
        | Dialect::Sts
        | Dialect::Admin
        | Dialect::Iceberg
        | Dialect::Website => None,
        Dialect::S3Vectors => HeaderValue::from_str(error.code()).ok(),
    };
    if let Some(error_type) = error_type {
        headers.insert(ERROR_TYPE, error_type);
    }
    if matches!(error.dialect(), Dialect::S3Vectors | Dialect::Iam | Dialect::Sts) {
        ids.insert_for_sdks(headers);
    }
    if error.dialect() == Dialect::Website {
        let value = |text: &str| HeaderValue::from_str(text).ok();
        headers.extend(value(error.code()).map(|code| (WEBSITE_CODE, code)));
        headers.extend(value(error.message()).map(|message| (WEBSITE_MESSAGE, message)));
    }
    if head || error.status() == StatusCode::NOT_MODIFIED {
        return response;
    }
    let (content_type, document) = match error.dialect() {
        Dialect::S3 => ("application/xml", xml_document(&error, resource, ids)),
        Dialect::S3Control => ("application/xml", control_document(&error, ids)),
        Dialect::S3Vectors => ("application/json", json_document(&error)),
        Dialect::Iceberg => ("application/json", iceberg_document(&error)),
        Dialect::Admin => ("application/json", admin_document(&error, resource, ids)),
        Dialect::Website => ("text/html; charset=utf-8", page(&error, ids)),
        Dialect::Iam => ("text/xml", query_document(&error, IAM_NAMESPACE, ids)),
        Dialect::Sts => ("text/xml", query_document(&error, STS_NAMESPACE, ids)),
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    *response.body_mut() = ReplyBody::from(document);
    response
}

/// The XML document of S3.
pub(super) fn xml_document(error: &ApiError, resource: &str, ids: &RequestIds) -> String {
    let message = error.message();
    let mut xml = String::with_capacity(320 + message.len() + resource.len());
    xml.push_str(PROLOGUE);
    xml.push_str("<Error>");
    push_element(&mut xml, "Code", error.code());
    if !message.is_empty() {
        push_element(&mut xml, "Message", message);
    }
    for (name, text) in error.elements() {
        push_element(&mut xml, name, text);
    }
    push_element(&mut xml, "Resource", resource);
    push_element(&mut xml, "RequestId", ids.request_id());
    push_element(&mut xml, "HostId", ids.host_id());
    xml.push_str("</Error>");
    xml
}

/// The XML document of S3 Control.
fn control_document(error: &ApiError, ids: &RequestIds) -> String {
    let mut xml = format!("{PROLOGUE}<ErrorResponse><Error>");
    push_element(&mut xml, "Code", error.code());
    push_element(&mut xml, "Message", error.message());
    for (name, text) in error.elements() {
        push_element(&mut xml, name, text);
    }
    xml.push_str("</Error>");
    push_element(&mut xml, "RequestId", ids.request_id());
    push_element(&mut xml, "HostId", ids.host_id());
    xml.push_str("</ErrorResponse>");
    xml
}

/// The XML document of IAM and STS.
fn query_document(error: &ApiError, namespace: &str, ids: &RequestIds) -> String {
    let at_fault = if error.status().is_server_error() { "Receiver" } else { "Sender" };
    let mut xml = format!("<ErrorResponse xmlns=\"{namespace}\"><Error>");
    push_element(&mut xml, "Type", at_fault);
    push_element(&mut xml, "Code", error.code());
    push_element(&mut xml, "Message", error.message());
    for (name, text) in error.elements() {
        push_element(&mut xml, name, text);
    }
    xml.push_str("</Error>");
    push_element(&mut xml, "RequestId", ids.request_id());
    xml.push_str("</ErrorResponse>");
    xml
}

/// The HTML page of a website. Elements named `ErrorDocument.…` describe the failure of the custom
/// error document.
fn page(error: &ApiError, ids: &RequestIds) -> String {
    let (status, mut page) = (error.status(), String::with_capacity(640));
    let title = format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default());
    page.push_str("<html>\n<head>");
    push_element(&mut page, "title", &title);
    page.push_str("</head>\n<body>\n");
    push_element(&mut page, "h1", &title);
    let of_document = |name: &'static str| name.strip_prefix("ErrorDocument.");
    let elements = || error.elements().iter().map(|(name, text)| (*name, &**text));
    let mut items = vec![("Code", error.code()), ("Message", error.message())];
    items.extend(elements().filter(|(name, _)| of_document(name).is_none()));
    items.extend([("RequestId", ids.request_id()), ("HostId", ids.host_id())]);
    push_list(&mut page, &items);
    let items: Vec<_> =
        elements().filter_map(|(name, text)| Some((of_document(name)?, text))).collect();
    if !items.is_empty() {
        page.push_str(
            "<h3>An Error Occurred While Attempting to Retrieve a Custom Error Document</h3>",
        );
        push_list(&mut page, &items);
    }
    page.push_str("<hr/>\n</body>\n</html>\n");
    page
}

fn push_list(page: &mut String, items: &[(&str, &str)]) {
    page.push_str("\n<ul>\n");
    for (name, text) in items {
        push_element(page, "li", &format!("{name}: {text}"));
        page.push('\n');
    }
    page.push_str("</ul>\n");
}

/// The JSON document of S3 Vectors.
fn json_document(error: &ApiError) -> String {
    let mut document = json!({ "__type": error.code(), "message": error.message() });
    if !error.elements().is_empty() {
        let pair = |(name, text): &(&str, String)| ((*name).to_owned(), Value::from(&**text));
        let field: Map<String, Value> = error.elements().iter().map(pair).collect();
        document["fieldList"] = json!([field]);
    }
    document.to_string()
}

/// The JSON document of Iceberg's REST catalog.
fn iceberg_document(error: &ApiError) -> String {
    let status = error.status().as_u16();
    json!({ "error": { "message": error.message(), "type": error.code(), "code": status } })
        .to_string()
}

/// The JSON document of MinIO's admin API.
fn admin_document(error: &ApiError, resource: &str, ids: &RequestIds) -> String {
    let mut document = json!({
        "Code": error.code(),
        "Message": error.message(),
        "Resource": resource,
        "RequestId": ids.request_id(),
        "HostId": ids.host_id(),
    });
    for (name, text) in error.elements() {
        document[*name] = json!(text);
    }
    document.to_string()
}

fn push_element(xml: &mut String, name: &str, text: &str) {
    xml.push('<');
    xml.push_str(name);
    xml.push('>');
    push_escaped(xml, text);
    xml.push_str("</");
    xml.push_str(name);
    xml.push('>');
}

/// Escapes markup, but no quotes: AWS sends them as they are, and programs look for messages with them,
/// such as `["eq", "$key", "a"]`. Characters that XML 1.0 cannot represent become U+FFFD, so that the
/// document stays valid.
fn push_escaped(xml: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
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
    use http::HeaderMap;
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::reply::ErrorCode;
    use crate::request_id::RequestIdSource;

    fn ids() -> RequestIds {
        RequestIdSource::new([3; 24]).next()
    }

    async fn text(response: Response<ReplyBody>) -> String {
        let bytes = response.into_body().collect().await.expect("body is in memory").to_bytes();
        String::from_utf8(bytes.to_vec()).expect("documents are UTF-8")
    }

    #[tokio::test]
    async fn an_error_has_all_five_elements_and_its_own_between_them() {
        let ids = ids();
        let error = ApiError::new(ErrorCode::NoSuchKey, "no <key> & \"quote\" \u{1}\r");
        let response = error_response(error.with("Key", "a&b"), "/bucket/a%20b", &ids, false);
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/xml");
        assert_eq!(
            text(response).await,
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code>\
                 <Message>no &lt;key&gt; &amp; \"quote\" \u{fffd}&#xD;</Message>\
                 <Key>a&amp;b</Key><Resource>/bucket/a%20b</Resource><RequestId>{}</RequestId>\
                 <HostId>{}</HostId></Error>",
                ids.request_id(),
                ids.host_id()
            )
        );
    }

    #[tokio::test]
    async fn errors_of_head_and_not_modified_have_headers_and_no_body() {
        for (head, status) in [(true, 404), (false, 304), (true, 304)] {
            let status = StatusCode::from_u16(status).expect("a status");
            let mut headers = HeaderMap::new();
            headers.insert("etag", HeaderValue::from_static("\"a\""));
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
            let error = ApiError::with_status(Dialect::S3, "NoSuchKey", status, "gone");
            let response = error_response(error.with_headers(headers), "/b/k", &ids(), head);
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()["etag"], "\"a\"");
            assert!(!response.headers().contains_key(CONTENT_TYPE));
            assert_eq!(text(response).await, "");
        }
    }

    #[tokio::test]
    async fn errors_of_the_rest_catalog_are_those_of_its_specification() {
        let status = StatusCode::NOT_FOUND;
        let error = ApiError::with_status(Dialect::Iceberg, "NoSuchTableException", status, "gone");
        let response = error_response(error, "/_iceberg/v1/config", &ids(), false);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        assert_eq!(
            text(response).await,
            r#"{"error":{"code":404,"message":"gone","type":"NoSuchTableException"}}"#
        );
    }

    #[tokio::test]
    async fn errors_of_s3_vectors_are_json() {
        let status = StatusCode::BAD_REQUEST;
        let error =
            ApiError::with_status(Dialect::S3Vectors, "ValidationException", status, "wrong \"x\"");
        let response = error_response(error.clone(), "/ListIndexes", &ids(), false);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        assert_eq!(response.headers()["x-amzn-errortype"], "ValidationException");
        assert_eq!(
            text(response).await,
            r#"{"__type":"ValidationException","message":"wrong \"x\""}"#
        );
        let error = error.with("path", "a.b").with("message", "it is missing");
        assert_eq!(
            json_document(&error),
            r#"{"__type":"ValidationException","fieldList":[{"message":"it is missing","path":"a.b"}],"message":"wrong \"x\""}"#
        );
    }
}
