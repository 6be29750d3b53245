//! Tiers: lifecycle rules that move bodies to another server, with kills, failures and damage there.

use std::net::SocketAddr;

use liteio_admin::fuzzing::seal_admin_body;
use serde_json::{Value, json};

use crate::command::Running;
use crate::harness::{
    ACCOUNTS, ALICE, BOB, CAROL, RawRequest, TestServer, User, in_memory_with_users, memory,
};
use crate::reply::Reply;

/// A server in a process of its own, which comes back at the same address.
struct Site {
    directory: tempfile::TempDir,
    address: SocketAddr,
    running: Option<Running>,
    more: Vec<String>,
}

/// Length of a body in a segment, larger than a transition needs.
const LARGE: usize = 700_000;

impl Site {
    fn start(more: &[&str]) -> Site {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let more = more.iter().map(|argument| (*argument).to_owned()).collect();
        let mut site = Site { directory, address, running: None, more };
        site.begin();
        site
    }

    /// A server with the tier `COLD` at `tier`, for which `GLACIER` stands too.
    fn with_tier(tier: &Site, more: &[&str]) -> Site {
        let (access, secret) = (ALICE.access_key, ALICE.secret_key);
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = format!(
            "[[tier]]\nname = \"COLD\"\nurl = \"http://{}\"\nbucket = \"cold\"\nprefix = \"a/b\"\n\
             access_key = \"{access}\"\nsecret_key = \"{secret}\"\nclasses = [\"GLACIER\"]\n",
            tier.address
        );
        std::fs::write(directory.path().join("tiers.toml"), file).expect("a file");
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let arguments = ["--tier-file", "tiers.toml", "--lifecycle-day", "1"];
        let more = arguments.iter().chain(more).map(|argument| (*argument).to_owned()).collect();
        let mut site = Site { directory, address, running: None, more };
        site.begin();
        site
    }

    fn begin(&mut self) {
        let address = self.address.to_string();
        let mut arguments = vec!["--data-dir", "data", "--address", &address];
        arguments.extend(self.more.iter().map(String::as_str));
        let users =
            [("LITEIO_ACCESS_KEY", ALICE.access_key), ("LITEIO_SECRET_KEY", ALICE.secret_key)];
        let running = Running::start_with(&self.directory, &arguments, &users);
        let endpoint = running.endpoint().trim_start_matches("http://").to_owned();
        self.address = endpoint.parse().expect("an address");
        self.running = Some(running);
    }

    fn kill(&mut self) {
        self.running.take().expect("it runs").signal("KILL");
    }

    fn request(&self, method: &'static str, path: &str) -> RawRequest<'static> {
        RawRequest::of_s3(self.address, "us-east-1", method, path)
    }

    async fn get(&self, path: &str) -> Reply {
        self.request("GET", path).send().await
    }

    async fn put(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.request("PUT", path).body(body).send().await
    }

    async fn delete(&self, path: &str) -> Reply {
        self.request("DELETE", path).send().await
    }

    async fn class(&self, path: &str) -> Option<String> {
        let head = self.request("HEAD", path).send().await.expect_status(200);
        head.header("x-amz-storage-class").map(str::to_owned)
    }

    /// Waits until the version has the class of a tier.
    async fn until_moved(&self, path: &str, class: &str) {
        for _ in 0..30_000 {
            if self.class(path).await.as_deref() == Some(class) {
                return;
            }
        }
        panic!("{path} does not move");
    }

    /// The keys in the bucket of the tier.
    async fn keys(&self) -> Vec<String> {
        self.get("/cold?list-type=2").await.expect_status(200).elements("Key")
    }

    /// Waits until the bucket of the tier has this number of objects.
    async fn until_keys(&self, count: usize) {
        let mut last = Vec::new();
        for _ in 0..30_000 {
            last = self.keys().await;
            if last.len() == count {
                return;
            }
        }
        panic!("there are not {count}: {last:?}");
    }
}

fn body(seed: u8, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| (place / 1000) as u8 ^ (place as u8).wrapping_mul(seed)).collect()
}

