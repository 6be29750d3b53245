//! The examples that AWS publishes for Signature Version 4 in S3.

use http::Request;

use super::*;
use crate::TrailerHandle;
use crate::fuzzing::signer::{Covered, Signer, encoded_path};

fn request(
    head: &str,
    headers: &[(&str, &str)],
    signed_headers: &str,
    signature: &str,
    body: TestBody,
) -> Request<TestBody> {
    let (method, uri) = head.split_once(' ').expect("method and path");
    let mut builder = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20130524/us-east-1/s3/aws4_request,\
         SignedHeaders={signed_headers},Signature={signature}"
    );
    assert_eq!(signed_by_tests(head, headers, signed_headers), authorization);
    builder.header("authorization", authorization).body(body).expect("valid request")
}

/// The signer of all tests must reproduce the published signatures.
const SIGNER: Signer<'static> = Signer {
    access_key: ACCESS_KEY,
    secret_key: SECRET_KEY,
    time: DATE,
    region: "us-east-1",
    service: "s3",
};

fn signed_by_tests(head: &str, headers: &[(&str, &str)], signed_headers: &str) -> String {
    let (method, uri) = head.split_once(' ').expect("method and path");
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let is_signed = |name: &str| signed_headers.split(';').any(|signed| signed == name);
    let headers = headers.iter().filter(|(name, _)| is_signed(name));
    let headers: Vec<_> = headers.map(|(name, value)| (*name, value.as_bytes())).collect();
    let hash = headers.iter().find(|(name, _)| *name == "x-amz-content-sha256").expect("a hash").1;
    let payload_hash = std::str::from_utf8(hash).expect("text");
    let path = &encoded_path(path);
    SIGNER.authorization(&Covered { method, path, query, headers, payload_hash })
}

const HOST: (&str, &str) = ("host", "examplebucket.s3.amazonaws.com");
const X_AMZ_DATE: (&str, &str) = ("x-amz-date", DATE);
const NO_BODY: (&str, &str) = ("x-amz-content-sha256", EMPTY);

#[test]
fn requests_without_body() {
    for (head, extra, signed_headers, signature) in [
        (
            "GET /test.txt",
            Some(("range", "bytes=0-9")),
            "host;range;x-amz-content-sha256;x-amz-date",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "GET /?lifecycle",
            None,
            "host;x-amz-content-sha256;x-amz-date",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET /?max-keys=2&prefix=J",
            None,
            "host;x-amz-content-sha256;x-amz-date",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ] {
        let mut headers = vec![HOST, X_AMZ_DATE, NO_BODY];
        headers.extend(extra);
        let signed = request(head, &headers, signed_headers, signature, TestBody::default());
        let authenticated = authenticate(&authenticator(), signed).expect(head);
        assert_user(&authenticated, "example");
        assert!(!authenticated.headers().contains_key("authorization"));
        assert!(!authenticated.headers().contains_key("x-amz-date"));
        assert!(!authenticated.headers().contains_key("x-amz-content-sha256"));
        assert_eq!(authenticated.uri(), head.split_once(' ').expect("path").1);
        assert_eq!(read(authenticated.into_body()).0, b"");
    }
}

#[test]
fn put_object() {
    let put = |body: &'static str| {
        let hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
        request(
            "PUT /test$file.text",
            &[
                HOST,
                X_AMZ_DATE,
                ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ("x-amz-content-sha256", hash),
                ("content-length", &body.len().to_string()),
            ],
            "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            TestBody::new([&body[..8], &body[8..]]),
        )
    };
    let stored = authenticate(&authenticator(), put("Welcome to Amazon S3.")).expect("accepted");
    assert_user(&stored, "example");
    assert_eq!(stored.headers()["x-amz-storage-class"], "REDUCED_REDUNDANCY");
    assert_eq!(stored.body().size_hint().exact(), Some(21));
    assert_eq!(read(stored.into_body()), (b"Welcome to Amazon S3.".to_vec(), Ok(())));

    // The same head with another body: even a reader that counts bytes never gets all of them.
    let changed = authenticate(&authenticator(), put("Welcome to Amazon S4.")).expect("head fits");
    let (data, end) = read(changed.into_body());
    assert_eq!(data, b"Welcome ");
    assert_eq!(end.expect_err("must fail").code(), "XAmzContentSHA256Mismatch");
}

