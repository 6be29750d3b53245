//! Signatures in the Authorization header, and hostile variations of them.

use http::{HeaderName, HeaderValue, Request};
use http_body_util::BodyExt as _;
use sha2::{Digest as _, Sha256};

use super::signer::{Signer, sha256_hex};
use super::*;
use crate::{PayloadHash, Service, SignedAs};
use liteio_wire::reply::ApiError;

fn get() -> Signer {
    Signer::new("GET", "/test.txt", EMPTY)
}

/// A signed GET with a header changed or added after signing.
fn get_with(name: &'static str, value: &str) -> Result<Request<AuthBody>, ApiError> {
    let mut request = get().request();
    let value = HeaderValue::from_str(value).expect("valid value");
    request.headers_mut().insert(HeaderName::from_static(name), value);
    authenticate(&authenticator(), request)
}

fn send(signer: &Signer) -> Result<Request<AuthBody>, ApiError> {
    authenticate(&authenticator(), signer.request())
}

#[test]
fn a_request_without_signature_is_anonymous() {
    let request = Request::get("/b/k?versionId=1").header("host", "h").body(TestBody::default());
    let authenticated = authenticate(&authenticator(), request.expect("valid")).expect("passes");
    assert!(matches!(authenticated.extensions().get(), Some(Identity::Anonymous)));
    assert!(authenticated.extensions().get::<SignedAs>().is_none());
    assert_eq!(authenticated.uri(), "/b/k?versionId=1");
}

#[test]
fn every_user_is_recognised_by_the_own_key() {
    let mut signer = get();
    (signer.access_key, signer.secret_key) = ("OTHERKEY".into(), "other-secret".into());
    let authenticated = send(&signer).expect("accepted");
    assert_user(&authenticated, "other");
    assert_eq!(authenticated.extensions().get().and_then(SignedAs::service), Some(Service::S3));
    signer.secret_key = SECRET_KEY.into();
    assert_refused(send(&signer), "SignatureDoesNotMatch", "does not match");
    signer.access_key = "NOBODY".into();
    assert_refused(send(&signer), "InvalidAccessKeyId", "does not exist");
}

#[test]
fn a_wrong_signature_is_explained_without_giving_the_right_one() {
    let signer = get().header("x-amz-meta-a", "1");
    let mut request = signer.request();
    request.headers_mut().insert("x-amz-meta-a", HeaderValue::from_static("2"));
    let error = authenticate(&authenticator(), request).expect_err("refused");
    assert_eq!(error.status(), 403);
    let names: Vec<_> = error.elements().iter().map(|(name, _)| *name).collect();
    let expected = [
        "AWSAccessKeyId",
        "StringToSign",
        "SignatureProvided",
        "StringToSignBytes",
        "CanonicalRequest",
        "CanonicalRequestBytes",
    ];
    assert_eq!(names, expected);
    let canonical = element(&error, "CanonicalRequest").expect("present");
    assert!(canonical.starts_with("GET\n/test.txt\n\nhost:examplebucket.s3.amazonaws.com\n"));
    assert!(canonical.contains("\nx-amz-meta-a:2\n"));
    assert!(element(&error, "StringToSign").expect("present").ends_with(&sha256_hex(canonical)));
    assert!(error.elements()[3].1.starts_with("41 57 53 34 2d"));
    assert_eq!(element(&error, "SignatureProvided"), Some(&*signer.signature()));
    let right = signer.header("x-amz-meta-a", "2").signature();
    assert!(!format!("{error:?} {:?}", error.elements()).contains(&right));
}

