//! Authentication: every request passes this crate before any service.
//!
//! It verifies Signature Version 4 in the Authorization header, in the query (presigned URLs) and in browser forms,
//! Version 2 in the latter two and by a rule in the header, and accepts requests without a signature as anonymous. A server can be configured
//! to skip signatures ([`Rules`]).
//!
//! ```text
//! request ──► head: signature, time, scope ──► key of the directory ──► Identity
//! body    ──► payload: plain, hashed, chunked, form ──► AuthBody (verifies itself while it streams)
//! ```
//!
//! A request leaves with its [`Identity`] in its extensions, without signature or payload framing, and with an
//! [`AuthBody`]. It is refused before its body is read, so before `100 Continue` is sent. Exceptions are forms, and
//! bodies that must be hashed first.
//!
//! | Module | Content |
//! |---|---|
//! | `head`, `query`, `carried` | The security headers, the query, and headers carried in a query, each scanned once |
//! | `sigv4`, `canonical`, `signing_key`, `amz_date` | Version 4 in a header: scope, canonical request, derived keys and their cache, time stamps |
//! | `bearer` | Bearer tokens for an access key, for the Iceberg REST catalog |
//! | `presigned`, `sigv2` | Version 4 in a query; Version 2 in a query and in a header |
//! | `post_object`, `post_form`, `post_file`, `post_policy`, `post_tagging` | Form uploads, which become a PUT |
//! | `payload`, `chunked`, `trailer` | The declared payload; aws-chunked framing; trailers |
//! | `body`, `step`, `collect` | The verified body, and what its decoders return; bodies that are read whole |
//! | `rules`, `service`, `unchecked` | Accepted regions and services; requests without a check of their signature |
//! | `identity`, `signed_as` | The results: sender, and kind of signature for conditions of policies |
//! | `error`, `limits` | Refusals in AWS's words; every bound |
//! | `mismatch` | The reason why a signature fails, for the answer and the log |
//! | `fuzzing` | Properties of any request, and a signer that shares no code with the verifier (feature `fuzzing`) |
//!
//! The crate must not know policies, permission, the store or services: it determines the sender, and `access`
//! decides about its rights.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::{Duration, SystemTime};
//!
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::Empty;
//! use liteio_auth::{Authenticator, Identity, Rules};
//! use liteio_identity::{CurrentDirectory, Sessions, only_user};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The keys, the moment and the presigned URL of AWS's documentation.
//! let directory = only_user("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None)?;
//! let directory = Arc::new(CurrentDirectory::new(directory, Sessions::default()));
//! let region = "us-east-1".to_owned();
//! let rules = Rules {
//!     region,
//!     takes_any_region: false,
//!     takes_version_2: false,
//!     takes_unsigned_acl: false,
//!     takes_small_chunks: false,
//!     everyone_is: None,
//! };
//! let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_369_353_600);
//! let authenticator = Authenticator::new(directory, rules, Arc::new(move || now));
//!
//! let url = "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE\
//!            %2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires\
//!            =86400&X-Amz-SignedHeaders=host&X-Amz-Signature=\
//!            aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
//! let request = |url: &str| {
//!     let request = Request::get(url).header("host", "examplebucket.s3.amazonaws.com");
//!     request.body(Empty::<Bytes>::new())
//! };
//!
//! let authenticated = authenticator.authenticate(request(url)?, None).await?;
//! let key = authenticated.extensions().get::<Identity>().and_then(Identity::key);
//! assert_eq!(key.map(|key| &*key.id), Some("AKIAIOSFODNN7EXAMPLE"));
//!
//! // The signature covers the path.
//! let other = request(&url.replace("/test.txt", "/other.txt"))?;
//! let refused = authenticator.authenticate(other, None).await.expect_err("another path");
//! assert_eq!(refused.code(), "SignatureDoesNotMatch");
//! # Ok(())
//! # }
//! ```

