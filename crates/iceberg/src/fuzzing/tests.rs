//! Runs every target over its corpus and variations of it.

use self::run::run;

#[path = "../../../../fuzz/run.rs"]
mod run;

#[test]
fn commits_hold_for_any_text() {
    run("iceberg_commit", super::commit);
}

#[test]
fn manifests_hold_for_any_bytes() {
    run("iceberg_manifest", super::manifest);
}
