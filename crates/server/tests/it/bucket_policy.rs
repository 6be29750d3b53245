//! Bucket policies and policies of users, as clients see them.

use crate::harness::{ACCOUNTS, ALICE, BOB, CAROL, TestServer, in_memory_with_users};

/// A server with a bucket of Alice's, which has two objects.
async fn server() -> TestServer {
    let server = in_memory_with_users(ACCOUNTS).await;
    server.bucket("mine").await;
    server.put("/mine/key", "the object").await.expect_status(200);
    server.put("/mine/other", "the other").await.expect_status(200);
    server
}

/// A policy of one statement for the bucket `mine` and what is in it.
fn policy(effect: &str, principal: &str, actions: &str, condition: &str) -> String {
    let condition = match condition {
        "" => String::new(),
        text => format!(r#", "Condition": {{{text}}}"#),
    };
    let resources: Vec<&str> = match actions.contains("Object") && !actions.contains("List") {
        true => vec!["arn:aws:s3:::mine/*"],
        false => vec!["arn:aws:s3:::mine", "arn:aws:s3:::mine/*"],
    };
    let actions: Vec<&str> = actions.split(' ').collect();
    format!(
        r#"{{"Version": "2012-10-17", "Statement": [{{"Sid": "Only", "Effect": "{effect}",
            "Principal": {principal}, "Action": {actions:?}, "Resource": {resources:?}{condition}}}]}}"#
    )
}

async fn set(server: &TestServer, policy: &str) {
    server.put("/mine?policy", policy).await.expect_status(204);
}

const EVERYONE: &str = "\"*\"";
const OF_BOB: &str = r#"{"AWS": "arn:aws:iam::222222222222:root"}"#;
const OF_CAROL: &str = r#"{"AWS": "arn:aws:iam::111111111111:user/carol"}"#;

#[tokio::test]
async fn a_policy_is_kept_as_it_was_sent_until_it_is_deleted() {
    let server = server().await;
    server.get("/mine?policy").await.expect_error(404, "NoSuchBucketPolicy");
    server.get("/mine?policyStatus").await.expect_error(404, "NoSuchBucketPolicy");
    let public = policy("Allow", EVERYONE, "s3:GetObject", "");
    set(&server, &public).await;
    let kept = server.get("/mine?policy").await.expect_status(200);
    assert_eq!((kept.text(), kept.header("content-type")), (public, Some("application/json")));
    let status = server.get("/mine?policyStatus").await.expect_status(200);
    assert_eq!(status.element("IsPublic").to_lowercase(), "true");
    set(&server, &policy("Allow", OF_BOB, "s3:GetObject", "")).await;
    let status = server.get("/mine?policyStatus").await.expect_status(200);
    assert_eq!(status.element("IsPublic").to_lowercase(), "false");
    server.delete("/mine?policy").await.expect_status(204);
    server.delete("/mine?policy").await.expect_status(204);
    server.get("/mine?policy").await.expect_error(404, "NoSuchBucketPolicy");
}

