//! The test API: spaces, and the requests that reach them.

use serde_json::{Value, json};

use crate::harness::{ALICE, TestServer, User};
use crate::iam::key_of;
use crate::test_api::{server, space, tell, told};

#[tokio::test]
async fn a_key_that_no_space_has_is_told_so() {
    let server = server().await;
    let nobody = User { access_key: "test", secret_key: "test", id: "" };
    let hint = "each space has keys of its own";
    let reply = server.request("GET", "/").by(nobody).send().await;
    assert!(!reply.expect_error(403, "InvalidAccessKeyId").text().contains(hint));
    space(&server, "other").await;
    let reply = server.request("GET", "/").by(nobody).send().await;
    let reply = reply.expect_error(403, "InvalidAccessKeyId");
    assert!(reply.text().contains(hint), "{}", reply.text());
    assert_eq!(reply.element("AWSAccessKeyId"), "test");
    for (service, form) in [("sts", "Action=GetCallerIdentity"), ("iam", "Action=ListUsers")] {
        let reply = server.form(service, form).by(nobody).send().await;
        let told = reply.expect_error(403, "InvalidClientTokenId").text();
        assert!(told.contains(hint), "{service}: {told}");
    }
    let reply = server.vectors("ListVectorBuckets", "{}").by(nobody).send().await;
    let told = reply.expect_status(403).text();
    assert!(told.contains(hint), "{told}");
    let get = server.request("GET", "/").by(nobody).header("x-amz-security-token", "testing");
    let reply = get.send().await.expect_error(400, "InvalidToken");
    assert!(reply.text().contains(hint), "{}", reply.text());
}

#[tokio::test]
async fn spaces_know_nothing_of_each_other() {
    let server = server().await;
    let (one, other) = (space(&server, "one").await, space(&server, "other").await);
    server.bucket("bucket").await;
    for user in [one, other] {
        server.request("PUT", "/bucket").by(user).send().await.expect_status(200);
        let put = server.request("PUT", "/bucket/key").by(user).body(user.access_key);
        put.send().await.expect_status(200);
    }
    server.get("/bucket/key").await.expect_error(404, "NoSuchKey");
    for user in [one, other] {
        let reply = server.request("GET", "/bucket/key").by(user).send().await;
        assert_eq!(reply.text(), user.access_key);
        let url = server.request("GET", "/bucket/key").by(user).presigned("60");
        let reply = server.request("GET", &url).anonymous().send().await;
        assert_eq!(reply.text(), user.access_key);
    }
    // A key that was made in a space, and one of a session, lead there, too.
    let form = "Action=GetSessionToken";
    let session = server.form("sts", form).by(one).send().await.expect_status(200);
    let get = server.request("GET", "/bucket/key").by(key_of(&session));
    let get = get.header("x-amz-security-token", session.element("SessionToken"));
    let reply = get.send().await;
    assert_eq!(reply.text(), one.access_key);

    tell(&server, "DELETE", "/spaces/one", Value::Null, 204).await;
    let reply = server.request("GET", "/bucket/key").by(one).send().await;
    reply.expect_error(403, "InvalidAccessKeyId");
    let reply = server.request("GET", "/bucket/key").by(other).send().await;
    reply.expect_status(200);
    assert_eq!(told(&server, "GET", "/spaces", Value::Null).await["spaces"][0]["name"], "other");
}

/// The main space refuses what was meant for another, and says how that is reached.
#[tokio::test]
async fn a_request_that_misses_its_space_is_told_how_to_reach_it() {
    let server = server().await;
    server.bucket("bucket").await;
    let get = |path: &str| server.request("GET", path).anonymous();
    let alone = get("/bucket/key").send().await.expect_error(403, "AccessDenied");
    assert!(!alone.text().contains("x-liteio-space"), "{}", alone.text());
    let one = space(&server, "one").await;
    let _other = space(&server, "other").await;
    for (path, status, code) in
        [("/bucket/key", 403, "AccessDenied"), ("/none/key", 404, "NoSuchBucket")]
    {
        let told = get(path).send().await.expect_error(status, code).element("Message");
        assert!(told.contains("name another in the header x-liteio-space"), "{told}");
    }
    let named = get("/bucket/key").header("x-liteio-space", "one").send().await;
    let named = named.expect_error(404, "NoSuchBucket").element("Message");
    assert!(!named.contains("x-liteio-space"), "{named}");

    for path in ["/spaces/one", "/spaces/other"] {
        tell(&server, "DELETE", path, Value::Null, 204).await;
        let ended = server.request("GET", "/bucket/key").by(one).send().await;
        let ended = ended.expect_error(403, "InvalidAccessKeyId").element("Message");
        assert!(ended.contains("the key of a space, which ends with the space"), "{ended}");
    }
}

/// The statuses of the GET requests that a space has kept, once there are so many.
async fn statuses(server: &TestServer, space: &str, count: usize) -> Vec<u64> {
    let path = format!("/requests/wait?space={space}&method=GET&count={count}");
    let kept = told(server, "GET", &path, Value::Null).await;
    let requests = kept["requests"].as_array().expect("requests").iter();
    requests.filter_map(|it| it["status"].as_u64()).collect()
}

