//! `liteio import`: what comes into a data directory, what does not, and that it goes on where it ended.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;

use crate::command::{Running, liteio, stderr};
use crate::failing::{Failing, error, ok};
use crate::raw::{Keys, Request, send};
use crate::reply::Reply;

const KEYS: Keys = Keys { access: "liteio", secret: "liteio123" };

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A file with a time of its own.
fn file(root: &Path, name: &str, content: &[u8], modified_s: u64) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(&path, content).expect("written");
    let time = UNIX_EPOCH + Duration::from_secs(modified_s);
    File::options().write(true).open(&path).and_then(|it| it.set_modified(time)).expect("set");
}

fn import(directory: &TempDir, arguments: &[&str]) -> Output {
    let mut command = liteio(directory);
    command.arg("import").args(arguments);
    if !arguments.contains(&"--data-dir") {
        command.args(["--data-dir", "data"]);
    }
    command.output().expect("it runs")
}

/// Imports, and returns what was printed.
#[track_caller]
fn imported(directory: &TempDir, arguments: &[&str], code: i32) -> String {
    let output = import(directory, arguments);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{told}{}", stderr(&output));
    told
}

fn serve(directory: &TempDir) -> Running {
    Running::start_with(directory, &["--data-dir", "data", "--address", "127.0.0.1:0"], &[])
}

fn ask(server: &Running, method: &'static str, target: &str, body: &[u8]) -> Reply {
    let address = server.endpoint().strip_prefix("http://").expect("a URL");
    let request = Request::new(method, target).body(body).sign(KEYS);
    send(address.parse().expect("an address"), &request.bytes())
}

#[test]
fn files_become_objects_with_their_times_and_types() {
    let directory = directory();
    let root = directory.path().join("files");
    file(&root, "photos/2026/cat.jpg", b"cat", 1_000_000_000);
    file(&root, "photos/large.bin", &[7; 300_000], 1_100_000_000);
    file(&root, "No Bucket/x", b"x", 1);
    file(&root, "at-the-top.txt", b"x", 1);
    fs::create_dir_all(root.join("empty")).expect("made");
    symlink("large.bin", root.join("photos/link")).expect("linked");
    symlink("/etc/hostname", root.join("photos/out")).expect("linked");
    symlink("nowhere", root.join("photos/nowhere")).expect("linked");

    let told = imported(&directory, &["fs", "files"], 1);
    assert!(told.contains("data: 3 imported"), "{told}");
    for left_out in ["No Bucket: ", "at-the-top.txt: ", "photos/out: ", "photos/nowhere: "] {
        assert!(told.contains(left_out), "{left_out} {told}");
    }
    assert!(told.contains("4 left out"), "{told}");
    let again = imported(&directory, &["fs", "files"], 1);
    assert!(again.contains("0 imported") && again.contains("3 there already"), "{again}");

    file(&root, "photos/2026/cat.jpg", b"dog", 1_000_000_001);
    let conflict = imported(&directory, &["fs", "files"], 1);
    assert!(
        conflict.contains("left out: photos/2026/cat.jpg: the data directory has"),
        "{conflict}"
    );
    let server = serve(&directory);
    let cat = ask(&server, "GET", "/photos/2026/cat.jpg", b"");
    assert_eq!((cat.status, &*cat.body), (200, &b"cat"[..]));
    assert_eq!(cat.header("content-type"), Some("image/jpeg"));
    assert_eq!(cat.header("last-modified"), Some("Sun, 09 Sep 2001 01:46:40 GMT"));
    assert_eq!(cat.header("etag"), Some("\"d077f244def8a70e5ea758bd8352fcd8\""));
    assert_eq!(ask(&server, "GET", "/photos/link", b"").body, [7; 300_000]);
    assert_eq!(ask(&server, "HEAD", "/empty", b"").status, 200);
    let in_use = import(&directory, &["fs", "files"]);
    assert_eq!(in_use.status.code(), Some(1));
    assert!(stderr(&in_use).contains("in use by process"), "{}", stderr(&in_use));
    server.signal("TERM");

    let overwritten = imported(&directory, &["fs", "files", "--overwrite"], 1);
    assert!(overwritten.contains("1 imported"), "{overwritten}");
    let server = serve(&directory);
    assert_eq!(ask(&server, "GET", "/photos/2026/cat.jpg", b"").body, b"dog");
}

