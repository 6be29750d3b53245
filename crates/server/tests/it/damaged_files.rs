//! Files of the data directory that are damaged or removed under a running server: an error of what is in
//! them, and of nothing else.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::command::{Running, copied, liteio, stderr};
use crate::harness::{ALICE, RawRequest};
use crate::reply::Reply;

const REGION: &str = "us-east-1";
const DIMENSION: usize = 256;
/// Enough for searches to go by codes.
const VECTORS: usize = 1_500;

/// A server in a process of its own, on a directory that outlives it.
struct Process {
    address: SocketAddr,
    running: Running,
}

impl Process {
    fn start(directory: &tempfile::TempDir) -> Process {
        Process::start_with_log(directory, "off")
    }

    fn start_with_log(directory: &tempfile::TempDir, log: &str) -> Process {
        let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0", "--log", log];
        let keys =
            [("LITEIO_ACCESS_KEY", ALICE.access_key), ("LITEIO_SECRET_KEY", ALICE.secret_key)];
        let running = Running::start_with(directory, &arguments, &keys);
        let address = running.endpoint().strip_prefix("http://").expect("a URL");
        let address = address.parse().expect("an address");
        Process { address, running }
    }

    async fn vectors(&self, operation: &str, input: Value) -> Reply {
        RawRequest::of_vectors(self.address, REGION, operation, input.to_string()).send().await
    }

    async fn make_index(&self, name: &str) {
        let index = json!({
            "vectorBucketName": "media", "indexName": name, "dataType": "float32",
            "dimension": DIMENSION, "distanceMetric": "euclidean",
        });
        self.vectors("CreateIndex", index).await.expect_status(200);
        for first in (0..VECTORS).step_by(500) {
            self.put(name, first..first + 500).await.expect_status(200);
        }
        self.check_query(name).await;
    }

    async fn put(&self, index: &str, numbers: std::ops::Range<usize>) -> Reply {
        let vector = |number: usize| json!({"key": format!("{number}"), "data": data(number)});
        let vectors: Vec<Value> = numbers.map(vector).collect();
        let input = json!({"vectorBucketName": "media", "indexName": index, "vectors": vectors});
        self.vectors("PutVectors", input).await
    }

    async fn query(&self, index: &str) -> Reply {
        let query = json!({
            "vectorBucketName": "media", "indexName": index, "topK": 3, "queryVector": data(700),
        });
        self.vectors("QueryVectors", query).await
    }

    async fn check_query(&self, index: &str) {
        let answer = self.query(index).await.expect_status(200).text();
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["vectors"][0]["key"], "700", "{answer}");
    }

    /// Neither searched nor written, with a message that names the index and says what to do.
    async fn check_damaged(&self, index: &str) {
        for reply in [self.query(index).await, self.put(index, 0..1).await] {
            let text = reply.expect_status(500).text();
            assert!(text.contains(index) && text.contains("delete the index"), "{text}");
        }
    }

    async fn s3(&self, method: &'static str, path: &str, body: &[u8]) -> Reply {
        RawRequest::of_s3(self.address, REGION, method, path).body(body).send().await
    }

    /// The answer to `/_liteio/health/ready`.
    async fn ready(&self) -> Value {
        let reply = self.s3("GET", "/_liteio/health/ready", b"").await.expect_status(200);
        serde_json::from_str(&reply.text()).expect("JSON")
    }

    async fn check_objects(&self) {
        self.s3("PUT", "/bucket/key", b"body").await.expect_status(200);
        let read = self.s3("GET", "/bucket/key", b"").await.expect_status(200);
        assert_eq!(read.text(), "body");
    }
}

fn data(number: usize) -> Value {
    let element = |element: usize| ((number * 31 + element * 7) % 1_201) as f64 + 0.5;
    json!({ "float32": (0..DIMENSION).map(element).collect::<Vec<f64>>() })
}

/// The slot files of the directory, the oldest index first.
fn slot_files(directory: &tempfile::TempDir) -> Vec<PathBuf> {
    let files = fs::read_dir(directory.path().join("data/vectors")).expect("a directory");
    let paths = files.map(|entry| entry.expect("an entry").path());
    let is_slots = |path: &PathBuf| path.extension().is_some_and(|found| found == "slots");
    let mut slots: Vec<PathBuf> = paths.filter(is_slots).collect();
    slots.sort();
    slots
}

