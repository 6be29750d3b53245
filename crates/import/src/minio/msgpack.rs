//! A MessagePack reader for the subset that MinIO writes.
//!
//! It borrows from its input, allocates nothing and does not recurse, so hostile input costs no
//! more than its length.

/// The input is malformed; names the expected item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is damaged: {0}")]
pub(crate) struct Malformed(pub(crate) &'static str);

/// The rest of the input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'b> {
    rest: &'b [u8],
}

/// The type and length of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    Nil,
    Bool,
    Unsigned(u64),
    Signed(i64),
    Float,
    /// A text or byte string; its length in bytes.
    Text(u32),
    Bytes(u32),
    Extension(u32),
    /// An array or map; the number of values that follow, two per map entry.
    Array(u32),
    Map(u32),
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { rest: bytes }
    }

    /// The bytes that are not read yet.
    pub(super) fn rest(&self) -> &'b [u8] {
        self.rest
    }

    /// Reads the head of a map: the number of entries, each a key and a value. `nil` is an empty
    /// map.
    pub(super) fn map(&mut self) -> Result<u32, Malformed> {
        match self.head()? {
            Head::Map(entries) => Ok(entries),
            Head::Nil => Ok(0),
            _ => Err(Malformed("a map is expected")),
        }
    }

    /// Reads the head of an array: the number of values that follow. `nil` is an empty array.
    pub(crate) fn array(&mut self) -> Result<u32, Malformed> {
        match self.head()? {
            Head::Array(values) => Ok(values),
            Head::Nil => Ok(0),
            _ => Err(Malformed("an array is expected")),
        }
    }

    /// Reads bytes or text. `nil` is empty.
    pub(super) fn bytes(&mut self) -> Result<&'b [u8], Malformed> {
        match self.head()? {
            Head::Bytes(length) | Head::Text(length) => self.take(length as usize),
            Head::Nil => Ok(&[]),
            _ => Err(Malformed("bytes are expected")),
        }
    }

    pub(super) fn text(&mut self) -> Result<&'b str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed("a text is not UTF-8"))
    }

    /// Reads an unsigned number.
    pub(super) fn unsigned(&mut self) -> Result<u64, Malformed> {
        match self.head()? {
            Head::Unsigned(number) => Ok(number),
            Head::Signed(number) => {
                u64::try_from(number).map_err(|_| Malformed("a number is negative"))
            }
            _ => Err(Malformed("a number is expected")),
        }
    }

    /// Reads a 16-byte ID.
    pub(super) fn id(&mut self) -> Result<[u8; 16], Malformed> {
        self.bytes()?.try_into().map_err(|_| Malformed("an id has not 16 bytes"))
    }

    /// Skips one value, including nested ones.
    pub(super) fn skip(&mut self) -> Result<(), Malformed> {
        // Every value takes at least one byte, so the loop ends with the input.
        let mut values = 1_u64;
        while values > 0 {
            values -= 1;
            match self.head()? {
                Head::Text(length) | Head::Bytes(length) | Head::Extension(length) => {
                    self.take(length as usize)?;
                }
                Head::Array(more) => values += u64::from(more),
                Head::Map(entries) => values += 2 * u64::from(entries),
                Head::Nil | Head::Bool | Head::Unsigned(_) | Head::Signed(_) | Head::Float => {}
            }
        }
        Ok(())
    }

    fn head(&mut self) -> Result<Head, Malformed> {
        let first = self.number(1)?;
        Ok(match first {
            0x00..=0x7f => Head::Unsigned(first),
            0x80..=0x8f => Head::Map(length(first & 0x0f)),
            0x90..=0x9f => Head::Array(length(first & 0x0f)),
            0xa0..=0xbf => Head::Text(length(first & 0x1f)),
            0xc0 => Head::Nil,
            0xc2 | 0xc3 => Head::Bool,
            0xc4..=0xc6 => Head::Bytes(length(self.number(1 << (first - 0xc4))?)),
            // The extension type takes one more byte.
            0xc7..=0xc9 => {
                Head::Extension(length(self.number(1 << (first - 0xc7))?).saturating_add(1))
            }
            0xca => self.take(4).map(|_| Head::Float)?,
            0xcb => self.take(8).map(|_| Head::Float)?,
            0xcc..=0xcf => Head::Unsigned(self.number(1 << (first - 0xcc))?),
            0xd0 => Head::Signed(i64::from(self.number(1)? as u8 as i8)),
            0xd1 => Head::Signed(i64::from(self.number(2)? as u16 as i16)),
            0xd2 => Head::Signed(i64::from(self.number(4)? as u32 as i32)),
            0xd3 => Head::Signed(self.number(8)? as i64),
            0xd4..=0xd8 => Head::Extension((1 << (first - 0xd4)) + 1),
            0xd9..=0xdb => Head::Text(length(self.number(1 << (first - 0xd9))?)),
            0xdc | 0xdd => Head::Array(length(self.number(2 << (first - 0xdc))?)),
            0xde | 0xdf => Head::Map(length(self.number(2 << (first - 0xde))?)),
            0xe0..=0xff => Head::Signed(i64::from(first as u8 as i8)),
            _ => return Err(Malformed("no value begins so")),
        })
    }

    fn number(&mut self, bytes: usize) -> Result<u64, Malformed> {
        let bytes = self.take(bytes)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed("it is cut off"))?;
        self.rest = rest;
        Ok(taken)
    }
}

