//! The test API: its guard, resets, snapshots, time, requests and events.

use liteio::TestAccess;
use serde_json::{Value, json};

use crate::command::{Running, liteio};
use crate::harness::{TestServer, User, memory, start_with};
use crate::iam::user_with_key;
use crate::raw::{FORM_TYPE, Keys, form_body, form_fields};
use crate::reply::Reply;

pub(crate) const BASE: &str = "/_liteio/test";

pub(crate) async fn server() -> TestServer {
    start_with("memory", "us-east-1", |builder, _| builder.test_api(TestAccess::Local)).await
}

pub(crate) async fn ask(
    server: &TestServer,
    method: &'static str,
    path: &str,
    body: &Value,
) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.request(method, &format!("{BASE}{path}")).anonymous().body(body).send().await
}

pub(crate) async fn tell(
    server: &TestServer,
    method: &'static str,
    path: &str,
    body: Value,
    status: u16,
) {
    ask(server, method, path, &body).await.expect_status(status);
}

pub(crate) async fn told(
    server: &TestServer,
    method: &'static str,
    path: &str,
    body: Value,
) -> Value {
    let reply = ask(server, method, path, &body).await;
    assert!(reply.status < 300, "{}", reply.everything());
    serde_json::from_slice(&reply.body).expect("JSON")
}

/// The root user of a space, made now.
pub(crate) async fn space(server: &TestServer, name: &str) -> User {
    let space = told(server, "POST", "/spaces", json!({ "name": name })).await;
    let text = |field: &str| space[field].as_str().expect("text").to_owned().leak();
    User { access_key: text("access_key"), secret_key: text("secret_key"), id: "" }
}

#[tokio::test]
async fn a_server_without_the_option_has_no_test_api() {
    let server = memory().await;
    for path in ["/clock", "/reset", "/spaces"] {
        let refused = ask(&server, "POST", path, &Value::Null).await;
        let told = refused.expect_error(404, "NoSuchKey").text();
        assert!(told.contains("start the server with --test-api"), "{told}");
    }
    // A bucket is reached without a look at this header.
    let reply = server.request("PUT", "/bucket").header("x-liteio-space", "other").send().await;
    reply.expect_status(200);
}

/// As suites for LocalStack send it.
#[tokio::test]
async fn the_reset_of_localstack_is_that_of_the_test_api() {
    let without = memory().await;
    for path in ["/_localstack/state/reset", "/_localstack/state/s3/reset"] {
        let refused = without.request("POST", path).anonymous().send().await;
        let told = refused.expect_error(404, "NoSuchKey").text();
        assert!(told.contains("/_liteio/test/reset"), "{told}");
        assert!(told.contains("start the server with --test-api"), "{told}");
    }
    let server = server().await;
    server.bucket("bucket").await;
    let reset = |method| server.request(method, "/_localstack/state/reset").anonymous();
    reset("GET").send().await.expect_error(405, "MethodNotAllowed");
    let page = reset("POST").header("origin", "http://localhost:3000");
    page.send().await.expect_error(403, "AccessDenied");
    server.get("/bucket").await.expect_status(200);
    reset("POST").send().await.expect_status(204);
    server.get("/bucket").await.expect_error(404, "NoSuchBucket");
}

