//! Stages object bodies of any length.

use liteio_store::StoreError;
use liteio_store::limits::PART_BYTES_MAX;
use liteio_store::{
    BodyHasher, BodyOptions, BodyWriter, Encryption, PartsSealing, StagedBody, Store,
};

/// The encryption of the bodies of one object.
pub(crate) enum Sealing {
    None,
    /// Of the only body.
    One(Encryption),
    Parts(PartsSealing),
}

/// Stages the bytes of an object of known length. An object that is too long for one body is split
/// into several, as parts.
#[derive(Debug)]
pub(crate) struct Stager<'s> {
    store: &'s Store,
    /// The encryption of the parts, if there may be several.
    parts: Option<PartsSealing>,
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
    /// The errors of [`Store::begin_body`] and [`Store::seal_object`].
    pub(crate) fn new(
        store: &'s Store,
        bytes: u64,
        sealing: &Sealing,
    ) -> Result<Stager<'s>, StoreError> {
        Self::with_bodies_of(store, bytes, sealing, PART_BYTES_MAX)
    }

    fn with_bodies_of(
        store: &'s Store,
        bytes: u64,
        sealing: &Sealing,
        body_bytes_max: u64,
    ) -> Result<Stager<'s>, StoreError> {
        let bodies = bytes.div_ceil(body_bytes_max).max(1);
        // Equal lengths, so that no body is short enough to be inline.
        let body_bytes = bytes.div_ceil(bodies);
        let whole = (bodies > 1).then(|| BodyHasher::new(&[]));
        let (one, parts) = match sealing {
            Sealing::None => (None, None),
            Sealing::One(encryption) => (Some(store.seal_object(encryption)?), None),
            Sealing::Parts(parts) => (None, Some(parts.clone())),
        };
        let body = begin(store, body_bytes, one, parts.as_ref())?;
        Ok(Stager { store, parts, left: bytes, body_bytes, body, done: Vec::new(), whole })
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
                let next = begin(self.store, self.body_bytes, None, self.parts.as_ref())?;
                let full = std::mem::replace(&mut self.body, next);
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

/// Begins a body that is encrypted by `one`, as one of `parts`, or not.
fn begin(
    store: &Store,
    bytes: u64,
    one: Option<liteio_store::Sealing>,
    parts: Option<&PartsSealing>,
) -> Result<BodyWriter, StoreError> {
    let sealing = match (one, parts) {
        (Some(one), _) => Some(one),
        (None, parts) => parts.map(|parts| store.seal_imported_part(parts)).transpose()?,
    };
    let expected_bytes = Some(bytes);
    store.begin_body(BodyOptions { expected_bytes, sealing, ..BodyOptions::default() })
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
                Stager::with_bodies_of(&store, 100_000, &Sealing::None, body_bytes_max)
                    .expect("begins");
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
