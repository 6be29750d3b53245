//! Objects: write, read, delete, copy, and what is kept beside their bytes.

use crate::harness::{self, Headers, base64, etag, md5};

#[tokio::test]
async fn an_object_is_what_was_put() {
    for server in harness::both().await {
        server.bucket("mine").await;
        for size in [0, 1, 1000, 16 << 10, (16 << 10) + 1, 300_000, 2_000_000] {
            let bytes: Vec<u8> = (0..size).map(|number: usize| (number % 253) as u8).collect();
            let put = server.put("/mine/key", &bytes).await.expect_status(200);
            assert_eq!(put.header("etag"), Some(etag(&bytes).as_str()));
            let got = server.get("/mine/key").await.expect_status(200);
            assert!(got.body == bytes, "{size} bytes, {}", server.backend);
            assert_eq!(got.header("etag"), Some(etag(&bytes).as_str()));
            assert_eq!(got.header("content-type"), Some("binary/octet-stream"));
            assert!(got.header("last-modified").expect("a date").ends_with(" GMT"));
            let head = server.head("/mine/key").await.expect_status(200);
            assert_eq!(head.header("content-length"), Some(size.to_string().as_str()));
            assert_eq!(head.body, b"");
        }
        server.delete("/mine/key").await.expect_status(204);
        server.delete("/mine/key").await.expect_status(204);
        server.get("/mine/key").await.expect_error(404, "NoSuchKey");
        server.head("/mine/key").await.expect_status(404);
    }
}

#[tokio::test]
async fn keys_are_kept_verbatim() {
    let longest = "k".repeat(1024);
    let keys = [
        "a",
        "a/",
        "a/b",
        "a//b",
        "/leading",
        "../up",
        "./here",
        "a/../b",
        "with space",
        "plus+plus",
        "eq=&at@(paren)",
        "percent%41",
        "ключ/日本語/🦀",
        "\u{1}\r\n\t\u{7f}",
        "nul\0nul",
        "ä",
        "a\u{308}",
        longest.as_str(),
    ];
    for server in harness::both().await {
        server.bucket("mine").await;
        for key in keys {
            server.put(&path_of(key), key).await.expect_status(200);
        }
        for key in keys {
            assert_eq!(server.get(&path_of(key)).await.text(), key, "{}", server.backend);
        }
        let listed = server.get("/mine?encoding-type=url&list-type=2").await.expect_status(200);
        let mut expected: Vec<String> = keys.iter().map(|key| encode(key)).collect();
        expected.sort_by_key(|key| decode(key));
        assert_eq!(listed.elements("Key"), expected);
        let too_long = server.put(&format!("/mine/{}", "k".repeat(1025)), "").await;
        too_long.expect_error(400, "KeyTooLongError");
        server.put("/mine/%ff%fe", "").await.expect_error(400, "InvalidURI");
    }
}

