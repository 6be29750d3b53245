//! Permission in S3 Vectors: policies of vector buckets and of users, for every operation of the table.

use serde_json::{Value, json};

use crate::harness::{ALICE, BOB, TestServer, User, in_memory_with_users};
use crate::reply::Reply;
use crate::vectors::expect_exception;

/// A user of alice's account without policies.
const CAROL: User = User { access_key: "carol-key", secret_key: "carol's secret", id: "" };
/// A user of alice's account who may do everything.
const DAVE: User = User { access_key: "dave-key", secret_key: "dave's secret", id: "" };
/// A user of bob's account who may do everything.
const ERIN: User = User { access_key: "erin-key", secret_key: "erin's secret", id: "" };
/// A user of bob's account without policies.
const FRANK: User = User { access_key: "frank-key", secret_key: "frank's secret", id: "" };

const USERS: &str = r#"
    [[user]]
    name = "alice"
    account = "111122223333"
    access_key = "alice-key"
    secret_key = "alice's secret"

    [[user]]
    name = "carol"
    parent = "alice"
    access_key = "carol-key"
    secret_key = "carol's secret"

    [[user]]
    name = "dave"
    parent = "alice"
    access_key = "dave-key"
    secret_key = "dave's secret"
    policies = ['''{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}''']

    [[user]]
    name = "bob"
    account = "222233334444"
    access_key = "bob-key"
    secret_key = "bob's secret"

    [[user]]
    name = "erin"
    parent = "bob"
    access_key = "erin-key"
    secret_key = "erin's secret"
    policies = ['''{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3vectors:*", "Resource": "*"}}''']

    [[user]]
    name = "frank"
    parent = "bob"
    access_key = "frank-key"
    secret_key = "frank's secret"
"#;

const ARN: &str = "arn:aws:s3vectors:us-east-1:111122223333:bucket/media";

/// The table of operations, as the code has it.
const TABLE: &str = include_str!("../../../s3vectors/src/lib.rs");

/// The operations of the table, and those on tags, which share a line of the code.
fn operations() -> Vec<&'static str> {
    let (_, table) = TABLE.split_once("const OPERATIONS").expect("the table");
    let (table, _) = table.split_once("];").expect("its end");
    let names = table.split("(").skip(1).filter_map(|entry| entry.split('"').nth(1));
    let names = names.chain(["ListTagsForResource", "TagResource", "UntagResource"]);
    names.collect()
}

/// A request for the operation, on the vector bucket `media` and its index `films`. Those that create or
/// delete name others.
async fn send(server: &TestServer, operation: &str, user: User) -> Reply {
    let bucket = json!({"vectorBucketName": "media"});
    let index = json!({"vectorBucketName": "media", "indexName": "films"});
    let with = |body: &Value, more: Value| {
        let mut body = body.clone();
        body.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        body
    };
    let body = match operation {
        "CreateIndex" => {
            let shape = json!({"dataType": "float32", "dimension": 3, "distanceMetric": "cosine"});
            with(&with(&bucket, shape), json!({"indexName": "other"}))
        }
        "CreateVectorBucket" => json!({"vectorBucketName": "created"}),
        "DeleteIndex" => json!({"vectorBucketName": "media", "indexName": "other"}),
        "DeleteVectorBucket"
        | "DeleteVectorBucketPolicy"
        | "GetVectorBucket"
        | "GetVectorBucketPolicy"
        | "ListIndexes" => bucket,
        "DeleteVectors" | "GetVectors" => with(&index, json!({"keys": ["good"]})),
        "GetIndex" | "ListVectors" => index,
        "ListVectorBuckets" => json!({}),
        "PutVectorBucketDefaultIndexMode" => with(&bucket, json!({"defaultIndexMode": "ENHANCED"})),
        "PutVectorBucketPolicy" => with(&bucket, json!({"policy": policy(&[])})),
        "PutVectors" => {
            let vector = json!({"key": "good", "data": {"float32": [1, 2, 3]}});
            with(&index, json!({"vectors": [vector]}))
        }
        "QueryVectors" => with(&index, json!({"topK": 1, "queryVector": {"float32": [1, 2, 3]}})),
        "UpdateIndexMode" => with(&index, json!({"indexMode": "ENHANCED"})),
        "UpdateMetadataConfiguration" => {
            let search = json!({"textSearchConfigurations": [{"metadataKey": "text"}]});
            with(&index, json!({"add": search}))
        }
        "ListTagsForResource" => {
            return server.vectors(&format!("tags/{ARN}"), "").method("GET").by(user).send().await;
        }
        "TagResource" => {
            let body = json!({"tags": {"team": "red"}}).to_string();
            return server.vectors(&format!("tags/{ARN}"), body).by(user).send().await;
        }
        "UntagResource" => {
            let path = format!("tags/{ARN}?tagKeys=team");
            return server.vectors(&path, "").method("DELETE").by(user).send().await;
        }
        other => panic!("{other} needs a request here"),
    };
    server.vectors(operation, body.to_string()).by(user).send().await
}

