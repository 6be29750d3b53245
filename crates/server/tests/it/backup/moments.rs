//! Restoring to moments of the past.

use std::process::Output;

use super::{ROOT, Served, at, directory, location, refused, serve_restored, told};
use crate::command::stderr;

/// Gives objects back to the server with this secret key. Its alias is `here`.
fn give_back_with(
    secret_key: &str,
    directory: &tempfile::TempDir,
    server: &Served,
    arguments: &[&str],
) -> Output {
    let host = format!("http://{}:{secret_key}@{}", ROOT.access_key, server.address);
    let mut command = crate::command::liteio(directory);
    command.arg("restore").args(arguments).env("MC_HOST_here", host);
    command.output().expect("it runs")
}

#[tokio::test]
async fn a_deleted_object_is_back_at_a_moment_before() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.put("/photos", "").await;
    server.kept().await;
    let begun = super::now_ms();
    server.put("/photos/cat", "meow").await;
    server.put("/photos/large", vec![7; 300_000]).await;
    server.kept().await;
    let before = super::now_ms();
    // So that no copy of that moment has what comes.
    server.kept().await;
    server.delete("/photos/cat").await;
    server.delete("/photos/large").await;
    server.put("/photos/dog", "wow").await;
    server.end();

    let newest = serve_restored(&directory, &location, &[]);
    newest.get("/photos/cat").await.expect_error(404, "NoSuchKey");
    assert_eq!(newest.get("/photos/dog").await.text(), "wow");
    newest.end();
    std::fs::remove_dir_all(directory.path().join("restored")).expect("removed");

    let earlier = serve_restored(&directory, &location, &["--at", &at(before)]);
    assert_eq!(earlier.get("/photos/cat").await.text(), "meow");
    assert_eq!(earlier.get("/photos/large").await.body, vec![7; 300_000]);
    earlier.get("/photos/dog").await.expect_error(404, "NoSuchKey");
    earlier.end();
    std::fs::remove_dir_all(directory.path().join("restored")).expect("removed");

    // The base alone, by its number.
    let list = told(&directory, 0, &["backup", "list", &location]);
    let word_after = |word: &str| {
        let (_, rest) = list.split_once(word).unwrap_or_else(|| panic!("{word}: {list}"));
        rest.split_whitespace().next().expect("a word").to_owned()
    };
    let (generation, number) = (word_after("generation "), word_after("base "));
    let number = ["--generation", &generation, "--number", &number];
    let earliest = serve_restored(&directory, &location, &number);
    // Perhaps before the bucket.
    earliest.get("/photos/cat").await.expect_status(404);
    earliest.end();

    let early = at(begun - 3_600_000);
    let line = refused(&directory, 1, &["restore", &location, "early", "--at", &early]);
    assert!(line.contains("no moment so early"), "{line}");
    let line = refused(&directory, 1, &["restore", &location, "early", "--at", "1h"]);
    assert!(line.contains("no moment so early"), "{line}");
}

