//! Settings of event targets.

use std::fmt;
use std::path::PathBuf;

use http::Uri;

use liteio_identity::tables::{self, Fields};
use liteio_wire::private_file;
use liteio_wire::settings::{ConfigError, error};

/// Longest name of a target.
const NAME_BYTES_MAX: usize = 64;
/// Longest secret or token.
const SECRET_BYTES_MAX: usize = 1024;

/// The targets of events, and their limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSettings {
    /// Webhooks given individually.
    pub webhooks: Vec<Webhook>,
    /// Names of webhooks in the settings of a former MinIO that its variables turn off.
    pub turned_off: Vec<String>,
    /// A TOML file with more webhooks.
    pub webhook_file: Option<PathBuf>,
    /// A PEM file of certificate authorities to trust, in addition to the built-in public ones.
    pub ca_file: Option<PathBuf>,
    /// Limit of queued events per target. Further events are lost.
    pub waiting_max: u64,
    /// Names of removed targets, whose queued events are deleted at startup.
    pub dropped: Vec<String>,
}

impl Default for EventSettings {
    fn default() -> EventSettings {
        EventSettings {
            webhooks: Vec::new(),
            turned_off: Vec::new(),
            webhook_file: None,
            ca_file: None,
            waiting_max: liteio_store::limits::EVENTS_WAITING_MAX,
            dropped: Vec::new(),
        }
    }
}

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
        let uri = self.url.parse::<Uri>().unwrap_or_default();
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        format!("{}://{authority}", uri.scheme_str().unwrap_or("http"))
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Webhook { name, url, secret, token, .. } = self;
        let is_of_name =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_of_name) {
            return error(format!(
                "the webhook name {name:?} is not valid: give 1 to {NAME_BYTES_MAX} letters, digits, \
                 hyphens, underscores and dots"
            ));
        }
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
        for (what, text) in [("secret", secret), ("token", token)] {
            let Some(text) = text else { continue };
            let is_fine = |byte: u8| (0x20..0x7f).contains(&byte);
            if text.is_empty() || text.len() > SECRET_BYTES_MAX || !text.bytes().all(is_fine) {
                return error(format!(
                    "the {what} of the webhook {name:?} is not valid: give 1 to {SECRET_BYTES_MAX} \
                     characters of ASCII"
                ));
            }
        }
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

impl EventSettings {
    /// All webhooks, including the file's.
    ///
    /// # Errors
    /// One line with advice, without any secret.
    pub fn all_webhooks(&self) -> Result<Vec<Webhook>, String> {
        let mut all = self.webhooks.clone();
        if let Some(path) = &self.webhook_file {
            all.extend(private_file::parsed(path, of_toml)?);
        }
        for (place, webhook) in all.iter().enumerate() {
            if all[..place].iter().any(|other| other.name == webhook.name) {
                return Err(format!("two webhooks are named {:?}", webhook.name));
            }
        }
        Ok(all)
    }
}

/// Parses a file of webhooks: any number of `[[webhook]]` tables with `name`, `url` and optionally
/// `secret`, `token` and `users`.
fn of_toml(text: &str) -> Result<Vec<Webhook>, String> {
    let document = tables::document(text, &["webhook"])?;
    let webhooks = tables::tables(&document, "webhook", &KNOWN)?;
    match webhooks.is_empty() {
        true => Err("there is no [[webhook]] table".to_owned()),
        false => webhooks.iter().map(of_table).collect(),
    }
}

const KNOWN: [&str; 5] = ["name", "url", "secret", "token", "users"];

fn of_table(fields: &Fields<'_>) -> Result<Webhook, String> {
    let webhook = Webhook {
        name: fields.required("name")?,
        url: fields.required("url")?,
        secret: fields.text("secret")?,
        token: fields.text("token")?,
        users: fields.texts("users")?.unwrap_or_default(),
    };
    webhook.check().map_err(|error| format!("{}: {error}", fields.label))?;
    Ok(webhook)
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

    #[test]
    fn a_file_gives_secrets_and_no_error_shows_one() {
        let file = "[[webhook]]\nname = 'a'\nurl = 'http://localhost/'\nsecret = 'whsec_aHVzaA=='\n\
                    token = 'hush'\n";
        let webhooks = of_toml(file).expect("valid");
        assert_eq!(webhooks[0].signing_key(), Ok(Some(b"hush".to_vec())));
        assert!(!format!("{webhooks:?}").contains("hush"));
        for (text, expected) in [
            ("", "no [[webhook]] table"),
            ("[[hook]]", "unknown key \"hook\""),
            ("[[webhook]]\nname = 'a'", "url is missing"),
            ("[[webhook]]\nname = 'a\nsecret='hush'", "line 2: not valid TOML"),
            ("[[webhook]]\nname='a'\nurl='http://a'\nsecret=1", "secret must be a string"),
            ("[[webhook]]\nname='a'\nurl='http://a'\nsecret='whsec_hush!'", "base64 must follow"),
            ("[[webhook]]\nname='a'\nurl='http://a'\nusers=[]", "users must be a list"),
            ("[[webhook]]\nname='a'\nurl='http://a'\ncolour=1", "unknown key \"colour\""),
            ("[[webhook]]\nname='a'\nurl='http://a'\ntoken=''", "webhook 1: token is empty"),
        ] {
            let error = of_toml(text).expect_err(expected);
            assert!(error.contains(expected), "{error:?} lacks {expected:?}");
            assert!(!error.contains("hush"), "{error}");
        }
    }
}
