//! The documents speak of the tree as it is.

use std::fs;

use crate::sources::crates;

const DOCUMENTS: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/format.md",
    "docs/durability.md",
    "docs/limits.md",
    "docs/compatibility.md",
];

#[test]
fn source_files_that_documents_name_exist() {
    let root = crates().parent().expect("the root").to_owned();
    let packages = fs::read_dir(root.join("crates")).expect("crates");
    let sources =
        packages.map(|it| format!("crates/{}/src", it.expect("a crate").file_name().display()));
    let bases: Vec<String> = sources.chain(["crates".to_owned(), String::new()]).collect();
    let mut names = 0;
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        // One that is not written yet names nothing.
        let text = fs::read_to_string(root.join(document)).unwrap_or_default();
        // What stands between backticks, every second piece.
        for name in text.split('`').skip(1).step_by(2) {
            if !name.ends_with(".rs") || name.contains(['{', ' ', '*']) {
                continue;
            }
            names += 1;
            if !bases.iter().any(|base| root.join(base).join(name).is_file()) {
                missing.push(format!("{document} names {name}"));
            }
        }
    }
    assert!(names > 20, "the documents name sources: found {names}");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
