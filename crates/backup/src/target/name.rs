//! The check of names: what one target accepts, all accept.

use bytes::Bytes;

use super::TargetError;
use crate::limits::{COMPONENT_BYTES_MAX, NAME_BYTES_MAX, OBJECT_BYTES_MAX};

/// First component that no name has: a directory keeps its temporary files there.
pub(super) const TEMPORARY: &str = "tmp";

/// `true` if `name` is the name of an object.
pub(super) fn is_name(name: &str) -> bool {
    let first = name.split('/').next();
    name.len() <= NAME_BYTES_MAX && first != Some(TEMPORARY) && name.split('/').all(is_component)
}

/// `true` if `text` may be a part of a name. It never leads out of a directory.
pub(super) fn is_component(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=COMPONENT_BYTES_MAX).contains(&text.len())
        && !matches!(text, "." | "..")
        && text.bytes().all(is_plain)
}

/// Accepts the name of an object.
pub(super) fn check(name: &str) -> Result<(), TargetError> {
    if is_name(name) {
        return Ok(());
    }
    let reason = format!("{name:?} is no name of a backup's object; write letters, digits and ._-");
    Err(TargetError::Refused(reason))
}

/// Accepts an object that is to be stored.
pub(super) fn check_object(name: &str, bytes: &Bytes) -> Result<(), TargetError> {
    check(name)?;
    if bytes.len() as u64 <= OBJECT_BYTES_MAX {
        return Ok(());
    }
    Err(too_large(name, bytes.len() as u64))
}

/// The refusal of an object of more than [`OBJECT_BYTES_MAX`] bytes.
pub(super) fn too_large(name: &str, bytes: u64) -> TargetError {
    TargetError::Refused(format!(
        "{name} has {bytes} bytes, and no object of a backup has more than {OBJECT_BYTES_MAX}; see \
         what wrote it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_lead_nowhere_else() {
        let long = "a".repeat(COMPONENT_BYTES_MAX);
        for name in ["a", "a/b", "log/00000001.seg", "...", "A_b-c.9", "a/tmp", "tmpx", &long] {
            assert!(is_name(name), "{name}");
        }
        let (longer, longest) = (format!("{long}a"), ["a"; 257].join("/"));
        let wrong = [
            "", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a b", "a\\b", "ü", "a\0",
            "tmp", "tmp/a", "a%2fb", &longer, &longest,
        ];
        for name in wrong {
            assert!(matches!(check(name), Err(TargetError::Refused(_))), "{name}");
        }
    }
}
