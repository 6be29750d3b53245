//! The part list in the CompleteMultipartUpload document.
//!
//! Parsed here, because s3s knows only the first five checksum algorithms.

use bytes::Bytes;
use http::HeaderMap;
use liteio_store::ChecksumAlgorithm;
use s3s::S3Result;
use s3s::dto::ETag;
use s3s::xml::{DeError, DeResult, Deserializer};

use super::{checksum, error};

/// The size of the object, as announced in a header of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnnouncedBytes(pub(super) u64);

const OBJECT_SIZE: &str = "x-amz-mp-object-size";

impl AnnouncedBytes {
    /// Removes the header from a request. s3s answers with another code to a wrong one, and reads
    /// `5.0` as 5.
    ///
    /// # Errors
    /// `InvalidRequest`.
    pub(super) fn take(headers: &mut HeaderMap) -> S3Result<Option<AnnouncedBytes>> {
        let Some(sent) = headers.remove(OBJECT_SIZE) else { return Ok(None) };
        let text = String::from_utf8_lossy(sent.as_bytes());
        if let Ok(bytes) = text.parse() {
            return Ok(Some(AnnouncedBytes(bytes)));
        }
        let fault = match text.parse::<i64>() {
            Ok(_) => "is less than zero",
            Err(_) => "is invalid",
        };
        let text = error::quoted(&text);
        Err(error::invalid_request(format!("Value for {OBJECT_SIZE} header {fault}: '{text}'")))
    }
}

/// The parts in document order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CompletedParts(pub(super) Vec<CompletedPart>);

/// One part as listed by the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CompletedPart {
    pub(super) number: Option<i32>,
    pub(super) etag: Option<ETag>,
    /// Values in base64, not decoded yet.
    pub(super) checksums: Vec<(ChecksumAlgorithm, String)>,
}

impl CompletedParts {
    pub(super) const OPERATION: &'static str = "CompleteMultipartUpload";
    /// The empty document that s3s gets instead.
    pub(super) const EMPTY: Bytes =
        Bytes::from_static(b"<CompleteMultipartUpload></CompleteMultipartUpload>");

    /// Parses a document.
    ///
    /// # Errors
    /// `MalformedXML`.
    pub(super) fn of(document: &[u8]) -> S3Result<CompletedParts> {
        let mut parts = Vec::new();
        let mut parser = Deserializer::new(document);
        let parsed = parser.named_element(Self::OPERATION, |parser| {
            parser.for_each_element(|parser, name| match name {
                b"Part" => {
                    parts.push(part(parser)?);
                    Ok(())
                }
                _ => Err(DeError::UnexpectedTagName),
            })
        });
        match parsed.and_then(|()| parser.expect_eof()) {
            Ok(()) => Ok(CompletedParts(parts)),
            Err(_) => Err(error::malformed_xml()),
        }
    }
}

fn part(parser: &mut Deserializer<'_>) -> DeResult<CompletedPart> {
    let mut part = CompletedPart::default();
    parser.for_each_element(|parser, name| {
        let is_repeated = match name {
            b"PartNumber" => part.number.replace(parser.content()?).is_some(),
            b"ETag" => part.etag.replace(parser.content()?).is_some(),
            name => {
                let algorithm = checksum::algorithm_of_element(name);
                let algorithm = algorithm.ok_or(DeError::UnexpectedTagName)?;
                let is_repeated = part.checksums.iter().any(|(other, _)| *other == algorithm);
                part.checksums.push((algorithm, parser.content()?));
                is_repeated
            }
        };
        if is_repeated { Err(DeError::DuplicateField) } else { Ok(()) }
    })?;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_announced_size_is_a_number() {
        for (text, expected) in [("0", Some(0)), ("5", Some(5)), ("5497558138880", Some(5 << 40))] {
            let mut headers = HeaderMap::new();
            headers.insert(OBJECT_SIZE, text.parse().expect("a header"));
            let taken = AnnouncedBytes::take(&mut headers).expect("valid");
            assert_eq!((taken, headers.len()), (expected.map(AnnouncedBytes), 0));
        }
        for text in ["size", "-1", "5.0", "5x", "0x5", " ", "99999999999999999999"] {
            let mut headers = HeaderMap::new();
            headers.insert(OBJECT_SIZE, text.parse().expect("a header"));
            let refused = AnnouncedBytes::take(&mut headers).expect_err(text);
            assert_eq!(refused.code().as_str(), "InvalidRequest", "{text}");
            assert!(refused.message().is_some_and(|message| message.contains(text)), "{text}");
        }
    }

    fn of(inner: &str) -> Option<CompletedParts> {
        let document = format!("<CompleteMultipartUpload>{inner}</CompleteMultipartUpload>");
        CompletedParts::of(document.as_bytes()).ok()
    }

    #[test]
    fn parts_are_read_with_any_checksum_and_what_is_twice_is_refused() {
        let found = of("<Part><PartNumber>1</PartNumber><ETag>\"ab\"</ETag>\
                        <ChecksumXXHASH3>AA==</ChecksumXXHASH3></Part><Part><ETag>cd</ETag></Part>");
        let CompletedParts(parts) = found.expect("well-formed");
        assert_eq!((parts.len(), parts[0].number), (2, Some(1)));
        assert_eq!(parts[0].checksums, [(ChecksumAlgorithm::Xxhash3, "AA==".to_owned())]);
        assert_eq!((parts[1].number, parts[1].checksums.len()), (None, 0));
        assert_eq!(of(""), Some(CompletedParts::default()));
        for wrong in [
            "<Part><PartNumber>1</PartNumber><PartNumber>2</PartNumber></Part>",
            "<Part><ChecksumMD5>a</ChecksumMD5><ChecksumMD5>a</ChecksumMD5></Part>",
            "<Part><PartNumber>one</PartNumber></Part>",
            "<Part><ChecksumMD4>a</ChecksumMD4></Part>",
            "<Other></Other>",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
