//! The command `liteio`: exit codes, messages, the start block, signals, health.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Linked, so that the standard library finds it in a static program, too: it starts a command that has a directory by `fork`
/// otherwise, and the pages of all tests are copied in the kernel.
#[cfg(target_os = "linux")]
#[used]
static SPAWN_IN_DIRECTORY: unsafe extern "C" fn(
    *mut libc::posix_spawn_file_actions_t,
    *const libc::c_char,
) -> libc::c_int = libc::posix_spawn_file_actions_addchdir_np;

/// The binary, in an empty directory of its own and without any setting from outside.
pub(crate) fn liteio(directory: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_liteio"));
    for (name, _) in std::env::vars_os() {
        let name_of = name.to_string_lossy();
        if ["LITEIO_", "MINIO_", "AWS_", "MC_", "RUST_LOG"]
            .iter()
            .any(|prefix| name_of.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
    command.current_dir(directory.path()).stdin(Stdio::null());
    command
}

/// A copy of the binary in the directory, where every user may run it.
pub(crate) fn copied(directory: &tempfile::TempDir) -> PathBuf {
    let program = directory.path().join("liteio");
    // By a process of its own: a child that another test starts meanwhile would inherit the open file, which
    // cannot be run until then.
    let copy =
        Command::new("cp").args([Path::new(env!("CARGO_BIN_EXE_liteio")), &program]).status();
    assert!(copy.expect("it runs").success());
    program
}

pub(crate) fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("messages are text")
}

/// The lines about requests, of a log in JSON.
pub(crate) fn access_lines(log: &str) -> Vec<serde_json::Value> {
    let lines = log.lines().map(|line| serde_json::from_str(line).expect("every line is JSON"));
    lines.filter(|line: &serde_json::Value| line["target"] == "liteio::access").collect()
}

/// A server that is killed when the test ends.
pub(crate) struct Running {
    child: Child,
    block: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut block = String::new();
        // The last line is the one to paste, with an empty one after it.
        while !block.contains("aws --endpoint-url") {
            match lines.next() {
                Some(line) => block.push_str(&(line.expect("text") + "\n")),
                None => panic!("the server ended after {block:?}"),
            }
        }
        Running { child, block }
    }

    /// The first line of standard output of a server, which is ended then.
    pub(crate) fn first_line(command: &mut Command) -> String {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let line = lines.next().expect("a line").expect("text");
        drop(Running { child, block: String::new() });
        line
    }

    /// The same, with arguments and environment, in this directory.
    pub(crate) fn start_with(
        directory: &tempfile::TempDir,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Running {
        let mut command = liteio(directory);
        Running::start(command.args(arguments).envs(environment.iter().copied()))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The start block.
    pub(crate) fn block(&self) -> &str {
        &self.block
    }

    pub(crate) fn endpoint(&self) -> &str {
        let line = self.block.lines().find_map(|line| line.trim().strip_prefix("Endpoint"));
        line.expect("the block names the endpoint").trim()
    }

    /// Waits for a line of the log that has this part. Returns the log from where the last call has ended.
    pub(crate) fn logs(&mut self, part: &str) -> String {
        let stderr = self.child.stderr.as_mut().expect("a pipe");
        let mut log = Vec::new();
        // Byte by byte: what is behind the line is for the next call.
        let mut byte = [0];
        loop {
            let start = log.len();
            while log.last() != Some(&b'\n') || log.len() == start {
                stderr.read_exact(&mut byte).expect("the log goes on");
                log.extend(byte);
            }
            if String::from_utf8_lossy(&log[start..]).contains(part) {
                return String::from_utf8(log).expect("text");
            }
        }
    }

    /// Sends a signal.
    pub(crate) fn send(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Sends a signal, waits for the end, returns the exit code and what was logged.
    pub(crate) fn signal(mut self, name: &str) -> (Option<i32>, String) {
        self.send(name);
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut log).expect("text");
        let status = self.child.wait().expect("it ends");
        (status.code(), log)
    }
}

impl Running {
    /// The same, with the signal again and again.
    fn signal_until_end(mut self, name: &str) -> (Option<i32>, String) {
        let status = loop {
            self.send(name);
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
        };
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut log).expect("text");
        (status.code(), log)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn bad_settings_are_one_line_and_exit_code_2_before_anything_is_touched() {
    type Row = (&'static [&'static str], &'static [(&'static str, &'static str)], &'static str);
    const BOTH: &[(&str, &str)] = &[
        ("LITEIO_ACCESS_KEY", "alice"),
        ("LITEIO_SECRET_KEY", "a-secret-key"),
        ("LITEIO_SECRET_KEY_FILE", "secret"),
    ];
    let rows: [Row; 33] = [
        (&["--memory"], BOTH, "LITEIO_SECRET_KEY and LITEIO_SECRET_KEY_FILE are both set"),
        (&["--tls-cert", "a.pem"], &[], "--tls-key"),
        (&["--tls-cert", "a", "--tls-key", "b", "--tls-self-signed"], &[], "--tls-self-signed"),
        (&["--memory", "--plain-address", "127.0.0.1:0"], &[], "--plain-address"),
        (
            &["--tls-self-signed", "--plain-address", "0.0.0.0:0"],
            &[],
            "LITEIO_ACCESS_KEY and LITEIO_SECRET_KEY",
        ),
        (&["--trusted-proxy", "10.0.0.1/8"], &[], "--trusted-proxy"),
        (&["--memory", "--data-dir", "d"], &[], "--data-dir"),
        (&["server", "--memory", "--durability", "os"], &[], "--durability"),
        (&["--access-key", "alice"], &[], "LITEIO_SECRET_KEY"),
        (&["--address", "0.0.0.0:0"], &[], "LITEIO_ACCESS_KEY and LITEIO_SECRET_KEY"),
        (&["--address", "nonsense"], &[], "--address"),
        (&["--region", "Moon!"], &[], "region"),
        (&["--bucket", "a:public"], &[], "--bucket"),
        (&[], &[("LITEIO_BUCKET", "photos,photos:open")], "LITEIO_BUCKET"),
        (&["--cors-origin", "example.com"], &[], "LITEIO_CORS_ORIGIN"),
        (&["--no-such-flag"], &[], "--no-such-flag"),
        (&["server", "--memory", "--nope"], &[], "unexpected argument '--nope' found\n"),
        (
            &["server", "--lgo", "debug"],
            &[],
            "'--lgo' found; tip: a similar argument exists: '--log'\n",
        ),
        (&["--lgo=debug"], &[], "'--lgo' found; tip: a similar argument exists: '--log'\n"),
        (&["exec", "--lgo", "debug", "--", "true"], &[], "exists: '--log'; write `--` before"),
        (&["backup", "../vd", "../bk"], &[], "write `liteio backup copy --data-dir ../vd ../bk`\n"),
        (&["standby", "s3://b/p", "d", "--endpoint", "x"], &[], "write `--backup-endpoint`\n"),
        (&["standby", "--key-file", "x", "b", "d"], &[], "write `--backup-key-file`\n"),
        (&["no-such-command"], &[], "no-such-command"),
        (&["--data-dir"], &[], "liteio: a value is required for '--data-dir"),
        (&["-d"], &[], "liteio: a value is required for '--data-dir"),
        (&["--memory", "server"], &[], "write the options behind `server`, or leave `server` out"),
        (&["--memory", "verify"], &[], "write those of `verify` behind it\n"),
        (&[], &[("LITEIO_ACCESS_KEY", "alice"), ("LITEIO_SECRET_KEY", "short")], "secret key"),
        (
            &[],
            &[("LITEIO_ACCES_KEY", "alice"), ("LITEIO_SECRET_KEY", "long-enough")],
            "did you mean LITEIO_ACCESS_KEY?",
        ),
        (&[], &[("LITEIO_MEMORY", "perhaps")], "perhaps"),
        (&[], &[("LITEIO_AUDIT_FILE_SIZE", "10MB")], "<MIB>': give a whole number, without a unit"),
        (&["health"], &[("LITEIO_ADDRESS", "nonsense")], "--address"),
    ];
    for (arguments, environment, expected) in rows {
        let directory = directory();
        let mut command = liteio(&directory);
        command.args(arguments).envs(environment.iter().copied());
        let output = command.output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert_eq!(message.lines().count(), 1, "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let left = std::fs::read_dir(directory.path()).expect("the directory").count();
        assert_eq!(left, 0, "{arguments:?} has touched the directory");
    }
}

#[test]
fn help_names_every_variable_and_shows_no_secret() {
    let directory = directory();
    let mut command = liteio(&directory);
    command.arg("--help").env("LITEIO_SECRET_KEY", "a secret");
    let output = command.env("LITEIO_BACKUP_SECRET_KEY", "a secret").output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8(output.stdout).expect("text");
    let names = [
        "ADDRESS",
        "DATA_DIR",
        "MEMORY",
        "DURABILITY",
        "ACCESS_KEY",
        "SECRET_KEY",
        "CREDENTIALS_FILE",
        "MASTER_KEY_FILE",
        "MASTER_KEY",
        "KMS_KEY_FILE",
        "ALLOW_INSECURE_SSE_C",
        "ALLOW_SIGNATURE_V2",
        "REGION",
        "DOMAIN",
        "BUCKET",
        "BUCKET_FILE",
        "SEED",
        "CORS_ORIGIN",
        "BACKUP",
        "BACKUP_KEY_FILE",
        "BACKUP_SECRET_KEY",
        "LOG",
        "LOG_FORMAT",
        "ALLOW_DEFAULT_CREDENTIALS",
    ];
    for name in names {
        assert!(help.contains(&format!("LITEIO_{name}")), "{name} is not in {help}");
    }
    assert!(help.contains("health") && help.contains("verify"), "{help}");
    assert!(!help.contains("a secret"), "{help}");
}

#[test]
fn an_address_in_use_is_one_line_and_exit_code_1() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let directory = directory();
    let output = liteio(&directory).args(["--address", &address]).output().expect("it runs");
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(&address) && message.contains("--address"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    let left = std::fs::read_dir(directory.path()).expect("the directory").count();
    assert_eq!(left, 0, "the directory has been touched");
}

#[test]
fn a_server_that_is_started_twice_is_told_so() {
    let directory = directory();
    let server = Running::start_with(&directory, &["--address", "127.0.0.1:0"], &[]);
    let address = server.endpoint().trim_start_matches("http://");
    for (data, is_twice) in [("data", true), ("other", false)] {
        let mut again = liteio(&directory);
        let output = again.args(["--address", address, "--data-dir", data]).output();
        let message = stderr(&output.expect("it runs"));
        let told =
            format!("the data directory {data} is in use, too: maybe this server runs already");
        assert_eq!(message.contains(&told), is_twice, "{message}");
        assert!(message.contains("choose another with --address"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn a_part_of_the_address_counts_or_is_told() {
    let directory = directory();
    let address = ["--memory", "--address", "127.0.0.1:0"];
    for part in [["--port", "9001"], ["--port", "0"], ["--host", "localhost"]] {
        let output = liteio(&directory).args(address).args(part).output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&format!("remove {} {}", part[0], part[1])), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    for (port, told) in
        [("9001", "LITEIO_PORT 9001 has no effect beside LITEIO_ADDRESS"), ("0", "")]
    {
        let variables = [("LITEIO_ADDRESS", "127.0.0.1:0"), ("LITEIO_PORT", port)];
        let server = Running::start_with(&directory, &["--memory"], &variables);
        let (_, log) = server.signal("TERM");
        assert_eq!(log.contains("has no effect"), !told.is_empty(), "{log}");
        assert!(log.contains(told), "{log}");
    }
}

#[test]
fn the_time_of_a_fence_is_behind_an_equals_sign() {
    let directory = directory();
    for (arguments, meant) in [
        (&["--fence", "2"][..], "--fence=2s"),
        (&["server", "--fence", "500ms"], "--fence=500ms"),
        (&["standby", "file:///backup", "new", "--fence", "1m"], "--fence=1m"),
    ] {
        let output = liteio(&directory).args(arguments).output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.ends_with(&format!("write {meant}\n")), "{message}");
    }
}

#[test]
fn files_of_settings_that_cannot_be_read_are_exit_code_2_and_name_flag_and_variable() {
    let directory = directory();
    let wrong = directory.path().join("wrong");
    std::fs::write(&wrong, "sesame").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&wrong, mode).expect("set");
    for flag in ["--credentials-file", "--master-key-file", "--kms-key-file"] {
        let variable = format!("LITEIO_{}", flag[2..].to_uppercase().replace('-', "_"));
        for file in ["absent", "wrong"] {
            let mut command = liteio(&directory);
            command.args(["--address", "127.0.0.1:0"]).env(&variable, file);
            let output = command.output().expect("it runs");
            let message = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{message}");
            assert!(message.contains(&format!("{flag} ({variable}): ")), "{message}");
            assert!(message.contains(file) && message.lines().count() == 1, "{message}");
            assert!(!message.contains("sesame"), "{message}");
            assert!(!directory.path().join("data").exists());
        }
    }
}

#[test]
fn it_starts_without_settings_says_how_to_use_it_and_stops_on_signals() {
    for (command, signal) in [("server", "TERM"), ("", "INT")] {
        let directory = directory();
        let mut liteio_command = liteio(&directory);
        liteio_command.args([command].iter().filter(|word| !word.is_empty()));
        let server = Running::start(liteio_command.args(["--memory", "--address", "127.0.0.1:0"]));
        let endpoint = server.endpoint().to_owned();
        assert!(!endpoint.ends_with(":0"), "the real port: {endpoint}");
        for part in ["us-east-1", "liteio / liteio123", "in memory", &*endpoint] {
            assert!(server.block.contains(part), "{part} is not in {}", server.block);
        }

        let healthy = liteio(&directory).args(["health", &endpoint]).output().expect("it runs");
        assert_eq!(healthy.status.code(), Some(0), "{}", stderr(&healthy));
        let address = endpoint.strip_prefix("http://").expect("a URL");
        let encrypted = liteio(&directory).args(["health", &format!("https://{address}")]).output();
        let told = stderr(&encrypted.expect("it runs"));
        assert!(told.contains("speaks plain HTTP there"), "{told}");
        let by_variable = liteio(&directory)
            .arg("health")
            .env("LITEIO_ADDRESS", address)
            .env("LITEIO_MEMORY", "1") // A setting of the server's, which health must not mind.
            .output();
        assert_eq!(by_variable.expect("it runs").status.code(), Some(0));

        let (code, log) = server.signal(signal);
        assert_eq!(code, Some(0), "{log}");
        let gone = liteio(&directory).args(["health", &endpoint]).output().expect("it runs");
        assert_eq!(gone.status.code(), Some(1));
        assert_eq!(stderr(&gone).lines().count(), 1, "{}", stderr(&gone));
    }
}

/// Sends a request to a server that checks no signatures. Returns the connection, and the status of the first answer.
fn ask(address: &str, request: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).expect("it accepts");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut status = String::new();
    let mut answer = BufReader::new(stream.try_clone().expect("a second handle"));
    answer.read_line(&mut status).expect("it answers");
    (stream, status)
}

#[test]
fn a_second_signal_cuts_off_the_requests_that_the_first_waits_for() {
    let directory = directory();
    let arguments = ["--no-auth", "--bucket", "mine", "--address", "127.0.0.1:0"];
    for signal in ["INT", "TERM"] {
        let mut server = Running::start_with(&directory, &arguments, &[]);
        let address = server.endpoint().strip_prefix("http://").expect("a URL").to_owned();
        let put =
            |key| format!("PUT /mine/{key} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 4\r\n");
        let (_, kept) = ask(&address, &format!("{}\r\nkept", put("kept")));
        assert_eq!(kept, "HTTP/1.1 200 OK\r\n");
        // It is answered once the server waits for the body, which never comes.
        let (_open, waits) = ask(&address, &format!("{}expect: 100-continue\r\n\r\n", put("open")));
        assert_eq!(waits, "HTTP/1.1 100 Continue\r\n");
        server.send(signal);
        let told = server.logs("waiting up to 30 s for requests in flight");
        assert!(told.contains("a second Ctrl-C or SIGTERM cuts them off requests="), "{told}");
        let begun = Instant::now();
        // One that comes at once is taken for the first, which a wrapper passes on.
        let (code, log) = server.signal_until_end(signal);
        assert!(begun.elapsed() < Duration::from_secs(20), "{log}");
        assert_eq!(code, Some(0), "{log}");
        assert!(log.contains("requests still in flight are cut off"), "{log}");
    }
    let server = Running::start_with(&directory, &arguments, &[]);
    let address = server.endpoint().strip_prefix("http://").expect("a URL");
    for (key, status) in [("kept", "HTTP/1.1 200 OK\r\n"), ("open", "HTTP/1.1 404 Not Found\r\n")] {
        let get = format!("GET /mine/{key} HTTP/1.1\r\nhost: {address}\r\n\r\n");
        assert_eq!(ask(address, &get).1, status, "{key}");
    }
}

/// The handler of that signal is for faults under a map, and must not swallow one that somebody sends.
#[test]
fn a_bus_error_that_a_process_sends_ends_it() {
    let directory = directory();
    let server = Running::start(liteio(&directory).args(["--address", "127.0.0.1:0", "--memory"]));
    let (code, _) = server.signal("BUS");
    assert_eq!(code, None, "by the signal, without a code");
}

#[test]
fn flags_mix_with_variables_and_a_set_secret_is_never_shown() {
    let directory = directory();
    let server = Running::start(
        liteio(&directory)
            .args(["--access-key", "alice"])
            .env("LITEIO_SECRET_KEY", "correct horse")
            .env("LITEIO_MEMORY", "yes")
            .env("LITEIO_ADDRESS", "127.0.0.1:0"),
    );
    assert!(server.block.contains("alice") && server.block.contains("in memory"));
    assert!(!server.block.contains("correct horse"), "{}", server.block);
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0));
    assert!(!log.contains("correct horse"), "{log}");
}

#[test]
fn a_key_in_a_variable_goes_with_a_secret_in_a_file() {
    let directory = directory();
    std::fs::write(directory.path().join("secret"), "correct horse\n").expect("written");
    let server = Running::start(
        liteio(&directory)
            .args(["--memory", "--address", "127.0.0.1:0"])
            .env("LITEIO_ACCESS_KEY", "alice")
            .env("LITEIO_SECRET_KEY_FILE", "secret"),
    );
    assert!(server.block.contains("alice"), "{}", server.block);
}

#[test]
fn a_variable_that_nothing_reads_is_warned_of() {
    let directory = directory();
    let mut command = liteio(&directory);
    command.args(["--memory", "--address", "127.0.0.1:0"]);
    let server = Running::start(command.env("LITEIO_SECRET_KAY", "hush-hush"));
    let (_, log) = server.signal("TERM");
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains("LITEIO_SECRET_KAY") && !log.contains("hush-hush"), "{log}");
}

/// Sends requests for a missing object whose name is of 1,000 bytes, and waits for the answer to each.
fn ask_for_long_names(address: &str, requests: usize) {
    let mut stream = TcpStream::connect(address).expect("it accepts");
    let request = format!("HEAD /bucket/{} HTTP/1.1\r\nhost: x\r\n\r\n", "k".repeat(1_000));
    let mut answers = BufReader::new(stream.try_clone().expect("a second handle"));
    for _ in 0..requests {
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            answers.read_line(&mut line).expect("it answers");
            assert!(!line.is_empty(), "the connection is kept");
        }
    }
}