/// A policy of `media`: statements `(effect, principal, actions, condition)`, on the bucket and its indexes.
fn policy(statements: &[(&str, Value, Value, Value)]) -> String {
    let statements = statements.iter().map(|(effect, principal, actions, condition)| {
        json!({"Effect": effect, "Principal": {"AWS": principal}, "Action": actions,
            "Resource": [ARN, format!("{ARN}/*")], "Condition": condition})
    });
    let mut statements: Vec<Value> = statements.collect();
    if statements.is_empty() {
        statements.push(json!({"Effect": "Deny", "Principal": {"AWS": "999999999999"},
            "Action": "s3vectors:*", "Resource": ARN}));
    }
    json!({"Version": "2012-10-17", "Statement": statements}).to_string()
}

fn user_arn(account: &str, name: &str) -> Value {
    json!(format!("arn:aws:iam::{account}:user/{name}"))
}

async fn set_policy(server: &TestServer, policy: &str) -> Reply {
    let body = json!({"vectorBucketName": "media", "policy": policy});
    server.vectors("PutVectorBucketPolicy", body.to_string()).send().await
}

/// The vector bucket `media` of alice, with the index `films` and one vector in it.
async fn server() -> TestServer {
    let server = in_memory_with_users(USERS).await;
    let bucket = json!({"vectorBucketName": "media"});
    let created = server.vectors("CreateVectorBucket", bucket.to_string()).send().await;
    assert_eq!(created.expect_status(200).text(), json!({"vectorBucketArn": ARN}).to_string());
    let index = json!({"vectorBucketName": "media", "indexName": "films", "dataType": "float32",
        "dimension": 3, "distanceMetric": "cosine"});
    let created = server.vectors("CreateIndex", index.to_string()).send().await;
    let arn = format!("{ARN}/index/films");
    assert_eq!(created.expect_status(200).text(), json!({"indexArn": arn}).to_string());
    send(&server, "PutVectors", ALICE).await.expect_status(200);
    server
}

/// Everything that a request could have changed, as alice sees it.
async fn state(server: &TestServer) -> Vec<String> {
    let mut state = Vec::new();
    for operation in [
        "ListVectorBuckets",
        "GetVectorBucket",
        "GetVectorBucketPolicy",
        "ListTagsForResource",
        "ListIndexes",
        "GetIndex",
        "ListVectors",
    ] {
        state.push(send(server, operation, ALICE).await.text());
    }
    for user in [BOB, CAROL] {
        state.push(send(server, "ListVectorBuckets", user).await.text());
    }
    state
}

/// The operations on no vector bucket that exists.
const OF_ACCOUNT: [&str; 2] = ["CreateVectorBucket", "ListVectorBuckets"];

#[track_caller]
fn expect_denied(reply: &Reply, operation: &str) {
    assert_eq!(reply.status, 403, "{operation}: {}", reply.text());
    let exception = reply.header("x-amzn-errortype");
    assert_eq!(exception, Some("AccessDeniedException"), "{operation}: {}", reply.text());
}

#[tokio::test]
async fn every_operation_needs_its_right() {
    let server = server().await;
    let before = state(&server).await;
    let operations = operations();
    assert_eq!(operations.len(), 22, "{operations:?}");
    for operation in &operations {
        // Without a policy, and of another account.
        expect_denied(&send(&server, operation, CAROL).await, operation);
        expect_denied(&send(&server, operation, FRANK).await, operation);
        if !OF_ACCOUNT.contains(operation) {
            expect_denied(&send(&server, operation, BOB).await, operation);
            expect_denied(&send(&server, operation, ERIN).await, operation);
        }
    }
    assert_eq!(state(&server).await, before);
}

