//! Opaque tokens: versions of tables, and positions in listings.

use liteio_store::tables::{NamespaceName, TableName};

use crate::error::{ApiResult, Exception};

/// Between the namespace and the name in a position. No name contains it.
const SEPARATOR: char = '\u{1E}';

/// The version token of a table whose metadata are at a location: a hash of it (FNV-1a of 128 bits), so that commits by
/// the REST catalog change it, too. It must be the same in all versions of the server: several may run in one cluster.
pub(super) fn version_of(location: &str) -> String {
    const OFFSET: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
    let hash =
        location.bytes().fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{hash:032x}")
}

/// The continuation token of a position.
pub(super) fn continuation_of(position: &str) -> String {
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(position)
}

/// The position of a continuation token.
pub(super) fn position_of(token: &str) -> ApiResult<String> {
    let position = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(token).ok();
    let position = position.and_then(|position| String::from_utf8(position).ok());
    position.ok_or_else(no_token)
}

/// The position of a table in a listing of all.
pub(super) fn position_of_table(name: &TableName) -> String {
    format!("{}{SEPARATOR}{}", name.namespace().path(), name.name())
}

/// The table of such a position.
pub(super) fn table_at(position: &str) -> ApiResult<TableName> {
    let (path, name) = position.split_once(SEPARATOR).ok_or_else(no_token)?;
    let namespace = NamespaceName::of_path(path).map_err(|_| no_token())?;
    TableName::new(namespace, name.to_owned()).map_err(|_| no_token())
}

fn no_token() -> Exception {
    Exception::bad_request("The continuation token is not one of this server.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_token_depends_on_the_location_only() {
        // The reference value of the hash for one letter.
        assert_eq!(version_of("a"), "d228cb696f1a8caf78912b704e4a8964");
        assert_ne!(version_of("s3://b/1"), version_of("s3://b/2"));
    }

    #[test]
    fn a_position_is_a_token_and_back() {
        let namespace = NamespaceName::of_path("a\u{1F}b").expect("a name");
        let name = TableName::new(namespace, "t/ä".to_owned()).expect("a name");
        let token = continuation_of(&position_of_table(&name));
        let position = position_of(&token).expect("a position");
        assert_eq!(table_at(&position).expect("a table"), name);
        for token in ["!", "YQ"] {
            position_of(token).and_then(|it| table_at(&it)).expect_err(token);
        }
    }
}
