//! The test API: requests that fail, wait or are cut off, as they are asked to.

use serde_json::{Value, json};

use crate::harness::{TestServer, User};
use crate::test_api::{ask, server, tell, told};

#[tokio::test]
async fn faults_fail_as_often_as_they_are_asked_to_and_before_anything_is_done() {
    let server = server().await;
    server.bucket("bucket").await;
    let rule = json!({ "operation": "PutObject", "key": "a*", "status": 503, "times": 2,
        "code": "SlowDown", "message": "not now" });
    assert_eq!(told(&server, "POST", "/faults", rule).await["id"], "1");
    server.put("/bucket/b", "other").await.expect_status(200);
    for _ in 0..2 {
        let reply = server.put("/bucket/a", "value").await.expect_error(503, "SlowDown");
        assert_eq!(reply.element("Message"), "not now");
        server.get("/bucket/a").await.expect_error(404, "NoSuchKey");
    }
    server.put("/bucket/a", "value").await.expect_status(200);
    assert_eq!(told(&server, "GET", "/faults", Value::Null).await["faults"][0]["hits"], 2);
    tell(&server, "DELETE", "/faults", Value::Null, 204).await;

    // In the words of each service, by the name of each operation.
    for operation in ["ListVectorBuckets", "ListUsers", "GetCallerIdentity"] {
        tell(&server, "POST", "/faults", json!({ "operation": operation, "status": 500 }), 201)
            .await;
    }
    let reply = server.vectors("ListVectorBuckets", "{}").send().await.expect_status(500);
    assert!(reply.text().contains("\"message\""), "{}", reply.text());
    let reply = server.form("iam", "Action=ListUsers").send().await.expect_status(500);
    assert!(reply.text().starts_with("<ErrorResponse"), "{}", reply.text());
    server.form("sts", "Action=GetCallerIdentity").send().await.expect_status(500);
    server.form("iam", "Action=ListRoles").send().await.expect_status(200);
}

#[tokio::test]
async fn a_rule_that_would_never_apply_is_refused_with_the_name_that_was_meant() {
    let server = server().await;
    for (operation, expected) in [
        ("GetObjct", "did you mean \"GetObject\"?"),
        ("getObject", "did you mean \"GetObject\"?"),
        ("QueryVector", "did you mean \"QueryVectors\"?"),
        ("CreateUsr", "did you mean \"CreateUser\"?"),
        ("PutObjectCommand", "did you mean \"PutObject\"?"),
        ("s3:PutObject", "did you mean \"PutObject\"?"),
        ("Fetch*", "names of AWS"),
    ] {
        let rule = json!({ "operation": operation, "status": 503 });
        let told = ask(&server, "POST", "/faults", &rule).await.expect_status(400).text();
        assert!(told.contains(operation.trim_end_matches('*')), "{told}");
        let told = told.replace("\\\"", "\"").replace("&quot;", "\"");
        assert!(told.contains(expected), "{operation}: {told}");
    }
    for (names, rule) in [
        ("leave key out", json!({ "operation": "DeleteObjects", "key": "b", "status": 500 })),
        ("leave key out", json!({ "operation": "CreateBucket", "key": "b*", "status": 500 })),
        ("leave bucket out", json!({ "operation": "ListBuckets", "bucket": "b", "status": 500 })),
    ] {
        let told = ask(&server, "POST", "/faults", &rule).await.expect_status(400).text();
        assert!(told.contains(names), "{rule}: {told}");
    }
    let rule = json!({ "operation": "DeleteObject*", "key": "b", "status": 500 });
    tell(&server, "POST", "/faults", rule, 201).await;
    for operation in ["*Object*", "GetObject?cl", "AssumeRole", "DeleteIndex", "*"] {
        let rule = json!({ "operation": operation, "bucket": "none", "status": 503 });
        tell(&server, "POST", "/faults", rule, 201).await;
    }
}

