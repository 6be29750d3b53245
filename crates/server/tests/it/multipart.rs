//! Multipart uploads.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_auth::fuzzing::signer::hex;

use crate::checksum::checksums;
use crate::harness::{self, TestServer, base64, etag, md5};

const MIB: usize = 1 << 20;

fn part_bytes(number: u8, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|position| number.wrapping_add((position % 247) as u8)).collect()
}

/// An upload of `/mine/key`.
async fn create(server: &TestServer, headers: &[(&str, &str)]) -> String {
    let created = server.request("POST", "/mine/key?uploads").headers(headers).send().await;
    let created = created.expect_status(200);
    assert_eq!((created.element("Bucket"), created.element("Key")), ("mine".into(), "key".into()));
    created.element("UploadId")
}

fn part_path(upload: &str, number: usize) -> String {
    format!("/mine/key?partNumber={number}&uploadId={upload}")
}

fn document(parts: &[(usize, &str)]) -> String {
    let mut text = "<CompleteMultipartUpload>".to_owned();
    for (number, etag) in parts {
        let _ = write!(text, "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
    }
    text + "</CompleteMultipartUpload>"
}

fn complete_path(upload: &str) -> String {
    format!("/mine/key?uploadId={upload}")
}

fn multipart_etag(parts: &[Vec<u8>]) -> String {
    let md5s: Vec<u8> = parts.iter().flat_map(|part| md5(part)).collect();
    format!("\"{}-{}\"", hex(&md5(&md5s)), parts.len())
}

#[tokio::test]
async fn parts_become_an_object() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let upload =
            create(&server, &[("content-type", "text/plain"), ("x-amz-meta-color", "blue")]).await;
        let parts = [part_bytes(1, 5 * MIB), part_bytes(2, 5 * MIB), part_bytes(3, 1000)];
        let mut listed = Vec::new();
        // The order of sending does not matter, and the last one of a number counts.
        server.put(&part_path(&upload, 7), "replaced").await.expect_status(200);
        for (number, part) in [(9, &parts[2]), (7, &parts[1]), (2, &parts[0])] {
            let put = server.put(&part_path(&upload, number), part).await.expect_status(200);
            assert_eq!(put.header("etag"), Some(etag(part).as_str()));
            listed.insert(0, (number, etag(part)));
        }
        server.get("/mine/key").await.expect_error(404, "NoSuchKey");
        let listed: Vec<(usize, &str)> =
            listed.iter().map(|(number, etag)| (*number, etag.as_str())).collect();
        // Repeated, it answers the same.
        for _ in 0..2 {
            let completed = server.post(&complete_path(&upload), document(&listed)).await;
            let completed = completed.expect_status(200);
            assert_eq!(completed.element("ETag"), multipart_etag(&parts));
            assert!(completed.element("Location").ends_with("/mine/key"));
            assert_eq!(completed.element("ChecksumType"), "FULL_OBJECT");
            let whole = parts.concat();
            assert_eq!(completed.element("ChecksumCRC64NVME"), checksums(&whole)[2].1);
        }
        let got = server.get("/mine/key").await.expect_status(200);
        assert!(got.body == parts.concat(), "{}", server.backend);
        assert_eq!(got.header("etag"), Some(multipart_etag(&parts).as_str()));
        assert_eq!(got.header("content-type"), Some("text/plain"));
        assert_eq!(got.header("x-amz-meta-color"), Some("blue"));
        for (number, part) in parts.iter().enumerate() {
            let path = format!("/mine/key?partNumber={}", number + 1);
            let got = server.get(&path).await.expect_status(206);
            assert!(got.body == *part, "part {number}");
            assert_eq!(got.header("x-amz-mp-parts-count"), Some("3"));
            let head = server.head(&path).await.expect_status(206);
            assert_eq!(head.header("content-length"), Some(part.len().to_string().as_str()));
        }
        server.get("/mine/key?partNumber=4").await.expect_error(416, "InvalidPartNumber");
        let range = format!("bytes={}-{}", 5 * MIB - 10, 10 * MIB + 9);
        let got = server.request("GET", "/mine/key").header("range", range).send().await;
        assert!(got.body == parts.concat()[5 * MIB - 10..10 * MIB + 10]);
    }
}

