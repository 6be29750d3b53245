//! Header names as they stand in the bytes of answers. Clients exist that compare them letter by letter with the
//! names of S3: htslib (samtools), fluent-bit, s3backer. HTTP/2 has names in lower case only; `tls.rs` reads those with
//! a client that refuses others.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use crate::harness::{User, memory};
use crate::raw::{OWNER, RawServer, Request, connect};

/// Names as S3 sends them on HTTP/1.1. All others begin with `x-amz-`, in lower case.
const OF_S3: [&str; 34] = [
    "Accept-Ranges",
    "Access-Control-Allow-Credentials",
    "Access-Control-Allow-Headers",
    "Access-Control-Allow-Methods",
    "Access-Control-Allow-Origin",
    "Access-Control-Expose-Headers",
    "Access-Control-Max-Age",
    "Allow",
    "Cache-Control",
    "Connection",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Range",
    "Content-Security-Policy",
    "Content-Type",
    "Cross-Origin-Opener-Policy",
    "Cross-Origin-Resource-Policy",
    "Date",
    "ETag",
    "Expires",
    "Keep-Alive",
    "Last-Modified",
    "Location",
    "Referrer-Policy",
    "Retry-After",
    "Server",
    "Transfer-Encoding",
    "Vary",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "x-amzn-ErrorType",
    "x-amzn-RequestId",
];

/// Status and header names of an answer as sent.
type Names = (u16, Vec<String>);

/// The answers to requests that are sent one after the other on one connection, interim ones left out.
fn answers(server: &RawServer, requests: &[Vec<u8>]) -> Vec<Names> {
    let mut stream = BufReader::new(connect(server.address));
    let mut answers = Vec::new();
    for request in requests {
        stream.get_mut().write_all(request).expect("the server reads");
        let is_head = request.starts_with(b"HEAD ");
        answers.push(loop {
            let answer = read(&mut stream, is_head);
            if answer.0 >= 200 {
                break answer;
            }
        });
    }
    answers
}