fn encode(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    key.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn decode(key: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(key).collect()
}

fn path_of(key: &str) -> String {
    format!("/mine/{}", encode(key))
}

#[tokio::test]
async fn headers_are_kept_and_can_be_overridden() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let headers = [
            ("content-type", "text/plain; charset=utf-8"),
            ("cache-control", "max-age=60"),
            ("content-disposition", "attachment; filename=\"a.txt\""),
            ("content-language", "de"),
            ("expires", "when it is done"),
            ("x-amz-storage-class", "STANDARD_IA"),
            ("x-amz-website-redirect-location", "/elsewhere"),
            ("x-amz-meta-color", "blue"),
            ("x-amz-meta-empty", ""),
        ];
        let put = server.request("PUT", "/mine/key").headers(&headers);
        let put = put.header("content-encoding", "gzip, aws-chunked").body("x").send().await;
        put.expect_status(200);
        for method in ["GET", "HEAD"] {
            let got = server.request(method, "/mine/key").send().await.expect_status(200);
            for (name, value) in headers {
                assert_eq!(got.header(name), Some(value), "{method} {name}");
            }
            assert_eq!(got.header("content-encoding"), Some("gzip"));
            let query = "response-cache-control=no-store&response-content-disposition=inline\
                         &response-content-encoding=br&response-content-language=fr\
                         &response-content-type=text%2Fhtml\
                         &response-expires=Thu%2C%2001%20Jan%201970%2000%3A00%3A00%20GMT";
            let got = server.request(method, &format!("/mine/key?{query}")).send().await;
            let overridden = [
                ("cache-control", "no-store"),
                ("content-disposition", "inline"),
                ("content-encoding", "br"),
                ("content-language", "fr"),
                ("content-type", "text/html"),
                ("expires", "Thu, 01 Jan 1970 00:00:00 GMT"),
            ];
            for (name, value) in overridden {
                assert_eq!(got.header(name), Some(value), "{method} {name}");
            }
        }
        let injected = server.get("/mine/key?response-content-type=a%0D%0Ax-evil%3A%201").await;
        assert_eq!(injected.header("x-evil"), None);
        assert!(injected.status >= 400);
    }
}

#[tokio::test]
async fn user_metadata_may_hold_any_text() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let encoded = format!("=?UTF-8?B?{}?=", base64("größe".as_bytes()));
    let put = server.request("PUT", "/mine/key").headers(&[
        ("x-amz-meta-encoded", &encoded),
        ("x-amz-meta-quoted", "=?UTF-8?Q?gr=C3=B6=C3=9Fe?="),
        ("x-amz-meta-plain", "as is"),
    ]);
    put.send().await.expect_status(200);
    let head = server.head("/mine/key").await;
    // Both are given back in one form, as AWS does.
    assert_eq!(head.header("x-amz-meta-encoded"), Some("=?UTF-8?Q?gr=C3=B6=C3=9Fe?="));
    assert_eq!(head.header("x-amz-meta-quoted"), Some("=?UTF-8?Q?gr=C3=B6=C3=9Fe?="));
    assert_eq!(head.header("x-amz-meta-plain"), Some("as is"));
    // Names and values together.
    for (bytes, status) in [(2045, 200), (2046, 400)] {
        let put = server.request("PUT", "/mine/key").header("x-amz-meta-big", "v".repeat(bytes));
        put.send().await.expect_status(status);
    }
    let too_large = server.request("PUT", "/mine/key").header("x-amz-meta-a", "v".repeat(3000));
    too_large.send().await.expect_error(400, "MetadataTooLarge");
}

#[tokio::test]
async fn tags_are_counted() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let put = |tags: &str| server.request("PUT", "/mine/key").header("x-amz-tagging", tags).send();
    put("a=1&b%20c=%C3%BC").await.expect_status(200);
    assert_eq!(server.head("/mine/key").await.header("x-amz-tagging-count"), Some("2"));
    assert_eq!(server.get("/mine/key").await.header("x-amz-tagging-count"), Some("2"));
    put("a=1&a=2").await.expect_error(400, "InvalidArgument");
    put(&format!("{}=1", "k".repeat(129))).await.expect_error(400, "InvalidTag");
    let eleven: Vec<String> = (0..11).map(|number| format!("k{number}=v")).collect();
    put(&eleven.join("&")).await.expect_error(400, "BadRequest");
}

