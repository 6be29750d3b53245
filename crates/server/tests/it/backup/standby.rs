//! A primary with a standby, in processes of their own: following, refusing, promotions.

use std::process::Child;
use std::time::Instant;

use super::restored::{contents, fill};
use super::{LONG, ROOT, Served, directory, location, refused, run, told};
use crate::command::{Running, liteio};
use crate::harness::RawRequest;
use crate::reply::Reply;

impl Served {
    /// A primary that is backed up each tenth of a second and has its first base.
    async fn primary(directory: &tempfile::TempDir, data: &str, more: &[&str]) -> Served {
        let server = Served::backed_up(directory, data, more);
        server.kept().await;
        server
    }

    /// A standby in `data`.
    pub(super) fn standby(
        directory: &tempfile::TempDir,
        location: &str,
        data: &str,
        more: &[&str],
    ) -> Served {
        let mut command = liteio(directory);
        command.args(["standby", location, data, "--address", "127.0.0.1:0"]);
        command.args(["--metrics-auth", "public", "--backup-interval", "100ms"]);
        command.args(["--log", "info,liteio::access=off"]).args(more);
        let running = Running::start(&mut command);
        let address = running.endpoint().strip_prefix("http://").expect("a URL");
        let address = address.parse().expect("an address");
        Served { running, address }
    }

    /// The answer to a GET once it has this status.
    pub(super) async fn gets(&self, path: &str, status: u16) -> Reply {
        let begun = Instant::now();
        loop {
            let reply = self.get(path).await;
            if reply.status == status {
                return reply;
            }
            assert!(begun.elapsed() < LONG, "{path}: {} {}", reply.status, reply.text());
        }
    }

    /// The metric `liteio_store_ready`, and the answer about the health.
    async fn is_ready(&self) -> (bool, String) {
        let page = self.request("GET", "/_liteio/metrics").anonymous().send().await.text();
        let health = self.request("GET", "/_liteio/health/ready").anonymous().send().await;
        (page.contains("\nliteio_store_ready 1\n"), health.expect_status(200).text())
    }

    /// Waits until a put is refused, and returns the refusal.
    async fn refuses(&self, path: &str) -> Reply {
        let begun = Instant::now();
        loop {
            let reply = self.request("PUT", path).body("x").send().await;
            if reply.status == 503 {
                return reply;
            }
            assert!(begun.elapsed() < LONG, "{path}: {} {}", reply.status, reply.text());
        }
    }
}

