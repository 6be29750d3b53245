//! Replication configurations, and requests for replication, that are refused.

use liteio::{RemoteSources, RemoteTarget, ReplicationSettings};
use liteio_admin::fuzzing::seal_admin_body;
use liteio_store::{BodyOptions, BucketName, ObjectKey, PutOptions, Store, StoreConfig};
use serde_json::{Value, json};

use crate::harness::{self, ACCOUNTS, ALICE, BOB, CAROL, TestServer};
use crate::reply::Reply;

const ARN: &str = "arn:minio:replication:us-east-1:1:copies";

/// A server with a target that is for the bucket `mine` only.
async fn server() -> TestServer {
    over(Store::open(StoreConfig::memory()).expect("memory")).await
}

/// The same over a store that is open.
async fn over(store: Store) -> TestServer {
    harness::start_with("memory", "us-east-1", |builder, _| {
        let target = RemoteTarget {
            arn: ARN.to_owned(),
            url: "http://127.0.0.1:1".to_owned(),
            bucket: "copies".to_owned(),
            access_key: "user".to_owned(),
            secret_key: "hush".to_owned(),
            region: None,
            kind: None,
            sources: RemoteSources::Named(vec!["mine".to_owned()]),
        };
        let settings = ReplicationSettings { targets: vec![target], file: None };
        builder.store(store).replication(settings)
    })
    .await
}

const ENABLED: &str = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";

async fn versioned(server: &TestServer, name: &str) {
    server.bucket(name).await;
    server.put(&format!("/{name}?versioning"), ENABLED).await.expect_status(200);
}

fn document(rules: &str) -> String {
    format!("<ReplicationConfiguration><Role>r</Role>{rules}</ReplicationConfiguration>")
}

/// A rule of the second version with these members besides.
fn rule(priority: u32, more: &str) -> String {
    format!(
        "<Rule><Status>Enabled</Status><Priority>{priority}</Priority>\
         <DeleteMarkerReplication><Status>Disabled</Status></DeleteMarkerReplication>\
         <Destination><Bucket>{ARN}</Bucket></Destination>{more}</Rule>"
    )
}

const ALL: &str = "<Filter><Prefix>a/</Prefix></Filter>";

#[tokio::test]
async fn rules_are_kept_answered_and_taken_away() {
    let server = server().await;
    versioned(&server, "mine").await;
    let missing = server.get("/mine?replication").await;
    missing.expect_error(404, "ReplicationConfigurationNotFoundError");
    let tags = "<ID>tags</ID><Filter><And><Prefix>b&amp;</Prefix><Tag><Key>k</Key><Value>v</Value>\
                </Tag></And></Filter>";
    let sent = document(&format!("{}{}", rule(1, ALL), rule(7, tags)));
    server.put("/mine?replication", sent).await.expect_status(200);
    let kept = server.get("/mine?replication").await.expect_status(200);
    assert_eq!(kept.elements("ID"), ["replication-1", "tags"]);
    assert_eq!(kept.elements("Prefix"), ["a/", "b&"]);
    assert_eq!(kept.elements("Priority"), ["1", "7"]);
    assert_eq!(kept.elements("Bucket"), [ARN, ARN]);
    // What is answered can be sent again.
    server.put("/mine?replication", kept.text()).await.expect_status(200);
    // The empty elements of `mc`.
    let of_mc = "<Filter><Prefix></Prefix><And></And><Tag></Tag></Filter>";
    server.put("/mine?replication", document(&rule(3, of_mc))).await.expect_status(200);
    server.put("/mine?replication", kept.text()).await.expect_status(200);
    let suspended = "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";
    let refused = server.put("/mine?versioning", suspended).await;
    refused.expect_error(409, "InvalidBucketState");
    server.put("/mine/a/1", "1").await.expect_status(200);
    server.put("/mine/c", "1").await.expect_status(200);
    let head = server.head("/mine/a/1").await.expect_status(200);
    assert_eq!(head.header("x-amz-replication-status"), Some("PENDING"));
    let head = server.head("/mine/c").await.expect_status(200);
    assert_eq!(head.header("x-amz-replication-status"), None);
    server.delete("/mine?replication").await.expect_status(204);
    server.delete("/mine?replication").await.expect_status(204);
    // `mc replicate rm` of the last rule sends this, and takes MinIO's 200 alone for success.
    let by_mc = server.request("DELETE", "/mine?replication");
    let by_mc = by_mc.header("user-agent", "MinIO (linux; amd64) minio-go/v7.0.91 mc/DEVELOPMENT");
    by_mc.send().await.expect_status(200);
    let missing = server.get("/mine?replication").await;
    missing.expect_error(404, "ReplicationConfigurationNotFoundError");
    server.put("/mine?versioning", suspended).await.expect_status(200);
}

