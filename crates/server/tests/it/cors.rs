//! Cross-origin requests, as browsers make them.

use liteio::ServerBuilder;

use crate::harness::{self, TestServer};
use crate::reply::Reply;

const PAGE: &str = "http://app.example.com";

fn document(rules: &str) -> String {
    format!("<CORSConfiguration>{rules}</CORSConfiguration>")
}

fn rule(inner: &str) -> String {
    document(&format!("<CORSRule>{inner}</CORSRule>"))
}

/// Pages of `*.example.com` may put, everybody may get.
fn rules() -> String {
    document(
        "<CORSRule><ID>apps</ID><AllowedOrigin>http://*.example.com</AllowedOrigin>\
         <AllowedMethod>PUT</AllowedMethod><AllowedMethod>GET</AllowedMethod>\
         <AllowedHeader>x-amz-*</AllowedHeader><AllowedHeader>Content-Type</AllowedHeader>\
         <ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>600</MaxAgeSeconds></CORSRule>\
         <CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod></CORSRule>",
    )
}

async fn preflight(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Reply {
    server.request("OPTIONS", path).anonymous().headers(headers).send().await
}

#[tokio::test]
async fn rules_are_kept_answered_and_taken_away() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.get("/mine?cors").await.expect_error(404, "NoSuchCORSConfiguration");
        server.put("/mine?cors", rules()).await.expect_status(200);
        let kept = server.get("/mine?cors").await.expect_status(200);
        assert_eq!(kept.elements("AllowedOrigin"), ["http://*.example.com", "*"]);
        assert_eq!(kept.elements("AllowedMethod"), ["PUT", "GET", "GET"]);
        assert_eq!(
            (kept.element("ID"), kept.element("MaxAgeSeconds")),
            ("apps".into(), "600".into())
        );
        server.delete("/mine?cors").await.expect_status(204);
        server.get("/mine?cors").await.expect_error(404, "NoSuchCORSConfiguration");
    }
}

#[tokio::test]
async fn preflights_are_answered_without_a_signature() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let asks = [("origin", PAGE), ("access-control-request-method", "PUT")];
    preflight(&server, "/mine/a", &asks).await.expect_error(403, "AccessForbidden");
    server.put("/mine?cors", rules()).await.expect_status(200);
    let with_headers =
        [&asks[..], &[("access-control-request-headers", "content-type, X-Amz-Date")]].concat();
    let allowed = preflight(&server, "/mine/a", &with_headers).await.expect_status(200);
    let expected = [
        ("access-control-allow-origin", PAGE),
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-methods", "PUT, GET"),
        ("access-control-allow-headers", "content-type, x-amz-date"),
        ("access-control-expose-headers", "ETag"),
        ("access-control-max-age", "600"),
        ("vary", "Origin, Access-Control-Request-Headers, Access-Control-Request-Method"),
        ("content-length", "0"),
    ];
    for (name, value) in expected {
        assert_eq!(allowed.header(name), Some(value), "{name}");
    }
    let get = [("origin", "http://elsewhere"), ("access-control-request-method", "GET")];
    let everybody = preflight(&server, "/mine/a", &get).await.expect_status(200);
    assert_eq!(everybody.header("access-control-allow-origin"), Some("*"));
    assert_eq!(everybody.header("access-control-allow-credentials"), None);
    // A changed rule holds at once.
    server.delete("/mine?cors").await.expect_status(204);
    preflight(&server, "/mine/a", &get).await.expect_error(403, "AccessForbidden");
}

#[tokio::test]
async fn preflights_that_no_rule_allows_are_refused() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine?cors", rules()).await.expect_status(200);
    type Row = (&'static str, &'static [(&'static str, &'static str)], u16, &'static str);
    let rows: [Row; 14] = [
        ("/mine/a", &[], 400, "BadRequest"),
        ("/mine/a", &[("origin", "")], 400, "BadRequest"),
        (
            "/mine/a",
            &[("origin", PAGE), ("access-control-request-method", "put")],
            400,
            "BadRequest",
        ),
        (
            "/mine/a",
            &[
                ("origin", PAGE),
                ("access-control-request-method", "PUT"),
                ("access-control-request-headers", "content-type, x amz date"),
            ],
            400,
            "BadRequest",
        ),
        (
            "/mine/a",
            &[
                ("origin", PAGE),
                ("access-control-request-method", "PUT"),
                ("access-control-request-headers", "x@y"),
            ],
            400,
            "BadRequest",
        ),
        // What the request names must be valid also where no rules are.
        (
            "/nothing/a",
            &[("origin", PAGE), ("access-control-request-method", "PATCH")],
            400,
            "BadRequest",
        ),
        ("/nothing/a", &[("origin", PAGE)], 403, "AccessForbidden"),
        ("/mine/a", &[("origin", PAGE)], 400, "BadRequest"),
        (
            "/mine/a",
            &[("origin", PAGE), ("access-control-request-method", "FETCH")],
            400,
            "BadRequest",
        ),
        (
            "/mine/a",
            &[("origin", PAGE), ("access-control-request-method", "DELETE")],
            403,
            "AccessForbidden",
        ),
        (
            "/mine/a",
            &[("origin", "http://example.com"), ("access-control-request-method", "PUT")],
            403,
            "AccessForbidden",
        ),
        (
            "/mine/a",
            &[
                ("origin", PAGE),
                ("access-control-request-method", "PUT"),
                ("access-control-request-headers", "x-amz-date,authorization"),
            ],
            403,
            "AccessForbidden",
        ),
        (
            "/nothing/a",
            &[("origin", PAGE), ("access-control-request-method", "GET")],
            403,
            "AccessForbidden",
        ),
        (
            "/",
            &[("origin", PAGE), ("access-control-request-method", "GET")],
            403,
            "AccessForbidden",
        ),
    ];
    for (path, headers, status, code) in rows {
        preflight(&server, path, headers).await.expect_error(status, code);
    }
}

