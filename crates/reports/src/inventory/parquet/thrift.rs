//! The compact protocol of Thrift, as far as the metadata of Parquet needs it.

/// Types of fields.
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// Writes one struct: fields in the order of their ids.
#[derive(Debug, Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(&mut self, id: u8, kind: u8) {
        // Ids grow by less than 16 from field to field.
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    pub(super) fn flag(mut self, id: u8, flag: bool) -> Struct {
        self.field(id, if flag { TRUE } else { FALSE });
        self
    }

    pub(super) fn i32(mut self, id: u8, number: i32) -> Struct {
        self.field(id, I32);
        zigzag(&mut self.bytes, number.into());
        self
    }

    pub(super) fn i64(mut self, id: u8, number: i64) -> Struct {
        self.field(id, I64);
        zigzag(&mut self.bytes, number);
        self
    }

    pub(super) fn text(mut self, id: u8, text: &str) -> Struct {
        self.field(id, BINARY);
        self.bytes.extend(binary(text));
        self
    }

    pub(super) fn structure(mut self, id: u8, value: Struct) -> Struct {
        self.field(id, STRUCT);
        self.bytes.extend(value.end());
        self
    }

    /// A list of encoded elements of one type.
    pub(super) fn list(mut self, id: u8, kind: u8, elements: &[Vec<u8>]) -> Struct {
        self.field(id, LIST);
        match u8::try_from(elements.len()) {
            Ok(count) if count < 15 => self.bytes.push(count << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                varint(&mut self.bytes, elements.len() as u64);
            }
        }
        self.bytes.extend(elements.concat());
        self
    }

    /// The bytes of the struct.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// A text as the element of a list.
pub(super) fn binary(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    varint(&mut bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// A number as the element of a list.
pub(super) fn number(number: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    zigzag(&mut bytes, number.into());
    bytes
}

/// Appends an unsigned number, 7 bits a byte, least significant first.
pub(super) fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn zigzag(bytes: &mut Vec<u8>, number: i64) {
    varint(bytes, (number << 1 ^ number >> 63) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the specification of the compact protocol.
    #[test]
    fn structs_are_encoded_as_specified() {
        let one = Struct::default().i32(1, -1).text(3, "ab").flag(4, true);
        assert_eq!(one.end(), [0x15, 0x01, 0x28, 2, b'a', b'b', 0x11, 0]);
        let mut bytes = Vec::new();
        varint(&mut bytes, 50_399);
        assert_eq!(bytes, [0xdf, 0x89, 0x03]);
        let long: Vec<_> = (0..20).map(number).collect();
        let list = Struct::default().list(2, I32, &long).end();
        assert_eq!(list[..5], [0x29, 0xf5, 20, 0, 2]);
        assert_eq!(Struct::default().structure(1, Struct::default()).end(), [0x1c, 0, 0]);
    }
}
