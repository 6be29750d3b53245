//! Issuers of web identities (OpenID Connect).

use http::Uri;

use super::{IdentityError, fail};

/// An issuer whose tokens prove web identities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// The URL as in tokens, with the scheme and without a trailing slash.
    pub url: String,
    /// The accepted audiences; a token must have one of them.
    pub audiences: Vec<String>,
    /// The account whose roles it may vouch for; `None` for all accounts.
    pub account: Option<String>,
}

impl Issuer {
    /// A configured issuer, for the roles of all accounts.
    ///
    /// # Errors
    /// [`IdentityError`] if the URL is not HTTP or has a query, or if there are no audiences.
    pub fn new(url: &str, audiences: Vec<String>) -> Result<Issuer, IdentityError> {
        let parsed = url.parse::<Uri>().ok();
        let is_url = parsed.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|it| !it.as_str().contains('@'))
                && uri.query().is_none()
        });
        if !is_url || url.contains('#') {
            return fail(format!(
                "the issuer {url:?} is not valid: give https://HOST/PATH, as its tokens name it"
            ));
        }
        if audiences.is_empty() {
            return fail(format!(
                "the issuer {url:?} has no audiences: name the audiences of the tokens meant for this \
                 server, or \"*\" for tokens that are meant for anybody"
            ));
        }
        let url = url.trim_end_matches('/').to_owned();
        Ok(Issuer { url, audiences, account: None })
    }

    /// `true` if the audience is accepted. A configured issuer may have `*`, which accepts all.
    pub fn takes(&self, audience: &str) -> bool {
        let is_any = |known: &str| known == "*" && self.account.is_none();
        self.audiences.iter().any(|known| known == audience || is_any(known))
    }

    /// The URL without its scheme, as in ARNs and condition keys.
    pub fn name(&self) -> &str {
        self.url.split_once("://").map_or(&self.url, |(_, name)| name)
    }
}
