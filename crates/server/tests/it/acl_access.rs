//! What ACLs let others do, and whose the objects are that others write.

use liteio::ObjectOwnership::ObjectWriter;

use crate::harness::{self, BOB, RawRequest, TestServer};

const ALL_USERS: &str = "uri=http://acs.amazonaws.com/groups/global/AllUsers";
const AUTHENTICATED: &str = "uri=http://acs.amazonaws.com/groups/global/AuthenticatedUsers";

/// The permissions that a header grants: list or read, write, read the ACL, write the ACL.
const HEADERS: [(&str, [bool; 4]); 5] = [
    ("x-amz-grant-read", [true, false, false, false]),
    ("x-amz-grant-write", [false, true, false, false]),
    ("x-amz-grant-read-acp", [false, false, true, false]),
    ("x-amz-grant-write-acp", [false, false, false, true]),
    ("x-amz-grant-full-control", [true, true, true, true]),
];

/// A server with Alice's bucket `mine` and her object `key`.
async fn server() -> TestServer {
    let server = harness::with_ownership(ObjectWriter).await;
    server.bucket("mine").await;
    server.put("/mine/key", "alice's").await.expect_status(200);
    server
}

async fn put_acl(server: &TestServer, path: &str, header: (&str, &str)) {
    server.request("PUT", path).headers(&[header]).send().await.expect_status(200);
}

async fn status(request: RawRequest<'_>) -> u16 {
    let answer = request.send().await;
    if answer.status == 403 && !answer.body.is_empty() {
        assert_eq!(answer.code(), "AccessDenied");
    }
    answer.status
}