#[tokio::test]
async fn what_is_not_done_is_refused_before_anything_is_stored() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let rows = [
        ("x-amz-server-side-encryption", "AES256", 501, "NotImplemented"),
        ("x-amz-server-side-encryption", "aws:kms", 400, "KMS.NotFoundException"),
        ("x-amz-server-side-encryption-customer-algorithm", "AES256", 400, "InvalidRequest"),
        ("x-amz-object-lock-mode", "GOVERNANCE", 400, "InvalidArgument"),
        ("x-amz-object-lock-legal-hold", "ON", 400, "InvalidRequest"),
        ("x-amz-acl", "public-read", 400, "AccessControlListNotSupported"),
        ("x-amz-acl", "nonsense", 400, "InvalidArgument"),
        ("x-amz-grant-full-control", "id=\"bob-id\"", 400, "AccessControlListNotSupported"),
        ("x-amz-storage-class", "PAPER", 400, "InvalidStorageClass"),
        ("x-amz-website-redirect-location", "elsewhere", 400, "InvalidRedirectLocation"),
        ("x-amz-write-offset-bytes", "3", 400, "InvalidWriteOffset"),
        ("content-md5", "nonsense", 400, "InvalidDigest"),
    ];
    for (name, value, status, code) in rows {
        let put = server.request("PUT", "/mine/key").header(name, value).body("x").send().await;
        put.expect_error(status, code);
        server.get("/mine/key").await.expect_error(404, "NoSuchKey");
    }
    let put = server.request("PUT", "/mine/key").header("x-amz-acl", "bucket-owner-full-control");
    put.body("x").send().await.expect_status(200);
    let get = server
        .request("GET", "/mine/key")
        .header("x-amz-server-side-encryption-customer-algorithm", "AES256");
    get.send().await.expect_error(400, "InvalidRequest");
}

#[tokio::test]
async fn the_version_of_an_unversioned_object_is_null() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let put = server.put("/mine/key", "x").await.expect_status(200);
    assert_eq!(put.header("x-amz-version-id"), None);
    server.get("/mine/key?versionId=null").await.expect_status(200);
    let unknown = server.get(&format!("/mine/key?versionId={}", "0".repeat(32))).await;
    unknown.expect_error(404, "NoSuchVersion");
    server.get("/mine/key?versionId=nonsense").await.expect_error(400, "InvalidArgument");
    server.get("/mine/key?versionId=").await.expect_error(400, "InvalidArgument");
    server.delete("/mine/key?versionId=null").await.expect_status(204);
    server.get("/mine/key").await.expect_error(404, "NoSuchKey");
}

#[tokio::test]
async fn many_objects_are_deleted_at_once() {
    for server in harness::both().await {
        server.bucket("mine").await;
        for key in ["a", "b%26", "c%01"] {
            server.put(&format!("/mine/{key}"), "x").await.expect_status(200);
        }
        let delete = |document: String| {
            let digest = base64(&md5(document.as_bytes()));
            server
                .request("POST", "/mine?delete")
                .header("content-md5", digest)
                .body(document)
                .send()
        };
        let document = "<Delete><Object><Key>a</Key></Object><Object><Key>b&amp;</Key></Object>\
                        <Object><Key>none</Key></Object></Delete>";
        let deleted = delete(document.to_owned()).await.expect_status(200);
        assert_eq!(deleted.elements("Key"), ["a", "b&", "none"]);
        assert!(!deleted.has_element("Error"));
        let document = format!(
            "<Delete><Quiet>true</Quiet><Object><Key>c&#x1;</Key></Object>\
             <Object><Key>{}</Key></Object></Delete>",
            "k".repeat(1025)
        );
        let quiet = delete(document).await.expect_status(200);
        assert_eq!(quiet.elements("Code"), ["KeyTooLongError"]);
        assert!(!quiet.has_element("Deleted"));
        let listed = server.get("/mine?list-type=2").await;
        assert_eq!(listed.element("KeyCount"), "0");
        // Every way to write a key names the same key, and never a part of it.
        let keys = [" a ", "a\u{1}", "x", "xy", "y", "\n"];
        for key in keys {
            server.put(&path_of(key), "x").await.expect_status(200);
        }
        let document = "<Delete><Object><Key> a </Key></Object><Object><Key>a\u{1}</Key></Object>\
                        <Object><Key><![CDATA[x]]>y</Key></Object><Object><Key>&#10;</Key></Object>\
                        <Object><Key><!-- x -->none</Key><VersionId></VersionId></Object></Delete>";
        delete(document.to_owned()).await.expect_status(200);
        let listed = server.get("/mine?list-type=2").await;
        assert_eq!(listed.elements("Key"), ["x", "y"]);
        let many = |count: usize| {
            let objects: String =
                (0..count).map(|number| format!("<Object><Key>k{number}</Key></Object>")).collect();
            delete(format!("<Delete>{objects}</Delete>"))
        };
        many(1000).await.expect_status(200);
        many(1001).await.expect_error(400, "MalformedXML");
        many(0).await.expect_error(400, "MalformedXML");
        many(100_000).await.expect_error(400, "MalformedXML");
    }
}

