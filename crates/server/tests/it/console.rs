//! The console: its files, its sessions, and what keeps objects and pages of others from them.

use serde_json::{Value, json};

use crate::harness::{
    ACCOUNTS, ALICE, CAROL, TestServer, User, in_memory_with_users, memory, start_with,
};

const SESSION: &str = "/_liteio/console/session";
const SHARE: &str = "/_liteio/console/share";

/// Keys of a session, and its token.
struct Keys {
    user: User,
    token: String,
}

fn keys(told: &Value) -> Keys {
    let text = |name: &str| told[name].as_str().expect("a text").to_owned();
    let (access_key, secret_key) = (text("access_key").leak(), text("secret_key").leak());
    Keys { user: User { access_key, secret_key, id: "alice-id" }, token: text("token") }
}

async fn sign_in(server: &TestServer, user: User) -> Keys {
    let reply = server.request("POST", SESSION).by(user).send().await.expect_status(200);
    keys(&serde_json::from_slice(&reply.body).expect("JSON"))
}

async fn share(server: &TestServer, by: &Keys, key: &str) -> crate::reply::Reply {
    let body = json!({ "bucket": "photos", "key": key, "seconds": 600 }).to_string();
    let request = server.request("POST", SHARE).by(by.user).body(body);
    request.header("x-amz-security-token", &by.token).send().await
}

#[tokio::test]
async fn pages_keep_others_out_and_are_asked_for_again() {
    let server = memory().await;
    for path in ["/_liteio/console/", "/_liteio/console/app.js", "/_liteio/console/style/base.css"]
    {
        let ask =
            || server.request("GET", path).anonymous().header("origin", "https://evil.example");
        let reply = ask().send().await.expect_status(200);
        let policy = reply.header("content-security-policy").expect("a policy");
        for part in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(reply.header("access-control-allow-origin"), None, "{path}");
        let etag = reply.header("etag").expect("an ETag").to_owned();
        ask().header("if-none-match", etag).send().await.expect_status(304);
        let zipped = ask().header("accept-encoding", "gzip").send().await.expect_status(200);
        assert_eq!(zipped.header("content-encoding"), Some("gzip"), "{path}");
        assert!(zipped.body.starts_with(&[0x1f, 0x8b]), "{path}");
    }
    let missing = server.request("GET", "/_liteio/console/nothing.js").anonymous();
    missing.send().await.expect_error(404, "NoSuchKey");
}

#[tokio::test]
async fn a_client_whose_endpoint_is_the_console_is_told() {
    let server = memory().await;
    for path in ["/_liteio/console", "/_liteio/console/", "/_liteio/console/photos?list-type=2"] {
        for method in ["GET", "PUT", "DELETE"] {
            let refused = server.request(method, path).send().await;
            let refused = refused.expect_error(400, "InvalidRequest");
            assert!(refused.text().contains("The endpoint for clients has no path"), "{path}");
        }
    }
    let vectors = server.vectors("_liteio/console/ListVectorBuckets", "{}").send().await;
    vectors.expect_error(400, "InvalidRequest");
    let unsigned = server.request("PUT", "/_liteio/console/photos").anonymous().send().await;
    unsigned.expect_error(405, "MethodNotAllowed");
}

#[tokio::test]
async fn browsers_keep_the_files_of_a_release() {
    let server = memory().await;
    let ask = |path: String| server.request("GET", &path).anonymous().send();
    let page = ask("/_liteio/console/".to_owned()).await.expect_status(200);
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let text = page.text();
    let (_, named) = text.split_once("src=\"").expect("a script");
    let (script, _) = named.split_once('"').expect("a name");
    let kept = ask(format!("/_liteio/console/{script}")).await.expect_status(200);
    assert_eq!(kept.header("cache-control"), Some("public, max-age=31536000, immutable"));
    // The page may be of another release, by a server of the same cluster.
    let other = ask("/_liteio/console/files/0/app.js".to_owned()).await.expect_status(200);
    assert_eq!(other.header("cache-control"), Some("no-cache"));
    assert_eq!(other.body, kept.body);
}

#[tokio::test]
async fn a_session_may_what_its_user_may_and_call_iam() {
    let server = in_memory_with_users(ACCOUNTS).await;
    server.bucket("photos").await;
    let of_alice = sign_in(&server, ALICE).await;
    let of_carol = sign_in(&server, CAROL).await;
    let list = |keys: &Keys| {
        let request = server.request("GET", "/photos").by(keys.user);
        request.header("x-amz-security-token", &keys.token)
    };
    list(&of_alice).send().await.expect_status(200);
    list(&of_carol).send().await.expect_error(403, "AccessDenied");
    let users = server.form("iam", "Action=ListUsers").by(of_alice.user);
    users.header("x-amz-security-token", &of_alice.token).send().await.expect_status(200);
    // No session begins another one.
    let again = server.request("POST", SESSION).by(of_alice.user);
    let again = again.header("x-amz-security-token", &of_alice.token).send().await;
    again.expect_error(403, "AccessDenied");
    let wrong = User { secret_key: "wrong", ..ALICE };
    let wrong = server.request("POST", SESSION).by(wrong).send().await;
    wrong.expect_error(403, "SignatureDoesNotMatch");
    server.request("POST", SESSION).anonymous().send().await.expect_error(403, "AccessDenied");
}