/// `true` if it was done, `false` if access was denied.
async fn may(request: RawRequest<'_>) -> bool {
    match status(request).await {
        200 | 204 => true,
        403 => false,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn grants_on_a_bucket_are_for_their_grantees() {
    let server = server().await;
    for (grantee, bobs, anonymous) in
        [("id=bob-id", true, false), (AUTHENTICATED, true, false), (ALL_USERS, true, true)]
    {
        for (header, rights) in HEADERS {
            for is_bob in [true, false] {
                put_acl(&server, "/mine?acl", (header, grantee)).await;
                let request = |method, path: &str| match is_bob {
                    true => server.request(method, path).by(BOB),
                    false => server.request(method, path).anonymous(),
                };
                let is_granted = if is_bob { bobs } else { anonymous };
                let of = |right: usize| is_granted && rights[right];
                let row = format!("{header}: {grantee}, Bob: {is_bob}");
                for path in ["/mine", "/mine?list-type=2", "/mine?versions", "/mine?uploads"] {
                    assert_eq!(may(request("GET", path)).await, of(0), "{row} {path}");
                }
                assert_eq!(may(request("HEAD", "/mine")).await, of(0), "{row}");
                assert_eq!(may(request("PUT", "/mine/new").body("x")).await, of(1), "{row}");
                assert_eq!(may(request("DELETE", "/mine/new")).await, of(1), "{row}");
                assert_eq!(may(request("GET", "/mine?acl")).await, of(2), "{row}");
                // Nothing on the bucket is a right to its objects or its settings.
                assert!(!may(request("GET", "/mine/key")).await, "{row}");
                assert!(!may(request("GET", "/mine/key?acl")).await, "{row}");
                assert!(!may(request("GET", "/mine?versioning")).await, "{row}");
                assert!(!may(request("DELETE", "/mine")).await, "{row}");
                let private = request("PUT", "/mine?acl").header("x-amz-acl", "private");
                assert_eq!(may(private).await, of(3), "{row}");
            }
        }
    }
    assert_eq!(server.get("/mine/key").await.body, b"alice's");
}

#[tokio::test]
async fn grants_on_an_object_are_for_their_grantees() {
    let server = server().await;
    server.put("/mine/other", "alice's").await.expect_status(200);
    for (grantee, bobs, anonymous) in
        [("id=bob-id", true, false), (AUTHENTICATED, true, false), (ALL_USERS, true, true)]
    {
        for (header, rights) in HEADERS {
            for is_bob in [true, false] {
                put_acl(&server, "/mine/key?acl", (header, grantee)).await;
                let request = |method, path: &str| match is_bob {
                    true => server.request(method, path).by(BOB),
                    false => server.request(method, path).anonymous(),
                };
                let is_granted = if is_bob { bobs } else { anonymous };
                let of = |right: usize| is_granted && rights[right];
                let row = format!("{header}: {grantee}, Bob: {is_bob}");
                assert_eq!(may(request("GET", "/mine/key")).await, of(0), "{row}");
                assert_eq!(may(request("HEAD", "/mine/key")).await, of(0), "{row}");
                assert_eq!(may(request("GET", "/mine/key?acl")).await, of(2), "{row}");
                // An object is written in its bucket, and tags are for policies.
                assert!(!may(request("PUT", "/mine/key").body("x")).await, "{row}");
                assert!(!may(request("DELETE", "/mine/key")).await, "{row}");
                assert!(!may(request("GET", "/mine/key?tagging")).await, "{row}");
                assert!(!may(request("GET", "/mine/other")).await, "{row}");
                assert!(!may(request("GET", "/mine")).await, "{row}");
                let private = request("PUT", "/mine/key?acl").header("x-amz-acl", "private");
                assert_eq!(may(private).await, of(3), "{row}");
            }
        }
    }
    assert_eq!(server.get("/mine/key").await.body, b"alice's");
}

#[tokio::test]
async fn a_version_is_read_by_its_own_acl() {
    let server = server().await;
    let enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/mine?versioning", enabled).await.expect_status(200);
    let put = |acl: &'static str, body: &'static str| {
        server.request("PUT", "/mine/key").header("x-amz-acl", acl).body(body).send()
    };
    let version =
        |put: crate::reply::Reply| put.header("x-amz-version-id").expect("a version").to_owned();
    let old = version(put("public-read", "old").await);
    let new = version(put("private", "new").await);
    let of = |version: &str| format!("/mine/key?versionId={version}");
    assert!(may(server.request("GET", &of(&old)).anonymous()).await);
    assert!(!may(server.request("GET", &of(&new)).anonymous()).await);
    assert!(!may(server.request("GET", "/mine/key").anonymous()).await);
    // A copy reads its source by the ACL of the source, and has one of its own.
    server.request("PUT", "/bobs").by(BOB).send().await.expect_status(200);
    let copy = |source: String| {
        server.request("PUT", "/bobs/copy").by(BOB).header("x-amz-copy-source", source)
    };
    assert!(may(copy(of(&old))).await);
    assert!(!may(copy(of(&new))).await);
    assert!(!may(server.request("GET", "/bobs/copy").anonymous()).await);
}

#[tokio::test]
async fn public_grants_can_be_ignored() {
    const BLOCK: &str = "/mine?publicAccessBlock";
    let server = server().await;
    for acl in ["public-read", "authenticated-read"] {
        let may_all = async |path: &str| {
            let bob = may(server.request("GET", path).by(BOB)).await;
            (bob, may(server.request("GET", path).anonymous()).await)
        };
        for path in ["/mine", "/mine/key"] {
            put_acl(&server, &format!("{path}?acl"), ("x-amz-acl", acl)).await;
            assert_eq!(may_all(path).await, (true, acl == "public-read"), "{path}");
        }
        let ignored = "<PublicAccessBlockConfiguration><IgnorePublicAcls>true</IgnorePublicAcls>\
                       </PublicAccessBlockConfiguration>";
        server.put(BLOCK, ignored).await.expect_status(200);
        for path in ["/mine", "/mine/key"] {
            assert_eq!(may_all(path).await, (false, false), "{path}");
        }
        put_acl(&server, "/mine/key?acl", ("x-amz-grant-read", "id=bob-id")).await;
        assert_eq!(may_all("/mine/key").await, (true, false), "Bob is not the public");
        server.delete(BLOCK).await.expect_status(204);
        assert_eq!(may_all("/mine").await, (true, acl == "public-read"));
    }
}

#[tokio::test]
async fn an_object_belongs_to_who_wrote_it() {
    let server = server().await;
    put_acl(&server, "/mine?acl", ("x-amz-acl", "public-read-write")).await;
    let put = |acl: Option<&'static str>| {
        let request = server.request("PUT", "/mine/bobs").by(BOB).body("bob's");
        match acl {
            Some(acl) => request.header("x-amz-acl", acl),
            None => request,
        }
    };
    assert!(may(put(None)).await);
    let acl = server.request("GET", "/mine/bobs?acl").by(BOB).send().await.expect_status(200);
    assert_eq!(acl.elements("ID"), ["bob-id", "bob-id"]);
    let listed = server.get("/mine?list-type=2&fetch-owner=true").await;
    assert_eq!(listed.elements("ID"), ["bob-id", "alice-id"]);

    // The owner of the bucket may delete it, and nothing else.
    assert!(!may(server.request("GET", "/mine/bobs")).await);
    assert!(!may(server.request("GET", "/mine/bobs?acl")).await);
    assert!(!may(server.request("PUT", "/mine/bobs?acl").header("x-amz-acl", "private")).await);
    assert!(may(server.request("DELETE", "/mine/bobs")).await);

    for (acl, reads, writes_acl) in [
        ("private", false, false),
        ("bucket-owner-read", true, false),
        ("bucket-owner-full-control", true, true),
    ] {
        assert!(may(put(Some(acl))).await);
        assert_eq!(may(server.request("GET", "/mine/bobs")).await, reads, "{acl}");
        let change = server.request("PUT", "/mine/bobs?acl").header("x-amz-acl", "private");
        assert_eq!(may(change).await, writes_acl, "{acl}");
    }
    // What is written over belongs to who wrote over it.
    assert!(may(server.request("PUT", "/mine/key").by(BOB).body("bob's")).await);
    assert!(!may(server.request("GET", "/mine/key")).await);
    assert!(may(server.request("PUT", "/mine/key").body("alice's")).await);
    assert!(may(server.request("GET", "/mine/key")).await);

    // The upload of an anonymous sender belongs to the owner of the bucket.
    assert!(may(server.request("PUT", "/mine/nobodys").anonymous().body("x")).await);
    assert!(!may(server.request("GET", "/mine/nobodys").anonymous()).await);
    assert!(may(server.request("GET", "/mine/nobodys")).await);
}

fn controls(ownership: &str) -> String {
    let rule = format!("<Rule><ObjectOwnership>{ownership}</ObjectOwnership></Rule>");
    format!("<OwnershipControls>{rule}</OwnershipControls>")
}

#[tokio::test]
async fn who_writes_an_object_gives_it_its_acl_unless_a_policy_denies_it() {
    let server = server().await;
    put_acl(&server, "/mine?acl", ("x-amz-acl", "public-read-write")).await;
    let put = |is_bob: bool, acl: Option<&'static str>| {
        let request = server.request("PUT", "/mine/new").body("x");
        let request = if is_bob { request.by(BOB) } else { request.anonymous() };
        match acl {
            Some(acl) => request.header("x-amz-acl", acl),
            None => request,
        }
    };
    for is_bob in [true, false] {
        assert!(may(put(is_bob, Some("public-read"))).await, "Bob: {is_bob}");
        assert!(may(server.request("GET", "/mine/new").anonymous()).await);
    }
    let denied = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Principal": "*",
        "Action": "s3:PutObjectAcl", "Resource": "arn:aws:s3:::mine/*"}}"#;
    server.put("/mine?policy", denied).await.expect_status(204);
    for is_bob in [true, false] {
        assert!(!may(put(is_bob, Some("public-read"))).await, "Bob: {is_bob}");
        assert!(may(put(is_bob, None)).await, "Bob: {is_bob}");
        assert!(!may(server.request("GET", "/mine/new").anonymous()).await);
    }
}

