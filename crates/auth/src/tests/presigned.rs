//! Presigned URLs, and hostile variations of them.

use http::{HeaderValue, Request, Uri};

use super::signer::Signer;
use super::*;
use liteio_wire::reply::ApiError;

fn signer() -> Signer {
    Signer::new("GET", "/test.txt", "UNSIGNED-PAYLOAD")
}

fn send(request: Request<TestBody>) -> Result<Request<AuthBody>, ApiError> {
    authenticate(&authenticator(), request)
}

/// A presigned GET whose query was changed after signing.
fn with_query(change: impl FnOnce(&str) -> String) -> Result<Request<AuthBody>, ApiError> {
    let mut request = signer().presigned("3600");
    let changed = change(request.uri().query().expect("query"));
    *request.uri_mut() = format!("/test.txt?{changed}").parse().expect("valid");
    send(request)
}

#[test]
fn a_presigned_request_loses_its_signature_and_keeps_the_rest() {
    let signer = signer().query("response-content-type=a%2Fb&versionId=3&x-id=GetObject");
    let authenticated = send(signer.presigned("60")).expect("accepted");
    assert_user(&authenticated, "example");
    assert_eq!(
        authenticated.uri(),
        "/test.txt?response-content-type=a%2Fb&versionId=3&x-id=GetObject"
    );
}

#[test]
fn the_life_of_a_url_has_bounds() {
    let error = "AuthorizationQueryParametersError";
    for (expires, message) in [
        ("604801", "less than a week"),
        ("99999999999999999999999", "less than a week"),
        ("-1", "must be non-negative"),
        ("", "should be a number"),
        ("%2B5", "should be a number"),
        ("1e3", "should be a number"),
        ("-", "should be a number"),
    ] {
        assert_refused(send(signer().presigned(expires)), error, message);
    }
    for expires in ["1", "604800"] {
        assert_user(&send(signer().presigned(expires)).expect(expires), "example");
    }
    let week_later =
        |seconds| authenticate(&authenticator_at(DATE, seconds), signer().presigned("604800"));
    assert_user(&week_later(604_799).expect("until the last second"), "example");
    assert_refused(week_later(604_800), "AccessDenied", "Request has expired");
    assert_refused(send(signer().presigned("0")), "AccessDenied", "Request has expired");
}

#[test]
fn a_url_that_expired_by_a_moved_clock_alone_tells_of_it() {
    let detail = |moved, machine| {
        let server = authenticator_moved(DATE, moved, machine);
        let refused = authenticate(&server, signer().presigned("60")).expect_err("expired");
        assert_eq!((refused.code(), refused.message()), ("AccessDenied", "Request has expired"));
        element(&refused, "Detail").map(str::to_owned)
    };
    let told = detail(3600, 1).expect("good by the machine's clock");
    assert!(told.contains("(2013-05-24T00:00:01Z): reset the clock before signing"), "{told}");
    assert_eq!(detail(3600, 60), None, "expired by both");
    assert_eq!(detail(3600, 3600), None, "not moved");
}

#[test]
fn every_parameter_is_needed_once() {
    let error = "AuthorizationQueryParametersError";
    for name in ["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"] {
        let name = format!("X-Amz-{name}");
        let without = |query: &str| {
            let kept = query.split('&').filter(|pair| !pair.starts_with(&format!("{name}=")));
            kept.collect::<Vec<_>>().join("&")
        };
        assert_refused(with_query(without), error, "requires the X-Amz-Algorithm");
        let twice = with_query(|query| format!("{query}&{name}=x"));
        assert_refused(twice, error, "more than once");
    }
    let algorithm = with_query(|query| query.replace("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"));
    assert_refused(algorithm, error, "X-Amz-Algorithm only supports");
    let version_4a = with_query(|query| query.replace("HMAC-SHA256", "ECDSA-P256-SHA256"));
    assert_refused(version_4a, "NotImplemented", "4A");
    let date = with_query(|query| query.replace("20130524T000000Z", "20130524"));
    assert_refused(date, error, "ISO8601");
    let credential = with_query(|query| query.replace("%2Fs3%2F", "%2F"));
    assert_refused(credential, error, "mal-formed");
    let region = with_query(|query| query.replace("us-east-1", "mars"));
    assert_refused(region, error, "the region 'mars' is wrong; expecting 'us-east-1'");
    let key = with_query(|query| query.replace(ACCESS_KEY, "NOBODY"));
    assert_refused(key, "InvalidAccessKeyId", "");
    let not_utf8 = with_query(|query| query.replace("us-east-1", "%FF"));
    assert_refused(not_utf8, error, "UTF-8");
    let token = with_query(|query| format!("{query}&X-Amz-Security-Token=t"));
    assert_refused(token, "InvalidToken", "");
}

#[test]
fn parameters_cannot_hide_behind_an_encoding() {
    for name in ["X-Amz-Signatur%65", "%58-Amz-Algorithm", "X%2DAmz%2DExpires"] {
        let request = Request::get(format!("/k?{name}=a")).header("host", "h");
        let result = send(request.body(TestBody::default()).expect("valid"));
        assert_refused(result, "AuthorizationQueryParametersError", "must not be encoded");
    }
}

