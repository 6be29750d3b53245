//! Multipart uploads: parts of wrong order and size, and ids that are no ids.

use super::*;
use crate::raw::UNSIGNED;

const PART_BYTES: usize = 5 << 20;

fn begin(server: &RawServer) -> String {
    server.ask("POST", "/bucket/parts?uploads").element("UploadId")
}

fn complete(upload: &str, parts: &[(&str, &str)]) -> Request {
    let parts: String = parts
        .iter()
        .map(|(number, etag)| {
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
        })
        .collect();
    complete_with(upload, &format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>"))
}

fn complete_with(upload: &str, document: &str) -> Request {
    let target = format!("/bucket/parts?uploadId={upload}");
    Request::new("POST", &target).body(document).sign(OWNER)
}

#[test]
fn the_list_of_parts_must_be_right() {
    let server = RawServer::start();
    let upload = begin(&server);
    let put_part = |number: u32, body: &[u8]| {
        let target = format!("/bucket/parts?partNumber={number}&uploadId={upload}");
        let reply = server.send(&Request::new("PUT", &target).body(body).sign(OWNER).bytes());
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.header("etag").expect("an ETag").trim_matches('"').to_owned()
    };
    let large = put_part(1, &vec![b'a'; PART_BYTES]);
    let small = put_part(2, b"small");
    let last = put_part(10_000, b"last");
    let (large, small, last) = (&*large, &*small, &*last);
    let (order, invalid, malformed) = ("InvalidPartOrder", "InvalidPart", "MalformedXML");
    let other = "00000000000000000000000000000000";
    let mut rows: Vec<Row> = [
        ("descending", &[("10000", last), ("1", large)][..], order),
        ("twice", &[("1", large), ("1", large)], order),
        ("small in the middle", &[("1", large), ("2", small), ("10000", last)], "EntityTooSmall"),
        ("never uploaded", &[("1", large), ("3", small)], invalid),
        ("another ETag", &[("1", other)], invalid),
        ("no ETag at all", &[("1", "")], invalid),
        ("ETag of another part", &[("1", small)], invalid),
        ("none", &[], malformed),
        ("number of letters", &[("one", large)], malformed),
        ("number above all", &[("99999999999999999999", large)], malformed),
    ]
    .into_iter()
    .map(|(name, parts, code)| row(name, &complete(&upload, parts), 400, code))
    .collect();
    for number in ["0", "-1", "10001", "2147483647"] {
        let request = complete(&upload, &[(number, large)]);
        rows.push(row(format!("complete {number}"), &request, 400, "InvalidArgument"));
    }
    for document in ["", "<CompleteMultipartUpload>", "<Other/>", "nonsense", "\u{0}"] {
        rows.push(row(
            format!("document {document:?}"),
            &complete_with(&upload, document),
            400,
            if document.is_empty() { "InvalidRequest" } else { malformed },
        ));
    }
    let entity = format!(
        "<!DOCTYPE d [<!ENTITY e \"1\">]><CompleteMultipartUpload><Part>\
         <PartNumber>&e;</PartNumber><ETag>{large}</ETag></Part></CompleteMultipartUpload>"
    );
    let deep = format!("{}{}", "<Part>".repeat(10_000), "</Part>".repeat(10_000));
    let deep = format!("<CompleteMultipartUpload>{deep}</CompleteMultipartUpload>");
    for (name, document) in [("entity", entity), ("depth", deep)] {
        rows.push(row(name, &complete_with(&upload, &document), 400, malformed));
    }
    let huge = Request::new("PUT", &format!("/bucket/parts?partNumber=1&uploadId={upload}"));
    let huge = huge.header("x-amz-content-sha256", UNSIGNED).sign(OWNER).no_length();
    let huge = huge.header("content-length", "5368709121").body("data");
    rows.push(row("5 GiB and a byte", &huge, 400, "EntityTooLarge"));
    let many = "<Part><PartNumber>1</PartNumber><ETag>a</ETag></Part>".repeat(100_000);
    let many = format!("<CompleteMultipartUpload>{many}</CompleteMultipartUpload>");
    rows.push(row("100,000 parts", &complete_with(&upload, &many), 400, malformed));
    for number in ["0", "-1", "10001", "abc", "", "1.5", "99999999999999999999"] {
        let target = format!("/bucket/parts?partNumber={number}&uploadId={upload}");
        let request = Request::new("PUT", &target).body("x").sign(OWNER);
        rows.push(row(format!("part {number:?}"), &request, 400, "InvalidArgument"));
    }
    check(&server, rows);
    assert_absent(&server, "parts");
    // All of that has left the upload as it was.
    let done = server.send(&complete(&upload, &[("1", large), ("2", small)]).bytes());
    assert_eq!(done.status, 200, "{}", done.text());
    let head = server.ask("HEAD", "/bucket/parts");
    assert_eq!(head.header("content-length"), Some(&*(PART_BYTES + 5).to_string()));
}

#[test]
fn ids_of_uploads_are_no_paths() {
    let server = RawServer::start();
    let upload = begin(&server);
    let long = "a".repeat(5000);
    let mut rows = Vec::new();
    for id in [
        "..",
        "..%2F..%2F..%2Fetc%2Fpasswd",
        "%2Fetc%2Fpasswd",
        "%00",
        "a%0Ab",
        "%F0%9F%92%A9",
        "0",
        "null",
        "%2A",
        &long,
        &upload[1..],
        &upload.chars().rev().collect::<String>(),
    ] {
        let part = Request::new("PUT", &format!("/bucket/parts?partNumber=1&uploadId={id}"));
        rows.push(row(format!("put {id:.40}"), &part.body("x").sign(OWNER), 404, "NoSuchUpload"));
        let complete = complete(id, &[("1", "00000000000000000000000000000000")]);
        rows.push(row(format!("complete {id:.40}"), &complete, 404, "NoSuchUpload"));
        for method in ["GET", "DELETE"] {
            let request = Request::new(method, &format!("/bucket/parts?uploadId={id}"));
            rows.push(row(format!("{method} {id:.40}"), &request.sign(OWNER), 404, "NoSuchUpload"));
        }
    }
    for (name, target) in [
        ("another key", format!("/bucket/other?partNumber=1&uploadId={upload}")),
        ("another spelling", format!("/bucket/PARTS?partNumber=1&uploadId={upload}")),
    ] {
        let part = Request::new("PUT", &target).body("x").sign(OWNER);
        rows.push(row(name, &part, 404, "NoSuchUpload"));
    }
    let stranger = Request::new("PUT", &format!("/bucket/parts?partNumber=1&uploadId={upload}"));
    rows.push(row("a stranger", &stranger.body("x").sign(STRANGER), 403, "AccessDenied"));
    check(&server, rows);
    let parts = server.ask("GET", &format!("/bucket/parts?uploadId={upload}")).text();
    assert!(parts.contains("ListPartsResult") && !parts.contains("<Part>"), "{parts}");
    assert_empty(&server);
}
