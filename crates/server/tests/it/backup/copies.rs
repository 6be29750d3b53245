//! `liteio backup copy` of a server in use, and of a directory that no server uses.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::restored::{contents, fill};
use super::writers::{Write, object, until, write};
use super::{Served, directory, location, refused, told};

/// Clients that write while a copy is made.
const CLIENTS: u64 = 4;

/// The figure before these words of the line that a copy prints.
fn figure(line: &str, words: &str) -> u64 {
    let (before, _) = line.split_once(words).unwrap_or_else(|| panic!("{words}: {line}"));
    before.rsplit(' ').next().expect("a word").parse().expect("a number")
}

/// Runs a command while the server in this process goes on.
async fn copy(directory: &tempfile::TempDir, data: &str, to: &str) -> String {
    let mut command = super::liteio(directory);
    command.args(["backup", "copy", to, "--data-dir", data]);
    let output = tokio::task::spawn_blocking(move || command.output().expect("it runs")).await;
    let output = output.expect("no panic");
    let stderr = crate::command::stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    String::from_utf8(output.stdout).expect("text")
}

/// The writes of a client in their order.
fn in_order(writes: BTreeMap<String, Vec<Write>>) -> Vec<(String, Write)> {
    let all = writes.into_iter();
    let mut all: Vec<_> = all
        .flat_map(|(path, of_key)| of_key.into_iter().map(move |it| (path.clone(), it)))
        .collect();
    all.sort_by_key(|(_, write)| write.number);
    all
}

#[tokio::test]
async fn a_copy_of_a_server_in_use_is_one_moment_of_every_client() {
    let directory = directory();
    let location = location(&directory);
    // Beside a backup, which holds what it needs by itself.
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    fill(&server).await;
    let before = contents(&server).await;
    server.put("/photos", "").await;
    let written = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| tokio::spawn(write(server.address, client, Arc::clone(&written))))
        .collect();
    until(&written, 40).await;
    let line = copy(&directory, "data", "copy").await;
    assert!(line.contains("copy of data of "), "{line}");
    let count = written.load(std::sync::atomic::Ordering::Relaxed);
    until(&written, count + 20).await;
    let second = copy(&directory, "data", "copy").await;
    assert!(figure(&second, " blobs linked") > 0, "{second}");
    let mode = fs::metadata(directory.path().join("data/copy.socket")).expect("there");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    server.running.signal("KILL");

    told(&directory, 0, &["verify", "--data-dir", "copy"]);
    let copied = Served::start(&directory, &["--data-dir", "copy"]);
    assert!(contents(&copied).await == before, "what was there at first");
    for (client, task) in (0..CLIENTS).zip(clients) {
        let writes = in_order(task.await.expect("no panic"));
        let mut found = BTreeMap::new();
        for (path, _) in &writes {
            let reply = copied.get(path).await;
            found.insert(path.clone(), (reply.status == 200).then_some(reply.body));
        }
        let mut state: BTreeMap<_, _> = found.keys().map(|path| (path.clone(), None)).collect();
        let is_moment = writes.iter().any(|(path, write)| {
            let object = (!write.is_delete).then(|| object(client, write.number));
            state.insert(path.clone(), object);
            state == found
        });
        assert!(is_moment, "client {client}: a state that never was");
    }
    copied.end();
}

#[tokio::test]
async fn the_next_copy_moves_what_has_changed_with_or_without_a_server() {
    let directory = directory();
    let server = Served::start(&directory, &["--data-dir", "data"]);
    server.put("/photos", "").await;
    for number in 0..5 {
        server.put(&format!("/photos/{number}"), vec![number; 100_000]).await;
    }
    server.put("/photos/long", vec![9; 2 << 20]).await;
    let first = copy(&directory, "data", "copies/one").await;
    assert_eq!(figure(&first, " blobs linked") + figure(&first, " blobs of "), 6, "{first}");
    server.put("/photos/new", vec![8; 100_000]).await;
    server.delete("/photos/0").await;
    let second = copy(&directory, "data", "copies/one").await;
    assert_eq!(figure(&second, " blobs linked"), 5, "{second}");
    assert_eq!(figure(&second, " bytes copied"), 100_000, "{second}");
    server.end();
    assert!(!directory.path().join("data/copy.socket").exists());

    let third = copy(&directory, "data", "copies/one").await;
    assert_eq!(figure(&third, " bytes copied"), 0, "{third}");
    let copied = Served::start(&directory, &["--data-dir", "copies/one"]);
    assert_eq!(copied.get("/photos/new").await.body, vec![8; 100_000]);
    assert_eq!(copied.get("/photos/4").await.body, vec![4; 100_000]);
    copied.get("/photos/0").await.expect_error(404, "NoSuchKey");
    copied.put("/photos/own", "mine").await;
    copied.end();
    let line = refused(&directory, 1, &["backup", "copy", "copies/one", "--data-dir", "data"]);
    assert!(line.contains("a server has used it since"), "{line}");
}

#[tokio::test]
async fn what_is_no_copy_is_left_alone() {
    let directory = directory();
    let server = Served::start(&directory, &["--data-dir", "data"]);
    server.put("/photos", "").await;
    fs::create_dir(directory.path().join("mine")).expect("made");
    fs::write(directory.path().join("mine/file"), "1").expect("written");
    for (to, code, expected) in [
        ("mine", 1, "is not empty, and no copy"),
        ("data/copy", 2, "must not contain each other"),
        (".", 2, "must not contain each other"),
    ] {
        let line = refused(&directory, code, &["backup", "copy", to, "--data-dir", "data"]);
        assert!(line.contains(expected), "{line}");
    }
    assert_eq!(fs::read(directory.path().join("mine/file")).expect("there"), b"1");
    server.end();
    let line = refused(&directory, 1, &["backup", "copy", "new", "--data-dir", "mine"]);
    assert!(line.contains("mine"), "{line}");
    fs::rename(directory.path().join("data"), directory.path().join("elsewhere")).expect("moved");
    let line = refused(&directory, 1, &["backup", "copy", "new"]);
    assert!(line.contains("there is no ./data here: give the data directory"), "{line}");
    assert!(!directory.path().join("new").exists());
}

#[tokio::test]
async fn a_directory_without_a_subcommand_is_that_of_a_copy() {
    let directory = directory();
    let server = Served::start(&directory, &["--data-dir", "data"]);
    server.put("/photos", "").await;
    server.put("/photos/a", "1").await;
    server.end();
    for to in ["copied", "./list"] {
        let line = told(&directory, 0, &["backup", to, "--data-dir", "data"]);
        assert!(line.contains("0 left out"), "{line}");
        told(&directory, 0, &["verify", "--data-dir", to]);
    }
    // A subcommand is one, and a location is no directory.
    for arguments in [&["backup", "now"][..], &["backup"], &["backup", "s3://backups/photos"]] {
        let line = refused(&directory, 2, arguments);
        assert!(line.starts_with("liteio: "), "{line}");
    }
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .expect("readable")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["copied", "data", "list"]);
}