mod amz_date;
mod bearer;
mod body;
mod canonical;
mod carried;
mod chunked;
mod collect;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod head;
mod identity;
mod limits;
mod mismatch;
mod payload;
mod payload_hash;
mod post_file;
mod post_form;
mod post_object;
mod post_policy;
mod post_tagging;
mod presigned;
mod query;
mod rules;
mod service;
mod signed_as;
mod signing_key;
mod sigv2;
mod sigv4;
mod step;
#[cfg(test)]
mod tests;
mod trailer;
mod unchecked;

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{Method, Request};
use http_body::Body;
use sha2::{Digest, Sha256};

pub use self::body::{AuthBody, BodyFault};
pub use self::collect::{CollectError, collect};
pub use self::identity::Identity;
pub use self::payload_hash::{PayloadHash, TakenHash};
pub use self::post_object::PostForm;
pub use self::rules::Rules;
pub use self::service::Service;
pub use self::signed_as::SignedAs;
pub use self::trailer::TrailerHandle;

use self::body::{Source, Verifier};
use self::chunked::{ChunkChain, ChunkedDecoder};
use self::head::{SecurityHeaders, strip_headers};
use self::limits::HASHED_BODY_BYTES_MAX;
use self::payload::{
    ChunkSignatures, ChunkedPayload, Declared, EMPTY_SHA256, EMPTY_SHA256_TEXT, Payload,
    UNSIGNED_PAYLOAD,
};
use self::payload_hash::StreamedHash;
use self::post_object::hide_form_content_type;
use self::presigned::{PresignedQuery, Stripped};
use self::query::Query;
use self::signed_as::Version;
use self::signing_key::{Signature, SigningKeyCache, hex_digest};
use self::sigv2::{Version2Query, is_version_2};
use self::sigv4::{Claim, Place};
use self::trailer::TrailerBlock;
use liteio_identity::{AccessKey, CurrentDirectory};
use liteio_wire::reply::{ApiError, BoxError};

/// `true` if a request is signed in its Authorization header or its query, validly or not.
pub fn is_signed(head: &Parts) -> bool {
    let query = Query::parse(head.uri.query().unwrap_or_default());
    let mut names = query.parameters().iter().map(|parameter| parameter.decoded_name());
    head.headers.contains_key(AUTHORIZATION)
        || names.any(|name| matches!(&*name, b"X-Amz-Signature" | b"Signature"))
}

/// The clock of an authenticator.
pub(crate) type ClockFn = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Authenticates requests against the current directory.
pub struct Authenticator {
    directory: Arc<CurrentDirectory>,
    rules: Rules,
    clock: ClockFn,
    /// The clock of the signers, if it differs.
    signers: Option<ClockFn>,
    keys: SigningKeyCache,
}

/// The outcome of checking a head.
enum Outcome<'a> {
    /// Verified completely; tells how to read the body.
    Done(Verified),
    /// Verified except for the signature, which covers the undeclared hash of the body.
    NeedsBodyHash(Claim<'a>),
}

struct Verified {
    identity: Identity,
    signed_as: Option<SignedAs>,
    payload: Payload,
    /// The chain of signatures, for signed chunks.
    chain: Option<Box<ChunkChain>>,
}

impl Authenticator {
    /// An authenticator with these rules.
    #[must_use]
    pub fn new(directory: Arc<CurrentDirectory>, rules: Rules, clock: ClockFn) -> Self {
        Authenticator { directory, rules, clock, signers: None, keys: SigningKeyCache::default() }
    }

    /// The same authenticator for signers with another clock: the time of a signature may be right
    /// by either clock. Signatures expire by the clock of the authenticator.
    #[must_use]
    pub fn with_signers_by(self, clock: ClockFn) -> Self {
        Authenticator { signers: Some(clock), ..self }
    }

    fn now_unix_seconds(&self) -> i64 {
        amz_date::unix_seconds((self.clock)())
    }

    /// The time by the signer's clock: of both clocks, the one closer to the date of the signature.
    fn signers_unix_seconds(&self, date: i64) -> i64 {
        let now = self.now_unix_seconds();
        let Some(signers) = &self.signers else { return now };
        let other = amz_date::unix_seconds(signers());
        if other.abs_diff(date) < now.abs_diff(date) { other } else { now }
    }