#[tokio::test]
async fn rules_that_make_no_sense_are_refused_and_the_old_ones_stay() {
    let server = server().await;
    for bucket in ["mine", "other"] {
        versioned(&server, bucket).await;
    }
    server.put("/mine?replication", document(&rule(1, ALL))).await.expect_status(200);
    let one = |more: &str| document(&rule(1, more));
    let of = |arn: &str| document(&rule(1, ALL).replace(ARN, arn));
    let rows = [
        (one(ALL).replace("<Role>r</Role>", ""), 400, "MalformedXML"),
        (document(""), 400, "MalformedXML"),
        (one(ALL).replace("Enabled", "enabled"), 400, "MalformedXML"),
        (one(&format!("{ALL}{ALL}")), 400, "MalformedXML"),
        (one(&format!("{ALL}<Prefix>a</Prefix>")), 400, "MalformedXML"),
        (one("<Filter><And><Prefix>a</Prefix></And></Filter>"), 400, "MalformedXML"),
        (one("<Filter><Or/></Filter>"), 400, "MalformedXML"),
        (one(ALL).replace("<Priority>1<", "<Priority>-1<"), 400, "MalformedXML"),
        (one(ALL).replace("<Priority>1</Priority>", ""), 400, "InvalidRequest"),
        (
            one(ALL).replace(
                "<DeleteMarkerReplication><Status>Disabled</Status></DeleteMarkerReplication>",
                "",
            ),
            400,
            "InvalidRequest",
        ),
        (document(&format!("{}{}", rule(1, ALL), rule(1, ALL))), 400, "InvalidRequest"),
        (
            document(&format!(
                "{}{}",
                rule(1, &format!("<ID>a</ID>{ALL}")),
                rule(2, &format!("<ID>a</ID>{ALL}"))
            )),
            400,
            "InvalidRequest",
        ),
        (
            one("<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>")
                .replace("Disabled", "Enabled"),
            400,
            "InvalidRequest",
        ),
        (of("arn:aws:s3:::nowhere"), 400, "InvalidRequest"),
        (
            one(ALL).replace("</Destination>", "<StorageClass>FAST</StorageClass></Destination>"),
            400,
            "InvalidStorageClass",
        ),
        (
            one(ALL).replace(
                "</Destination>",
                "<EncryptionConfiguration><ReplicaKmsKeyID>k</ReplicaKmsKeyID>\
                 </EncryptionConfiguration></Destination>",
            ),
            501,
            "NotImplemented",
        ),
        (
            one(ALL).replace(
                "</Destination>",
                "<ReplicationTime><Status>Enabled</Status><Time><Minutes>15</Minutes></Time>\
                 </ReplicationTime></Destination>",
            ),
            501,
            "NotImplemented",
        ),
    ];
    for (sent, status, code) in rows {
        server.put("/mine?replication", &sent).await.expect_error(status, code);
    }
    // The target is not for this bucket.
    let refused = server.put("/other?replication", document(&rule(1, ALL))).await;
    refused.expect_error(400, "InvalidRequest");
    let kept = server.get("/mine?replication").await.expect_status(200);
    assert_eq!(kept.elements("Priority"), ["1"]);
    for user in [BOB, CAROL] {
        let denied = server.request("GET", "/mine?replication").by(user).send().await;
        assert_eq!(denied.status, 403, "{user:?}");
    }
}

const STAMP: &str = "fffe6fffffffffff0123456789abcdef";

/// The headers of a copy.
const COPY: [(&str, &str); 5] = [
    ("x-minio-source-replication-request", "true"),
    ("x-minio-source-version-id", STAMP),
    ("x-minio-source-mtime", "2026-01-02T03:04:05.678Z"),
    ("x-minio-source-etag", "0123456789abcdef0123456789abcdef-3"),
    ("x-liteio-source-stamp", STAMP),
];

