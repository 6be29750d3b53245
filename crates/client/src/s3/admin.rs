//! MinIO's admin API: requests to `/minio/admin/v3/`, whose documents are JSON, and whose secrets are
//! encrypted with the secret key of the user. The KMS API, below `/minio/kms/v1/`, is called alike.

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use serde_json::Value;

use super::exchange::{Response, S3};
use super::request::Request;
use crate::error::Error;
use crate::sealed;

/// A request of the admin API.
#[derive(Clone, Debug)]
pub(crate) struct AdminCall {
    method: Method,
    /// Path prefix of the API.
    api: &'static str,
    path: &'static str,
    query: Vec<(String, String)>,
    body: Vec<u8>,
    /// `true` if the body has secrets.
    is_sealed: bool,
}

impl AdminCall {
    pub(crate) fn new(method: Method, path: &'static str) -> AdminCall {
        let api = "minio/admin/v3";
        AdminCall { method, api, path, query: Vec::new(), body: Vec::new(), is_sealed: false }
    }

    /// A request of the KMS API.
    pub(crate) fn of_keys(method: Method, path: &'static str) -> AdminCall {
        AdminCall { api: "minio/kms/v1", ..AdminCall::new(method, path) }
    }

    pub(crate) fn query(mut self, name: &str, value: impl Into<String>) -> AdminCall {
        self.query.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> AdminCall {
        self.body = body.into();
        self
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Result<AdminCall, Error> {
        let body = serde_json::to_vec(body);
        Ok(self.body(body.map_err(|error| Error::refused(format!("no JSON: {error}")))?))
    }

    /// A document that is sent encrypted.
    pub(crate) fn sealed(mut self, body: &impl Serialize) -> Result<AdminCall, Error> {
        self.is_sealed = true;
        self.json(body)
    }
}

impl S3 {
    /// Sends a request, and returns its answer as it is.
    pub(crate) async fn admin_response(&self, call: AdminCall) -> Result<Response, Error> {
        let AdminCall { method, api, path, query, mut body, is_sealed } = call;
        if is_sealed {
            body = sealed::seal(self.secret()?, &body)
                .map_err(|reason| Error::refused(format!("no random bytes: {reason}")))?;
        }
        let key = format!("{api}/{path}");
        let mut request = Request::new(method, "", &key);
        if !body.is_empty() {
            // A MinIO refuses a POST without it.
            request = request.header("content-type", "application/octet-stream");
        }
        (request.query, request.body) = (query, Bytes::from(body));
        // A change that is repeated may find its own effect.
        request.repeatable = request.method == Method::GET;
        self.send(&request).await
    }

    /// Sends a request, and returns the bytes of its answer.
    pub(crate) async fn admin(&self, call: AdminCall) -> Result<Bytes, Error> {
        self.admin_response(call).await?.bytes().await
    }

    /// Sends a request, and returns its JSON document.
    pub(crate) async fn admin_json(&self, call: AdminCall) -> Result<Value, Error> {
        json_of(&self.admin(call).await?)
    }

    /// Sends a request, and returns its encrypted JSON document.
    pub(crate) async fn admin_opened(&self, call: AdminCall) -> Result<Value, Error> {
        json_of(&self.admin_plain(call).await?)
    }

    /// Sends a request, and returns the bytes of its encrypted answer.
    pub(crate) async fn admin_plain(&self, call: AdminCall) -> Result<Vec<u8>, Error> {
        let answer = self.admin(call).await?;
        sealed::open(self.secret()?, &answer)
            .map_err(|_| Error::transport("the answer is not encrypted with the key of the alias"))
    }

    fn secret(&self) -> Result<&str, Error> {
        let credentials = self.credentials.as_ref();
        credentials.map(|it| it.secret_key.as_str()).ok_or_else(|| {
            Error::refused(
                "the alias has no keys; set them with `alias set NAME URL ACCESSKEY SECRETKEY`",
            )
        })
    }

    /// The access key and the secret key of the alias.
    pub(crate) fn keys(&self) -> Result<(&str, &str), Error> {
        let secret = self.secret()?;
        let access = self.credentials.as_ref().map_or("", |it| it.access_key.as_str());
        Ok((access, secret))
    }
}

pub(super) fn json_of(bytes: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::transport(format!("the answer is no JSON: {error}")))
}
