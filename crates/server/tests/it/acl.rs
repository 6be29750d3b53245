//! ACLs of buckets and objects, object ownership and the public access block, as clients set and read them.

use liteio::EventSettings;
use liteio::ObjectOwnership::ObjectWriter;
use liteio::Webhook;

use crate::form::upload;
use crate::harness::{self, TestServer};
use crate::receiver::Receiver;
use crate::reply::Reply;

const ALL_USERS: &str = "http://acs.amazonaws.com/groups/global/AllUsers";
const NOTHING: &str = "alice-id FULL_CONTROL";

/// The grants of an ACL: `GRANTEE PERMISSION`, by comma.
fn grants(acl: &Reply) -> String {
    let text = acl.text();
    let element = |text: &str, name: &str| {
        let (_, behind) = text.split_once(&format!("<{name}>"))?;
        behind.split_once(&format!("</{name}>")).map(|(value, _)| value.to_owned())
    };
    let grants = text.split("<Grant>").skip(1).map(|grant| {
        let grantee = element(grant, "ID").or(element(grant, "URI")).expect("a grantee");
        let grantee = grantee.rsplit('/').next().expect("a name").to_owned();
        format!("{grantee} {}", element(grant, "Permission").expect("a permission"))
    });
    grants.collect::<Vec<_>>().join(", ")
}

async fn grants_of(server: &TestServer, path: &str) -> String {
    let acl = server.get(path).await.expect_status(200);
    assert_eq!(
        (acl.element("ID"), acl.element("DisplayName")),
        ("alice-id".into(), "Alice".into())
    );
    grants(&acl)
}

fn document(grants: &[(&str, &str, &str)]) -> String {
    let grants = grants.iter().map(|(kind, grantee, permission)| {
        format!(
            "<Grant><Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
             xsi:type=\"{kind}\">{grantee}</Grantee><Permission>{permission}</Permission></Grant>"
        )
    });
    let grants: String = grants.collect();
    format!(
        "<AccessControlPolicy xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Owner>\
         <ID>alice-id</ID></Owner><AccessControlList>{grants}</AccessControlList>\
         </AccessControlPolicy>"
    )
}

/// Alice's bucket whose ACLs count.
async fn bucket_with_acls(server: &TestServer) {
    let create = server.request("PUT", "/mine").header("x-amz-object-ownership", "ObjectWriter");
    create.send().await.expect_status(200);
}

async fn put_acl(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Reply {
    server.request("PUT", path).headers(headers).send().await
}

#[tokio::test]
async fn acls_do_not_count_unless_the_ownership_says_so() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "x").await.expect_status(200);
    assert_eq!(grants_of(&server, "/mine?acl").await, NOTHING);
    assert_eq!(grants_of(&server, "/mine/key?acl").await, NOTHING);
    for path in ["/mine?acl", "/mine/key?acl"] {
        for acl in ["private", "public-read", "bucket-owner-full-control"] {
            let refused = put_acl(&server, path, &[("x-amz-acl", acl)]).await;
            refused.expect_error(400, "AccessControlListNotSupported");
        }
        let refused = server.put(path, document(&[])).await;
        refused.expect_error(400, "AccessControlListNotSupported");
    }
    for (name, value, status) in [
        ("x-amz-acl", "bucket-owner-full-control", 200),
        // As none, on AWS, too: https://github.com/open-io/swift3/pull/90 shows it.
        ("x-amz-acl", "", 200),
        ("x-amz-grant-full-control", "id=alice-id", 200),
        ("x-amz-acl", "private", 400),
        ("x-amz-acl", "public-read", 400),
        ("x-amz-grant-read", "id=\"bob-id\"", 400),
        ("x-amz-grant-read", &format!("uri=\"{ALL_USERS}\""), 400),
    ] {
        for path in ["/mine/new", "/mine/new?uploads"] {
            let method = if path.ends_with("uploads") { "POST" } else { "PUT" };
            let put = server.request(method, path).header(name, value).send().await;
            match status {
                200 => drop(put.expect_status(200)),
                _ => drop(put.expect_error(400, "AccessControlListNotSupported")),
            }
        }
        let copy = [("x-amz-copy-source", "/mine/key"), (name, value)];
        assert_eq!(put_acl(&server, "/mine/copy", &copy).await.status, status, "{name}: {value}");
    }
}

