//! Targets that are away or of another, and the log of that.

use std::net::TcpListener;

use super::{Served, directory, location, refused, serve_restored, told};
use crate::scrub::blob;

fn lines<'l>(log: &'l str, part: &str) -> Vec<&'l str> {
    log.lines().filter(|line| line.contains(part)).collect()
}

#[tokio::test]
async fn a_target_that_comes_later_gets_everything() {
    let directory = directory();
    // Nobody listens there until a server does.
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = port.local_addr().expect("an address").to_string();
    drop(port);
    let endpoint = format!("http://{address}");
    let backup = [
        "--backup",
        "s3://backup",
        "--backup-endpoint",
        &endpoint,
        "--backup-access-key",
        "liteio",
        "--backup-secret-key",
        "liteio123",
    ];
    let server = Served::backed_up(&directory, "data", &backup);
    server.put("/photos", "").await;
    server.put("/photos/cat", "meow").await;
    server.counts("liteio_backup_failures_total").await;
    let health = server.request("GET", "/_liteio/health/ready").anonymous().send().await;
    let health = health.expect_status(200).text();
    assert!(health.contains("\"backup\"") && health.contains("\"failing\":true"), "{health}");
    assert!(health.contains("\"degraded\"") && health.contains("the backup fails"), "{health}");
    let target = Served::at(&directory, &address, &["--data-dir", "target", "--bucket", "backup"]);
    server.kept().await;
    let log = server.end();
    assert_eq!(lines(&log, "the backup fails").len(), 1, "{log}");
    assert_eq!(lines(&log, "the backup works again").len(), 1, "{log}");

    let more = ["--endpoint", &endpoint, "--access-key", "liteio", "--secret-key", "liteio123"];
    let restored = serve_restored(&directory, "s3://backup", &more);
    assert_eq!(restored.get("/photos/cat").await.text(), "meow");
    restored.end();
    target.end();
}

#[test]
fn a_server_does_not_back_itself_up() {
    let directory = directory();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let endpoint = format!("http://127.0.0.1:{port}");
    for own in ["127.0.0.1", "0.0.0.0"] {
        let address = format!("{own}:{port}");
        let arguments = [
            "--address",
            &address,
            "--data-dir",
            "data",
            "--access-key",
            "liteio",
            "--secret-key",
            "liteio-secret",
            "--backup",
            "s3://backup",
            "--backup-endpoint",
            &endpoint,
            "--backup-access-key",
            "liteio",
            "--backup-secret-key",
            "liteio-secret",
        ];
        let line = refused(&directory, 2, &arguments);
        assert!(line.contains(&endpoint) && line.contains("is this server itself"), "{line}");
        assert!(!directory.path().join("data").exists(), "a data directory is left behind");
    }
}

#[tokio::test]
async fn a_backup_is_of_one_data_directory_and_goes_on_with_a_restored_one() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.put("/photos", "").await;
    server.kept().await;
    server.end();

    let other = ["--address", "127.0.0.1:0", "--data-dir", "other", "--backup", &location];
    let line = refused(&directory, 1, &other);
    assert!(line.contains("other has no data yet: is its disk mounted?"), "{line}");
    assert!(line.contains("`liteio restore`") && line.contains("choose another prefix"), "{line}");
    assert!(!directory.path().join("other").exists(), "a data directory is left behind");
    // The store itself, without a file.
    let (format, aside) = ("data/format", "format");
    std::fs::rename(directory.path().join(format), directory.path().join(aside)).expect("renamed");
    let damaged = ["--address", "127.0.0.1:0", "--data-dir", "data", "--backup", &location];
    let line = refused(&directory, 1, &damaged);
    assert!(line.contains("the file `format` is missing, but meta.redb is there"), "{line}");
    assert!(!line.contains("is its disk mounted?"), "{line}");
    std::fs::rename(directory.path().join(aside), directory.path().join(format)).expect("renamed");
    // One that exists.
    let log = Served::start(&directory, &["--data-dir", "other"]).end();
    assert_eq!(lines(&log, "new data directory").len(), 1, "{log}");
    let line = refused(&directory, 1, &other);
    assert!(line.contains("is of another data directory: choose another prefix"), "{line}");

    serve_restored(&directory, &location, &[]).end();
    let restored = Served::backed_up(&directory, "restored", &["--backup", &location]);
    restored.put("/photos/cat", "meow").await;
    restored.kept().await;
    let log = restored.end();
    assert!(!log.contains("WARN") && !log.contains("new data directory"), "{log}");
}