#[test]
fn whatever_the_signature_covers_cannot_be_changed() {
    let changes: [fn(&mut Request<TestBody>); 6] = [
        |request| *request.method_mut() = http::Method::DELETE,
        |request| *request.uri_mut() = http::Uri::from_static("/test.tx"),
        |request| *request.uri_mut() = http::Uri::from_static("/test.txt?acl"),
        |request| *request.uri_mut() = http::Uri::from_static("//test.txt"),
        |request| {
            request.headers_mut().insert("host", HeaderValue::from_static("evil.example.com"));
        },
        |request| {
            request.headers_mut().remove("host");
        },
    ];
    for change in changes {
        let mut request = get().request();
        change(&mut request);
        let result = authenticate(&authenticator(), request);
        assert_refused(result, "SignatureDoesNotMatch", "does not match");
    }
}

#[test]
fn unsigned_amz_headers_and_an_unsigned_host_are_refused() {
    let message = "There were headers present in the request which were not signed";
    let refused = get_with("x-amz-copy-source", "/secret/key");
    assert_eq!(
        refused.as_ref().expect_err("refused").elements(),
        [("HeadersNotSigned", "x-amz-copy-source".to_owned())]
    );
    assert_refused(refused, "AccessDenied", message);
    for name in ["x-amz-acl", "x-amz-meta-a", "x-minio-force-delete"] {
        assert_refused(get_with(name, "true"), "AccessDenied", message);
    }
    assert_user(&get_with("x-custom", "free").expect("not an AWS header"), "example");
    assert_user(&get_with("content-type", "text/plain").expect("need not be signed"), "example");

    let mut request = get().without("host").request();
    request.headers_mut().insert("host", HeaderValue::from_static("h"));
    assert_refused(authenticate(&authenticator(), request), "AccessDenied", message);
    // A date or a hash that `SignedHeaders` does not list is unsigned, too.
    for name in ["x-amz-date", "x-amz-content-sha256"] {
        let value = get().headers[name].clone();
        let mut request = get().without(name).request();
        request.headers_mut().insert(name, value.parse().expect("valid"));
        assert_refused(authenticate(&authenticator(), request), "AccessDenied", message);
    }
}

#[test]
fn a_signed_header_that_is_missing_counts_as_empty() {
    let mut request = get().header("content-type", "text/plain").request();
    request.headers_mut().remove("content-type");
    let result = authenticate(&authenticator(), request);
    assert_refused(result, "SignatureDoesNotMatch", "");
    let mut request = get().header("content-type", "").request();
    request.headers_mut().remove("content-type");
    assert_user(&authenticate(&authenticator(), request).expect("signed as empty"), "example");
}

#[test]
fn the_clock_may_differ_by_fifteen_minutes() {
    for (seconds_later, accepted) in
        [(-900, true), (900, true), (-901, false), (901, false), (400_000_000, false)]
    {
        let result = authenticate(&authenticator_at(DATE, seconds_later), get().request());
        if accepted {
            assert_user(&result.expect("within the skew"), "example");
        } else {
            let elements = result.as_ref().expect_err("refused").elements();
            assert_eq!(elements[0], ("RequestTime", DATE.to_owned()));
            assert_eq!(elements[2], ("MaxAllowedSkewMilliseconds", "900000".to_owned()));
            assert_refused(result, "RequestTimeTooSkewed", "too large");
        }
    }
}

#[test]
fn a_date_is_needed() {
    let message = "AWS authentication requires a valid Date or x-amz-date header";
    for date in ["", "yesterday", "2013-05-24T00:00:00Z", "20130524T000000", "20130524T990000Z"] {
        assert_refused(get_with("x-amz-date", date), "AccessDenied", message);
    }
    let signer = get().without("x-amz-date");
    assert_refused(send(&signer), "AccessDenied", message);
    let by_date = signer.clone().header("date", "Fri, 24 May 2013 00:00:00 GMT");
    assert_user(&send(&by_date).expect("Date will do"), "example");
    let by_iso_date = signer.header("date", DATE);
    assert_user(&send(&by_iso_date).expect("Date will do"), "example");
}