#[tokio::test]
async fn a_complete_that_does_not_fit_is_refused() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let upload = create(&server, &[]).await;
    for (number, body) in [(1, "small"), (2, "last")] {
        server.put(&part_path(&upload, number), body).await.expect_status(200);
    }
    let (small, last) = (etag(b"small"), etag(b"last"));
    let rows = [
        (document(&[(1, &small), (2, &last)]), "EntityTooSmall"),
        (document(&[(2, &last), (1, &small)]), "InvalidPartOrder"),
        (document(&[(1, &small), (1, &small)]), "InvalidPartOrder"),
        (document(&[(3, &last)]), "InvalidPart"),
        (document(&[(1, &last)]), "InvalidPart"),
        (document(&[(1, "nonsense")]), "InvalidPart"),
        (document(&[]), "MalformedXML"),
        ("<CompleteMultipartUpload>".into(), "MalformedXML"),
        ("nonsense".into(), "MalformedXML"),
        (String::new(), "InvalidRequest"),
        (document(&[(0, &small)]), "InvalidArgument"),
        (document(&[(10_001, &small)]), "InvalidArgument"),
    ];
    for (document, code) in rows {
        let refused = server.post(&complete_path(&upload), &document).await;
        refused.expect_error(400, code);
    }
    let completed = server.post(&complete_path(&upload), document(&[(2, &last)])).await;
    completed.expect_status(200);
    assert_eq!(server.get("/mine/key").await.body, b"last");
}

#[tokio::test]
async fn an_upload_that_is_not_there_is_named_so() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let upload = create(&server, &[]).await;
    let other_key = format!("/mine/other?uploadId={upload}");
    server.delete(&other_key).await.expect_error(404, "NoSuchUpload");
    for id in ["nonsense", "..%2F..%2Fetc%2Fpasswd", "%00", &"0".repeat(32), &"a".repeat(5000)] {
        server.put(&part_path(id, 1), "x").await.expect_error(404, "NoSuchUpload");
        server.get(&complete_path(id)).await.expect_error(404, "NoSuchUpload");
        server.delete(&complete_path(id)).await.expect_error(404, "NoSuchUpload");
        let tag = etag(b"x");
        let completed = server.post(&complete_path(id), document(&[(1, &tag)])).await;
        completed.expect_error(404, "NoSuchUpload");
    }
    for number in ["0", "10001", "-1", "x"] {
        let path = format!("/mine/key?partNumber={number}&uploadId={upload}");
        server.put(&path, "x").await.expect_error(400, "InvalidArgument");
    }
    server.delete(&complete_path(&upload)).await.expect_status(204);
    server.delete(&complete_path(&upload)).await.expect_error(404, "NoSuchUpload");
    server.put(&part_path(&upload, 1), "x").await.expect_error(404, "NoSuchUpload");
}

#[tokio::test]
async fn parts_are_listed_in_pages() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let upload = create(&server, &[("x-amz-storage-class", "GLACIER")]).await;
        for number in [3, 1, 5, 10_000] {
            server.put(&part_path(&upload, number), "x").await.expect_status(200);
        }
        let page = server.get(&complete_path(&upload)).await.expect_status(200);
        assert_eq!(page.elements("PartNumber"), ["1", "3", "5", "10000"]);
        assert_eq!(page.elements("ETag"), vec![etag(b"x"); 4]);
        assert_eq!(page.elements("Size"), ["1"; 4]);
        assert_eq!(page.element("StorageClass"), "GLACIER");
        assert_eq!(
            (page.element("MaxParts"), page.element("IsTruncated")),
            ("1000".into(), "false".into())
        );
        let page = server.get(&format!("/mine/key?max-parts=2&uploadId={upload}")).await;
        assert_eq!(page.elements("PartNumber"), ["1", "3"]);
        assert_eq!(
            (page.element("NextPartNumberMarker"), page.element("IsTruncated")),
            ("3".into(), "true".into())
        );
        let next = format!("/mine/key?max-parts=2&part-number-marker=3&uploadId={upload}");
        let page = server.get(&next).await;
        assert_eq!(
            (page.elements("PartNumber"), page.element("IsTruncated")),
            (vec!["5".into(), "10000".into()], "false".into())
        );
    }
}

