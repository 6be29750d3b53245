//! `liteio client` through the binary: against a real server, and against servers that fail.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use tempfile::TempDir;

use crate::command::{Running, liteio, stderr};
use crate::failing::{Failing, error, get, listing, ok, post_form};

/// A server in memory and a directory for files. The alias `a` is the server's user.
pub(crate) struct Shell {
    files: TempDir,
    server: Option<Running>,
    pub(crate) url: String,
}

impl Shell {
    pub(crate) fn start() -> Shell {
        Shell::start_with(&[])
    }

    /// The same with these options of the server.
    pub(crate) fn start_with(options: &[&str]) -> Shell {
        let files = tempfile::tempdir().expect("a temporary directory");
        let arguments = [&["--memory", "--address", "127.0.0.1:0"], options].concat();
        let server = Running::start_with(&files, &arguments, &[]);
        let url = server.endpoint().to_owned();
        Shell { files, server: Some(server), url }
    }

    /// Only the client; the alias `a` is this server.
    pub(crate) fn with(url: &str) -> Shell {
        let files = tempfile::tempdir().expect("a temporary directory");
        Shell { files, server: None, url: url.to_owned() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, bytes).expect("written");
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let keys = if self.server.is_some() { "liteio:liteio123@" } else { "key:secretkey@" };
        let mut command = liteio(&self.files);
        command
            .arg("client")
            .args(arguments)
            .env("MC_HOST_a", self.url.replace("http://", &format!("http://{keys}")))
            .env("MC_CONFIG_DIR", self.path(".mc"))
            .env_remove("MC_REGION");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it runs")
    }

    /// The output of a verb that succeeds.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stderr(&output), "", "{arguments:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The JSON objects that a verb prints.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Vec<serde_json::Value> {
        let text = self.ok(&[arguments, &["--json"]].concat());
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The output of a verb that succeeds, which reads a text from standard input.
    #[track_caller]
    pub(crate) fn ok_with(&self, arguments: &[&str], input: &str) -> String {
        use std::io::Write as _;
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The message of a verb that fails.
    #[track_caller]
    pub(crate) fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert_eq!(message.lines().count(), 1, "{arguments:?}: {message}");
        assert!(message.starts_with("liteio client: <ERROR> "), "{message}");
        message
    }

    /// The keys of a bucket or folder.
    #[track_caller]
    pub(crate) fn keys(&self, target: &str) -> Vec<String> {
        let lines = self.ok(&["ls", "--recursive", "--json", target]);
        let key = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            line["key"].as_str().expect("a key").to_owned()
        };
        lines.lines().map(key).collect()
    }

    /// Stores an object of this key and these bytes.
    #[track_caller]
    pub(crate) fn put(&self, target: &str, bytes: &[u8]) {
        use std::io::Write as _;
        let mut child = self
            .command(&["pipe", target])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        child.stdin.take().expect("a pipe").write_all(bytes).expect("it reads");
        assert!(child.wait().expect("it ends").success(), "{target}");
    }
}

