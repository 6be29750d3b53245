//! Ranges that overflow, run backwards or are none.

use super::*;

#[test]
fn ranges_of_a_read() {
    let server = RawServer::start();
    let stored = server.send(&put("range").body("0123456789").sign(OWNER).bytes());
    assert_eq!(stored.status, 200);
    let whole = (200, "0123456789");
    for (range, (status, body)) in [
        ("bytes=0-99999999999999999999999", (206, "0123456789")),
        ("bytes=9-18446744073709551615", (206, "9")),
        ("bytes=-99999999999999999999999", (206, "0123456789")),
        ("bytes=-18446744073709551616", (206, "0123456789")),
        ("bytes=-1", (206, "9")),
        ("bytes=5-2", whole),
        ("bytes=99999999999999999999999-5", whole),
        ("bytes=a-b", whole),
        ("bytes=--1", whole),
        ("bytes=", whole),
        ("bytes=-", whole),
        ("bytes=0x0-0x1", whole),
        ("bytes=+1-2", whole),
        ("bytes=0-1,4-5", whole),
        ("lines=0-1", whole),
        ("", whole),
    ] {
        let get = Request::new("GET", "/bucket/range").header("range", range).sign(OWNER);
        let reply = server.send(&get.bytes());
        assert_eq!((reply.status, &*reply.text()), (status, body), "{range:?}");
    }
    let mut rows = Vec::new();
    for range in [
        "bytes=10-",
        "bytes=10-20",
        "bytes=18446744073709551615-",
        "bytes=18446744073709551616-",
        "bytes=99999999999999999999999-",
        "bytes=-0",
    ] {
        let get = Request::new("GET", "/bucket/range").header("range", range).sign(OWNER);
        rows.push(row(range, &get, 416, "InvalidRange"));
        let head = Request::new("HEAD", "/bucket/range").header("range", range).sign(OWNER);
        rows.push(row(range, &head, 416, "InvalidRange"));
    }
    for number in ["0", "10001", "-1", "abc"] {
        let get = Request::new("GET", &format!("/bucket/range?partNumber={number}")).sign(OWNER);
        rows.push(row(format!("part {number}"), &get, 400, "InvalidArgument"));
    }
    let second = Request::new("GET", "/bucket/range?partNumber=2").sign(OWNER);
    rows.push(row("part 2 of 1", &second, 416, "InvalidPartNumber"));
    check(&server, rows);
}

#[test]
fn ranges_of_a_copied_part_must_lie_in_the_source() {
    let server = RawServer::start();
    let stored = server.send(&put("range").body("0123456789").sign(OWNER).bytes());
    assert_eq!(stored.status, 200);
    let upload = server.ask("POST", "/bucket/parts?uploads").element("UploadId");
    let target = format!("/bucket/parts?partNumber=1&uploadId={upload}");
    let rows = [
        "bytes=0-10",
        "bytes=0-18446744073709551615",
        "bytes=0-99999999999999999999999",
        "bytes=99999999999999999999999-99999999999999999999999",
        "bytes=5-2",
        "bytes=5-",
        "bytes=-5",
        "bytes=0-1,3-4",
        "0-1",
        "lines=0-1",
    ]
    .map(|range| {
        let copy = Request::new("PUT", &target)
            .header("x-amz-copy-source", "bucket/range")
            .header("x-amz-copy-source-range", range);
        // A range that begins behind the end is another error than one that ends there, as on AWS.
        let code =
            if range.starts_with("bytes=999") { "InvalidRequest" } else { "InvalidArgument" };
        row(format!("{range:?}"), &copy.sign(OWNER), 400, code)
    });
    check(&server, rows);
    let parts = server.ask("GET", &format!("/bucket/parts?uploadId={upload}")).text();
    assert!(!parts.contains("<Part>"), "{parts}");
}
