//! Answers of a program to a data directory that a newer one has written: one line, and nothing is changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{Running, directory, liteio, stderr};

/// Contents of the files below `path`, by their paths, but for `lock`, whose content does not matter.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).expect("readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.append(&mut files(&path));
        } else if path.file_name().is_some_and(|name| name != "lock") {
            found.insert(path.clone(), fs::read(&path).expect("readable"));
        }
    }
    found
}

/// A directory that a server has made, with the number of a format in the place of its own.
fn with_format(number: u32) -> tempfile::TempDir {
    let directory = directory();
    let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0"];
    let (code, log) = Running::start_with(&directory, &arguments, &[]).signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    fs::write(directory.path().join("data/format"), format!("liteio {number}\n")).expect("written");
    directory
}

#[test]
fn a_newer_directory_is_refused_in_one_line_by_every_command_and_left_as_it_is() {
    let directory = with_format(5);
    let before = files(directory.path());
    assert!(before.len() > 3, "{before:?}");
    let location = format!("file://{}", directory.path().join("backup").display());
    let rows: [&[&str]; 10] = [
        &["backup", "copy", "copy", "--data-dir", "data"],
        &["backup", "now", &location, "--data-dir", "data"],
        &["--data-dir", "data", "--address", "127.0.0.1:0"],
        &["server", "data", "--address", "127.0.0.1:0"],
        &["server", "data", "--durability", "os", "--address", "127.0.0.1:0"],
        &["standby", "file:///absent", "data", "--address", "127.0.0.1:0"],
        &["verify", "--data-dir", "data"],
        &["repair", "--data-dir", "data"],
        &["repair", "--yes", "--data-dir", "data"],
        &["import", "s3", "http://127.0.0.1:1", "--data-dir", "data"],
    ];
    for arguments in rows {
        let output = liteio(&directory).args(arguments).output().expect("it runs");
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{arguments:?}: {told}");
        let expected = "the data has format 5, this version reads up to 4: use a newer LiteIO\n";
        assert!(told.ends_with(expected), "{arguments:?}: {told}");
        assert_eq!(files(directory.path()), before, "{arguments:?}");
    }
}

#[test]
fn a_directory_of_an_earlier_format_gets_the_newest_one_at_its_start() {
    for format in 1..=3 {
        let directory = with_format(format);
        let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0"];
        let (code, log) = Running::start_with(&directory, &arguments, &[]).signal("TERM");
        assert_eq!(code, Some(0), "{log}");
        let now = fs::read_to_string(directory.path().join("data/format")).expect("there");
        assert_eq!(now, "liteio 3\n", "of format {format}");
    }
}
