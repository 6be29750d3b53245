//! `liteio exec`: a command beside a server of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};

use crate::command::{liteio, stderr};

fn exec(arguments: &[&str], script: &str) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = liteio(&directory);
    command.arg("exec").args(arguments).args(["--", "sh", "-c", script]);
    command.output().expect("it runs")
}

#[test]
fn the_command_finds_the_server_in_its_environment() {
    let script = "echo $AWS_ENDPOINT_URL $AWS_ENDPOINT_URL_S3VECTORS $LITEIO_TEST_ENDPOINT; \
        echo $AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY $AWS_REGION $AWS_DEFAULT_REGION $AWS_ALLOW_HTTP [$AWS_PROFILE]";
    let output = exec(&["--access-key", "alice", "--secret-key", "a secret"], script);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines = text.lines();
    let endpoints: Vec<_> = lines.next().expect("a line").split(' ').collect();
    assert!(endpoints[0].starts_with("http://127.0.0.1:"), "{endpoints:?}");
    assert_eq!(endpoints[1], endpoints[0]);
    assert_eq!(endpoints[2], format!("{}/_liteio/test", endpoints[0]));
    assert_eq!(lines.next(), Some("alice a secret us-east-1 us-east-1 true []"));
}

#[test]
fn nothing_in_the_environment_leads_the_command_elsewhere() {
    let elsewhere = [
        "AWS_PROFILE",
        "AWS_DEFAULT_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_SECURITY_TOKEN",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CREDENTIAL_EXPIRATION",
        "AWS_USE_FIPS_ENDPOINT",
        "AWS_USE_DUALSTACK_ENDPOINT",
        "AWS_ENDPOINT_URL_S3",
    ];
    for (set, no_proxy) in [
        (&[][..], "localhost,127.0.0.1"),
        (&[("NO_PROXY", "a.test, 127.0.0.1")][..], "a.test,127.0.0.1,localhost"),
        (&[("NO_PROXY", "a.test"), ("no_proxy", "b.test")][..], "b.test,localhost,127.0.0.1"),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = liteio(&directory);
        command.env_remove("NO_PROXY").env_remove("no_proxy");
        command.envs(elsewhere.map(|name| (name, "elsewhere"))).envs(set.iter().copied());
        let output = command.args(["exec", "--", "env"]).output().expect("it runs");
        assert!(output.status.success(), "{}", stderr(&output));
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(!text.contains("elsewhere"), "{text}");
        for name in ["NO_PROXY", "no_proxy"] {
            assert!(text.lines().any(|line| line == format!("{name}={no_proxy}")), "{text}");
        }
    }
}

/// Commands of the program itself, such as `rb --force local/photos`, must not act on the server that a developer runs.
#[test]
fn local_and_health_are_the_server_of_the_command() {
    let script = format!(
        "{0} client ls local && {0} health && echo [$LITEIO_PORT$LITEIO_HOST]",
        env!("CARGO_BIN_EXE_liteio")
    );
    let nothing = "127.0.0.1:1";
    let rows: [&[(&str, &str)]; 7] = [
        &[],
        &[("LITEIO_ADDRESS", nothing)],
        &[("LITEIO_HOST", "127.0.0.1"), ("LITEIO_PORT", "1")],
        &[("LITEIO_ACCESS_KEY", "mine"), ("LITEIO_SECRET_KEY", "my-secret-key")],
        &[("LITEIO_ACCESS_KEY_FILE", "access"), ("LITEIO_SECRET_KEY_FILE", "secret")],
        &[("MC_HOST_local", "http://mine:my-secret-key@127.0.0.1:1")],
        &[("LITEIO_TLS_SELF_SIGNED", "true")],
    ];
    for given in rows {
        let directory = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).expect("written");
        };
        write("access", "of-the-file");
        write("secret", "secret-of-the-file");
        let local =
            r#"{"url": "http://127.0.0.1:1", "accessKey": "mine", "secretKey": "my-secret-key"}"#;
        write("config.json", &format!(r#"{{"version": "10", "aliases": {{"local": {local}}}}}"#));
        let mut command = liteio(&directory);
        command.env("MC_CONFIG_DIR", directory.path()).envs(given.iter().copied());
        command.args(["exec", "--bucket", "of-the-command", "--", "sh", "-c", &script]);
        let output = command.output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{given:?}: {told}{}", stderr(&output));
        assert!(told.contains("of-the-command") && told.contains("[]"), "{given:?}: {told}");
    }
}