#[test]
fn a_presigned_url_allows_what_it_says_and_nothing_else() {
    let mismatch = "SignatureDoesNotMatch";
    assert_refused(with_query(|query| format!("{query}&versionId=1")), mismatch, "");
    assert_refused(with_query(|query| query.replace("=3600", "=3601")), mismatch, "");
    let changes: [fn(&mut Request<TestBody>); 3] = [
        |request| *request.method_mut() = http::Method::PUT,
        |request| {
            request.headers_mut().insert("host", HeaderValue::from_static("other"));
        },
        |request| {
            let uri = request.uri().to_string().replace("/test.txt", "/else.txt");
            *request.uri_mut() = uri.parse::<Uri>().expect("valid");
        },
    ];
    for change in changes {
        let mut request = signer().presigned("60");
        change(&mut request);
        assert_refused(send(request), mismatch, "");
    }
    let mut copy = Signer::new("PUT", "/test.txt", "UNSIGNED-PAYLOAD").presigned("60");
    copy.headers_mut().insert("x-amz-copy-source", HeaderValue::from_static("/b/secret"));
    assert_refused(send(copy), "AccessDenied", "not signed");
    // As recorded on AWS: a malformed header that nobody signed is an error of the signature.
    let mut chunked = Signer::new("PUT", "/test.txt", "UNSIGNED-PAYLOAD").presigned("60");
    for (name, value) in [
        ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
        ("x-amz-decoded-content-length", "test"),
    ] {
        chunked.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    assert_refused(send(chunked), "AccessDenied", "not signed");
}

#[test]
fn signed_headers_must_come_as_they_were_signed() {
    let put = || {
        Signer::new("PUT", "/k", "UNSIGNED-PAYLOAD").header("x-amz-acl", "private").presigned("60")
    };
    let authenticated = send(put()).expect("accepted");
    assert_eq!(authenticated.headers()["x-amz-acl"], "private");
    let mut changed = put();
    changed.headers_mut().insert("x-amz-acl", HeaderValue::from_static("public-read"));
    let refused = send(changed).expect_err("refused");
    assert_eq!(refused.code(), "SignatureDoesNotMatch");
    let detail = element(&refused, "Detail").expect("present");
    assert!(detail.contains("another value than the signed one: x-amz-acl ("), "{detail}");
    let mut dropped = put();
    dropped.headers_mut().remove("x-amz-acl");
    assert_refused(send(dropped), "SignatureDoesNotMatch", "");
}

#[test]
fn conditions_that_travel_in_the_query_become_headers() {
    for (query, name, value) in [
        ("If-None-Match=%2A", "if-none-match", "*"),
        ("if-match=%22a%22", "if-match", "\"a\""),
        (
            "If-Modified-Since=Sun%2C%2006%20Nov%201994%2008%3A49%3A37%20GMT",
            "if-modified-since",
            "Sun, 06 Nov 1994 08:49:37 GMT",
        ),
        ("If-Unmodified-Since=never", "if-unmodified-since", "never"),
    ] {
        let put = || Signer::new("PUT", "/k", "UNSIGNED-PAYLOAD").query(query).presigned("60");
        let authenticated = send(put()).expect("accepted");
        assert_eq!(authenticated.uri(), "/k", "{query}");
        assert_eq!(authenticated.headers()[name], value, "{query}");
        // A holder of the URL cannot weaken the condition by a header that nobody signed.
        let mut changed = put();
        changed.headers_mut().insert(name, "\"other\"".parse().expect("a value"));
        assert_eq!(send(changed).expect("accepted").headers()[name], value);
    }
    let twice = "If-Match=a&if-match=b";
    let request = Signer::new("PUT", "/k", "UNSIGNED-PAYLOAD").query(twice).presigned("60");
    assert_refused(send(request), "InvalidArgument", "more than once");
}

#[test]
fn an_unsigned_header_may_say_that_the_payload_is_unsigned() {
    let put = || Signer::new("PUT", "/k", "UNSIGNED-PAYLOAD").presigned("60");
    let mismatch = "SignatureDoesNotMatch";
    for (name, value, code) in [
        ("x-amz-content-sha256", "UNSIGNED-PAYLOAD", None),
        // Any other hash stands for the one that was signed.
        ("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", Some(mismatch)),
        ("x-amz-content-sha256", EMPTY, Some(mismatch)),
        ("x-amz-content-sha256", "no-hash", Some(mismatch)),
        ("x-amz-content-sha256", "", Some(mismatch)),
        ("x-amz-user-agent", "test", Some("AccessDenied")),
        ("x-amz-acl", "private", Some("AccessDenied")),
        ("x-amz-meta-a", "b", Some("AccessDenied")),
        ("x-minio-force-delete", "true", Some("AccessDenied")),
    ] {
        let mut request = put();
        request.headers_mut().insert(name, value.parse().expect("a value"));
        match code {
            None => drop(send(request).expect("accepted")),
            Some(code) => assert_refused(send(request), code, ""),
        }
    }
    // Signed with the hash of its body, which only the header tells.
    let mut request = Signer::new("PUT", "/k", EMPTY).presigned("60");
    assert_refused(send(Signer::new("PUT", "/k", EMPTY).presigned("60")), mismatch, "");
    request.headers_mut().insert("x-amz-content-sha256", EMPTY.parse().expect("a value"));
    assert_user(&send(request).expect("signed"), "example");
    // A signed hash in the query stays the hash of the body.
    let hash = "X-Amz-Content-Sha256=".to_owned() + &"a".repeat(64);
    let mut request = Signer::new("PUT", "/k", &"a".repeat(64)).query(&hash).presigned("60");
    let value = "UNSIGNED-PAYLOAD".parse().expect("a value");
    request.headers_mut().insert("x-amz-content-sha256", value);
    // The body has another hash.
    assert_refused(send(request), "XAmzContentSHA256Mismatch", "");
}

/// By the rule for it, as MinIO takes them: only ACLs that open nothing, and beside a URL only.
#[test]
fn an_unsigned_acl_is_taken_if_it_is_for_nobody_else() {
    let rules = Rules { takes_unsigned_acl: true, ..Rules::strict("us-east-1") };
    let now = authenticator_at(DATE, 0).now_unix_seconds();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now.try_into().expect("after 1970"));
    let minio = Authenticator::new(directory(), rules, Arc::new(move || now));
    let put = || Signer::new("PUT", "/k", "UNSIGNED-PAYLOAD");
    for (name, value, is_accepted) in [
        ("x-amz-acl", "bucket-owner-full-control", true),
        ("x-amz-acl", "private", true),
        ("x-amz-acl", "public-read", false),
        ("x-amz-acl", "bucket-owner-read, public-read", false),
        ("x-amz-acl", "", false),
        ("x-amz-grant-read", "id=1", false),
        ("x-amz-copy-source", "/b/k", false),
        ("x-amz-meta-a", "private", false),
        ("x-minio-force-delete", "true", false),
    ] {
        let with = |mut request: Request<TestBody>| {
            request.headers_mut().insert(name, value.parse().expect("a value"));
            request
        };
        match is_accepted {
            true => {
                let accepted = authenticate(&minio, with(put().presigned("60"))).expect(value);
                assert_eq!(accepted.headers()[name], value);
            }
            false => assert_refused(
                authenticate(&minio, with(put().presigned("60"))),
                "AccessDenied",
                "not signed",
            ),
        }
        // Without the rule, and beside a signature in a header.
        assert_refused(send(with(put().presigned("60"))), "AccessDenied", "not signed");
        assert_refused(authenticate(&minio, with(put().request())), "AccessDenied", "not signed");
    }
    // Of two values, both count.
    let mut twice = put().presigned("60");
    twice.headers_mut().append("x-amz-acl", HeaderValue::from_static("private"));
    twice.headers_mut().append("x-amz-acl", HeaderValue::from_static("public-read"));
    assert_refused(authenticate(&minio, twice), "AccessDenied", "not signed");
}

