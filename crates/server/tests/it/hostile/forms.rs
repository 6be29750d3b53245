//! Form uploads that break their policy.

use super::*;
use crate::raw::{form_fields, form_request};

const CONDITIONS: &str = r#"{"bucket": "bucket"}, ["starts-with", "$key", "up/"],
    ["content-length-range", 2, 10], ["starts-with", "$Content-Type", "text/"],"#;

fn fields(changes: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut fields =
        form_fields(OWNER, 60, CONDITIONS, &[("key", "up/k"), ("Content-Type", "text/plain")]);
    for (name, value) in changes {
        match fields.iter_mut().find(|(other, _)| other == name) {
            Some(field) => (*value).clone_into(&mut field.1),
            None => fields.push(((*name).to_owned(), (*value).to_owned())),
        }
    }
    fields
}

#[test]
fn a_form_keeps_to_its_policy() {
    let server = RawServer::start();
    let other = server.send(&Request::new("PUT", "/other").sign(OWNER).bytes());
    assert_eq!(other.status, 200);
    let post =
        |changes: &[(&str, &str)], file: &[u8]| form_request("/bucket", &fields(changes), file);
    let denied = "AccessDenied";
    let expired =
        form_fields(OWNER, -1, CONDITIONS, &[("key", "up/k"), ("Content-Type", "text/a")]);
    let stranger =
        form_fields(STRANGER, 60, CONDITIONS, &[("key", "up/k"), ("Content-Type", "text/a")]);
    let open = form_fields(OWNER, 60, r#"["starts-with", "$key", ""],"#, &[("key", "k")]);
    let mut unsigned = fields(&[]);
    unsigned.retain(|(name, _)| name == "key");
    let mut cut = fields(&[]);
    cut.retain(|(name, _)| name != "x-amz-signature");
    let mut no_key = fields(&[]);
    no_key.retain(|(name, _)| name != "key");
    let long_key = format!("up/{}", "k".repeat(1022));
    let mut twice = fields(&[]);
    twice.push(("key".to_owned(), "up/other".to_owned()));
    let rows = [
        row("key", &post(&[("key", "down/k")], b"file"), 403, denied),
        row("type", &post(&[("Content-Type", "image/png")], b"file"), 403, denied),
        row("added field", &post(&[("x-amz-meta-a", "b")], b"file"), 403, denied),
        row("acl", &post(&[("acl", "public-read")], b"file"), 403, denied),
        row(
            "signature",
            &post(&[("x-amz-signature", "00")], b"file"),
            403,
            "SignatureDoesNotMatch",
        ),
        row("policy", &post(&[("policy", "e30=")], b"file"), 403, "SignatureDoesNotMatch"),
        row("too short", &post(&[], b"1"), 400, "EntityTooSmall"),
        row("too long", &post(&[], b"12345678901"), 400, "EntityTooLarge"),
        row("much too long", &post(&[], &vec![b'x'; 3 << 20]), 400, "EntityTooLarge"),
        row("expired", &form_request("/bucket", &expired, b"file"), 403, denied),
        row("another bucket", &form_request("/other", &fields(&[]), b"file"), 403, denied),
        row("any bucket", &form_request("/bucket", &open, b"file"), 403, denied),
        row("a stranger", &form_request("/bucket", &stranger, b"file"), 403, denied),
        row("unsigned", &form_request("/bucket", &unsigned, b"file"), 403, denied),
        row("no signature", &form_request("/bucket", &cut, b"file"), 400, "InvalidArgument"),
        row("no key", &form_request("/bucket", &no_key, b"file"), 400, "InvalidArgument"),
        row("long key", &post(&[("key", &long_key)], b"file"), 400, "KeyTooLongError"),
        row("two keys", &form_request("/bucket", &twice, b"file"), 400, "InvalidArgument"),
        row("no bucket", &form_request("/", &fields(&[]), b"file"), 405, "MethodNotAllowed"),
        row(
            "an injected header",
            &post(&[("Content-Type", "text/plain\r\nx-amz-acl: public-read")], b"file"),
            400,
            "InvalidArgument",
        ),
        row(
            "signed twice",
            &form_request("/bucket", &fields(&[]), b"file").sign(OWNER),
            400,
            "InvalidArgument",
        ),
    ];
    check(&server, rows);
    let whole = post(&[], b"file").bytes();
    let text = String::from_utf8(whole).expect("text");
    for cut in ["\r\n--edge--\r\n", "file\r\n--edge--\r\n"] {
        let truncated = text.strip_suffix(cut).expect("its end");
        let reply = server.send_and_end(truncated.as_bytes());
        assert!(reply.is_none_or(|reply| reply.status == 400), "cut before {cut:?}");
    }
    for target in ["/bucket", "/other"] {
        let listing = server.ask("GET", &format!("{target}?list-type=2"));
        assert_eq!(listing.element("KeyCount"), "0", "{}", listing.text());
    }
    let stored = server.send(&post(&[], b"file").bytes());
    assert_eq!(stored.status, 204, "{stored:?}");
    let read = server.ask("GET", "/bucket/up/k");
    assert_eq!((&*read.text(), read.header("content-type")), ("file", Some("text/plain")));
}

#[test]
fn what_is_no_form() {
    let server = RawServer::start();
    let post = |content_type: &str, body: &[u8]| {
        Request::new("POST", "/bucket").header("content-type", content_type).body(body)
    };
    let form = "multipart/form-data; boundary=edge";
    let no_file = "--edge\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nk\r\n--edge--\r\n";
    let long_field = format!(
        "--edge\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{}\r\n--edge--\r\n",
        "x".repeat(1 << 20)
    );
    for (name, request) in [
        ("no boundary", post("multipart/form-data", b"--edge--")),
        ("empty boundary", post("multipart/form-data; boundary=", b"----")),
        ("long boundary", post(&format!("multipart/form-data; boundary={}", "e".repeat(200)), b"")),
        ("empty", post(form, b"")),
        ("no file", post(form, no_file.as_bytes())),
        ("long field", post(form, long_field.as_bytes())),
        ("zeros", post(form, &vec![0; 1 << 20])),
        ("no end", post(form, b"--edge\r\nContent-Disposition: form-data; name=\"file\"")),
        ("many parts", post(form, "--edge\r\n\r\n\r\n".repeat(10_000).as_bytes())),
    ] {
        let reply = server.send(&request.bytes());
        assert_eq!(reply.status, 400, "{name}: {}", reply.text());
        assert!(!reply.code().is_empty() && reply.code() != "InternalError", "{name}: {reply:?}");
    }
    assert_empty(&server);
    assert_alive(&server);
}