#[tokio::test]
async fn pages_and_names_that_were_made_to_lead_here_are_refused() {
    let server = server().await;
    let clock = || server.request("GET", &format!("{BASE}/clock")).anonymous();
    clock().send().await.expect_status(200);
    clock().header("host", "s3.localhost:1").send().await.expect_status(200);
    clock().header("sec-fetch-site", "none").send().await.expect_status(200);
    for (name, value) in [
        ("origin", "http://localhost:3000"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-origin"),
        ("host", "evil.example"),
        ("host", "localhost.evil.example"),
    ] {
        clock().header(name, value).send().await.expect_error(403, "AccessDenied");
    }
}

#[tokio::test]
async fn what_it_does_not_understand_it_refuses() {
    let server = server().await;
    for (method, path, body, status) in [
        ("GET", "/nothing", Value::Null, 404),
        ("GET", "/reset", Value::Null, 405),
        ("POST", "/reset", json!({ "buckets": "b" }), 400),
        ("POST", "/reset", json!({ "bucket": "nobody" }), 404),
        ("POST", "/reset", json!({ "space": "nobody" }), 404),
        ("POST", "/spaces", json!({ "name": "main" }), 400),
        ("POST", "/spaces", json!({ "name": "a/b" }), 400),
        ("DELETE", "/spaces/nobody", Value::Null, 404),
        ("POST", "/snapshots/none/restore", Value::Null, 404),
        ("PUT", "/clock", json!({}), 400),
        ("PUT", "/clock", json!({ "now": "2026-01-01T00:00:00Z", "reset": true }), 400),
        ("PUT", "/clock", json!({ "now": "tomorrow" }), 400),
        ("PUT", "/clock", json!({ "advance_ms": i64::MAX }), 400),
        ("POST", "/faults", json!({ "status": 200 }), 400),
        ("POST", "/faults", json!({ "status": 503, "often": true }), 400),
        ("DELETE", "/faults/1", Value::Null, 404),
        ("GET", "/requests?colour=red", Value::Null, 400),
        ("GET", "/requests/wait?timeout_ms=never", Value::Null, 400),
    ] {
        let reply = ask(&server, method, path, &body).await;
        assert_eq!(reply.status, status, "{method} {path} {body}: {}", reply.text());
        assert!(reply.has_element("Message"), "{path}: {}", reply.text());
    }
    for (method, path, code) in [
        ("POST", "/snapshots/none/restore", "NoSuchSnapshot"),
        ("DELETE", "/snapshots/none", "NoSuchSnapshot"),
        ("DELETE", "/spaces/nobody", "NoSuchSpace"),
        ("POST", "/reset?space=nobody", "NoSuchSpace"),
    ] {
        ask(&server, method, path, &Value::Null).await.expect_error(404, code);
    }
}

#[tokio::test]
async fn a_time_that_the_clock_cannot_show_is_told_from_a_text_that_is_none() {
    let server = server().await;
    for (now, told) in [
        ("9999-12-31T00:00:00.000Z", "from 1970-01-01 to 9999-12-30"),
        ("+010000-01-01T00:00:00.000Z", "from 1970-01-01 to 9999-12-30"),
        ("1969-12-31T23:59:59Z", "from 1970-01-01 to 9999-12-30"),
        ("9999-12-32T00:00:00Z", "RFC 3339"),
        ("2026-02-29T00:00:00Z", "RFC 3339"),
        ("9999-12-31", "RFC 3339"),
        ("tomorrow", "RFC 3339"),
    ] {
        let refused = ask(&server, "PUT", "/clock", &json!({ "now": now })).await;
        let text = refused.expect_error(400, "InvalidRequest").text();
        assert!(text.contains(told), "{now}: {text}");
    }
}

#[tokio::test]
async fn a_reset_makes_everything_as_it_was_at_the_start() {
    let server = server().await;
    let other = space(&server, "other").await;
    server.request("PUT", "/bucket").by(other).send().await.expect_status(200);
    server.bucket("bucket").await;
    server.put("/bucket/key", "value").await.expect_status(200);
    server.form("iam", "Action=CreateUser&UserName=bob").send().await.expect_status(200);
    tell(&server, "POST", "/faults", json!({ "status": 503, "bucket": "none" }), 201).await;
    told(&server, "PUT", "/clock", json!({ "advance_ms": 1000 })).await;
    tell(&server, "POST", "/reset", Value::Null, 204).await;
    server.get("/bucket").await.expect_error(404, "NoSuchBucket");
    server.form("iam", "Action=GetUser&UserName=bob").send().await.expect_status(404);
    assert_eq!(told(&server, "GET", "/clock", Value::Null).await["offset_ms"], 0);
    assert_eq!(told(&server, "GET", "/faults", Value::Null).await["faults"], json!([]));
    server.request("GET", "/bucket").by(other).send().await.expect_status(200);
    tell(&server, "POST", "/reset", json!({ "space": "other" }), 204).await;
    server.request("GET", "/bucket").by(other).send().await.expect_error(404, "NoSuchBucket");
    server.bucket("bucket").await;
}

#[tokio::test]
async fn snapshots_show_everything_again() {
    let server = server().await;
    server.bucket("bucket").await;
    let versioning = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/bucket?versioning", versioning).await.expect_status(200);
    server.put("/bucket/key", "one").await.expect_status(200);
    server.put("/bucket/key", vec![7; 300_000]).await.expect_status(200);
    server.put("/bucket/key?tagging", TAGS).await.expect_status(200);
    let upload = server.post("/bucket/upload?uploads", "").await.element("UploadId");
    let part = format!("/bucket/upload?partNumber=1&uploadId={upload}");
    server.put(&part, vec![1; 5 << 20]).await.expect_status(200);
    server.form("iam", "Action=CreateUser&UserName=bob").send().await.expect_status(200);
    let vectors = |operation: &'static str, body: Value| {
        server.vectors(operation, body.to_string()).send_owned()
    };
    vectors("CreateVectorBucket", json!({ "vectorBucketName": "media" })).await.expect_status(200);
    let index = json!({ "vectorBucketName": "media", "indexName": "films", "dataType": "float32",
        "dimension": 2, "distanceMetric": "cosine" });
    vectors("CreateIndex", index).await.expect_status(200);
    let put = json!({ "vectorBucketName": "media", "indexName": "films",
        "vectors": [{ "key": "alien", "data": { "float32": [1.0, 0.5] } }] });
    vectors("PutVectors", put).await.expect_status(200);
    let look = async || {
        let list = json!({ "vectorBucketName": "media", "indexName": "films", "returnData": true });
        let mut seen = vec![vectors("ListVectors", list).await.text()];
        for path in [
            "/bucket?versions",
            "/bucket?uploads",
            &format!("/bucket/upload?uploadId={upload}"),
            "/bucket/key?tagging",
            "/bucket?versioning",
        ] {
            seen.push(server.get(path).await.expect_status(200).text());
        }
        let users = server.form("iam", "Action=ListUsers").send().await.elements("UserName");
        seen.push(users.join(","));
        seen
    };
    let before = look().await;
    tell(&server, "PUT", "/snapshots/base", Value::Null, 201).await;
    tell(&server, "PUT", "/snapshots/base", Value::Null, 200).await;

    for _ in 0..2 {
        server.delete("/bucket/key").await.expect_status(204);
        server.delete(&format!("/bucket/upload?uploadId={upload}")).await.expect_status(204);
        server.form("iam", "Action=DeleteUser&UserName=bob").send().await.expect_status(200);
        let delete = json!({ "vectorBucketName": "media", "indexName": "films" });
        vectors("DeleteIndex", delete).await.expect_status(200);
        tell(&server, "POST", "/snapshots/base/restore", Value::Null, 204).await;
        assert_eq!(look().await, before);
    }
    assert_eq!(server.get("/bucket/key").await.body, vec![7; 300_000]);
    let listed = told(&server, "GET", "/snapshots", Value::Null).await;
    assert_eq!(listed["snapshots"][0]["name"], "base");
    tell(&server, "DELETE", "/snapshots/base", Value::Null, 204).await;
    tell(&server, "POST", "/snapshots/base/restore", Value::Null, 404).await;
}

