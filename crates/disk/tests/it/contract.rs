//! One suite for every disk.

use std::io::ErrorKind;
use std::sync::Arc;

use liteio_disk::{
    DirEntry, Disk, DiskFile, OpenMode, OverlayDisk, RealDisk, SimulatedDisk, UNCACHED_ALIGNMENT,
    is_poisoned,
};

type Case = fn(&dyn Disk);

/// The kernel has files in memory that can be mapped.
const HAS_FILES_IN_MEMORY: bool = cfg!(all(target_os = "linux", not(feature = "portable")));

const CASES: &[(&str, Case)] = &[
    ("bytes_read_back_at_any_offset", bytes_read_back_at_any_offset),
    ("uncached_writes_and_others_make_one_file", uncached_writes_and_others_make_one_file),
    ("a_gap_and_an_extension_are_zeros", a_gap_and_an_extension_are_zeros),
    ("a_cut_forgets_the_tail", a_cut_forgets_the_tail),
    ("space_taken_ahead_changes_nothing_that_is_read", space_taken_ahead_changes_nothing),
    ("a_discarded_range_is_zeros", a_discarded_range_is_zeros),
    ("reads_that_do_not_wait_agree_with_those_that_do", reads_that_do_not_wait_agree),
    ("open_modes", open_modes),
    ("a_temporary_file_appears_when_linked", a_temporary_file_appears_when_linked),
    ("a_link_never_replaces", a_link_never_replaces),
    ("a_rename_replaces", a_rename_replaces),
    ("an_open_file_outlives_its_name", an_open_file_outlives_its_name),
    ("a_file_is_locked_by_one_handle_at_a_time", a_file_is_locked_by_one_handle_at_a_time),
    ("directories", directories),
    ("everything_is_synced_or_nothing_is_said", everything_is_synced_or_nothing_is_said),
    ("paths_outside_are_refused", paths_outside_are_refused),
    ("a_poisoned_disk_is_read_only", a_poisoned_disk_is_read_only),
];

#[test]
fn the_real_disk_keeps_the_contract() {
    for (name, case) in CASES {
        println!("{name}");
        let directory = tempfile::tempdir().expect("a temporary directory");
        case(&RealDisk::open(directory.path()).expect("opens"));
    }
}

#[test]
fn the_simulated_disk_keeps_the_contract() {
    for (name, case) in CASES {
        for seed in 0..20 {
            println!("{name}, seed {seed}");
            case(&SimulatedDisk::new(seed));
            case(&SimulatedDisk::with_named_temporaries(seed));
        }
    }
}

#[test]
fn an_overlay_keeps_the_contract_over_every_disk() {
    for (name, case) in CASES {
        println!("{name}");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let real = RealDisk::open(directory.path()).expect("opens");
        case(&OverlayDisk::new(Arc::new(real)));
        let names = std::fs::read_dir(directory.path()).expect("readable");
        assert_eq!(names.count(), 0, "nothing below has changed");
        let simulated: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1));
        case(&OverlayDisk::new(Arc::clone(&simulated)));
        case(&OverlayDisk::new(Arc::new(OverlayDisk::new(simulated))));
    }
}

#[test]
fn one_handle_serves_many_threads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let real: Arc<dyn Disk> = Arc::new(RealDisk::open(directory.path()).expect("opens"));
    let simulated: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1));
    let overlay: Arc<dyn Disk> = Arc::new(OverlayDisk::new(Arc::new(SimulatedDisk::new(1))));
    for disk in [real, simulated, overlay] {
        let file = create(&*disk, "shared");
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let file = &*file;
                scope.spawn(move || {
                    for round in 0..50_u64 {
                        let offset = (round * 4 + u64::from(thread)) * 1000;
                        file.write_at(&[thread + 1; 1000], offset).expect("written");
                        assert_eq!(read(file, offset, 1000), [thread + 1; 1000]);
                    }
                });
            }
        });
        let all: Vec<u8> = (0..200_000).map(|at| (at / 1000 % 4) as u8 + 1).collect();
        assert_eq!(content(&*disk, "shared"), all);
    }
}

