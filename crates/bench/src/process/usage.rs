//! Processor time, memory and writes of processes, from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use crate::busy::TICK;

/// Note of a report on bytes written. Since Linux 6.16 ext4 has large folios, and the kernel
/// accounts a whole one whenever a part of it changes.
pub(crate) const WRITTEN_NOTE: &str = "Bytes written are those that the kernel accounts to a process: on ext4 \
     since Linux 6.16 a change of 4 KiB counts up to 256 KiB, depending on how large the pieces were \
     in which the file was first written. The disk takes less.";

/// Usage of all processes of a server together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Processor time, user and system, of living and ended processes.
    pub(crate) cpu: Duration,
    /// Peak resident memory, each process at its own time.
    pub(crate) memory_peak_bytes: u64,
    /// Resident memory now.
    pub(crate) memory_bytes: u64,
    /// Resident memory without pages of files.
    pub(crate) memory_own_bytes: u64,
    /// Bytes written, as accounted by the kernel: see [`WRITTEN_NOTE`].
    pub(crate) disk_written_bytes: u64,
    /// Bytes passed to `write` and similar calls. Writes to mapped memory are not included.
    pub(crate) passed_bytes: u64,
}

/// Usage of a process group and of all descendants of its processes.
pub(crate) fn of_group(group: u32) -> Usage {
    let mut usage = Usage::default();
    for process in members(group) {
        usage.add(&process.to_string());
    }
    usage
}

/// The usage of this process alone.
pub(crate) fn of_this_process() -> Usage {
    let mut usage = Usage::default();
    usage.add("self");
    usage
}

impl Usage {
    /// Adds the usage of the process in a folder of `/proc`.
    fn add(&mut self, process: &str) {
        let read =
            |file: &str| fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default();
        if let Some(stat) = parse_stat(&read("stat")) {
            self.cpu += TICK * u32::try_from(stat.ticks).unwrap_or(u32::MAX);
        }
        let status = read("status");
        self.memory_peak_bytes += number_after(&status, "VmHWM:") * 1024;
        self.memory_bytes += number_after(&status, "VmRSS:") * 1024;
        let own = number_after(&status, "RssAnon:") + number_after(&status, "RssShmem:");
        self.memory_own_bytes += own * 1024;
        let io = read("io");
        // At the start of a line, because "cancelled_write_bytes" is another number.
        self.disk_written_bytes += number_after(&io, "write_bytes:");
        self.passed_bytes += number_after(&io, "wchar:");
    }
}

/// The processor time of this process.
pub(crate) fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The processor time of this thread.
pub(crate) fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

struct Stat {
    parent: u32,
    group: u32,
    ticks: u64,
}

/// Fields of `/proc/PID/stat`. The name may hold spaces and parentheses: they end at the last one.
fn parse_stat(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    // User and system time of the process, then of its ended children that were waited for.
    let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
    Some(Stat { parent: number(1)?.try_into().ok()?, group: number(2)?.try_into().ok()?, ticks })
}

/// The processes of the group, and all their descendants in other groups.
fn members(group: u32) -> BTreeSet<u32> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let text = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(stat) = parse_stat(&text) {
            all.push((process, stat));
        }
    }
    let in_group = all.iter().filter(|(_, stat)| stat.group == group);
    let mut members: BTreeSet<u32> = in_group.map(|(process, _)| *process).collect();
    loop {
        let before = members.len();
        let children = all.iter().filter(|(_, stat)| members.contains(&stat.parent));
        let children: Vec<u32> = children.map(|(process, _)| *process).collect();
        members.extend(children);
        if members.len() == before {
            return members;
        }
    }
}

/// The number after a name at the start of a line.
fn number_after(text: &str, name: &str) -> u64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_process_is_found_behind_any_name() {
        let text = "7 (a) b (c) S 3 5 5 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 55 0 0";
        let stat = parse_stat(text).expect("it has all fields");
        assert_eq!((stat.parent, stat.group, stat.ticks), (3, 5, 127));
        assert!(parse_stat("7 (a) S 3").is_none());
    }

    #[test]
    fn this_process_uses_memory() {
        let group = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
        let usage = of_group(group);
        assert!(usage.memory_bytes > 0 && usage.memory_peak_bytes >= usage.memory_bytes);
        assert!(usage.memory_own_bytes > 0 && usage.memory_own_bytes < usage.memory_bytes);
    }
}
