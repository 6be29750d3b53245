//! Process statistics from the operating system. Unavailable ones are left out.

use std::fs;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Process statistics.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Process {
    /// CPU time in seconds.
    pub(super) cpu_seconds: f64,
    pub(super) resident_bytes: Option<u64>,
    pub(super) virtual_bytes: Option<u64>,
    pub(super) threads: Option<u64>,
    pub(super) open_files: Option<u64>,
    pub(super) open_files_max: Option<u64>,
    /// Start time in seconds since 1970.
    pub(super) started_seconds: f64,
}

impl Process {
    /// The current statistics.
    pub(super) fn now() -> Process {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        // The directory has one link per open file, and is itself one of them while it is counted.
        let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as u64);
        Process {
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            resident_bytes: field(&status, "VmRSS:").map(|kib| kib << 10),
            virtual_bytes: field(&status, "VmSize:").map(|kib| kib << 10),
            threads: field(&status, "Threads:"),
            open_files: open.map(|open| open.saturating_sub(1)),
            open_files_max: getrlimit(Resource::Nofile).current,
            started_seconds: started(),
        }
    }
}

/// The start time of the process, approximated by the start of its first server.
pub(crate) fn started() -> f64 {
    static STARTED: OnceLock<f64> = OnceLock::new();
    *STARTED.get_or_init(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    })
}

/// The number after a name in `/proc/self/status`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_status() {
        let status = "Name:\tliteio\nVmSize:\t  20000 kB\nVmRSS:\t    1234 kB\nThreads:\t9\n";
        assert_eq!(field(status, "VmRSS:"), Some(1234));
        assert_eq!(field(status, "Threads:"), Some(9));
        assert_eq!(field(status, "VmSwap:"), None);
        let now = Process::now();
        assert!(now.cpu_seconds > 0.0 && now.started_seconds > 1e9);
        if cfg!(target_os = "linux") {
            assert!(now.resident_bytes > Some(1 << 20) && now.open_files > Some(2), "{now:?}");
        }
    }
}