#[tokio::test]
async fn a_space_knows_its_keys_also_when_it_refuses_them() {
    let server = server().await;
    let (one, _other) = (space(&server, "one").await, space(&server, "other").await);
    let form = "Action=GetSessionToken&DurationSeconds=900";
    let session = server.form("sts", form).by(one).send().await.expect_status(200);
    let (keys, token) = (key_of(&session), session.element("SessionToken"));
    told(&server, "PUT", "/clock", json!({ "space": "one", "advance_ms": 3_600_000 })).await;
    let get = server.request("GET", "/bucket/key").by(keys).header("x-amz-security-token", token);
    get.send().await.expect_error(400, "ExpiredToken");

    let form = "Action=CreateUser&UserName=bob";
    server.form("iam", form).by(one).send().await.expect_status(200);
    let form = "Action=CreateAccessKey&UserName=bob";
    let bob = key_of(&server.form("iam", form).by(one).send().await.expect_status(200));
    let key = bob.access_key;
    let form = format!("Action=UpdateAccessKey&UserName=bob&AccessKeyId={key}&Status=Inactive");
    server.form("iam", &form).by(one).send().await.expect_status(200);
    let get = server.request("GET", "/bucket/key").by(bob);
    get.send().await.expect_error(403, "InvalidAccessKeyId");
    assert_eq!(statuses(&server, "one", 2).await, [400, 403]);
    // A token of nobody is the main space's.
    let get = server.request("GET", "/bucket/key").by(keys).header("x-amz-security-token", "none");
    get.send().await.expect_error(400, "InvalidToken");
    assert_eq!(statuses(&server, "main", 1).await, [400]);
}

#[tokio::test]
async fn preflights_are_answered_by_the_space_that_allows_them() {
    let server = server().await;
    server.bucket("everywhere").await;
    for name in ["one", "other"] {
        let user = space(&server, name).await;
        let rules = format!(
            "<CORSConfiguration><CORSRule><AllowedOrigin>http://{name}.test</AllowedOrigin>\
             <AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>"
        );
        for (path, body) in [
            ("/bucket", ""),
            ("/bucket?cors", &*rules),
            ("/everywhere", ""),
            ("/everywhere?cors", &rules),
        ] {
            server.request("PUT", path).by(user).body(body).send().await.expect_status(200);
        }
    }
    for path in ["/bucket/key", "/everywhere/key"] {
        for (page, status) in
            [("http://one.test", 200), ("http://other.test", 200), ("http://third.test", 403)]
        {
            let asks = [("origin", page), ("access-control-request-method", "GET")];
            let preflight = server.request("OPTIONS", path).anonymous().headers(&asks);
            assert_eq!(preflight.send().await.status, status, "{page}");
        }
    }
}

#[tokio::test]
async fn a_preflight_that_no_space_allows_is_refused_by_the_one_that_has_the_bucket() {
    let server = server().await;
    server.bucket("of-main").await;
    let user = space(&server, "one").await;
    let rules = "<CORSConfiguration><CORSRule><AllowedOrigin>http://one.test</AllowedOrigin>\
                 <AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>";
    for (path, body) in [
        ("/plain", ""),
        ("/ruled", ""),
        ("/ruled?cors", rules),
        ("/of-main", ""),
        ("/of-main?cors", rules),
    ] {
        server.request("PUT", path).by(user).body(body).send().await.expect_status(200);
    }
    let asks = [("origin", "http://third.test"), ("access-control-request-method", "GET")];
    for (path, told) in [
        ("/plain/key", "CORS is not enabled for this bucket."),
        ("/ruled/key", "This CORS request is not allowed."),
        ("/of-main/key", "CORS is not enabled for this bucket."),
        ("/of-nobody/key", "Bucket not found"),
    ] {
        let preflight = server.request("OPTIONS", path).anonymous().headers(&asks);
        let reply = preflight.send().await.expect_error(403, "AccessForbidden");
        assert!(reply.element("Message").contains(told), "{path}: {}", reply.text());
    }
}

#[tokio::test]
async fn requests_that_began_before_a_reset_are_not_kept_after_it() {
    let server = server().await;
    let user = space(&server, "one").await;
    for (space, by) in [("main", ALICE), ("one", user)] {
        server.request("PUT", "/bucket").by(by).send().await.expect_status(200);
        let put = server.request("PUT", "/bucket/key").by(by).body("value");
        let reset = tell(&server, "POST", "/reset", json!({ "space": space }), 204);
        // It ends in the store of before.
        put.send_after(reset).await.expect_status(200);
        server.request("GET", "/bucket/key").by(by).send().await.expect_status(404);
        assert_eq!(statuses(&server, space, 1).await, [404]);
        let all = told(&server, "GET", &format!("/requests?space={space}"), Value::Null).await;
        assert_eq!(all["requests"].as_array().map(Vec::len), Some(1), "{all}");
    }
}
