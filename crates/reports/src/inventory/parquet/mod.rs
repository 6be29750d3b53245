//! A writer of Parquet files, for the columns of inventories: one data page for each column of a row group, in the plain
//! encoding, compressed with gzip.
//!
//! ```text
//! "PAR1", row group: page header, page; page header, page; … , … , metadata (Thrift), its length (4), "PAR1"
//! ```
//! The format is described in [parquet-format](https://github.com/apache/parquet-format); the names of fields below are
//! those of its `parquet.thrift`. The crates of Arrow would be larger than the rest of the server.

mod thrift;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use self::thrift::{BINARY, I32, STRUCT, Struct, binary, number};
use super::column::{Cell, Column, Kind};

const MAGIC: &[u8] = b"PAR1";

/// `Type`
const BOOLEAN: i32 = 0;
const INT64: i32 = 2;
const BYTE_ARRAY: i32 = 6;
/// `Encoding`
const PLAIN: i32 = 0;
const RLE: i32 = 3;
/// `CompressionCodec`
const GZIP: i32 = 2;
/// `FieldRepetitionType`
const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
/// `ConvertedType`
const UTF8: i32 = 0;
const TIMESTAMP_MILLIS: i32 = 9;
/// `PageType`
const DATA_PAGE: i32 = 0;

/// A file that is being written. Its bytes leave it piece by piece.
#[derive(Debug)]
pub(super) struct Parquet {
    columns: Vec<Values>,
    /// Rows of the open row group.
    rows: usize,
    /// Bytes written so far.
    offset: u64,
    rows_total: u64,
    /// Metadata of the row groups written so far.
    groups: Vec<Vec<u8>>,
}

/// The values of one column in the open row group.
#[derive(Debug)]
struct Values {
    column: Column,
    /// One flag for each row: `true` if it has a value.
    is_there: Bits,
    flags: Bits,
    bytes: Vec<u8>,
}

/// Bits, least significant first.
#[derive(Debug, Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.count.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.count % 8);
        }
        self.count += 1;
    }
}

impl Parquet {
    /// Starts a file with these columns.
    pub(super) fn new(columns: &[Column]) -> Parquet {
        Parquet {
            columns: columns.iter().copied().map(Values::new).collect(),
            rows: 0,
            offset: 0,
            rows_total: 0,
            groups: Vec::new(),
        }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, cells: &[Cell]) {
        self.rows += 1;
        for (values, cell) in self.columns.iter_mut().zip(cells) {
            values.push(cell);
        }
    }

    /// Rows of the open row group, and bytes of their values.
    pub(super) fn open(&self) -> (usize, usize) {
        (self.rows, self.columns.iter().map(|values| values.bytes.len()).sum())
    }

    /// Ends the open row group. Returns the bytes that follow those returned before.
    pub(super) fn end_group(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.offset == 0 {
            bytes.extend_from_slice(MAGIC);
        }
        let rows = std::mem::take(&mut self.rows);
        if rows > 0 {
            let (mut chunks, mut raw_total) = (Vec::new(), 0);
            for values in &mut self.columns {
                let start = self.offset + bytes.len() as u64;
                let (chunk, page, raw_bytes) = values.end_page(start, rows);
                bytes.extend(page);
                chunks.push(chunk.end());
                raw_total += raw_bytes;
            }
            self.rows_total += rows as u64;
            let group = Struct::default().list(1, STRUCT, &chunks);
            self.groups.push(group.i64(2, signed(raw_total)).i64(3, signed(rows as u64)).end());
        }
        self.offset += bytes.len() as u64;
        bytes
    }