#[tokio::test]
async fn of_s3_vectors_bucket_and_key_are_the_vector_bucket_and_the_index() {
    let server = server().await;
    let make = |name: &str| {
        let bucket = json!({ "vectorBucketName": name });
        server.vectors("CreateVectorBucket", bucket.to_string()).send_owned()
    };
    make("media").await.expect_status(200);
    let index = |by: Value| {
        let mut index = json!({ "indexName": "films", "dataType": "float32", "dimension": 2,
            "distanceMetric": "cosine" });
        index.as_object_mut().expect("fields").extend(by.as_object().expect("names").clone());
        server.vectors("CreateIndex", index.to_string()).send_owned()
    };
    let by_name = json!({ "vectorBucketName": "media" });
    let by_arn =
        json!({ "vectorBucketArn": "arn:aws:s3vectors:us-east-1:000000000000:bucket/media" });
    let rule = |bucket: &str, key: &str| json!({ "bucket": bucket, "key": key, "status": 429 });
    for (bucket, key) in [("CreateIndex", "*"), ("media", "songs"), ("med*", "film?")] {
        tell(&server, "POST", "/faults", rule(bucket, key), 201).await;
    }
    for by in [&by_name, &by_arn] {
        index(by.clone()).await.expect_status(429);
    }
    let hits = told(&server, "GET", "/faults", Value::Null).await;
    let hits = [0_usize, 1, 2].map(|rule| hits["faults"][rule]["hits"].as_u64());
    assert_eq!(hits, [Some(0), Some(0), Some(2)]);
    tell(&server, "DELETE", "/faults", Value::Null, 204).await;
    index(by_name).await.expect_status(200);

    let path = "/requests/wait?bucket=media&count=4";
    let found = told(&server, "GET", path, Value::Null).await["requests"].clone();
    let found = found.as_array().expect("requests").iter();
    let operations: Vec<_> = found.map(|it| it["operation"].clone()).collect();
    assert_eq!(operations, ["CreateVectorBucket", "CreateIndex", "CreateIndex", "CreateIndex"]);
    let path = "/requests/wait?bucket=media&key=films&count=3";
    let found = told(&server, "GET", path, Value::Null).await["requests"].clone();
    assert_eq!((found.as_array().map(Vec::len), &found[0]["key"]), (Some(3), &json!("films")));
    // Nothing of a body that cannot be read, or was not, is a name.
    server.vectors("ListIndexes", "no JSON").send().await.expect_status(400);
    let stranger = User { access_key: "stranger", secret_key: "of-a-stranger", id: "" };
    server.vectors("CreateIndex", "{}").by(stranger).send().await.expect_status(403);
    let path = "/requests/wait?operation=*&bucket=?*&count=5&timeout_ms=1";
    ask(&server, "GET", path, &Value::Null).await.expect_error(408, "RequestTimeout");
}

#[tokio::test]
async fn answers_are_cut_off_after_the_operation() {
    let server = server().await;
    server.bucket("bucket").await;
    server.put("/bucket/key", vec![b'x'; 100_000]).await.expect_status(200);
    let cut = json!({ "operation": "GetObject", "cut_after_bytes": 10 });
    tell(&server, "POST", "/faults", cut, 201).await;
    assert!(server.request("GET", "/bucket/key").try_send().await.is_none());
    server.get("/bucket").await.expect_status(200);
    tell(&server, "DELETE", "/faults/1", Value::Null, 204).await;
    // Nothing of an answer, and the object is there.
    let lost = json!({ "operation": "PutObject", "cut_after_bytes": 0, "times": 1 });
    tell(&server, "POST", "/faults", lost, 201).await;
    assert!(server.request("PUT", "/bucket/lost").body("there").try_send().await.is_none());
    assert_eq!(server.get("/bucket/lost").await.text(), "there");
}

#[tokio::test]
async fn answers_without_a_body_are_cut_off_as_well() {
    let server = server().await;
    server.bucket("bucket").await;
    let put = server.put("/bucket/key", "value").await.expect_status(200);
    let etag = put.header("etag").expect("an ETag").to_owned();
    tell(&server, "POST", "/faults", json!({ "cut_after_bytes": 0 }), 201).await;
    let unchanged = server.request("GET", "/bucket/key").header("if-none-match", etag);
    for request in [
        server.request("HEAD", "/bucket/key"),
        server.request("HEAD", "/bucket/none"),
        unchanged,
        server.request("GET", "/bucket/none"),
        server.request("DELETE", "/bucket/key"),
    ] {
        assert!(request.try_send().await.is_none());
    }
    // The operations have ended, with the answers that are kept.
    let kept = told(&server, "GET", "/requests/wait?count=7", Value::Null).await;
    let kept = kept["requests"].as_array().expect("requests").iter();
    let statuses: Vec<_> = kept.map(|it| it["status"].as_u64().unwrap_or_default()).collect();
    assert_eq!(statuses, [200, 200, 200, 404, 304, 404, 204]);
    tell(&server, "DELETE", "/faults", Value::Null, 204).await;
    server.get("/bucket/key").await.expect_error(404, "NoSuchKey");
}

