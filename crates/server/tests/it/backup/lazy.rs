//! Lazy restores: a server on a directory whose bodies are in the backup.

use std::time::Instant;

use super::restored::{contents, fill};
use super::{LONG, Served, directory, location, refused, told};

#[tokio::test]
async fn a_lazily_restored_directory_serves_at_once_and_has_everything_later() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    fill(&server).await;
    server.kept().await;
    let before = contents(&server).await;
    server.end();

    let restored = told(&directory, 0, &["restore", &location, "lazy", "--lazy"]);
    assert!(restored.contains("are only in the backup"), "{restored}");
    let verified = told(&directory, 0, &["verify", "--data-dir", "lazy"]);
    assert!(verified.contains("outstanding: plain/\"large\""), "{verified}");
    assert!(verified.contains(" 0 damaged"), "{verified}");

    // Without the backup, and with another one.
    let other = format!("{location}-of-another");
    for backup in [vec![], vec!["--backup", &other]] {
        let server = Served::start(&directory, &[&["--data-dir", "lazy"][..], &backup].concat());
        server.get("/plain/tiny").await.expect_status(200);
        let cure =
            if backup.is_empty() { "at the location of that" } else { "are in another backup" };
        let begun = Instant::now();
        loop {
            let refused = server.get("/plain/large").await.expect_error(503, "ServiceUnavailable");
            assert!(refused.text().contains("restored lazily"), "{}", refused.text());
            if refused.text().contains(cure) {
                break;
            }
            // Until the other one has its first object.
            assert!(begun.elapsed() < LONG, "{}", refused.text());
        }
        if backup.is_empty() {
            let health = server.request("GET", "/_liteio/health/ready").anonymous().send().await;
            let health = health.expect_status(200).text();
            assert!(health.contains("degraded"), "{health}");
            assert!(health.contains("start the server with --backup"), "{health}");
        }
        server.put("/plain/new", vec![5; 300_000]).await;
        let new = server.get("/plain/new").await.expect_status(200);
        assert_eq!(new.body, vec![5; 300_000]);
        let log = server.end();
        let told = "bodies of a lazy restore are only in the backup";
        assert_eq!(log.contains(told), backup.is_empty(), "{log}");
    }

    let server = Served::start(&directory, &["--data-dir", "lazy", "--backup", &location]);
    assert!(contents(&server).await == before, "while they are brought");
    let begun = Instant::now();
    loop {
        let ready = server.request("GET", "/_liteio/health/ready").anonymous().send().await;
        if !ready.expect_status(200).text().contains("\"outstanding\"") {
            break;
        }
        assert!(begun.elapsed() < LONG, "they are not brought");
    }
    server.kept().await;
    server.end();
    let verified = told(&directory, 0, &["verify", "--data-dir", "lazy"]);
    assert!(!verified.contains("outstanding"), "{verified}");
    let server = Served::start(&directory, &["--data-dir", "lazy"]);
    assert!(contents(&server).await == before, "without the backup");
    server.end();
    let line = refused(
        &directory,
        2,
        &["restore", &location, "--bucket", "plain", "--to", "a/b", "--lazy"],
    );
    assert!(line.contains("--lazy"), "{line}");
}
