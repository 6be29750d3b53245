//! Signature Version 2 in the Authorization header: the examples of "Signing and authenticating
//! REST requests" in the Amazon S3 user guide, in its current and its first edition, and misuse.

use base64_simd::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderName, HeaderValue, Request};
use sha1::Sha1;

use super::*;
use crate::{Service, SignedAs};

type Headers = [(&'static str, &'static str)];

/// One of the examples: method, URI, headers, the bucket in the host, signature.
type Example = (&'static str, &'static str, &'static Headers, Option<&'static str>, &'static str);

const OBJECT_DATE: (&str, &str) = ("date", "Tue, 27 Mar 2007 19:36:42 +0000");
const PUT_DATE: (&str, &str) = ("date", "Tue, 27 Mar 2007 21:15:45 +0000");
const LIST_DATE: (&str, &str) = ("date", "Tue, 27 Mar 2007 19:42:41 +0000");
const ACL_DATE: (&str, &str) = ("date", "Tue, 27 Mar 2007 19:44:46 +0000");
const DELETE_DATES: [(&str, &str); 2] = [
    ("date", "Tue, 27 Mar 2007 21:20:27 +0000"),
    ("x-amz-date", "Tue, 27 Mar 2007 21:20:26 +0000"),
];
const LIST: &str = "/?prefix=photos&max-keys=50&marker=puppy";
const CURRENT: Option<&str> = Some("awsexamplebucket1");
const FIRST: Option<&str> = Some("johnsmith");

const EXAMPLES: [Example; 13] = [
    ("GET", "/photos/puppy.jpg", &[OBJECT_DATE], CURRENT, "qgk2+6Sv9/oM7G3qLEjTH1a1l1g="),
    ("GET", "/photos/puppy.jpg", &[OBJECT_DATE], FIRST, "bWq2s1WEIj+Ydj0vQ697zp+IXMU="),
    (
        "PUT",
        "/photos/puppy.jpg",
        &[PUT_DATE, ("content-type", "image/jpeg")],
        CURRENT,
        "iqRzw+ileNPu1fhspnRs8nOjjIA=",
    ),
    (
        "PUT",
        "/photos/puppy.jpg",
        &[PUT_DATE, ("content-type", "image/jpeg")],
        FIRST,
        "MyyxeRY7whkBe+bq8fHCL/2kKUg=",
    ),
    ("GET", LIST, &[LIST_DATE], CURRENT, "m0WP8eCtspQl5Ahe6L1SozdX9YA="),
    ("GET", LIST, &[LIST_DATE], FIRST, "htDYFYduRNen8P9ZfE/s9SuKy0U="),
    ("GET", "/?acl", &[ACL_DATE], CURRENT, "82ZHiFIjc+WbcwFKGUVEQspPn+0="),
    ("GET", "/?acl", &[ACL_DATE], FIRST, "c2WLPFtWHVgbEmeEG93a4cG37dM="),
    // The value of x-amz-date in the place of the date.
    (
        "DELETE",
        "/awsexamplebucket1/photos/puppy.jpg",
        &DELETE_DATES,
        None,
        "XbyTlbQdu9Xw5o8P4iMwPktxQd8=",
    ),
    ("DELETE", "/johnsmith/photos/puppy.jpg", &DELETE_DATES, None, "lx3byBScXR6KzyMaifNkardMwNk="),
    // Repeated headers, other cases, a bucket with the name of its host.
    (
        "PUT",
        "/db-backup.dat.gz",
        &[
            ("date", "Tue, 27 Mar 2007 21:06:08 +0000"),
            ("x-amz-acl", "public-read"),
            ("content-type", "application/x-download"),
            ("content-md5", "4gJE4saaMU4BqNR0kLY+lw=="),
            ("X-Amz-Meta-ReviewedBy", "joe@johnsmith.net"),
            ("X-Amz-Meta-ReviewedBy", "jane@johnsmith.net"),
            ("X-Amz-Meta-FileChecksum", "0x02661779"),
            ("X-Amz-Meta-ChecksumAlgorithm", "crc32"),
        ],
        Some("static.johnsmith.net"),
        "ilyl83RwaSoYIEdixDQcA4OnAnc=",
    ),
    (
        "GET",
        "/",
        &[("date", "Wed, 28 Mar 2007 01:29:59 +0000")],
        None,
        "qGdzdERIC03wnaRNKh6OqZehG9s=",
    ),
    // The path as it is sent, with escapes in lower case.
    (
        "GET",
        "/dictionary/fran%C3%A7ais/pr%c3%a9f%c3%a8re",
        &[("date", "Wed, 28 Mar 2007 01:49:49 +0000")],
        None,
        "DNEZGsoieTZ92F3bUfSPQcbGmlM=",
    ),
];

/// An authenticator that takes Version 2, with its clock at an HTTP date plus some seconds.
fn at(date: &str, seconds_later: i64) -> Authenticator {
    let date = AmzDate::parse_http(date).expect("a date");
    let seconds = u64::try_from(date.unix_seconds() + seconds_later).expect("after 1970");
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let rules = Rules { takes_version_2: true, ..Rules::strict("us-east-1") };
    Authenticator::new(directory(), rules, Arc::new(move || now))
}

fn request(
    method: &str,
    uri: &str,
    headers: &[(&str, &str)],
    signature: &str,
) -> Request<TestBody> {
    let mut builder = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    let builder = builder.header("authorization", format!("AWS {ACCESS_KEY}:{signature}"));
    builder.body(TestBody::default()).expect("valid request")
}

fn send(
    authenticator: &Authenticator,
    request: Request<TestBody>,
    bucket: Option<&str>,
) -> Result<Request<AuthBody>, ApiError> {
    block_on(authenticator.authenticate(request, bucket))
}

/// The signature of a string, by a signer of this test.
fn signed(string_to_sign: &str) -> String {
    let mac = Hmac::<Sha1>::new_from_slice(SECRET_KEY.as_bytes()).expect("any length");
    STANDARD.encode_to_string(mac.chain_update(string_to_sign).finalize().into_bytes())
}

#[test]
fn the_examples_of_aws_are_accepted() {
    for (method, uri, headers, bucket, signature) in EXAMPLES {
        let date = headers.iter().find(|(name, _)| *name == "date").expect("a date").1;
        let send = |request| send(&at(date, 0), request, bucket);
        let accepted = send(request(method, uri, headers, signature)).expect(uri);
        assert_user(&accepted, "example");
        assert_eq!(accepted.extensions().get().and_then(SignedAs::service), Some(Service::S3));
        let signed_as = accepted.extensions().get::<SignedAs>().expect("signed");
        assert_eq!((signed_as.auth_type(), signed_as.version()), ("REST-HEADER", "AWS"));
        assert!(!accepted.headers().contains_key("authorization"));
        assert_eq!(accepted.uri(), uri);
        // Whatever is signed cannot be changed.
        for (name, _) in headers.iter().filter(|(name, _)| *name != "date") {
            let mut changed = request(method, uri, headers, signature);
            let name: HeaderName = name.parse().expect("a name");
            let value = match name.as_str() {
                "x-amz-date" => "Tue, 27 Mar 2007 21:20:25 +0000",
                _ => "other",
            };
            changed.headers_mut().insert(&name, HeaderValue::from_static(value));
            assert_refused(send(changed), "SignatureDoesNotMatch", "");
            let mut without = request(method, uri, headers, signature);
            without.headers_mut().remove(&name);
            assert_refused(send(without), "SignatureDoesNotMatch", "");
        }
        let other = format!("{}{}", uri.split('?').next().unwrap_or_default(), "?versionId=1");
        assert_refused(
            send(request(method, &other, headers, signature)),
            "SignatureDoesNotMatch",
            "",
        );
    }
}

/// Subresources are signed, decoded and sorted; parameters that filter are not.
#[test]
fn subresources_are_canonical() {
    for (uri, canonical) in [
        ("/b/k?uploadId=a%2Bb&partNumber=7", "/b/k?partNumber=7&uploadId=a+b"),
        ("/b/k?uploads", "/b/k?uploads"),
        ("/b/k?uploads=", "/b/k?uploads="),
        // An empty value without its equals sign, as minio-go signs it.
        ("/b/k?uploads=", "/b/k?uploads"),
        ("/b?policy=", "/b/?policy"),
        ("/b?versionId=&acl&versions=", "/b/?acl&versionId&versions"),
        ("/b?delete", "/b?delete"),
        ("/b?delete", "/b/?delete"),
        ("/b?prefix=a&max-keys=1", "/b/"),
        ("/b?prefix=a&max-keys=1", "/b"),
        ("/b/?versions&prefix=x&acl", "/b/?acl&versions"),
        (
            "/b/k?response-content-type=text%2Fplain%3B%20charset%3Dutf-8&versionId=v",
            "/b/k?response-content-type=text/plain; charset=utf-8&versionId=v",
        ),
    ] {
        let (name, date) = OBJECT_DATE;
        let string = format!("GET\n\n\n{date}\n{canonical}");
        let get = request("GET", uri, &[(name, date)], &signed(&string));
        assert_user(&send(&at(date, 0), get, None).expect(uri), "example");
    }
    // A value that says something is signed as it was sent.
    for (uri, other) in [
        ("/b/k?versionId=v", "/b/k?versionId"),
        ("/b/k?versionId=", "/b/k?versionId=v"),
        ("/b/k?acl=", "/b/k"),
        ("/b/k?acl", "/b/k?acl="),
        ("/b/k?acl=&versions=", "/b/k?acl=&versions"),
    ] {
        let (name, date) = OBJECT_DATE;
        let string = format!("GET\n\n\n{date}\n{other}");
        let get = request("GET", uri, &[(name, date)], &signed(&string));
        assert_refused(send(&at(date, 0), get, None), "SignatureDoesNotMatch", "");
    }
}

#[test]
fn the_date_is_needed_and_at_most_15_minutes_off() {
    let (_, date) = OBJECT_DATE;
    let get =
        |headers: &[(&str, &str)], string: &str| request("GET", "/b/k", headers, &signed(string));
    let string = format!("GET\n\n\n{date}\n/b/k");
    for (seconds, is_accepted) in
        [(-901, false), (-900, true), (0, true), (900, true), (901, false)]
    {
        let result = send(&at(date, seconds), get(&[("date", date)], &string), None);
        match is_accepted {
            true => assert_user(&result.expect("within the skew"), "example"),
            false => assert_refused(result, "RequestTimeTooSkewed", "too large"),
        }
    }
    // As one of the signed headers, which is the documented form; it outweighs the other date.
    let amz = format!("GET\n\n\n\nx-amz-date:{date}\n/b/k");
    for headers in [
        &[("x-amz-date", date)][..],
        &[("x-amz-date", date), ("date", "Sat, 01 Jan 2000 00:00:00 GMT")],
        &[("x-amz-date", date), ("date", "nonsense")],
    ] {
        let result = send(&at(date, 0), get(headers, &amz), None);
        assert_user(&result.expect("signed"), "example");
    }
    let old = [("x-amz-date", "Sat, 01 Jan 2000 00:00:00 GMT"), ("date", date)];
    let old_string = format!("GET\n\n\n\nx-amz-date:{}\n/b/k", old[0].1);
    assert_refused(send(&at(date, 0), get(&old, &old_string), None), "RequestTimeTooSkewed", "");
    let message = "AWS authentication requires a valid Date or x-amz-date header";
    for headers in [&[][..], &[("date", "yesterday")], &[("x-amz-date", "now"), ("date", date)]] {
        assert_refused(send(&at(date, 0), get(headers, &string), None), "AccessDenied", message);
    }
}

/// The body is not signed, but its MD5 is, if it is sent; a hash that is sent is checked.
#[test]
fn the_body_is_covered_by_the_headers_that_are_sent() {
    let (name, date) = OBJECT_DATE;
    let put = |headers: &[(&'static str, &'static str)], string: &str, body: &'static str| {
        let headers = [&[(name, date)], headers].concat();
        let put = request("PUT", "/b/k", &headers, &signed(string));
        send(&at(date, 0), put.map(|_| TestBody::new([body])), None)
    };
    let string = format!("PUT\n\n\n{date}\n/b/k");
    for body in ["one", "two"] {
        let accepted = put(&[], &string, body).expect("signed");
        assert_eq!(read(accepted.into_body()), (body.as_bytes().to_vec(), Ok(())));
    }
    let with_hash = format!("PUT\n\n\n{date}\nx-amz-content-sha256:{EMPTY}\n/b/k");
    let accepted = put(&[("x-amz-content-sha256", EMPTY)], &with_hash, "one").expect("signed");
    assert_eq!(body_code(accepted.into_body()), "XAmzContentSHA256Mismatch");
    let chunks = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
    let with_chunks = format!(
        "PUT\n\n\n{date}\nx-amz-content-sha256:{chunks}\nx-amz-decoded-content-length:3\n/b/k"
    );
    let headers = [("x-amz-content-sha256", chunks), ("x-amz-decoded-content-length", "3")];
    assert_refused(put(&headers, &with_chunks, "one"), "InvalidRequest", "signed chunks");
}

