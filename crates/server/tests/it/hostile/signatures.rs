//! Signatures: wrong, late, early, of another place, twice, and headers that none covers.

use super::*;
use crate::command::Running;
use crate::raw::{Keys, UNSIGNED, send};

fn get() -> Request {
    Request::new("GET", "/bucket/secret")
}

fn store(server: &RawServer) {
    let stored = put("secret").body("the secret of the owner").sign(OWNER);
    assert_eq!(server.send(&stored.bytes()).status, 200);
}

#[test]
fn only_the_owner_gets_in() {
    let server = RawServer::start();
    store(&server);
    let denied = "AccessDenied";
    let mut rows = Vec::new();
    let requests = [
        ("GET", "/bucket/secret"),
        ("HEAD", "/bucket/secret"),
        ("GET", "/bucket"),
        ("HEAD", "/bucket"),
        ("GET", "/bucket?list-type=2"),
        ("GET", "/bucket?versions"),
        ("GET", "/bucket?uploads"),
        ("GET", "/bucket?location"),
        ("GET", "/bucket/secret?attributes"),
        ("PUT", "/bucket/secret"),
        ("PUT", "/bucket/new"),
        ("POST", "/bucket/new?uploads"),
        ("DELETE", "/bucket/secret"),
        ("DELETE", "/bucket"),
    ];
    for (method, target) in requests {
        let request = || Request::new(method, target);
        rows.push(row(format!("{method} {target}"), &request(), 403, denied));
        let stranger = request().sign(STRANGER);
        rows.push(row(format!("stranger {method} {target}"), &stranger, 403, denied));
        let presigned = request().presign(STRANGER, "60");
        rows.push(row(format!("presigned {method} {target}"), &presigned, 403, denied));
    }
    rows.push(row("buckets", &Request::new("GET", "/"), 403, denied));
    rows.push(row("create", &Request::new("PUT", "/created"), 403, denied));
    let taken = Request::new("PUT", "/bucket").sign(STRANGER);
    rows.push(row("taken", &taken, 409, "BucketAlreadyExists"));
    let copy = Request::new("PUT", "/theirs/stolen").header("x-amz-copy-source", "bucket/secret");
    let theirs = server.send(&Request::new("PUT", "/theirs").sign(STRANGER).bytes());
    assert_eq!(theirs.status, 200);
    rows.push(row("copy", &copy.sign(STRANGER), 403, denied));
    let upload = Request::new("POST", "/theirs/stolen?uploads").sign(STRANGER);
    let upload = server.send(&upload.bytes()).element("UploadId");
    let target = format!("/theirs/stolen?partNumber=1&uploadId={upload}");
    let copy = Request::new("PUT", &target).header("x-amz-copy-source", "/bucket/secret");
    rows.push(row("copy of a part", &copy.sign(STRANGER), 403, denied));
    check(&server, rows);
    assert_eq!(server.ask("GET", "/bucket/secret").text(), "the secret of the owner");
    assert_absent(&server, "new");
    let listing = server.send(&Request::new("GET", "/").sign(STRANGER).bytes()).text();
    assert!(!listing.contains("<Name>bucket</Name>"), "{listing}");
}

