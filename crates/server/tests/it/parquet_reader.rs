//! A reader of Parquet files that shares no code with the writer: pages of data in the plain encoding, compressed with
//! gzip, of flat columns. What it does not know fails.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;

/// A value in the compact protocol of Thrift.
#[derive(Clone, Debug)]
enum Thrift {
    Bool,
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Thrift>),
    Struct(BTreeMap<i64, Thrift>),
}

impl Thrift {
    fn field(&self, id: i64) -> &Thrift {
        self.has(id).unwrap_or_else(|| panic!("no field {id} in {self:?}"))
    }

    fn has(&self, id: i64) -> Option<&Thrift> {
        let Thrift::Struct(fields) = self else { panic!("no struct: {self:?}") };
        fields.get(&id)
    }

    fn int(&self) -> i64 {
        let Thrift::Int(number) = self else { panic!("no number: {self:?}") };
        *number
    }

    fn index(&self) -> usize {
        usize::try_from(self.int()).expect("not negative")
    }

    fn text(&self) -> String {
        let Thrift::Bytes(bytes) = self else { panic!("no text: {self:?}") };
        String::from_utf8(bytes.clone()).expect("text")
    }

    fn list(&self) -> &[Thrift] {
        let Thrift::List(list) = self else { panic!("no list: {self:?}") };
        list
    }
}

struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().expect("a byte");
        self.0 = rest;
        *first
    }

    fn varint(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return number;
            }
        }
    }

    fn zigzag(&mut self) -> i64 {
        let number = self.varint();
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken.to_vec()
    }

    fn value(&mut self, kind: u8) -> Thrift {
        match kind {
            1 | 2 => Thrift::Bool,
            3..=6 => Thrift::Int(self.zigzag()),
            8 => {
                let count = self.varint() as usize;
                Thrift::Bytes(self.take(count))
            }
            9 => {
                let head = self.byte();
                let count = match head >> 4 {
                    15 => self.varint() as usize,
                    count => count.into(),
                };
                Thrift::List((0..count).map(|_| self.value(head & 15)).collect())
            }
            12 => {
                let (mut fields, mut id) = (BTreeMap::new(), 0);
                loop {
                    let head = self.byte();
                    if head == 0 {
                        return Thrift::Struct(fields);
                    }
                    id = match head >> 4 {
                        0 => self.zigzag(),
                        more => id + i64::from(more),
                    };
                    let value = self.value(head & 15);
                    fields.insert(id, value);
                }
            }
            kind => panic!("type {kind}"),
        }
    }
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
}

/// The columns of a file, by name.
pub(crate) fn columns(file: &[u8]) -> BTreeMap<String, Vec<Cell>> {
    assert_eq!((&file[..4], &file[file.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    let end = file.len() - 8;
    let length = u32::from_le_bytes(file[end..end + 4].try_into().expect("4 bytes")) as usize;
    let mut metadata = Bytes(&file[end - length..end]);
    let footer = metadata.value(12);
    assert!(metadata.0.is_empty(), "the length of the metadata is right");
    let (root, elements) = footer.field(2).list().split_first().expect("a schema");
    assert_eq!(root.field(5).index(), elements.len());
    let mut columns = BTreeMap::<String, Vec<Cell>>::new();
    for element in elements {
        columns.insert(element.field(4).text(), Vec::new());
    }
    let mut position = 4;
    for group in footer.field(4).list() {
        let rows = group.field(3).index();
        for (chunk, element) in group.field(1).list().iter().zip(elements) {
            let chunk = chunk.field(3);
            assert_eq!(chunk.field(3).list()[0].text(), element.field(4).text());
            assert_eq!(chunk.field(9).index(), position, "chunks follow each other");
            assert_eq!(chunk.field(5).index(), rows);
            let start = position;
            position += chunk.field(7).index();
            let cells = page(&file[start..position], element, rows);
            columns.get_mut(&element.field(4).text()).expect("a column").extend(cells);
        }
    }
    assert_eq!(position, end - length, "nothing stands between the pages and the metadata");
    let counts = columns.values().map(Vec::len);
    assert!(counts.into_iter().all(|count| count == footer.field(3).index()));
    columns
}

fn page(bytes: &[u8], element: &Thrift, rows: usize) -> Vec<Cell> {
    let mut bytes = Bytes(bytes);
    let header = bytes.value(12);
    assert_eq!(header.field(3).index(), bytes.0.len());
    let mut page = Vec::new();
    GzDecoder::new(bytes.0).read_to_end(&mut page).expect("gzip");
    assert_eq!(header.field(2).index(), page.len());
    let data = header.field(5);
    assert_eq!((data.field(1).index(), data.field(2).int()), (rows, 0));
    let mut page = Bytes(&page);
    let is_there: Vec<bool> = match element.field(3).int() {
        0 => vec![true; rows],
        _ => {
            let length = u32::from_le_bytes(page.take(4).try_into().expect("4 bytes")) as usize;
            let levels = page.take(length);
            let mut levels = Bytes(&levels);
            let head = levels.varint();
            assert_eq!((head & 1, (head >> 1) as usize), (1, rows.div_ceil(8)));
            (0..rows).map(|row| levels.0[row / 8] >> (row % 8) & 1 == 1).collect()
        }
    };
    let flags = page.0.to_vec();
    let mut flag = 0;
    let mut value = |is_there: &bool| match (is_there, element.field(1).int()) {
        (false, _) => Cell::Null,
        (true, 0) => {
            flag += 1;
            Cell::Bool(flags[(flag - 1) / 8] >> ((flag - 1) % 8) & 1 == 1)
        }
        (true, 2) => Cell::Int(i64::from_le_bytes(page.take(8).try_into().expect("8 bytes"))),
        (true, 6) => {
            let length = u32::from_le_bytes(page.take(4).try_into().expect("4 bytes")) as usize;
            Cell::Text(String::from_utf8(page.take(length)).expect("text"))
        }
        (true, kind) => panic!("type {kind}"),
    };
    is_there.iter().map(&mut value).collect()
}
