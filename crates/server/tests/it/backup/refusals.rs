//! Settings and arguments that are refused, each with a line that says what to change.

use super::{Served, directory, location, refused, told};
use crate::command::{Running, liteio, stderr};

#[test]
fn a_server_refuses_a_backup_that_cannot_work_before_anything_is_touched() {
    let directory = directory();
    let root = directory.path().display().to_string();
    let outside = super::directory();
    let path = |name: &str| outside.path().join(name).display().to_string();
    let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    for (name, text) in [
        ("bad.key", "sesame".to_owned()),
        ("two.key", format!("{key}\n{key}")),
        ("empty", "".into()),
    ] {
        std::fs::write(path(name), text).expect("written");
    }
    let (bad, two, empty, absent) = (path("bad.key"), path("two.key"), path("empty"), path("none"));
    let (within, around) = (format!("file://{root}/data/backup"), format!("file://{root}"));
    let elsewhere = format!("file://{}", path("backup"));
    let bucket = ["--backup", "s3://bucket"];
    let keys = ["--backup-access-key", "key"];
    let rows: Vec<(Vec<&str>, &str)> = vec![
        (vec!["--memory", "--backup", &elsewhere], "--memory"),
        (vec!["--backup", "ftp://host"], "--backup: a backup's location is s3://BUCKET/PREFIX"),
        (vec!["--backup", "file://relative"], "file:///ABSOLUTE/PATH"),
        (vec!["--backup", &within], "must not contain each other"),
        (vec!["--backup", &around], "must not contain each other"),
        (bucket.to_vec(), "AWS_ACCESS_KEY_ID"),
        ([bucket, keys].concat(), "LITEIO_BACKUP_SECRET_KEY"),
        (vec!["--backup", "s3://bucket", "--backup-secret-key", "hush-hush"], "access-key"),
        ([&bucket[..], &keys, &["--backup-secret-key-file", &empty]].concat(), "secret key"),
        ([&bucket[..], &keys, &["--backup-secret-key-file", &absent]].concat(), "cannot read"),
        (vec!["--backup", &elsewhere, "--backup-region", "eu"], "s3:// only"),
        (vec!["--backup", &elsewhere, "--backup-key-file", &bad], "32 bytes in base64"),
        (vec!["--backup", &elsewhere, "--backup-key-file", &two], "has 2 keys"),
        (vec!["--backup", &elsewhere, "--backup-key-file", &absent], "cannot read"),
        (vec!["--backup", &elsewhere, "--backup-interval", "1ms"], "100ms to 1h"),
        (vec!["--backup", &elsewhere, "--backup-base-every", "1s"], "--backup-base-every 1m"),
        (vec!["--backup", &elsewhere, "--backup-keep", "long"], "--backup-keep"),
        (vec!["--backup", &elsewhere, "--backup-keep-bases", "0"], "--backup-keep-bases 1"),
        (vec!["--backup-interval", "1s"], "--backup-interval (LITEIO_BACKUP_INTERVAL) needs"),
    ];
    for (arguments, expected) in rows {
        let arguments = [&["--address", "127.0.0.1:0"], &arguments[..]].concat();
        let line = refused(&directory, 2, &arguments);
        assert!(line.contains(expected) && !line.contains("hush"), "{expected}: {line}");
        assert!(!line.contains("sesame"), "{line}");
        let left = std::fs::read_dir(&root).expect("the directory").count();
        assert_eq!(left, 0, "{arguments:?} has touched the directory");
    }
    let mut command = liteio(&directory);
    command.env("LITEIO_BACKUP_KEEP", "long").args(["--backup", &elsewhere]);
    let line = stderr(&command.output().expect("it runs"));
    assert!(line.starts_with("liteio: LITEIO_BACKUP_KEEP: "), "{line}");
}

#[tokio::test]
async fn a_backup_whose_key_is_the_master_key_is_warned_of() {
    let directory = directory();
    for name in ["master.key", "backup.key"] {
        told(&directory, 0, &["key", "new", name]);
    }
    for (key, is_told) in [("master.key", true), ("backup.key", false)] {
        let place = format!("{}-{key}", location(&directory));
        let backup = ["--backup", &place, "--backup-key-file", key];
        let data = format!("data-{key}");
        let master = ["--master-key-file", "master.key"];
        let server = Served::backed_up(&directory, &data, &[&backup[..], &master].concat());
        server.put("/photos", "").await;
        server.kept().await;
        let log = server.end();
        let warning = "the key of the backup is a master key of the server, too";
        assert_eq!(log.contains(warning), is_told, "{log}");
    }
}

