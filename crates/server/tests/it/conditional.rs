//! Conditions on reads and writes.

use crate::harness::{self, Headers, etag};

const PAST: &str = "Thu, 01 Jan 1970 00:00:00 GMT";
const FUTURE: &str = "Fri, 01 Jan 2100 00:00:00 GMT";
const NO_MATCH: &str = "\"00000000000000000000000000000000\"";

#[tokio::test]
async fn reads_are_conditional() {
    let tag = etag(b"content");
    let bare = tag.trim_matches('"').to_owned();
    let list = format!("{NO_MATCH}, {tag}");
    let weak = format!("W/{tag}");
    let rows: Vec<(Headers<'_>, u16)> = vec![
        (vec![("if-match", &tag)], 200),
        (vec![("if-match", &bare)], 200),
        (vec![("if-match", &list)], 200),
        (vec![("if-match", "*")], 200),
        (vec![("if-match", NO_MATCH)], 412),
        (vec![("if-none-match", &tag)], 304),
        (vec![("if-none-match", &weak)], 304),
        (vec![("if-none-match", &list)], 304),
        (vec![("if-none-match", "*")], 304),
        (vec![("if-none-match", NO_MATCH)], 200),
        (vec![("if-modified-since", PAST)], 200),
        // A time in the future counts as none, as on AWS.
        (vec![("if-modified-since", FUTURE)], 200),
        (vec![("if-unmodified-since", PAST)], 412),
        (vec![("if-unmodified-since", FUTURE)], 200),
        // The ETag decides before the date.
        (vec![("if-match", &tag), ("if-unmodified-since", PAST)], 200),
        (vec![("if-none-match", NO_MATCH), ("if-modified-since", FUTURE)], 200),
        (vec![("if-none-match", &tag), ("if-modified-since", PAST)], 304),
        (vec![("if-match", &tag), ("if-none-match", &tag)], 304),
        (vec![("if-match", NO_MATCH), ("if-none-match", &tag)], 412),
        // Dates that are none are ignored.
        (vec![("if-modified-since", "yesterday")], 200),
        (vec![("if-unmodified-since", "tomorrow")], 200),
        // The condition decides before the range.
        (vec![("if-none-match", &tag), ("range", "bytes=99-")], 304),
    ];
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "content").await.expect_status(200);
    let modified =
        server.head("/mine/key").await.header("last-modified").expect("a time").to_owned();
    let since = server.request("GET", "/mine/key").header("if-modified-since", &modified);
    assert_eq!(since.send().await.status, 304);
    for (headers, status) in rows {
        let got = server.request("GET", "/mine/key").headers(&headers).send().await;
        assert_eq!(got.status, status, "GET {headers:?}");
        if status == 412 {
            let condition = got.element("Condition").to_ascii_lowercase();
            assert!(headers.iter().any(|(name, _)| *name == condition), "{headers:?}: {condition}");
        }
        if status == 304 {
            assert_eq!(got.header("etag"), Some(tag.as_str()), "{headers:?}");
            assert!(got.header("last-modified").is_some(), "{headers:?}");
            assert_eq!(got.body, b"", "{headers:?}");
        }
        let head = server.request("HEAD", "/mine/key").headers(&headers).send().await;
        assert_eq!(head.status, status, "HEAD {headers:?}");
    }
    let missing = server.request("GET", "/mine/none").header("if-none-match", "*").send().await;
    missing.expect_error(404, "NoSuchKey");
}

#[tokio::test]
async fn writes_are_conditional() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let put = |body: &'static str, name: &'static str, value: String| {
            server.request("PUT", "/mine/key").header(name, value).body(body).send()
        };
        put("one", "if-match", etag(b"zero")).await.expect_error(404, "NoSuchKey");
        put("one", "if-none-match", "*".into()).await.expect_status(200);
        put("two", "if-none-match", "*".into()).await.expect_error(412, "PreconditionFailed");
        put("two", "if-match", etag(b"zero")).await.expect_error(412, "PreconditionFailed");
        assert_eq!(server.get("/mine/key").await.body, b"one");
        put("two", "if-match", etag(b"one")).await.expect_status(200);
        assert_eq!(server.get("/mine/key").await.body, b"two");
        put("three", "if-none-match", etag(b"two")).await.expect_error(412, "PreconditionFailed");
        // A condition that names nothing must not be taken for none.
        put("three", "if-match", "\"\"".into()).await.expect_error(400, "InvalidArgument");
        put("three", "if-none-match", ",".into()).await.expect_error(400, "InvalidArgument");
        assert_eq!(server.get("/mine/key").await.body, b"two");
        put("three", "if-none-match", etag(b"one")).await.expect_status(200);
        assert_eq!(server.get("/mine/key").await.body, b"three");
    }
}

#[tokio::test]
async fn deletes_are_conditional() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "one").await.expect_status(200);
    let delete = |path: &'static str, value: String| {
        server.request("DELETE", path).header("if-match", value).send()
    };
    delete("/mine/key", etag(b"two")).await.expect_error(412, "PreconditionFailed");
    // Recorded on AWS in moto's `test_delete_object_if_match`.
    delete("/mine/none", etag(b"one")).await.expect_error(404, "NoSuchKey");
    delete("/mine/none", "*".into()).await.expect_error(404, "NoSuchKey");
    delete("/mine/key", etag(b"one")).await.expect_status(204);
    server.get("/mine/key").await.expect_error(404, "NoSuchKey");
    server.put("/mine/key", "one").await.expect_status(200);
    delete("/mine/key", "*".into()).await.expect_status(204);
    server.delete("/mine/key").await.expect_status(204);
}