    /// Ends the file. Returns its last bytes.
    pub(super) fn end(mut self) -> Vec<u8> {
        let mut bytes = self.end_group();
        let columns = i32::try_from(self.columns.len()).unwrap_or_default();
        let root = Struct::default().text(4, "s3.inventory").i32(5, columns);
        let mut schema = vec![root.end()];
        schema.extend(self.columns.iter().map(|values| element(values.column)));
        let metadata = Struct::default()
            .i32(1, 1)
            .list(2, STRUCT, &schema)
            .i64(3, signed(self.rows_total))
            .list(4, STRUCT, &self.groups)
            .text(6, concat!("liteio version ", env!("CARGO_PKG_VERSION")))
            .end();
        bytes.extend_from_slice(&metadata);
        bytes.extend_from_slice(&u32::try_from(metadata.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        bytes
    }
}

/// The `SchemaElement` of a column.
fn element(column: Column) -> Vec<u8> {
    let repetition = if column.is_required() { REQUIRED } else { OPTIONAL };
    let (physical, converted, logical) = match column.kind() {
        Kind::Flag => (BOOLEAN, None, None),
        Kind::Number => (INT64, None, None),
        Kind::Text => {
            let string = Struct::default().structure(1, Struct::default());
            (BYTE_ARRAY, Some(UTF8), Some(string))
        }
        Kind::Time => {
            let millis = Struct::default().structure(1, Struct::default());
            let timestamp = Struct::default().flag(1, true).structure(2, millis);
            let logical = Struct::default().structure(8, timestamp);
            (INT64, Some(TIMESTAMP_MILLIS), Some(logical))
        }
    };
    let mut element =
        Struct::default().i32(1, physical).i32(3, repetition).text(4, column.parquet_name());
    if let Some(converted) = converted {
        element = element.i32(6, converted);
    }
    if let Some(logical) = logical {
        element = element.structure(10, logical);
    }
    element.end()
}

impl Values {
    fn new(column: Column) -> Values {
        let (is_there, flags) = (Bits::default(), Bits::default());
        Values { column, is_there, flags, bytes: Vec::new() }
    }

    fn push(&mut self, cell: &Cell) {
        self.is_there.push(*cell != Cell::Null);
        match cell {
            Cell::Null => {}
            Cell::Flag(flag) => self.flags.push(*flag),
            Cell::Number(number) | Cell::Time(number) => {
                self.bytes.extend_from_slice(&number.to_le_bytes());
            }
            Cell::Text(text) => {
                let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                self.bytes.extend_from_slice(&length.to_le_bytes());
                self.bytes.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// Ends the page at the offset `start`: its `ColumnChunk`, its bytes with their header, and their number without
    /// compression.
    fn end_page(&mut self, start: u64, rows: usize) -> (Struct, Vec<u8>, u64) {
        let is_there = std::mem::take(&mut self.is_there);
        let flags = std::mem::take(&mut self.flags);
        let values = std::mem::take(&mut self.bytes);
        let mut page = Vec::with_capacity(values.len() + is_there.bytes.len() + 16);
        if !self.column.is_required() {
            // Definition levels: one bit-packed run of groups of 8.
            let mut levels = Vec::with_capacity(is_there.bytes.len() + 8);
            thrift::varint(&mut levels, (is_there.bytes.len() as u64) << 1 | 1);
            levels.extend_from_slice(&is_there.bytes);
            page.extend_from_slice(&u32::try_from(levels.len()).unwrap_or(u32::MAX).to_le_bytes());
            page.extend(levels);
        }
        page.extend_from_slice(if self.column.kind() == Kind::Flag {
            &flags.bytes
        } else {
            &values
        });
        let packed = compressed(&page);
        let rows_number = i32::try_from(rows).unwrap_or(i32::MAX);
        let data = Struct::default().i32(1, rows_number).i32(2, PLAIN).i32(3, RLE).i32(4, RLE);
        let size = |bytes: &[u8]| i32::try_from(bytes.len()).unwrap_or(i32::MAX);
        let header = Struct::default()
            .i32(1, DATA_PAGE)
            .i32(2, size(&page))
            .i32(3, size(&packed))
            .structure(5, data)
            .end();
        let raw_bytes = (header.len() + page.len()) as u64;
        let bytes = [header, packed].concat();
        let physical = match self.column.kind() {
            Kind::Flag => BOOLEAN,
            Kind::Number | Kind::Time => INT64,
            Kind::Text => BYTE_ARRAY,
        };
        let metadata = Struct::default()
            .i32(1, physical)
            .list(2, I32, &[number(PLAIN), number(RLE)])
            .list(3, BINARY, &[binary(self.column.parquet_name())])
            .i32(4, GZIP)
            .i64(5, signed(rows as u64))
            .i64(6, signed(raw_bytes))
            .i64(7, signed(bytes.len() as u64))
            .i64(9, signed(start));
        let chunk = Struct::default().i64(2, signed(start)).structure(3, metadata);
        (chunk, bytes, raw_bytes)
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing into memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