/// Begins `liteio promote`.
fn promoting(directory: &tempfile::TempDir, data: &str) -> Child {
    let mut command = liteio(directory);
    command.args(["promote", data]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    command.spawn().expect("it runs")
}

#[tokio::test]
async fn a_standby_has_what_its_primary_has_and_refuses_every_write() {
    let directory = directory();
    let location = location(&directory);
    let primary = Served::primary(&directory, "data", &["--backup", &location]).await;
    primary.put("/before", "").await;
    primary.put("/before/key", vec![7; 300_000]).await;
    primary.kept().await;
    let standby = Served::standby(&directory, &location, "standby", &[]);
    assert_eq!(standby.gets("/before/key", 200).await.body, vec![7; 300_000]);
    fill(&primary).await;
    // The last thing that it writes.
    primary.put("/before/last", "there").await;
    let reply = standby.gets("/before/last", 200).await;
    let behind = reply.header("x-liteio-behind").expect("on every answer");
    assert!(behind.parse::<u64>().is_ok_and(|it| it < 60), "{behind}");
    assert!(contents(&standby).await == contents(&primary).await);
    // Another version of a bucket's settings, which it has in a cache.
    let policy = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*",
        "Action":"s3:GetObject","Resource":"arn:aws:s3:::before/*"}]}"#;
    let put = primary.request("PUT", "/before?policy").body(policy).send().await;
    put.expect_status(204);
    let begun = Instant::now();
    while standby.request("GET", "/before/key").anonymous().send().await.status != 200 {
        assert!(begun.elapsed() < LONG, "the policy does not come");
    }
    primary.delete("/before/key").await;
    standby.gets("/before/key", 404).await;
    // Vectors are replaced and deleted.
    let put = r#"{"vectorBucketName":"media","indexName":"films","vectors":[
        {"key":"d","data":{"float32":[1,2,2]},"metadata":{"year":2001}},
        {"key":"a","data":{"float32":[-1,-2,-2]}}]}"#;
    primary.vectors("PutVectors", put).await;
    let delete = r#"{"vectorBucketName":"media","indexName":"films","keys":["c"]}"#;
    primary.vectors("DeleteVectors", delete).await;
    primary.put("/before/last", "again").await;
    let begun = Instant::now();
    while standby.get("/before/last").await.text() != "again" {
        assert!(begun.elapsed() < LONG, "it does not come");
    }
    for query in [
        r#"{"vectorBucketName":"media","indexName":"films","topK":9,"returnDistance":true,
            "returnMetadata":true,"queryVector":{"float32":[1,2,2]}}"#,
        r#"{"vectorBucketName":"media","indexName":"films","topK":9,
            "filter":{"year":{"$gt":1990}},"queryVector":{"float32":[1,2,2]}}"#,
    ] {
        let found = standby.vectors("QueryVectors", query).await.text();
        assert_eq!(found, primary.vectors("QueryVectors", query).await.text());
        assert!(found.contains("\"d\"") && !found.contains("\"c\""), "{found}");
    }

    let writes = [
        ("PUT", "/before/new", "x"),
        ("PUT", "/new-bucket", ""),
        ("PUT", "/absent/key", "x"),
        ("DELETE", "/before/last", ""),
        ("DELETE", "/before", ""),
        ("POST", "/before/parts?uploads", ""),
        ("PUT", "/before?tagging", "<Tagging><TagSet></TagSet></Tagging>"),
        ("POST", "/before?delete", "<Delete><Object><Key>last</Key></Object></Delete>"),
    ];
    for (method, path, body) in writes {
        let refused = standby.request(method, path).body(body).send().await;
        let refused = refused.expect_error(503, "ServiceUnavailable");
        assert!(refused.text().contains("standby"), "{method} {path}: {}", refused.text());
        assert_eq!(refused.header("retry-after"), Some("1"), "{method} {path}");
        assert!(refused.header("x-liteio-behind").is_some(), "{method} {path}");
    }
    let vectors = |operation: &'static str, body: &'static str| {
        let request = RawRequest::of_vectors(standby.address, "us-east-1", operation, body);
        request.by(ROOT).send()
    };
    for (operation, body) in [
        ("PutVectors", put),
        ("DeleteVectors", delete),
        ("CreateVectorBucket", r#"{"vectorBucketName":"more"}"#),
        ("DeleteIndex", r#"{"vectorBucketName":"media","indexName":"films"}"#),
    ] {
        let refused = vectors(operation, body).await.expect_status(503).text();
        assert!(refused.contains("standby"), "{operation}: {refused}");
    }
    for form in ["Action=CreateUser&UserName=eve", "Action=DeleteUser&UserName=dora"] {
        let request = RawRequest::of_form(standby.address, "iam", form).by(ROOT);
        let refused = request.send().await.expect_status(503).text();
        assert!(refused.contains("standby"), "{form}: {refused}");
    }
    primary.iam("Action=CreateUser&UserName=eve").await;
    let begun = Instant::now();
    loop {
        let users = standby.iam("Action=ListUsers").await.elements("UserName");
        if users.contains(&"eve".to_owned()) {
            break;
        }
        assert!(begun.elapsed() < LONG, "{users:?}");
    }
    let ready = standby.request("GET", "/_liteio/health/ready").anonymous().send().await;
    let ready = ready.expect_status(200).text();
    assert!(ready.contains("\"standby\"") && ready.contains("\"seconds_behind\""), "{ready}");
    let page = standby.request("GET", "/_liteio/metrics").anonymous().send().await.text();
    assert!(page.contains("\nliteio_standby_applied_total "), "{page}");
    assert!(page.contains("\nliteio_store_ready 1\n"), "for what it is there for: {page}");

    // It goes on where it was after a kill.
    standby.running.signal("KILL");
    primary.put("/before/later", "there").await;
    let standby = Served::standby(&directory, &location, "standby", &[]);
    standby.gets("/before/later", 200).await;
    // A primary that starts again begins another generation.
    primary.running.signal("KILL");
    let primary = Served::primary(&directory, "data", &["--backup", &location]).await;
    primary.put("/before/latest", "there").await;
    standby.gets("/before/latest", 200).await;
    assert!(contents(&standby).await == contents(&primary).await);
    let log = standby.end();
    assert!(!log.contains("ERROR"), "{log}");
    primary.end();
    told(&directory, 0, &["verify", "--data-dir", "standby"]);
    // Nobody else writes to its directory.
    let line = refused(&directory, 1, &["--data-dir", "standby", "--address", "127.0.0.1:0"]);
    assert!(line.contains("belongs to a standby"), "{line}");
}

/// After a rotation of the master key at the primary alone.
#[tokio::test]
async fn a_standby_tells_at_once_of_secrets_that_its_keys_do_not_open() {
    let directory = directory();
    let location = location(&directory);
    for key in ["one.key", "other.key"] {
        told(&directory, 0, &["key", "new", key]);
    }
    let options = ["--backup", &location, "--master-key-file", "one.key"];
    let primary = Served::primary(&directory, "data", &options).await;
    let options = ["--master-key-file", "other.key"];
    let standby = Served::standby(&directory, &location, "standby", &options);
    primary.iam("Action=CreateUser&UserName=eve").await;
    primary.iam("Action=CreateAccessKey&UserName=eve").await;
    let begun = Instant::now();
    loop {
        let (_, health) = standby.is_ready().await;
        if health.contains("sealed by a master key that the server lacks") {
            break;
        }
        assert!(begun.elapsed() < LONG, "{health}");
    }
    standby.end();
    primary.end();
}

#[tokio::test]
async fn a_primary_hands_over_and_stays_without_writes() {
    let directory = directory();
    let location = location(&directory);
    let backup = ["--backup", &location, "--fence"];
    let primary = Served::primary(&directory, "data", &backup).await;
    fill(&primary).await;
    primary.put("/plain/last", "acknowledged").await;
    let standby = Served::standby(&directory, &location, "standby", &["--fence"]);
    let promoted = told(&directory, 0, &["promote", "standby"]);
    assert!(promoted.contains("this server is the primary now"), "{promoted}");
    let (_, health) = primary.is_ready().await;
    assert!(health.contains("\"role\":\"former\""), "{health}");
    // Nothing that was acknowledged is lost, and the old primary has stopped before.
    let refusal = primary.request("PUT", "/plain/late").body("x").send().await;
    let refusal = refusal.expect_error(503, "ServiceUnavailable");
    assert_eq!(refusal.header("retry-after"), Some("1"));
    assert_eq!(standby.get("/plain/last").await.expect_status(200).text(), "acknowledged");
    assert!(contents(&standby).await == contents(&primary).await);
    // Neither of the two is a standby any more, and it is said at once.
    for data in ["data", "standby"] {
        let line = refused(&directory, 1, &["promote", data]);
        assert!(line.contains("no standby runs on") && line.contains("but a primary"), "{line}");
        assert!(line.contains("or a server without a backup"), "{line}");
    }
    let reply = standby.put("/plain/new", "of the new primary").await;
    assert_eq!(reply.header("x-liteio-behind"), None);
    standby.kept().await;
    let list = told(&directory, 0, &["backup", "list", &location]);
    assert!(list.contains("continues record"), "{list}");

    // Neither a restart nor time brings the old one back.
    let refused = primary.refuses("/plain/late").await.text();
    assert!(refused.contains("Another server") || refused.contains("hands over"), "{refused}");
    primary.end();
    let primary = Served::backed_up(&directory, "data", &backup);
    let refused = primary.request("PUT", "/plain/late").body("x").send().await;
    let refused = refused.expect_error(503, "ServiceUnavailable").text();
    assert!(refused.contains("Another server is the primary now"), "{refused}");
    primary.get("/plain/last").await.expect_status(200);
    primary.end();

    // The promoted one is an ordinary primary, whichever command starts it.
    standby.end();
    let standby = Served::standby(&directory, &location, "standby", &["--fence"]);
    standby.put("/plain/newer", "x").await;
    standby.kept().await;
    standby.end();
    let primary = Served::primary(&directory, "standby", &backup).await;
    primary.put("/plain/newest", "x").await;
    primary.end();
    told(&directory, 0, &["verify", "--data-dir", "standby"]);
    let verified = told(&directory, 0, &["backup", "verify", &location]);
    assert!(verified.contains(" 0 damaged"), "{verified}");

    // The way back: without the lease of another one, the former primary takes it at its start.
    let place = location.strip_prefix("file://").expect("a directory");
    std::fs::remove_file(std::path::Path::new(place).join("lease")).expect("removed");
    let primary = Served::backed_up(&directory, "data", &backup);
    primary.put("/plain/again", "x").await;
    primary.kept().await;
    primary.end();
}

#[tokio::test]
async fn a_new_backup_with_a_fence_tells_of_no_failure() {
    let directory = directory();
    let location = location(&directory);
    let primary = Served::primary(&directory, "data", &["--backup", &location, "--fence"]).await;
    primary.put("/plain", "").await;
    assert_eq!(primary.figures().await["liteio_backup_failures_total"], 0.0);
    let log = primary.end();
    assert!(!log.contains("WARN"), "{log}");
}

#[tokio::test]
async fn a_primary_whose_fence_is_closed_is_not_ready_and_says_so_once() {
    let directory = directory();
    let target = Served::start(&directory, &["--data-dir", "target", "--bucket", "backup"]);
    let address = target.address.to_string();
    let endpoint = format!("http://{address}");
    let backup = [
        "--backup",
        "s3://backup/pair",
        "--backup-endpoint",
        &endpoint,
        "--backup-access-key",
        "liteio",
        "--backup-secret-key",
        "liteio123",
        "--fence=2s",
    ];
    let mut primary = Served::primary(&directory, "data", &backup).await;
    primary.put("/plain", "").await;
    assert!(primary.is_ready().await.0);
    target.end();
    primary.refuses("/plain/late").await;
    let (is_ready, health) = primary.is_ready().await;
    assert!(!is_ready && health.contains("\"degraded\""), "{health}");
    assert!(health.contains("could not renew its lease"), "{health}");
    assert!(health.contains("the backup does not answer"), "{health}");
    let mut log = primary.running.logs("the fence is closed");

    let target = Served::at(&directory, &address, &["--data-dir", "target"]);
    log += &primary.running.logs("the fence is open");
    primary.put("/plain/late", "x").await;
    primary.kept().await;
    assert!(primary.is_ready().await.0);
    log += &primary.end();
    target.end();
    for (line, level) in [("the fence is closed", "WARN"), ("the fence is open", "INFO")] {
        let lines: Vec<_> = log.lines().filter(|it| it.contains(line)).collect();
        assert!(lines.len() == 1 && lines[0].contains(level), "{line}: {log}");
    }
}

#[tokio::test]
async fn a_standby_takes_the_place_of_a_primary_that_was_killed() {
    let directory = directory();
    let target = Served::start(&directory, &["--data-dir", "target", "--bucket", "backup"]);
    told(&directory, 0, &["key", "new", "backup.key"]);
    let endpoint = format!("http://{}", target.address);
    let location = "s3://backup/pair";
    let access = [
        "--backup-endpoint",
        &endpoint,
        "--backup-access-key",
        "liteio",
        "--backup-secret-key",
        "liteio123",
        "--backup-key-file",
        "backup.key",
    ];
    let backup = [&["--backup", location][..], &access].concat();
    let primary = Served::primary(&directory, "data", &backup).await;
    fill(&primary).await;
    primary.kept().await;
    let standby = Served::standby(&directory, location, "standby", &access);
    let before = contents(&standby).await;
    assert!(contents(&primary).await == before);
    primary.running.signal("KILL");
    let begun = Instant::now();
    told(&directory, 0, &["promote", "standby", "--primary-is-dead"]);
    standby.put("/plain/new", "of the new primary").await;
    println!("promoted {:?} after the death of the primary", begun.elapsed());
    assert!(contents(&standby).await == before);
    // A second standby follows the new primary, and one of the old generation moves to it.
    standby.kept().await;
    let second = Served::standby(&directory, location, "second", &access);
    second.gets("/plain/new", 200).await;
    standby.put("/plain/newer", "x").await;
    second.gets("/plain/newer", 200).await;
    let primary = Served::backed_up(&directory, "data", &backup);
    primary.refuses("/plain/late").await;
    primary.end();
    second.end();
    standby.end();
    target.end();
}

#[tokio::test]
async fn of_two_standbys_that_are_promoted_one_writes() {
    let directory = directory();
    let location = location(&directory);
    let primary = Served::primary(&directory, "data", &["--backup", &location]).await;
    primary.put("/photos", "").await;
    primary.kept().await;
    let names = ["one", "two"];
    let standbys = names.map(|name| Served::standby(&directory, &location, name, &[]));
    for standby in &standbys {
        standby.gets("/photos", 200).await;
    }
    let commands = names.map(|name| promoting(&directory, name));
    let outputs = commands.map(|command| command.wait_with_output().expect("it ends"));
    let won: Vec<bool> = outputs.iter().map(|output| output.status.success()).collect();
    assert!(won.contains(&true), "{outputs:?}");
    // The later command may find the first one done: then the new primary hands over like any other,
    // and both have won, one after the other.
    let mut writers = 0;
    for (standby, won) in standbys.iter().zip(&won) {
        let put = standby.request("PUT", "/photos/cat").body("meow").send().await;
        match put.status {
            200 if *won => writers += 1,
            503 => {}
            status => panic!("{status} {} {outputs:?}", put.text()),
        }
    }
    assert_eq!(writers, 1, "{outputs:?}");
    primary.refuses("/photos/dog").await;
    for (standby, won) in standbys.iter().zip(&won) {
        if !won {
            standby.gets("/photos/cat", 200).await;
        }
    }
    for standby in standbys {
        standby.end();
    }
    primary.end();
}

#[tokio::test]
async fn what_cannot_be_a_standby_is_refused_with_a_line() {
    let directory = directory();
    let location = location(&directory);
    let elsewhere = format!("{location}-of-another");
    told(&directory, 0, &["key", "new", "backup.key"]);
    for (data, location) in [("data", &location), ("other", &elsewhere)] {
        Served::primary(&directory, data, &["--backup", location]).await.end();
    }
    Served::standby(&directory, &location, "standby", &[]).end();
    std::fs::create_dir(directory.path().join("full")).expect("made");
    std::fs::write(directory.path().join("full/file"), "mine").expect("written");
    let none = format!("{location}-absent");
    let address = ["--address", "127.0.0.1:0", "--log", "error"];
    let rows: Vec<(i32, Vec<&str>, &str)> = vec![
        (1, vec!["standby", &none, "new"], "there is no backup at"),
        (1, vec!["standby", &location, "full"], "is not empty"),
        (1, vec!["standby", &location, "data"], "is the directory of a primary, or a copy of one"),
        (2, vec!["standby", &location, "new", "--bucket", "photos"], "remove --bucket"),
        (2, vec!["standby", &location, "new", "--test-api"], "remove --test-api"),
        (2, vec!["standby", &location, "new", "--memory"], "remove --memory"),
        (2, vec!["standby", &location, "new", "--data-dir", "x"], "remove --data-dir"),
        (2, vec!["standby", "ftp://host", "new"], "s3://BUCKET/PREFIX"),
        (
            2,
            vec!["standby", &location, "new", "--fence=1s"],
            "give a time from 2s to 1h, such as --fence=10s",
        ),
        (
            1,
            vec!["standby", &location, "new", "--backup-key-file", "backup.key"],
            "is not encrypted",
        ),
        (1, vec!["promote", "absent"], "is not a data directory"),
        (1, vec!["promote", "standby"], "no standby runs on standby: start `liteio standby`"),
        (1, vec!["promote", "data"], "no standby runs on data: start `liteio standby`"),
    ];
    for (code, arguments, expected) in rows {
        let is_standby = arguments[0] == "standby";
        let more = if is_standby { &address[..] } else { &[] };
        let line = refused(&directory, code, &[&arguments[..], more].concat());
        assert!(line.contains(expected), "{expected}: {line}");
        assert!(!directory.path().join("new").exists(), "{arguments:?}");
    }
    let line = refused(&directory, 2, &["--fence"]);
    assert!(line.contains("--fence (LITEIO_FENCE) needs --backup"), "{line}");
    // The backup of another primary is not followed, and the standby says so.
    let other = Served::standby(&directory, &elsewhere, "standby", &[]);
    let begun = Instant::now();
    loop {
        let health = other.request("GET", "/_liteio/health/ready").anonymous().send().await;
        if health.text().contains("\"failing\":true") {
            break;
        }
        assert!(begun.elapsed() < LONG, "{}", health.text());
    }
    let output = run(&directory, &["promote", "standby"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let log = other.end();
    assert!(log.contains("does not follow the backup at"), "{log}");
}
