//! Digests and checksums: parses the ones announced for a body, and writes the ones of objects and
//! parts into responses.

use http::{Extensions, HeaderMap, HeaderName};
use liteio_store::{ChecksumAlgorithm, ChecksumType, ChecksumValue, Digests, ObjectChecksum};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::details::{Details, quoted};
use super::headers::{header, header_value};
use super::xml::XmlWriter;
use liteio_auth::TrailerHandle;

/// The checksum that S3 computes if the client requests none.
pub(super) const DEFAULT_ALGORITHM: ChecksumAlgorithm = ChecksumAlgorithm::Crc64Nvme;

const HEADER_PREFIX: &str = "x-amz-checksum-";
const ANNOUNCED: HeaderName = HeaderName::from_static("x-amz-sdk-checksum-algorithm");
pub(super) const CONTENT_MD5: HeaderName = HeaderName::from_static("content-md5");
const TYPE_HEADER: HeaderName = HeaderName::from_static("x-amz-checksum-type");

/// The names of an algorithm: S3's name, its header and its XML element.
const fn spelling(algorithm: ChecksumAlgorithm) -> (&'static str, &'static str, &'static str) {
    match algorithm {
        ChecksumAlgorithm::Crc32 => ("CRC32", "x-amz-checksum-crc32", "ChecksumCRC32"),
        ChecksumAlgorithm::Crc32c => ("CRC32C", "x-amz-checksum-crc32c", "ChecksumCRC32C"),
        ChecksumAlgorithm::Crc64Nvme => {
            ("CRC64NVME", "x-amz-checksum-crc64nvme", "ChecksumCRC64NVME")
        }
        ChecksumAlgorithm::Sha1 => ("SHA1", "x-amz-checksum-sha1", "ChecksumSHA1"),
        ChecksumAlgorithm::Sha256 => ("SHA256", "x-amz-checksum-sha256", "ChecksumSHA256"),
        ChecksumAlgorithm::Md5 => ("MD5", "x-amz-checksum-md5", "ChecksumMD5"),
        ChecksumAlgorithm::Sha512 => ("SHA512", "x-amz-checksum-sha512", "ChecksumSHA512"),
        ChecksumAlgorithm::Xxhash64 => ("XXHASH64", "x-amz-checksum-xxhash64", "ChecksumXXHASH64"),
        ChecksumAlgorithm::Xxhash3 => ("XXHASH3", "x-amz-checksum-xxhash3", "ChecksumXXHASH3"),
        ChecksumAlgorithm::Xxhash128 => {
            ("XXHASH128", "x-amz-checksum-xxhash128", "ChecksumXXHASH128")
        }
    }
}

pub(super) fn name(algorithm: ChecksumAlgorithm) -> &'static str {
    spelling(algorithm).0
}

pub(super) fn type_name(kind: ChecksumType) -> &'static str {
    match kind {
        ChecksumType::FullObject => "FULL_OBJECT",
        ChecksumType::Composite => "COMPOSITE",
    }
}

/// Parses an algorithm name, as in `x-amz-checksum-algorithm`.
pub(super) fn parse_algorithm(text: &str) -> S3Result<ChecksumAlgorithm> {
    let found = ChecksumAlgorithm::ALL.into_iter().find(|it| name(*it).eq_ignore_ascii_case(text));
    found.ok_or_else(|| {
        s3_error!(
            InvalidRequest,
            "Checksum algorithm provided is unsupported. Please try again with any of the valid \
             types: [CRC32, CRC32C, CRC64NVME, MD5, SHA1, SHA256, SHA512, XXHASH128, XXHASH3, XXHASH64]"
        )
    })
}

/// Parses the name of a type in any case, as S3 reads the names of algorithms.
pub(super) fn parse_type(text: &str) -> S3Result<ChecksumType> {
    let all = [ChecksumType::FullObject, ChecksumType::Composite];
    let found = all.into_iter().find(|it| type_name(*it).eq_ignore_ascii_case(text));
    found.ok_or_else(|| {
        s3_error!(InvalidRequest, "Value for x-amz-checksum-type header is invalid.")
    })
}

/// The digests that the client announced for the request body.
#[derive(Debug, Default)]
pub(super) struct BodyChecks {
    content_md5: Option<[u8; 16]>,
    /// The algorithm of the announced checksum, and its value, unless the value comes in a trailer
    /// after the body.
    checksum: Option<(ChecksumAlgorithm, Option<ChecksumValue>)>,
    trailer: Option<TrailerHandle>,
}

