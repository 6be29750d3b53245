//! Restoring to moments of the past.

use super::{Served, at, directory, location, refused, serve_restored, told};

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
        let part = ["restore", &location, "--at", &before, "--bucket", "photos"];
        let mut command = crate::command::liteio(&directory);
        let host = format!(
            "http://{}:{}@{}",
            super::ROOT.access_key,
            super::ROOT.secret_key,
            server.address
        );
        command.args(part).args(more).env("MC_HOST_here", host);
        command.output().expect("it runs")
    };
    let output = give_back(&["--prefix", "2025/", "--to", "here/photos"]);
    let stderr = crate::command::stderr(&output);
    assert_eq!(output.status.code(), Some(1), "one differs, and stays: {stderr}");
    assert!(stderr.contains("2025/dog") && stderr.contains("--overwrite"), "{stderr}");
    assert_eq!(server.get("/photos/2025/cat").await.text(), "meow");
    assert_eq!(server.get("/photos/2025/large").await.body, vec![7; 300_000]);
    assert_eq!(server.get("/photos/2025/dog").await.text(), "newer", "it was there");
    server.get("/photos/2026/cat").await.expect_error(404, "NoSuchKey");

    let output = give_back(&["--to", "here/photos", "--overwrite"]);
    assert_eq!(output.status.code(), Some(0), "{}", crate::command::stderr(&output));
    assert_eq!(server.get("/photos/2025/dog").await.text(), "wow");
    assert_eq!(server.get("/photos/2026/cat").await.text(), "purr");
    server.end();

    let none = ["restore", &location, "--bucket", "no-such-bucket", "--to", "here/photos"];
    let line = refused(&directory, 1, &none);
    assert!(line.contains("no-such-bucket"), "{line}");
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