#[test]
fn one_bucket_of_a_whole_directory() {
    let directory = directory();
    let root = directory.path().join("site");
    file(&root, "index.html", b"<p>", 5);
    file(&root, "a/b.css", b"p {}", 5);
    let told = imported(&directory, &["fs", "site", "--bucket", "www"], 0);
    assert!(told.contains("2 imported"), "{told}");
    let server = serve(&directory);
    assert_eq!(
        ask(&server, "GET", "/www/index.html", b"").header("content-type"),
        Some("text/html")
    );
    assert_eq!(ask(&server, "GET", "/www/a/b.css", b"").body, b"p {}");
}

#[test]
fn what_cannot_be_imported_at_all_is_one_line() {
    let directory = directory();
    fs::create_dir_all(directory.path().join("data/inside")).expect("made");
    fs::create_dir_all(directory.path().join("other")).expect("made");
    for (arguments, expected) in [
        (&["fs", "missing"][..], "missing is not a directory"),
        (&["fs", "data"], "within each other"),
        (&["fs", "data/inside"], "within each other"),
        (&["fs", "."], "within each other"),
        (&["fs", "other", "--data-dir", "other/new/data"], "within each other"),
    ] {
        let output = import(&directory, arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?} {told}");
        assert!(told.contains(expected) && told.lines().count() == 1, "{arguments:?} {told}");
    }
    assert!(!directory.path().join("other/new").exists(), "the source stays as it is");
}

#[test]
fn an_import_that_was_killed_goes_on_and_doubles_no_version() {
    const FILES: usize = 400;
    let directory = directory();
    let root = directory.path().join("files");
    for number in 0..FILES {
        let bytes = if number.is_multiple_of(20) { 40_000 } else { 100 };
        file(&root, &format!("bucket/{number}"), &vec![number as u8; bytes], 1_000 + number as u64);
    }
    let server = serve(&directory);
    assert_eq!(ask(&server, "PUT", "/bucket", b"").status, 200);
    let enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    assert_eq!(ask(&server, "PUT", "/bucket?versioning", enabled).status, 200);
    server.signal("TERM");

    let log = directory.path().join("data/meta.redb.log");
    let length = || fs::metadata(&log).map_or(0, |it| it.len());
    for _ in 0..4 {
        let mut command = liteio(&directory);
        command.args(["import", "fs", "files", "--data-dir", "data"]).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
        let before = length();
        while child.try_wait().expect("a state").is_none() && length().abs_diff(before) < 10_000 {
            std::thread::yield_now();
        }
        child.kill().expect("killed, or ended before");
        child.wait().expect("it ends");
    }
    let told = imported(&directory, &["fs", "files"], 0);
    let count = |what: &str| -> usize {
        let before = told[..told.find(what).expect(what)].trim_end();
        before.rsplit([' ', ',']).next().expect("a number").parse().expect("a number")
    };
    assert_eq!(count("imported (") + count("there already"), FILES, "{told}");
    assert!(count("there already") > 0, "{told}");

    let server = serve(&directory);
    let versions = ask(&server, "GET", "/bucket?versions", b"").text();
    assert_eq!(versions.matches("<Version>").count(), FILES);
    for number in [0, 1, 20, FILES - 1] {
        let bytes = if number.is_multiple_of(20) { 40_000 } else { 100 };
        let body = ask(&server, "GET", &format!("/bucket/{number}"), b"").body;
        assert_eq!(body, vec![number as u8; bytes], "{number}");
    }
}

