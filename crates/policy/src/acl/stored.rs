//! The encoding in which ACLs and settings of ownership are stored: one byte of version, then the fields as
//! postcard encodes them.

use serde::Serialize;
use serde::de::DeserializeOwned;

const VERSION: u8 = 1;

/// The error for bytes that are not a value of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A newer version of the program wrote it.
    #[error("a newer version of LiteIO wrote it (its version is {0})")]
    TooNew(u8),
    /// It is damaged.
    #[error("it is damaged")]
    Damaged,
}

/// Encodes a value for storage.
pub fn encode(value: &impl Serialize) -> Vec<u8> {
    // Only sequences of unknown length can fail, and these types have none.
    postcard::to_extend(value, vec![VERSION]).unwrap_or_default()
}

/// Decodes a value written by [`encode`].
///
/// # Errors
/// [`Unreadable`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    let (version, fields) = bytes.split_first().ok_or(Unreadable::Damaged)?;
    match *version {
        VERSION => match postcard::take_from_bytes(fields) {
            Ok((value, [])) => Ok(value),
            _ => Err(Unreadable::Damaged),
        },
        newer => Err(Unreadable::TooNew(newer)),
    }
}