#[tokio::test]
async fn deleting_many_needs_a_digest_that_fits() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/a", "x").await.expect_status(200);
    let document = "<Delete><Object><Key>a</Key></Object></Delete>";
    server.post("/mine?delete", document).await.expect_error(400, "InvalidRequest");
    let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, document.as_bytes());
    let crc = base64(&(crc as u32).to_be_bytes());
    let rows = [
        ("content-md5", base64(&md5(b"other")), 400, "BadDigest"),
        ("content-md5", "nonsense".into(), 400, "InvalidDigest"),
        ("x-amz-checksum-crc32", base64(&[0; 4]), 400, "BadDigest"),
        ("x-amz-checksum-crc32", "nonsense".into(), 400, "InvalidRequest"),
        ("x-amz-checksum-nonsense", "AAAA".into(), 400, "InvalidRequest"),
    ];
    for (name, value, status, code) in rows {
        let refused = server.request("POST", "/mine?delete").header(name, value).body(document);
        refused.send().await.expect_error(status, code);
        server.get("/mine/a").await.expect_status(200);
    }
    let request = server.request("POST", "/mine?delete").header("x-amz-checksum-crc32", crc);
    request.body(document).send().await.expect_status(200);
    server.get("/mine/a").await.expect_error(404, "NoSuchKey");
}

#[tokio::test]
async fn hostile_documents_are_refused() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let entities = "<!DOCTYPE d [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>\
                    <Delete><Object><Key>&b;</Key></Object></Delete>";
    let deep = format!("{}{}", "<Delete>".repeat(50_000), "</Delete>".repeat(50_000));
    for document in ["", "<Delete>", "nonsense", "<Delete></Other>", entities, &deep] {
        let digest = base64(&md5(document.as_bytes()));
        let request = server.request("POST", "/mine?delete").header("content-md5", digest);
        let answer = request.body(document).send().await;
        assert_eq!(
            answer.status,
            400,
            "{}: {}",
            &document[..document.len().min(40)],
            answer.text()
        );
    }
    let huge = vec![b' '; 9 << 20];
    let digest = base64(&md5(&huge));
    let request = server.request("POST", "/mine?delete").header("content-md5", digest).body(huge);
    request.send().await.expect_error(400, "MaxMessageLengthExceeded");
    server.get("/mine").await.expect_status(200);
}

