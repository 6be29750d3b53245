//! The `tagging` field of a form (an XML document), converted to the `x-amz-tagging` header.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::canonical::push_encoded;
use liteio_wire::reply::{ApiError, ErrorCode};

/// Maximum nesting of a tagging document: `Tagging/TagSet/Tag/Key`.
const DEPTH_MAX: usize = 4;

fn malformed() -> ApiError {
    ApiError::new(
        ErrorCode::MalformedXML,
        "The XML you provided was not well-formed or did not validate against our published schema",
    )
}

/// Converts `<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>` to `a=b`.
///
/// # Errors
/// `MalformedXML`. Entities other than the five of XML are malformed, too, so there is no entity
/// expansion.
pub(super) fn tagging_header(document: &str) -> Result<String, ApiError> {
    let mut reader = Reader::from_str(document);
    let mut path: Vec<Vec<u8>> = Vec::new();
    let (mut key, mut value) = (String::new(), String::new());
    let mut header = Vec::new();
    loop {
        match reader.read_event().map_err(|_| malformed())? {
            Event::Start(start) => {
                path.push(start.local_name().as_ref().to_vec());
                if path.len() > DEPTH_MAX {
                    return Err(malformed());
                }
            }
            Event::End(_) => {
                if path.iter().eq([&b"Tagging"[..], b"TagSet", b"Tag"]) {
                    if key.is_empty() {
                        return Err(malformed());
                    }
                    if !header.is_empty() {
                        header.push(b'&');
                    }
                    push_encoded(&mut header, std::mem::take(&mut key).bytes(), false);
                    header.push(b'=');
                    push_encoded(&mut header, std::mem::take(&mut value).bytes(), false);
                }
                path.pop();
            }
            Event::Text(text) => {
                let text = text.decode().map_err(|_| malformed())?;
                push_text(&path, &mut key, &mut value, &text)?;
            }
            Event::GeneralRef(reference) => {
                let character = match reference.resolve_char_ref().map_err(|_| malformed())? {
                    Some(character) => character,
                    None => named_entity(&reference)?,
                };
                let text = character.encode_utf8(&mut [0; 4]).to_owned();
                push_text(&path, &mut key, &mut value, &text)?;
            }
            Event::Decl(_) | Event::Comment(_) => {}
            Event::Eof if path.is_empty() => break,
            _ => return Err(malformed()),
        }
    }
    String::from_utf8(header).map_err(|_| malformed())
}

fn named_entity(name: &[u8]) -> Result<char, ApiError> {
    match name {
        b"amp" => Ok('&'),
        b"lt" => Ok('<'),
        b"gt" => Ok('>'),
        b"quot" => Ok('"'),
        b"apos" => Ok('\''),
        _ => Err(malformed()),
    }
}

/// Appends text to the key or value around it; elsewhere only white space is allowed.
fn push_text(
    path: &[Vec<u8>],
    key: &mut String,
    value: &mut String,
    text: &str,
) -> Result<(), ApiError> {
    let inside = |last: &'static [u8]| path.iter().eq([&b"Tagging"[..], b"TagSet", b"Tag", last]);
    if inside(b"Key") {
        key.push_str(text);
    } else if inside(b"Value") {
        value.push_str(text);
    } else if !text.trim().is_empty() {
        return Err(malformed());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_a_query_string() {
        let tag =
            |key: &str, value: &str| format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>");
        let document = |tags: &str| format!("<Tagging> <TagSet>\n{tags}</TagSet></Tagging>");
        let two = document(&(tag("a b", "c&amp;d") + &tag("e", "")));
        assert_eq!(tagging_header(&two).expect("valid"), "a%20b=c%26d&e=");
        assert_eq!(tagging_header(&document(&tag("&#x41;", "é"))).expect("valid"), "A=%C3%A9");
        assert_eq!(tagging_header(&document("")).expect("valid"), "");
        for bad in [
            "<Tagging><TagSet>",
            "<Tagging>x</Tagging>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><Tagging/>",
            &document(&tag("&b;", "")),
            &document(&tag("", "x")),
            "<a><a><a><a><a></a></a></a></a></a>",
        ] {
            assert!(tagging_header(bad).is_err(), "{bad}");
        }
    }
}
