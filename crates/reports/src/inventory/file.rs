//! [`DataWriter`]: rows into a data file, piece by piece into the body of its object.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use liteio_s3::bucket_inventory::Format;
use liteio_store::{Store, StoreError};

use super::column::{Cell, Column};
use super::csv;
use super::manifest::DataFile;
use super::parquet::Parquet;
use crate::deliver::{DeliveryError, Writing};
use crate::limits::{
    INVENTORY_FILE_BYTES, INVENTORY_FILE_ROWS, INVENTORY_GROUP_BYTES, INVENTORY_GROUP_ROWS,
};

/// A data file that is being written.
pub(super) struct DataWriter {
    key: String,
    writing: Writing,
    encoder: Encoder,
    rows: u64,
    bytes: u64,
}

enum Encoder {
    Csv { text: String, gzip: GzEncoder<Vec<u8>> },
    Parquet(Box<Parquet>),
}

impl DataWriter {
    /// Begins a file.
    pub(super) fn new(key: String, writing: Writing, format: Format, columns: &[Column]) -> Self {
        let encoder = match format {
            Format::Csv => Encoder::Csv {
                text: String::new(),
                gzip: GzEncoder::new(Vec::new(), Compression::fast()),
            },
            Format::Parquet => Encoder::Parquet(Box::new(Parquet::new(columns))),
        };
        DataWriter { key, writing, encoder, rows: 0, bytes: 0 }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, columns: &[Column], cells: &[Cell]) -> Result<(), StoreError> {
        self.rows += 1;
        let bytes = match &mut self.encoder {
            Encoder::Csv { text, gzip } => {
                text.clear();
                csv::append(text, columns, cells);
                gzip.write_all(text.as_bytes())?;
                // The encoder hands out what it has finished.
                if gzip.get_ref().len() < INVENTORY_GROUP_BYTES / 8 {
                    return Ok(());
                }
                std::mem::take(gzip.get_mut())
            }
            Encoder::Parquet(parquet) => {
                parquet.push(cells);
                let (rows, bytes) = parquet.open();
                if rows < INVENTORY_GROUP_ROWS && bytes < INVENTORY_GROUP_BYTES {
                    return Ok(());
                }
                parquet.end_group()
            }
        };
        self.bytes += bytes.len() as u64;
        self.writing.write(&bytes)
    }

    /// `true` if further rows belong into another file.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= INVENTORY_FILE_ROWS || self.bytes >= INVENTORY_FILE_BYTES
    }

    /// Ends the file, and makes its object current.
    pub(super) fn finish(self, store: &Store) -> Result<DataFile, DeliveryError> {
        let DataWriter { key, mut writing, encoder, .. } = self;
        let bytes = match encoder {
            Encoder::Csv { gzip, .. } => gzip.finish().map_err(StoreError::from)?,
            Encoder::Parquet(parquet) => parquet.end(),
        };
        writing.write(&bytes)?;
        let (object, md5) = writing.finish(store, None)?;
        Ok(DataFile { key, bytes: object.bytes, md5 })
    }
}
