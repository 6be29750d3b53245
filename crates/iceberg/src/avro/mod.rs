//! A reader of Avro object container files: as much of Avro as manifests need.
//!
//! `apache-avro` 0.22 without its features brings 21 packages that are not here otherwise, and reads whole values. This
//! reader gives the values of single fields and skips the rest. Any input ends with a value or an error: lengths are checked
//! against what is there, and the work for a block is bounded by its length.
//!
//! Source: "Apache Avro Specification" 1.12.

mod input;
mod schema;
#[cfg(test)]
pub(crate) mod tests;

use std::borrow::Cow;
use std::io::Read;

use crate::error::{Invalid, quoted, refuse};

pub(crate) use self::input::{Input, Scalar};
pub(crate) use self::schema::{Field, Schema};

/// Bytes of a decompressed block. Writers end a block after 64 kB, and a row is not much longer.
const BLOCK_BYTES_MAX: u64 = 64 << 20;

/// Bytes of all decompressed blocks of a file. Writers end a manifest after 8 MB.
const FILE_BYTES_MAX: u64 = 1 << 30;

const MAGIC: &[u8] = b"Obj\x01";
const SYNC_BYTES: usize = 16;

/// A container file whose header was read.
pub(crate) struct Container<'f> {
    pub(crate) schema: Schema,
    codec: Codec,
    sync: &'f [u8],
    blocks: &'f [u8],
}

#[derive(Clone, Copy)]
enum Codec {
    Null,
    Deflate,
}

impl<'f> Container<'f> {
    /// Reads the header.
    pub(crate) fn open(file: &'f [u8]) -> Result<Container<'f>, Invalid> {
        let Some(rest) = file.strip_prefix(MAGIC) else {
            refuse!("no Avro file: it begins with other bytes");
        };
        let mut input = Input::new(rest);
        let (mut codec, mut schema) = (Codec::Null, None);
        while let Some(entries) = input.block_of_items()? {
            for _ in 0..entries {
                let key = input.text()?;
                let value = input.bytes()?;
                match key {
                    "avro.schema" => schema = Some(Schema::parse(value)?),
                    "avro.codec" => codec = Codec::named(value)?,
                    _ => {}
                }
            }
        }
        let sync = input.take(SYNC_BYTES)?;
        let Some(schema) = schema else { refuse!("no Avro file: avro.schema is missing") };
        Ok(Container { schema, codec, sync, blocks: input.rest() })
    }

    /// Calls `read` for each object, with the input before it. It must read the whole object.
    pub(crate) fn for_each(
        &self,
        mut read: impl FnMut(&Schema, &mut Input<'_>) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        let mut input = Input::new(self.blocks);
        let mut total = 0;
        while !input.rest().is_empty() {
            let objects = input.long()?;
            let data = input.bytes()?;
            if input.take(SYNC_BYTES)? != self.sync {
                refuse!("Avro file: the mark behind a block is wrong");
            }
            let data = self.codec.decompressed(data, BLOCK_BYTES_MAX)?;
            total += data.len() as u64;
            if total > FILE_BYTES_MAX {
                refuse!("Avro file: it has more than {FILE_BYTES_MAX} bytes");
            }
            let mut block = Input::new(&data);
            if objects < 0 {
                refuse!("Avro file: a block has a negative number of objects");
            }
            for _ in 0..objects {
                read(&self.schema, &mut block)?;
            }
            if !block.rest().is_empty() {
                refuse!("Avro file: a block has bytes behind its last object");
            }
        }
        Ok(())
    }
}

impl Codec {
    fn named(name: &[u8]) -> Result<Codec, Invalid> {
        match name {
            b"null" => Ok(Codec::Null),
            b"deflate" => Ok(Codec::Deflate),
            other => {
                let name = quoted(&String::from_utf8_lossy(other));
                refuse!("Avro file: the codec {name} is not supported; null and deflate are")
            }
        }
    }

    fn decompressed(self, data: &[u8], bytes_max: u64) -> Result<Cow<'_, [u8]>, Invalid> {
        match self {
            Codec::Null => Ok(Cow::Borrowed(data)),
            Codec::Deflate => {
                let mut decompressed = Vec::new();
                let mut decoder = flate2::read::DeflateDecoder::new(data).take(bytes_max + 1);
                if decoder.read_to_end(&mut decompressed).is_err() {
                    refuse!("Avro file: a block is not compressed by deflate");
                }
                if decompressed.len() as u64 > bytes_max {
                    refuse!("Avro file: a block has more than {bytes_max} bytes");
                }
                Ok(Cow::Owned(decompressed))
            }
        }
    }
}
