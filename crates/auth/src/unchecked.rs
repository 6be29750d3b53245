//! Requests whose signatures are not checked, as in emulators of AWS.
//!
//! Signature and framing are removed as usual, and the hash of a body is still verified: it detects
//! damage, and costs nothing to a client that sends the right one.

use std::sync::Arc;

use http::Request;
use http::request::Parts;

use super::body::{AuthBody, Source};
use super::head::SecurityHeaders;
use super::payload::{ChunkSignatures, Payload, UNSIGNED_PAYLOAD};
use super::presigned::{PresignedQuery, Stripped};
use super::query::Query;
use super::service::Service;
use super::sigv2::{Version2Query, is_version_2};
use super::sigv4::Place;
use super::{Authenticator, Identity, SignedAs, Verified, Version, finish};
use liteio_identity::AccessKey;
use liteio_wire::reply::ApiError;

impl Authenticator {
    /// Accepts a request as sent by the holder of `key`, whatever its signature.
    pub(super) fn take_unchecked(
        &self,
        mut parts: Parts,
        source: Source,
        key: &str,
    ) -> Result<Request<AuthBody>, ApiError> {
        let sender = self.access_key(key, None)?;
        let mut in_query = None;
        let (mut claimed, mut covers_query) = (None, false);
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        if let Some(presigned) = PresignedQuery::find(&query)? {
            in_query = presigned.content_sha256.as_deref().map(str::to_owned);
            claimed = presigned.credential.as_deref().and_then(Service::of_credential);
            covers_query = true;
            Stripped::of(&parts.uri, &query)?.put_into(&mut parts);
        } else if is_version_2(&query) {
            Version2Query::take(&mut parts)?;
        }
        let found = SecurityHeaders::scan(&parts.headers)?;
        let service = found.authorization.and_then(Service::claimed).or(claimed);
        let declared = found.content_sha256.or(in_query.as_deref());
        let mut payload = Payload::parse(declared.unwrap_or(UNSIGNED_PAYLOAD), &found)?;
        if let Payload::Chunked(chunked) = &mut payload
            && chunked.signatures == ChunkSignatures::Checked
        {
            chunked.signatures = ChunkSignatures::Ignored;
        }
        let place = if claimed.is_some() { Place::Query } else { Place::Header };
        let content_sha256 = found.content_sha256.map(Into::into);
        covers_query |= found.authorization.is_some();
        let version = Version::Four;
        let signed_as =
            SignedAs { place, version, service, age_ms: None, content_sha256, covers_query };
        let signed_as = Some(signed_as);
        let content_length = found.content_length;
        let identity = Identity::User(sender);
        let verified = Verified { identity, signed_as, payload, chain: None };
        finish(&self.rules, parts, verified, source, content_length)
    }

    /// The sender of an unsigned form.
    pub(super) fn sender_without_signature(&self) -> Result<Identity, ApiError> {
        match &self.rules.everyone_is {
            Some(key) => self.access_key(key, None).map(Identity::User),
            None => Ok(Identity::Anonymous),
        }
    }

    /// The access key for all requests, if signatures are not checked.
    pub(super) fn everyone(&self) -> Result<Option<Arc<AccessKey>>, ApiError> {
        let key = self.rules.everyone_is.as_deref();
        key.map(|key| self.access_key(key, None)).transpose()
    }
}