const TAGS: &str = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";

#[tokio::test]
async fn a_form_reaches_the_space_of_its_signer() {
    let server = server().await;
    let user = space(&server, "mine").await;
    server.request("PUT", "/mine").by(user).send().await.expect_status(200);
    let keys = Keys { access: user.access_key, secret: user.secret_key };
    let fields = form_fields(keys, 60, r#"{"bucket": "mine"}, {"key": "a"}, "#, &[("key", "a")]);
    for (fields, status) in [(fields.clone(), 204), (fields[..fields.len() - 1].to_vec(), 400)] {
        let post = server.request("POST", "/mine").anonymous().header("content-type", FORM_TYPE);
        let reply = post.body(form_body(&fields, &[b'x'; 100_000])).send().await;
        assert_eq!(reply.status, status, "{}", reply.everything());
    }
    let got = server.request("GET", "/mine/a").by(user).send().await.expect_status(200);
    assert_eq!(got.body.len(), 100_000);
    server.get("/mine/a").await.expect_error(404, "NoSuchBucket");
}

#[tokio::test]
async fn the_clock_decides_about_conditions_of_policies() {
    let server = server().await;
    server.bucket("bucket").await;
    server.put("/bucket/key", "value").await.expect_status(200);
    let policy = |action: &str, rest: &str| {
        json!({ "Version": "2012-10-17", "Statement": [serde_json::from_str::<Value>(&format!(
            r#"{{"Effect": "Allow", "Action": "{action}", {rest},
                "Condition": {{"DateGreaterThan": {{"aws:CurrentTime": "2031-01-01T00:00:00Z"}}}}}}"#
        )).expect("JSON")] })
        .to_string()
    };
    let rest = r#""Principal": "*", "Resource": "arn:aws:s3:::bucket/*""#;
    server.put("/bucket?policy", policy("s3:GetObject", rest)).await.expect_status(204);
    let bob = user_with_key(&server, "carl").await;
    let document = policy("admin:Prometheus", r#""Resource": "*""#);
    let document: String = form_urlencoded::byte_serialize(document.as_bytes()).collect();
    let put = format!("Action=PutUserPolicy&UserName=carl&PolicyName=p&PolicyDocument={document}");
    server.form("iam", &put).send().await.expect_status(200);
    let status = async || {
        let object = server.request("GET", "/bucket/key").anonymous().send().await;
        let metrics = server.request("GET", "/_liteio/metrics").by(bob).send().await;
        (object.status, metrics.status)
    };
    assert_eq!(status().await, (403, 403));
    told(&server, "PUT", "/clock", json!({ "now": "2031-06-01T00:00:00Z" })).await;
    assert_eq!(status().await, (200, 200));
    told(&server, "PUT", "/clock", json!({ "reset": true })).await;
    assert_eq!(status().await, (403, 403));
}