#[test]
fn aliases_are_tried_and_kept_private() {
    let shell = Shell::start();
    let url = shell.url.as_str();
    let wrong = shell.fails(&["alias", "set", "b", url, "liteio", "wrong-secret"]);
    assert!(wrong.contains("alias set") && !wrong.contains("wrong-secret"), "{wrong}");
    assert!(!shell.path(".mc/config.json").exists());
    assert!(shell.fails(&["alias", "set", "2", url, "k", "s"]).contains("letter"));
    assert!(shell.fails(&["alias", "set", "b", "localhost", "k", "s"]).contains("http"));
    assert!(shell.fails(&["alias", "set", "b", url, "k", "s", "--api", "S3v2"]).contains("S3v4"));
    shell.ok(&["alias", "set", "b", url, "liteio", "liteio123"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |name| fs::metadata(shell.path(name)).expect("made").permissions().mode();
        assert_eq!(mode(".mc/config.json") & 0o777, 0o600);
        assert_eq!(mode(".mc") & 0o777, 0o700);
    }
    for arguments in [&["alias", "list"][..], &["alias", "list", "b", "--json"]] {
        let shown = shell.ok(arguments);
        assert!(shown.contains("liteio") && !shown.contains("liteio123"), "{shown}");
    }
    shell.ok(&["mb", "b/photos"]);
    shell.ok(&["alias", "remove", "b"]);
    assert!(shell.fails(&["ls", "b/photos"]).contains("no alias"));
    assert!(shell.fails(&["mb", "b/photos"]).contains("alias set b"));
    assert!(!shell.path("b").exists(), "a directory took the place of an alias");
}

#[test]
fn get_and_put_copy_one_object() {
    let shell = Shell::start();
    let bytes = vec![7_u8; 11 << 20];
    shell.write("file.bin", &bytes);
    shell.ok(&["mb", "--with-versioning", "a/photos"]);
    // To a name, and below a bucket or a folder with the name of the file.
    shell.ok(&["put", "file.bin", "a/photos/first.bin", "--tags", "k=v"]);
    shell.ok(&["put", "file.bin", "a/photos"]);
    shell.ok(&["put", "-s", "5MiB", "-P", "2", "file.bin", "a/photos/2026/"]);
    assert_eq!(shell.keys("a/photos"), ["2026/file.bin", "file.bin", "first.bin"]);
    let stat = shell.json(&["stat", "a/photos/2026/file.bin"]);
    assert!(stat[0]["etag"].as_str().is_some_and(|it| it.ends_with("-3")), "{stat:?}");
    assert!(shell.ok(&["tag", "list", "a/photos/first.bin"]).contains('v'));
    let version = shell.json(&["stat", "a/photos/file.bin"])[0]["versionID"].clone();
    let version = version.as_str().expect("a version");
    shell.put("a/photos/file.bin", b"newer");
    shell.ok(&["get", "--version-id", version, "a/photos/file.bin", "copy.bin"]);
    assert_eq!(fs::read(shell.path("copy.bin")).expect("there"), bytes);
    shell.ok(&["get", "a/photos/file.bin", "."]);
    assert_eq!(fs::read(shell.path("file.bin")).expect("there"), b"newer");
    for (arguments, expected) in [
        (&["get", "file.bin", "a/photos/x"][..], "`get ALIAS/BUCKET/KEY FILE`"),
        (&["put", "a/photos/file.bin", "x"], "`put FILE ALIAS/BUCKET/KEY`"),
        (&["put", "--part-size", "1MiB", "file.bin", "a/photos"], "5 MiB to 5 GiB"),
        (&["put", "--enc-c", "a/photos=k", "file.bin", "a/photos"], "--sse-c"),
    ] {
        let message = shell.fails(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn files_go_there_and_come_back() {
    let shell = Shell::start();
    let big: Vec<u8> =
        (0..40u32 << 20).map(|it| (it.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    shell.write("photos/big.jpg", &big);
    shell.write("photos/a b+c%20&ü/ß.txt", "umlauts");
    shell.write("photos/empty", "");
    shell.ok(&["mb", "a/photos"]);
    shell.ok(&["cp", "--recursive", "photos/", "a/photos/2026"]);
    let keys = ["2026/a b+c%20&ü/ß.txt", "2026/big.jpg", "2026/empty"];
    assert_eq!(shell.keys("a/photos"), keys);
    // In parts.
    let shown = shell.ok(&["stat", "--json", "a/photos/2026/big.jpg"]);
    assert!(shown.contains("-3\"") && shown.contains("image/jpeg"), "{shown}");
    // Names as those of `mc`: below the folder of the target.
    for (arguments, name) in [
        (&["stat", "a/photos/2026/big.jpg"][..], "big.jpg"),
        (&["stat", "a/photos/2026/"], "2026/"),
        (&["stat", "--recursive", "a/photos/2026/empty"], "empty"),
        (&["stat", "photos/empty"], "empty"),
    ] {
        assert_eq!(shell.json(arguments)[0]["name"], name, "{arguments:?}");
    }
    let all = shell.json(&["stat", "--recursive", "a/photos/2026"]);
    assert_eq!(all[1]["name"], "2026/big.jpg");
    shell.ok(&["cp", "--recursive", "a/photos/2026", "back/"]);
    assert_eq!(fs::read(shell.path("back/2026/big.jpg")).expect("there"), big);
    assert_eq!(fs::read(shell.path("back/2026/a b+c%20&ü/ß.txt")).expect("there"), b"umlauts");
    assert_eq!(fs::read(shell.path("back/2026/empty")).expect("there"), b"");
    assert_eq!(shell.ok(&["diff", "photos", "a/photos/2026"]), "");
    // Single files, into a folder and to a name; by the service itself.
    shell.ok(&["cp", "photos/empty", "a/photos/2026"]);
    shell.ok(&["cp", "a/photos/2026/big.jpg", "a/photos/copy.bin", "--attr", "Artist=me"]);
    let shown = shell.ok(&["stat", "a/photos/copy.bin"]);
    assert!(shown.contains("X-Amz-Meta-Artist: me") && shown.contains("image/jpeg"), "{shown}");
    shell.ok(&["mv", "a/photos/copy.bin", "moved.bin"]);
    assert_eq!(fs::read(shell.path("moved.bin")).expect("there"), big);
    assert_eq!(shell.keys("a/photos"), keys);
    assert!(shell.ok(&["du", "a/photos"]).starts_with("40MiB\t3 objects\tphotos"));
    assert_eq!(shell.ok(&["find", "a/photos", "--larger", "1MiB"]), "a/photos/2026/big.jpg\n");
    assert_eq!(shell.ok(&["find", "a", "--name", "ß*"]), "a/photos/2026/a b+c%20&ü/ß.txt\n");
}

#[test]
fn streams_are_stored_and_printed() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/logs"]);
    let lines: String = (0..1000).map(|it| format!("line {it}\n")).collect();
    shell.put("a/logs/log", lines.as_bytes());
    assert_eq!(shell.ok(&["cat", "a/logs/log"]), lines);
    assert_eq!(shell.ok(&["head", "-n", "2", "a/logs/log"]), "line 0\nline 1\n");
    assert_eq!(shell.ok(&["cat", "--offset", "5", "--json", "a/logs/log"]), lines[5..]);
    assert_eq!(shell.ok(&["cat", "--tail", "4", "a/logs/log"]), "999\n");
    shell.put("a/logs/empty", b"");
    assert_eq!(shell.ok(&["cat", "a/logs/empty"]), "");
    // Longer than a part.
    let long = vec![7; (32 << 20) + 5];
    shell.put("a/logs/long", &long);
    shell.ok(&["cp", "a/logs/long", "long"]);
    assert!(fs::read(shell.path("long")).expect("there") == long);
    assert!(shell.fails(&["cat", "a/logs/none"]).contains("exist"));
    assert!(shell.fails(&["cat", "a/logs"]).contains("no object"));
}

#[test]
fn keys_that_are_no_names_of_files_stay_there() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/keys"]);
    for key in ["good", "../outside", "dir/../../outside", "/absolute", "a//b", "./c"] {
        shell.put(&format!("a/keys/{key}"), b"x");
    }
    // A marker of a folder, which `pipe` does not make.
    let form = shell.ok(&["share", "upload", "--json", "--recursive", "a/keys/dir/"]);
    let form: serde_json::Value = serde_json::from_str(&form).expect("JSON");
    post_form(form["share"].as_str().expect("a command"), b"");
    assert_eq!(shell.keys("a/keys").len(), 7);
    let output = shell.run(&["cp", "--recursive", "a/keys/", "out/"]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(message.matches("cannot be the name of a file").count(), 5, "{message}");
    assert_eq!(fs::read(shell.path("out/good")).expect("there"), b"x");
    assert!(shell.path("out/dir").is_dir());
    assert!(!shell.path("outside").exists() && !shell.path("out/a").exists());
    let entries = fs::read_dir(shell.path("out")).expect("there").count();
    assert_eq!(entries, 2, "no half of a file stays");
    // As they are, to another bucket.
    shell.ok(&["mb", "a/other"]);
    shell.ok(&["cp", "--recursive", "a/keys/", "a/other"]);
    assert_eq!(shell.keys("a/other"), shell.keys("a/keys"));
}

#[test]
fn a_mirror_holds_what_its_source_holds() {
    let shell = Shell::start();
    shell.write("site/index.html", "1");
    shell.write("site/img/a.png", "22");
    shell.write("site/.git/config", "x");
    let mirror = ["mirror", "--exclude", ".git/*", "site", "a/website"];
    let dry = [&mirror[..], &["--dry-run"]].concat();
    assert_eq!(shell.ok(&dry).lines().count(), 2);
    assert!(shell.fails(&["ls", "a/website"]).contains("NoSuchBucket"));
    // Makes the bucket.
    shell.ok(&mirror);
    assert_eq!(shell.keys("a/website"), ["img/a.png", "index.html"]);
    assert_eq!(shell.ok(&mirror), "", "nothing is left to do");
    shell.write("site/index.html", "longer");
    assert!(shell.fails(&mirror).contains("--overwrite"));
    shell.put("a/website/old", b"x");
    let all = [&mirror[..], &["--overwrite", "--remove"]].concat();
    let shown = shell.ok(&all);
    assert!(shown.contains("Removed `a/website/old`"), "{shown}");
    assert_eq!(shell.ok(&["cat", "a/website/index.html"]), "longer");
    assert_eq!(shell.keys("a/website"), ["img/a.png", "index.html"]);
    // And back, twice.
    shell.ok(&["mirror", "a/website", "copy"]);
    assert_eq!(shell.ok(&["mirror", "a/website", "copy"]), "");
    assert_eq!(fs::read(shell.path("copy/img/a.png")).expect("there"), b"22");
    assert!(shell.fails(&["mirror", "nowhere", "a/website", "--remove"]).contains("nowhere"));
    assert_eq!(shell.keys("a/website").len(), 2, "a source that is not there removes nothing");
}

#[test]
fn removing_more_than_one_needs_force() {
    let shell = Shell::start();
    shell.ok(&["mb", "--with-versioning", "a/bucket"]);
    for key in ["dir", "dir/a", "dir/b/c", "dirty", "x"] {
        shell.put(&format!("a/bucket/{key}"), b"x");
    }
    assert!(shell.fails(&["rm", "--recursive", "a/bucket/dir"]).contains("--force"));
    assert!(shell.fails(&["rm", "a/bucket"]).contains("--recursive"));
    assert!(shell.fails(&["rm", "--recursive", "--force", "a"]).contains("--dangerous"));
    let missing = shell.fails(&["rm", "a/bucket/none"]);
    assert!(missing.contains("does not exist; add --recursive --force"), "{missing}");
    assert!(shell.fails(&["rb", "a/bucket"]).contains("rb --force"));
    assert_eq!(shell.ok(&["rm", "-r", "--force", "--older-than", "1h", "a/bucket"]), "");
    assert_eq!(shell.ok(&["rm", "-r", "--dry-run", "a/bucket/dir"]).lines().count(), 3);
    assert_eq!(shell.keys("a/bucket").len(), 5);
    let shown = shell.ok(&["rm", "--recursive", "--force", "a/bucket/dir"]);
    assert!(shown.contains("Created delete marker `a/bucket/dir/b/c`"), "{shown}");
    assert_eq!(shell.keys("a/bucket"), ["dirty", "x"]);
    let versions = shell.ok(&["ls", "--recursive", "--versions", "a/bucket"]);
    assert_eq!(versions.matches(" DEL dir").count(), 3, "{versions}");
    shell.ok(&["rm", "--recursive", "--versions", "--force", "a/bucket/dir"]);
    assert_eq!(shell.ok(&["ls", "-r", "--versions", "a/bucket"]).lines().count(), 2);
    shell.ok(&["rb", "--force", "a/bucket"]);
    assert_eq!(shell.ok(&["ls", "a"]), "");
}

#[test]
fn settings_of_buckets_are_set_and_shown() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/bucket"]);
    shell.ok(&["mb", "--ignore-existing", "a/bucket"]);
    let shown = shell.ok(&["version", "info", "a/bucket"]);
    assert_eq!(shown, "a/bucket is un-versioned\n");
    shell.ok(&["version", "enable", "a/bucket"]);
    shell.ok(&["version", "suspend", "a/bucket"]);
    let shown = shell.ok(&["version", "info", "a/bucket"]);
    assert_eq!(shown, "a/bucket versioning is suspended\n");
    shell.put("a/bucket/key", b"x");
    for target in ["a/bucket", "a/bucket/key"] {
        shell.ok(&["tag", "set", target, "team=blue&cost=1"]);
        let shown = shell.ok(&["tag", "list", target]);
        assert!(shown.contains("team : blue") && shown.contains("cost : 1"), "{shown}");
        shell.ok(&["tag", "remove", target]);
        assert!(shell.ok(&["tag", "list", target]).contains("No tags found"));
    }
    assert!(shell.ok(&["anonymous", "get", "a/bucket"]).contains("`private`"));
    for permission in ["download", "upload", "public"] {
        shell.ok(&["anonymous", "set", permission, "a/bucket"]);
        let shown = shell.ok(&["anonymous", "get", "a/bucket"]);
        assert!(shown.contains(permission), "{shown}");
    }
    shell.ok(&["anonymous", "set", "private", "a/bucket"]);
    shell.ok(&["anonymous", "set", "download", "a/bucket/pub/"]);
    assert_eq!(shell.ok(&["anonymous", "list", "a/bucket"]), "bucket/pub/* => readonly\n");
    let policy = shell.ok(&["anonymous", "get-json", "a/bucket"]);
    shell.write("policy.json", policy);
    shell.ok(&["anonymous", "set", "none", "a/bucket/pub/"]);
    shell.ok(&["anonymous", "set-json", "policy.json", "a/bucket"]);
    assert!(shell.ok(&["anonymous", "get", "a/bucket/pub/"]).contains("`download`"));
    assert!(shell.ok(&["stat", "a/bucket"]).contains("Anonymous: Enabled"));
    // Nobody is told that a bucket is private while others wrote that it is not.
    let open = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*",
        "Action": "s3:*", "Resource": ["arn:aws:s3:::bucket", "arn:aws:s3:::bucket/*"]}]}"#;
    shell.write("policy.json", open);
    shell.ok(&["anonymous", "set-json", "policy.json", "a/bucket"]);
    assert!(shell.fails(&["anonymous", "set", "private", "a/bucket"]).contains("get-json"));
}

/// As `mc` prints them: a program joins the URL and the key.
#[test]
fn the_documents_have_the_url_of_the_folder_and_the_region_of_the_bucket() {
    let shell = Shell::start();
    let made = shell.json(&["mb", "--region", "eu-west-1", "a/bucket"]);
    assert_eq!(made[0]["region"], "eu-west-1");
    assert_eq!(shell.json(&["mb", "-p", "a/bucket"])[0]["region"], "eu-west-1");
    shell.put("a/bucket/dir/x", b"one");
    for (target, expected) in [
        ("a/bucket", "bucket/"),
        ("a/bucket/dir", "bucket/dir/"),
        ("a/bucket/dir/", "bucket/dir/"),
        ("a/bucket/di", "bucket/di"),
    ] {
        let url = format!("{}/{expected}", shell.url);
        assert_eq!(shell.json(&["ls", target])[0]["url"], url, "{target}");
    }
}

#[test]
fn links_work_without_credentials() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/bucket"]);
    shell.put("a/bucket/a key", b"shared");
    let shown = shell.ok(&["share", "download", "--json", "--expire", "1h", "a/bucket/a key"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let (status, body) = get(shown["share"].as_str().expect("a URL"));
    assert_eq!((status, body.as_slice()), (200, &b"shared"[..]));
    let shown = shell.ok(&["share", "upload", "--json", "a/bucket/new"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    post_form(shown["share"].as_str().expect("a command"), b"posted");
    assert_eq!(shell.ok(&["cat", "a/bucket/new"]), "posted");
    assert!(shell.fails(&["share", "download", "-E", "8d", "a/bucket/new"]).contains("seven days"));
    let anonymous = shell.url.clone();
    let output = shell
        .command(&["share", "download", "a/bucket/new"])
        .env("MC_HOST_a", anonymous)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_service_is_awaited() {
    let shell = Shell::start();
    assert!(shell.ok(&["ready", "a"]).contains("is ready"));
    assert!(shell.ok(&["ping", "--count", "2", "-i", "0", "a"]).contains("2: http://127.0.0.1"));
}

/// Each side says what the other speaks, also in answers to HEAD.
#[test]
fn http_and_https_are_not_mixed_up() {
    let plain = Shell::start();
    let url = plain.url.replace("http://", "https://");
    let set = |url: &str| plain.fails(&["alias", "set", "b", url, "liteio", "liteio123"]);
    let told = set(&url);
    assert!(
        told.contains(&format!("plain HTTP, or something else that is not TLS: use {}", plain.url)),
        "{told}"
    );
    let directory = tempfile::tempdir().expect("a temporary directory");
    let arguments = ["--tls-self-signed", "--memory", "--address", "127.0.0.1:0"];
    let server = Running::start_with(&directory, &arguments, &[]);
    let told = set(&server.endpoint().replace("https://", "http://"));
    assert!(told.contains("use https:// instead of http://"), "{told}");
    let shell = Shell::with(&server.endpoint().replace("https://", "http://"));
    for arguments in [&["ls", "a"][..], &["mb", "a/bucket"], &["admin", "info", "a"]] {
        let told = shell.fails(arguments);
        assert!(told.contains("use https:// instead of http://"), "{told}");
    }
    let output = shell.run(&["ping", "--count", "1", "a"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) && told.contains("use https://"), "{told}");
    // It waits until the service is ready, so only the first line is read.
    let mut waiting = shell.command(&["ready", "a"]);
    let told = Running::first_line(&mut waiting);
    assert!(told.contains("unreachable") && told.contains("use https://"), "{told}");
}

#[test]
fn certificates_are_trusted_by_authorities_of_the_user() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let arguments = ["--tls-self-signed", "--data-dir", "data", "--address", "127.0.0.1:0"];
    let server = Running::start_with(&directory, &arguments, &[]);
    let shell = Shell::with(server.endpoint());
    let run = |arguments: &[&str]| {
        let host = shell.url.replace("https://", "https://liteio:liteio123@");
        shell.command(arguments).env("MC_HOST_a", host).output().expect("it runs")
    };
    let output = run(&["ls", "a"]);
    assert_eq!(output.status.code(), Some(1));
    for remedy in ["certs/CAs", "AWS_CA_BUNDLE=FILE"] {
        assert!(stderr(&output).contains(remedy), "{}", stderr(&output));
    }
    let output = run(&["--insecure", "mb", "a/bucket"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let made = fs::read(directory.path().join("data/tls/certificate.pem")).expect("it is kept");
    shell.write("authority.pem", &made);
    let host = shell.url.replace("https://", "https://liteio:liteio123@");
    for (variable, file, code) in [
        ("SSL_CERT_FILE", "authority.pem", 0),
        ("AWS_CA_BUNDLE", "authority.pem", 0),
        ("AWS_CA_BUNDLE", "missing.pem", 1),
        ("LITEIO_CA_FILE", "authority.pem", 0),
        ("LITEIO_CA_FILE", "missing.pem", 1),
    ] {
        let mut command = shell.command(&["ls", "a"]);
        let output = command.env("MC_HOST_a", &host).env(variable, file).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{variable}: {}", stderr(&output));
        assert_eq!(stderr(&output).contains(variable), code != 0, "{}", stderr(&output));
    }
    shell.write(".mc/certs/CAs/server.crt", made);
    let output = run(&["ls", "a"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    shell.write(".mc/certs/CAs/broken.crt", "-----BEGIN CERTIFICATE-----\nx");
    assert!(stderr(&run(&["ls", "a"])).contains("broken.crt"));
}

/// As `openssl req -x509` makes certificates: one of an authority, which the server shows as its own.
#[test]
fn a_certificate_of_an_authority_is_accepted_if_it_is_given() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let key = KeyPair::generate().expect("a key");
    let made = |name: &str, years: (i32, i32)| {
        let mut params = CertificateParams::new([name.to_owned()]).expect("names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        params.self_signed(&key).expect("a certificate").pem()
    };
    let place = |name: &str| directory.path().join(name);
    fs::write(place("key.pem"), key.serialize_pem()).expect("written");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(place("key.pem"), private).expect("set");
    let tried = |served: &str, given: &str, place_of_it: &str| {
        fs::write(place("chain.pem"), served).expect("written");
        let arguments =
            ["--memory", "--address", "127.0.0.1:0", "--tls-cert=chain.pem", "--tls-key=key.pem"];
        let server = Running::start_with(&directory, &arguments, &[]);
        let shell = Shell::with(server.endpoint());
        shell.write(place_of_it, given);
        let host = shell.url.replace("https://", "https://liteio:liteio123@");
        let mut command = shell.command(&["ls", "a"]);
        command.env("MC_HOST_a", host).env("SSL_CERT_FILE", shell.path("file.pem"));
        if place_of_it != "file.pem" {
            command.env_remove("SSL_CERT_FILE");
        }
        let output = command.output().expect("it runs");
        (output.status.success(), stderr(&output))
    };
    let valid = (2024, 2090);
    let (here, another) = (made("127.0.0.1", valid), made("127.0.0.1", (2024, 2091)));
    for place_of_it in [".mc/certs/CAs/server.crt", "file.pem"] {
        let (is_accepted, told) = tried(&here, &here, place_of_it);
        assert!(is_accepted, "{place_of_it}: {told}");
    }
    // Of the same key and issuer, but not the same.
    let (is_accepted, told) = tried(&here, &another, "file.pem");
    assert!(!is_accepted && told.contains("CA:TRUE") && told.contains("certs/CAs"), "{told}");
    let elsewhere = made("elsewhere.example", valid);
    let (is_accepted, told) = tried(&elsewhere, &elsewhere, "file.pem");
    assert!(!is_accepted && told.contains("not valid for name"), "{told}");
    let old = made("127.0.0.1", (2020, 2021));
    let (is_accepted, told) = tried(&old, &old, "file.pem");
    assert!(!is_accepted && told.contains("expired"), "{told}");
}

/// In the first region the server makes one's own bucket again without an error.
#[test]
fn a_bucket_is_not_made_twice() {
    let shell = Shell::start();
    shell.ok(&["mb", "a/photos"]);
    let told = shell.fails(&["mb", "a/photos"]);
    assert!(told.contains("exists already (BucketAlreadyOwnedByYou"), "{told}");
    assert!(told.contains("`mb --ignore-existing`"), "{told}");
    let output = shell.run(&["mb", "a/photos", "a/more"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    shell.ok(&["stat", "a/more"]);
    shell.ok(&["mb", "--ignore-existing", "--with-versioning", "a/photos"]);
    assert!(shell.ok(&["version", "info", "a/photos"]).contains("enabled"));
}

#[test]
fn former_names_of_verbs_still_work() {
    let shell = Shell::start();
    let url = shell.url.as_str();
    let add = ["config", "host", "add", "old", url, "liteio", "liteio123", "--api", "s3v4"];
    shell.ok(&add);
    shell.ok(&["mb", "-p", "old/bucket"]);
    shell.ok(&["policy", "set", "public", "old/bucket"]);
    assert!(shell.ok(&["anonymous", "get", "old/bucket"]).contains("public"));
    let add = ["config", "host", "add", "older", url, "liteio", "liteio123", "S3v4"];
    shell.ok(&[&add[..], &["--lookup", "dns"]].concat());
    assert!(shell.ok(&["alias", "list", "older", "--json"]).contains("\"path\":\"off\""));
    shell.write("site/page", "x");
    shell.ok(&[
        "mirror",
        "-a",
        "--skip-errors",
        "--retry",
        "--summary",
        "--debug",
        "site",
        "old/bucket",
    ]);
    shell.ok(&["cp", "--preserve", "--limit-upload", "10MiB", "site/page", "old/bucket/copy"]);
    shell.ok(&["cp", "--md5", "site/page", "old/bucket/copy"]);
    shell.ok(&["mirror", "--md5", "site", "old/bucket"]);
    shell.ok(&["admin", "user", "add", "old", "carol", "carols-secret"]);
    shell.ok(&["admin", "policy", "attach", "old", "readonly", "--user", "carol"]);
    let set = shell.ok(&["admin", "policy", "set", "old", "readwrite", "user=carol"]);
    assert_eq!(set, "Policy `readwrite` is set on user `carol`\n");
    let user = shell.ok(&["admin", "user", "info", "old", "carol"]);
    assert!(user.contains("PolicyName: readwrite\n"), "{user}");
    for (arguments, expected) in [
        (&["ilm", "tier", "ls", "old"][..], "mc ilm tier"),
        (&["ilm", "restore", "old/bucket/page"], "restore-object"),
        (&["admin", "heal", "old"], "`admin heal` is not part of this client"),
        (
            &["admin", "speedtest", "old"],
            "`admin speedtest` is not part of this client; use MinIO's",
        ),
        (&["admin", "service", "restart", "old"], "its process or its container"),
        (&["admin", "bucket", "quota", "old/bucket", "--hard", "1GiB"], "use `quota set"),
        (&["admin", "bucket", "remote", "add", "old/bucket", "http://x/y"], "use `replicate add"),
        (&["admin", "bucket", "remote", "ls", "old"], "`replicate ls`"),
        (&["admin", "bucket"], "`admin bucket` is not part of this client"),
        (&["admin", "policy", "set", "old", "readwrite", "x"], "user=NAME or group=NAME"),
        (&["admin", "policy", "set", "old", "readwrite", "user=x"], "The user x does not exist"),
        (&["admin", "policy", "update", "old", "readwrite", "user=x"], "`admin policy attach"),
        (&["admin", "policy", "unset", "old", "readwrite", "group=x"], "`admin policy detach"),
        (&["admin", "policy", "attach", "old", "readwrite"], "add --user NAME or --group NAME"),
        (&["admin", "policy", "attach", "old"], "were not provided: <POLICIES>"),
        (&["admin", "config", "set", "old", "region", "name=x"], "liteio --help"),
        (&["replicate", "backlog", "old/bucket"], "the metrics of the server"),
        (&["sql", "-e", "select * from S3Object", "old/bucket/page"], "S3 Select is not supported"),
        (&["tree", "old/bucket"], "`ls --recursive TARGET`"),
        (
            &["mirror", "--exclude-storageclass", "GLACIER", "old/bucket", "site"],
            "`--exclude-storageclass` is not part of this client",
        ),
        (&["--quiet", "download", "old/bucket/page", "page"], "`get ALIAS/BUCKET/KEY FILE`"),
        (&["vectors", "query", "--return-distance"], "aws s3vectors"),
        (&["user", "add", "old", "name"], "`admin --help`"),
        // The word of a command of a command is no command.
        (&["tag", "get", "old/bucket"], "unrecognized subcommand 'get'"),
    ] {
        let message = shell.fails(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn bad_arguments_are_one_line_and_exit_code_1() {
    let shell = Shell::with("http://127.0.0.1:1");
    let rows: [(&[&str], &str); 10] = [
        (&["nonsense"], "nonsense"),
        (&["ls", "--nonsense"], "--nonsense"),
        (&["cp", "only-one"], "SOURCE"),
        (&["ls", "http://host/bucket"], "alias set"),
        (&["ls", "s3://photos"], "ALIAS/BUCKET/KEY: write local/photos"),
        (&["cp", "x", "a"], "a/BUCKET"),
        (&["rm", "--older-than", "x", "a/b/c"], "duration"),
        (&["find", "a/b", "--larger", "many"], "size"),
        (&["anonymous", "set", "everything", "a/bucket"], "download"),
        (&["--conn-read-deadline", "soon", "ls"], "duration"),
    ];
    for (arguments, expected) in rows {
        let message = shell.fails(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    // With --json as a line of JSON, as those of the service.
    for (arguments, expected) in [
        (&["--json", "nonsense"][..], "unrecognized subcommand"),
        (&["ls", "--json", "--nonsense"], "`liteio client ls --help` lists the options"),
        (&["--json", "--conn-read-deadline", "soon", "ls"], "duration"),
    ] {
        let output = shell.run(arguments);
        assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()));
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(told["status"], "error", "{told}");
        let message = told["error"]["cause"]["message"].as_str().expect("a message");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    let help = shell.ok(&["ls", "--help"]);
    assert!(help.contains("liteio client ls") && help.contains("--incomplete"), "{help}");
    assert!(shell.ok(&["--help"]).contains("anonymous"));
    shell.write(".mc/config.json", "{\"version\": \"10\", \"secretKey\": \"hidden\"");
    assert!(!shell.fails(&["ls", "a"]).contains("hidden"));
}

#[test]
fn busy_services_are_asked_again() {
    let failing = Failing::start(|_, count| match count {
        0 => error(503, "SlowDown"),
        1 => Vec::new(), // Closed without a word.
        _ => listing("<Contents><Key>k</Key><Size>1</Size></Contents>"),
    });
    let shell = Shell::with(failing.url());
    assert_eq!(shell.keys("a/bucket/"), ["k"]);
    assert_eq!(failing.requests().len(), 3);
}

#[test]
fn listings_go_on_from_page_to_page() {
    let page = |keys: &[&str], next: &str| {
        let keys: String =
            keys.iter().map(|key| format!("<Contents><Key>{key}</Key></Contents>")).collect();
        let more = "<IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>";
        let body = format!("{keys}<NextContinuationToken>{next}</NextContinuationToken>");
        format!("<ListBucketResult>{more}{body}</ListBucketResult>")
    };
    let failing = Failing::start(move |request, _| match request {
        _ if request.contains("continuation-token=more%2F1") => {
            listing("<Contents><Key>d</Key></Contents>")
        }
        _ if request.contains("/endless/") || request.contains("/endless?") => {
            ok(&[], page(&["a"], "again").as_bytes())
        }
        _ if request.contains("prefix=out") => listing("<Contents><Key>in</Key></Contents>"),
        _ => ok(&[], page(&["a%20b", "c%2B"], "more/1").as_bytes()),
    });
    let shell = Shell::with(failing.url());
    assert_eq!(shell.keys("a/bucket/"), ["a b", "c+", "d"]);
    let output = shell.run(&["ls", "a/endless/"]);
    assert!(stderr(&output).contains("repeats itself"), "{}", stderr(&output));
    // A server that names keys outside of what was asked for could make `rm` remove them.
    assert!(shell.fails(&["rm", "-r", "--force", "a/bucket/out/"]).contains("outside"));
    assert!(!failing.requests().iter().any(|it| it.starts_with("POST")));
}

#[test]
fn what_is_not_repeatable_is_not_sent_twice() {
    let failing = Failing::start(|_, _| Vec::new());
    let shell = Shell::with(failing.url());
    shell.write("big", vec![0; 33 << 20]);
    assert!(shell.fails(&["cp", "big", "a/bucket/"]).contains("broke"));
    let requests = failing.requests();
    assert_eq!(requests.iter().filter(|it| it.starts_with("POST")).count(), 1, "{requests:?}");
}

#[test]
fn a_service_that_hangs_is_given_up() {
    let failing = Failing::start(|_, _| Failing::hang());
    let shell = Shell::with(failing.url());
    let message = shell.fails(&["--conn-read-deadline", "50ms", "ls", "a/bucket/"]);
    assert!(message.contains("--conn-read-deadline"), "{message}");
}

#[test]
fn redirects_are_not_followed() {
    let failing = Failing::start(|request, _| match request.starts_with("GET /other") {
        true => listing(""),
        false => b"HTTP/1.1 307 Moved\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n".to_vec(),
    });
    let shell = Shell::with(failing.url());
    assert!(shell.fails(&["ls", "a/bucket/"]).contains("redirects are not followed"));
    assert_eq!(failing.requests().len(), 1);
}

#[test]
fn a_download_that_breaks_goes_on_where_it_ended() {
    let failing = Failing::start(|request, count| match count {
        _ if request.starts_with("HEAD") => ok(&[("etag", ETAG), ("content-length", "10")], b""),
        // Promises ten bytes.
        1 => ok(&[("etag", ETAG), ("content-length", "10")], b"01234"),
        _ if request.contains("bytes=5-9") && request.contains(&format!("if-match: {ETAG}")) => {
            let bytes = ok(&[("etag", ETAG), ("content-length", "5")], b"56789");
            [b"HTTP/1.1 206 Partial", &bytes["HTTP/1.1 200".len()..]].concat()
        }
        _ => error(400, "Unexpected"),
    });
    let shell = Shell::with(failing.url());
    shell.ok(&["cp", "a/bucket/key", "file"]);
    assert_eq!(fs::read(shell.path("file")).expect("there"), b"0123456789");
}

/// The MD5 of 0123456789.
const ETAG: &str = "\"781e5e245d69b566979b86e28d23f2c7\"";

#[test]
fn a_download_that_fails_leaves_what_was_there() {
    let wrong: [fn(&str, usize) -> Vec<u8>; 3] = [
        // Other bytes.
        |_, _| ok(&[("etag", ETAG), ("content-length", "10")], b"0123456780"),
        // It ends early, and was replaced meanwhile.
        |_, count| match count {
            1 => ok(&[("etag", ETAG), ("content-length", "10")], b"01234"),
            _ => error(412, "PreconditionFailed"),
        },
        // It ends early, and nothing tells which object it was.
        |_, _| ok(&[("content-length", "10")], b"01234"),
    ];
    for answer in wrong {
        let failing = Failing::start(move |request, count| match request.starts_with("HEAD") {
            true => ok(&[("content-length", "10")], b""),
            false => answer(request, count),
        });
        let shell = Shell::with(failing.url());
        shell.write("dir/file", "before");
        shell.fails(&["cp", "a/bucket/key", "dir/file"]);
        assert_eq!(fs::read(shell.path("dir/file")).expect("there"), b"before");
        assert_eq!(fs::read_dir(shell.path("dir")).expect("there").count(), 1);
    }
}

#[test]
fn an_upload_that_fails_is_aborted() {
    let failing = Failing::start(|request, _| match request {
        _ if request.starts_with("POST") && request.contains("uploads=") => {
            let id = "<InitiateMultipartUploadResult><UploadId>u1</UploadId>\
                      </InitiateMultipartUploadResult>";
            ok(&[], id.as_bytes())
        }
        _ if request.starts_with("PUT") && request.contains("partNumber=2") => {
            error(400, "EntityTooLarge")
        }
        _ if request.starts_with("PUT") => ok(&[("etag", "\"x\"")], b""),
        _ if request.starts_with("DELETE") => b"HTTP/1.1 204 Gone\r\n\r\n".to_vec(),
        _ => error(404, "NoSuchKey"),
    });
    let shell = Shell::with(failing.url());
    shell.write("big", vec![0; 33 << 20]);
    assert!(shell.fails(&["cp", "big", "a/bucket/"]).contains("EntityTooLarge"));
    let requests = failing.requests();
    assert!(requests.iter().any(|it| it.starts_with("DELETE") && it.contains("uploadId=u1")));
    assert!(!requests.iter().any(|it| it.starts_with("POST") && it.contains("uploadId=")));
}

#[cfg(unix)]
#[test]
fn an_upload_that_is_interrupted_is_aborted() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let failing = Failing::start(|request, _| match request {
            _ if request.starts_with("POST") => {
                let id = "<InitiateMultipartUploadResult><UploadId>u1</UploadId>\
                      </InitiateMultipartUploadResult>";
                ok(&[], id.as_bytes())
            }
            _ if request.starts_with("PUT") => Failing::hang(),
            _ => b"HTTP/1.1 204 Gone\r\n\r\n".to_vec(),
        });
        let shell = Shell::with(failing.url());
        shell.write("big", vec![0; 33 << 20]);
        let mut child = shell.command(&["cp", "big", "a/bucket/"]).spawn().expect("it starts");
        failing.await_request("PUT");
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(code));
        failing.await_request("DELETE");
    }
}