#[tokio::test]
async fn a_copy_takes_bytes_and_metadata() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.bucket("other").await;
        let bytes = vec![7; 100_000];
        let source = server.request("PUT", "/mine/so%20urce%2B").body(&bytes).headers(&[
            ("content-type", "text/plain"),
            ("x-amz-meta-color", "blue"),
            ("x-amz-tagging", "a=1"),
        ]);
        source.send().await.expect_status(200);
        for source in
            ["/mine/so%20urce%2B", "mine/so%20urce%2B", "mine/so%20urce%2B?versionId=null"]
        {
            let copy = server.request("PUT", "/other/copy").header("x-amz-copy-source", source);
            let copy = copy.send().await.expect_status(200);
            assert_eq!(copy.element("ETag"), etag(&bytes), "{source}");
            assert!(copy.element("LastModified").ends_with(".000Z"));
            let got = server.get("/other/copy").await;
            assert!(got.body == bytes, "{source}");
            assert_eq!(got.header("content-type"), Some("text/plain"));
            assert_eq!(got.header("x-amz-meta-color"), Some("blue"));
            assert_eq!(got.header("x-amz-tagging-count"), Some("1"));
        }
        let replace = server.request("PUT", "/other/copy").headers(&[
            ("x-amz-copy-source", "/mine/so%20urce%2B"),
            ("x-amz-metadata-directive", "REPLACE"),
            ("x-amz-tagging-directive", "REPLACE"),
            ("x-amz-meta-size", "large"),
            ("x-amz-storage-class", "GLACIER_IR"),
        ]);
        replace.send().await.expect_status(200);
        let got = server.get("/other/copy").await;
        assert!(got.body == bytes);
        assert_eq!(got.header("content-type"), Some("binary/octet-stream"));
        assert_eq!(got.header("x-amz-meta-color"), None);
        assert_eq!(got.header("x-amz-meta-size"), Some("large"));
        assert_eq!(got.header("x-amz-tagging-count"), None);
        assert_eq!(got.header("x-amz-storage-class"), Some("GLACIER_IR"));
        // The copy has a life of its own.
        server.delete("/mine/so%20urce%2B").await.expect_status(204);
        assert!(server.get("/other/copy").await.body == bytes);
    }
}

#[tokio::test]
async fn copies_that_make_no_sense_are_refused() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "x").await.expect_status(200);
    let rows: Vec<(Headers<'_>, u16, &str)> = vec![
        (vec![("x-amz-copy-source", "/mine/key")], 400, "InvalidRequest"),
        (vec![("x-amz-copy-source", "/mine/none")], 404, "NoSuchKey"),
        (vec![("x-amz-copy-source", "/none/key")], 404, "NoSuchBucket"),
        (vec![("x-amz-copy-source", "nonsense")], 400, "InvalidArgument"),
        (vec![("x-amz-copy-source", "/mine/%ff")], 400, "InvalidArgument"),
        (vec![("x-amz-copy-source", "/mine/")], 400, "InvalidArgument"),
        (vec![("x-amz-copy-source", "/mine/key?versionId=nonsense")], 400, "InvalidArgument"),
        (
            vec![("x-amz-copy-source", "/mine/key"), ("x-amz-metadata-directive", "MOVE")],
            400,
            "InvalidArgument",
        ),
        (
            vec![(
                "x-amz-copy-source",
                "arn:aws:s3:us-east-1:123456789012:accesspoint/point/object/key",
            )],
            501,
            "NotImplemented",
        ),
    ];
    for (headers, status, code) in rows {
        let refused = server.request("PUT", "/mine/key").headers(&headers).send().await;
        refused.expect_error(status, code);
    }
    for (name, value) in [
        ("x-amz-metadata-directive", "REPLACE"),
        ("x-amz-storage-class", "STANDARD_IA"),
        ("x-amz-website-redirect-location", "/there"),
    ] {
        let copy = server.request("PUT", "/mine/key").header("x-amz-copy-source", "/mine/key");
        copy.header(name, value).send().await.expect_status(200);
    }
    assert_eq!(server.get("/mine/key").await.body, b"x");
    assert_eq!(
        server.head("/mine/key").await.header("x-amz-website-redirect-location"),
        Some("/there")
    );
}

