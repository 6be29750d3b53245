//! Signature Version 2: URLs and a form as signed by botocore 1.43, and misuse of them.

use http::{HeaderValue, Method, Request};

use super::forms::{Fields, fields, replaced, send as send_form, without};
use super::*;
use crate::{Service, SignedAs};
use liteio_wire::reply::ApiError;

/// The parameters that end every URL here.
const SIGNER: &str = "AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Expires=1369357200";

/// Method, path, other parameters, signature. Each expires an hour after [`DATE`].
const SIGNED_URLS: [(&str, &str, &str, &str); 12] = [
    ("GET", "/bucket/a%20b%2Bc/%C3%BC%26%3D.txt", "", "dhVBjNNv5Jq%2B4dBGkpyzU63xeF8%3D"),
    (
        "GET",
        "/bucket/k",
        "versionId=v%201&response-content-disposition=attachment%3B%20filename%3D%22a%20b%2Bc.txt\
         %22&response-content-type=text%2Fplain",
        "pF0vzVHfO0PakNelGiub1GV7RS4%3D",
    ),
    (
        "PUT",
        "/bucket/k",
        "content-type=text%2Fplain&x-amz-acl=private&x-amz-meta-a=B%20c&\
         content-md5=rL0Y20zC%2BFzt72VPzMSk2A%3D%3D",
        "RyM%2BUG%2BV0%2FuSTSghTe%2BuYCxXKbc%3D",
    ),
    ("PUT", "/bucket/k", "", "0Sz9655VnnrLiNvOIFC1epd%2B9QM%3D"),
    ("POST", "/bucket/k", "uploads", "Lr%2BKIsddMx66w7z1nEmNJay3n0U%3D"),
    ("PUT", "/bucket/k", "uploadId=u-1&partNumber=7", "rUqj4WJrxVGzZyWfhKYxlGdi%2BGI%3D"),
    (
        "GET",
        "/bucket",
        "list-type=2&prefix=p%2F&encoding-type=url",
        "yKu3coAPevCxwTl5RaphIKOHyWY%3D",
    ),
    ("DELETE", "/bucket/k", "", "FQaj5zamwmZ1Yve1ncuYhxzh1hg%3D"),
    ("HEAD", "/bucket", "", "uwOpalP320T46uVpjOUSRlrh4Gs%3D"),
    ("GET", "/bucket/k", "tagging", "a0VE%2BjFojBfQ3LsfUvvCWVzdyKA%3D"),
    ("GET", "/", "", "2atzAsMyY7DGKrWIDEMKgNMBhyg%3D"),
    ("PUT", "/bucket/k", "x-amz-copy-source=other%2Fa%2520b", "lRuLb4bMvY4WD1%2B5NzG6nNmDsSM%3D"),
];

fn url(path: &str, query: &str, signature: &str) -> String {
    let separator = if query.is_empty() { "" } else { "&" };
    format!("{path}?{query}{separator}{SIGNER}&Signature={signature}")
}

fn request(method: &str, uri: &str) -> Request<TestBody> {
    let builder = Request::builder().method(method).uri(uri).header("host", "localhost:9000");
    builder.body(TestBody::default()).expect("valid request")
}

fn send(request: Request<TestBody>) -> Result<Request<AuthBody>, ApiError> {
    authenticate(&authenticator(), request)
}

fn signed() -> Request<TestBody> {
    request("DELETE", &url("/bucket/k", "", SIGNED_URLS[7].3))
}

#[test]
fn urls_of_botocore_are_accepted_and_lose_their_signature() {
    for (method, path, query, signature) in SIGNED_URLS {
        let authenticated = send(request(method, &url(path, query, signature))).expect(path);
        assert_user(&authenticated, "example");
        assert_eq!(authenticated.extensions().get().and_then(SignedAs::service), Some(Service::S3));
        assert_eq!(authenticated.uri().path(), path);
        let kept = authenticated.uri().query().unwrap_or_default();
        let expected = query.split('&').filter(|pair| !pair.contains("x-amz-"));
        let expected = expected.filter(|pair| !pair.starts_with("content-"));
        assert_eq!(kept, expected.collect::<Vec<_>>().join("&"), "{query}");
    }
}