#[tokio::test]
async fn commands_refuse_what_they_cannot_use() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    server.kept().await;
    server.end();
    told(&directory, 0, &["key", "new", "backup.key"]);
    std::fs::write(directory.path().join("bad.key"), "sesame").expect("written");
    std::fs::create_dir(directory.path().join("full")).expect("made");
    std::fs::write(directory.path().join("full/file"), "mine").expect("written");
    let none = format!("{location}-absent");
    let rows: Vec<(i32, Vec<&str>, &str)> = vec![
        (2, vec!["backup", "list", "ftp://host"], "s3://BUCKET/PREFIX"),
        (2, vec!["backup", "list", "s3://bucket"], "--access-key"),
        (2, vec!["backup", "list", &location, "--endpoint", "http://host"], "s3:// only"),
        (2, vec!["backup", "list", &location, "--key-file", "bad.key"], "32 bytes"),
        (2, vec!["backup", "list", &location, "--key-file", "absent"], "cannot read"),
        (1, vec!["backup", "list", &location, "--key-file", "backup.key"], "is not encrypted"),
        (1, vec!["backup", "list", &none], "there is no backup at"),
        (1, vec!["backup", "status", &none], "there is no backup at"),
        (1, vec!["backup", "verify", &none], "there is no backup at"),
        (1, vec!["backup", "prune", &none, "--keep", "30d"], "there is no backup at"),
        (2, vec!["backup", "prune", &location], "--keep"),
        (2, vec!["backup", "prune", &location, "--keep", "long"], "--keep: 'long'"),
        (
            2,
            vec!["backup", "prune", &location, "--keep", "1d", "--keep-bases", "0"],
            "--keep-bases 1",
        ),
        (1, vec!["restore", &none, "new"], "there is no backup at"),
        (1, vec!["restore", &location, "full"], "is not empty"),
        (1, vec!["restore", &location, "data"], "is not empty"),
        (2, vec!["restore", &location, "new", "--at", "yesterday"], "no moment"),
        (2, vec!["restore", &location, "new", "--number", "1"], "--generation"),
        (2, vec!["restore", &location, "new", "--generation", "1"], "--number"),
        (
            2,
            vec!["restore", &location, "new", "--generation", "x", "--number", "1"],
            "no generation",
        ),
        (
            1,
            vec!["restore", &location, "new", "--generation", "1", "--number", "1"],
            "`liteio backup list` shows",
        ),
        (2, vec!["restore", &location], "DIR"),
    ];
    for (code, arguments, expected) in rows {
        let line = refused(&directory, code, &arguments);
        assert!(line.contains(expected) && !line.contains("sesame"), "{expected}: {line}");
        assert!(!directory.path().join("new").exists(), "{arguments:?}");
    }
    assert_eq!(std::fs::read(directory.path().join("full/file")).expect("there"), b"mine");
}

#[test]
fn variables_of_a_backup_without_its_location_are_one_warning() {
    let directory = directory();
    let variables = [
        ("LITEIO_FENCE", "2s"),
        ("LITEIO_BACKUP_KEY_FILE", "absent.key"),
        ("LITEIO_BACKUP_ENDPOINT", "http://127.0.0.1:1"),
        ("LITEIO_BACKUP_ACCESS_KEY", "backup"),
        ("LITEIO_BACKUP_SECRET_KEY", "sesame"),
    ];
    let memory = ["--memory", "--address", "127.0.0.1:0"];
    let (code, log) = Running::start_with(&directory, &memory, &variables).signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    let lines: Vec<_> = log.lines().filter(|line| line.contains("have no effect")).collect();
    assert!(lines.len() == 1 && !log.contains("sesame"), "{log}");
    for (name, _) in variables {
        assert!(lines[0].contains(name), "{name}: {log}");
    }
    assert!(lines[0].contains("nothing is backed up, because LITEIO_BACKUP is not set"), "{log}");
    assert!(lines[0].contains("writes are not fenced"), "{log}");
    // Flags are given for this start.
    let mut command = liteio(&directory);
    command.args(memory).args(["--backup-keep", "1d"]).envs(variables);
    let output = command.output().expect("it runs");
    let line = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(line.contains("--backup-keep (LITEIO_BACKUP_KEEP) needs --backup"), "{line}");
}

