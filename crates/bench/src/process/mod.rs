//! Programs that the benchmark starts, and stops without leftovers.

pub(crate) mod usage;

use std::fs::{self, File, Metadata};
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::error::BenchError;
use usage::Usage;

/// Time after which a server that does not end in order is killed.
const STOP_TIME: Duration = Duration::from_secs(15);

/// A program with its arguments and changes of its environment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    arguments: Vec<String>,
    /// Variables; `None` removes one.
    environment: Vec<(String, Option<String>)>,
}

/// A running program with all its processes.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Pid,
    log: PathBuf,
}

impl Launch {
    pub(crate) fn new(program: impl Into<PathBuf>) -> Launch {
        Launch { program: program.into(), arguments: Vec::new(), environment: Vec::new() }
    }

    pub(crate) fn arguments<T: ToString>(mut self, all: impl IntoIterator<Item = T>) -> Launch {
        self.arguments.extend(all.into_iter().map(|argument| argument.to_string()));
        self
    }

    /// Adds a variable of the environment.
    pub(crate) fn variable(mut self, name: &str, value: impl ToString) -> Launch {
        self.environment.push((name.to_owned(), Some(value.to_string())));
        self
    }

    /// Removes a variable.
    pub(crate) fn without_variable(mut self, name: &str) -> Launch {
        self.environment.push((name.to_owned(), None));
        self
    }

    /// Starts the program in `directory`, with its output in `log`. It gets a process group of its
    /// own, so that its children are found and end with it, and Ctrl-C reaches only the benchmark.
    pub(crate) fn start(&self, directory: &Path, log: &Path) -> Result<Process, BenchError> {
        let output = File::create(log).map_err(BenchError::file(log))?;
        let errors = output.try_clone().map_err(BenchError::file(log))?;
        let mut command = Command::new(&self.program);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let child = command
            .args(&self.arguments)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(BenchError::file(&self.program))?;
        let group = Pid::from_child(&child);
        Ok(Process { child, group, log: log.to_owned() })
    }
}

impl Process {
    /// The usage of all its processes so far. It is known also after the exit.
    pub(crate) fn usage(&self) -> Usage {
        usage::of_group(self.child.id())
    }

    /// `true` once it has exited. The kernel keeps its usage until [`Process::ended`] is called.
    pub(crate) fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    /// Description of the end of a program that has ended by itself.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("it ended with {status}; it said: {}", last_words(&self.output())))
    }

    /// All its output so far.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Asks the program to end, waits, and kills the processes that are left.
    pub(crate) async fn stop(self) {
        let _ = kill_process_group(self.group, Signal::TERM);
        let deadline = Instant::now() + STOP_TIME;
        while Instant::now() < deadline && !self.has_exited() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// The cause that a program reports in its output, such as a panic, or its last lines.
pub(crate) fn last_words(output: &str) -> String {
    const CAUSES: [&str; 4] = ["panic", "fatal error", "error:", "error["];
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let cause = lines.iter().position(|line| CAUSES.iter().any(|cause| line.contains(cause)));
    let first = cause.unwrap_or(lines.len().saturating_sub(3));
    let shown = &lines[first..lines.len().min(first + 3)];
    shown.join(" / ").chars().take(300).collect()
}

/// Path of a program: a path as it is, or the first file with the name on PATH.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        // Links are not resolved: the Python of a virtual environment is a link, and finds its
        // place by its name.
        return std::path::absolute(name).ok().filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The first non-empty line that a program prints when it is asked for its version.
pub(crate) fn version(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let text = String::from_utf8(text).ok()?;
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// `count` different free ports of 127.0.0.1 that no earlier call has returned: a server may not
/// listen on its port yet. All are below 32768, from where on the system assigns ports, because
/// some programs add 10,000 to a port.
pub(crate) fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 20_000;
    const RANGE: u32 = 12_000;
    let mut ports = Vec::new();
    for _ in 0..RANGE {
        if ports.len() == count {
            return Ok(ports);
        }
        // A concurrent benchmark begins at another place.
        let place = (std::process::id() % RANGE) * 97 + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST + place % RANGE).map_err(io::Error::other)?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            ports.push(port);
        }
    }
    Err(io::Error::other("no free ports"))
}

/// Disk space of all files below a directory.
pub(crate) fn disk_used(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    below(directory).iter().map(|(_, metadata)| metadata.blocks() * 512).sum()
}

/// Removes all files below a directory from the page cache.
///
/// # Errors
/// A file that cannot be synced: it would stay there.
pub(crate) fn evict(directory: &Path) -> io::Result<()> {
    for (path, metadata) in below(directory) {
        // Servers remove files meanwhile.
        if let (true, Ok(file)) = (metadata.is_file(), File::open(path)) {
            file.sync_data()?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// All files and folders below a directory.
fn below(directory: &Path) -> Vec<(PathBuf, Metadata)> {
    let mut found = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            found.push((path, metadata));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, directory: &Path) -> Process {
        let launch = Launch::new("/bin/sh").arguments(["-c", script]);
        launch.start(directory, &directory.join("log")).expect("a shell can be started")
    }

    #[test]
    fn files_that_are_evicted_keep_what_was_written_last() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let (folder, bytes) = (directory.path().join("folder"), vec![7; 100_000]);
        fs::create_dir(&folder).expect("made");
        fs::write(folder.join("file"), &bytes).expect("written");
        evict(directory.path()).expect("evicted");
        assert_eq!(fs::read(folder.join("file")).expect("readable"), bytes);
        assert_eq!(below(directory.path()).len(), 2);
    }

    #[tokio::test]
    async fn a_server_ends_with_its_children() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let script = "sh -c 'trap \"\" TERM; echo $$; while :; do read x < /dev/zero; done' & wait";
        let server = shell(script, directory.path());
        let child = loop {
            let log = fs::read_to_string(directory.path().join("log")).unwrap_or_default();
            if log.ends_with('\n') {
                break log.trim().to_owned();
            }
            tokio::task::yield_now().await;
        };
        server.stop().await;
        // A killed process may stay a zombie of the process that inherits it, but it runs no more.
        let gone = || {
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        while !gone() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_server_that_ends_says_how() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let mut server = shell("echo no such option >&2; exit 3", directory.path());
        let ended = loop {
            match server.ended() {
                Some(ended) => break ended,
                None => tokio::task::yield_now().await,
            }
        };
        assert!(ended.contains("3") && ended.contains("no such option"), "{ended}");
    }

    #[test]
    fn free_ports_differ() {
        let mut ports = free_ports(5).expect("five ports are free");
        ports.extend(free_ports(5).expect("five more ports are free"));
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 10);
    }

    #[test]
    fn the_disk_counts_files_in_folders() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let folder = directory.path().join("a/b");
        fs::create_dir_all(&folder).expect("folders can be made");
        fs::write(folder.join("file"), vec![1; 100_000]).expect("a file can be written");
        assert!(disk_used(directory.path()) >= 100_000);
    }
}