#[tokio::test]
async fn the_clock_decides_about_urls_retention_sessions_and_lifecycles() {
    let server = server().await;
    server.bucket("bucket").await;
    server.put("/bucket/logs/a", "old").await.expect_status(200);
    server.put("/bucket/kept", "kept").await.expect_status(200);
    let rules = "<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status><Filter>\
        <Prefix>logs/</Prefix></Filter><Expiration><Days>7</Days></Expiration></Rule>\
        </LifecycleConfiguration>";
    server.put("/bucket?lifecycle", rules).await.expect_status(200);
    let url = server.request("GET", "/bucket/kept").presigned("3600");
    let follow = async || server.request("GET", &url).anonymous().send().await;
    follow().await.expect_status(200);
    let session = server.form("sts", "Action=GetSessionToken&DurationSeconds=900").send().await;
    let leaked = |name: &str| -> &'static str { session.element(name).leak() };
    let keys =
        User { access_key: leaked("AccessKeyId"), secret_key: leaked("SecretAccessKey"), id: "" };
    let token = leaked("SessionToken");
    let get =
        || server.request("GET", "/bucket/kept").by(keys).header("x-amz-security-token", token);
    get().send().await.expect_status(200);

    told(&server, "PUT", "/clock", json!({ "advance_ms": 7_200_000 })).await;
    let detail = follow().await.expect_error(403, "AccessDenied").element("Detail");
    assert!(detail.contains("reset the clock before signing"), "{detail}");
    get().send().await.expect_error(400, "ExpiredToken");
    server.get("/bucket/logs/a").await.expect_status(200);
    let clock = told(&server, "PUT", "/clock", json!({ "advance_ms": 8_u64 * 86_400_000 })).await;
    assert_eq!(clock["offset_ms"], 8_u64 * 86_400_000 + 7_200_000);
    server.get("/bucket/logs/a").await.expect_error(404, "NoSuchKey");
    server.get("/bucket/kept").await.expect_status(200);

    let clock = told(&server, "PUT", "/clock", json!({ "now": "2026-01-01T00:00:00Z" })).await;
    assert!(
        clock["now"].as_str().is_some_and(|it| it.starts_with("2026-01-01T00:00:0")),
        "{clock}"
    );
    server.put("/bucket/then", "then").await.expect_status(200);
    let reply = server.get("/bucket/then").await;
    assert_eq!(&reply.header("last-modified").expect("a date")[..16], "Thu, 01 Jan 2026");
    told(&server, "PUT", "/clock", json!({ "reset": true })).await;
    follow().await.expect_status(200);
}

