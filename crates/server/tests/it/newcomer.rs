//! The first hour: what a developer's shell, habits and slips meet.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::command::{Running, access_lines, directory, liteio, stderr};
use crate::harness::{self, ALICE, RawRequest, User};
use crate::raw;

fn address(server: &Running) -> String {
    server.endpoint().strip_prefix("http://").expect("a URL").to_owned()
}

fn ask(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("it accepts");
    stream.write_all(bytes).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

fn get(address: &str, path: &str) -> String {
    let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    ask(address, head.as_bytes())
}

#[test]
fn keys_that_a_shell_has_for_aws_are_not_those_of_the_server() {
    let directory = directory();
    let server = Running::start(
        liteio(&directory)
            .args(["--memory", "--address", "127.0.0.1:0"])
            .env("AWS_ACCESS_KEY_ID", "AKIAREALREALREALREAL")
            .env("AWS_SECRET_ACCESS_KEY", "of-production-and-real"),
    );
    assert!(server.block().contains("liteio / liteio123"), "{}", server.block());
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0));
    let told: Vec<&str> = log.lines().filter(|line| line.contains("AWS_ACCESS_KEY_ID")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(!log.contains("AKIAREAL") && !log.contains("of-production"), "{log}");
}

#[test]
fn keys_of_the_server_itself_are_no_reason_for_advice() {
    let directory = directory();
    let server = Running::start(
        liteio(&directory)
            .args(["--memory", "--address", "127.0.0.1:0"])
            .env("AWS_ACCESS_KEY_ID", "liteio")
            .env("AWS_SECRET_ACCESS_KEY", "liteio123"),
    );
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0));
    assert!(!log.contains("AWS_ACCESS_KEY_ID"), "{log}");
}

#[test]
fn the_client_knows_a_fresh_server_as_local() {
    let directory = directory();
    let own = [("LITEIO_ACCESS_KEY", "alice"), ("LITEIO_SECRET_KEY", "hush-hush")];
    for variables in [&[][..], &own] {
        let variables = variables.iter().copied();
        let server = Running::start(
            liteio(&directory)
                .args(["--memory", "--address", "127.0.0.1:0", "--bucket", "photos"])
                .envs(variables.clone()),
        );
        let mut client = liteio(&directory);
        client.args(["client", "ls", "local"]).env("MC_CONFIG_DIR", directory.path().join("mc"));
        client.env("LITEIO_ADDRESS", address(&server)).envs(variables);
        let output = client.output().expect("it runs");
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("photos"), "{output:?}");
        assert_eq!(server.signal("TERM").0, Some(0));
    }
}

#[test]
fn the_client_knows_a_server_with_tls_and_with_keys_in_files_as_local() {
    let directory = directory();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    };
    let keys = [
        ("LITEIO_ACCESS_KEY_FILE", file("access", "alice\n")),
        ("LITEIO_SECRET_KEY_FILE", file("secret", "hush-hush\n")),
    ];
    let mut server = Running::start(
        liteio(&directory)
            .args(["--memory", "--address", "127.0.0.1:0", "--bucket", "photos", "--log", "info"])
            .env("LITEIO_TLS_SELF_SIGNED", "true")
            .envs(keys.iter().cloned()),
    );
    let mut client = liteio(&directory);
    client.args(["client", "ls", "local"]).env("MC_CONFIG_DIR", directory.path().join("mc"));
    let address = server.endpoint().strip_prefix("https://").expect("a URL").to_owned();
    client.env("LITEIO_ADDRESS", &address).env("LITEIO_TLS_SELF_SIGNED", "true");
    let output = client.envs(keys).output().expect("it runs");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("photos"), "{output:?}");
    // Who asks by plain HTTP is told, and so is the operator.
    let answer = ask(&address, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let log = server.logs("rejected before it was a request");
    assert!(
        log.contains("client=127.0.0.1") && log.contains("encrypted connections only"),
        "{log}"
    );
    assert_eq!(server.signal("TERM").0, Some(0));
}