#[tokio::test]
async fn damage_that_a_scrub_has_found_is_not_told_of_what_is_restored() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.put("/photos", "").await;
    server.put("/photos/cat", vec![7; 3_000_000]).await;
    server.kept().await;
    let damaged = blob(&directory.path().join("data/blobs")).expect("one");
    let mut bytes = std::fs::read(&damaged).expect("readable");
    bytes[50_000] ^= 1;
    std::fs::write(&damaged, bytes).expect("written");
    let id = server.running.id().to_string();
    let sent = std::process::Command::new("kill").args(["-s", "USR1", &id]).status();
    assert!(sent.expect("kill runs").success());
    let health = async |server: &Served| {
        let reply = server.request("GET", "/_liteio/health/ready").anonymous().send().await;
        serde_json::from_str::<serde_json::Value>(&reply.text()).expect("JSON")
    };
    let begun = std::time::Instant::now();
    while health(&server).await["scrub"]["ended_ms"].is_null() {
        assert!(begun.elapsed() < super::LONG, "no scrub ends");
    }
    assert_eq!(health(&server).await["scrub"]["damaged"], 1);
    server.kept().await;
    server.end();
    let restored = serve_restored(&directory, &location, &[]);
    let told = health(&restored).await;
    assert_eq!(told["status"], "ready", "{told}");
    assert_eq!(told["scrub"]["damaged"], 0, "{told}");
    assert_eq!(restored.get("/photos/cat").await.body.len(), 3_000_000);
    restored.end();
}

#[tokio::test]
async fn damaged_data_is_counted_and_told_and_the_rest_is_backed_up() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::start(&directory, &["--data-dir", "data"]);
    server.put("/photos", "").await;
    server.put("/photos/cat", vec![7; 3_000_000]).await;
    server.put("/photos/dog", "wow").await;
    server.end();
    let damaged = blob(&directory.path().join("data/blobs")).expect("one");
    let mut bytes = std::fs::read(&damaged).expect("readable");
    bytes[50_000] ^= 1;
    std::fs::write(&damaged, bytes).expect("written");

    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.kept().await;
    assert_eq!(server.figures().await["liteio_backup_unreadable"], 1.0);
    let log = server.end();
    assert_eq!(lines(&log, "damaged data cannot be backed up whole").len(), 1, "{log}");
    let restored = told(&directory, 1, &["restore", &location, "restored"]);
    assert!(restored.contains("it was damaged when that was made"), "{restored}");
    let restored = Served::start(&directory, &["--data-dir", "restored"]);
    assert_eq!(restored.get("/photos/dog").await.text(), "wow");
    restored.get("/photos/cat").await.expect_error(500, "InternalError");
    restored.end();
}

#[tokio::test]
async fn a_backup_whose_file_system_is_not_mounted_fails_until_it_is() {
    let directory = directory();
    let location = location(&directory);
    let (place, aside) = (directory.path().join("backup"), directory.path().join("aside"));
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.put("/photos", "").await;
    server.kept().await;
    server.end();

    std::fs::rename(&place, &aside).expect("moved");
    std::fs::create_dir(&place).expect("made");
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.put("/photos/cat", "meow").await;
    server.counts("liteio_backup_failures_total").await;
    assert_eq!(std::fs::read_dir(&place).expect("readable").count(), 0, "nothing is begun there");
    std::fs::remove_dir(&place).expect("removed");
    std::fs::rename(&aside, &place).expect("moved back");
    server.kept().await;
    let log = server.end();
    assert_eq!(lines(&log, "nothing is in its place: mount its file system").len(), 1, "{log}");
    assert_eq!(lines(&log, "the backup works again").len(), 1, "{log}");
    let restored = serve_restored(&directory, &location, &[]);
    assert_eq!(restored.get("/photos/cat").await.text(), "meow");
    restored.end();
}
