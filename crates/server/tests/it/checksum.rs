//! Digests and checksums: verified before anything is stored, kept, and told.

use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use twox_hash::{XxHash3_64, XxHash3_128, XxHash64};

use crate::harness::{self, Headers, base64, md5};

const BODY: &[u8] = b"The quick brown fox jumps over the lazy dog";

/// Header and value for the body, for every algorithm.
pub(crate) fn checksums(body: &[u8]) -> [(&'static str, String); 10] {
    let crc = |algorithm, bytes: usize| {
        let crc = crc_fast::checksum(algorithm, body).to_be_bytes();
        base64(&crc[8 - bytes..])
    };
    [
        ("x-amz-checksum-crc32", crc(crc_fast::CrcAlgorithm::Crc32IsoHdlc, 4)),
        ("x-amz-checksum-crc32c", crc(crc_fast::CrcAlgorithm::Crc32Iscsi, 4)),
        ("x-amz-checksum-crc64nvme", crc(crc_fast::CrcAlgorithm::Crc64Nvme, 8)),
        ("x-amz-checksum-sha1", base64(&Sha1::digest(body))),
        ("x-amz-checksum-sha256", base64(&Sha256::digest(body))),
        ("x-amz-checksum-md5", base64(&md5(body))),
        ("x-amz-checksum-sha512", base64(&Sha512::digest(body))),
        ("x-amz-checksum-xxhash64", base64(&XxHash64::oneshot(0, body).to_be_bytes())),
        ("x-amz-checksum-xxhash3", base64(&XxHash3_64::oneshot(body).to_be_bytes())),
        ("x-amz-checksum-xxhash128", base64(&XxHash3_128::oneshot(body).to_be_bytes())),
    ]
}

#[tokio::test]
async fn a_checksum_is_verified_kept_and_told() {
    for server in harness::both().await {
        server.bucket("mine").await;
        for (name, value) in checksums(BODY) {
            let path = format!("/mine/{name}");
            let wrong = checksums(b"other bytes");
            let wrong = wrong.iter().find(|(other, _)| *other == name).expect("the same list");
            let put =
                |value: &str| server.request("PUT", &path).header(name, value).body(BODY).send();
            put(&wrong.1).await.expect_error(400, "BadDigest");
            put("AAAA").await.expect_error(400, "InvalidRequest");
            put("not base64!").await.expect_error(400, "InvalidRequest");
            server.get(&path).await.expect_error(404, "NoSuchKey");
            let stored = put(&value).await.expect_status(200);
            assert_eq!(stored.header(name), Some(value.as_str()));
            assert_eq!(stored.header("x-amz-checksum-type"), Some("FULL_OBJECT"));

            assert_eq!(server.get(&path).await.header(name), None, "only on request");
            for method in ["GET", "HEAD"] {
                let ask = || server.request(method, &path).header("x-amz-checksum-mode", "ENABLED");
                let told = ask().send().await.expect_status(200);
                assert_eq!(told.header(name), Some(value.as_str()), "{method}");
                assert_eq!(told.header("x-amz-checksum-type"), Some("FULL_OBJECT"));
                // The SDKs would hold the range against the checksum of the whole.
                let range = ask().header("range", "bytes=0-3").send().await.expect_status(206);
                assert_eq!(range.header(name), None, "{method}");
            }
        }
    }
}

#[tokio::test]
async fn without_a_checksum_there_is_crc64nvme() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let put = server.put("/mine/key", BODY).await.expect_status(200);
    let [_, _, (name, value), ..] = checksums(BODY);
    assert_eq!(put.header(name), Some(value.as_str()));
    let listed = server.get("/mine?list-type=2").await;
    assert_eq!(listed.element("ChecksumAlgorithm"), "CRC64NVME");
    assert_eq!(listed.element("ChecksumType"), "FULL_OBJECT");
}

