//! A server with the profile `minio` on the volume of a former MinIO.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::command::{Running, directory, liteio, stderr};
use crate::raw::{Keys, Request, send};
use crate::reply::Reply;

const ROOT: Keys = Keys { access: "rootuser", secret: "rootpassword" };
const ENVIRONMENT: [(&str, &str); 2] =
    [("MINIO_ROOT_USER", ROOT.access), ("MINIO_ROOT_PASSWORD", ROOT.secret)];
const ARGUMENTS: [&str; 6] = ["server", "vol", "--profile", "minio", "--address", "127.0.0.1:0"];

/// A copy of a recorded volume, as `vol`.
fn volume(fixture: &str) -> TempDir {
    let directory = directory();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/fixtures");
    let copied = Command::new("cp")
        .arg("-a")
        .args([Path::new(fixtures).join(fixture), directory.path().join("vol")])
        .status();
    assert!(copied.expect("cp runs").success());
    fs::create_dir(directory.path().join("vol/.minio.sys/tmp")).expect("made");
    directory
}

/// Copies a key of a volume.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("readable") {
        let from = entry.expect("an entry").path();
        let to = to.join(from.file_name().expect("a name"));
        match from.is_dir() {
            true => copy(&from, &to),
            false => fs::copy(&from, &to).map(drop).expect("copied"),
        }
    }
}

fn command(directory: &TempDir, more: &[&str]) -> Command {
    let mut command = liteio(directory);
    command.args(ARGUMENTS).args(more).envs(ENVIRONMENT);
    command
}

fn serve(directory: &TempDir, more: &[&str]) -> Running {
    Running::start(&mut command(directory, more))
}

fn refused(directory: &TempDir, more: &[&str]) -> Output {
    let output = command(directory, more).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    output
}

fn ask(server: &Running, keys: Keys, method: &'static str, target: &str, body: &[u8]) -> Reply {
    let address = server.endpoint().strip_prefix("http://").expect("a URL");
    let request = Request::new(method, target).body(body).sign(keys);
    send(address.parse().expect("an address"), &request.bytes())
}

fn get(server: &Running, target: &str) -> Reply {
    ask(server, ROOT, "GET", target, b"")
}

/// All files of MinIO with their contents and times.
fn files(directory: &TempDir) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    fn walk(path: &Path, found: &mut BTreeMap<PathBuf, (Vec<u8>, SystemTime)>) {
        for entry in fs::read_dir(path).expect("readable") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if path.ends_with(".liteio") => {}
                true => walk(&path, found),
                false => {
                    let modified = path.metadata().and_then(|it| it.modified()).expect("a time");
                    let content = fs::read(&path).expect("readable");
                    found.insert(path, (content, modified));
                }
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&directory.path().join("vol"), &mut found);
    found
}

/// MinIO replaces this directory when it starts.
fn start_of_minio(directory: &TempDir) {
    let path = directory.path().join("vol/.minio.sys/tmp");
    let later = SystemTime::now() + Duration::from_secs(60);
    File::open(path).and_then(|it| it.set_modified(later)).expect("set");
}

