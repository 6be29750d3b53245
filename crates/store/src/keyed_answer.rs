//! [`KeyedAnswer`]: the answer that is written with the change that it is about.

use liteio_kv::{Read as _, Transaction, Write as _};

use crate::catalog_error::CatalogError;
use crate::error::StoreError;
use crate::meta::answer::AnswerRecord;
use crate::meta::claim::Claim;
use crate::meta::space;

/// The answer to a request with a key. The store does not interpret it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedAnswer {
    /// The key.
    pub key: [u8; 16],
    /// The canonical id of the sender's account.
    pub account: String,
    /// The request, as far as it must be the same when the key is used again.
    pub request: String,
    /// The answer.
    pub answer: Vec<u8>,
}

impl KeyedAnswer {
    /// Writes the answer.
    ///
    /// # Errors
    /// [`CatalogError::Answered`] if the key has one.
    pub(crate) fn write(&self, write: &mut Transaction<'_>, now_ms: u64) -> Result<(), StoreError> {
        write.claim(Claim::Answer(&self.key))?;
        let place = space::answer(&self.key);
        if write.get(&place)?.is_some() {
            return Err(CatalogError::Answered.into());
        }
        write.put(&space::answer_time(&self.account, now_ms, &self.key), &[])?;
        let account = self.account.clone();
        let record = AnswerRecord { at_ms: now_ms, request: self.request.clone(), account };
        Ok(write.put(&place, &record.encode(&place, &self.answer))?)
    }
}