#[test]
fn whoever_reads_the_log_holds_up_no_request_and_learns_how_many_lines_were_dropped() {
    let directory = directory();
    let server = Running::start(liteio(&directory).args(["--memory", "--address", "127.0.0.1:0"]));
    let address = server.endpoint().strip_prefix("http://").expect("a URL").to_owned();
    // More than the pipe and the buffer of the log hold together. Nobody reads the pipe meanwhile.
    let requests = 3_000;
    ask_for_long_names(&address, requests);
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0));
    let logged = log.lines().filter(|line| line.contains("liteio::access")).count();
    let dropped = log.lines().filter_map(|line| line.split_once("dropped=")).map(|(_, count)| {
        let digits = count.split(' ').next().expect("a first word");
        digits.parse::<usize>().expect("a number")
    });
    let dropped: usize = dropped.sum();
    assert!(dropped > 0, "{logged} lines");
    // A few lines are of the server itself, and may have been dropped, too.
    assert!((requests..requests + 5).contains(&(logged + dropped)), "{logged} and {dropped}");
}

#[test]
fn every_request_is_one_line_in_the_log() {
    let directory = directory();
    let server = Running::start(liteio(&directory).args([
        "--memory",
        "--address",
        "127.0.0.1:0",
        "--log-format",
        "json",
    ]));
    let address = server.endpoint().strip_prefix("http://").expect("a URL").to_owned();
    let mut stream = TcpStream::connect(address).expect("it accepts");
    let request = "PUT /bucket/a%20key%0a?x-id=hush HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
                   content-length: 0\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let id = answer.lines().find_map(|line| line.strip_prefix("x-amz-request-id: "));
    let id = id.expect("every answer has an id");
    let (_, log) = server.signal("TERM");
    let lines = access_lines(&log);
    assert_eq!(lines.len(), 1, "{log}");
    let line = &lines[0];
    assert_eq!(line["id"], id);
    assert_eq!(line["method"], "PUT");
    assert!(line["client"].as_str().is_some_and(|client| client.starts_with("127.0.0.1:")));
    assert_eq!((&line["operation"], &line["query"]), (&"PutObject".into(), &"x-id".into()));
    let code = answer.split_once("<Code>").and_then(|(_, rest)| rest.split_once('<'));
    assert_eq!(line["code"], code.expect("an error").0);
    // Without a signature there is no user, and no value of a parameter is logged.
    assert!(line.get("user").is_none() && !log.contains("hush"), "{log}");
    assert_eq!(line["bucket"], "bucket");
    assert_eq!(line["key"], "a key\n");
    let status: u64 = answer.split(' ').nth(1).expect("a status").parse().expect("a number");
    assert_eq!(line["status"], status);
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    assert_eq!((&line["bytes_in"], &line["bytes_out"]), (&0.into(), &body.len().into()));
    assert!(line["milliseconds"].as_f64().is_some_and(|milliseconds| milliseconds >= 0.0));
}

