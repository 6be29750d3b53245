//! [`PayloadHash`]: the SHA-256 of a body that the client has signed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest as _, Sha256};

use super::error;
use super::signing_key::{Signature, hex_digest};
use liteio_wire::reply::ApiError;

/// The SHA-256 that the client has signed for the body, in the extensions of its request.
///
/// The body compares it while it streams, before its last bytes leave. A reader that digests the body anyway may
/// [take](Self::take) the comparison over, which then costs little more.
#[derive(Clone, Debug)]
pub struct PayloadHash(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    expected: Signature,
    /// `true` once it is settled who compares.
    is_taken: AtomicBool,
}

/// The comparison of a body's SHA-256, which has to be made before anything becomes of the body.
#[derive(Debug)]
#[must_use]
pub struct TakenHash(Signature);

impl PayloadHash {
    pub(super) fn new(expected: Signature) -> Self {
        Self(Arc::new(Shared { expected, is_taken: AtomicBool::new(false) }))
    }

    /// Takes the comparison over. `None` if the body has begun to stream, and compares itself.
    pub fn take(&self) -> Option<TakenHash> {
        let was_taken = self.0.is_taken.swap(true, Ordering::Relaxed);
        (!was_taken).then(|| TakenHash(self.0.expected))
    }
}

impl TakenHash {
    /// Compares the SHA-256 of the whole body.
    ///
    /// # Errors
    /// `XAmzContentSHA256Mismatch`.
    // A plain comparison suffices: the client knows the expected hash, it is no secret.
    pub fn check(&self, computed: &[u8]) -> Result<(), ApiError> {
        let computed = hex_digest(computed);
        match computed == self.0 {
            true => Ok(()),
            false => Err(error::content_sha256_mismatch(&self.0, &computed)),
        }
    }
}

/// The comparison by the body itself, unless a reader has taken it over.
pub(super) struct StreamedHash {
    hash: PayloadHash,
    state: State,
}

enum State {
    /// Nothing has left yet.
    Unbegun,
    Own(Sha256, TakenHash),
    Reader,
}

impl StreamedHash {
    pub(super) fn new(hash: PayloadHash) -> Self {
        Self { hash, state: State::Unbegun }
    }

    /// Digests the next bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        if let State::Own(hasher, _) = self.begun() {
            hasher.update(bytes);
        }
    }

    /// Compares the hash of all bytes.
    pub(super) fn check(&mut self) -> Result<(), ApiError> {
        match self.begun() {
            State::Own(hasher, taken) => taken.check(&hasher.clone().finalize()),
            State::Unbegun | State::Reader => Ok(()),
        }
    }

    fn begun(&mut self) -> &mut State {
        if let State::Unbegun = self.state {
            self.state = match self.hash.take() {
                Some(taken) => State::Own(Sha256::new(), taken),
                None => State::Reader,
            };
        }
        &mut self.state
    }
}
