//! Headers carried in the query of a presigned URL. Many signers put `x-amz-…` headers there, so
//! that the sender need not add them, and S3 treats them as headers.

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

    /// Adds them to the headers of the request; existing headers take precedence.
    pub(super) fn insert_into(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            headers.entry(name).or_insert_with(|| value.clone());
        }
    }
}