/// `liteio key …`, its output and its exit code.
fn key(directory: &tempfile::TempDir, arguments: &[&str]) -> (String, Option<i32>) {
    let output = liteio(directory).arg("key").args(arguments).output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).expect("text"), output.status.code())
}

#[test]
fn keys_are_made_replaced_and_retired() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = directory();
    let file = directory.path().join("master.key");
    let path = file.to_str().expect("text");
    let keys = || std::fs::read_to_string(&file).expect("keys");
    assert_eq!(key(&directory, &["new", path]).1, Some(0));
    let first = keys();
    assert_eq!(first.trim().len(), 44);
    let mode = std::fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (message, code) = key(&directory, &["new", path]);
    assert!(code == Some(1) && message.contains("rotate"), "{message}");
    assert_eq!(keys(), first, "it is kept");

    let data = directory.path().join("data");
    let data = data.to_str().expect("text").to_owned();
    let serve = || {
        let mut command = liteio(&directory);
        command.args(["--address", "127.0.0.1:0", "--data-dir", &data, "--master-key-file", path]);
        Running::start(&mut command)
    };
    let body = |server: &Running, method: &'static str| {
        let address = server.endpoint().strip_prefix("http://").expect("a URL").parse();
        let user = crate::harness::User {
            access_key: "liteio",
            secret_key: "liteio123",
            ..crate::harness::ALICE
        };
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let address = address.expect("an address");
            let request = |method, path: &str| {
                crate::harness::RawRequest::of_s3(address, "us-east-1", method, path).by(user)
            };
            if method == "PUT" {
                request("PUT", "/mine").send().await.expect_status(200);
                let put = request("PUT", "/mine/key").body("secret text");
                let put = put.header("x-amz-server-side-encryption", "AES256");
                put.send().await.expect_status(200);
            }
            request("GET", "/mine/key").send().await
        })
    };
    let server = serve();
    assert_eq!(body(&server, "PUT").expect_status(200).text(), "secret text");
    drop(server);

    let (message, code) = key(&directory, &["rotate", path]);
    assert_eq!(code, Some(0), "{message}");
    assert!(keys().ends_with(&first) && keys().lines().count() == 2);
    let newest = keys().lines().next().expect("a key").to_owned();
    assert!(!message.contains(&newest) && !message.contains(first.trim()), "{message}");
    let server = serve();
    assert_eq!(body(&server, "GET").expect_status(200).text(), "secret text");
    drop(server);

    let rewrap = || key(&directory, &["rewrap", "--data-dir", &data, "--master-key-file", path]);
    let (message, code) = rewrap();
    assert!(code == Some(0) && message.contains("1 objects and uploads"), "{message}");
    std::fs::write(&file, format!("{newest}\n")).expect("only the newest is left");
    let server = serve();
    assert_eq!(body(&server, "GET").expect_status(200).text(), "secret text");
    drop(server);

    std::fs::write(&file, &first).expect("another key");
    let server = serve();
    body(&server, "GET").expect_error(400, "KMS.NotFoundException");
    drop(server);
    let (message, code) = rewrap();
    assert!(code == Some(1) && message.contains("not given"), "{message}");
}

