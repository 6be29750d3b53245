//! Compressed content.

use std::io::{Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::bufread::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// The level: a backup runs beside the server, and what it sends is mostly compressed by its first pass.
const LEVEL: u32 = 1;

/// Bytes beyond which a sample decides: bytes that do not compress take ten times as long as those that do, 10 µs a KiB.
const SAMPLED_BYTES: usize = 256 << 10;
/// Bytes of each piece of the sample, and their number.
const SAMPLE_BYTES: usize = 4 << 10;
const SAMPLES: usize = 8;

/// `true` if a sample of long content loses half of its bytes.
fn is_worth_it(bytes: &[u8]) -> bool {
    if bytes.len() <= SAMPLED_BYTES {
        return true;
    }
    let step = bytes.len() / SAMPLES;
    let sample: Vec<u8> = bytes
        .chunks(step)
        .flat_map(|part| &part[..part.len().min(SAMPLE_BYTES)])
        .copied()
        .collect();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
    encoder.write_all(&sample).expect("memory takes all bytes");
    encoder.finish().expect("memory takes all bytes").len() * 2 <= sample.len()
}

/// The stream of these bytes if it is smaller by 5 % at least: less is not worth the time of opening it.
pub(super) fn smaller(bytes: &[u8]) -> Option<Vec<u8>> {
    if !is_worth_it(bytes) {
        return None;
    }
    let most = bytes.len() - bytes.len().div_ceil(20);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
    // In pieces, so that it ends early when the bytes do not compress.
    for piece in bytes.chunks(1 << 20) {
        encoder.write_all(piece).expect("memory takes all bytes");
        if encoder.total_out() > most as u64 {
            return None;
        }
    }
    let stream = encoder.finish().expect("memory takes all bytes");
    (stream.len() <= most).then_some(stream)
}

/// The content of a stream; `None` unless it is one whole stream of exactly `bytes` bytes.
pub(super) fn inflate(stream: &[u8], bytes: u64) -> Option<Bytes> {
    let mut content = Vec::with_capacity(usize::try_from(bytes).ok()?);
    let mut decoder = DeflateDecoder::new(stream).take(bytes + 1);
    decoder.read_to_end(&mut content).ok()?;
    let is_whole = content.len() as u64 == bytes && decoder.into_inner().into_inner().is_empty();
    is_whole.then(|| content.into())
}