#[test]
fn a_key_of_a_backup_that_was_rotated_is_told_how_to_get_back() {
    let directory = directory();
    let location = location(&directory);
    told(&directory, 0, &["key", "new", "backup.key"]);
    let first = std::fs::read_to_string(directory.path().join("backup.key")).expect("a key");
    let rotated = told(&directory, 0, &["key", "rotate", "backup.key"]);
    assert!(rotated.contains("a backup has one key for ever"), "{rotated}");
    let server = ["--address", "127.0.0.1:0", "--backup", &location, "--backup-key-file"];
    let line = refused(&directory, 2, &[&server[..], &["backup.key"]].concat());
    assert!(line.contains("keep its last line, and remove the first"), "{line}");
    let keys = std::fs::read_to_string(directory.path().join("backup.key")).expect("keys");
    assert_eq!(keys.lines().last(), Some(first.trim()));
}

/// The arguments of a server with a backup in a bucket of another one.
fn into<'a>(data: &'a str, endpoint: &'a str, location: &'a str, secret: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["--address", "127.0.0.1:0", "--data-dir", data, "--backup", location];
    arguments.extend(["--backup-endpoint", endpoint, "--backup-access-key", "liteio"]);
    arguments.extend(["--backup-secret-key", secret]);
    arguments
}

#[tokio::test]
async fn a_place_that_refuses_a_new_backup_ends_the_start() {
    let directory = directory();
    let target = Served::start(&directory, &["--data-dir", "target", "--bucket", "backup"]);
    let endpoint = target.running.endpoint();
    let rows = [
        ("s3://absent", "liteio123", "make the bucket 'absent'"),
        ("s3://backup", "wrong-secret", "correct the access key and the secret key"),
    ];
    for (location, secret, remedy) in rows {
        let line = refused(&directory, 1, &into("new", endpoint, location, secret));
        assert!(line.starts_with("liteio: --backup: ") && line.contains(remedy), "{line}");
        assert!(!line.contains("wrong-secret"), "{line}");
        assert!(!directory.path().join("new").exists(), "a data directory is left behind");
    }
    // One that exists, and was never backed up there.
    Served::start(&directory, &["--data-dir", "old"]).end();
    std::fs::write(directory.path().join("file"), "mine").expect("written");
    let file = format!("file://{}", directory.path().join("file").display());
    let rows = [
        (into("old", endpoint, "s3://absent", "liteio123"), "make the bucket 'absent'"),
        (
            vec!["--address", "127.0.0.1:0", "--data-dir", "old", "--backup", &file],
            "choose a directory that only backups write to",
        ),
    ];
    for (arguments, remedy) in rows {
        let line = refused(&directory, 1, &arguments);
        assert!(line.contains(remedy), "{line}");
    }
    target.end();
}

#[tokio::test]
async fn a_backup_that_worked_before_does_not_keep_the_server_down() {
    let directory = directory();
    let target = Served::start(&directory, &["--data-dir", "target", "--bucket", "backup"]);
    let endpoint = target.running.endpoint();
    let more = ["--backup-interval", "100ms"];
    let right = into("data", endpoint, "s3://backup", "liteio123");
    let server = Served::start(&directory, &[&right[2..], &more].concat());
    server.put("/photos", "").await;
    server.kept().await;
    server.end();

    let wrong = into("data", endpoint, "s3://backup", "rotated-secret");
    let server = Served::start(&directory, &[&wrong[2..], &more].concat());
    server.get("/photos").await.expect_status(200);
    server.counts("liteio_backup_failures_total").await;
    let health = server.request("GET", "/_liteio/health/ready").anonymous().send().await;
    let health = health.expect_status(200).text();
    assert!(health.contains("\"degraded\"") && health.contains("the backup fails"), "{health}");
    let log = server.end();
    assert!(log.contains("correct the access key and the secret key"), "{log}");
    target.end();
}
