//! Signature Version 2: in presigned URLs and browser forms, where boto3 and the AWS CLI use it on
//! every endpoint outside of AWS by default; and in the Authorization header, where old clients use
//! it, if the rules allow that.
//!
//! It covers less than Version 4: not the host, no query parameter that only filters (`prefix`),
//! and no headers but Content-MD5, Content-Type and `x-amz-*`. Here every parameter that selects an
//! operation, a version or a part is covered, including newer ones that some signers omit:
//! otherwise the holder of a link to an object could turn it into a link to another resource.

use std::borrow::Cow;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderName};
use http::request::Parts;
use sha1::Sha1;
use subtle::ConstantTimeEq;

use super::Authenticator;
use super::amz_date::{AmzDate, display_time};
use super::carried::{CarriedHeaders, is_amz, repeated};
use super::error::{self, SignatureDiagnostics};
use super::head::{SecurityHeaders, X_AMZ_DATE};
use super::limits::{CLOCK_SKEW_SECONDS_MAX, PRESIGNED_EXPIRY_SECONDS_MAX};
use super::presigned::with_path_and_query;
use super::query::{Query, decoded};
use super::sigv4::is_admin_path;
use liteio_identity::{AccessKey, SecretKey};
use liteio_wire::reply::ApiError;

/// The scheme of the Authorization header.
const SCHEME: &str = "AWS";

const CONTENT_MD5: &str = "content-md5";

/// The signed parameters, sorted for the binary search. The holder of the URL may change all
/// others.
const SIGNED_PARAMETERS: [&str; 52] = [
    "abac",
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "defaultObjectAcl",
    "delete",
    "encryption",
    "events",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metadataConfiguration",
    "metadataInventoryTable",
    "metadataJournalTable",
    "metadataTable",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "partNumber",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "renameObject",
    "replication",
    "requestPayment",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
    "restore",
    "retention",
    "select",
    "select-type",
    "session",
    "storageClass",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versionId",
    "versioning",
    "versions",
    "website",
    "writeOffsetBytes",
];

/// Decoded name and value; no value without an equals sign.
type Parameter<'a> = (Cow<'a, [u8]>, Option<Cow<'a, [u8]>>);

/// The parameters of a Version 2 presigned URL, before the signature is checked.
#[derive(Debug)]
pub(super) struct Version2Query {
    access_key: String,
    signature: String,
    expires: String,
    canonical_query: CanonicalQuery,
}

/// The signed parameters in canonical form, including the question mark.
#[derive(Debug)]
struct CanonicalQuery {
    /// `?policy=` for `policy=`, as boto and botocore sign it.
    as_sent: Vec<u8>,
    /// `?policy` for `policy=`, as minio-go signs it. `None` if no value is empty. Both mean the same
    /// to every operation.
    without_empty: Option<Vec<u8>>,
}

impl CanonicalQuery {
    /// Sorts by name; equal names keep their order.
    fn of(mut signed: Vec<Parameter<'_>>) -> CanonicalQuery {
        signed.sort_by(|(left, _), (right, _)| left.cmp(right));
        let as_sent = joined(&signed);
        let is_empty =
            |value: &Option<Cow<'_, [u8]>>| value.as_deref().is_some_and(<[u8]>::is_empty);
        let has_empty = signed.iter().any(|(_, value)| is_empty(value));
        for (_, value) in &mut signed {
            value.take_if(|value| value.is_empty());
        }
        CanonicalQuery { as_sent, without_empty: has_empty.then(|| joined(&signed)) }
    }

    fn forms(&self) -> impl Iterator<Item = &[u8]> {
        [Some(&*self.as_sent), self.without_empty.as_deref()].into_iter().flatten()
    }
}

fn joined(parameters: &[Parameter<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, (name, value)) in parameters.iter().enumerate() {
        out.push(if index == 0 { b'?' } else { b'&' });
        out.extend_from_slice(name);
        if let Some(value) = value {
            out.push(b'=');
            out.extend_from_slice(value);
        }
    }
    out
}