/// MinIO has no actions for versions, tags and private ACLs of uploads, and none for a list of the buckets that one may
/// use.
#[test]
fn the_policies_of_users_mean_what_they_meant_on_minio() {
    let directory = volume("volume");
    let server = serve(&directory, &[]);
    let address = server.endpoint().strip_prefix("http://").expect("a URL");
    let address = address.parse().expect("an address");
    // s3:GetObject and s3:ListBucket on the bucket "plain".
    let alice = Keys { access: "alice", secret: "alicesecret" };
    let enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    assert_eq!(ask(&server, ROOT, "PUT", "/plain?versioning", enabled).status, 200);
    let more = br#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": "*",
        "Action": ["s3:PutObject", "s3:DeleteObject"], "Resource": "arn:aws:s3:::plain/*"}}"#;
    assert_eq!(ask(&server, ROOT, "PUT", "/plain?policy", more).status, 204);

    let buckets = ask(&server, alice, "GET", "/", b"");
    assert_eq!(buckets.elements("Name"), ["plain"], "{}", buckets.text());
    assert_eq!(ask(&server, alice, "GET", "/plain/hello.txt?versionId=null", b"").body, b"hello");
    let versions = ask(&server, alice, "GET", "/plain?versions", b"");
    assert_eq!(versions.elements("Key"), ["dir/other.txt", "hello.txt"], "{}", versions.text());
    assert_eq!(ask(&server, alice, "GET", "/versions?versions", b"").status, 403);
    let put = Request::new("PUT", "/plain/new").header("x-amz-acl", "private");
    let put = put.header("x-amz-tagging", "a=b").body("new").sign(alice);
    assert_eq!(send(address, &put.bytes()).status, 200);
    let copy = Request::new("PUT", "/plain/copy");
    let copy = copy.header("x-amz-copy-source", "/plain/hello.txt?versionId=null").sign(alice);
    assert_eq!(send(address, &copy.bytes()).status, 200);
    let deleted = ask(&server, alice, "DELETE", "/plain/hello.txt?versionId=null", b"");
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    // A deny of the action for versions is still one.
    let denies = br#"{"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Principal": "*",
        "Action": ["s3:GetObjectVersion"], "Resource": "arn:aws:s3:::plain/*"}}"#;
    assert_eq!(ask(&server, ROOT, "PUT", "/plain?policy", denies).status, 204);
    let target = "/plain/dir/other.txt?versionId=null";
    assert_eq!(ask(&server, alice, "GET", target, b"").status, 403);
    // Who may use no bucket gets none.
    let narrow = Keys { access: "alicesvckey", secret: "alicesvcsecret" };
    assert_eq!(ask(&server, narrow, "GET", "/", b"").status, 403);
    server.signal("TERM");
}

#[test]
fn buckets_are_in_the_region_of_minio_and_take_the_acls_of_its_clients() {
    let directory = volume("volume");
    let server = Running::start(command(&directory, &[]).env("MINIO_SITE_REGION", "eu-central-1"));
    let location = get(&server, "/plain?location").text();
    assert!(location.contains(">eu-central-1<"), "{location}");
    let address = server.endpoint().strip_prefix("http://").expect("a URL");
    let address = address.parse().expect("an address");
    for (key, acl) in [("/plain/a", "private"), ("/plain/b", "public-read")] {
        let put = Request::new("PUT", key).header("x-amz-acl", acl).body("a").sign(ROOT);
        assert_eq!(send(address, &put.bytes()).status, 200, "{acl}");
        // As on MinIO, it opens nothing.
        assert_eq!(send(address, &Request::new("GET", key).bytes()).status, 403, "{acl}");
    }
    server.signal("TERM");
}

#[test]
fn buckets_versions_locks_and_the_keys_of_users_are_taken_over() {
    let directory = volume("volume");
    let before = files(&directory);
    let server = serve(&directory, &[]);
    assert_eq!(get(&server, "/plain/hello.txt").body, b"hello");
    assert_eq!(get(&server, "/plain/hello.txt").header("x-amz-tagging-count"), Some("1"));
    assert_eq!(get(&server, "/versions/k").body, b"three");
    assert_eq!(get(&server, "/versions/gone").status, 404);
    let listed = get(&server, "/versions?versions").text();
    assert_eq!(listed.matches("<Version>").count(), 4, "{listed}");
    assert_eq!(listed.matches("<DeleteMarker>").count(), 1, "{listed}");
    let lock = get(&server, "/locked/held?legal-hold").text();
    assert!(lock.contains("<Status>ON</Status>"), "{lock}");

    let alice = Keys { access: "alice", secret: "alicesecret" };
    let bob = Keys { access: "bob", secret: "bobsecret123" };
    let carol = Keys { access: "carol", secret: "carolsecret" };
    let narrow = Keys { access: "alicesvckey", secret: "alicesvcsecret" };
    let of_root = Keys { access: "rootsvckey", secret: "rootsvcsecret" };
    for (keys, method, target, status) in [
        (alice, "GET", "/plain/dir/other.txt", 200),
        (alice, "GET", "/versions/k", 403),
        (alice, "PUT", "/plain/new", 403),
        // By the policy of a group.
        (bob, "PUT", "/versions/new", 200),
        // Disabled.
        (carol, "GET", "/plain/hello.txt", 403),
        // By a policy of its own, within that of its user.
        (narrow, "GET", "/plain/hello.txt", 200),
        (narrow, "GET", "/plain/dir/other.txt", 403),
        (of_root, "PUT", "/plain/by-key", 200),
    ] {
        let reply = ask(&server, keys, method, target, b"");
        assert_eq!(reply.status, status, "{} {method} {target}: {}", keys.access, reply.text());
    }
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("taking over the data of MinIO"), "{log}");
    assert_eq!(files(&directory), before, "MinIO's files stay as they were");

    // It is served as it was left, and not taken over again.
    fs::create_dir(directory.path().join("vol/by-script")).expect("made");
    let server = serve(&directory, &[]);
    assert_eq!(get(&server, "/plain/by-key").status, 200);
    assert_eq!(ask(&server, bob, "GET", "/versions/new", b"").status, 200);
    assert_eq!(ask(&server, ROOT, "HEAD", "/by-script", b"").status, 200);
    let (_, log) = server.signal("TERM");
    assert!(!log.contains("taking over"), "{log}");
}

