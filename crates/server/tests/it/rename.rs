//! RenameObject.

use crate::harness::{self, BOB, Headers, etag};

const SOURCE: &str = "x-amz-rename-source";

#[tokio::test]
async fn an_object_gets_another_key_and_keeps_the_rest() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let body = vec![b'x'; 300_000];
        let put = server.request("PUT", "/mine/a%20b").body(&body).headers(&[
            ("x-amz-meta-color", "blue"),
            ("x-amz-tagging", "k=v"),
            ("content-type", "text/plain"),
        ]);
        put.send().await.expect_status(200);
        let before = server.head("/mine/a%20b").await;
        let rename = server.request("PUT", "/mine/c/d?renameObject").header(SOURCE, "a%20b");
        let renamed = rename.send().await.expect_status(200);
        assert_eq!(renamed.body, b"");
        let after = server.get("/mine/c/d").await;
        assert!(after.body == body, "{}", server.backend);
        for name in
            ["etag", "last-modified", "x-amz-meta-color", "x-amz-tagging-count", "content-type"]
        {
            assert!(after.header(name).is_some(), "{name}");
            assert_eq!(after.header(name), before.header(name), "{name}");
        }
        server.get("/mine/a%20b").await.expect_error(404, "NoSuchKey");
        assert_eq!(server.get("/mine?list-type=2").await.elements("Key"), ["c/d"]);
    }
}

#[tokio::test]
async fn what_cannot_be_renamed_is_refused_and_stays() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/old", "old").await.expect_status(200);
    server.put("/mine/new", "new").await.expect_status(200);
    let (old, new) = (etag(b"old"), etag(b"new"));
    let rows: Vec<(Headers<'_>, u16, &str)> = vec![
        (vec![], 400, "InvalidArgument"),
        (vec![(SOURCE, "none")], 404, "NoSuchKey"),
        (vec![(SOURCE, "%ff")], 400, "InvalidArgument"),
        (vec![(SOURCE, "")], 400, "InvalidArgument"),
        (vec![(SOURCE, "old"), ("x-amz-client-token", "a b")], 400, "InvalidArgument"),
        (vec![(SOURCE, "old"), ("if-none-match", "*")], 412, "PreconditionFailed"),
        (vec![(SOURCE, "old"), ("if-match", &old)], 412, "PreconditionFailed"),
        (vec![(SOURCE, "old"), ("if-match", "")], 400, "InvalidArgument"),
        (vec![(SOURCE, "old"), ("if-unmodified-since", "yesterday")], 400, "InvalidArgument"),
        (
            vec![(SOURCE, "old"), ("if-unmodified-since", "Thu, 01 Jan 1970 00:00:00 GMT")],
            412,
            "PreconditionFailed",
        ),
        (vec![(SOURCE, "old"), ("x-amz-rename-source-if-match", &new)], 412, "PreconditionFailed"),
        (
            vec![(SOURCE, "old"), ("x-amz-rename-source-if-modified-since", "tomorrow")],
            400,
            "InvalidArgument",
        ),
    ];
    for (headers, status, code) in rows {
        let rename = server.request("PUT", "/mine/new?renameObject").headers(&headers);
        rename.send().await.expect_error(status, code);
    }
    let foreign = server.request("PUT", "/mine/new?renameObject").header(SOURCE, "old");
    foreign.by(BOB).send().await.expect_error(403, "AccessDenied");
    let enable = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.bucket("versioned").await;
    server.put("/versioned?versioning", enable).await.expect_status(200);
    server.put("/versioned/old", "old").await.expect_status(200);
    let versioned = server.request("PUT", "/versioned/new?renameObject").header(SOURCE, "old");
    versioned.send().await.expect_error(409, "InvalidBucketState");
    for (path, body) in [("/mine/old", "old"), ("/mine/new", "new"), ("/versioned/old", "old")] {
        assert_eq!(server.get(path).await.body, body.as_bytes(), "{path}");
    }
    let held = server.request("PUT", "/mine/new?renameObject").headers(&[
        (SOURCE, "old"),
        ("if-match", &new),
        ("x-amz-rename-source-if-match", &old),
        ("x-amz-rename-source-if-unmodified-since", "Fri, 01 Jan 2100 00:00:00 GMT"),
    ]);
    held.send().await.expect_status(200);
    assert_eq!(server.get("/mine/new").await.body, b"old");
}

#[tokio::test]
async fn a_repeated_request_with_its_token_succeeds() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/old", "old").await.expect_status(200);
    let rename = |source: &str| {
        let rename = server.request("PUT", "/mine/new?renameObject");
        rename.headers(&[(SOURCE, source), ("x-amz-client-token", "5f1c-token")]).send()
    };
    rename("old").await.expect_status(200);
    rename("old").await.expect_status(200);
    rename("other").await.expect_error(400, "IdempotencyParameterMismatch");
    assert_eq!(server.get("/mine/new").await.body, b"old");
}

#[tokio::test]
async fn one_of_two_renames_wins() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.put("/mine/old", "old").await.expect_status(200);
        let rename = |target: usize| {
            let path = format!("/mine/new-{target}?renameObject");
            server.request("PUT", &path).header(SOURCE, "old").send()
        };
        let answers = futures_util::future::join_all((0..8).map(rename)).await;
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 404).count(), 7, "{statuses:?}");
        assert_eq!(server.get("/mine?list-type=2").await.element("KeyCount"), "1");
    }
}