#[test]
fn probes_and_scrapes_are_no_lines_of_the_log_unless_asked_for() {
    let directory = directory();
    let paths =
        ["/_liteio/health/live", "/_liteio/health/ready", "/minio/health/live", "/_liteio/metrics"];
    for (filter, lines) in [("info", 0), ("info,liteio::access=debug", paths.len())] {
        let server = Running::start(liteio(&directory).args([
            "--memory",
            "--address",
            "127.0.0.1:0",
            "--metrics-auth",
            "public",
            "--log",
            filter,
        ]));
        let address = address(&server);
        for path in paths {
            let answer = get(&address, path);
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        }
        // One that fails is always told.
        assert!(get(&address, "/_liteio/health/lively").starts_with("HTTP/1.1 404"));
        let (_, log) = server.signal("TERM");
        let logged = log.lines().filter(|line| line.contains("liteio::access")).count();
        assert_eq!(logged, lines + 1, "{filter}: {log}");
    }
}

#[test]
fn the_log_takes_what_rust_programs_are_told() {
    let directory = directory();
    let rows = [("warn", 0), ("liteio=warn,hyper=debug", 0), ("hyper=debug", 1), ("info", 1)];
    for (filter, lines) in rows {
        let server = Running::start(
            liteio(&directory)
                .args(["--memory", "--address", "127.0.0.1:0"])
                .env("RUST_LOG", filter),
        );
        get(&address(&server), "/photos");
        let (_, log) = server.signal("TERM");
        let logged = log.lines().filter(|line| line.contains("liteio::access")).count();
        assert_eq!(logged, lines, "{filter}: {log}");
    }
    let output = liteio(&directory).args(["--memory", "--log", "verbose"]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let line = stderr(&output);
    assert!(line.contains("\"verbose\"") && line.contains("debug"), "{line}");
}

#[test]
fn a_client_that_begins_tls_on_the_plain_port_is_told_and_named() {
    let directory = directory();
    let server = Running::start(liteio(&directory).args(["--memory", "--address", "127.0.0.1:0"]));
    // The head of a record with a ClientHello (RFC 8446, section 5.1), and the first bytes of it.
    let hello = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    let answer = ask(&address(&server), &[&hello[..], &[7; 501]].concat());
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("http://") && answer.contains("--tls-self-signed"), "{answer}");
    let (_, log) = server.signal("TERM");
    let line = log.lines().find(|line| line.contains("began TLS")).expect("a line");
    assert!(line.contains("client=127.0.0.1:"), "{line}");
}

