//! aws-chunked bodies: whole, broken, and cut into any frames.

use http::Request;
use proptest::prelude::*;

use super::signer::Signer;
use super::*;
use crate::TrailerHandle;

const SIGNED: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
const SIGNED_TRAILER: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
const UNSIGNED_TRAILER: &str = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

fn put(mode: &str, decoded_length: u64) -> Signer {
    let signer = Signer::new("PUT", "/k", mode)
        .header("x-amz-decoded-content-length", &decoded_length.to_string());
    if mode.ends_with("-TRAILER") {
        signer.header("x-amz-trailer", "x-amz-checksum-crc32")
    } else {
        signer
    }
}

fn send(signer: &Signer, framed: impl Into<Bytes>) -> Request<AuthBody> {
    let body = TestBody::new([framed.into()]);
    authenticate(&authenticator(), signer.request_with(body)).expect("the head is right")
}

/// Sends a body of one framing to a handler: returns the data, or the error code.
fn outcome(signer: &Signer, framed: impl Into<Bytes>) -> Result<Vec<u8>, String> {
    let (data, end) = read(send(signer, framed).into_body());
    end.map(|()| data).map_err(|error| error.code().to_owned())
}

fn refused(code: &str) -> Result<Vec<u8>, String> {
    Err(code.to_owned())
}

/// A signed body of a large and a small chunk, complete.
fn two_chunks(signer: &Signer) -> Vec<u8> {
    let (mut framed, _) = signer.chunks(&[&[b'a'; 8192], b"bc"]);
    framed.extend_from_slice(b"\r\n");
    framed
}

#[test]
fn signed_chunks_are_unwrapped() {
    let signer = put(SIGNED, 8194);
    let expected = [&[b'a'; 8192][..], b"bc"].concat();
    assert_eq!(outcome(&signer, two_chunks(&signer)), Ok(expected));
    let empty = put(SIGNED, 0);
    let (mut framed, _) = empty.chunks(&[]);
    framed.extend_from_slice(b"\r\n");
    assert_eq!(outcome(&empty, framed), Ok(Vec::new()));
}

#[test]
fn every_changed_byte_of_a_signed_body_is_noticed() {
    let signer = put(SIGNED, 8194);
    let good = two_chunks(&signer);
    let interesting = (0..90).chain(8280..good.len());
    for index in interesting {
        let mut bad = good.clone();
        bad[index] ^= 1;
        let (data, end) = read(send(&signer, bad).into_body());
        assert!(end.is_err(), "byte {index} changed and nobody noticed");
        assert!(data.len() < 8194, "all of the data came although byte {index} was changed");
    }
}

#[test]
fn every_truncation_is_noticed() {
    let signer = put(SIGNED, 8194);
    let good = two_chunks(&signer);
    for length in (0..90).chain(8270..good.len()) {
        let (data, end) = read(send(&signer, good[..length].to_vec()).into_body());
        assert_eq!(end.expect_err("truncated").code(), "IncompleteBody", "at {length}");
        assert!(data.len() < 8194, "all of the data came of {length} bytes");
    }
}

#[test]
fn a_bad_chunk_never_leaves_whole() {
    let signer = put(SIGNED, 8194);
    let mut framed = two_chunks(&signer);
    let place = framed.iter().position(|byte| *byte == b'a').expect("data") + 5000;
    framed[place] = b'x';
    let (data, end) = read(send(&signer, framed).into_body());
    assert_eq!(end.expect_err("refused").code(), "SignatureDoesNotMatch");
    assert_eq!(data, b"");
}

#[test]
fn chunks_cannot_be_swapped_repeated_or_left_out() {
    let signer = put(SIGNED, 3 * 8192);
    let chunks = [[b'a'; 8192], [b'b'; 8192], [b'c'; 8192]];
    let (framed, _) = signer.chunks(&[&chunks[0], &chunks[1], &chunks[2]]);
    let one = (framed.len() - 84) / 3;
    let part = |index: usize| &framed[index * one..(index + 1) * one];
    let end = [&framed[3 * one..], b"\r\n"].concat();
    let build = |order: &[usize]| {
        let body: Vec<u8> = order.iter().flat_map(|index| part(*index).to_vec()).collect();
        [body, end.clone()].concat()
    };
    assert_eq!(outcome(&signer, build(&[0, 1, 2])).expect("in order").len(), 3 * 8192);
    for order in [&[1, 0, 2][..], &[0, 0, 1], &[0, 2, 1]] {
        assert_eq!(outcome(&signer, build(order)), refused("SignatureDoesNotMatch"));
    }
    // The final chunk covers the last one.
    assert_eq!(outcome(&put(SIGNED, 2 * 8192), build(&[0, 1])), refused("SignatureDoesNotMatch"));
}