fn bytes_read_back_at_any_offset(disk: &dyn Disk) {
    let file = create(disk, "file");
    let bytes: Vec<u8> = (0..20_000_u32).map(|at| (at / 3) as u8).collect();
    file.write_at(&bytes, 0).expect("written");
    for (offset, count) in [(0, 20_000), (1, 1), (4095, 2), (4096, 4096), (19_999, 1)] {
        assert_eq!(read(&*file, offset, count), bytes[offset as usize..][..count]);
    }
    assert_eq!(read(&*file, 19_990, 100), bytes[19_990..], "short at the end");
    assert_eq!(read(&*file, 20_000, 100), [], "nothing after the end");
    assert_eq!(read(&*file, 1 << 40, 100), [], "nothing far after the end");
    file.write_at(b"new", 4094).expect("written");
    assert_eq!(read(&*file, 4093, 5), [bytes[4093], b'n', b'e', b'w', bytes[4097]]);
    file.write_at(b"", 1 << 30).expect("nothing written");
    file.start_writeback(0, 20_000);
    file.start_writeback(0, 0);
    file.sync_data().expect("synced");
    assert_eq!(file.len().expect("length"), 20_000);
    file.write_at(b"x", u64::MAX).expect_err("no file is that large");
}

fn uncached_writes_and_others_make_one_file(disk: &dyn Disk) {
    const PAGE: usize = UNCACHED_ALIGNMENT;
    let memory: Vec<u8> = (0..6 * PAGE).map(|at| (at % 251) as u8).collect();
    let start = memory.as_ptr().align_offset(PAGE);
    let buffer = &memory[start..start + 4 * PAGE];
    let file = disk.create_temporary().expect("created");
    let mut expected = Vec::new();
    let mut write = |bytes: &[u8], offset: usize, is_uncached: bool| {
        let write = if is_uncached { DiskFile::write_uncached_at } else { DiskFile::write_at };
        write(&*file, bytes, offset as u64).expect("written");
        expected.resize(expected.len().max(offset + bytes.len()), 0);
        expected[offset..offset + bytes.len()].copy_from_slice(bytes);
        assert!(read(&*file, 0, expected.len()) == expected, "{offset}");
    };
    write(&buffer[..PAGE + 5], 0, false);
    write(buffer, PAGE, true);
    write(&buffer[PAGE..], 9 * PAGE, true);
    write(&buffer[7..PAGE], 9 * PAGE, true);
    write(&buffer[..PAGE], 2 * PAGE + 1, true);
    write(&buffer[..2 * PAGE + 1], 20 * PAGE, true);
    write(&buffer[3..100], 10 * PAGE - 50, false);
    file.sync_data().expect("synced");
    assert!(read(&*file, 0, expected.len()) == expected);
}

fn a_gap_and_an_extension_are_zeros(disk: &dyn Disk) {
    let file = create(disk, "file");
    assert!(file.is_empty().expect("length"));
    file.write_at(b"end", 10_000).expect("written");
    file.set_len(20_000).expect("extended");
    let mut expected = vec![0; 20_000];
    expected[10_000..10_003].copy_from_slice(b"end");
    assert_eq!(content(disk, "file"), expected);
}

fn a_cut_forgets_the_tail(disk: &dyn Disk) {
    let file = create(disk, "file");
    file.write_at(&[7; 10_000], 0).expect("written");
    file.set_len(5000).expect("cut");
    assert_eq!(content(disk, "file"), [7; 5000]);
    file.set_len(10_000).expect("extended");
    assert_eq!(read(&*file, 5000, 5000), [0; 5000]);
}

fn space_taken_ahead_changes_nothing(disk: &dyn Disk) {
    check_reserve(&*create(disk, "a"));
}

fn check_reserve(file: &dyn DiskFile) {
    file.write_at(b"body", 0).expect("written");
    file.reserve(2, 100_000);
    assert_eq!(file.len().expect("length"), 4);
    assert_eq!(read(file, 0, 10), b"body");
    file.write_at(b"tail", 6).expect("written");
    assert_eq!(read(file, 0, 20), b"body\0\0tail");
    assert_eq!(file.len().expect("length"), 10);
}