#[tokio::test]
async fn deleted_objects_are_given_back_to_a_running_server_by_one_command() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.put("/photos", "").await;
    for (key, body) in [("2025/cat", "meow"), ("2025/dog", "wow"), ("2026/cat", "purr")] {
        server.put(&format!("/photos/{key}"), body).await;
    }
    server.put("/photos/2025/large", vec![7; 300_000]).await;
    server.put("/other", "").await;
    server.put("/other/2025/cat", "another").await;
    server.kept().await;
    let before = at(super::now_ms());
    // So that no copy of that moment has what comes.
    server.kept().await;
    server.delete("/photos/2025/cat").await;
    server.delete("/photos/2025/large").await;
    server.delete("/photos/2026/cat").await;
    server.put("/photos/2025/dog", "newer").await;

    let give_back = |more: &[&str]| {
        let part = [&*location, "--at", &before, "--bucket", "photos"];
        give_back_with(ROOT.secret_key, &directory, &server, &[&part[..], more].concat())
    };
    let output = give_back(&["--prefix", "2025/", "--to", "here/photos"]);
    let line = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "one differs, and stays: {line}");
    assert!(line.contains("2025/dog") && line.contains("--overwrite"), "{line}");
    assert_eq!(server.get("/photos/2025/cat").await.text(), "meow");
    assert_eq!(server.get("/photos/2025/large").await.body, vec![7; 300_000]);
    assert_eq!(server.get("/photos/2025/dog").await.text(), "newer", "it was there");
    server.get("/photos/2026/cat").await.expect_error(404, "NoSuchKey");

    let output = give_back(&["--to", "here/photos", "--overwrite"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(server.get("/photos/2025/dog").await.text(), "wow");
    assert_eq!(server.get("/photos/2026/cat").await.text(), "purr");

    let none = [&*location, "--bucket", "no-such-bucket", "--to", "here/photos"];
    let output = give_back_with(ROOT.secret_key, &directory, &server, &none);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no-such-bucket"), "{}", stderr(&output));
    server.end();
}

/// docs/troubleshooting.md puts a damaged object back by these steps.
#[tokio::test]
async fn an_object_that_is_removed_and_given_back_has_all_that_it_had() {
    let kept = [
        ("x-amz-storage-class", "STANDARD_IA"),
        ("x-amz-meta-camera", "old"),
        ("x-amz-object-lock-mode", "COMPLIANCE"),
        ("x-amz-object-lock-retain-until-date", "2099-01-01T00:00:00.000Z"),
        ("x-amz-object-lock-legal-hold", "ON"),
    ];
    let directory = directory();
    let location = location(&directory);
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    let bucket = server.request("PUT", "/photos");
    let bucket = bucket.header("x-amz-bucket-object-lock-enabled", "true").send().await;
    bucket.expect_status(200);
    let put = server.request("PUT", "/photos/cat").headers(&kept).header("x-amz-tagging", "a=b");
    put.body("meow").send().await.expect_status(200);
    server.kept().await;
    let before = at(super::now_ms());
    // So that no copy of that moment has the deletion.
    server.kept().await;
    server.delete("/photos/cat").await;
    // The newest state has it.
    server.kept().await;

    let part = ["--bucket", "photos", "--prefix", "cat", "--to", "here/photos"];
    let back = [&[&*location, "--at", &before][..], &part].concat();
    let output = give_back_with(ROOT.secret_key, &directory, &server, &back);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let reply = server.get("/photos/cat").await.expect_status(200);
    for (name, value) in kept {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    assert_eq!(reply.text(), "meow");
    assert!(server.get("/photos/cat?tagging").await.text().contains("<Key>a</Key>"));
    server.end();
}

#[tokio::test]
async fn a_target_that_cannot_be_used_is_told_before_anything_is_restored() {
    let directory = directory();
    let server = Served::start(&directory, &["--data-dir", "data"]);
    server.put("/photos", "").await;
    // With a backup that is not there, since the target comes first.
    let location = location(&directory);
    for (to, secret_key, expected) in [
        ("heer/photos", ROOT.secret_key, "'heer' is no alias"),
        ("here", ROOT.secret_key, "names no bucket"),
        ("here/photos", "another-one", "with `alias set`"),
    ] {
        let arguments = [&*location, "--bucket", "photos", "--to", to];
        let output = give_back_with(secret_key, &directory, &server, &arguments);
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{to}: {line}");
        assert!(line.contains(expected) && line.lines().count() == 1, "{to}: {line}");
    }
    server.end();
}

#[tokio::test]
async fn objects_are_given_back_with_their_encryption_class_and_lock() {
    let directory = directory();
    let location = location(&directory);
    told(&directory, 0, &["key", "new", "master.key"]);
    let key = ["--master-key-file", "master.key"];
    let server = Served::backed_up(&directory, "data", &["--backup", &location, key[0], key[1]]);
    let lock = [("x-amz-bucket-object-lock-enabled", "true")];
    server.request("PUT", "/photos").headers(&lock).send().await.expect_status(200);
    server.put("/plain", "").await;
    let at_rest =
        [("x-amz-server-side-encryption", "AES256"), ("x-amz-storage-class", "STANDARD_IA")];
    let locked = [
        ("x-amz-object-lock-mode", "GOVERNANCE"),
        ("x-amz-object-lock-retain-until-date", "2099-01-01T00:00:00.000Z"),
        ("x-amz-object-lock-legal-hold", "ON"),
    ];
    let put = server.request("PUT", "/photos/cat").headers(&at_rest).headers(&locked);
    put.body("meow").send().await.expect_status(200);
    server.kept().await;
    let before = at(super::now_ms());
    // So that no copy of that moment has what comes.
    server.kept().await;
    server.delete("/photos/cat").await;

    let give_back = |server: &Served, to: &str| {
        let part = [&*location, "--at", &before, "--bucket", "photos", "--to", to, key[0], key[1]];
        let output = give_back_with(ROOT.secret_key, &directory, server, &part);
        (output.status.code(), stderr(&output))
    };
    let (code, line) = give_back(&server, "here/photos");
    assert_eq!(code, Some(0), "{line}");
    let head = server.request("HEAD", "/photos/cat").send().await.expect_status(200);
    for (name, value) in at_rest.iter().chain(&locked) {
        assert_eq!(head.header(name), Some(*value), "{name}");
    }

    // A bucket without object lock cannot have all of it, which is told.
    let (code, line) = give_back(&server, "here/plain");
    assert_eq!(code, Some(1), "{line}");
    assert!(line.contains("here/plain/cat") && line.contains("no object lock"), "{line}");
    let head = server.request("HEAD", "/plain/cat").send().await.expect_status(200);
    for (name, value) in &at_rest {
        assert_eq!(head.header(name), Some(*value), "{name}");
    }
    server.end();

    // Nothing that was encrypted is stored in plain.
    let keyless = Served::start(&directory, &["--data-dir", "keyless"]);
    let (code, line) = give_back(&keyless, "here/plain");
    assert_eq!(code, Some(1), "{line}");
    assert!(line.contains("no master key"), "{line}");
    keyless.get("/plain/cat").await.expect_error(404, "NoSuchKey");
    keyless.end();
}

#[tokio::test]
async fn a_stopped_directory_is_backed_up_by_a_command() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::start(&directory, &["--data-dir", "data"]);
    server.put("/photos", "").await;
    server.put("/photos/cat", vec![7; 300_000]).await;
    let now = ["backup", "now", &location, "--data-dir", "data"];
    let line = refused(&directory, 1, &now);
    assert!(line.contains("in use"), "{line}");
    server.end();
    told(&directory, 0, &now);
    let again = told(&directory, 0, &now);
    assert!(!again.contains("300"), "the blob is not sent again: {again}");
    let restored = serve_restored(&directory, &location, &[]);
    assert_eq!(restored.get("/photos/cat").await.body, vec![7; 300_000]);
    restored.end();
    let inside = format!("file://{}", directory.path().join("data/backup").display());
    let line = refused(&directory, 2, &["backup", "now", &inside, "--data-dir", "data"]);
    assert!(line.contains("must not contain each other"), "{line}");
    refused(&directory, 1, &["backup", "now", &location, "--data-dir", "none"]);
}
