//! System calls of the command, and differences between operating systems.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{Resource, geteuid, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Disables transparent huge pages for the process. Connection buffers are small and short-lived:
/// with huge pages, the allocator could return almost none of their memory to the system. If the
/// system refuses, more memory stays in use. Only Linux has such pages.
pub(crate) fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Keeps other processes of the same user, and core dumps, from the memory of this one, which holds
/// keys and secrets. A program that it starts is not affected.
pub(crate) fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other processes of this user can read the memory of the server");
        }
    }
}

/// Raises the limit on open files to its maximum. Every connection and every open blob needs a
/// descriptor: the usual limit of 1,024 would be reached long before our own limits.
pub(crate) fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if cfg!(target_vendor = "apple") {
        // macOS reports an unlimited maximum, but rejects more than `OPEN_MAX`.
        const OPEN_MAX: u64 = 10_240;
        limit.current = Some(limit.maximum.unwrap_or(OPEN_MAX).min(OPEN_MAX));
    }
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit on open files stays as it is");
    }
}

/// The reason why this process cannot write to a directory, or create it, with advice; `None` if it
/// can.
pub(crate) fn refusal_to_write(directory: &Path) -> Option<String> {
    // The nearest existing ancestor decides.
    let ancestors = directory.ancestors();
    let mut named = ancestors.map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
    let (there, metadata) = named.find_map(|it| Some((it, fs::metadata(it).ok()?)))?;
    let shown = there.display();
    match access(there, Access::WRITE_OK | Access::EXEC_OK) {
        Err(Errno::ACCESS | Errno::PERM) => {
            let (user, owner) = (geteuid().as_raw(), metadata.uid());
            let mode = metadata.mode() & 0o7777;
            if there != directory && access(there, Access::EXEC_OK).is_err() {
                // A directory of this user in it could not be reached, either.
                let advice = match user == owner {
                    true => format!("run \"chmod u+rwx {shown}\""),
                    false => "name a directory elsewhere (--data-dir DIR)".to_owned(),
                };
                return Some(format!(
                    "user {user} cannot enter {shown}, which is owned by user {owner} with mode {mode:04o}: {advice}"
                ));
            }
            let advice = if there == directory {
                advice(there, user, owner)
            } else {
                // Whose directory it is, is none of ours: it may be `/`.
                format!(
                    "run \"install -d -o {user} {}\" as root, or name a directory of yours (--data-dir DIR)",
                    directory.display()
                )
            };
            Some(format!(
                "user {user} cannot write to {shown}, which is owned by user {owner} with mode {mode:04o}: {advice}"
            ))
        }
        Err(Errno::ROFS) => Some(format!(
            "{shown} is on a read-only file system: mount it so that it can be written, or keep everything in \
             memory (--memory)"
        )),
        _ => None,
    }
}

/// `true` for the text of an error because of missing rights. Errors of the store have the one of the system as text.
pub(crate) fn is_denied(told: &str) -> bool {
    let numbers = [Errno::ACCESS, Errno::PERM].map(Errno::raw_os_error);
    numbers.iter().any(|number| told.contains(&format!("(os error {number})")))
}

/// A failure of a command on a data directory, with the advice about its files if rights are missing.
pub(crate) fn with_advice(directory: &Path, told: String) -> String {
    match is_denied(&told) {
        true => format!("{told}; {}", refusal_of_a_file(directory)),
        false => told,
    }
}

/// The advice about a file in a data directory that this process cannot use, with the first one: the directory itself can
/// be written to.
pub(crate) fn refusal_of_a_file(directory: &Path) -> String {
    let user = geteuid().as_raw();
    let found = first_refused(directory, LEVELS_OF_BODIES)
        .and_then(|file| Some((fs::symlink_metadata(&file).ok()?, file)));
    let Some((metadata, file)) = found else {
        let shown = directory.display();
        return format!("user {user} cannot use a file below {shown}: give it to that user");
    };
    let (owner, mode, file) = (metadata.uid(), metadata.mode() & 0o7777, file.display());
    let advice = advice(directory, user, owner);
    format!(
        "user {user} cannot use {file}, which is owned by user {owner} with mode {mode:04o}: {advice}"
    )
}

/// The advice that makes a directory, and all in it, usable for `user`. It never changes the owner of a directory of others.
fn advice(directory: &Path, user: u32, owner: u32) -> String {
    let shown = directory.display();
    if user == owner {
        return format!("run \"chmod -R u+rwX {shown}\"");
    }
    let chown =
        format!("run \"chown -R {user} {shown}\" (in a container: on the mounted directory)");
    let Ok(mut entries) = fs::read_dir(directory) else {
        return format!("if it is a data directory of LiteIO, {chown}, or start as user {owner}");
    };
    if entries.next().is_none() || fs::metadata(directory.join("format")).is_ok() {
        return format!("{chown}, or start as user {owner}");
    }
    format!("name a directory of yours (--data-dir DIR), or start as user {owner}")
}

