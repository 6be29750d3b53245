//! Listings: order, prefixes, delimiters, pages, encodings.

use crate::harness::{self, TestServer, base64, md5};

/// A bucket with these keys.
async fn bucket(server: &TestServer, keys: &[&str]) {
    server.bucket("mine").await;
    for key in keys {
        server.put(&format!("/mine/{key}"), "x").await.expect_status(200);
    }
}

/// All keys and all common prefixes, page by page, with the way both versions have to go on.
async fn pages(server: &TestServer, version: u8, query: &str, max: usize) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut place = String::new();
    loop {
        let list_type = if version == 2 { "&list-type=2" } else { "" };
        let path = format!("/mine?max-keys={max}{query}{list_type}{place}");
        let page = server.get(&path).await.expect_status(200);
        let keys = page.elements("Key");
        let prefixes = page.text();
        let prefixes: Vec<String> = prefixes
            .split("<CommonPrefixes><Prefix>")
            .skip(1)
            .filter_map(|rest| rest.split('<').next().map(str::to_owned))
            .collect();
        assert!(keys.len() + prefixes.len() <= max, "{path}");
        let last = keys.iter().chain(&prefixes).max().cloned();
        pages.push(keys.into_iter().chain(prefixes).collect());
        if page.element("IsTruncated") == "false" {
            assert!(!page.has_element("NextContinuationToken") && !page.has_element("NextMarker"));
            return pages;
        }
        place = match version {
            2 => format!("&continuation-token={}", page.element("NextContinuationToken")),
            _ if query.contains("delimiter") => format!("&marker={}", page.element("NextMarker")),
            _ => {
                assert!(!page.has_element("NextMarker"));
                format!("&marker={}", last.expect("a page that goes on has entries"))
            }
        };
        assert!(pages.len() < 100, "the listing does not end");
    }
}

#[tokio::test]
async fn pages_hold_everything_once_and_in_order() {
    let keys =
        ["a", "b/1", "b/2", "c", "data/a", "data/ab/1", "data/ab/2", "data/b", "data0", "e/1", "f"];
    let rows: [(&str, &[&str]); 6] = [
        ("", &keys),
        ("&prefix=data/", &["data/a", "data/ab/1", "data/ab/2", "data/b"]),
        ("&delimiter=/", &["a", "b/", "c", "data/", "data0", "e/", "f"]),
        ("&delimiter=/&prefix=data/", &["data/a", "data/ab/", "data/b"]),
        ("&delimiter=/&prefix=dat", &["data/", "data0"]),
        ("&prefix=none", &[]),
    ];
    for server in harness::both().await {
        bucket(&server, &keys).await;
        for (query, expected) in rows {
            for version in [1, 2] {
                for max in [1, 2, 3, 1000] {
                    let listed = pages(&server, version, query, max).await;
                    let context = format!("V{version} {query} max-keys={max}");
                    let mut all = listed.concat();
                    all.sort_unstable();
                    assert_eq!(all, expected, "{context}");
                    let expected_pages = expected.len().div_ceil(max).max(1);
                    assert_eq!(listed.len(), expected_pages, "{context}");
                }
            }
        }
    }
}

#[tokio::test]
async fn the_answer_repeats_the_question() {
    let server = harness::memory().await;
    bucket(&server, &["a", "b/1", "b/2"]).await;
    let page = server.get("/mine?delimiter=%2F&list-type=2&max-keys=7&prefix=&start-after=a").await;
    let page = page.expect_status(200);
    assert_eq!(page.element("Name"), "mine");
    assert_eq!((page.element("MaxKeys"), page.element("Delimiter")), ("7".into(), "/".into()));
    assert_eq!((page.element("StartAfter"), page.element("KeyCount")), ("a".into(), "1".into()));
    assert!(!page.has_element("EncodingType") && !page.has_element("Owner"));
    let page = server.get("/mine?list-type=2&max-keys=5000").await;
    assert_eq!(page.element("MaxKeys"), "1000");
    let page = server.get("/mine?fetch-owner=true&list-type=2").await;
    assert_eq!(page.elements("DisplayName"), ["Alice", "Alice", "Alice"]);
    let page = server.get("/mine").await;
    assert_eq!(page.elements("DisplayName"), ["Alice", "Alice", "Alice"]);
    assert_eq!(page.elements("StorageClass"), ["STANDARD", "STANDARD", "STANDARD"]);
    assert_eq!(page.elements("Size"), ["1", "1", "1"]);
    assert_eq!(page.element("ETag"), harness::etag(b"x"));
    let page = server.get("/mine?delimiter=&prefix=b").await;
    assert!(!page.has_element("Delimiter"));
    assert_eq!(page.elements("Key"), ["b/1", "b/2"]);
}

