//! One suite for every system's calls. Linux runs both.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use super::*;

#[cfg(target_os = "linux")]
#[test]
fn the_calls_of_linux_keep_the_contract() {
    check::<Linux>();
}

#[test]
fn the_portable_calls_keep_the_contract() {
    check::<Portable>();
}

fn check<C: Calls>() {
    unnamed_files_get_a_name_that_is_free::<C>();
    a_rename_never_replaces::<C>();
    directories_are_exchanged_or_left_alone::<C>();
    cached_reads_are_right_or_none::<C>();
    uncached_writes_reach_the_same_file::<C>();
    hints_change_neither_bytes_nor_length::<C>();
    files_and_directories_are_synced_and_pipes_are_not::<C>();
    a_file_system_is_synced_or_left_alone::<C>();
    files_in_memory_are_files::<C>();
}

#[cfg(target_os = "linux")]
#[test]
fn versions_of_the_kernel_are_compared_as_numbers() {
    for (release, is_known) in [
        ("5.8.0", true),
        ("5.10.0-28-amd64", true),
        ("6.1", true),
        ("10.0.1", true),
        ("5.7.19", false),
        ("4.19.0", false),
        ("5", false),
        ("", false),
        ("unknown", false),
    ] {
        assert_eq!(super::linux::is_since(release, (5, 8)), is_known, "{release}");
    }
}

fn a_file_system_is_synced_or_left_alone<C: Calls>() {
    let (path, directory) = directory();
    std::fs::write(path.path().join("a"), "body").expect("written");
    C::sync_file_system(directory.as_fd()).expect("no failure");
    assert_eq!(std::fs::read(path.path().join("a")).expect("there"), b"body");
    // The process file system has nothing to sync, and is none of the known ones.
    #[cfg(target_os = "linux")]
    {
        let foreign = File::open("/proc/self").expect("opens");
        assert!(!C::sync_file_system(foreign.as_fd()).expect("no failure"));
    }
}

fn directory() -> (tempfile::TempDir, File) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let handle = File::open(directory.path()).expect("opens");
    (directory, handle)
}

fn unnamed_files_get_a_name_that_is_free<C: Calls>() {
    let (path, directory) = directory();
    let directory = directory.as_fd();
    let created = C::create_unnamed(directory).expect("no failure");
    assert!(C::has_unnamed_files() || created.is_none());
    let Some(file) = created else { return };
    std::fs::write(path.path().join("taken"), "old").expect("written");
    let error = C::link_unnamed(file.as_fd(), directory, "taken").expect_err("taken");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    C::link_unnamed(file.as_fd(), directory, "free").expect("linked");
    let metadata = std::fs::metadata(path.path().join("free")).expect("there");
    assert_eq!((metadata.len(), metadata.mode() & 0o777), (0, 0o600));
}

fn a_rename_never_replaces<C: Calls>() {
    let (path, directory) = directory();
    for name in ["a", "b"] {
        std::fs::write(path.path().join(name), name).expect("written");
    }
    let rename = |from, to| C::rename_without_replacing(directory.as_fd(), from, to);
    assert_eq!(rename("a", "b").expect_err("taken").kind(), ErrorKind::AlreadyExists);
    assert_eq!(rename("missing", "c").expect_err("missing").kind(), ErrorKind::NotFound);
    assert_eq!(rename("a", "missing/a").expect_err("missing").kind(), ErrorKind::NotFound);
    rename("a", "c").expect("renamed");
    let content = |name| std::fs::read_to_string(path.path().join(name)).ok();
    assert_eq!(
        [content("a"), content("b"), content("c")],
        [None, Some("b".into()), Some("a".into())]
    );
}

fn directories_are_exchanged_or_left_alone<C: Calls>() {
    let (path, _directory) = directory();
    let [one, other] = ["one", "other"].map(|name| path.path().join(name));
    for made in [&one, &other] {
        std::fs::create_dir(made).expect("made");
    }
    std::fs::write(one.join("file"), "1").expect("written");
    let is_exchanged = C::exchange(&one, &other).expect("no failure");
    assert_eq!(
        (one.join("file").exists(), other.join("file").exists()),
        (!is_exchanged, is_exchanged)
    );
}

fn cached_reads_are_right_or_none<C: Calls>() {
    let file = tempfile::tempfile().expect("created");
    file.write_all_at(&[7; 9000], 0).expect("written");
    for (offset, expected) in [(0, 1000), (8500, 500), (9000, 0)] {
        let mut bytes = [0; 1000];
        let read = C::read_cached(file.as_fd(), &mut bytes, offset).expect("readable");
        if let Some(count) = read {
            assert_eq!(count, expected);
            assert!(bytes[..count].iter().all(|byte| *byte == 7));
        }
    }
}

fn uncached_writes_reach_the_same_file<C: Calls>() {
    let file = tempfile::tempfile().expect("created");
    let memory = vec![7; 2 * crate::UNCACHED_ALIGNMENT];
    let start = memory.as_ptr().align_offset(crate::UNCACHED_ALIGNMENT);
    let page = &memory[start..start + crate::UNCACHED_ALIGNMENT];
    let Some(uncached) = C::open_uncached(file.as_fd()).map(File::from) else { return };
    match uncached.write_all_at(page, 0) {
        Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "no file system for it"),
        Ok(()) => {
            let mut found = vec![0; page.len()];
            file.read_exact_at(&mut found, 0).expect("read");
            assert!(found == page);
        }
    }
}

fn hints_change_neither_bytes_nor_length<C: Calls>() {
    let mut file = tempfile::NamedTempFile::new().expect("created");
    file.as_file().write_all_at(b"body", 0).expect("written");
    C::start_writeback(file.as_file().as_fd(), 0, 4);
    C::start_writeback(file.as_file().as_fd(), 0, 0);
    C::reserve(file.as_file().as_fd(), 2, 100_000);
    let mut content = String::new();
    file.read_to_string(&mut content).expect("read");
    assert_eq!(content, "body");
}

fn files_and_directories_are_synced_and_pipes_are_not<C: Calls>() {
    let (_path, directory) = directory();
    C::sync_directory(directory.as_fd()).expect("synced");
    C::sync_data(tempfile::tempfile().expect("created").as_fd()).expect("synced");
    let (reader, _writer) = io::pipe().expect("a pipe");
    C::sync_data(reader.as_fd()).expect_err("a pipe is on no device");
}

fn files_in_memory_are_files<C: Calls>() {
    let Some(descriptor) = C::memory_descriptor("test").expect("created") else { return };
    assert!(C::is_in_memory(descriptor.as_fd()));
    let file = File::from(descriptor);
    file.write_all_at(b"body", 10_000).expect("written");
    assert_eq!(file.metadata().expect("known").len(), 10_004);
}