/// A length of at most 4 bytes.
fn length(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size() {
        for (bytes, number) in [
            (&[0x00][..], 0),
            (&[0x7f], 127),
            (&[0xcc, 0xff], 255),
            (&[0xcd, 1, 2], 258),
            (&[0xce, 0, 0, 1, 2], 258),
            (&[0xcf, 0, 0, 0, 0, 0, 0, 1, 2], 258),
            (&[0xd0, 5], 5),
            (&[0xd1, 1, 2], 258),
            (&[0xd2, 0, 0, 1, 2], 258),
            (&[0xd3, 0, 0, 0, 0, 0, 0, 1, 2], 258),
        ] {
            assert_eq!(Reader::new(bytes).unsigned(), Ok(number), "{bytes:x?}");
            let mut skipped = Reader::new(bytes);
            assert_eq!((skipped.skip(), skipped.rest()), (Ok(()), &[][..]), "{bytes:x?}");
        }
        for negative in [&[0xff][..], &[0xd0, 0xff], &[0xd3, 0xff, 0, 0, 0, 0, 0, 0, 0]] {
            Reader::new(negative).unsigned().expect_err("negative");
        }
    }

    #[test]
    fn every_kind_of_value_is_skipped_whole() {
        for value in [
            &[0xc0][..],
            &[0xc3],
            &[0xa2, b'a', b'b'],
            &[0xd9, 1, b'a'],
            &[0xda, 0, 1, b'a'],
            &[0xdb, 0, 0, 0, 1, b'a'],
            &[0xc4, 1, 9],
            &[0xc5, 0, 1, 9],
            &[0xc6, 0, 0, 0, 1, 9],
            &[0xca, 0, 0, 0, 0],
            &[0xcb, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xd4, 5, 1],
            &[0xd8, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xc7, 2, 5, 1, 1],
            &[0x92, 0x81, 0xa1, b'k', 0x90, 0xc0],
            &[0xdc, 0, 1, 0xde, 0, 1, 1, 2],
            &[0xdd, 0, 0, 0, 1, 0xdf, 0, 0, 0, 1, 1, 2],
        ] {
            let mut reader = Reader::new(value);
            assert_eq!((reader.skip(), reader.rest()), (Ok(()), &[][..]), "{value:x?}");
            for cut in 0..value.len() {
                Reader::new(&value[..cut]).skip().expect_err("cut off");
            }
        }
    }

    #[test]
    fn depth_and_promised_lengths_cost_nothing() {
        // A million nested arrays, and an array that claims four billion values.
        Reader::new(&vec![0x91; 1_000_000]).skip().expect_err("cut off");
        Reader::new(&[0xdd, 0xff, 0xff, 0xff, 0xff]).skip().expect_err("cut off");
        Reader::new(&[0xc6, 0xff, 0xff, 0xff, 0xff]).bytes().expect_err("cut off");
        Reader::new(&[0xc1]).skip().expect_err("no value");
    }
}
