//! Time and memory that a body may take, and what happens past them.

use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use liteio::Limits;

use super::*;
use crate::raw::{Keys, UNSIGNED, connect, form_fields, form_request};
use crate::reply::{Reply, read_head};

#[test]
fn a_body_that_stalls_is_a_request_timeout() {
    let limits = Limits { body_window: Duration::from_millis(50), ..Limits::default() };
    let server = RawServer::with_limits(limits);
    let upload = server.ask("POST", "/bucket/stalled?uploads").element("UploadId");
    let part = Request::new("PUT", &format!("/bucket/stalled?partNumber=1&uploadId={upload}"));
    let conditions = r#"{"bucket": "bucket"}, {"key": "stalled"},"#;
    let fields = form_fields(OWNER, 60, conditions, &[("key", "stalled")]);
    let unsigned = || put("stalled").header("x-amz-content-sha256", UNSIGNED);
    let chunked = put("stalled")
        .header("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
        .header("x-amz-decoded-content-length", "1000")
        .sign(OWNER)
        .body([b"3e8\r\n", &*vec![b'x'; 1000]].concat());
    for (name, request) in [
        ("small", unsigned().sign(OWNER).body(vec![b'x'; 1000])),
        ("large", unsigned().sign(OWNER).body(vec![b'x'; 3 << 20])),
        ("signed", put("stalled").body(vec![b'x'; 1000]).sign(OWNER)),
        ("chunks", chunked),
        ("part", part.body(vec![b'x'; 1000]).sign(OWNER)),
        ("document", Request::new("POST", "/bucket?delete").body("<Delete>    ").sign(OWNER)),
        ("form", form_request("/bucket", &fields, &[b'x'; 1000])),
    ] {
        let request = match name {
            "document" => request.header("content-md5", "jXd/OF09/siBXSD3SWAm3A=="),
            _ => request,
        };
        let bytes = request.bytes();
        let mut stream = connect(server.address);
        stream.write_all(&bytes[..bytes.len() - 8]).expect("sent");
        let reply = Reply::read(&mut BufReader::new(stream), false).expect("an answer");
        assert_eq!((reply.status, &*reply.code()), (400, "RequestTimeout"), "{name}: {reply:?}");
    }
    assert_empty(&server);
    let parts = server.ask("GET", &format!("/bucket/stalled?uploadId={upload}")).text();
    assert!(parts.contains("ListPartsResult") && !parts.contains("<Part>"), "{parts}");
}

#[test]
fn documents_are_charged_for_all_that_they_hold_and_streams_are_not() {
    let server = RawServer::with_limits(Limits { body_bytes_max: 4 << 20, ..Limits::default() });
    let large = " ".repeat(3 << 20);
    let upload = server.ask("POST", "/bucket/large?uploads").element("UploadId");
    let delete = |document: &str| {
        let md5 = {
            use md5::Digest as _;
            base64_simd::STANDARD.encode_to_string(md5::Md5::digest(document))
        };
        let request = Request::new("POST", "/bucket?delete").header("content-md5", md5);
        request.body(document).sign(OWNER)
    };
    let target = |name: &str| name.replace("ID", &upload);
    let document =
        |method: &str, name: &str| Request::new(method, &target(name)).body(&large).sign(OWNER);
    let busy = "SlowDown";
    check(
        &server,
        [
            row("delete", &delete(&large), 503, busy),
            row("complete", &document("POST", "/bucket/large?uploadId=ID"), 503, busy),
            row("create", &document("PUT", "/created"), 503, busy),
            row("versioning", &document("PUT", "/bucket?versioning"), 503, busy),
            row("tags", &document("PUT", "/bucket/large?tagging"), 503, busy),
            // Nothing of it is read.
            row(
                "not implemented",
                &document("POST", "/bucket?metadataTable"),
                501,
                "NotImplemented",
            ),
        ],
    );
    // Half of it is free, and enough for a document of that size.
    let small = format!("<Delete>{}<Object><Key>k</Key></Object></Delete>", &large[..1 << 20]);
    assert_eq!(server.send(&delete(&small).bytes()).status, 200);

    let object = vec![b'x'; 8 << 20];
    let conditions = r#"{"bucket": "bucket"}, {"key": "form"},"#;
    let fields = form_fields(OWNER, 60, conditions, &[("key", "form")]);
    let by_host = Request::new("PUT", "/host").without("host").header("host", "bucket.localhost");
    check(
        &server,
        [
            row("object", &put("object").body(&object).sign(OWNER), 200, ""),
            row("by host", &by_host.body(&object).sign(OWNER), 200, ""),
            row(
                "part",
                &Request::new("PUT", &target("/bucket/large?partNumber=1&uploadId=ID"))
                    .body(&object)
                    .sign(OWNER),
                200,
                "",
            ),
            row("form", &form_request("/bucket", &fields, &object), 204, ""),
        ],
    );
    assert_eq!(server.ask("GET", "/bucket/host").body, object);
}

/// A PUT to one segment makes a bucket or, by host, an object. Both are charged.
#[test]
fn small_bodies_that_are_read_whole_are_charged_too() {
    let server = RawServer::with_limits(Limits { body_bytes_max: 32 << 10, ..Limits::default() });
    let by_host = |bytes: usize| {
        let request =
            Request::new("PUT", "/key").without("host").header("host", "bucket.localhost");
        request.body(vec![b' '; bytes]).sign(OWNER)
    };
    let by_path = |bytes: usize| Request::new("PUT", "/new").body(vec![b' '; bytes]).sign(OWNER);
    let rows = [
        row("object", &by_host(60 << 10), 503, "SlowDown"),
        row("bucket", &by_path(60 << 10), 503, "SlowDown"),
        // It fits but for the copy that the parser gets.
        row("bucket, twice", &by_path(28 << 10), 503, "SlowDown"),
        row("small object", &by_host(20 << 10), 200, ""),
        row("small document", &by_path(10 << 10), 400, "MalformedXML"),
    ];
    check(&server, rows);
}

/// Opens a connection with a request whose body is waited for, and leaves it so.
fn stalled(server: &RawServer, request: &Request, bytes_declared: u64) -> BufReader<TcpStream> {
    let request = request.clone().no_length().header("content-length", bytes_declared.to_string());
    let request = request.header("expect", "100-continue");
    let mut stream = connect(server.address);
    stream.write_all(&request.head_bytes()).expect("sent");
    let mut stream = BufReader::new(stream);
    let (status, _) = read_head(&mut stream).expect("an interim answer");
    assert_eq!(status, 100, "the body is waited for");
    stream.get_mut().write_all(b"{").expect("sent");
    stream
}

#[test]
fn vectors_of_a_sender_who_is_not_authenticated_reserve_nothing() {
    let limits = Limits { body_window: Duration::from_secs(600), ..Limits::default() };
    let server = RawServer::with_limits(limits);
    let call = |name: &str| Request::new("POST", name).scope("us-east-1", "s3vectors");
    // The signature covers a hash that is known at the end of the body only.
    let wrong = Keys { secret: "a guess", ..OWNER };
    let unsigned = call("/PutVectors").sign(wrong).without("x-amz-content-sha256");
    // 256 MiB together.
    let sizes = [20 << 20; 12].into_iter().chain([16 << 20]);
    let open: Vec<_> = sizes.map(|bytes| stalled(&server, &unsigned, bytes)).collect();
    let reply = server.send(&call("/ListVectorBuckets").body("{}").sign(OWNER).bytes());
    assert_eq!(reply.status, 200, "{reply:?}");
    drop(open);
}

#[test]
fn a_form_of_a_sender_who_is_not_authenticated_reserves_nothing() {
    let limits = Limits {
        body_bytes_max: 4 << 20,
        body_window: Duration::from_secs(600),
        ..Limits::default()
    };
    let server = RawServer::with_limits(limits);
    let form = Request::new("POST", "/bucket");
    let form = form.header("content-type", "multipart/form-data; boundary=edge");
    let open: Vec<_> = (0..8).map(|_| stalled(&server, &form, 1 << 30)).collect();
    let reply = server.send(&put("small").body("x").sign(OWNER).bytes());
    assert_eq!(reply.status, 200, "{reply:?}");
    drop(open);
}