#[tokio::test]
async fn every_answer_has_ids_and_every_error_its_elements() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "x").await.expect_status(200);
    let tag = etag(b"x");
    let mut ids = std::collections::HashSet::new();
    for (method, path, header, status) in [
        ("GET", "/", None, 200),
        ("GET", "/mine", None, 200),
        ("GET", "/mine/key", None, 200),
        ("GET", "/mine/key", Some(("range", "bytes=0-0")), 206),
        ("GET", "/mine/key", Some(("range", "bytes=7-")), 416),
        ("GET", "/mine/key", Some(("if-none-match", tag.as_str())), 304),
        ("GET", "/mine/key", Some(("if-match", "\"other\"")), 412),
        ("GET", "/mine/none", None, 404),
        ("GET", "/none/key", None, 404),
        ("GET", "/mine/key?torrent", None, 501),
        ("HEAD", "/mine/key", None, 200),
        ("HEAD", "/mine/none", None, 404),
        ("HEAD", "/none", None, 404),
        ("HEAD", "/mine/key", Some(("if-match", "\"other\"")), 412),
        ("HEAD", "/mine/key", Some(("x-amz-content-sha256", "nonsense")), 400),
        ("PUT", "/mine/key?partNumber=0&uploadId=a", None, 400),
        ("DELETE", "/mine/none", None, 204),
        ("DELETE", "/mine", None, 409),
    ] {
        let request = server.request(method, path);
        let request = match header {
            Some((name, value)) => request.header(name, value),
            None => request,
        };
        let answer = request.send().await;
        let context = format!("{method} {path} {header:?}");
        let answer = answer.expect_status(status);
        let id = answer.header("x-amz-request-id").expect("an id").to_owned();
        assert!(answer.header("x-amz-id-2").is_some(), "{context}");
        let has_body = method != "HEAD" && answer.status >= 400;
        if has_body {
            assert_eq!(answer.element("Resource"), path.split('?').next().unwrap_or(path));
            assert_eq!(answer.element("RequestId"), id, "{context}");
            assert!(answer.has_element("HostId"), "{context}");
        } else if method == "HEAD" || matches!(answer.status, 204 | 304) {
            assert_eq!(answer.body, b"", "{context}");
        }
        assert!(ids.insert(id), "{context}: an id of its own");
    }
}

/// Every method at every level with a subresource of another operation: none is taken for the operation
/// without it.
#[tokio::test]
async fn a_parameter_that_an_operation_does_not_know_destroys_nothing() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "bytes").await.expect_status(200);
    let not_there = [
        ("PUT", "/mine/key?encryption", 501, "NotImplemented"),
        ("PUT", "/mine/key?renameObject", 400, "InvalidArgument"),
        ("PUT", "/mine/key?annotation&annotationName=aws", 400, "InvalidAnnotationName"),
        ("DELETE", "/mine/key?annotation", 400, "InvalidAnnotationName"),
        ("DELETE", "/mine?abac", 405, "MethodNotAllowed"),
        ("DELETE", "/mine?metadataAnnotationTable", 405, "MethodNotAllowed"),
        ("DELETE", "/mine/key?acl", 405, "MethodNotAllowed"),
        ("DELETE", "/mine/key?retention", 405, "MethodNotAllowed"),
        ("DELETE", "/mine/key?legal-hold", 405, "MethodNotAllowed"),
        ("PUT", "/mine/key?partNumber=1", 400, "InvalidArgument"),
        ("PUT", "/mine/key?uploadId=x", 405, "MethodNotAllowed"),
        ("PUT", "/mine/key?versionId=x", 400, "InvalidArgument"),
        ("PUT", "/mine/key?restore", 405, "MethodNotAllowed"),
        ("GET", "/mine/key?uploads", 400, "InvalidRequest"),
        ("GET", "/mine/key?versions", 400, "InvalidRequest"),
        ("POST", "/mine?acl", 405, "MethodNotAllowed"),
        ("POST", "/mine/key", 405, "MethodNotAllowed"),
        ("POST", "/mine/key?tagging", 405, "MethodNotAllowed"),
        ("PATCH", "/mine/key", 405, "MethodNotAllowed"),
        ("PATCH", "/mine", 405, "MethodNotAllowed"),
        ("PUT", "/", 405, "MethodNotAllowed"),
    ];
    for (method, target, status, code) in not_there {
        let body = if method == "GET" { "" } else { "<Other/>" };
        let refused = server.request(method, target).body(body).send().await;
        refused.expect_error(status, code);
    }
    // No signature covers them, so they may be typing errors.
    for (method, target) in
        [("DELETE", "/mine/key?foo"), ("PUT", "/mine/key?foo"), ("PUT", "/other?foo")]
    {
        let unsigned = server.request(method, target).body("<Other/>").anonymous();
        unsigned.send().await.expect_error(400, "InvalidArgument");
    }
    assert_eq!(server.get("/mine/key").await.expect_status(200).text(), "bytes");
    server.head("/other").await.expect_status(404);
    for ignored in ["v=2", "x-id=GetObject", "", "&&"] {
        let got = server.get(&format!("/mine/key?{ignored}")).await.expect_status(200);
        assert_eq!(got.text(), "bytes", "{ignored}");
    }
    // Not even an answer that nothing answers is for strangers.
    let stranger = server.request("PUT", "/mine/key?encryption").body("<Other/>").anonymous();
    stranger.send().await.expect_error(403, "AccessDenied");
    server.put("/missing/key?encryption", "<Other/>").await.expect_error(404, "NoSuchBucket");
}

