//! `liteio backup` on damage, and restores that are interrupted.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::OFlags;

use super::{Served, directory, files, location, refused, run, told};

/// A server with a small and some large objects, backed up and stopped.
async fn backed_up(directory: &tempfile::TempDir, location: &str) {
    let server = Served::backed_up(directory, "data", &["--backup", location]);
    server.put("/photos", "").await;
    server.put("/photos/small", "meow").await;
    for key in ["a", "b"] {
        server.put(&format!("/photos/{key}"), vec![7; 300_000]).await;
        // Each in a pack of its own.
        server.kept().await;
    }
    server.end();
}

#[tokio::test]
async fn what_is_there_is_listed_and_an_empty_backup_is_told() {
    let directory = directory();
    let location = location(&directory);
    backed_up(&directory, &location).await;
    let list = told(&directory, 0, &["backup", "list", &location]);
    assert!(list.contains("not encrypted") && list.contains(" pairs, "), "{list}");
    assert!(list.contains("  restorable from 20"), "{list}");
    let by_variable = super::liteio(&directory)
        .args(["backup", "status"])
        .env("LITEIO_BACKUP", &location)
        .output()
        .expect("it runs");
    assert_eq!(by_variable.status.code(), Some(0), "{by_variable:?}");
    let status = told(&directory, 0, &["backup", "status", &location]);
    for part in ["not encrypted", "last sign of the writer: 20", "restorable from 20"] {
        assert!(status.contains(part), "{part}: {status}");
    }
    let word_behind = |words: &str| {
        let (_, rest) = status.split_once(words)?;
        rest.split([',', ' ', '\n']).next()
    };
    let reached = status.rsplit(' ').next().map(str::trim);
    assert_eq!(word_behind("last sign of the writer: "), reached, "{status}");
    let pruned = told(&directory, 0, &["backup", "prune", &location, "--keep", "30d"]);
    assert!(pruned.contains(": 0 objects and 0 bytes removed"), "{pruned}");

    for manifest in files(&directory.path().join("backup"), "manifest") {
        fs::remove_file(manifest).expect("removed");
    }
    let status = told(&directory, 1, &["backup", "status", &location]);
    assert!(status.contains("nothing can be restored"), "{status}");
    let line = refused(&directory, 1, &["restore", &location, "new"]);
    assert!(line.contains("no complete base yet"), "{line}");
}

#[tokio::test]
async fn damage_is_told_and_the_rest_is_restored() {
    let directory = directory();
    let location = location(&directory);
    backed_up(&directory, &location).await;
    let packs = files(&directory.path().join("backup"), "packs/");
    let last = packs.last().expect("a pack");
    let mut bytes = fs::read(last).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(last, bytes).expect("written");
    let damaged = told(&directory, 1, &["backup", "verify", &location]);
    let name = last.file_name().expect("a name").to_string_lossy();
    let lines: Vec<&str> = damaged.lines().filter(|it| it.starts_with("damaged: ")).collect();
    assert!(lines.len() == 1 && lines[0].contains(&*name), "{damaged}");

    let restored = told(&directory, 1, &["restore", &location, "restored"]);
    assert!(restored.contains("left out: ") && restored.contains(", 1 left out"), "{restored}");
    assert!(restored.contains("`liteio verify --data-dir restored` lists"), "{restored}");
    let server = Served::start(&directory, &["--data-dir", "restored"]);
    assert_eq!(server.get("/photos/small").await.text(), "meow");
    let whole = [server.get("/photos/a").await.status, server.get("/photos/b").await.status];
    assert_eq!(whole.iter().filter(|it| **it == 200).count(), 1, "{whole:?}");
    server.end();

    // The server tells what the verification has found.
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.kept().await;
    let figures = server.figures().await;
    assert_eq!(figures["liteio_backup_verified_damaged"], 1.0, "{figures:?}");
    assert!(figures["liteio_backup_verified_timestamp_seconds"] > 1.7e9, "{figures:?}");
    server.end();
}

#[tokio::test]
async fn an_interrupted_restore_is_no_store_and_goes_on() {
    let directory = directory();
    let location = location(&directory);
    backed_up(&directory, &location).await;
    let packs = files(&directory.path().join("backup"), "packs/");
    let last = packs.last().expect("a pack");
    let aside = directory.path().join("aside");
    fs::rename(last, &aside).expect("moved");
    kill_at(last, super::liteio(&directory).args(["restore", &location, "restored"]));
    let server = run(&directory, &["--data-dir", "restored", "--address", "127.0.0.1:0"]);
    assert_eq!(server.status.code(), Some(1), "{server:?}");
    assert_eq!(crate::command::stderr(&server).lines().count(), 1, "{server:?}");

    fs::remove_file(last).expect("removed");
    fs::rename(&aside, last).expect("moved back");
    let server = super::serve_restored(&directory, &location, &[]);
    for key in ["a", "b"] {
        assert_eq!(server.get(&format!("/photos/{key}")).await.body, vec![7; 300_000]);
    }
    server.end();
}

/// Runs a command until it reads this file, and kills it then.
fn kill_at(file: &Path, command: &mut Command) {
    let made = Command::new("mkfifo").arg(file).status();
    assert!(made.expect("it runs").success());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut writing = fs::OpenOptions::new();
    // The pipe cannot be opened for writing before the command has opened it for reading.
    writing.write(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    while writing.open(file).is_err() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended without reading the file");
        std::thread::yield_now();
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
}