fn read(stream: &mut BufReader<std::net::TcpStream>, is_head: bool) -> Names {
    let mut line = || {
        let mut line = String::new();
        stream.read_line(&mut line).expect("heads are text");
        line.trim_end().to_owned()
    };
    let first = line();
    let status = first.split(' ').nth(1).and_then(|text| text.parse().ok());
    let (mut names, mut length) = (Vec::new(), 0);
    loop {
        let line = line();
        let Some((name, value)) = line.split_once(": ") else { break };
        if name == "Content-Length" && !is_head {
            length = value.parse().expect("a length");
        }
        names.push(name.to_owned());
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
    (status.unwrap_or_else(|| panic!("{first:?}")), names)
}

fn signed(method: &str, target: &str) -> Request {
    Request::new(method, target)
}

fn site(target: &str) -> Request {
    Request::new("GET", target).without("host").header("host", "bucket.s3-website.localhost")
}

#[track_caller]
fn expect(what: &str, (found, names): &Names, status: u16, expected: &[&str]) {
    assert_eq!(*found, status, "{what}: {names:?}");
    for name in expected.iter().chain(&["x-amz-request-id", "x-amz-id-2", "Date", "Server"]) {
        assert!(names.iter().any(|it| it == name), "{what}: no {name} in {names:?}");
    }
    let is_of_s3 = |name: &String| {
        let is_lower = name.starts_with("x-amz-") && *name == name.to_ascii_lowercase();
        is_lower || OF_S3.contains(&&**name)
    };
    assert!(names.iter().all(is_of_s3), "{what}: {names:?}");
}

#[test]
fn every_name_is_spelled_as_s3_spells_it() {
    let server = RawServer::start();
    let full = signed("PUT", "/bucket/full")
        .header("cache-control", "no-cache")
        .header("content-disposition", "inline")
        .header("content-encoding", "gzip")
        .header("content-language", "de")
        .header("expires", "Thu, 01 Dec 2033 16:00:00 GMT")
        .header("x-amz-meta-camelcase", "a")
        .body("0123456789");
    let cors = "<CORSConfiguration><CORSRule><AllowedOrigin>http://a.test</AllowedOrigin>\
                <AllowedMethod>GET</AllowedMethod><AllowedHeader>*</AllowedHeader>\
                <ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>9</MaxAgeSeconds></CORSRule>\
                </CORSConfiguration>";
    let upload = server.ask("POST", "/bucket/parts?uploads").element("UploadId");
    let part = format!("/bucket/parts?partNumber=1&uploadId={upload}");
    let document = ["Content-Type", "Content-Length"];
    let of_object = ["ETag", "Last-Modified", "Accept-Ranges", "Content-Type", "Content-Length"];
    let with_all = ["Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language"];
    let allowed = [
        "Access-Control-Allow-Origin",
        "Access-Control-Allow-Methods",
        "Access-Control-Expose-Headers",
        "Access-Control-Max-Age",
        "Vary",
    ];
    let rows: &[(&str, Request, u16, &[&str])] = &[
        ("put", full, 200, &["ETag", "Content-Length"]),
        ("get", signed("GET", "/bucket/full"), 200, &of_object),
        ("system metadata", signed("GET", "/bucket/full"), 200, &with_all),
        (
            "user metadata",
            signed("HEAD", "/bucket/full"),
            200,
            &["Expires", "x-amz-meta-camelcase"],
        ),
        ("head", signed("HEAD", "/bucket/full"), 200, &of_object),
        ("head of nothing", signed("HEAD", "/bucket/none"), 404, &[]),
        (
            "range",
            signed("GET", "/bucket/full").header("range", "bytes=2-3"),
            206,
            &["Content-Range", "ETag", "Content-Length"],
        ),
        ("no range", signed("GET", "/bucket/full").header("range", "bytes=20-30"), 416, &document),
        (
            "not modified",
            signed("GET", "/bucket/full").header("if-none-match", "*"),
            304,
            &["ETag", "Last-Modified"],
        ),
        ("condition", signed("GET", "/bucket/full").header("if-match", "\"a\""), 412, &document),
        ("missing", signed("GET", "/bucket/none"), 404, &document),
        ("denied", Request::new("GET", "/bucket/full").header("x-a", "b"), 403, &document),
        ("buckets", signed("GET", "/"), 200, &document),
        ("list", signed("GET", "/bucket?list-type=2"), 200, &document),
        ("uploads", signed("POST", "/bucket/other?uploads"), 200, &document),
        ("part", signed("PUT", &part).body("part"), 200, &["ETag"]),
        ("method", signed("DELETE", "/bucket/full?acl"), 405, &document),
        ("rules", signed("PUT", "/bucket?cors").body(cors), 200, &[]),
        (
            "preflight",
            Request::new("OPTIONS", "/bucket/full")
                .header("origin", "http://a.test")
                .header("access-control-request-method", "GET")
                .header("access-control-request-headers", "x-a"),
            200,
            &[&allowed[..], &["Access-Control-Allow-Headers", "Access-Control-Allow-Credentials"]]
                .concat(),
        ),
        ("page", signed("GET", "/bucket/full").header("origin", "http://a.test"), 200, &allowed),
        (
            "old override",
            signed("GET", "/bucket/full?response-expires=never&response-cache-control=a"),
            200,
            &["Expires", "Cache-Control"],
        ),
        ("delete", signed("DELETE", "/bucket/full"), 204, &[]),
        (
            "website",
            signed("PUT", "/bucket?website").body(
                "<WebsiteConfiguration><IndexDocument><Suffix>i</Suffix></IndexDocument>\
                 <RoutingRules><RoutingRule><Condition><KeyPrefixEquals>old</KeyPrefixEquals>\
                 </Condition><Redirect><ReplaceKeyPrefixWith>new</ReplaceKeyPrefixWith></Redirect>\
                 </RoutingRule></RoutingRules></WebsiteConfiguration>",
            ),
            200,
            &[],
        ),
        ("redirect", site("/old"), 301, &["Location"]),
        ("page of a website", site("/none"), 403, &["Content-Type"]),
        (
            "vectors",
            signed("POST", "/ListIndexes").scope("us-east-1", "s3vectors").body("{}"),
            400,
            &["Content-Type", "x-amzn-ErrorType", "x-amzn-RequestId"],
        ),
    ];
    for (what, request, status, expected) in rows {
        let is_open = matches!(*what, "denied" | "preflight" | "redirect" | "page of a website");
        let request = if is_open { request.clone() } else { request.clone().sign(OWNER) };
        let [answer] = &answers(&server, &[request.bytes()])[..] else { panic!("one answer") };
        expect(what, answer, *status, expected);
    }
}

/// Answers that hyper does not write.
#[test]
fn answers_to_bytes_that_are_no_request_have_these_names_too() {
    let server = RawServer::start();
    let long = format!("GET / HTTP/1.1\r\nhost: a\r\nx-a: {}\r\n\r\n", "a".repeat(1 << 20));
    for bytes in ["no request\r\n\r\n", "GET / HTTP/1.1\r\nbroken\r\n\r\n", &long] {
        let [answer] = &answers(&server, &[bytes.as_bytes().to_vec()])[..] else { panic!("one") };
        expect(bytes.get(..20).unwrap_or(bytes), answer, 400, &["Content-Type", "Connection"]);
    }
}

#[test]
fn later_answers_of_a_connection_have_these_names_too() {
    let server = RawServer::start();
    let put = Request::new("PUT", "/bucket/a").header("expect", "100-continue").body("a");
    let get = Request::new("GET", "/bucket/a").sign(OWNER).bytes();
    let missing = Request::new("HEAD", "/bucket/none").sign(OWNER).bytes();
    let found = answers(&server, &[put.sign(OWNER).bytes(), get.clone(), missing, get]);
    let statuses: Vec<u16> = found.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 404, 200]);
    for (answer, names) in
        found.iter().zip([&["ETag"][..], &["ETag", "Last-Modified"], &[], &["ETag"]])
    {
        expect("of a connection", answer, answer.0, names);
    }
    let old = Request::new("GET", "/bucket/a").sign(OWNER).bytes();
    let old = String::from_utf8(old).expect("text").replacen("HTTP/1.1", "HTTP/1.0", 1);
    let old = old.replacen("\r\n", "\r\nConnection: keep-alive\r\n", 1);
    let [answer] = &answers(&server, &[old.into_bytes()])[..] else { panic!("one answer") };
    expect("HTTP/1.0", answer, 200, &["ETag", "Connection"]);
}

