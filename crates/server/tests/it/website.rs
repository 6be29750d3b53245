//! Websites of buckets, as browsers see them, and their configuration.

use std::net::SocketAddr;

use liteio::Server;

use crate::harness::{RawRequest, TestServer, User, memory};
use crate::reply::Reply;

const INDEX: &str = "<IndexDocument><Suffix>index.html</Suffix></IndexDocument>";
const ERROR: &str = "<ErrorDocument><Key>error.html</Key></ErrorDocument>";

fn document(content: &str) -> String {
    format!(
        "<WebsiteConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{content}\
         </WebsiteConfiguration>"
    )
}

fn rules(content: &str) -> String {
    document(&format!("{INDEX}{ERROR}<RoutingRules>{content}</RoutingRules>"))
}

/// Everybody may read the objects of the bucket, and learn which there are not.
async fn publish(server: &TestServer, bucket: &str) {
    let policy = format!(
        "{{\"Version\":\"2012-10-17\",\"Statement\":[{{\"Effect\":\"Allow\",\"Principal\":\"*\",\
         \"Action\":[\"s3:GetObject\",\"s3:ListBucket\"],\
         \"Resource\":[\"arn:aws:s3:::{bucket}\",\"arn:aws:s3:::{bucket}/*\"]}}]}}"
    );
    server.put(&format!("/{bucket}?policy"), policy).await.expect_status(204);
}

async fn site(server: &TestServer, bucket: &str, configuration: &str) {
    server.bucket(bucket).await;
    publish(server, bucket).await;
    server.put(&format!("/{bucket}?website"), configuration).await.expect_status(200);
    for (key, body) in [
        ("index.html", "the index"),
        ("error.html", "sorry"),
        ("docs/index.html", "the docs"),
        ("page.html", "a page"),
    ] {
        let put = server.request("PUT", &format!("/{bucket}/{key}")).body(body);
        put.header("content-type", "text/html").send().await.expect_status(200);
    }
}

fn visit<'a>(
    server: &'a TestServer,
    method: &'static str,
    bucket: &str,
    path: &str,
) -> RawRequest<'a> {
    let request = server.request(method, path).anonymous();
    request.header("host", format!("{bucket}.s3-website.localhost"))
}

async fn get(server: &TestServer, bucket: &str, path: &str) -> Reply {
    visit(server, "GET", bucket, path).send().await
}

#[tokio::test]
async fn pages_indexes_and_errors() {
    let server = memory().await;
    site(&server, "site", &document(&format!("{INDEX}{ERROR}"))).await;
    let rows = [
        ("/", 200, "the index"),
        ("/index.html", 200, "the index"),
        ("/docs/", 200, "the docs"),
        ("/page.html", 200, "a page"),
        ("/page.html?versionId=x&acl", 200, "a page"),
        ("/missing", 404, "sorry"),
        ("/missing/", 404, "sorry"),
        ("/_liteio/health/live", 404, "sorry"),
    ];
    for (path, status, body) in rows {
        let reply = get(&server, "site", path).await.expect_status(status);
        assert_eq!(
            (&*reply.text(), reply.header("content-type")),
            (body, Some("text/html")),
            "{path}"
        );
    }
    let directory = get(&server, "site", "/docs").await.expect_status(302);
    assert_eq!(directory.header("location"), Some("/docs/"));
    let head = visit(&server, "HEAD", "site", "/").send().await.expect_status(200);
    assert_eq!(head.header("content-length"), Some("9"));
    let range = visit(&server, "GET", "site", "/").header("range", "bytes=4-8");
    assert_eq!(range.send().await.expect_status(206).text(), "index");
    let etag = head.header("etag").expect("an entity tag");
    for (condition, body) in [(etag, "index"), ("\"of another page\"", "the index")] {
        let range = visit(&server, "GET", "site", "/").header("range", "bytes=4-8");
        let range = range.header("if-range", condition).send().await;
        assert_eq!(range.text(), body, "{condition}");
    }
    let same = visit(&server, "GET", "site", "/").header("if-none-match", etag).send().await;
    same.expect_status(304);
    // Nothing else than reading.
    for method in ["PUT", "POST", "DELETE"] {
        let reply = visit(&server, method, "site", "/page.html").send().await.expect_status(405);
        assert!(reply.text().contains("<li>Code: MethodNotAllowed</li>"), "{}", reply.text());
    }
    let regional = server.request("GET", "/").anonymous();
    let regional =
        regional.header("host", "site.s3-website-us-east-1.s3.localhost:80").send().await;
    assert_eq!(regional.expect_status(200).text(), "the index");
}