#[test]
fn lengths_must_agree_with_the_declared_one() {
    let chunks: [&[u8]; 2] = [&[b'a'; 8192], b"bc"];
    for declared in [8195, 8193, 1] {
        let signer = put(SIGNED, declared);
        let (mut framed, _) = signer.chunks(&chunks);
        framed.extend_from_slice(b"\r\n");
        let (_, end) = read(send(&signer, framed).into_body());
        let error = end.expect_err("another length");
        assert_eq!(error.code(), "IncompleteBody", "{declared}");
        // The first chunk that does not fit ends the body.
        let provided = if declared == 1 { "8192" } else { "8194" };
        let expected = [
            ("NumberBytesExpected", declared.to_string()),
            ("NumberBytesProvided", provided.to_owned()),
        ];
        assert_eq!(error.elements(), expected, "{declared}");
    }
    let signer = put(SIGNED, 8194);
    for extra in ["x", "\r\n", "0\r\n\r\n"] {
        let framed = [&two_chunks(&signer), extra.as_bytes()].concat();
        assert_eq!(outcome(&signer, framed), refused("IncompleteBody"), "{extra:?}");
    }
}

#[test]
fn only_the_last_signed_chunk_may_be_small() {
    for (chunks, accepted) in [
        (&[&[b'a'; 8192][..], b"b"], true),
        (&[&[b'a'; 8191][..], b"b"], false),
        (&[b"a", b"b"], false),
    ] {
        let length = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let signer = put(SIGNED, length);
        let (mut framed, _) = signer.chunks(chunks);
        framed.extend_from_slice(b"\r\n");
        let outcome = outcome(&signer, framed);
        if accepted {
            assert_eq!(outcome.expect("accepted").len() as u64, length);
        } else {
            assert_eq!(outcome, refused("InvalidChunkSizeError"));
        }
    }
}

#[test]
fn only_the_last_unsigned_chunk_may_be_small_but_where_minio_is_replaced() {
    let end = "0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n";
    let (enough, little) = ("a".repeat(8192), "a".repeat(8191));
    let small = format!("1fff\r\n{little}\r\n1\r\nb\r\n{end}");
    assert_eq!(
        outcome(&put(UNSIGNED_TRAILER, 8192), small.clone()),
        refused("InvalidChunkSizeError")
    );
    let sound = format!("2000\r\n{enough}\r\n1\r\nb\r\n{end}");
    assert_eq!(outcome(&put(UNSIGNED_TRAILER, 8193), sound), Ok(format!("{enough}b").into_bytes()));
    let rules = Rules { takes_small_chunks: true, ..Rules::strict("us-east-1") };
    let now = authenticator_at(DATE, 0).now_unix_seconds();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now.try_into().expect("after 1970"));
    let minio = Authenticator::new(directory(), rules, Arc::new(move || now));
    let body = TestBody::new([small]);
    let request = put(UNSIGNED_TRAILER, 8192).request_with(body);
    let request = authenticate(&minio, request).expect("the head is right");
    let (data, end) = read(request.into_body());
    end.expect("whole");
    assert_eq!(data, format!("{little}b").into_bytes());
}

#[test]
fn malformed_framing_is_refused() {
    let signer = put(UNSIGNED_TRAILER, 3);
    let end = "\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n";
    assert_eq!(outcome(&signer, format!("3\r\nabc{end}")), Ok(b"abc".to_vec()));
    assert_eq!(outcome(&signer, format!("3;name=value\r\nabc{end}")), Ok(b"abc".to_vec()));
    assert_eq!(outcome(&signer, format!("0003\r\nabc{end}")), Ok(b"abc".to_vec()));
    for start in [
        "\r\nabc",
        "3\nabc",
        "3\rabc",
        " 3\r\nabc",
        "3 \r\nabc",
        "+3\r\nabc",
        "-3\r\nabc",
        "0x3\r\nabc",
        "g\r\nabc",
        "3\r\nabcd",
        "4\r\nabcd",
        "ffffffffffffffff\r\nabc",
        "10000000000000003\r\nabc",
        "00000000000000003\r\nabc",
        &format!("3;{}\r\nabc", "x".repeat(300)),
        &"3".repeat(300),
    ] {
        assert_eq!(outcome(&signer, format!("{start}{end}")), refused("IncompleteBody"), "{start}");
    }
    let signed = put(SIGNED, 3);
    for start in [
        "3\r\nabc".to_owned(),
        "3;chunk-signature=00\r\nabc".to_owned(),
        format!("3;chunk-signature={0};chunk-signature={0}\r\nabc", "0".repeat(64)),
    ] {
        assert_eq!(outcome(&signed, format!("{start}{end}")), refused("IncompleteBody"), "{start}");
    }
}

