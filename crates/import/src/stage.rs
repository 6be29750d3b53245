//! Stages object bodies of any length.

use liteio_store::StoreError;
use liteio_store::limits::PART_BYTES_MAX;
use liteio_store::{BodyHasher, BodyOptions, BodyWriter, StagedBody, Store};

/// Stages the bytes of an object of known length. An object that is too long for one body is split
/// into several, as parts.
#[derive(Debug)]
pub(crate) struct Stager<'s> {
    store: &'s Store,
    /// Bytes that are still expected.
    left: u64,
    /// Length of every body but the last.
    body_bytes: u64,
    body: BodyWriter,
    done: Vec<StagedBody>,
    /// Hashes the whole object, if it is split.
    whole: Option<BodyHasher>,
}

impl<'s> Stager<'s> {
    /// # Errors
    /// The errors of [`Store::begin_body`].
    pub(crate) fn new(store: &'s Store, bytes: u64) -> Result<Stager<'s>, StoreError> {
        Self::with_bodies_of(store, bytes, PART_BYTES_MAX)
    }

    fn with_bodies_of(
        store: &'s Store,
        bytes: u64,
        body_bytes_max: u64,
    ) -> Result<Stager<'s>, StoreError> {
        let bodies = bytes.div_ceil(body_bytes_max).max(1);
        // Equal lengths, so that no body is short enough to be inline.
        let body_bytes = bytes.div_ceil(bodies);
        let whole = (bodies > 1).then(|| BodyHasher::new(&[]));
        let body = begin(store, body_bytes)?;
        Ok(Stager { store, left: bytes, body_bytes, body, done: Vec::new(), whole })
    }

    /// Adds bytes. `Ok(false)` if they exceed the announced length.
    ///
    /// # Errors
    /// The errors of [`BodyWriter::write`].
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<bool, StoreError> {
        if bytes.len() as u64 > self.left {
            return Ok(false);
        }
        self.left -= bytes.len() as u64;
        if let Some(whole) = &mut self.whole {
            whole.update(bytes);
        }
        while !bytes.is_empty() {
            let room = self.body_bytes - self.body.bytes();
            if room == 0 {
                let full = std::mem::replace(&mut self.body, begin(self.store, self.body_bytes)?);
                self.done.push(full.finish()?);
                continue;
            }
            let fitting = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
            let (now, rest) = bytes.split_at(fitting);
            self.body.write(now)?;
            bytes = rest;
        }
        Ok(true)
    }

    /// Bytes that are still expected.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Returns the bodies, and the MD5 of the whole object.
    ///
    /// # Errors
    /// The errors of [`BodyWriter::finish`].
    pub(crate) fn finish(mut self) -> Result<(Vec<StagedBody>, [u8; 16]), StoreError> {
        let last = self.body.finish()?;
        let md5 = match self.whole {
            Some(whole) => whole.finish().md5,
            None => last.digests().md5,
        };
        self.done.push(last);
        Ok((self.done, md5))
    }
}

fn begin(store: &Store, bytes: u64) -> Result<BodyWriter, StoreError> {
    store.begin_body(BodyOptions { expected_bytes: Some(bytes), ..BodyOptions::default() })
}

#[cfg(test)]
mod tests {
    use liteio_store::StoreConfig;

    use super::*;

    #[test]
    fn a_long_object_becomes_several_bodies_with_one_md5() {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let bytes: Vec<u8> = (0..100_000_u32).map(|number| (number % 251) as u8).collect();
        let staged = |body_bytes_max| {
            let mut stager =
                Stager::with_bodies_of(&store, 100_000, body_bytes_max).expect("begins");
            for piece in bytes.chunks(7_001) {
                assert!(stager.write(piece).expect("written"));
            }
            assert!(!stager.write(b"more").expect("not written"), "more than announced");
            let (bodies, md5) = stager.finish().expect("staged");
            (bodies.iter().map(|body| body.digests().bytes).collect::<Vec<u64>>(), md5)
        };
        let (one, md5) = staged(PART_BYTES_MAX);
        assert_eq!(one, [100_000]);
        assert_eq!(staged(40_000), (vec![33_334, 33_334, 33_332], md5));
    }
}
