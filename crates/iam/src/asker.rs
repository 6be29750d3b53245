//! Requests to issuers of web identities: their documents, and the exchange of a code.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use serde_json::Value;

use super::jwt::keys_of;
use super::published::Published;
use liteio_identity::Issuer;
use liteio_wire::http_client::{HttpClient, http_client, in_one_line};

/// Time limit of a request to an issuer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of an issuer's document.
const DOCUMENT_BYTES_MAX: usize = 256 << 10;

/// The client for issuers. It follows no redirects.
pub(super) struct Asker {
    ca_file: Option<PathBuf>,
    client: OnceLock<HttpClient>,
}

impl Asker {
    /// A client; `ca_file` names additional certificate authorities.
    pub(super) fn new(ca_file: Option<PathBuf>) -> Asker {
        Asker { ca_file, client: OnceLock::new() }
    }

    /// Fetches the discovery document and the keys of an issuer.
    ///
    /// # Errors
    /// The reason, in one line.
    pub(super) async fn ask(&self, issuer: &Issuer) -> Result<Published, String> {
        let discovery =
            self.get(&format!("{}/.well-known/openid-configuration", issuer.url)).await?;
        let text = |name: &str| discovery.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("issuer").trim_end_matches('/') != issuer.url {
            return Err("its discovery document is of another issuer".to_owned());
        }
        let keys = text("jwks_uri");
        if issuer.url.starts_with("https:") && !keys.starts_with("https:") {
            return Err("its keys do not come by HTTPS".to_owned());
        }
        let keys = keys_of(&self.get(keys).await?);
        match keys.is_empty() {
            true => Err("it has no key for RS256 or ES256".to_owned()),
            false => Ok(Published::new(keys, &discovery, issuer)),
        }
    }

    async fn get(&self, url: &str) -> Result<Value, String> {
        let request = Request::get(url).body(Full::new(Bytes::new()));
        match self.send(request.map_err(|error| error.to_string())?).await? {
            (StatusCode::OK, Ok(value)) => Ok(value),
            (StatusCode::OK, Err(())) => Err("its answer is not JSON".to_owned()),
            (status, _) => Err(format!("it answered {status}")),
        }
    }

    /// Posts a form, and reads a JSON answer of any status.
    ///
    /// # Errors
    /// The reason, in one line.
    pub(super) async fn post(
        &self,
        url: &str,
        authorization: Option<String>,
        form: String,
    ) -> Result<(StatusCode, Value), String> {
        let mut request =
            Request::post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(form.into())).map_err(|error| error.to_string())?;
        let (status, body) = self.send(request).await?;
        match body {
            Ok(value) => Ok((status, value)),
            Err(()) => Err(format!("it answered {status} without JSON")),
        }
    }

    async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Result<Value, ()>), String> {
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let made = http_client(self.ca_file.as_deref())?;
                self.client.get_or_init(|| made)
            }
        };
        let headers = request.headers_mut();
        headers.insert(ACCEPT, http::HeaderValue::from_static("application/json"));
        let agent = concat!("LiteIO/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, http::HeaderValue::from_static(agent));
        let answer = async {
            let answer = client.request(request).await.map_err(|error| in_one_line(&error))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), DOCUMENT_BYTES_MAX).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            Ok((status, serde_json::from_slice(&body).map_err(drop)))
        };
        let answered = tokio::time::timeout(TIMEOUT, answer).await;
        answered.unwrap_or_else(|_| Err(format!("no answer within {} s", TIMEOUT.as_secs())))
    }
}
