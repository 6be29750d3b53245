//! Query parameters that no operation of S3 has. S3 ignores them, and signers put them there: aws-sdk-js v2 and ex_aws
//! write `Content-Type` into presigned URLs, applications write their own (`extraQueryParams` of MinIO's clients).

use crate::raw::{OWNER, RawServer, Request};
use crate::reply::Reply;

const FOREIGN: [&str; 12] = [
    "Content-Type=image%2Fsvg%2Bxml",
    "Cache-Control=no-store",
    "Content-Disposition=inline",
    "Content-Encoding=gzip",
    "Content-Language=de",
    "Content-MD5=none",
    "Expires=1700000000",
    "appId=7",
    "flag=x%20y",
    "foo",
    "foo=1&foo=2",
    "b%C3%BCro=%F0%9F%98%80",
];

/// The answers to a request that is signed in its header and in its query.
fn answers(server: &RawServer, request: &Request) -> [Reply; 2] {
    let signed = [request.clone().sign(OWNER), request.clone().presign(OWNER, "60")];
    signed.map(|request| server.send(&request.bytes()))
}

#[test]
fn parameters_that_the_signature_covers_are_ignored() {
    let server = RawServer::start();
    for foreign in FOREIGN {
        let with = |method: &str, target: &str| Request::new(method, &format!("{target}{foreign}"));
        for put in answers(&server, &with("PUT", "/bucket/key?").body("bytes")) {
            assert_eq!(put.status, 200, "{foreign}: {}", put.everything());
            // Nothing of it was kept.
            let kept = server.ask("GET", "/bucket/key");
            assert_eq!((kept.status, &*kept.body), (200, &b"bytes"[..]), "{foreign}");
            assert_eq!(kept.header("content-type"), Some("binary/octet-stream"), "{foreign}");
            for name in ["cache-control", "content-disposition", "content-encoding", "expires"] {
                assert_eq!(kept.header(name), None, "{foreign}");
            }
        }
        for upload in answers(&server, &with("POST", "/bucket/parts?uploads&")) {
            assert_eq!(upload.status, 200, "{foreign}: {}", upload.everything());
            let part =
                format!("/bucket/parts?partNumber=1&uploadId={}&", upload.element("UploadId"));
            for part in answers(&server, &with("PUT", &part).body("part")) {
                assert_eq!(part.status, 200, "{foreign}: {}", part.everything());
            }
        }
        for method in ["GET", "HEAD", "DELETE"] {
            for reply in answers(&server, &with(method, "/bucket/key?")) {
                let expected = if method == "DELETE" { 204 } else { 200 };
                assert_eq!(reply.status, expected, "{method} {foreign}");
            }
        }
        for list in answers(&server, &with("GET", "/bucket?list-type=2&")) {
            assert_eq!(list.status, 200, "{foreign}: {}", list.everything());
        }
    }
}

/// The type is the header's, which the client sends beside the parameter.
#[test]
fn a_header_beside_its_parameter_counts() {
    let server = RawServer::start();
    let put = Request::new("PUT", "/bucket/key?Content-Type=text%2Fplain").body("<svg/>");
    let put = put.presign(OWNER, "60").header("content-type", "image/svg+xml");
    assert_eq!(server.send(&put.bytes()).status, 200);
    let kept = server.ask("HEAD", "/bucket/key");
    assert_eq!(kept.header("content-type"), Some("image/svg+xml"));
}

#[test]
fn signed_parameters_of_other_operations_are_still_refused() {
    let server = RawServer::start();
    let put = Request::new("PUT", "/bucket/key").body("bytes").sign(OWNER);
    assert_eq!(server.send(&put.bytes()).status, 200);
    let rows = [
        ("DELETE", "/bucket/key?acl", 405),
        ("DELETE", "/bucket/key?%61cl", 405),
        ("DELETE", "/bucket/key?legal-hold", 405),
        ("PUT", "/bucket/key?encryption", 501),
        ("PUT", "/bucket/key?renameObject", 400),
        ("PUT", "/bucket/key?prefix=a", 400),
        ("PUT", "/bucket/key?versionId=null", 400),
        ("PUT", "/bucket/key?partNumber=1", 400),
        ("PUT", "/bucket/key?uploadId=a", 405),
        ("PUT", "/bucket/key?lifecycle", 400),
        ("PUT", "/bucket/key?appId=7&delimiter=a", 400),
        ("POST", "/bucket?acl", 405),
    ];
    for (method, target, status) in rows {
        for reply in answers(&server, &Request::new(method, target).body("<Other/>")) {
            assert_eq!(reply.status, status, "{method} {target}: {}", reply.everything());
        }
    }
    assert_eq!(server.ask("GET", "/bucket/key").body, b"bytes");
}

/// A parameter behind the signature is no signed one.
#[test]
fn parameters_that_nobody_signed_are_refused() {
    let server = RawServer::start();
    let rows = [("PUT", "/bucket/key?appId=7"), ("DELETE", "/bucket/key?foo")];
    for (method, target) in rows {
        let reply = server.send(&Request::new(method, target).body("a").bytes());
        assert_eq!((reply.status, &*reply.code()), (400, "InvalidArgument"), "{method} {target}");
    }
    let added = Request::new("PUT", "/bucket/key").body("a").presign(OWNER, "60");
    let reply = server.send(&added.target_suffix("&appId=7").bytes());
    assert_eq!((reply.status, &*reply.code()), (403, "SignatureDoesNotMatch"));
}

/// Names are read as they are decoded, by routing, authorization and operations alike.
#[test]
fn encoded_names_are_the_names() {
    let server = RawServer::start();
    let put = Request::new("PUT", "/bucket/key").body("bytes").sign(OWNER);
    assert_eq!(server.send(&put.bytes()).status, 200);
    let got = server.ask("GET", "/bucket/key?%72esponse-content-type=text%2Fplain");
    assert_eq!((got.status, got.header("content-type")), (200, Some("text/plain")));
    let got = server.ask("GET", "/bucket/key?version%49d=null");
    assert_eq!((got.status, &*got.body), (200, &b"bytes"[..]));
    let got = server.ask("GET", "/bucket?%6Cist-type=2&pre%66ix=k");
    assert_eq!((got.status, got.elements("Key")), (200, vec!["key".to_owned()]));
    // The bucket and the key, too.
    let got = server.ask("GET", "/b%75cket%2Fkey");
    assert_eq!((got.status, &*got.body), (200, &b"bytes"[..]));
}