#[test]
fn a_small_limit_of_open_files_is_warned_of_and_named_when_it_is_reached() {
    use std::io::Read as _;
    let directory = directory();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 256 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_liteio")]);
    command.args(["--memory", "--address", "127.0.0.1:0"]).current_dir(directory.path());
    let server = Running::start(&mut command);
    let address = server.endpoint().trim_start_matches("http://").to_owned();
    let connect = || std::net::TcpStream::connect(&address).expect("connected");
    // An address may have half of the 112 connections, and 16 more are told of that at a time.
    let mut open: Vec<_> = (0..60).map(|_| connect()).collect();
    let mut refusal = String::new();
    open[59].read_to_string(&mut refusal).expect("an answer");
    assert!(refusal.contains("<Code>SlowDown</Code>"), "{refusal}");
    drop(open);
    let (_, log) = server.signal("TERM");
    let warning = "the limit of open files is 256, which leaves 112 connections";
    assert_eq!(log.matches(warning).count(), 1, "{log}");
    assert!(log.contains("reason=\"too many open connections"), "{log}");
}

#[test]
fn a_key_that_is_rotated_stays_that_of_its_owner() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    const OTHER: u32 = 65_534;
    let directory = directory();
    let file = directory.path().join("master.key");
    assert_eq!(key(&directory, &["new", "master.key"]).1, Some(0));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("changed");
    let is_root = std::fs::metadata(&file).expect("there").uid() == 0;
    if is_root {
        chown(&file, Some(OTHER), Some(OTHER)).expect("the owner changes");
    }
    let about = || {
        let about = std::fs::metadata(&file).expect("there");
        (about.uid(), about.gid(), about.mode() & 0o777)
    };
    let before = about();
    let (message, code) = key(&directory, &["rotate", "master.key"]);
    assert_eq!(code, Some(0), "{message}");
    assert_eq!(about(), before);
    if !is_root {
        return;
    }
    // Another user may write the directory, but cannot give the file to its owner.
    let program = copied(&directory);
    for path in [directory.path(), &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("changed");
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("changed");
    chown(&file, Some(0), Some(0)).expect("the owner changes");
    let keys = || std::fs::read_to_string(&file).expect("keys");
    let (former, before) = (keys(), about());
    let mut command = Command::new(&program);
    command.current_dir(directory.path()).uid(OTHER).gid(OTHER);
    let output = command.args(["key", "rotate", "master.key"]).output().expect("it runs");
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("belongs to user 0") && message.lines().count() == 1, "{message}");
    assert_eq!((keys(), about()), (former, before));
    assert!(!directory.path().join("master.key.new").exists());
    // Nor does it read what only its owner may.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("changed");
    let mut command = Command::new(&program);
    command.current_dir(directory.path()).uid(OTHER).gid(OTHER);
    command.args(["--memory", "--address", "127.0.0.1:0", "--master-key-file", "master.key"]);
    let message = stderr(&command.output().expect("it runs"));
    assert!(message.contains(&format!("user {OTHER} cannot read master.key")), "{message}");
    let advice = format!("chown root:{OTHER} master.key && chmod 640 master.key");
    assert!(message.contains(&advice), "{message}");
}

