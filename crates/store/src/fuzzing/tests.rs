//! Every target over its corpus, and over variations of it.

use std::path::Path;

use self::run::run;

#[path = "../../../../fuzz/run.rs"]
mod run;

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
fn blob_footers_hold_for_any_bytes() {
    run("blob_footer", super::blob_footer);
}
