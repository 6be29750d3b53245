//! The encoding in which ACLs and settings of ownership are stored: one byte of version, then the fields as
//! postcard encodes them.

use serde::Serialize;
use serde::de::DeserializeOwned;

const VERSION: u8 = 1;

/// Bytes that are no value of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A newer version of the program wrote it.
    #[error("a newer version of LiteIO wrote it (its version is {0})")]
    TooNew(u8),
    /// It is damaged.
    #[error("it is damaged")]
    Damaged,
}

/// A value as it is stored.
pub fn encode(value: &impl Serialize) -> Vec<u8> {
    // Only values that know no length beforehand are refused, and there are none here.
    postcard::to_extend(value, vec![VERSION]).unwrap_or_default()
}

/// A value that [`encode`] wrote.
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
