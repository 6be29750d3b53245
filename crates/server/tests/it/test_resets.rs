//! The test API on a data directory, and of one bucket: resets, and what faults leave behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use liteio::{FaultRule, Server, ServerHandle, TestAccess};
use serde_json::{Value, json};

use crate::command::liteio;
use crate::harness::{RawRequest, TestServer, User, start_with};
use crate::iam::user_with_key;
use crate::reply::Reply;

const BASE: &str = "/_liteio/test";
/// The user that a server has without settings.
const DEFAULT: User = User { access_key: "liteio", secret_key: "liteio123", id: "" };

async fn both(seed: &Path) -> [TestServer; 2] {
    let start = async |backend| {
        start_with(backend, "us-east-1", |builder, _| {
            let bucket = "seeded:public".parse().expect("a bucket");
            builder.test_api(TestAccess::Local).bucket(bucket).seed(seed)
        })
        .await
    };
    [start("memory").await, start("directory").await]
}

/// Seed data: `seeded/kept` and `other/kept`.
fn seed() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for bucket in ["seeded", "other"] {
        fs::create_dir(directory.path().join(bucket)).expect("made");
        fs::write(directory.path().join(bucket).join("kept"), bucket).expect("written");
    }
    directory
}

async fn tell(server: &TestServer, method: &'static str, path: &str, body: Value) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.request(method, &format!("{BASE}{path}")).anonymous().body(body).send().await
}

async fn reset(server: &TestServer, body: Value) {
    tell(server, "POST", "/reset", body).await.expect_status(204);
}

/// Puts what only the test API takes away: versions under a legal hold, a delete marker, and an upload, whose id it
/// returns.
async fn fill(server: &TestServer, bucket: &str) -> String {
    let create = server.request("PUT", &format!("/{bucket}"));
    let create = create.header("x-amz-bucket-object-lock-enabled", "true");
    create.send().await.expect_status(200);
    for body in ["one", "two"] {
        let put = server.request("PUT", &format!("/{bucket}/held")).body(body);
        put.header("x-amz-object-lock-legal-hold", "ON").send().await.expect_status(200);
    }
    server.delete(&format!("/{bucket}/held")).await.expect_status(204);
    server.put(&format!("/{bucket}/large"), vec![b'x'; 300_000]).await.expect_status(200);
    let upload = server.post(&format!("/{bucket}/upload?uploads"), "").await;
    let upload = upload.expect_status(200).element("UploadId");
    let part = format!("/{bucket}/upload?partNumber=1&uploadId={upload}");
    server.put(&part, vec![b'y'; 100_000]).await.expect_status(200);
    upload
}

const CORS: &str = "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*\
                    </AllowedOrigin></CORSRule></CORSConfiguration>";

#[tokio::test]
async fn a_bucket_is_reset_to_what_it_was_created_with() {
    let seed = seed();
    for server in both(seed.path()).await {
        let upload = fill(&server, "locked").await;
        server.put("/locked?cors", CORS).await.expect_status(200);
        server.put("/other/more", "more").await.expect_status(200);
        let refused = server.delete("/locked?").await;
        refused.expect_error(409, "BucketNotEmpty");
        reset(&server, json!({ "bucket": "locked" })).await;

        let versions = server.get("/locked?versions").await.expect_status(200);
        assert!(!versions.text().contains("<Key>"), "{}", versions.text());
        server.get("/locked?cors").await.expect_error(404, "NoSuchCORSConfiguration");
        let lock = server.get("/locked?object-lock").await.expect_status(200).text();
        assert!(lock.contains("Enabled"), "{lock}");
        let late = format!("/locked/upload?partNumber=2&uploadId={upload}");
        server.put(&late, "late").await.expect_error(404, "NoSuchUpload");
        server.put("/locked/held", "new").await.expect_status(200);
        assert_eq!(server.get("/other/more").await.text(), "more");

        // What the configuration puts into it is there again, and nothing of other buckets.
        server.delete("/seeded/kept").await.expect_status(204);
        server.delete("/other/kept").await.expect_status(204);
        server.delete("/seeded?policy").await.expect_status(204);
        server.put("/seeded/new", "new").await.expect_status(200);
        reset(&server, json!({ "bucket": "seeded" })).await;
        let kept = server.request("GET", "/seeded/kept").anonymous().send().await;
        assert_eq!(kept.expect_status(200).text(), "seeded");
        server.get("/seeded/new").await.expect_error(404, "NoSuchKey");
        server.get("/other/kept").await.expect_error(404, "NoSuchKey");

        let nobody = tell(&server, "POST", "/reset", json!({ "bucket": "nobody" })).await;
        nobody.expect_error(404, "NoSuchBucket");
        let bad = tell(&server, "POST", "/reset", json!({ "bucket": "No bucket" })).await;
        bad.expect_error(400, "InvalidRequest");
    }
}

