//! The server under measurement, as a process of its own, and what the kernel says of it.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::client::{ACCESS_KEY, SECRET_KEY};

pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    /// From the start of the process to its first line with the address.
    pub(crate) ready: Duration,
}

impl Process {
    /// Starts `liteio`, built beside this program, with `arguments`.
    pub(crate) fn start(arguments: &[&str]) -> io::Result<Process> {
        let figures = std::env::current_exe()?;
        let binary = figures.parent().map(|folder| folder.join("liteio"));
        let started = Instant::now();
        let mut child = Command::new(binary.expect("a program lies in a folder"))
            .args(["server", "--address", "127.0.0.1:0", "--log", "off"])
            .args(["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let mut line = String::new();
        loop {
            line.clear();
            if lines.read_line(&mut line)? == 0 {
                return Err(io::Error::other("the server ended before it was ready"));
            }
            if let Some((_, rest)) = line.split_once("http://") {
                let address = rest.split_whitespace().next().unwrap_or_default();
                let address = address.parse().map_err(io::Error::other)?;
                let ready = started.elapsed();
                // The pipe stays open for as long as the server writes to it.
                std::thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
                return Ok(Process { child, address, ready });
            }
        }
    }

    /// CPU time of the server so far, user and system, to 10 ms.
    pub(crate) fn cpu(&self) -> Duration {
        let stat =
            fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let ticks = |field: usize| {
            let after_name = stat.rsplit(") ").next().unwrap_or_default();
            after_name.split(' ').nth(field).and_then(|t| t.parse::<u64>().ok()).unwrap_or(0)
        };
        Duration::from_millis((ticks(11) + ticks(12)) * 10)
    }

    /// A line of `/proc/PID/status` in KiB, such as `VmRSS` or `VmHWM`.
    pub(crate) fn memory_kib(&self, name: &str) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or(0)
    }

    /// Bytes of anonymous memory: what the server holds for itself, without mapped files.
    pub(crate) fn anonymous_kib(&self) -> u64 {
        self.memory_kib("RssAnon")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