const PAGE: &str = "http://app.example.com";
const RULES: &str = "<CORSConfiguration><CORSRule><AllowedOrigin>http://app.example.com</AllowedOrigin>\
    <AllowedMethod>PUT</AllowedMethod></CORSRule></CORSConfiguration>";

#[tokio::test]
async fn pages_can_read_the_errors_of_faults() {
    let server = server().await;
    server.bucket("bucket").await;
    server.put("/bucket?cors", RULES).await.expect_status(200);
    tell(&server, "POST", "/faults", json!({ "status": 503, "times": 1 }), 201).await;
    let asks = [("origin", PAGE), ("access-control-request-method", "PUT")];
    let preflight = server.request("OPTIONS", "/bucket/key").anonymous().headers(&asks);
    preflight.send().await.expect_status(200);
    let put = || server.request("PUT", "/bucket/key").header("origin", PAGE).body("value").send();
    let failed = put().await.expect_error(503, "SlowDown");
    assert_eq!(failed.header("access-control-allow-origin"), Some(PAGE));
    put().await.expect_status(200);
}

#[tokio::test]
async fn requests_that_fail_have_their_user() {
    let server = server().await;
    tell(&server, "POST", "/faults", json!({ "status": 503 }), 201).await;
    server.get("/bucket/signed").await.expect_error(503, "SlowDown");
    let unsigned = server.request("GET", "/bucket/unsigned").anonymous();
    unsigned.send().await.expect_error(503, "SlowDown");
    let url = server.request("GET", "/bucket/wrong").presigned("60");
    let wrong = server.request("GET", &format!("{url}0")).anonymous();
    wrong.send().await.expect_error(503, "SlowDown");
    let all = told(&server, "GET", "/requests/wait?count=3", Value::Null).await;
    let users: Vec<_> =
        all["requests"].as_array().expect("requests").iter().map(|it| it["user"].clone()).collect();
    assert_eq!(users, [json!("alice"), Value::Null, Value::Null]);
}

/// As a client whose time limit is shorter than the delay.
#[tokio::test]
async fn requests_whose_client_leaves_during_a_delay_are_recorded() {
    let server = server().await;
    let delay = json!({ "operation": "GetObject", "latency_ms": 600_000 });
    tell(&server, "POST", "/faults", delay, 201).await;
    let get = server.request("GET", "/bucket/key").try_send();
    tokio::select! {
        _ = get => panic!("it is delayed"),
        () = until_hit(&server) => {}
    }
    let path = "/requests/wait?operation=GetObject&bucket=bucket&key=key&status=0";
    let found = told(&server, "GET", path, Value::Null).await;
    assert_eq!(found["requests"][0]["user"], Value::Null);
}

/// Waits until the first rule applies to a request.
async fn until_hit(server: &TestServer) {
    while told(server, "GET", "/faults", Value::Null).await["faults"][0]["hits"] != 1 {}
}

#[tokio::test]
async fn a_slow_upload_is_fast_once_its_rule_is_removed() {
    let server = server().await;
    server.bucket("bucket").await;
    // It would take a day.
    let slow = json!({ "operation": "PutObject", "bandwidth": 1 });
    tell(&server, "POST", "/faults", slow, 201).await;
    let remove = async {
        until_hit(&server).await;
        tell(&server, "DELETE", "/faults/1", Value::Null, 204).await;
    };
    let (put, ()) = tokio::join!(server.put("/bucket/key", vec![1; 100_000]), remove);
    put.expect_status(200);
}

#[tokio::test]
async fn slow_requests_take_their_time() {
    let server = server().await;
    server.bucket("bucket").await;
    let slow = json!({ "operation": "PutObject", "latency_ms": 60, "bandwidth": 10_000 });
    tell(&server, "POST", "/faults", slow, 201).await;
    let begun = std::time::Instant::now();
    server.put("/bucket/key", vec![1; 2_000]).await.expect_status(200);
    assert!(begun.elapsed().as_millis() >= 210, "{:?}", begun.elapsed());
    assert_eq!(server.get("/bucket/key").await.body, vec![1; 2_000]);
}