/// The fixture, copied to `drive`.
fn drive(directory: &TempDir) {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).expect("made");
        for entry in fs::read_dir(from).expect("readable") {
            let entry = entry.expect("an entry");
            let to = to.join(entry.file_name());
            match entry.path().is_dir() {
                true => copy(&entry.path(), &to),
                false => fs::copy(entry.path(), to).map(drop).expect("copied"),
            }
        }
    }
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/fixtures/minio");
    copy(Path::new(fixture), &directory.path().join("drive"));
}

#[test]
fn a_drive_of_minio_comes_over_with_versions_metadata_locks_and_settings() {
    let directory = directory();
    drive(&directory);
    let told = imported(&directory, &["minio", "drive"], 1);
    assert!(told.contains("left out: plain/sealed: it is encrypted"), "{told}");
    assert!(told.contains("data: 15 imported") && told.contains("1 left out"), "{told}");
    assert!(told.contains("the default encryption of versions is not brought over"), "{told}");
    let again = imported(&directory, &["minio", "drive"], 1);
    assert!(again.contains("0 imported") && again.contains("15 there already"), "{again}");

    let server = serve(&directory);
    let hello = ask(&server, "GET", "/plain/hello.txt", b"");
    assert_eq!(hello.body, b"hello");
    for (name, value) in [
        ("content-type", "text/plain"),
        ("cache-control", "max-age=60"),
        ("content-disposition", "inline"),
        ("content-language", "en"),
        ("x-amz-meta-colour", "green"),
        ("x-amz-meta-note", "two words"),
        ("x-amz-tagging-count", "2"),
        ("etag", "\"5d41402abc4b2a76b9719d911017c592\""),
        ("last-modified", "Mon, 23 Nov 2026 02:10:14 GMT"),
    ] {
        assert_eq!(hello.header(name), Some(value), "{name}");
    }
    assert_eq!(ask(&server, "GET", "/plain/folder/", b"").status, 200);
    assert_eq!(ask(&server, "GET", "/plain/dir/nested/empty", b"").body, b"");
    assert_eq!(ask(&server, "GET", "/plain/file", b"").body.len(), 1500);
    let upload = ask(&server, "HEAD", "/plain/upload?partNumber=1", b"");
    assert_eq!(
        (upload.header("x-amz-mp-parts-count"), upload.header("content-length")),
        (Some("1"), Some("1200"))
    );
    assert!(upload.header("etag").is_some_and(|etag| etag.ends_with("-1\"")));

    let versions = ask(&server, "GET", "/versions?versions&prefix=k", b"").text();
    let order: Vec<&str> = versions.split("<Key>k</Key>").skip(1).collect();
    assert_eq!(order.len(), 5, "{versions}");
    assert!(order[0].contains("<IsLatest>true"), "{versions}");
    assert!(order[1].contains("</DeleteMarker>"), "{versions}");
    assert!(order[4].contains("<VersionId>null</VersionId>"), "{versions}");
    assert_eq!(ask(&server, "GET", "/versions/k", b"").body, b"three");
    assert_eq!(ask(&server, "GET", "/versions/k?versionId=null", b"").body, b"null before");
    assert_eq!(ask(&server, "GET", "/versions/gone", b"").status, 404);

    let kept = ask(&server, "HEAD", "/locked/kept", b"");
    assert_eq!(kept.header("x-amz-object-lock-mode"), Some("GOVERNANCE"));
    assert_eq!(
        kept.header("x-amz-object-lock-retain-until-date"),
        Some("2040-01-02T03:04:05.000Z")
    );
    let held = ask(&server, "HEAD", "/locked/held", b"");
    assert_eq!(held.header("x-amz-object-lock-legal-hold"), Some("ON"));
    assert_eq!(held.header("x-amz-object-lock-mode"), None, "it was written before the default");
    for (target, expected) in [
        ("/plain?policy", "arn:aws:s3:::plain/*"),
        ("/plain?tagging", "<Value>blue</Value>"),
        ("/versions?versioning", "Enabled"),
        ("/versions?lifecycle", "<Prefix>tmp/</Prefix>"),
        ("/locked?object-lock", "<Days>3</Days>"),
    ] {
        let text = ask(&server, "GET", target, b"").text();
        assert!(text.contains(expected), "{target} {text}");
    }
    server.signal("TERM");
    let verified =
        liteio(&directory).args(["verify", "--data-dir", "data"]).output().expect("it runs");
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn users_that_only_the_root_credentials_open_are_told() {
    let directory = directory();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/fixtures/volume");
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(fixture).arg(directory.path().join("vol"));
    assert!(copy.status().expect("cp runs").success());
    let told = imported(&directory, &["minio", "vol"], 0);
    assert!(told.contains("warning: users, groups, policies"), "{told}");
    assert!(told.contains("MINIO_ROOT_USER"), "{told}");
}

#[test]
fn what_is_damaged_on_a_drive_is_named_and_the_rest_comes_over() {
    let directory = directory();
    drive(&directory);
    let root = directory.path().join("drive");
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).expect("readable");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).expect("written");
    };
    let file = fs::read_dir(root.join("plain/file")).expect("readable");
    let data = file.map(|entry| entry.expect("an entry").path()).find(|path| path.is_dir());
    flip(&data.expect("a data directory").join("part.1"));
    flip(&root.join("locked/kept/xl.meta"));
    fs::remove_file(root.join("plain/upload/xl.meta")).expect("removed");
    fs::write(root.join("stray"), b"x").expect("written");
    let told = imported(&directory, &["minio", "drive"], 1);
    for expected in [
        "plain/file: the checksum of the block at byte 0 does not match",
        "locked/kept: its xl.meta: it is damaged",
        "part.3: it belongs to no xl.meta",
        "stray: it is no bucket",
        "5 left out",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let server = serve(&directory);
    assert_eq!(ask(&server, "GET", "/plain/hello.txt", b"").body, b"hello");
    assert_eq!(ask(&server, "GET", "/plain/file", b"").status, 404);
}

