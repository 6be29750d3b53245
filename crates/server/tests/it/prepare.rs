//! Buckets and objects that are there when a server starts.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use liteio::{InitialBucket, KeySources, MasterKeySource, ServerBuilder, ServerHandle};

use crate::command::{Running, liteio, stderr};
use crate::harness::{self, ALICE, BOB, RawRequest, TestServer};
use crate::reply::Reply;

fn bucket(text: &str) -> InitialBucket {
    text.parse().expect("a bucket")
}

/// A server of Alice's in this directory, which is not removed with it.
async fn start(data: &Path, settings: impl FnOnce(ServerBuilder) -> ServerBuilder) -> ServerHandle {
    let builder = liteio::Server::builder().credentials(ALICE.access_key, ALICE.secret_key);
    settings(builder.data_dir(data)).spawn().await.expect("it starts")
}

async fn send(server: &ServerHandle, method: &'static str, path: &str) -> Reply {
    RawRequest::of_s3(server.address(), "us-east-1", method, path).send().await
}

async fn names(server: &TestServer) -> Vec<String> {
    server.get("/").await.expect_status(200).elements("Name")
}

#[tokio::test]
async fn buckets_are_there_before_the_first_request() {
    for backend in ["memory", "directory"] {
        let server = harness::start_with(backend, "eu-west-1", |builder, directory| {
            let file = directory.join("buckets.txt");
            let lines =
                "# Those of the team.\n\nlogs:upload # writing only\n  old:versioned:download\n";
            std::fs::write(&file, lines).expect("the file is written");
            let builder = builder.bucket(bucket("photos:public")).bucket(bucket("plain"));
            builder.bucket(bucket("photos")).bucket_file(file)
        });
        let server = server.await;
        assert_eq!(names(&server).await, ["logs", "old", "photos", "plain"]);
        // The first user of the file is their owner.
        server.request("GET", "/plain").by(BOB).send().await.expect_error(403, "AccessDenied");
        let region = server.get("/plain?location").await.expect_status(200);
        assert!(region.text().contains(">eu-west-1<"));
        let anonymous = |method, path: &str| server.request(method, path).anonymous().send();
        let may =
            [("photos", [200, 200, 204]), ("logs", [200, 403, 204]), ("old", [403, 404, 403])];
        for (bucket, [put, get, delete]) in may {
            let path = format!("/{bucket}/key");
            anonymous("PUT", &path).await.expect_status(put);
            anonymous("GET", &path).await.expect_status(get);
            anonymous("DELETE", &path).await.expect_status(delete);
        }
        anonymous("GET", "/old").await.expect_status(200);
        anonymous("GET", "/logs").await.expect_error(403, "AccessDenied");
        anonymous("GET", "/plain").await.expect_error(403, "AccessDenied");
        let versioning = server.get("/old?versioning").await.expect_status(200);
        assert_eq!(versioning.element("Status"), "Enabled");
        server.get("/plain?policy").await.expect_error(404, "NoSuchBucketPolicy");
    }
}