/// The conditions that AWS has for directory buckets, on one object and on each of several.
#[tokio::test]
async fn deletes_compare_size_and_time() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let (size, time) = ("x-amz-if-match-size", "x-amz-if-match-last-modified-time");
        server.put("/mine/key", "seven b").await.expect_status(200);
        let modified = server.head("/mine/key").await;
        let modified = modified.header("last-modified").expect("a date").to_owned();
        let one = |name: &str, value: &str| {
            server.request("DELETE", "/mine/key").header(name, value).send()
        };
        for (name, value, code) in [
            (size, "8", "PreconditionFailed"),
            (size, "0", "PreconditionFailed"),
            (time, PAST, "PreconditionFailed"),
            (time, FUTURE, "PreconditionFailed"),
            // Ignored, they would let the object go.
            (size, "-7", "InvalidArgument"),
        ] {
            let status = if code == "PreconditionFailed" { 412 } else { 400 };
            one(name, value).await.expect_error(status, code);
        }
        for (name, value) in [(size, "seven"), (time, "yesterday")] {
            assert_eq!(one(name, value).await.status, 400, "{name}: {value}");
        }
        let several = |inner: &str| {
            let document = format!("<Delete><Object><Key>key</Key>{inner}</Object></Delete>");
            let digest = harness::base64(&harness::md5(document.as_bytes()));
            server
                .request("POST", "/mine?delete")
                .header("content-md5", digest)
                .body(document)
                .send()
        };
        for (inner, code) in [
            ("<Size>8</Size>".to_owned(), "PreconditionFailed"),
            ("<Size>-7</Size>".to_owned(), "InvalidArgument"),
            (format!("<LastModifiedTime>{PAST}</LastModifiedTime>"), "PreconditionFailed"),
            (
                format!("<Size>7</Size><LastModifiedTime>{PAST}</LastModifiedTime>"),
                "PreconditionFailed",
            ),
        ] {
            assert_eq!(several(&inner).await.expect_status(200).element("Code"), code, "{inner}");
        }
        assert_eq!(server.get("/mine/key").await.body, b"seven b");
        let fitting = format!("<Size>7</Size><LastModifiedTime>{modified}</LastModifiedTime>");
        assert_eq!(several(&fitting).await.expect_status(200).elements("Key"), ["key"]);
        server.get("/mine/key").await.expect_error(404, "NoSuchKey");
        server.put("/mine/key", "seven b").await.expect_status(200);
        let modified = server.head("/mine/key").await;
        let modified = modified.header("last-modified").expect("a date").to_owned();
        let request =
            server.request("DELETE", "/mine/key").headers(&[(size, "7"), (time, &modified)]);
        request.send().await.expect_status(204);
        server.get("/mine/key").await.expect_error(404, "NoSuchKey");
    }
}

#[tokio::test]
async fn copies_are_conditional() {
    let tag = etag(b"source");
    let rows: Vec<(Headers<'_>, u16)> = vec![
        (vec![("x-amz-copy-source-if-match", &tag)], 200),
        (vec![("x-amz-copy-source-if-match", NO_MATCH)], 412),
        (vec![("x-amz-copy-source-if-none-match", NO_MATCH)], 200),
        (vec![("x-amz-copy-source-if-none-match", &tag)], 412),
        (vec![("x-amz-copy-source-if-modified-since", PAST)], 200),
        (vec![("x-amz-copy-source-if-modified-since", FUTURE)], 200),
        (vec![("x-amz-copy-source-if-unmodified-since", FUTURE)], 200),
        (vec![("x-amz-copy-source-if-unmodified-since", PAST)], 412),
        (
            vec![
                ("x-amz-copy-source-if-match", &tag),
                ("x-amz-copy-source-if-unmodified-since", PAST),
            ],
            200,
        ),
        (vec![("if-none-match", "*")], 412),
        (vec![("if-match", NO_MATCH)], 412),
        (vec![("if-match", &tag)], 200),
    ];
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/source", "source").await.expect_status(200);
    server.put("/mine/target", "source").await.expect_status(200);
    for (headers, status) in rows {
        let copy =
            server.request("PUT", "/mine/target").header("x-amz-copy-source", "/mine/source");
        let copied = copy.headers(&headers).send().await;
        assert_eq!(copied.status, status, "{headers:?} {}", copied.text());
    }
}

/// Of many writers that each want to be the first, one is.
#[tokio::test(flavor = "multi_thread")]
async fn racing_writers_have_one_winner() {
    for server in harness::both().await {
        server.bucket("mine").await;
        for round in 0..10 {
            let path = format!("/mine/lock-{round}");
            let racers = (0..16).map(|number| {
                let request = server.request("PUT", &path).header("if-none-match", "*");
                request.body(format!("racer {number}")).send()
            });
            let answers = futures_util::future::join_all(racers).await;
            let winners: Vec<usize> =
                (0..16).filter(|number| answers[*number].status == 200).collect();
            assert_eq!(winners.len(), 1, "{} round {round}", server.backend);
            assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 409 | 412)));
            let kept = server.get(&path).await.text();
            assert_eq!(kept, format!("racer {}", winners[0]));
        }
    }
}
