//! The audit log.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use liteio::{AuditPosts, AuditRotation, AuditSettings, AuditWebhook};
use serde_json::Value;

use crate::command::{Running, liteio, stderr};
use crate::harness::{ALICE, BOB, TestServer, start_with};
use crate::metrics::{good, with_token};
use crate::receiver::{Post, Receiver};

/// Nothing in these tests takes this long unless it hangs.
const LONG: Duration = Duration::from_secs(60);

async fn server(audit: AuditSettings) -> TestServer {
    start_with("memory", "us-east-1", |builder, _| builder.audit(audit)).await
}

fn to_file(path: &Path) -> AuditSettings {
    AuditSettings { file: Some(path.to_owned()), ..AuditSettings::default() }
}

fn to_webhook(url: String) -> AuditSettings {
    let webhook = AuditWebhook::new(url, Some("a token".to_owned())).expect("valid");
    AuditSettings { webhooks: vec![webhook], ..AuditSettings::default() }
}

async fn poll<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < LONG, "it takes too long");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn entries(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// The entries of a file, once there are so many.
async fn wait_for(path: &Path, count: usize) -> Vec<Value> {
    poll(async || Some(entries(path)).filter(|entries| entries.len() >= count)).await
}

async fn health(server: &TestServer) -> Value {
    let health = server.request("GET", "/_liteio/health/ready").anonymous().send().await;
    serde_json::from_str(&health.expect_status(200).text()).expect("JSON")
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("audit.log");
    (directory, path)
}

#[tokio::test]
async fn every_request_but_those_for_the_health_has_an_entry_without_secrets() {
    let (_directory, path) = file();
    let server = server(to_file(&path)).await;
    server.bucket("photos").await;
    let put = server.request("PUT", "/photos/a%20cat?x-id=PutObject").header("user-agent", "tests");
    put.body("JPEG").send().await.expect_status(200);
    health(&server).await;
    let refused = server.request("GET", "/photos/a%20cat").by(BOB).send().await;
    refused.expect_error(403, "AccessDenied");
    let query = server.request("GET", "/photos/a%20cat").presigned("60");
    server.request("GET", &query).anonymous().send().await.expect_status(200);
    server.form("iam", "Action=ListUsers").send().await.expect_status(200);
    server.vectors("ListVectorBuckets", "{}").send().await.expect_status(200);

    let told = wait_for(&path, 6).await;
    let mut names: Vec<&str> = told.iter().filter_map(|it| it["api"]["name"].as_str()).collect();
    // An entry is made when the connection has taken the answer: the next request may be faster.
    names.sort_unstable();
    let expected =
        ["CreateBucket", "GetObject", "GetObject", "ListUsers", "ListVectorBuckets", "PutObject"];
    assert_eq!(names, expected, "{told:?}");
    let find = |name: &str, status: u16| {
        let is_it = |it: &&Value| it["api"]["name"] == name && it["api"]["statusCode"] == status;
        told.iter().find(is_it).unwrap_or_else(|| panic!("no {name} {status}"))
    };
    let put = find("PutObject", 200);
    assert_eq!((&put["api"]["bucket"], &put["api"]["object"]), (&"photos".into(), &"a cat".into()));
    assert_eq!((&put["api"]["statusCode"], &put["api"]["status"]), (&200.into(), &"OK".into()));
    assert_eq!((&put["userAgent"], &put["accessKey"]), (&"tests".into(), &ALICE.access_key.into()));
    assert_eq!((&put["version"], &put["api"]["rx"]), (&"1".into(), &4.into()));
    assert_eq!(put["requestHeader"]["authorization"], "***");
    assert_eq!(put["requestQuery"]["x-id"], "PutObject");
    let refused = find("GetObject", 403);
    assert_eq!(
        (&refused["api"]["statusCode"], &refused["errorCode"]),
        (&403.into(), &"AccessDenied".into())
    );
    assert!(
        refused["error"].as_str().is_some_and(|why| why.contains("bob-key") || !why.is_empty())
    );
    assert_eq!(find("GetObject", 200)["requestQuery"]["X-Amz-Signature"], "***");
    let text = fs::read_to_string(&path).expect("the file");
    assert!(!text.contains("Signature=") && !text.contains(ALICE.secret_key), "{text}");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).expect("there").permissions());
    assert_eq!(mode & 0o077, 0, "only its owner reads it");
}