#[test]
fn headers_that_travel_in_the_query_become_headers() {
    let (method, path, query, signature) = SIGNED_URLS[2];
    let put = || request(method, &url(path, query, signature));
    let expected = [
        ("content-type", "text/plain"),
        ("content-md5", "rL0Y20zC+Fzt72VPzMSk2A=="),
        ("x-amz-acl", "private"),
        ("x-amz-meta-a", "B c"),
    ];
    let authenticated = send(put()).expect("accepted");
    for (name, value) in expected {
        assert_eq!(authenticated.headers()[name], value, "{name}");
        // Sent in both places they count once, and other values than the signed do not pass.
        let mut both = put();
        both.headers_mut().insert(name, HeaderValue::from_static(value));
        let both = send(both).expect("accepted");
        assert_eq!(both.headers().get_all(name).iter().count(), 1, "{name}");
        let mut other = put();
        other.headers_mut().insert(name, HeaderValue::from_static("other"));
        assert_refused(send(other), "SignatureDoesNotMatch", "");
    }
    let (method, path, query, signature) = SIGNED_URLS[11];
    let copy = send(request(method, &url(path, query, signature))).expect("accepted");
    assert_eq!(copy.headers()["x-amz-copy-source"], "other/a%20b");
}

#[test]
fn a_bucket_may_be_named_by_the_host() {
    for (path, query, signature) in [
        ("/a/b", "", "7yg30iONcA5nzPzTfP63Y%2BhAu0U%3D"),
        ("/", "encoding-type=url", "yKu3coAPevCxwTl5RaphIKOHyWY%3D"),
    ] {
        let uri = url(path, query, signature);
        let mut by_host = request("GET", &uri);
        by_host.headers_mut().insert("host", HeaderValue::from_static("bucket.localhost:9000"));
        let accepted = authenticate_by_host(&authenticator(), by_host, "bucket").expect(path);
        assert_user(&accepted, "example");
        let by_path = authenticate(&authenticator(), request("GET", &uri));
        assert_refused(by_path, "SignatureDoesNotMatch", "");
    }
}

#[test]
fn a_url_allows_what_it_says_and_nothing_else() {
    let mismatch = "SignatureDoesNotMatch";
    for (name, value) in [
        ("x-amz-copy-source", "/other/secret"),
        ("x-amz-acl", "public-read"),
        ("x-amz-meta-a", ""),
        ("content-type", "text/html"),
        ("content-md5", "rL0Y20zC+Fzt72VPzMSk2A=="),
    ] {
        let mut changed = signed();
        changed.headers_mut().insert(name, HeaderValue::from_static(value));
        assert_refused(send(changed), mismatch, "");
        let uri = format!("{}&{name}={value}", signed().uri());
        assert_refused(send(request("DELETE", &uri)), mismatch, "");
    }
    for added in [
        "acl",
        "%61cl",
        "versionId=1",
        "uploadId=u",
        "attributes",
        "retention",
        "legal-hold",
        "response-content-type=a",
    ] {
        let uri = format!("{}&{added}", signed().uri());
        assert_refused(send(request("DELETE", &uri)), mismatch, "");
    }
    let else_key = url("/bucket/else", "", SIGNED_URLS[7].3);
    assert_refused(send(request("DELETE", &else_key)), mismatch, "");
    let mut put = signed();
    *put.method_mut() = Method::PUT;
    assert_refused(send(put), mismatch, "");
    let later = signed().uri().to_string().replace("1369357200", "1369357201");
    assert_refused(send(request("DELETE", &later)), mismatch, "");
    let nobody = signed().uri().to_string().replace(ACCESS_KEY, "NOBODY");
    assert_refused(send(request("DELETE", &nobody)), "InvalidAccessKeyId", "");
    let other_user = signed().uri().to_string().replace(ACCESS_KEY, "OTHERKEY");
    assert_refused(send(request("DELETE", &other_user)), mismatch, "");
    let mut twice = signed();
    twice.headers_mut().insert("authorization", HeaderValue::from_static("AWS a:b"));
    assert_refused(send(twice), "InvalidArgument", "Only one auth mechanism");
    for parameter in ["X-Amz-Signature=00", "x-amz-algorithm=AWS4-HMAC-SHA256"] {
        let uri = format!("{}&{parameter}", signed().uri());
        assert_refused(send(request("DELETE", &uri)), "InvalidArgument", "Only one auth mechanism");
    }
}