#[tokio::test]
async fn a_file_of_vectors_truncated_under_the_server_is_an_error_of_its_index() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let process = Process::start(&directory);
    process.vectors("CreateVectorBucket", json!({"vectorBucketName": "media"})).await;
    process.make_index("films").await;
    process.make_index("other").await;
    process.s3("PUT", "/bucket", b"").await.expect_status(200);
    let slots = slot_files(&directory);
    let file = fs::File::options().write(true).open(&slots[0]).expect("opens");
    file.set_len(file.metadata().expect("there").len() / 2).expect("truncated");
    process.check_damaged("films").await;
    process.check_query("other").await;
    process.put("other", 3..4).await.expect_status(200);
    process.check_objects().await;
    drop(process.running);
    let process = Process::start(&directory);
    process.check_damaged("films").await;
    process.check_query("other").await;
    process.check_objects().await;
    let index = json!({"vectorBucketName": "media", "indexName": "films"});
    process.vectors("DeleteIndex", index).await.expect_status(200);
    process.query("films").await.expect_status(404);
}

/// An object that is too long for its record.
static LONG: [u8; 100_000] = [7; 100_000];
/// An object that is too long for a segment.
static OF_A_FILE: [u8; (1 << 20) + 1] = [7; (1 << 20) + 1];

/// The blobs of a data directory.
fn blobs(data: &Path) -> Vec<PathBuf> {
    let entries = |path: &Path| {
        let entries = fs::read_dir(path).expect("a directory");
        entries.map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>()
    };
    entries(&data.join("blobs")).iter().flat_map(|directory| entries(directory)).collect()
}

#[tokio::test]
async fn writes_stop_when_the_files_under_the_server_are_no_longer_those_that_are_open() {
    type Damage = fn(&Path);
    let rows: [(&str, Damage); 7] = [
        ("meta.redb", |data| fs::remove_file(data.join("meta.redb")).expect("removed")),
        ("meta.redb.log", |data| {
            let log = data.join("meta.redb.log");
            fs::copy(&log, data.join("copy")).expect("copied");
            fs::rename(data.join("copy"), log).expect("replaced");
        }),
        ("format", |data| fs::remove_dir_all(data).expect("removed")),
        ("blobs", |data| fs::remove_dir_all(data.join("blobs")).expect("removed")),
        ("blobs", |data| fs::rename(data.join("blobs"), data.join("old")).expect("renamed")),
        ("blobs/segments", |data| {
            fs::remove_dir_all(data.join("blobs/segments")).expect("removed")
        }),
        ("directories of blobs", |data| {
            for directory in fs::read_dir(data.join("blobs")).expect("a directory") {
                let path = directory.expect("an entry").path();
                if !path.ends_with("segments") {
                    fs::remove_dir_all(path).expect("removed");
                }
            }
        }),
    ];
    for (name, damage) in rows {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let process = Process::start(&directory);
        process.s3("PUT", "/bucket", b"").await.expect_status(200);
        process.s3("PUT", "/bucket/long", &LONG).await.expect_status(200);
        process.s3("PUT", "/bucket/file", &OF_A_FILE).await.expect_status(200);
        process.check_objects().await;
        assert_eq!(process.ready().await["status"], "ready");
        damage(&directory.path().join("data"));
        let ready = process.ready().await;
        assert_eq!(ready["status"], "degraded", "{name}");
        let reason = ready["reason"].as_str().expect("a reason");
        assert!(reason.contains(name) && reason.contains("restart"), "{name}: {reason}");
        let user = "Action=CreateUser&UserName=carol";
        for refused in [
            process.s3("PUT", "/bucket/other", b"body").await,
            process.s3("PUT", "/bucket/other", &LONG).await,
            process.vectors("CreateVectorBucket", json!({"vectorBucketName": "media"})).await,
            RawRequest::of_form(process.address, "iam", user).send().await,
        ] {
            let told = refused.expect_status(503).text();
            assert!(told.contains("was removed or changed under the server"), "{name}: {told}");
        }
        let read = process.s3("GET", "/bucket/key", b"").await.expect_status(200);
        assert_eq!(read.text(), "body");
    }
}

