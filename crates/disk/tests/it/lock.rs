//! The directory lock between processes.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use liteio_disk::DirectoryLock;

const DIRECTORY_VARIABLE: &str = "LITEIO_TEST_LOCK_DIRECTORY";
const HELD: &str = "the lock is held";

/// Runs this test again in a child process, which holds the lock until it is killed.
#[test]
fn a_directory_is_locked_by_another_process_until_it_is_killed() {
    if let Some(directory) = std::env::var_os(DIRECTORY_VARIABLE) {
        hold_until_killed(Path::new(&directory));
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut child = Command::new(std::env::current_exe().expect("known"))
        .args(["--exact", "--nocapture"])
        .arg("lock::a_directory_is_locked_by_another_process_until_it_is_killed")
        .env(DIRECTORY_VARIABLE, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let output = BufReader::new(child.stdout.take().expect("piped"));
    let is_held = output.lines().any(|line| line.expect("text").contains(HELD));
    assert!(is_held, "the child ended early");

    let error = DirectoryLock::acquire(directory.path()).expect_err("held by the child");
    assert_eq!(error.kind(), ErrorKind::ResourceBusy);
    assert!(error.to_string().contains(&format!("process {}", child.id())), "{error}");

    child.kill().expect("killed");
    child.wait().expect("gone");
    DirectoryLock::acquire(directory.path()).expect("free again");
}

fn hold_until_killed(directory: &Path) -> ! {
    let _lock = DirectoryLock::acquire(directory).expect("free");
    println!("{HELD}");
    // The input ends when the parent does, so that no child is left behind.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(1);
}