#[tokio::test]
async fn contradictions_are_refused() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let [(crc32, crc32_value), (crc32c, crc32c_value), ..] = checksums(BODY);
    let digest = base64(&md5(BODY));
    let rows: Vec<(Headers<'_>, u16, &str)> = vec![
        (vec![(crc32, &crc32_value), (crc32c, &crc32c_value)], 400, "InvalidRequest"),
        (vec![("x-amz-sdk-checksum-algorithm", "CRC32")], 400, "InvalidRequest"),
        (
            vec![("x-amz-sdk-checksum-algorithm", "SHA256"), (crc32, &crc32_value)],
            400,
            "InvalidRequest",
        ),
        (
            vec![("x-amz-sdk-checksum-algorithm", "MD4"), (crc32, &crc32_value)],
            400,
            "InvalidRequest",
        ),
        (vec![("x-amz-checksum-md4", "AAAA")], 400, "InvalidRequest"),
        (vec![("content-md5", "AAAA")], 400, "InvalidDigest"),
        (vec![("content-md5", "")], 400, "InvalidDigest"),
        (vec![("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==")], 400, "BadDigest"),
        (
            vec![("content-md5", "AAAAAAAAAAAAAAAAAAAAAA=="), (crc32, &crc32_value)],
            400,
            "BadDigest",
        ),
    ];
    for (headers, status, code) in rows {
        let put = server.request("PUT", "/mine/key").headers(&headers).body(BODY).send().await;
        put.expect_error(status, code);
        server.get("/mine/key").await.expect_error(404, "NoSuchKey");
    }
    let put = server.request("PUT", "/mine/key").body(BODY).headers(&[
        ("content-md5", &digest),
        ("x-amz-sdk-checksum-algorithm", "CRC32"),
        (crc32, &crc32_value),
    ]);
    put.send().await.expect_status(200);
}

/// As clients of other makes send it: any algorithm in the trailer, and an encoding of their own
/// beside that of the framing.
#[tokio::test]
async fn the_framing_is_never_stored_and_every_checksum_may_follow_it() {
    let encodings = [
        ("aws-chunked", None),
        ("aws-chunked,gzip", Some("gzip")),
        ("gzip,aws-chunked", Some("gzip")),
        ("br, aws-chunked, gzip", Some("br,gzip")),
        ("gzip", Some("gzip")),
    ];
    for server in harness::both().await {
        server.bucket("mine").await;
        for ((name, value), (encoding, kept)) in
            checksums(BODY).into_iter().zip(encodings.into_iter().cycle())
        {
            let put = |value: &str| {
                let end = format!("\r\n0\r\n{name}:{value}\r\n\r\n");
                let start = format!("{:x}\r\n", BODY.len());
                let request = server.request("PUT", "/mine/key").headers(&[
                    ("content-encoding", encoding),
                    ("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"),
                    ("x-amz-decoded-content-length", &BODY.len().to_string()),
                    ("x-amz-trailer", name),
                ]);
                request.body([start.as_bytes(), BODY, end.as_bytes()].concat()).send()
            };
            let wrong = checksums(b"other bytes");
            let wrong = wrong.iter().find(|(other, _)| *other == name).expect("the same list");
            put(&wrong.1).await.expect_error(400, "BadDigest");
            let stored = put(&value).await.expect_status(200);
            assert_eq!(stored.header(name), Some(value.as_str()));
            let ask = server.request("GET", "/mine/key").header("x-amz-checksum-mode", "ENABLED");
            let got = ask.send().await.expect_status(200);
            assert_eq!(got.body, BODY, "{name}");
            assert_eq!(got.header(name), Some(value.as_str()));
            let told = got.header("content-encoding").map(|text| text.replace(' ', ""));
            assert_eq!(told.as_deref(), kept, "{encoding}");
        }
        // Parts come framed, too: SDKs announce it when they create the upload.
        let create = server.request("POST", "/mine/key?uploads");
        let upload = create.header("content-encoding", "aws-chunked,gzip").send().await;
        let upload = upload.expect_status(200).element("UploadId");
        server.put(&format!("/mine/key?partNumber=1&uploadId={upload}"), BODY).await;
        let document = format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part>\
             </CompleteMultipartUpload>",
            harness::etag(BODY)
        );
        let completed = server.post(&format!("/mine/key?uploadId={upload}"), document).await;
        completed.expect_status(200);
        assert_eq!(server.head("/mine/key").await.header("content-encoding"), Some("gzip"));
    }
}

