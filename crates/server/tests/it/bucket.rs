//! Buckets: names, owners, regions, listing.

use crate::harness::{self, ALICE, BOB, base64, md5};

#[tokio::test]
async fn a_bucket_lives_from_create_to_delete() {
    for server in harness::both().await {
        server.head("/photos").await.expect_status(404);
        let created = server.put("/photos", "").await.expect_status(200);
        assert_eq!(created.header("location"), Some("/photos"));
        assert_eq!(created.header("x-amz-bucket-arn"), Some("arn:aws:s3:::photos"));
        let head = server.head("/photos").await.expect_status(200);
        assert_eq!(head.header("x-amz-bucket-region"), Some("us-east-1"));
        server.put("/photos/a", "x").await.expect_status(200);
        let refused = server.delete("/photos").await.expect_error(409, "BucketNotEmpty");
        let message = refused.element("Message");
        assert!(message.contains("Delete its objects first"), "{message}");
        server.delete("/photos/a").await.expect_status(204);
        // Uploads that nobody finishes do not keep a bucket, as in S3.
        let upload = server.post("/photos/a?uploads", "").await.expect_status(200);
        let upload = upload.element("UploadId");
        server.delete("/photos").await.expect_status(204);
        server.delete("/photos").await.expect_error(404, "NoSuchBucket");
        server.get("/photos").await.expect_error(404, "NoSuchBucket");
        server.get("/photos/a").await.expect_error(404, "NoSuchBucket");
        server.put("/photos", "").await.expect_status(200);
        let part = server.put(&format!("/photos/a?partNumber=1&uploadId={upload}"), "x").await;
        part.expect_error(404, "NoSuchUpload");
    }
}

#[tokio::test]
async fn creating_again_depends_on_owner_and_region() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine", "").await.expect_status(200);
    let other = server.request("PUT", "/mine").by(BOB).send().await;
    other.expect_error(409, "BucketAlreadyExists");

    let server = harness::in_region("eu-west-1").await;
    let constraint = |region: &str| {
        format!(
            "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
             <LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
        )
    };
    let refused = server.put("/mine", "").await;
    let refused = refused.expect_error(400, "IllegalLocationConstraintException");
    let message = "The unspecified location constraint is incompatible for the region specific endpoint \
                   this request was sent to.";
    assert_eq!(refused.element("Message"), message);
    let detail = refused.element("Detail");
    assert!(detail.contains("the region eu-west-1 alone, by --region"), "{detail}");
    let wrong = server.put("/mine", constraint("us-west-2")).await;
    wrong.expect_error(400, "IllegalLocationConstraintException");
    // Only us-east-1 says that a text is no region.
    let nonsense = server.put("/mine", constraint("nowhere")).await;
    nonsense.expect_error(400, "IllegalLocationConstraintException");
    server.put("/mine", constraint("eu-west-1")).await.expect_status(200);
    let again = server.put("/mine", constraint("eu-west-1")).await;
    again.expect_error(409, "BucketAlreadyOwnedByYou");
    let location = server.get("/mine?location").await.expect_status(200);
    assert!(location.text().ends_with(">eu-west-1</LocationConstraint>"), "{}", location.text());
}

#[tokio::test]
async fn us_east_1_has_no_location() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let location = server.get("/mine?location").await.expect_status(200);
    assert!(
        location.text().ends_with(
            "<LocationConstraint xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"></LocationConstraint>"
        ),
        "{}",
        location.text()
    );
}

#[tokio::test]
async fn names_follow_the_rules() {
    let server = harness::memory().await;
    let longest = "a".repeat(63);
    for name in ["abc", "a.b.c", "my-bucket.with.dots", "0ab", &longest] {
        server.put(&format!("/{name}"), "").await.expect_status(200);
        server.delete(&format!("/{name}")).await.expect_status(204);
    }
    let too_long = "a".repeat(64);
    for name in [
        "ab",
        "Abc",
        "a_b",
        "-abc",
        "abc-",
        "a..b",
        "192.168.5.4",
        "xn--abc",
        "a%20b",
        "a%0ab",
        &too_long,
    ] {
        let refused = server.put(&format!("/{name}"), "").await;
        let refused = refused.expect_error(400, "InvalidBucketName");
        assert!(refused.element("Message").contains("3 to 63"), "{}", refused.element("Message"));
    }
}

#[tokio::test]
async fn headers_that_change_nothing_are_accepted() {
    let server = harness::memory().await;
    let private = server
        .request("PUT", "/mine")
        .headers(&[
            ("x-amz-acl", "private"),
            ("x-amz-object-ownership", "BucketOwnerEnforced"),
            ("x-amz-bucket-object-lock-enabled", "false"),
        ])
        .send()
        .await;
    private.expect_status(200);
}

#[tokio::test]
async fn users_see_their_own_buckets() {
    for server in harness::both().await {
        for name in ["alice-1", "alice-2", "alice-3", "other"] {
            server.bucket(name).await;
        }
        server.request("PUT", "/bob-1").by(BOB).send().await.expect_status(200);
        let listed = server.get("/").await.expect_status(200);
        assert_eq!(listed.elements("Name"), ["alice-1", "alice-2", "alice-3", "other"]);
        assert_eq!(
            (listed.element("ID"), listed.element("DisplayName")),
            (ALICE.id.into(), "Alice".into())
        );
        assert!(listed.element("CreationDate").ends_with(".000Z"));
        assert!(!listed.has_element("ContinuationToken"));
        let listed = server.request("GET", "/").by(BOB).send().await;
        assert_eq!(listed.elements("Name"), ["bob-1"]);
        let listed = server.get("/?prefix=alice-").await;
        assert_eq!((listed.elements("Name").len(), listed.element("Prefix")), (3, "alice-".into()));
    }
}

