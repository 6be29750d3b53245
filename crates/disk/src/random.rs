//! Randomness, passed in: a seed replays a run.

use std::fmt::Debug;
use std::io;

#[cfg(feature = "test-util")]
use parking_lot::Mutex;

/// A source of random bytes, for ids and keys.
pub trait RandomSource: Send + Sync + Debug {
    /// Fills `bytes`. Ids and keys made of them must be unpredictable.
    ///
    /// # Errors
    /// The error of the source: then nothing can be written that needs an id or a key.
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()>;
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl RandomSource for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        let failed = |error| io::Error::other(format!("no random bytes from the system: {error}"));
        getrandom::fill(bytes).map_err(failed)
    }
}

/// A generator with reproducible output.
#[cfg(feature = "test-util")]
#[derive(Debug)]
pub struct SeededRandom {
    state: Mutex<u64>,
}

#[cfg(feature = "test-util")]
impl SeededRandom {
    /// A generator whose output is a function of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: Mutex::new(seed) }
    }

    /// The next number (SplitMix64).
    pub fn next_u64(&self) -> u64 {
        let mut state = self.state.lock();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be zero.
    pub fn below(&self, end: u64) -> u64 {
        self.next_u64() % end
    }
}

#[cfg(feature = "test-util")]
impl RandomSource for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}