#[tokio::test]
async fn answers_say_which_pages_may_read_them_also_when_they_are_errors() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let plain = server.request("PUT", "/mine/a").header("origin", PAGE).body("1").send().await;
    assert_eq!(plain.expect_status(200).header("access-control-allow-origin"), None);
    server.put("/mine?cors", rules()).await.expect_status(200);
    let of = |method, path| server.request(method, path).header("origin", PAGE);
    for (method, path, status) in [
        ("PUT", "/mine/a", 200),
        ("GET", "/mine/a", 200),
        ("GET", "/mine/missing", 404),
        ("GET", "/mine", 200),
    ] {
        let answer = of(method, path).send().await.expect_status(status);
        assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE), "{method} {path}");
        assert_eq!(answer.header("access-control-expose-headers"), Some("ETag"));
        assert!(answer.header("vary").is_some_and(|vary| vary.starts_with("Origin")));
    }
    // The rules permit nothing by themselves.
    let denied = of("GET", "/mine/a").anonymous().send().await.expect_error(403, "AccessDenied");
    assert_eq!(denied.header("access-control-allow-origin"), Some(PAGE));
    let deleted = of("DELETE", "/mine/a").send().await.expect_status(204);
    assert_eq!(deleted.header("access-control-allow-origin"), None);
    assert!(deleted.header("vary").is_some());
    let quiet = server.put("/mine/a", "1").await.expect_status(200);
    assert_eq!((quiet.header("vary"), quiet.header("access-control-allow-origin")), (None, None));
}

/// `true` if the answer to a request as that of an `<img>` varies by origin.
async fn image_varies(server: &TestServer) -> bool {
    let image = server.request("GET", "/mine/a").anonymous().send().await;
    image.header("vary").is_some_and(|vary| vary.starts_with("Origin, "))
}

/// A browser keeps the answer for an `<img>`, which names no origin, and would give it to the same image with
/// `crossorigin`.
#[tokio::test]
async fn answers_that_a_browser_keeps_vary_by_origin_also_without_one() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/a", "1").await.expect_status(200);
    let policy = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": "*",
        "Action": "s3:GetObject", "Resource": "arn:aws:s3:::mine/*"}}"#;
    server.put("/mine?policy", policy).await.expect_status(204);
    assert!(!image_varies(&server).await);
    server.put("/mine?cors", rules()).await.expect_status(200);
    assert!(image_varies(&server).await);
    server.delete("/mine?cors").await.expect_status(204);
    assert!(!image_varies(&server).await);
    let open = open_to(&["https://app.example.com"]).await;
    open.bucket("mine").await;
    assert!(image_varies(&open).await);
}

#[tokio::test]
async fn rules_that_make_no_sense_are_refused_and_the_old_ones_stay() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    let get = "<AllowedMethod>GET</AllowedMethod>";
    let all = "<AllowedOrigin>*</AllowedOrigin>";
    server.put("/mine?cors", rule(&format!("<ID>kept</ID>{get}{all}"))).await.expect_status(200);
    let one = format!("<CORSRule>{get}{all}</CORSRule>");
    let rows = [
        (document(""), "MalformedXML"),
        (document(&one.repeat(101)), "InvalidRequest"),
        (rule(get), "MalformedXML"),
        (rule(all), "MalformedXML"),
        (rule(&format!("<AllowedMethod>PATCH</AllowedMethod>{all}")), "InvalidRequest"),
        (rule(&format!("<AllowedMethod>get</AllowedMethod>{all}")), "InvalidRequest"),
        (rule(&format!("{get}<AllowedOrigin>http://*.*</AllowedOrigin>")), "InvalidRequest"),
        (rule(&format!("{get}<AllowedOrigin>http://ä</AllowedOrigin>")), "InvalidRequest"),
        (rule(&format!("{get}{all}<AllowedHeader>x-*-*</AllowedHeader>")), "InvalidRequest"),
        (rule(&format!("{get}{all}<ExposeHeader>x-*</ExposeHeader>")), "InvalidRequest"),
        (rule(&format!("{get}{all}<ExposeHeader>a b</ExposeHeader>")), "InvalidRequest"),
        (rule(&format!("{get}{all}<MaxAgeSeconds>-1</MaxAgeSeconds>")), "InvalidRequest"),
        (rule(&format!("{get}{all}<MaxAgeSeconds>soon</MaxAgeSeconds>")), "MalformedXML"),
        (rule(&format!("{get}{all}<ID>{}</ID>", "x".repeat(256))), "InvalidRequest"),
        (rule(&format!("{get}{all}<Colour/>")), "MalformedXML"),
    ];
    for (body, code) in rows {
        server.put("/mine?cors", &body).await.expect_error(400, code);
    }
    assert_eq!(server.get("/mine?cors").await.elements("ID"), ["kept"]);
    let bobs = server.request("PUT", "/mine?cors").by(harness::BOB).body(rules());
    bobs.send().await.expect_error(403, "AccessDenied");
}