#[tokio::test]
async fn canned_acls_and_grants_are_kept_and_answered() {
    for server in harness::both().await {
        bucket_with_acls(&server).await;
        server.put("/mine/key", "x").await.expect_status(200);
        for path in ["/mine?acl", "/mine/key?acl"] {
            for (name, value, expected) in [
                ("x-amz-acl", "public-read", "alice-id FULL_CONTROL, AllUsers READ"),
                (
                    "x-amz-acl",
                    "public-read-write",
                    "alice-id FULL_CONTROL, AllUsers READ, AllUsers WRITE",
                ),
                (
                    "x-amz-acl",
                    "authenticated-read",
                    "alice-id FULL_CONTROL, AuthenticatedUsers READ",
                ),
                ("x-amz-acl", "private", NOTHING),
                ("x-amz-acl", "bucket-owner-read", NOTHING),
                ("x-amz-grant-read", "id=\"bob-id\", id=alice-id", "alice-id READ, bob-id READ"),
                (
                    "x-amz-grant-write-acp",
                    "uri=\"http://acs.amazonaws.com/groups/s3/LogDelivery\"",
                    "LogDelivery WRITE_ACP",
                ),
            ] {
                put_acl(&server, path, &[(name, value)]).await.expect_status(200);
                assert_eq!(grants_of(&server, path).await, expected, "{path} {value}");
            }
            let headers = [
                ("x-amz-grant-full-control", "id=alice-id"),
                ("x-amz-grant-read", "id=bob-id"),
                ("x-amz-grant-read-acp", "id=bob-id"),
                ("x-amz-grant-write", "id=bob-id"),
                ("x-amz-grant-write-acp", "id=bob-id"),
            ];
            put_acl(&server, path, &headers).await.expect_status(200);
            let all = "alice-id FULL_CONTROL, bob-id READ, bob-id WRITE, bob-id READ_ACP, \
                       bob-id WRITE_ACP";
            assert_eq!(grants_of(&server, path).await, all);

            // What was answered can be put.
            let sent = document(&[
                ("CanonicalUser", "<ID>alice-id</ID><DisplayName>any</DisplayName>", "READ_ACP"),
                ("Group", &format!("<URI>{ALL_USERS}</URI>"), "READ"),
            ]);
            server.put(path, sent).await.expect_status(200);
            let answered = server.get(path).await;
            assert_eq!(grants(&answered), "alice-id READ_ACP, AllUsers READ");
            assert!(answered.text().contains("<DisplayName>Alice</DisplayName>"));
            server.put(path, answered.text()).await.expect_status(200);
            assert_eq!(server.get(path).await.text(), answered.text());

            // Even the owner may be left without a grant.
            server.put(path, document(&[])).await.expect_status(200);
            assert_eq!(grants_of(&server, path).await, "");
        }
        put_acl(&server, "/mine?acl", &[("x-amz-acl", "log-delivery-write")])
            .await
            .expect_status(200);
        let expected = "alice-id FULL_CONTROL, LogDelivery WRITE, LogDelivery READ_ACP";
        assert_eq!(grants_of(&server, "/mine?acl").await, expected);
    }
}

