//! MinIO's uploads whose members become objects, and its reads of members.

use std::net::SocketAddr;

use tempfile::TempDir;

use crate::command::Running;
use crate::prepare::{gzip, tar, tar_entry};
use crate::raw::{Keys, Request, send};
use crate::reply::Reply;

const KEYS: Keys = Keys { access: "minioadmin", secret: "minioadmin" };
const EXTRACT: &str = "x-amz-meta-snowball-auto-extract";

/// A server in the place of MinIO, with the bucket `snow`.
struct Minio {
    running: Running,
    _directory: TempDir,
}

impl Minio {
    fn start() -> Minio {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let arguments = ["server", "store", "--profile", "minio", "--address", "127.0.0.1:0"];
        let running = Running::start_with(&directory, &arguments, &[]);
        let server = Minio { running, _directory: directory };
        assert_eq!(server.ask("PUT", "/snow").status, 200);
        server
    }

    fn send(&self, request: Request) -> Reply {
        let address = self.running.endpoint().trim_end_matches(" (all interfaces)");
        let address: SocketAddr =
            address.strip_prefix("http://").expect("a URL").parse().expect("an address");
        send(address, &request.sign(KEYS).bytes())
    }

    fn ask(&self, method: &str, target: &str) -> Reply {
        self.send(Request::new(method, target))
    }

    /// Uploads an archive to be extracted.
    fn put(&self, archive: &[u8], headers: &[(&str, &str)]) -> Reply {
        let put = Request::new("PUT", "/snow/archive.tar").body(archive).header(EXTRACT, "true");
        let put = headers.iter().fold(put, |put, (name, value)| put.header(name, value));
        self.send(put)
    }

    /// The keys of the bucket, which is empty afterwards.
    fn take_keys(&self) -> Vec<String> {
        let keys = self.ask("GET", "/snow").elements("Key");
        for key in &keys {
            assert_eq!(self.ask("DELETE", &format!("/snow/{key}")).status, 204, "{key}");
        }
        keys
    }
}

fn file(name: &str, body: &[u8]) -> Vec<u8> {
    tar_entry(name, b'0', body)
}

/// An extended header for the next entry.
fn pax(properties: &[(&str, &str)]) -> Vec<u8> {
    let record = |(key, value): &(&str, &str)| {
        let rest = format!(" {key}={value}\n");
        let length = (rest.len()..).find(|length| length.to_string().len() + rest.len() == *length);
        format!("{}{rest}", length.expect("a length"))
    };
    let records: String = properties.iter().map(record).collect();
    tar_entry("PaxHeaders/x", b'x', records.as_bytes())
}

fn refused(reply: &Reply, status: u16, code: &str, told: &str) {
    let text = String::from_utf8_lossy(&reply.body);
    assert_eq!(reply.status, status, "{text}");
    assert!(text.contains(&format!("<Code>{code}</Code>")), "{text}");
    assert!(text.contains(told), "{told:?} is not in {text}");
}

#[test]
fn members_become_objects() {
    let server = Minio::start();
    let big = vec![7; 3 << 20];
    let archive = tar(&[
        tar_entry("./", b'5', b""),
        tar_entry("a/", b'5', b""),
        file("./a/one.txt", b"one"),
        file("a//b/./two.bin", &big),
        file("top.txt", b""),
    ]);
    for body in [archive.clone(), gzip(&archive)] {
        let reply = server.put(&body, &[]);
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(server.ask("GET", "/snow/a/one.txt").body, b"one");
        assert!(server.ask("GET", "/snow/a/b/two.bin").body == big);
        assert_eq!(server.take_keys(), ["a/", "a/b/two.bin", "a/one.txt", "top.txt"]);
    }
    let headers = [
        ("x-amz-meta-minio-snowball-prefix", "x/y"),
        ("x-amz-meta-minio-snowball-ignore-dirs", "true"),
    ];
    assert_eq!(server.put(&archive, &headers).status, 200);
    assert_eq!(server.take_keys(), ["x/y/a/b/two.bin", "x/y/a/one.txt", "x/y/top.txt"]);
    // Any other value is metadata.
    let plain = Request::new("PUT", "/snow/archive.tar").body(&archive).header(EXTRACT, "false");
    assert_eq!(server.send(plain).status, 200);
    assert_eq!(server.take_keys(), ["archive.tar"]);
}

