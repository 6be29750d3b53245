//! The binary under its other names, as health checks and compose files of the image call it.

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};

use crate::command::{Running, liteio, stderr};
use crate::harness::{RawRequest, User};

/// The keys of a server that was started without any.
const DEFAULT: User = User { access_key: "liteio", secret_key: "liteio123", id: "" };

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// The binary, called by another name.
fn called(name: &str, directory: &tempfile::TempDir) -> Command {
    let mut command = liteio(directory);
    command.arg0(name);
    command
}

fn run(name: &str, directory: &tempfile::TempDir, arguments: &[&str]) -> Output {
    called(name, directory).args(arguments).output().expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn curl_checks_a_server() {
    let directory = directory();
    let server = Running::start_with(&directory, &["--memory", "--address", "127.0.0.1:0"], &[]);
    let endpoint = server.endpoint();
    let live = format!("{endpoint}/_liteio/health/live");
    let missing = format!("{endpoint}/no-such-bucket");
    let rows: [(&[&str], i32); 7] = [
        (&["-f", &live], 0),
        (&["-fsSL", "-o", "/dev/null", "-m", "5", &live], 0),
        (&["-f", &missing], 22),
        (&["-s", &missing], 0),
        (&["http://127.0.0.1:1/"], 7),
        (&["http://no.such.host.invalid/"], 6),
        (&["-d", "x", &live], 2),
    ];
    for (arguments, code) in rows {
        let output = run("curl", &directory, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    }
    let output = run("/usr/bin/curl", &directory, &["-s", "-I", &live]);
    assert!(stdout(&output).starts_with("HTTP/1.1 200 OK\r\n"), "{}", stdout(&output));
    // Nobody answers there.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = format!("http://{}", silent.local_addr().expect("an address"));
    let output = run("curl", &directory, &["-sS", "-m", "0.2", &silent]);
    assert_eq!(output.status.code(), Some(28), "{}", stderr(&output));
}

/// A server that gives these answers, one to each connection; none but the end of the connection for an empty one.
fn scripted(answers: &'static [&'static str]) -> (String, std::thread::JoinHandle<()>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let serving = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut head = std::io::BufReader::new(stream.try_clone().expect("a stream")).lines();
            while head.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            stream.write_all(answer.as_bytes()).expect("written");
        }
    });
    (url, serving)
}

const UNAVAILABLE: &str = "HTTP/1.1 503 Slow Down\r\nContent-Length: 4\r\n\r\nbusy";
const FINE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";

#[test]
fn curl_tries_again() {
    let directory = directory();
    let rows: [(&[&str], &'static [&'static str], i32, &str); 6] = [
        (
            &["-sf", "--retry", "3", "--retry-delay", "0.01"],
            &[UNAVAILABLE, UNAVAILABLE, FINE],
            0,
            "fine",
        ),
        (&["-s", "--retry", "1", "--retry-delay", "0.01"], &[UNAVAILABLE, UNAVAILABLE], 0, "busy"),
        (&["-sf", "-w", "%{http_code}"], &[UNAVAILABLE], 22, "503"),
        (&["-s", "--fail-with-body"], &[UNAVAILABLE], 22, "busy"),
        (&["-s", "--retry", "1"], &[""], 52, ""),
        (&["-s", "-o", "/dev/null", "-w", "%{http_code}\\n"], &[FINE], 0, "200\n"),
    ];
    for (arguments, answers, code, expected) in rows {
        let (url, serving) = scripted(answers);
        let output = run("curl", &directory, &[arguments, &[&url]].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), expected, "{arguments:?}");
        serving.join().expect("every answer was asked for");
    }
}

