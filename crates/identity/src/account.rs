//! Accounts: the owners of buckets.

use sha2::{Digest, Sha256};

use super::{IdentityError, fail};

/// Digits of an account id.
const ID_DIGITS: usize = 12;
/// Maximum bytes of a canonical id. Generated ones have 64.
const CANONICAL_ID_BYTES_MAX: usize = 128;

/// An account: the owner of buckets, with a root user and any number of other users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// 12 digits, as in ARNs.
    pub id: String,
    /// The canonical id: the owner in listings and access control lists.
    pub canonical_id: String,
    /// The display name shown with it.
    pub display_name: String,
}

impl Account {
    /// A checked account.
    ///
    /// # Errors
    /// [`IdentityError`] if an id or the display name is invalid.
    pub fn new(
        id: String,
        canonical_id: String,
        display_name: String,
    ) -> Result<Account, IdentityError> {
        if id.len() != ID_DIGITS || !id.bytes().all(|byte| byte.is_ascii_digit()) {
            return fail("account needs 12 digits");
        }
        let is_canonical_id = (1..=CANONICAL_ID_BYTES_MAX).contains(&canonical_id.len())
            && canonical_id.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_canonical_id {
            return fail(format!(
                "id needs 1 to {CANONICAL_ID_BYTES_MAX} visible ASCII characters"
            ));
        }
        if display_name.chars().any(char::is_control) {
            return fail("display_name holds a control character");
        }
        Ok(Account { id, canonical_id, display_name })
    }
}

/// The default canonical id of a user: stable, and derived from the access key alone.
pub fn canonical_id_of_key(access_key: &str) -> String {
    let digest = Sha256::new_with_prefix("liteio:").chain_update(access_key).finalize();
    hex_simd::encode_to_string(digest.as_slice(), hex_simd::AsciiCase::Lower)
}

/// The default id of an account, derived from its canonical id.
pub fn id_of_canonical_id(canonical_id: &str) -> String {
    let digest = Sha256::new_with_prefix("liteio account:").chain_update(canonical_id).finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    format!("{:0ID_DIGITS$}", u64::from_be_bytes(first) % 10_u64.pow(ID_DIGITS as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_and_checked() {
        let canonical_id = canonical_id_of_key("alice-key");
        assert_eq!(canonical_id.len(), 64);
        let id = id_of_canonical_id(&canonical_id);
        assert_eq!(id, id_of_canonical_id(&canonical_id));
        assert_ne!(id, id_of_canonical_id("other"));
        let account = |id: &str, canonical_id: &str, name: &str| {
            Account::new(id.to_owned(), canonical_id.to_owned(), name.to_owned())
        };
        assert!(account(&id, &canonical_id, "").is_ok());
        for wrong in ["", "12345678901", "1234567890123", "12345678901a", "１２３４"] {
            assert!(account(wrong, "a", "").is_err(), "{wrong}");
        }
        for wrong in ["", "a b", "é", &"a".repeat(129)] {
            assert!(account(&id, wrong, "").is_err(), "{wrong}");
        }
        assert!(account(&id, "a", "b\n").is_err());
    }
}
