//! Numbers and bytes in the contents of objects: little-endian, bytes behind their length.

use crate::Error;
use crate::seal::Content;

/// Appends numbers and bytes.
#[derive(Debug)]
pub(crate) struct Encoder(Content);

impl Encoder {
    /// With room for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Content::with_capacity(bytes))
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.0.append(&number.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.0.append(&number.to_le_bytes());
    }

    pub(crate) fn array(&mut self, bytes: &[u8; 16]) {
        self.0.append(bytes);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.append(bytes);
    }

    pub(crate) fn end(self) -> Content {
        self.0
    }
}

/// Takes them off again. The contents were verified when their object was opened, so what does not fit is of a program
/// with a fault.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    name: &'a str,
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// Reads the contents of the object `name`.
    pub(crate) fn new(name: &'a str, contents: &'a [u8]) -> Self {
        Self { name, rest: contents }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (array, rest) = self.rest.split_first_chunk().ok_or_else(|| self.cut())?;
        self.rest = rest;
        Ok(*array)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = usize::try_from(self.u64()?).ok();
        let split = length.and_then(|length| self.rest.split_at_checked(length));
        let (bytes, rest) = split.ok_or_else(|| self.cut())?;
        self.rest = rest;
        Ok(bytes)
    }

    /// `true` if nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn cut(&self) -> Error {
        Error::Damaged(format!("the object {} of the backup is incomplete", self.name))
    }
}
