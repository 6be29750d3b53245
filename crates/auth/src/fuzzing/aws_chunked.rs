//! aws-chunked bodies.

use http::Request;
use http::request::Parts;

use super::exchange::{DATE, NO_SIGNATURE, SIGNER, authenticate, read};
use super::signer::Covered;
use crate::TrailerHandle;

const TRAILER: &str = "x-amz-checksum-crc32c";
const SMALLEST_CHUNK_BYTES: usize = 8 << 10;

/// Input: four bytes of plan, then a body as received from the connection, or, depending on the
/// plan, data to be framed and signed here.
///
/// Plan: kind (bit 0 signed, 1 with trailer, 2 to be framed), length of the pieces that arrive at
/// once, declared length (2, little-endian).
pub fn aws_chunked(data: &[u8]) {
    let Some((&[kind, piece_bytes, low, high], rest)) = data.split_first_chunk() else { return };
    let (signed, with_trailer) = (kind & 1 != 0, kind & 2 != 0);
    if kind & 4 != 0 {
        let place = usize::from(u16::from_le_bytes([low, high]));
        return framed_here(signed, with_trailer, piece_bytes, place, rest);
    }
    let length = usize::from(u16::from_le_bytes([low, high]));
    let (head, _) = head(signed, with_trailer, length);
    let whole = outcome(&head, rest, 0, length);
    let pieces = outcome(&head, rest, piece_bytes.into(), length);
    assert_eq!(whole, pieces, "it does not matter how the body was cut on its way");
    if let Ok((data, _)) = whole {
        assert_eq!(Some(data), reference(rest), "another reading of the same body");
    }
}

/// A signed or anonymous head, and its signature.
fn head(signed: bool, with_trailer: bool, length: usize) -> (Parts, String) {
    let mode = match (signed, with_trailer) {
        (true, true) => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
        (true, false) => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        (false, _) => "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
    };
    let mut builder = Request::put("/bucket/key")
        .header("host", "localhost")
        .header("x-amz-content-sha256", mode)
        .header("x-amz-decoded-content-length", length);
    if with_trailer {
        builder = builder.header("x-amz-trailer", TRAILER);
    }
    if !signed {
        let (head, ()) = builder.body(()).expect("valid").into_parts();
        return (head, NO_SIGNATURE.to_owned());
    }
    let request = builder.header("x-amz-date", DATE).body(()).expect("valid");
    let (mut head, ()) = request.into_parts();
    let headers = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let covered = Covered {
        method: "PUT",
        path: "/bucket/key",
        query: "",
        headers: headers.collect(),
        payload_hash: mode,
    };
    let (authorization, signature) = (SIGNER.authorization(&covered), SIGNER.signature(&covered));
    head.headers.insert("authorization", authorization.parse().expect("ASCII"));
    (head, signature)
}

/// Data and trailer, or the code and message of the error.
type Outcome = Result<(Vec<u8>, Option<String>), (String, String)>;

fn outcome(head: &Parts, body: &[u8], piece_bytes: usize, length: usize) -> Outcome {
    let request = authenticate(head, body, piece_bytes).expect("a good head");
    let trailers = request.extensions().get::<TrailerHandle>().cloned();
    let (data, result) = read(request.into_body());
    let trailer = trailers.as_ref().and_then(TrailerHandle::get);
    match result {
        Ok(()) => {
            assert_eq!(data.len(), length, "the declared length");
            assert_eq!(trailer.is_some(), trailers.is_some(), "trailers come with a good end");
            let value = trailer.and_then(|trailer| trailer.get(TRAILER));
            // A value may have any bytes that a header may have; its reader decides.
            let value = value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
            assert_eq!(value.is_some(), head.headers.contains_key("x-amz-trailer"));
            Ok((data, value))
        }
        Err(error) => {
            assert!(length == 0 || data.len() < length, "the last bytes waited for their proof");
            assert!(trailer.is_none(), "no trailer of a body that failed");
            Err((error.code().to_owned(), error.message().to_owned()))
        }
    }
}

/// The data of a whole body, decoded in the simplest way.
fn reference(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let end = memchr::memmem::find(body, b"\r\n")?;
        let size = body[..end].split(|byte| *byte == b';').next()?;
        let bytes = usize::from_str_radix(str::from_utf8(size).ok()?, 16).ok()?;
        body = &body[end + 2..];
        if bytes == 0 {
            return Some(data);
        }
        data.extend_from_slice(body.get(..bytes)?);
        body = body.get(bytes..)?.strip_prefix(b"\r\n")?;
    }
}

/// Frames data like a client: it must be decoded, but not after damage to signed chunks.
fn framed_here(signed: bool, with_trailer: bool, piece_bytes: u8, place: usize, plan: &[u8]) {
    let Some((&[chunks, flip], content)) = plan.split_first_chunk() else { return };
    let mut data = Vec::new();
    let mut sizes = Vec::new();
    for index in 0..usize::from(chunks % 4) {
        // Only the last may be small.
        let is_last = index + 1 == usize::from(chunks % 4);
        let least = if is_last { 1 } else { SMALLEST_CHUNK_BYTES };
        sizes.push(least + content.len());
        data.extend(content.iter().chain(std::iter::repeat(&b'x')).take(least + content.len()));
    }
    let (head, seed) = head(signed, with_trailer, data.len());
    let mut body = frame(&data, &sizes, signed.then_some(seed), with_trailer);
    let value = with_trailer.then(|| VALUE.to_owned());
    let sound = outcome(&head, &body, usize::from(piece_bytes) * 64, data.len());
    assert_eq!(sound, Ok((data.clone(), value)), "a body as clients send it");
    if signed && flip != 0 {
        let place = place % body.len();
        body[place] ^= flip;
        if let Ok((read, trailer)) = outcome(&head, &body, 0, data.len()) {
            // Some bytes of the framing are insignificant: a digit may be upper case.
            assert_eq!((read, trailer), (data, with_trailer.then(|| VALUE.to_owned())));
        }
    }
}

const VALUE: &str = "sOO8/Q==";

/// A body as sent by clients, signed if `seed` is given.
fn frame(data: &[u8], sizes: &[usize], seed: Option<String>, with_trailer: bool) -> Vec<u8> {
    let (mut body, mut rest, mut previous) = (Vec::new(), data, seed);
    for size in sizes.iter().chain([&0]) {
        let (chunk, after) = rest.split_at(*size);
        rest = after;
        previous = previous.map(|previous| SIGNER.chunk_signature(&previous, chunk));
        let extension = previous.as_ref().map(|signature| format!(";chunk-signature={signature}"));
        let extension = extension.unwrap_or_default();
        body.extend_from_slice(format!("{size:x}{extension}\r\n").as_bytes());
        if *size > 0 {
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
    }
    if with_trailer {
        body.extend_from_slice(format!("{TRAILER}:{VALUE}\r\n").as_bytes());
        if let Some(previous) = &previous {
            let signature = SIGNER.trailer_signature(previous, &format!("{TRAILER}:{VALUE}\n"));
            body.extend_from_slice(format!("x-amz-trailer-signature:{signature}\r\n").as_bytes());
        }
    }
    body.extend_from_slice(b"\r\n");
    body
}
