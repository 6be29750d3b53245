//! Every target over its corpus, and over variations of it.

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

#[track_caller]
fn run(target: &str, check: fn(&[u8])) {
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

#[test]
fn keys_hold_for_any_bytes() {
    run("key", super::key);
}

#[test]
fn records_hold_for_any_bytes() {
    run("record", super::record);
}

/// Variations of what is refused at once would try little.
#[test]
fn the_corpus_has_sound_records_of_vectors() {
    use crate::meta::record;
    use crate::meta::vector::{IndexRecord, TagsRecord, VectorBucketRecord, VectorRecord};
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/record");
    let bytes = |name: &str| std::fs::read(directory.join(name)).expect(name).split_off(1);
    let vectors = ["", "-lists-and-documents", "-largest-numbers", "-numbers-that-are-none"];
    for name in vectors.into_iter().chain(["-key-twice"]) {
        VectorRecord::decode(&bytes(&format!("vector{name}"))).expect(name);
    }
    VectorBucketRecord::decode(&bytes("vector-bucket")).expect("sound");
    IndexRecord::decode(&bytes("vector-index")).expect("sound");
    let tags: TagsRecord = record::decode(&bytes("vector-tags"), "tags").expect("sound");
    assert_eq!(tags.0.len(), 2);
}

#[test]
fn the_log_holds_for_any_bytes() {
    run("kv_log", super::kv_log);
}

#[test]
fn blob_footers_hold_for_any_bytes() {
    run("blob_footer", super::blob_footer);
}