impl BodyChecks {
    /// Reads `Content-MD5`, the `x-amz-checksum-…` headers and the announcement of a trailer.
    pub(super) fn from_request(
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> S3Result<BodyChecks> {
        let trailer = extensions.get::<TrailerHandle>().cloned();
        let mut checksum = value_in_headers(headers)?.map(|value| (value.algorithm, Some(value)));
        for name in trailer.iter().flat_map(|trailer| trailer.declared()) {
            let Some(algorithm) = algorithm_of_header(name.as_str())? else { continue };
            if checksum.replace((algorithm, None)).is_some() {
                return Err(several_checksums());
            }
        }
        check_announced(headers, checksum.map(|(algorithm, _)| algorithm))?;
        Ok(BodyChecks { content_md5: content_md5(headers)?, checksum, trailer })
    }

    /// Reads only `Content-MD5`: for requests whose checksum headers describe an object and not the
    /// body.
    pub(super) fn content_md5_only(headers: &HeaderMap) -> S3Result<BodyChecks> {
        Ok(BodyChecks { content_md5: content_md5(headers)?, ..BodyChecks::default() })
    }

    /// True if no digest was announced.
    pub(super) fn is_empty(&self) -> bool {
        self.content_md5.is_none() && self.checksum.is_none()
    }

    /// The algorithm of the announced checksum.
    pub(super) fn algorithm(&self) -> Option<ChecksumAlgorithm> {
        self.checksum.map(|(algorithm, _)| algorithm)
    }

    /// Compares the announced digests with the computed ones. Call it after the end of the body: a
    /// checksum in a trailer arrives only then.
    pub(super) fn verify(&self, digests: &Digests) -> S3Result<()> {
        // AWS names the expected digest in hexadecimal digits, and the calculated one in base64.
        self.verify_as(digests, |md5| hex_simd::encode_to_string(md5, hex_simd::AsciiCase::Lower))
    }

    /// As [`verify`](Self::verify), for a part: AWS names both digests in base64.
    pub(super) fn verify_part(&self, digests: &Digests) -> S3Result<()> {
        self.verify_as(digests, |md5| base64_simd::STANDARD.encode_to_string(md5))
    }

    fn verify_as(&self, digests: &Digests, text: impl Fn([u8; 16]) -> String) -> S3Result<()> {
        if let Some(md5) = self.content_md5.filter(|md5| *md5 != digests.md5) {
            return Err(s3_error!(
                Details::of("ExpectedDigest", text(md5))
                    .and("CalculatedDigest", base64_simd::STANDARD.encode_to_string(digests.md5)),
                BadDigest,
                "The Content-MD5 you specified did not match what we received."
            ));
        }
        let Some((algorithm, value)) = self.checksum else { return Ok(()) };
        let expected = match value {
            Some(value) => value,
            None => self.value_in_trailer(algorithm)?,
        };
        match digests.checksum(algorithm) {
            Some(computed) if *computed == expected => Ok(()),
            _ => Err(mismatch(algorithm)),
        }
    }

    fn value_in_trailer(&self, algorithm: ChecksumAlgorithm) -> S3Result<ChecksumValue> {
        let trailers = self.trailer.as_ref().and_then(TrailerHandle::get);
        let value = trailers.and_then(|trailers| header(trailers, spelling(algorithm).1));
        match value {
            Some(text) => parse_value(algorithm, text).ok_or_else(|| invalid_value(algorithm)),
            None => Err(invalid_value(algorithm)),
        }
    }
}

/// The checksum in the headers; more than one is an error.
fn value_in_headers(headers: &HeaderMap) -> S3Result<Option<ChecksumValue>> {
    let mut found = None;
    for (name, value) in headers {
        let Some(algorithm) = algorithm_of_header(name.as_str())? else { continue };
        let value = value.to_str().ok().and_then(|text| parse_value(algorithm, text));
        let value = value.ok_or_else(|| invalid_value(algorithm))?;
        if found.replace(value).is_some() {
            return Err(several_checksums());
        }
    }
    Ok(found)
}

/// The algorithm of a checksum header; `None` for all other headers.
fn algorithm_of_header(name: &str) -> S3Result<Option<ChecksumAlgorithm>> {
    let Some(rest) = name.strip_prefix(HEADER_PREFIX) else { return Ok(None) };
    if matches!(rest, "algorithm" | "mode" | "type") {
        return Ok(None);
    }
    match ChecksumAlgorithm::ALL.into_iter().find(|it| spelling(*it).1 == name) {
        Some(algorithm) => Ok(Some(algorithm)),
        None => Err(s3_error!(
            InvalidRequest,
            "The algorithm type you specified in x-amz-checksum- header is invalid."
        )),
    }
}

/// Checks that `x-amz-sdk-checksum-algorithm` names the algorithm of the sent checksum.
fn check_announced(headers: &HeaderMap, sent: Option<ChecksumAlgorithm>) -> S3Result<()> {
    let Some(announced) = header(headers, ANNOUNCED) else { return Ok(()) };
    let announced = ChecksumAlgorithm::ALL
        .into_iter()
        .find(|algorithm| name(*algorithm).eq_ignore_ascii_case(announced));
    match (announced, sent) {
        (Some(announced), Some(sent)) if announced == sent => Ok(()),
        (Some(_), None) => Err(s3_error!(
            InvalidRequest,
            "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or \
             x-amz-trailer headers were found."
        )),
        _ => Err(s3_error!(
            InvalidRequest,
            "Value for x-amz-sdk-checksum-algorithm header is invalid."
        )),
    }
}

/// The algorithms to compute for appended bytes: the object's stored algorithm and the one that the
/// client sends. They may differ only if the stored one was our default and not a client's choice.
pub(super) fn of_both(
    kept: Option<ChecksumAlgorithm>,
    sent: Option<ChecksumAlgorithm>,
) -> S3Result<Vec<ChecksumAlgorithm>> {
    match (kept, sent) {
        (Some(kept), Some(sent)) if kept == sent => Ok(vec![kept]),
        (Some(kept), Some(sent)) if kept != DEFAULT_ALGORITHM => {
            Err(other_algorithm(kept, Some(sent)))
        }
        (kept, sent) => Ok(kept.into_iter().chain(sent).collect()),
    }
}

/// The error for bytes with another checksum algorithm than `kept`, or without a checksum.
pub(super) fn other_algorithm(kept: ChecksumAlgorithm, sent: Option<ChecksumAlgorithm>) -> S3Error {
    let name = |algorithm| name(algorithm).to_ascii_lowercase();
    let sent = sent.map_or_else(|| "null".to_owned(), name);
    let kept = name(kept);
    S3Error::with_message(
        S3ErrorCode::InvalidRequest,
        format!(
            "Checksum Type mismatch occurred, expected checksum Type: {kept}, actual checksum Type: {sent}"
        ),
    )
}

fn content_md5(headers: &HeaderMap) -> S3Result<Option<[u8; 16]>> {
    let Some(value) = headers.get(CONTENT_MD5) else { return Ok(None) };
    let md5 = base64_simd::STANDARD.decode_to_vec(value.as_bytes()).ok();
    match md5.and_then(|md5| md5.try_into().ok()) {
        Some(md5) => Ok(Some(md5)),
        None => Err(s3_error!(
            Details::of("Content-MD5", quoted(&String::from_utf8_lossy(value.as_bytes()))),
            InvalidDigest,
            "The Content-MD5 you specified was invalid."
        )),
    }
}

fn parse_value(algorithm: ChecksumAlgorithm, text: &str) -> Option<ChecksumValue> {
    let bytes = base64_simd::STANDARD.decode_to_vec(text).ok()?;
    ChecksumValue::new(algorithm, &bytes)
}

/// The algorithm of a checksum element in a document.
pub(super) fn algorithm_of_element(name: &[u8]) -> Option<ChecksumAlgorithm> {
    ChecksumAlgorithm::ALL.into_iter().find(|it| spelling(*it).2.as_bytes() == name)
}

/// Parses the checksum of a part in the CompleteMultipartUpload document.
pub(super) fn parse_element(algorithm: ChecksumAlgorithm, text: &str) -> S3Result<ChecksumValue> {
    parse_value(algorithm, text).ok_or_else(|| {
        S3Error::with_message(
            S3ErrorCode::InvalidRequest,
            format!("Value for {} is invalid.", spelling(algorithm).2),
        )
    })
}

/// The object checksum in the headers of CompleteMultipartUpload: of the whole object, or composite
/// with the suffix `-N`.
pub(super) fn object_checksum_in_headers(
    headers: &HeaderMap,
    upload_kind: Option<ChecksumType>,
) -> S3Result<Option<ObjectChecksum>> {
    let kind = header(headers, TYPE_HEADER).map(parse_type).transpose()?;
    let kind = kind.or(upload_kind);
    let mut found = None;
    for (name, value) in headers {
        let Some(algorithm) = algorithm_of_header(name.as_str())? else { continue };
        let text = value.to_str().map_err(|_| invalid_value(algorithm))?;
        let checksum =
            parse_object_checksum(algorithm, text, kind).ok_or_else(|| invalid_value(algorithm))?;
        if found.replace(checksum).is_some() {
            return Err(several_checksums());
        }
    }
    Ok(found)
}

fn parse_object_checksum(
    algorithm: ChecksumAlgorithm,
    text: &str,
    kind: Option<ChecksumType>,
) -> Option<ObjectChecksum> {
    let (text, parts) = match text.split_once('-') {
        Some((text, parts)) => (text, Some(parts.parse().ok()?)),
        None => (text, None),
    };
    let default = match parts {
        Some(_) => ChecksumType::Composite,
        None => algorithm.default_type(),
    };
    let value = parse_value(algorithm, text)?;
    Some(ObjectChecksum { value, kind: kind.unwrap_or(default), parts })
}

fn encode(value: &ChecksumValue) -> String {
    base64_simd::STANDARD.encode_to_string(value.bytes())
}

/// Base64, followed by `-N` for a composite checksum of N parts.
pub(super) fn text(checksum: &ObjectChecksum) -> String {
    match checksum.parts {
        Some(parts) if checksum.kind == ChecksumType::Composite => {
            format!("{}-{parts}", encode(&checksum.value))
        }
        _ => encode(&checksum.value),
    }
}

/// Adds the header of a checksum value, without its type.
pub(super) fn insert_value(headers: &mut HeaderMap, value: &ChecksumValue) -> S3Result<()> {
    let name = HeaderName::from_static(spelling(value.algorithm).1);
    headers.insert(name, header_value(&encode(value))?);
    Ok(())
}

/// Adds the headers of a part's checksum.
pub(super) fn insert_part(
    headers: &mut HeaderMap,
    value: &ChecksumValue,
    object: Option<&ObjectChecksum>,
) -> S3Result<()> {
    insert_value(headers, value)?;
    if let Some(object) = object {
        headers.insert(TYPE_HEADER, http::HeaderValue::from_static(type_name(object.kind)));
    }
    Ok(())
}

/// Adds the headers of an object's checksum.
pub(super) fn insert(headers: &mut HeaderMap, checksum: &ObjectChecksum) -> S3Result<()> {
    let name = HeaderName::from_static(spelling(checksum.value.algorithm).1);
    headers.insert(name, header_value(&text(checksum))?);
    headers.insert(TYPE_HEADER, http::HeaderValue::from_static(type_name(checksum.kind)));
    Ok(())
}

/// Writes the element of a part's checksum.
pub(super) fn write_value(xml: &mut XmlWriter, value: &ChecksumValue) {
    xml.value(spelling(value.algorithm).2, encode(value));
}

/// Writes the elements of an object's checksum for GetObjectAttributes, where a composite one has no
/// number of parts.
pub(super) fn write_attribute(xml: &mut XmlWriter, checksum: &ObjectChecksum) {
    write_value(xml, &checksum.value);
    xml.word("ChecksumType", type_name(checksum.kind));
}

/// Writes the elements of an object's checksum.
pub(super) fn write(xml: &mut XmlWriter, checksum: &ObjectChecksum) {
    xml.value(spelling(checksum.value.algorithm).2, text(checksum));
    xml.word("ChecksumType", type_name(checksum.kind));
}

/// The error for bytes that do not match the announced checksum.
pub(super) fn mismatch(algorithm: ChecksumAlgorithm) -> S3Error {
    S3Error::with_message(
        S3ErrorCode::BadDigest,
        format!("The {} you specified did not match the calculated checksum.", name(algorithm)),
    )
}

/// The error for a part in the list of a Complete with another checksum than the uploaded part.
pub(super) fn part_mismatch(algorithm: ChecksumAlgorithm, part: u16) -> S3Error {
    let name = name(algorithm).to_ascii_lowercase();
    S3Error::with_message(
        S3ErrorCode::BadDigest,
        format!("The {name} you specified for part {part} did not match what we received."),
    )
}

fn invalid_value(algorithm: ChecksumAlgorithm) -> S3Error {
    S3Error::with_message(
        S3ErrorCode::InvalidRequest,
        format!("Value for {} header is invalid.", spelling(algorithm).1),
    )
}

fn several_checksums() -> S3Error {
    s3_error!(
        InvalidRequest,
        "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
    )
}