#[tokio::test]
async fn what_is_there_stays_as_it_is() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    let policy = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*",
        "Action": "s3:GetObject", "Resource": "arn:aws:s3:::mine/public/*"}]}"#;
    let server = start(&data, |builder| builder.bucket(bucket("mine"))).await;
    let created = send(&server, "GET", "/").await.element("CreationDate");
    let put = |path| RawRequest::of_s3(server.address(), "us-east-1", "PUT", path);
    put("/mine/key").body("kept").send().await.expect_status(200);
    put("/mine?policy").body(policy).send().await.expect_status(204);
    put("/other").send().await.expect_status(200);
    server.stop().await;
    for _ in 0..2 {
        let all = |builder: ServerBuilder| {
            builder.bucket(bucket("mine:public:versioned")).bucket(bucket("other:public"))
        };
        let server = start(&data, all).await;
        let mine = send(&server, "GET", "/").await;
        assert_eq!(mine.elements("CreationDate")[0], created);
        assert_eq!(send(&server, "GET", "/mine/key").await.text(), "kept");
        assert_eq!(send(&server, "GET", "/mine?policy").await.text(), policy);
        let versioning = send(&server, "GET", "/mine?versioning").await;
        assert_eq!(versioning.element("Status"), "Enabled");
        let given = send(&server, "GET", "/other?policy").await.expect_status(200).text();
        assert!(given.contains("s3:PutObject"), "{given}");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_bucket_may_have_object_lock_from_the_start() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    let server = start(&data, |builder| builder.bucket(bucket("plain"))).await;
    server.stop().await;
    let rules = "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention>\
                 <Mode>GOVERNANCE</Mode><Days>1</Days></DefaultRetention></Rule></ObjectLockConfiguration>";
    for round in 0..2 {
        // The second one is there already, without versions.
        let both = |builder: ServerBuilder| {
            builder.bucket(bucket("vault:locked")).bucket(bucket("plain:download:locked"))
        };
        let server = start(&data, both).await;
        for name in ["vault", "plain"] {
            let versioning = send(&server, "GET", &format!("/{name}?versioning")).await;
            assert_eq!(versioning.element("Status"), "Enabled");
            let lock = send(&server, "GET", &format!("/{name}?object-lock")).await;
            assert_eq!(lock.element("ObjectLockEnabled"), "Enabled");
            let has_default = lock.text().contains("GOVERNANCE");
            assert_eq!(has_default, round == 1 && name == "vault", "{}", lock.text());
        }
        let put = RawRequest::of_s3(server.address(), "us-east-1", "PUT", "/vault?object-lock");
        put.body(rules).send().await.expect_status(200);
        server.stop().await;
    }
}

#[tokio::test]
async fn empty_directories_become_buckets_where_that_was_asked_for() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    std::fs::create_dir_all(data.join("langfuse")).expect("a directory");
    std::fs::create_dir(data.join("second.bucket")).expect("a directory");
    // Without being asked nothing is touched: somebody else may need them.
    let refused = liteio::Server::builder().data_dir(&data).spawn().await;
    let refused = refused.expect_err("not its own").to_string();
    assert!(refused.contains("not a LiteIO data directory"), "{refused}");
    for round in 0..3 {
        let server = start(&data, ServerBuilder::directories_are_buckets).await;
        let listed = send(&server, "GET", "/").await.elements("Name");
        let expected: &[&str] = match round {
            0 => &["langfuse", "second.bucket"],
            _ => &["langfuse", "later", "second.bucket"],
        };
        assert_eq!(listed, expected);
        server.stop().await;
        // A name of the store's, one that is no bucket, and one that is not empty.
        std::fs::create_dir_all(data.join("later")).expect("a directory");
        std::fs::create_dir_all(data.join("Upper")).expect("a directory");
        std::fs::create_dir_all(data.join("full/inner")).expect("a directory");
    }
    for name in ["full", "Upper", "blobs"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(directory.path().join(name).join("x")).expect("a directory");
        let builder = liteio::Server::builder().data_dir(directory.path());
        let refused = builder.directories_are_buckets().spawn().await;
        assert!(refused.is_err(), "{name}");
    }
}

#[test]
fn a_file_of_buckets_that_is_not_valid_ends_the_start_and_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let rows = [(None, "cannot read the buckets in"), (Some("abc\n\nabc:open\n"), "line 3")];
    for (text, told) in rows {
        if let Some(text) = text {
            std::fs::write(directory.path().join("buckets"), text).expect("written");
        }
        let mut command = liteio(&directory);
        command.args(["--address", "127.0.0.1:0", "--bucket-file", "buckets"]);
        let output = command.output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(told) && message.contains("buckets"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(!directory.path().join("data").exists());
    }
}

#[test]
fn buckets_are_given_by_flag_and_variable() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let arguments = ["--memory", "--address", "127.0.0.1:0"];
    let variables = [("LITEIO_BUCKET", "first:public,second"), ("LITEIO_LOG", "info")];
    let server = Running::start_with(&directory, &arguments, &variables);
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    let made = |name: &str| log.lines().any(|line| line.contains("made") && line.contains(name));
    assert!(made("first") && made("second"), "{log}");
}

