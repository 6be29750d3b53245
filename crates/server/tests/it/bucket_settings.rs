//! Settings that are kept and answered, and what a bucket without them answers.

use crate::harness::{self, BOB};

#[tokio::test]
async fn a_new_bucket_answers_every_question_of_its_settings() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    for (name, status, code) in [
        ("abac", 200, ""),
        ("accelerate", 200, ""),
        ("acl", 200, ""),
        ("analytics", 200, ""),
        ("cors", 404, "NoSuchCORSConfiguration"),
        ("intelligent-tiering", 200, ""),
        ("inventory", 200, ""),
        ("logging", 200, ""),
        ("metadataConfiguration", 404, "MetadataConfigurationNotFound"),
        ("metadataTable", 404, "MetadataConfigurationNotFound"),
        ("metrics", 200, ""),
        ("metrics&id=a", 404, "NoSuchConfiguration"),
        ("notification", 200, ""),
        ("object-lock", 404, "ObjectLockConfigurationNotFoundError"),
        ("ownershipControls", 200, ""),
        ("policy", 404, "NoSuchBucketPolicy"),
        ("policyStatus", 404, "NoSuchBucketPolicy"),
        ("publicAccessBlock", 404, "NoSuchPublicAccessBlockConfiguration"),
        ("replication", 404, "ReplicationConfigurationNotFoundError"),
        ("requestPayment", 200, ""),
        ("tagging", 404, "NoSuchTagSet"),
        ("versioning", 200, ""),
        ("website", 404, "NoSuchWebsiteConfiguration"),
    ] {
        let answer = server.get(&format!("/mine?{name}")).await;
        assert_eq!(answer.status, status, "{name}");
        assert_eq!(answer.element("Code"), code, "{name}");
    }
    assert_eq!(server.get("/mine?requestPayment").await.element("Payer"), "BucketOwner");
    for name in [
        "cors",
        "metadataConfiguration",
        "metadataTable",
        "policy",
        "publicAccessBlock",
        "replication",
        "tagging",
        "website",
    ] {
        server.delete(&format!("/mine?{name}")).await.expect_status(204);
        server.delete(&format!("/none?{name}")).await.expect_error(404, "NoSuchBucket");
        let refused = server.request("DELETE", &format!("/mine?{name}")).by(BOB).send().await;
        refused.expect_error(403, "AccessDenied");
    }
    for name in ["metadataConfiguration", "metadataTable"] {
        let created = server.post(&format!("/mine?{name}"), "<MetadataConfiguration/>").await;
        let created = created.expect_error(501, "NotImplemented");
        assert!(
            created.element("Message").starts_with("CreateBucketMetadata"),
            "{}",
            created.text()
        );
    }
}

/// A setting that would keep nobody out is not accepted.
#[tokio::test]
async fn access_by_tags_is_disabled_and_cannot_be_enabled() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let document = |status: &str| format!("<AbacStatus><Status>{status}</Status></AbacStatus>");
    server.put("/mine?abac", document("Disabled")).await.expect_status(200);
    let enabled = server.put("/mine?abac", document("Enabled")).await;
    enabled.expect_error(501, "NotImplemented");
    for wrong in [
        document("Perhaps"),
        "<AbacStatus></AbacStatus>".to_owned(),
        "<AbacStatus><Status>Disabled</Status><Status>Enabled</Status></AbacStatus>".to_owned(),
        "<AbacStatus><Other>Disabled</Other></AbacStatus>".to_owned(),
        "<Status>Disabled</Status>".to_owned(),
    ] {
        server.put("/mine?abac", wrong).await.expect_error(400, "MalformedXML");
    }
    server.put("/mine?abac", "").await.expect_error(400, "MissingRequestBodyError");
    let digest = server.request("PUT", "/mine?abac").header("x-amz-checksum-crc32", "AAAAAA==");
    digest.body(document("Disabled")).send().await.expect_error(400, "BadDigest");
    assert_eq!(server.get("/mine?abac").await.element("Status"), "Disabled");
    for method in ["GET", "PUT"] {
        let request = server.request(method, "/mine?abac").body(document("Disabled"));
        request.by(BOB).send().await.expect_error(403, "AccessDenied");
        let request = server.request(method, "/none?abac").body(document("Disabled"));
        request.send().await.expect_error(404, "NoSuchBucket");
    }
}

