//! The tests of `liteio`, `liteio-kv` and `liteio-store` over the corpora of the fuzz targets.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// The corpus of a target, in the order of its file names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.expect("entry").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", directory.display());
    paths.iter().map(|path| std::fs::read(path).expect("corpus file")).collect()
}

/// One change to an input: at a place, overwrite, flip a bit, cut, double or insert.
fn edit(input: &mut Vec<u8>, (kind, place, byte): (u8, u16, u8)) {
    let at = usize::from(place) % (input.len() + 1);
    match kind {
        0 if at < input.len() => input[at] = byte,
        1 if at < input.len() => input[at] ^= 1 << (byte % 8),
        2 => drop(input.drain(at..(at + usize::from(byte % 16)).min(input.len()))),
        3 => {
            let doubled = input[at..(at + usize::from(byte % 16)).min(input.len())].to_vec();
            input.splice(at..at, doubled);
        }
        _ => input.insert(at, byte),
    }
}

/// Runs a check over the corpus of a target, and over variations of it.
#[track_caller]
pub(crate) fn run(target: &str, check: fn(&[u8])) {
    let corpus = corpus(target);
    corpus.iter().for_each(|input| check(input));
    let edits = prop::collection::vec((0..5_u8, any::<u16>(), any::<u8>()), 1..6);
    let edited = (prop::sample::select(corpus), edits).prop_map(|(mut input, edits)| {
        edits.into_iter().for_each(|change| edit(&mut input, change));
        input
    });
    let arbitrary = prop::collection::vec(any::<u8>(), 0..200);
    let mut runner = TestRunner::new(Config { cases: 3_000, ..Config::default() });
    let inputs = prop_oneof![3 => edited, 1 => arbitrary];
    let outcome = runner.run(&inputs, |input| {
        check(&input);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{target}: {error}");
    }
}