/// A header of a tar archive with its body. `kind`: `0` a file, `5` a directory, `2` a link.
pub(crate) fn tar_entry(name: &str, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut entry = vec![0; 512];
    entry[..name.len()].copy_from_slice(name.as_bytes());
    entry[124..136].copy_from_slice(format!("{:011o}\0", body.len()).as_bytes());
    entry[148..156].copy_from_slice(b"        ");
    entry[156] = kind;
    entry[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = entry.iter().map(|byte| u32::from(*byte)).sum();
    entry[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    entry.extend_from_slice(body);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

pub(crate) fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    [&entries.concat()[..], &[0; 1024]].concat()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("compressed")
}

/// The seed of these tests as files: `photos/a.txt`, `photos/deep/big.bin`, and the empty bucket `logs`.
fn big() -> Vec<u8> {
    (0..700_000_u32).map(|number| (number % 251) as u8).collect()
}

fn photos() -> Vec<u8> {
    tar(&[
        tar_entry("./", b'5', b""),
        tar_entry("./photos/", b'5', b""),
        tar_entry("./photos/a.txt", b'0', b"from the seed"),
        tar_entry("./photos/deep/big.bin", b'0', &big()),
        tar_entry("./logs/", b'5', b""),
    ])
}

#[tokio::test]
async fn seed_data_is_there_before_the_first_request_and_what_was_there_stays() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir_all(at("seed/photos/deep")).expect("a directory");
    std::fs::create_dir_all(at("seed/logs")).expect("a directory");
    std::fs::write(at("seed/photos/a.txt"), "from the seed").expect("written");
    std::fs::write(at("seed/photos/deep/big.bin"), big()).expect("written");
    std::fs::write(at("seed.tar"), photos()).expect("written");
    std::fs::write(at("seed.tar.gz"), gzip(&photos())).expect("written");
    std::fs::write(at("seed.TGZ"), gzip(&photos())).expect("written");
    for seed in ["seed", "seed.tar", "seed.tar.gz", "seed.TGZ"] {
        let data = at(&format!("data-of-{seed}"));
        let server = start(&data, |builder| builder.bucket(bucket("other")).seed(at(seed))).await;
        assert_eq!(send(&server, "GET", "/").await.elements("Name"), ["logs", "other", "photos"]);
        let listed = send(&server, "GET", "/photos").await.elements("Key");
        assert_eq!(listed, ["a.txt", "deep/big.bin"], "{seed}");
        let text = send(&server, "GET", "/photos/a.txt").await.expect_status(200);
        assert_eq!(
            (text.text(), text.header("content-type")),
            ("from the seed".into(), Some("text/plain"))
        );
        let body = send(&server, "GET", "/photos/deep/big.bin").await.expect_status(200);
        assert_eq!(body.header("etag"), Some(&*harness::etag(&big())));
        let sums = RawRequest::of_s3(server.address(), "us-east-1", "HEAD", "/photos/a.txt")
            .header("x-amz-checksum-mode", "ENABLED");
        assert!(sums.send().await.header("x-amz-checksum-crc64nvme").is_some());
        let put = RawRequest::of_s3(server.address(), "us-east-1", "PUT", "/photos/a.txt");
        put.body("changed").send().await.expect_status(200);
        send(&server, "DELETE", "/photos/deep/big.bin").await.expect_status(204);
        server.stop().await;
        let server = start(&data, |builder| builder.seed(at(seed))).await;
        assert_eq!(send(&server, "GET", "/photos/a.txt").await.text(), "changed");
        send(&server, "GET", "/photos/deep/big.bin").await.expect_status(200);
        server.stop().await;
    }
}

#[tokio::test]
async fn seed_data_is_encrypted_as_its_bucket_says() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    let (key, seed) = (directory.path().join("master.key"), directory.path().join("seed.tar"));
    std::fs::write(&key, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n").expect("written");
    std::fs::write(&seed, photos()).expect("written");
    let keys = KeySources { master: Some(MasterKeySource::File(key)), kms_file: None };
    let server = start(&data, |builder| builder.keys(keys.clone()).bucket(bucket("photos"))).await;
    let rule = "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
        <SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule>\
        </ServerSideEncryptionConfiguration>";
    let put = RawRequest::of_s3(server.address(), "us-east-1", "PUT", "/photos?encryption");
    put.body(rule).send().await.expect_status(200);
    server.stop().await;
    let server = start(&data, |builder| builder.keys(keys).seed(seed)).await;
    let text = send(&server, "GET", "/photos/a.txt").await.expect_status(200);
    assert_eq!(text.header("x-amz-server-side-encryption"), Some("AES256"));
    assert_eq!(text.text(), "from the seed");
}

/// A seed packed by a file manager, or kept in a repository.
#[tokio::test]
async fn what_tools_leave_at_the_top_of_a_seed_is_passed_over_with_a_warning() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    let files = [
        ".DS_Store",
        ".git/HEAD",
        ".gitkeep",
        "LICENSE",
        "README.md",
        "Thumbs.db",
        "__MACOSX/photos/._a.jpg",
        "lost+found/x",
    ];
    for name in files.into_iter().chain(["photos/a.jpg", "photos/.keep"]) {
        let path = at("seed").join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        std::fs::write(path, "x").expect("written");
    }
    // A broken link would end the start anywhere else.
    std::os::unix::fs::symlink("nowhere", at("seed/.git/link")).expect("a link");
    let entries = files.into_iter().chain(["photos/a.jpg", "photos/.keep"]);
    let entries: Vec<_> = entries.map(|name| tar_entry(name, b'0', b"x")).collect();
    std::fs::write(at("seed.tar"), tar(&entries)).expect("written");
    for seed in ["seed", "seed.tar"] {
        let arguments = ["--memory", "--address", "127.0.0.1:0", "--seed", seed];
        let server = Running::start_with(&directory, &arguments, &[("LITEIO_LOG", "warn")]);
        let address = server.endpoint().strip_prefix("http://").expect("a URL");
        let address = address.parse().expect("an address");
        let user = harness::User { access_key: "liteio", secret_key: "liteio123", ..ALICE };
        let list = |target: &'static str| {
            RawRequest::of_s3(address, "us-east-1", "GET", target).by(user).send()
        };
        assert_eq!(list("/").await.expect_status(200).elements("Name"), ["photos"], "{seed}");
        assert_eq!(list("/photos").await.elements("Key"), [".keep", "a.jpg"], "{seed}");
        let (_, log) = server.signal("TERM");
        for name in files {
            let top = name.split('/').next().expect("a name");
            let named = format!("name=\"{top}\"");
            let warnings = log.lines().filter(|line| line.contains(&named));
            assert_eq!(warnings.count(), 1, "{seed} {top}: {log}");
        }
    }
}

