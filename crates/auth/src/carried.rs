//! Headers carried in the query of a presigned URL: many signers put `x-amz-…` headers there, so that the
//! sender need not add them, and S3 treats them as headers.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::error;
use liteio_wire::reply::ApiError;

/// The headers found in a query.
#[derive(Debug, Default)]
pub(super) struct CarriedHeaders(HeaderMap);

/// True for a parameter that is such a header.
pub(super) fn is_amz(name: &[u8]) -> bool {
    name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"x-amz-"))
}

/// The error of a parameter that is given twice.
pub(super) fn repeated(name: &[u8]) -> ApiError {
    let name = String::from_utf8_lossy(name).into_owned();
    error::invalid_argument(format!("{name} is given more than once")).with("ArgumentName", name)
}

impl CarriedHeaders {
    /// Adds a parameter, decoded.
    ///
    /// # Errors
    /// `InvalidArgument` when it cannot be a header or is one of those before.
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

    /// Makes them headers of the request, but for those that it has already.
    pub(super) fn insert_into(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            headers.entry(name).or_insert_with(|| value.clone());
        }
    }
}
