//! The documents speak of the tree as it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::command::{Running, directory, liteio};
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

/// The names of our variables in the documents for users, with the page that has each.
fn documented_variables(place: &Path, names: &mut BTreeSet<(String, String)>) {
    for entry in fs::read_dir(place).expect("readable") {
        let entry = entry.expect("an entry").path();
        if entry.is_dir() {
            documented_variables(&entry, names);
        } else if entry.extension().is_some_and(|it| it == "md" || it == "yaml" || it == "yml") {
            let text = fs::read_to_string(&entry).expect("text");
            let is_of_name = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
            let words = text.split(|it: char| !is_of_name(it));
            // `LITEIO_BACKUP_…` stands for several.
            for name in words.filter(|it| it.starts_with("LITEIO_") && !it.ends_with('_')) {
                names.insert((name.to_owned(), entry.display().to_string()));
            }
        }
    }
}

/// Examples of names that are none.
const NO_VARIABLES: [&str; 1] = ["LITEIO_ACCES_KEY"];

#[test]
fn every_variable_that_documents_name_is_known_to_the_server() {
    let root = crates().parent().expect("the root").to_owned();
    let mut names = BTreeSet::new();
    for place in ["docs", "deploy", "examples"] {
        documented_variables(&root.join(place), &mut names);
    }
    assert!(names.len() > 100, "the documents name variables: found {}", names.len());
    let directory = directory();
    let mut command = liteio(&directory);
    command.args(["--memory", "--address", "127.0.0.1:0"]);
    // An empty variable counts as unset, and its name is looked at.
    command.envs(names.iter().map(|(name, _)| (name, "")));
    let (_, log) = Running::start(&mut command).signal("TERM");
    let unknown = names.iter().filter(|(name, _)| {
        !NO_VARIABLES.contains(&name.as_str()) && log.contains(&format!("{name} is unknown"))
    });
    let unknown: Vec<_> = unknown.collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
