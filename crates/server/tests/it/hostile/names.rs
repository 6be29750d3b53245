//! Names of buckets and keys.

use super::*;

#[test]
fn keys_are_opaque_and_bounded() {
    let server = RawServer::start();
    let (longest, too_long) = ("k".repeat(1024), "k".repeat(1025));
    let (longest_wide, too_long_wide) = ("%C3%A9".repeat(512), "%C3%A9".repeat(512) + "a");
    let too_long_code = "KeyTooLongError";
    let mut rows = vec![
        row("1,025 bytes", &put(&too_long).body("x").sign(OWNER), 400, too_long_code),
        row("513 wide", &put(&too_long_wide).body("x").sign(OWNER), 400, too_long_code),
    ];
    for method in ["GET", "DELETE", "HEAD"] {
        let target = format!("/bucket/{too_long}");
        rows.push(row(method, &Request::new(method, &target).sign(OWNER), 400, too_long_code));
    }
    let encoded_as_nothing =
        ["%FF", "%C3%28", "%ED%A0%80", "%F4%90%80%80", "%C0%AF", "%", "a%", "a%1", "a%zz", "%G0"];
    for key in encoded_as_nothing {
        rows.push(row(key, &put(key).body("x").sign(OWNER), 400, "InvalidURI"));
        let get = Request::new("GET", &format!("/bucket/{key}")).sign(OWNER);
        rows.push(row(key, &get, 400, "InvalidURI"));
    }
    check(&server, rows);
    assert_empty(&server);

    let kept = [
        "..",
        ".",
        "../x",
        "../../etc/passwd",
        "%2E%2E%2F%2e%2e%2Fx",
        "a//b",
        "/",
        "//",
        "a/",
        "a/./b",
        "a%2F%2Fb%2F",
        "%00",
        "a%00b",
        "a%0Ab",
        "a%0D%0Ab",
        "%09",
        "%7F",
        "%1B%5B2J",
        "%EF%BF%BE",
        "a%20b",
        "a+b",
        "%25",
        "%3Cx%3E%26%22",
        "%5C..%5Cx",
        "CON",
        "%E2%80%AE",
        &longest,
        &longest_wide,
    ];
    for key in kept {
        let stored = server.send(&put(key).body(key).sign(OWNER).bytes());
        assert_eq!(stored.status, 200, "{key}: {}", stored.text());
    }
    for key in kept {
        let read = server.ask("GET", &format!("/bucket/{key}"));
        // `%2F` is a slash: some of these name one key in two ways, the later of which was kept.
        assert_eq!(read.status, 200, "{key}");
    }
    let listing = server.ask("GET", "/bucket?list-type=2&encoding-type=url");
    for key in ["<Key>..</Key>", "<Key>../x</Key>", "<Key>a//b</Key>", "<Key>a%0D%0Ab</Key>"] {
        assert!(listing.text().contains(key), "{key} is not in {}", listing.text());
    }
    let count = kept.len().to_string();
    assert_eq!(listing.element("KeyCount"), count, "{}", listing.text());
    // Without encoding the document must be XML all the same.
    let listing = server.ask("GET", "/bucket?list-type=2");
    let broken = |byte: &u8| *byte < b' ' && !matches!(*byte, b'\t' | b'\n' | b'\r');
    assert!(!listing.body.iter().any(broken), "{}", listing.text());
}

#[test]
fn bucket_names_follow_the_rules() {
    let server = RawServer::start();
    let (too_long, invalid) = ("b".repeat(64), "InvalidBucketName");
    let mut rows = Vec::new();
    for name in [
        "ab",
        &too_long,
        "UPPER",
        "under_score",
        "two..dots",
        ".dot",
        "dot.",
        "-dash",
        "dash-",
        "192.168.1.1",
        "xn--bucket",
        "bucket-s3alias",
        "..",
        "%2E%2E",
        "%00%00%00",
        "a%0Ab",
        "b%C3%BCcket",
        "a%20b",
        "a%3Fb",
    ] {
        rows.push(row(name, &Request::new("PUT", &format!("/{name}")).sign(OWNER), 400, invalid));
    }
    for name in ["%FF%FF%FF", "bad%", "bad%zz"] {
        let put = Request::new("PUT", &format!("/{name}")).sign(OWNER);
        rows.push(row(name, &put, 400, "InvalidURI"));
    }
    for target in ["/../bucket", "/%2E%2E/key", "/UPPER/key"] {
        rows.push(row(target, &Request::new("GET", target).sign(OWNER), 400, invalid));
    }
    let no_bucket = Request::new("GET", "/nothing-here/key").sign(OWNER);
    rows.push(row("no bucket", &no_bucket, 404, "NoSuchBucket"));
    check(&server, rows);
    let buckets = server.ask("GET", "/").text();
    assert_eq!(buckets.matches("<Bucket>").count(), 1, "{buckets}");
}