/// Sends "abc" with this trailer block: returns the received value, or the error code.
fn unsigned_trailer(trailer: &str) -> Result<String, String> {
    let signer = put(UNSIGNED_TRAILER, 3);
    let request = send(&signer, format!("3\r\nabc\r\n0\r\n{trailer}"));
    let handle = request.extensions().get::<TrailerHandle>().expect("announced").clone();
    let (data, end) = read(request.into_body());
    match end {
        Ok(()) => {
            assert_eq!(data, b"abc");
            let trailers = handle.get().expect("arrived");
            Ok(trailers["x-amz-checksum-crc32"].to_str().expect("ASCII").to_owned())
        }
        Err(error) => {
            assert!(data.is_empty() && handle.get().is_none());
            Err(error.code().to_owned())
        }
    }
}

#[test]
fn unsigned_trailers_arrive() {
    for trailer in [
        "x-amz-checksum-crc32:NSRBwg==\r\n\r\n",
        "X-Amz-Checksum-CRC32: NSRBwg== \r\n\r\n",
        // As written by the Go client of another server.
        "x-amz-checksum-crc32:NSRBwg==\n\r\n\r\n",
    ] {
        assert_eq!(unsigned_trailer(trailer), Ok("NSRBwg==".to_owned()), "{trailer:?}");
    }
}

#[test]
fn trailers_must_be_those_that_were_announced() {
    let malformed = "MalformedTrailerError";
    for (trailer, code) in [
        ("\r\n", malformed),
        ("\n", malformed),
        ("x-amz-checksum-crc32c:a\r\n\r\n", malformed),
        ("x-amz-checksum-crc32:a\r\nx-amz-meta-a:b\r\n\r\n", malformed),
        ("x-amz-checksum-crc32:a\r\nx-amz-checksum-crc32:a\r\n\r\n", malformed),
        ("x-amz-checksum-crc32\r\n\r\n", malformed),
        (":a\r\n\r\n", malformed),
        ("x-amz-checksum-crc32:\u{7}\r\n\r\n", malformed),
        ("x-amz-trailer-signature:00\r\n\r\n", malformed),
        ("", "IncompleteBody"),
        ("x-amz-checksum-crc32:a", "IncompleteBody"),
        ("x-amz-checksum-crc32:a\r\n", "IncompleteBody"),
        ("x-amz-checksum-crc32:a\r\n\r", "IncompleteBody"),
        ("x-amz-checksum-crc32:a\n\r\n", "IncompleteBody"),
        ("x-amz-checksum-crc32:a\r\n\r\nx", "IncompleteBody"),
        ("x-amz-checksum-crc32:a\r\n\r\n\r\n", "IncompleteBody"),
    ] {
        assert_eq!(unsigned_trailer(trailer), Err(code.to_owned()), "{trailer:?}");
    }
    let endless = format!("x-amz-checksum-crc32:{}", "a".repeat(10_000));
    assert_eq!(unsigned_trailer(&endless), Err("IncompleteBody".to_owned()));
    for names in
        ["x-amz-meta-a", "content-length", "x-amz-checksum-crc32,x-amz-checksum-crc32", "é"]
    {
        let signer = Signer::new("PUT", "/k", UNSIGNED_TRAILER)
            .header("x-amz-decoded-content-length", "0")
            .header("x-amz-trailer", names);
        let result = authenticate(&authenticator(), signer.request());
        let code = if names == "é" { "InvalidArgument" } else { "InvalidRequest" };
        assert_refused(result, code, "x-amz-trailer");
    }
}