#[tokio::test]
async fn only_what_is_answered_as_a_question_for_the_health_has_no_entry() {
    let (_directory, path) = file();
    let server = start_with("memory", "us-east-1", |builder, _| {
        builder.audit(to_file(&path)).domain("s3.example")
    })
    .await;
    let health = ["/_liteio/health/live", "/minio/health/live", "/healthz", "/_localstack/health"];
    for path in health {
        server.request("GET", path).anonymous().send().await.expect_status(200);
    }
    let expected = ["/secret", "/healthz-x", "/minio", "/secret/o", "/healthz-x/o"];
    for bucket in &expected[..3] {
        server.bucket(&bucket[1..]).await;
    }
    server.put("/secret/o", "secret").await.expect_status(200);
    let copy = server.request("PUT", "/healthz-x/o").header("x-amz-copy-source", "/secret/o");
    copy.send().await.expect_status(200);
    let anonymous = server.request("GET", "/minio/health/live").anonymous().send().await;
    anonymous.expect_error(403, "AccessDenied");
    for key in ["/_liteio/health/o", "/healthz"] {
        let get = server.request("GET", key).header("host", "secret.s3.example");
        get.send().await.expect_error(404, "NoSuchKey");
    }
    server.stop().await;
    let mut told: Vec<_> = entries(&path).iter().map(|it| it["requestPath"].to_string()).collect();
    let more = ["/minio/health/live", "/_liteio/health/o", "/healthz"];
    let mut expected: Vec<_> =
        expected.iter().chain(&more).map(|path| Value::from(*path).to_string()).collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn whoever_reads_metrics_with_a_token_is_named_by_user_and_key() {
    let (_directory, path) = file();
    let server = server(to_file(&path)).await;
    let metrics = server.request("GET", "/_liteio/metrics");
    with_token(metrics, &good(ALICE)).await.expect_status(200);
    let told = &wait_for(&path, 1).await[0];
    let expected = (&"alice".into(), &ALICE.access_key.into());
    assert_eq!((&told["parentUser"], &told["accessKey"]), expected);
}

#[tokio::test]
async fn a_file_that_was_moved_away_is_followed_by_a_new_one_and_the_end_loses_nothing() {
    let (directory, path) = file();
    let server = server(to_file(&path)).await;
    server.get("/").await.expect_status(200);
    wait_for(&path, 1).await;
    let moved = directory.path().join("audit.log.1");
    fs::rename(&path, &moved).expect("moved");
    server.reload();
    poll(async || path.exists().then_some(())).await;
    for _ in 0..50 {
        server.get("/").await.expect_status(200);
    }
    server.stop().await;
    assert_eq!((entries(&moved).len(), entries(&path).len()), (1, 50));
    let ids: HashSet<String> =
        entries(&path).iter().map(|entry| entry["requestID"].to_string()).collect();
    assert_eq!(ids.len(), 50);
}

#[tokio::test]
async fn a_file_is_followed_by_a_new_one_when_it_is_large_and_so_many_are_kept() {
    let (directory, path) = file();
    let rotation = Some(AuditRotation { bytes: 20_000, kept: 2 });
    let settings = AuditSettings { rotation, ..to_file(&path) };
    let begun = server(settings.clone()).await;
    let long = "x".repeat(1_000);
    for at in 0..100 {
        let get = begun.request("GET", "/").header("user-agent", format!("{at} {long}"));
        get.send().await.expect_status(200);
    }
    begun.stop().await;
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .expect("readable")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    assert_eq!(names, ["audit.log", "audit.log.1", "audit.log.2"]);
    let mut kept = Vec::new();
    for name in names.iter().rev() {
        let file = directory.path().join(name);
        assert!(fs::metadata(&file).expect("there").len() <= 20_000, "{name}");
        kept.extend(entries(&file));
    }
    // The last ones, without a gap, though requests of one moment may change places.
    let mut numbers: Vec<usize> = kept
        .iter()
        .map(|it| it["userAgent"].as_str().expect("text").split_once(' ').expect("two").0)
        .map(|number| number.parse().expect("a number"))
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (100 - numbers.len()..100).collect::<Vec<_>>());

    // Whoever wrote the file was ended in the middle of a line.
    fs::write(&path, "{\"half of a li").expect("written");
    let again = server(settings).await;
    again.get("/").await.expect_status(200);
    again.stop().await;
    let text = fs::read_to_string(&path).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "{\"half of a li"));
    serde_json::from_str::<Value>(lines[1]).expect("a whole line");
}