    /// Adds to the refusal of a signature that ended at `end` that it is good by the signers' clock, if it is: then
    /// the other clock was moved, which no client sees.
    fn note_moved_clock(&self, refused: ApiError, end: i64) -> ApiError {
        let Some(signers) = &self.signers else { return refused };
        let time = amz_date::unix_seconds(signers());
        if self.now_unix_seconds() < end || time >= end {
            return refused;
        }
        let detail = format!(
            "it has expired by the clock of this space, which was moved, and is good by that of the machine ({}): reset the \
             clock before signing, or sign with the time of the space",
            amz_date::display_time(time)
        );
        refused.with("Detail", detail)
    }

    /// Authenticates the sender of a request, and removes signature and payload framing.
    /// `host_bucket` is the bucket that the host names, if any.
    ///
    /// In the extensions of the result: [`Identity`] always; [`SignedAs`] when signed, with the
    /// [`Service`]; [`BodyFault`] when there is a body; [`PayloadHash`] when its hash is signed;
    /// [`TrailerHandle`] when trailers are announced;
    /// [`PostForm`] when the request was a form and is now a PUT;
    /// [`post_object::HiddenContentType`] when another POST claims to be a form.
    ///
    /// # Errors
    /// [`ApiError`], with the code, status and message of AWS.
    pub async fn authenticate<B>(
        &self,
        request: Request<B>,
        host_bucket: Option<&str>,
    ) -> Result<Request<AuthBody>, ApiError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (mut parts, body) = request.into_parts();
        let mut source = Source::new(body);
        if let Some(target) = self.form_target(&parts, host_bucket)? {
            // Boxed, so that other requests do not carry its state.
            return Box::pin(self.authenticate_form(parts, source, target)).await;
        }
        if let Some(key) = &self.rules.everyone_is {
            return self.take_unchecked(parts, source, key);
        }
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        if is_version_2(&query) {
            return self.authenticate_version_2(parts, source, host_bucket);
        }
        let found = SecurityHeaders::scan(&parts.headers)?;
        let presigned = PresignedQuery::find(&query)?;
        if let Some(signature) = self.version_2_header(&parts, &found)? {
            if presigned.is_some() {
                return Err(error::only_one_mechanism());
            }
            let key =
                self.check_version_2_header(&parts, &found, &query, &signature, host_bucket)?;
            let content_length = found.content_length;
            let verified = Verified::version_2(key, Place::Header, &found)?;
            return finish(&self.rules, parts, verified, source, content_length);
        }
        let mut content_length = found.content_length;
        let mut verified = match self.check_head(&parts, &found, &query, presigned.as_deref())? {
            Outcome::Done(verified) => verified,
            // The hash of the body is signed but not declared: collect the body (bounded) and hash
            // it.
            Outcome::NeedsBodyHash(claim) => {
                let body = AuthBody::new(source, Verifier::Plain { remaining: content_length });
                let data =
                    collect(body, HASHED_BODY_BYTES_MAX).await.map_err(|error| match error {
                        CollectError::TooLarge => error::entity_too_large(),
                        CollectError::Body(error) => error,
                    })?;
                let hash = hex_digest(&Sha256::digest(&data));
                claim.verify(&parts, &query, std::str::from_utf8(&hash).unwrap_or_default())?;
                content_length = Some(data.len() as u64);
                source = Source::buffered(data);
                Verified::signed(&claim, Payload::Unsigned)
            }
        };
        if let Some(signed_as) = &mut verified.signed_as {
            signed_as.content_sha256 = found.content_sha256.map(Into::into);
        }
        if presigned.is_some() {
            Stripped::of(&parts.uri, &query)?.put_into(&mut parts);
        }
        finish(&self.rules, parts, verified, source, content_length)
    }

    /// Authenticates a request signed with Version 2 in its query.
    fn authenticate_version_2(
        &self,
        mut parts: Parts,
        source: Source,
        host_bucket: Option<&str>,
    ) -> Result<Request<AuthBody>, ApiError> {
        if parts.headers.contains_key(AUTHORIZATION) {
            return Err(error::only_one_mechanism());
        }
        let query = Version2Query::take(&mut parts)?;
        let found = SecurityHeaders::scan(&parts.headers)?;
        let token = found.security_token;
        let key = self.check_version_2_query(&parts, &query, token, host_bucket)?;
        let verified = Verified::version_2(key, Place::Query, &found)?;
        let content_length = found.content_length;
        finish(&self.rules, parts, verified, source, content_length)
    }

    /// Checks everything that is known before the body is read.
    fn check_head<'a>(
        &'a self,
        parts: &'a Parts,
        found: &SecurityHeaders<'a>,
        query: &Query<'_>,
        presigned: Option<&'a PresignedQuery<'a>>,
    ) -> Result<Outcome<'a>, ApiError> {
        let token = presigned.and_then(|query| query.security_token.as_deref());
        let token = match (found.security_token, token) {
            (Some(_), Some(_)) => return Err(error::invalid_token()),
            (token, other) => token.or(other),
        };
        let claim = match (found.authorization, presigned) {
            // A token proves nothing without the signature of its key.
            (None, None) if token.is_some() => return Err(error::invalid_token()),
            (None, None) => {
                let verified = Verified::without_key(Identity::Anonymous, found)?;
                return Ok(Outcome::Done(verified));
            }
            (None, Some(presigned)) => self.claim_of_query(parts, presigned, token)?,
            (Some(authorization), None) => self.claim_of_header(parts, found, authorization)?,
            (Some(_), Some(_)) => return Err(error::only_one_mechanism()),
        };
        let in_query = presigned.and_then(|query| query.content_sha256.as_deref());
        // Beside a URL the header need not be signed: `UNSIGNED-PAYLOAD` says nothing then, and any other value stands
        // for the hash that was signed, so that a wrong one is a wrong signature.
        let is_signed = claim.signs("x-amz-content-sha256") || presigned.is_none();
        let says_nothing = |value: &str| value == UNSIGNED_PAYLOAD || in_query == Some(value);
        let in_header = found.content_sha256.filter(|value| is_signed || !says_nothing(value));
        if let Some(hash) = in_header.filter(|_| !is_signed) {
            claim.verify(parts, query, hash)?;
        }
        let content_sha256 = match (in_header.or(in_query), claim.scope.service) {
            (Some(content_sha256), _) => content_sha256,
            (None, service) if service.implies_hash() && parts.method == Method::POST => {
                return Ok(Outcome::NeedsBodyHash(claim));
            }
            (None, Service::S3Tables) if parts.method == Method::PUT && presigned.is_none() => {
                return Ok(Outcome::NeedsBodyHash(claim));
            }
            // For these services no other request has a body, and only those bodies are charged to
            // the budget as a whole. No other body is collected before its signature is verified.
            (None, service) if service.implies_hash() => EMPTY_SHA256_TEXT,
            (None, _) if presigned.is_some() => UNSIGNED_PAYLOAD,
            (None, _) => {
                return Err(error::invalid_request(
                    "Missing required header for this request: x-amz-content-sha256",
                ));
            }
        };
        let declared = Declared::parse(content_sha256)?;
        claim.verify(parts, query, content_sha256)?;
        let payload = declared.with_headers(found)?;
        Ok(Outcome::Done(Verified::signed(&claim, payload)))
    }
}

