//! Writes XML documents with client text: keys may contain characters that XML cannot represent.
//!
//! s3s writes such characters unescaped, which breaks the document or, for a carriage return,
//! changes the key. Writing listings directly from store entries is also faster than building one
//! struct per element.

use std::fmt::{Display, Write};

use bytes::Bytes;

use liteio_store::ETag;

use super::dates::IsoDates;

const PROLOGUE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// Writer of one document.
pub(super) struct XmlWriter {
    text: String,
    root: &'static str,
    dates: IsoDates,
}

impl XmlWriter {
    /// Starts a document in S3's namespace.
    pub(super) fn new(root: &'static str, bytes_expected: usize) -> XmlWriter {
        let mut text = String::with_capacity(128 + bytes_expected);
        text.push_str(PROLOGUE);
        text.push('<');
        text.push_str(root);
        text.push_str(" xmlns=\"");
        text.push_str(NAMESPACE);
        text.push_str("\">");
        XmlWriter { text, root, dates: IsoDates::default() }
    }

    /// Starts a document without a namespace, as the response to a form upload.
    pub(super) fn without_namespace(root: &'static str) -> XmlWriter {
        let text = format!("{PROLOGUE}<{root}>");
        XmlWriter { text, root, dates: IsoDates::default() }
    }

    /// Ends the document.
    pub(super) fn finish(mut self) -> Bytes {
        self.close(self.root);
        self.text.into()
    }

    pub(super) fn open(&mut self, name: &str) {
        self.text.push('<');
        self.text.push_str(name);
        self.text.push('>');
    }

    pub(super) fn close(&mut self, name: &str) {
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push('>');
    }

    /// Text content of the open element.
    pub(super) fn content(&mut self, value: &str) {
        push_escaped(&mut self.text, value);
    }

    /// An element with text that may come from a client and is escaped.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.open(name);
        push_escaped(&mut self.text, value);
        self.close(name);
    }

    /// Like [`XmlWriter::text`]; nothing if there is no value.
    pub(super) fn optional_text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// An element with a word of S3's, which needs no escaping.
    pub(super) fn word(&mut self, name: &str, word: &str) {
        self.open(name);
        self.text.push_str(word);
        self.close(name);
    }

    /// An element with a number, a boolean or one of our IDs, which need no escaping.
    pub(super) fn value(&mut self, name: &str, value: impl Display) {
        self.open(name);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{value}");
        self.close(name);
    }

    /// An ETag element, in quotes.
    pub(super) fn etag(&mut self, etag: ETag) {
        self.text.push_str("<ETag>&quot;");
        if let ETag::Md5(md5) = &etag {
            hex_simd::encode_append(md5, &mut self.text, hex_simd::AsciiCase::Lower);
        } else {
            let _ = write!(self.text, "{etag}");
        }
        self.text.push_str("&quot;</ETag>");
    }

    /// A time element, in whole seconds as everywhere in S3.
    pub(super) fn date(&mut self, name: &str, time_ms: u64) {
        self.open(name);
        self.dates.push(&mut self.text, time_ms);
        self.close(name);
    }

    /// An `Owner` or `Initiator`.
    pub(super) fn owner(&mut self, name: &str, owner: &liteio_store::Owner) {
        self.open(name);
        self.text("ID", &owner.id);
        self.text("DisplayName", &owner.display_name);
        self.close(name);
    }
}

/// Bytes that never start a character to escape: U+FFFE and U+FFFF start with 0xEF.
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 0x20 && !matches!(byte as u8, b'&' | b'<' | b'>' | b'"' | 0xef);
        byte += 1;
    }
    table
};

/// Escapes markup, and white space that parsers would normalize. Characters that XML 1.0 cannot
/// contain become U+FFFD; clients that need such keys use `encoding-type=url`.
fn push_escaped(text: &mut String, value: &str) {
    // Fast path: nearly all text is plain, and scanning bytes costs a tenth of scanning characters.
    if value.bytes().all(|byte| PLAIN[usize::from(byte)]) {
        return text.push_str(value);
    }
    let mut plain = 0;
    for (position, character) in value.char_indices() {
        let escaped = match character {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\t' => "&#x9;",
            '\n' => "&#xA;",
            '\r' => "&#xD;",
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => "\u{fffd}",
            _ => continue,
        };
        text.push_str(&value[plain..position]);
        text.push_str(escaped);
        plain = position + character.len_utf8();
    }
    text.push_str(&value[plain..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_leaves_the_document_valid() {
        let rows = [
            ("plain/ключ", "plain/ключ"),
            ("\u{f000}\u{ff00}\u{10ffff}", "\u{f000}\u{ff00}\u{10ffff}"),
            ("a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"),
            ("tab\tline\nreturn\r", "tab&#x9;line&#xA;return&#xD;"),
            ("\u{0}\u{1}\u{1f}\u{fffe}\u{ffff}", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("", ""),
            ("]]>", "]]&gt;"),
        ];
        for (value, expected) in rows {
            let mut escaped = String::new();
            push_escaped(&mut escaped, value);
            assert_eq!(escaped, expected, "{value:?}");
        }
    }

    #[test]
    fn a_document_has_prologue_namespace_and_end() {
        let mut xml = XmlWriter::new("Root", 0);
        xml.text("Key", "a&b");
        xml.value("Size", 3);
        xml.etag(ETag::Md5([0xab; 16]));
        xml.date("LastModified", 1_704_067_200_999);
        xml.optional_text("None", None);
        assert_eq!(
            xml.finish(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <Root xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Key>a&amp;b</Key><Size>3</Size>\
             <ETag>&quot;abababababababababababababababab&quot;</ETag><LastModified>2024-01-01T00:00:00.000Z</LastModified></Root>"
        );
    }
}
