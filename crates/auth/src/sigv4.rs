//! Signature Version 4 in the Authorization header, and the verification shared by headers, query
//! parameters and forms.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

use super::Authenticator;
use super::amz_date::{AmzDate, display_time};
use super::canonical::{Canonical, PathForm, ValueOrder};
use super::error::{self, SignatureDiagnostics};
use super::head::{SecurityHeaders, signed_date};
use super::limits::{CLOCK_SKEW_SECONDS_MAX, SIGNED_HEADERS_MAX};
use super::mismatch;
use super::query::Query;
use super::rules::Rules;
use super::service::Service;
use super::signing_key::{SigningKey, hex_digest, same_signature};
use liteio_identity::{AccessKey, KeyError, TokenError};
use liteio_wire::reply::{ApiError, ErrorCode};

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
pub(super) const ALGORITHM_ASYMMETRIC: &str = "AWS4-ECDSA-P256-SHA256";
const SCOPE_END: &str = "aws4_request";

/// Path prefixes of requests whose region may be empty.
const ADMIN_PATHS: [&str; 2] = ["/minio/admin/", "/minio/kms/"];

/// Path prefix of the Iceberg REST catalog.
const CATALOG_PATHS: &str = "/_iceberg/";

/// The region of services that AWS runs in one region only.
const GLOBAL_REGION: &str = "us-east-1";

/// The header with the region, which answers to `HEAD` have alone: those have no document.
const BUCKET_REGION: HeaderName = HeaderName::from_static("x-amz-bucket-region");

/// The place of a signature, for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Header,
    Query,
    Form,
}

impl Place {
    /// The error for an unreadable credential or signature.
    pub(super) fn malformed(self, detail: &str) -> ApiError {
        let (code, prefix) = match self {
            Place::Header => {
                (ErrorCode::AuthorizationHeaderMalformed, "The authorization header is malformed; ")
            }
            Place::Query => (
                ErrorCode::AuthorizationQueryParametersError,
                "Error parsing the X-Amz-Credential parameter; ",
            ),
            // Of a form it is one of several arguments.
            Place::Form => (ErrorCode::InvalidArgument, ""),
        };
        ApiError::new(code, format!("{prefix}{detail}"))
    }

    /// The error for this credential, which a form has as an argument.
    pub(super) fn malformed_credential(self, credential: &str, detail: &str) -> ApiError {
        let error = self.malformed(detail);
        match self {
            Place::Header | Place::Query => error,
            Place::Form => {
                error.with("ArgumentName", "X-Amz-Credential").with("ArgumentValue", credential)
            }
        }
    }
}

/// A parsed credential scope: `ACCESS_KEY/20130524/us-east-1/s3/aws4_request`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) access_key: &'a str,
    pub(super) day: &'a str,
    pub(super) service: Service,
    pub(super) region: &'a str,
    /// The whole scope without the access key.
    pub(super) text: &'a str,
}

impl<'a> Scope<'a> {
    /// Parses a credential scope and checks it against the rules and the date.
    ///
    /// # Errors
    /// The scope is malformed, or its region, service or day is not the expected one.
    pub(super) fn parse(
        credential: &'a str,
        place: Place,
        rules: &Rules,
        date: &AmzDate,
    ) -> Result<Scope<'a>, ApiError> {
        let refuse = |detail: &str| place.malformed_credential(credential, detail);
        let malformed = || {
            refuse(
                "the Credential is mal-formed; expecting \
                 \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\".",
            )
        };
        let (access_key, text) = credential.split_once('/').ok_or_else(malformed)?;
        let mut fields = text.split('/');
        let mut next = || fields.next().ok_or_else(malformed);
        let (day, scope_region, service, end) = (next()?, next()?, next()?, next()?);
        if fields.next().is_some() || access_key.is_empty() {
            return Err(malformed());
        }
        if end != SCOPE_END {
            let detail =
                format!("incorrect terminal \"{end}\". This endpoint uses \"{SCOPE_END}\".");
            return Err(refuse(&detail));
        }
        let Some(service) = Service::parse(service) else {
            let detail =
                format!("incorrect service \"{service}\". This endpoint belongs to \"s3\".");
            return Err(refuse(&detail));
        };
        // SDKs sign IAM and STS for us-east-1, whatever region is configured.
        let is_global = service.is_global() && scope_region == GLOBAL_REGION;
        let region = &rules.region;
        if scope_region != region && !rules.takes_any_region && !is_global {
            let detail = format!("the region '{scope_region}' is wrong; expecting '{region}'");
            let error = refuse(&detail).with("Region", region.as_str());
            // As on AWS: SDKs that look for the region of a bucket sign again for this one.
            return Err(match HeaderValue::from_str(region) {
                Ok(value) => {
                    error.with_more_headers(HeaderMap::from_iter([(BUCKET_REGION, value)]))
                }
                Err(_) => error,
            });
        }
        if day.len() != 8 || !day.bytes().all(|byte| byte.is_ascii_digit()) {
            let detail = format!(
                "incorrect date format \"{day}\". This date in the credential must be in the format \
                 \"yyyyMMdd\"."
            );
            return Err(refuse(&detail));
        }
        // The signing key is derived from this day, so a key of one day cannot sign for another.
        if day != date.day() {
            let detail = format!(
                "Invalid credential date \"{day}\". This date is not the same as X-Amz-Date: \
                 \"{}\".",
                date.day()
            );
            return Err(refuse(&detail));
        }
        Ok(Scope { access_key, day, service, region: scope_region, text })
    }
}

