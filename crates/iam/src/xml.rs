//! The XML answers of IAM and STS.

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

use liteio_wire::reply::ReplyBody;

/// An XML document under construction.
#[derive(Debug, Default)]
pub(super) struct Xml(String);

impl Xml {
    /// Writes an element with a text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.open(name);
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '\r' => self.0.push_str("&#xD;"),
                '\t' | '\n' => self.0.push(character),
                '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => self.0.push('\u{fffd}'),
                other => self.0.push(other),
            }
        }
        self.close(name);
    }

    /// Writes an element with a text, if there is one.
    pub(super) fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// Writes an element with child elements.
    pub(super) fn element(&mut self, name: &str, write: impl FnOnce(&mut Xml)) {
        self.open(name);
        write(self);
        self.close(name);
    }

    /// Writes a list: an element with a `member` for each item.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Xml, T),
    ) {
        self.element(name, |xml| {
            for item in items {
                xml.element("member", |xml| write(xml, item));
            }
        });
    }

    /// Writes a list of texts.
    pub(super) fn texts<'t>(&mut self, name: &str, items: impl IntoIterator<Item = &'t str>) {
        self.element(name, |xml| items.into_iter().for_each(|item| xml.text("member", item)));
    }

    /// Writes a time given in seconds since 1970.
    pub(super) fn time(&mut self, name: &str, seconds: i64) {
        self.text(name, &time(seconds));
    }

    /// Writes a policy document in IAM's encoding.
    pub(super) fn document(&mut self, name: &str, text: &str) {
        let encoded = percent_encoding::utf8_percent_encode(text, ENCODED);
        self.text(name, &encoded.to_string());
    }

    fn open(&mut self, name: &str) {
        self.0.push('<');
        self.0.push_str(name);
        self.0.push('>');
    }

    fn close(&mut self, name: &str) {
        self.0.push_str("</");
        self.0.push_str(name);
        self.0.push('>');
    }
}

/// The characters that a document encodes: all but the unreserved ones of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A time in the format of the services: `2026-01-31T08:30:00Z`.
pub(super) fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// The whole answer. `result` is `None` for operations that return nothing.
pub(super) fn response(
    namespace: &str,
    action: &str,
    result: Option<Xml>,
    request_id: &str,
) -> Response<ReplyBody> {
    let mut xml = Xml::default();
    xml.0.push_str(&format!("<{action}Response xmlns=\"{namespace}\">"));
    if let Some(Xml(result)) = result {
        xml.0.push_str(&format!("<{action}Result>{result}</{action}Result>"));
    }
    xml.element("ResponseMetadata", |xml| xml.text("RequestId", request_id));
    xml.0.push_str(&format!("</{action}Response>"));
    let mut response = Response::new(ReplyBody::from(Bytes::from(xml.0)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/xml"));
    response
}
