//! Resident pages of the program's own file.
//!
//! A fault on a page of a file also maps the pages around it that the page cache has, sixteen on Linux. So a start
//! leaves most of the program resident, although little of it runs again: the pages of options, TLS, recovery, and
//! their neighbours. They are given back once, when the start is over. What requests need is mapped again by their
//! first use, from the page cache.
#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "advice about mapped memory"))]

#[cfg(any(target_os = "linux", test))]
use std::ops::Range;

/// Gives the resident pages of the program's file back to the system. If the system tells nothing
/// about them, they stay.
pub(crate) fn give_back() {
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        let program = std::env::current_exe().unwrap_or_default();
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        for Range { start, end } in unchanged(&smaps, &program.to_string_lossy()) {
            let address = std::ptr::with_exposed_provenance_mut(start);
            // SAFETY: a private mapping of the program's file that cannot be written, without a page that differs from
            // the file: the next access to a page reads the same bytes from the file, as the first one did.
            let _ = unsafe { madvise(address, end - start, Advice::LinuxDontNeed) };
        }
    }
}

/// The mappings of `program` that cannot be written and have only pages of the file, from the text
/// of `/proc/self/smaps`. Relocated constants are not among them: their pages differ from the file.
#[cfg(any(target_os = "linux", test))]
fn unchanged(smaps: &str, program: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut current = None;
    for line in smaps.lines() {
        if let Some((range, rest)) = mapping(line) {
            // Permissions, offset, device, inode, padding and path.
            let mut fields = rest.splitn(5, ' ');
            let is_constant = matches!(fields.next(), Some("r-xp" | "r--p"));
            let path = fields.nth(3).unwrap_or_default().trim_start();
            current = Some(range).filter(|_| is_constant && path == program);
        } else if let Some(changed) = line.strip_prefix("Anonymous:") {
            found.extend(current.take().filter(|_| changed.trim() == "0 kB"));
        }
    }
    found
}

/// The addresses at the beginning of the first line about a mapping, and the rest of the line.
#[cfg(any(target_os = "linux", test))]
fn mapping(line: &str) -> Option<(Range<usize>, &str)> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    Some((address(start)?..address(end)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
5000-7000 r--p 00000000 fe:00 42                         /usr/bin/a program
Size:                  8 kB
Rss:                   8 kB
Anonymous:             0 kB
VmFlags: rd mr mw me sd
7000-9000 r-xp 00002000 fe:00 42                         /usr/bin/a program
Anonymous:             0 kB
9000-a000 r--p 00004000 fe:00 42                         /usr/bin/a program
Anonymous:             4 kB
a000-b000 rw-p 00005000 fe:00 42                         /usr/bin/a program
Anonymous:             0 kB
b000-c000 rw-p 00000000 00:00 0
Anonymous:             0 kB
c000-d000 r-xp 00000000 fe:00 43                         /usr/lib/libc.so.6
Anonymous:             0 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]
Anonymous:             0 kB
";

    #[test]
    fn only_unchanged_constant_mappings_of_the_program_are_found() {
        assert_eq!(unchanged(SMAPS, "/usr/bin/a program"), [0x5000..0x7000, 0x7000..0x9000]);
        assert!(unchanged(SMAPS, "/usr/bin/a").is_empty());
        assert!(unchanged(SMAPS, "").is_empty());
        assert!(unchanged("", "/usr/bin/a program").is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_program_runs_on_without_its_resident_pages() {
        /// Resident KiB of the mappings of the program's file.
        fn resident() -> u64 {
            let program = std::env::current_exe().expect("known");
            let smaps = std::fs::read_to_string("/proc/self/smaps").expect("readable");
            let mut is_own = false;
            let mut sum = 0;
            for line in smaps.lines() {
                if mapping(line).is_some() {
                    is_own = line.ends_with(&*program.to_string_lossy());
                } else if let Some(rss) = line.strip_prefix("Rss:").filter(|_| is_own) {
                    let kib = rss.trim().trim_end_matches(" kB");
                    sum += kib.parse::<u64>().expect("a number");
                }
            }
            sum
        }
        let before = resident();
        give_back();
        let after = resident();
        assert!(after < before, "{after} KiB of {before}");
    }
}
