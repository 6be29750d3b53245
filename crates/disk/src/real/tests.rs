//! Tests of the real disk alone: temporary files, file systems in memory, failed syncs.

use super::*;
use crate::is_poisoned;

fn disk_with_named_temporaries() -> (tempfile::TempDir, RealDisk) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let disk = RealDisk::open(directory.path()).expect("opens");
    disk.create_dir(TEMPORARY_DIRECTORY).expect("created");
    disk.shared.has_unnamed_files.store(false, Ordering::Relaxed);
    (directory, disk)
}

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[test]
fn a_file_on_tmpfs_is_in_memory_and_so_is_one_without_a_disk() {
    // A tmpfs, where Linux has it at all.
    if let Ok(directory) = tempfile::tempdir_in("/dev/shm") {
        let disk = RealDisk::open(directory.path()).expect("opens");
        assert!(disk.create_temporary().expect("created").is_in_memory());
    }
    assert!(crate::memory_file("body").expect("created").is_in_memory());
    let sources = RealDisk::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR")));
    let manifest = sources.expect("opens").open("Cargo.toml", OpenMode::Read).expect("opens");
    let kind = calls::statfs(env!("CARGO_MANIFEST_DIR")).expect("a file system").f_type;
    assert_eq!(manifest.is_in_memory(), kind == 0x0102_1994);
}

#[test]
fn a_new_directory_is_for_its_owner_alone_and_an_old_one_is_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("above/data");
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    drop(RealDisk::open(&data).expect("opens"));
    assert_eq!(mode(&data), 0o700);
    assert_ne!(mode(data.parent().expect("a parent")) & 0o700, 0);
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o750)).expect("set");
    drop(RealDisk::open(&data).expect("opens"));
    assert_eq!(mode(&data), 0o750);
}

#[test]
fn without_unnamed_files_a_temporary_file_lives_in_tmp_until_linked_or_dropped() {
    let (_directory, disk) = disk_with_named_temporaries();
    let file = disk.create_temporary().expect("created");
    let other = disk.create_temporary().expect("created");
    assert_eq!(disk.list(TEMPORARY_DIRECTORY).expect("listed").len(), 2);
    file.write_at(b"body", 0).expect("written");
    disk.link(&*file, "a").expect("linked");
    let taken = disk.link(&*other, "a").expect_err("taken");
    assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    let again = disk.link(&*file, "b").expect_err("has a name");
    assert_eq!(again.kind(), io::ErrorKind::InvalidInput);
    drop((file, other));
    assert_eq!(disk.list(TEMPORARY_DIRECTORY).expect("listed"), []);
    assert_eq!(disk.open("a", OpenMode::Read).expect("opens").len().expect("length"), 4);
}

#[test]
fn a_name_left_behind_by_a_dead_process_is_stepped_over() {
    let (directory, disk) = disk_with_named_temporaries();
    let next = NEXT_TEMPORARY.load(Ordering::Relaxed);
    // More than one: other tests take numbers meanwhile.
    for number in next..next + 100 {
        let left = format!("{TEMPORARY_DIRECTORY}/{}-{number}", std::process::id());
        std::fs::write(directory.path().join(&left), "left behind").expect("written");
    }
    let file = disk.create_temporary().expect("created");
    assert!(file.is_empty().expect("length"));
    assert_eq!(disk.list(TEMPORARY_DIRECTORY).expect("listed").len(), 101);
}

#[test]
fn a_handle_that_outlives_its_disk_leaves_the_files_of_the_next_one_alone() {
    let (directory, disk) = disk_with_named_temporaries();
    let late = disk.create_temporary().expect("created");
    drop(disk);
    let disk = RealDisk::open(directory.path()).expect("opens");
    disk.shared.has_unnamed_files.store(false, Ordering::Relaxed);
    for entry in disk.list(TEMPORARY_DIRECTORY).expect("listed") {
        disk.remove(&format!("{TEMPORARY_DIRECTORY}/{}", entry.name)).expect("swept");
    }
    let files: Vec<_> = (0..3).map(|_| disk.create_temporary().expect("created")).collect();
    drop(late);
    for (number, file) in files.iter().enumerate() {
        disk.link(&**file, &format!("file-{number}")).expect("still has its name");
    }
}