/// A rule that moves current and noncurrent versions at once.
fn rule(class: &str) -> String {
    format!(
        "<LifecycleConfiguration><Rule><ID>move</ID><Status>Enabled</Status><Filter><Prefix/></Filter>\
         <Transition><Days>0</Days><StorageClass>{class}</StorageClass></Transition>\
         <NoncurrentVersionTransition><NoncurrentDays>0</NoncurrentDays>\
         <StorageClass>{class}</StorageClass></NoncurrentVersionTransition>\
         </Rule></LifecycleConfiguration>"
    )
}

/// A tier, and a server with a bucket whose objects move there.
async fn pair(more: &[&str]) -> (Site, Site) {
    let tier = Site::start(&[]);
    tier.put("/cold", "").await.expect_status(200);
    let site = Site::with_tier(&tier, more);
    site.put("/photos", "").await.expect_status(200);
    (tier, site)
}

/// Uploads an object in parts of these bodies.
async fn put_parts(site: &Site, path: &str, parts: &[Vec<u8>], headers: &[(&str, &str)]) {
    let begin = site.request("POST", &format!("{path}?uploads")).headers(headers);
    let id = begin.send().await.expect_status(200).element("UploadId");
    let mut list = String::new();
    for (number, body) in (1..).zip(parts) {
        let put = site.put(&format!("{path}?partNumber={number}&uploadId={id}"), body).await;
        let etag = put.expect_status(200).header("etag").expect("a tag").to_owned();
        list.push_str(&format!(
            "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
        ));
    }
    let list = format!("<CompleteMultipartUpload>{list}</CompleteMultipartUpload>");
    let path = format!("{path}?uploadId={id}");
    site.request("POST", &path).body(list).send().await.expect_status(200);
}

#[tokio::test]
async fn bodies_move_and_are_read_through_in_whole_in_ranges_and_in_parts() {
    let (tier, site) = pair(&[]).await;
    let (whole, parts) = (body(3, LARGE), [body(5, 5 << 20), body(7, 300_000)]);
    site.put("/photos/whole", &whole).await.expect_status(200);
    site.put("/photos/small", body(1, 100_000)).await.expect_status(200);
    put_parts(&site, "/photos/parts", &parts, &[]).await;
    let tags = [
        site.get("/photos/whole").await.header("etag").map(str::to_owned),
        site.get("/photos/parts").await.header("etag").map(str::to_owned),
    ];
    site.put("/photos?lifecycle", rule("COLD")).await.expect_status(200);
    site.until_moved("/photos/whole", "COLD").await;
    site.until_moved("/photos/parts", "COLD").await;
    assert_eq!(site.class("/photos/small").await, None, "it is too small");
    tier.until_keys(2).await;
    assert!(tier.keys().await.iter().all(|key| key.starts_with("a/b/")));

    let got = site.get("/photos/whole").await.expect_status(200);
    assert!(got.body == whole);
    assert_eq!(got.header("etag").map(str::to_owned), tags[0]);
    let joined = parts.concat();
    let got = site.get("/photos/parts").await.expect_status(200);
    assert!(got.body == joined);
    assert_eq!(got.header("etag").map(str::to_owned), tags[1]);
    for (path, whole) in [("/photos/whole", &whole), ("/photos/parts", &joined)] {
        for (first, last) in
            [(0, 0), (262_143, 262_145), (5, 699_999), (whole.len() - 1, whole.len() - 1)]
        {
            let range = format!("bytes={first}-{last}");
            let got = site.request("GET", path).header("range", &range).send().await;
            assert!(got.expect_status(206).body == whole[first..=last], "{path} {range}");
        }
    }
    let got = site.get("/photos/parts?partNumber=2").await.expect_status(206);
    assert!(got.body == parts[1]);
    assert_eq!(got.header("x-amz-mp-parts-count"), Some("2"));
    // A copy is here, and has no class of its own.
    let copy = site.request("PUT", "/photos/copy").header("x-amz-copy-source", "/photos/parts");
    copy.send().await.expect_status(200);
    assert!(site.get("/photos/copy").await.expect_status(200).body == joined);
    // A part of an upload, too.
    let begun = site.request("POST", "/photos/new?uploads").send().await.expect_status(200);
    let path = format!("/photos/new?partNumber=1&uploadId={}", begun.element("UploadId"));
    let part = site.request("PUT", &path).header("x-amz-copy-source", "/photos/whole");
    part.send().await.expect_status(200);
    let listed = site.get("/photos?list-type=2&prefix=whole").await.expect_status(200);
    assert_eq!(listed.element("StorageClass"), "COLD");
    // It moves by itself.
    site.until_moved("/photos/copy", "COLD").await;
    assert!(site.get("/photos/copy").await.expect_status(200).body == joined);
    tier.until_keys(3).await;
    // A copy onto itself brings the body back, and a rule moves it again.
    let itself = site
        .request("PUT", "/photos/whole")
        .headers(&[("x-amz-copy-source", "/photos/whole"), ("x-amz-storage-class", "STANDARD")]);
    itself.send().await.expect_status(200);
    assert!(site.get("/photos/whole").await.expect_status(200).body == whole);
    site.until_moved("/photos/whole", "COLD").await;
    tier.until_keys(3).await;
    assert!(site.get("/photos/whole").await.expect_status(200).body == whole);
}