/// Levels of directories below a data directory that are looked at: bodies are deeper, and are opened by requests.
const LEVELS: u8 = 1;
/// Levels with the files of bodies, which may be many: for a file that is known to be refused.
const LEVELS_OF_BODIES: u8 = 3;

/// The first file or directory that this process cannot read and write.
fn first_refused(directory: &Path, levels: u8) -> Option<PathBuf> {
    for entry in fs::read_dir(directory).ok()?.flatten() {
        let path = entry.path();
        let is_directory = entry.file_type().is_ok_and(|it| it.is_dir());
        let run = if is_directory { Access::EXEC_OK } else { Access::empty() };
        let granted = access(&path, Access::READ_OK | Access::WRITE_OK | run);
        if matches!(granted, Err(Errno::ACCESS | Errno::PERM)) {
            return Some(path);
        }
        if is_directory
            && levels > 0
            && let Some(found) = first_refused(&path, levels - 1)
        {
            return Some(found);
        }
    }
    None
}

/// The line about files that this process has made as root in a data directory of another user, whose server may not be able to
/// use them. `None` if there are none.
pub(crate) fn left_by_root(directory: &Path) -> Option<String> {
    if !geteuid().is_root() {
        return None;
    }
    let path = std::path::absolute(directory).ok()?;
    // A directory that root has made is mostly in one of the user, such as /var/lib/liteio.
    let places = [Some(path.as_path()), path.parent()].into_iter().flatten();
    let owner = places.filter_map(owner_of).find(|owner| *owner != 0)?;
    if owner_of(&path) != Some(0) && !has_file_of_root(&path, LEVELS) {
        return None;
    }
    let shown = path.display();
    Some(format!(
        "root owns files in {shown} now: run \"chown -R {owner} {shown}\" before user {owner} starts a server on it"
    ))
}

fn owner_of(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|metadata| metadata.uid())
}

fn has_file_of_root(directory: &Path, levels: u8) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        // `lost+found` is root's on every ext4.
        entry.file_name() != "lost+found"
            && entry.metadata().is_ok_and(|metadata| {
                metadata.uid() == 0
                    || metadata.is_dir()
                        && levels > 0
                        && has_file_of_root(&entry.path(), levels - 1)
            })
    })
}

/// The bytes that a directory's device has free for this user.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// The names of this machine or container: the short one, and with its domain if it has one.
pub(crate) fn host_names() -> Vec<String> {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy().into_owned();
    #[cfg(target_os = "linux")]
    let domain = Some(system.domainname().to_string_lossy().into_owned());
    #[cfg(not(target_os = "linux"))]
    let domain: Option<String> = None;
    // Linux writes "(none)" for no domain.
    let domain = domain.filter(|domain| !domain.is_empty() && !domain.starts_with('('));
    let whole = domain.map(|domain| format!("{name}.{domain}"));
    [name].into_iter().chain(whole).filter(|name| !name.is_empty()).collect()
}

/// The resources that the system grants to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Open files, connections included.
    pub(crate) files: u64,
    /// Memory, in bytes.
    pub(crate) memory_bytes: u64,
}

impl Grant {
    /// The grant of this process. Without information from the system, there is no limit.
    pub(crate) fn of_process() -> Grant {
        let limit = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
        // Half of the address space: stacks, maps and allocator reserves use addresses as well.
        let addresses = limit(Resource::As).min(limit(Resource::Data)) / 2;
        let memory = [physical_bytes(), group_bytes()].into_iter().flatten();
        Grant { files: limit(Resource::Nofile), memory_bytes: memory.fold(addresses, u64::min) }
    }
}

/// The memory of the machine, which Linux reports in a file.
fn physical_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 = text.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1 << 10)
}

/// The memory limit of the control group of a container or service.
fn group_bytes() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    let files = [
        format!("/sys/fs/cgroup{own}/memory.max"),
        "/sys/fs/cgroup/memory.max".to_owned(),
        "/sys/fs/cgroup/memory/memory.limit_in_bytes".to_owned(),
    ];
    files.iter().filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

/// SIGUSR1, which starts a scrub. Caught from this call on.
pub(crate) fn scrub_signal() -> io::Result<Signal> {
    signal(SignalKind::user_defined1())
}

/// SIGHUP, which reloads files. Caught from this call on.
pub(crate) fn reload_signal() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// The terminal that the process was started from, before it listens for SIGHUP: its end sends that signal, too.
#[derive(Debug)]
pub(crate) struct Terminal {
    was_there: bool,
}

impl Terminal {
    /// That of this process. One that was started by `nohup` stays when it ends.
    pub(crate) fn of_process() -> Terminal {
        Terminal { was_there: is_there() && !is_ignored(SignalKind::hangup()) }
    }

    /// `true` if there was one, and it is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.was_there && !is_there()
    }
}

/// `true` if the process has a controlling terminal.
fn is_there() -> bool {
    fs::File::open("/dev/tty").is_ok()
}

/// True if the signal's inherited disposition is "ignored", before this process listens for it.
/// Linux reports it in a file; elsewhere no signal counts as ignored.
pub(crate) fn is_ignored(kind: SignalKind) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // Signal 1 is the lowest bit.
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}