#[tokio::test]
async fn a_data_directory_is_reset_while_the_server_goes_on() {
    let seed = seed();
    let [_, server] = both(seed.path()).await;
    // Twice: what is there afterwards is as good as what was there before.
    for _ in 0..2 {
        let upload = fill(&server, "locked").await;
        let bob = user_with_key(&server, "bob").await;
        server.vectors("CreateVectorBucket", r#"{"vectorBucketName":"media"}"#).send().await;
        server.delete("/seeded/kept").await.expect_status(204);
        tell(&server, "POST", "/faults", json!({ "status": 503, "bucket": "none" })).await;
        tell(&server, "PUT", "/clock", json!({ "advance_ms": 3_600_000 })).await;
        reset(&server, Value::Null).await;

        let buckets = server.get("/").await.expect_status(200).elements("Name");
        assert_eq!(buckets, ["other", "seeded"]);
        assert_eq!(server.get("/seeded/kept").await.text(), "seeded");
        let late = format!("/locked/upload?partNumber=2&uploadId={upload}");
        server.put(&late, "late").await.expect_error(404, "NoSuchBucket");
        server.form("iam", "Action=GetUser&UserName=bob").send().await.expect_status(404);
        let reply = server.request("GET", "/").by(bob).send().await;
        reply.expect_error(403, "InvalidAccessKeyId");
        let vectors = server.vectors("ListVectorBuckets", "{}").send().await.text();
        assert!(!vectors.contains("media"), "{vectors}");
        let clock = tell(&server, "GET", "/clock", Value::Null).await.text();
        assert!(clock.contains("\"offset_ms\":0"), "{clock}");
        let faults = tell(&server, "GET", "/faults", Value::Null).await.text();
        assert!(faults.contains(r#""faults":[]"#), "{faults}");
        // Events go on.
        server.put("/seeded/event", "x").await.expect_status(200);
        let told = tell(&server, "GET", "/events/wait?key=event&timeout_ms=10000", Value::Null);
        told.await.expect_status(200);
    }
    for (method, path) in [("PUT", "/snapshots/a"), ("POST", "/snapshots/a/restore")] {
        tell(&server, method, path, Value::Null).await.expect_error(501, "NotImplemented");
    }
}

async fn serve(data: &Path) -> ServerHandle {
    let builder = Server::builder().data_dir(data).test_api(TestAccess::Local);
    builder.spawn().await.expect("it starts")
}

fn request<'a>(server: &ServerHandle, method: &'static str, path: &str) -> RawRequest<'a> {
    RawRequest::of_s3(server.address(), "us-east-1", method, path).by(DEFAULT)
}

fn assert_undamaged(data: &Path, directory: &tempfile::TempDir) {
    let verify = liteio(directory).arg("verify").arg("--data-dir").arg(data).output();
    let verify = verify.expect("it runs");
    assert!(verify.status.success(), "{}", String::from_utf8_lossy(&verify.stdout));
}

#[tokio::test]
async fn puts_during_resets_leave_nothing_damaged() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let server = serve(&data).await;
    request(&server, "PUT", "/bucket").send().await.expect_status(200);
    let tests = server.test_control().expect("it has the test API");
    let putting = async |writer: usize| {
        for number in 0..60 {
            let put = request(&server, "PUT", &format!("/bucket/{writer}-{number}"));
            let reply = put.body(vec![b'x'; number * 2_000]).send().await;
            assert!(matches!(reply.status, 200 | 404), "{}", reply.everything());
            if reply.status == 404 {
                request(&server, "PUT", "/bucket").send().await;
            }
        }
    };
    let resetting = async {
        for number in 0..30 {
            match number % 3 {
                0 => tests.reset().await.expect("reset"),
                // It may be gone.
                _ => drop(tests.reset_bucket("bucket").await),
            }
        }
    };
    tokio::join!(putting(1), putting(2), putting(3), resetting);
    tests.reset().await.expect("reset");
    server.stop().await;
    assert_undamaged(&data, &directory);
}

