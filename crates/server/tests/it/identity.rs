//! Users of the credentials file, while it changes.

use crate::harness::{ALICE, BOB, User, base64, md5, memory};

const ALICE_AND_BOB: &str = "
    [[user]]
    name = 'alice'
    id = 'alice-id'
    access_key = 'alice-key'
    secret_key = \"alice's secret\"

    [[user]]
    name = 'bob'
    id = 'bob-id'
    access_key = 'bob-key'
    secret_key = 'another secret'
";

#[tokio::test]
async fn a_removed_or_replaced_key_is_refused_at_once() {
    let server = memory().await;
    server.bucket("bucket").await;
    let as_bob = || async { server.request("GET", "/").by(BOB).send().await };
    as_bob().await.expect_status(200);

    server.set_users(ALICE_AND_BOB);
    as_bob().await.expect_error(403, "SignatureDoesNotMatch");
    server.get("/bucket").await.expect_status(200);

    // Bob's former secret again, and then nobody.
    server.set_users(&ALICE_AND_BOB.replace("another secret", "former secret"));
    as_bob().await.expect_error(403, "SignatureDoesNotMatch");
    server.set_users(&ALICE_AND_BOB.replace("'another secret'", "\"bob's secret\""));
    as_bob().await.expect_status(200);
    server.set_users("[[user]]\nname = 'alice'");
    as_bob().await.expect_status(200);
    server.set_users(ALICE_AND_BOB.split_inclusive("alice's secret\"").next().expect("Alice"));
    as_bob().await.expect_error(403, "InvalidAccessKeyId");
    server.get("/bucket").await.expect_status(200);
    assert_eq!(ALICE.access_key, "alice-key");
}

/// A document may take minutes to come: what counts is what its sender may do then.
#[tokio::test]
async fn rights_that_go_while_a_document_comes_are_gone() {
    let server = memory().await;
    server.bucket("bucket").await;
    server.put("/bucket/key", "the object").await.expect_status(200);
    let carol = |policies: &str| {
        format!(
            "{ALICE_AND_BOB}
            [[user]]
            name = 'carol'
            parent = 'alice'
            access_key = 'carol-key'
            secret_key = \"carol's secret\"
            {policies}"
        )
    };
    let may_all = carol(
        "policies = ['{\"Version\": \"2012-10-17\", \"Statement\": {\"Effect\": \"Allow\", \"Action\": \"*\", \"Resource\": \"*\"}}']",
    );
    let user = User { access_key: "carol-key", secret_key: "carol's secret", id: "alice-id" };
    let delete = "<Delete><Object><Key>key</Key></Object></Delete>";
    let tags = "<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>";
    let policy = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": "*",
        "Action": "s3:GetObject", "Resource": "arn:aws:s3:::bucket/*"}}"#;
    for users in [carol(""), ALICE_AND_BOB.to_owned()] {
        for (method, path, document) in [
            ("POST", "/bucket?delete", delete),
            ("PUT", "/bucket/key?tagging", tags),
            ("PUT", "/bucket?policy", policy),
        ] {
            server.set_users(&may_all);
            let request = server.request(method, path).by(user).body(document);
            let request = request.header("content-md5", base64(&md5(document.as_bytes())));
            let reply = request.send_when_wanted(|| server.set_users(&users)).await;
            assert!(reply.text().contains("<Code>AccessDenied</Code>"), "{}", reply.everything());
        }
    }
    assert_eq!(server.get("/bucket/key").await.expect_status(200).text(), "the object");
    assert!(!server.get("/bucket/key?tagging").await.text().contains("<Tag>"));
    server.get("/bucket?policy").await.expect_error(404, "NoSuchBucketPolicy");
    // Another change of users changes nothing for this one.
    server.set_users(&may_all);
    let request = server.request("PUT", "/bucket/key?tagging").by(user).body(tags);
    let more = format!(
        "{may_all}\n[[user]]\nname = 'dave'\naccess_key = 'dave-key'\nsecret_key = 'a secret'"
    );
    request.send_when_wanted(|| server.set_users(&more)).await.expect_status(200);
}
