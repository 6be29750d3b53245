//! Documents with entities, depth, too many elements, or none.

use super::*;

fn delete(document: impl AsRef<[u8]>) -> Request {
    let document = document.as_ref();
    let md5 = {
        use md5::Digest as _;
        base64_simd::STANDARD.encode_to_string(md5::Md5::digest(document))
    };
    Request::new("POST", "/bucket?delete").header("content-md5", md5).body(document).sign(OWNER)
}

fn keys(count: usize) -> String {
    let keys: String = (0..count).map(|n| format!("<Object><Key>k{n}</Key></Object>")).collect();
    format!("<Delete>{keys}</Delete>")
}

#[test]
fn documents_are_bounded_and_know_no_entities() {
    let server = RawServer::start();
    assert_eq!(server.send(&put("kept").body("x").sign(OWNER).bytes()).status, 200);
    let object = "<Object><Key>kept</Key></Object>";
    let bomb = {
        let mut text = String::from("<!DOCTYPE Delete [<!ENTITY a0 \"kept\">");
        for level in 1..30 {
            let below = level - 1;
            text.push_str(&format!("<!ENTITY a{level} \"&a{below};&a{below};&a{below};\">"));
        }
        text + "]><Delete><Object><Key>&a29;</Key></Object></Delete>"
    };
    let nested = |depth: usize| {
        let (open, close) = ("<Object>".repeat(depth), "</Object>".repeat(depth));
        format!("<Delete>{open}<Key>kept</Key>{close}</Delete>")
    };
    let unknown_depth = |depth: usize| {
        format!("<Delete>{}{}{object}</Delete>", "<a>".repeat(depth), "</a>".repeat(depth))
    };
    let malformed = "MalformedXML";
    let too_large = format!("<Delete>{object}{}</Delete>", " ".repeat(9 << 20));
    let attributes = format!("<Delete {}>{object}</Delete>", "a=\"b\" ".repeat(100_000));
    let utf16: Vec<u8> = format!("\u{feff}<Delete>{object}</Delete>")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut rows: Vec<Row> = [
        ("white space", "  \n"),
        ("text", "kept"),
        ("json", "{\"Delete\": {}}"),
        ("another root", "<Other><Object><Key>kept</Key></Object></Other>"),
        ("no end", "<Delete><Object><Key>kept</Key></Object>"),
        ("another end", "<Delete><Object><Key>kept</Key></Object></Other>"),
        ("crossed", "<Delete><Object><Key>kept</Object></Key></Delete>"),
        ("no keys", "<Delete></Delete>"),
        ("no name", "<Delete><Object></Object></Delete>"),
        ("quiet of neither", &format!("<Delete><Quiet>perhaps</Quiet>{object}</Delete>")),
        (
            "entity",
            "<!DOCTYPE d [<!ENTITY e \"kept\">]><Delete><Object><Key>&e;</Key></Object></Delete>",
        ),
        (
            "external entity",
            "<!DOCTYPE d [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>\
             <Delete><Object><Key>&e;</Key></Object></Delete>",
        ),
        (
            "external document type",
            "<!DOCTYPE d SYSTEM \"http://127.0.0.1:1/x.dtd\"><Delete><Object><Key>kept</Key>\
             </Object></Delete>",
        ),
        ("bomb", &bomb),
        ("unknown entity", "<Delete><Object><Key>&nothing;</Key></Object></Delete>"),
        ("character of nothing", "<Delete><Object><Key>&#xD800;</Key></Object></Delete>"),
        ("depth of ours", &nested(10_000)),
        ("depth of others", &unknown_depth(100_000)),
        ("depth without end", &"<Delete>".repeat(100_000)),
        ("1,001 keys", &keys(1001)),
        ("100,000 keys", &keys(100_000)),
        ("two documents", &format!("<Delete>{object}</Delete><Delete>{object}</Delete>")),
    ]
    .into_iter()
    .map(|(name, document)| row(name, &delete(document), 400, malformed))
    .collect();
    rows.push(row("9 MiB", &delete(too_large), 400, "MaxMessageLengthExceeded"));
    rows.push(row(
        "no UTF-8",
        &delete(b"<Delete><Object><Key>\xff</Key></Object></Delete>"),
        400,
        malformed,
    ));
    rows.push(row("UTF-16", &delete(utf16), 400, malformed));
    rows.push(row("empty", &delete(""), 400, "MissingRequestBodyError"));
    let no_digest = Request::new("POST", "/bucket?delete").body(keys(1)).sign(OWNER);
    rows.push(row("no digest", &no_digest, 400, "InvalidRequest"));
    // Whoever decodes the name finds the operation.
    let no_digest = String::from_utf8(no_digest.bytes()).expect("text");
    let bytes = no_digest.replace("?delete", "?delet%65").into_bytes();
    rows.push(Row { name: "no digest, hidden".into(), bytes, status: 400, code: "InvalidRequest" });
    check(&server, rows);
    // Meaningless, and slow only for the client.
    let reply = server.send(&delete(attributes).bytes());
    assert!(matches!(reply.status, 200 | 400), "{reply:?}");
    if reply.status == 400 {
        assert_eq!(server.ask("GET", "/bucket/kept").text(), "x");
    }
    assert_alive(&server);
    let reply = server.send(&delete(keys(1000)).bytes());
    assert_eq!((reply.status, reply.text().matches("<Deleted>").count()), (200, 1000));
    let with_references = "<Delete><Object><Key>a&lt;&#x62;&#10;</Key></Object></Delete>";
    let reply = server.send(&delete(with_references).bytes());
    assert!(reply.text().contains("<Key>a&lt;b&#xA;</Key>"), "{}", reply.text());
}

#[test]
fn documents_of_buckets() {
    let server = RawServer::start();
    let create = |document: &str| Request::new("PUT", "/created").body(document).sign(OWNER);
    let location = |text: &str| {
        format!(
            "<CreateBucketConfiguration><LocationConstraint>{text}</LocationConstraint>\
             </CreateBucketConfiguration>"
        )
    };
    let entity = format!("<!DOCTYPE d [<!ENTITY e \"us-east-1\">]>{}", location("&e;"));
    let rows = [
        row("entity", &create(&entity), 400, "MalformedXML"),
        row("no document", &create("nonsense"), 400, "MalformedXML"),
        row("cut", &create("<CreateBucketConfiguration>"), 400, "MalformedXML"),
        row("depth", &create(&"<a>".repeat(10_000)), 400, "MalformedXML"),
        row("elsewhere", &create(&location("mars")), 400, "InvalidLocationConstraint"),
    ];
    check(&server, rows);
    assert_eq!(server.ask("HEAD", "/created").status, 404);
}