/// A path that begins with two slashes is the address of another host in a `Location`.
#[tokio::test]
async fn redirects_to_an_index_stay_on_the_host() {
    let server = memory().await;
    site(&server, "site", &document(&format!("{INDEX}{ERROR}"))).await;
    let rows = [
        ("//evil.example", "/site//evil.example/index.html", "/%2Fevil.example/"),
        ("/%2Fevil.example", "/site//evil.example/index.html", "/%2Fevil.example/"),
        ("/%5Cevil.example", "/site/%5Cevil.example/index.html", "/%5Cevil.example/"),
        ("///evil.example", "/site///evil.example/index.html", "/%2F%2Fevil.example/"),
    ];
    for (path, key, location) in rows {
        server.put(key, "its index").await.expect_status(200);
        let reply = get(&server, "site", path).await.expect_status(302);
        assert_eq!(reply.header("location"), Some(location), "{path}");
        assert_eq!(get(&server, "site", location).await.expect_status(200).text(), "its index");
    }
}

#[tokio::test]
async fn errors_are_pages_of_html() {
    let server = memory().await;
    site(&server, "site", &document(INDEX)).await;
    let missing = get(&server, "site", "/a%3Cb").await.expect_status(404);
    for part in [
        "<title>404 Not Found</title>",
        "<li>Code: NoSuchKey</li>",
        "<li>Message: The specified key does not exist.</li>",
        "<li>Key: a&lt;b</li>",
        "<li>RequestId: ",
    ] {
        assert!(missing.text().contains(part), "{part} is not in {}", missing.text());
    }
    assert_eq!(missing.header("x-amz-error-code"), Some("NoSuchKey"));
    let none = get(&server, "none", "/").await.expect_status(404);
    assert!(none.text().contains("<li>Code: NoSuchBucket</li>"), "{}", none.text());
    server.bucket("plain").await;
    let plain = get(&server, "plain", "/").await.expect_status(404);
    assert!(plain.text().contains("NoSuchWebsiteConfiguration"), "{}", plain.text());

    // A document for errors that cannot be read is told, too.
    server.put("/site?website", document(&format!("{INDEX}{ERROR}"))).await.expect_status(200);
    server.delete("/site/error.html").await.expect_status(204);
    let missing = get(&server, "site", "/missing").await.expect_status(404);
    assert!(missing.text().contains("Retrieve a Custom Error Document"), "{}", missing.text());
    assert!(missing.text().contains("<li>Key: error.html</li>"), "{}", missing.text());

    // Whoever may read the pages is told which there are.
    let policy = "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":\"*\",\
                  \"Action\":\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::site/*\"}]}";
    server.put("/site?policy", policy).await.expect_status(204);
    get(&server, "site", "/missing").await.expect_status(404);
    server.request("GET", "/site/missing").anonymous().send().await.expect_status(403);

    // What is not public is not served, whoever asks.
    server.delete("/site?policy").await.expect_status(204);
    get(&server, "site", "/missing").await.expect_status(403);
    for request in [visit(&server, "GET", "site", "/"), server.request("GET", "/")] {
        let request = request.header("host", "site.s3-website.localhost");
        let refused = request.send().await.expect_status(403);
        assert!(refused.text().contains("<li>Code: AccessDenied</li>"), "{}", refused.text());
    }
}