fn a_discarded_range_is_zeros(disk: &dyn Disk) {
    const PAGE: usize = UNCACHED_ALIGNMENT;
    let file = create(disk, "file");
    let mut expected = vec![7; 10 * PAGE];
    file.write_at(&expected, 0).expect("written");
    // Whole pages, and a range within one.
    for range in [2 * PAGE..5 * PAGE, 9 * PAGE..10 * PAGE, 6 * PAGE + 10..6 * PAGE + 20] {
        let bytes = range.len() as u64;
        if file.discard(range.start as u64, bytes).expect("no failure") {
            expected[range].fill(0);
        }
        assert_eq!(content(disk, "file"), expected);
    }
    // It can be written again.
    file.write_at(&[8; 100], 3 * PAGE as u64).expect("written");
    expected[3 * PAGE..3 * PAGE + 100].fill(8);
    assert_eq!(content(disk, "file"), expected);
}

fn reads_that_do_not_wait_agree(disk: &dyn Disk) {
    let file = create(disk, "file");
    file.write_at(&[5; 9000], 0).expect("written");
    for (offset, expected) in [(0, 1000), (8500, 500), (9000, 0), (100_000, 0)] {
        let mut buf = [0; 1000];
        // The bytes may or may not be in memory.
        if let Some(count) = file.try_read_at(&mut buf, offset).expect("readable") {
            assert_eq!(count, expected, "offset {offset}");
            assert!(buf[..count].iter().all(|byte| *byte == 5));
        }
    }
    assert!(matches!(file.try_read_at(&mut [], 0), Ok(None | Some(0))));
}

fn open_modes(disk: &dyn Disk) {
    for mode in [OpenMode::Read, OpenMode::Write] {
        assert_eq!(error_kind(disk.open("file", mode)), ErrorKind::NotFound);
    }
    create(disk, "file").write_at(b"kept", 0).expect("written");
    let file = create(disk, "file");
    assert_eq!(content(disk, "file"), b"kept", "an existing file is not cut");
    disk.open("file", OpenMode::Write).expect("opens").write_at(b"K", 0).expect("written");
    let reader = disk.open("file", OpenMode::Read).expect("opens");
    reader.write_at(b"x", 0).expect_err("for reading only");
    reader.set_len(0).expect_err("for reading only");
    reader.sync_data().expect("a reader may sync");
    assert_eq!(read(&*file, 0, 10), b"Kept", "handles see each other's writes");
    assert_eq!(error_kind(disk.open("no/file", OpenMode::CreateOrWrite)), ErrorKind::NotFound);
    let below_a_file = disk.open("file/file", OpenMode::CreateOrWrite);
    assert_eq!(error_kind(below_a_file), ErrorKind::NotADirectory);
}

fn a_temporary_file_appears_when_linked(disk: &dyn Disk) {
    disk.create_dir("tmp").expect("created");
    disk.create_dir("blobs").expect("created");
    let file = disk.create_temporary().expect("created");
    let dropped = disk.create_temporary().expect("created");
    file.write_at(b"body", 0).expect("written");
    dropped.write_at(b"body", 0).expect("written");
    file.sync_data().expect("synced");
    assert_eq!(disk.list("blobs").expect("listed"), []);
    assert_eq!(error_kind(disk.link(&*file, "missing/a")), ErrorKind::NotFound);
    disk.link(&*file, "blobs/a").expect("linked");
    disk.sync_dir("blobs").expect("synced");
    drop(dropped);
    assert_eq!(content(disk, "blobs/a"), b"body");
    file.write_at(b"B", 0).expect("still a file");
    assert_eq!(content(disk, "blobs/a"), b"Body");
    drop(file);
    assert_eq!(content(disk, "blobs/a"), b"Body");
    assert_eq!(disk.list("tmp").expect("listed"), []);
}

fn a_link_never_replaces(disk: &dyn Disk) {
    disk.create_dir("tmp").expect("created");
    create(disk, "taken").write_at(b"old", 0).expect("written");
    let file = disk.create_temporary().expect("created");
    file.write_at(b"new", 0).expect("written");
    assert_eq!(error_kind(disk.link(&*file, "taken")), ErrorKind::AlreadyExists);
    assert_eq!(content(disk, "taken"), b"old");
    disk.link(&*file, "free").expect("may try another name");
    assert_eq!(content(disk, "free"), b"new");
    assert_eq!(error_kind(disk.link(&*file, "second")), ErrorKind::InvalidInput);
    let named = disk.open("free", OpenMode::Write).expect("opens");
    assert_eq!(error_kind(disk.link(&*named, "second")), ErrorKind::InvalidInput);
    let stranger = SimulatedDisk::new(0).create_temporary().expect("created");
    assert_eq!(error_kind(disk.link(&*stranger, "second")), ErrorKind::InvalidInput);
}

