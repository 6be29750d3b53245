//! The documents that an issuer of web identities publishes.

use std::sync::Arc;

use serde_json::Value;

use super::jwt::{Key, Token};
use liteio_identity::Issuer;

/// The keys of an issuer, and what its discovery document tells about sign-ins.
pub(super) struct Published {
    /// The keys with their ids.
    keys: Vec<(Option<String>, Key)>,
    /// The addresses for sign-ins; `None` if it offers none that may be used.
    pub(super) endpoints: Option<Arc<Endpoints>>,
}

/// The addresses of an issuer for the authorization code flow.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Endpoints {
    /// The page that a browser opens to sign in.
    pub(super) authorization: String,
    /// The address where a code becomes a token.
    pub(super) token: String,
    /// The client's secret goes into the header `Authorization`, and not into the form.
    pub(super) takes_basic: bool,
}

impl Published {
    pub(super) fn new(
        keys: Vec<(Option<String>, Key)>,
        discovery: &Value,
        issuer: &Issuer,
    ) -> Published {
        Published { keys, endpoints: endpoints(discovery, issuer).map(Arc::new) }
    }

    /// `true` if one of the keys has signed the token.
    pub(super) fn verifies(&self, token: &Token<'_>) -> bool {
        let is_meant = |id: &Option<String>| token.key_id.is_none() || *id == token.key_id;
        self.keys.iter().any(|(id, key)| is_meant(id) && token.is_signed_by(key))
    }
}

/// The addresses in a discovery document. As for keys, an issuer with HTTPS has all by HTTPS. A
/// browser opens the first one, so it must not be a script.
fn endpoints(discovery: &Value, issuer: &Issuer) -> Option<Endpoints> {
    let address = |name: &str| {
        let text = discovery.get(name)?.as_str()?;
        let is_plain = issuer.url.starts_with("http:") && text.starts_with("http://");
        (is_plain || text.starts_with("https://")).then(|| text.to_owned())
    };
    let methods = discovery.get("token_endpoint_auth_methods_supported").and_then(Value::as_array);
    // The default of OpenID Connect Discovery 1.0, section 3.
    let takes_basic =
        methods.is_none_or(|methods| methods.iter().any(|it| it == "client_secret_basic"));
    Some(Endpoints {
        authorization: address("authorization_endpoint")?,
        token: address("token_endpoint")?,
        takes_basic,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_pages_of_the_same_safety_as_the_issuer() {
        let of = |issuer: &str, authorization: &str, token: &str| {
            let issuer = Issuer::new(issuer, vec!["app".to_owned()]).expect("valid");
            let discovery =
                json!({"authorization_endpoint": authorization, "token_endpoint": token});
            endpoints(&discovery, &issuer)
        };
        let (safe, plain) = ("https://login.example.com/a", "http://login.example.com/a");
        assert!(of("https://login.example.com", safe, safe).is_some_and(|it| it.takes_basic));
        assert!(of("http://login.example.com", plain, safe).is_some());
        for (authorization, token) in
            [(plain, safe), (safe, plain), ("javascript:alert(1)", safe), ("//evil.example", safe)]
        {
            assert_eq!(of("https://login.example.com", authorization, token), None);
        }
        let issuer = Issuer::new("https://login.example.com", vec!["a".to_owned()]).expect("valid");
        let post = json!({
            "authorization_endpoint": safe, "token_endpoint": safe,
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        });
        assert!(endpoints(&post, &issuer).is_some_and(|it| !it.takes_basic));
    }
}