#[tokio::test]
async fn a_document_that_is_no_policy_is_refused_and_the_last_one_stays() {
    let server = server().await;
    let good = policy("Allow", OF_BOB, "s3:GetObject", "");
    set(&server, &good).await;
    let long = policy("Allow", EVERYONE, "s3:GetObject", &" ".repeat(21_000));
    let other = good.replace(":mine/", ":yours/");
    let rows = [
        "",
        "no JSON",
        "{",
        "[]",
        "{}",
        r#"{"Version": "2012-10-17"}"#,
        &good.replace("2012-10-17", "2020-01-01"),
        &good.replace("\"Allow\"", "\"Maybe\""),
        &good.replace("Principal", "Principals"),
        &good.replace("\"Principal\": {\"AWS\": \"arn:aws:iam::222222222222:root\"},", ""),
        &good.replace("arn:aws:iam::222222222222:root", "arn:aws:iam::2222:thing"),
        &good.replace("s3:GetObject", "s3:GetNothing"),
        &other,
        &long,
        &policy("Allow", EVERYONE, "s3:GetObject", r#""StringEquals": {"s3:nothing": "a"}"#),
        &policy("Allow", EVERYONE, "s3:GetObject", r#""StringResembles": {"aws:Referer": "a"}"#),
    ];
    for wrong in rows {
        server.put("/mine?policy", wrong).await.expect_error(400, "MalformedPolicy");
        assert_eq!(server.get("/mine?policy").await.text(), good, "{wrong}");
    }
    // A body that is not what its digest says is not kept, either.
    let request = server.request("PUT", "/mine?policy").body(policy("Allow", EVERYONE, "s3:*", ""));
    let request = request.header("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg==");
    request.send().await.expect_error(400, "BadDigest");
    assert_eq!(server.get("/mine?policy").await.text(), good);
}

#[tokio::test]
async fn a_policy_gives_anonymous_requests_what_it_says_and_no_more() {
    let server = server().await;
    let get = |path: &'static str| server.request("GET", path).anonymous().send();
    get("/mine/key").await.expect_error(403, "AccessDenied");
    set(&server, &policy("Allow", EVERYONE, "s3:GetObject", "")).await;
    assert_eq!(get("/mine/key").await.expect_status(200).text(), "the object");
    // Who may not list does not learn what is missing.
    get("/mine/missing").await.expect_error(403, "AccessDenied");
    get("/mine").await.expect_error(403, "AccessDenied");
    get("/mine/key?tagging").await.expect_error(403, "AccessDenied");
    get("/mine/key?versionId=null").await.expect_error(403, "AccessDenied");
    let put = server.request("PUT", "/mine/new").body("x").anonymous().send().await;
    put.expect_error(403, "AccessDenied");
    set(&server, &policy("Allow", EVERYONE, "s3:GetObject s3:ListBucket", "")).await;
    get("/mine/missing").await.expect_error(404, "NoSuchKey");
    assert!(get("/mine").await.expect_status(200).text().contains("<Key>key</Key>"));
    // Headers of the response are still not theirs to choose.
    for name in ["response-content-type", "%72esponse-content-type", "response%2dcontent%2Dtype"] {
        let target = format!("/mine/key?{name}=text/html");
        let reply = server.request("GET", &target).anonymous().send().await;
        reply.expect_error(400, "InvalidRequest");
    }
}

#[tokio::test]
async fn the_root_user_takes_off_a_policy_that_locks_it_out() {
    let server = server().await;
    let locked = policy("Deny", EVERYONE, "s3:*", "");
    set(&server, &locked).await;
    server.get("/mine/key").await.expect_error(403, "AccessDenied");
    server.get("/mine").await.expect_error(403, "AccessDenied");
    assert_eq!(server.get("/mine?policy").await.expect_status(200).text(), locked);
    server.delete("/mine?policy").await.expect_status(204);
    server.get("/mine/key").await.expect_status(200);
}

#[tokio::test]
async fn a_copy_needs_the_right_to_read_its_source_and_to_write_its_target() {
    let server = server().await;
    server.put("/theirs", "").await.expect_status(200);
    let copy = |from: &'static str, to: &'static str| {
        server.request("PUT", to).by(BOB).header("x-amz-copy-source", from).send()
    };
    server.request("PUT", "/bobs").by(BOB).send().await.expect_status(200);
    copy("/mine/key", "/bobs/copy").await.expect_error(403, "AccessDenied");
    set(&server, &policy("Allow", OF_BOB, "s3:GetObject", "")).await;
    copy("/mine/key", "/bobs/copy").await.expect_status(200);
    copy("/mine/key", "/mine/copy").await.expect_error(403, "AccessDenied");
    copy("/mine/key?versionId=null", "/bobs/copy").await.expect_error(403, "AccessDenied");
    // Tags are read and written, too.
    let tagged = server.request("PUT", "/mine/tagged").body("x").header("x-amz-tagging", "a=b");
    tagged.send().await.expect_status(200);
    copy("/mine/tagged", "/bobs/copy").await.expect_error(403, "AccessDenied");
    let replaced = server.request("PUT", "/bobs/copy").by(BOB);
    let replaced = replaced.header("x-amz-copy-source", "/mine/tagged");
    replaced.header("x-amz-tagging-directive", "REPLACE").send().await.expect_status(200);
    set(&server, &policy("Allow", OF_BOB, "s3:GetObject s3:GetObjectTagging", "")).await;
    copy("/mine/tagged", "/bobs/copy").await.expect_status(200);
    server.get("/mine/copy").await.expect_error(404, "NoSuchKey");
}

#[tokio::test]
async fn deleting_several_objects_is_decided_about_one_by_one() {
    let server = server().await;
    let text = policy("Allow", OF_BOB, "s3:DeleteObject", "").replace("mine/*", "mine/k*");
    set(&server, &text).await;
    let document = "<Delete><Object><Key>key</Key></Object><Object><Key>other</Key></Object>\
                    <Object><Key>key</Key><VersionId>null</VersionId></Object></Delete>";
    let md5 = crate::harness::base64(&crate::harness::md5(document.as_bytes()));
    let request = server.request("POST", "/mine?delete").by(BOB).body(document);
    let reply = request.header("content-md5", md5).send().await.expect_status(200);
    assert_eq!(reply.elements("Code"), ["AccessDenied", "AccessDenied"]);
    assert_eq!(reply.text().matches("<Deleted>").count(), 1);
    server.get("/mine/key").await.expect_error(404, "NoSuchKey");
    server.get("/mine/other").await.expect_status(200);
}

#[tokio::test]
async fn conditions_look_at_the_request_and_at_the_object() {
    let server = server().await;
    let tagged = server.request("PUT", "/mine/open").body("x").header("x-amz-tagging", "open=yes");
    tagged.send().await.expect_status(200);
    let get = |path: &'static str| server.request("GET", path).by(CAROL).send();
    let put = |path: &'static str| server.request("PUT", path).by(CAROL).body("y");

    let condition = r#""StringEquals": {"s3:ExistingObjectTag/open": "yes"}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:GetObject", condition)).await;
    get("/mine/open").await.expect_status(200);
    get("/mine/key").await.expect_error(403, "AccessDenied");

    let condition = r#""StringEquals": {"s3:RequestObjectTag/team": "red"}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:PutObject s3:PutObjectTagging", condition)).await;
    put("/mine/new").send().await.expect_error(403, "AccessDenied");
    put("/mine/new")
        .header("x-amz-tagging", "team=blue")
        .send()
        .await
        .expect_error(403, "AccessDenied");
    put("/mine/new").header("x-amz-tagging", "team=red").send().await.expect_status(200);
    let tags = |value: &str| {
        format!(
            "<Tagging><TagSet><Tag><Key>team</Key><Value>{value}</Value></Tag></TagSet></Tagging>"
        )
    };
    put("/mine/new?tagging").body(tags("blue")).send().await.expect_error(403, "AccessDenied");
    put("/mine/new?tagging").body(tags("red")).send().await.expect_status(200);

    let condition = r#""StringLike": {"s3:prefix": ["home/*", ""]}, "NumericLessThanEquals": {"s3:max-keys": 10}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:ListBucket", condition)).await;
    get("/mine?prefix=home/a&max-keys=10").await.expect_status(200);
    get("/mine?prefix=away&max-keys=10").await.expect_error(403, "AccessDenied");
    get("/mine?prefix=home/a&max-keys=11").await.expect_error(403, "AccessDenied");
    // A parameter that an operation does not have says nothing.
    get("/mine?versions&prefix=home/&max-keys=1").await.expect_error(403, "AccessDenied");

    let condition =
        r#""IpAddress": {"aws:SourceIp": "127.0.0.0/8"}, "Bool": {"aws:SecureTransport": "false"}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:GetObject", condition)).await;
    get("/mine/key").await.expect_status(200);
    let condition = r#""IpAddress": {"aws:SourceIp": "10.0.0.0/8"}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:GetObject", condition)).await;
    get("/mine/key").await.expect_error(403, "AccessDenied");

    let condition = r#""StringLike": {"aws:Referer": "https://example.com/*"}"#;
    set(&server, &policy("Allow", EVERYONE, "s3:GetObject", condition)).await;
    let from = |page| server.request("GET", "/mine/key").anonymous().header("referer", page).send();
    from("https://example.com/page").await.expect_status(200);
    from("https://example.org/page").await.expect_error(403, "AccessDenied");

    let condition = r#""StringEquals": {"s3:x-amz-server-side-encryption": "AES256"}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:GetObject s3:PutObject", condition)).await;
    // A header that nothing reads opens nothing.
    let request = server.request("GET", "/mine/key").by(CAROL);
    let reply = request.header("x-amz-server-side-encryption", "AES256").send().await;
    reply.expect_error(403, "AccessDenied");

    let condition = r#""StringEquals": {"s3:authType": "REST-QUERY-STRING"}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:GetObject", condition)).await;
    get("/mine/key").await.expect_error(403, "AccessDenied");
    let condition = r#""StringEquals": {"s3:authType": "REST-HEADER", "s3:signatureversion": "AWS4-HMAC-SHA256"}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:GetObject", condition)).await;
    get("/mine/key").await.expect_status(200);

    let condition = r#""StringEquals": {"s3:if-none-match": "*"}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:PutObject", condition)).await;
    put("/mine/once").send().await.expect_error(403, "AccessDenied");
    put("/mine/once").header("if-none-match", "*").send().await.expect_status(200);
    put("/mine/once")
        .header("if-none-match", "*")
        .send()
        .await
        .expect_error(412, "PreconditionFailed");
}

#[tokio::test]
async fn headers_need_the_actions_that_they_stand_for() {
    let server = server().await;
    set(&server, &policy("Allow", OF_CAROL, "s3:PutObject", "")).await;
    let put = || server.request("PUT", "/mine/new").by(CAROL).body("x");
    put().send().await.expect_status(200);
    let rows = [
        ("x-amz-tagging", "a=b"),
        ("x-amz-object-lock-legal-hold", "ON"),
        ("x-amz-object-lock-mode", "GOVERNANCE"),
    ];
    for (name, value) in rows {
        put().header(name, value).send().await.expect_error(403, "AccessDenied");
    }
}

#[tokio::test]
async fn a_refusal_says_why_to_the_account_of_the_bucket_only() {
    let server = server().await;
    let server = &server;
    let message = async |user| {
        let reply = server.request("GET", "/mine/key").by(user).send().await;
        reply.expect_error(403, "AccessDenied").element("Message")
    };
    assert_eq!(
        message(CAROL).await,
        "User: arn:aws:iam::111111111111:user/carol is not authorized to perform: s3:GetObject on \
         resource: \"arn:aws:s3:::mine/key\" because no identity-based policy allows the s3:GetObject \
         action"
    );
    assert_eq!(message(BOB).await, "Access Denied");
    set(server, &policy("Deny", EVERYONE, "s3:GetObject", "")).await;
    let told = message(CAROL).await;
    assert!(told.ends_with("with an explicit deny in a resource-based policy"), "{told}");
}

#[tokio::test]
async fn the_public_access_block_stops_public_policies() {
    let server = server().await;
    let public = policy("Allow", EVERYONE, "s3:GetObject", "");
    set(&server, &public).await;
    let block = |name: &str| {
        let block = format!(
            "<PublicAccessBlockConfiguration><{name}>true</{name}></PublicAccessBlockConfiguration>"
        );
        server.put("/mine?publicAccessBlock", block)
    };
    block("RestrictPublicBuckets").await.expect_status(200);
    let get = |user| server.request("GET", "/mine/key").by(user).send();
    let anonymous = || server.request("GET", "/mine/key").anonymous().send();
    anonymous().await.expect_error(403, "AccessDenied");
    get(BOB).await.expect_error(403, "AccessDenied");
    get(CAROL).await.expect_status(200);
    block("BlockPublicPolicy").await.expect_status(200);
    anonymous().await.expect_status(200);
    server.put("/mine?policy", &public).await.expect_error(403, "AccessDenied");
    set(&server, &policy("Allow", OF_BOB, "s3:GetObject", "")).await;
    get(BOB).await.expect_status(200);
    anonymous().await.expect_error(403, "AccessDenied");
}

/// A request that is presigned carries the rights that its signer has when it is used.
#[tokio::test]
async fn a_presigned_url_has_the_rights_of_its_signer_when_it_is_used() {
    let server = server().await;
    let url = server.request("GET", "/mine/key").by(CAROL).presigned("900");
    let get = || server.request("GET", &url).anonymous().send();
    get().await.expect_error(403, "AccessDenied");
    set(&server, &policy("Allow", OF_CAROL, "s3:GetObject", "")).await;
    assert_eq!(get().await.expect_status(200).text(), "the object");
    let condition = r#""NumericGreaterThan": {"s3:signatureAge": 60000}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:GetObject", condition)).await;
    get().await.expect_error(403, "AccessDenied");
    let condition = r#""NumericLessThan": {"s3:signatureAge": 60000}"#;
    set(&server, &policy("Allow", OF_CAROL, "s3:GetObject", condition)).await;
    get().await.expect_status(200);
    server.delete("/mine?policy").await.expect_status(204);
    get().await.expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn the_owner_whom_a_request_expects_is_named_by_account_or_canonical_id() {
    let server = server().await;
    set(&server, &policy("Allow", OF_BOB, "s3:GetObject", "")).await;
    for user in [ALICE, BOB] {
        for (expected, status) in
            [("111111111111", 200), ("alice-id", 200), ("222222222222", 403), ("bob-id", 403)]
        {
            let request = server.request("GET", "/mine/key").by(user);
            let request = request.header("x-amz-expected-bucket-owner", expected);
            request.send().await.expect_status(status);
        }
    }
}

#[tokio::test]
async fn who_may_list_a_key_learns_that_there_is_nothing() {
    let server = server().await;
    let condition = r#""StringLike": {"s3:prefix": "public/*"}"#;
    let listing = policy("Allow", OF_BOB, "s3:ListBucket", condition);
    set(&server, &listing).await;
    let get = |path: &'static str| server.request("GET", path).by(BOB).send();
    get("/mine/public/x").await.expect_error(404, "NoSuchKey");
    get("/mine/private/x").await.expect_error(403, "AccessDenied");
    server.put("/mine/public/x", "x").await.expect_status(200);
    get("/mine/public/x").await.expect_error(403, "AccessDenied");
    let denied = r#"{"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::mine/*"}"#;
    let both = listing.replace("\"Statement\": [", &format!("\"Statement\": [{denied}, "));
    set(&server, &both).await;
    get("/mine/public/y").await.expect_error(403, "AccessDenied");
}

/// What is decided about is what is done: of two values one could be checked, and the other be used.
#[tokio::test]
async fn parameters_that_come_twice_are_refused() {
    let server = server().await;
    for query in ["versionId=null&versionId=1", "tagging&versionId=null&versionId=null"] {
        for method in ["GET", "DELETE"] {
            let reply = server.request(method, &format!("/mine/key?{query}")).send().await;
            reply.expect_error(400, "InvalidArgument");
        }
    }
    server.get("/mine/key").await.expect_status(200);
}

/// Two values of a condition that only one of them satisfies.
#[tokio::test]
async fn only_a_write_that_replaces_nothing_has_the_key_of_conditional_writes() {
    let server = server().await;
    let condition = r#""Null": {"s3:if-none-match": "true"}"#;
    let denied = policy("Deny", OF_CAROL, "s3:PutObject", condition);
    let allowed = r#"{"Effect": "Allow", "Principal": "*", "Action": "s3:PutObject", "Resource": "arn:aws:s3:::mine/*"}"#;
    set(&server, &denied.replace("\"Statement\": [", &format!("\"Statement\": [{allowed}, ")))
        .await;
    let put = |path| server.request("PUT", path).by(CAROL).body("y");
    let etag = "\"00000000000000000000000000000000\"";
    put("/mine/key").header("if-none-match", etag).send().await.expect_error(403, "AccessDenied");
    put("/mine/key").send().await.expect_error(403, "AccessDenied");
    put("/mine/new").header("if-none-match", "*").send().await.expect_status(200);
    assert_eq!(server.get("/mine/key").await.text(), "the object");
}

#[tokio::test]
async fn a_rename_reads_its_source_and_its_headers_open_nothing() {
    let server = server().await;
    let rename =
        |to: &'static str| server.request("PUT", to).by(BOB).header("x-amz-rename-source", "key");
    set(&server, &policy("Allow", OF_BOB, "s3:PutObject s3:DeleteObject s3:RenameObject", ""))
        .await;
    rename("/mine/open?renameObject").send().await.expect_error(403, "AccessDenied");
    let actions = "s3:PutObject s3:DeleteObject s3:RenameObject s3:GetObject";
    let condition = r#""StringEqualsIfExists": {"s3:RequestObjectTag/team": "red"}, "Null": {"s3:RequestObjectTag/team": "false"}"#;
    set(&server, &policy("Allow", OF_BOB, actions, condition)).await;
    let request = rename("/mine/open?renameObject").header("x-amz-tagging", "team=red");
    request.send().await.expect_error(403, "AccessDenied");
    set(&server, &policy("Allow", OF_BOB, actions, "")).await;
    rename("/mine/open?renameObject").send().await.expect_status(200);
}

/// The tags that a copy takes along are those that are decided about, not those of a header that it ignores.
#[tokio::test]
async fn a_copy_is_decided_about_with_the_tags_that_it_gets() {
    let server = server().await;
    server.request("PUT", "/bobs").by(BOB).send().await.expect_status(200);
    let tagged =
        server.request("PUT", "/bobs/x").by(BOB).body("x").header("x-amz-tagging", "public=yes");
    tagged.send().await.expect_status(200);
    let condition = r#""StringEquals": {"s3:RequestObjectTag/public": "yes"}"#;
    let denied = policy("Deny", OF_BOB, "s3:PutObject s3:PutObjectTagging", condition);
    let allowed = r#"{"Effect": "Allow", "Principal": "*", "Action": ["s3:PutObject", "s3:PutObjectTagging"], "Resource": "arn:aws:s3:::mine/*"}"#;
    set(&server, &denied.replace("\"Statement\": [", &format!("\"Statement\": [{allowed}, ")))
        .await;
    let copy = || server.request("PUT", "/mine/y").by(BOB).header("x-amz-copy-source", "/bobs/x");
    copy().send().await.expect_error(403, "AccessDenied");
    // A header that the copy ignores neither denies nor allows.
    copy().header("x-amz-tagging", "public=no").send().await.expect_error(403, "AccessDenied");
    let replaced = copy().header("x-amz-tagging-directive", "REPLACE");
    replaced.header("x-amz-tagging", "public=no").send().await.expect_status(200);
    let replaced = copy().header("x-amz-tagging-directive", "REPLACE");
    replaced.header("x-amz-tagging", "public=yes").send().await.expect_error(403, "AccessDenied");
}