#[tokio::test]
async fn limits_and_tokens_are_checked() {
    let server = harness::memory().await;
    bucket(&server, &["a", "b"]).await;
    for list_type in ["", "&list-type=2"] {
        let none = server.get(&format!("/mine?max-keys=0{list_type}")).await.expect_status(200);
        assert_eq!((none.elements("Key").len(), none.element("IsTruncated")), (0, "false".into()));
        for wrong in
            ["max-keys=-1", "max-keys=many", "max-keys=99999999999", "encoding-type=base64"]
        {
            let refused = server.get(&format!("/mine?{wrong}{list_type}")).await;
            refused.expect_error(400, "InvalidArgument");
        }
    }
    for token in ["nonsense%21", "..%2F..%2Fetc", "%00"] {
        let refused = server.get(&format!("/mine?continuation-token={token}&list-type=2")).await;
        refused.expect_error(400, "InvalidArgument");
    }
}

#[tokio::test]
async fn start_after_and_marker_need_not_exist() {
    let server = harness::memory().await;
    bucket(&server, &["a", "b/1", "b/2", "c"]).await;
    let rows: [(&str, &[&str], &[&str]); 5] = [
        ("start-after=a", &["b/1", "b/2", "c"], &[]),
        ("start-after=aa", &["b/1", "b/2", "c"], &[]),
        ("start-after=b/1", &["b/2", "c"], &[]),
        ("start-after=z", &[], &[]),
        ("delimiter=/&start-after=b/", &["c"], &[]),
    ];
    for (query, keys, prefixes) in rows {
        let page = server.get(&format!("/mine?{query}&list-type=2")).await.expect_status(200);
        assert_eq!(page.elements("Key"), keys, "{query}");
        assert_eq!(page.text().matches("<CommonPrefixes>").count(), prefixes.len(), "{query}");
        let marker = query.replace("start-after", "marker");
        let page = server.get(&format!("/mine?{marker}")).await.expect_status(200);
        assert_eq!(page.elements("Key"), keys, "{marker}");
    }
}

#[tokio::test]
async fn keys_are_encoded_only_on_request() {
    let server = harness::memory().await;
    bucket(&server, &["a%2Bb/c%20d", "a%2Bb/e%26f", "x%0Dy%01"]).await;
    let plain = server.get("/mine?list-type=2").await;
    // A carriage return survives, what XML cannot hold does not; the document stays valid.
    assert_eq!(plain.elements("Key"), ["a+b/c d", "a+b/e&f", "x\ry\u{fffd}"]);
    assert!(plain.text().contains("x&#xD;y"));
    let url = server.get("/mine?encoding-type=url&list-type=2").await;
    assert_eq!(url.elements("Key"), ["a%2Bb/c%20d", "a%2Bb/e%26f", "x%0Dy%01"]);
    assert_eq!(url.element("EncodingType"), "url");
    let query = "delimiter=%2F&encoding-type=url&prefix=a%2B&start-after=a%2B";
    let url = server.get(&format!("/mine?{query}&list-type=2")).await;
    assert!(url.text().contains("<CommonPrefixes><Prefix>a%2Bb/</Prefix></CommonPrefixes>"));
    assert_eq!(url.element("StartAfter"), "a%2B");
    let url = server.get(&format!("/mine?{query}&list-type=2&max-keys=1")).await;
    assert_eq!(url.element("Prefix"), "a%2B");
}