#[tokio::test]
async fn kept_settings_are_answered_as_they_were_given() {
    for server in harness::both().await {
        server.bucket("mine").await;
        let rows = [
            (
                "logging",
                "<BucketLoggingStatus><LoggingEnabled><TargetBucket>mine</TargetBucket>\
                 <TargetPrefix>l/</TargetPrefix></LoggingEnabled></BucketLoggingStatus>",
                "<TargetPrefix>l/</TargetPrefix>",
            ),
            (
                "requestPayment",
                "<RequestPaymentConfiguration><Payer>Requester</Payer></RequestPaymentConfiguration>",
                "<Payer>Requester</Payer>",
            ),
            (
                "accelerate",
                "<AccelerateConfiguration><Status>Suspended</Status></AccelerateConfiguration>",
                "<Status>Suspended</Status>",
            ),
        ];
        for (name, sent, expected) in rows {
            server.put(&format!("/mine?{name}"), sent).await.expect_status(200);
            let got = server.get(&format!("/mine?{name}")).await;
            let text = String::from_utf8(got.body).expect("text");
            assert!(text.contains(expected), "{name}: {text}");
        }
        for (name, sent, code) in [
            (
                "requestPayment",
                "<RequestPaymentConfiguration><Payer>Me</Payer></RequestPaymentConfiguration>",
                "MalformedXML",
            ),
            ("accelerate", "<AccelerateConfiguration/>", "MalformedXML"),
            ("logging", "<BucketLoggingStatus><Other/></BucketLoggingStatus>", "MalformedXML"),
            (
                "logging",
                "<BucketLoggingStatus><LoggingEnabled><TargetBucket>none</TargetBucket>\
                 <TargetPrefix/></LoggingEnabled></BucketLoggingStatus>",
                "InvalidTargetBucketForLogging",
            ),
        ] {
            server.put(&format!("/mine?{name}"), sent).await.expect_error(400, code);
        }
        assert_eq!(server.get("/mine?requestPayment").await.element("Payer"), "Requester");
    }
}

#[tokio::test]
async fn configurations_are_kept_by_id_and_listed_in_pages() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let put = async |id: &str, body_id: &str| {
        let document = format!(
            "<MetricsConfiguration><Id>{body_id}</Id><Filter><Prefix>{body_id}/</Prefix></Filter>\
             </MetricsConfiguration>"
        );
        server.put(&format!("/mine?metrics&id={id}"), document).await
    };
    let ids: Vec<String> = (0..103).map(|number| format!("id{number:03}")).collect();
    for id in &ids {
        put(id, id).await.expect_status(204);
    }
    let two_ids = put("one", "other").await;
    assert_eq!(two_ids.status, 400, "{}", two_ids.text());
    server.delete("/mine?metrics&id=id001").await.expect_status(204);
    let mut listed = Vec::new();
    let mut path = "/mine?metrics".to_owned();
    loop {
        let page = server.get(&path).await.expect_status(200);
        listed.extend(page.elements("Id"));
        if page.element("IsTruncated") == "false" {
            break;
        }
        path =
            format!("/mine?continuation-token={}&metrics", page.element("NextContinuationToken"));
    }
    let expected: Vec<_> = ids.iter().filter(|id| *id != "id001").cloned().collect();
    assert_eq!(listed, expected);
    let one = server.get("/mine?id=id002&metrics").await.expect_status(200);
    assert_eq!(one.element("Prefix"), "id002/");
}