#[test]
fn signatures_in_the_header() {
    let server = RawServer::start();
    store(&server);
    let malformed = "AuthorizationHeaderMalformed";
    let skewed = "RequestTimeTooSkewed";
    let wrong = Keys { access: OWNER.access, secret: "another-secret-key" };
    let nobody = Keys { access: "NOBODY", secret: OWNER.secret };
    let signed = || get().sign(OWNER);
    let with =
        |value: &str| get().sign(OWNER).without("authorization").header("authorization", value);
    let rows = [
        row("wrong secret", &get().sign(wrong), 403, "SignatureDoesNotMatch"),
        row("unknown key", &get().sign(nobody), 403, "InvalidAccessKeyId"),
        row("16 minutes old", &get().age(960).sign(OWNER), 403, skewed),
        row("16 minutes ahead", &get().age(-960).sign(OWNER), 403, skewed),
        row("a day old", &get().age(86_400).sign(OWNER), 403, skewed),
        row("50 years old", &get().age(50 * 31_536_000).sign(OWNER), 403, skewed),
        row("another region", &get().scope("mars-1", "s3").sign(OWNER), 400, malformed),
        row("another service", &get().scope("us-east-1", "ec2").sign(OWNER), 400, malformed),
        row("no date", &signed().without("x-amz-date"), 403, "AccessDenied"),
        row(
            "a session",
            &get().header("x-amz-security-token", "t").sign(OWNER),
            400,
            "InvalidToken",
        ),
        row("unsigned header", &signed().header("x-amz-acl", "private"), 403, "AccessDenied"),
        row(
            "no host signed",
            &get().without("host").sign(OWNER).header("host", "localhost"),
            403,
            "AccessDenied",
        ),
        row("empty", &with(""), 403, "AccessDenied"),
        row("basic", &with("Basic b3duZXI6c2VjcmV0"), 400, "InvalidArgument"),
        row("bearer", &with("Bearer abc"), 400, "InvalidArgument"),
        row("version 2", &with("AWS OWNERKEY:c2lnbmF0dXJl"), 400, "InvalidRequest"),
        row("asymmetric", &with("AWS4-ECDSA-P256-SHA256 Credential=a"), 501, "NotImplemented"),
        row("nothing but the algorithm", &with("AWS4-HMAC-SHA256"), 400, "InvalidArgument"),
        row(
            "no credential",
            &with("AWS4-HMAC-SHA256 SignedHeaders=host,Signature=00"),
            400,
            malformed,
        ),
        row(
            "credential of slashes",
            &with("AWS4-HMAC-SHA256 Credential=//////,SignedHeaders=host,Signature=00"),
            400,
            malformed,
        ),
        row("both", &get().presign(OWNER, "60").sign(OWNER), 400, "InvalidArgument"),
        row(
            "changed query",
            &signed().target_suffix("?versionId=null"),
            403,
            "SignatureDoesNotMatch",
        ),
        row("without a body", &Request::new("HEAD", "/bucket/secret").sign(wrong), 403, ""),
    ];
    check(&server, rows);
    assert_eq!(server.send(&get().age(840).sign(OWNER).bytes()).status, 200);
}

#[test]
fn a_wrong_signature_never_shows_the_right_one() {
    let server = RawServer::start();
    store(&server);
    let right = String::from_utf8(get().sign(OWNER).bytes()).expect("text");
    let (head, signature) = right.split_once("Signature=").expect("signed");
    let (signature, rest) = signature.split_at(64);
    let forged = format!("{head}Signature={}{rest}", "0".repeat(64));
    let reply = server.send(forged.as_bytes());
    assert_eq!((reply.status, &*reply.code()), (403, "SignatureDoesNotMatch"));
    assert!(!reply.everything().contains(signature), "{}", reply.everything());
    for element in ["AWSAccessKeyId", "StringToSign", "SignatureProvided", "CanonicalRequest"] {
        assert!(reply.has_element(element), "{element}: {}", reply.text());
    }
}

/// Not even in the most talkative log.
#[test]
fn no_secret_and_no_signature_is_logged() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let running = Running::start_with(
        &directory,
        &["--memory", "--address", "127.0.0.1:0", "--log", "trace"],
        &[("LITEIO_ACCESS_KEY", OWNER.access), ("LITEIO_SECRET_KEY", OWNER.secret)],
    );
    let address = running.endpoint().strip_prefix("http://").expect("a URL");
    let address = address.parse().expect("an address");
    let mut signatures = Vec::new();
    for request in [
        Request::new("PUT", "/bucket").sign(OWNER),
        put("k").body("x").sign(OWNER),
        put("k").body("x").presign(OWNER, "60"),
    ] {
        let text = String::from_utf8(request.bytes()).expect("text");
        let (head, signature) = text.split_once("Signature=").expect("signed");
        let (signature, rest) = signature.split_at(64);
        assert_eq!(send(address, text.as_bytes()).status, 200);
        let forged = format!("{head}Signature={}{rest}", "0".repeat(64));
        assert_eq!(send(address, forged.as_bytes()).code(), "SignatureDoesNotMatch");
        signatures.push(signature.to_owned());
    }
    let (_, log) = running.signal("TERM");
    assert!(log.contains("status=403"), "{log}");
    assert!(!log.contains(OWNER.secret), "{log}");
    for signature in signatures {
        assert!(!log.contains(&signature), "{signature} is in {log}");
    }
}

