//! [`Checkpoint`]: the state that a tree records about itself.

use crate::KvError;
use crate::log::{LOG_FILES, Round, Version};
use crate::run::RunName;

/// Version of checkpoints with the sizes of two log files.
const TWO_FILES: u8 = 3;
/// Version with runs. It is written only if there are runs, so that earlier versions of the program
/// can read the tree otherwise.
const WITH_RUNS: u8 = 4;
/// Number of fields that identify a run.
const RUN_FIELDS: usize = 3;

/// The position of the tree in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// The round of the following records; its number is the number of the last record in the tree.
    pub(crate) round: Round,
    /// Minimum sizes of the log files.
    pub(crate) log_bytes: [u64; LOG_FILES],
    /// Random identity of this file, to distinguish it from a compacted successor. 0 in the first
    /// one.
    pub(crate) identity: u64,
    /// The amount of pairs; `None` in a tree of an earlier version, which did not count.
    pub(crate) contents: Option<Contents>,
    /// The runs above the tree, oldest first.
    pub(crate) runs: Vec<RunName>,
}

/// The amount of pairs in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) pairs: u64,
    /// Bytes of their keys and values.
    pub(crate) bytes: u64,
}

impl Contents {
    /// Counts a change of a key, with the bytes of the pair before it and after it.
    pub(crate) fn count(&mut self, before: Option<usize>, after: Option<usize>) {
        let pair = |bytes: Option<usize>| (u64::from(bytes.is_some()), bytes.unwrap_or(0) as u64);
        let ((pairs, bytes), (new_pairs, new_bytes)) = (pair(before), pair(after));
        self.pairs = (self.pairs + new_pairs).saturating_sub(pairs);
        self.bytes = (self.bytes + new_bytes).saturating_sub(bytes);
    }
}

impl Checkpoint {
    /// The checkpoint of a new tree that begins with `round`.
    pub(crate) fn new(round: Round, log_bytes: [u64; LOG_FILES]) -> Self {
        let contents = Some(Contents::default());
        Self { round, log_bytes, identity: 0, contents, runs: Vec::new() }
    }

    /// The number for the next run.
    pub(crate) fn next_run(&self) -> u64 {
        // The maximum, not the last one: a repaired run gets a higher number than newer runs have.
        self.runs.iter().map(|run| run.number + 1).max().unwrap_or(1)
    }

    /// The checkpoint of a tree without a log.
    pub(crate) fn without_log() -> Self {
        Self::new(Round { number: 0, nonce: [0; 16], version: Version::Current }, [0; LOG_FILES])
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(80);
        bytes.extend_from_slice(&self.round.number.to_le_bytes());
        bytes.extend_from_slice(&self.round.nonce);
        bytes.push(if self.runs.is_empty() { TWO_FILES } else { WITH_RUNS });
        let mut fields = self.log_bytes.to_vec();
        fields.push(self.identity);
        if !self.runs.is_empty() {
            fields.push(self.contents.is_some().into());
        }
        fields.extend(self.contents.into_iter().flat_map(|it| [it.pairs, it.bytes]));
        fields.extend(self.runs.iter().flat_map(|run| [run.number, run.stamp, run.blocks]));
        fields.iter().for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, KvError> {
        parse(bytes).ok_or_else(|| KvError::Corrupt("the checkpoint cannot be read".into()))
    }
}

fn parse(bytes: &[u8]) -> Option<Checkpoint> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    let (nonce, rest) = rest.split_first_chunk()?;
    let mut checkpoint = Checkpoint {
        round: Round {
            number: u64::from_le_bytes(*number),
            nonce: *nonce,
            version: Version::Current,
        },
        log_bytes: [0; LOG_FILES],
        identity: 0,
        contents: None,
        runs: Vec::new(),
    };
    match rest {
        // Checkpoints of 24 bytes precede the field for the order.
        [] | [0] => checkpoint.round.version = Version::Old { in_order: false },
        [1] => checkpoint.round.version = Version::Old { in_order: true },
        [2, bytes @ ..] => checkpoint.log_bytes[0] = u64::from_le_bytes(bytes.try_into().ok()?),
        [version @ (TWO_FILES | WITH_RUNS), fields @ ..] => {
            let (fields, []) = fields.as_chunks::<8>() else { return None };
            let fields: Vec<u64> = fields.iter().map(|it| u64::from_le_bytes(*it)).collect();
            let [first, second, identity, rest @ ..] = &fields[..] else { return None };
            (checkpoint.log_bytes, checkpoint.identity) = ([*first, *second], *identity);
            let (counts, runs) = match (*version, rest) {
                (TWO_FILES, counts) => (counts, &[][..]),
                (_, [0, runs @ ..]) => (&[][..], runs),
                (_, [1, rest @ ..]) => rest.split_at_checked(2)?,
                _ => return None,
            };
            checkpoint.contents = match counts {
                [] => None,
                [pairs, bytes] => Some(Contents { pairs: *pairs, bytes: *bytes }),
                _ => return None,
            };
            let (runs, []) = runs.as_chunks::<RUN_FIELDS>() else { return None };
            let name =
                |&[number, stamp, blocks]: &[u64; RUN_FIELDS]| RunName { number, stamp, blocks };
            checkpoint.runs = runs.iter().map(name).collect();
        }
        _ => return None,
    }
    Some(checkpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_of_all_versions_are_read() {
        let round = |version| Round { number: 7, nonce: [9; 16], version };
        let start = [&7_u64.to_le_bytes()[..], &[9; 16]].concat();
        let runs = Vec::new;
        let old = |round, log_bytes| Checkpoint {
            round,
            log_bytes,
            identity: 0,
            contents: None,
            runs: runs(),
        };
        for (rest, expected) in [
            (vec![], old(round(Version::Old { in_order: false }), [0; 2])),
            (vec![0], old(round(Version::Old { in_order: false }), [0; 2])),
            (vec![1], old(round(Version::Old { in_order: true }), [0; 2])),
            ([&[2][..], &5_u64.to_le_bytes()].concat(), old(round(Version::Current), [5, 0])),
        ] {
            let bytes = [start.clone(), rest].concat();
            assert_eq!(Checkpoint::decode(&bytes).expect("readable"), expected);
        }
        let run = |number| RunName { number, stamp: 8, blocks: 9 };
        for runs in [vec![], vec![run(1)], vec![run(1), run(2)]] {
            for contents in [None, Some(Contents { pairs: 3, bytes: 4 })] {
                let (round, log_bytes) = (round(Version::Current), [1, 2]);
                let runs = runs.clone();
                let checkpoint = Checkpoint { round, log_bytes, identity: 6, contents, runs };
                let bytes = checkpoint.encode();
                assert_eq!(Checkpoint::decode(&bytes).expect("readable"), checkpoint);
                for cut in 25..bytes.len() {
                    // The contents may be missing as a whole, or a run, which are shorter rows of the same form.
                    let is_row = (cut - 25) % 8 == 0;
                    let cut = Checkpoint::decode(&bytes[..cut]);
                    assert!(is_row || cut.is_err(), "{cut:?}");
                    assert!(cut.is_err() || cut.expect("readable") != checkpoint);
                }
            }
        }
        let of_a_newer_version = [start, vec![5; 40]].concat();
        assert!(Checkpoint::decode(&of_a_newer_version).is_err());
    }
}