#[tokio::test]
async fn requests_are_kept_without_their_secrets() {
    let server = server().await;
    let user = space(&server, "other").await;
    server.bucket("bucket").await;
    server.put("/bucket/one", "value").await.expect_status(200);
    server.get("/bucket/none").await.expect_status(404);
    server.request("PUT", "/elsewhere").by(user).send().await.expect_status(200);
    let url = server.request("GET", "/bucket/one").presigned("60");
    server.request("GET", &url).anonymous().header("user-agent", "me/1").send().await;
    let path = "/requests/wait?count=4&timeout_ms=10000";
    let all = told(&server, "GET", path, Value::Null).await;
    let requests = all["requests"].as_array().expect("requests");
    let operations: Vec<_> =
        requests.iter().map(|it| it["operation"].as_str().unwrap_or_default()).collect();
    assert_eq!(operations, ["CreateBucket", "PutObject", "GetObject", "GetObject"]);
    assert_eq!((&requests[2]["status"], &requests[2]["code"]), (&json!(404), &json!("NoSuchKey")));
    assert_eq!(
        (&requests[3]["user"], &requests[3]["user_agent"]),
        (&json!("alice"), &json!("me/1"))
    );
    assert_eq!((&requests[1]["key"], &requests[1]["bytes_in"]), (&json!("one"), &json!(5)));
    for secret in ["authorization", "Signature=AWS", "AWS4-HMAC-SHA256 Credential"] {
        assert!(!all.to_string().contains(secret), "{secret}: {all}");
    }
    for path in ["/requests?operation=DeleteObjct", "/requests/wait?operation=deleteobject"] {
        let refused = ask(&server, "GET", path, &Value::Null).await.expect_status(400).text();
        assert!(refused.contains("DeleteObject") && refused.contains("did you mean"), "{refused}");
    }
    for (filter, meant) in [
        ("operation=DeleteObjectCommand", "DeleteObject"),
        ("operation=s3:DeleteObject", "DeleteObject"),
        ("operation=Foo", "names of AWS"),
        ("method=get", "did you mean"),
        ("method=get", "GET"),
        ("operation=DeleteObjects&key=b", "leave key out"),
        ("method=FETCH", "DELETE, GET"),
        ("status=4xx", "4??"),
    ] {
        for path in ["/requests", "/requests/wait"] {
            let refused = ask(&server, "GET", &format!("{path}?{filter}"), &Value::Null).await;
            let told = refused.expect_error(400, "InvalidRequest").text();
            assert!(told.contains(meant), "{filter}: {told}");
        }
    }
    for filter in ["method=P*", "status=5??", "status=", "method="] {
        let path = format!("/requests?key=never&{filter}");
        assert_eq!(told(&server, "GET", &path, Value::Null).await["requests"], json!([]));
    }
    for operation in ["Delete*", "CreateTable", "LoadTable", "AdminInfo*"] {
        let path = format!("/requests?operation={operation}");
        assert_eq!(told(&server, "GET", &path, Value::Null).await["requests"], json!([]));
    }
    let filtered = told(&server, "GET", "/requests?key=o*&method=GET", Value::Null).await;
    assert_eq!(filtered["requests"].as_array().map(Vec::len), Some(1));
    let next = all["next"].to_string();
    let none = told(&server, "GET", &format!("/requests?since={next}"), Value::Null).await;
    assert_eq!(none["requests"], json!([]));
    let path = format!("/requests/wait?since={next}&timeout_ms=1");
    ask(&server, "GET", &path, &Value::Null).await.expect_error(408, "RequestTimeout");
    let others = told(&server, "GET", "/requests?space=other", Value::Null).await;
    assert_eq!(others["requests"][0]["bucket"], "elsewhere");
    tell(&server, "DELETE", "/requests", Value::Null, 204).await;
    let left = told(&server, "GET", "/requests", Value::Null).await;
    assert_eq!(left["requests"], json!([]));
}

