//! Startup scripts of LocalStack images: `/etc/localstack/init/ready.d/*.sh`, run once the server answers.
//!
//! ```text
//! server answers ──► scripts, in the order of their paths ──► "Ready."
//!                      └── awslocal, aws: what they do not understand comes back over a socket
//! ```
//!
//! A script that fails is logged, as in LocalStack: a bucket may be left of an earlier start. A command that
//! `awslocal` does not understand ends the start, even if the script ignores its failure, because tests would
//! then miss a service without a word.

use std::fs;
use std::io::{self, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// The directory of LocalStack's scripts, one directory for each stage below it.
pub(crate) const DIRECTORY: &str = "/etc/localstack/init";
/// The stages that are not run.
const OTHER_STAGES: [&str; 3] = ["boot", "start", "shutdown"];
/// The address for the reports of `awslocal` (`liteio_client::run_aws`).
const REPORT_VARIABLE: &str = "LITEIO_INIT_REPORT";
/// Depth of directories below a stage.
const DEPTH_MAX: usize = 8;
/// Bytes of a report; a longer one is cut.
const REPORT_BYTES_MAX: u64 = 4096;

/// The scripts of a server, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scripts(Vec<PathBuf>);

impl Scripts {
    /// Finds the scripts below a directory of stages.
    ///
    /// # Errors
    /// The name of a file that would have to be run and cannot be.
    pub(crate) fn find(stages: &Path) -> Result<Scripts, String> {
        for stage in OTHER_STAGES {
            let mut found = Vec::new();
            files(&stages.join(format!("{stage}.d")), 0, &mut found)?;
            if let Some(file) = found.first() {
                return Err(format!(
                    "{} is not run here: only scripts in {} are; move it there",
                    file.display(),
                    stages.join("ready.d").display()
                ));
            }
        }
        let mut found = Vec::new();
        files(&stages.join("ready.d"), 0, &mut found)?;
        let has_end = |file: &PathBuf, end: &str| file.extension().is_some_and(|it| it == end);
        if let Some(file) = found.iter().find(|it| has_end(it, "py") || has_end(it, "tf")) {
            return Err(format!(
                "{} is not run here: this image runs scripts of a shell only (.sh)",
                file.display()
            ));
        }
        // LocalStack leaves out others, too: they are data of the scripts.
        found.retain(|it| has_end(it, "sh"));
        found.sort();
        Ok(Scripts(found))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs the scripts, with a server at an endpoint. A future that is dropped ends the script that runs.
    ///
    /// # Errors
    /// A command that `awslocal` did not understand, or why a script cannot be run.
    pub(crate) async fn run(self, endpoint: &str, region: &str) -> Result<(), String> {
        let cannot = |error: io::Error| format!("startup scripts cannot be run: {error}");
        let reports = TcpListener::bind("127.0.0.1:0").map_err(cannot)?;
        reports.set_nonblocking(true).map_err(cannot)?;
        let address = reports.local_addr().map_err(cannot)?;
        for script in self.0 {
            let shown = script.display();
            tracing::info!(script = %shown, "running a startup script");
            let mut command = Command::new("/bin/sh");
            command.arg(&script).stdin(Stdio::null());
            command.env("AWS_ENDPOINT_URL", endpoint).env(REPORT_VARIABLE, address.to_string());
            for (name, value) in [
                ("AWS_ACCESS_KEY_ID", "test"),
                ("AWS_SECRET_ACCESS_KEY", "test"),
                ("AWS_DEFAULT_REGION", region),
            ] {
                if std::env::var_os(name).is_none_or(|it| it.is_empty()) {
                    command.env(name, value);
                }
            }
            let status = command.kill_on_drop(true).status().await.map_err(|error| {
                format!("{shown} cannot be run: {error}; take an image with a shell, such as the flavour localstack")
            })?;
            // Each report was complete before the script ended.
            let refused: Vec<String> = std::iter::from_fn(|| report(&reports)).collect();
            if !refused.is_empty() {
                return Err(format!("{shown}: {}", refused.join("; ")));
            }
            if !status.success() {
                tracing::warn!(script = %shown, %status, "a startup script failed");
            }
        }
        Ok(())
    }
}

/// A waiting report of a command that was not understood.
fn report(reports: &TcpListener) -> Option<String> {
    let (stream, _) = reports.accept().ok()?;
    // A program that connects and says nothing must not stop the start.
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let mut line = Vec::new();
    let _ = stream.take(REPORT_BYTES_MAX).read_to_end(&mut line);
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// Adds the files below a directory. Names with a dot in front are those of mounts and editors.
fn files(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let told = |error: io::Error| format!("{}: {error}", directory.display());
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(told)?,
    };
    if depth > DEPTH_MAX {
        return Err(format!("{} is nested too deeply", directory.display()));
    }
    for entry in entries {
        let path = entry.map_err(told)?.path();
        let is_hidden = path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
        match path.is_dir() {
            _ if is_hidden => {}
            true => files(&path, depth + 1, found)?,
            false => found.push(path),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpStream;

    use super::*;

    /// A directory of stages with these files.
    fn stages(files: &[(&str, &str)]) -> tempfile::TempDir {
        let stages = tempfile::tempdir().expect("a directory");
        for (name, content) in files {
            let file = stages.path().join(name);
            fs::create_dir_all(file.parent().expect("a stage")).expect("made");
            fs::write(file, content).expect("written");
        }
        stages
    }

    #[tokio::test]
    async fn scripts_run_in_the_order_of_their_paths_and_one_that_fails_stops_nothing() {
        let told = tempfile::tempdir().expect("a directory");
        let file = told.path().join("told").display().to_string();
        let line =
            |text: &str| format!("echo {text} $AWS_ENDPOINT_URL $AWS_DEFAULT_REGION >>{file}");
        let stages = stages(&[
            ("ready.d/20-b.sh", &line("b")),
            ("ready.d/10-a.sh", &format!("{}\nexit 3", line("a"))),
            ("ready.d/sub/c.sh", &line("c")),
            ("ready.d/cors.json", "{}"),
            ("ready.d/..data/a.sh", &line("never")),
        ]);
        let scripts = Scripts::find(stages.path()).expect("scripts");
        assert_eq!(scripts.run("http://127.0.0.1:1", "eu-west-1").await, Ok(()));
        let told = fs::read_to_string(file).expect("told");
        let region = std::env::var("AWS_DEFAULT_REGION").unwrap_or("eu-west-1".to_owned());
        let expected = ["a", "b", "c"].map(|name| format!("{name} http://127.0.0.1:1 {region}\n"));
        assert_eq!(told, expected.concat());
    }

    #[test]
    fn what_cannot_be_run_is_named() {
        for name in ["ready.d/a.py", "ready.d/main.tf", "boot.d/a.sh", "shutdown.d/a.sh"] {
            let stages = stages(&[(name, "")]);
            let reason = Scripts::find(stages.path()).expect_err(name);
            assert!(reason.contains(name), "{reason}");
        }
        let none = tempfile::tempdir().expect("a directory");
        assert!(Scripts::find(&none.path().join("none")).expect("none").is_empty());
    }

    #[test]
    fn reports_are_read_when_they_wait() {
        let reports = TcpListener::bind("127.0.0.1:0").expect("a port");
        reports.set_nonblocking(true).expect("set");
        assert_eq!(report(&reports), None);
        let mut stream = TcpStream::connect(reports.local_addr().expect("bound")).expect("taken");
        writeln!(stream, "no sqs here").expect("written");
        drop(stream);
        assert_eq!(report(&reports), Some("no sqs here".to_owned()));
    }

    #[tokio::test]
    async fn a_script_that_runs_is_ended() {
        let told = tempfile::tempdir().expect("a directory");
        let pipe = told.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("a program");
        assert!(made.success());
        let script = format!("exec 3>{}; echo begun >&3; exec sleep 600", pipe.display());
        let stages = stages(&[("ready.d/a.sh", &script)]);
        let scripts = Scripts::find(stages.path()).expect("scripts");
        let running = tokio::spawn(async move { scripts.run("", "").await });
        let read = tokio::task::spawn_blocking(move || {
            let mut reader = BufReader::new(fs::File::open(pipe).expect("a pipe"));
            let mut line = String::new();
            reader.read_line(&mut line).expect("it begins");
            (reader, line)
        });
        let (mut reader, line) = read.await.expect("no panic");
        assert_eq!(line, "begun\n");
        running.abort();
        // The pipe has an end when its only writer has.
        let rest = tokio::task::spawn_blocking(move || reader.read_line(&mut String::new()));
        assert_eq!(rest.await.expect("no panic").expect("readable"), 0);
    }
}