#[tokio::test]
async fn an_explicit_deny_wins_for_every_operation() {
    let server = server().await;
    let all = json!("s3vectors:*");
    let dave = user_arn("111122223333", "dave");
    let policy =
        policy(&[("Allow", dave.clone(), all.clone(), json!({})), ("Deny", dave, all, json!({}))]);
    set_policy(&server, &policy).await.expect_status(200);
    let before = state(&server).await;
    for operation in operations().iter().filter(|it| !OF_ACCOUNT.contains(it)) {
        let reply = send(&server, operation, DAVE).await;
        expect_denied(&reply, operation);
        assert!(reply.text().contains("with an explicit deny"), "{}", reply.text());
    }
    assert_eq!(state(&server).await, before);
}

#[tokio::test]
async fn a_policy_allows_users_and_other_accounts() {
    let server = server().await;
    let all = json!("s3vectors:*");
    let who = json!(["222233334444", "arn:aws:iam::111122223333:user/carol"]);
    set_policy(&server, &policy(&[("Allow", who, all, json!({}))])).await.expect_status(200);
    // Those that take something away go last.
    let mut operations = operations();
    operations.retain(|operation| !OF_ACCOUNT.contains(operation));
    operations.retain(|it| !matches!(*it, "DeleteVectorBucketPolicy" | "PutVectorBucketPolicy"));
    operations.sort_by_key(|operation| match *operation {
        "DeleteVectorBucket" => 3,
        "DeleteIndex" | "UntagResource" | "DeleteVectors" => 2,
        _ => 1,
    });
    for operation in operations {
        // The user of bob's account needs his account's leave as well.
        expect_denied(&send(&server, operation, FRANK).await, operation);
        for user in [BOB, ERIN, CAROL] {
            let reply = send(&server, operation, user).await;
            let expected = match operation {
                "CreateIndex" | "UpdateMetadataConfiguration" if user != BOB => 409,
                "DeleteIndex" if user != BOB => 404,
                "DeleteVectorBucket" => 409,
                _ => 200,
            };
            let name = user.access_key;
            assert_eq!(reply.status, expected, "{operation} by {name}: {}", reply.text());
        }
    }
    send(&server, "DeleteVectorBucketPolicy", CAROL).await.expect_status(200);
    expect_denied(&send(&server, "GetVectorBucket", CAROL).await, "without the policy");
}

