//! Reading zip archives: entries that are stored or deflated, in the order of the central directory.
//!
//! The central directory is at the end of the file, and names the place of every entry. Source: PKWARE's
//! `APPNOTE.TXT` 6.3 (4.3 for the records, 4.5.3 for the lengths of zip64).

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::PIECE_BYTES;
use super::entry::{Entry, Kind};

/// The record at the end, without its comment.
const END_BYTES: usize = 22;
const END: &[u8] = b"PK\x05\x06";
/// The record before it that leads to that of zip64.
const LOCATOR_BYTES: usize = 20;
const LOCATOR: &[u8] = b"PK\x06\x07";
const END64_BYTES: usize = 56;
const END64: &[u8] = b"PK\x06\x06";
const CENTRAL_BYTES: usize = 46;
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL_BYTES: usize = 30;
const LOCAL: &[u8] = b"PK\x03\x04";

const ENCRYPTED: u16 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The system in the upper byte of «version made by» whose attributes are modes.
const UNIX: u8 = 3;

/// An archive.
pub(super) struct Zip {
    /// At the next entry of the central directory.
    directory: BufReader<File>,
    entries_left: u64,
    bodies: File,
}

/// The place and the sum of the bytes of an entry.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    /// The offset of its local header.
    at: u64,
    packed_bytes: u64,
    is_deflated: bool,
    bytes: u64,
    crc: u32,
}

impl Zip {
    pub(super) fn open(path: &Path) -> Result<Zip, String> {
        let open = || File::open(path).map_err(|error| error.to_string());
        let mut directory = open()?;
        let (at, entries_left) = find_directory(&mut directory)?;
        directory.seek(SeekFrom::Start(at)).map_err(|error| error.to_string())?;
        Ok(Zip { directory: BufReader::new(directory), entries_left, bodies: open()? })
    }

    /// The next entry; none behind the last.
    ///
    /// # Errors
    /// One line that names the entry, if it has a name.
    pub(super) fn next_entry(&mut self) -> Result<Option<(Entry, Packed)>, String> {
        let Some(left) = self.entries_left.checked_sub(1) else { return Ok(None) };
        self.entries_left = left;
        let mut fixed = [0; CENTRAL_BYTES];
        fill(&mut self.directory, &mut fixed)?;
        if &fixed[..4] != CENTRAL {
            return Err(damaged("its central directory is not where it should be"));
        }
        let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(&fixed, at)));
        let mut rest = vec![0; name + extra + comment];
        fill(&mut self.directory, &mut rest)?;
        let (name, rest) = rest.split_at(name);
        let failed = |reason: &str| format!("{:?}: {reason}", String::from_utf8_lossy(name));
        let name = std::str::from_utf8(name).map_err(|_| failed("its name is not UTF-8"))?;
        let (flags, method) = (u16_at(&fixed, 8), u16_at(&fixed, 10));
        if flags & ENCRYPTED != 0 {
            return Err(failed("it is encrypted"));
        }
        if !matches!(method, STORED | DEFLATED) {
            return Err(failed("it is compressed by another method than deflate"));
        }
        let mut sizes = [24, 20, 42].map(|at| u64::from(u32_at(&fixed, at)));
        read_zip64(&rest[..extra], &mut sizes)
            .ok_or_else(|| failed("its lengths are not valid"))?;
        let [bytes, packed_bytes, at] = sizes;
        let kind = kind_of(name, fixed[5], u32_at(&fixed, 38)).map_err(failed)?;
        let is_deflated = method == DEFLATED;
        let packed = Packed { at, packed_bytes, is_deflated, bytes, crc: u32_at(&fixed, 16) };
        Ok(Some((Entry { name: name.to_owned(), kind, bytes }, packed)))
    }

    /// The bytes of an entry. Their end is an error if they are not those that the archive was made of.
    pub(super) fn body(&self, packed: &Packed) -> Result<impl Read, String> {
        let mut file = &self.bodies;
        file.seek(SeekFrom::Start(packed.at)).map_err(|error| error.to_string())?;
        let mut local = [0; LOCAL_BYTES];
        fill(&mut file, &mut local)?;
        if &local[..4] != LOCAL {
            return Err(damaged("an entry is not where it should be"));
        }
        let skipped = i64::from(u16_at(&local, 26)) + i64::from(u16_at(&local, 28));
        file.seek(SeekFrom::Current(skipped)).map_err(|error| error.to_string())?;
        let packed_bytes = BufReader::with_capacity(PIECE_BYTES, file).take(packed.packed_bytes);
        let input: Box<dyn Read> = match packed.is_deflated {
            true => Box::new(DeflateDecoder::new(packed_bytes)),
            false => Box::new(packed_bytes),
        };
        Ok(Body { input, left: packed.bytes, crc: packed.crc, sum: Crc::new() })
    }
}