#[test]
fn the_scope_must_be_ours() {
    let mut region = get();
    region.region = "eu-west-1".into();
    let refused = send(&region);
    let elements = refused.as_ref().expect_err("refused").elements();
    assert_eq!(elements, [("Region", "us-east-1".to_owned())]);
    let headers = refused.as_ref().expect_err("refused").headers();
    assert_eq!(headers["x-amz-bucket-region"], "us-east-1");
    let message = "the region 'eu-west-1' is wrong; expecting 'us-east-1'";
    assert_refused(refused, "AuthorizationHeaderMalformed", message);

    let mut service = get();
    service.service = "ec2".into();
    assert_refused(send(&service), "AuthorizationHeaderMalformed", "incorrect service \"ec2\"");

    let mut day = get();
    day.date = "20130523T000000Z".into();
    assert_refused(send(&day), "AuthorizationHeaderMalformed", "Invalid credential date");
}

#[test]
fn malformed_authorization_headers() {
    let good = get().authorization();
    let signature = get().signature();
    let malformed = "AuthorizationHeaderMalformed";
    let rows: Vec<(String, &str, &str)> = vec![
        (String::new(), "AccessDenied", "empty"),
        ("AWS4-HMAC-SHA256".into(), "InvalidArgument", "one and only one ' ' (space) required"),
        ("AWS4-HMAC-SHA256 ".into(), "InvalidArgument", "one and only one ' ' (space) required"),
        ("nonsense".into(), "InvalidArgument", "one and only one ' ' (space) required"),
        ("AWS4-HMAC-SHA256 Credential".into(), malformed, "component \"Credential\" is malformed"),
        ("AWS4-HMAC-SHA256 a-b,Credential=a".into(), malformed, "component \"a-b\" is malformed"),
        (good.replace("Credential=", "credentials="), malformed, "missing Credential."),
        (good.replace("SignedHeaders=", "Headers="), malformed, "missing SignedHeaders."),
        (good.replace("Signature=", "Signed="), malformed, "missing Signature."),
        ("AWS4-HMAC-SHA256 Credential=a,Signature=b".into(), malformed, "three components"),
        (format!("{good},Signature={signature}"), malformed, "three components"),
        (format!("{good},"), malformed, "three components"),
        (good.replace("/aws4_request", "/aws5_request"), malformed, "incorrect terminal"),
        (good.replace("/aws4_request", "/aws4_request/x"), malformed, "mal-formed"),
        (good.replace("/us-east-1", ""), malformed, "mal-formed"),
        (good.replace(ACCESS_KEY, ""), malformed, "mal-formed"),
        (good.replace("SignedHeaders=", "SignedHeaders=Host;"), "SignatureDoesNotMatch", ""),
        (good.replace("=host;", "=hast;"), "AccessDenied", "not signed"),
        (
            good.replace("SignedHeaders=", &format!("SignedHeaders={}", "a;".repeat(300))),
            malformed,
            "too many",
        ),
        (good.replace(&signature, ""), "SignatureDoesNotMatch", ""),
        (good.replace(&signature, &signature[1..]), "SignatureDoesNotMatch", ""),
        (good.replace(&signature, &signature.to_uppercase()), "SignatureDoesNotMatch", ""),
        (good.replace(&signature, &format!("{signature}0")), "SignatureDoesNotMatch", ""),
        (
            "AWS AKIAIOSFODNN7EXAMPLE:frJIUN8DYpKDtOLCwo//yllqDzg=".into(),
            "InvalidRequest",
            "Please use",
        ),
        ("Basic dXNlcjpwYXNz".into(), "InvalidArgument", "Unsupported Authorization Type"),
        ("Bearer x".into(), "InvalidArgument", "Unsupported Authorization Type"),
        ("AWS2-HMAC-SHA1 x".into(), "InvalidArgument", "Unsupported Authorization Type"),
        (
            good.replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"),
            "NotImplemented",
            "Signature Version 4A",
        ),
    ];
    for (authorization, code, message) in rows {
        assert_refused(get_with("authorization", &authorization), code, message);
    }
    let spaced = good.replace(',', " ,  ");
    assert_user(&get_with("authorization", &spaced).expect("spaces are allowed"), "example");
}

