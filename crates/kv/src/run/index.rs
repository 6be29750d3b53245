//! [`Index`]: the places of the blocks of a run, with the last key of each.

/// The place of a block in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    /// Bytes with the header.
    pub(super) bytes: u32,
    /// The number in the header. It equals the position in the index unless blocks are missing.
    pub(super) number: u32,
}

/// The blocks in order.
#[derive(Debug, Default)]
pub(super) struct Index {
    places: Vec<Place>,
    /// The last keys, concatenated, and the end of each.
    keys: Vec<u8>,
    key_ends: Vec<usize>,
}

impl Index {
    pub(super) fn push(&mut self, place: Place, last_key: &[u8]) {
        self.places.push(place);
        self.keys.extend_from_slice(last_key);
        self.key_ends.push(self.keys.len());
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes in memory.
    pub(super) fn memory(&self) -> usize {
        self.len() * (size_of::<Place>() + size_of::<usize>()) + self.keys.len()
    }

    pub(super) fn place(&self, at: usize) -> Place {
        self.places[at]
    }

    fn last_key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.key_ends[before]);
        &self.keys[start..self.key_ends[at]]
    }

    /// The first block whose last key is not below `key`: the only one that can have it.
    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let (mut start, mut end) = (0, self.len());
        // A binary search over keys that lie side by side.
        while start < end {
            let middle = start + (end - start) / 2;
            match self.last_key(middle) < key {
                true => start = middle + 1,
                false => end = middle,
            }
        }
        (start < self.len()).then_some(start)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a key has at most 1 GiB")]
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len() * 16 + self.keys.len());
        for (at, place) in self.places.iter().enumerate() {
            let key = self.last_key(at);
            bytes.extend_from_slice(&place.offset.to_le_bytes());
            bytes.extend_from_slice(&place.bytes.to_le_bytes());
            bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
            bytes.extend_from_slice(key);
        }
        bytes
    }

    /// `None` if the bytes are not an index.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut index = Self::default();
        while !bytes.is_empty() {
            let (offset, rest) = bytes.split_first_chunk::<8>()?;
            let (block_bytes, rest) = rest.split_first_chunk::<4>()?;
            let (key_bytes, rest) = rest.split_first_chunk::<4>()?;
            let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*key_bytes) as usize)?;
            let place = Place {
                offset: u64::from_le_bytes(*offset),
                bytes: u32::from_le_bytes(*block_bytes),
                number: u32::try_from(index.len()).ok()?,
            };
            index.push(place, key);
            bytes = rest;
        }
        Some(index)
    }
}