impl Verified {
    /// A result without a signing key, so signed chunks are refused.
    fn without_key(identity: Identity, found: &SecurityHeaders<'_>) -> Result<Verified, ApiError> {
        let declared = found.content_sha256.unwrap_or(UNSIGNED_PAYLOAD);
        // Before the length, which such a request need not have: nothing signs its chunks.
        if matches!(identity, Identity::Anonymous) && declared.starts_with("STREAMING-AWS4-") {
            return Err(error::invalid_request(
                "Anonymous requests don't support this x-amz-content-sha256 value. Please use \
                 UNSIGNED-PAYLOAD or STREAMING-UNSIGNED-PAYLOAD-TRAILER.",
            ));
        }
        let payload = Payload::parse(declared, found)?;
        if matches!(
            payload,
            Payload::Chunked(ChunkedPayload { signatures: ChunkSignatures::Checked, .. })
        ) {
            return Err(error::invalid_request(
                "A payload with signed chunks needs a request signed with Version 4.",
            ));
        }
        Ok(Verified { identity, signed_as: None, payload, chain: None })
    }

    /// The result after a Version 2 signature was verified. It is for S3 only.
    fn version_2(
        key: Arc<AccessKey>,
        place: Place,
        found: &SecurityHeaders<'_>,
    ) -> Result<Verified, ApiError> {
        let verified = Verified::without_key(Identity::User(key), found)?;
        Ok(Verified { signed_as: Some(SignedAs::version_2(place)), ..verified })
    }