/// As MinIO's client for Go writes them, and the headers of the request.
#[test]
fn members_have_the_metadata_of_the_request_and_their_own() {
    let server = Minio::start();
    let archive = tar(&[
        pax(&[
            ("minio.metadata.Content-Type", "image/png"),
            ("minio.metadata.X-Amz-Meta-Own", "of the member"),
            ("mtime", "1.5"),
        ]),
        file("typed.png", b"x"),
        file("plain", b"x"),
    ]);
    let headers = [
        ("content-type", "application/x-tar"),
        ("x-amz-meta-all", "of the request"),
        ("x-amz-meta-own", "of the request"),
        ("x-amz-tagging", "k=v"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
    ];
    assert_eq!(server.put(&archive, &headers).status, 200);
    for (key, content_type, own) in [
        ("typed.png", "image/png", "of the member"),
        ("plain", "binary/octet-stream", "of the request"),
    ] {
        let head = server.ask("HEAD", &format!("/snow/{key}"));
        let expected = [
            ("content-type", content_type),
            ("x-amz-meta-own", own),
            ("x-amz-meta-all", "of the request"),
            ("x-amz-tagging-count", "1"),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ];
        for (name, value) in expected {
            assert_eq!(head.header(name), Some(value), "{key} {name}");
        }
        assert_eq!(head.header(EXTRACT), None, "{key}");
    }
}

/// A member, the headers of the request, and a part of the message.
type Row<'r> = (Vec<u8>, &'r [(&'r str, &'r str)], &'r str);

/// An archive with anything that cannot be stored leaves nothing; with the option for it, it leaves
/// the others.
#[test]
fn a_member_that_cannot_be_stored_refuses_the_archive() {
    let server = Minio::start();
    let long = format!("a/{}", "x".repeat(90));
    let too_long = ("x-amz-meta-minio-snowball-prefix", "p".repeat(1000));
    let rows: [Row<'_>; 9] = [
        (file("../up", b"x"), &[], "leads out of the archive"),
        (file("a/../../up", b"x"), &[], "leads out of the archive"),
        (file("/etc/passwd", b"x"), &[], "root of the file system"),
        (tar_entry("link", b'2', b""), &[], "it is a link"),
        (tar_entry("hard", b'1', b""), &[], "it is a link"),
        (tar_entry("null", b'3', b""), &[], "it is a device"),
        (file(&long, b"x"), &[(too_long.0, &too_long.1)], "The member"),
        (
            [pax(&[("minio.versionId", "7")]), file("versioned", b"x")].concat(),
            &[],
            "minio.versionId",
        ),
        (
            [pax(&[("minio.metadata.X-Amz-Acl", "public-read")]), file("acl", b"x")].concat(),
            &[],
            "X-Amz-Acl",
        ),
    ];
    for (member, headers, told) in rows {
        let archive = tar(&[file("before", b"x"), member, file("after", b"x")]);
        let reply = server.put(&archive, headers);
        assert_eq!(reply.status, 400, "{told}: {reply:?}");
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(text.contains(told) && text.contains("Nothing was stored"), "{told}: {text}");
        assert_eq!(server.take_keys(), [""; 0], "{told}");
        let ignoring = ("x-amz-meta-minio-snowball-ignore-errors", "true");
        let reply = server.put(&archive, &[headers, &[ignoring]].concat());
        assert_eq!(reply.status, 200, "{told}: {reply:?}");
        assert_eq!(server.take_keys().len(), 2, "{told}");
    }
}

#[test]
fn archives_that_are_none_leave_nothing() {
    let server = Minio::start();
    let whole = tar(&[file("a", &[1; 700]), file("b", b"b")]);
    let packed = gzip(&whole);
    let mut bad_sum = packed.clone();
    let end = bad_sum.len() - 8;
    bad_sum[end] ^= 1;
    let zeros = vec![0; 160 << 20];
    let bomb = gzip(&tar(&[file("zeros", &zeros)]));
    assert!(bomb.len() < 1 << 20);
    let many: Vec<_> = (0..10_001).map(|number| file(&format!("{number}"), b"")).collect();
    let rows = [
        (b"no archive at all".to_vec(), "cut off"),
        (Vec::new(), "cut off"),
        (vec![b'x'; 4096], "no tar archive"),
        (whole[..600].to_vec(), "cut off"),
        (packed[..packed.len() / 2].to_vec(), "cut off"),
        (bad_sum, "damaged"),
        (bomb, "unpacks to more than 100 times its length"),
        (gzip(&tar(&many)), "more than 10000 members"),
    ];
    for (body, told) in rows {
        refused(&server.put(&body, &[]), 400, "InvalidRequest", told);
        // Nor with errors ignored: it is not known what is missing.
        let ignoring = ("x-amz-meta-minio-snowball-ignore-errors", "true");
        refused(&server.put(&body, &[ignoring]), 400, "InvalidRequest", told);
        assert_eq!(server.take_keys(), [""; 0], "{told}");
    }
    // A digest of the archive is compared before anything is stored.
    let digest = ("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg==");
    refused(&server.put(&whole, &[digest]), 400, "BadDigest", "");
    assert_eq!(server.take_keys(), [""; 0]);
}

#[test]
fn other_formats_and_requests_are_refused_by_name() {
    let server = Minio::start();
    for (start, name) in [
        (&b"\x28\xb5\x2f\xfd1234"[..], "zstd"),
        (b"\x04\x22\x4d\x181234", "lz4"),
        (b"BZh91AY", "bzip2"),
        (b"\xfd7zXZ\x0012", "xz"),
        (b"\xff\x06\x00\x00S2sTwO", "S2"),
    ] {
        refused(&server.put(start, &[]), 501, "NotImplemented", name);
    }
    let archive = tar(&[file("a", b"x")]);
    refused(&server.put(&archive, &[("if-none-match", "*")]), 400, "InvalidRequest", "conditions");
    let upload = Request::new("POST", "/snow/k?uploads").header(EXTRACT, "true");
    refused(&server.send(upload), 501, "NotImplemented", EXTRACT);
    assert_eq!(server.ask("PUT", "/snow/source").status, 200);
    let copy = Request::new("PUT", "/snow/k").header("x-amz-copy-source", "/snow/source");
    let copy = copy.header("x-amz-metadata-directive", "REPLACE").header(EXTRACT, "true");
    refused(&server.send(copy), 501, "NotImplemented", EXTRACT);
    for (method, target) in [("GET", "/snow/a.zip/b"), ("GET", "/snow?list-type=2&prefix=a.zip/")] {
        let extract = Request::new(method, target).header("x-minio-extract", "true");
        refused(&server.send(extract), 501, "NotImplemented", "x-minio-extract");
    }
    let head = Request::new("HEAD", "/snow/source").header("x-minio-extract", "true");
    assert_eq!(server.send(head).status, 501);
    let without = Request::new("GET", "/snow/source").header("x-minio-extract", "false");
    assert_eq!(server.send(without).status, 200);
    assert_eq!(server.take_keys(), ["source"]);
}

/// A server that is not in the place of MinIO stores no archive that looks like success.
#[test]
fn without_the_profile_the_header_is_refused() {
    let server = crate::raw::RawServer::start();
    let archive = tar(&[file("a", b"x")]);
    for target in ["/bucket/archive.tar", "/bucket/archive.tar?x-id=PutObject"] {
        let put = Request::new("PUT", target).body(&archive).header(EXTRACT, "true");
        let reply = server.send(&put.sign(crate::raw::OWNER).bytes());
        refused(&reply, 501, "NotImplemented", EXTRACT);
    }
    let list = server.send(&Request::new("GET", "/bucket").sign(crate::raw::OWNER).bytes());
    assert_eq!(list.elements("Key"), [""; 0]);
}

/// Permission is decided about each key, locks and versions are kept as by single writes.
#[test]
fn every_member_is_a_write_of_its_own() {
    let server = Minio::start();
    let locked = Request::new("PUT", "/locked").header("x-amz-bucket-object-lock-enabled", "true");
    assert_eq!(server.send(locked).status, 200);
    let rule = "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention>\
                <Mode>COMPLIANCE</Mode><Days>1</Days></DefaultRetention></Rule></ObjectLockConfiguration>";
    let put = Request::new("PUT", "/locked?object-lock").body(rule);
    assert_eq!(server.send(put).status, 200);
    let archive = tar(&[file("a", b"first"), file("b", b"x"), file("a", b"second")]);
    let extract = |target: &str| {
        let put = Request::new("PUT", target).body(&archive).header(EXTRACT, "true");
        server.send(put)
    };
    assert_eq!(extract("/locked/archive.tar").status, 200);
    let versions = server.ask("GET", "/locked?versions");
    assert_eq!(versions.elements("Key"), ["a", "a", "b"]);
    assert_eq!(server.ask("GET", "/locked/a").body, b"second");
    assert_eq!(
        server.ask("HEAD", "/locked/a").header("x-amz-object-lock-mode"),
        Some("COMPLIANCE")
    );
    let id = versions.elements("VersionId")[0].clone();
    refused(&server.ask("DELETE", &format!("/locked/a?versionId={id}")), 403, "AccessDenied", "");

    let policy = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*",
        "Action": "s3:PutObject", "Resource": "arn:aws:s3:::snow/secret/*"}]}"#;
    assert_eq!(server.send(Request::new("PUT", "/snow?policy").body(policy)).status, 204);
    let archive = tar(&[file("open/a", b"x"), file("secret/a", b"x")]);
    refused(&server.put(&archive, &[]), 403, "AccessDenied", "secret/a");
    assert_eq!(server.take_keys(), [""; 0]);
    let ignoring = ("x-amz-meta-minio-snowball-ignore-errors", "true");
    assert_eq!(server.put(&archive, &[ignoring]).status, 200);
    assert_eq!(server.take_keys(), ["open/a"]);
    let prefixed = ("x-amz-meta-minio-snowball-prefix", "secret");
    refused(&server.put(&archive, &[prefixed]), 403, "AccessDenied", "open/a");
}