#[test]
fn the_directory_of_named_temporaries_is_made_when_it_is_missing() {
    let (directory, disk) = disk_with_named_temporaries();
    std::fs::remove_dir(directory.path().join(TEMPORARY_DIRECTORY)).expect("removed");
    let file = disk.create_temporary().expect("created");
    assert_eq!(disk.list(TEMPORARY_DIRECTORY).expect("listed").len(), 1);
    disk.link(&*file, "a").expect("linked");
}

#[test]
fn the_end_of_the_file_is_no_reason_to_wait() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let disk = RealDisk::open(directory.path()).expect("opens");
    let file = disk.open("a", OpenMode::CreateOrWrite).expect("created");
    file.write_at(&[1; 9000], 0).expect("written");
    let read = |offset| file.try_read_at(&mut [0; 1000], offset).expect("readable");
    // A file system that cannot say what is in memory never answers.
    if read(0).is_some() {
        assert_eq!([read(0), read(8500), read(9000)], [Some(1000), Some(500), Some(0)]);
    }
}

#[test]
fn a_failed_file_sync_poisons_the_disk() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let disk = RealDisk::open(directory.path()).expect("opens");
    let good = disk.open("good", OpenMode::CreateOrWrite).expect("created");
    // A pipe cannot be synced.
    let (reader, _writer) = io::pipe().expect("a pipe");
    let bad = disk.file(reader.into(), "bad", None);
    let error = bad.sync_data().expect_err("not a file");
    assert!(!is_poisoned(&error), "the first error is the cause itself: {error}");
    assert!(disk.health().reason().is_some_and(|reason| reason.contains("bad")));
    assert!(is_poisoned(&good.write_at(b"x", 0).expect_err("refused")));
    assert!(is_poisoned(&good.sync_data().expect_err("refused")));
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_directory_sync_poisons_the_disk_but_a_missing_directory_does_not() {
    // The process file system lets nobody sync its directories.
    let disk = RealDisk::open(Path::new("/proc/self")).expect("opens");
    let missing = disk.sync_dir("missing").expect_err("missing");
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    assert!(disk.health().check().is_ok());
    disk.sync_dir("").expect_err("cannot be synced");
    assert!(is_poisoned(&disk.sync_dir("").expect_err("refused")));
}

#[test]
fn missing_parents_of_the_root_are_created() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path().join("a/b/c");
    RealDisk::open(&root).expect("created");
    RealDisk::open(&root).expect("opened again");
    std::fs::write(root.join("file"), "").expect("written");
    let error = RealDisk::open(&root.join("file")).expect_err("not a directory");
    assert!(error.to_string().contains("a/b/c/file"), "{error}");
}

