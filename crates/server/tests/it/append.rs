//! PutObject with `x-amz-write-offset-bytes`.

use crate::checksum::checksums;
use crate::harness::{self, Headers, RawRequest, TestServer};

const OFFSET: &str = "x-amz-write-offset-bytes";

fn append<'a>(server: &'a TestServer, offset: usize, body: &[u8]) -> RawRequest<'a> {
    server.request("PUT", "/mine/log").header(OFFSET, offset.to_string()).body(body)
}

#[tokio::test]
async fn lines_are_appended_to_a_log() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let created = server.request("PUT", "/mine/log").body("first\n").headers(&[
            (OFFSET, "0"),
            ("x-amz-meta-color", "blue"),
            ("content-type", "text/plain"),
        ]);
        let created = created.send().await.expect_status(200);
        assert_eq!(created.header("x-amz-object-size"), Some("6"));
        let mut whole = b"first\n".to_vec();
        let mut etags = vec![created.header("etag").expect("one").to_owned()];
        for length in [7, 20_000, 3_000_000, 1] {
            let line = vec![b'a' + (length % 26) as u8; length];
            let appended = append(&server, whole.len(), &line).send().await.expect_status(200);
            whole.extend_from_slice(&line);
            let size = whole.len().to_string();
            assert_eq!(appended.header("x-amz-object-size"), Some(size.as_str()));
            let [_, _, (name, value), ..] = checksums(&whole);
            assert_eq!(appended.header(name), Some(value.as_str()));
            assert_eq!(appended.header("x-amz-checksum-type"), Some("FULL_OBJECT"));
            let got = server.request("GET", "/mine/log").header("x-amz-checksum-mode", "ENABLED");
            let got = got.send().await.expect_status(200);
            assert!(got.body == whole, "{length} {}", server.backend);
            assert_eq!(got.header(name), Some(value.as_str()));
            assert_eq!(got.header("etag"), appended.header("etag"));
            assert_eq!(got.header("x-amz-meta-color"), Some("blue"));
            assert_eq!(got.header("content-type"), Some("text/plain"));
            etags.push(got.header("etag").expect("one").to_owned());
        }
        assert!(etags.is_sorted_by(|one, next| one != next), "{etags:?}");
        assert!(etags[4].ends_with("-5\""), "no MD5 of the object: {etags:?}");
        let range = server.request("GET", "/mine/log").header("range", "bytes=4-8").send().await;
        assert_eq!(range.expect_status(206).body, &whole[4..=8]);
        let listed = server.get("/mine?list-type=2").await;
        assert_eq!(listed.element("Size"), whole.len().to_string());
        let about = server.request("GET", "/mine/log?attributes");
        let about = about.header("x-amz-object-attributes", "ObjectParts").send().await;
        assert_eq!(about.element("PartsCount"), "5");
    }
}