#[tokio::test]
async fn a_copy_keeps_its_identity_and_is_made_once() {
    let server = server().await;
    versioned(&server, "mine").await;
    for _ in 0..2 {
        let put = server.request("PUT", "/mine/a").headers(&COPY).body("1").send().await;
        let put = put.expect_status(200);
        assert_eq!(put.header("x-amz-version-id"), Some(STAMP));
        assert_eq!(put.header("etag"), Some("\"0123456789abcdef0123456789abcdef-3\""));
    }
    let listed = server.get("/mine?versions").await.expect_status(200);
    assert_eq!(listed.elements("VersionId"), [STAMP]);
    assert_eq!(listed.element("LastModified"), "2026-01-02T03:04:05.000Z");
    // A local version is newer; a copy with an older stamp goes behind it.
    server.put("/mine/a", "2").await.expect_status(200);
    let older = STAMP.replace("6fff", "7fff");
    let put = server.request("PUT", "/mine/a").headers(&COPY).body("0");
    let put =
        put.header("x-liteio-source-stamp", &older).header("x-minio-source-version-id", &older);
    put.send().await.expect_status(200);
    let listed = server.get("/mine?versions").await.expect_status(200);
    assert_eq!(listed.elements("VersionId")[1..], [STAMP, &older]);
    assert_eq!(server.get("/mine/a").await.text(), "2");
    assert_eq!(server.get(&format!("/mine/a?versionId={older}")).await.text(), "0");
}

#[tokio::test]
async fn copies_are_taken_only_from_those_who_may_and_only_whole() {
    let server = server().await;
    versioned(&server, "mine").await;
    server.bucket("plain").await;
    let put = |path: &str| server.request("PUT", path).headers(&COPY).body("1");
    // MinIO's version ids have no order.
    let of_minio = server.request("PUT", "/mine/a").headers(&COPY[..4]).body("1").send().await;
    of_minio.expect_error(501, "NotImplemented");
    put("/mine/a")
        .header("x-liteio-source-stamp", "x")
        .send()
        .await
        .expect_error(400, "InvalidArgument");
    put("/mine/a")
        .header("x-minio-source-mtime", "x")
        .send()
        .await
        .expect_error(400, "InvalidArgument");
    // A stamp of the far future would leave no later one.
    let far = "0".repeat(32);
    put("/mine/a")
        .header("x-liteio-source-stamp", far)
        .send()
        .await
        .expect_error(400, "InvalidRequest");
    put("/plain/a").send().await.expect_error(409, "InvalidBucketState");
    // An operation that does not know copies.
    let copied = put("/mine/b").header("x-amz-copy-source", "/mine/a").send().await;
    copied.expect_error(501, "NotImplemented");
    let policy = |actions: &str| {
        format!(
            "{{\"Version\":\"2012-10-17\",\"Statement\":[{{\"Effect\":\"Allow\",\"Principal\":\"*\",\
             \"Action\":[{actions}],\"Resource\":\"arn:aws:s3:::mine/*\"}}]}}"
        )
    };
    let plain = "\"s3:PutObject\",\"s3:DeleteObject\",\"s3:PutObjectTagging\"";
    server.put("/mine?policy", policy(plain)).await.expect_status(204);
    let delete = || {
        server
            .request("DELETE", "/mine/a")
            .headers(&COPY)
            .header("x-minio-source-deletemarker", "true")
    };
    assert_eq!(server.request("PUT", "/mine/a").by(BOB).body("1").send().await.status, 200);
    assert_eq!(put("/mine/a").by(BOB).send().await.status, 403);
    assert_eq!(delete().by(BOB).send().await.status, 403);
    let more = format!("{plain},\"s3:ReplicateObject\",\"s3:ReplicateDelete\"");
    server.put("/mine?policy", policy(&more)).await.expect_status(204);
    assert_eq!(put("/mine/a").by(BOB).send().await.status, 200);
    assert_eq!(delete().by(BOB).send().await.status, 204);
    assert_eq!(delete().by(ALICE).send().await.status, 204);
}

/// A request of MinIO's admin API about targets.
async fn admin(
    server: &TestServer,
    by: crate::harness::User,
    method: &'static str,
    query: &str,
    body: Option<Value>,
) -> Reply {
    let body = body.map(|body| seal_admin_body(by.secret_key, body.to_string().as_bytes()));
    let request = server.request(method, &format!("/minio/admin/v3/{query}")).by(by);
    request.body(body.unwrap_or_default()).send().await
}

fn json_of(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("{}", reply.everything()))
}