/// A signed request with a known key, of which everything but the signature is checked.
pub(super) struct Claim<'a> {
    pub(super) access_key: Arc<AccessKey>,
    pub(super) scope: Scope<'a>,
    pub(super) date: AmzDate,
    /// The time since a URL was signed; `None` for a signature in a header.
    pub(super) age_ms: Option<u64>,
    pub(super) signed_headers: &'a str,
    pub(super) signature: &'a str,
    pub(super) signing_key: SigningKey,
}

impl Claim<'_> {
    /// `true` if the signature covers a header.
    pub(super) fn signs(&self, header: &str) -> bool {
        self.signed_headers.split(';').any(|signed| signed == header)
    }

    /// Verifies the signature.
    ///
    /// # Errors
    /// `SignatureDoesNotMatch`, with the canonical request and the string to sign for comparison.
    pub(super) fn verify(
        &self,
        parts: &Parts,
        query: &Query<'_>,
        payload_hash: &str,
    ) -> Result<(), ApiError> {
        let path_form = match self.scope.service {
            Service::S3 | Service::S3Express => PathForm::Once,
            Service::S3Vectors
            | Service::Sts
            | Service::Iam
            | Service::S3Tables
            | Service::ExecuteApi => PathForm::Twice,
        };
        let signed_headers = self.signed_headers;
        let value_order = ValueOrder::Sorted;
        let mut canonical = Canonical { path_form, value_order, signed_headers, payload_hash };
        // Rebuild the canonical request from the head as received; any change after signing alters
        // its hash.
        let request = canonical.write(parts, query);
        let request_hash = hex_digest(&Sha256::digest(&request));
        if self.matches(&request_hash) {
            return Ok(());
        }
        // Some signers keep characters in the path that AWS would encode, or encode others: try the
        // path as sent, too. Both forms name the same object, so this accepts no other request.
        let mut others = match path_form {
            PathForm::Once => vec![PathForm::AsSent],
            PathForm::Twice | PathForm::AsSent => Vec::new(),
        };
        // Clients of the catalog encode the path twice whatever service they sign for, or not again.
        if parts.uri.path().starts_with(CATALOG_PATHS) {
            others.extend([PathForm::Twice, PathForm::AsSent]);
        }
        let sorted = others.into_iter().map(|other| (other, ValueOrder::Sorted));
        // Likewise the order of parameters that share a name: signed as sent, it is what is read here.
        let as_sent = [(path_form, ValueOrder::AsSent)];
        for (path_form, value_order) in sorted.chain(as_sent) {
            canonical.path_form = path_form;
            canonical.value_order = value_order;
            let otherwise = canonical.write(parts, query);
            if otherwise != request && self.matches(&hex_digest(&Sha256::digest(&otherwise))) {
                return Ok(());
            }
        }
        let string_to_sign = format!(
            "{ALGORITHM}\n{}\n{}\n{}",
            self.date.as_str(),
            self.scope.text,
            String::from_utf8_lossy(&request_hash)
        );
        let error = error::signature_does_not_match(&SignatureDiagnostics {
            access_key_id: self.scope.access_key,
            string_to_sign: &string_to_sign,
            signature_provided: self.signature,
            canonical_request: Some(&String::from_utf8_lossy(&request)),
        });
        let difference =
            mismatch::explain(self.scope.access_key, &request, parts, |hash| self.matches(hash));
        Err(match difference {
            Some(difference) => error.with("Detail", difference),
            None => error,
        })
    }

    fn matches(&self, request_hash: &[u8]) -> bool {
        let expected = self.signing_key.sign(&[
            ALGORITHM.as_bytes(),
            b"\n",
            self.date.as_str().as_bytes(),
            b"\n",
            self.scope.text.as_bytes(),
            b"\n",
            request_hash,
        ]);
        same_signature(&expected, self.signature)
    }
}

