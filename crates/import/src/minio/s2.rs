//! Objects that MinIO has compressed: streams of S2, an extension of Snappy.
//!
//! A stream is a sequence of chunks `type (1) | length (3) | bytes`. A chunk with data is
//! `checksum (4) | block`, where the checksum is a masked CRC-32C of the plain bytes. A block begins with its plain length and
//! consists of literals and copies of earlier bytes; a copy without offset repeats the previous offset, which Snappy lacks.
//!
//! Source: [the format](https://github.com/klauspost/compress/tree/master/s2#format-extensions).

use crc_fast::{CrcAlgorithm, checksum};

use super::Failed;

const HEAD_BYTES: usize = 4;
const SUM_BYTES: usize = 4;
/// Limit of the plain bytes of a block, that of the format.
const BLOCK_BYTES_MAX: usize = 4 << 20;
const IDENTIFIERS: [&[u8]; 2] = [b"S2sTwO", b"sNaPpY"];

const COMPRESSED: u8 = 0x00;
const PLAIN: u8 = 0x01;
const IDENTIFIER: u8 = 0xff;

/// Decompresses a stream in pieces of any length.
#[derive(Debug, Default)]
pub(super) struct Unpacker {
    /// Bytes of the chunk that is not whole yet.
    rest: Vec<u8>,
    has_begun: bool,
}

impl Unpacker {
    /// Decompresses the chunks that are whole with these bytes. At the end of the stream the last one must be.
    ///
    /// # Errors
    /// [`Failed`] if the stream is damaged.
    pub(super) fn open(&mut self, bytes: &[u8], is_end: bool) -> Result<Vec<u8>, Failed> {
        self.rest.extend_from_slice(bytes);
        let (mut plain, mut at) = (Vec::new(), 0);
        while let Some(head) = self.rest.get(at..at + HEAD_BYTES) {
            let length = u32::from_le_bytes([head[1], head[2], head[3], 0]) as usize;
            let (kind, begin) = (head[0], at + HEAD_BYTES);
            let Some(chunk) = self.rest.get(begin..begin + length) else { break };
            let is_identifier = kind == IDENTIFIER && IDENTIFIERS.contains(&chunk);
            match kind {
                IDENTIFIER if is_identifier => self.has_begun = true,
                _ if !self.has_begun => return Err(damaged()),
                COMPRESSED | PLAIN => chunk_of_data(kind, chunk, &mut plain).ok_or_else(damaged)?,
                // Padding, an index, and others that readers skip.
                0x80..=0xfe => {}
                _ => return Err(damaged()),
            }
            at = begin + length;
        }
        self.rest.drain(..at);
        if is_end && !self.rest.is_empty() { Err(damaged()) } else { Ok(plain) }
    }
}

fn damaged() -> Failed {
    Failed::new("its compressed bytes are damaged")
}

/// Adds the plain bytes of a chunk. `None` if it is damaged.
fn chunk_of_data(kind: u8, chunk: &[u8], plain: &mut Vec<u8>) -> Option<()> {
    let (sum, block) = chunk.split_at_checked(SUM_BYTES)?;
    let begin = plain.len();
    match kind {
        PLAIN => plain.extend_from_slice(block),
        _ => self::block(block, plain)?,
    }
    let crc = u32::try_from(checksum(CrcAlgorithm::Crc32Iscsi, &plain[begin..])).ok()?;
    let masked = crc.rotate_right(15).wrapping_add(0xa282_ead8);
    (sum == masked.to_le_bytes()).then_some(())
}

/// Adds the plain bytes of a block.
fn block(mut block: &[u8], plain: &mut Vec<u8>) -> Option<()> {
    let begin = plain.len();
    let length = varint(&mut block)?;
    if length > BLOCK_BYTES_MAX {
        return None;
    }
    let end = begin + length;
    let mut offset = 0;
    while let Some((&tag, rest)) = block.split_first() {
        block = rest;
        let high = usize::from(tag >> 2);
        let count = match tag & 3 {
            0 => {
                let count = 1 + if high < 60 { high } else { number(&mut block, high - 59)? };
                let (literal, rest) = block.split_at_checked(count)?;
                if plain.len() + count > end {
                    return None;
                }
                plain.extend_from_slice(literal);
                block = rest;
                continue;
            }
            1 => {
                let low = number(&mut block, 1)?;
                let near = usize::from(tag & 0xe0) << 3 | low;
                let short = high & 7;
                if near != 0 {
                    offset = near;
                    short + 4
                } else {
                    4 + match short {
                        5 => 4 + number(&mut block, 1)?,
                        6 => (1 << 8) + number(&mut block, 2)?,
                        7 => (1 << 16) + number(&mut block, 3)?,
                        _ => short,
                    }
                }
            }
            wide => {
                offset = number(&mut block, if wide == 2 { 2 } else { 4 })?;
                high + 1
            }
        };
        let from = plain.len().checked_sub(offset).filter(|from| offset > 0 && *from >= begin)?;
        if plain.len() + count > end {
            return None;
        }
        // Byte by byte where the copy overlaps what it makes.
        match offset >= count {
            true => plain.extend_from_within(from..from + count),
            false => (from..from + count).for_each(|at| plain.push(plain[at])),
        }
    }
    (plain.len() == end).then_some(())
}