#[test]
fn a_bucket_without_its_settings_waits_until_they_can_be_read() {
    let directory = directory();
    drive(&directory);
    let settings = directory.path().join("drive/.minio.sys/buckets/locked/.metadata.bin/xl.meta");
    let whole = fs::read(&settings).expect("readable");
    fs::write(&settings, &whole[..whole.len() / 2]).expect("written");
    let told = imported(&directory, &["minio", "drive"], 1);
    assert!(told.contains("left out: locked: its settings cannot be read"), "{told}");
    fs::write(&settings, &whole).expect("written");
    // A key may be named as the files of MinIO are.
    let plain = directory.path().join("drive/plain");
    fs::create_dir(plain.join("a")).expect("made");
    fs::rename(plain.join("hello.txt"), plain.join("a/xl.meta")).expect("moved");
    let told = imported(&directory, &["minio", "drive"], 1);
    assert!(told.contains("1 left out"), "{told}");
    let server = serve(&directory);
    let lock = ask(&server, "GET", "/locked?object-lock", b"").text();
    assert!(lock.contains("<Days>3</Days>"), "{lock}");
    assert_eq!(ask(&server, "GET", "/plain/a/xl.meta", b"").body, b"hello");
}

#[test]
fn drives_that_are_not_alone_are_refused() {
    for (format, expected) in [
        (r#"{"format":"xl","xl":{"sets":[["a","b","c","d"]]}}"#, "one of 4 drives"),
        (r#"{"format":"fs","fs":{"version":"2"}}"#, "FS mode"),
        ("{", "cannot be read"),
        ("", "cannot be read"),
    ] {
        let directory = directory();
        let system = directory.path().join("drive/.minio.sys");
        fs::create_dir_all(&system).expect("made");
        fs::write(system.join("format.json"), format).expect("written");
        let output = import(&directory, &["minio", "drive"]);
        assert_eq!(output.status.code(), Some(1), "{format}");
        let told = stderr(&output);
        assert!(told.contains(expected) && told.lines().count() == 1, "{format} {told}");
        assert!(!directory.path().join("data").exists(), "nothing was made");
    }
    let output = import(&directory(), &["minio", "."]);
    assert!(stderr(&output).contains("is no drive of MinIO"), "{}", stderr(&output));
}

/// A listing of versions without their ids.
fn listed(server: &Running, bucket: &str) -> String {
    let text = ask(server, "GET", &format!("/{bucket}?versions"), b"").text();
    let mut parts = text.split("<VersionId>");
    let first = parts.next().unwrap_or_default().to_owned();
    let behind = |part: &str| {
        let (id, rest) = part.split_once("</VersionId>").expect("an id ends");
        format!("{}{rest}", if id == "null" { "null" } else { "" })
    };
    parts.fold(first, |text, part| text + &behind(part))
}

#[test]
fn everything_of_a_server_comes_over() {
    let directory = directory();
    drive(&directory);
    imported(&directory, &["minio", "drive"], 1);
    let server = serve(&directory);
    let from = |url: &str, to: &str, secret: &str| {
        let mut command = liteio(&directory);
        command.args(["import", "s3", url, "--data-dir", to]);
        command.args(["--access-key", "liteio", "--secret-key", secret]).output().expect("it runs")
    };
    let told = |output: &Output, code: i32| {
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{told}{}", stderr(output));
        told
    };
    let url = server.endpoint().to_owned();
    let refused = from(&url, "copy", "another secret");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("SignatureDoesNotMatch"), "{}", stderr(&refused));
    assert!(!directory.path().join("copy").exists(), "nothing was made");
    let first = told(&from(&url, "copy", "liteio123"), 0);
    assert!(first.contains("copy: 15 imported"), "{first}");
    let again = told(&from(&url, "copy", "liteio123"), 0);
    assert!(again.contains("0 imported") && again.contains("15 there already"), "{again}");
    let below = told(&from(&format!("{url}/plain/dir/"), "part", "liteio123"), 0);
    assert!(below.contains("part: 1 imported"), "{below}");

    let arguments = ["--data-dir", "copy", "--address", "127.0.0.1:0"];
    let copy = Running::start_with(&directory, &arguments, &[]);
    for bucket in ["plain", "versions", "locked"] {
        assert_eq!(listed(&copy, bucket), listed(&server, bucket), "{bucket}");
        for setting in ["policy", "tagging", "versioning", "lifecycle", "object-lock"] {
            let target = format!("/{bucket}?{setting}");
            let (copied, original) =
                (ask(&copy, "GET", &target, b""), ask(&server, "GET", &target, b""));
            assert_eq!(copied.status, original.status, "{target}");
            if original.status == 200 {
                assert_eq!(copied.text(), original.text(), "{target}");
            }
        }
    }
    for target in [
        "/plain/hello.txt",
        "/plain/folder/",
        "/plain/file",
        "/plain/upload?partNumber=1",
        "/versions/k",
        "/versions/k?versionId=null",
        "/locked/kept",
        "/locked/held",
    ] {
        let (copied, original) = (ask(&copy, "GET", target, b""), ask(&server, "GET", target, b""));
        assert_eq!((copied.status, copied.body), (original.status, original.body), "{target}");
        for name in [
            "content-type",
            "cache-control",
            "content-disposition",
            "x-amz-meta-colour",
            "x-amz-tagging-count",
            "x-amz-mp-parts-count",
            "x-amz-object-lock-mode",
            "x-amz-object-lock-retain-until-date",
            "x-amz-object-lock-legal-hold",
            "etag",
            "last-modified",
        ] {
            let header = |reply: &Reply| reply.header(name).map(str::to_owned);
            let copied = header(&ask(&copy, "HEAD", target, b""));
            assert_eq!(copied, header(&ask(&server, "HEAD", target, b"")), "{target} {name}");
        }
    }
    copy.signal("TERM");
    let verified =
        liteio(&directory).args(["verify", "--data-dir", "copy"]).output().expect("it runs");
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn what_is_encrypted_stays_encrypted() {
    let directory = directory();
    for key in ["source", "own"] {
        let made = liteio(&directory).args(["key", "new", &format!("{key}.key")]).output();
        assert!(made.expect("it runs").status.success());
    }
    let named = ["key", "new", "own.toml", "--name", "reports"];
    assert!(liteio(&directory).args(named).output().expect("it runs").status.success());
    let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0", "--master-key-file"];
    let keys = ["source.key", "--kms-key-file", "own.toml"];
    let server = Running::start_with(&directory, &[&arguments[..], &keys].concat(), &[]);
    let address = server.endpoint().strip_prefix("http://").expect("a URL").parse();
    let address = address.expect("an address");
    assert_eq!(ask(&server, "PUT", "/sealed", b"").status, 200);
    assert_eq!(ask(&server, "PUT", "/sealed/plain", b"plain").status, 200);
    let large = [7; 100_000];
    let put = |key: &str, body: &[u8], headers: &[(&str, &str)]| {
        let target = format!("/sealed/{key}");
        let request = Request::new("PUT", &target).body(body);
        let request = headers.iter().fold(request, |it, (name, value)| it.header(name, value));
        assert_eq!(send(address, &request.sign(KEYS).bytes()).status, 200, "{key}");
    };
    let method = "x-amz-server-side-encryption";
    let key_id = "x-amz-server-side-encryption-aws-kms-key-id";
    put("small", b"small", &[(method, "AES256")]);
    put("large", &large, &[(method, "AES256")]);
    put("named", b"named", &[(method, "aws:kms"), (key_id, "reports")]);
    let request = Request::new("POST", "/sealed/parts?uploads").header(method, "AES256");
    let begun = send(address, &request.sign(KEYS).bytes()).text();
    let id = begun.split(['<', '>']).skip_while(|word| *word != "UploadId").nth(1);
    let id = id.expect("an upload").to_owned();
    let parts = [vec![1; 5 << 20], vec![2; 1000]];
    let listed = (1..).zip(&parts).map(|(number, body)| {
        let target = format!("/sealed/parts?partNumber={number}&uploadId={id}");
        let put = send(address, &Request::new("PUT", &target).body(body).sign(KEYS).bytes());
        let tag = put.header("etag").expect("a tag").to_owned();
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>")
    });
    let document = format!(
        "<CompleteMultipartUpload>{}</CompleteMultipartUpload>",
        listed.collect::<String>()
    );
    let target = format!("/sealed/parts?uploadId={id}");
    let request = Request::new("POST", &target).body(document);
    assert_eq!(send(address, &request.sign(KEYS).bytes()).status, 200);
    let from = |more: &[&str]| {
        let mut command = liteio(&directory);
        command.args(["import", "s3", server.endpoint(), "--access-key", "liteio"]);
        command.args(["--secret-key", "liteio123"]).args(more).output().expect("it runs")
    };
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();

    // Without a key nothing is stored in plain, unless that is wanted.
    let refused = from(&["--data-dir", "refused"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("--master-key-file"), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("MINIO_KMS_SECRET_KEY"), "{}", stderr(&refused));
    let sealing = Request::new("PUT", "/sealed?encryption").body(
        "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
         <SSEAlgorithm>aws:kms</SSEAlgorithm><KMSMasterKeyID>reports</KMSMasterKeyID>\
         </ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>",
    );
    assert_eq!(send(address, &sealing.sign(KEYS).bytes()).status, 200);
    let plain = from(&["--data-dir", "plain", "--decrypt"]);
    assert_eq!(plain.status.code(), Some(0), "{}", stderr(&plain));
    // The note about the bucket agrees with the one about its objects.
    assert!(
        text(&plain).contains("default encryption of sealed is not brought over: with --decrypt")
    );
    assert!(!text(&plain).contains("master key"), "{}", text(&plain));
    assert_eq!(ask(&server, "DELETE", "/sealed?encryption", b"").status, 204);
    assert!(text(&plain).contains("4 versions that are encrypted"), "{}", text(&plain));

    // A key of SSE-KMS that is missing becomes the master key, which is told once.
    let master = from(&["--data-dir", "master", "--master-key-file", "own.key"]);
    assert_eq!(master.status.code(), Some(0), "{}", stderr(&master));
    assert_eq!(text(&master).matches("the key \"reports\"").count(), 1, "{}", text(&master));
    let arguments =
        ["--data-dir", "master", "--address", "127.0.0.1:0", "--master-key-file", "own.key"];
    let copy = Running::start_with(&directory, &arguments, &[]);
    for (key, body, expected) in [
        ("plain", &b"plain"[..], None),
        ("small", b"small", Some("AES256")),
        ("large", &large, Some("AES256")),
        ("named", b"named", Some("AES256")),
        ("parts", &parts.concat(), Some("AES256")),
    ] {
        let got = ask(&copy, "GET", &format!("/sealed/{key}"), b"");
        assert_eq!((got.status, got.header(method), &*got.body), (200, expected, body), "{key}");
        let original = ask(&server, "HEAD", &format!("/sealed/{key}"), b"");
        assert_eq!(got.header("etag"), original.header("etag"), "{key}");
    }
    let second = ask(&copy, "GET", "/sealed/parts?partNumber=2", b"");
    assert_eq!((second.header("x-amz-mp-parts-count"), &*second.body), (Some("2"), &*parts[1]));
    copy.signal("TERM");
    let verify = ["verify", "--data-dir", "master", "--master-key-file", "own.key"];
    let verified = liteio(&directory).args(verify).output().expect("it runs");
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified));
    let bytes = |directory: &Path| {
        fn all(path: &Path) -> Vec<u8> {
            let entries = fs::read_dir(path).expect("readable").map(|it| it.expect("one").path());
            entries
                .flat_map(|it| if it.is_dir() { all(&it) } else { fs::read(&it).expect("read") })
                .collect()
        }
        all(directory)
    };
    let has = |name: &str, body: &[u8]| {
        bytes(&directory.path().join(name)).windows(body.len()).any(|window| window == body)
    };
    assert!(has("plain", &large[..64]) && !has("master", &large[..64]));

    // The key of a MinIO, in a file or not, is the master key if there is no other.
    let key = "my-key:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    fs::write(directory.path().join("kms.key"), key).expect("written");
    for (name, option) in
        [("kms", ["--kms-secret-key", key]), ("kms2", ["--kms-secret-key-file", "kms.key"])]
    {
        let kept = from(&[&["--data-dir", name][..], &option].concat());
        assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
        assert!(text(&kept).contains("LITEIO_MASTER_KEY"), "{}", text(&kept));
        assert!(!has(name, &large[..64]));
    }

    let both = ["--data-dir", "both", "--master-key-file", "own.key", "--kms-key-file", "own.toml"];
    assert_eq!(from(&both).status.code(), Some(0));
    let arguments = [&both[..], &["--address", "127.0.0.1:0"]].concat();
    let copy = Running::start_with(&directory, &arguments, &[]);
    let named = ask(&copy, "GET", "/sealed/named", b"");
    assert_eq!((named.header(method), named.header(key_id)), (Some("aws:kms"), Some("reports")));
    assert_eq!(named.body, b"named");
}

/// With keys that are not valid every request would be refused: the first answer ends the import.
#[test]
fn wrong_keys_end_an_import_before_anything_is_made() {
    let directory = directory();
    let server = serve(&directory);
    assert_eq!(ask(&server, "PUT", "/photos", b"").status, 200);
    let url = server.endpoint();
    let (bucket, missing) = (format!("{url}/photos"), format!("{url}/nowhere"));
    for (url, access, secret, expected) in [
        (url, "liteio", "another secret", ["SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"]),
        (&bucket, "liteio", "another secret", ["SignatureDoesNotMatch", "--secret-key"]),
        (&bucket, "nobody", "liteio123", ["InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"]),
        (&missing, "liteio", "liteio123", ["NoSuchBucket", "status 404"]),
    ] {
        let keys = ["--access-key", access, "--secret-key", secret, "--data-dir", "copy"];
        let output = import(&directory, &[&["s3", url][..], &keys].concat());
        let told = stderr(&output);
        assert_eq!((output.status.code(), told.lines().count()), (Some(1), 1), "{told}");
        assert!(expected.iter().all(|it| told.contains(it)), "{told}");
        assert!(!told.contains("alias") && !told.contains("`mb`"), "{told}");
        assert!(output.stdout.is_empty() && !directory.path().join("copy").exists(), "{url}");
    }
}

#[test]
fn an_import_without_keys_that_is_refused_says_that_it_was_anonymous() {
    let directory = directory();
    let server = serve(&directory);
    assert_eq!(ask(&server, "PUT", "/photos", b"").status, 200);
    for url in [server.endpoint(), &format!("{}/photos", server.endpoint())] {
        let output = import(&directory, &["s3", url, "--data-dir", "copy"]);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("anonymous") && told.contains("AWS_ACCESS_KEY_ID"), "{told}");
    }
}