/// The health of this server is asked for by nobody.
#[tokio::test]
async fn writes_stop_by_themselves_when_the_data_directory_is_removed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut process = Process::start_with_log(&directory, "warn");
    process.s3("PUT", "/bucket", b"").await.expect_status(200);
    fs::remove_dir_all(directory.path().join("data")).expect("removed");
    // Until the next look. The test ends when the server has looked, or never.
    while process.s3("PUT", "/bucket/key", b"body").await.status == 200 {
        tokio::task::yield_now().await;
    }
    process.s3("PUT", "/bucket/key", b"body").await.expect_status(503);
    let log = process.running.logs("writes are refused until the server is started again");
    assert!(log.contains("WARN") && log.contains("was removed or changed"), "{log}");
}

/// Nothing is lost by that, but the next start would make a new store at the path.
#[tokio::test]
async fn a_data_directory_that_is_renamed_is_told_until_it_is_back() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut process = Process::start_with_log(&directory, "error");
    process.s3("PUT", "/bucket", b"").await.expect_status(200);
    let (data, elsewhere) = (directory.path().join("data"), directory.path().join("elsewhere"));
    let in_place = async |process: &Process| {
        let page = process.s3("GET", "/_liteio/metrics", b"").await.expect_status(200).text();
        page.contains("\nliteio_store_in_place 1\n")
    };
    assert!(in_place(&process).await);
    fs::rename(&data, &elsewhere).expect("renamed");
    let ready = process.ready().await;
    assert_eq!(ready["status"], "degraded");
    let reason = ready["reason"].as_str().expect("a reason");
    assert!(reason.contains("was renamed or unmounted"), "{reason}");
    assert!(!in_place(&process).await);
    process.check_objects().await;
    process.running.logs("the data directory was renamed or unmounted");
    fs::rename(&elsewhere, &data).expect("renamed");
    assert_eq!(process.ready().await["status"], "ready");
    assert!(in_place(&process).await);
}

#[tokio::test]
async fn reads_that_meet_damage_are_counted_in_the_health() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let process = Process::start(&directory);
    process.s3("PUT", "/bucket", b"").await.expect_status(200);
    process.s3("PUT", "/bucket/long", &OF_A_FILE).await.expect_status(200);
    let data = directory.path().join("data");
    for blob in blobs(&data) {
        fs::remove_file(blob).expect("removed");
    }
    assert_eq!(process.ready().await["status"], "ready", "nobody has read it");
    process.s3("GET", "/bucket/long", b"").await.expect_status(500);
    process.s3("GET", "/bucket/long", b"").await.expect_status(500);
    let ready = process.ready().await;
    assert_eq!(ready["status"], "degraded");
    let reason = ready["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("2 reads") && reason.contains("liteio verify"), "{reason}");
    process.check_objects().await;
}

/// Only a server that is not root's can be refused a file.
#[tokio::test]
async fn files_of_another_user_are_no_damage_and_told_until_they_can_be_read() {
    const NOBODY: u32 = 65_534;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = liteio(&directory);
    if fs::metadata(directory.path()).expect("there").uid() == 0 {
        command = std::process::Command::new(copied(&directory));
        command.current_dir(directory.path()).uid(NOBODY).gid(NOBODY);
        chown(directory.path(), Some(NOBODY), Some(NOBODY)).expect("allowed");
    }
    command.args(["--data-dir", "data", "--address", "127.0.0.1:0", "--log", "off"]);
    command.env("LITEIO_ACCESS_KEY", ALICE.access_key).env("LITEIO_SECRET_KEY", ALICE.secret_key);
    let running = Running::start(&mut command);
    let address = running.endpoint().strip_prefix("http://").expect("a URL");
    let address = address.parse().expect("an address");
    let process = Process { address, running };
    process.s3("PUT", "/bucket", b"").await.expect_status(200);
    process.s3("PUT", "/bucket/long", &OF_A_FILE).await.expect_status(200);
    let files = blobs(&directory.path().join("data"));
    let set_mode = |mode| {
        for file in &files {
            fs::set_permissions(file, Permissions::from_mode(mode)).expect("allowed");
        }
    };
    set_mode(0o000);
    process.s3("GET", "/bucket/long", b"").await.expect_status(500);
    let ready = process.ready().await;
    let reason = ready["reason"].as_str().expect("a reason");
    assert!(reason.contains("Permission denied") && reason.contains("chown -R"), "{reason}");
    assert!(!reason.contains("damage"), "{reason}");
    set_mode(0o600);
    assert_eq!(process.ready().await["status"], "ready");
    process.s3("GET", "/bucket/long", b"").await.expect_status(200);
}

