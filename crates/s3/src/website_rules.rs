//! Websites of buckets: the answer to a request, a pure function of the configuration and of what S3 answers.
//!
//! A request that [`Website::redirect`] does not send elsewhere is answered with the object
//! [`Pages::object_key`]. If that fails, [`Pages::redirect_after`] may send it elsewhere; then comes the error
//! document.
//! [Amazon's description](https://docs.aws.amazon.com/AmazonS3/latest/userguide/how-to-page-redirect.html).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The bytes of a key that stand for themselves in a URL.
const IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The configuration of a website.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Website {
    /// All requests are sent to another host.
    Elsewhere {
        /// The host.
        host: String,
        /// `http` or `https`; that of the request if there is none.
        protocol: Option<String>,
    },
    /// The objects of the bucket.
    Pages(Pages),
}

/// A website of the objects of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    /// What is appended to a key that ends with `/`.
    pub index: String,
    /// The key of the document for errors.
    pub error: Option<String>,
    /// The first rule that fits counts.
    pub rules: Vec<Rule>,
}

/// A rule that sends requests elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The start of the keys that it is for.
    pub prefix: Option<String>,
    /// The status of the errors that it is for; none for a rule that comes before the object.
    pub failed: Option<u16>,
    pub host: Option<String>,
    pub protocol: Option<String>,
    /// The status of the answer; 301 if there is none.
    pub status: Option<u16>,
    pub key: NewKey,
}

/// The key that a rule leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NewKey {
    /// The same.
    #[default]
    Same,
    /// The same with another start.
    Prefix(String),
    /// Another.
    Whole(String),
}

/// An answer that leads elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub status: u16,
    pub location: String,
}

/// The URL of a request: its scheme, its host and its query as they were sent, and its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub scheme: &'a str,
    pub host: &'a str,
    pub key: &'a str,
    pub query: Option<&'a str>,
}

impl Asked<'_> {
    /// The URL of a key in place of the one that was asked for.
    fn url(self, scheme: Option<&str>, host: Option<&str>, key: &str) -> String {
        let (scheme, host) = (scheme.unwrap_or(self.scheme), host.unwrap_or(self.host));
        let query = self.query.map(|query| format!("?{query}"));
        format!("{scheme}://{host}{}{}", path(key), query.unwrap_or_default())
    }
}

impl Website {
    /// The answer to a request before its object is looked for.
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
    /// The answer to a request whose object cannot be had, with this status.
    pub(crate) fn redirect_after(&self, asked: Asked<'_>, failed: u16) -> Option<Redirect> {
        self.redirect(asked, Some(failed))
    }

    fn redirect(&self, asked: Asked<'_>, failed: Option<u16>) -> Option<Redirect> {
        let mut rules = self.rules.iter().filter(|rule| rule.failed == failed);
        rules.find_map(|rule| rule.redirect(asked))
    }

    /// The key of the object for a request.
    pub(crate) fn object_key(&self, key: &str) -> String {
        match key.is_empty() || key.ends_with('/') {
            true => format!("{key}{}", self.index),
            false => key.to_owned(),
        }
    }

    /// The key of the index document for a request of a directory without its `/`.
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

/// A key as the path of a URL.
pub(crate) fn path(key: &str) -> String {
    format!("/{}", utf8_percent_encode(key, IN_PATH))
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
            // A rule for errors comes after them, and only after its own.
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