#[tokio::test]
async fn buckets_are_listed_in_pages() {
    let server = harness::memory().await;
    for number in 0..5 {
        server.bucket(&format!("bucket-{number}")).await;
    }
    let mut names = Vec::new();
    let mut query = "/?max-buckets=2".to_owned();
    loop {
        let page = server.get(&query).await.expect_status(200);
        assert!(page.elements("Name").len() <= 2);
        names.extend(page.elements("Name"));
        match page.element("ContinuationToken").as_str() {
            "" => break,
            token => query = format!("/?continuation-token={token}&max-buckets=2"),
        }
    }
    assert_eq!(names, ["bucket-0", "bucket-1", "bucket-2", "bucket-3", "bucket-4"]);
    server.get("/?max-buckets=0").await.expect_error(400, "InvalidArgument");
    server.get("/?continuation-token=%2A").await.expect_error(400, "InvalidArgument");
}

#[tokio::test]
async fn a_bucket_belongs_to_its_owner_alone() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "secret").await.expect_status(200);
    let rows = [
        ("GET", "/mine"),
        ("GET", "/mine?location"),
        ("GET", "/mine?versions"),
        ("GET", "/mine?uploads"),
        ("DELETE", "/mine"),
        ("GET", "/mine/key"),
        ("GET", "/mine/key?attributes"),
        ("PUT", "/mine/key"),
        ("DELETE", "/mine/key"),
        ("POST", "/mine/key?uploads"),
    ];
    for (method, path) in rows {
        let refused = server.request(method, path).by(BOB).send().await;
        refused.expect_error(403, "AccessDenied");
        let refused = server.request(method, path).anonymous().send().await;
        refused.expect_error(403, "AccessDenied");
    }
    for path in ["/mine", "/mine/key"] {
        let refused = server.request("HEAD", path).by(BOB).send().await.expect_status(403);
        assert_eq!(refused.body, b"");
    }
    for (method, path) in [("GET", "/"), ("PUT", "/new-bucket")] {
        let refused = server.request(method, path).anonymous().send().await;
        refused.expect_error(403, "AccessDenied");
    }
    let copy = server.request("PUT", "/bobs").by(BOB).send().await;
    copy.expect_status(200);
    let stolen =
        server.request("PUT", "/bobs/key").by(BOB).header("x-amz-copy-source", "/mine/key");
    stolen.send().await.expect_error(403, "AccessDenied");
    let overridden = server.request("GET", "/mine/key?response-content-type=text%2Fhtml");
    overridden.anonymous().send().await.expect_error(400, "InvalidRequest");
    assert_eq!(server.get("/mine/key").await.body, b"secret");
}

#[tokio::test]
async fn the_expected_owner_is_checked() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let name = "x-amz-expected-bucket-owner";
    server.request("GET", "/mine").header(name, ALICE.id).send().await.expect_status(200);
    let refused = server.request("GET", "/mine").header(name, BOB.id).send().await;
    refused.expect_error(403, "AccessDenied");
    server.put("/mine/a", "a").await.expect_status(200);
    for (owner, status) in [(ALICE.id, 200), (BOB.id, 403)] {
        let copy = server.request("PUT", "/mine/b").headers(&[
            ("x-amz-copy-source", "mine/a"),
            ("x-amz-source-expected-bucket-owner", owner),
        ]);
        copy.send().await.expect_status(status);
    }
}

#[tokio::test]
async fn who_may_not_use_a_bucket_learns_its_region_and_no_more() {
    let server = harness::in_region("eu-west-1").await;
    let region = "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint>\
                  </CreateBucketConfiguration>";
    server.put("/mine", region).await.expect_status(200);
    server.put("/mine/key", "x").await.expect_status(200);
    for (method, target) in [("HEAD", "/mine"), ("GET", "/mine"), ("GET", "/mine/key")] {
        for stranger in
            [server.request(method, target).by(BOB), server.request(method, target).anonymous()]
        {
            let refused = stranger.send().await.expect_status(403);
            assert_eq!(refused.header("x-amz-bucket-region"), Some("eu-west-1"), "{target}");
        }
    }
    let missing = server.head("/missing").await.expect_status(404);
    assert_eq!(missing.header("x-amz-bucket-region"), None);
}

#[tokio::test]
async fn nothing_in_a_document_is_passed_over() {
    let server = harness::memory().await;
    let with =
        |inside: &str| format!("<CreateBucketConfiguration>{inside}</CreateBucketConfiguration>");
    let tags = with("<Tags><Key>a</Key><Value>b</Value></Tags>");
    server.put("/mine", tags).await.expect_error(400, "MalformedXML");
    server.put("/mine", with("<Colour>red</Colour>")).await.expect_error(400, "MalformedXML");
    server.head("/mine").await.expect_status(404);
    server.bucket("mine").await;
    server.put("/mine/key", "x").await.expect_status(200);
    let delete = "<Delete><Object><Key>key</Key><IfUnchanged/></Object></Delete>";
    let delete = server
        .request("POST", "/mine?delete")
        .header("content-md5", base64(&md5(delete.as_bytes())))
        .body(delete);
    delete.send().await.expect_error(400, "MalformedXML");
    server.get("/mine/key").await.expect_status(200);
}

#[tokio::test]
async fn pages_of_buckets_have_a_bound() {
    let server = harness::memory().await;
    for (max, status) in [("0", 400), ("1", 200), ("10000", 200), ("10001", 400), ("-1", 400)] {
        let listed = server.get(&format!("/?max-buckets={max}")).await;
        assert_eq!(listed.status, status, "{max}: {}", listed.text());
    }
}
