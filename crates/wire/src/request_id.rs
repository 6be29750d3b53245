//! The two ids that S3 sets on every response, rejections included, and the header of other services for the first.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Name of the header that carries [`RequestIds::request_id`].
pub(crate) const X_AMZ_REQUEST_ID: HeaderName = HeaderName::from_static("x-amz-request-id");
/// Name of the header that carries [`RequestIds::host_id`].
pub(crate) const X_AMZ_ID_2: HeaderName = HeaderName::from_static("x-amz-id-2");
/// Name of the header in which SDKs look for [`RequestIds::request_id`], except for S3.
const X_AMZN_REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");

const REQUEST_ID_BYTES: usize = 16;
const HOST_ID_BYTES: usize = 32;

/// The ids of one request. They are also in its extensions, for error documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestIds {
    /// ASCII: the request id and, right after it, the host id. One allocation serves both headers.
    text: Bytes,
}

impl RequestIds {
    fn new(id: u64, server: &[u8; 16]) -> RequestIds {
        let mut text = [0; REQUEST_ID_BYTES + HOST_ID_BYTES];
        let (request, host) = text.split_at_mut(REQUEST_ID_BYTES);
        let digits = hex_simd::Out::from_slice(request);
        let _ = hex_simd::encode(&id.to_be_bytes(), digits, hex_simd::AsciiCase::Upper);
        let mut named = [0; 24];
        named[..8].copy_from_slice(&id.rotate_left(32).to_be_bytes());
        named[8..].copy_from_slice(server);
        let _ = base64_simd::STANDARD.encode(&named, base64_simd::Out::from_slice(host));
        RequestIds { text: Bytes::copy_from_slice(&text) }
    }

    /// `x-amz-request-id`: 16 upper-case hexadecimal digits, unique during the life of this server.
    pub fn request_id(&self) -> &str {
        std::str::from_utf8(&self.text[..REQUEST_ID_BYTES]).unwrap_or_default()
    }

    /// `x-amz-id-2`: base64; it identifies the server process and the request.
    pub fn host_id(&self) -> &str {
        std::str::from_utf8(&self.text[REQUEST_ID_BYTES..]).unwrap_or_default()
    }

    /// Sets both headers.
    pub fn insert_into(&self, headers: &mut HeaderMap) {
        let halves = [
            (X_AMZ_REQUEST_ID, self.text.slice(..REQUEST_ID_BYTES)),
            (X_AMZ_ID_2, self.text.slice(REQUEST_ID_BYTES..)),
        ];
        for (name, text) in halves {
            if let Ok(value) = HeaderValue::from_maybe_shared(text) {
                headers.insert(name, value);
            }
        }
    }

    /// Sets the header of S3 Vectors, S3 Tables, IAM and STS. The SDKs for Go show an empty id without it.
    pub fn insert_for_sdks(&self, headers: &mut HeaderMap) {
        let text = self.text.slice(..REQUEST_ID_BYTES);
        if let Ok(value) = HeaderValue::from_maybe_shared(text) {
            headers.insert(X_AMZN_REQUEST_ID, value);
        }
    }
}

/// A source of ids: a counter with a random start, mixed so that consecutive ids do not look alike.
#[derive(Debug)]
pub struct RequestIdSource {
    next: AtomicU64,
    server: [u8; 16],
}

impl RequestIdSource {
    /// A source whose ids depend on `seed` only.
    pub fn new(seed: [u8; 24]) -> RequestIdSource {
        let (mut start, mut server) = ([0; 8], [0; 16]);
        start.copy_from_slice(&seed[..8]);
        server.copy_from_slice(&seed[8..]);
        RequestIdSource { next: AtomicU64::new(u64::from_be_bytes(start)), server }
    }

    /// The ids of the next request.
    pub fn next(&self) -> RequestIds {
        RequestIds::new(mix(self.next.fetch_add(1, Ordering::Relaxed)), &self.server)
    }
}

/// The finalizer of SplitMix64: a bijection, so distinct counters give distinct ids.
fn mix(counter: u64) -> u64 {
    let mixed = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_of_the_right_shape() {
        let source = RequestIdSource::new([7; 24]);
        let ids: Vec<_> = (0..10_000).map(|_| source.next()).collect();
        let distinct: HashSet<_> = ids.iter().map(RequestIds::request_id).collect();
        assert_eq!(distinct.len(), ids.len());
        for id in &ids {
            let upper_hex = |c: char| c.is_ascii_digit() || ('A'..='F').contains(&c);
            assert!(id.request_id().len() == 16 && id.request_id().chars().all(upper_hex));
            assert_eq!(id.host_id().len(), 32);
            assert!(base64_simd::STANDARD.decode_to_vec(id.host_id()).is_ok());
        }
    }

    #[test]
    fn headers_carry_the_ids() {
        let ids = RequestIdSource::new([1; 24]).next();
        let mut headers = HeaderMap::new();
        ids.insert_into(&mut headers);
        assert_eq!(headers[X_AMZ_REQUEST_ID], ids.request_id());
        assert_eq!(headers[X_AMZ_ID_2], ids.host_id());
        ids.insert_for_sdks(&mut headers);
        assert_eq!(headers[X_AMZN_REQUEST_ID], ids.request_id());
    }
}