#[tokio::test]
async fn what_is_removed_or_replaced_is_deleted_at_the_tier_even_if_that_was_down() {
    let (mut tier, mut site) = pair(&[]).await;
    site.put("/photos?lifecycle", rule("COLD")).await.expect_status(200);
    for name in ["a", "b", "c"] {
        site.put(&format!("/photos/{name}"), body(3, LARGE)).await.expect_status(200);
        site.until_moved(&format!("/photos/{name}"), "COLD").await;
    }
    tier.until_keys(3).await;
    tier.kill();
    let gone = site.get("/photos/a").await;
    gone.expect_error(503, "ServiceUnavailable");
    assert_eq!(site.class("/photos/a").await.as_deref(), Some("COLD"), "its record is here");
    site.delete("/photos/a").await.expect_status(204);
    site.put("/photos/b", "another").await.expect_status(200);
    site.kill();
    site.begin();
    tier.begin();
    tier.until_keys(1).await;
    assert!(site.get("/photos/c").await.expect_status(200).body == body(3, LARGE));
    site.get("/photos/a").await.expect_error(404, "NoSuchKey");
}

#[tokio::test]
async fn no_kill_loses_a_body_or_leaves_one_at_the_tier() {
    let (mut tier, mut site) = pair(&[]).await;
    site.put(
        "/photos?versioning",
        "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
    )
    .await
    .expect_status(200);
    site.put("/photos?lifecycle", rule("COLD")).await.expect_status(200);
    let mut versions = Vec::new();
    for round in 0..6_u8 {
        for number in 0..4_u8 {
            let seed = round * 4 + number;
            let path = format!("/photos/{}", number % 2);
            let put =
                site.put(&path, body(seed, LARGE + usize::from(seed))).await.expect_status(200);
            versions.push((path, put.header("x-amz-version-id").expect("an id").to_owned(), seed));
        }
        site.kill();
        if round % 2 == 1 {
            tier.kill();
            tier.begin();
        }
        site.begin();
    }
    for (path, id, seed) in &versions {
        let path = format!("{path}?versionId={id}");
        site.until_moved(&path, "COLD").await;
        let got = site.get(&path).await.expect_status(200);
        assert!(got.body == body(*seed, LARGE + usize::from(*seed)), "{path}");
    }
    tier.until_keys(versions.len()).await;
    let report = verified(&mut site);
    assert!(!report.is_empty(), "it says what it has looked at");
    for (path, id, _) in &versions {
        site.delete(&format!("{path}?versionId={id}")).await.expect_status(204);
    }
    tier.until_keys(0).await;
}