/// Its certificate would be in the memory of the server.
#[test]
fn a_certificate_that_the_command_cannot_trust_is_refused() {
    let output = exec(&["--tls-self-signed"], "true");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--plain-address 127.0.0.1:0"), "{}", stderr(&output));
    let script = format!("echo $AWS_ENDPOINT_URL; {} health", env!("CARGO_BIN_EXE_liteio"));
    let output = exec(&["--tls-self-signed", "--plain-address", "127.0.0.1:0"], &script);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.starts_with("http://"), "{told}{}", stderr(&output));
}

#[test]
fn the_command_uses_the_server() {
    let script = format!("{} health $LITEIO_ENDPOINT", env!("CARGO_BIN_EXE_liteio"));
    let output = exec(&["--profile", "minio", "--bucket", "photos"], &script);
    assert!(output.status.success(), "{}", stderr(&output));
    let script = format!(
        "export HOME=$PWD; client='{} client'; \
         $client alias set it $AWS_ENDPOINT_URL $AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY && $client ls it",
        env!("CARGO_BIN_EXE_liteio")
    );
    let output = exec(&["--bucket", "photos"], &script);
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(listed.contains("photos"), "{listed}{}", stderr(&output));
}

/// An address that is open to others, and one that is in use, which a second server would meet.
#[test]
fn it_takes_no_address_of_the_environment() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = format!(":{}", taken.local_addr().expect("its address").port());
    for name in [
        "LITEIO_ADDRESS",
        "LITEIO_CONSOLE_ADDRESS",
        "LITEIO_WEBSITE_ADDRESS",
        "LITEIO_ICEBERG_ADDRESS",
        "MINIO_ADDRESS",
        "MINIO_CONSOLE_ADDRESS",
    ] {
        for profile in [&[][..], &["--profile", "minio"]] {
            let directory = tempfile::tempdir().expect("a directory");
            let mut command = liteio(&directory);
            command.env(name, &taken).arg("exec").args(profile).args(["--", "true"]);
            let output = command.output().expect("it runs");
            assert!(output.status.success(), "{name} {profile:?}: {}", stderr(&output));
        }
    }
}

#[test]
fn it_ends_as_the_command_does() {
    assert_eq!(exec(&[], "exit 7").status.code(), Some(7));
    assert_eq!(exec(&[], "kill -9 $$").status.code(), Some(128 + 9));
    let directory = tempfile::tempdir().expect("a directory");
    for (arguments, code, message) in [
        (&["exec", "--", "no-such-command"][..], 127, "no-such-command"),
        (&["exec", "--", "/"], 126, "/"),
        (&["exec"], 2, "COMMAND"),
        (&["exec", "--data-dir", "d", "--", "true"], 2, "--data-dir"),
        (&["exec", "--region", "Moon!", "--", "true"], 2, "region"),
    ] {
        let output = liteio(&directory).args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

/// `liteio` below `env`, which sets the dispositions of signals: those of the tests may be those of a job in the
/// background, whose interrupts are ignored.
fn below_env(directory: &tempfile::TempDir, signals: &str) -> Command {
    let inner = liteio(directory);
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,QUIT,HUP,TERM").arg(signals).arg(inner.get_program());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(directory.path()).stdin(Stdio::null());
    command
}

fn send(signal: &str, running: &Child) {
    let sent = Command::new("kill").args(["-s", signal, &running.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn signals_reach_the_command() {
    for (name, code) in [("INT", 3), ("TERM", 4), ("HUP", 5), ("QUIT", 6)] {
        let directory = tempfile::tempdir().expect("a directory");
        let script = "trap 'exit 3' INT; trap 'exit 4' TERM; trap 'exit 5' HUP; trap 'exit 6' QUIT; \
            echo ready; while :; do sleep 0.05; done";
        let mut command = below_env(&directory, "--default-signal");
        command.args(["exec", "--", "sh", "-c", script]).stdout(Stdio::piped());
        // Not in the foreground of the terminal where the tests may run, which would have told the command itself.
        command.process_group(0);
        let mut running = command.spawn().expect("it starts");
        let mut line = String::new();
        let stdout = running.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        send(name, &running);
        assert_eq!(running.wait().expect("it ends").code(), Some(code), "{name}");
    }
}

/// As `nohup` starts programs, and shells those in the background.
#[test]
fn signals_that_are_ignored_stay_ignored() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = below_env(&directory, "--ignore-signal=HUP,INT,QUIT");
    command.args(["exec", "--", "sh", "-c", "echo ready; read line; exit 7"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    let mut running = command.spawn().expect("it starts");
    let mut line = String::new();
    let stdout = running.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    for signal in ["HUP", "INT", "QUIT"] {
        send(signal, &running);
    }
    running.stdin.take().expect("a pipe").write_all(b"go on\n").expect("it reads");
    assert_eq!(running.wait().expect("it ends").code(), Some(7));
}
