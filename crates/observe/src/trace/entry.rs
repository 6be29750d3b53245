//! [`Entry`]: the record of a finished request, without its secrets.

use std::sync::Arc;

use http::{HeaderMap, Uri};
use jiff::Timestamp;
use serde::Serialize;

use liteio_wire::front::{Finished, Heads};
use liteio_wire::origin::DenialBy;

/// Placeholder for a secret value.
pub const HIDDEN: &str = "***";

/// Headers with secrets, in lower case: a reader of a trace must not be able to act as the sender,
/// nor to decrypt the sender's data.
const SECRET_HEADERS: [&str; 9] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
    "x-amz-copy-source-server-side-encryption-customer-key",
    "x-amz-s3session-token",
    "x-amz-security-token",
    "x-amz-server-side-encryption-customer-key",
    "x-auth-token",
];

/// Headers with URLs, whose query may contain secrets: a page that was opened by a presigned URL is
/// named in `Referer`.
const ADDRESS_HEADERS: [&str; 2] = ["location", "referer"];

/// Query parameters with secrets, in lower case, in addition to [`SECRET_HEADERS`]: a presigned
/// query may carry any `x-amz-…` header.
const SECRET_PARAMETERS: [&str; 4] = ["signature", "token", "webidentitytoken", "x-amz-signature"];

/// The console, to which an issuer of OpenID Connect returns.
const CONSOLE: &str = "/_liteio/console";

/// Query parameters of an issuer's answer, secret below [`CONSOLE`]: an attacker with a code and
/// its state before they are exchanged could sign in as the person.
const SECRETS_OF_CONSOLE: [&str; 2] = ["code", "state"];

/// A finished request.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(Default))]
pub struct Entry {
    /// Arrival time in RFC 3339 with microseconds.
    pub time: String,
    /// The request id.
    pub id: String,
    /// The address of the sender.
    pub client: String,
    /// The name of the user who signed it.
    pub user: Option<String>,
    /// The access key that signed it.
    pub access_key: Option<String>,
    /// The user, if the access key belongs to a session.
    #[serde(skip)]
    pub session: Option<String>,
    /// The canonical IDs of the sender's account, and of the owner of the bucket that the request
    /// reached.
    #[serde(skip)]
    pub(super) accounts: [Option<String>; 2],
    /// The version of HTTP.
    pub protocol: String,
    /// The HTTP method.
    pub method: String,
    /// The path as sent.
    pub path: String,
    /// The query, without secrets.
    pub query: String,
    /// The name of the operation, if it has one.
    pub operation: Option<&'static str>,
    /// The bucket; empty if none was addressed.
    pub bucket: String,
    /// The key of the object; empty if none was addressed.
    pub key: String,
    /// The status; 0 if the client disconnected before the response.
    pub status: u16,
    /// The error code.
    pub code: Option<String>,
    /// The reason why access was denied.
    pub denied: Option<String>,
    /// The account whose policies the reason names.
    #[serde(skip)]
    pub(super) denied_by: Option<DenialBy>,
    /// Bytes of the request body.
    pub bytes_in: u64,
    /// Bytes of the response body.
    pub bytes_out: u64,
    /// Duration of the request.
    pub milliseconds: f64,
    /// Headers of the request, without secrets.
    pub request_headers: Vec<(String, String)>,
    /// Headers of the response, without secrets.
    pub response_headers: Vec<(String, String)>,
}

impl Entry {
    /// Creates the entry of a finished request.
    pub fn new(finished: &Finished<'_>, heads: &Heads) -> Entry {
        let origin = finished.origin;
        let begun = Timestamp::try_from(finished.begun()).unwrap_or_default();
        let user = origin.found.user().map(str::to_owned);
        Entry {
            time: begun.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
            id: origin.ids.request_id().to_string(),
            client: origin.peer.name().to_string(),
            user: user.clone(),
            access_key: origin.found.key().map(|(id, _)| id.to_owned()),
            session: origin.found.key().filter(|(_, is_of_session)| *is_of_session).and(user),
            accounts: [origin.found.account(), origin.found.owner()]
                .map(|id| id.map(str::to_owned)),
            protocol: format!("{:?}", heads.version),
            method: finished.method.to_string(),
            path: heads.uri.path().to_owned(),
            query: query_without_secrets(&heads.uri),
            operation: origin.found.operation(),
            bucket: origin.bucket_and_index().0.to_owned(),
            key: origin.target.key().to_owned(),
            status: finished.status,
            code: finished.code.map(str::to_owned),
            denied: origin.found.denial().map(str::to_owned),
            denied_by: origin.found.denial_by(),
            bytes_in: finished.bytes_in,
            bytes_out: finished.bytes_out,
            milliseconds: finished.duration.as_micros() as f64 / 1000.0,
            request_headers: headers_without_secrets(&heads.request),
            response_headers: headers_without_secrets(&heads.response),
        }
    }
}