#[test]
fn a_file_of_another_user_in_the_data_directory_is_told_with_the_command() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    const OTHER: u32 = 65_534;
    for name in ["lock", "blobs"] {
        let directory = directory();
        let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0"];
        drop(Running::start(liteio(&directory).args(arguments)));
        let data = directory.path().join("data");
        let program = copied(&directory);
        let mut command = Command::new(&program);
        let file = data.join(name);
        let own = std::fs::metadata(&file).expect("there").uid();
        let mut user = own;
        if own == 0 {
            // As after `sudo liteio`, and a `chown` of the directory alone.
            user = OTHER;
            command.uid(OTHER).gid(OTHER);
            for path in [directory.path(), &data] {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))
                    .expect("set");
            }
            for entry in std::fs::read_dir(&data).expect("readable") {
                let path = entry.expect("an entry").path();
                if path != file {
                    chown(&path, Some(OTHER), Some(OTHER)).expect("the owner changes");
                }
            }
        } else {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).expect("set");
        }
        let output = command.current_dir(directory.path()).args(arguments).output();
        let output = output.expect("it runs");
        let message = stderr(&output);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).expect("set");
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(&format!("owned by user {own} with mode")), "{message}");
        let advice = match user == own {
            true => "chmod -R u+rwX data".to_owned(),
            false => format!("chown -R {user} data"),
        };
        let path = format!("data/{name}, ");
        assert!(message.contains(&path) && message.contains(&advice), "{message}");
    }
}

