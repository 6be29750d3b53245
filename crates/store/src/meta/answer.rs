//! Answers to requests that have a key.

use serde::{Deserialize, Serialize};

use super::record::{self, Sealed};
use crate::error::StoreError;

/// An answer. The body of the record is the answer itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerRecord {
    /// Time at which it was given, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The request.
    pub(crate) request: String,
}

impl AnswerRecord {
    pub(crate) fn encode(&self, place: &[u8], answer: &[u8]) -> Vec<u8> {
        record::seal(1, place, self, answer)
    }

    /// The record and the answer.
    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<(Self, Vec<u8>), StoreError> {
        const WHAT: &str = "the record of an answer";
        record::split_version(bytes, 1)?;
        let sealed = Sealed::open(place, bytes, WHAT)?;
        let fields = record::take_all(sealed.fields, WHAT)?;
        Ok((fields, sealed.body.verified(WHAT)?.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::space;

    #[test]
    fn an_answer_is_read_as_it_was_given_and_damage_is_found() {
        let place = space::answer(&[7; 16]);
        let record = AnswerRecord { at_ms: 5, request: "DropTable".to_owned() };
        let encoded = record.encode(&place, b"{}");
        let read = AnswerRecord::decode(&place, &encoded).expect("own bytes");
        assert_eq!(read, (record, b"{}".to_vec()));
        for at in 0..encoded.len() {
            let mut damaged = encoded.clone();
            damaged[at] ^= 1;
            AnswerRecord::decode(&place, &damaged).expect_err("damaged");
        }
    }
}
