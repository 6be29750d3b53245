//! Encrypted bodies of MinIO's admin API, for clients of tests.

use crate::minio::sealed;

/// A body that the holder of `secret` opens.
///
/// # Panics
/// Without random bytes.
pub fn seal_admin_body(secret: &str, plain: &[u8]) -> Vec<u8> {
    sealed::seal(secret, plain).expect("random bytes")
}

/// The text of a body, unless it is of another secret or none at all.
pub fn open_admin_body(secret: &str, body: &[u8]) -> Option<Vec<u8>> {
    sealed::open(secret, body).ok()
}