#[test]
fn only_one_mechanism_and_each_header_once() {
    for query in ["X-Amz-Algorithm=AWS4-HMAC-SHA256", "Signature=x", "X-Amz-Signature=00"] {
        let request = get().query(query).request();
        let result = authenticate(&authenticator(), request);
        assert_refused(result, "InvalidArgument", "Only one auth mechanism allowed");
    }
    for name in ["authorization", "host", "x-amz-date", "x-amz-content-sha256"] {
        let mut request = get().request();
        let value = request.headers()[name].clone();
        request.headers_mut().append(name, value);
        let result = authenticate(&authenticator(), request);
        assert_refused(result, "InvalidArgument", "more than once");
    }
}

#[test]
fn temporary_credentials_are_unknown_here() {
    let signer = get().header("x-amz-security-token", "token");
    assert_refused(send(&signer), "InvalidToken", "");
}

#[test]
fn the_payload_must_be_described() {
    let undescribed = get().without("x-amz-content-sha256");
    let message = "Missing required header for this request: x-amz-content-sha256";
    assert_refused(send(&undescribed), "InvalidRequest", message);
    for text in ["", "abc", "unsigned-payload", "STREAMING-PAYLOAD", &"g".repeat(64)] {
        let refused = send(&Signer::new("GET", "/test.txt", text));
        assert_refused(refused, "InvalidArgument", "or a valid sha256 value.");
    }
    let asymmetric = Signer::new("PUT", "/k", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD");
    assert_refused(send(&asymmetric), "NotImplemented", "4A");
    let endless = Signer::new("PUT", "/k", "STREAMING-UNSIGNED-PAYLOAD-TRAILER");
    assert_refused(send(&endless), "MissingContentLength", "x-amz-decoded-content-length");
    let trailer = get().header("x-amz-trailer", "x-amz-checksum-crc32");
    assert_refused(send(&trailer), "InvalidRequest", "x-amz-trailer");
}

#[test]
fn bodies_keep_their_declared_length_and_hash() {
    let put = |hash: &str, length: usize, body: TestBody| {
        let signer = Signer::new("PUT", "/k", hash).header("content-length", &length.to_string());
        authenticate(&authenticator(), signer.request_with(body))
    };
    let hash = sha256_hex("hello world");
    let whole = || TestBody::new(["hello", " ", "world"]);
    for hash in [hash.as_str(), &hash.to_uppercase(), "UNSIGNED-PAYLOAD"] {
        let body = put(hash, 11, whole()).expect("accepted").into_body();
        assert_eq!(read(body), (b"hello world".to_vec(), Ok(())));
        let long = put(hash, 10, whole()).expect("accepted").into_body();
        assert!(read(long).1.is_err());
        let short = put(hash, 12, whole()).expect("accepted").into_body();
        assert_eq!(body_code(short), "IncompleteBody");
        let broken = put(hash, 12, whole().broken()).expect("accepted").into_body();
        assert_eq!(body_code(broken), "IncompleteBody");
        let absent = put(hash, 11, TestBody::default()).expect("accepted").into_body();
        assert_eq!(body_code(absent), "IncompleteBody");
    }
    // An empty body is refused without reading it.
    let refused = put(&hash, 0, TestBody::default()).expect_err("another hash");
    assert_eq!(refused.code(), "XAmzContentSHA256Mismatch");
    assert_eq!(element(&refused, "ClientComputedContentSHA256"), Some(&*hash));
    assert_eq!(element(&refused, "S3ComputedContentSHA256"), Some(&*sha256_hex("")));
    let undeclared = Signer::new("GET", "/k", &hash).request();
    assert_refused(authenticate(&authenticator(), undeclared), "XAmzContentSHA256Mismatch", "");
    // Without a length, as in chunked transfer, the hash is checked at the end.
    let signer = Signer::new("PUT", "/k", &hash);
    let sent = |body| authenticate(&authenticator(), signer.request_with(body)).expect("accepted");
    assert_eq!(read(sent(whole()).into_body()), (b"hello world".to_vec(), Ok(())));
    assert_eq!(body_code(sent(TestBody::new(["hello"])).into_body()), "XAmzContentSHA256Mismatch");
}

#[test]
fn the_hash_of_a_body_is_compared_by_whoever_has_taken_it() {
    let hash = sha256_hex("hello world");
    let send = |frames: [&'static str; 2]| {
        let signer = Signer::new("PUT", "/k", &hash).header("content-length", "11");
        let request = authenticate(&authenticator(), signer.request_with(TestBody::new(frames)));
        let (parts, body) = request.expect("accepted").into_parts();
        (parts.extensions.get::<PayloadHash>().cloned().expect("a signed hash"), body)
    };
    let (right, other) = (["hello", " world"], ["HELLO", " WORLD"]);
    // A reader that takes it gets all bytes, and knows what is expected.
    let (signed, body) = send(other);
    let taken = signed.take().expect("nothing has left");
    assert!(signed.take().is_none(), "once");
    assert_eq!(read(body), (b"HELLO WORLD".to_vec(), Ok(())));
    let refused = taken.check(&Sha256::digest("HELLO WORLD")).expect_err("another body");
    assert_eq!(refused.code(), "XAmzContentSHA256Mismatch");
    assert_eq!(element(&refused, "ClientComputedContentSHA256"), Some(&*hash));
    assert_eq!(element(&refused, "S3ComputedContentSHA256"), Some(&*sha256_hex("HELLO WORLD")));
    taken.check(&Sha256::digest("hello world")).expect("the body that was signed");
    taken.check(&[]).expect_err("no hash");
    // Once it streams, the body compares by itself.
    let (signed, mut body) = send(other);
    let first = block_on(body.frame()).expect("a frame").expect("the first half");
    assert_eq!(first.into_data().expect("data"), "HELLO");
    assert!(signed.take().is_none());
    assert_eq!(body_code(body), "XAmzContentSHA256Mismatch");
    let (_, body) = send(right);
    assert_eq!(read(body), (b"hello world".to_vec(), Ok(())));
}

#[test]
fn refusals_come_before_the_body_is_read() {
    let body = TestBody::new(["data"]);
    let polled = body.polled();
    let signer = Signer::new("PUT", "/k", "UNSIGNED-PAYLOAD");
    let mut request = signer.request_with(body);
    request.headers_mut().insert("x-amz-acl", HeaderValue::from_static("private"));
    assert!(authenticate(&authenticator(), request).is_err());
    assert_eq!(polled.load(Ordering::Relaxed), 0);
}

#[test]
fn vector_requests_may_leave_their_hash_to_us() {
    let send = |body: &'static str, signed_body: &str| {
        let mut signer = Signer::new("POST", "/QueryVectors", &sha256_hex(signed_body))
            .without("x-amz-content-sha256")
            .header("content-type", "application/json");
        signer.service = "s3vectors".into();
        authenticate(&authenticator(), signer.request_with(TestBody::new([&body[..3], &body[3..]])))
    };
    let authenticated = send("{\"a\":1}", "{\"a\":1}").expect("accepted");
    assert_user(&authenticated, "example");
    assert_eq!(
        authenticated.extensions().get().and_then(SignedAs::service),
        Some(Service::S3Vectors)
    );
    assert_eq!(authenticated.body().size_hint().exact(), Some(7));
    assert_eq!(read(authenticated.into_body()), (b"{\"a\":1}".to_vec(), Ok(())));
    assert_refused(send("{\"a\":2}", "{\"a\":1}"), "SignatureDoesNotMatch", "");

    let megabyte = Bytes::from(vec![b'x'; 1 << 20]);
    let mut signer = Signer::new("POST", "/PutVectors", EMPTY).without("x-amz-content-sha256");
    signer.service = "s3vectors".into();
    let huge = TestBody::new(std::iter::repeat_n(megabyte, 21));
    let result = authenticate(&authenticator(), signer.request_with(huge));
    assert_refused(result, "EntityTooLarge", "");
    let declared = signer.header("content-length", "99999999999");
    assert_refused(send_now(&declared), "EntityTooLarge", "");
}