#[tokio::test]
async fn an_acl_that_is_none_is_refused_and_nothing_is_stored() {
    let server = harness::memory().await;
    bucket_with_acls(&server).await;
    server.put("/mine/key", "x").await.expect_status(200);
    let many = (0..101).map(|_| "id=bob-id").collect::<Vec<_>>().join(",");
    let header_rows: [(&[(&str, &str)], &str); 12] = [
        (&[("x-amz-acl", "public-ready")], "InvalidArgument"),
        (&[("x-amz-acl", "Private")], "InvalidArgument"),
        (&[("x-amz-acl", "private"), ("x-amz-grant-read", "id=bob-id")], "InvalidRequest"),
        (&[("x-amz-grant-read", "bob-id")], "InvalidArgument"),
        (&[("x-amz-grant-read", "id=nobody")], "InvalidArgument"),
        (&[("x-amz-grant-read", "uri=http://example.com/All")], "InvalidArgument"),
        (&[("x-amz-grant-delete", "id=bob-id")], "InvalidArgument"),
        (
            &[("x-amz-grant-read", "emailAddress=\"bob@example.com\"")],
            "UnresolvableGrantByEmailAddress",
        ),
        (&[("x-amz-grant-read", "id=\"bob-id")], "InvalidArgument"),
        (&[("x-amz-grant-read", &many)], "MalformedACLError"),
        (&[], "MissingSecurityHeader"),
        (&[("x-amz-acl", "")], "MissingSecurityHeader"),
    ];
    let grant =
        |kind: &str, grantee: &str, permission: &str| document(&[(kind, grantee, permission)]);
    let bob = "<ID>bob-id</ID>";
    let documents = [
        (grant("CanonicalUser", "<ID>nobody</ID>", "READ"), "InvalidArgument"),
        (grant("Group", "<URI>http://example.com/All</URI>", "READ"), "InvalidArgument"),
        (
            grant("AmazonCustomerByEmail", "<EmailAddress>a@b.c</EmailAddress>", "READ"),
            "UnresolvableGrantByEmailAddress",
        ),
        (grant("CanonicalUser", bob, "EVERYTHING"), "MalformedACLError"),
        (grant("CanonicalUser", "", "READ"), "MalformedACLError"),
        (grant("Group", bob, "READ"), "MalformedACLError"),
        (grant("Robot", bob, "READ"), "MalformedACLError"),
        (grant("CanonicalUser", "<Name>bob</Name>", "READ"), "MalformedACLError"),
        (grant("CanonicalUser", bob, "READ").replace("alice-id", "bob-id"), "AccessDenied"),
        (grant("CanonicalUser", bob, "READ").replace("alice-id", "nobody"), "InvalidArgument"),
        (
            grant("CanonicalUser", bob, "READ").replace("<Owner><ID>alice-id</ID></Owner>", ""),
            "MalformedACLError",
        ),
        ("<AccessControlPolicy/>".to_owned(), "MalformedACLError"),
        ("<AccessControlPolicy>".to_owned(), "MalformedACLError"),
        ("<Other/>".to_owned(), "MalformedACLError"),
        ("nonsense".to_owned(), "MalformedACLError"),
        (document(&vec![("CanonicalUser", bob, "READ"); 101]), "MalformedACLError"),
    ];
    for path in ["/mine?acl", "/mine/key?acl"] {
        for (headers, code) in &header_rows {
            let refused = put_acl(&server, path, headers).await;
            assert_eq!(refused.element("Code"), *code, "{path} {headers:?}");
        }
        for (document, code) in &documents {
            let refused = server.put(path, document).await;
            assert_eq!(refused.element("Code"), *code, "{path} {document}");
        }
        let both = server.request("PUT", path).header("x-amz-acl", "private").body(document(&[]));
        both.send().await.expect_error(400, "UnexpectedContent");
        // Two lists contradict each other, also if one of them is wrong.
        let wrong = ("x-amz-grant-read", "somebody");
        let both = server.request("PUT", path).header(wrong.0, wrong.1).body(document(&[]));
        both.send().await.expect_error(400, "UnexpectedContent");
        let both = server.request("PUT", path).header("x-amz-acl", "private");
        both.header(wrong.0, wrong.1).send().await.expect_error(400, "InvalidRequest");
        assert_eq!(grants_of(&server, path).await, NOTHING);
    }
    let lists = header_rows.iter().filter(|(_, code)| *code != "MissingSecurityHeader");
    for (headers, code) in lists {
        let put = server.request("PUT", "/mine/new").headers(headers).body("x").send().await;
        assert_eq!(put.element("Code"), *code, "{headers:?}");
        let begun = server.request("POST", "/mine/new?uploads").headers(headers).send().await;
        assert_eq!(begun.element("Code"), *code, "{headers:?}");
        let copied = server.request("PUT", "/mine/new").header("x-amz-copy-source", "/mine/key");
        let copied = copied.headers(headers).send().await;
        assert_eq!(copied.element("Code"), *code, "{headers:?}");
    }
    put_acl(&server, "/mine/key?acl", &[("x-amz-acl", "log-delivery-write")])
        .await
        .expect_error(400, "InvalidArgument");
    server.get("/mine/new").await.expect_error(404, "NoSuchKey");
    for path in ["/mine/missing?acl", "/mine/missing?acl&versionId=null"] {
        server.get(path).await.expect_status(404);
        put_acl(&server, path, &[("x-amz-acl", "private")]).await.expect_status(404);
    }
}

