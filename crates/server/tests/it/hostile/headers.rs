//! Headers: too much metadata, values that would inject others, the same one twice.

use super::*;
use crate::raw::{UNSIGNED, form_fields, form_request};

#[test]
fn user_metadata_has_a_limit() {
    let server = RawServer::start();
    let with = |pairs: &[(&str, &str)]| {
        pairs.iter().fold(put("meta").body("x"), |request, (name, value)| {
            request.header(&format!("x-amz-meta-{name}"), value)
        })
    };
    let too_large = "MetadataTooLarge";
    let (long, half, wide) = ("v".repeat(2048), "v".repeat(1024), "%".repeat(700));
    let many: Vec<(String, &str)> =
        (0..80).map(|index| (format!("n{index:02}"), &half[..24])).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (&**name, *value)).collect();
    check(
        &server,
        [
            row("one value", &with(&[("a", &long)]).sign(OWNER), 400, too_large),
            row("two values", &with(&[("a", &half), ("b", &half)]).sign(OWNER), 400, too_large),
            row("a long name", &with(&[(&half, &half), ("c", "d")]).sign(OWNER), 400, too_large),
            row("many", &with(&many).sign(OWNER), 400, too_large),
        ],
    );
    let create = Request::new("POST", "/bucket/meta?uploads").header("x-amz-meta-a", &long);
    let conditions =
        r#"{"bucket": "bucket"}, {"key": "meta"}, ["starts-with", "$x-amz-meta-a", ""],"#;
    let fields = [("key", "meta"), ("x-amz-meta-a", &*long)];
    let form = form_request("/bucket", &form_fields(OWNER, 60, conditions, &fields), b"x");
    let rows =
        [row("upload", &create.sign(OWNER), 400, too_large), row("form", &form, 400, too_large)];
    check(&server, rows);
    assert_empty(&server);
    let source = server.send(&put("source").body("x").sign(OWNER).bytes());
    assert_eq!(source.status, 200, "{source:?}");
    let copy = put("meta").header("x-amz-copy-source", "bucket/source");
    let copy = copy.header("x-amz-metadata-directive", "REPLACE").header("x-amz-meta-a", &long);
    check(&server, [row("copy", &copy.sign(OWNER), 400, too_large)]);
    assert_absent(&server, "meta");
    let stored = server.send(&with(&[("a", &long[..2047])]).sign(OWNER).bytes());
    assert_eq!(stored.status, 200, "{stored:?}");
    let stored = server.send(&with(&[("a", &wide)]).sign(OWNER).bytes());
    assert_eq!(stored.status, 200, "{stored:?}");
    let read = server.ask("HEAD", "/bucket/meta");
    assert_eq!(read.header("x-amz-meta-a"), Some(&*wide));
}

#[test]
fn no_value_becomes_another_header() {
    let server = RawServer::start();
    let encoded = "=?UTF-8?Q?a=0D=0Ax-evil:_1?=";
    let base64 = "=?UTF-8?B?YQ0KeC1ldmlsOiAx?=";
    let stored = put("inject")
        .header("x-amz-meta-q", encoded)
        .header("x-amz-meta-b", base64)
        .header("x-amz-meta-c", "a%0d%0ax-evil: 1")
        .header("content-disposition", "a%0d%0ax-evil: 1")
        .sign(OWNER);
    let stored = server.send(&stored.bytes());
    assert!(matches!(stored.status, 200 | 400), "{stored:?}");
    let plain = put("inject").body("x").sign(OWNER);
    assert_eq!(server.send(&plain.bytes()).status, 200);
    for method in ["GET", "HEAD"] {
        assert_eq!(server.ask(method, "/bucket/inject").header("x-evil"), None);
    }
    let mut rows = Vec::new();
    let overrides = [
        "content-disposition",
        "content-type",
        "content-language",
        "content-encoding",
        "cache-control",
        "expires",
    ];
    for name in overrides {
        for value in ["a%0d%0ax-evil:%201", "a%0ax-evil:%201", "a%0dx-evil:%201", "a%00b", "%7F"] {
            let target = format!("/bucket/inject?response-{name}={value}");
            let get = Request::new("GET", &target);
            rows.push(row(&target, &get.clone().sign(OWNER), 400, "InvalidArgument"));
            rows.push(row(&target, &get.presign(OWNER, "60"), 400, "InvalidArgument"));
        }
    }
    // The name encoded, so that only whoever decodes it sees what it is.
    let hidden = "/bucket/inject?respons%65-content-type=a%0d%0ax-evil:%201";
    let hidden = server.send(&Request::new("GET", hidden).sign(OWNER).bytes());
    assert_eq!(hidden.header("x-evil"), None, "{hidden:?}");
    check(&server, rows);

    for (name, value) in [
        ("x-amz-meta-a", "a\nx-evil: 1"),
        ("x-amz-meta-a", "a\u{0}b"),
        ("x-amz-meta-a", "a\u{7f}b"),
        ("x-amz-meta-a\u{0}", "b"),
        ("x amz", "b"),
        (" folded", "b"),
        ("", "b"),
        ("é", "b"),
    ] {
        let request = put("broken").body("x").header("x-amz-content-sha256", UNSIGNED).sign(OWNER);
        let request = request.header(name, value);
        let reply = server.send(&request.bytes());
        assert!(matches!(reply.status, 400 | 403), "{name:?}: {reply:?}");
        assert_eq!(reply.header("x-evil"), None);
    }
    assert_absent(&server, "broken");
    // The copy source is decoded as a path, not as a header.
    let copy = put("copy").header("x-amz-copy-source", "bucket/inject%0d%0ax-evil:%201");
    check(&server, [row("copy source", &copy.sign(OWNER), 404, "NoSuchKey")]);
    for source in ["", "/", "bucket", "bucket/", "//", "bucket/%FF", "../bucket/inject"] {
        let copy = put("copy").header("x-amz-copy-source", source).sign(OWNER);
        let reply = server.send(&copy.bytes());
        assert!((400..500).contains(&reply.status), "{source:?}: {reply:?}");
    }
    assert_absent(&server, "copy");
}