#[test]
fn requests_of_s3_tables_are_put_without_their_hash() {
    let send = |body: &'static str| {
        let mut signer = Signer::new("PUT", "/buckets", &sha256_hex("{}"));
        signer = signer.without("x-amz-content-sha256");
        signer.service = "s3tables".into();
        authenticate(&authenticator(), signer.request_with(TestBody::new([body])))
    };
    let authenticated = send("{}").expect("accepted");
    assert_eq!(
        authenticated.extensions().get().and_then(SignedAs::service),
        Some(Service::S3Tables)
    );
    assert_eq!(read(authenticated.into_body()), (b"{}".to_vec(), Ok(())));
    assert_refused(send("{ }"), "SignatureDoesNotMatch", "");
    // The path of a POST is no bucket, which would take a form only.
    let mut signer = Signer::new("POST", "/start-table-migration", &sha256_hex("{}"));
    signer = signer.without("x-amz-content-sha256");
    signer.service = "s3tables".into();
    authenticate(&authenticator(), signer.request_with(TestBody::new(["{}"]))).expect("accepted");
}

#[test]
fn only_a_post_is_collected_to_be_hashed() {
    for (method, service) in [("PUT", "s3vectors"), ("GET", "s3vectors"), ("PUT", "sts")] {
        let mut signer = Signer::new(method, "/bucket/key", &sha256_hex("data"));
        signer = signer.without("x-amz-content-sha256");
        signer.service = service.into();
        let body = TestBody::new(["data"]);
        let polled = body.polled();
        let refused = authenticate(&authenticator(), signer.request_with(body));
        assert_refused(refused, "SignatureDoesNotMatch", "");
        assert_eq!(polled.load(Ordering::Relaxed), 0, "{method} {service}");
    }
    // Without a body there is nothing to collect.
    let mut signer = Signer::new("DELETE", "/tags/arn", EMPTY).without("x-amz-content-sha256");
    signer.service = "s3vectors".into();
    assert_user(&authenticate(&authenticator(), signer.request()).expect("accepted"), "example");
}