#[test]
fn presigned_urls() {
    let server = RawServer::start();
    store(&server);
    let (denied, parameters) = ("AccessDenied", "AuthorizationQueryParametersError");
    let nobody = Keys { access: "NOBODY", secret: OWNER.secret };
    let signed = || get().presign(OWNER, "60");
    let rows = [
        row("expired", &get().age(61).presign(OWNER, "60"), 403, denied),
        row("of no seconds", &get().presign(OWNER, "0"), 403, denied),
        row("expired by far", &get().age(700_000).presign(OWNER, "604800"), 403, denied),
        row("not yet", &get().age(-960).presign(OWNER, "60"), 403, denied),
        row("too long", &get().presign(OWNER, "604801"), 400, parameters),
        row("overflow", &get().presign(OWNER, "99999999999999999999"), 400, parameters),
        row("negative", &get().presign(OWNER, "-60"), 400, parameters),
        row("no number", &get().presign(OWNER, "soon"), 400, parameters),
        row("unknown key", &get().presign(nobody, "60"), 403, "InvalidAccessKeyId"),
        row("another region", &get().scope("mars-1", "s3").presign(OWNER, "60"), 400, parameters),
        row(
            "another service",
            &get().scope("us-east-1", "ec2").presign(OWNER, "60"),
            400,
            parameters,
        ),
        row(
            "added parameter",
            &signed().target_suffix("&versionId=null"),
            403,
            "SignatureDoesNotMatch",
        ),
        row("signed twice", &signed().target_suffix("&X-Amz-Signature=00"), 400, parameters),
        row(
            "parameters alone",
            &get().target_suffix("?X-Amz-Algorithm=AWS4-HMAC-SHA256"),
            400,
            parameters,
        ),
        row("hidden parameter", &get().target_suffix("?X-Amz-Signatur%65=00"), 400, parameters),
        row(
            "version 2, expired",
            &get().target_suffix("?AWSAccessKeyId=OWNERKEY&Expires=1&Signature=a"),
            403,
            denied,
        ),
        row(
            "version 2, wrong",
            &version_2("AAAAAAAAAAAAAAAAAAAAAAAAAAA="),
            403,
            "SignatureDoesNotMatch",
        ),
        row("version 2, cut", &get().target_suffix("?AWSAccessKeyId=OWNERKEY"), 403, denied),
    ];
    check(&server, rows);
    assert_eq!(server.send(&signed().bytes()).text(), "the secret of the owner");
}

fn version_2(signature: &str) -> Request {
    let expires = jiff::Timestamp::now().as_second() + 60;
    let query = format!("?AWSAccessKeyId=OWNERKEY&Expires={expires}&Signature={signature}");
    get().target_suffix(&query)
}

#[test]
fn a_presigned_put_copies_nothing_it_was_not_signed_for() {
    let server = RawServer::start();
    store(&server);
    let presigned = || put("public").presign(OWNER, "60").body("x");
    let denied = "AccessDenied";
    let rows = [
        ("x-amz-copy-source", "bucket/secret"),
        ("x-amz-copy-source", "/bucket/secret"),
        ("X-AMZ-Copy-Source", "bucket/secret"),
        ("x-amz-acl", "public-read"),
        ("x-amz-meta-a", "b"),
        ("x-amz-tagging", "a=b"),
        ("x-amz-storage-class", "GLACIER"),
        ("x-amz-website-redirect-location", "http://example.com"),
    ]
    .map(|(name, value)| row(name, &presigned().header(name, value), 403, denied));
    check(&server, rows);
    let in_query = presigned().target_suffix("&x-amz-copy-source=bucket%2Fsecret");
    check(&server, [row("in the query", &in_query, 403, "SignatureDoesNotMatch")]);
    assert_absent(&server, "public");
    let header_signed = put("public").header("x-amz-content-sha256", UNSIGNED).sign(OWNER);
    let header_signed = header_signed.header("x-amz-copy-source", "bucket/secret");
    check(&server, [row("signed header", &header_signed, 403, denied)]);
    assert_absent(&server, "public");
    assert_eq!(server.send(&presigned().bytes()).status, 200);
    assert_eq!(server.ask("GET", "/bucket/public").text(), "x");
}