/// `true` if the query has a Version 2 signature.
pub(super) fn is_version_2(query: &Query<'_>) -> bool {
    let mut names = query.parameters().iter().map(|parameter| parameter.decoded_name());
    names.any(|name| matches!(&*name, b"Signature" | b"AWSAccessKeyId"))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn missing_parameters() -> ApiError {
    error::access_denied(
        "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters",
    )
}

impl Version2Query {
    /// Removes the signature from a request. Headers carried in the query become headers of the
    /// request, unless it has them already.
    ///
    /// # Errors
    /// `AccessDenied` if a signature parameter is missing. `InvalidArgument` if one is repeated or
    /// cannot be a header, or if the URL has another signature, too.
    pub(super) fn take(parts: &mut Parts) -> Result<Version2Query, ApiError> {
        let (mut access_key, mut signature, mut expires) = (None, None, None);
        let mut carried = CarriedHeaders::default();
        let mut signed: Vec<Parameter<'_>> = Vec::new();
        let mut kept = String::with_capacity(parts.uri.path().len() + 64);
        kept.push_str(parts.uri.path());
        let mut separator = '?';
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        for parameter in query.parameters() {
            let pair = parameter.pair;
            let value = (pair != parameter.name).then(|| decoded(parameter.value));
            // By the decoded name, as the inner layers read it.
            let name = parameter.decoded_name();
            let place = match &*name {
                b"AWSAccessKeyId" => &mut access_key,
                b"Signature" => &mut signature,
                b"Expires" => &mut expires,
                name if is_version_4(name) => return Err(error::only_one_mechanism()),
                name if is_header(name) => {
                    carried.add(name, value.as_deref().unwrap_or_default())?;
                    continue;
                }
                _ => {
                    kept.push(separator);
                    kept.push_str(pair);
                    separator = '&';
                    if is_signed_parameter(&name) {
                        signed.push((name, value));
                    }
                    continue;
                }
            };
            let value = text_of(value.as_deref().unwrap_or_default());
            if place.replace(value).is_some() {
                return Err(repeated(&name));
            }
        }
        let (Some(access_key), Some(signature), Some(expires)) = (access_key, signature, expires)
        else {
            return Err(missing_parameters());
        };
        let canonical_query = CanonicalQuery::of(signed);
        parts.uri = with_path_and_query(&parts.uri, kept)?;
        carried.insert_into(&mut parts.headers);
        Ok(Version2Query { access_key, signature, expires, canonical_query })
    }
}

/// The signed facts of a request, except for its path.
#[derive(Clone, Copy)]
struct Signed<'a> {
    parts: &'a Parts,
    /// The date, or the time of expiry.
    time: &'a str,
    /// The header that `time` stands for, if that is one of the signed headers.
    leaves_out: Option<&'static str>,
    query: &'a CanonicalQuery,
}

impl Signed<'_> {
    /// The string to sign, for a path that includes the bucket, as an error shows it.
    fn string_to_sign(&self, path: &str) -> Vec<u8> {
        self.string_with(path, &self.query.as_sent)
    }

    fn string_with(&self, path: &str, query: &[u8]) -> Vec<u8> {
        let headers = &self.parts.headers;
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(self.parts.method.as_str().as_bytes());
        out.push(b'\n');
        push_values(&mut out, headers, CONTENT_MD5);
        out.push(b'\n');
        push_values(&mut out, headers, CONTENT_TYPE.as_str());
        out.push(b'\n');
        out.extend_from_slice(self.time.as_bytes());
        out.push(b'\n');
        let names = headers.keys().map(HeaderName::as_str);
        let is_signed = |name: &&str| name.starts_with("x-amz-") && self.leaves_out != Some(*name);
        let mut names: Vec<&str> = names.filter(is_signed).collect();
        names.sort_unstable();
        for name in names {
            out.extend_from_slice(name.as_bytes());
            out.push(b':');
            push_values(&mut out, headers, name);
            out.push(b'\n');
        }
        out.extend_from_slice(path.as_bytes());
        out.extend_from_slice(query);
        out
    }

    /// `true` if `secret_key` made the signature for this path.
    fn is_signed(&self, path: &str, secret_key: &SecretKey, signature: &str) -> bool {
        let is_signed = |path: &str| {
            let mut forms = self.query.forms();
            forms
                .any(|query| is_signature_of(secret_key, &self.string_with(path, query), signature))
        };
        // Signers append a slash to the name of a bucket, even where they send none.
        let names_bucket = path.len() > 1 && !path[1..].contains('/');
        is_signed(path) || names_bucket && is_signed(&format!("{path}/"))
    }
}