#[tokio::test]
async fn the_ownership_of_the_bucket_decides_who_owns_its_objects() {
    const CONTROLS: &str = "/mine?ownershipControls";
    let server = server().await;
    put_acl(&server, "/mine?acl", ("x-amz-grant-write", "id=bob-id")).await;
    for (ownership, acl, owner) in [
        ("ObjectWriter", "private", "bob-id"),
        ("ObjectWriter", "bucket-owner-full-control", "bob-id"),
        ("BucketOwnerPreferred", "private", "bob-id"),
        ("BucketOwnerPreferred", "bucket-owner-full-control", "alice-id"),
    ] {
        server.put(CONTROLS, controls(ownership)).await.expect_status(200);
        let put = server.request("PUT", "/mine/bobs").by(BOB).header("x-amz-acl", acl);
        assert!(may(put.body("bob's")).await);
        let listed = server.get("/mine?prefix=bobs&versions").await;
        assert_eq!(listed.element("ID"), owner, "{ownership} {acl}");

        // So do parts, of the account that began the upload.
        let begin = server.request("POST", "/mine/parts?uploads").by(BOB);
        let upload = begin.header("x-amz-acl", acl).send().await.expect_status(200);
        let upload = upload.element("UploadId");
        let part = format!("/mine/parts?partNumber=1&uploadId={upload}");
        let part = server.request("PUT", &part).by(BOB).body("bob's").send().await;
        let etag = part.expect_status(200).header("etag").expect("an entity tag").to_owned();
        let parts = format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
             </CompleteMultipartUpload>"
        );
        let complete = format!("/mine/parts?uploadId={upload}");
        assert!(may(server.request("POST", &complete).by(BOB).body(parts)).await);
        let listed = server.get("/mine?prefix=parts&versions").await;
        assert_eq!(listed.element("ID"), owner, "{ownership} {acl}");
    }

    // Enforced, everything is of the owner of the bucket, and no ACL counts.
    let public = server.request("PUT", "/mine/bobs").by(BOB).header("x-amz-acl", "public-read");
    assert!(may(public.body("bob's")).await);
    assert!(!may(server.request("GET", "/mine/bobs?acl")).await);
    put_acl(&server, "/mine?acl", ("x-amz-acl", "private")).await;
    server.put(CONTROLS, controls("BucketOwnerEnforced")).await.expect_status(200);
    assert!(!may(server.request("GET", "/mine/bobs").anonymous()).await);
    assert!(!may(server.request("GET", "/mine/bobs").by(BOB)).await);
    assert!(may(server.request("GET", "/mine/bobs")).await);
    for path in ["/mine?versions", "/mine", "/mine?list-type=2&fetch-owner=true"] {
        let owners = server.get(path).await.elements("ID");
        assert!(!owners.is_empty() && owners.iter().all(|owner| owner == "alice-id"), "{path}");
    }
    assert_eq!(server.get("/mine/bobs?acl").await.elements("ID"), ["alice-id", "alice-id"]);
    server.put(CONTROLS, controls("ObjectWriter")).await.expect_status(200);
    assert!(may(server.request("GET", "/mine/bobs").anonymous()).await);
}

