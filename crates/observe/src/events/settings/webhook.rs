//! Settings of webhooks.

use std::fmt;

use http::Uri;

use super::{check_name, check_secrets, checked, origin};
use liteio_identity::tables::Fields;
use liteio_wire::settings::{ConfigError, error};

/// A webhook target of events.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The name that notifications refer to.
    pub name: String,
    /// The URL that events are posted to.
    pub url: String,
    /// The secret for signing events: a text, or `whsec_` and base64.
    pub secret: Option<String>,
    /// The value of the Authorization header, or the token that follows `Bearer` there.
    pub token: Option<String>,
    /// The names of the users whose buckets may refer to it; empty for all users.
    pub users: Vec<String>,
}

// Written by hand, so that no secret is logged; the URL's path and query may be one.
impl fmt::Debug for Webhook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Webhook").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Webhook {
    /// Creates a webhook without a secret.
    ///
    /// # Errors
    /// [`ConfigError`] if the name or the URL is invalid.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Result<Webhook, ConfigError> {
        let (name, url) = (name.into(), url.into());
        let webhook = Webhook { name, url, secret: None, token: None, users: Vec::new() };
        webhook.check()?;
        Ok(webhook)
    }

    /// Creates a webhook of MinIO's settings.
    ///
    /// # Errors
    /// [`ConfigError`] if the name, the URL or the token is invalid.
    pub fn with_token(
        name: &str,
        url: &str,
        token: Option<String>,
    ) -> Result<Webhook, ConfigError> {
        let webhook = Webhook { token, ..Webhook::new(name, url)? };
        webhook.check()?;
        Ok(webhook)
    }

    /// Parses `NAME=URL`.
    pub fn parse(text: &str) -> Result<Webhook, ConfigError> {
        match text.split_once('=') {
            Some((name, url)) => Webhook::new(name, url),
            None => error(
                "a webhook needs a name: give --webhook NAME=URL, such as \
                 --webhook thumbnails=http://localhost:8080/hook",
            ),
        }
    }

    /// Scheme, host and port of the URL, whose path and query may be secrets.
    pub fn origin(&self) -> String {
        origin(&self.url)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Webhook { name, url, secret, token, .. } = self;
        check_name("webhook", name)?;
        // The advice leaves the URL out, because its query may be a secret.
        let advice = || {
            error(format!(
                "the URL of the webhook {name:?} is not valid: give http://HOST/PATH or \
                 https://HOST/PATH, without a user or a fragment"
            ))
        };
        let Ok(parsed) = url.parse::<Uri>() else { return advice() };
        let has_scheme = matches!(parsed.scheme_str(), Some("http" | "https"));
        let has_host = parsed.authority().is_some_and(|it| !it.as_str().contains('@'));
        if !has_scheme || !has_host || url.contains('#') {
            return advice();
        }
        let of = format!("the webhook {name:?}");
        check_secrets(&of, &[("secret", secret), ("token", token)])?;
        self.signing_key().map(drop)
    }

    /// The signing key, if events are signed.
    ///
    /// # Errors
    /// [`ConfigError`] if the secret has the prefix `whsec_` but is not base64.
    pub(crate) fn signing_key(&self) -> Result<Option<Vec<u8>>, ConfigError> {
        let Some(secret) = &self.secret else { return Ok(None) };
        let Some(coded) = secret.strip_prefix("whsec_") else {
            return Ok(Some(secret.clone().into_bytes()));
        };
        match base64_simd::STANDARD.decode_to_vec(coded) {
            Ok(key) if !key.is_empty() => Ok(Some(key)),
            _ => error(format!(
                "the secret of the webhook {:?} begins with whsec_, and base64 must follow",
                self.name
            )),
        }
    }
}

pub(super) const KNOWN: [&str; 5] = ["name", "url", "secret", "token", "users"];

/// The webhook of a table.
pub(super) fn of_table(fields: &Fields<'_>) -> Result<Webhook, String> {
    let webhook = Webhook {
        name: fields.required("name")?,
        url: fields.required("url")?,
        secret: fields.text("secret")?,
        token: fields.text("token")?,
        users: fields.texts("users")?.unwrap_or_default(),
    };
    checked(fields, webhook, Webhook::check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_url_make_a_webhook() {
        for (text, name, url) in [
            ("a=http://localhost:8080/hook", "a", "http://localhost:8080/hook"),
            ("a.b-C_1=https://example.com/?key=value", "a.b-C_1", "https://example.com/?key=value"),
        ] {
            let webhook = Webhook::parse(text).expect("valid");
            assert_eq!((&*webhook.name, &*webhook.url), (name, url));
        }
        for text in [
            "http://localhost",
            "=http://localhost",
            "a b=http://localhost",
            "a=localhost",
            "a=ftp://localhost/",
            "a=http://user:hush@localhost/",
            "a=http://localhost/#hush",
            "a=/path",
            "a=",
        ] {
            let error = Webhook::parse(text).expect_err(text).to_string();
            assert!(!error.contains('\n') && !error.contains("hush"), "{error}");
        }
    }
}
