//! aws-chunked bodies whose framing, signatures or trailers are broken.

use super::*;
use crate::raw::Chain;

const SIGNED: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
const SIGNED_TRAILER: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
const UNSIGNED_TRAILER: &str = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
const CRC32: &str = "x-amz-checksum-crc32";
/// Of `data`.
const CRC32_OF_DATA: &str = "rfPzYw==";

fn unsigned(decoded_length: &str, trailer: &str, body: impl AsRef<[u8]>) -> Request {
    let request = put("chunks")
        .header("x-amz-content-sha256", UNSIGNED_TRAILER)
        .header("x-amz-decoded-content-length", decoded_length)
        .header("content-encoding", "aws-chunked");
    let request = match trailer {
        "" => request,
        trailer => request.header("x-amz-trailer", trailer),
    };
    request.sign(OWNER).body(body)
}

#[test]
fn broken_framing() {
    let server = RawServer::start();
    let (broken, incomplete) = ("IncompleteBody", "IncompleteBody");
    let end = "\r\n0\r\n\r\n";
    let long_line = format!("4;{}\r\ndata{end}", "x".repeat(5000));
    let rows = [
        ("no size", "\r\ndata", 400, broken),
        ("no number", "zz\r\ndata\r\n0\r\n\r\n", 400, broken),
        ("negative", "-4\r\ndata\r\n0\r\n\r\n", 400, broken),
        ("plus", "+4\r\ndata\r\n0\r\n\r\n", 400, broken),
        ("prefix", "0x4\r\ndata\r\n0\r\n\r\n", 400, broken),
        ("overflow", "10000000000000004\r\ndata\r\n0\r\n\r\n", 400, broken),
        ("near overflow", "ffffffffffffffff\r\ndata\r\n0\r\n\r\n", 400, broken),
        ("4 GiB claimed", "ffffffff\r\ndata\r\n0\r\n\r\n", 400, broken),
        ("long line", &*long_line, 400, broken),
        ("no line end after data", "4\r\ndata0\r\n\r\n", 400, broken),
        ("size too small", "3\r\ndata\r\n0\r\n\r\n", 400, broken),
        ("size too large", "5\r\ndata\r\n0\r\n\r\n", 400, broken),
        ("more than was declared", "4\r\ndata\r\n1\r\nx\r\n0\r\n\r\n", 400, broken),
        ("less than was declared", "3\r\ndat\r\n0\r\n\r\n", 400, incomplete),
        ("nothing", "0\r\n\r\n", 400, incomplete),
        ("no body", "", 400, incomplete),
        ("no last chunk", "4\r\ndata\r\n", 400, incomplete),
        ("cut in the data", "4\r\nda", 400, incomplete),
        ("cut in the size", "4", 400, incomplete),
        ("data after the end", "4\r\ndata\r\n0\r\n\r\nmore", 400, broken),
        ("no framing", "data", 400, incomplete),
        ("small chunks", "2\r\nda\r\n2\r\nta\r\n0\r\n\r\n", 403, "InvalidChunkSizeError"),
    ];
    check(
        &server,
        rows.map(|(name, body, status, code)| row(name, &unsigned("4", "", body), status, code)),
    );
    assert_absent(&server, "chunks");
    for length in ["", "-1", "abc", "18446744073709551616"] {
        let request = unsigned(length, "", format!("4\r\ndata{end}"));
        check(&server, [row(format!("length {length:?}"), &request, 411, "MissingContentLength")]);
    }
    let huge = unsigned("5368709121", "", format!("4\r\ndata{end}"));
    check(&server, [row("5 GiB and a byte", &huge, 400, "EntityTooLarge")]);
    let no_length = put("chunks").header("x-amz-content-sha256", UNSIGNED_TRAILER);
    let no_length = no_length.sign(OWNER).body(format!("4\r\ndata{end}"));
    check(&server, [row("no decoded length", &no_length, 411, "MissingContentLength")]);
    assert_empty(&server);
    let stored = server.send(&unsigned("4", "", format!("4\r\ndata{end}")).bytes());
    assert_eq!(stored.status, 200, "{stored:?}");
    let read = server.ask("GET", "/bucket/chunks");
    assert_eq!((&*read.text(), read.header("content-encoding")), ("data", None));
}

