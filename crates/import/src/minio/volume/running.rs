//! A MinIO that runs on a volume.
//!
//! It holds no lock and keeps no file open, so its process is found by its arguments. Only processes of this machine or
//! container that this user may see are found, and only on Linux.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The process id of a MinIO whose arguments, or whose `MINIO_VOLUMES`, name the volume.
pub(super) fn find(root: &Path) -> Option<u32> {
    let root = root.canonicalize().ok()?;
    let own = fs::read_link("/proc/self/exe").ok();
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id()).find(|pid| {
        let place = PathBuf::from(format!("/proc/{pid}"));
        // Other LiteIOs, which may run under the name `minio`, hold a lock.
        let is_own = fs::read_link(place.join("exe")).is_ok_and(|exe| Some(exe) == own);
        !is_own && serves(&place, &root)
    })
}

/// True if the process is a MinIO with this volume.
fn serves(process: &Path, root: &Path) -> bool {
    let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
    let mut arguments = arguments.split(|byte| *byte == 0);
    let program = Path::new(OsStr::from_bytes(arguments.next().unwrap_or_default()));
    if program.file_name().is_none_or(|name| name != "minio") {
        return false;
    }
    let directory = fs::read_link(process.join("cwd")).unwrap_or_default();
    let is_root = |name: &[u8]| {
        let path = directory.join(OsStr::from_bytes(name));
        !name.is_empty() && path.canonicalize().is_ok_and(|path| path == root)
    };
    let mut has_server = false;
    let mut is_named = false;
    for argument in arguments {
        is_named |= has_server && is_root(argument);
        has_server |= argument == b"server";
    }
    let variables = fs::read(process.join("environ")).unwrap_or_default();
    let mut variables = variables.split(|byte| *byte == 0);
    let volume = variables.find_map(|variable| variable.strip_prefix(b"MINIO_VOLUMES="));
    has_server && (is_named || volume.is_some_and(is_root))
}
