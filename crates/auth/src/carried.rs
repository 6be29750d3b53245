//! Headers carried in the query of a presigned URL. Many signers put `x-amz-…` headers and conditions
//! there, so that the sender need not add them, and S3 treats them as headers.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::error;
use liteio_wire::reply::ApiError;

/// The headers found in a query.
#[derive(Debug, Default)]
pub(super) struct CarriedHeaders(HeaderMap);

/// `true` for a parameter that is such a header.
pub(super) fn is_amz(name: &[u8]) -> bool {
    name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"x-amz-"))
}

/// `true` for a condition. S3 reads it as the header of its name. (Recorded on AWS in LocalStack's
/// `test_pre_signed_url_if_none_match`.)
pub(super) fn is_condition(name: &[u8]) -> bool {
    let conditions: [&[u8]; 4] =
        [b"if-match", b"if-none-match", b"if-modified-since", b"if-unmodified-since"];
    conditions.iter().any(|condition| name.eq_ignore_ascii_case(condition))
}

/// The error for a repeated parameter.
pub(super) fn repeated(name: &[u8]) -> ApiError {
    let name = String::from_utf8_lossy(name).into_owned();
    error::invalid_argument(format!("{name} is given more than once")).with("ArgumentName", name)
}

impl CarriedHeaders {
    /// Adds a decoded parameter.
    ///
    /// # Errors
    /// `InvalidArgument` if it cannot be a header, or repeats an earlier one.
    pub(super) fn add(&mut self, name: &[u8], value: &[u8]) -> Result<(), ApiError> {
        let header = HeaderName::from_bytes(name).ok().zip(HeaderValue::from_bytes(value).ok());
        let Some((header, value)) = header else {
            let name = String::from_utf8_lossy(name).into_owned();
            let message = format!("The query parameter {name} cannot be a header");
            return Err(error::invalid_argument(message).with("ArgumentName", name));
        };
        match self.0.insert(header, value) {
            None => Ok(()),
            Some(_) => Err(repeated(name)),
        }
    }

    /// Adds them to the headers of the request. Existing headers take precedence, except over a
    /// condition: every `x-amz-…` header is signed, a condition in a header need not be.
    pub(super) fn insert_into(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            if is_condition(name.as_str().as_bytes()) {
                headers.insert(name, value.clone());
                continue;
            }
            headers.entry(name).or_insert_with(|| value.clone());
        }
    }
}