#[tokio::test]
async fn checksums_of_appends_go_with_that_of_the_object() {
    for server in harness::both().await {
        server.bucket("mine").await;
        for (index, (name, value)) in checksums(b"one").into_iter().enumerate() {
            server.delete("/mine/log").await.expect_status(204);
            append(&server, 0, b"one").header(name, value).send().await.expect_status(200);
            let of = |body: &[u8]| checksums(body)[index].1.clone();
            let wrong = append(&server, 3, b"two").header(name, of(b"2")).send().await;
            wrong.expect_error(400, "BadDigest");
            // By another algorithm, or by the one that the object has.
            let (other, value) = checksums(b"two")[(index + 1) % 10].clone();
            let other = append(&server, 3, b"two").header(other, value).send().await;
            match name {
                "x-amz-checksum-crc64nvme" => other.expect_status(200),
                _ => other.expect_error(400, "InvalidRequest"),
            };
            if name == "x-amz-checksum-crc64nvme" {
                continue;
            }
            let right = append(&server, 3, b"two").header(name, of(b"two")).send().await;
            let right = right.expect_status(200);
            let (told, kind) = match name.contains("crc") {
                true => (of(b"onetwo"), Some("FULL_OBJECT")),
                false => (of(b"two"), None),
            };
            assert_eq!(right.header(name), Some(told.as_str()));
            assert_eq!(right.header("x-amz-checksum-type"), kind, "{name}");
            assert_eq!(server.get("/mine/log").await.body, b"onetwo");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_appended_is_refused_and_leaves_the_object() {
    for server in harness::with_keys().await {
        server.bucket("mine").await;
        server.put("/mine/log", "12345").await.expect_status(200);
        let rows: Vec<(&str, &str, Headers<'_>, u16, &str)> = vec![
            ("0", "x", vec![], 400, "InvalidWriteOffset"),
            ("4", "x", vec![], 400, "InvalidWriteOffset"),
            ("6", "x", vec![], 400, "InvalidWriteOffset"),
            ("-1", "x", vec![], 400, "InvalidArgument"),
            ("5", "", vec![], 400, "InvalidRequest"),
            ("5", "x", vec![("x-amz-meta-a", "b")], 400, "InvalidRequest"),
            ("5", "x", vec![("x-amz-tagging", "a=b")], 400, "InvalidRequest"),
            ("5", "x", vec![("x-amz-storage-class", "GLACIER")], 400, "InvalidRequest"),
            ("5", "x", vec![("x-amz-object-lock-legal-hold", "ON")], 400, "InvalidRequest"),
            (
                "5",
                "x",
                vec![("x-amz-server-side-encryption", "AES256")],
                400,
                "EncryptionTypeMismatch",
            ),
            ("5", "x", vec![("if-none-match", "*")], 412, "PreconditionFailed"),
            ("5", "x", vec![("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==")], 400, "BadDigest"),
        ];
        for (offset, body, headers, status, code) in rows {
            let put = server.request("PUT", "/mine/log").header(OFFSET, offset).headers(&headers);
            put.body(body).send().await.expect_error(status, code);
            assert_eq!(server.get("/mine/log").await.body, b"12345", "{offset} {headers:?}");
        }
        let word = server.request("PUT", "/mine/log").header(OFFSET, "five").body("x").send().await;
        assert_eq!(word.status, 400);
        let none = server.request("PUT", "/mine/none").header(OFFSET, "5").body("x").send().await;
        none.expect_error(400, "InvalidWriteOffset");
        for (method, path, source) in
            [("PUT", "/mine/copy", Some("mine/log")), ("POST", "/mine/key?uploads", None)]
        {
            let request = server.request(method, path).header(OFFSET, "5");
            let request = match source {
                Some(source) => request.header("x-amz-copy-source", source),
                None => request,
            };
            request.send().await.expect_error(501, "NotImplemented");
        }
        let sealed = server.request("PUT", "/mine/sealed").body("12345");
        let sealed = sealed.header("x-amz-server-side-encryption", "AES256").send().await;
        sealed.expect_status(200);
        for headers in [vec![], vec![("x-amz-server-side-encryption", "AES256")]] {
            let put = server.request("PUT", "/mine/sealed").header(OFFSET, "5").headers(&headers);
            put.body("x").send().await.expect_error(501, "NotImplemented");
        }
        let enable = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        server.put("/mine?versioning", enable).await.expect_status(200);
        let refused = append(&server, 5, b"x").send().await;
        refused.expect_error(409, "InvalidBucketState");
    }
}

#[tokio::test]
async fn appenders_at_one_offset_have_one_winner() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.put("/mine/log", "0").await.expect_status(200);
        for round in 1..20 {
            let bodies: Vec<String> = (0..4).map(|who| who.to_string()).collect();
            let appends = bodies.iter().map(|body| append(&server, round, body.as_bytes()).send());
            let answers = futures_util::future::join_all(appends).await;
            let won: Vec<usize> = (0..4).filter(|index| answers[*index].status == 200).collect();
            assert_eq!(won.len(), 1, "round {round}");
            for (index, answer) in answers.into_iter().enumerate() {
                if index != won[0] {
                    answer.expect_error(400, "InvalidWriteOffset");
                }
            }
            let body = server.get("/mine/log").await.body;
            assert_eq!((body.len(), body[round]), (round + 1, b'0' + won[0] as u8));
        }
    }
}
