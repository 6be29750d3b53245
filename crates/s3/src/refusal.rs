//! Converts errors to values after s3s: errors of our handlers are kept aside, errors of s3s itself
//! are parsed from its error document. [`Facts`] completes them by what the request says.

use std::borrow::Cow;
use std::sync::Arc;

use http::{Method, Response};
use parking_lot::Mutex;
use quick_xml::Reader;
use quick_xml::events::Event;
use s3s::{Body, S3Error};

use super::details::Details;
use super::error::{MALFORMED_XML, METHOD_NOT_ALLOWED};
use super::request_headers::COPY_SOURCE;
use super::route::{Level, Target};
use liteio_wire::reply::{ApiError, Dialect};

/// Holds the error of an operation for the service, in the extensions of every request. s3s writes
/// an error document of its own, which is discarded.
#[derive(Clone, Default)]
pub(super) struct Refusal(Arc<Mutex<Option<ApiError>>>);

impl Refusal {
    /// Stores an error. Returns a substitute with the same code, for s3s only.
    pub(super) fn keep(&self, error: S3Error) -> S3Error {
        let code = error.code().clone();
        *self.0.lock() = Some(of_error(error));
        S3Error::new(code)
    }

    /// The stored error, if any.
    pub(super) fn take(&self) -> Option<ApiError> {
        self.0.lock().take()
    }
}

/// Converts an error of a handler.
pub(super) fn of_error(error: S3Error) -> ApiError {
    if let Some(whole) = error.source().and_then(|source| ApiError::find(source)) {
        return whole.clone();
    }
    let status = error.status_code().unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let code = error.code().as_str().to_owned();
    let message = error.message().unwrap_or_default().to_owned();
    let converted = ApiError::with_status(Dialect::S3, code, status, message);
    let converted = Details::copy(&error, converted);
    match error.headers() {
        Some(headers) => converted.with_headers(headers.clone()),
        None => converted,
    }
}

/// Converts an error that s3s has found itself: in the path, the query, a header or a document.
pub(super) fn of_response(response: &Response<Body>) -> ApiError {
    let document = response.body().bytes().unwrap_or_default();
    let (code, message) = parse(&document).unwrap_or_default();
    let message = match message.is_empty() {
        true => message_of(&code).to_owned(),
        false => message,
    };
    let argument = argument_of(&message).map(|(name, value)| (name.to_owned(), value.to_owned()));
    let (argument, message) = match argument.as_ref().and_then(|(name, value)| words(name, value)) {
        // AWS repeats the name in the place of the value. (Recorded in LocalStack's
        // `test_s3_copy_object_wrong_format`.)
        Some(words) if argument.as_ref().is_some_and(|(name, _)| name == COPY_SOURCE) => {
            (Some((COPY_SOURCE.to_owned(), COPY_SOURCE.to_owned())), words.into_owned())
        }
        Some(words) => (argument, words.into_owned()),
        None => (argument, message),
    };
    let error = ApiError::with_status(Dialect::S3, code, response.status(), message);
    match argument {
        Some((name, value)) => error.with("ArgumentName", name).with("ArgumentValue", value),
        None => error,
    }
}

/// Name and value of an argument that s3s could not parse: `invalid header: name: "value"` or
/// `invalid query: name: value`.
fn argument_of(message: &str) -> Option<(&str, &str)> {
    let header = message.strip_prefix("invalid header: ");
    let (name, value) =
        header.or_else(|| message.strip_prefix("invalid query: "))?.split_once(": ")?;
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    Some((name, quoted.filter(|_| header.is_some()).unwrap_or(value)))
}

/// AWS's message for an argument that s3s could not parse.
fn words(name: &str, value: &str) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match name {
        COPY_SOURCE => match value.trim_start_matches('/').split_once('/') {
            None | Some((_, "")) => "Invalid copy source object key",
            Some(_) => "Invalid copy source bucket name",
        },
        "x-amz-object-lock-retain-until-date" => {
            "The retain until date must be provided in ISO 8601 format"
        }
        "max-keys" | "max-parts" | "max-uploads" | "part-number-marker" => {
            return Some(format!("Provided {name} not an integer or within integer range").into());
        }
        _ => return None,
    }))
}

/// The facts of a request that its errors name.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) method: Method,
    pub(super) target: Target,
    /// The header of the condition on a write.
    pub(super) condition: Option<&'static str>,
}

/// Errors that name the bucket of the request: it does not have the setting that was asked for.
const NAMES_BUCKET: [&str; 10] = [
    "NoSuchBucketPolicy",
    "NoSuchCORSConfiguration",
    "NoSuchLifecycleConfiguration",
    "NoSuchPublicAccessBlockConfiguration",
    "NoSuchTagSet",
    "NoSuchWebsiteConfiguration",
    "ObjectLockConfigurationNotFoundError",
    "OwnershipControlsNotFoundError",
    "ReplicationConfigurationNotFoundError",
    "ServerSideEncryptionConfigurationNotFoundError",
];