#[test]
fn broken_trailers() {
    let server = RawServer::start();
    let with = |lines: &str| unsigned("4", CRC32, format!("4\r\ndata\r\n0\r\n{lines}"));
    let malformed = "MalformedTrailerError";
    let long = format!("{CRC32}:{}\r\n\r\n", "A".repeat(8 << 10));
    let many = "x-amz-meta-a:b\r\n".repeat(1000) + "\r\n";
    let twice = format!("{CRC32}:{CRC32_OF_DATA}\r\n{CRC32}:{CRC32_OF_DATA}\r\n\r\n");
    let folded = format!("{CRC32}:\r\n {CRC32_OF_DATA}\r\n\r\n");
    let cut = format!("{CRC32}:{CRC32_OF_DATA}\r\n");
    let undeclared = format!("{CRC32}:{CRC32_OF_DATA}\r\nx-amz-meta-a:b\r\n\r\n");
    let wrong = format!("{CRC32}:AAAAAA==\r\n\r\n");
    let no_value = format!("{CRC32}:?\r\n\r\n");
    let rows = [
        ("wrong", &*wrong, "BadDigest"),
        ("no value", &no_value, "InvalidRequest"),
        ("missing", "\r\n", malformed),
        ("no colon", "nonsense\r\n\r\n", malformed),
        ("twice", &twice, malformed),
        ("folded", &folded, malformed),
        ("undeclared", &undeclared, malformed),
        ("long", &long, "IncompleteBody"),
        ("many", &many, malformed),
        ("cut", &cut, "IncompleteBody"),
        ("injection", "x-amz-checksum-crc32:a\nx-amz-acl:public-read\r\n\r\n", malformed),
    ];
    check(&server, rows.map(|(name, lines, code)| row(name, &with(lines), 400, code)));
    for name in ["x-amz-acl", "content-length", "x-amz-checksum-crc32,x-amz-meta-a", "\u{7f}"] {
        let body = "4\r\ndata\r\n0\r\n\r\n";
        let request = unsigned("4", name, body);
        // A delete character stands in no header at all.
        let code = if name == "\u{7f}" { "" } else { "InvalidRequest" };
        let reply = server.send(&request.bytes());
        assert_eq!(reply.status, 400, "{name:?}: {reply:?}");
        assert!(code.is_empty() || reply.code() == code, "{name:?}: {reply:?}");
    }
    assert_empty(&server);
    let right = with(&format!("{CRC32}:{CRC32_OF_DATA}\r\n\r\n"));
    let stored = server.send(&right.bytes());
    assert_eq!((stored.status, stored.header(CRC32)), (200, Some(CRC32_OF_DATA)), "{stored:?}");
}

/// A body of two chunks of 8 KiB and one of 4 bytes, signed as `make` does.
fn signed(mode: &str, make: impl FnOnce(&mut Chain) -> Vec<u8>) -> Request {
    let request = put("chunks")
        .header("x-amz-content-sha256", mode)
        .header("x-amz-decoded-content-length", "16388");
    let request = match mode {
        SIGNED_TRAILER => request.header("x-amz-trailer", CRC32),
        _ => request,
    };
    let (request, mut chain) = request.sign_with_chain(OWNER);
    request.body(make(&mut chain))
}

fn data() -> Vec<Vec<u8>> {
    vec![vec![b'a'; 8 << 10], vec![b'b'; 8 << 10], b"tail".to_vec()]
}

fn chunks(chain: &mut Chain) -> Vec<Vec<u8>> {
    let mut chunks: Vec<Vec<u8>> = data().iter().map(|data| chain.chunk(data)).collect();
    chunks.push([chain.chunk(b""), b"\r\n".to_vec()].concat());
    chunks
}