/// A Version 2 signature in the Authorization header, before it is checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version2Header<'a> {
    access_key: &'a str,
    signature: &'a str,
}

/// The path with the bucket that the host names.
fn path_with_bucket<'a>(parts: &'a Parts, host_bucket: Option<&str>) -> Cow<'a, str> {
    match host_bucket {
        Some(bucket) => Cow::Owned(format!("/{bucket}{}", parts.uri.path())),
        None => Cow::Borrowed(parts.uri.path()),
    }
}

fn is_signed_parameter(name: &[u8]) -> bool {
    SIGNED_PARAMETERS.binary_search_by(|signed| signed.as_bytes().cmp(name)).is_ok()
}

/// `true` for a header that signers put into the query.
fn is_header(name: &[u8]) -> bool {
    is_amz(name)
        || name.eq_ignore_ascii_case(CONTENT_MD5.as_bytes())
        || name.eq_ignore_ascii_case(CONTENT_TYPE.as_str().as_bytes())
}

fn is_version_4(name: &[u8]) -> bool {
    [&b"x-amz-signature"[..], b"x-amz-algorithm", b"x-amz-credential"]
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other))
}

/// Writes the values of a header, trimmed and joined by commas.
fn push_values(out: &mut Vec<u8>, headers: &HeaderMap, name: &str) {
    for (index, value) in headers.get_all(name).iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(value.as_bytes().trim_ascii());
    }
}

/// Verifies a signature in constant time.
fn is_signature_of(secret_key: &SecretKey, text: &[u8], provided: &str) -> bool {
    let secret = secret_key.expose().as_bytes();
    // HMAC accepts keys of any length, so this cannot fail.
    let Ok(mac) = Hmac::<Sha1>::new_from_slice(secret) else { return false };
    let expected = mac.chain_update(text).finalize().into_bytes();
    let expected = base64_simd::STANDARD.encode_to_string(expected.as_slice());
    expected.as_bytes().ct_eq(provided.as_bytes()).into()
}

fn mismatch(access_key: &str, string_to_sign: &[u8], provided: &str) -> ApiError {
    error::signature_does_not_match(&SignatureDiagnostics {
        access_key_id: access_key,
        string_to_sign: &text_of(string_to_sign),
        signature_provided: provided,
        canonical_request: None,
    })
}

impl Authenticator {
    /// The user who signed a Version 2 URL.
    ///
    /// # Errors
    /// `AccessDenied` if it has expired or is valid for too long, `InvalidAccessKeyId`,
    /// `SignatureDoesNotMatch`.
    pub(super) fn check_version_2_query(
        &self,
        parts: &Parts,
        query: &Version2Query,
        token: Option<&str>,
        host_bucket: Option<&str>,
    ) -> Result<Arc<AccessKey>, ApiError> {
        self.check_expires(&query.expires)?;
        let key = self.access_key(&query.access_key, token)?;
        let path = path_with_bucket(parts, host_bucket);
        let signed =
            Signed { parts, time: &query.expires, leaves_out: None, query: &query.canonical_query };
        match signed.is_signed(&path, &key.secret, &query.signature) {
            true => Ok(key),
            false => {
                Err(mismatch(&query.access_key, &signed.string_to_sign(&path), &query.signature))
            }
        }
    }