#[test]
fn a_seed_that_is_not_valid_ends_the_start_with_one_line() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    let good = tar_entry("photos/a.txt", b'0', b"first");
    let with = |entry: Vec<u8>| tar(&[good.clone(), entry]);
    let file = |name: &str| with(tar_entry(name, b'0', b"x"));
    let whole = photos();
    let compressed = gzip(&whole);
    let mut bad_sum = compressed.clone();
    let end = bad_sum.len() - 8;
    bad_sum[end] ^= 1;
    // A compressed file of zeros, which is no archive however far it is read.
    let bomb = gzip(&vec![0; 64 << 20]);
    let archives: [(&str, Vec<u8>, &[&str]); 17] = [
        ("up.tar", file("photos/../../etc/passwd"), &["photos/../../etc/passwd", "leads out"]),
        ("root.tar", file("/etc/passwd"), &["/etc/passwd", "root of the file system"]),
        ("loose.tar", file("loose.txt"), &["loose.txt", "no bucket"]),
        ("name.tar", file("Photos/a"), &["Photos/a", "bucket name"]),
        ("link.tar", with(tar_entry("photos/link", b'2', b"")), &["photos/link", "a link"]),
        ("hard.tar", with(tar_entry("photos/hard", b'1', b"")), &["photos/hard", "a link"]),
        ("device.tar", with(tar_entry("photos/null", b'3', b"")), &["photos/null", "a device"]),
        ("pipe.tar", with(tar_entry("photos/pipe", b'6', b"")), &["photos/pipe", "a named pipe"]),
        ("sparse.tar", with(tar_entry("photos/holes", b'S', b"")), &["photos/holes", "sparse"]),
        ("cut.tar", whole[..5_000].to_vec(), &["cut off"]),
        ("none.tar", vec![b'x'; 4_096], &["damaged, or no tar archive"]),
        ("empty.tar", Vec::new(), &["cut off"]),
        ("cut.tgz", compressed[..compressed.len() / 2].to_vec(), &["cut off"]),
        ("sum.tgz", bad_sum, &["damaged"]),
        ("plain.tgz", whole.clone(), &["damaged"]),
        ("bomb.tgz", bomb, &["behind the end"]),
        ("none.zip", whole.clone(), &["no zip archive"]),
    ];
    let mut rows = Vec::new();
    for (name, bytes, told) in archives {
        std::fs::write(at(name), bytes).expect("written");
        rows.push((name, told));
    }
    std::fs::create_dir_all(at("links/photos")).expect("a directory");
    std::os::unix::fs::symlink("/etc/passwd", at("links/photos/passwd")).expect("a link");
    std::fs::create_dir_all(at("names/NO")).expect("a directory");
    std::fs::create_dir_all(at("files")).expect("a directory");
    std::fs::write(at("files/loose.txt"), "x").expect("written");
    std::fs::write(at("seed.rar"), "x").expect("written");
    rows.extend([
        ("links", &["photos/passwd", "leads out"][..]),
        ("names", &["\"NO\"", "bucket name"]),
        ("files", &["loose.txt", "no bucket"]),
        ("seed.rar", &[".tar, .tar.gz, .tgz or .zip"]),
        ("nothing", &["cannot read the seed /"]),
    ]);
    for (seed, told) in rows {
        let data = format!("data-{seed}");
        let mut command = liteio(&directory);
        command.args(["--address", "127.0.0.1:0", "--data-dir", &data, "--seed", seed]);
        let output = command.env("LITEIO_LOG", "warn").output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{seed}: {message}");
        assert_eq!(message.lines().count(), 1, "{seed}: {message}");
        for text in told.iter().chain([&seed]) {
            assert!(message.contains(text), "{seed} {text}: {message}");
        }
        assert!(output.stdout.is_empty(), "{seed}");
        let is_read_before = matches!(seed, "seed.rar" | "nothing");
        assert_eq!(at(&data).exists(), !is_read_before, "{seed}");
    }
    // Which objects stay is told.
    let mut command = liteio(&directory);
    command.args(["--address", "127.0.0.1:0", "--seed", "up.tar"]);
    let message = stderr(&command.output().expect("it runs"));
    assert!(message.contains("(objects put before it, which stay: 1)"), "{message}");
}

#[test]
fn a_signal_ends_a_start_that_takes_long() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let seed = directory.path().join("seed.tar");
    // 512 MiB of a file that takes no space.
    let mut head = tar_entry("photos/big", b'0', b"");
    head[124..136].copy_from_slice(format!("{:011o}\0", 512_u64 << 20).as_bytes());
    head[148..156].copy_from_slice(b"        ");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    std::fs::write(&seed, head).expect("written");
    let file = std::fs::OpenOptions::new().write(true).open(&seed).expect("a file");
    file.set_len((512 << 20) + 2048).expect("longer");
    let mut command = liteio(&directory);
    command.args(["--address", "127.0.0.1:0", "--seed", "seed.tar"]).env("LITEIO_LOG", "info");
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let made = log.by_ref().map_while(Result::ok).find(|line| line.contains("was made"));
    assert!(made.is_some(), "the bucket comes first");
    let sent = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let rest: Vec<String> = log.map_while(Result::ok).collect();
    assert!(rest.iter().any(|line| line.contains("stopped during")), "{rest:?}");
}
