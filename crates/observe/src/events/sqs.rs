//! Queues of SQS: a message is the body of a `SendMessage`, which an answer with its ID accepts.
//!
//! The request has the query protocol, a form that AWS, ElasticMQ, LocalStack, moto and GoAWS
//! take. A message is far below the limit of every queue (256 KiB, now 1 MiB), because a key has
//! at most 1,024 bytes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use liteio_client::{PostToSign, ServiceKeys};

use super::settings::SqsQueue;
use super::target::{Message, NotTaken, Target};
use liteio_wire::http_client::{HttpClient, in_one_line};

/// Time limit of a request with its answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Longest code of an error that is shown.
const CODE_BYTES_MAX: usize = 128;
const FORM: &str = "application/x-www-form-urlencoded";
/// The version of the API of SQS.
const VERSION: &str = "2012-11-05";

/// A queue with its HTTP client.
pub(super) struct SqsTarget {
    name: String,
    uri: Uri,
    region: String,
    keys: Option<ServiceKeys>,
    client: HttpClient,
}

impl SqsTarget {
    /// # Errors
    /// One line without any secret.
    pub(super) fn new(queue: &SqsQueue, client: HttpClient) -> Result<SqsTarget, String> {
        let bad = |_| format!("the URL of the queue {:?} is not valid", queue.name);
        Ok(SqsTarget {
            name: queue.name.clone(),
            uri: queue.url.parse().map_err(bad)?,
            region: queue.signing_region(),
            keys: queue.keys(),
            client,
        })
    }

    fn request(&self, message: &Message, now_s: u64) -> Result<Request<Full<Bytes>>, http::Error> {
        let body = form_urlencoded::Serializer::new(String::new())
            .append_pair("Action", "SendMessage")
            .append_pair("Version", VERSION)
            .append_pair("MessageBody", &body_of(message))
            .finish();
        let mut request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, FORM)
            // Some answer in JSON otherwise.
            .header(ACCEPT, "application/xml")
            .header(USER_AGENT, concat!("LiteIO/", env!("CARGO_PKG_VERSION")));
        if let Some(keys) = &self.keys {
            let authority = self.uri.authority().map_or("", |authority| authority.as_str());
            let post = PostToSign {
                service: "sqs",
                region: &self.region,
                now_s,
                authority: authority_sent(&self.uri, authority),
                path: self.uri.path(),
                content_type: FORM,
                body: body.as_bytes(),
            };
            for (name, value) in keys.sign_post(post) {
                request = request.header(name, value);
            }
        }
        request.body(Full::new(Bytes::from(body)))
    }

    async fn post(&self, request: Request<Full<Bytes>>) -> Result<(), NotTaken> {
        let answer = self.client.request(request).await;
        let answer = answer.map_err(|error| NotTaken(in_one_line(&error)))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|error| NotTaken(in_one_line(&*error)))?.to_bytes();
        let text = String::from_utf8_lossy(&body);
        match (status.is_success(), error_code(&text)) {
            (true, _) if text.contains("MessageId") => Ok(()),
            // Any page would pass for a queue.
            (true, _) => Err(NotTaken(format!(
                "it answered {status} without the ID of a message: the URL is that of no queue"
            ))),
            (false, Some(code)) => Err(NotTaken(format!("it answered {status} ({code})"))),
            (false, None) => Err(NotTaken(format!("it answered {status}"))),
        }
    }
}

#[async_trait::async_trait]
impl Target for SqsTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_of_minio(&self) -> bool {
        false
    }

    async fn give(&self, message: &Message) -> Result<(), NotTaken> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = self.request(message, now.as_secs());
        let request = request.map_err(|error| NotTaken(error.to_string()))?;
        let posted = tokio::time::timeout(TIMEOUT, self.post(request)).await;
        posted.map_err(|_| NotTaken(format!("no answer within {} s", TIMEOUT.as_secs())))?
    }
}

/// The message as SQS takes it: it refuses U+FFFE and U+FFFF, which a key may have and which JSON
/// can escape.
fn body_of(message: &Message) -> String {
    let text = String::from_utf8_lossy(&message.body);
    text.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
}

/// The host as the client sends it: without the port of the scheme.
fn authority_sent<'a>(uri: &Uri, authority: &'a str) -> &'a str {
    let port = match uri.scheme_str() {
        Some("https") => ":443",
        _ => ":80",
    };
    authority.strip_suffix(port).unwrap_or(authority)
}

/// The code in an error of SQS, of which nothing else is shown: messages repeat the request.
fn error_code(text: &str) -> Option<&str> {
    let code = text.split_once("<Code>")?.1.split_once("</Code>")?.0;
    let is_of_code = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (code.len() <= CODE_BYTES_MAX && code.bytes().all(is_of_code)).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_only_characters_that_sqs_takes() {
        let body = Bytes::from("{\"Key\":\"a\u{ffff}b\u{fffe}\u{10348}\"}");
        let sent = body_of(&Message { id: "1".to_owned(), body, entry: None });
        assert_eq!(sent, "{\"Key\":\"a\\uffffb\\ufffe\u{10348}\"}");
    }

    #[test]
    fn of_an_error_only_its_code_is_shown() {
        let code = "AWS.SimpleQueueService.NonExistentQueue";
        let told = format!("<ErrorResponse><Error><Code>{code}</Code><Message>hush</Message>");
        assert_eq!(error_code(&told), Some(code));
        for other in ["", "<Code>", "<Code>a b</Code>", "{\"__type\":\"x\"}"] {
            assert_eq!(error_code(other), None, "{other}");
        }
    }
}
