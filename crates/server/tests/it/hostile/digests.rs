//! Digests and checksums that do not fit the body, or are none.

use super::*;
use crate::raw::{EMPTY_SHA256, UNSIGNED};
use liteio_auth::fuzzing::signer::sha256_hex;

#[test]
fn no_body_is_stored_against_its_digest() {
    let server = RawServer::start();
    let data = || put("digest").body("data");
    let sha = "x-amz-content-sha256";
    let mismatch = "XAmzContentSHA256Mismatch";
    let mut rows = vec![
        row("sha256 of nothing", &data().header(sha, EMPTY_SHA256).sign(OWNER), 400, mismatch),
        row("no sha256", &data().sign(OWNER).without(sha), 400, "InvalidRequest"),
        row(
            "sha256 of no body",
            &put("digest").header(sha, "00".repeat(32)).sign(OWNER),
            400,
            mismatch,
        ),
    ];
    for text in ["", "abc", "UNSIGNED", "unsigned-payload", "STREAMING-NOTHING", &"zz".repeat(32)] {
        let request = data().header(sha, text).sign(OWNER);
        rows.push(row(format!("sha256 {text:?}"), &request, 400, "InvalidArgument"));
    }
    let md5_of_other = "rL0Y20zC+Fzt72VPzMSk2A==";
    for (text, code) in [
        (md5_of_other, "BadDigest"),
        ("", "InvalidDigest"),
        ("abc", "InvalidDigest"),
        ("!!!!", "InvalidDigest"),
        ("rL0Y20zC+Fzt72VPzMSk2A", "InvalidDigest"),
        ("rL0Y20zC+Fzt72VPzMSk2Q====", "InvalidDigest"),
        ("acbd18db4cc2f85cedef654fccc4a4d8", "InvalidDigest"),
    ] {
        let request = data().header("content-md5", text).sign(OWNER);
        rows.push(row(format!("content-md5 {text:?}"), &request, 400, code));
    }
    for (algorithm, bytes) in
        [("crc32", 4), ("crc32c", 4), ("crc64nvme", 8), ("sha1", 20), ("sha256", 32)]
    {
        let name = format!("x-amz-checksum-{algorithm}");
        let of_other = base64_simd::STANDARD.encode_to_string(vec![7; bytes]);
        let too_long = base64_simd::STANDARD.encode_to_string(vec![7; bytes + 1]);
        for (value, code) in [
            (&*of_other, "BadDigest"),
            (&*too_long, "InvalidRequest"),
            ("", "InvalidRequest"),
            ("*", "InvalidRequest"),
        ] {
            let request = data().header(&name, value).sign(OWNER);
            rows.push(row(format!("{name} {value:?}"), &request, 400, code));
        }
        let unsigned = data().header("x-amz-content-sha256", UNSIGNED).header(&name, &of_other);
        rows.push(row(format!("{name} alone"), &unsigned.sign(OWNER), 400, "BadDigest"));
    }
    let crc32 = ("x-amz-checksum-crc32", "rfPzYw==");
    let two = data().header(crc32.0, crc32.1).header("x-amz-checksum-sha1", "AAAA");
    rows.push(row("two checksums", &two.sign(OWNER), 400, "InvalidRequest"));
    let unknown = data().header("x-amz-checksum-md4", "AAAA");
    rows.push(row("unknown algorithm", &unknown.sign(OWNER), 400, "InvalidRequest"));
    let announced = data().header("x-amz-sdk-checksum-algorithm", "SHA1").header(crc32.0, crc32.1);
    rows.push(row("another than announced", &announced.sign(OWNER), 400, "InvalidRequest"));
    let missing = data().header("x-amz-sdk-checksum-algorithm", "CRC32");
    rows.push(row("announced and missing", &missing.sign(OWNER), 400, "InvalidRequest"));
    check(&server, rows);
    assert_empty(&server);

    let right = data().header(crc32.0, crc32.1).header("content-md5", "jXd/OF09/siBXSD3SWAm3A==");
    let stored = server.send(&right.sign(OWNER).bytes());
    assert_eq!((stored.status, stored.header(crc32.0)), (200, Some(crc32.1)), "{stored:?}");
    // A body that is refused leaves the object that was there.
    let refused = data().body("other").header("content-md5", md5_of_other).sign(OWNER);
    assert_eq!(server.send(&refused.bytes()).code(), "BadDigest");
    assert_eq!(server.ask("GET", "/bucket/digest").text(), "data");
}

/// Bodies of every length are received in another way: with their record, by a task, by a call that may block, and in
/// batches.
#[test]
fn no_body_of_any_length_is_stored_against_its_sha256() {
    let server = RawServer::start();
    let created = Request::new("POST", "/bucket/parts?uploads").sign(OWNER);
    let created = server.send(&created.bytes());
    let id = created.element("UploadId");
    let part = format!("/bucket/parts?partNumber=1&uploadId={id}");
    for length in [1, 63, 4_096, 16_384, 16_385, 100_000, 300_000, 3 << 20] {
        let body: Vec<u8> = (0..length).map(|at| (at * 31 + at / 251) as u8).collect();
        let mut other = body.clone();
        other[length - 1] ^= 1;
        for target in ["/bucket/key", &part] {
            let put = |body: &[u8]| Request::new("PUT", target).body(body);
            let hash = sha256_hex(&body);
            let refused = put(&other).header("x-amz-content-sha256", &hash).sign(OWNER);
            let reply = server.send(&refused.bytes());
            assert_eq!(
                (reply.status, &*reply.code()),
                (400, "XAmzContentSHA256Mismatch"),
                "{length}"
            );
            assert_eq!(reply.element("ClientComputedContentSHA256"), hash);
            let computed = sha256_hex(&other);
            assert_eq!(reply.element("S3ComputedContentSHA256"), computed);
            let stored = server.send(&put(&body).sign(OWNER).bytes());
            assert_eq!(stored.status, 200, "{length}: {stored:?}");
            // The client did not request it as a checksum.
            assert_eq!(stored.header("x-amz-checksum-sha256"), None);
        }
        assert_eq!(server.ask("GET", "/bucket/key").body, body);
    }
}