#[tokio::test]
async fn routing_rules_and_redirects() {
    let server = memory().await;
    let configuration = rules(
        "<RoutingRule><Condition><KeyPrefixEquals>old/</KeyPrefixEquals></Condition>\
         <Redirect><ReplaceKeyPrefixWith>docs/</ReplaceKeyPrefixWith></Redirect></RoutingRule>\
         <RoutingRule><Condition><KeyPrefixEquals>ext/</KeyPrefixEquals>\
         <HttpErrorCodeReturnedEquals>404</HttpErrorCodeReturnedEquals></Condition>\
         <Redirect><HostName>other.example</HostName><Protocol>https</Protocol>\
         <HttpRedirectCode>307</HttpRedirectCode></Redirect></RoutingRule>",
    );
    site(&server, "site", &configuration).await;
    let moved = get(&server, "site", "/old/a%20b").await.expect_status(301);
    assert_eq!(moved.header("location"), Some("http://site.s3-website.localhost/docs/a%20b"));
    let moved = get(&server, "site", "/old/a?b=c").await.expect_status(301);
    assert_eq!(moved.header("location"), Some("http://site.s3-website.localhost/docs/a?b=c"));
    let elsewhere = get(&server, "site", "/ext/x").await.expect_status(307);
    assert_eq!(elsewhere.header("location"), Some("https://other.example/ext/x"));
    assert_eq!(get(&server, "site", "/x").await.expect_status(404).text(), "sorry");

    let put = server.request("PUT", "/site/gone").body("x");
    let put = put.header("x-amz-website-redirect-location", "/page.html").send().await;
    put.expect_status(200);
    let gone = get(&server, "site", "/gone").await.expect_status(301);
    assert_eq!((gone.header("location"), &*gone.text()), (Some("/page.html"), ""));
    let by_s3 = server.get("/site/gone").await.expect_status(200);
    assert_eq!(by_s3.header("x-amz-website-redirect-location"), Some("/page.html"));

    let all = "<RedirectAllRequestsTo><HostName>www.example</HostName><Protocol>https</Protocol>\
               </RedirectAllRequestsTo>";
    server.put("/site?website", document(all)).await.expect_status(200);
    let all = get(&server, "site", "/any/thing").await.expect_status(301);
    assert_eq!(all.header("location"), Some("https://www.example/any/thing"));
}

#[tokio::test]
async fn pages_have_the_headers_of_cors() {
    let server = memory().await;
    site(&server, "site", &document(INDEX)).await;
    let cors = "<CORSConfiguration><CORSRule><AllowedOrigin>http://app.example</AllowedOrigin>\
                <AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>";
    server.put("/site?cors", cors).await.expect_status(200);
    for path in ["/", "/missing"] {
        let reply = visit(&server, "GET", "site", path).header("origin", "http://app.example");
        let reply = reply.send().await;
        let allowed = reply.header("access-control-allow-origin");
        assert_eq!(allowed, Some("http://app.example"), "{path}");
    }
    let asked = visit(&server, "OPTIONS", "site", "/").header("origin", "http://app.example");
    let asked = asked.header("access-control-request-method", "GET").send().await;
    asked.expect_status(200);
}

