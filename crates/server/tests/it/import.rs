//! `liteio import`: what comes into a data directory, what does not, and that it goes on where it ended.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;

use crate::command::{Running, liteio, stderr};
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
    command.arg("import").args(arguments).args(["--data-dir", "data"]).output().expect("it runs")
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
    for (arguments, expected) in [
        (&["fs", "missing"][..], "missing is not a directory"),
        (&["fs", "data"], "within each other"),
        (&["fs", "data/inside"], "within each other"),
    ] {
        let output = import(&directory, arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?} {told}");
        assert!(told.contains(expected) && told.lines().count() == 1, "{arguments:?} {told}");
    }
}

#[test]
fn an_import_that_was_killed_goes_on_and_doubles_no_version() {
    const FILES: usize = 400;
    let directory = directory();
    let root = directory.path().join("files");
    for number in 0..FILES {
        let bytes = if number % 20 == 0 { 40_000 } else { 100 };
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
        let bytes = if number % 20 == 0 { 40_000 } else { 100 };
        let body = ask(&server, "GET", &format!("/bucket/{number}"), b"").body;
        assert_eq!(body, vec![number as u8; bytes], "{number}");
    }
}
