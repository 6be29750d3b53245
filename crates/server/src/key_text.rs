//! Master keys as text, in variables and files.

use liteio_store::EncryptionKey;

/// Checks master keys before they are used.
///
/// # Errors
/// One line without any key, to which the caller adds the name of the variable.
pub(crate) fn check(text: &str) -> Result<(), String> {
    master_keys(name_and_keys(text).1).map(drop)
}

/// Splits `NAME:KEY`; the name is optional.
pub(crate) fn name_and_keys(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        // A comment may have a colon.
        Some((name, keys)) if !name.contains('#') => (Some(name), keys),
        _ => (None, text),
    }
}

/// Parses master keys; the first one encrypts.
///
/// # Errors
/// One line without any key.
pub(crate) fn master_keys(text: &str) -> Result<Vec<EncryptionKey>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let words = lines.flat_map(|line| line.split(',')).map(str::trim);
    let keys =
        words.filter(|word| !word.is_empty()).map(parse_key).collect::<Result<Vec<_>, _>>()?;
    match keys.is_empty() {
        true => Err("there is no key: `liteio key new FILE` creates one".to_owned()),
        false => Ok(keys),
    }
}

/// Parses one key, 32 bytes in base64.
///
/// # Errors
/// One line without the key.
pub(crate) fn parse_key(text: &str) -> Result<EncryptionKey, String> {
    let bytes = base64_simd::STANDARD.decode_to_vec(text).ok();
    let bytes: Option<[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes.map(EncryptionKey::new).ok_or_else(|| "a key is not 32 bytes in base64".to_owned())
}