#[test]
fn malformed_headers_and_other_keys_are_refused() {
    let (method, uri, headers, bucket, signature) = EXAMPLES[0];
    let send = |authorization: String, uri: &str| {
        let mut changed = request(method, uri, headers, signature);
        changed.headers_mut().insert("authorization", authorization.parse().expect("valid"));
        send(&at(OBJECT_DATE.1, 0), changed, bucket)
    };
    let malformed = "AWS authorization header is invalid.  Expected AwsAccessKeyId:signature";
    for text in ["AWS x", "AWS :x", "AWS x:", "AWS :", "AWS  "] {
        assert_refused(send(text.to_owned(), uri), "InvalidArgument", malformed);
    }
    assert_refused(send(format!("AWS nobody:{signature}"), uri), "InvalidAccessKeyId", "");
    assert_refused(send(format!("AWS OTHERKEY:{signature}"), uri), "SignatureDoesNotMatch", "");
    for text in ["aws x:y", "AWS2 x:y"] {
        assert_refused(send(text.to_owned(), uri), "InvalidArgument", "Unsupported Authorization");
    }
    let right = format!("AWS {ACCESS_KEY}:{signature}");
    let query = format!("{uri}?X-Amz-Algorithm=AWS4-HMAC-SHA256");
    assert_refused(send(right.clone(), &query), "InvalidArgument", "Only one auth mechanism");
    let query = format!("{uri}?AWSAccessKeyId=a&Signature=b&Expires=1");
    assert_refused(send(right.clone(), &query), "InvalidArgument", "Only one auth mechanism");
    // The queries of operators' routes would not be signed.
    for path in ["/minio/admin/v3/info", "/minio/kms/v1/status", "/_liteio/trace"] {
        assert_refused(send(right.clone(), path), "InvalidRequest", "Please use AWS4-HMAC-SHA256");
    }
}

#[test]
fn without_the_rule_the_message_names_the_flag() {
    let (method, uri, headers, bucket, signature) = EXAMPLES[0];
    let strict = authenticator_at("20070327T193642Z", 0);
    let result = send(&strict, request(method, uri, headers, signature), bucket);
    assert_refused(result, "InvalidRequest", "--allow-signature-v2");
}