impl Authenticator {
    /// The access key with this id. A session's key requires its token.
    ///
    /// # Errors
    /// `InvalidAccessKeyId`, `InvalidToken`, `ExpiredToken`.
    pub(super) fn access_key(
        &self,
        id: &str,
        token: Option<&str>,
    ) -> Result<Arc<AccessKey>, ApiError> {
        self.directory.key(id, token, self.now_unix_seconds()).map_err(|refused| match refused {
            KeyError::Unknown => error::invalid_access_key_id(id),
            KeyError::Token(TokenError::Invalid) => error::invalid_token(),
            KeyError::Token(TokenError::Expired) => error::expired_token(),
        })
    }

    /// The access key of a scope, and the signing key derived from it.
    pub(super) fn signer(
        &self,
        scope: &Scope<'_>,
        token: Option<&str>,
    ) -> Result<(Arc<AccessKey>, SigningKey), ApiError> {
        let access_key = self.access_key(scope.access_key, token)?;
        let derive = || {
            let secret = access_key.secret.expose();
            SigningKey::derive(secret, scope.day, scope.region, scope.service)
        };
        // The day of a scope equals a parsed date, so it has eight digits.
        let key = match <[u8; 8]>::try_from(scope.day.as_bytes()) {
            Ok(day) => {
                let (serial, service) = (access_key.serial, scope.service);
                self.keys.get_or_derive(serial, day, service, scope.region, derive)
            }
            Err(_) => derive(),
        };
        Ok((access_key, key))
    }

    /// Parses an Authorization header.
    pub(super) fn claim_of_header<'a>(
        &'a self,
        parts: &'a Parts,
        found: &SecurityHeaders<'a>,
        authorization: &'a str,
    ) -> Result<Claim<'a>, ApiError> {
        let fields = AuthorizationFields::parse(authorization, parts.uri.path())?;
        let date = signed_date(found).ok_or_else(|| {
            error::access_denied("AWS authentication requires a valid Date or x-amz-date header")
        })?;
        // The scope first: it names the key.
        let scope = Scope::parse(fields.credential, Place::Header, &self.rules, &date);
        let scope = scope.or_else(|refusal| {
            // As MinIO, whose clients leave the region of admin requests empty, or take a default.
            if !is_admin_path(parts.uri.path()) {
                return Err(refusal);
            }
            let rules = Rules { takes_any_region: true, ..self.rules.clone() };
            Scope::parse(fields.credential, Place::Header, &rules, &date)
        })?;
        // The skew is checked before the key is derived, to keep old requests cheap.
        self.check_skew(&date)?;
        let (access_key, signing_key) = self.signer(&scope, found.security_token)?;
        // Before the signature is computed: unsigned headers make it meaningless.
        check_all_signed(parts, fields.signed_headers, Place::Header, &self.rules)?;
        let AuthorizationFields { signed_headers, signature, .. } = fields;
        let age_ms = None;
        Ok(Claim { access_key, scope, date, age_ms, signed_headers, signature, signing_key })
    }

    pub(super) fn check_skew(&self, date: &AmzDate) -> Result<(), ApiError> {
        let now = self.signers_unix_seconds(date.unix_seconds());
        let skew = now.saturating_sub(date.unix_seconds()).saturating_abs();
        if skew <= CLOCK_SKEW_SECONDS_MAX {
            return Ok(());
        }
        let error = ApiError::new(
            ErrorCode::RequestTimeTooSkewed,
            "The difference between the request time and the current time is too large.",
        );
        Err(error
            .with("RequestTime", date.as_str())
            .with("ServerTime", display_time(now))
            .with("MaxAllowedSkewMilliseconds", (CLOCK_SKEW_SECONDS_MAX * 1000).to_string()))
    }
}

/// The fields of `AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`.
struct AuthorizationFields<'a> {
    credential: &'a str,
    signed_headers: &'a str,
    signature: &'a str,
}

