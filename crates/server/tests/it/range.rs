//! Reads of parts of an object.

use crate::harness;

#[tokio::test]
async fn ranges_are_answered_as_http_says() {
    let rows = [
        ("bytes=0-3", 206, "0123", Some("bytes 0-3/10")),
        ("bytes=4-", 206, "456789", Some("bytes 4-9/10")),
        ("bytes=-2", 206, "89", Some("bytes 8-9/10")),
        ("bytes=-99", 206, "0123456789", Some("bytes 0-9/10")),
        ("bytes=0-99", 206, "0123456789", Some("bytes 0-9/10")),
        ("bytes=0-99999999999999999999999", 206, "0123456789", Some("bytes 0-9/10")),
        ("bytes=9-9", 206, "9", Some("bytes 9-9/10")),
        // Malformed headers, and several ranges, are ignored.
        ("bytes=3-1", 200, "0123456789", None),
        ("bytes=a-b", 200, "0123456789", None),
        ("bytes=0-1,3-4", 200, "0123456789", None),
        ("lines=0-3", 200, "0123456789", None),
        ("bytes=", 200, "0123456789", None),
        ("bytes= -1", 200, "0123456789", None),
        ("bytes=0 -1", 200, "0123456789", None),
    ];
    for server in harness::both().await {
        server.bucket("mine").await;
        server.put("/mine/digits", "0123456789").await.expect_status(200);
        for (range, status, body, content_range) in rows {
            let got = server.request("GET", "/mine/digits").header("range", range).send().await;
            assert_eq!((got.status, got.text().as_str()), (status, body), "{range}");
            assert_eq!(got.header("content-range"), content_range, "{range}");
            assert_eq!(got.header("accept-ranges"), Some("bytes"));
            let head = server.request("HEAD", "/mine/digits").header("range", range).send().await;
            assert_eq!(head.status, status, "HEAD {range}");
            assert_eq!(head.header("content-range"), content_range, "HEAD {range}");
            assert_eq!(head.header("content-length"), Some(body.len().to_string().as_str()));
        }
        for range in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"] {
            let got = server.request("GET", "/mine/digits").header("range", range).send().await;
            let got = got.expect_error(416, "InvalidRange");
            assert_eq!(got.header("content-range"), Some("bytes */10"), "{range}");
        }
        server.put("/mine/empty", "").await.expect_status(200);
        for range in ["bytes=0-", "bytes=0-0", "bytes=-0"] {
            let got = server.request("GET", "/mine/empty").header("range", range).send().await;
            got.expect_error(416, "InvalidRange");
        }
        // The last bytes of nothing are all of it.
        for method in ["GET", "HEAD"] {
            let got =
                server.request(method, "/mine/empty").header("range", "bytes=-1").send().await;
            assert_eq!((got.status, got.header("content-range")), (200, None), "{method}");
            assert_eq!(got.header("content-length"), Some("0"), "{method}");
        }
    }
}

/// RFC 9110, section 13.1.5. A client that resumes a download would otherwise join bytes of two objects.
#[tokio::test]
async fn a_range_of_a_replaced_object_is_the_whole_new_one() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let old = server.put("/mine/digits", "abcdefghij").await.expect_status(200);
        let old = old.header("etag").expect("a tag").to_owned();
        server.put("/mine/digits", "0123456789").await.expect_status(200);
        let now = server.head("/mine/digits").await;
        let (tag, date) = (now.header("etag"), now.header("last-modified"));
        let (tag, date) = (tag.expect("a tag"), date.expect("a date"));
        let weak = format!("W/{tag}");
        let rows = [
            (tag, true),
            (tag.trim_matches('"'), true),
            (date, true),
            (&old, false),
            (&weak, false),
            ("\"other\"", false),
            ("*", false),
            ("", false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", false),
            ("Fri, 01 Jan 2100 00:00:00 GMT", false),
            ("tomorrow", false),
        ];
        for (condition, counts) in rows {
            for method in ["GET", "HEAD"] {
                let got = |range| {
                    let request = server.request(method, "/mine/digits").header("range", range);
                    request.header("if-range", condition).send()
                };
                let part = got("bytes=5-").await;
                assert_eq!(part.status, if counts { 206 } else { 200 }, "{method} {condition}");
                let length = if counts { "5" } else { "10" };
                assert_eq!(part.header("content-length"), Some(length), "{method} {condition}");
                assert_eq!(part.header("content-range").is_some(), counts, "{method} {condition}");
                // There is no such range, and if it does not count nobody asked for it.
                let outside = got("bytes=10-").await;
                assert_eq!(outside.status, if counts { 416 } else { 200 }, "{method} {condition}");
            }
            // Without a range there is nothing to decide.
            let whole = server.request("GET", "/mine/digits").header("if-range", condition);
            assert_eq!(whole.send().await.expect_status(200).body, b"0123456789", "{condition}");
        }
        let both = server.request("GET", "/mine/digits").header("if-range", tag);
        let both = both.header("range", "bytes=5-").header("if-none-match", tag).send().await;
        assert_eq!(both.status, 304, "conditions are decided before");
    }
}

#[tokio::test]
async fn ranges_of_large_objects_are_exact() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        server.put("/mine/large", &bytes).await.expect_status(200);
        let blocks = [0, 1, 262_143, 262_144, 262_145, 1_048_576, 2_999_999];
        for first in blocks {
            for length in [1, 2, 262_144, 1_000_000] {
                let last = (first + length - 1).min(bytes.len() - 1);
                let range = format!("bytes={first}-{last}");
                let got = server.request("GET", "/mine/large").header("range", &range).send().await;
                assert_eq!(got.status, 206, "{range}");
                assert!(got.body == bytes[first..=last], "{} {range}", server.backend);
            }
        }
        assert!(server.get("/mine/large").await.body == bytes, "{}", server.backend);
    }
}

#[tokio::test]
async fn a_part_number_of_a_plain_object_is_all_of_it() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/digits", "0123456789").await.expect_status(200);
    let got = server.get("/mine/digits?partNumber=1").await.expect_status(206);
    assert_eq!(
        (got.text().as_str(), got.header("content-range")),
        ("0123456789", Some("bytes 0-9/10"))
    );
    assert_eq!(got.header("x-amz-mp-parts-count"), None);
    server.get("/mine/digits?partNumber=2").await.expect_error(416, "InvalidPartNumber");
    for number in ["0", "10001", "-1"] {
        let refused = server.get(&format!("/mine/digits?partNumber={number}")).await;
        refused.expect_error(400, "InvalidArgument");
    }
    let both = server.request("GET", "/mine/digits?partNumber=1").header("range", "bytes=0-1");
    both.send().await.expect_error(400, "InvalidRequest");
}