/// The output of `liteio verify` for the directory, which must be sound.
fn verified(site: &mut Site) -> String {
    site.kill();
    let output = crate::command::liteio(&site.directory)
        .args(["verify", "--data-dir", "data"])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    site.begin();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn other_bytes_at_the_tier_are_never_served() {
    let (tier, site) = pair(&[]).await;
    site.put("/photos?lifecycle", rule("COLD")).await.expect_status(200);
    site.put("/photos/a", body(3, LARGE)).await.expect_status(200);
    site.until_moved("/photos/a", "COLD").await;
    let key = tier.keys().await.remove(0);
    let path = format!("/cold/{key}");
    let sound = tier.get(&path).await.expect_status(200).body;
    let mut damaged = sound.clone();
    damaged[600_000] ^= 1;
    tier.put(&path, &damaged).await.expect_status(200);
    // The first blocks are sound.
    let range = |range: &str| site.request("GET", "/photos/a").header("range", range);
    assert!(range("bytes=0-99").send().await.expect_status(206).body == sound[..100]);
    range("bytes=600000-600001").send().await.expect_error(500, "InternalError");
    let copy = site.request("PUT", "/photos/copy").header("x-amz-copy-source", "/photos/a");
    copy.send().await.expect_error(500, "InternalError");
    for wrong in [&sound[..600_000], &[&sound[..], b"more"].concat(), b""] {
        tier.put(&path, wrong).await.expect_status(200);
        let status = range("bytes=600000-").send().await.status;
        // Bytes behind the end are those of no range.
        assert!(status == 500 || wrong.len() > sound.len(), "{} bytes: {status}", wrong.len());
    }
    tier.delete(&path).await.expect_status(204);
    site.get("/photos/a").await.expect_error(500, "InternalError");
    let metrics = site.get("/_liteio/metrics").await.expect_status(200).text();
    let value = |name: &str| -> u64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} in {metrics}")).trim().parse().expect("a number")
    };
    assert!(value("liteio_store_damaged_reads_total") >= 4);
    assert_eq!(value("liteio_tier_moved_total{tier=\"COLD\"}"), 1);
    assert_eq!(value("liteio_tier_moved_bytes_total{tier=\"COLD\"}"), LARGE as u64);
    assert_eq!(value("liteio_tier_moves_waiting"), 0);
    tier.put(&path, &sound).await.expect_status(200);
    assert!(site.get("/photos/a").await.expect_status(200).body == sound);
}

#[tokio::test]
async fn encrypted_bodies_move_as_ciphertext() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("master");
    let made = crate::command::liteio(&directory).args(["key", "new"]).arg(&file).output();
    assert!(made.expect("it runs").status.success());
    let (tier, site) = pair(&["--master-key-file", file.to_str().expect("text")]).await;
    let sse = [("x-amz-server-side-encryption", "AES256")];
    let (text, parts) = (vec![b'a'; LARGE], [vec![b'b'; 5 << 20], vec![b'c'; 300_001]]);
    site.request("PUT", "/photos/whole").headers(&sse).body(&text).send().await.expect_status(200);
    put_parts(&site, "/photos/parts", &parts, &sse).await;
    site.put("/photos?lifecycle", rule("COLD")).await.expect_status(200);
    site.until_moved("/photos/whole", "COLD").await;
    site.until_moved("/photos/parts", "COLD").await;
    for key in tier.keys().await {
        let stored = tier.get(&format!("/cold/{key}")).await.expect_status(200).body;
        let has = |byte: u8| stored.windows(16).any(|bytes| bytes == [byte; 16]);
        assert!(!has(b'a') && !has(b'b') && !has(b'c'), "plain bytes at the tier");
    }
    assert!(site.get("/photos/whole").await.expect_status(200).body == text);
    let joined = parts.concat();
    assert!(site.get("/photos/parts").await.expect_status(200).body == joined);
    let got = site.get("/photos/parts?partNumber=2").await.expect_status(206);
    assert!(got.body == parts[1]);
    let range = site.request("GET", "/photos/parts").header("range", "bytes=5242870-5242890");
    assert!(range.send().await.expect_status(206).body == joined[5_242_870..=5_242_890]);
}

