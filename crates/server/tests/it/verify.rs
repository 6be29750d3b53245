//! `liteio verify`: exit codes, and that it changes nothing.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::command::{Running, copied, liteio, stderr};
use crate::raw::{Keys, Request, send};

const KEYS: Keys = Keys { access: "liteio", secret: "liteio123" };

/// The user and group `nobody`, who is not root.
const NOBODY: u32 = 65_534;

/// A server with a small and a large object in `data`.
fn serving(directory: &tempfile::TempDir) -> Running {
    let running =
        Running::start_with(directory, &["--data-dir", "data", "--address", "127.0.0.1:0"], &[]);
    let address = running.endpoint().strip_prefix("http://").expect("a URL");
    let address = address.parse().expect("an address");
    let large = [7; 100_000];
    for (target, body) in
        [("/bucket", &b""[..]), ("/bucket/small", b"x"), ("/bucket/large", &large)]
    {
        let put = Request::new("PUT", target).body(body).sign(KEYS);
        let reply = send(address, &put.bytes());
        assert_eq!(reply.status, 200, "{target}: {reply:?}");
    }
    running
}

fn verify(directory: &tempfile::TempDir) -> Output {
    liteio(directory).args(["verify", "--data-dir", "data"]).output().expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Names below `path`, with bytes, time of the last change in seconds and nanoseconds, and mode.
type Tree = BTreeMap<PathBuf, (Option<Vec<u8>>, i64, i64, u32)>;

fn tree(path: &Path) -> Tree {
    let metadata = fs::metadata(path).expect("there");
    let bytes = metadata.is_file().then(|| fs::read(path).expect("readable"));
    let state = (bytes, metadata.mtime(), metadata.mtime_nsec(), metadata.mode());
    let mut tree = Tree::from([(path.to_owned(), state)]);
    if metadata.is_dir() {
        for entry in fs::read_dir(path).expect("readable") {
            tree.extend(self::tree(&entry.expect("an entry").path()));
        }
    }
    tree
}

#[test]
fn verify_leaves_every_file_as_it_is_and_finds_a_flipped_bit() {
    for signal in ["TERM", "KILL"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let data = directory.path().join("data");
        let running = serving(&directory);
        let in_use = verify(&directory);
        assert_eq!(in_use.status.code(), Some(1));
        assert!(stderr(&in_use).contains("in use by process"), "{}", stderr(&in_use));
        running.signal(signal);

        let before = tree(&data);
        let whole = verify(&directory);
        assert_eq!(whole.status.code(), Some(0), "{}{}", stdout(&whole), stderr(&whole));
        assert!(stdout(&whole).contains("2 objects, 1 blobs"), "{}", stdout(&whole));
        assert!(tree(&data) == before, "after {signal}");

        let blob =
            before.keys().find(|path| path.starts_with(data.join("blobs")) && path.is_file());
        let mut bytes = fs::read(blob.expect("there is one")).expect("readable");
        bytes[50_000] ^= 1;
        // A short blob that is in the log is not damaged by this: a start writes it again.
        fs::write(blob.expect("there is one"), bytes).expect("written");
        let damaged = verify(&directory);
        let told = stdout(&damaged);
        match signal {
            "TERM" => {
                assert_eq!(damaged.status.code(), Some(1), "{told}");
                assert!(told.contains("damaged: bucket/\"large\""), "{told}");
                assert!(told.contains("any other copy of a directory in use is damaged"), "{told}");
            }
            _ => assert_eq!(damaged.status.code(), Some(0), "{told}"),
        }
    }
}

#[test]
fn damage_in_the_log_is_told_and_exit_code_1() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    serving(&directory).signal("KILL");
    let path = directory.path().join("data/meta.redb.log");
    let mut log = fs::read(&path).expect("readable");
    // In the first record.
    log[100] ^= 1;
    fs::write(&path, log).expect("written");
    let before = tree(&directory.path().join("data"));
    let output = verify(&directory);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("damaged: "), "{}", stdout(&output));
    assert!(stdout(&output).contains("meta.redb.log"), "{}", stdout(&output));
    let told = stdout(&output);
    assert!(told.contains("`liteio repair` tells what it can save"), "{told}");
    assert!(!told.contains("the lock file"), "{told}");
    assert!(tree(&directory.path().join("data")) == before);
}

#[test]
fn a_directory_without_its_metadata_is_told_with_the_one_cure() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    serving(&directory).signal("TERM");
    fs::remove_file(directory.path().join("data/meta.redb")).expect("removed");
    let mut command = liteio(&directory);
    let repair = command.args(["repair", "--data-dir", "data"]).output().expect("it runs");
    for told in [stdout(&verify(&directory)), stderr(&repair)] {
        assert!(told.contains("meta.redb is missing") && told.contains("liteio restore"), "{told}");
        assert!(!told.contains("..") && !told.contains("--data-dir DIR NEW"), "{told}");
    }
}

/// Only root can make files that it may not write itself, by becoming somebody else; others are refused by
/// the modes of the files.
#[test]
fn files_and_directories_that_may_only_be_read_are_enough() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    serving(&directory).signal("KILL");
    let data = directory.path().join("data");
    for path in tree(&data).into_keys() {
        let mode = if path.is_dir() { 0o555 } else { 0o444 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("allowed");
    }
    let before = tree(&data);
    let mut command = liteio(&directory);
    if fs::metadata(&data).expect("there").uid() == 0 {
        let program = copied(&directory);
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("allowed");
        command = std::process::Command::new(program);
        command.current_dir(directory.path()).uid(NOBODY).gid(NOBODY);
    }
    let output = command.args(["verify", "--data-dir", "data"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(tree(&data) == before);
    // So that the directory can be removed.
    for path in before.keys().filter(|path| path.is_dir()) {
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("allowed");
    }
}

#[test]
fn files_of_another_user_are_told_with_the_command_that_gives_them_back() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    serving(&directory).signal("KILL");
    let data = directory.path().join("data");
    for path in tree(&data).into_keys() {
        let mode = match (path.is_dir(), path.starts_with(data.join("blobs"))) {
            (true, _) => 0o755,
            (false, true) => 0o000,
            (false, false) => 0o644,
        };
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("allowed");
    }
    let is_root = fs::metadata(&data).expect("there").uid() == 0;
    let program = copied(&directory);
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("allowed");
    let mut command = std::process::Command::new(program);
    command.current_dir(directory.path());
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.args(["verify", "--data-dir", "data"]).output().expect("it runs");
    let line = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{line}");
    let advice = match is_root {
        true => "run \"chown -R 65534 data\"",
        false => "run \"chmod -R u+rwX data\"",
    };
    assert!(line.contains("Permission denied") && line.contains(advice), "{line}");
}