#[tokio::test]
async fn parameters_of_a_read_are_taken_once_and_verbatim() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "bytes").await.expect_status(200);
    let got =
        server.get("/mine/key?response-expires=never%20%3D&response-content-type=a%2Fb").await;
    assert_eq!(got.header("expires"), Some("never ="));
    assert_eq!(got.header("content-type"), Some("a/b"));
    for query in [
        "partNumber=1&partNumber=1",
        "partNumber=x",
        "partNumber=0",
        "versionId=",
        "versionId=null&versionId=null",
        "response-expires=a&response-expires=b",
        "response-content-type=a%0Db",
    ] {
        let refused = server.get(&format!("/mine/key?{query}")).await;
        refused.expect_error(400, "InvalidArgument");
    }
}

#[tokio::test]
async fn user_metadata_beyond_ascii_comes_back_in_encoded_words() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let put = server.request("PUT", "/mine/key").header("x-amz-meta-name", "=?UTF-8?B?w6kgw7w=?=");
    put.send().await.expect_status(200);
    for got in [server.get("/mine/key").await, server.head("/mine/key").await] {
        assert_eq!(got.header("x-amz-meta-name"), Some("=?UTF-8?B?w6kgw7w=?="));
    }
}

/// Recorded on AWS in versitygw's issue 1242.
#[tokio::test]
async fn a_copy_with_a_body_is_refused() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "bytes").await.expect_status(200);
    let begun = server.post("/mine/parts?uploads", "").await.expect_status(200);
    let part = format!("/mine/parts?partNumber=1&uploadId={}", begun.element("UploadId"));
    for target in ["/mine/copy", &part] {
        let copy = |body: &'static str| {
            server.request("PUT", target).header("x-amz-copy-source", "/mine/key").body(body).send()
        };
        let refused = copy("other bytes").await.expect_error(400, "InvalidRequest");
        assert!(refused.element("Message").contains("a non-empty body"), "{target}");
        copy("").await.expect_status(200);
    }
}

#[tokio::test]
async fn a_plus_in_the_source_of_a_copy_is_a_space() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/a%20b", "space").await.expect_status(200);
    server.put("/mine/a%2Bb", "plus").await.expect_status(200);
    for (source, expected) in [
        ("/mine/a+b", "space"),
        ("mine/a%20b", "space"),
        ("/mine/a%2Bb", "plus"),
        ("mine%2Fa+b", "space"),
    ] {
        let copy = server.request("PUT", "/mine/copy").header("x-amz-copy-source", source);
        copy.send().await.expect_status(200);
        assert_eq!(server.get("/mine/copy").await.text(), expected, "{source}");
    }
    for malformed in ["/mine/a%ZZ", "/mine/a%", "/mine/a%2"] {
        let copy = server.request("PUT", "/mine/copy").header("x-amz-copy-source", malformed);
        copy.send().await.expect_error(400, "InvalidArgument");
    }
}
