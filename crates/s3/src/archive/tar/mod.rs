//! Reads tar archives: the formats of POSIX (ustar, pax) and GNU, without links, devices and sparse
//! files.
//!
//! A header has 512 bytes; the entry's data follows, padded to a multiple of 512; two zero headers
//! end the archive. Sources: POSIX, `pax` («ustar Interchange Format», «pax Header Block»), and the
//! manual of GNU tar («Basic Tar Format»).
//!
//! The crate `tar` 0.4.46 (2 crates, 5,300 lines) is not used, because it misreads some archives
//! without an error:
//! - It splits extended headers at newlines, not by the lengths of their records
//!   (composefs/tar-rs#452). So it truncates a name with a newline, and takes a line in another
//!   record's value, such as an extended attribute, for the name of the entry.
//! - It applies the long name of an entry to a global header between the two.
//! - It reads extended headers of any length into memory.
//! - It accepts an archive that is truncated after an entry.
//!
//! `tar-core` reads records by their lengths, but 0.1.0, its only release, lacks later fixes.

use std::io::{self, Read};

use super::entry::{Entry, Kind, MINIO, cut_off, damaged};

const BLOCK: usize = 512;
/// Longest name and extended header of an entry, which are held in memory.
const EXTENSION_BYTES_MAX: u64 = 64 << 10;
/// Padding after the end of the archive, which writers add to fill their last record.
const FILLING_BYTES_MAX: u64 = 1 << 20;

/// A streaming reader of an archive.
#[derive(Debug)]
pub struct Tar<R> {
    input: R,
    /// Bytes of the current entry that are not read yet.
    body_left: u64,
    /// Padding after the current entry.
    filling: u64,
}

/// Fields from extended headers, which override the next entry's header.
#[derive(Default)]
struct Extended {
    name: Option<String>,
    bytes: Option<u64>,
    of_minio: Vec<(String, String)>,
}

impl<R: Read> Tar<R> {
    /// A reader of the archive in `input`.
    pub fn new(input: R) -> Tar<R> {
        Tar { input, body_left: 0, filling: 0 }
    }

    /// The next entry; `None` at the end of the archive.
    ///
    /// # Errors
    /// One line that names the entry, if it has a name.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, String> {
        let mut extended = Extended::default();
        loop {
            self.skip(self.body_left + self.filling)?;
            (self.body_left, self.filling) = (0, 0);
            let mut header = [0; BLOCK];
            self.fill(&mut header)?;
            if header.iter().all(|byte| *byte == 0) {
                self.finish()?;
                return Ok(None);
            }
            check(&header)?;
            let name = header_name(&header);
            let failed = |reason: &str| format!("{:?}: {reason}", String::from_utf8_lossy(&name));
            let bytes =
                number(&header[124..136]).ok_or_else(|| failed("its length is no number"))?;
            let bytes = match header[156] {
                b'L' | b'K' | b'x' | b'g' => bytes,
                _ => extended.bytes.unwrap_or(bytes),
            };
            // Sizes beyond any file's would overflow.
            let whole = bytes.checked_next_multiple_of(BLOCK as u64).filter(|it| *it < 1 << 62);
            let whole = whole.ok_or_else(|| failed("its length is no number"))?;
            (self.body_left, self.filling) = (bytes, whole - bytes);
            match header[156] {
                b'L' => extended.name = Some(text(self.extension(&failed)?, &failed)?),
                b'x' => read_pax(&self.extension(&failed)?, &mut extended, &failed)?,
                // Long link targets and global properties are ignored; links are rejected by their
                // own header.
                b'K' | b'g' => {}
                kind => {
                    let name = match extended.name.take() {
                        Some(name) => name,
                        None => text(name.clone(), &failed)?,
                    };
                    let kind = kind_of(kind, &name);
                    let of_minio = extended.of_minio;
                    return Ok(Some(Entry { name, kind, bytes, of_minio }));
                }
            }
        }
    }

    /// The data of the current entry.
    pub fn body(&mut self) -> Body<'_, R> {
        Body(self)
    }

    /// Reads a whole extended header.
    fn extension(&mut self, failed: &dyn Fn(&str) -> String) -> Result<Vec<u8>, String> {
        if self.body_left > EXTENSION_BYTES_MAX {
            return Err(failed("its extended header is too long"));
        }
        let mut bytes = Vec::new();
        let length = self.body_left;
        let read = self.body().take(length).read_to_end(&mut bytes).map_err(|it| it.to_string())?;
        if read as u64 == length { Ok(bytes) } else { Err(cut_off()) }
    }

    /// Reads up to the end of the input, where a compressed archive has its checksum.
    fn finish(&mut self) -> Result<(), String> {
        let mut rest = (&mut self.input).take(FILLING_BYTES_MAX + 1);
        let filling = io::copy(&mut rest, &mut io::sink()).map_err(|error| damaged(&error))?;
        match filling > FILLING_BYTES_MAX {
            true => Err("there is more behind the end of the archive".to_owned()),
            false => Ok(()),
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        self.input.read_exact(buffer).map_err(|error| damaged(&error))
    }

    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        let mut skipped = (&mut self.input).take(bytes);
        let skipped = io::copy(&mut skipped, &mut io::sink()).map_err(|error| damaged(&error))?;
        if skipped == bytes { Ok(()) } else { Err(cut_off()) }
    }
}