/// The SDK for Go shows `RequestID: ,` in errors of services whose answers have the header of S3 only.
#[tokio::test]
async fn sdks_of_other_services_find_the_request_id_in_their_header() {
    let server = memory().await;
    let nobody = User { access_key: "nobody-key", secret_key: "nobody's secret", id: "" };
    let replies = [
        (200, server.vectors("ListVectorBuckets", "{}").send().await),
        (400, server.vectors("ListIndexes", "{}").send().await),
        (200, server.form("iam", "Action=ListUsers").send().await),
        (404, server.form("iam", "Action=GetUser&UserName=nobody").send().await),
        (200, server.form("sts", "Action=GetCallerIdentity").send().await),
        (403, server.form("sts", "Action=GetCallerIdentity").by(nobody).send().await),
        (200, server.request("GET", "/buckets").for_service("s3tables").send().await),
        (400, server.request("GET", "/buckets/lake").for_service("s3tables").send().await),
    ];
    for (status, reply) in replies {
        let reply = reply.expect_status(status);
        let id = reply.header("x-amz-request-id").expect("an id");
        assert_eq!(reply.header("x-amzn-requestid"), Some(id), "{}", reply.everything());
    }
    let of_s3 = server.get("/").await.expect_status(200);
    assert_eq!(of_s3.header("x-amzn-requestid"), None, "{}", of_s3.everything());
}