#[test]
fn a_rotation_that_cannot_be_meant_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    for (arguments, words) in [
        (&["--audit-file-size", "1"][..], "--audit-file-size needs --audit-file"),
        (&["--audit-file", "a", "--audit-files-kept", "1"], "needs --audit-file-size"),
        (&["--audit-file", "a", "--audit-file-size", "0"], "from 1 to 1048576 MiB"),
        (
            &["--audit-file", "a", "--audit-file-size", "1", "--audit-files-kept", "0"],
            "from 1 to 1000",
        ),
    ] {
        let server = liteio(&directory).args(["server", "--memory"]).args(arguments).output();
        let server = server.expect("it ends");
        assert!(!server.status.success(), "{arguments:?}");
        assert!(stderr(&server).contains(words), "{arguments:?}: {}", stderr(&server));
    }
}

#[tokio::test]
async fn a_full_disk_fails_no_request_and_the_health_tells_of_it() {
    let server = server(to_file(Path::new("/dev/full"))).await;
    server.bucket("photos").await;
    let told = poll(async || {
        server.put("/photos/a", "1").await.expect_status(200);
        Some(health(&server).await).filter(|told| told["audit"]["failing_targets"] == 1)
    });
    let told = told.await;
    assert!(told["audit"]["waiting"].as_u64().is_some_and(|waiting| waiting > 0), "{told}");
    assert_eq!(told["audit"]["lost"], 0, "what waits is not lost yet");
    server.get("/photos/a").await.expect_status(200);
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_an_error_at_the_start() {
    let builder =
        liteio::Server::builder().memory().audit(to_file(Path::new("/nowhere/audit.log")));
    let Err(error) = builder.spawn().await else { panic!("there is no server") };
    let error = error.to_string();
    assert!(error.contains("/nowhere/audit.log") && !error.contains('\n'), "{error}");
    let (_directory, pipe) = file();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let builder = liteio::Server::builder().memory().audit(to_file(&pipe));
    assert!(builder.spawn().await.is_err(), "nobody reads the pipe");
}

#[tokio::test]
async fn a_webhook_that_is_down_fails_no_request_and_gets_its_entries_later() {
    let is_up = Arc::new(AtomicBool::new(false));
    let decides = Arc::clone(&is_up);
    let decide = move |_: &Post| if decides.load(Ordering::Relaxed) { 200 } else { 503 };
    let mut receiver = Receiver::deciding(decide).await;
    let server = server(to_webhook(receiver.url())).await;
    server.bucket("photos").await;
    for key in ["a", "b", "c"] {
        server.put(&format!("/photos/{key}"), "1").await.expect_status(200);
    }
    let refused = receiver.next().await;
    assert_eq!(refused.header("authorization"), "a token");
    poll(async || Some(health(&server).await).filter(|it| it["audit"]["failing_targets"] == 1))
        .await;
    is_up.store(true, Ordering::Relaxed);
    let mut told = HashSet::new();
    while told.len() < 3 {
        let post = receiver.next().await;
        for line in String::from_utf8_lossy(&post.body).lines() {
            let entry: Value = serde_json::from_str(line).expect("a line is JSON");
            if entry["api"]["name"] == "PutObject" {
                told.insert(entry["api"]["object"].to_string());
            }
        }
    }
    let is_well =
        |told: &Value| told["audit"]["failing_targets"] == 0 && told["audit"]["waiting"] == 0;
    let told = poll(async || Some(health(&server).await).filter(is_well)).await;
    assert_eq!((&told["audit"]["lost"], &told["status"]), (&0.into(), &"ready".into()));
}

/// Lets entries wait until `is_up`, so that they are given as a batch, then takes what `takes` says.
async fn receiver_of_batches(
    takes: impl Fn(&Post) -> bool + Send + Sync + 'static,
) -> (Receiver, Arc<AtomicBool>) {
    let is_up = Arc::new(AtomicBool::new(false));
    let decides = Arc::clone(&is_up);
    let decide = move |post: &Post| match decides.load(Ordering::Relaxed) {
        false => 503,
        true if takes(post) => 200,
        true => 400,
    };
    (Receiver::deciding(decide).await, is_up)
}

fn is_poisoned(post: &Post) -> bool {
    String::from_utf8_lossy(&post.body).contains("poison")
}

#[tokio::test]
async fn an_entry_that_a_webhook_refuses_is_lost_alone() {
    let (mut receiver, is_up) = receiver_of_batches(|post| !is_poisoned(post)).await;
    let server = server(to_webhook(receiver.url())).await;
    // The first is on its way by itself while the others come.
    server.bucket("photos").await;
    receiver.next().await;
    for key in ["a", "b", "poison", "c"] {
        server.put(&format!("/photos/{key}"), "1").await.expect_status(200);
    }
    is_up.store(true, Ordering::Relaxed);
    let mut taken = HashSet::new();
    while taken.len() < 4 {
        let post = receiver.next().await;
        if !is_poisoned(&post) {
            let lines = String::from_utf8_lossy(&post.body).into_owned();
            let entries = lines.lines().map(|it| serde_json::from_str::<Value>(it).expect("JSON"));
            taken.extend(entries.map(|entry| entry["requestPath"].to_string()));
        }
    }
    let is_done = |told: &Value| told["audit"]["waiting"] == 0;
    let told = poll(async || Some(health(&server).await).filter(is_done)).await;
    assert_eq!(told["audit"]["lost"], 1, "{told}");
    let page = server.get("/_liteio/metrics").await.expect_status(200).text();
    assert!(page.contains("\nliteio_audit_entries_lost_total 1\n"), "{page}");
    server.put("/photos/after", "1").await.expect_status(200);
    while !String::from_utf8_lossy(&receiver.next().await.body).contains("/photos/after") {}
}

#[tokio::test]
async fn a_webhook_of_minios_variables_gets_one_entry_with_each_post() {
    let (mut receiver, is_up) = receiver_of_batches(|_| true).await;
    let mut settings = to_webhook(receiver.url());
    settings.webhooks[0].posts = AuditPosts::Single;
    let server = server(settings).await;
    for bucket in ["aaa", "bbb", "ccc", "ddd"] {
        server.bucket(bucket).await;
    }
    is_up.store(true, Ordering::Relaxed);
    let mut taken = HashSet::new();
    while taken.len() < 4 {
        let post = receiver.next().await;
        assert_eq!(post.header("content-type"), "application/json");
        taken.insert(post.json()["requestPath"].to_string());
    }
}

#[test]
fn a_new_data_directory_may_have_the_audit_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // As a mount point that is there before the server.
    fs::create_dir(directory.path().join("data")).expect("made");
    let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0"];
    let audit = ["--audit-file", "data/audit.log"];
    for _start in ["new", "again"] {
        drop(Running::start(liteio(&directory).args(arguments).args(audit)));
        assert!(directory.path().join("data/audit.log").is_file());
    }
}

#[test]
fn an_audit_file_that_cannot_be_written_is_a_wrong_setting() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let arguments = ["--memory", "--address", "127.0.0.1:0", "--audit-file", "none/audit.log"];
    let output = liteio(&directory).args(arguments).output().expect("it runs");
    let line = stderr(&output);
    // So that no service manager starts it for ever.
    assert_eq!(output.status.code(), Some(2), "{line}");
    let expected = ["none/audit.log cannot be written", "a directory that exists"];
    assert!(expected.iter().all(|it| line.contains(it)) && line.lines().count() == 1, "{line}");
}