#[test]
fn a_restore_below_a_directory_that_cannot_be_written_names_user_and_owner() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    const OTHER: u32 = 65_534;
    let directory = directory();
    drop(Running::start_with(&directory, &["--data-dir", "data", "--address", "127.0.0.1:0"], &[]));
    let location = format!("file://{}", directory.path().join("backup").display());
    let now = ["backup", "now", "--data-dir", "data", &location];
    let made = liteio(&directory).args(now).output().expect("it runs");
    assert!(made.status.success(), "{}", stderr(&made));
    let closed = directory.path().join("closed");
    std::fs::create_dir(&closed).expect("made");
    let own = std::fs::metadata(&closed).expect("there").uid();
    let program = copied(&directory);
    let mut command = Command::new(&program);
    let (mut user, mut mode) = (own, 0o555);
    if own == 0 {
        (user, mode) = (OTHER, 0o755);
        command.uid(OTHER).gid(OTHER);
        let all = Command::new("chmod").args(["-R", "a+rwX"]).arg(directory.path()).status();
        assert!(all.expect("chmod runs").success());
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).expect("set");
    let output = command.current_dir(directory.path()).args(["restore", &location, "closed/new"]);
    let output = output.output().expect("it runs");
    let message = stderr(&output);
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).expect("set");
    assert_eq!(output.status.code(), Some(1), "{message}");
    let told =
        format!("user {user} cannot write to closed, which is owned by user {own} with mode");
    assert!(message.contains(&told) && !message.contains("--data-dir"), "{message}");
}