#[test]
fn wget_checks_a_server() {
    let directory = directory();
    let server = Running::start_with(&directory, &["--memory", "--address", "127.0.0.1:0"], &[]);
    let live = format!("{}/minio/health/live", server.endpoint());
    let missing = format!("{}/no-such-bucket", server.endpoint());
    let rows: [(&[&str], i32); 5] = [
        (&["-q", "--spider", &live], 0),
        (&["-qO-", &live], 0),
        (&["-q", "--spider", &missing], 8),
        (&["-qO", "/dev/null", "http://127.0.0.1:1/"], 4),
        (&["--post-data=x", &live], 2),
    ];
    for (arguments, code) in rows {
        let output = run("/usr/bin/wget", &directory, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    }
}

/// As the startup scripts of LocalStack call it.
#[tokio::test]
async fn awslocal_makes_buckets_with_their_settings() {
    let directory = directory();
    let server = Running::start_with(&directory, &["--memory", "--address", "127.0.0.1:0"], &[]);
    let address =
        server.endpoint().strip_prefix("http://").expect("a URL").parse().expect("an address");
    fs::create_dir(directory.path().join("files")).expect("made");
    fs::write(directory.path().join("files/a.html"), "<p>").expect("written");
    fs::write(
        directory.path().join("cors.json"),
        r#"{"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["http://page"]}]}"#,
    )
    .expect("written");
    let aws = |name: &str, line: &str| {
        let mut command = called(name, &directory);
        command.env("AWS_ENDPOINT_URL", server.endpoint()).args(line.split(' '));
        command.output().expect("it runs")
    };
    let lines = [
        "s3 mb s3://photos",
        "s3api create-bucket --bucket there --create-bucket-configuration LocationConstraint=us-west-2",
        "s3api head-bucket --bucket there",
        "s3api put-bucket-versioning --bucket photos --versioning-configuration Status=Enabled",
        "s3api put-bucket-cors --bucket photos --cors-configuration file://cors.json",
        "s3api put-bucket-tagging --bucket photos --tagging TagSet=[{Key=a,Value=b}]",
        "s3api put-public-access-block --bucket photos --public-access-block-configuration BlockPublicAcls=true",
        "s3 cp files/a.html s3://photos/page --content-type text/html;charset=utf-8 --quiet",
        "s3 sync files s3://photos/site",
        "s3api put-object --bucket photos --key copy --body files/a.html",
        "s3 rm s3://photos/copy",
    ];
    for line in lines {
        let output = aws("awslocal", line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    }
    let listed = stdout(&aws("aws", "s3 ls s3://photos --recursive"));
    assert!(listed.contains(" page\n") && listed.contains(" site/a.html\n"), "{listed}");
    assert!(!listed.contains("copy"), "{listed}");
    let names = stdout(&aws("awslocal", "s3api list-buckets"));
    assert!(names.contains("\"photos\"") && names.contains("\"there\""), "{names}");
    for (target, expected) in [
        ("/photos?versioning", "<Status>Enabled</Status>"),
        ("/photos?cors", "<AllowedOrigin>http://page</AllowedOrigin>"),
        ("/photos?tagging", "<Key>a</Key>"),
        ("/photos?publicAccessBlock", "<BlockPublicAcls>true</BlockPublicAcls>"),
    ] {
        let reply = RawRequest::of_s3(address, "us-east-1", "GET", target).by(DEFAULT).send().await;
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(text.contains(expected), "{target}: {text}");
    }
    let page =
        RawRequest::of_s3(address, "us-east-1", "HEAD", "/photos/page").by(DEFAULT).send().await;
    assert_eq!(page.header("content-type"), Some("text/html;charset=utf-8"));
    let missing = aws("awslocal", "s3 cp s3://photos/missing -");
    assert_eq!(missing.status.code(), Some(1), "{}", stderr(&missing));
}

#[test]
fn awslocal_reports_what_it_does_not_understand() {
    let directory = directory();
    let reports = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut command = called("awslocal", &directory);
    command.env("LITEIO_INIT_REPORT", reports.local_addr().expect("bound").to_string());
    let output =
        command.args(["sqs", "create-queue", "--queue-name", "jobs"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(252));
    let line = stderr(&output);
    assert!(line.contains("sqs create-queue") && line.lines().count() == 1, "{line}");
    let (stream, _) = reports.accept().expect("a report");
    let report = std::io::BufReader::new(stream).lines().next().expect("a line").expect("text");
    assert!(report.contains("sqs create-queue"), "{report}");
}

#[test]
fn the_start_script_does_not_guess_where_credentials_are_given() {
    let directory = directory();
    let mut command = called("docker-entrypoint.sh", &directory);
    let output = command.env("LITEIO_ACCESS_KEY", "an-access-key").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("LITEIO_PROFILE"), "{}", stderr(&output));
}

#[test]
fn other_names_refuse_what_they_do_not_serve() {
    let directory = directory();
    for (name, arguments, expected) in [
        ("minio", &["gateway", "s3"][..], "gateway"),
        ("minio", &[], "minio server DIR"),
        ("minio", &["--address", "127.0.0.1:0"], "minio server DIR"),
        ("minio", &["server", "--console-address", ":9001"], "or set MINIO_VOLUMES"),
        ("localstack", &["stop"], "start"),
    ] {
        let output = run(name, &directory, arguments);
        assert_eq!(output.status.code(), Some(2), "{name} {arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{name}: {}", stderr(&output));
    }
    // A binary called liteio has no such commands.
    for arguments in [&["sh", "-c", "echo a"][..], &["curl", "-f", "http://a"]] {
        let output = liteio(&directory).args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stdout(&output), "");
    }
}