#[test]
fn a_url_lives_until_it_expires_and_a_week_at_most() {
    let at = |seconds| authenticate(&authenticator_at(DATE, seconds), signed());
    assert_user(&at(3599).expect("until the last second"), "example");
    assert_refused(at(3600), "AccessDenied", "Request has expired");
    let moved = authenticate(&authenticator_moved(DATE, 3600, 0), signed()).expect_err("expired");
    assert!(element(&moved, "Detail").is_some_and(|told| told.contains("reset the clock")));
    assert_user(&at(3600 - 604_800).expect("a week"), "example");
    assert_refused(at(3600 - 604_800 - 901), "AccessDenied", "less than a week");
    for (expires, message) in [
        ("", "seconds since epoch"),
        ("-1", "seconds since epoch"),
        ("1e3", "seconds since epoch"),
        ("Thu", "seconds since epoch"),
        ("0", "Request has expired"),
        ("99999999999999999999999999", "less than a week"),
    ] {
        let uri = signed().uri().to_string().replace("1369357200", expires);
        assert_refused(send(request("DELETE", &uri)), "AccessDenied", message);
    }
}

#[test]
fn every_parameter_is_needed_once() {
    for query in ["AWSAccessKeyId=a&Expires=1", "Signature=b", "AWSAccessKeyId=a&Signature=b"] {
        let result = send(request("GET", &format!("/k?{query}")));
        assert_refused(result, "AccessDenied", "requires the Signature, Expires and AWSAccess");
    }
    for added in ["Signature=a", "Signatur%65=a", "Expires=1", "AWSAccessKeyId=a"] {
        let uri = format!("{}&{added}", signed().uri());
        assert_refused(send(request("DELETE", &uri)), "InvalidArgument", "more than once");
    }
    let headers = ["x-amz-acl=a&X-Amz-Acl=a", "content-type=a&Content-Type=a"];
    for added in headers {
        let uri = format!("{}&{added}", signed().uri());
        assert_refused(send(request("DELETE", &uri)), "InvalidArgument", "more than once");
    }
    for added in ["x-amz-meta-a=b%0Ax-amz-acl:private", "x-amz-%0A=b", "content-type=a%0Db"] {
        let uri = format!("{}&{added}", signed().uri());
        assert_refused(send(request("DELETE", &uri)), "InvalidArgument", "cannot be a header");
    }
    let token = url("/bucket/k", "x-amz-security-token=TOKEN", "UZAFUSUHft3k%2B3Jhr9lhEWPlg5k%3D");
    assert_refused(send(request("GET", &token)), "InvalidToken", "");
}

#[test]
fn a_wrong_signature_is_explained_without_giving_the_right_one() {
    let uri = url("/bucket/k", "", "0Sz9655VnnrLiNvOIFC1epd%2B9QM%3D");
    let error = send(request("DELETE", &uri)).expect_err("signed for PUT");
    assert_eq!(error.status(), 403);
    for (name, expected) in [
        ("AWSAccessKeyId", Some(ACCESS_KEY)),
        ("SignatureProvided", Some("0Sz9655VnnrLiNvOIFC1epd+9QM=")),
        ("StringToSign", Some("DELETE\n\n\n1369357200\n/bucket/k")),
        ("CanonicalRequest", None),
    ] {
        assert_eq!(element(&error, name), expected, "{name}");
    }
    assert!(!format!("{error:?} {:?}", error.elements()).contains("FQaj5zamwmZ1Yve1ncuYhxzh1hg"));
}

