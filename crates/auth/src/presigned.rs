//! Presigned URLs: Signature Version 4 in query parameters.

use std::borrow::Cow;

use http::Uri;
use http::request::Parts;
use http::uri::PathAndQuery;

use super::Authenticator;
use super::amz_date::{AmzDate, display_time};
use super::carried::{CarriedHeaders, is_amz, is_condition};
use super::error;
use super::limits::{CLOCK_SKEW_SECONDS_MAX, PRESIGNED_EXPIRY_SECONDS_MAX};
use super::query::{Parameter, Query, decoded};
use super::sigv4::{ALGORITHM, ALGORITHM_ASYMMETRIC, Claim, Place, Scope, check_all_signed};
use liteio_wire::reply::{ApiError, ErrorCode};

/// The decoded parameters of a presigned URL.
#[derive(Debug, Default)]
pub(super) struct PresignedQuery<'a> {
    algorithm: Option<Cow<'a, str>>,
    pub(super) credential: Option<Cow<'a, str>>,
    date: Option<Cow<'a, str>>,
    expires: Option<Cow<'a, str>>,
    signed_headers: Option<Cow<'a, str>>,
    signature: Option<Cow<'a, str>>,
    pub(super) content_sha256: Option<Cow<'a, str>>,
    pub(super) security_token: Option<Cow<'a, str>>,
}

fn parameters_error(message: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::new(ErrorCode::AuthorizationQueryParametersError, message)
}

impl<'a> PresignedQuery<'a> {
    /// The Version 4 signature in a query, if there is one.
    ///
    /// # Errors
    /// `AuthorizationQueryParametersError` when a parameter is repeated or unreadable.
    pub(super) fn find(query: &Query<'a>) -> Result<Option<Box<Self>>, ApiError> {
        let (mut presigned, mut is_version_4) = (PresignedQuery::default(), false);
        for parameter in query.parameters() {
            refuse_disguised(parameter)?;
            let &Parameter { name, value, .. } = parameter;
            let Some(place) = presigned.place(name) else { continue };
            let text = match decoded(value) {
                Cow::Borrowed(_) => Cow::Borrowed(value),
                Cow::Owned(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => Cow::Owned(text),
                    Err(_) => return Err(parameters_error(format!("{name} is not UTF-8"))),
                },
            };
            if place.replace(text).is_some() {
                return Err(parameters_error(format!("{name} is given more than once")));
            }
            is_version_4 |=
                matches!(name, "X-Amz-Algorithm" | "X-Amz-Credential") || name == "X-Amz-Signature";
        }
        Ok(is_version_4.then(|| Box::new(presigned)))
    }

    fn place(&mut self, name: &str) -> Option<&mut Option<Cow<'a, str>>> {
        match name.strip_prefix("X-Amz-")? {
            "Algorithm" => Some(&mut self.algorithm),
            "Credential" => Some(&mut self.credential),
            "Date" => Some(&mut self.date),
            "Expires" => Some(&mut self.expires),
            "SignedHeaders" => Some(&mut self.signed_headers),
            "Signature" => Some(&mut self.signature),
            "Content-Sha256" => Some(&mut self.content_sha256),
            "Security-Token" | "S3session-Token" => Some(&mut self.security_token),
            _ => None,
        }
    }
}

/// Refuses a signature parameter whose name is percent-encoded without need: this layer would not
/// recognize it, but a later layer that decodes it would.
fn refuse_disguised(parameter: &Parameter<'_>) -> Result<(), ApiError> {
    if !parameter.is_encoded {
        return Ok(());
    }
    let decoded = percent_encoding::percent_decode_str(parameter.name).decode_utf8_lossy();
    match is_signature_parameter(&decoded) {
        true => Err(parameters_error(format!("The name of {decoded} must not be encoded"))),
        false => Ok(()),
    }
}

fn is_signature_parameter(name: &str) -> bool {
    matches!(
        name,
        "X-Amz-Algorithm"
            | "X-Amz-Credential"
            | "X-Amz-Date"
            | "X-Amz-Expires"
            | "X-Amz-SignedHeaders"
            | "X-Amz-Signature"
            | "X-Amz-Content-Sha256"
            | "X-Amz-Security-Token"
            | "X-Amz-S3session-Token"
    )
}

/// A presigned request without its signature.
pub(super) struct Stripped {
    uri: Uri,
    carried: CarriedHeaders,
}