/// Every listing leaves names alone unless it is asked to encode them, and says when it has.
#[tokio::test]
async fn every_listing_encodes_on_request() {
    let server = harness::memory().await;
    bucket(&server, &["a%2Bb/c%20d", "a%2Be%20f"]).await;
    server.post("/mine/a%2Bg%20h?uploads", "").await.expect_status(200);
    for (listing, key, prefix, encoded_key, encoded_prefix) in [
        ("", "a+e f", "a+b/", "a%2Be%20f", "a%2Bb/"),
        ("&list-type=2", "a+e f", "a+b/", "a%2Be%20f", "a%2Bb/"),
        ("&versions", "a+e f", "a+b/", "a%2Be%20f", "a%2Bb/"),
        ("&uploads", "a+g h", "", "a%2Bg%20h", ""),
    ] {
        let query = "delimiter=%2F&prefix=a%2B";
        let plain = server.get(&format!("/mine?{query}{listing}")).await.expect_status(200);
        assert_eq!(plain.elements("Key"), [key], "{listing}");
        assert!(!plain.has_element("EncodingType"), "{listing}");
        let common = |page: &str, prefix: &str| {
            prefix.is_empty()
                || page.contains(&format!("<CommonPrefixes><Prefix>{prefix}</Prefix>"))
        };
        assert!(common(&plain.text(), prefix), "{}", plain.text());
        let url = server.get(&format!("/mine?{query}&encoding-type=url{listing}")).await;
        let url = url.expect_status(200);
        assert_eq!(url.elements("Key"), [encoded_key], "{listing}");
        assert_eq!(url.element("EncodingType"), "url", "{listing}");
        assert_eq!(url.element("Prefix"), "a%2B", "{listing}");
        assert!(common(&url.text(), encoded_prefix), "{}", url.text());
    }
}

#[tokio::test]
async fn versions_of_unversioned_objects_are_null() {
    for server in harness::both().await {
        bucket(&server, &["a", "b/1", "b/2", "c"]).await;
        let page = server.get("/mine?versions").await.expect_status(200);
        assert_eq!(page.elements("Key"), ["a", "b/1", "b/2", "c"]);
        assert_eq!(page.elements("VersionId"), ["null"; 4]);
        assert_eq!(page.elements("IsLatest"), ["true"; 4]);
        assert!(!page.has_element("DeleteMarker"));
        let page = server.get("/mine?delimiter=%2F&versions").await;
        assert_eq!(page.elements("Key"), ["a", "c"]);
        assert!(page.text().contains("<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>"));
        let mut keys = Vec::new();
        let mut path = "/mine?max-keys=3&versions".to_owned();
        loop {
            let page = server.get(&path).await.expect_status(200);
            keys.extend(page.elements("Key"));
            if page.element("IsTruncated") == "false" {
                break;
            }
            let (key, version) =
                (page.element("NextKeyMarker"), page.element("NextVersionIdMarker"));
            path =
                format!("/mine?key-marker={key}&max-keys=3&version-id-marker={version}&versions");
        }
        assert_eq!(keys, ["a", "b/1", "b/2", "c"]);
        let wrong = server.get("/mine?version-id-marker=null&versions").await;
        wrong.expect_error(400, "InvalidArgument");
    }
}

#[tokio::test]
async fn keys_that_are_put_among_many_deleted_ones_are_listed() {
    for server in harness::both().await {
        let keys: Vec<String> = (0..300).map(|number| format!("k/{number:03}")).collect();
        bucket(&server, &keys.iter().map(String::as_str).collect::<Vec<_>>()).await;
        // All but the last, in two documents: the second range of deleted keys joins the first.
        for keys in [&keys[..150], &keys[150..299]] {
            let objects = keys.iter().map(|key| format!("<Object><Key>{key}</Key></Object>"));
            let document = format!("<Delete>{}</Delete>", objects.collect::<String>());
            let digest = base64(&md5(document.as_bytes()));
            let request = server.request("POST", "/mine?delete").body(&document);
            request.header("content-md5", digest).send().await.expect_status(200);
        }
        let listed = async |query: &str| {
            server
                .get(&format!("/mine?list-type=2{query}"))
                .await
                .expect_status(200)
                .elements("Key")
        };
        for _ in 0..2 {
            assert_eq!(listed("").await, ["k/299"]);
            assert_eq!(listed("&start-after=k/200").await, ["k/299"]);
        }
        for (key, all) in [
            ("k/000", ["k/000", "k/299"].as_slice()),
            ("k/150", &["k/000", "k/150", "k/299"]),
            ("k/149", &["k/000", "k/149", "k/150", "k/299"]),
        ] {
            server.put(&format!("/mine/{key}"), "x").await.expect_status(200);
            assert_eq!(listed("").await, all);
        }
        server.delete("/mine/k/150").await.expect_status(204);
        assert_eq!(listed("&start-after=k/001").await, ["k/149", "k/299"]);
        assert!(listed("&delimiter=/").await.is_empty());
    }
}