#[tokio::test]
async fn an_object_has_the_acl_that_it_was_written_with() {
    const PUBLIC: &str = "alice-id FULL_CONTROL, AllUsers READ";
    for server in harness::both().await {
        bucket_with_acls(&server).await;
        let public = [("x-amz-acl", "public-read")];
        server
            .request("PUT", "/mine/key")
            .headers(&public)
            .body("x")
            .send()
            .await
            .expect_status(200);
        assert_eq!(grants_of(&server, "/mine/key?acl").await, PUBLIC);

        let source = ("x-amz-copy-source", "/mine/key");
        put_acl(&server, "/mine/copy", &[source]).await.expect_status(200);
        assert_eq!(grants_of(&server, "/mine/copy?acl").await, NOTHING, "{}", server.backend);
        put_acl(&server, "/mine/copy", &[source, public[0]]).await.expect_status(200);
        assert_eq!(grants_of(&server, "/mine/copy?acl").await, PUBLIC);

        let upload_id = server.request("POST", "/mine/parts?uploads").headers(&public).send().await;
        let upload_id = upload_id.expect_status(200).element("UploadId");
        let part = server.put(&format!("/mine/parts?partNumber=1&uploadId={upload_id}"), "x").await;
        let etag = part.header("etag").expect("an entity tag").to_owned();
        let parts = format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
             </CompleteMultipartUpload>"
        );
        let completed = server.post(&format!("/mine/parts?uploadId={upload_id}"), parts).await;
        completed.expect_status(200);
        assert_eq!(grants_of(&server, "/mine/parts?acl").await, PUBLIC);

        upload(&server, &[("key", "form"), ("acl", "public-read")], b"x").await.expect_status(204);
        assert_eq!(grants_of(&server, "/mine/form?acl").await, PUBLIC);

        // A rename and an append leave it.
        let rename = server.request("PUT", "/mine/new?renameObject");
        let rename = rename.header("x-amz-rename-source", "key").send().await;
        rename.expect_status(200);
        assert_eq!(grants_of(&server, "/mine/new?acl").await, PUBLIC);
        let append = || server.request("PUT", "/mine/new").header("x-amz-write-offset-bytes", "1");
        let refused = append().headers(&public).body("y").send().await;
        refused.expect_error(400, "InvalidRequest");
        append().body("y").send().await.expect_status(200);
        assert_eq!(grants_of(&server, "/mine/new?acl").await, PUBLIC);

        server.put("/mine/new", "replaced").await.expect_status(200);
        assert_eq!(grants_of(&server, "/mine/new?acl").await, NOTHING);
    }
}