#[tokio::test]
async fn classes_without_a_tier_are_labels_and_unknown_ones_are_refused() {
    let (_tier, site) = pair(&[]).await;
    site.put("/photos?lifecycle", rule("WARM")).await.expect_error(400, "MalformedXML");
    site.put("/photos?lifecycle", rule("cold")).await.expect_error(400, "MalformedXML");
    for class in ["COLD", "GLACIER", "GLACIER_IR"] {
        site.put("/photos?lifecycle", rule(class)).await.expect_status(200);
        let kept = site.get("/photos?lifecycle").await.expect_status(200).text();
        assert!(kept.contains(class), "{kept}");
    }
    // An object of such a class is read as any other.
    let put = site.request("PUT", "/photos/label").header("x-amz-storage-class", "ONEZONE_IA");
    put.body("label").send().await.expect_status(200);
    assert_eq!(site.get("/photos/label").await.expect_status(200).text(), "label");
}

#[tokio::test]
async fn an_archive_in_a_tier_is_read_after_its_restore_and_another_tier_at_once() {
    let (tier, site) = pair(&["--restore-delay", "0"]).await;
    let restore = |path: &str, days: u32| {
        let document = format!("<RestoreRequest><Days>{days}</Days></RestoreRequest>");
        site.request("POST", path).body(document)
    };
    // A day of the lifecycle has a second here, so the copy is for a while.
    const LONG: u32 = 36_000;
    site.put("/photos?lifecycle", rule("GLACIER")).await.expect_status(200);
    site.put("/photos/a", body(3, LARGE)).await.expect_status(200);
    site.until_moved("/photos/a", "GLACIER").await;
    tier.until_keys(1).await;
    let refused = site.get("/photos/a").await.expect_error(403, "InvalidObjectState");
    assert_eq!(refused.element("StorageClass"), "GLACIER");
    restore("/photos/a?restore", LONG).send().await.expect_status(202);
    assert!(site.get("/photos/a").await.expect_status(200).body == body(3, LARGE));
    assert_eq!(site.class("/photos/a").await.as_deref(), Some("GLACIER"));
    // Clients of MinIO restore what is in a tier of its own name, which is readable anyway.
    site.put("/photos?lifecycle", rule("COLD")).await.expect_status(200);
    site.put("/photos/b", body(4, LARGE)).await.expect_status(200);
    site.until_moved("/photos/b", "COLD").await;
    assert!(site.get("/photos/b").await.expect_status(200).body == body(4, LARGE));
    restore("/photos/b?restore", LONG).send().await.expect_status(202);
    let head = site.request("HEAD", "/photos/b").send().await.expect_status(200);
    let told = head.header("x-amz-restore").expect("it is restored").to_owned();
    assert!(told.starts_with("ongoing-request=\"false\", expiry-date=\""), "{told}");
    assert!(site.get("/photos/b").await.expect_status(200).body == body(4, LARGE));
}

/// A tier as `mc ilm tier add minio` sends it.
fn sent(name: &str, endpoint: &str, secret: &str) -> Value {
    json!({ "Version": "v1", "Type": "minio", "Name": name, "MinIO": {
        "Endpoint": endpoint, "AccessKey": ALICE.access_key, "SecretKey": secret,
        "Bucket": "cold", "Prefix": "here", "Region": "" } })
}