#[test]
fn what_minio_has_written_since_ends_the_start_and_its_start_alone_does_not() {
    let directory = volume("volume");
    serve(&directory, &[]).signal("TERM");
    start_of_minio(&directory);
    let server = serve(&directory, &[]);
    assert_eq!(ask(&server, ROOT, "PUT", "/plain/of-liteio", b"x").status, 200);
    let (_, log) = server.signal("TERM");
    assert!(log.contains("looking for changes"), "{log}");

    let vol = directory.path().join("vol");
    copy(&vol.join("plain/hello.txt"), &vol.join("plain/later"));
    start_of_minio(&directory);
    start_of_minio(&directory);
    let told = stderr(&refused(&directory, &[]));
    for part in ["MinIO's files in vol have changed since", "--take-over keep", "vol/.liteio away"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(stderr(&refused(&directory, &["--take-over", "incomplete"])).contains("have changed"));
    let server = serve(&directory, &["--take-over", "keep"]);
    assert_eq!(get(&server, "/plain/of-liteio").body, b"x");
    assert_eq!(get(&server, "/plain/later").status, 404);
    server.signal("TERM");
    // That was decided. The other way is open, too.
    let server = serve(&directory, &[]);
    assert_eq!(get(&server, "/plain/of-liteio").body, b"x");
    server.signal("TERM");
    fs::rename(vol.join(".liteio"), directory.path().join("kept")).expect("moved");
    let server = serve(&directory, &[]);
    assert_eq!(get(&server, "/plain/of-liteio").status, 404);
    assert_eq!(get(&server, "/plain/later").body, b"hello");
}

#[test]
fn a_take_over_that_is_killed_goes_on_and_doubles_nothing() {
    const KEYS: usize = 400;
    let directory = volume("volume");
    let vol = directory.path().join("vol");
    for number in 0..KEYS {
        copy(&vol.join("versions/k"), &vol.join(format!("versions/many{}/{number}", number % 2)));
    }
    let before = files(&directory);
    let mut kills = 0;
    // Each time later, until it is finished before.
    for pause_ms in (0..).map(|round| 40 * round) {
        let mut child = command(&directory, &[])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let started = std::time::Instant::now();
        let is_done = || vol.join(".liteio/taken-over.json").exists();
        let has_begun = || vol.join(".liteio/data/format").exists();
        while !(is_done() || has_begun() && started.elapsed().as_millis() >= pause_ms) {
            assert!(child.try_wait().expect("a state").is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        let is_over = is_done();
        child.kill().expect("killed");
        child.wait().expect("it ends");
        if is_over {
            break;
        }
        kills += 1;
    }
    assert!(kills > 0, "it was never interrupted");
    let server = serve(&directory, &[]);
    for prefix in ["many0/", "many1/"] {
        let (mut versions, mut after) = (0, String::new());
        loop {
            let target = format!("/versions?versions&max-keys=999&prefix={prefix}{after}");
            let page = get(&server, &target).text();
            versions += page.matches("<Version>").count();
            let part = |name: &str| {
                let (_, rest) = page.split_once(&format!("<{name}>"))?;
                Some(rest.split_once('<')?.0.to_owned())
            };
            let (Some(key), Some(version)) = (part("NextKeyMarker"), part("NextVersionIdMarker"))
            else {
                break;
            };
            after = format!("&key-marker={key}&version-id-marker={version}");
        }
        assert_eq!(versions, 3 * KEYS / 2, "{prefix} after {kills} kills");
    }
    assert_eq!(get(&server, "/versions/many1/7").body, b"three");
    let alice = Keys { access: "alice", secret: "alicesecret" };
    assert_eq!(ask(&server, alice, "GET", "/plain/hello.txt", b"").status, 200);
    drop(server);
    assert_eq!(files(&directory), before);
}

#[test]
fn data_that_cannot_be_taken_over_end_the_start_until_that_is_accepted() {
    let directory = volume("volume-kms");
    let output = refused(&directory, &[]);
    let told = stderr(&output);
    for part in [
        "sealed/small.txt",
        "it is encrypted",
        "identity.json",
        "left out: the default encryption of sealed",
        "--take-over incomplete",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let server = serve(&directory, &["--take-over", "incomplete"]);
    assert_eq!(get(&server, "/sealed/small.txt").status, 404);
    assert_eq!(ask(&server, ROOT, "HEAD", "/sealed", b"").status, 200);
    drop(server);
    // It was accepted.
    serve(&directory, &[]).signal("TERM");
}

/// The key of the KMS of the recorded volume.
const KMS_KEY: (&str, &str) =
    ("MINIO_KMS_SECRET_KEY", "my-key:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");

/// The contents of all files in a directory.
fn contents(path: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(path).expect("readable").map(|entry| entry.expect("one").path());
    let read = |path: PathBuf| match path.is_dir() {
        true => contents(&path),
        false => vec![fs::read(&path).expect("readable")],
    };
    entries.flat_map(read).collect()
}

#[test]
fn objects_that_the_kms_encrypted_are_encrypted_here_too() {
    let directory = volume("volume-kms");
    let mut command = command(&directory, &[]);
    let server = Running::start(command.env(KMS_KEY.0, KMS_KEY.1));
    let large: Vec<u8> = (0..70_000_u32).map(|number| (number % 251) as u8).collect();
    for key in ["small.txt", "dir/large.bin"] {
        let got = get(&server, &format!("/sealed/{key}"));
        assert_eq!(got.header("x-amz-server-side-encryption"), Some("AES256"), "{key}");
        assert!(key == "small.txt" || got.body == large, "{key}");
    }
    let put = ask(&server, ROOT, "PUT", "/sealed/new", b"x");
    assert_eq!(put.header("x-amz-server-side-encryption"), Some("AES256"), "by default");
    server.signal("TERM");
    let files = contents(&directory.path().join("vol/.liteio/data"));
    let is_plain = |file: &Vec<u8>| file.windows(64).any(|window| window == &large[..64]);
    assert!(!files.is_empty() && !files.iter().any(is_plain));
}

/// Newer versions are plain, so a start without the key imports them.
#[test]
fn a_start_with_the_key_of_the_kms_completes_one_without_it() {
    let directory = volume("volume-kms");
    let told = stderr(&refused(&directory, &[]));
    assert!(told.contains("left out: versions/k"), "{told}");
    let told = stderr(&refused(&directory, &[]));
    assert!(told.contains("an interrupted take-over goes on"), "{told}");
    let mut command = command(&directory, &[]);
    let server = Running::start(command.env(KMS_KEY.0, KMS_KEY.1));
    assert_eq!(get(&server, "/versions/k").body, b"two");
    let listed = get(&server, "/versions?versions").text();
    assert_eq!(listed.matches("<Version>").count(), 3, "{listed}");
    assert_eq!(listed.matches("<DeleteMarker>").count(), 1, "{listed}");
    let (_, log) = server.signal("TERM");
    assert!(log.contains("had other keys, or was of another release: it begins anew"), "{log}");
    Running::start(command.env(KMS_KEY.0, KMS_KEY.1)).signal("TERM");
}

#[test]
fn a_variable_turns_off_a_webhook_of_the_settings() {
    let directory = volume("volume");
    serve(&directory, &[]).signal("TERM");
    let webhooks = r#"[{"name": "T1", "url": "http://127.0.0.1:9/", "token": null}]"#;
    fs::write(directory.path().join("vol/.liteio/webhooks.json"), webhooks).expect("written");
    let document = b"<NotificationConfiguration><QueueConfiguration><Id>a</Id><Event>s3:ObjectCreated:*</Event>\
        <Queue>arn:minio:sqs::T1:webhook</Queue></QueueConfiguration></NotificationConfiguration>";
    for (state, status) in [("off", 400), ("", 200)] {
        let mut command = command(&directory, &[]);
        let server = Running::start(command.env("MINIO_NOTIFY_WEBHOOK_ENABLE_T1", state));
        let put = ask(&server, ROOT, "PUT", "/plain?notification", document);
        assert_eq!(put.status, status, "{state:?}: {}", put.text());
    }
}

#[test]
fn users_that_the_kms_encrypts_are_read_with_its_key() {
    let directory = volume("volume-kms");
    let mut command = command(&directory, &["--take-over", "incomplete"]);
    let server = Running::start(command.env(KMS_KEY.0, KMS_KEY.1));
    let alice = Keys { access: "alice", secret: "alicesecret" };
    assert_eq!(ask(&server, alice, "PUT", "/sealed/new", b"").status, 200);
}

#[test]
fn without_the_profile_a_volume_is_refused_with_both_ways() {
    let directory = volume("volume");
    let mut command = liteio(&directory);
    let output = command.args(["--data-dir", "vol", "--address", "127.0.0.1:0"]).output();
    let told = stderr(&output.expect("it runs"));
    assert!(told.contains("liteio import minio") && told.contains("--profile minio"), "{told}");
    assert!(!directory.path().join("vol/.liteio").exists(), "nothing was made");
}

#[test]
fn an_import_brings_users_if_the_root_credentials_are_given() {
    let directory = volume("volume");
    let import = |more: &[(&str, &str)]| {
        let mut command = liteio(&directory);
        command.args(["import", "minio", "vol", "--data-dir", "data"]).envs(more.iter().copied());
        let output = command.output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{told}{}", stderr(&output));
        told
    };
    let told = import(&ENVIRONMENT);
    assert!(told.contains("note: 7 users, groups, policies and service accounts"), "{told}");
    let told = import(&ENVIRONMENT);
    assert!(told.contains("0 users, groups, policies and service accounts"), "{told}");
    assert!(told.contains("7 there already"), "{told}");
    let mut command = liteio(&directory);
    command.args(["--data-dir", "data", "--address", "127.0.0.1:0"]).envs(ENVIRONMENT);
    let server = Running::start(&mut command);
    let narrow = Keys { access: "alicesvckey", secret: "alicesvcsecret" };
    assert_eq!(ask(&server, narrow, "GET", "/plain/hello.txt", b"").body, b"hello");
    assert_eq!(ask(&server, narrow, "GET", "/plain/dir/other.txt", b"").status, 403);
}

#[test]
fn an_import_takes_the_key_of_the_volume() {
    let directory = volume("volume-kms");
    let (_, key) = KMS_KEY.1.split_once(':').expect("a name");
    let import = |to: &str, kms: &str, more: &[&str]| {
        let mut command = liteio(&directory);
        command.args(["import", "minio", "vol", "--data-dir", to]).args(more);
        command.envs(ENVIRONMENT).env(KMS_KEY.0, kms).output().expect("it runs")
    };
    let told = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let imported = import("data", KMS_KEY.1, &[]);
    let notes = told(&imported);
    assert_eq!(imported.status.code(), Some(0), "{notes}{}", stderr(&imported));
    assert!(notes.contains("LITEIO_MASTER_KEY") && !notes.contains(key), "{notes}");
    let arguments = ["server", "data", "--address", "127.0.0.1:0"];
    let of_minio = Running::start(
        liteio(&directory)
            .args(arguments)
            .args(["--profile", "minio"])
            .envs(ENVIRONMENT)
            .env(KMS_KEY.0, KMS_KEY.1),
    );
    let small = get(&of_minio, "/sealed/small.txt");
    assert_eq!(small.header("x-amz-server-side-encryption"), Some("AES256"));
    let body = small.body.clone();
    assert_eq!(small.status, 200);
    drop(of_minio);
    let own = [
        ("LITEIO_MASTER_KEY", key),
        ("LITEIO_ACCESS_KEY", ROOT.access),
        ("LITEIO_SECRET_KEY", ROOT.secret),
    ];
    let own = Running::start(liteio(&directory).args(arguments).envs(own));
    assert_eq!(get(&own, "/sealed/small.txt").body, body);
    assert!(get(&own, "/sealed?encryption").text().contains("AES256"));

    // Other keys and wishes count before it.
    let plain = import("plain", KMS_KEY.1, &["--decrypt"]);
    assert!(told(&plain).contains("stored without encryption"), "{}", told(&plain));
    let wrong = import("wrong", "my-key:short", &[]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stderr(&wrong).contains("MINIO_KMS_SECRET_KEY"), "{}", stderr(&wrong));
    assert!(!directory.path().join("wrong").exists(), "nothing was made");
}
