//! Settings of the audit log.

use std::fmt;
use std::path::PathBuf;

use http::Uri;
use liteio_wire::settings::{ConfigError, error};

/// Longest token.
const TOKEN_BYTES_MAX: usize = 4096;

/// The targets of the audit log, which is disabled without any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditSettings {
    /// A file that entries are appended to.
    pub file: Option<PathBuf>,
    /// The rotation of that file; without it, the file grows.
    pub rotation: Option<AuditRotation>,
    /// Webhook targets.
    pub webhooks: Vec<AuditWebhook>,
}

/// Rotation of the audit file: it becomes `FILE.1`, that one `FILE.2`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditRotation {
    /// File size at which the file is rotated.
    pub bytes: u64,
    /// Number of rotated files to keep.
    pub kept: u32,
}

/// A webhook target of the audit log.
#[derive(Clone, PartialEq, Eq)]
pub struct AuditWebhook {
    /// The URL that entries are posted to.
    pub url: String,
    /// The token for the Authorization header, as a bearer token unless it has a scheme.
    pub token: Option<String>,
    /// The entries per post.
    pub posts: AuditPosts,
}

/// The entries per post to a webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditPosts {
    /// One entry per post, as MinIO does.
    Single,
    /// Up to 100 entries as JSON lines, if many are queued.
    #[default]
    Batches,
}

// Written by hand, so that no secret is logged; the URL's path and query may be one.
impl fmt::Debug for AuditWebhook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AuditWebhook").finish_non_exhaustive()
    }
}

impl AuditWebhook {
    /// Checks the settings of a target that accepts batches.
    ///
    /// # Errors
    /// [`ConfigError`] if the URL or the token is invalid; the error contains neither.
    pub fn new(url: impl Into<String>, token: Option<String>) -> Result<AuditWebhook, ConfigError> {
        let url = url.into();
        let is_url = url.parse::<Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|it| !it.as_str().contains('@'))
        });
        if !is_url || url.contains('#') {
            return error(
                "the URL of the audit webhook is not valid: give http://HOST/PATH or https://HOST/PATH, \
                 without a user or a fragment",
            );
        }
        let is_fine = |text: &String| {
            let is_byte = |byte: u8| (0x20..0x7f).contains(&byte);
            (1..=TOKEN_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_byte)
        };
        match token.as_ref().is_none_or(is_fine) {
            true => Ok(AuditWebhook { url, token, posts: AuditPosts::Batches }),
            false => error(format!(
                "the token of the audit webhook is not valid: give 1 to {TOKEN_BYTES_MAX} characters of ASCII"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_shows_the_url_or_the_token() {
        for (url, token) in [
            ("http://user:hush@localhost/", None),
            ("localhost/hush", None),
            ("http://localhost/#hush", None),
            ("http://localhost/", Some("hush\n".to_owned())),
        ] {
            let error = AuditWebhook::new(url, token).expect_err(url).to_string();
            assert!(!error.contains("hush"), "{error}");
        }
        let webhook = AuditWebhook::new("http://localhost/hush", Some("hush".to_owned()));
        assert!(!format!("{webhook:?}").contains("hush"));
    }
}
