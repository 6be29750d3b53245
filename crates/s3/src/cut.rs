//! Documents without an element: s3s refuses those for which a type of it has no field.

use bytes::Bytes;
use quick_xml::events::Event;
use quick_xml::{Reader, Writer};
use s3s::S3Result;

use super::error;

/// The document without all elements of this name, and what is inside of them.
///
/// # Errors
/// `MalformedXML`.
pub(super) fn without(document: &[u8], name: &str) -> S3Result<Bytes> {
    let mut reader = Reader::from_reader(document);
    let mut writer = Writer::new(Vec::with_capacity(document.len()));
    let mut depth = 0_usize;
    loop {
        let event = reader.read_event().map_err(|_| error::malformed_xml())?;
        let is_named = |found: &[u8]| found == name.as_bytes();
        match &event {
            Event::Eof => return Ok(writer.into_inner().into()),
            Event::Start(start) if depth > 0 || is_named(start.local_name().as_ref()) => {
                depth += 1;
                continue;
            }
            Event::End(_) if depth > 0 => {
                depth -= 1;
                continue;
            }
            Event::Empty(start) if is_named(start.local_name().as_ref()) => continue,
            _ if depth > 0 => continue,
            _ => {}
        }
        writer.write_event(event).map_err(|_| error::malformed_xml())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_cut_out_with_what_it_has() {
        for (document, expected) in [
            ("<a><b>1</b><c>2</c></a>", "<a><c>2</c></a>"),
            ("<a><b><d>1</d><b/></b><c>&amp;</c></a>", "<a><c>&amp;</c></a>"),
            ("<a><b/>x</a>", "<a>x</a>"),
            ("<a><c/></a>", "<a><c/></a>"),
        ] {
            assert_eq!(without(document.as_bytes(), "b").expect("well-formed"), expected);
        }
        assert!(without(b"<a><b></a>", "b").is_err());
    }
}