/// An ACL is for the owner and in place of the ACL that its sender was allowed to change, whatever happens at the same
/// time.
#[tokio::test]
async fn an_acl_is_never_put_on_the_object_of_another() {
    let server = server().await;
    put_acl(&server, "/mine?acl", ("x-amz-acl", "public-read-write")).await;
    for _ in 0..20 {
        server.put("/mine/key", "alice's").await.expect_status(200);
        let acl = |header: (&'static str, &'static str)| {
            server.request("PUT", "/mine/key?acl").headers(&[header]).send()
        };
        let bobs = server.request("PUT", "/mine/key").by(BOB).body("bob's").send();
        let (one, other, third, bobs) = tokio::join!(
            acl(("x-amz-acl", "authenticated-read")),
            acl(("x-amz-acl", "bucket-owner-full-control")),
            acl(("x-amz-grant-full-control", "id=alice-id")),
            bobs,
        );
        for changed in [one, other, third] {
            assert!([200, 403].contains(&changed.status), "{}", changed.everything());
        }
        bobs.expect_status(200);
        let acl = server.request("GET", "/mine/key?acl").by(BOB).send().await.expect_status(200);
        assert_eq!(acl.elements("ID"), ["bob-id", "bob-id"]);
    }
    // Those who do not take the object from each other all succeed.
    server.put("/mine/key", "alice's").await.expect_status(200);
    let acl =
        |acl: &'static str| server.request("PUT", "/mine/key?acl").header("x-amz-acl", acl).send();
    let (one, other, third, fourth) = tokio::join!(
        acl("public-read"),
        acl("private"),
        acl("authenticated-read"),
        acl("aws-exec-read")
    );
    for changed in [one, other, third, fourth] {
        changed.expect_status(200);
    }
}

#[tokio::test]
async fn an_owner_without_a_grant_can_still_change_the_acl() {
    let server = server().await;
    put_acl(&server, "/mine?acl", ("x-amz-grant-full-control", "id=bob-id")).await;
    put_acl(&server, "/mine/key?acl", ("x-amz-grant-full-control", "id=bob-id")).await;
    for path in ["/mine?acl", "/mine/key?acl"] {
        server.get(path).await.expect_status(200);
        put_acl(&server, path, ("x-amz-acl", "private")).await;
    }
    // An object of Bob's, in Alice's bucket.
    put_acl(&server, "/mine?acl", ("x-amz-grant-write", "id=bob-id")).await;
    let put = server.request("PUT", "/mine/bobs").by(BOB);
    assert!(may(put.header("x-amz-grant-read", "id=alice-id").body("x")).await);
    assert!(may(server.request("GET", "/mine/bobs?acl").by(BOB)).await);
    let change = server.request("PUT", "/mine/bobs?acl").by(BOB);
    assert!(may(change.header("x-amz-acl", "private")).await);
    assert!(!may(server.request("GET", "/mine/bobs")).await);
}