fn presigned() -> Request<TestBody> {
    let query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F\
        20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&\
        X-Amz-SignedHeaders=host&X-Amz-Signature=\
        aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
    let covered = Covered {
        method: "GET",
        path: "/test.txt",
        query: "",
        headers: vec![(HOST.0, HOST.1.as_bytes())],
        payload_hash: "UNSIGNED-PAYLOAD",
    };
    assert_eq!(SIGNER.presigned_query(&covered, "86400"), query);
    let builder = Request::get(format!("/test.txt?{query}")).header(HOST.0, HOST.1);
    builder.body(TestBody::default()).expect("valid")
}

#[test]
fn presigned_url() {
    for seconds_later in [-900, 0, 86_399] {
        let authenticator = authenticator_at(DATE, seconds_later);
        let authenticated = authenticate(&authenticator, presigned()).expect("within its life");
        assert_user(&authenticated, "example");
        assert_eq!(authenticated.uri(), "/test.txt");
    }
    let late = authenticate(&authenticator_at(DATE, 86_400), presigned());
    assert_refused(late, "AccessDenied", "Request has expired");
    let early = authenticate(&authenticator_at(DATE, -901), presigned());
    assert_refused(early, "AccessDenied", "Request is not valid yet");
}

#[test]
fn signed_chunks() {
    let headers = [
        ("host", "s3.amazonaws.com"),
        X_AMZ_DATE,
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
        ("content-encoding", "aws-chunked"),
        ("x-amz-decoded-content-length", "66560"),
        ("content-length", "66824"),
    ];
    let framed = format!(
        "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\
         \r\n{}\r\n400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef\
         5497\r\n{}\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d\
         449df9\r\n\r\n",
        "a".repeat(65_536),
        "a".repeat(1024)
    );
    assert_eq!(framed.len(), 66_824);
    let mut signature =
        "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9".to_owned();
    for chunk in [&[b'a'; 65_536][..], &[b'a'; 1024], b""] {
        signature = SIGNER.chunk_signature(&signature, chunk);
        assert!(framed.contains(&format!("chunk-signature={signature}\r\n")));
    }
    let signed = request(
        "PUT /examplebucket/chunkObject.txt",
        &headers,
        "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;\
         x-amz-decoded-content-length;x-amz-storage-class",
        "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
        TestBody::new([framed]),
    );
    let authenticated = authenticate(&authenticator(), signed).expect("accepted");
    assert_user(&authenticated, "example");
    let left = authenticated.headers();
    assert_eq!(left["content-length"], "66560");
    assert!(!left.contains_key("content-encoding"));
    assert!(!left.contains_key("x-amz-decoded-content-length"));
    assert_eq!(authenticated.body().size_hint().exact(), Some(66_560));
    assert_eq!(read(authenticated.into_body()), (vec![b'a'; 66_560], Ok(())));
}

#[test]
fn signed_chunks_with_trailer() {
    let headers = [
        ("host", "s3.amazonaws.com"),
        X_AMZ_DATE,
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"),
        ("content-encoding", "aws-chunked"),
        ("x-amz-decoded-content-length", "66560"),
        ("x-amz-trailer", "x-amz-checksum-crc32c"),
    ];
    let framed = format!(
        "10000;chunk-signature=b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2\
         \r\n{}\r\n400;chunk-signature=1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51\
         e5c7\r\n{}\r\n0;chunk-signature=2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f858\
         63f992\r\nx-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:\
         d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n",
        "a".repeat(65_536),
        "a".repeat(1024)
    );
    let last = "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992";
    let signature = SIGNER.trailer_signature(last, "x-amz-checksum-crc32c:sOO8/Q==\n");
    assert!(framed.contains(&format!("x-amz-trailer-signature:{signature}\r\n")));
    let signed = request(
        "PUT /examplebucket/chunkObject.txt",
        &headers,
        "content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;\
         x-amz-storage-class;x-amz-trailer",
        "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
        TestBody::new([framed]),
    );
    let authenticated = authenticate(&authenticator(), signed).expect("accepted");
    let trailers = authenticated.extensions().get::<TrailerHandle>().expect("announced").clone();
    assert_eq!(trailers.declared(), ["x-amz-checksum-crc32c"]);
    assert!(trailers.get().is_none());
    assert!(!authenticated.headers().contains_key("x-amz-trailer"));
    assert_eq!(read(authenticated.into_body()), (vec![b'a'; 66_560], Ok(())));
    assert_eq!(trailers.get().expect("arrived")["x-amz-checksum-crc32c"], "sOO8/Q==");
}
