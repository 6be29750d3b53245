//! Tags of objects, versions and buckets.

use crate::harness::{self, TestServer};

fn document(tags: &[(&str, &str)]) -> String {
    let tag =
        |(key, value): &(&str, &str)| format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>");
    let tags: String = tags.iter().map(tag).collect();
    format!("<Tagging><TagSet>{tags}</TagSet></Tagging>")
}

async fn tag_set(server: &TestServer, path: &str) -> String {
    let got = server.get(path).await;
    let got = got.expect_status(200);
    let text = String::from_utf8(got.body).expect("text");
    let (_, rest) = text.split_once("<TagSet>").unwrap_or(("", ""));
    rest.split_once("</TagSet>").unwrap_or(("", "")).0.to_owned()
}

#[tokio::test]
async fn tags_of_an_object_are_put_read_and_deleted() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let put = server.request("PUT", "/mine/key").header("x-amz-tagging", "a=1").body("x");
        put.send().await.expect_status(200);
        assert_eq!(
            tag_set(&server, "/mine/key?tagging").await,
            "<Tag><Key>a</Key><Value>1</Value></Tag>"
        );
        let before = server.head("/mine/key").await;
        server
            .put("/mine/key?tagging", document(&[("b", "2"), ("c d", "")]))
            .await
            .expect_status(200);
        let after = server.head("/mine/key").await;
        assert_eq!(after.header("x-amz-tagging-count"), Some("2"));
        for name in ["etag", "last-modified"] {
            assert_eq!(after.header(name), before.header(name), "{name} stays");
        }
        let copied = server.request("PUT", "/mine/copy").header("x-amz-copy-source", "/mine/key");
        copied.send().await.expect_status(200);
        for key in ["key", "copy"] {
            let tags = tag_set(&server, &format!("/mine/{key}?tagging")).await;
            assert!(tags.contains("<Key>c d</Key>"), "{tags}");
        }
        server.delete("/mine/key?tagging").await.expect_status(204);
        assert_eq!(tag_set(&server, "/mine/key?tagging").await, "");
        assert_eq!(server.get("/mine/key").await.body, b"x");
        assert_ne!(tag_set(&server, "/mine/copy?tagging").await, "");
        server.get("/mine/none?tagging").await.expect_error(404, "NoSuchKey");
    }
}

#[tokio::test]
async fn each_version_has_tags_of_its_own() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/mine?versioning", enabled).await.expect_status(200);
    let mut paths = Vec::new();
    for body in ["1", "2"] {
        let put = server.put("/mine/key", body).await;
        let version = put.header("x-amz-version-id").expect("an id").to_owned();
        paths.push(format!("/mine/key?tagging&versionId={version}"));
    }
    for (path, value) in paths.iter().zip(["first", "second"]) {
        let tagged = server.put(path, document(&[("k", value)])).await;
        let tagged = tagged.expect_status(200);
        let version = path.rsplit_once('=').map(|(_, version)| version);
        assert_eq!(tagged.header("x-amz-version-id"), version);
    }
    for (path, value) in paths.iter().zip(["first", "second"]) {
        assert!(tag_set(&server, path).await.contains(value), "{path}");
    }
    assert!(tag_set(&server, "/mine/key?tagging").await.contains("second"));
}

#[tokio::test]
async fn buckets_have_tags_too() {
    for server in harness::both().await {
        let new = "<CreateBucketConfiguration><Tags><Tag><Key>a</Key><Value>1</Value></Tag></Tags>\
                   </CreateBucketConfiguration>";
        server.put("/tagged", new).await.expect_status(200);
        assert!(tag_set(&server, "/tagged?tagging").await.contains("<Key>a</Key>"));
        server.put("/tagged?tagging", document(&[("Tags", "2")])).await.expect_status(204);
        assert_eq!(
            tag_set(&server, "/tagged?tagging").await,
            "<Tag><Key>Tags</Key><Value>2</Value></Tag>"
        );
        server.delete("/tagged?tagging").await.expect_status(204);
        server.get("/tagged?tagging").await.expect_error(404, "NoSuchTagSet");
    }
}

#[tokio::test]
async fn tags_that_break_a_rule_are_refused_and_change_nothing() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "x").await.expect_status(200);
    server.put("/mine/key?tagging", document(&[("kept", "1")])).await.expect_status(200);
    let many = |count: usize| {
        let names: Vec<String> = (0..count).map(|number| format!("k{number}")).collect();
        document(&names.iter().map(|name| (name.as_str(), "v")).collect::<Vec<_>>())
    };
    let long = "x".repeat(257);
    let rows = [
        (many(11), "BadRequest"),
        (document(&[("a", "1"), ("a", "2")]), "InvalidTag"),
        (document(&[("", "1")]), "InvalidTag"),
        (document(&[(&long[..129], "1")]), "InvalidTag"),
        (document(&[("a", &long)]), "InvalidTag"),
        (document(&[("aws:a", "1")]), "InvalidTag"),
        ("<Tagging><TagSet><Tag><Key>a</Key></Tag></TagSet></Tagging>".to_owned(), "MalformedXML"),
        ("<Tagging><TagSet><Other/></TagSet></Tagging>".to_owned(), "MalformedXML"),
        ("<Tagging><TagSet><Key>a</Key></TagSet></Tagging>".to_owned(), "MalformedXML"),
        ("<Tagging>".to_owned(), "MalformedXML"),
    ];
    for (body, code) in &rows {
        server.put("/mine/key?tagging", body).await.expect_error(400, code);
    }
    for (body, code) in &rows[1..] {
        server.put("/mine?tagging", body).await.expect_error(400, code);
    }
    server.put("/mine?tagging", many(51)).await.expect_error(400, "BadRequest");
    server.put("/mine?tagging", many(50)).await.expect_status(204);
    assert!(tag_set(&server, "/mine/key?tagging").await.contains("kept"));
    let wrong = "<CreateBucketConfiguration><Tags><Tag><Key>aws:a</Key><Value>1</Value></Tag></Tags>\
                 </CreateBucketConfiguration>";
    // Recorded on AWS: without the key that PutBucketTagging names.
    let answer = server.put("/other", wrong).await.expect_error(400, "InvalidTag");
    assert!(answer.element("Message").contains("This prefix is reserved for system tags."));
    assert!(!answer.text().contains("<TagKey>"));
    server.head("/other").await.expect_status(404);
}
