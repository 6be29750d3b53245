//! Roles in a pair (primary, standby, former primary), as balancers and the service manager get them.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use super::{LONG, Served, directory, location, run, told};
use crate::command::{Running, liteio};
use crate::service_manager::{PATIENCE, messages};

impl Served {
    /// A server on `data` with a service manager that it pings often.
    fn managed(
        directory: &tempfile::TempDir,
        data: &str,
        arguments: &[&str],
    ) -> (Served, Receiver<String>) {
        let path = directory.path().join(format!("{data}.notify"));
        let _ = std::fs::remove_file(&path);
        let socket = std::os::unix::net::UnixDatagram::bind(&path).expect("a socket");
        let messages = messages(socket);
        let mut command = liteio(directory);
        command.args(["--address", "127.0.0.1:0", "--data-dir", data, "--metrics-auth", "public"]);
        command.args(["--backup-interval", "100ms"]).args(arguments);
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "20000");
        let running = Running::start(&mut command);
        let address = running.endpoint().strip_prefix("http://").expect("a URL");
        let address = address.parse().expect("an address");
        (Served { running, address }, messages)
    }

    /// The answer about the health, with 200.
    async fn health(&self) -> serde_json::Value {
        let health = self.request("GET", "/_liteio/health/ready").anonymous().send().await;
        serde_json::from_str(&health.expect_status(200).text()).expect("JSON")
    }

    /// Waits for this role, and for the reason of a former primary.
    async fn has_role(&self, role: &str) -> serde_json::Value {
        let begun = Instant::now();
        loop {
            let health = self.health().await;
            let is_told = role != "former" || health["status"] == "degraded";
            if health["role"] == role && is_told {
                return health;
            }
            assert!(begun.elapsed() < LONG, "{role}: {health}");
        }
    }
}

/// Waits until the service manager is told this.
fn expect_status(messages: &Receiver<String>, part: &str) {
    let begun = Instant::now();
    loop {
        let message = messages.recv_timeout(PATIENCE).expect("a message");
        if message.starts_with("WATCHDOG=1\nSTATUS=") && message.contains(part) {
            return;
        }
        assert!(begun.elapsed() < LONG, "{part}: {message}");
    }
}

/// `true` if the check of HAProxy in docs/proxies.md takes a server with this answer.
fn is_taken(health: &serde_json::Value) -> bool {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proxies.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, rule) = page.split_once("http-check expect ! rstring '").expect("the rule");
    let (pattern, _) = rule.split_once('\'').expect("its end");
    let (before, others) = pattern.split_once('(').expect("roles");
    let (roles, after) = others.split_once(')').expect("roles");
    let health = health.to_string();
    !roles.split('|').any(|role| health.contains(&format!("{before}{role}{after}")))
}

#[tokio::test]
async fn the_check_of_haproxy_takes_the_holder_of_the_lease() {
    let directory = directory();
    let location = location(&directory);
    let alone = Served::start(&directory, &["--data-dir", "alone"]);
    let health = alone.health().await;
    assert!(health["role"].is_null() && is_taken(&health), "{health}");
    alone.end();
    let primary = Served::backed_up(&directory, "data", &["--backup", &location]);
    primary.put("/plain", "").await;
    primary.kept().await;
    let standby = Served::standby(&directory, &location, "standby", &[]);
    assert!(is_taken(&primary.has_role("primary").await));
    let health = standby.has_role("standby").await;
    assert!(!is_taken(&health) && health["status"] == "ready", "{health}");
    primary.running.signal("KILL");
    let promoted = told(&directory, 0, &["promote", "standby"]);
    assert!(promoted.starts_with("standby: waiting for the primary"), "{promoted}");
    assert!(is_taken(&standby.has_role("primary").await));
    // It starts again, as `Restart=on-failure` would have it.
    let (former, messages) = Served::managed(&directory, "data", &["--backup", &location]);
    let health = former.has_role("former").await;
    assert!(!is_taken(&health) && health["status"] == "degraded", "{health}");
    expect_status(&messages, "Another server is the primary now");
    former.get("/plain").await.expect_status(200);
    former.end();
    standby.end();
}

#[tokio::test]
async fn a_standby_without_the_master_key_of_its_primary_is_told_so() {
    let directory = directory();
    let location = location(&directory);
    told(&directory, 0, &["key", "new", "master.key"]);
    let backup = ["--backup", &location, "--master-key-file", "master.key"];
    let primary = Served::backed_up(&directory, "data", &backup);
    primary.put("/plain", "").await;
    primary.kept().await;
    let output = run(&directory, &["standby", &location, "standby", "--address", "127.0.0.1:0"]);
    let told = crate::command::stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("The primary has a master key, and this standby has none"), "{told}");
    let more = ["--master-key-file", "master.key"];
    let standby = Served::standby(&directory, &location, "standby", &more);
    standby.gets("/plain", 200).await;
    standby.end();
    primary.end();
}

#[tokio::test]
async fn a_lost_lease_is_told_before_secrets_without_a_key() {
    let directory = directory();
    let location = location(&directory);
    told(&directory, 0, &["key", "new", "master.key"]);
    let backup = ["--backup", &location, "--master-key-file", "master.key"];
    let primary = Served::backed_up(&directory, "data", &backup);
    primary.iam("Action=CreateUser&UserName=eve").await;
    primary.iam("Action=CreateAccessKey&UserName=eve").await;
    primary.kept().await;
    primary.end();
    let backup = ["--backup", &location];
    let (keyless, messages) = Served::managed(&directory, "data", &backup);
    let health = keyless.health().await;
    assert!(health["reason"].as_str().is_some_and(|it| it.contains("master key")), "{health}");
    expect_status(&messages, "master key");
    // Another one takes the lease.
    told(&directory, 0, &["restore", &location, "other"]);
    let other = Served::backed_up(&directory, "other", &backup);
    let health = keyless.has_role("former").await;
    let reason = health["reason"].as_str().expect("a reason");
    assert!(reason.contains("Another server is the primary now"), "{health}");
    expect_status(&messages, "Another server is the primary now");
    other.end();
    keyless.end();
}

#[tokio::test]
async fn a_primary_whose_fence_is_closed_keeps_its_role_and_tells_the_service_manager() {
    let directory = directory();
    let target = Served::start(&directory, &["--data-dir", "target", "--bucket", "backup"]);
    let endpoint = format!("http://{}", target.address);
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
    let (mut primary, messages) = Served::managed(&directory, "data", &backup);
    primary.put("/plain", "").await;
    target.end();
    expect_status(&messages, "could not renew its lease");
    let health = primary.has_role("primary").await;
    let reason = health["reason"].as_str().expect("a reason");
    assert!(reason.contains("could not renew its lease") && is_taken(&health), "{health}");
    // Nothing is to be stored, so that only the look at the lease meets the failure.
    let begun = Instant::now();
    while primary.health().await["backup"]["failing"] != true {
        assert!(begun.elapsed() < LONG, "{}", primary.health().await);
    }
    let log = primary.running.logs("the backup fails and is tried again");
    assert!(log.contains("reason="), "{log}");
    primary.get("/plain").await.expect_status(200);
    primary.running.signal("KILL");
}
