//! Answers to requests that have a key.

use serde::{Deserialize, Serialize};

use super::record::{self, Sealed};
use super::space;
use crate::error::StoreError;

/// An answer. The body of the record is the answer itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerRecord {
    /// Time at which it was given, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The request.
    pub(crate) request: String,
    /// The canonical id of the account to which it was given; empty in records of version 1.
    pub(crate) account: String,
}

impl AnswerRecord {
    /// The key of the row with the time of the answer at a place; none for one of version 1.
    pub(crate) fn time(&self, place: &[u8]) -> Option<Vec<u8>> {
        let key = space::key_of_answer(place).filter(|_| !self.account.is_empty())?;
        Some(space::answer_time(&self.account, self.at_ms, &key))
    }

    pub(crate) fn encode(&self, place: &[u8], answer: &[u8]) -> Vec<u8> {
        record::seal(2, place, self, answer)
    }

    /// The record and the answer.
    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<(Self, Vec<u8>), StoreError> {
        const WHAT: &str = "the record of an answer";
        let (version, _) = record::split_version(bytes, 2)?;
        let sealed = Sealed::open(place, bytes, WHAT)?;
        let fields = match version {
            1 => {
                let (at_ms, request) = record::take_all(sealed.fields, WHAT)?;
                Self { at_ms, request, account: String::new() }
            }
            _ => record::take_all(sealed.fields, WHAT)?,
        };
        Ok((fields, sealed.body.verified(WHAT)?.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_given_and_damage_is_found() {
        let place = space::answer(&[7; 16]);
        let (request, account) = ("DropTable".to_owned(), "me".to_owned());
        let record = AnswerRecord { at_ms: 5, request, account };
        let encoded = record.encode(&place, b"{}");
        let read = AnswerRecord::decode(&place, &encoded).expect("own bytes");
        assert_eq!(read, (record, b"{}".to_vec()));
        for at in 0..encoded.len() {
            let mut damaged = encoded.clone();
            damaged[at] ^= 1;
            AnswerRecord::decode(&place, &damaged).expect_err("damaged");
        }
    }

    #[test]
    fn an_answer_of_an_earlier_program_has_no_account() {
        let place = space::answer(&[7; 16]);
        let encoded = record::seal(1, &place, &(5_u64, "DropTable"), b"{}");
        let (record, answer) = AnswerRecord::decode(&place, &encoded).expect("version 1");
        let (request, account) = ("DropTable".to_owned(), String::new());
        assert_eq!(record, AnswerRecord { at_ms: 5, request, account });
        assert_eq!(answer, b"{}");
    }
}