/// An operator who is told the id of a failed request finds its reason and the object by it.
#[tokio::test]
async fn the_log_has_request_and_object_beside_the_damage() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut process = Process::start_with_log(&directory, "error");
    process.s3("PUT", "/bucket", b"").await.expect_status(200);
    process.s3("PUT", "/bucket/a/long", &OF_A_FILE).await.expect_status(200);
    for blob in blobs(&directory.path().join("data")) {
        fs::remove_file(blob).expect("removed");
    }
    let path = "/bucket/a/long?response-content-language=secret";
    let reply = process.s3("GET", path, b"").await.expect_status(500);
    let id = reply.header("x-amz-request-id").expect("an id").to_owned();
    let line = process.running.logs("request failed");
    let named = format!("id={id} operation=\"GetObject\" bucket=\"bucket\" key=\"a/long\" ");
    assert!(line.contains(&named) && line.contains("stored data is damaged"), "{line}");
    assert!(!line.contains("secret"), "{line}");
}

/// Operations on vectors fail on a blocking thread.
#[tokio::test]
async fn the_log_has_request_and_index_beside_the_damage() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut process = Process::start_with_log(&directory, "error");
    process.vectors("CreateVectorBucket", json!({"vectorBucketName": "media"})).await;
    process.make_index("films").await;
    let slots = slot_files(&directory);
    let file = fs::File::options().write(true).open(&slots[0]).expect("opens");
    file.set_len(file.metadata().expect("there").len() / 2).expect("truncated");
    let reply = process.query("films").await.expect_status(500);
    let id = reply.header("x-amz-request-id").expect("an id").to_owned();
    let line = process.running.logs("cannot be used");
    let named = format!("id={id} operation=\"QueryVectors\" bucket=\"media\" index=\"films\" ");
    assert!(line.contains(&named), "{line}");
}

#[test]
fn a_damaged_first_page_of_the_metadata_is_told_as_damage_with_advice() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let start = ["--data-dir", "data", "--address", "127.0.0.1:0", "--log", "off"];
    let (code, _) = Running::start_with(&directory, &start, &[]).signal("TERM");
    assert_eq!(code, Some(0));
    let tree = directory.path().join("data/meta.redb");
    let mut bytes = fs::read(&tree).expect("readable");
    bytes[..2].copy_from_slice(b"ZZ");
    fs::write(&tree, bytes).expect("written");
    let commands: [&[&str]; 4] = [
        &start,
        &["verify", "--data-dir", "data"],
        &["repair", "--data-dir", "data"],
        &["backup", "copy", "--data-dir", "data", "copy"],
    ];
    for arguments in commands {
        let output = liteio(&directory).args(arguments).output().expect("it runs");
        // `verify` lists what it finds.
        let message = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        for expected in ["data: ", "the tree meta.redb is damaged: ", "`liteio restore`"] {
            assert!(message.contains(expected), "{arguments:?}: {message}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_of_the_device_while_starting_is_one_line_that_names_the_file() {
    type Damage = fn(&Path);
    // The memory of a process cannot be read at address 0: an I/O error that needs no broken device.
    let unreadable: Damage = |path| {
        std::os::unix::fs::symlink("/proc/self/mem", path).expect("linked");
    };
    let directory_instead: Damage = |path| fs::create_dir(path).expect("created");
    let rows = [
        ("format", unreadable, "read format: Input/output error"),
        ("meta.redb", directory_instead, "open meta.redb: "),
        ("meta.redb.log", directory_instead, "open meta.redb.log: "),
    ];
    for (name, damage, expected) in rows {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0", "--log", "off"];
        let (code, _) = Running::start_with(&directory, &arguments, &[]).signal("TERM");
        assert_eq!(code, Some(0));
        let path = directory.path().join("data").join(name);
        fs::remove_file(&path).expect("removed");
        damage(&path);
        let output = liteio(&directory).args(arguments).output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains(expected), "{name}: {message}");
    }
}