fn a_rename_replaces(disk: &dyn Disk) {
    disk.create_dir("d").expect("created");
    create(disk, "a").write_at(b"a", 0).expect("written");
    create(disk, "d/b").write_at(b"b", 0).expect("written");
    disk.rename("a", "d/b").expect("renamed");
    assert_eq!(content(disk, "d/b"), b"a");
    assert_eq!(error_kind(disk.open("a", OpenMode::Read)), ErrorKind::NotFound);
    assert_eq!(error_kind(disk.rename("a", "c")), ErrorKind::NotFound);
    assert_eq!(error_kind(disk.rename("d/b", "e/b")), ErrorKind::NotFound);
    disk.rename("d/b", "d").expect_err("a directory is in the way");
    disk.rename("d/b", "d/b").expect("onto itself");
    disk.sync_dir("d").expect("synced");
    disk.sync_dir("").expect("synced");
    assert_eq!(content(disk, "d/b"), b"a");
}

fn an_open_file_outlives_its_name(disk: &dyn Disk) {
    let file = create(disk, "file");
    file.write_at(b"body", 0).expect("written");
    disk.remove("file").expect("removed");
    assert_eq!(error_kind(disk.remove("file")), ErrorKind::NotFound);
    assert_eq!(error_kind(disk.open("file", OpenMode::Read)), ErrorKind::NotFound);
    assert_eq!(read(&*file, 0, 10), b"body");
    file.write_at(b"B", 0).expect("written");
    assert!(create(disk, "file").is_empty().expect("length"), "a new file of the name");
    assert_eq!(read(&*file, 0, 10), b"Body");
}

fn a_file_is_locked_by_one_handle_at_a_time(disk: &dyn Disk) {
    let first = create(disk, "a");
    let second = disk.open("a", OpenMode::Write).expect("opens");
    first.try_lock().expect("free");
    assert_eq!(error_kind(second.try_lock()), ErrorKind::ResourceBusy);
    second.write_at(b"x", 0).expect("a lock keeps nobody from writing");
    drop(first);
    second.try_lock().expect("free again");
    second.try_lock().expect("its own");
}

fn directories(disk: &dyn Disk) {
    disk.create_dir("").expect("the root is there");
    disk.create_dir("a").expect("created");
    disk.create_dir("a/b").expect("created");
    disk.create_dir("a").expect("exists");
    assert_eq!(error_kind(disk.create_dir("c/d")), ErrorKind::NotFound);
    create(disk, "a/file");
    assert_eq!(error_kind(disk.create_dir("a/file")), ErrorKind::NotADirectory);
    assert_eq!(error_kind(disk.remove("a")), ErrorKind::IsADirectory);
    let mut names = disk.list("a").expect("listed");
    names.sort_by(|left, right| left.name.cmp(&right.name));
    let entry = |name: &str, is_dir| DirEntry { name: name.to_owned(), is_dir };
    assert_eq!(names, [entry("b", true), entry("file", false)]);
    assert_eq!(disk.list("").expect("listed"), [entry("a", true)]);
    assert_eq!(error_kind(disk.list("missing")), ErrorKind::NotFound);
    assert_eq!(error_kind(disk.list("a/file")), ErrorKind::NotADirectory);
    assert_eq!(error_kind(disk.sync_dir("missing")), ErrorKind::NotFound);
    disk.health().check().expect("a missing directory harms nothing");
    assert!(disk.free_bytes().expect("known") > 0);
}

fn paths_outside_are_refused(disk: &dyn Disk) {
    disk.create_dir("tmp").expect("created");
    create(disk, "file");
    let temporary = disk.create_temporary().expect("created");
    for path in ["/etc/passwd", "..", "../file", "tmp/../file", "./file", "tmp//file", "tmp/"] {
        let refusals = [
            error_kind(disk.open(path, OpenMode::Read)),
            error_kind(disk.open(path, OpenMode::CreateOrWrite)),
            error_kind(disk.link(&*temporary, path)),
            error_kind(disk.rename("file", path)),
            error_kind(disk.rename(path, "other")),
            error_kind(disk.remove(path)),
            error_kind(disk.create_dir(path)),
            error_kind(disk.sync_dir(path)),
            error_kind(disk.list(path)),
        ];
        assert_eq!(refusals, [ErrorKind::InvalidInput; 9], "{path:?}");
    }
    assert_eq!(error_kind(disk.open("", OpenMode::Read)), ErrorKind::InvalidInput);
}

