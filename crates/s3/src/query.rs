//! [`Query`]: the parameters of a request, decoded once. Routing, authorization and operations read them here, so
//! that no check can read another name or value than the one that is used.

use std::sync::Arc;

use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES,
};
use http::{Extensions, HeaderName, Uri};

/// The decoded parameters, in the order sent. They travel in the extensions of the request.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Option<Arc<[(String, String)]>>);

/// The start of a parameter that overrides a response header.
const OVERRIDE: &str = "response-";

/// Requests without parameters have no query in their extensions.
static EMPTY: Query = Query(None);

impl Query {
    /// The parameters of a URI. Nothing is allocated without a query.
    pub(super) fn of(uri: &Uri) -> Query {
        let pairs = pairs(uri).map(|(name, value)| (name.into_owned(), value.into_owned()));
        Query(uri.query().map(|_| pairs.collect()))
    }

    /// Stores the parameters for [`Query::in_extensions`].
    pub(super) fn put_into(self, extensions: &mut Extensions) {
        if self.0.is_some() {
            extensions.insert(self);
        }
    }

    /// The parameters of the request with these extensions.
    pub(super) fn in_extensions(extensions: &Extensions) -> &Query {
        extensions.get().unwrap_or(&EMPTY)
    }

    /// Names and values.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|pairs| pairs.iter()).map(|(name, value)| (&**name, &**value))
    }

    /// The names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs().map(|(name, _)| name)
    }

    /// The value of the first parameter with this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.pairs().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// The response headers that the request overrides, with their values.
    pub(super) fn overrides(&self) -> impl Iterator<Item = (HeaderName, &str)> {
        self.pairs().filter_map(|(name, value)| Some((overridden(name)?, value)))
    }

    /// The first parameter that would override a response header that cannot be overridden.
    pub(super) fn unknown_override(&self) -> Option<(&str, &str)> {
        let is_unknown = |name: &str| name.starts_with(OVERRIDE) && overridden(name).is_none();
        self.pairs().find(|(name, _)| is_unknown(name))
    }
}

/// True if a URI has a parameter with one of these names, for decisions before authentication.
pub(super) fn names_any(uri: &Uri, names: &[&str]) -> bool {
    // Values are not decoded, which the signature in a URL would make expensive.
    let parameters = uri.query().unwrap_or_default().split('&');
    let sent = parameters.map(|it| it.split_once('=').map_or(it, |(name, _)| name));
    let is_any = |name: &str| names.contains(&name);
    sent.into_iter().any(|name| match name.bytes().any(|it| matches!(it, b'%' | b'+')) {
        true => form_urlencoded::parse(name.as_bytes()).any(|(name, _)| is_any(&name)),
        false => is_any(name),
    })
}

/// The one decoder.
fn pairs(uri: &Uri) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
}

/// The response header that a parameter overrides.
fn overridden(name: &str) -> Option<HeaderName> {
    Some(match name.strip_prefix(OVERRIDE)? {
        "cache-control" => CACHE_CONTROL,
        "content-disposition" => CONTENT_DISPOSITION,
        "content-encoding" => CONTENT_ENCODING,
        "content-language" => CONTENT_LANGUAGE,
        "content-type" => CONTENT_TYPE,
        "expires" => EXPIRES,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::of(&format!("/b/k?{text}").parse().expect("a URI"))
    }

    #[test]
    fn names_and_values_are_decoded() {
        let rows: [(&str, &[(&str, &str)]); 5] = [
            ("", &[]),
            ("acl", &[("acl", "")]),
            ("%61cl=%2B+&&b=c=d", &[("acl", "+ "), ("b", "c=d")]),
            ("version%49d=1&versionId=2", &[("versionId", "1"), ("versionId", "2")]),
            ("a+b=1", &[("a b", "1")]),
        ];
        for (sent, expected) in rows {
            assert_eq!(query(sent).pairs().collect::<Vec<_>>(), expected, "{sent}");
        }
        assert_eq!(query("version%49d=1").get("versionId"), Some("1"));
        for (sent, is_named) in [
            ("x=1&%74agging", true),
            ("%74agging=1", true),
            ("tagging", true),
            ("&&x&tagging=&y", true),
            ("x=tagging&y=%74agging", false),
            ("%2574agging", false),
            ("tagging+", false),
            ("", false),
        ] {
            let uri: Uri = format!("/b/k?{sent}").parse().expect("a URI");
            assert_eq!(names_any(&uri, &["acl", "tagging"]), is_named, "{sent}");
            let decoded = Query::of(&uri);
            for name in ["tagging", "%74agging"] {
                let is_named = decoded.names().any(|other| other == name);
                assert_eq!(names_any(&uri, &[name]), is_named, "{name} in {sent}");
            }
        }
    }

    /// A check on the query as sent would miss all but the first.
    #[test]
    fn overrides_are_found_by_their_decoded_names() {
        for name in ["response-content-type", "%72esponse-content-type", "response%2Dcontent-type"]
        {
            let query = query(&format!("{name}=text%2Fhtml"));
            let found: Vec<_> = query.overrides().collect();
            assert_eq!(found, [(CONTENT_TYPE, "text/html")], "{name}");
        }
        let others = query("Response-Expires=b&response%2Dother=a");
        assert_eq!(others.overrides().count(), 0);
        assert_eq!(others.unknown_override(), Some(("response-other", "a")));
        assert_eq!(query("response-expires=b&response=a").unknown_override(), None);
    }
}