#[test]
fn a_command_of_root_tells_of_its_files_in_the_directory_of_another_user() {
    use std::os::unix::fs::MetadataExt as _;
    let directory = directory();
    drop(Running::start_with(&directory, &["--data-dir", "data", "--address", "127.0.0.1:0"], &[]));
    // Without root there is no second user.
    if std::fs::metadata(directory.path()).expect("there").uid() != 0 {
        return;
    }
    for (owner, is_told) in [("65534", true), ("0", false)] {
        let mut chown = Command::new("chown");
        let changed = chown.args(["-R", owner, "data"]).current_dir(directory.path()).status();
        assert!(changed.expect("it runs").success());
        let repair = ["repair", "--data-dir", "data", "--yes"];
        let output = liteio(&directory).args(repair).output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{message}");
        let advice = format!("chown -R {owner} {}/data", directory.path().display());
        assert_eq!(message.contains(&advice), is_told, "{message}");
        assert_eq!(message.is_empty(), !is_told, "{message}");
    }
}

#[test]
fn the_advice_about_a_directory_does_not_change_the_owner_of_others() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    const OTHER: u32 = 65_534;
    let directory = directory();
    let program = copied(&directory);
    let set = |name: &str, mode| {
        let path = directory.path().join(name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
    };
    for name in ["taken", "empty", "own", "closed"] {
        std::fs::create_dir(directory.path().join(name)).expect("made");
    }
    std::fs::write(directory.path().join("taken/file"), "of somebody").expect("written");
    let own = std::fs::metadata(directory.path()).expect("there").uid();
    // Without root there is no second user.
    let (user, others) = if own == 0 { (OTHER, own) } else { (own, own) };
    chown(directory.path().join("own"), Some(user), None).expect("the owner changes");
    for name in ["taken", "empty", "own"] {
        set(name, 0o555);
    }
    set("closed", 0o600);
    set("", 0o755);
    for (data, of_root, of_user) in [
        ("own", "chmod -R u+rwX own", "chmod -R u+rwX own"),
        ("empty", "chown -R 65534 empty", "chmod -R u+rwX empty"),
        ("taken", "name a directory of yours", "chmod -R u+rwX taken"),
        ("taken/new", "install -d -o 65534 taken/new", "install -d"),
        ("closed/new", "cannot enter closed", "cannot enter closed"),
    ] {
        let mut command = Command::new(&program);
        if user != others {
            command.uid(user).gid(user);
        }
        let arguments = ["--data-dir", data, "--address", "127.0.0.1:0"];
        let output = command.current_dir(directory.path()).args(arguments).output();
        let message = stderr(&output.expect("it runs"));
        let advice = if user == others { of_user } else { of_root };
        assert!(message.contains(advice), "{data}: {message}");
        assert!(data == "empty" || !message.contains("chown"), "{data}: {message}");
    }
    for name in ["taken", "empty", "own", "closed"] {
        set(name, 0o755);
    }
}