#[tokio::test]
async fn every_version_has_an_acl_of_its_own() {
    let server = harness::memory().await;
    bucket_with_acls(&server).await;
    let enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/mine?versioning", enabled).await.expect_status(200);
    let version = |put: Reply| put.header("x-amz-version-id").expect("a version").to_owned();
    let old = version(server.put("/mine/key", "old").await);
    let new = version(server.put("/mine/key", "new").await);
    let of = |version: &str| format!("/mine/key?acl&versionId={version}");
    put_acl(&server, &of(&old), &[("x-amz-acl", "public-read")]).await.expect_status(200);
    assert_eq!(grants_of(&server, &of(&old)).await, "alice-id FULL_CONTROL, AllUsers READ");
    assert_eq!(grants_of(&server, &of(&new)).await, NOTHING);
    put_acl(&server, "/mine/key?acl", &[("x-amz-grant-read", "id=bob-id")])
        .await
        .expect_status(200);
    assert_eq!(grants_of(&server, &of(&new)).await, "bob-id READ");
    let marker = version(server.delete("/mine/key").await);
    server.get(&of(&marker)).await.expect_error(405, "MethodNotAllowed");
    let refused = put_acl(&server, &of(&marker), &[("x-amz-acl", "private")]).await;
    refused.expect_error(405, "MethodNotAllowed");
}

#[tokio::test]
async fn a_bucket_is_created_with_its_acl_and_its_ownership() {
    for server in harness::both().await {
        let create = |name: &str, headers: &[(&str, &str)]| {
            server.request("PUT", &format!("/{name}")).headers(headers).send()
        };
        let writer = ("x-amz-object-ownership", "ObjectWriter");
        let preferred = ("x-amz-object-ownership", "BucketOwnerPreferred");
        create("canned", &[writer, ("x-amz-acl", "public-read")]).await.expect_status(200);
        let expected = "alice-id FULL_CONTROL, AllUsers READ";
        assert_eq!(grants_of(&server, "/canned?acl").await, expected);
        create("granted", &[preferred, ("x-amz-grant-write", "id=bob-id")])
            .await
            .expect_status(200);
        assert_eq!(grants_of(&server, "/granted?acl").await, "bob-id WRITE");
        create("ignored", &[preferred, ("x-amz-acl", "bucket-owner-read")])
            .await
            .expect_status(200);
        assert_eq!(grants_of(&server, "/ignored?acl").await, NOTHING);
        let grant = ("x-amz-grant-read", "id=alice-id");
        for (name, header) in
            [("private", ("x-amz-acl", "private")), ("own", grant), ("empty", ("x-amz-acl", ""))]
        {
            create(name, &[header]).await.expect_status(200);
            assert_eq!(grants_of(&server, &format!("/{name}?acl")).await, NOTHING);
        }
        for (headers, code) in [
            (vec![("x-amz-acl", "public-read")], "InvalidBucketAclWithObjectOwnership"),
            (vec![("x-amz-grant-read", "id=bob-id")], "InvalidBucketAclWithObjectOwnership"),
            (vec![("x-amz-acl", "nonsense")], "InvalidArgument"),
            (vec![("x-amz-object-ownership", "Nobody")], "InvalidArgument"),
            (vec![writer, ("x-amz-grant-read", "id=nobody")], "InvalidArgument"),
            (vec![writer, grant, ("x-amz-acl", "private")], "InvalidRequest"),
        ] {
            create("none", &headers).await.expect_error(400, code);
            server.get("/none").await.expect_error(404, "NoSuchBucket");
        }
        for (name, ownership) in [
            ("canned", "ObjectWriter"),
            ("granted", "BucketOwnerPreferred"),
            ("private", "BucketOwnerEnforced"),
        ] {
            let controls = server.get(&format!("/{name}?ownershipControls")).await;
            assert_eq!(controls.element("ObjectOwnership"), ownership);
        }
        // A bucket that is there keeps what it has.
        create("private", &[]).await.expect_status(200);
        let again = create("private", &[writer]).await;
        again.expect_error(409, "BucketAlreadyOwnedByYou");
        let again = create("canned", &[writer, ("x-amz-acl", "public-read")]).await;
        again.expect_error(409, "BucketAlreadyOwnedByYou");
    }
}