#[tokio::test]
async fn uploads_are_listed_in_pages() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    for key in ["a", "b/1", "b/2", "b/2", "c"] {
        server.post(&format!("/mine/{key}?uploads"), "").await.expect_status(200);
    }
    let page = server.get("/mine?uploads").await.expect_status(200);
    assert_eq!(page.elements("Key"), ["a", "b/1", "b/2", "b/2", "c"]);
    assert_eq!(page.element("IsTruncated"), "false");
    let page = server.get("/mine?delimiter=%2F&uploads").await;
    assert_eq!(page.elements("Key"), ["a", "c"]);
    assert!(page.text().contains("<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>"));
    let page = server.get("/mine?prefix=b%2F&uploads").await;
    assert_eq!(page.elements("Key"), ["b/1", "b/2", "b/2"]);
    let (mut keys, mut ids) = (Vec::new(), Vec::new());
    let mut path = "/mine?max-uploads=1&uploads".to_owned();
    loop {
        let page = server.get(&path).await.expect_status(200);
        keys.extend(page.elements("Key"));
        ids.extend(page.elements("UploadId"));
        if page.element("IsTruncated") == "false" {
            break;
        }
        let (key, id) = (page.element("NextKeyMarker"), page.element("NextUploadIdMarker"));
        let key = key.replace('/', "%2F");
        path = format!("/mine?key-marker={key}&max-uploads=1&upload-id-marker={id}&uploads");
        assert!(keys.len() < 10, "the listing does not end");
    }
    assert_eq!(keys, ["a", "b/1", "b/2", "b/2", "c"]);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    let wrong = server.get("/mine?key-marker=a&upload-id-marker=wrong&uploads").await;
    wrong.expect_error(400, "InvalidArgument");
    server.get("/mine?upload-id-marker=wrong&uploads").await.expect_status(200);
}

#[tokio::test]
async fn parts_are_copied_by_range() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let source = part_bytes(9, 6 * MIB);
        server.put("/mine/source", &source).await.expect_status(200);
        let upload = create(&server, &[]).await;
        let copy = |number: usize, range: Option<&str>| {
            let request = server.request("PUT", &part_path(&upload, number));
            let request = request.header("x-amz-copy-source", "/mine/source");
            match range {
                Some(range) => request.header("x-amz-copy-source-range", range).send(),
                None => request.send(),
            }
        };
        let first = copy(1, Some("bytes=0-5242879")).await.expect_status(200);
        assert_eq!(first.element("ETag"), etag(&source[..5 * MIB]));
        let second = copy(2, Some("bytes=100-199")).await.expect_status(200);
        assert_eq!(second.element("ETag"), etag(&source[100..200]));
        let whole = copy(3, None).await.expect_status(200);
        assert_eq!(whole.element("ETag"), etag(&source));
        for range in
            ["bytes=0-", "bytes=-5", "0-5", "bytes=5-1", "bytes=0-1,3-4", "bytes=0-6291456"]
        {
            copy(4, Some(range)).await.expect_error(400, "InvalidArgument");
        }
        let parts = [(1, first.element("ETag")), (2, second.element("ETag"))];
        let parts: Vec<(usize, &str)> =
            parts.iter().map(|(number, etag)| (*number, etag.as_str())).collect();
        server.post(&complete_path(&upload), document(&parts)).await.expect_status(200);
        server.delete("/mine/source").await.expect_status(204);
        let expected = [&source[..5 * MIB], &source[100..200]].concat();
        assert!(server.get("/mine/key").await.body == expected, "{}", server.backend);
    }
}