#[test]
fn the_trailer_signature_covers_the_trailer() {
    let signer = put(SIGNED_TRAILER, 3);
    let (chunks, previous) = signer.chunks(&[b"abc"]);
    let line = "x-amz-checksum-crc32:NSRBwg==";
    let signature = signer.trailer_signature(&previous, &format!("{line}\n"));
    let with = |trailer: String| outcome(&signer, [&chunks[..], trailer.as_bytes()].concat());
    let signed = format!("x-amz-trailer-signature:{signature}\r\n");
    assert_eq!(with(format!("{line}\r\n{signed}\r\n")), Ok(b"abc".to_vec()));
    assert_eq!(with(format!("{line}\n\r\n{signed}\r\n")), Ok(b"abc".to_vec()));
    let mismatch = refused("SignatureDoesNotMatch");
    assert_eq!(with(format!("x-amz-checksum-crc32:NSRBwh==\r\n{signed}\r\n")), mismatch);
    assert_eq!(with(format!("{line}\r\nx-amz-trailer-signature:00\r\n\r\n")), mismatch);
    let malformed = refused("MalformedTrailerError");
    assert_eq!(with(format!("{line}\r\n\r\n")), malformed);
    assert_eq!(with(format!("{signed}{line}\r\n\r\n")), malformed);
    assert_eq!(with(format!("{line}\r\n{signed}{signed}\r\n")), malformed);
    assert_eq!(with(format!("{line}\r\n{signed}")), refused("IncompleteBody"));
}

#[test]
fn anonymous_uploads_may_be_framed_but_not_signed() {
    let anonymous = |mode: &str| {
        let request = Request::put("/b/k")
            .header("host", "h")
            .header("x-amz-content-sha256", mode)
            .header("content-encoding", "gzip,aws-chunked")
            .header("x-amz-decoded-content-length", "3")
            .header("x-amz-trailer", "x-amz-checksum-crc32");
        let framed = "3\r\nabc\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n";
        authenticate(&authenticator(), request.body(TestBody::new([framed])).expect("valid"))
    };
    let request = anonymous(UNSIGNED_TRAILER).expect("accepted");
    assert!(matches!(request.extensions().get(), Some(Identity::Anonymous)));
    assert_eq!(request.headers()["content-encoding"], "gzip");
    assert_eq!(read(request.into_body()), (b"abc".to_vec(), Ok(())));
    assert_refused(anonymous(SIGNED_TRAILER), "InvalidRequest", "Anonymous requests don't support");
}

#[test]
fn data_is_passed_on_while_it_streams() {
    let signer = put(SIGNED, 2 * 65_536);
    let (framed, _) = signer.chunks(&[&[b'a'; 65_536], &[b'b'; 65_536]]);
    let whole = Bytes::from([&framed[..], b"\r\n"].concat());
    let frames: Vec<Bytes> = whole.chunks(10_000).map(|c| whole.slice_ref(c)).collect();
    let request = signer.request_with(TestBody::new(frames));
    let mut body = authenticate(&authenticator(), request).expect("accepted").into_body();
    let first = block_on(body.frame()).expect("some").expect("good").into_data().expect("data");
    assert!(first.len() < 10_000);
    // Not copied: the slice lies in the frame that came in.
    assert!(whole.as_ptr_range().contains(&first.as_ptr()));
    assert_eq!(body.size_hint().exact(), Some(2 * 65_536 - first.len() as u64));
}

/// Cuts a body into frames at the given places.
fn cut(whole: &[u8], places: &[usize]) -> Vec<Bytes> {
    let mut places: Vec<usize> = places.iter().map(|place| place % (whole.len() + 1)).collect();
    places.extend([0, whole.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| Bytes::copy_from_slice(&whole[pair[0]..pair[1]])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn frames_make_no_difference(
        places in prop::collection::vec(any::<usize>(), 0..40),
        flip in prop::option::weighted(0.5, (any::<usize>(), 1_u8..)),
    ) {
        let signer = put(SIGNED_TRAILER, 8194);
        let (mut framed, previous) = signer.chunks(&[&[b'a'; 8192], b"bc"]);
        let line = "x-amz-checksum-crc32:NSRBwg==";
        let signature = signer.trailer_signature(&previous, &format!("{line}\n"));
        let trailer = format!("{line}\r\nx-amz-trailer-signature:{signature}\r\n\r\n");
        framed.extend_from_slice(trailer.as_bytes());
        if let Some((place, mask)) = flip {
            let place = place % framed.len();
            framed[place] ^= mask;
        }
        let whole = outcome(&signer, framed.clone());
        let request = signer.request_with(TestBody::new(cut(&framed, &places)));
        let body = authenticate(&authenticator(), request).expect("head").into_body();
        let (data, end) = read(body);
        let cut = end.map(|()| data).map_err(|error| error.code().to_owned());
        prop_assert_eq!(cut, whole);
    }

    #[test]
    fn hostile_framing_never_panics_or_grows(body in "[0-9a-f]{0,3}(;[a-z=]{0,9})?\r?\n?[a-c\r\n:;0]{0,60}") {
        let _ = outcome(&put(UNSIGNED_TRAILER, 3), body.clone());
        let _ = outcome(&put(SIGNED, 3), body);
    }
}