impl Stripped {
    /// Removes the signature and the carried headers from a query. Both were signed.
    ///
    /// # Errors
    /// `InvalidArgument` if a parameter cannot be a header, or is repeated.
    pub(super) fn of(uri: &Uri, query: &Query<'_>) -> Result<Stripped, ApiError> {
        let mut kept = uri.path().to_owned();
        let mut separator = '?';
        let mut carried = CarriedHeaders::default();
        for parameter in query.parameters() {
            if is_signature_parameter(parameter.name) {
                continue;
            }
            let name = parameter.decoded_name();
            if is_condition(&name) {
                carried.add(&name, &decoded(parameter.value))?;
            } else if !is_amz(&name) {
                kept.push(separator);
                kept.push_str(parameter.pair);
                separator = '&';
            } else if !is_checksum(&name) {
                carried.add(&name, &decoded(parameter.value))?;
            }
        }
        Ok(Stripped { uri: with_path_and_query(uri, kept)?, carried })
    }

    /// Sets the URI, and the headers that the query carried, in the request.
    pub(super) fn put_into(self, parts: &mut Parts) {
        parts.uri = self.uri;
        self.carried.insert_into(&mut parts.headers);
    }
}

/// `true` for a checksum parameter. S3 ignores checksums in a query: some signers put the checksum
/// of an empty body there.
fn is_checksum(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with(b"x-amz-checksum-") || name == b"x-amz-sdk-checksum-algorithm"
}

/// The same URI with another path and query.
pub(super) fn with_path_and_query(uri: &Uri, path_and_query: String) -> Result<Uri, ApiError> {
    let invalid = || ApiError::new(ErrorCode::InvalidURI, "Couldn't parse the specified URI.");
    let mut parts = uri.clone().into_parts();
    let kept = PathAndQuery::from_maybe_shared(path_and_query).map_err(|_| invalid())?;
    parts.path_and_query = Some(kept);
    Uri::from_parts(parts).map_err(|_| invalid())
}

impl Authenticator {
    /// Parses the query of a presigned URL.
    pub(super) fn claim_of_query<'a>(
        &'a self,
        parts: &'a Parts,
        query: &'a PresignedQuery<'a>,
        token: Option<&str>,
    ) -> Result<Claim<'a>, ApiError> {
        match query.algorithm.as_deref() {
            Some(ALGORITHM) => {}
            Some(ALGORITHM_ASYMMETRIC) => return Err(error::signature_version_4a()),
            Some(_) => {
                let message = "X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\"";
                return Err(parameters_error(message));
            }
            None => return Err(missing_parameters()),
        }
        let required =
            |value: &'a Option<Cow<'a, str>>| value.as_deref().ok_or_else(missing_parameters);
        let credential = required(&query.credential)?;
        let date = required(&query.date)?;
        let expires = required(&query.expires)?;
        let signed_headers = required(&query.signed_headers)?;
        let signature = required(&query.signature)?;
        let date = AmzDate::parse(date).ok_or_else(|| {
            parameters_error(
                "X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"",
            )
        })?;
        let expires_seconds = parse_expires(expires)?;
        let scope = Scope::parse(credential, Place::Query, &self.rules, &date)?;
        let age_ms = Some(self.check_life(&date, expires_seconds)?);
        let (access_key, signing_key) = self.signer(&scope, token)?;
        check_all_signed(parts, signed_headers, Place::Query, &self.rules)?;
        Ok(Claim { access_key, scope, date, age_ms, signed_headers, signature, signing_key })
    }

    /// The time since a URL was signed, in milliseconds, if it is valid by now.
    fn check_life(&self, date: &AmzDate, expires_seconds: i64) -> Result<u64, ApiError> {
        let now = self.now_unix_seconds();
        let signed = self.signers_unix_seconds(date.unix_seconds());
        if date.unix_seconds() > signed.saturating_add(CLOCK_SKEW_SECONDS_MAX) {
            return Err(error::access_denied("Request is not valid yet")
                .with("X-Amz-Date", date.as_str())
                .with("ServerTime", display_time(now)));
        }
        let end = date.unix_seconds().saturating_add(expires_seconds);
        // `>=`, so that a URL valid for 0 seconds has expired from the start.
        if now >= end {
            let expired = error::access_denied("Request has expired")
                .with("X-Amz-Expires", expires_seconds.to_string())
                .with("Expires", display_time(end))
                .with("ServerTime", display_time(now));
            return Err(self.note_moved_clock(expired, end));
        }
        let age_s = now.saturating_sub(date.unix_seconds());
        Ok(u64::try_from(age_s).unwrap_or(0).saturating_mul(1000))
    }
}

fn missing_parameters() -> ApiError {
    parameters_error(
        "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, \
         X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.",
    )
}

fn parse_expires(text: &str) -> Result<i64, ApiError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(parameters_error("X-Amz-Expires should be a number"));
    }
    if digits.len() < text.len() {
        return Err(parameters_error("X-Amz-Expires must be non-negative"));
    }
    match digits.parse() {
        Ok(seconds) if seconds <= PRESIGNED_EXPIRY_SECONDS_MAX => Ok(seconds),
        _ => Err(parameters_error(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given \
             X-Amz-Expires must be less than 604800 seconds",
        )),
    }
}