#[test]
fn user_metadata_may_come_in_several_headers() {
    let server = RawServer::start();
    let put = put("meta").body("x").header("x-amz-meta-a", "1").header("x-amz-meta-a", "2");
    let reply = server.send(&put.sign(OWNER).bytes());
    assert_eq!(reply.status, 200, "{reply:?}");
    let head = server.ask("HEAD", "/bucket/meta");
    assert_eq!(head.header("x-amz-meta-a"), Some("1,2"));
}

#[test]
fn what_decides_comes_once() {
    let server = RawServer::start();
    let data = || put("twice").body("x");
    let mut rows = Vec::new();
    for (name, value) in [
        ("x-amz-content-sha256", UNSIGNED),
        ("x-amz-acl", "private"),
        ("content-md5", "nd+1o05HnPhZzxcDZ7pDlg=="),
        ("content-type", "text/plain"),
        ("x-amz-copy-source", "bucket/a"),
        ("x-amz-storage-class", "STANDARD"),
        ("x-amz-tagging", "a=b"),
        ("x-amz-checksum-crc32", "AAAAAA=="),
        ("host", "localhost"),
    ] {
        let request = data().header(name, value).header(name, value).sign(OWNER);
        rows.push(row(name, &request, 400, "InvalidRequest"));
    }
    for name in ["authorization", "x-amz-date"] {
        let request = data().sign(OWNER).header(name, "20260101T000000Z");
        rows.push(row(name, &request, 400, "InvalidRequest"));
    }
    let no_host = data().without("host").sign(OWNER);
    rows.push(row("no host", &no_host, 400, "InvalidRequest"));
    for host in ["", "a b", "a/../b", "localhost\u{e9}"] {
        let request = data().without("host").header("host", host);
        let reply = server.send(&request.bytes());
        assert!(matches!(reply.status, 400 | 403), "{host:?}: {reply:?}");
    }
    check(&server, rows);
    let many = (0..200).fold(data(), |request, n| request.header(&format!("x-a-{n}"), "b"));
    let reply = server.send(&many.sign(OWNER).bytes());
    assert!(matches!(reply.status, 400 | 431), "{reply:?}");
    let long = data().header("x-long", "a".repeat(64 << 10)).sign(OWNER);
    let reply = server.send(&long.bytes());
    assert!(matches!(reply.status, 400 | 431), "{reply:?}");
    let long = Request::new("GET", &format!("/bucket/k?prefix={}", "a".repeat(20 << 10)));
    let reply = server.send(&long.sign(OWNER).bytes());
    assert!(matches!(reply.status, 400 | 414), "{reply:?}");
    assert_empty(&server);
    assert_alive(&server);
}

#[test]
fn lines_that_are_no_request() {
    let server = RawServer::start();
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET  /  HTTP/1.1\r\n\r\n",
        b"\x00\x00\x00\x00\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /bucket/\xff HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /bucket/a b HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"TRACE / HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"FOO /bucket/k HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET http://other/bucket/k HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET ../bucket HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ] {
        let reply = server.send_and_end(bytes);
        let status = reply.map(|reply| reply.status);
        let text = String::from_utf8_lossy(bytes);
        assert!(status.is_none_or(|status| (400..506).contains(&status)), "{text}: {status:?}");
    }
    assert_alive(&server);
}
