//! [`Footer`]: the places of index and filter in a run.

use liteio_disk::DiskFile;

use super::block::sum;
use super::filter::Filter;
use super::index::Index;
use super::{KvError, RunName};
use crate::log::is_unreadable;

const FOOTER_BYTES: usize = 52;
const MAGIC: [u8; 8] = *b"LiteIOr1";

/// The end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    index_bytes: u64,
    filter_bytes: u64,
    index_sum: u32,
    filter_sum: u32,
}

impl Footer {
    pub(super) fn of(index: &[u8], filter: &[u8]) -> Self {
        Self {
            index_bytes: index.len() as u64,
            filter_bytes: filter.len() as u64,
            index_sum: sum(&[index]),
            filter_sum: sum(&[filter]),
        }
    }

    pub(super) fn encode(&self, name: &RunName) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for field in [name.stamp, name.blocks, self.index_bytes, self.filter_bytes] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        for field in [self.index_sum, self.filter_sum] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&sum(&[&bytes]).to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; FOOTER_BYTES], name: &RunName) -> Option<Self> {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let footer = Self {
            index_bytes: long(24),
            filter_bytes: long(32),
            index_sum: number(40),
            filter_sum: number(44),
        };
        (footer.encode(name) == bytes).then_some(footer)
    }

    /// Index and filter of a file of `bytes` bytes; `None` if they are damaged, or belong to
    /// another run than `name`.
    pub(super) fn read_derived(
        file: &dyn DiskFile,
        bytes: u64,
        name: &RunName,
    ) -> Result<Option<(Index, Filter)>, KvError> {
        let read = |end: u64, count: u64| -> Result<Option<Vec<u8>>, KvError> {
            let Some(offset) = end.checked_sub(count) else { return Ok(None) };
            let Ok(count) = usize::try_from(count) else { return Ok(None) };
            let mut content = vec![0; count];
            match file.read_at(&mut content, offset) {
                Ok(read) => Ok((read == count).then_some(content)),
                Err(error) if is_unreadable(&error) => Ok(None),
                Err(error) => Err(error.into()),
            }
        };
        // From the end of the file backward: footer, filter, index.
        let Some(content) = read(bytes, FOOTER_BYTES as u64)? else { return Ok(None) };
        let footer = content.first_chunk().and_then(|content| Self::decode(content, name));
        let Some(footer) = footer else { return Ok(None) };
        let end = bytes - FOOTER_BYTES as u64;
        let Some(filter) = read(end, footer.filter_bytes)? else { return Ok(None) };
        let Some(index) = read(end - footer.filter_bytes, footer.index_bytes)? else {
            return Ok(None);
        };
        // Damage here is harmless: the caller rebuilds both from the blocks.
        if sum(&[&filter]) != footer.filter_sum || sum(&[&index]) != footer.index_sum {
            return Ok(None);
        }
        let index = Index::decode(&index).filter(|index| index.len() as u64 == name.blocks);
        Ok(index.zip(Filter::decode(&filter)))
    }
}