#[test]
fn a_command_without_its_command_lists_them() {
    let directory = directory();
    for (command, expected) in [("key", "new"), ("import", "minio"), ("cluster", "create")] {
        let output = liteio(&directory).arg(command).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{command}");
        let text = stderr(&output);
        let is_listed = |line: &str| line.trim_start().starts_with(expected);
        assert!(text.contains("Commands:\n") && text.lines().any(is_listed), "{command}: {text}");
    }
    // This one takes a directory, too.
    let output = liteio(&directory).arg("backup").output().expect("it runs");
    assert!(stderr(&output).contains("not provided: <DIR>"), "{}", stderr(&output));
    let output = liteio(&directory).args(["exec", "aws", "s3", "ls"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let line = stderr(&output);
    assert!(line.contains("liteio exec -- aws s3 ls") && line.lines().count() == 1, "{line}");
}

#[test]
fn a_token_for_prometheus_needs_no_other_program() {
    let directory = directory();
    let server = Running::start(liteio(&directory).args(["--memory", "--address", "127.0.0.1:0"]));
    let address = address(&server);
    for (secret, status) in [("liteio123", "200"), ("liteio124", "403")] {
        let mut command = liteio(&directory);
        command.arg("metrics-token").env("LITEIO_SECRET_KEY", secret);
        let output = command.output().expect("it runs");
        let token = String::from_utf8(output.stdout).expect("text");
        let head = format!(
            "GET /_liteio/metrics HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
            token.trim()
        );
        let answer = ask(&address, head.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert_eq!(answer.contains("liteio_requests_total"), status == "200", "{answer}");
        assert_eq!(answer.contains("made with another key"), status == "403", "{answer}");
    }
    let without = b"GET /_liteio/metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answer = ask(&address, without);
    assert!(answer.contains("Metrics need a token"), "{answer}");
    let output = liteio(&directory).args(["metrics-token", "--access-key", "me"]).output();
    let output = output.expect("it runs");
    assert!(output.status.code() == Some(2) && stderr(&output).contains("give both"), "{output:?}");
    let output = liteio(&directory).arg("metrics-token").output().expect("it runs");
    assert!(stderr(&output).contains("made with the default key liteio"), "{output:?}");
    // The variables that the server has in the place of a MinIO.
    let mut command = liteio(&directory);
    command
        .arg("metrics-token")
        .envs([("MINIO_ROOT_USER", "me"), ("MINIO_ROOT_PASSWORD", "secret")]);
    let output = command.output().expect("it runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    // The files that it has its keys from.
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    };
    let (access, secret) = (file("access", "liteio\n"), file("secret", "liteio-secret\n"));
    let token = |variables: &[(&str, &std::path::Path)]| {
        let mut command = liteio(&directory);
        command.arg("metrics-token").envs(variables.iter().copied());
        command.output().expect("it runs")
    };
    let files = [
        ("LITEIO_ACCESS_KEY_FILE", access.as_path()),
        ("LITEIO_SECRET_KEY_FILE", secret.as_path()),
    ];
    let of_files = token(&files);
    assert!(of_files.status.success() && of_files.stderr.is_empty(), "{of_files:?}");
    let credentials = file("credentials.toml", "");
    let output = token(&[("LITEIO_CREDENTIALS_FILE", credentials.as_path())]);
    assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{output:?}");
    assert!(stderr(&output).contains("credentials.toml: give --access-key"), "{output:?}");
    // One in a container makes its own.
    let output = token(&[("LITEIO_IN_CONTAINER", std::path::Path::new("true"))]);
    assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{output:?}");
    let output = liteio(&directory).args(["metrics-token", "--days", "0"]).output();
    assert_eq!(output.expect("it runs").status.code(), Some(2));
}

#[test]
fn a_token_at_the_usual_path_of_metrics_is_told_the_one_here() {
    let directory = directory();
    let server = Running::start(liteio(&directory).args(["--memory", "--address", "127.0.0.1:0"]));
    let address = address(&server);
    let told = "the path of metrics is /_liteio/metrics";
    for (path, is_told) in [("/metrics", true), ("/photos", false)] {
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\nconnection: close\r\n\r\n"
        );
        let answer = ask(&address, head.as_bytes());
        assert!(answer.contains("Unsupported Authorization Type"), "{answer}");
        assert_eq!(answer.contains(told), is_told, "{answer}");
    }
    let (_, log) = server.signal("TERM");
    assert_eq!(log.matches(&format!("denied=\"{told}\"")).count(), 1, "{log}");
}

#[tokio::test]
async fn lines_about_vectors_have_the_bucket_and_the_index() {
    let directory = directory();
    let server = Running::start(
        liteio(&directory)
            .args(["--memory", "--address", "127.0.0.1:0", "--log-format", "json"])
            .args(["--access-key", ALICE.access_key, "--secret-key", ALICE.secret_key]),
    );
    let address = address(&server).parse().expect("an address");
    let index = r#""vectorBucketName": "pictures", "indexName": "faces""#;
    for (operation, body) in [
        ("CreateVectorBucket", r#"{"vectorBucketName": "pictures"}"#.to_owned()),
        (
            "CreateIndex",
            format!(
                "{{{index}, \"dataType\": \"float32\", \"dimension\": 2, \"distanceMetric\": \"cosine\"}}"
            ),
        ),
        (
            "QueryVectors",
            format!("{{{index}, \"topK\": 1, \"queryVector\": {{\"float32\": [1, 2]}}}}"),
        ),
    ] {
        let request = RawRequest::of_vectors(address, "us-east-1", operation, body);
        request.send().await.expect_status(200);
    }
    let (_, log) = server.signal("TERM");
    let lines = access_lines(&log);
    let named = |line: &serde_json::Value| {
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        (text("operation"), text("bucket"), text("index"))
    };
    let expected = [
        ("CreateVectorBucket", None),
        ("CreateIndex", Some("faces".to_owned())),
        ("QueryVectors", Some("faces".to_owned())),
    ]
    .map(|(operation, index)| (Some(operation.to_owned()), Some("pictures".to_owned()), index));
    assert_eq!(lines.iter().map(named).collect::<Vec<_>>(), expected, "{log}");
}

/// Of each: the start or command that fails, and words of the reason and the remedy.
#[test]
fn slips_of_the_first_hour_say_what_is_wrong_and_what_to_do() {
    let directory = directory();
    let path = directory.path();
    std::fs::write(path.join("file"), "x").expect("written");
    std::fs::create_dir(path.join("empty-format")).expect("made");
    std::fs::write(path.join("empty-format/format"), "").expect("written");
    let user = |name: &str| {
        format!(
            "[[user]]\nname = \"{name}\"\naccess_key = \"same-key\"\nsecret_key = \"of-{name}-secret\"\n"
        )
    };
    let users = path.join("users.toml");
    std::fs::write(&users, user("anna") + &user("ben")).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&users, mode).expect("set");
    let rows: [(&[&str], [&str; 3]); 4] = [
        (&["--data-dir", "file"], ["file", "is a file", "--data-dir DIR"]),
        (&["--data-dir", "empty-format"], ["empty-format", "`format` is empty", "give one"]),
        (
            &["--memory", "--credentials-file", "users.toml"],
            ["users.toml", "\"ben\"", "an access key of its own"],
        ),
        (&["client", "ls", "t"], ["'t'", "neither an alias nor a file", "alias set t URL"]),
    ];
    for (arguments, words) in rows {
        let mut command = liteio(&directory);
        command.args(arguments).env("MC_CONFIG_DIR", path.join("mc"));
        if arguments[0] != "client" {
            command.args(["--address", "127.0.0.1:0"]);
        }
        let output = command.output().expect("it runs");
        // Users are settings, which another start reads no better.
        let code = if arguments.contains(&"--credentials-file") { 2 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        let told = stderr(&output);
        let line = told.lines().last().unwrap_or_default();
        assert!(words.iter().all(|word| line.contains(word)), "{arguments:?}: {told}");
    }
}

#[test]
fn credentials_that_a_container_made_can_be_asked_for() {
    let directory = directory();
    let started = [("LITEIO_IN_CONTAINER", "true"), ("LITEIO_DATA_DIR", "data")];
    let server = Running::start_with(&directory, &["server", "--address", "127.0.0.1:0"], &started);
    let show = || {
        let mut command = liteio(&directory);
        command.args(["credentials", "show"]).envs(started).output().expect("it runs")
    };
    let shown = String::from_utf8(show().stdout).expect("text");
    let block = server.block();
    let pair: Vec<&str> = shown.lines().collect();
    assert!(pair.len() == 2 && pair.iter().all(|line| block.contains(line)), "{shown} {block}");
    assert_eq!(server.signal("TERM").0, Some(0));
    std::fs::remove_file(directory.path().join("data/credentials.toml")).expect("removed");
    let output = show();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("LITEIO_SECRET_KEY"), "{}", stderr(&output));
}

#[tokio::test]
async fn the_log_tells_why_a_signature_fails() {
    let directory = directory();
    let server =
        Running::start(
            liteio(&directory)
                .args(["--memory", "--address", "127.0.0.1:0", "--log", "debug"])
                .args(["--access-key", ALICE.access_key, "--secret-key", ALICE.secret_key]),
        );
    let other = User { secret_key: "of-somebody-else", ..ALICE };
    let address = address(&server).parse().expect("an address");
    let get = RawRequest::of_s3(address, "us-east-1", "GET", "/").by(other);
    get.send().await.expect_error(403, "SignatureDoesNotMatch");
    let url = RawRequest::of_s3(address, "us-east-1", "PUT", "/photos/a").by(ALICE).presigned("60");
    let use_url = |method: &str, host: &str| {
        let request =
            format!("{method} {url} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\n\r\n");
        raw::send(address, request.as_bytes()).expect_error(403, "SignatureDoesNotMatch");
    };
    use_url("DELETE", &address.to_string());
    use_url("PUT", &format!("localhost:{}", address.port()));
    let (_, log) = server.signal("TERM");
    let mut lines = log.lines().filter(|line| line.contains("the signature does not match"));
    let line = lines.next().expect("a line");
    for word in [ALICE.access_key, "host=", "signed_headers=", "the secret key may be another"] {
        assert!(line.contains(word), "{word}: {line}");
    }
    let told = [
        "the client signed the method PUT, and DELETE has come".to_owned(),
        format!("the client signed the host {address}, and localhost:{} has come", address.port()),
    ];
    for told in &told {
        let line = lines.next().expect("a line");
        assert!(line.contains(told), "{told}: {line}");
    }
    assert!(!log.contains(ALICE.secret_key), "{log}");
}

/// The most frequent one: a URL that was signed for 127.0.0.1 is opened at localhost.
#[tokio::test]
async fn the_line_of_a_request_tells_a_usual_difference_of_its_signature() {
    let directory = directory();
    let server =
        Running::start(liteio(&directory).args(["--memory", "--address", "127.0.0.1:0"]).args([
            "--access-key",
            ALICE.access_key,
            "--secret-key",
            ALICE.secret_key,
        ]));
    let address = address(&server).parse().expect("an address");
    let url = RawRequest::of_s3(address, "us-east-1", "GET", "/photos/a").by(ALICE).presigned("60");
    let elsewhere = format!("localhost:{}", address.port());
    let told = format!("the client signed the host {address}, and {elsewhere} has come");
    let request = format!("GET {url} HTTP/1.1\r\nhost: {elsewhere}\r\n\r\n");
    let refused = raw::send(address, request.as_bytes());
    let refused = refused.expect_error(403, "SignatureDoesNotMatch");
    assert!(refused.element("Detail").contains(&told), "{}", refused.text());
    let other = User { secret_key: "of-somebody-else", ..ALICE };
    let get = RawRequest::of_s3(address, "us-east-1", "GET", "/").by(other);
    let refused = get.send().await.expect_error(403, "SignatureDoesNotMatch");
    assert_eq!(refused.element("Detail"), "", "nothing is guessed");
    let (_, log) = server.signal("TERM");
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("SignatureDoesNotMatch")).collect();
    assert!(lines.len() == 2 && lines[0].contains(&format!("denied=\"{told}")), "{log}");
    let unproven = format!("denied=\"the request names the access key {}, and", ALICE.access_key);
    assert!(lines[1].contains(&unproven), "{log}");
}

#[tokio::test]
async fn the_log_tells_why_a_page_of_another_origin_is_refused() {
    let directory = directory();
    let server = Running::start(liteio(&directory).args([
        "--memory",
        "--address",
        "127.0.0.1:0",
        "--bucket",
        "photos",
    ]));
    let address = address(&server).parse().expect("an address");
    let preflight = "OPTIONS /photos/cat HTTP/1.1\r\nhost: h\r\norigin: http://localhost:5173\r\n\
                     access-control-request-method: PUT\r\naccess-control-request-headers: content-type\r\n\r\n";
    raw::send(address, preflight.as_bytes()).expect_error(403, "AccessForbidden");
    let (_, log) = server.signal("TERM");
    let told = "neither CORS rules of the bucket nor --cors-origin for PUT with the headers content-type from a page of \
                http://localhost:5173";
    assert!(log.contains(told), "{log}");
}

#[tokio::test]
async fn a_bucket_in_the_endpoint_is_told() {
    let server = harness::memory().await;
    server.bucket("photos").await;
    for query in ["list-type=2", "location"] {
        let listed = server.get(&format!("/photos/photos?{query}")).await;
        let listed = listed.expect_error(400, "InvalidRequest");
        let told = listed.element("Message");
        assert!(told.contains("Does the endpoint of the client have a path"), "{told}");
    }
}

#[tokio::test]
async fn the_log_tells_what_to_do_about_an_acl_that_a_program_sends() {
    let directory = directory();
    let server = Running::start(liteio(&directory).args([
        "--memory",
        "--address",
        "127.0.0.1:0",
        "--bucket",
        "photos",
    ]));
    let address = address(&server).parse().expect("an address");
    let key = User { access_key: "liteio", secret_key: "liteio123", id: "" };
    let put = |path| RawRequest::of_s3(address, "us-east-1", "PUT", path).by(key);
    put("/photos/cat").body("x").send().await.expect_status(200);
    for path in ["/photos/cat", "/photos?acl", "/photos/cat?acl"] {
        let refused = put(path).header("x-amz-acl", "private").send().await;
        let refused = refused.expect_error(400, "AccessControlListNotSupported");
        assert_eq!(refused.element("Message"), "The bucket does not allow ACLs");
    }
    let (_, log) = server.signal("TERM");
    let told = log.matches("or make buckets that have them by --object-ownership object-writer");
    assert_eq!(told.count(), 3, "{log}");
}

#[tokio::test]
async fn the_log_tells_the_region_of_a_server_that_has_one() {
    let directory = directory();
    let server = Running::start(liteio(&directory).args([
        "--memory",
        "--address",
        "127.0.0.1:0",
        "--region",
        "eu-central-1",
    ]));
    let address = address(&server).parse().expect("an address");
    let key = User { access_key: "liteio", secret_key: "liteio123", id: "" };
    let put = RawRequest::of_s3(address, "eu-central-1", "PUT", "/photos").by(key);
    put.send().await.expect_error(400, "IllegalLocationConstraintException");
    let (_, log) = server.signal("TERM");
    let told = "denied=\"the server has the region eu-central-1 alone, by --region";
    assert!(log.contains(told), "{log}");
}

/// Of each: words in the place of a command, and the command that does the same.
#[test]
fn commands_that_there_are_not_name_the_ones_that_do_the_same() {
    let directory = directory();
    let rows: [(&[&str], &str); 47] = [
        (&["start"], "`liteio server`"),
        (&["reset"], "stop the server and remove its data directory"),
        (&["restore", "./backup", "--data-dir", "data"], "`liteio restore LOCATION DIR`"),
        (&["restore", "./backup", "--dir", "data"], "`liteio restore LOCATION DIR`"),
        (&["wipe", "./data"], "stop the server and remove its data directory"),
        (&["--console-port", "9001"], "`--console-address HOST:PORT`"),
        (&["server", "--website-port=9002"], "--website-address"),
        (&["--console", "9001"], "'--console <on|off>': give on or off"),
        (&["--console"], "'--console <on|off>' but none was supplied"),
        (&["--memory=true"], "write `--memory` alone"),
        (&["server", "--tls-self-signed=1"], "write `--tls-self-signed` alone"),
        (&["--memory", "--no-auth=False"], "leave `--no-auth` out"),
        (&["-v"], "`liteio -V` prints the version"),
        (&["server", "--verbose"], "`--log debug` logs more"),
        (&["--memory", "--vector-bucket", "media"], "made by clients: docs/vectors.md"),
        (&["--vector-bucket=media"], "made by clients: docs/vectors.md"),
        (&["--dir", "x"], "`--data-dir DIR`"),
        (&["server", "--listen=:80"], "`--address HOST:PORT`"),
        (&["stop"], "SIGTERM"),
        (&["mc", "ls"], "`liteio client ls local`"),
        (&["s3", "ls"], "`liteio client ls local`"),
        (&["vectors"], "`aws s3vectors`"),
        (&["verify", "./data"], "write `liteio verify --data-dir ./data`"),
        (&["status"], "`liteio health`"),
        (&["user", "add", "anna"], "liteio client admin user add local"),
        (&["bucket", "create", "photos"], "liteio client mb local/NAME"),
        (&["ls", "local"], "`liteio client ls`"),
        (&["mb", "local/photos"], "`liteio client mb`"),
        (&["config", "set", "region"], "`liteio environment`"),
        (&["logs"], "standard error"),
        (&["./data"], "`liteio server ./data`"),
        (&["upload", "file"], "`liteio client cp`"),
        (&["doctor"], "`liteio verify`"),
        (&["check", "./data"], "`liteio repair`"),
        (&["backpu"], "'backup'"),
        (&["-p", "9007", "./data"], "`liteio server ./data`"),
        (&["--memory", "./data"], "`liteio server ./data`"),
        (&["--memory", "nonsense"], "there is no command `nonsense`"),
        (&["--user", "anna"], "`--access-key KEY`"),
        (&["server", "--https"], "`--tls-self-signed`"),
        (&["--cert", "x"], "`--tls-cert FILE`"),
        (&["--config", "x"], "`--credentials-file FILE`"),
        (&["--daemon"], "`systemctl start liteio`"),
        (&["server", "--profile", "minio", "--sftp", "address=:8022"], "no FTP and no SFTP"),
        (&["server", "--ftp=address=:8021"], "no FTP and no SFTP"),
        (&["server", "--idle-timeout", "30s"], "nothing to set here"),
        (&["health", "--port", "9010"], "`liteio health http://127.0.0.1:9010`"),
    ];
    for (arguments, expected) in rows {
        let output = liteio(&directory).args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let line = stderr(&output);
        assert!(line.contains(expected) && line.lines().count() == 1, "{arguments:?}: {line}");
        assert!(!line.contains("possible values"), "{arguments:?}: {line}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

/// As the server takes it.
#[test]
fn commands_of_a_data_directory_take_the_short_option() {
    let directory = directory();
    let rows: [&[&str]; 5] = [
        &["verify", "-d", "none"],
        &["repair", "-d", "none"],
        &["key", "rewrap", "-d", "none"],
        &["credentials", "show", "-d", "none"],
        &["backup", "copy", "copy", "-d", "none"],
    ];
    for arguments in rows {
        let output = liteio(&directory).args(arguments).output().expect("it runs");
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {line}");
        assert!(line.contains("none"), "{arguments:?}: {line}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_told_first() {
    let directory = directory();
    std::fs::write(directory.path().join("file"), "").expect("written");
    let mut command = liteio(&directory);
    let output = command.args(["--address", "127.0.0.1:0", "--data-dir", "file/data"]).output();
    let line = stderr(&output.expect("it runs"));
    assert!(line.starts_with("liteio: cannot ") && line.contains("file/data"), "{line}");
}

#[test]
fn the_short_help_fits_a_screen_and_the_long_one_has_every_option() {
    let directory = directory();
    let help = |arguments: &[&str]| {
        let output = liteio(&directory).args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    for arguments in [&["-h"][..], &["server", "-h"], &["exec", "-h"]] {
        let short = help(arguments);
        assert!(short.lines().count() <= 60, "{} lines: {short}", short.lines().count());
        assert!(short.contains("--data-dir") && !short.contains("--backup-keep"), "{short}");
    }
    let short = help(&["-h"]);
    assert!(short.contains("liteio --help") && short.contains("  client "), "{short}");
    let long = help(&["--help"]);
    for option in ["--data-dir", "--backup-keep", "--blob-cache-size", "--test-api"] {
        assert!(long.contains(option), "{option} is not in {long}");
    }
}

#[test]
fn misspelled_variables_are_told_with_the_name_that_was_meant() {
    let directory = directory();
    let variables = [
        ("LITEIO_ACCES_KEY", "did you mean LITEIO_ACCESS_KEY?"),
        ("LITEIO_BACKUP_KEEPS", "did you mean LITEIO_BACKUP_KEEP?"),
        ("LITEIO_NONSENSE_OF_MINE", "`liteio environment`"),
        ("MINIO_ROOT_USR", "did you mean MINIO_ROOT_USER?"),
        ("MINIO_IDENTITY_LDAP_SERVER_ADDR", "LDAP is not supported"),
    ];
    let mut command = liteio(&directory);
    command.args(["--memory", "--address", "127.0.0.1:0"]);
    command.envs(variables.map(|(name, _)| (name, "hush-hush")));
    // One line for all of LDAP.
    let server = Running::start(command.env("MINIO_IDENTITY_LDAP_TLS_SKIP_VERIFY", "on"));
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0));
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), variables.len(), "{log}");
    for (name, advice) in variables {
        let is_told = |line: &&str| line.contains(name) && line.contains(advice);
        assert!(warnings.iter().any(is_told), "{name}: {log}");
    }
    assert!(!log.contains("hush-hush"), "{log}");
}
