//! [`PutRequest`]: a PutObject with the checks of its headers that s3s makes for other operations.

use http::HeaderName;
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, HeaderMap,
};
use s3s::dto::StreamingBlob;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::authorized::Authorized;
use super::checksum::CONTENT_MD5;
use super::details::Details;
use super::headers::header;
use super::{error, request_headers};

const WRITE_OFFSET: HeaderName = HeaderName::from_static("x-amz-write-offset-bytes");
const BUCKET_KEY: HeaderName =
    HeaderName::from_static("x-amz-server-side-encryption-bucket-key-enabled");

/// The spellings of a flag that s3s takes in headers of other operations.
const FLAGS: [&str; 4] = ["true", "True", "false", "False"];

/// The end of the names of headers whose values are secret.
const CUSTOMER_KEY: &str = "-customer-key";

/// Headers besides `x-amz-…` that the operation reads.
const TEXTS: [HeaderName; 6] = [
    CACHE_CONTROL,
    CONTENT_DISPOSITION,
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_MD5,
    CONTENT_TYPE,
];

/// A PutObject request, authorized. Conditions, user metadata and system headers beyond ASCII are in
/// its extensions.
pub(super) type PutRequest = Authorized<StreamingBlob>;

impl PutRequest {
    /// The offset of an append.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub(super) fn write_offset(&self) -> S3Result<Option<i64>> {
        let Some(sent) = header(&self.headers, WRITE_OFFSET) else { return Ok(None) };
        sent.parse().map(Some).map_err(|_| invalid_header(&WRITE_OFFSET, sent))
    }

    /// Refuses headers whose text the operation would take for none or for another one: those beyond
    /// ASCII, repeated ones, and a flag that is none.
    ///
    /// # Errors
    /// `InvalidArgument`; `InvalidRequest` for a repeated header.
    pub(super) fn check_texts(&self) -> S3Result<()> {
        check_texts(&self.headers)
    }
}

fn check_texts(headers: &HeaderMap) -> S3Result<()> {
    for (name, value) in headers {
        // Asked about the few that are no text only: nearly all requests have none.
        let is_read = || request_headers::is_handled(name) || TEXTS.contains(name);
        if value.to_str().is_err() && is_read() {
            let sent = String::from_utf8_lossy(value.as_bytes());
            return Err(match name.as_str().ends_with(CUSTOMER_KEY) {
                true => s3_error!(Details::named(name), InvalidArgument, "{}", invalid(name)),
                false => invalid_header(name, &sent),
            });
        }
    }
    let is_repeated = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
    // As many names as values means that none is repeated.
    if headers.keys_len() != headers.len()
        && let Some(name) = TEXTS.iter().find(is_repeated)
    {
        let message = format!("The header {name} is given more than once");
        return Err(S3Error::with_message(S3ErrorCode::InvalidRequest, message));
    }
    match header(headers, BUCKET_KEY) {
        Some(sent) if !FLAGS.contains(&sent) => Err(invalid_header(&BUCKET_KEY, sent)),
        _ => Ok(()),
    }
}

fn invalid_header(name: &HeaderName, sent: &str) -> S3Error {
    let details = Details::argument(name, error::quoted(sent));
    s3_error!(details, InvalidArgument, "{}", invalid(name))
}

fn invalid(name: &HeaderName) -> String {
    format!("The header {name} is invalid.")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn code(sent: &[(&'static str, &[u8])]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(*name, HeaderValue::from_bytes(value).expect("a header"));
        }
        check_texts(&headers).err().map(|error| error.code().as_str().to_owned())
    }

    #[test]
    fn a_key_of_a_customer_is_not_shown() {
        for (name, is_shown) in [
            ("x-amz-server-side-encryption-customer-key", false),
            ("x-amz-server-side-encryption-customer-key-md5", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_bytes(b"secret\xe9").expect("a header"));
            let error = check_texts(&headers).expect_err("it is no text");
            let details = error.source().map(ToString::to_string).expect("details");
            assert!(details.contains(name), "{details}");
            let shown = format!("{details} {}", error.message().unwrap_or_default());
            assert_eq!(shown.contains("secret"), is_shown, "{shown}");
        }
    }

    #[test]
    fn headers_that_would_be_read_as_others_are_refused() {
        let bucket_key = "x-amz-server-side-encryption-bucket-key-enabled";
        for accepted in [
            &[("content-type", &b"text/plain"[..]), ("x-amz-acl", b"private")][..],
            &[("x-other", b"\xff"), ("user-agent", b"caf\xe9")],
            &[("x-amz-user-agent", b"caf\xe9"), ("x-amz-unknown", b"\xff")],
            &[("accept", b"a"), ("accept", b"b")],
            &[(bucket_key, b"True")],
            &[],
        ] {
            assert_eq!(code(accepted), None, "{accepted:?}");
        }
        for refused in [
            &[("x-amz-tagging", &b"a=\xff"[..])][..],
            &[("x-amz-storage-class", b"STANDARD\xe9")],
            &[("content-md5", b"\xe9")],
            &[(bucket_key, b"yes")],
            &[(bucket_key, b"TRUE")],
        ] {
            assert_eq!(code(refused).as_deref(), Some("InvalidArgument"), "{refused:?}");
        }
        for name in TEXTS {
            let name: &'static str = match name {
                CONTENT_TYPE => "content-type",
                CACHE_CONTROL => "cache-control",
                CONTENT_ENCODING => "content-encoding",
                CONTENT_DISPOSITION => "content-disposition",
                CONTENT_LANGUAGE => "content-language",
                _ => "content-md5",
            };
            assert_eq!(code(&[(name, b"a"), (name, b"b")]).as_deref(), Some("InvalidRequest"));
        }
    }
}