/// The data of an entry.
#[derive(Debug)]
pub struct Body<'t, R>(&'t mut Tar<R>);

impl<R: Read> Read for Body<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let tar = &mut *self.0;
        let room = usize::try_from(tar.body_left).unwrap_or(usize::MAX).min(buffer.len());
        let read = tar.input.read(&mut buffer[..room]);
        let read = read.map_err(|error| io::Error::new(error.kind(), damaged(&error)))?;
        if read == 0 && room > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, cut_off()));
        }
        tar.body_left -= read as u64;
        Ok(read)
    }
}

/// Verifies the header checksum: the sum of its bytes, with the checksum field counted as spaces.
fn check(header: &[u8; BLOCK]) -> Result<(), String> {
    let own = 148..156;
    let rest = header.iter().enumerate().filter(|(at, _)| !own.contains(at));
    let sum = rest.map(|(_, byte)| u64::from(*byte)).sum::<u64>() + 8 * u64::from(b' ');
    match number(&header[own]) == Some(sum) {
        true => Ok(()),
        false => Err("the archive is damaged, or no tar archive: a checksum is wrong".to_owned()),
    }
}

/// The name in a header; ustar may split it into two fields.
fn header_name(header: &[u8; BLOCK]) -> Vec<u8> {
    let field = |bytes: &[u8]| bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
    let name = field(&header[..100]);
    match &header[257..263] == b"ustar\0" && header[345] != 0 {
        true => [field(&header[345..500]), name].join(&b'/'),
        false => name,
    }
}

/// Parses a number: octal digits, or big-endian binary if the first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (first, rest) = field.split_first()?;
        let bytes = std::iter::once(first & 0x7f).chain(rest.iter().copied());
        return bytes
            .into_iter()
            .try_fold(0_u64, |number, byte| Some(number.checked_mul(256)? | u64::from(byte)));
    }
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches(|character| matches!(character, ' ' | '\0'));
    if digits.is_empty() {
        return Some(0);
    }
    let is_octal = digits.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    u64::from_str_radix(digits, 8).ok().filter(|_| is_octal)
}

fn text(mut bytes: Vec<u8>, failed: &dyn Fn(&str) -> String) -> Result<String, String> {
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    String::from_utf8(bytes).map_err(|_| failed("its name is not UTF-8"))
}

fn kind_of(kind: u8, name: &str) -> Kind {
    match kind {
        // Archives before POSIX mark directories by a trailing slash only.
        b'0' | 0 if name.ends_with('/') => Kind::Directory,
        b'0' | b'7' | 0 => Kind::File,
        b'5' => Kind::Directory,
        b'1' | b'2' => Kind::Other("it is a link"),
        b'3' | b'4' => Kind::Other("it is a device"),
        b'6' => Kind::Other("it is a named pipe"),
        b'S' => Kind::Other("it is a sparse file"),
        _ => Kind::Other("it is neither a file nor a directory"),
    }
}

/// Parses the records of an extended header: `LENGTH KEY=VALUE\n`, with the length of the whole
/// record.
fn read_pax(
    mut records: &[u8],
    extended: &mut Extended,
    failed: &dyn Fn(&str) -> String,
) -> Result<(), String> {
    let invalid = || failed("its extended header is not valid");
    while !records.is_empty() {
        let space = records.iter().position(|byte| *byte == b' ').ok_or_else(invalid)?;
        let length = std::str::from_utf8(&records[..space]).ok().and_then(|it| it.parse().ok());
        let length: usize = length.filter(|length| *length > space + 1).ok_or_else(invalid)?;
        let record = records.get(space + 1..length).ok_or_else(invalid)?;
        let record = record.strip_suffix(b"\n").ok_or_else(invalid)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(invalid)?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        match key {
            b"path" => extended.name = Some(text(value.to_vec(), failed)?),
            b"size" => {
                let size = std::str::from_utf8(value).ok().and_then(|it| it.parse().ok());
                extended.bytes = Some(size.ok_or_else(invalid)?);
            }
            _ if key.starts_with(b"GNU.sparse.") => return Err(failed("it is a sparse file")),
            _ if key.starts_with(MINIO.as_bytes()) => {
                let property = (text(key.to_vec(), failed)?, text(value.to_vec(), failed)?);
                extended.of_minio.push(property);
            }
            _ => {}
        }
        records = &records[length..];
    }
    Ok(())
}

#[cfg(test)]
mod tests;
