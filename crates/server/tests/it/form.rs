//! Uploads by the forms of browsers, as far as their answers go, and addressing by host.

use crate::checksum::checksums;
use crate::harness::{self, ALICE, TestServer, base64, etag};
use crate::raw::{FORM_TYPE, Keys, form_body, form_fields};
use crate::reply::Reply;

/// A form upload by Alice with these fields beside those of the signature.
pub(crate) async fn upload(server: &TestServer, fields: &[(&str, &str)], file: &[u8]) -> Reply {
    let conditions = fields.iter().map(|(name, value)| format!("{{\"{name}\": \"{value}\"}}, "));
    let conditions: String = conditions.chain(["{\"bucket\": \"mine\"}, ".to_owned()]).collect();
    let keys = Keys { access: ALICE.access_key, secret: ALICE.secret_key };
    let body = form_body(&form_fields(keys, 60, &conditions, fields), file);
    let request = server.request("POST", "/mine").anonymous();
    request.header("content-type", FORM_TYPE).body(body).send().await
}

#[tokio::test]
async fn success_is_answered_as_the_form_asks() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let large = vec![b'x'; 200_000];
        let plain = upload(&server, &[("key", "a b")], &large).await.expect_status(204);
        assert_eq!(plain.header("etag"), Some(etag(&large).as_str()));
        assert!(server.get("/mine/a%20b").await.body == large, "{}", server.backend);

        let fields =
            [("key", "c&d"), ("success_action_status", "201"), ("x-amz-meta-color", "blue")];
        let created = upload(&server, &fields, b"file").await.expect_status(201);
        assert_eq!(
            (created.element("Bucket"), created.element("Key")),
            ("mine".into(), "c&d".into())
        );
        assert_eq!(created.element("ETag"), etag(b"file"));
        // As AWS answers, in no namespace, which programs look for it in.
        assert!(created.text().contains("<PostResponse><Location>"), "{}", created.text());
        assert_eq!(Some(created.element("Location").as_str()), created.header("location"));
        let kept = server.get("/mine/c%26d").await;
        assert_eq!(
            (kept.body.as_slice(), kept.header("x-amz-meta-color")),
            (&b"file"[..], Some("blue"))
        );

        let fields = [("key", "e"), ("success_action_status", "200")];
        upload(&server, &fields, b"file").await.expect_status(200);

        let fields = [("key", "f"), ("success_action_redirect", "http://example.com/done?a=1")];
        let sent_on = upload(&server, &fields, b"file").await.expect_status(303);
        let tag = etag(b"file").replace('"', "%22");
        assert_eq!(
            sent_on.header("location"),
            Some(format!("http://example.com/done?a=1&bucket=mine&key=f&etag={tag}").as_str())
        );
        assert_eq!(server.get("/mine/f").await.body, b"file");
    }
}

#[tokio::test]
async fn a_form_may_carry_a_checksum() {
    for server in harness::both().await {
        server.bucket("mine").await;
        for file in [&b"file"[..], &[b'x'; 200_000]] {
            let right = checksums(file);
            let wrong = checksums(b"another file");
            for ((name, right), (_, wrong)) in right.into_iter().zip(wrong) {
                let put = async |value: &str| {
                    upload(&server, &[("key", "checked"), (name, value)], file).await
                };
                put(&wrong).await.expect_error(400, "BadDigest");
                put("sailor").await.expect_error(400, "InvalidRequest");
                server.get("/mine/checked").await.expect_error(404, "NoSuchKey");
                let stored = put(&right).await.expect_status(204);
                assert_eq!(stored.header(name), Some(right.as_str()), "{name}");
                assert!(server.get("/mine/checked").await.body == file, "{name}");
                server.delete("/mine/checked").await.expect_status(204);
            }
        }
    }
}

#[tokio::test]
async fn a_bucket_may_stand_in_the_host() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let at = |method: &'static str, host: &str, path: &str| {
        server.request(method, path).header("host", host)
    };
    at("PUT", "mine.localhost:9000", "/a/b").body("x").send().await.expect_status(200);
    at("PUT", "mine.localhost", "/small").body("y").send().await.expect_status(200);
    assert_eq!(server.get("/mine/a/b").await.body, b"x");
    assert_eq!(server.get("/mine/small").await.body, b"y");
    let listed = at("GET", "mine.s3.localhost:9000", "/").send().await.expect_status(200);
    assert_eq!(listed.elements("Key"), ["a/b", "small"]);
    at("PUT", "my.dotted.bucket.localhost", "/").send().await.expect_status(200);
    server.head("/my.dotted.bucket").await.expect_status(200);
    let listed = at("GET", "s3.localhost:9000", "/").send().await.expect_status(200);
    assert_eq!(listed.elements("Name"), ["mine", "my.dotted.bucket"]);
    at("GET", "Bad_Name.localhost", "/").send().await.expect_error(400, "InvalidBucketName");
}

/// Half a body is no object.
#[tokio::test]
async fn a_body_that_breaks_off_leaves_nothing() {
    for server in harness::both().await {
        server.bucket("mine").await;
        for bytes in [100, 100_000, 3_000_000] {
            let request = server.request("PUT", "/mine/key").body(vec![b'x'; bytes]);
            request.cut_off(bytes / 2).await;
            server.get("/mine/key").await.expect_error(404, "NoSuchKey");
            assert_eq!(server.get("/mine?list-type=2").await.element("KeyCount"), "0");
        }
        let without_length =
            server.request("PUT", "/mine/key").header("transfer-encoding", "chunked");
        let answer = without_length.send_without_length(b"1\r\nx\r\n0\r\n\r\n").await;
        answer.expect_error(411, "MissingContentLength");
        let digest = base64(&[0; 16]);
        let wrong = server.request("PUT", "/mine/key").header("content-md5", digest);
        wrong.body(vec![b'x'; 2_000_000]).send().await.expect_error(400, "BadDigest");
        server.get("/mine/key").await.expect_error(404, "NoSuchKey");
    }
}