fn controls(ownership: &str) -> String {
    let rule = format!("<Rule><ObjectOwnership>{ownership}</ObjectOwnership></Rule>");
    format!("<OwnershipControls>{rule}</OwnershipControls>")
}

#[tokio::test]
async fn ownership_controls_decide_whether_acls_count() {
    const CONTROLS: &str = "/mine?ownershipControls";
    let server = harness::memory().await;
    server.bucket("mine").await;
    let ownership = || async { server.get(CONTROLS).await.element("ObjectOwnership") };
    assert_eq!(ownership().await, "BucketOwnerEnforced");
    for name in ["BucketOwnerPreferred", "ObjectWriter"] {
        server.put(CONTROLS, controls(name)).await.expect_status(200);
        assert_eq!(ownership().await, name);
        let public = [("x-amz-acl", "public-read")];
        put_acl(&server, "/mine?acl", &public).await.expect_status(200);
        let put = server.request("PUT", "/mine/key").headers(&public).body("x").send().await;
        put.expect_status(200);

        // No bucket may be shared by an ACL and say that it has none.
        let refused = server.put(CONTROLS, controls("BucketOwnerEnforced")).await;
        refused.expect_error(400, "InvalidBucketAclWithObjectOwnership");
        assert_eq!(ownership().await, name);
        put_acl(&server, "/mine?acl", &[("x-amz-acl", "private")]).await.expect_status(200);
        server.put(CONTROLS, controls("BucketOwnerEnforced")).await.expect_status(200);
        assert_eq!(ownership().await, "BucketOwnerEnforced");
        assert_eq!(grants_of(&server, "/mine/key?acl").await, NOTHING, "it does not count");
    }
    // Without controls the writer owns its objects, and what was granted counts again.
    for _ in 0..2 {
        server.delete(CONTROLS).await.expect_status(204);
        server.get(CONTROLS).await.expect_error(404, "OwnershipControlsNotFoundError");
    }
    assert_eq!(grants_of(&server, "/mine/key?acl").await, "alice-id FULL_CONTROL, AllUsers READ");
    let two = controls("ObjectWriter").replace("</Rule>", "</Rule><Rule></Rule>");
    for wrong in [controls("Nobody"), two, "<OwnershipControls/>".to_owned(), "x".to_owned()] {
        server.put(CONTROLS, wrong).await.expect_error(400, "MalformedXML");
    }
    server.get(CONTROLS).await.expect_error(404, "OwnershipControlsNotFoundError");
}

#[tokio::test]
async fn new_buckets_get_the_ownership_of_the_server() {
    let server = harness::with_ownership(ObjectWriter).await;
    server.bucket("mine").await;
    let controls = server.get("/mine?ownershipControls").await;
    assert_eq!(controls.element("ObjectOwnership"), "ObjectWriter");
    server.bucket("mine").await;
    let public = [("x-amz-acl", "public-read")];
    put_acl(&server, "/shared", &public).await.expect_status(200);
    let enforced = ("x-amz-object-ownership", "BucketOwnerEnforced");
    put_acl(&server, "/enforced", &[enforced, public[0]])
        .await
        .expect_error(400, "InvalidBucketAclWithObjectOwnership");
    put_acl(&server, "/enforced", &[enforced]).await.expect_status(200);
    let controls = server.get("/enforced?ownershipControls").await;
    assert_eq!(controls.element("ObjectOwnership"), "BucketOwnerEnforced");
}

fn block(parts: [(&str, bool); 4]) -> String {
    let parts: String = parts.iter().map(|(name, is)| format!("<{name}>{is}</{name}>")).collect();
    format!("<PublicAccessBlockConfiguration>{parts}</PublicAccessBlockConfiguration>")
}