impl<'a> AuthorizationFields<'a> {
    /// Parses the header of a request for `path`.
    fn parse(authorization: &'a str, path: &str) -> Result<Self, ApiError> {
        let Some((scheme, rest)) = authorization.split_once(' ') else {
            return Err(match authorization {
                "" => error::access_denied("The Authorization header is empty."),
                word => error::invalid_argument(
                    "Authorization header is invalid -- one and only one ' ' (space) required.",
                )
                .with("ArgumentName", "Authorization")
                .with("ArgumentValue", word),
            });
        };
        match scheme {
            ALGORITHM => {}
            ALGORITHM_ASYMMETRIC => return Err(error::signature_version_4a()),
            "AWS" => return Err(error::signature_version_2()),
            // The rest may be a password.
            _ => {
                let refusal = error::invalid_argument("Unsupported Authorization Type")
                    .with("ArgumentName", "Authorization")
                    .with("ArgumentValue", scheme);
                // The path that Prometheus takes unless it is told another one.
                return Err(match path == "/metrics" && scheme.eq_ignore_ascii_case("Bearer") {
                    true => refusal.with("Detail", "the path of metrics is /_liteio/metrics"),
                    false => refusal,
                });
            }
        }
        // Each field exactly once: of two signatures only one would be checked.
        let (mut credential, mut signed_headers, mut signature) = (None, None, None);
        let malformed = || {
            Place::Header.malformed(
                "the authorization header requires three components: Credential, SignedHeaders, \
                 and Signature.",
            )
        };
        for field in rest.split(',') {
            let field = field.trim();
            let (name, value) = field.split_once('=').ok_or_else(|| match field {
                "" => malformed(),
                field => Place::Header
                    .malformed(&format!("the authorization component \"{field}\" is malformed.")),
            })?;
            let place = match name {
                "Credential" => &mut credential,
                "SignedHeaders" => &mut signed_headers,
                "Signature" => &mut signature,
                // Which one it stands for is told below.
                _ => continue,
            };
            if place.replace(value).is_some() {
                return Err(malformed());
            }
        }
        if rest.split(',').count() != 3 {
            return Err(malformed());
        }
        let missing = |name: &str| Place::Header.malformed(&format!("missing {name}."));
        Ok(AuthorizationFields {
            credential: credential.ok_or_else(|| missing("Credential"))?,
            signed_headers: signed_headers.ok_or_else(|| missing("SignedHeaders"))?,
            signature: signature.ok_or_else(|| missing("Signature"))?,
        })
    }
}

/// `true` for a path of MinIO's APIs for administration and keys.
pub(super) fn is_admin_path(path: &str) -> bool {
    ADMIN_PATHS.iter().any(|prefix| path.starts_with(prefix))
}

/// Requires that host and every `x-amz-*` header are signed: anyone who holds the signature could
/// add an unsigned one, a copy source for example. So must MinIO's `x-minio-*`, which may delete more. As on AWS, [`is_ignored`] is the exception.
pub(super) fn check_all_signed(
    parts: &Parts,
    signed_headers: &str,
    place: Place,
    rules: &Rules,
) -> Result<(), ApiError> {
    if signed_headers.bytes().filter(|byte| *byte == b';').count() >= SIGNED_HEADERS_MAX {
        return Err(place.malformed("SignedHeaders names too many headers."));
    }
    let is_signed = |name: &str| signed_headers.split(';').any(|signed| signed == name);
    let mut unsigned = Vec::new();
    if !is_signed("host") {
        unsigned.push("host");
    }
    for name in parts.headers.keys() {
        let name = name.as_str();
        let is_ignored = || place == Place::Query && is_ignored(parts, name, rules);
        let is_covered = name.starts_with("x-amz-") || name.starts_with("x-minio-");
        if is_covered && !is_signed(name) && !is_ignored() {
            unsigned.push(name);
        }
    }
    if unsigned.is_empty() {
        return Ok(());
    }
    let message = "There were headers present in the request which were not signed";
    Err(error::access_denied(message).with("HeadersNotSigned", unsigned.join(", ")))
}

/// `true` for headers that may come unsigned beside a presigned URL:
///
/// - `x-amz-content-sha256`, which the signature covers as the hash of the payload, unless it is
///   `UNSIGNED-PAYLOAD`, which says what the URL says without it. (Recorded on AWS in LocalStack's
///   `test_s3_ignored_special_headers` and `test_put_object_with_md5_and_chunk_signature_bad_headers`.)
/// - An ACL for nobody else, if the rules allow that: MinIO accepts it, and minio-java's tests send it.
fn is_ignored(parts: &Parts, name: &str, rules: &Rules) -> bool {
    let mut values = parts.headers.get_all(name).iter();
    match name {
        "x-amz-content-sha256" => true,
        "x-amz-acl" => {
            rules.takes_unsigned_acl && values.all(|acl| OWN_ACLS.iter().any(|own| acl == own))
        }
        _ => false,
    }
}

/// Canned ACLs that give rights to nobody but the writer and the owner of the bucket.
const OWN_ACLS: [&str; 2] = ["private", "bucket-owner-full-control"];