impl Facts {
    /// Adds the elements that follow from the request, unless the error has them.
    pub(super) fn complete(&self, error: ApiError) -> ApiError {
        let Target { bucket, key } = &self.target;
        match error.code() {
            "ConditionalRequestConflict" => {
                let error = match self.condition {
                    Some(condition) => add(error, "Condition", condition),
                    None => error,
                };
                add(error, "Key", key)
            }
            code if NAMES_BUCKET.contains(&code) => add(error, "BucketName", bucket),
            _ => with_method(error, &self.method, self.target.level()),
        }
    }
}

/// Adds the elements of `MethodNotAllowed` to such an error.
pub(super) fn with_method(error: ApiError, method: &Method, level: Level) -> ApiError {
    if error.code() != "MethodNotAllowed" {
        return error;
    }
    let kind = match level {
        Level::Service => "SERVICE",
        Level::Bucket => "BUCKET",
        Level::Key => "OBJECT",
    };
    add(add(error, "Method", method.as_str()), "ResourceType", kind)
}

fn add(error: ApiError, name: &'static str, text: &str) -> ApiError {
    match error.elements().iter().any(|(other, _)| *other == name) {
        true => error,
        false => error.with(name, text),
    }
}

/// Code and message in an error document of s3s.
fn parse(document: &[u8]) -> Option<(String, String)> {
    let mut reader = Reader::from_reader(document);
    let (mut code, mut message, mut open) = (String::new(), String::new(), Vec::new());
    loop {
        let text = match reader.read_event().ok()? {
            Event::Start(start) => {
                open = start.name().as_ref().to_vec();
                continue;
            }
            Event::End(_) => {
                open.clear();
                continue;
            }
            Event::Text(text) => text.decode().ok()?.into_owned(),
            Event::GeneralRef(reference) => {
                let name = reference.decode().ok()?;
                quick_xml::escape::unescape(&format!("&{name};")).ok()?.into_owned()
            }
            Event::Eof => return Some((code, message)),
            _ => continue,
        };
        match &open[..] {
            b"Code" => code.push_str(&text),
            b"Message" => message.push_str(&text),
            _ => {}
        }
    }
}

/// AWS's message for a code that s3s sends without one.
fn message_of(code: &str) -> &'static str {
    match code {
        "InvalidURI" => "Couldn't parse the specified URI.",
        "KeyTooLongError" => "Your key is too long",
        "MalformedXML" => MALFORMED_XML,
        "MaxMessageLengthExceeded" => "Your request was too big.",
        "MethodNotAllowed" => METHOD_NOT_ALLOWED,
        "MissingContentLength" => "You must provide the Content-Length HTTP header.",
        "MissingRequestBodyError" => "Request Body is empty",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use s3s::s3_error;

    use super::*;

    fn response(error: S3Error) -> Response<Body> {
        error.to_http_response().expect("serializes")
    }

    #[test]
    fn refusals_of_s3s_become_values() {
        let rows = [
            (
                s3_error!(InvalidArgument, "a <b> & \"c\" 'd'"),
                "InvalidArgument",
                "a <b> & \"c\" 'd'",
            ),
            (s3_error!(InvalidURI), "InvalidURI", "Couldn't parse the specified URI."),
            (s3_error!(IncompleteBody), "IncompleteBody", ""),
        ];
        for (error, code, message) in rows {
            let error = of_response(&response(error));
            assert_eq!((error.code(), error.message()), (code, message));
            assert_eq!(error.status(), 400);
        }
    }

    #[test]
    fn a_wrong_copy_source_is_named_as_on_aws() {
        let rows = [
            ("nonsense", "Invalid copy source object key"),
            ("/nonsense", "Invalid copy source object key"),
            ("/bucket/", "Invalid copy source object key"),
            ("B/key", "Invalid copy source bucket name"),
        ];
        for (source, message) in rows {
            let refused =
                s3_error!(InvalidArgument, "invalid header: x-amz-copy-source: {source:?}");
            let error = of_response(&response(refused));
            assert_eq!(error.message(), message, "{source}");
            let name = || COPY_SOURCE.to_owned();
            let expected = [("ArgumentName", name()), ("ArgumentValue", name())];
            assert_eq!(error.elements(), expected, "{source}");
        }
    }

    #[test]
    fn errors_of_ours_keep_their_headers() {
        let mut error = s3_error!(NotModified, "Not Modified");
        let mut headers = http::HeaderMap::new();
        headers.insert("etag", http::HeaderValue::from_static("\"a\""));
        error.set_headers(headers);
        let refusal = Refusal::default();
        assert_eq!(refusal.keep(error).code().as_str(), "NotModified");
        let error = refusal.take().expect("kept");
        assert_eq!(error.status(), 304);
        assert_eq!(error.headers()["etag"], "\"a\"");
        assert_eq!(refusal.take(), None);
    }
}