#[tokio::test]
async fn checksums_of_parts_make_that_of_the_object() {
    let parts = [part_bytes(1, 5 * MIB), part_bytes(2, 777)];
    let whole = parts.concat();
    let rows = [
        (0, "CRC32", None, "COMPOSITE"),
        (1, "CRC32C", None, "COMPOSITE"),
        (1, "CRC32C", Some("COMPOSITE"), "COMPOSITE"),
        (3, "SHA1", None, "COMPOSITE"),
        (4, "SHA256", None, "COMPOSITE"),
        (5, "MD5", None, "COMPOSITE"),
        (6, "SHA512", Some("COMPOSITE"), "COMPOSITE"),
        (7, "XXHASH64", None, "COMPOSITE"),
        (8, "XXHASH3", None, "COMPOSITE"),
        (9, "XXHASH128", Some("COMPOSITE"), "COMPOSITE"),
        (0, "CRC32", Some("FULL_OBJECT"), "FULL_OBJECT"),
        (1, "CRC32C", Some("FULL_OBJECT"), "FULL_OBJECT"),
        (2, "CRC64NVME", None, "FULL_OBJECT"),
    ];
    for server in harness::both().await {
        server.bucket("mine").await;
        for (index, algorithm, asked, kind) in rows {
            let context = format!("{algorithm} {kind} {}", server.backend);
            let mut headers = vec![("x-amz-checksum-algorithm", algorithm)];
            headers.extend(asked.map(|kind| ("x-amz-checksum-type", kind)));
            let upload = create(&server, &headers).await;
            let header = checksums(b"")[index].0;
            let element = format!("Checksum{algorithm}");
            let mut text = "<CompleteMultipartUpload>".to_owned();
            let mut values = Vec::new();
            for (number, part) in parts.iter().enumerate() {
                let value = checksums(part)[index].1.clone();
                let put = server.request("PUT", &part_path(&upload, number + 1)).body(part);
                let put = put.header(header, &value).send().await.expect_status(200);
                assert_eq!(put.header(header), Some(value.as_str()), "{context}");
                let _ = write!(
                    text,
                    "<Part><PartNumber>{}</PartNumber><ETag>{}</ETag><{element}>{value}</{element}></Part>",
                    number + 1,
                    etag(part)
                );
                values.push(base64_simd::STANDARD.decode_to_vec(value).expect("base64"));
            }
            text.push_str("</CompleteMultipartUpload>");
            let expected = match kind {
                "FULL_OBJECT" => checksums(&whole)[index].1.clone(),
                _ => format!("{}-2", checksums(&values.concat())[index].1),
            };
            // The type need not be said again: it is that of the upload.
            let complete = server.request("POST", &complete_path(&upload)).body(&text);
            let complete = complete.header(header, &expected);
            let completed = complete.send().await.expect_status(200);
            assert_eq!(completed.element(&element), expected, "{context}");
            assert_eq!(completed.element("ChecksumType"), kind, "{context}");
            let ask = |path: &str| {
                server.request("HEAD", path).header("x-amz-checksum-mode", "ENABLED").send()
            };
            let head = ask("/mine/key").await;
            assert_eq!(head.header(header), Some(expected.as_str()), "{context}");
            assert_eq!(head.header("x-amz-checksum-type"), Some(kind), "{context}");
            let head = ask("/mine/key?partNumber=2").await;
            // A checksum of the full object is not one of its parts.
            let of_part = (kind == "COMPOSITE").then(|| base64(&values[1]));
            assert_eq!(head.header(header), of_part.as_deref(), "{context}");
            let kind_of_part = (kind == "COMPOSITE").then_some(kind);
            assert_eq!(head.header("x-amz-checksum-type"), kind_of_part, "{context}");
            let attributes = server.request("GET", "/mine/key?attributes").header(
                "x-amz-object-attributes",
                "ETag,Checksum,ObjectParts,ObjectSize,StorageClass",
            );
            let attributes = attributes.send().await.expect_status(200);
            assert_eq!(attributes.element("ETag"), multipart_etag(&parts).trim_matches('"'));
            // Only here without the number of parts, as on AWS.
            let value = attributes.element(&element);
            assert_eq!(Some(value.as_str()), expected.split('-').next(), "{context}");
            assert_eq!(attributes.element("PartsCount"), "2");
            // Parts are listed with their checksums, which only a composite one has.
            let sizes = [(5 * MIB).to_string(), "777".to_owned()];
            let listed = if kind == "COMPOSITE" { &sizes[..] } else { &[] };
            assert_eq!(attributes.elements("Size"), listed, "{context}");
            assert_eq!(attributes.element("ObjectSize"), whole.len().to_string());
            assert_eq!(attributes.element("StorageClass"), "STANDARD");
        }
    }
}

