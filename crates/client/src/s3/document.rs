//! The XML of S3: small documents, read into trees, and the few documents that are sent.

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::Error;

/// Depth beyond which a document is not S3's.
const DEPTH_MAX: usize = 16;

/// An element with its text and children, without attributes and namespaces.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// Reads the root element.
    ///
    /// # Errors
    /// The error of an answer that is not a document.
    pub(super) fn parse(bytes: &[u8]) -> Result<Element, Error> {
        let wrong = |reason: &dyn std::fmt::Display| {
            Error::transport(format!(
                "the answer is not one of S3 ({reason}); check the URL of the alias"
            ))
        };
        let mut reader = Reader::from_reader(bytes);
        // A stack: the innermost open element is last. The first element collects the root.
        let mut open = vec![Element::default()];
        loop {
            let event = reader.read_event().map_err(|error| wrong(&error))?;
            let depth = open.len();
            let last = open.last_mut().expect("the first stays");
            match event {
                Event::Start(_) if depth > DEPTH_MAX => return Err(wrong(&"too deep")),
                Event::Start(start) => {
                    let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
                    open.push(Element { name, ..Element::default() });
                }
                Event::Empty(start) => {
                    let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
                    last.children.push(Element { name, ..Element::default() });
                }
                Event::End(_) => {
                    let ended = open.pop().expect("ends match starts");
                    match open.last_mut() {
                        Some(parent) => parent.children.push(ended),
                        None => return Err(wrong(&"an end without a start")),
                    }
                }
                Event::Text(text) => {
                    last.text.push_str(&text.decode().map_err(|error| wrong(&error))?);
                }
                Event::CData(text) => {
                    last.text.push_str(&text.decode().map_err(|error| wrong(&error))?);
                }
                Event::GeneralRef(reference) => {
                    match reference.resolve_char_ref().map_err(|error| wrong(&error))? {
                        Some(character) => last.text.push(character),
                        None => last.text.push(match &*reference {
                            b"amp" => '&',
                            b"lt" => '<',
                            b"gt" => '>',
                            b"quot" => '"',
                            b"apos" => '\'',
                            _ => return Err(wrong(&"an unknown entity")),
                        }),
                    }
                }
                Event::Eof => break,
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
                Event::DocType(_) => return Err(wrong(&"a document type")),
            }
        }
        match (open.len(), open.pop().and_then(|mut first| first.children.pop())) {
            (1, Some(root)) => Ok(root),
            _ => Err(wrong(&"it is cut")),
        }
    }

    /// The text of a child.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.child(name).map(|it| it.text.as_str())
    }

    pub(super) fn own_text(&self) -> &str {
        &self.text
    }

    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|it| it.name == name)
    }

    pub(super) fn children(&self) -> &[Element] {
        &self.children
    }
}

/// The text of a child of the root of a document.
pub(crate) fn text_in_document(bytes: &[u8], name: &str) -> Option<String> {
    Element::parse(bytes).ok()?.text(name).map(ToOwned::to_owned)
}

/// Two texts of each element in the list `list` of a document, by their names.
pub(crate) fn pairs_in_document(
    bytes: &[u8],
    list: &str,
    names: [&str; 2],
) -> Vec<(String, String)> {
    let Ok(root) = Element::parse(bytes) else { return Vec::new() };
    let items = root.child(list).map(Element::children).unwrap_or_default();
    let text = |item: &Element, name| item.text(name).unwrap_or_default().to_owned();
    items.iter().map(|item| (text(item, names[0]), text(item, names[1]))).collect()
}

/// `true` for the document of an error.
pub(crate) fn is_error_document(bytes: &[u8]) -> bool {
    !bytes.is_empty() && Element::parse(bytes).is_ok_and(|root| root.name == "Error")
}

/// Text, escaped for its place between two tags.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // As character references they survive the normalisation of line ends.
            '\t' | '\n' | '\r' => escaped.push_str(&format!("&#{};", u32::from(character))),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_trees() {
        let text = br#"<?xml version="1.0"?><List xmlns="x"><Name>a&amp;b&#x20;c</Name><Empty/>
            <Item><Key>1</Key></Item><Item><Key><![CDATA[2<]]></Key></Item></List>"#;
        let root = Element::parse(text).expect("it is one");
        assert_eq!(root.name, "List");
        assert_eq!(root.text("Name"), Some("a&b c"));
        assert_eq!(root.text("Empty"), Some(""));
        assert_eq!(root.text("None"), None);
        let keys: Vec<_> = root.children()[2..].iter().map(|it| it.text("Key")).collect();
        assert_eq!(keys, [Some("1"), Some("2<")]);
    }

    #[test]
    fn what_is_no_document_is_an_error() {
        let deep = "<a>".repeat(100);
        let entity = r#"<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>"#;
        for text in ["", "hello", "<a>", "<a></b>", "</a>", "<a>&x;</a>", &deep, entity] {
            assert!(Element::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn escapes_come_back() {
        let text = "a&b<c>\r\n\t\"";
        let root = Element::parse(format!("<a>{}</a>", escaped(text)).as_bytes()).expect("valid");
        assert_eq!(root.own_text(), text);
    }
}