#[tokio::test]
async fn requests_of_vectors_that_are_refused_for_a_field_have_their_index() {
    let server = server().await;
    let arn = "arn:aws:s3vectors:us-east-1:000000000000:bucket/media/index/films";
    let query = json!({ "topK": 1, "queryVector": { "float32": [1.0] }, "filter": { "$and": [] } });
    for (operation, fields) in [
        ("QueryVectors", query),
        ("QueryVectors", json!({ "topK": "many" })),
        ("DeleteVectors", json!({})),
        ("GetVectors", json!({ "keys": 1 })),
    ] {
        for names in [
            json!({ "vectorBucketName": "media", "indexName": "films" }),
            json!({ "indexArn": arn }),
        ] {
            let mut body = fields.clone();
            let given = names.as_object().expect("names").clone();
            body.as_object_mut().expect("fields").extend(given);
            server.vectors(operation, body.to_string()).send().await.expect_status(400);
        }
    }
    let path = "/requests/wait?bucket=media&key=films&status=400&count=8";
    let found = told(&server, "GET", path, Value::Null).await;
    assert_eq!(found["requests"].as_array().expect("requests").len(), 8);
    // A name that no vector bucket can have is not kept.
    let wrong = json!({ "vectorBucketName": "a\nb", "indexName": "films", "topK": "many" });
    server.vectors("QueryVectors", wrong.to_string()).send().await.expect_status(400);
    let path = "/requests/wait?operation=QueryVectors&count=5";
    let found = told(&server, "GET", path, Value::Null).await;
    assert_ne!(found["requests"][4]["bucket"], json!("a\\nb"));
}

#[tokio::test]
async fn requests_that_are_refused_before_their_operation_have_its_name() {
    let server = server().await;
    server.bucket("bucket").await;
    let url = server.request("GET", "/bucket/key").presigned("60");
    told(&server, "PUT", "/clock", json!({ "advance_ms": 3_600_000 })).await;
    let wrong = User { access_key: "alice-key", secret_key: "of another", id: "" };
    let stranger = User { access_key: "stranger", secret_key: "of-a-stranger", id: "" };
    let refused = async || {
        let expired = server.request("GET", &url).anonymous().send().await;
        expired.expect_error(403, "AccessDenied");
        let put = server.request("PUT", "/bucket/key").by(wrong).body("x").send().await;
        put.expect_error(403, "SignatureDoesNotMatch");
        let get = server.request("GET", "/bucket?versions").by(stranger).send().await;
        get.expect_error(403, "InvalidAccessKeyId");
        server.vectors("CreateIndex", "{}").by(stranger).send().await.expect_status(403);
        let form = "Action=CreateUser&UserName=carl";
        server.form("iam", form).by(stranger).send().await.expect_status(403);
        let form = "Action=GetSessionToken&DurationSeconds=900";
        server.form("sts", form).by(stranger).send().await.expect_status(403);
    };
    refused().await;
    // The same beside a rule for other requests.
    told(&server, "POST", "/faults", json!({ "bucket": "other", "status": 503 })).await;
    refused().await;
    let path = "/requests/wait?operation=*&status=403&count=12";
    let found = told(&server, "GET", path, Value::Null).await["requests"].clone();
    let found = found.as_array().expect("requests").iter();
    let operations: Vec<_> = found.map(|it| it["operation"].clone()).collect();
    let once = [
        "GetObject",
        "PutObject",
        "ListObjectVersions",
        "CreateIndex",
        "CreateUser",
        "GetSessionToken",
    ];
    assert_eq!(operations, [once, once].concat());
}

