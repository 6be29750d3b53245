//! Website routing rules: pure functions of the configuration and of S3's result.
//!
//! A request that [`Website::redirect`] does not redirect is answered with the object
//! [`Pages::object_key`]. If that fails, [`Pages::redirect_after`] may redirect it; otherwise the
//! error document is sent. Source: [Amazon's
//! description](https://docs.aws.amazon.com/AmazonS3/latest/userguide/how-to-page-redirect.html).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters of a key to encode in a URL path.
const IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The configuration of a website.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Website {
    /// All requests are redirected to another host.
    Elsewhere {
        /// The host to redirect to.
        host: String,
        /// `http` or `https`; the request's scheme if `None`.
        protocol: Option<String>,
    },
    /// The bucket's objects are served.
    Pages(Pages),
}

/// A website that serves a bucket's objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    /// The index document: appended to keys that end with `/`.
    pub index: String,
    /// The key of the error document.
    pub error: Option<String>,
    /// Routing rules; the first match wins.
    pub rules: Vec<Rule>,
}

/// A routing rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The key prefix that the rule matches.
    pub prefix: Option<String>,
    /// The error status that the rule matches; `None` for a rule that is applied before the object
    /// is read.
    pub failed: Option<u16>,
    pub host: Option<String>,
    pub protocol: Option<String>,
    /// The redirect status; 301 if `None`.
    pub status: Option<u16>,
    pub key: NewKey,
}

/// The key to redirect to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NewKey {
    /// The requested key.
    #[default]
    Same,
    /// The requested key with its prefix replaced.
    Prefix(String),
    /// A fixed key.
    Whole(String),
}

/// A redirect response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub status: u16,
    pub location: String,
}

/// The requested URL: scheme, host and query as sent, and the decoded key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub scheme: &'a str,
    pub host: &'a str,
    pub key: &'a str,
    pub query: Option<&'a str>,
}

impl Asked<'_> {
    /// The URL with another key.
    fn url(self, scheme: Option<&str>, host: Option<&str>, key: &str) -> String {
        let (scheme, host) = (scheme.unwrap_or(self.scheme), host.unwrap_or(self.host));
        let query = self.query.map(|query| format!("?{query}"));
        format!("{scheme}://{host}{}{}", path(key), query.unwrap_or_default())
    }
}

impl Website {
    /// The redirect for a request before its object is read.
    pub(crate) fn redirect(&self, asked: Asked<'_>) -> Option<Redirect> {
        match self {
            Website::Elsewhere { host, protocol } => {
                let location = asked.url(protocol.as_deref(), Some(host), asked.key);
                Some(Redirect { status: 301, location })
            }
            Website::Pages(pages) => pages.redirect(asked, None),
        }
    }
}

impl Pages {
    /// The redirect for a request whose object failed with this status.
    pub(crate) fn redirect_after(&self, asked: Asked<'_>, failed: u16) -> Option<Redirect> {
        self.redirect(asked, Some(failed))
    }

    fn redirect(&self, asked: Asked<'_>, failed: Option<u16>) -> Option<Redirect> {
        let mut rules = self.rules.iter().filter(|rule| rule.failed == failed);
        rules.find_map(|rule| rule.redirect(asked))
    }

    /// The key of the object to serve.
    pub(crate) fn object_key(&self, key: &str) -> String {
        match key.is_empty() || key.ends_with('/') {
            true => format!("{key}{}", self.index),
            false => key.to_owned(),
        }
    }

    /// The key of the index document for a directory requested without its `/`.
    pub(crate) fn index_below(&self, key: &str) -> Option<String> {
        let is_directory = !key.is_empty() && !key.ends_with('/');
        is_directory.then(|| format!("{key}/{}", self.index))
    }
}

impl Rule {
    fn redirect(&self, asked: Asked<'_>) -> Option<Redirect> {
        let rest = asked.key.strip_prefix(self.prefix.as_deref().unwrap_or_default())?;
        let key = match &self.key {
            NewKey::Same => asked.key.to_owned(),
            NewKey::Prefix(prefix) => format!("{prefix}{rest}"),
            NewKey::Whole(key) => key.clone(),
        };
        let location = asked.url(self.protocol.as_deref(), self.host.as_deref(), &key);
        Some(Redirect { status: self.status.unwrap_or(301), location })
    }
}

