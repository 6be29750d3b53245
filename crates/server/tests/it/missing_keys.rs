//! Commands and the server without keys, files or rights that a data directory needs: none of them
//! says that all is well or done.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::command::{Running, copied, liteio};
use crate::raw::{Keys, Request, send};
use crate::reply::Reply;

const KEYS: Keys = Keys { access: "liteio", secret: "liteio123" };

/// The user and group `nobody`.
const NOBODY: u32 = 65_534;

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// The output of both streams, and the exit code.
fn told(output: &Output) -> (String, Option<i32>) {
    let text = [&output.stdout[..], &output.stderr].concat();
    (String::from_utf8(text).expect("text"), output.status.code())
}

fn run(directory: &TempDir, arguments: &[&str]) -> (String, Option<i32>) {
    told(&liteio(directory).args(arguments).output().expect("it runs"))
}

fn ok(directory: &TempDir, arguments: &[&str]) -> String {
    let (text, code) = run(directory, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

fn serve(directory: &TempDir, more: &[&str]) -> Running {
    let arguments = [&["--data-dir", "data", "--address", "127.0.0.1:0"], more].concat();
    Running::start_with(directory, &arguments, &[])
}

fn ask(running: &Running, request: Request) -> Reply {
    let address = running.endpoint().strip_prefix("http://").expect("a URL");
    let address: SocketAddr = address.parse().expect("an address");
    send(address, &request.bytes())
}

fn get(running: &Running, target: &str) -> Reply {
    ask(running, Request::new("GET", target).sign(KEYS))
}

fn metrics(running: &Running) -> String {
    let reply = get(running, "/_liteio/metrics");
    assert_eq!(reply.status, 200, "{reply:?}");
    String::from_utf8(reply.body).expect("text")
}

const MASTER: [&str; 2] = ["--master-key-file", "master.key"];
const KMS: [&str; 2] = ["--kms-key-file", "kms.toml"];

/// A directory `data` with two objects under a master key, and one under a KMS key.
fn encrypted(directory: &TempDir) {
    ok(directory, &["key", "new", "master.key"]);
    ok(directory, &["key", "new", "kms.toml", "--name", "reports"]);
    let running = serve(directory, &[MASTER, KMS].concat());
    let put = |target: &str, method: Option<&str>| {
        let put = Request::new("PUT", target).body(method.map_or("", |_| "secret text"));
        let put = match method {
            Some(method) => put.header("x-amz-server-side-encryption", method),
            None => put,
        };
        let reply = ask(&running, put.sign(KEYS));
        assert_eq!(reply.status, 200, "{target}: {reply:?}");
    };
    put("/mine", None);
    put("/mine/one", Some("AES256"));
    put("/mine/two", Some("AES256"));
    put("/mine/report", Some("aws:kms"));
    running.signal("TERM");
}

/// The ids that `liteio key list` prints for a file.
fn ids(directory: &TempDir, file: &str) -> Vec<String> {
    let told = ok(directory, &["key", "list", file]);
    told.lines().map(|line| line.trim_end_matches(" (encrypts)").to_owned()).collect()
}

#[test]
fn no_command_is_content_without_the_keys_of_the_directory() {
    let directory = directory();
    encrypted(&directory);
    let (master, kms) = (ids(&directory, "master.key"), ids(&directory, "kms.toml"));
    assert!(master.len() == 1 && master[0].starts_with("the master key "), "{master:?}");
    assert!(kms.len() == 1 && kms[0].starts_with("the key \"reports\" "), "{kms:?}");
    ok(&directory, &["key", "new", "other.key"]);
    let (master, kms) = (format!("{} (2)", master[0]), format!("{} (1)", kms[0]));
    let other = ["--master-key-file", "other.key"];
    let both = [&*master, &*kms];
    // The keys that are given, and the ones that are missing, with the number of objects.
    let rows: [(&[&str], &[&str]); 5] = [
        (&[], &both),
        (&MASTER, &[&kms]),
        (&KMS, &[&master]),
        (&other, &both),
        (&[&other[..], &KMS].concat(), &[&master]),
    ];
    let commands: [&[&str]; 4] =
        [&["verify"], &["repair"], &["repair", "--yes"], &["key", "rewrap"]];
    for (given, missing) in rows {
        for command in commands {
            let arguments = [command, &["--data-dir", "data"], given].concat();
            let (text, code) = run(&directory, &arguments);
            assert_eq!(code, Some(1), "{arguments:?}: {text}");
            for key in missing {
                assert!(text.contains(key), "{arguments:?} does not name {key}: {text}");
            }
            assert!(text.contains("--master-key-file"), "no advice: {text}");
            if command == ["key", "rewrap"] {
                assert!(text.contains("Nothing was changed"), "{text}");
            }
        }
    }
    // Nothing was changed, and with all keys all is well.
    let all = [&["--data-dir", "data"][..], &MASTER, &KMS].concat();
    for command in commands {
        let text = ok(&directory, &[command, &all].concat());
        assert!(!text.contains("not given"), "{text}");
    }
}

/// The sequence of docs/encryption.md: rotate, restart, rewrap, and remove the old keys.
#[test]
fn objects_are_read_after_the_old_keys_are_gone() {
    let directory = directory();
    encrypted(&directory);
    let keys = [MASTER, KMS].concat();
    ok(&directory, &["key", "rotate", "master.key"]);
    ok(&directory, &["key", "rotate", "kms.toml", "--name", "reports"]);
    let running = serve(&directory, &keys);
    assert_eq!(get(&running, "/mine/one").body, b"secret text");
    let put = Request::new("PUT", "/mine/new")
        .body("new")
        .header("x-amz-server-side-encryption", "AES256");
    assert_eq!(ask(&running, put.sign(KEYS)).status, 200);
    // While the server uses the directory, the command is refused.
    let rewrap = [&["key", "rewrap", "--data-dir", "data"][..], &keys].concat();
    let (text, code) = run(&directory, &rewrap);
    assert!(code == Some(1) && text.contains("in use"), "{text}");
    running.signal("TERM");

    let text = ok(&directory, &rewrap);
    assert!(
        text.contains("3 objects and uploads re-encrypted") && text.contains("1 already"),
        "{text}"
    );
    let text = ok(&directory, &rewrap);
    assert!(
        text.contains("0 objects and uploads re-encrypted") && text.contains("4 already"),
        "{text}"
    );

    for file in ["master.key", "kms.toml"] {
        let told = ok(&directory, &["key", "list", file]);
        let marks: Vec<_> = told.lines().map(|line| line.ends_with(" (encrypts)")).collect();
        assert_eq!(marks, [true, false], "{told}");
    }

    // The first key of each file is the newest one.
    let old = ids(&directory, "master.key");
    let newest = fs::read_to_string(directory.path().join("master.key")).expect("keys");
    let newest = newest.lines().next().expect("the newest").to_owned();
    fs::write(directory.path().join("master.key"), newest + "\n").expect("written");
    let named = fs::read_to_string(directory.path().join("kms.toml")).expect("keys");
    let versions: Vec<&str> = named.lines().filter(|line| line.ends_with("=\",")).collect();
    assert_eq!(versions.len(), 2, "{named}");
    let named = named.replace(&format!("{}\n", versions[1]), "");
    fs::write(directory.path().join("kms.toml"), named).expect("written");
    assert_eq!((ids(&directory, "master.key"), old.len()), (vec![old[0].clone()], 2));

    let running = serve(&directory, &keys);
    for (target, body) in [
        ("/mine/one", "secret text"),
        ("/mine/two", "secret text"),
        ("/mine/report", "secret text"),
        ("/mine/new", "new"),
    ] {
        let reply = get(&running, target);
        assert_eq!((reply.status, &*reply.body), (200, body.as_bytes()), "{target}");
    }
    running.signal("TERM");
    ok(&directory, &[&["verify", "--data-dir", "data"][..], &keys].concat());
}

/// A secret of a user is lost like an object, if its key is retired too early.
#[test]
fn secrets_of_users_need_the_master_key_too() {
    let directory = directory();
    ok(&directory, &["key", "new", "master.key"]);
    let running = serve(&directory, &MASTER);
    let form = |text: &str| {
        let request = Request::new("POST", "/").body(text);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let reply = ask(&running, request.scope("us-east-1", "iam").sign(KEYS));
        assert_eq!(reply.status, 200, "{reply:?}");
    };
    form("Action=CreateUser&UserName=ann&Version=2010-05-08");
    form("Action=CreateAccessKey&UserName=ann&Version=2010-05-08");
    running.signal("TERM");
    ok(&directory, &["key", "new", "other.key"]);
    let running = serve(&directory, &["--master-key-file", "other.key"]);
    let ready = ask(&running, Request::new("GET", "/_liteio/health/ready")).body;
    let ready = String::from_utf8(ready).expect("text");
    assert!(ready.contains("degraded") && ready.contains("1 secrets of access keys"), "{ready}");
    running.signal("TERM");
    for given in [&["--master-key-file", "other.key"][..], &[]] {
        let (text, code) =
            run(&directory, &[&["key", "rewrap", "--data-dir", "data"], given].concat());
        assert_eq!(code, Some(1), "{given:?}: {text}");
        assert!(
            text.contains("1 secrets of access keys") && text.contains("Nothing was changed"),
            "{text}"
        );
    }
    ok(&directory, &[&["key", "rewrap", "--data-dir", "data"][..], &MASTER].concat());
}

#[test]
fn the_health_tells_of_objects_whose_keys_the_server_lacks() {
    let directory = directory();
    encrypted(&directory);
    // As many objects before them as the start looks at, so that only reads meet those that need a key.
    let running = serve(&directory, &[]);
    for number in 0..128 {
        let put = Request::new("PUT", &format!("/mine/a{number:03}")).sign(KEYS);
        assert_eq!(ask(&running, put).status, 200);
    }
    running.signal("TERM");
    let running = serve(&directory, &KMS);
    let health = || {
        let body = ask(&running, Request::new("GET", "/_liteio/health/ready")).body;
        serde_json::from_slice::<serde_json::Value>(&body).expect("JSON")
    };
    assert_eq!(health()["status"], "ready");
    assert!(metrics(&running).contains("liteio_store_keyless_reads_total 0\n"));
    let reply = get(&running, "/mine/one");
    assert_eq!(reply.status, 400, "{reply:?}");
    let told = health();
    assert_eq!(told["status"], "degraded", "{told}");
    assert!(told["reason"].as_str().is_some_and(|it| it.contains("lacks")), "{told}");
    assert!(metrics(&running).contains("liteio_store_keyless_reads_total 1\n"));
    running.signal("TERM");

    // The scrub finds them without a request.
    let running = serve(&directory, &KMS);
    let sent = Command::new("kill").args(["-s", "USR1", &running.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let told = loop {
        let body = ask(&running, Request::new("GET", "/_liteio/health/ready")).body;
        let told: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        if told["scrub"]["ended_ms"].is_number() {
            break told;
        }
        std::thread::yield_now();
    };
    assert_eq!(
        (&told["status"], &told["scrub"]["keyless"]),
        (&"degraded".into(), &2.into()),
        "{told}"
    );
}

/// Without a request: who starts a server without its key file learns of it before its users do.
#[test]
fn a_start_without_the_key_of_objects_is_told_without_a_read() {
    let directory = directory();
    encrypted(&directory);
    let master = ids(&directory, "master.key");
    ok(&directory, &["key", "new", "other.key"]);
    let other = ["--master-key-file", "other.key"];
    let rows: [(&[&str], usize, bool); 5] = [
        (&[], 2, true),
        (&KMS, 1, true),
        (&MASTER, 1, false),
        (&[other, KMS].concat(), 1, true),
        (&[MASTER, KMS].concat(), 0, false),
    ];
    for (given, missing, lacks_master) in rows {
        let running = serve(&directory, given);
        let ready = || {
            let ready = ask(&running, Request::new("GET", "/_liteio/health/ready")).body;
            String::from_utf8(ready).expect("text")
        };
        let told = format!("the server lacks {missing} keys");
        // It looks beside the first requests.
        while missing > 0 && !ready().contains(&told) {
            std::thread::yield_now();
        }
        assert_eq!(ready().contains("lacks"), missing > 0, "{given:?}");
        let page = metrics(&running);
        assert!(page.contains(&format!("liteio_store_missing_keys {missing}\n")), "{given:?}");
        let (_, log) = running.signal("TERM");
        assert_eq!(log.contains(&master[0]), lacks_master, "{given:?}: {log}");
    }
}

#[test]
fn the_metrics_tell_of_secrets_of_users_until_they_are_gone() {
    let directory = directory();
    ok(&directory, &["key", "new", "master.key"]);
    let form = |running: &Running, text: &str| {
        let request = Request::new("POST", "/").body(format!("{text}&Version=2010-05-08"));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let reply = ask(running, request.scope("us-east-1", "iam").sign(KEYS));
        assert_eq!(reply.status, 200, "{reply:?}");
        String::from_utf8(reply.body).expect("text")
    };
    let running = serve(&directory, &MASTER);
    form(&running, "Action=CreateUser&UserName=ann");
    let made = form(&running, "Action=CreateAccessKey&UserName=ann");
    let (_, id) = made.split_once("<AccessKeyId>").expect("an id");
    let (id, _) = id.split_once('<').expect("its end");
    assert!(metrics(&running).contains("liteio_unopened_secrets 0\n"));
    running.signal("TERM");
    ok(&directory, &["key", "new", "other.key"]);
    let running = serve(&directory, &["--master-key-file", "other.key"]);
    assert!(metrics(&running).contains("liteio_unopened_secrets 1\n"));
    form(&running, &format!("Action=DeleteAccessKey&UserName=ann&AccessKeyId={id}"));
    assert!(metrics(&running).contains("liteio_unopened_secrets 0\n"));
    let ready = ask(&running, Request::new("GET", "/_liteio/health/ready")).body;
    assert!(String::from_utf8_lossy(&ready).contains("\"ready\""), "{ready:?}");
    running.signal("TERM");
}

#[test]
fn a_service_account_whose_secret_no_key_opens_says_so() {
    let directory = directory();
    ok(&directory, &["key", "new", "master.key"]);
    let client = |running: &Running, line: &str| {
        let host = running.endpoint().replace("http://", "http://liteio:liteio123@");
        let mut command = liteio(&directory);
        command.args(["client", "admin"]).args(line.split(' ')).env("MC_HOST_a", host);
        let (text, code) = told(&command.output().expect("it runs"));
        assert_eq!(code, Some(0), "{line}: {text}");
        text
    };
    let running = serve(&directory, &MASTER);
    client(&running, "user add a ann a-secret-key");
    let keys = "--access-key SERVICE1 --secret-key a-secret-key";
    client(&running, &format!("accesskey create a ann {keys} --description jobs"));
    let info = client(&running, "accesskey info a SERVICE1");
    assert!(info.contains("Description: jobs\n"), "{info}");
    running.signal("TERM");
    ok(&directory, &["key", "new", "other.key"]);
    let running = serve(&directory, &["--master-key-file", "other.key"]);
    let expected = "jobs (its secret is sealed by a key that the server lacks";
    for line in ["accesskey info a SERVICE1", "accesskey ls a --all --json"] {
        let text = client(&running, line);
        assert!(text.contains(expected), "{line}: {text}");
    }
    client(&running, "accesskey edit a SERVICE1 --secret-key another-secret");
    let info = client(&running, "accesskey info a SERVICE1");
    assert!(info.contains("Description: jobs\n"), "{info}");
    running.signal("TERM");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error_of_a_command() {
    let directory = directory();
    serve(&directory, &[]).signal("TERM");
    for command in ["verify", "repair"] {
        let mut child = liteio(&directory);
        child.args([command, "--data-dir", "data"]);
        let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !told.contains("panic"), "{command}: {output:?}");
    }
}

/// A command that finds no data must not have found all of it sound.
#[test]
fn no_command_makes_a_store_in_a_directory_without_one() {
    let directory = directory();
    fs::create_dir(directory.path().join("data")).expect("made");
    let commands: [&[&str]; 4] =
        [&["verify"], &["repair"], &["repair", "--yes"], &["key", "rewrap"]];
    for command in commands {
        let arguments = [command, &["--data-dir", "data"]].concat();
        let (text, code) = run(&directory, &arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {text}");
        let entries = fs::read_dir(directory.path().join("data")).expect("readable").count();
        assert_eq!(entries, 0, "{arguments:?} made a store");
    }
}

/// A directory whose records are gone has no damaged record, and is not whole.
#[test]
fn no_command_is_content_without_the_files_of_the_directory() {
    for (name, told) in
        [("meta.redb", "meta.redb is missing"), ("meta.redb.log", "meta.redb.log is missing")]
    {
        let directory = directory();
        let running = serve(&directory, &[]);
        assert_eq!(ask(&running, Request::new("PUT", "/mine").sign(KEYS)).status, 200);
        assert_eq!(ask(&running, Request::new("PUT", "/mine/k").body("x").sign(KEYS)).status, 200);
        running.signal("TERM");
        fs::remove_file(directory.path().join("data").join(name)).expect("removed");
        let server = &["server", "--address", "127.0.0.1:0"];
        let commands: [&[&str]; 5] =
            [&["verify"], &["repair"], &["repair", "--yes"], &["key", "rewrap"], server];
        for command in commands {
            let arguments = [command, &["--data-dir", "data"]].concat();
            let (text, code) = run(&directory, &arguments);
            assert_eq!(code, Some(1), "{arguments:?}: {text}");
            assert!(text.contains(told), "{arguments:?}: {text}");
        }
        assert!(!directory.path().join("data").join(name).exists());
    }
}

/// A file that may not be read is neither sound nor to be removed.
#[test]
fn no_command_is_content_with_files_that_it_may_not_read() {
    let directory = directory();
    let running = serve(&directory, &[]);
    assert_eq!(ask(&running, Request::new("PUT", "/mine").sign(KEYS)).status, 200);
    let large = Request::new("PUT", "/mine/large").body([7; 100_000]);
    assert_eq!(ask(&running, large.sign(KEYS)).status, 200);
    running.signal("TERM");
    let data = directory.path().join("data");
    let blob = crate::scrub::blob(&data.join("blobs")).expect("one");
    let is_root = fs::metadata(&data).expect("there").uid() == 0;
    let program = is_root.then(|| copied(&directory));
    open_to_all(directory.path());
    let below = blob.parent().expect("a directory").to_owned();
    for (path, mode) in [(&blob, 0o644), (&below, 0o755), (&data.join("meta.redb"), 0o644)] {
        fs::set_permissions(path, Permissions::from_mode(0o0)).expect("allowed");
        for command in [&["verify"][..], &["repair"]] {
            let mut process = match &program {
                Some(program) => Command::new(program),
                None => liteio(&directory),
            };
            if is_root {
                process.current_dir(directory.path()).uid(NOBODY).gid(NOBODY);
            }
            let output = process.args(command).args(["--data-dir", "data"]).output();
            let (text, code) = told(&output.expect("it runs"));
            assert_eq!(code, Some(1), "{command:?} without {path:?}: {text}");
            assert!(text.contains("ermission denied"), "{command:?} without {path:?}: {text}");
            assert!(!text.contains("removed: "), "{command:?} without {path:?}: {text}");
        }
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("allowed");
    }
}

fn open_to_all(path: &std::path::Path) {
    let is_directory = path.is_dir();
    let mode = if is_directory || path.ends_with("liteio") { 0o755 } else { 0o644 };
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("allowed");
    if is_directory {
        for entry in fs::read_dir(path).expect("readable") {
            open_to_all(&entry.expect("an entry").path());
        }
    }
}

#[test]
fn verify_tells_how_a_directory_is_backed_up() {
    let directory = directory();
    let running = serve(&directory, &[]);
    let rule = "copy it while no server uses it, or from a snapshot of its volume";
    let (text, code) = run(&directory, &["verify", "--data-dir", "data"]);
    assert!(code == Some(1) && text.contains(rule), "{text}");
    assert_eq!(text.matches("stop it").count(), 1, "{text}");
    running.signal("TERM");
    let text = ok(&directory, &["verify", "--data-dir", "data"]);
    assert!(!text.contains(rule), "nothing is damaged: {text}");
}