    /// The result after the signature of the claim was verified.
    fn signed(claim: &Claim<'_>, payload: Payload) -> Verified {
        let is_chain = matches!(
            payload,
            Payload::Chunked(ChunkedPayload { signatures: ChunkSignatures::Checked, .. })
        );
        // The signature of the head is the seed of the chunk chain, so chunks of another request do
        // not verify.
        let seed = Signature::try_from(claim.signature.as_bytes()).ok().filter(|_| is_chain);
        let chain = seed.map(|seed| {
            Box::new(ChunkChain::new(claim.signing_key.clone(), claim.date, claim.scope.text, seed))
        });
        let identity = Identity::User(Arc::clone(&claim.access_key));
        let signed_as = Some(SignedAs {
            place: if claim.age_ms.is_some() { Place::Query } else { Place::Header },
            version: Version::Four,
            service: Some(claim.scope.service),
            age_ms: claim.age_ms,
            content_sha256: None,
            covers_query: true,
        });
        Verified { identity, signed_as, payload, chain }
    }
}

/// The request as the inner layers see it.
fn finish(
    rules: &Rules,
    mut parts: Parts,
    verified: Verified,
    source: Source,
    content_length: Option<u64>,
) -> Result<Request<AuthBody>, ApiError> {
    let Verified { identity, signed_as, payload, chain } = verified;
    let mut decoded_length = None;
    let verifier = match payload {
        Payload::Unsigned => Verifier::Plain { remaining: content_length },
        Payload::Hashed(expected) => {
            // Checked here, because a reader may never poll an empty body for its end.
            let is_empty =
                content_length == Some(0) || (content_length.is_none() && !source.has_data());
            if is_empty && expected != *EMPTY_SHA256 {
                return Err(error::content_sha256_mismatch(&expected, EMPTY_SHA256));
            }
            if is_empty {
                Verifier::Plain { remaining: content_length }
            } else {
                let hash = PayloadHash::new(expected);
                parts.extensions.insert(hash.clone());
                Verifier::Hashed { remaining: content_length, hash: StreamedHash::new(hash) }
            }
        }
        Payload::Chunked(chunked) => {
            decoded_length = Some(chunked.decoded_length);
            let trailer = chunked.trailers.map(|declared| {
                let handle = TrailerHandle::new(declared);
                parts.extensions.insert(handle.clone());
                TrailerBlock::new(handle, chunked.signatures)
            });
            let decoder = ChunkedDecoder::new(chunked.decoded_length, chain, trailer);
            let decoder =
                if rules.takes_small_chunks { decoder.with_small_chunks() } else { decoder };
            Verifier::Chunked(Box::new(decoder))
        }
    };
    strip_headers(&mut parts.headers, decoded_length);
    hide_form_content_type(&mut parts);
    let body = AuthBody::new(source, verifier);
    parts.extensions.insert(identity);
    if let Some(signed_as) = signed_as {
        parts.extensions.insert(signed_as);
    }
    if let Some(fault) = body.fault() {
        parts.extensions.insert(fault);
    }
    Ok(Request::from_parts(parts, body))
}