#[tokio::test]
async fn a_target_is_added_at_run_time_for_one_bucket_and_shows_no_secret() {
    let copy = harness::memory().await;
    versioned(&copy, "copies").await;
    let server = harness::in_memory_with_users(ACCOUNTS).await;
    versioned(&server, "mine").await;
    let endpoint = copy.endpoint().replace("http://", "");
    let new = |secret: &str| {
        json!({
            "sourcebucket": "mine", "endpoint": endpoint, "targetbucket": "copies", "secure": false,
            "credentials": { "accessKey": ALICE.access_key, "secretKey": secret }, "type": "replication",
        })
    };
    let set = "set-remote-target?bucket=mine";
    for user in [BOB, CAROL] {
        let refused = admin(&server, user, "PUT", set, Some(new("x"))).await;
        assert_ne!(refused.status, 200, "{}", refused.everything());
    }
    let wrong = json!({ "endpoint": "a/b", "targetbucket": "c", "credentials": { "accessKey": "a", "secretKey": "b" } });
    assert_eq!(admin(&server, ALICE, "PUT", set, Some(wrong)).await.status, 400);
    let made = admin(&server, ALICE, "PUT", set, Some(new(ALICE.secret_key)));
    let made = made.await.expect_status(200);
    let arn = json_of(&made).as_str().expect("an ARN").to_owned();
    assert!(arn.starts_with("arn:minio:replication::") && arn.ends_with(":copies"), "{arn}");
    // The same target gets other credentials, unless they are wrong.
    let update = format!("{set}&update=true");
    for query in [set, &update] {
        let mistyped = admin(&server, ALICE, "PUT", query, Some(new("wrong"))).await;
        assert!(mistyped.text().contains("SignatureDoesNotMatch"), "{}", mistyped.everything());
    }
    let again = admin(&server, ALICE, "PUT", &update, Some(new(ALICE.secret_key)));
    assert_eq!(json_of(&again.await.expect_status(200)), json!(arn));
    let listed =
        admin(&server, ALICE, "GET", "list-remote-targets?bucket=mine&type=replication", None);
    let listed = listed.await.expect_status(200);
    assert!(!listed.text().contains(ALICE.secret_key), "{}", listed.text());
    let listed = json_of(&listed);
    assert_eq!((&listed[0]["arn"], &listed[0]["endpoint"]), (&json!(arn), &json!(endpoint)));

    let sent = document(&rule(1, ALL).replace(ARN, &arn));
    versioned(&server, "other").await;
    server.put("/other?replication", &sent).await.expect_error(400, "InvalidRequest");
    server.put("/mine?replication", &sent).await.expect_status(200);
    server.put("/mine/a/1", "1").await.expect_status(200);
    loop {
        if copy.get("/copies/a/1").await.status == 200 {
            break;
        }
    }
    let remove = format!("remove-remote-target?bucket=mine&arn={arn}");
    assert_eq!(admin(&server, ALICE, "DELETE", &remove, None).await.status, 400, "a rule names it");

    // A walk sends everything again.
    let path = format!("/mine?replication-reset=&arn={arn}&reset-id=walk-1&older-than=0s");
    let begun = server.put(&path, "").await.expect_status(200);
    assert_eq!(json_of(&begun)["target"][0]["resetid"], "walk-1");
    loop {
        let status = server.get("/mine?replication-reset-status=").await.expect_status(200);
        if json_of(&status)["target"][0]["resyncStatus"] == "Completed" {
            break;
        }
    }
    loop {
        let figures = server.get("/mine?replication-metrics=2").await.expect_status(200);
        let figures = json_of(&figures);
        let of_target = &figures["currStats"]["Stats"][&arn];
        if of_target["replicationCount"] == 2 && of_target["pendingReplicationCount"] == 0 {
            break;
        }
    }
    assert_eq!(copy.get("/copies?versions").await.elements("Key"), ["a/1"]);
    server.put("/mine?replication-reset=&arn=other", "").await.expect_error(400, "InvalidRequest");
    // None runs, so there is none to cancel.
    let cancelled = server.put(&format!("/mine?replication-reset-cancel=&arn={arn}"), "").await;
    assert_eq!(cancelled.expect_status(200).text(), "");
    let status = server.get("/mine?replication-reset-status=").await.expect_status(200);
    assert_eq!(json_of(&status)["target"][0]["resyncStatus"], "Completed");

    // A bucket that gets the name cannot use the credentials.
    let versions = server.get("/mine?versions").await.elements("VersionId");
    server.delete(&format!("/mine/a/1?versionId={}", versions[0])).await.expect_status(204);
    server.delete("/mine").await.expect_status(204);
    server.request("PUT", "/mine").by(BOB).send().await.expect_status(200);
    let enabled = server.request("PUT", "/mine?versioning").by(BOB).body(ENABLED);
    enabled.send().await.expect_status(200);
    let put = server.request("PUT", "/mine?replication").by(BOB).body(&sent).send().await;
    put.expect_error(400, "InvalidRequest");
}