#[tokio::test]
async fn a_session_disables_users_and_the_keys_of_a_link_do_not() {
    let server = memory().await;
    server.bucket("photos").await;
    let session = sign_in(&server, ALICE).await;
    let reply = share(&server, &session, "a").await.expect_status(200);
    let link = keys(&serde_json::from_slice(&reply.body).expect("JSON"));
    server.form("iam", "Action=CreateUser&UserName=dora").send().await.expect_status(200);
    let path = "/minio/admin/v3/set-user-status?accessKey=dora&status=disabled";
    for (keys, status) in [(&link, 403), (&session, 200)] {
        let request = server.request("PUT", path).by(keys.user);
        let reply = request.header("x-amz-security-token", &keys.token).send().await;
        reply.expect_status(status);
    }
    let reply = server.request("GET", "/minio/admin/v3/user-info?accessKey=dora").send().await;
    let told: Value = serde_json::from_slice(&reply.expect_status(200).body).expect("JSON");
    assert_eq!(told["status"], "disabled");
}

#[tokio::test]
async fn a_stolen_session_works_from_its_own_address_only() {
    let server = start_with("memory", "us-east-1", |builder, _| {
        builder.trusted_proxy(liteio::Network::parse("127.0.0.1").expect("an address"))
    })
    .await;
    server.bucket("photos").await;
    let reply = server
        .request("POST", SESSION)
        .header("x-forwarded-for", "192.0.2.7")
        .send()
        .await
        .expect_status(200);
    let keys = keys(&serde_json::from_slice(&reply.body).expect("JSON"));
    for (address, status) in [("192.0.2.7", 200), ("192.0.2.8", 403), ("2001:db8::1", 403)] {
        let request = server.request("GET", "/photos").by(keys.user);
        let request = request.header("x-amz-security-token", &keys.token);
        let reply = request.header("x-forwarded-for", address).send().await;
        assert_eq!(reply.status, status, "{address}");
    }
}

#[tokio::test]
async fn keys_of_a_link_read_one_object_and_make_no_other_link() {
    let server = memory().await;
    server.bucket("photos").await;
    for key in ["a*", "ab", "$%7Bb%7D"] {
        server.put(&format!("/photos/{key}"), "text").await.expect_status(200);
    }
    let session = sign_in(&server, ALICE).await;
    let reply = share(&server, &session, "a*").await.expect_status(200);
    let link = keys(&serde_json::from_slice(&reply.body).expect("JSON"));
    let ask = |method, path: &str| {
        let request = server.request(method, path).by(link.user);
        request.header("x-amz-security-token", &link.token)
    };
    ask("GET", "/photos/a*").send().await.expect_status(200);
    ask("GET", "/photos/ab").send().await.expect_error(403, "AccessDenied");
    ask("DELETE", "/photos/a*").send().await.expect_error(403, "AccessDenied");
    ask("GET", "/photos").send().await.expect_error(403, "AccessDenied");
    share(&server, &link, "a*").await.expect_error(403, "AccessDenied");
    let reply = share(&server, &session, "${b}").await.expect_status(200);
    let link = keys(&serde_json::from_slice(&reply.body).expect("JSON"));
    let read = server.request("GET", "/photos/$%7Bb%7D").by(link.user);
    read.header("x-amz-security-token", &link.token).send().await.expect_status(200);
    let body = r#"{"bucket":"photos","key":"a","seconds":604801}"#;
    let long = server.request("POST", SHARE).body(body).send().await;
    long.expect_error(400, "InvalidArgument");
}

#[tokio::test]
async fn an_object_in_a_browser_has_an_origin_of_its_own() {
    let server = memory().await;
    server.bucket("photos").await;
    let put = server.request("PUT", "/photos/page.html").header("content-type", "text/html");
    put.body("<script>alert(1)</script>").send().await.expect_status(200);
    let rows = [
        (("sec-fetch-dest", "document"), true),
        (("sec-fetch-dest", "iframe"), true),
        // A browser shows later what it has loaded for a picture or a video.
        (("sec-fetch-dest", "image"), true),
        (("sec-fetch-dest", "video"), true),
        (("user-agent", "Mozilla/5.0"), true),
        (("user-agent", "aws-cli/2"), false),
    ];
    for ((name, value), expected) in rows {
        let reply = server.request("GET", "/photos/page.html").header(name, value).send().await;
        let reply = reply.expect_status(200);
        // Else a browser could answer a navigation with what it kept for a program.
        assert_eq!(reply.header("vary"), Some("Sec-Fetch-Dest"), "{name}: {value}");
        let policy = reply.header("content-security-policy").unwrap_or_default();
        assert_eq!(policy.starts_with("sandbox "), expected, "{name}: {value}");
        assert!(!policy.contains("allow-same-origin"));
    }
}