impl Entry {
    /// The entry as the account with this canonical ID may see it: a request of one of its users,
    /// or on one of its buckets. `None` for other requests.
    ///
    /// If only one of both is its own, it does not learn the policies of the other account, nor the
    /// buckets that the sender copies from.
    pub(super) fn seen_by(self: &Arc<Entry>, account: &str) -> Option<Arc<Entry>> {
        let [is_sender, is_owner] = [&self.accounts[0], &self.accounts[1]]
            .map(|it| it.as_deref().is_some_and(|it| it == account));
        let foreign = match (is_sender, is_owner, &self.accounts[1]) {
            (true, true, _) | (true, false, None) => return Some(Arc::clone(self)),
            (true, false, Some(_)) => DenialBy::Owner,
            (false, true, _) => DenialBy::Sender,
            (false, false, _) => return None,
        };
        let mut seen = Entry::clone(self);
        if self.denied_by == Some(foreign) {
            seen.denied = Some("denied by a policy of another account".to_owned());
        }
        if !is_sender {
            seen.query = pairs_without(&seen.query, is_of_source);
            for headers in [&mut seen.request_headers, &mut seen.response_headers] {
                let of_source = headers.iter_mut().filter(|(name, _)| is_of_source(name));
                of_source.for_each(|(_, value)| HIDDEN.clone_into(value));
            }
        }
        Some(Arc::new(seen))
    }

    /// Approximate size in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let headers = self.request_headers.iter().chain(&self.response_headers);
        let headers = headers.map(|(name, value)| name.len() + value.len() + 128);
        self.path.len() + self.key.len() + self.query.len() + headers.sum::<usize>() + 1024
    }
}

/// Headers as pairs, with [`HIDDEN`] in place of secrets.
pub fn headers_without_secrets(headers: &HeaderMap) -> Vec<(String, String)> {
    let told = headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        let value = match name.as_str() {
            name if SECRET_HEADERS.contains(&name) => HIDDEN.to_owned(),
            name if ADDRESS_HEADERS.contains(&name) => address_without_secrets(&value),
            _ => value.into_owned(),
        };
        (name.as_str().to_owned(), value)
    });
    told.collect()
}

/// The query of `uri`, with [`HIDDEN`] in place of secrets.
pub fn query_without_secrets(uri: &Uri) -> String {
    pairs_without_secrets(uri.path(), uri.query().unwrap_or_default())
}

/// A URL, with [`HIDDEN`] in place of the secrets in its query.
pub fn address_without_secrets(address: &str) -> String {
    match address.split_once('?') {
        Some((path, query)) => format!("{path}?{}", pairs_without_secrets(path, query)),
        None => address.to_owned(),
    }
}

/// The query of a path or of a URL without its query, with [`HIDDEN`] in place of secrets.
fn pairs_without_secrets(path: &str, query: &str) -> String {
    let of_path: &[&str] = match path.contains(CONSOLE) {
        true => &SECRETS_OF_CONSOLE,
        false => &[],
    };
    pairs_without(query, |name| {
        let mut secret = SECRET_PARAMETERS.iter().chain(&SECRET_HEADERS).chain(of_path);
        secret.any(|it| *it == name)
    })
}

/// `true` for a header, in lower case, that tells the source of a copy.
fn is_of_source(name: &str) -> bool {
    name.starts_with("x-amz-copy-source") || name == "x-amz-source-expected-bucket-owner"
}

