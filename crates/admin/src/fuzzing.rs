//! Encrypted bodies of MinIO's admin API, for test clients.

use liteio_client::sealed;

/// Encrypts a body with `secret`.
///
/// # Panics
/// The system has no random bytes.
pub fn seal_admin_body(secret: &str, plain: &[u8]) -> Vec<u8> {
    sealed::seal_quickly(secret, plain).expect("random bytes")
}

/// Decrypts a body; `None` if it is invalid or was encrypted with another secret.
pub fn open_admin_body(secret: &str, body: &[u8]) -> Option<Vec<u8>> {
    sealed::open(secret, body).ok()
}