#[tokio::test]
async fn a_target_that_cannot_be_used_is_refused_and_nothing_is_kept() {
    let copy = harness::memory().await;
    copy.bucket("unversioned").await;
    let server = harness::in_memory_with_users(ACCOUNTS).await;
    versioned(&server, "mine").await;
    let there = copy.endpoint().replace("http://", "");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let nobody = listener.local_addr().expect("an address").to_string();
    drop(listener);
    for (endpoint, bucket, reason) in [
        (&there, "missing", "NoSuchBucket"),
        (&there, "unversioned", "has no versioning"),
        (&nobody, "copies", "cannot be used"),
    ] {
        let keys = json!({ "accessKey": ALICE.access_key, "secretKey": ALICE.secret_key });
        let target = json!({ "endpoint": endpoint, "targetbucket": bucket, "credentials": keys });
        let set = "set-remote-target?bucket=mine";
        let refused = admin(&server, ALICE, "PUT", set, Some(target)).await;
        assert_eq!(refused.status, 400, "{}", refused.everything());
        assert!(refused.text().contains(reason), "{}", refused.everything());
    }
    let listed = admin(&server, ALICE, "GET", "list-remote-targets?bucket=mine", None).await;
    assert_eq!(json_of(&listed.expect_status(200)), json!([]));
}

/// Other services have shorter secrets than this one allows.
#[tokio::test]
async fn a_target_may_have_a_short_secret() {
    let unchecked = |builder: liteio::ServerBuilder, _: &std::path::Path| {
        builder.credentials("liteio", "liteio123").no_auth()
    };
    let copy = harness::start_with("memory", "us-east-1", unchecked).await;
    versioned(&copy, "copies").await;
    let server = harness::in_memory_with_users(ACCOUNTS).await;
    versioned(&server, "mine").await;
    let target = json!({
        "endpoint": copy.endpoint().replace("http://", ""), "targetbucket": "copies",
        "credentials": { "accessKey": "test", "secretKey": "test" },
    });
    let made = admin(&server, ALICE, "PUT", "set-remote-target?bucket=mine", Some(target)).await;
    let arn = json_of(&made.expect_status(200)).as_str().expect("an ARN").to_owned();
    let rules = document(&rule(1, ALL).replace(ARN, &arn));
    server.put("/mine?replication", &rules).await.expect_status(200);
    server.put("/mine/a/1", "1").await.expect_status(200);
    while copy.get("/copies/a/1").await.status != 200 {}
}

#[tokio::test]
async fn a_walk_that_waits_for_its_target_is_cancelled() {
    let store = Store::open(StoreConfig::memory()).expect("memory");
    let server = over(store.clone()).await;
    versioned(&server, "mine").await;
    server.put("/mine?replication", document(&rule(1, ALL))).await.expect_status(200);
    // More changes wait for the target, which is down, than a walk adds to.
    let bucket = store.bucket(&BucketName::new("mine").expect("a name")).expect("a bucket");
    let key = ObjectKey::new("a/1").expect("a key");
    let put = || {
        let body = store.begin_body(BodyOptions::default()).and_then(|body| body.finish());
        store.put_object(&bucket, key.clone(), body.expect("staged"), PutOptions::default())
    };
    let puts: Vec<_> = (0..=10_000).map(|_| put()).collect();
    for result in futures_util::future::join_all(puts).await {
        result.expect("put");
    }
    let begun = server.put("/mine?replication-reset=&reset-id=walk", "").await.expect_status(200);
    assert_eq!(json_of(&begun)["target"][0]["resetid"], "walk");
    let status = async || {
        let status = server.get("/mine?replication-reset-status=").await.expect_status(200);
        json_of(&status)["target"][0]["resyncStatus"].clone()
    };
    assert_eq!(status().await, "Ongoing");
    let cancelled = server.put("/mine?replication-reset-cancel=", "").await.expect_status(200);
    assert_eq!(cancelled.text(), "walk");
    assert_eq!(status().await, "Canceled");
}