#[tokio::test]
async fn rules_that_build_on_each_other_are_done_after_one_jump() {
    let server = server().await;
    server.bucket("bucket").await;
    let versioning = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    server.put("/bucket?versioning", versioning).await.expect_status(200);
    server.put("/bucket/key", "old").await.expect_status(200);
    let rules = "<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status><Filter></Filter>\
        <Expiration><Days>1</Days></Expiration><NoncurrentVersionExpiration><NoncurrentDays>1\
        </NoncurrentDays></NoncurrentVersionExpiration></Rule><Rule><ID>markers</ID>\
        <Status>Enabled</Status><Filter></Filter><Expiration><ExpiredObjectDeleteMarker>true\
        </ExpiredObjectDeleteMarker></Expiration></Rule></LifecycleConfiguration>";
    server.put("/bucket?lifecycle", rules).await.expect_status(200);
    let clock = told(&server, "PUT", "/clock", json!({ "advance_ms": 30_u64 * 86_400_000 })).await;
    assert_eq!(clock["offset_ms"], 30_u64 * 86_400_000);
    let left = server.get("/bucket?versions").await.expect_status(200).text();
    assert!(!left.contains("<Key>"), "{left}");
    // A jump of thousands of years ends, too.
    told(&server, "PUT", "/clock", json!({ "now": "9999-01-01T00:00:00Z" })).await;
}

#[tokio::test]
async fn a_transition_shows_its_class_and_only_archives_need_a_restore() {
    let server = server().await;
    server.bucket("bucket").await;
    server.put("/bucket/small", "small").await.expect_status(200);
    let photo = "photo".repeat(40_000);
    server.put("/bucket/photo", &photo).await.expect_status(200);
    let transition = |days: u32, class: &str| {
        format!("<Transition><Days>{days}</Days><StorageClass>{class}</StorageClass></Transition>")
    };
    let rules = format!(
        "<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status><Filter></Filter>{}{}\
         </Rule></LifecycleConfiguration>",
        transition(30, "STANDARD_IA"),
        transition(90, "GLACIER"),
    );
    server.put("/bucket?lifecycle", &rules).await.expect_status(200);
    let advance = async |days: u64| {
        let day = json!({ "advance_ms": days * 86_400_000 });
        told(&server, "PUT", "/clock", day).await;
        server.head("/bucket/photo").await.expect_status(200)
    };
    assert_eq!(advance(20).await.header("x-amz-storage-class"), None);
    assert_eq!(advance(20).await.header("x-amz-storage-class"), Some("STANDARD_IA"));
    let listed = server.get("/bucket?list-type=2").await.expect_status(200);
    assert_eq!(listed.elements("StorageClass"), ["STANDARD_IA", "STANDARD"], "128 KiB and more");
    assert_eq!(server.get("/bucket/photo").await.expect_status(200).text(), photo);
    assert_eq!(advance(60).await.header("x-amz-storage-class"), Some("GLACIER"));
    server.get("/bucket/photo").await.expect_error(403, "InvalidObjectState");
    server.get("/bucket/small").await.expect_status(200);
}