#[tokio::test]
async fn every_answer_for_an_object_in_a_browser_is_isolated() {
    let server = memory().await;
    server.bucket("photos").await;
    for (key, kind) in [
        ("page", "text/html"),
        ("file", "application/pdf"),
        ("trick", "application/pdf;x=,text/html"),
    ] {
        let put = server.request("PUT", &format!("/photos/{key}")).header("content-type", kind);
        put.body("<script>alert(1)</script>").send().await.expect_status(200);
    }
    let rows: [(&str, &str, (&str, &str), u16, bool); 14] = [
        ("GET", "/photos/page", ("range", "bytes=0-3"), 206, true),
        ("GET", "/photos/page", ("if-none-match", "*"), 304, true),
        ("HEAD", "/photos/page", ("if-none-match", "*"), 304, true),
        ("GET", "/photos/page", ("if-match", "\"none\""), 412, true),
        ("GET", "/photos/page", ("range", "bytes=1000-"), 416, true),
        ("GET", "/photos/page?response-content-type=a%0Ab", ("x-row", ""), 400, true),
        ("GET", "/photos/none", ("x-row", ""), 404, true),
        ("GET", "/none/none", ("x-row", ""), 404, true),
        ("GET", "/photos/trick", ("x-row", ""), 200, true),
        ("GET", "/photos/trick", ("if-none-match", "*"), 304, true),
        ("GET", "/photos", ("x-row", ""), 200, true),
        ("GET", "/photos/file", ("x-row", ""), 200, false),
        ("GET", "/photos/file", ("if-none-match", "*"), 304, false),
        ("GET", "/photos/file", ("range", "bytes=1000-"), 416, true),
    ];
    for (method, path, (name, value), status, is_confined) in rows {
        for destination in ["document", "video"] {
            let request = server.request(method, path).header("sec-fetch-dest", destination);
            let reply = request.header(name, value).send().await.expect_status(status);
            let row = format!("{method} {path} {name} {destination}");
            let policy = reply.header("content-security-policy").unwrap_or_default();
            assert_eq!(policy.starts_with("sandbox "), is_confined, "{row}");
            assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{row}");
            assert_eq!(reply.header("vary"), Some("Sec-Fetch-Dest"), "{row}");
        }
    }
    // A refusal of an unsigned request does not run as the console either.
    let refused = server.request("GET", "/photos/page").anonymous().send().await;
    let refused = refused.expect_error(403, "AccessDenied");
    assert!(refused.header("content-security-policy").is_some_and(|it| it.starts_with("sandbox ")));
}

#[tokio::test]
async fn a_browser_is_led_to_the_console_unless_there_is_none() {
    let server = memory().await;
    let ask = |server: &TestServer| {
        let request = server.request("GET", "/").anonymous().header("user-agent", "Mozilla/5.0");
        request.send_owned()
    };
    let reply = ask(&server).await.expect_status(303);
    assert_eq!(reply.header("location"), Some("/_liteio/console/"));
    // Bookmarks of MinIO's console, until a bucket has the name.
    let open = |path: &'static str| {
        let request = server.request("GET", path).anonymous().header("user-agent", "Mozilla/5.0");
        request.send_owned()
    };
    for (path, page) in [
        ("/login", ""),
        ("/browser", ""),
        ("/browser/", ""),
        ("/browser/photos", "#/buckets/photos"),
        ("/browser/photos/", "#/buckets/photos"),
        ("/browser/photos/a%20b%2F%C3%A9%2F", "#/buckets/photos?prefix=a%20b%2F%C3%A9%2F"),
        ("/browser/photos/a.jpg", "#/buckets/photos"),
        ("/browser/photos/YS8=", "#/buckets/photos"),
        ("/browser/photos/a&b=%2F", "#/buckets/photos"),
    ] {
        let reply = open(path).await.expect_status(307);
        let page = format!("/_liteio/console/{page}");
        assert_eq!(reply.header("location"), Some(&*page), "{path}");
    }
    server.bucket("login").await;
    open("/login").await.expect_error(403, "AccessDenied");
    server.get("/login").await.expect_status(200);
    let server = start_with("memory", "us-east-1", |builder, _| builder.console(false)).await;
    ask(&server).await.expect_error(403, "AccessDenied");
    let page = server.request("GET", "/_liteio/console/").anonymous().send().await;
    page.expect_error(404, "NoSuchKey");
}