#[tokio::test]
async fn a_public_access_block_refuses_public_acls() {
    const BLOCK: &str = "/mine?publicAccessBlock";
    for server in harness::both().await {
        bucket_with_acls(&server).await;
        server.put("/mine/key", "x").await.expect_status(200);
        let rows = |acls| {
            [
                ("BlockPublicAcls", acls),
                ("IgnorePublicAcls", false),
                ("BlockPublicPolicy", true),
                ("RestrictPublicBuckets", false),
            ]
        };
        server.put(BLOCK, block(rows(true))).await.expect_status(200);
        let answered = server.get(BLOCK).await.expect_status(200);
        for (name, expected) in rows(true) {
            assert_eq!(answered.element(name), expected.to_string(), "{name}");
        }
        let everybody = format!("uri=\"{ALL_USERS}\"");
        let public: [(&str, &str); 4] = [
            ("x-amz-acl", "public-read"),
            ("x-amz-acl", "public-read-write"),
            ("x-amz-acl", "authenticated-read"),
            ("x-amz-grant-read-acp", &everybody),
        ];
        for header in public {
            for path in ["/mine?acl", "/mine/key?acl", "/mine/new"] {
                let refused = put_acl(&server, path, &[header]).await;
                let message = refused.expect_error(403, "AccessDenied").element("Message");
                assert!(message.contains("BlockPublicAcls"), "{message}");
            }
            let begun = server.request("POST", "/mine/new?uploads").headers(&[header]).send().await;
            begun.expect_error(403, "AccessDenied");
            let copy = [("x-amz-copy-source", "/mine/key"), header];
            put_acl(&server, "/mine/new", &copy).await.expect_error(403, "AccessDenied");
        }
        server.get("/mine/new").await.expect_error(404, "NoSuchKey");
        for path in ["/mine?acl", "/mine/key?acl"] {
            assert_eq!(grants_of(&server, path).await, NOTHING);
            put_acl(&server, path, &[("x-amz-grant-read", "id=bob-id")]).await.expect_status(200);
        }
        server.put(BLOCK, block(rows(false))).await.expect_status(200);
        put_acl(&server, "/mine?acl", &[public[0]]).await.expect_status(200);
        server.delete(BLOCK).await.expect_status(204);
        server.get(BLOCK).await.expect_error(404, "NoSuchPublicAccessBlockConfiguration");
        server.put(BLOCK, "<PublicAccessBlockConfiguration/>").await.expect_status(200);
        assert_eq!(server.get(BLOCK).await.element("BlockPublicAcls"), "false");
        for wrong in [
            "<PublicAccessBlockConfiguration><Other/></PublicAccessBlockConfiguration>",
            "<PublicAccessBlockConfiguration><BlockPublicAcls>perhaps</BlockPublicAcls>\
             </PublicAccessBlockConfiguration>",
            "x",
        ] {
            server.put(BLOCK, wrong).await.expect_error(400, "MalformedXML");
        }
    }
}

#[tokio::test]
async fn an_acl_that_is_put_is_told() {
    let mut receiver = Receiver::start().await;
    let targets = vec![Webhook::new("hook", receiver.url()).expect("valid").into()];
    let events = EventSettings { targets, ..EventSettings::default() };
    let server = harness::with_events(events).await;
    bucket_with_acls(&server).await;
    server
        .put(
            "/mine?notification",
            "<NotificationConfiguration><QueueConfiguration>\
             <Queue>arn:aws:sqs:us-east-1:000000000000:hook</Queue><Event>s3:ObjectAcl:Put</Event>\
             </QueueConfiguration></NotificationConfiguration>",
        )
        .await
        .expect_status(200);
    assert_eq!(receiver.next().await.event(), "s3:TestEvent");
    for key in ["a", "b"] {
        server.put(&format!("/mine/{key}"), "x").await.expect_status(200);
        // The second changes nothing.
        for _ in 0..2 {
            let public = [("x-amz-acl", "public-read")];
            put_acl(&server, &format!("/mine/{key}?acl"), &public).await.expect_status(200);
        }
    }
    assert_eq!(receiver.events(2).await, ["ObjectAcl:Put a", "ObjectAcl:Put b"]);
}