/// Reads a number of so many bytes, little-endian.
fn number(bytes: &mut &[u8], count: usize) -> Option<usize> {
    let (read, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(read.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// Reads a number with seven bits in each byte.
fn varint(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: u8, plain: &[u8], block: &[u8]) -> Vec<u8> {
        let crc = checksum(CrcAlgorithm::Crc32Iscsi, plain) as u32;
        let sum = crc.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
        let length = u32::try_from(block.len() + SUM_BYTES).expect("short").to_le_bytes();
        [&[kind], &length[..3], &sum, block].concat()
    }

    const BEGIN: &[u8] = b"\xff\x06\0\0S2sTwO";

    #[test]
    fn literals_copies_and_repeats_are_unpacked() {
        for (block, plain) in [
            (&b"\x03\x08abc"[..], &b"abc"[..]),
            // A copy of 4 bytes from 2 behind, which overlaps what it makes.
            (b"\x06\x04ab\x01\x02", b"ababab"),
            // The same with an offset of two and of four bytes.
            (b"\x05\x04ab\x0a\x02\x00", b"ababa"),
            (b"\x05\x04ab\x0b\x02\x00\x00\x00", b"ababa"),
            // A repeat of the offset, of 4 bytes, and of 4 + 4 + 1.
            (b"\x0a\x04ab\x01\x02\x01\x00", b"ababababab"),
            (b"\x0f\x04ab\x01\x02\x15\x00\x01", b"abababababababa"),
        ] {
            let mut unpacked = Vec::new();
            self::block(block, &mut unpacked).expect("whole");
            assert_eq!(unpacked, plain, "{block:x?}");
        }
        for block in [
            &b"\x04\x08abc"[..],
            b"\x02\x08abc",
            b"\x06\x04ab\x01\x03",
            b"\x06\x04ab\x01",
            b"\x06\x01\x00ab",
            b"\x03\x10abc",
        ] {
            assert!(self::block(block, &mut Vec::new()).is_none(), "{block:x?}");
        }
    }

    #[test]
    fn streams_are_unpacked_in_pieces_and_no_damaged_one() {
        let stream = [
            BEGIN,
            &chunk(COMPRESSED, b"ababab", b"\x06\x04ab\x01\x02"),
            b"\xfe\x02\0\0xx",
            &chunk(PLAIN, b"plain", b"plain"),
        ]
        .concat();
        for piece in [1, 3, stream.len()] {
            let mut unpacker = Unpacker::default();
            let mut unpacked = Vec::new();
            for piece in stream.chunks(piece) {
                unpacked.extend(unpacker.open(piece, false).expect("whole"));
            }
            unpacked.extend(unpacker.open(&[], true).expect("whole"));
            assert_eq!(unpacked, b"abababplain");
        }
        let data = BEGIN.len()..BEGIN.len() + 14;
        for at in data.chain([2, 5]) {
            let mut changed = stream.clone();
            changed[at] ^= 0x41;
            Unpacker::default().open(&changed, true).expect_err("damaged");
        }
        Unpacker::default().open(&stream[..stream.len() - 1], true).expect_err("cut");
        Unpacker::default().open(&stream[BEGIN.len()..], true).expect_err("without a beginning");
    }

    #[test]
    fn blocks_of_any_bytes_are_refused_without_harm() {
        let good = b"\x0f\x04ab\x01\x02\x15\x00\x01";
        for at in 0..good.len() {
            for byte in 0..=255 {
                let mut changed = *good;
                changed[at] = byte;
                let mut unpacked = Vec::new();
                let _ = block(&changed, &mut unpacked);
                assert!(unpacked.len() <= BLOCK_BYTES_MAX);
            }
        }
        assert!(block(b"\xff\xff\xff\xff\x7f\x00a", &mut Vec::new()).is_none(), "too long");
    }
}