fn send_now(signer: &Signer) -> Result<Request<AuthBody>, ApiError> {
    authenticate(&authenticator(), signer.request_with(TestBody::new(["x"])))
}

#[test]
fn paths_are_encoded_once_for_s3_and_twice_for_others() {
    for (sent, canonical) in [
        ("/b/a%20b", "/b/a%20b"),
        ("/b/a+b=(c)@d", "/b/a%2Bb%3D%28c%29%40d"),
        ("/b/%c3%a9//x/../y", "/b/%C3%A9//x/../y"),
        // Signers that keep their path exactly as they send it.
        ("/b/a%2Fb", "/b/a%2Fb"),
        ("/b/a(b)", "/b/a(b)"),
    ] {
        let signer = Signer::new("GET", canonical, EMPTY);
        let mut request = signer.request();
        *request.uri_mut() = sent.parse().expect("valid path");
        assert_user(&authenticate(&authenticator(), request).expect(sent), "example");
    }
    let mut signer = Signer::new("GET", "/tags/arn%253Aaws", EMPTY);
    signer.service = "s3vectors".into();
    let mut request = signer.request();
    *request.uri_mut() = http::Uri::from_static("/tags/arn%3Aaws");
    assert_user(&authenticate(&authenticator(), request).expect("twice"), "example");
}

#[test]
fn an_absolute_request_line_changes_nothing() {
    let mut request = get().request();
    *request.uri_mut() = http::Uri::from_static("http://ignored.example.com/test.txt");
    assert_user(&authenticate(&authenticator(), request).expect("host header counts"), "example");
}