#[tokio::test]
async fn the_configuration_is_kept_and_checked() {
    let server = memory().await;
    server.bucket("site").await;
    server.get("/site?website").await.expect_error(404, "NoSuchWebsiteConfiguration");
    let configuration = rules(
        "<RoutingRule><Condition><KeyPrefixEquals>a</KeyPrefixEquals></Condition>\
         <Redirect><ReplaceKeyWith>b</ReplaceKeyWith></Redirect></RoutingRule>",
    );
    server.put("/site?website", &configuration).await.expect_status(200);
    let kept = server.get("/site?website").await.expect_status(200);
    for part in ["<Suffix>index.html</Suffix>", "<Key>error.html</Key>", "<ReplaceKeyWith>b<"] {
        assert!(kept.text().contains(part), "{part} is not in {}", kept.text());
    }
    let redirect = |content: &str| {
        rules(&format!("<RoutingRule><Redirect>{content}</Redirect></RoutingRule>"))
    };
    let condition = |content: &str| {
        rules(&format!(
            "<RoutingRule><Condition>{content}</Condition><Redirect><HostName>h</HostName></Redirect>\
             </RoutingRule>"
        ))
    };
    let many = "<RoutingRule><Redirect><HostName>h</HostName></Redirect></RoutingRule>".repeat(51);
    let elsewhere = "<RedirectAllRequestsTo><HostName>h</HostName></RedirectAllRequestsTo>";
    let rows = [
        (document(""), "InvalidArgument"),
        (document("<IndexDocument><Suffix></Suffix></IndexDocument>"), "InvalidArgument"),
        (document("<IndexDocument><Suffix>a/b</Suffix></IndexDocument>"), "InvalidArgument"),
        (
            document(&format!("{INDEX}<ErrorDocument><Key></Key></ErrorDocument>")),
            "InvalidArgument",
        ),
        (document(&format!("{INDEX}{elsewhere}")), "InvalidArgument"),
        (
            document("<RedirectAllRequestsTo><HostName>a\r\nb</HostName></RedirectAllRequestsTo>"),
            "InvalidArgument",
        ),
        (document(&format!("{INDEX}<Other/>")), "MalformedXML"),
        (redirect(""), "MalformedXML"),
        (redirect("<HttpRedirectCode>300</HttpRedirectCode>"), "InvalidRequest"),
        (redirect("<HttpRedirectCode>200</HttpRedirectCode>"), "InvalidRequest"),
        (redirect("<HttpRedirectCode>x</HttpRedirectCode>"), "InvalidRequest"),
        (redirect("<Protocol>ftp</Protocol>"), "InvalidRequest"),
        (
            redirect(
                "<ReplaceKeyWith>a</ReplaceKeyWith><ReplaceKeyPrefixWith>b</ReplaceKeyPrefixWith>",
            ),
            "InvalidRequest",
        ),
        (condition(""), "InvalidRequest"),
        (
            condition("<HttpErrorCodeReturnedEquals>200</HttpErrorCodeReturnedEquals>"),
            "InvalidRequest",
        ),
        (rules(&many), "InvalidRequest"),
    ];
    for (configuration, code) in rows {
        server.put("/site?website", &configuration).await.expect_error(400, code);
    }
    let still = server.get("/site?website").await.expect_status(200);
    assert_eq!(still.text(), kept.text(), "nothing was stored");
    server.delete("/site?website").await.expect_status(204);
    server.get("/site?website").await.expect_error(404, "NoSuchWebsiteConfiguration");
}

#[tokio::test]
async fn websites_have_an_address_of_their_own() {
    const DEFAULT: User = User { access_key: "liteio", secret_key: "liteio123", id: "" };
    let server = Server::builder().memory().website_address("127.0.0.1:0");
    let server = server.spawn().await.expect("it starts");
    let at = |address: SocketAddr, method, path: &str| {
        RawRequest::of_s3(address, "us-east-1", method, path).by(DEFAULT)
    };
    let api = server.address();
    for bucket in ["www.a.example", "bbb"] {
        at(api, "PUT", &format!("/{bucket}")).send().await.expect_status(200);
        let policy = format!(
            "{{\"Version\":\"2012-10-17\",\"Statement\":[{{\"Effect\":\"Allow\",\"Principal\":\"*\",\
             \"Action\":\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::{bucket}/*\"}}]}}"
        );
        at(api, "PUT", &format!("/{bucket}?policy")).body(policy).send().await.expect_status(204);
        let website = at(api, "PUT", &format!("/{bucket}?website")).body(document(INDEX));
        website.send().await.expect_status(200);
        let index = at(api, "PUT", &format!("/{bucket}/index.html")).body(bucket);
        index.send().await.expect_status(200);
    }
    let sites = server.website_address().expect("it has one");
    let rows = [
        ("www.a.example:8080", 200, "www.a.example"),
        ("bbb", 200, "bbb"),
        ("bbb.any.thing", 200, "bbb"),
        ("bbb.s3-website.localhost", 200, "bbb"),
        ("a.example", 404, "NoSuchBucket"),
        ("127.0.0.1:1", 404, "NoSuchBucket"),
    ];
    for (host, status, body) in rows {
        let reply = at(sites, "GET", "/").anonymous().header("host", host).send().await;
        assert!(reply.expect_status(status).text().contains(body), "{host}");
    }
    // It is for websites alone.
    let signed = at(sites, "PUT", "/c").header("host", "bbb").send().await;
    signed.expect_status(405);
    server.stop().await;
}