fn everything_is_synced_or_nothing_is_said(disk: &dyn Disk) {
    disk.create_dir("d").expect("created");
    create(disk, "d/a").write_at(b"body", 0).expect("written");
    disk.sync_everything().expect("synced, or not possible");
    assert_eq!(content(disk, "d/a"), b"body");
    disk.health().poison("a test said so");
    match disk.sync_everything() {
        Err(error) => assert!(is_poisoned(&error), "{error}"),
        Ok(is_synced) => assert!(!is_synced, "nothing can be relied on"),
    }
}

fn a_poisoned_disk_is_read_only(disk: &dyn Disk) {
    disk.create_dir("tmp").expect("created");
    let file = create(disk, "file");
    file.write_at(b"body", 0).expect("written");
    let temporary = disk.create_temporary().expect("created");
    disk.health().poison("a test said so");
    let refusals = [
        file.write_at(b"x", 0),
        file.set_len(0),
        file.sync_data(),
        disk.open("new", OpenMode::CreateOrWrite).map(drop),
        disk.create_temporary().map(drop),
        disk.link(&*temporary, "linked"),
        disk.rename("file", "renamed"),
        disk.remove("file"),
        disk.create_dir("directory"),
        disk.sync_dir(""),
    ];
    for (number, refusal) in refusals.into_iter().enumerate() {
        let error = refusal.expect_err("refused");
        assert!(is_poisoned(&error), "number {number}: {error}");
        assert!(error.to_string().contains("a test said so"), "{error}");
    }
    assert_eq!(content(disk, "file"), b"body");
    assert_eq!(disk.list("").expect("listed").len(), 2);
    assert!(disk.free_bytes().is_ok());
}

pub(crate) fn create(disk: &dyn Disk, path: &str) -> Box<dyn DiskFile> {
    disk.open(path, OpenMode::CreateOrWrite).expect("created")
}

pub(crate) fn content(disk: &dyn Disk, path: &str) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).expect("opens");
    read(&*file, 0, file.len().expect("length") as usize + 1)
}

fn read(file: &dyn DiskFile, offset: u64, bytes: usize) -> Vec<u8> {
    let mut buf = vec![0xee; bytes];
    let count = file.read_at(&mut buf, offset).expect("readable");
    buf.truncate(count);
    buf
}

fn error_kind<T>(result: std::io::Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("should have failed"),
        Err(error) => error.kind(),
    }
}

#[test]
fn a_memory_file_is_read_and_written_like_any_other() {
    let file = liteio_disk::memory_file("test").expect("created");
    assert!(file.is_empty().expect("length"));
    file.write_at(b"vector", 10_000).expect("written");
    file.sync_data().expect("synced");
    assert_eq!(file.len().expect("length"), 10_006);
    let mut bytes = [1; 8];
    assert_eq!(file.read_at(&mut bytes, 9_998).expect("read"), 8);
    assert_eq!(&bytes, b"\0\0vector");
    assert_eq!(file.try_read_at(&mut bytes, 10_003).expect("read"), Some(3));
    file.set_len(5).expect("cut");
    assert_eq!(file.read_at(&mut bytes, 0).expect("read"), 5);
    assert_eq!(file.descriptor().is_some(), HAS_FILES_IN_MEMORY);
}

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[test]
fn space_in_memory_is_taken_ahead() {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    let file = liteio_disk::memory_file("test").expect("created");
    check_reserve(&*file);
    file.reserve(0, 1 << 20);
    let descriptor = file.descriptor().expect("it has one").as_raw_fd();
    let metadata = std::fs::metadata(format!("/proc/self/fd/{descriptor}")).expect("there");
    assert!(metadata.blocks() * 512 >= 1 << 20, "{} blocks", metadata.blocks());
    assert_eq!(metadata.len(), 10);
}