    /// The Version 2 signature in the Authorization header, if there is one and the rules allow it.
    ///
    /// # Errors
    /// `InvalidArgument` if it is malformed. `InvalidRequest` for the routes of operators, whose
    /// queries it would not cover.
    pub(super) fn version_2_header<'a>(
        &self,
        parts: &Parts,
        found: &SecurityHeaders<'a>,
    ) -> Result<Option<Version2Header<'a>>, ApiError> {
        // Without the rule, Version 4 refuses the scheme.
        let text = found.authorization.filter(|_| self.rules.takes_version_2).unwrap_or_default();
        let (scheme, fields) = text.split_once(' ').unwrap_or((text, ""));
        if scheme != SCHEME {
            return Ok(None);
        }
        let path = parts.uri.path();
        if is_admin_path(path) || path.starts_with("/_") {
            return Err(error::signature_version_2());
        }
        match fields.trim().rsplit_once(':') {
            Some((access_key, signature)) if !access_key.is_empty() && !signature.is_empty() => {
                Ok(Some(Version2Header { access_key, signature }))
            }
            _ => Err(error::invalid_argument(
                "AWS authorization header is invalid.  Expected AwsAccessKeyId:signature",
            )
            .with("ArgumentName", "Authorization")),
        }
    }

    /// The user who signed a request with Version 2 in its Authorization header.
    ///
    /// # Errors
    /// `AccessDenied` without a date, `RequestTimeTooSkewed`, `InvalidAccessKeyId`, `InvalidToken`,
    /// `SignatureDoesNotMatch`.
    pub(super) fn check_version_2_header(
        &self,
        parts: &Parts,
        found: &SecurityHeaders<'_>,
        query: &Query<'_>,
        header: &Version2Header<'_>,
        host_bucket: Option<&str>,
    ) -> Result<Arc<AccessKey>, ApiError> {
        let date =
            found.amz_date.or(found.date).and_then(AmzDate::parse_http).ok_or_else(|| {
                error::access_denied(
                    "AWS authentication requires a valid Date or x-amz-date header",
                )
            })?;
        self.check_skew(&date)?;
        let key = self.access_key(header.access_key, found.security_token)?;
        let parameters = query.parameters().iter().map(|parameter| {
            let has_value = parameter.pair.len() > parameter.name.len();
            (parameter.decoded_name(), has_value.then(|| decoded(parameter.value)))
        });
        let signed = parameters.filter(|parameter| is_signed_parameter(&parameter.0)).collect();
        let query = CanonicalQuery::of(signed);
        let path = path_with_bucket(parts, host_bucket);
        // With x-amz-date, which is one of the signed headers, the place of the date is empty.
        let time = if found.amz_date.is_some() { "" } else { found.date.unwrap_or_default() };
        let signed = Signed { parts, time, leaves_out: None, query: &query };
        if signed.is_signed(&path, &key.secret, header.signature) {
            return Ok(key);
        }
        // AWS's example of a DELETE has the value of x-amz-date there, and not among the headers.
        if let Some(time) = found.amz_date {
            let as_date = Signed { time, leaves_out: Some(X_AMZ_DATE), ..signed };
            if as_date.is_signed(&path, &key.secret, header.signature) {
                return Ok(key);
            }
        }
        Err(mismatch(header.access_key, &signed.string_to_sign(&path), header.signature))
    }

    /// The access key that signed the policy of a form with Version 2.
    ///
    /// # Errors
    /// `InvalidAccessKeyId`, `SignatureDoesNotMatch`.
    pub(super) fn check_version_2_policy(
        &self,
        access_key: &str,
        token: Option<&str>,
        policy: &str,
        signature: &str,
    ) -> Result<Arc<AccessKey>, ApiError> {
        let key = self.access_key(access_key, token)?;
        match is_signature_of(&key.secret, policy.as_bytes(), signature) {
            true => Ok(key),
            false => Err(mismatch(access_key, policy.as_bytes(), signature)),
        }
    }

    fn check_expires(&self, expires: &str) -> Result<(), ApiError> {
        let is_number = !expires.is_empty() && expires.bytes().all(|byte| byte.is_ascii_digit());
        let end =
            is_number.then(|| expires.parse::<i64>().unwrap_or(i64::MAX)).ok_or_else(|| {
                let message = format!("Invalid date (should be seconds since epoch): {expires}");
                error::access_denied(message)
            })?;
        let now = self.now_unix_seconds();
        if now >= end {
            let expired = error::access_denied("Request has expired")
                .with("Expires", display_time(end))
                .with("ServerTime", display_time(now));
            return Err(self.note_moved_clock(expired, end));
        }
        // The signer's clock may be ahead.
        let signed = self.signers_unix_seconds(end).max(now);
        if end - signed > PRESIGNED_EXPIRY_SECONDS_MAX + CLOCK_SKEW_SECONDS_MAX {
            return Err(error::access_denied(
                "Expires must be less than a week (604800 seconds) ahead",
            )
            .with("ServerTime", display_time(now)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_parameters_are_sorted() {
        assert!(SIGNED_PARAMETERS.is_sorted());
        assert!(is_signed_parameter(b"versionId"));
        assert!(!is_signed_parameter(b"prefix"));
    }
}