/// Numbers that follow from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % end
    }

    fn body(&mut self) -> Vec<u8> {
        let length = [10, 20_000, 300_000][self.below(3) as usize];
        let first = self.below(251);
        (0..length).map(|at: u64| ((at + first) % 251) as u8).collect()
    }

    fn fault(&mut self) -> FaultRule {
        let operations = ["Put*", "Copy*", "UploadPart*", "Complete*", "Create*", "*"];
        let mut rule = FaultRule {
            operation: Some(operations[self.below(6) as usize].to_owned()),
            times: Some(1 + self.below(2)),
            ..FaultRule::default()
        };
        match self.below(4) {
            0 => rule.status = Some([429, 500, 503][self.below(3) as usize]),
            1 => rule.latency_ms = Some(self.below(5)),
            2 => rule.cut_after_bytes = Some(self.below(100)),
            _ => rule.bandwidth = Some(5_000_000 + self.below(5_000_000)),
        }
        rule
    }
}

/// What a key may have: the body of the last write that was answered, or one of those behind it that were not.
type Allowed = BTreeMap<String, Vec<Option<Vec<u8>>>>;

fn note(allowed: &mut Allowed, key: &str, body: Vec<u8>, reply: Option<&Reply>) {
    let bodies = allowed.entry(key.to_owned()).or_insert_with(|| vec![None]);
    match reply {
        Some(reply) if reply.status == 200 => *bodies = vec![Some(body)],
        // A fault with a status is answered before anything is done.
        Some(_) => {}
        None => bodies.push(Some(body)),
    }
}

async fn upload_in_parts(
    server: &ServerHandle,
    key: &str,
    part: &[u8],
) -> Result<Option<Reply>, ()> {
    let begun = request(server, "POST", &format!("/bucket/{key}?uploads")).try_send().await;
    let begun = begun.filter(|reply| reply.status == 200).ok_or(())?;
    let id = begun.element("UploadId");
    let put = request(server, "PUT", &format!("/bucket/{key}?partNumber=1&uploadId={id}"));
    let put = put.body(part).try_send().await.filter(|reply| reply.status == 200).ok_or(())?;
    let etag = put.header("etag").expect("an ETag");
    let document = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></CompleteMultipartUpload>"
    );
    let complete = request(server, "POST", &format!("/bucket/{key}?uploadId={id}"));
    Ok(complete.body(document).try_send().await)
}

#[tokio::test]
async fn random_faults_during_writes_leave_whole_objects_in_a_directory() {
    for seed in [1, 2] {
        let mut random = Random(seed);
        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data");
        let server = serve(&data).await;
        let tests = server.test_control().expect("it has the test API");
        request(&server, "PUT", "/bucket").send().await.expect_status(200);
        request(&server, "PUT", "/bucket/source").body("a source").send().await.expect_status(200);
        let mut allowed = Allowed::new();
        let mut failed = 0;
        for _ in 0..150 {
            if random.below(2) == 0 {
                tests.add_fault(random.fault()).expect("a rule");
            }
            let key = format!("key-{}", random.below(10));
            let reply = match random.below(3) {
                0 => {
                    let body = random.body();
                    let put = request(&server, "PUT", &format!("/bucket/{key}")).body(&body);
                    let reply = put.try_send().await;
                    note(&mut allowed, &key, body, reply.as_ref());
                    reply
                }
                1 => {
                    let copy = request(&server, "PUT", &format!("/bucket/{key}"));
                    let copy = copy.header("x-amz-copy-source", "/bucket/source");
                    let reply = copy.try_send().await;
                    note(&mut allowed, &key, b"a source".to_vec(), reply.as_ref());
                    reply
                }
                _ => {
                    let part = random.body();
                    match upload_in_parts(&server, &key, &part).await {
                        Ok(reply) => {
                            note(&mut allowed, &key, part, reply.as_ref());
                            reply
                        }
                        Err(()) => None,
                    }
                }
            };
            failed += usize::from(reply.is_none_or(|reply| reply.status != 200));
        }
        assert!(failed > 10, "seed {seed}: only {failed} requests met a fault");
        server.stop().await;
        assert_undamaged(&data, &directory);
        let server = serve(&data).await;
        for (key, bodies) in &allowed {
            let reply = request(&server, "GET", &format!("/bucket/{key}")).send().await;
            let found = (reply.status == 200).then_some(&reply.body);
            let is_allowed = bodies.iter().any(|body| body.as_ref() == found);
            assert!(is_allowed, "seed {seed}: {key} has {:?} bytes", found.map(Vec::len));
        }
        server.stop().await;
    }
}