#[test]
fn headers_that_travel_in_the_query_become_headers() {
    let query = "X-Amz-Storage-Class=GLACIER&x-amz-acl=private&x-amz-checksum-crc32=AAAAAA%3D%3D&\
                 x-amz-copy-source=%2Fb%2Fa%2520b&x-amz-meta-a=b%20c%2Bd&\
                 x-amz-sdk-checksum-algorithm=CRC32&x-id=PutObject";
    let put = || Signer::new("PUT", "/k", "UNSIGNED-PAYLOAD").query(query).presigned("60");
    let authenticated = send(put()).expect("accepted");
    assert_eq!(authenticated.uri(), "/k?x-id=PutObject");
    let headers = authenticated.headers();
    for (name, value) in [
        ("x-amz-acl", "private"),
        ("x-amz-copy-source", "/b/a%20b"),
        ("x-amz-meta-a", "b c+d"),
        ("x-amz-storage-class", "GLACIER"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
    // Some signers put the checksum of the empty body there.
    assert!(!headers.contains_key("x-amz-checksum-crc32"));
    assert!(!headers.contains_key("x-amz-sdk-checksum-algorithm"));
    let mut changed = put();
    let uri = changed.uri().to_string().replace("=private", "=public-read");
    *changed.uri_mut() = uri.parse().expect("valid");
    assert_refused(send(changed), "SignatureDoesNotMatch", "");
    for (query, message) in [
        ("x-amz-acl=a&x-amz-acl=b", "more than once"),
        ("x-amz-meta-a=b%0D%0Ac", "cannot be a header"),
    ] {
        let request = Signer::new("PUT", "/k", "UNSIGNED-PAYLOAD").query(query).presigned("60");
        assert_refused(send(request), "InvalidArgument", message);
    }
}