/// An object of one part, whose length and bytes `seed` decides.
async fn upload_of(server: &TestServer, seed: u8) {
    let algorithm = [("x-amz-checksum-algorithm", "CRC32"), ("x-amz-checksum-type", "COMPOSITE")];
    let upload = create(server, &algorithm).await;
    let part = part_bytes(seed, 100 + usize::from(seed));
    let (header, value) = &checksums(&part)[0];
    let put = server.request("PUT", &part_path(&upload, 1)).header(header, value).body(&part);
    put.send().await.expect_status(200);
    let checksum = format!("</ETag><ChecksumCRC32>{value}</ChecksumCRC32>");
    let document = document(&[(1, &etag(&part))]).replace("</ETag>", &checksum);
    server.post(&complete_path(&upload), document).await.expect_status(200);
}

/// While the object is replaced again and again, what one answer says of it is of one object:
/// the checksum is that of the part, and the sizes of the parts add up to that of the object.
#[tokio::test]
async fn an_answer_about_a_part_is_of_one_object_while_it_is_replaced() {
    const ANSWERS: usize = 300;
    let server = harness::memory().await;
    server.bucket("mine").await;
    upload_of(&server, 1).await;
    let is_over = AtomicBool::new(false);
    let replace = async {
        for seed in (2..=255).cycle() {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            upload_of(&server, seed).await;
        }
    };
    let look = async {
        for _ in 0..ANSWERS {
            let part = server.request("GET", "/mine/key?partNumber=1");
            let part = part.header("x-amz-checksum-mode", "ENABLED").send().await;
            let part = part.expect_status(206);
            let expected = checksums(&part.body)[0].1.clone();
            assert_eq!(part.header("x-amz-checksum-crc32"), Some(expected.as_str()));

            let about = server.request("GET", "/mine/key?attributes");
            let about = about.header("x-amz-object-attributes", "ObjectParts,ObjectSize");
            let about = about.send().await.expect_status(200);
            assert_eq!(about.element("ObjectSize"), about.element("Size"));
        }
        is_over.store(true, Ordering::Relaxed);
    };
    futures_util::future::join(replace, look).await;
}