struct Body<'z> {
    input: Box<dyn Read + 'z>,
    left: u64,
    crc: u32,
    sum: Crc,
}

impl Read for Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wrong = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, damaged(reason));
        let read = self.input.read(buffer).map_err(|error| wrong(&error.to_string()))?;
        self.sum.update(&buffer[..read]);
        match self.left.checked_sub(read as u64) {
            None => Err(wrong("an entry is longer than it should be")),
            Some(1..) if read == 0 && !buffer.is_empty() => Err(wrong("an entry is cut off")),
            Some(left) => {
                self.left = left;
                match left == 0 && self.sum.sum() != self.crc {
                    true => Err(wrong("a checksum is wrong")),
                    false => Ok(read),
                }
            }
        }
    }
}

/// The offset of the central directory, and the number of its entries.
fn find_directory(file: &mut File) -> Result<(u64, u64), String> {
    let io = |error: io::Error| error.to_string();
    let length = file.seek(SeekFrom::End(0)).map_err(io)?;
    let longest = (LOCATOR_BYTES + END_BYTES + usize::from(u16::MAX)) as u64;
    let tail_at = length.saturating_sub(longest);
    file.seek(SeekFrom::Start(tail_at)).map_err(io)?;
    let mut tail = Vec::new();
    file.take(longest).read_to_end(&mut tail).map_err(io)?;
    // Behind the record is its comment, up to the end of the file.
    let is_end = |at: &usize| {
        let end = &tail[*at..];
        end.starts_with(END) && END_BYTES + usize::from(u16_at(end, 20)) == end.len()
    };
    let end = (0..(tail.len() + 1).saturating_sub(END_BYTES)).rev().find(is_end);
    let end = end.ok_or("it is no zip archive, or is cut off")?;
    let locator = end.checked_sub(LOCATOR_BYTES).map(|at| &tail[at..end]);
    if let Some(locator) = locator.filter(|locator| locator.starts_with(LOCATOR)) {
        file.seek(SeekFrom::Start(u64_at(locator, 8))).map_err(io)?;
        let mut end64 = [0; END64_BYTES];
        fill(file, &mut end64)?;
        if &end64[..4] != END64 {
            return Err(damaged("its end is not where it should be"));
        }
        return Ok((u64_at(&end64, 48), u64_at(&end64, 32)));
    }
    let end = &tail[end..];
    Ok((u64::from(u32_at(end, 16)), u64::from(u16_at(end, 10))))
}

/// Replaces the fields that are full by those of zip64, which stand in their order. None if one is missing.
fn read_zip64(mut extra: &[u8], fields: &mut [u64; 3]) -> Option<()> {
    let is_full = |field: &u64| *field == u64::from(u32::MAX);
    while extra.len() >= 4 && fields.iter().any(is_full) {
        let (head, rest) = extra.split_at(4);
        let mut values = rest.get(..usize::from(u16_at(head, 2)))?;
        extra = &rest[values.len()..];
        if u16_at(head, 0) != 1 {
            continue;
        }
        for field in fields.iter_mut().filter(|field| is_full(field)) {
            let (value, rest) = values.split_at_checked(8)?;
            (*field, values) = (u64_at(value, 0), rest);
        }
        return Some(());
    }
    (!fields.iter().any(is_full)).then_some(())
}

fn kind_of(name: &str, system: u8, attributes: u32) -> Result<Kind, &'static str> {
    let mode = if system == UNIX { attributes >> 16 } else { 0 };
    match mode & 0o170_000 {
        _ if name.ends_with('/') => Ok(Kind::Directory),
        0 | 0o100_000 => Ok(Kind::File),
        0o120_000 => Err("it is a link"),
        _ => Err("it is neither a file nor a directory"),
    }
}

fn fill(input: &mut impl Read, buffer: &mut [u8]) -> Result<(), String> {
    input.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => "the archive is cut off".to_owned(),
        _ => error.to_string(),
    })
}

fn damaged(reason: &str) -> String {
    format!("the archive is damaged: {reason}")
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, at))
}

#[cfg(test)]
mod tests;