#[tokio::test]
async fn reading_metadata_needs_the_right_to_get_vectors() {
    let server = server().await;
    let carol = user_arn("111122223333", "carol");
    let actions = json!(["s3vectors:QueryVectors", "s3vectors:ListVectors"]);
    let only_keys = policy(&[("Allow", carol, actions, json!({}))]);
    set_policy(&server, &only_keys).await.expect_status(200);
    send(&server, "QueryVectors", CAROL).await.expect_status(200);
    send(&server, "ListVectors", CAROL).await.expect_status(200);
    let index = r#""vectorBucketName": "media", "indexName": "films""#;
    let query = r#""topK": 1, "queryVector": {"float32": [1, 2, 3]}"#;
    for (operation, fields) in [
        ("QueryVectors", format!(r#"{query}, "returnMetadata": true"#)),
        ("QueryVectors", format!(r#"{query}, "filter": {{"n": 1}}"#)),
        ("ListVectors", r#""returnMetadata": true"#.to_owned()),
        ("ListVectors", r#""returnData": true"#.to_owned()),
    ] {
        let body = format!("{{{index}, {fields}}}");
        let reply = server.vectors(operation, &body).by(CAROL).send().await;
        expect_denied(&reply, &body);
        server.vectors(operation, &body).send().await.expect_status(200);
    }
}

#[tokio::test]
async fn conditions_see_the_request_and_the_tags() {
    let server = server().await;
    send(&server, "TagResource", ALICE).await.expect_status(200);
    let carol = || user_arn("111122223333", "carol");
    for (action, condition, operation, is_allowed) in [
        ("GetIndex", json!({"IpAddress": {"aws:SourceIp": "127.0.0.0/8"}}), "GetIndex", true),
        ("GetIndex", json!({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}), "GetIndex", false),
        ("GetIndex", json!({"Bool": {"aws:SecureTransport": "true"}}), "GetIndex", false),
        (
            "GetIndex",
            json!({"StringEquals": {"aws:RequestedRegion": "us-east-1"}}),
            "GetIndex",
            true,
        ),
        (
            "GetIndex",
            json!({"StringEquals": {"aws:ResourceAccount": "111122223333"}}),
            "GetIndex",
            true,
        ),
        ("GetIndex", json!({"DateLessThan": {"aws:CurrentTime": "2020-01-01"}}), "GetIndex", false),
        (
            "GetIndex",
            json!({"StringEquals": {"s3vectors:VectorBucketTag/team": "red"}}),
            "GetIndex",
            true,
        ),
        (
            "GetIndex",
            json!({"StringEquals": {"s3vectors:VectorBucketTag/team": "blue"}}),
            "GetIndex",
            false,
        ),
        ("GetIndex", json!({"StringEquals": {"aws:ResourceTag/team": "red"}}), "GetIndex", false),
        (
            "GetVectorBucket",
            json!({"StringEquals": {"aws:ResourceTag/team": "red"}}),
            "GetVectorBucket",
            true,
        ),
        (
            "TagResource",
            json!({"StringEquals": {"aws:RequestTag/team": "red"}}),
            "TagResource",
            true,
        ),
        (
            "TagResource",
            json!({"ForAllValues:StringEquals": {"aws:TagKeys": ["other"]}}),
            "TagResource",
            false,
        ),
        (
            "UntagResource",
            json!({"ForAnyValue:StringEquals": {"aws:TagKeys": ["team"]}}),
            "UntagResource",
            true,
        ),
        (
            "CreateIndex",
            json!({"StringEquals": {"s3vectors:sseType": "aws:kms"}}),
            "CreateIndex",
            false,
        ),
        ("CreateIndex", json!({"Null": {"s3vectors:sseType": "true"}}), "CreateIndex", true),
    ] {
        let action = json!(format!("s3vectors:{action}"));
        let policy = policy(&[("Allow", carol(), action, condition.clone())]);
        set_policy(&server, &policy).await.expect_status(200);
        let reply = send(&server, operation, CAROL).await;
        assert_eq!(
            reply.status,
            if is_allowed { 200 } else { 403 },
            "{condition} {}",
            reply.text()
        );
    }
}

#[tokio::test]
async fn bad_policies_are_refused_and_nothing_is_stored() {
    let server = server().await;
    let good = policy(&[("Allow", json!("222233334444"), json!("s3vectors:*"), json!({}))]);
    set_policy(&server, &good).await.expect_status(200);
    for (bad, part) in [
        (String::new(), "first byte"),
        ("[]".to_owned(), "first byte"),
        ("{".to_owned(), "invalid Json"),
        (good.replace("Principal", "principal"), "Missing required field Principal"),
        (good.replace("s3vectors:*", "s3:GetObject"), "invalid action (s3:GetObject)"),
        (good.replace("222233334444", "2222"), "Invalid principal"),
        (good.replace("2012-10-17", "2012-10-18"), "valid version"),
        (good.replace("{}", r#"{"StringEquals":{"s3:prefix":"x"}}"#), "invalid condition key"),
        (good.replace("2012-10-17", &" ".repeat(21_000)), "20480 bytes"),
    ] {
        let reply = set_policy(&server, &bad).await;
        expect_exception(&reply, 400, "ValidationException", ("/policy", part));
    }
    // As on AWS, a policy may name another bucket: it has no effect there.
    let other = good.replace(ARN, "arn:aws:s3vectors:us-east-1:111122223333:bucket/other");
    set_policy(&server, &other).await.expect_status(200);
    set_policy(&server, &good).await.expect_status(200);
    let public = policy(&[("Allow", json!("*"), json!("s3vectors:*"), json!({}))]);
    expect_denied(&set_policy(&server, &public).await, "a public policy");
    let kept = send(&server, "GetVectorBucketPolicy", ALICE).await;
    assert_eq!(kept.text(), json!({"policy": good}).to_string());
}

#[tokio::test]
async fn the_root_user_removes_a_policy_that_locks_everybody_out() {
    let server = server().await;
    let locked = policy(&[("Deny", json!("*"), json!("s3vectors:*"), json!({}))]);
    set_policy(&server, &locked).await.expect_status(200);
    for user in [ALICE, DAVE] {
        expect_denied(&send(&server, "GetVectorBucket", user).await, "locked out");
    }
    expect_denied(&send(&server, "DeleteVectorBucketPolicy", DAVE).await, "not the root user");
    send(&server, "GetVectorBucketPolicy", ALICE).await.expect_status(200);
    send(&server, "DeleteVectorBucketPolicy", ALICE).await.expect_status(200);
    send(&server, "GetVectorBucket", DAVE).await.expect_status(200);
}