#[test]
fn a_reload_tells_that_settings_need_a_restart() {
    let directory = directory();
    let arguments = ["--memory", "--address", "127.0.0.1:0"];
    let mut server = Running::start_with(&directory, &arguments, &[]);
    let sent = Command::new("kill").args(["-s", "HUP", &server.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let log = server.logs("need a restart");
    assert!(log.contains("LITEIO_SECRET_KEY"), "{log}");
}

#[test]
fn kms_keys_are_added_and_replaced() {
    let directory = directory();
    let file = directory.path().join("kms.toml");
    let path = file.to_str().expect("text");
    for name in ["reports", "arn:aws:kms:eu:1:key/a"] {
        let (message, code) = key(&directory, &["new", path, "--name", name]);
        assert_eq!(code, Some(0), "{message}");
        assert_eq!(key(&directory, &["new", path, "--name", name]).1, Some(1));
    }
    assert_eq!(key(&directory, &["rotate", path, "--name", "reports"]).1, Some(0));
    assert_eq!(key(&directory, &["rotate", path, "--name", "missing"]).1, Some(1));
    assert_eq!(key(&directory, &["new", path, "--name", "a b"]).1, Some(1));
    let text = std::fs::read_to_string(&file).expect("keys");
    assert_eq!((text.matches("[[key]]").count(), text.matches("=\",").count()), (2, 3), "{text}");
    let mut command = liteio(&directory);
    drop(Running::start(command.args([
        "--memory",
        "--address",
        "127.0.0.1:0",
        "--kms-key-file",
        path,
    ])));
    std::fs::write(&file, "[[key]]\nname = 1").expect("written");
    let output = command.output().expect("it runs");
    assert!(stderr(&output).contains("line 2"), "{}", stderr(&output));
}
