//! Values of Avro in bytes.

use crate::error::{Invalid, refuse};

use super::schema::{Field, Node, Schema};

/// Types around a value.
const DEPTH_MAX: u32 = 64;

/// Steps for each byte. A value takes a step for each type around it, and a type without bytes takes one, too: an array of a
/// billion `null`s is three bytes.
const STEPS_PER_BYTE: u64 = 64;

/// Steps of an input that has no bytes.
const STEPS_MIN: u64 = 1000;

/// Bytes that are read from their beginning.
pub(crate) struct Input<'b> {
    bytes: &'b [u8],
    steps: u64,
    depth: u32,
}

/// A value without parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar<'b> {
    Null,
    Long(i64),
    Text(&'b str),
    /// Of another type.
    Other,
}

impl<'b> Scalar<'b> {
    pub(crate) fn long(self) -> Option<i64> {
        match self {
            Scalar::Long(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn text(self) -> Option<&'b str> {
        match self {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'b> Input<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Input<'b> {
        let steps = STEPS_MIN + STEPS_PER_BYTE * bytes.len() as u64;
        Input { bytes, steps, depth: 0 }
    }

    /// Bytes that were not read.
    pub(crate) fn rest(&self) -> &'b [u8] {
        self.bytes
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<&'b [u8], Invalid> {
        match self.bytes.split_at_checked(bytes) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => Err(Invalid::new("Avro file: it ends within a value")),
        }
    }

    /// An integer: seven bits in each byte, the lowest first, with the sign in the lowest bit.
    pub(super) fn long(&mut self) -> Result<i64, Invalid> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has one bit.
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(Invalid::new("Avro file: an integer has more than 64 bits"))
    }

    pub(super) fn bytes(&mut self) -> Result<&'b [u8], Invalid> {
        match usize::try_from(self.long()?) {
            Ok(bytes) => self.take(bytes),
            Err(_) => Err(Invalid::new("Avro file: a length is negative")),
        }
    }

    pub(super) fn text(&mut self) -> Result<&'b str, Invalid> {
        match std::str::from_utf8(self.bytes()?) {
            Ok(text) => Ok(text),
            Err(_) => Err(Invalid::new("Avro file: a string is not UTF-8")),
        }
    }

    /// The number of items in the next block of an array or map. `None` behind the last one.
    pub(super) fn block_of_items(&mut self) -> Result<Option<u64>, Invalid> {
        match self.long()? {
            0 => Ok(None),
            items @ 1.. => Ok(Some(items.unsigned_abs())),
            items => {
                // A negative number is followed by the bytes of the block, for readers that skip it.
                self.long()?;
                Ok(Some(items.unsigned_abs()))
            }
        }
    }

    /// Counts a step into a type.
    fn enter(&mut self) -> Result<(), Invalid> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            refuse!("Avro file: a value is nested more than {DEPTH_MAX} deep");
        }
        match self.steps.checked_sub(1) {
            Some(steps) => {
                self.steps = steps;
                Ok(())
            }
            None => Err(Invalid::new("Avro file: it has too many values for its length")),
        }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Reads a record, or nothing where a union has no record. `read` must read or skip the value of the field.
    pub(crate) fn record(
        &mut self,
        schema: &Schema,
        at: usize,
        read: &mut dyn FnMut(&Field, &mut Input<'b>) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        self.enter()?;
        match schema.node(at) {
            Node::Record(fields) => fields.iter().try_for_each(|field| read(field, self))?,
            Node::Union(branches) => {
                let branch = self.branch(branches)?;
                self.record(schema, branch, read)?;
            }
            _ => self.skip(schema, at)?,
        }
        self.leave();
        Ok(())
    }

    /// Reads a value, and skips it where it has parts.
    pub(crate) fn scalar(&mut self, schema: &Schema, at: usize) -> Result<Scalar<'b>, Invalid> {
        self.enter()?;
        let scalar = match schema.node(at) {
            Node::Null => Scalar::Null,
            Node::Int | Node::Long => Scalar::Long(self.long()?),
            Node::String => Scalar::Text(self.text()?),
            Node::Union(branches) => {
                let branch = self.branch(branches)?;
                self.scalar(schema, branch)?
            }
            _ => {
                self.skip(schema, at)?;
                Scalar::Other
            }
        };
        self.leave();
        Ok(scalar)
    }

    /// Skips a value.
    pub(crate) fn skip(&mut self, schema: &Schema, at: usize) -> Result<(), Invalid> {
        self.enter()?;
        match schema.node(at) {
            Node::Null => {}
            Node::Boolean => drop(self.take(1)?),
            Node::Int | Node::Long | Node::Enum => drop(self.long()?),
            Node::Float => drop(self.take(4)?),
            Node::Double => drop(self.take(8)?),
            Node::Bytes | Node::String => drop(self.bytes()?),
            Node::Fixed(bytes) => drop(self.take(*bytes)?),
            Node::Array(items) => {
                while let Some(count) = self.block_of_items()? {
                    for _ in 0..count {
                        self.skip(schema, *items)?;
                    }
                }
            }
            Node::Map(values) => {
                while let Some(count) = self.block_of_items()? {
                    for _ in 0..count {
                        self.bytes()?;
                        self.skip(schema, *values)?;
                    }
                }
            }
            Node::Union(branches) => {
                let branch = self.branch(branches)?;
                self.skip(schema, branch)?;
            }
            Node::Record(fields) => {
                for field in fields {
                    self.skip(schema, field.node)?;
                }
            }
        }
        self.leave();
        Ok(())
    }

    fn branch(&mut self, branches: &[usize]) -> Result<usize, Invalid> {
        let number = usize::try_from(self.long()?).ok();
        match number.and_then(|number| branches.get(number)) {
            Some(branch) => Ok(*branch),
            None => Err(Invalid::new("Avro file: a union has no such branch")),
        }
    }
}