/// The memory of this process cannot be read at address 0: a read error that needs no broken
/// device.
#[cfg(target_os = "linux")]
#[test]
fn an_error_names_operation_and_path_and_keeps_its_kind() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::os::unix::fs::symlink("/proc/self/mem", directory.path().join("a")).expect("linked");
    let disk = RealDisk::open(directory.path()).expect("opens");
    let file = disk.open("a", OpenMode::Read).expect("opens");
    let error = file.read_at(&mut [0; 8], 0).expect_err("unreadable");
    assert_eq!(error.to_string(), "read a: Input/output error (os error 5)");
    let error = disk.open("missing/b", OpenMode::CreateOrWrite).expect_err("no directory");
    assert!(error.to_string().starts_with("open missing/b: "), "{error}");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let error = disk.remove("c").expect_err("missing");
    assert!(error.to_string().starts_with("remove c: "), "{error}");
    let error = disk.rename("c", "d").expect_err("missing");
    assert!(error.to_string().starts_with("rename c: "), "{error}");
    let error = disk.list("e").expect_err("missing");
    assert!(error.to_string().contains("e: "), "{error}");
}

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod small_writes {
    use std::fs;

    use super::*;

    /// A file of zeros whose small writes go through a map, and its path outside of the disk.
    fn mapped(bytes: usize) -> (tempfile::TempDir, std::path::PathBuf, Box<dyn DiskFile>) {
        crate::map_files().expect("the handler is installed");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let disk = RealDisk::open(directory.path()).expect("opens");
        let file = disk.open("log", OpenMode::CreateOrWrite).expect("opens");
        file.write_at(&vec![0; bytes], 0).expect("written");
        file.expect_small_writes(bytes as u64);
        let path = directory.path().join("log");
        (directory, path, file)
    }

    #[test]
    fn everybody_reads_what_was_written_through_a_map() {
        const BYTES: usize = 3 << 20;
        let (_directory, path, file) = mapped(BYTES);
        let mut expected = vec![0; BYTES];
        // Over the windows, backward, behind the hint, larger than what goes through a map.
        let writes = (0..40_000).map(|i| (i * 75 % (BYTES - 100), 75));
        let others = [(BYTES - 70_000, 70_000), (10, 1), (BYTES - 5, 10), (BYTES + 100, 7), (0, 0)];
        for (step, (at, bytes)) in writes.chain(others).enumerate() {
            let content = vec![step as u8; bytes];
            file.write_at(&content, at as u64).expect("written");
            expected.resize(expected.len().max(at + bytes), 0);
            expected[at..at + bytes].copy_from_slice(&content);
        }
        file.sync_data().expect("synced");
        let mut read = vec![0; expected.len()];
        assert_eq!(file.read_at(&mut read, 0).expect("read"), expected.len());
        assert!(read == expected && fs::read(path).expect("read") == expected);
    }

    #[test]
    fn a_file_that_is_cut_and_grows_again_has_what_is_written_then() {
        let (_directory, path, file) = mapped(1 << 20);
        file.write_at(b"before", 500_000).expect("written");
        file.set_len(10_000).expect("cut");
        file.write_at(b"behind", 20_000).expect("written");
        file.write_at(b"within", 5_000).expect("written");
        let content = fs::read(path).expect("read");
        assert_eq!(content.len(), 20_006);
        assert!(content.ends_with(b"behind") && content[5_000..].starts_with(b"within"));
    }

    #[test]
    fn a_page_that_is_missing_is_written_by_a_call() {
        let (_directory, path, file) = mapped(1 << 20);
        file.write_at(b"before", 500_000).expect("written");
        // By somebody else, so that nothing but the missing page tells it.
        let cut = fs::File::options().write(true).open(&path).expect("opens");
        cut.set_len(0).expect("cut");
        for (content, at) in [(b"behind", 600_000), (b"before", 500_000), (b"within", 550_000)] {
            file.write_at(content, at).expect("written");
        }
        let content = fs::read(path).expect("read");
        assert_eq!(content.len(), 600_006);
        assert!(content.ends_with(b"behind") && content[550_000..].starts_with(b"within"));
        assert!(content[500_000..].starts_with(b"before"));
    }
}

#[test]
fn temporary_files_in_a_shared_directory_tell_whose_they_are() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = |own| RealDisk::open_shared(directory.path(), own).expect("opens");
    let (one, other) = (open("1"), open("2"));
    let file = one.create_temporary().expect("created");
    let late = other.create_temporary().expect("created");
    let names =
        |own: &str| one.list(&format!("{TEMPORARY_DIRECTORY}/{own}")).expect("listed").len();
    assert_eq!((names("1"), names("2")), (1, 1));
    one.link(&*file, "a").expect("linked");
    drop(late);
    assert_eq!((names("1"), names("2")), (0, 0));
    for own in ["", "..", "a/../b"] {
        RealDisk::open_shared(directory.path(), own).expect_err("leads elsewhere");
    }
    let missing = directory.path().join("missing");
    let error = RealDisk::open_shared(&missing, "1").expect_err("a missing mount is not made");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_directory_that_is_renamed_or_replaced_is_not_in_place() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (path, elsewhere) = (directory.path().join("data"), directory.path().join("elsewhere"));
    let disk = RealDisk::open(&path).expect("opens");
    assert!(disk.is_in_place());
    std::fs::rename(&path, &elsewhere).expect("renamed");
    assert!(!disk.is_in_place());
    std::fs::create_dir(&path).expect("created");
    assert!(!disk.is_in_place(), "another directory");
    std::fs::remove_dir(&path).expect("removed");
    std::fs::rename(&elsewhere, &path).expect("renamed");
    assert!(disk.is_in_place());
}
