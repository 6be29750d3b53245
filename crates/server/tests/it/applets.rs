//! The binary under its other names, as health checks and compose files of the image call it.

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};

use crate::command::{Running, liteio, stderr};

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

fn sh(directory: &tempfile::TempDir, script: &str) -> Output {
    run("/bin/sh", directory, &["-c", script])
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn scripts_do_what_they_do_in_a_shell() {
    let directory = directory();
    let rows = [
        ("echo a b", "a b\n", 0),
        ("A='a b'; echo $A \"$A\" ${B:-c}", "a b a b c\n", 0),
        ("true && echo yes || echo no", "yes\n", 0),
        ("false && echo yes || echo no", "no\n", 0),
        ("false || exit 3; echo never", "", 3),
        ("! false && echo yes", "yes\n", 0),
        ("if [ -d x ]; then echo x; elif [ -d . ]; then echo dot; else echo no; fi", "dot\n", 0),
        ("until [ -d x ]; do mkdir -p x; echo made; done", "made\n", 0),
        ("for i in 1 '2 3'; do echo $i; done", "1\n2 3\n", 0),
        ("for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done", "1\n3\n", 0),
        ("while true; do echo once; break; done", "once\n", 0),
        ("A=1; (A=2; echo $A; exit 5); echo $? $A", "2\n5 1\n", 0),
        ("set -e; false; echo never", "", 1),
        ("set -e; false || true; if false; then :; fi; ! true; echo yes", "yes\n", 0),
        ("set -u; echo $NO; echo never", "", 2),
        ("echo a >/dev/null; echo b 2>/dev/null; echo c >&2", "b\n", 0),
        ("sh -c 'echo $0 $1' name argument", "name argument\n", 0),
        ("A=1 sh -c 'echo ${A:-no}'; echo ${A:-no}", "1\nno\n", 0),
        ("export A=1; sh -c 'echo $A'", "1\n", 0),
        ("/usr/bin/echo by path", "by path\n", 0),
        ("exec echo last; echo never", "last\n", 0),
        ("(exec sh -c 'exit 4'); echo $?", "4\n", 0),
        ("sh -c 'exit 7'", "", 7),
        ("sleep 0 & wait; echo done", "done\n", 0),
        ("mkdir x1; (cd x1; mkdir y1); [ -d x1/y1 ] && [ ! -d y1 ] && echo back", "back\n", 0),
        ("sh -c 'for a in x \"$@\" y; do echo $a; done'", "x\ny\n", 0),
        ("set -euo pipefail; false; echo never", "", 1),
        ("./no-such-script", "", 127),
        ("n=1; until [ $n -gt 0 ]; do :; done; test 1 -lt $n", "", 1),
    ];
    for (script, expected, code) in rows {
        let output = sh(&directory, script);
        assert_eq!(stdout(&output), expected, "{script}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{script}: {}", stderr(&output));
    }
}

#[test]
fn nothing_of_a_refused_script_is_run() {
    let directory = directory();
    let output = sh(&directory, "mkdir x\necho a\njq http://a");
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
    assert!(stderr(&output).contains("line 3: there is no command \"jq\""), "{output:?}");
    assert!(!directory.path().join("x").exists());
}

#[test]
fn scripts_can_be_files_that_come_later() {
    let directory = directory();
    let script = directory.path().join("start.sh");
    fs::write(&script, "#!/bin/bash\necho $0 $1 \"$A\"\n").expect("a file");
    let output = run("bash", &directory, &["./start.sh", "one"]);
    assert_eq!(stdout(&output), "./start.sh one \n");
    let output =
        sh(&directory, "export A=a; while [ ! -f start.sh ]; do sleep 0.1; done; ./start.sh 1");
    assert_eq!(stdout(&output), "./start.sh 1 a\n", "{}", stderr(&output));
    fs::write(&script, "#!/usr/bin/python3\n").expect("a file");
    let output = sh(&directory, "./start.sh");
    assert_eq!(output.status.code(), Some(126), "{}", stderr(&output));
}

#[test]
fn a_server_that_a_script_starts_gets_the_signals() {
    let directory = directory();
    let script =
        "mkdir -p data && echo starting && liteio server --data-dir data --address 127.0.0.1:0";
    let server = Running::start(called("sh", &directory).args(["-c", script]));
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0), "{log}");
}

#[test]
fn a_signal_ends_a_script_and_what_it_started() {
    let directory = directory();
    let script = "liteio server --memory --address 127.0.0.1:0 & sleep infinity";
    let server = Running::start(called("sh", &directory).args(["-c", script]));
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(143));
    assert!(log.contains("stopping"), "{log}");
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
    let script = format!("curl -sf {missing} || exit 1");
    assert_eq!(sh(&directory, &script).status.code(), Some(1));
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

/// As CI services call it.
#[test]
fn shells_take_the_names_of_options() {
    let directory = directory();
    fs::write(directory.path().join("step"), "echo a; false; echo never\n").expect("a file");
    for (arguments, expected, code) in [
        (&["-eo", "pipefail", "-c", "false; echo never"][..], "", 1),
        (&["-euo", "pipefail", "-c", "echo $0", "name"], "name\n", 0),
        (&["-o", "errexit", "-c", "false; echo never"], "", 1),
        (&["-e", "+e", "-c", "false; echo on"], "on\n", 0),
        (&["--noprofile", "--norc", "-eo", "pipefail", "step"], "a\n", 1),
        (&["-o", "posix", "-c", "echo"], "", 2),
    ] {
        let output = run("bash", &directory, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), expected, "{arguments:?}");
    }
}

/// Of a script that has started no program yet.
#[test]
fn a_signal_ends_a_script_from_its_first_command_on() {
    let directory = directory();
    let mut shell = called("sh", &directory)
        .args(["-c", "cd /no/such; while :; do :; done"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let mut errors = std::io::BufReader::new(shell.stderr.take().expect("a pipe"));
    errors.read_line(&mut line).expect("a line");
    let sent = Command::new("kill").args(["-s", "TERM", &shell.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(shell.wait().expect("it ends").code(), Some(143), "{line}");
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
        ("localstack", &["stop"], "start"),
        ("mkdir", &["-m", "700", "x"], "-m"),
        ("tail", &["x"], "tail"),
        ("sh", &[], "script"),
        ("sh", &["-i"], "-i"),
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
