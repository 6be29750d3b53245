//! Webhooks: a message is the body of a POST; a 2xx status accepts it.
//!
//! The headers follow [Standard Webhooks](https://www.standardwebhooks.com): an ID, by which a
//! receiver recognizes a duplicate, the time, and a signature if there is a secret.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderName, HeaderValue, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use sha2::Sha256;

use super::target::{Message, NotTaken, Target};
use crate::delivery::authorization;
use crate::events::settings::Webhook;
use liteio_wire::http_client::{HttpClient, in_one_line};

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Timeout from the start of a request to the head of the response. Standard Webhooks recommends 15
/// to 30 s.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Limits of the response body, in bytes and time, which is read so that the connection can be
/// reused.
const ANSWER_BYTES_MAX: usize = 64 << 10;
const ANSWER_TIMEOUT: Duration = Duration::from_millis(250);

/// A webhook with its HTTP client.
pub(super) struct WebhookTarget {
    name: String,
    uri: Uri,
    signing_key: Option<Vec<u8>>,
    authorization: Option<HeaderValue>,
    client: HttpClient,
}

impl WebhookTarget {
    /// # Errors
    /// One line without any secret.
    pub(super) fn new(webhook: &Webhook, client: HttpClient) -> Result<WebhookTarget, String> {
        let bad = |what: &str| format!("the {what} of the webhook {:?} is not valid", webhook.name);
        let authorization = webhook.token.as_deref().map(authorization);
        Ok(WebhookTarget {
            name: webhook.name.clone(),
            uri: webhook.url.parse().map_err(|_| bad("URL"))?,
            signing_key: webhook.signing_key().map_err(|error| error.to_string())?,
            authorization: authorization.transpose().map_err(|_| bad("token"))?,
            client,
        })
    }

    fn request(&self, message: &Message, now_s: u64) -> Result<Request<Full<Bytes>>, http::Error> {
        let mut request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("LiteIO/", env!("CARGO_PKG_VERSION")))
            .header(ID, &message.id)
            .header(TIMESTAMP, now_s);
        if let Some(key) = &self.signing_key {
            request = request.header(SIGNATURE, signature(key, &message.id, now_s, &message.body));
        }
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value);
        }
        request.body(Full::new(message.body.clone()))
    }

    async fn post(&self, request: Request<Full<Bytes>>) -> Result<(), NotTaken> {
        let answered = tokio::time::timeout(TIMEOUT, self.client.request(request)).await;
        let answered =
            answered.map_err(|_| NotTaken(format!("no answer within {} s", TIMEOUT.as_secs())))?;
        let answer = answered.map_err(|error| NotTaken(in_one_line(&error)))?;
        let status = answer.status();
        // The head decides about success. A longer or slower body only costs the connection.
        let rest = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect();
        let _ = tokio::time::timeout(ANSWER_TIMEOUT, rest).await;
        match status.is_success() {
            true => Ok(()),
            false => Err(NotTaken(format!("it answered {status}"))),
        }
    }
}

#[async_trait::async_trait]
impl Target for WebhookTarget {
    fn name(&self) -> &str {
        &self.name
    }

    async fn give(&self, message: &Message) -> Result<(), NotTaken> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = self.request(message, now.as_secs());
        let request = request.map_err(|error| NotTaken(error.to_string()))?;
        self.post(request).await
    }
}

/// `v1,` and the HMAC-SHA256 of `ID.TIME.BODY` in base64.
fn signature(key: &[u8], id: &str, now_s: u64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(format!("{id}.{now_s}.").as_bytes());
    mac.update(body);
    format!("v1,{}", base64_simd::STANDARD.encode_to_string(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use liteio_wire::http_client::http_client;

    use super::*;

    #[test]
    fn a_token_with_a_scheme_is_sent_as_it_is() {
        let client = http_client(None).expect("a client");
        for (token, expected) in [
            ("hush", "Bearer hush"),
            ("Bearer hush", "Bearer hush"),
            ("Basic aHVzaA==", "Basic aHVzaA=="),
        ] {
            let webhook = Webhook::with_token("a", "http://localhost", Some(token.to_owned()));
            let target = WebhookTarget::new(&webhook.expect("valid"), client.clone());
            let message = Message { id: "1".to_owned(), body: Bytes::new(), entry: None };
            let request = target.expect("valid").request(&message, 0).expect("valid");
            assert_eq!(request.headers()[AUTHORIZATION], expected, "{token}");
        }
    }

    /// The example in the Standard Webhooks specification.
    #[test]
    fn the_signature_is_that_of_the_specification() {
        let webhook = Webhook {
            secret: Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
            ..Webhook::new("a", "http://localhost").expect("valid")
        };
        let key = webhook.signing_key().expect("valid").expect("a secret");
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signature(&key, id, 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