#[test]
fn the_authorization_header_of_version_2_is_refused_by_name() {
    let mut get = request("GET", "/bucket/k");
    let value = format!("AWS {ACCESS_KEY}:FQaj5zamwmZ1Yve1ncuYhxzh1hg=");
    get.headers_mut().insert("authorization", value.parse().expect("valid"));
    assert_refused(send(get), "InvalidRequest", "Please use AWS4-HMAC-SHA256.");
}

/// `generate_presigned_post("bucket", "up/${filename}", …)` with a type, an ACL and 1 to 10 bytes.
const POLICY: &str = "\
eyJleHBpcmF0aW9uIjogIjIwMTUtMTItMjlUMDE6MDA6MDBaIiwgImNvbmRpdGlvbnMiOiBbeyJhY2wiOiAicHJpdmF0ZSJ9LC\
B7IkNvbnRlbnQtVHlwZSI6ICJ0ZXh0L3BsYWluIn0sIFsiY29udGVudC1sZW5ndGgtcmFuZ2UiLCAxLCAxMF0sIHsiYnVja2V0\
IjogImJ1Y2tldCJ9LCBbInN0YXJ0cy13aXRoIiwgIiRrZXkiLCAidXAvIl1dfQ==";

fn form() -> Fields {
    fields(&[
        ("acl", "private"),
        ("Content-Type", "text/plain"),
        ("key", "up/${filename}"),
        ("AWSAccessKeyId", ACCESS_KEY),
        ("policy", POLICY),
        ("signature", "RhIY7tbrogoGS62A/5VOZZ3+dAs="),
    ])
}

#[test]
fn a_form_of_botocore_becomes_a_put() {
    let put = send_form("bucket", &form(), b"12345").expect("accepted");
    assert_user(&put, "example");
    assert_eq!(put.method(), Method::PUT);
    assert_eq!(put.uri(), "/bucket/up/a%20b.txt");
    assert_eq!(put.headers()["content-type"], "text/plain");
    assert_eq!(read(put.into_body()), (b"12345".to_vec(), Ok(())));
    let long = send_form("bucket", &form(), b"12345678901").expect("length is not known yet");
    assert_eq!(body_code(long.into_body()), "EntityTooLarge");
}

#[test]
fn a_form_cannot_be_changed() {
    for (name, value, code, message) in [
        ("signature", "RhIY7tbrogoGS62A/5VOZZ3+dAt=", "SignatureDoesNotMatch", ""),
        ("policy", "e30=", "SignatureDoesNotMatch", ""),
        ("AWSAccessKeyId", "OTHERKEY", "SignatureDoesNotMatch", ""),
        ("AWSAccessKeyId", "NOBODY", "InvalidAccessKeyId", ""),
        ("key", "down/a", "AccessDenied", "[\"starts-with\", \"$key\", \"up/\"]"),
        ("acl", "public-read", "AccessDenied", "Policy Condition failed"),
    ] {
        let refused = send_form("bucket", &replaced(form(), name, value), b"12345");
        assert_refused(refused, code, message);
    }
    for (name, spelled) in
        [("policy", "policy"), ("signature", "Signature"), ("AWSAccessKeyId", "AWSAccessKeyId")]
    {
        let field = format!("a field named '{spelled}'");
        let refused = send_form("bucket", &without(form(), name), b"12345");
        assert_refused(refused, "InvalidArgument", &field);
        let mut twice = form();
        twice.push((name.to_owned(), "x".to_owned()));
        assert_refused(send_form("bucket", &twice, b"1"), "InvalidArgument", "more than once");
    }
    let mut added = form();
    added.push(("x-amz-meta-a".to_owned(), "b".to_owned()));
    assert_refused(send_form("bucket", &added, b"1"), "AccessDenied", "Extra input fields");
    let mut both = form();
    both.push(("x-amz-signature".to_owned(), "00".to_owned()));
    assert_refused(send_form("bucket", &both, b"1"), "InvalidArgument", "Only one auth");
    assert_refused(send_form("else", &form(), b"1"), "AccessDenied", "$bucket");
}