#[tokio::test]
async fn a_copy_keeps_the_checksum_or_gets_another() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let [(crc32, crc32_value), ..] = checksums(BODY);
        let put = server.request("PUT", "/mine/source").header(crc32, &crc32_value).body(BODY);
        put.send().await.expect_status(200);
        let copy = server.request("PUT", "/mine/copy").header("x-amz-copy-source", "/mine/source");
        let copy = copy.send().await.expect_status(200);
        assert_eq!(copy.element("ChecksumCRC32"), crc32_value);
        for (name, value) in checksums(BODY) {
            let algorithm = algorithm_of(name);
            let copy = server.request("PUT", "/mine/copy").headers(&[
                ("x-amz-copy-source", "/mine/source"),
                ("x-amz-checksum-algorithm", &algorithm),
            ]);
            let copy = copy.send().await.expect_status(200);
            assert_eq!(copy.element(&format!("Checksum{algorithm}")), value);
            let head = server.request("HEAD", "/mine/copy");
            let head = head.header("x-amz-checksum-mode", "ENABLED").send().await;
            assert_eq!(head.header(name), Some(value.as_str()));
        }
    }
}

/// The name of an algorithm, from its header.
fn algorithm_of(header: &str) -> String {
    header.trim_start_matches("x-amz-checksum-").to_uppercase()
}

#[tokio::test]
async fn every_algorithm_is_told_in_listings_and_attributes_and_may_be_announced() {
    for server in harness::both().await {
        server.bucket("mine").await;
        for (name, value) in checksums(BODY) {
            let algorithm = algorithm_of(name);
            let put = |announced: &str| {
                let put = server.request("PUT", "/mine/key").body(BODY);
                put.headers(&[(name, &value), ("x-amz-sdk-checksum-algorithm", announced)]).send()
            };
            put("SHA224").await.expect_error(400, "InvalidRequest");
            put(&algorithm).await.expect_status(200);
            for listing in ["/mine", "/mine?list-type=2", "/mine?versions"] {
                let listed = server.get(listing).await;
                assert_eq!(listed.element("ChecksumAlgorithm"), algorithm, "{listing}");
                assert_eq!(listed.element("ChecksumType"), "FULL_OBJECT");
            }
            let about = server.request("GET", "/mine/key?attributes");
            let about = about.header("x-amz-object-attributes", "Checksum").send().await;
            assert_eq!(about.element(&format!("Checksum{algorithm}")), value);
        }
    }
}

/// The digest of a document may be by any algorithm, for each operation that carries one.
#[tokio::test]
async fn a_document_may_come_with_any_checksum() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let delete = "<Delete><Object><Key>key</Key></Object></Delete>";
    let tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    for (method, path, document) in
        [("POST", "/mine?delete", delete), ("PUT", "/mine?tagging", tags)]
    {
        let wrong = checksums(b"another document");
        for ((name, right), (_, wrong)) in checksums(document.as_bytes()).into_iter().zip(wrong) {
            let ask = |value: &str| {
                server.request(method, path).header(name, value).body(document).send()
            };
            ask(&wrong).await.expect_error(400, "BadDigest");
            ask("AAAA").await.expect_error(400, "InvalidRequest");
            let done = ask(&right).await;
            assert!(done.status < 300, "{name}: {}", done.text());
        }
    }
}

#[tokio::test]
async fn the_old_md5_and_the_new_one_are_apart() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let (right, wrong) = (base64(&md5(BODY)), base64(&md5(b"other bytes")));
    let put = |content_md5: &str, checksum: &str| {
        let put = server.request("PUT", "/mine/key").body(BODY);
        put.headers(&[("content-md5", content_md5), ("x-amz-checksum-md5", checksum)]).send()
    };
    put(&right, &wrong).await.expect_error(400, "BadDigest");
    put(&wrong, &right).await.expect_error(400, "BadDigest");
    server.get("/mine/key").await.expect_error(404, "NoSuchKey");
    put(&right, &right).await.expect_status(200);
    let head = server.request("HEAD", "/mine/key").header("x-amz-checksum-mode", "ENABLED");
    assert_eq!(head.send().await.header("x-amz-checksum-md5"), Some(right.as_str()));
    // `Content-MD5` alone is compared, and another checksum kept.
    let put = server.request("PUT", "/mine/key").header("content-md5", &right).body(BODY);
    assert_eq!(put.send().await.expect_status(200).header("x-amz-checksum-md5"), None);
}
