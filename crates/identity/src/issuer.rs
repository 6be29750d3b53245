//! Issuers of web identities (OpenID Connect).

use http::Uri;

use super::{IdentityError, fail};

/// An issuer whose tokens are proofs of web identities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// As tokens name it, with the scheme and without a slash at the end.
    pub url: String,
    /// One of them must be in a token.
    pub audiences: Vec<String>,
    /// The account whose roles it may vouch for; none for all.
    pub account: Option<String>,
}

impl Issuer {
    /// An issuer of the configuration, for the roles of all accounts.
    ///
    /// # Errors
    /// [`IdentityError`] for anything but a URL of HTTP without a query, and without audiences.
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
                "the issuer {url:?} has no audiences: name those of the tokens that are meant for this \
                 server, or \"*\" for tokens that are meant for anybody"
            ));
        }
        let url = url.trim_end_matches('/').to_owned();
        Ok(Issuer { url, audiences, account: None })
    }

    /// `true` for tokens that are meant for this audience. An issuer of the configuration may have `*`, which
    /// stands for all.
    pub fn takes(&self, audience: &str) -> bool {
        let is_any = |known: &str| known == "*" && self.account.is_none();
        self.audiences.iter().any(|known| known == audience || is_any(known))
    }

    /// The URL without its scheme, as ARNs and condition keys have it.
    pub fn name(&self) -> &str {
        self.url.split_once("://").map_or(&self.url, |(_, name)| name)
    }
}
