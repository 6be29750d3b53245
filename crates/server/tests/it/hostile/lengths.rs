//! Lengths: missing, wrong, twice, and bodies that end early or never should.

use std::io::{BufReader, Write as _};

use super::*;
use crate::raw::{UNSIGNED, connect};
use crate::reply::{Reply, read_head};

/// A PUT whose headers of length are the test's own business.
fn put_with(headers: &[(&str, &str)], body: &str) -> Request {
    let mut request = put("length").header("x-amz-content-sha256", UNSIGNED).sign(OWNER);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.no_length().body(body)
}

#[test]
fn a_length_is_one_number() {
    let server = RawServer::start();
    let mut rows = Vec::new();
    for length in ["abc", "-1", "+4", "4, 4", "4 4", "0x4", "4.0", "", "18446744073709551616"] {
        let request = put_with(&[("content-length", length)], "data");
        rows.push(row(format!("{length:?}"), &request, 400, "InvalidRequest"));
    }
    let two = put_with(&[("content-length", "4"), ("content-length", "5")], "data");
    rows.push(row("two lengths", &two, 400, "InvalidRequest"));
    for coding in ["gzip", "chunked, gzip", "identity", "xchunked"] {
        let request = put_with(&[("transfer-encoding", coding)], "4\r\ndata\r\n0\r\n\r\n");
        rows.push(row(coding, &request, 400, "InvalidRequest"));
    }
    // As HTTP has it, a coding overrides a length, wherever it stands: then there is none.
    for headers in [
        &[("content-length", "4"), ("transfer-encoding", "chunked")][..],
        &[("transfer-encoding", "chunked"), ("content-length", "4")],
        &[("transfer-encoding", "chunked")],
    ] {
        let request = put_with(headers, "4\r\ndata\r\n0\r\n\r\n");
        rows.push(row(format!("{headers:?}"), &request, 411, "MissingContentLength"));
    }
    rows.push(row("neither", &put_with(&[], ""), 411, "MissingContentLength"));
    let huge = put_with(&[("content-length", "9223372036854775807")], "data");
    rows.push(row("8 EiB", &huge, 400, "EntityTooLarge"));
    let above = put_with(&[("content-length", "5368709121")], "data");
    rows.push(row("5 GiB and a byte", &above, 400, "EntityTooLarge"));
    check(&server, rows);
    assert_empty(&server);
}

#[test]
fn a_body_that_ends_early_is_not_stored() {
    let server = RawServer::start();
    let short = put_with(&[("content-length", "10")], "data");
    let broken_chunk = put_with(&[("transfer-encoding", "chunked")], "zz\r\ndata");
    let no_last_chunk = put_with(&[("transfer-encoding", "chunked")], "4\r\ndata\r\n");
    let large = put_with(&[("content-length", "3000000")], &"x".repeat(2_999_999));
    let framed = put("length")
        .header("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
        .header("x-amz-decoded-content-length", "4")
        .sign(OWNER)
        .no_length()
        .header("content-length", "50")
        .body("4\r\nda");
    for (name, request) in [
        ("short", short),
        ("broken chunk", broken_chunk),
        ("no last chunk", no_last_chunk),
        ("large", large),
        ("framed", framed),
    ] {
        // Whoever closes its side may be gone: an answer is not owed, but if one comes, it says no.
        if let Some(reply) = server.send_and_end(&request.bytes()) {
            assert!((400..500).contains(&reply.status), "{name}: {reply:?}");
        }
        assert_absent(&server, "length");
    }
    let part = server.ask("POST", "/bucket/length?uploads").element("UploadId");
    let target = format!("/bucket/length?partNumber=1&uploadId={part}");
    let request = Request::new("PUT", &target).header("x-amz-content-sha256", UNSIGNED).sign(OWNER);
    let request = request.no_length().header("content-length", "10").body("data");
    let _ = server.send_and_end(&request.bytes());
    let parts = server.ask("GET", &format!("/bucket/length?uploadId={part}")).text();
    assert!(parts.contains("ListPartsResult") && !parts.contains("<Part>"), "{parts}");
    assert_alive(&server);
}

#[test]
fn what_follows_a_body_is_no_part_of_it() {
    let server = RawServer::start();
    let body = "data and more that nobody announced";
    let request = put_with(&[("content-length", "4")], body);
    assert_eq!(server.send(&request.bytes()).status, 200);
    assert_eq!(server.ask("GET", "/bucket/length").text(), "data");
    // A request inside of a body that is refused must not be answered as one.
    let inner = Request::new("PUT", "/bucket/smuggled").body("x").sign(OWNER).bytes();
    let outer = put("length").body("").header("x-amz-content-sha256", UNSIGNED).bytes();
    let text = String::from_utf8(outer).expect("text");
    let text = text.replace("content-length: 0", &format!("content-length: {}", inner.len()));
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(&inner);
    let refused = server.send(&bytes);
    assert_eq!((refused.status, &*refused.code()), (403, "AccessDenied"));
    assert_absent(&server, "smuggled");
}

#[test]
fn a_refusal_comes_before_100_continue() {
    let server = RawServer::start();
    let body = vec![b'x'; 1 << 20];
    let good = || put("continue").header("expect", "100-continue").body(&body);
    let too_long = put(&"k".repeat(1025)).header("expect", "100-continue").body(&body);
    for (name, request, status) in [
        ("anonymous", good(), 403),
        ("other user", good().sign(STRANGER), 403),
        ("late", good().age(3600).sign(OWNER), 403),
        ("no bucket", Request::new("PUT", "/none/k").body(&body).sign(OWNER), 404),
        ("long key", too_long.sign(OWNER), 400),
        ("bad digest", good().header("content-md5", "?").sign(OWNER), 400),
    ] {
        let mut stream = connect(server.address);
        stream.write_all(&request.head_bytes()).expect("sent");
        let (answered, _) = read_head(&mut BufReader::new(stream)).expect("an answer");
        assert_eq!(answered, status, "{name}");
    }
    let request = good().sign(OWNER);
    let mut stream = connect(server.address);
    stream.write_all(&request.head_bytes()).expect("sent");
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    assert_eq!(read_head(&mut reader).expect("an answer").0, 100);
    stream.write_all(&body).expect("sent");
    assert_eq!(Reply::read(&mut reader, false).expect("an answer").status, 200);
    assert_eq!(server.ask("GET", "/bucket/continue").body, body);
    let other = good().without("expect").header("expect", "200-maybe").sign(OWNER);
    let reply = server.send(&other.bytes());
    assert!(matches!(reply.status, 200 | 417), "{reply:?}");
}