#[tokio::test]
async fn wrong_checksums_of_uploads_are_refused() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    for (algorithm, kind) in [
        ("SHA256", "FULL_OBJECT"),
        ("SHA512", "FULL_OBJECT"),
        ("MD5", "FULL_OBJECT"),
        ("XXHASH64", "FULL_OBJECT"),
        ("XXHASH3", "FULL_OBJECT"),
        ("XXHASH128", "FULL_OBJECT"),
        ("CRC64NVME", "COMPOSITE"),
        ("MD4", "COMPOSITE"),
    ] {
        let refused = server
            .request("POST", "/mine/key?uploads")
            .headers(&[("x-amz-checksum-algorithm", algorithm), ("x-amz-checksum-type", kind)]);
        refused.send().await.expect_error(400, "InvalidRequest");
    }
    let refused =
        server.request("POST", "/mine/key?uploads").header("x-amz-checksum-type", "COMPOSITE");
    refused.send().await.expect_error(400, "InvalidRequest");

    let upload = create(&server, &[("x-amz-checksum-algorithm", "SHA256")]).await;
    let [(crc32, crc32_value), _, _, _, (sha256, sha256_value), ..] = checksums(b"part");
    let put = |name: &str, value: &str| {
        server.request("PUT", &part_path(&upload, 1)).header(name, value).body("part").send()
    };
    put(crc32, &crc32_value).await.expect_error(400, "InvalidRequest");
    put(sha256, &checksums(b"other")[4].1).await.expect_error(400, "BadDigest");
    let both = server.request("PUT", &part_path(&upload, 1)).header(sha256, &sha256_value);
    let both = both.header("content-md5", base64(&md5(b"other"))).body("part").send().await;
    both.expect_error(400, "BadDigest");
    let without = server.put(&part_path(&upload, 1), "part").await;
    let without = without.expect_error(400, "InvalidRequest");
    assert!(without.element("Message").ends_with("sha256, actual checksum Type: null"));
    put(sha256, &sha256_value).await.expect_status(200);
    let tag = etag(b"part");
    let bare = server.post(&complete_path(&upload), document(&[(1, &tag)])).await;
    let bare = bare.expect_error(400, "InvalidRequest");
    assert!(bare.element("Message").contains("missing for part 1"), "{}", bare.text());
    let foreign = document(&[(1, &tag)])
        .replace("</ETag>", &format!("</ETag><ChecksumCRC32>{crc32_value}</ChecksumCRC32>"));
    server.post(&complete_path(&upload), foreign).await.expect_error(400, "BadDigest");
    let whole = document(&[(1, &tag)])
        .replace("</ETag>", &format!("</ETag><ChecksumSHA256>{sha256_value}</ChecksumSHA256>"));
    let wrong =
        document(&[(1, &tag)]).replace("</ETag>", "</ETag><ChecksumSHA256>AAAA</ChecksumSHA256>");
    server.post(&complete_path(&upload), wrong).await.expect_error(400, "InvalidRequest");
    let other = &checksums(b"other")[4].1;
    let wrong = document(&[(1, &tag)])
        .replace("</ETag>", &format!("</ETag><ChecksumSHA256>{other}</ChecksumSHA256>"));
    server.post(&complete_path(&upload), wrong).await.expect_error(400, "BadDigest");
    let wrong =
        server.request("POST", &complete_path(&upload)).header(sha256, format!("{other}-1"));
    wrong.body(&whole).send().await.expect_error(400, "BadDigest");
    let wrong =
        server.request("POST", &complete_path(&upload)).header("x-amz-mp-object-size", "99");
    wrong.body(&whole).send().await.expect_error(400, "InvalidRequest");
    let wrong = server
        .request("POST", &complete_path(&upload))
        .header("x-amz-checksum-type", "FULL_OBJECT");
    wrong.body(&whole).send().await.expect_error(400, "InvalidRequest");
    server.post(&complete_path(&upload), whole).await.expect_status(200);
}

#[tokio::test]
async fn completing_is_conditional() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let tag = etag(b"part");
        let complete_of = |upload: &str, name: &str, value: &str| {
            let request = server.request("POST", &complete_path(upload)).header(name, value);
            request.body(document(&[(1, &tag)])).send()
        };
        let old = create(&server, &[]).await;
        server.put(&part_path(&old, 1), "part").await.expect_status(200);
        complete_of(&old, "if-match", &tag).await.expect_error(404, "NoSuchKey");
        server.put("/mine/key", "here").await.expect_status(200);
        // The key was written since the upload began: it has to begin again.
        let conflict = complete_of(&old, "if-match", &etag(b"here")).await;
        conflict.expect_error(409, "ConditionalRequestConflict");

        let upload = create(&server, &[]).await;
        server.put(&part_path(&upload, 1), "part").await.expect_status(200);
        let complete = |name: &str, value: &str| complete_of(&upload, name, value);
        complete("if-none-match", "*").await.expect_error(412, "PreconditionFailed");
        complete("if-match", &tag).await.expect_error(412, "PreconditionFailed");
        complete("if-match", &etag(b"here")).await.expect_status(200);
        assert_eq!(server.get("/mine/key").await.body, b"part");
    }
}

#[tokio::test]
async fn aborting_is_conditional() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let upload = create(&server, &[]).await;
    let target = complete_path(&upload);
    let abort = |time: &str| {
        server.request("DELETE", &target).header("x-amz-if-match-initiated-time", time).send()
    };
    let refused = abort("Thu, 01 Jan 1970 00:00:00 GMT").await;
    let refused = refused.expect_error(412, "PreconditionFailed");
    assert_eq!(refused.element("Condition"), "x-amz-if-match-initiated-time");
    let listed = server.get("/mine?uploads").await.element("Initiated");
    let initiated: jiff::Timestamp = listed.parse().expect("a time");
    let initiated =
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&initiated);
    abort(&initiated.expect("a date")).await.expect_status(204);
    server.delete(&target).await.expect_error(404, "NoSuchUpload");
}
