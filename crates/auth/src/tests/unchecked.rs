//! Authenticators that accept any region, or do not check signatures.

use http::{HeaderValue, Request};

use super::signer::Signer;
use super::*;
use crate::{Rules, Service, SignedAs};

fn with_rules(change: impl FnOnce(&mut Rules)) -> Authenticator {
    let mut authenticator = authenticator();
    change(&mut authenticator.rules);
    authenticator
}

/// An authenticator that treats every request as the first user's.
fn unchecked() -> Authenticator {
    with_rules(|rules| rules.everyone_is = Some(ACCESS_KEY.to_owned()))
}

#[test]
fn any_region_is_taken_if_the_signature_covers_it() {
    let any = with_rules(|rules| rules.takes_any_region = true);
    for region in ["us-east-1", "auto", "eu-central-1", "auto", ""] {
        let mut signer = Signer::new("GET", "/test.txt", EMPTY);
        signer.region = region.to_owned();
        let authenticated = authenticate(&any, signer.request()).expect(region);
        assert_user(&authenticated, "example");
        let mut presigned = Signer::new("GET", "/test.txt", "UNSIGNED-PAYLOAD");
        presigned.region = region.to_owned();
        authenticate(&any, presigned.presigned("60")).expect(region);
        // Regions have different keys, whether cached or not.
        let mut request = signer.request();
        let header = request.headers()["authorization"].to_str().expect("text");
        let other = header.replace(&format!("/{region}/s3/"), "/elsewhere/s3/");
        let other = HeaderValue::from_str(&other).expect("a header");
        request.headers_mut().insert("authorization", other);
        assert_refused(authenticate(&any, request), "SignatureDoesNotMatch", "does not match");
    }
}

#[test]
fn without_a_check_everybody_is_the_root_user() {
    let (date, later) = (DATE, 40 * 24 * 3600);
    let mut late = authenticator_at(date, later);
    late.rules.everyone_is = Some(ACCESS_KEY.to_owned());
    let mut wrong = Signer::new("GET", "/test.txt", EMPTY);
    (wrong.access_key, wrong.secret_key) = ("test".into(), "test".into());
    wrong.region = "nowhere".to_owned();
    let anonymous = Request::get("/test.txt").header("host", "h").body(TestBody::default());
    let requests = [
        wrong.request(),
        anonymous.expect("valid"),
        wrong.clone().presigned("1"),
        Request::get("/test.txt?AWSAccessKeyId=test&Expires=1&Signature=nonsense")
            .body(TestBody::default())
            .expect("valid"),
    ];
    for request in requests {
        let uri = request.uri().clone();
        let authenticated = authenticate(&late, request).unwrap_or_else(|it| panic!("{uri}: {it}"));
        assert_user(&authenticated, "example");
        assert_eq!(authenticated.uri(), "/test.txt", "{uri}");
        assert!(!authenticated.headers().contains_key("authorization"));
    }
    let authenticated = authenticate(&late, wrong.request()).expect("taken");
    assert_eq!(authenticated.extensions().get().and_then(SignedAs::service), Some(Service::S3));
}

#[test]
fn without_a_check_signed_chunks_are_unwrapped_and_hashes_still_verified() {
    let mode = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
    let mut signer = Signer::new("PUT", "/k", mode).header("x-amz-decoded-content-length", "8194");
    (signer.access_key, signer.secret_key) = ("test".into(), "test".into());
    let (mut framed, _) = signer.chunks(&[&[b'a'; 8192], b"bc"]);
    framed.extend_from_slice(b"\r\n");
    let body = TestBody::new([framed]);
    let request = authenticate(&unchecked(), signer.request_with(body)).expect("the head is right");
    let (data, end) = read(request.into_body());
    end.expect("a whole body");
    assert_eq!(data, [&[b'a'; 8192][..], b"bc"].concat());

    let signer = Signer::new("PUT", "/k", EMPTY);
    let body = TestBody::new([Bytes::from_static(b"not empty")]);
    let request = authenticate(&unchecked(), signer.request_with(body)).expect("the head is right");
    let (_, end) = read(request.into_body());
    assert_eq!(end.expect_err("another hash").code(), "XAmzContentSHA256Mismatch");
}