/// A server that answers pages of these origins.
async fn open_to(origins: &[&str]) -> TestServer {
    let open = |builder: ServerBuilder, origin: &&str| builder.cors_origin(*origin);
    harness::start_with("memory", "us-east-1", |builder, _| origins.iter().fold(builder, open))
        .await
}

#[tokio::test]
async fn origins_of_the_server_are_answered_where_a_bucket_has_no_rules() {
    let server = open_to(&["*"]).await;
    server.bucket("mine").await;
    let asks = [
        ("origin", PAGE),
        ("access-control-request-method", "PUT"),
        ("access-control-request-headers", "authorization,x-amz-meta-a"),
    ];
    // A bucket without rules, one that is to be made, no bucket (ListBuckets, IAM), and S3 Vectors.
    for path in ["/mine/key", "/new-bucket", "/", "/ListVectors"] {
        let allowed = preflight(&server, path, &asks).await.expect_status(200);
        let expected = [
            ("access-control-allow-origin", PAGE),
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-methods", "GET, PUT, POST, DELETE, HEAD"),
            ("access-control-allow-headers", "authorization, x-amz-meta-a"),
        ];
        for (name, value) in expected {
            assert_eq!(allowed.header(name), Some(value), "{path} {name}");
        }
        assert!(allowed.header("vary").is_some_and(|vary| vary.starts_with("Origin")));
    }
    let put = server.request("PUT", "/mine/key").header("origin", PAGE).body("x").send().await;
    let vectors = server.vectors("ListVectorBuckets", "{}").header("origin", PAGE).send().await;
    let users = server.form("iam", "Action=ListUsers").header("origin", PAGE).send().await;
    let buckets = server.request("GET", "/").header("origin", PAGE).send().await;
    let denied = server.request("GET", "/mine/key").anonymous().header("origin", PAGE).send().await;
    for (reply, status) in [(put, 200), (vectors, 200), (users, 200), (buckets, 200), (denied, 403)]
    {
        let reply = reply.expect_status(status);
        assert_eq!(reply.header("access-control-allow-origin"), Some(PAGE));
        assert_eq!(reply.header("access-control-allow-credentials"), Some("true"));
        let exposed = reply.header("access-control-expose-headers").unwrap_or_default();
        assert!(exposed.contains("ETag") && exposed.contains("x-amz-version-id"), "{exposed}");
    }
    // Who is no page is answered as ever. Caches are told about the console's sandbox alone.
    let quiet = server.get("/mine/key").await.expect_status(200);
    assert_eq!(quiet.header("vary"), Some("Sec-Fetch-Dest"));
    assert_eq!(quiet.header("access-control-allow-origin"), None);
    preflight(&server, "/mine/key", &[]).await.expect_error(400, "BadRequest");
    // The bucket's own rules come first, and say everything.
    server.put("/mine?cors", rules()).await.expect_status(200);
    preflight(&server, "/mine/key", &asks).await.expect_error(403, "AccessForbidden");
    let deleted = server.request("DELETE", "/mine/key").header("origin", PAGE).send().await;
    assert_eq!(deleted.expect_status(204).header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn other_origins_than_those_of_the_server_are_not_answered() {
    let server = open_to(&["https://app.example.com", "http://localhost:*"]).await;
    server.bucket("mine").await;
    for (origin, is_known) in [
        ("https://app.example.com", true),
        ("http://localhost:3000", true),
        ("http://app.example.com", false),
        ("https://app.example.com.evil.example", false),
    ] {
        let asks = [("origin", origin), ("access-control-request-method", "GET")];
        let asked = preflight(&server, "/mine/key", &asks).await;
        let got = server.request("GET", "/mine").header("origin", origin).send().await;
        let got = got.expect_status(200);
        assert!(got.header("vary").is_some());
        let allowed = is_known.then_some(origin);
        assert_eq!(got.header("access-control-allow-origin"), allowed);
        match is_known {
            true => {
                assert_eq!(asked.expect_status(200).header("access-control-allow-origin"), allowed)
            }
            false => drop(asked.expect_error(403, "AccessForbidden")),
        }
    }
}
