//! Reads zip archives: stored or deflated entries, in the order of the central directory.
//!
//! The crate `rawzip`, which has no dependencies, reads the records one at a time into a buffer of
//! fixed size, and verifies lengths and checksums. The crate `zip` 9.8 brings three crates, holds
//! the whole directory in memory and drops all but one of the entries that share a name; its
//! iterator without these limits is in `zip::unstable`, which is for users that pin an exact
//! version.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::DeflateDecoder;
use rawzip::{
    CompressionMethod, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ZipArchive, ZipFileHeaderRecord,
};

use super::PIECE_BYTES;
use liteio_s3::archive::{Entry, Kind, damaged};

/// The file type bits of a Unix mode.
const KIND_BITS: u32 = 0o170_000;

/// Reads an archive. `take` gets each entry with its data; the end of the data is an error if the
/// checksum does not match.
///
/// # Errors
/// One line that names the entry, if it has a name.
pub(super) fn read(
    path: &Path,
    mut take: impl FnMut(&Entry, &mut dyn Read) -> Result<(), String>,
) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipArchive::from_file(file, &mut buffer)
        .map_err(|error| format!("it is no zip archive, or is cut off: {error}"))?;
    let mut entries = archive.entries(&mut buffer);
    let mut count: u64 = 0;
    let mut spans = Spans::default();
    while let Some(record) = entries.next_entry().map_err(damaged_record)? {
        count += 1;
        let named = |reason: String| {
            format!("{:?}: {reason}", String::from_utf8_lossy(record.file_path().as_ref()))
        };
        let entry = entry_of(&record).map_err(|reason| named(reason.to_owned()))?;
        let body = archive.get_entry(record.wayfinder()).map_err(damaged_record).map_err(named)?;
        let (_, end) = body.compressed_data_range();
        if !spans.add(record.local_header_offset(), end) {
            return Err(named("another entry has its bytes, too".to_owned()));
        }
        let packed = BufReader::with_capacity(PIECE_BYTES, body.reader());
        let taken = match record.compression_method() {
            CompressionMethod::STORE => take(&entry, &mut Body(body.verifying_reader(packed))),
            _ => take(&entry, &mut Body(body.verifying_reader(DeflateDecoder::new(packed)))),
        };
        taken.map_err(named)?;
    }
    // Writers without zip64 store the count modulo 65,536.
    match count as u16 == archive.entries_hint() as u16 {
        true => Ok(()),
        false => Err("the archive is damaged: its end record has another number of entries".into()),
    }
}

fn entry_of(record: &ZipFileHeaderRecord<'_>) -> Result<Entry, &'static str> {
    // Many archivers write UTF-8 without setting its flag, so the flag is ignored.
    let name = record.file_path();
    let name = str::from_utf8(name.as_ref()).map_err(|_| "its name is not UTF-8")?;
    if record.flags().is_encrypted() {
        return Err("it is encrypted");
    }
    let method = record.compression_method();
    if !matches!(method, CompressionMethod::STORE | CompressionMethod::DEFLATE) {
        return Err("it is compressed by another method than deflate");
    }
    let kind = match record.mode().value() & KIND_BITS {
        0o040_000 => Kind::Directory,
        _ if name.ends_with('/') => Kind::Directory,
        0 | 0o100_000 => Kind::File,
        0o120_000 => return Err("it is a link"),
        _ => return Err("it is neither a file nor a directory"),
    };
    let (name, bytes) = (name.to_owned(), record.uncompressed_size_hint());
    Ok(Entry { name, kind, bytes, of_minio: Vec::new() })
}

/// The bytes of the entries so far.
///
/// Entries that share bytes are refused: a small archive could become any number of large objects.
/// Entries in order need one span in memory.
#[derive(Debug, Default)]
struct Spans(BTreeMap<u64, u64>);

/// The shortest entry: a header without a name.
const ENTRY_BYTES_MIN: u64 = 30;

impl Spans {
    /// Adds the bytes of an entry, from its header to the end of its data. `false` if some of them
    /// belong to another entry.
    fn add(&mut self, start: u64, end: u64) -> bool {
        let before = self.0.range(..end).next_back().map(|(from, to)| (*from, *to));
        let Some((from, to)) = before.filter(|_| start < end) else {
            self.0.insert(start, end);
            return start < end;
        };
        if to > start {
            return false;
        }
        // No entry fits into the gap, which holds a data descriptor.
        match start - to < ENTRY_BYTES_MIN {
            true => self.0.insert(from, end),
            false => self.0.insert(start, end),
        };
        true
    }
}

/// The data of an entry.
struct Body<R>(R);

impl<R: Read> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| io::Error::new(error.kind(), damaged(&error)))
    }
}

fn damaged_record(error: rawzip::Error) -> String {
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => damaged(&error),
        rawzip::ErrorKind::Eof => damaged(&io::ErrorKind::UnexpectedEof.into()),
        kind => format!("the archive is damaged: {kind}"),
    }
}

#[cfg(test)]
mod tests;
