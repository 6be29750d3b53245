//! [`Joined`]: MD5 of a stream, and its SHA-256 if that is wanted, over the same blocks.

use super::md5::{BLOCK_BYTES, Md5, Md5Words, compress};
use super::sha256;

/// Computes MD5 over a stream of bytes, and SHA-256 beside it.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    md5: Md5,
    sha256: Option<sha256::Words>,
}

impl Joined {
    /// Starts with no bytes.
    pub(crate) fn new(has_sha256: bool) -> Self {
        Self { md5: Md5::new(), sha256: has_sha256.then_some(sha256::START) }
    }

    /// Digests the next bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let Self { md5, sha256 } = self;
        md5.update_by(bytes, |state, blocks| match sha256 {
            Some(sha256) => sha256::compress_with_md5(state, sha256, blocks),
            None => compress([state], [blocks]),
        });
    }

    /// The digest by MD5, which counts the bytes.
    pub(crate) fn md5(&self) -> &Md5 {
        &self.md5
    }

    /// The states of a stream that is at the end of a block. Both must digest the same blocks, whose number
    /// [`Joined::advance`] takes afterwards.
    pub(crate) fn states(&mut self) -> (&mut Md5Words, Option<&mut sha256::Words>) {
        (self.md5.state_mut(), self.sha256.as_mut())
    }

    /// Counts blocks that the states have digested.
    pub(crate) fn advance(&mut self, blocks: usize) {
        self.md5.count(blocks * BLOCK_BYTES);
    }

    /// The digests of all bytes.
    pub(crate) fn finish(self) -> ([u8; 16], Option<[u8; 32]>) {
        let sha256 =
            self.sha256.map(|state| sha256::finish(state, self.md5.rest(), self.md5.bytes()));
        (self.md5.finish(), sha256)
    }
}