/// A key encoded as a URL path. A slash at its start is encoded, too: `//HOST/` would be the address
/// of another host.
pub(crate) fn path(key: &str) -> String {
    let rest = key.trim_start_matches('/');
    let slashes = "%2F".repeat(key.len() - rest.len());
    format!("/{slashes}{}", utf8_percent_encode(rest, IN_PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(key: &str) -> Asked<'_> {
        Asked { scheme: "http", host: "b.s3-website.localhost:9000", key, query: None }
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn rules_send_requests_elsewhere() {
        let here = "http://b.s3-website.localhost:9000";
        let rule = Rule::default;
        let prefix = |text: &str| Rule { prefix: some(text), ..rule() };
        let rows = [
            (
                Rule { key: NewKey::Prefix("new/".to_owned()), ..prefix("old/") },
                "old/a/b",
                None,
                Some((301, format!("{here}/new/a/b"))),
            ),
            (
                Rule { key: NewKey::Prefix("new/".to_owned()), ..prefix("old/") },
                "other/a",
                None,
                None,
            ),
            (
                Rule { key: NewKey::Whole("x y".to_owned()), ..prefix("old/") },
                "old/a",
                None,
                Some((301, format!("{here}/x%20y"))),
            ),
            (
                Rule { host: some("other.example"), ..prefix("") },
                "a?b/ü",
                None,
                Some((301, "http://other.example/a%3Fb/%C3%BC".to_owned())),
            ),
            (
                Rule {
                    host: some("o.example"),
                    protocol: some("https"),
                    status: Some(302),
                    ..rule()
                },
                "",
                None,
                Some((302, "https://o.example/".to_owned())),
            ),
            // A rule with an error status applies only after that error.
            (
                Rule { failed: Some(404), key: NewKey::Prefix("r/".to_owned()), ..rule() },
                "a",
                None,
                None,
            ),
            (
                Rule { failed: Some(404), key: NewKey::Prefix("r/".to_owned()), ..rule() },
                "a",
                Some(404),
                Some((301, format!("{here}/r/a"))),
            ),
            (Rule { failed: Some(404), ..rule() }, "a", Some(403), None),
            (Rule { failed: Some(404), ..prefix("b") }, "a", Some(404), None),
            (prefix("a"), "a", Some(404), None),
        ];
        for (rule, key, failed, expected) in rows {
            let pages = Pages { index: "index.html".to_owned(), error: None, rules: vec![rule] };
            let found = match failed {
                Some(failed) => pages.redirect_after(asked(key), failed),
                None => Website::Pages(pages.clone()).redirect(asked(key)),
            };
            let expected = expected.map(|(status, location)| Redirect { status, location });
            assert_eq!(found, expected, "{key:?} {failed:?} {pages:?}");
        }
    }

    #[test]
    fn no_path_is_the_address_of_a_host() {
        let rows = [
            ("", "/"),
            ("a/b//c", "/a/b//c"),
            ("/evil.example/", "/%2Fevil.example/"),
            ("//evil.example", "/%2F%2Fevil.example"),
            ("\\evil.example/", "/%5Cevil.example/"),
            ("\t/evil.example", "/%09/evil.example"),
        ];
        for (key, expected) in rows {
            assert_eq!(path(key), expected, "{key:?}");
        }
    }

    #[test]
    fn the_first_rule_counts() {
        let to = |prefix: &str, key: &str| Rule {
            prefix: some(prefix),
            key: NewKey::Whole(key.to_owned()),
            ..Rule::default()
        };
        let rules = vec![to("a/b", "1"), to("a/", "2"), to("a/b", "3")];
        let site = Website::Pages(Pages { index: "i".to_owned(), error: None, rules });
        let location = |key| site.redirect(asked(key)).map(|it| it.location);
        assert!(location("a/b").is_some_and(|it| it.ends_with("/1")));
        assert!(location("a/c").is_some_and(|it| it.ends_with("/2")));
        assert_eq!(location("b"), None);
    }

    #[test]
    fn all_requests_go_elsewhere() {
        let to = |protocol: Option<&str>| Website::Elsewhere {
            host: "www.example.com".to_owned(),
            protocol: protocol.map(str::to_owned),
        };
        let redirect = |site: Website| site.redirect(asked("a/b c")).map(|it| it.location);
        assert_eq!(redirect(to(None)), some("http://www.example.com/a/b%20c"));
        assert_eq!(redirect(to(Some("https"))), some("https://www.example.com/a/b%20c"));
        let asked = Asked { query: Some("a=b%20c"), ..asked("x") };
        let redirect = to(None).redirect(asked).map(|it| it.location);
        assert_eq!(redirect, some("http://www.example.com/x?a=b%20c"));
    }

    #[test]
    fn indexes() {
        let pages = Pages { index: "index.html".to_owned(), error: None, rules: Vec::new() };
        let rows = [
            ("", "index.html", None),
            ("a/", "a/index.html", None),
            ("a", "a", Some("a/index.html")),
            ("a/b", "a/b", Some("a/b/index.html")),
        ];
        for (key, object, below) in rows {
            assert_eq!(pages.object_key(key), object);
            assert_eq!(pages.index_below(key).as_deref(), below, "{key}");
        }
    }
}