#[test]
fn chunks_are_signed_one_after_the_other() {
    let server = RawServer::start();
    let changed = |change: fn(&mut Vec<Vec<u8>>)| {
        signed(SIGNED, |chain| {
            let mut chunks = chunks(chain);
            change(&mut chunks);
            chunks.concat()
        })
    };
    let mismatch = "SignatureDoesNotMatch";
    let rows = [
        row(
            "first byte",
            &changed(|c| *c[0].last_mut().expect("data") = b'!'),
            400,
            "IncompleteBody",
        ),
        row("data of the first", &changed(|c| c[0][4000] ^= 1), 403, mismatch),
        row("data of the last", &changed(|c| c[2][85] ^= 1), 403, mismatch),
        row("signature", &changed(|c| c[1][30] = b'g'), 403, mismatch),
        row("swapped", &changed(|c| c.swap(0, 1)), 403, mismatch),
        row("repeated", &changed(|c| c[1] = c[0].clone()), 403, mismatch),
        row("end too early", &changed(|c| drop(c.remove(2))), 403, mismatch),
        row("no end", &changed(|c| drop(c.pop())), 400, "IncompleteBody"),
        row(
            "no signature",
            &changed(|c| c[0] = [b"2000\r\n", &*vec![b'a'; 8 << 10], b"\r\n"].concat()),
            400,
            "IncompleteBody",
        ),
        row(
            "empty signature",
            &changed(|c| c[2] = b"4;chunk-signature=\r\ntail\r\n".to_vec()),
            400,
            "IncompleteBody",
        ),
        row(
            "small chunks",
            &signed(SIGNED, |chain| {
                let small = [chain.chunk(b"tiny"), chain.chunk(b"tiny")].concat();
                [small, chain.chunk(&vec![b'a'; 16380])].concat()
            }),
            403,
            "InvalidChunkSizeError",
        ),
    ];
    check(&server, rows);
    assert_absent(&server, "chunks");
    let (anonymous, _) = put("chunks")
        .header("x-amz-content-sha256", SIGNED)
        .header("x-amz-decoded-content-length", "4")
        .sign_with_chain(OWNER);
    let anonymous = anonymous.without("authorization").body("4\r\ndata\r\n0\r\n\r\n");
    check(&server, [row("anonymous", &anonymous, 400, "InvalidRequest")]);
    let right = signed(SIGNED, |chain| chunks(chain).concat());
    assert_eq!(server.send(&right.bytes()).status, 200);
    assert_eq!(server.ask("GET", "/bucket/chunks").body, data().concat());
}

#[test]
fn signed_trailers_are_verified() {
    let server = RawServer::start();
    // Of all of `data()`.
    let crc32 = "6KD/ow==";
    let with = |trailer: &dyn Fn(&Chain) -> Vec<u8>| {
        signed(SIGNED_TRAILER, |chain| {
            let body: Vec<u8> = data().iter().flat_map(|data| chain.chunk(data)).collect();
            let end = chain.chunk(b"");
            [body, end, trailer(chain)].concat()
        })
    };
    let replaced = |from: &'static str, to: &'static str| {
        with(&|chain| {
            let text = String::from_utf8(chain.trailer(CRC32, crc32)).expect("text");
            text.replacen(from, to, 1).into_bytes()
        })
    };
    let rows = [
        row(
            "another value than signed",
            &with(&|chain| {
                let text = String::from_utf8(chain.trailer(CRC32, crc32)).expect("text");
                text.replace(crc32, "AAAAAA==").into_bytes()
            }),
            403,
            "SignatureDoesNotMatch",
        ),
        row(
            "wrong value, well signed",
            &with(&|chain| chain.trailer(CRC32, "AAAAAA==")),
            400,
            "BadDigest",
        ),
        row(
            "no signature",
            &with(&|_| format!("{CRC32}:{crc32}\r\n\r\n").into_bytes()),
            400,
            "MalformedTrailerError",
        ),
        row(
            "broken signature",
            &replaced("x-amz-trailer-signature:", "x-amz-trailer-signature:0"),
            403,
            "SignatureDoesNotMatch",
        ),
    ];
    check(&server, rows);
    assert_empty(&server);
    let right = server.send(&with(&|chain| chain.trailer(CRC32, crc32)).bytes());
    assert_eq!((right.status, right.header(CRC32)), (200, Some(crc32)), "{right:?}");
}
