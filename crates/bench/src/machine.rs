//! The machine on which the figures were measured.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// Facts of a machine that influence figures; empty if unknown.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// Number of cores that the benchmark may use.
    pub cores: usize,
    /// Size of the memory, in bytes.
    pub memory_bytes: u64,
    /// Kernel with its version.
    pub kernel: String,
    /// Distribution.
    pub system: String,
    /// File system of the data directories, with its device and mount options.
    pub file_system: String,
    /// Version of LiteIO and of this program.
    pub version: String,
    /// Commit from which they were built; it ends in "-dirty" if there were changes.
    pub commit: Option<String>,
    /// Load average before the run, over one and five minutes.
    pub load_before: String,
}

impl Machine {
    /// This machine, with the file system of `data`.
    pub fn here(data: &Path) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let load = read("/proc/loadavg");
        Machine {
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory_bytes: field(&read("/proc/meminfo"), "MemTotal")
                .and_then(|line| line.split(' ').next()?.parse::<u64>().ok())
                .map_or(0, |kibibytes| kibibytes * 1024),
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            system: system_name(&read("/etc/os-release")).unwrap_or_default(),
            file_system: file_system(&read("/proc/self/mountinfo"), data).unwrap_or_default(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit(),
            load_before: load.split(' ').take(2).collect::<Vec<_>>().join(" and "),
        }
    }

    /// The commit for headings.
    pub fn commit_or_unknown(&self) -> &str {
        self.commit.as_deref().unwrap_or("commit not known")
    }
}

/// The value of the first line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn system_name(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// The file system of the longest mount point above `path`.
fn file_system(mounts: &str, path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mut found: Option<(usize, String)> = None;
    for line in mounts.lines() {
        // 36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/root rw,errors=continue
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(4);
        let (point, options) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let (kind, device) = (right.next()?, right.next()?);
        let length = point.len();
        if path.starts_with(point) && found.as_ref().is_none_or(|(longest, _)| length >= *longest) {
            found = Some((length, format!("{kind} on {device} ({options})")));
        }
    }
    found.map(|(_, text)| text)
}

/// Commit of the working directory: reports are made where the program was built.
fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty", "--abbrev=12"]).stderr(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_is_that_of_the_longest_mount_point() {
        let mounts = "1 0 8:1 / / rw,relatime - ext4 /dev/vda rw\n\
                      2 1 0:5 / /proc rw shared:1 - proc proc rw\n";
        let of = |path: &str| file_system(mounts, Path::new(path));
        assert_eq!(of("/").as_deref(), Some("ext4 on /dev/vda (rw,relatime)"));
        assert_eq!(of("/proc/self").as_deref(), Some("proc on proc (rw)"));
        assert_eq!(of("/no such directory"), None);
    }

    #[test]
    fn this_machine_has_cores_and_memory() {
        let machine = Machine::here(Path::new("/"));
        assert!(machine.cores >= 1 && machine.memory_bytes > 1 << 20, "{machine:?}");
        assert!(machine.kernel.starts_with("Linux "), "{machine:?}");
    }
}
