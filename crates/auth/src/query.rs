//! [`Query`]: the query of a request, split once. The signature version, the signature parameters,
//! the canonical query and the query without the signature all use the same parts, so they cannot
//! disagree.

use std::borrow::Cow;

use memchr::memchr;

/// One parameter as sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter<'a> {
    /// Name and value, including the equals sign, if any.
    pub(super) pair: &'a str,
    pub(super) name: &'a str,
    /// The value; empty without an equals sign.
    pub(super) value: &'a str,
    /// Decoding would change the name.
    pub(super) is_encoded: bool,
}

impl<'a> Parameter<'a> {
    fn of(pair: &'a str) -> Parameter<'a> {
        let (name, value) = match memchr(b'=', pair.as_bytes()) {
            Some(place) => (&pair[..place], &pair[place + 1..]),
            None => (pair, ""),
        };
        Parameter { pair, name, value, is_encoded: has_escapes(name) }
    }

    /// The name without percent-encoding.
    pub(super) fn decoded_name(&self) -> Cow<'a, [u8]> {
        match self.is_encoded {
            true => decoded(self.name),
            false => Cow::Borrowed(self.name.as_bytes()),
        }
    }
}

/// The bytes of a text without percent-encoding.
pub(super) fn decoded(text: &str) -> Cow<'_, [u8]> {
    if !has_escapes(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    // The conversion of `percent_encoding` allocates three times.
    let mut bytes = Vec::with_capacity(text.len());
    bytes.extend(percent_encoding::percent_decode_str(text));
    Cow::Owned(bytes)
}

/// `true` if decoding would change the text.
fn has_escapes(text: &str) -> bool {
    memchr(b'%', text.as_bytes()).is_some()
}

/// The parameters of a query in the order sent.
#[derive(Debug)]
pub(super) struct Query<'a>(Vec<Parameter<'a>>);

impl<'a> Query<'a> {
    /// Splits a query; empty parameters are ignored.
    pub(super) fn parse(query: &'a str) -> Query<'a> {
        if query.is_empty() {
            return Query(Vec::new());
        }
        // A presigned URL has at least six parameters.
        let mut parameters = Vec::with_capacity(8);
        let mut rest = query;
        loop {
            let end = memchr(b'&', rest.as_bytes()).unwrap_or(rest.len());
            if end > 0 {
                parameters.push(Parameter::of(&rest[..end]));
            }
            match rest.get(end + 1..) {
                Some(after) => rest = after,
                None => return Query(parameters),
            }
        }
    }

    /// The parameters.
    pub(super) fn parameters(&self) -> &[Parameter<'a>] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pair, name and value.
    type Split<'a> = (&'a str, &'a str, &'a str);

    #[test]
    fn queries_are_split_at_ampersands_and_first_equals_signs() {
        let rows: [(&str, &[Split<'_>]); 6] = [
            ("", &[]),
            ("&&", &[]),
            ("uploads", &[("uploads", "uploads", "")]),
            ("a=", &[("a=", "a", "")]),
            ("=x&a=b=c", &[("=x", "", "x"), ("a=b=c", "a", "b=c")]),
            ("é=ü&&b&", &[("é=ü", "é", "ü"), ("b", "b", "")]),
        ];
        for (sent, expected) in rows {
            let query = Query::parse(sent);
            let found: Vec<_> =
                query.parameters().iter().map(|it| (it.pair, it.name, it.value)).collect();
            assert_eq!(found, expected, "{sent}");
        }
    }

    #[test]
    fn escapes_are_decoded_and_what_is_none_stays() {
        for (sent, expected) in
            [("plain", "plain"), ("%41b", "Ab"), ("100%", "100%"), ("%zz", "%zz")]
        {
            assert_eq!(&*decoded(sent), expected.as_bytes(), "{sent}");
        }
    }
}