/// Keys may end while an import runs.
#[test]
fn keys_that_end_later_end_an_import() {
    let service = Failing::start(|head, count| match count {
        0 => ok(&[], b"<VersioningConfiguration/>"),
        _ if head.contains("versioning") => error(400, "ExpiredToken"),
        _ => error(404, "NoSuchKey"),
    });
    let directory = directory();
    let output = import(&directory, &["s3", &format!("{}/bucket", service.url())]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("ExpiredToken") && told.contains("AWS_SESSION_TOKEN"), "{told}");
    assert_eq!(service.requests().len(), 2, "no request after the refusal");
}

/// A service whose listing has no end must not be listed without one, and an import of the part that
/// came must not look complete.
#[test]
fn a_listing_without_an_end_is_an_error() {
    let page = |number: usize, keys: &[String], token: &str| {
        let contents = keys.iter().map(|key| {
            format!(
                "<Contents><Key>{key}</Key><Size>1</Size><ETag>\"{number:032x}\"</ETag>\
                 <LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            )
        });
        let contents: String = contents.collect();
        format!(
            "<ListBucketResult><IsTruncated>true</IsTruncated>{contents}\
             <NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>"
        )
    };
    type Page = fn(usize) -> (Vec<String>, String);
    let rows: [(&str, Page, &str); 4] = [
        ("the same token", |number| (vec![format!("k{number}")], "t".to_owned()), "repeats itself"),
        ("tokens in a circle", |number| (Vec::new(), format!("t{}", number % 3)), "repeats itself"),
        ("the same page", |number| (vec!["k".to_owned()], format!("t{number}")), "repeats itself"),
        ("no token", |_| (Vec::new(), String::new()), "does not say where"),
    ];
    for (name, of, told) in rows {
        let pages = std::sync::atomic::AtomicUsize::new(0);
        let service = Failing::start(move |head, _| {
            if !head.contains("list-type=2") {
                return error(403, "AccessDenied");
            }
            let number = pages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let (keys, token) = of(number);
            ok(&[], page(number, &keys, &token).as_bytes())
        });
        let directory = directory();
        let output = import(&directory, &["s3", &format!("{}/bucket", service.url())]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(stderr(&output).contains(told), "{name}: {}", stderr(&output));
    }
}