/// A query, with [`HIDDEN`] in place of the values of these names, given in lower case.
fn pairs_without(query: &str, is_hidden: impl Fn(&str) -> bool) -> String {
    let pairs = query.split('&').map(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        // Parameter names may be percent-encoded.
        let decoded = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
        match is_hidden(&decoded.to_ascii_lowercase()) {
            true => format!("{name}={HIDDEN}"),
            false => pair.to_owned(),
        }
    });
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::{AUTHORIZATION, HOST, REFERER};

    use super::*;

    #[test]
    fn an_account_learns_nothing_of_the_policies_and_sources_of_another_one() {
        let pair = |name: &str| (name.to_owned(), "theirs/key".to_owned());
        let entry = |owner: Option<&str>, by| {
            Arc::new(Entry {
                accounts: [Some("sender"), owner].map(|it| it.map(str::to_owned)),
                denied: Some("denied by the policy \"secret-project\"".to_owned()),
                denied_by: by,
                query: "X-Amz-Copy-Source=theirs/key&partNumber=1".to_owned(),
                request_headers: vec![
                    pair("x-amz-copy-source"),
                    pair("x-amz-copy-source-range"),
                    pair("x-amz-source-expected-bucket-owner"),
                    ("user-agent".to_owned(), "x".to_owned()),
                ],
                response_headers: vec![pair("x-amz-copy-source-version-id")],
                ..Entry::default()
            })
        };
        let (sender, owner, both) = (Some("sender"), Some("owner"), Some("sender"));
        // Owner, account of the reason, listener, and what the listener sees: reason, source.
        let rows = [
            (owner, Some(DenialBy::Sender), "sender", Some((true, true))),
            (owner, Some(DenialBy::Sender), "owner", Some((false, false))),
            (owner, Some(DenialBy::Owner), "sender", Some((false, true))),
            (owner, Some(DenialBy::Owner), "owner", Some((true, false))),
            (owner, Some(DenialBy::Nobody), "owner", Some((true, false))),
            (owner, Some(DenialBy::Nobody), "sender", Some((true, true))),
            (both, Some(DenialBy::Sender), "sender", Some((true, true))),
            (None, Some(DenialBy::Sender), "sender", Some((true, true))),
            (owner, Some(DenialBy::Sender), "other", None),
            (sender, Some(DenialBy::Owner), "owner", None),
        ];
        for (owner, by, listener, expected) in rows {
            let seen = entry(owner, by).seen_by(listener).map(|seen| {
                let text = serde_json::to_string(&*seen).expect("JSON");
                assert!(text.contains("user-agent") && text.contains("partNumber=1"), "{text}");
                (text.contains("secret-project"), text.contains("theirs"))
            });
            assert_eq!(seen, expected, "{owner:?} {by:?} {listener}");
        }
    }

    #[test]
    fn secrets_are_not_told() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("AWS4-HMAC-SHA256 secret"));
        headers.insert("X-Amz-Security-Token", HeaderValue::from_static("secret"));
        headers.insert(
            "x-amz-server-side-encryption-customer-key",
            HeaderValue::from_static("secret"),
        );
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        let referer = "http://localhost/b/k?X-Amz-Signature=secret&x=page";
        headers.insert(REFERER, HeaderValue::from_static(referer));
        let told = format!("{:?}", headers_without_secrets(&headers));
        assert!(!told.contains("secret") && told.contains("localhost"), "{told}");
        assert!(told.contains("http://localhost/b/k?X-Amz-Signature=***&x=page"), "{told}");
        let uri = "/b/k?versionId=1&X-Amz-Signature=secret&%58-amz-security-token=secret&acl";
        let told = query_without_secrets(&uri.parse().expect("a URI"));
        assert_eq!(told, "versionId=1&X-Amz-Signature=***&%58-amz-security-token=***&acl");
        for header in SECRET_HEADERS {
            let uri = format!("/b/k?{}=secret", header.to_uppercase());
            let told = query_without_secrets(&uri.parse().expect("a URI"));
            assert_eq!(told, format!("{}=***", header.to_uppercase()));
        }
    }

    #[test]
    fn the_answer_of_an_issuer_to_the_console_is_not_told() {
        let answer = "code=secret&iss=https://issuer&st%61te=secret";
        let hidden = "code=***&iss=https://issuer&st%61te=***";
        for (path, told) in
            [("/_liteio/console/", hidden), ("/_liteio/console", hidden), ("/photos/cat", answer)]
        {
            let uri = format!("{path}?{answer}").parse().expect("a URI");
            assert_eq!(query_without_secrets(&uri), told, "{path}");
            let page = format!("https://storage.example.com{path}?");
            assert_eq!(
                address_without_secrets(&format!("{page}{answer}")),
                format!("{page}{told}")
            );
        }
    }
}