async fn admin(
    server: &TestServer,
    by: User,
    method: &'static str,
    path: &str,
    body: Option<Value>,
) -> Reply {
    let body = body.map(|body| seal_admin_body(by.secret_key, body.to_string().as_bytes()));
    let path = format!("/minio/admin/v3/tier{path}");
    server.request(method, &path).by(by).body(body.unwrap_or_default()).send().await
}

fn check_code(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status, status, "{}", reply.everything());
    let told: Value = serde_json::from_slice(&reply.body).expect("JSON");
    assert_eq!(told["Code"], code, "{told}");
}

#[tokio::test]
async fn minio_s_client_adds_lists_checks_changes_and_removes_tiers() {
    let tier = memory().await;
    tier.bucket("cold").await;
    let server = in_memory_with_users(ACCOUNTS).await;
    let (url, secret) = (tier.endpoint(), ALICE.secret_key);
    let add = |by, sent| admin(&server, by, "PUT", "?force=false", Some(sent));
    // Carol has no right, and Bob is the root user of another account.
    for by in [BOB, CAROL] {
        check_code(&add(by, sent("COLD", &url, secret)).await, 403, "AccessDenied");
    }
    let code = "XMinioAdminTierInvalidConfig";
    check_code(&add(ALICE, sent("cold", &url, secret)).await, 400, code);
    check_code(&add(ALICE, sent("GLACIER", &url, secret)).await, 400, code);
    check_code(&add(ALICE, sent("COLD", &url, "wrong")).await, 400, code);
    check_code(&add(ALICE, sent("COLD", "http://me:you@localhost", secret)).await, 400, code);
    add(ALICE, sent("COLD", &url, secret)).await.expect_status(204);
    check_code(&add(ALICE, sent("COLD", &url, secret)).await, 409, "XMinioAdminTierAlreadyExists");

    let listed = admin(&server, ALICE, "GET", "", None).await.expect_status(200);
    assert!(!listed.text().contains(secret), "{}", listed.text());
    let listed: Value = serde_json::from_slice(&listed.body).expect("JSON");
    assert_eq!(listed[0]["Name"], "COLD");
    assert_eq!(listed[0]["Type"], "minio");
    assert_eq!(listed[0]["MinIO"]["SecretKey"], "REDACTED");
    assert_eq!(listed[0]["MinIO"]["Prefix"], "here/");
    admin(&server, ALICE, "GET", "/COLD", None).await.expect_status(204);
    check_code(&admin(&server, ALICE, "GET", "/WARM", None).await, 404, "XMinioAdminTierNotFound");
    for by in [BOB, CAROL] {
        check_code(&admin(&server, by, "GET", "", None).await, 403, "AccessDenied");
        check_code(&admin(&server, by, "DELETE", "/COLD", None).await, 403, "AccessDenied");
    }

    let keys = |secret: &str| json!({ "access": ALICE.access_key, "secret": secret });
    let changed = admin(&server, ALICE, "POST", "/COLD", Some(keys("wrong"))).await;
    check_code(&changed, 400, code);
    admin(&server, ALICE, "POST", "/COLD", Some(keys(secret))).await.expect_status(204);

    server.bucket("photos").await;
    server.put("/photos?lifecycle", rule("COLD")).await.expect_status(200);
    tier.put("/cold/here/left", "a body").await.expect_status(200);
    let in_use = admin(&server, ALICE, "DELETE", "/COLD?force=true", None).await;
    check_code(&in_use, 409, "XMinioAdminTierBackendInUse");
    tier.delete("/cold/here/left").await.expect_status(204);
    admin(&server, ALICE, "DELETE", "/COLD", None).await.expect_status(204);
    server.put("/photos?lifecycle", rule("COLD")).await.expect_error(400, "MalformedXML");
    check_code(&admin(&server, ALICE, "GET", "/COLD", None).await, 404, "XMinioAdminTierNotFound");
}