#[tokio::test]
async fn events_of_any_bucket_can_be_waited_for() {
    let server = server().await;
    server.bucket("bucket").await;
    let wait = async |query: &str| {
        told(&server, "GET", &format!("/events/wait?{query}"), Value::Null).await
    };
    let (waited, put) = tokio::join!(
        wait("bucket=bucket&key=a*&name=s3:ObjectCreated:*"),
        server.put("/bucket/abc", "value"),
    );
    let etag = put.header("etag").expect("an ETag").trim_matches('"').to_owned();
    let event = &waited["events"][0];
    assert_eq!((&event["name"], &event["key"]), (&json!("s3:ObjectCreated:Put"), &json!("abc")));
    assert_eq!((&event["size"], &event["etag"]), (&json!(5), &json!(etag)));
    server.delete("/bucket/abc").await.expect_status(204);
    let next = waited["next"].to_string();
    let waited = wait(&format!("since={next}")).await;
    assert_eq!(waited["events"][0]["name"], "s3:ObjectRemoved:Delete");
    let late = ask(&server, "GET", "/events/wait?key=never&timeout_ms=1", &Value::Null).await;
    let told = late.expect_error(408, "RequestTimeout").text();
    assert!(told.contains("give a longer timeout"), "{told}");
    // As the records of events have it.
    let waited = wait("name=ObjectCreated:*").await;
    assert_eq!(waited["events"][0]["name"], "s3:ObjectCreated:Put");
    for (wrong, advice) in [
        ("s3:ObjectCreatd:*", "did you mean \"s3:ObjectCreated:*\""),
        ("ObjectRemoved:Deleted", "did you mean \"s3:ObjectRemoved:Delete\""),
        // No name is near to these.
        ("s3:ObjectMade:*", "events are s3:ObjectCreated:*, s3:ObjectRemoved:*, "),
        ("ObjectDeleted:*", "events are s3:ObjectCreated:*, s3:ObjectRemoved:*, "),
    ] {
        let path = format!("/events/wait?name={wrong}");
        let refused = ask(&server, "GET", &path, &Value::Null).await;
        let refused = refused.expect_error(400, "InvalidRequest");
        let told = refused.element("Message");
        assert!(told.contains(advice), "{told}");
    }
}

/// The answer of a server that is a process.
fn answer_of(server: &Running, method: &str, path: &str) -> Reply {
    let address = server.endpoint().trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    let request = format!(
        "{method} {BASE}{path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    std::io::Write::write_all(&mut stream, request.as_bytes()).expect("sent");
    Reply::read(&mut std::io::BufReader::new(stream), false).expect("an answer")
}

#[test]
fn calls_of_the_test_api_are_no_lines_of_the_log_unless_asked_for() {
    let directory = tempfile::tempdir().expect("a directory");
    for (filter, lines) in [("info", 1), ("info,liteio::access=debug", 2)] {
        let arguments = ["--memory", "--test-api", "--address", "127.0.0.1:0", "--log", filter];
        let server = Running::start(liteio(&directory).args(arguments));
        answer_of(&server, "GET", "/clock").expect_status(200);
        // One that is refused is always told.
        answer_of(&server, "GET", "/clok").expect_status(404);
        let (_, log) = server.signal("TERM");
        let logged = log.lines().filter(|line| line.contains("liteio::access")).count();
        assert_eq!(logged, lines, "{filter}: {log}");
    }
}

#[test]
fn resets_leave_no_threads_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["--memory", "--test-api", "--address", "127.0.0.1:0"];
    let server = Running::start(liteio(&directory).args(arguments));
    let reset = || {
        answer_of(&server, "POST", "/reset").expect_status(204);
    };
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.id())).expect("Linux");
        tasks.count()
    };
    (0..5).for_each(|_| reset());
    let before = threads();
    (0..100).for_each(|_| reset());
    // Threads of the runtime come and go; a store has five.
    let after = threads();
    assert!(after < before + 40, "{before} threads, then {after}");
}
