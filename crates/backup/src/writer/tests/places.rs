//! A place of a backup that is damaged, gone, or of another store.

use std::sync::Arc;
use std::time::Duration;

use liteio_disk::{Durability, SimulatedDisk};
use liteio_store::backup::{Restore, RestoredPart};

use super::{Gone, Moments, Patient, begin, repository, restore, sending, write};
use crate::limits::WAITING_BYTES;
use crate::prune::{Retention, prune};
use crate::target::{DirectoryTarget, PutMode, SimulatedTarget, Target as _};
use crate::testing::{Workload, pairs};
use crate::writer::run::Run;
use crate::writer::status::Status;
use crate::writer::{Writer, WriterOptions};
use crate::{Error, Moment, Repository};

#[test]
fn a_missing_damaged_or_unreadable_object_is_told_and_never_a_gap() {
    let workload = Workload::new(8, Durability::Fsync);
    let whole = SimulatedTarget::new();
    let mut moments = Moments::new();
    write(&workload, &repository(&whole, &workload), &Gone, &mut moments, &|| {}).expect("written");
    let names = whole.names();
    let last_segment = names.iter().rfind(|name| name.contains("/log/")).expect("some");
    for name in &names {
        for fault in ["removed", "damaged", "unreadable"] {
            let target = whole.snapshot();
            let is_removed = fault == "removed";
            match fault {
                "removed" => target.delete(name).expect("removed"),
                "unreadable" => target.fail_reads_of(name),
                _ => {
                    let mut bytes = target.get(name).expect("there").to_vec();
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 1;
                    target.put(name, bytes.into(), PutMode::Replace).expect("damaged");
                }
            }
            let what = format!("{name}, {fault}");
            let opened = Repository::open(Arc::new(target.clone()), Some(&[5; 32]));
            let Ok(repository) = opened else {
                assert_eq!(name, "backup.json", "{what}");
                continue;
            };
            let verified = repository.verify(&mut |_| {}).expect("verified");
            let is_named = verified.damaged.iter().any(|it| it.contains(name.as_str()));
            let is_whole = verified.damaged.is_empty();
            assert!(fault != "unreadable" || is_named || is_whole, "{what}: {verified:?}");
            let found = restore(&repository, &workload, Moment::Newest);
            if let ("unreadable", true, Err(error)) = (fault, name.contains("/packs/"), &found) {
                panic!("{what}: {error}");
            }
            let expected = &moments.last_key_value().expect("some").1.0;
            // The sign of the writer tells nothing about states; without it, and without the end of the log, an
            // earlier state is the newest.
            let is_silent = is_removed && (name.ends_with("/alive") || name == last_segment);
            match found {
                Ok((found, restored)) => {
                    let is_whole = found == *expected && restored.left_out == 0;
                    let is_told = restored.left_out > 0 || !verified.damaged.is_empty();
                    assert!(is_whole || is_silent || is_told, "{what}: {restored:?}");
                }
                Err(Error::Refused(_)) => assert!(is_removed, "{what}"),
                Err(_) => {
                    assert!(!verified.damaged.is_empty(), "{what}: {verified:?}");
                }
            }
        }
    }
}

#[test]
fn a_target_that_reads_nothing_is_told_as_such_and_leaves_nothing_out() {
    let workload = Workload::new(8, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    write(&workload, &repository, &Gone, &mut Moments::new(), &|| {}).expect("written");
    target.names().iter().for_each(|name| target.fail_reads_of(name));
    let failed = repository.verify(&mut |_| {}).expect_err("nothing can be read");
    assert!(matches!(failed, Error::Target(_)), "{failed:?}");
    target.recover();
    let verified = repository.verify(&mut |_| {}).expect("verified");
    assert_eq!(verified.damaged, [""; 0]);
}

#[test]
fn nothing_is_removed_while_the_sign_of_a_writer_cannot_be_read() {
    let workload = Workload::new(8, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    write(&workload, &repository, &Gone, &mut Moments::new(), &|| {}).expect("written");
    let status = Status::default();
    let mut run = begin(&workload, &repository, &status);
    run.write_base(&mut |_| Ok(())).expect("written");
    let names = target.names();
    target.fail_reads_of(names.iter().find(|name| name.ends_with("/alive")).expect("some"));
    let retention = Retention { keep_ms: 0, bases: 1 };
    let refused = prune(&repository, &retention, workload.store.now_ms()).expect_err("kept");
    assert!(matches!(refused, Error::Target(_)), "{refused}");
    assert_eq!(target.names(), names);
}

#[test]
fn a_restore_ends_where_a_manifest_a_sign_or_a_segment_cannot_be_read() {
    let workload = Workload::new(8, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    write(&workload, &repository, &Gone, &mut Moments::new(), &|| {}).expect("written");
    let is_of_state =
        |name: &&String| ["/manifest", "/alive", "/log/"].iter().any(|part| name.contains(part));
    let names = target.names();
    // The last of each kind: older ones may not be needed.
    let newest = names.iter().rfind(|name| name.contains("/manifest")).expect("some");
    let last = names.iter().rfind(|name| name.contains("/log/")).expect("some");
    let alive = names.iter().rfind(|name| name.ends_with("/alive")).expect("some");
    for name in [newest, last, alive].into_iter().filter(is_of_state) {
        target.fail_reads_of(name);
        match restore(&repository, &workload, Moment::Newest) {
            Err(Error::Target(_)) => {}
            other => panic!("{name}: {:?}", other.map(|_| "restored")),
        }
        target.recover();
    }
    restore(&repository, &workload, Moment::Newest).expect("restored");
}

#[test]
fn a_backup_belongs_to_one_store_and_one_key() {
    let workload = Workload::new(1, Durability::Fsync);
    let target = SimulatedTarget::new();
    let created_ms = workload.store.created_ms().expect("there");
    let open = |key: Option<&[u8; 32]>, created_ms| {
        Repository::open_or_create(Arc::new(target.clone()), key, created_ms)
    };
    let nothing = Repository::open(Arc::new(target.clone()), None).expect_err("none yet");
    assert!(nothing.to_string().contains("there is no backup"), "{nothing}");
    open(Some(&[5; 32]), created_ms).expect("new");
    for (key, created_ms, expected) in [
        (None, created_ms, "is encrypted: give its key file"),
        (Some(&[6; 32]), created_ms, "is encrypted with another key"),
        (Some(&[5; 32]), created_ms + 1, "is of another data directory"),
    ] {
        let refused = open(key, created_ms).expect_err(expected).to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    open(Some(&[5; 32]), created_ms).expect("the same");
}

#[test]
fn a_backup_without_its_identity_is_not_begun_anew() {
    let workload = Workload::new(1, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let mut run = begin(&workload, &repository, &status);
    run.write_base(&mut |_| Ok(())).expect("written");
    target.delete("backup.json").expect("removed");
    let refused = run.write_base(&mut |_| Ok(())).expect_err("it may be another one");
    assert!(refused.to_string().contains("another backup now, or none"), "{refused}");
    let created_ms = workload.store.created_ms().expect("there");
    let refused = Repository::open_or_create(Arc::new(target.clone()), None, created_ms);
    let refused = refused.expect_err("its key would be another one").to_string();
    assert!(refused.contains("put it back"), "{refused}");
}

#[test]
fn a_backup_that_is_gone_or_another_one_is_told_and_not_begun_anew() {
    let workload = Workload::new(2, Durability::Fsync);
    let options = WriterOptions {
        key: None,
        interval: Duration::from_millis(1),
        base_every: Duration::MAX,
        retention: None,
        bytes_per_second: None,
        parallel: 1,
        parent: None,
        holder: None,
    };
    let once = |target: &SimulatedTarget| {
        Writer::new(workload.store.clone(), Arc::new(target.clone()), options.clone()).once()
    };
    let target = SimulatedTarget::new();
    once(&target).expect("written");
    once(&target).expect("written again");
    // As where no file system is mounted.
    let empty = SimulatedTarget::new();
    let refused = once(&empty).expect_err("gone").to_string();
    assert!(refused.contains("nothing is in its place: mount its file system"), "{refused}");
    assert_eq!(empty.names(), [""; 0]);
    let created_ms = workload.store.created_ms().expect("there");
    Repository::open_or_create(Arc::new(empty.clone()), None, created_ms).expect("made");
    let refused = once(&empty).expect_err("another one").to_string();
    assert!(refused.contains("but another one: mount its file system"), "{refused}");
    assert_eq!(empty.names(), ["backup.json"]);
    once(&target).expect("it was there all the time");
}

#[test]
fn a_file_system_that_is_unmounted_meanwhile_ends_the_generation_and_gets_the_next_one() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let (place, aside) = (root.path().join("backup"), root.path().join("aside"));
    let workload = Workload::new(2, Durability::Fsync);
    let target = Arc::new(DirectoryTarget::new(&place));
    let created_ms = workload.store.created_ms().expect("there");
    let repository = Repository::open_or_create(target, None, created_ms).expect("made");
    for is_mount_point in [true, false] {
        let status = Status::default();
        let feed = workload.store.backup_feed(WAITING_BYTES).expect("the only one");
        let pace = Patient(SimulatedTarget::new());
        let mut run = Run::begin(feed, &repository, &pace, &status, sending(1)).expect("begun");
        run.write_base(&mut |_| Ok(())).expect("written");
        std::fs::rename(&place, &aside).expect("moved");
        if is_mount_point {
            std::fs::create_dir(&place).expect("made");
        }
        workload.put("key", &[1; 200]);
        let ended = run.tick().expect_err("it is not there").to_string();
        assert!(ended.contains("has another backup now, or none"), "{ended}");
        drop(run);
        let _ = std::fs::remove_dir_all(&place);
        std::fs::rename(&aside, &place).expect("moved back");
    }
    let verified = repository.verify(&mut |_| {}).expect("verified");
    assert_eq!((verified.damaged.len(), verified.generations), (0, 2));
}

#[test]
fn a_directory_and_its_restored_copy_at_one_place_keep_each_other() {
    let workload = Workload::new(5, Durability::Fsync);
    workload.put("gone in the copy", &[1; 300]);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let mut original = begin(&workload, &repository, &status);
    original.write_base(&mut |_| Ok(())).expect("written");
    let disk = SimulatedDisk::new(9);
    let to = Restore::begin_on(Arc::new(disk.clone()), workload.config()).expect("empty");
    let plan = repository.plan(Moment::Newest).expect("there");
    repository.restore_into(&plan, &RestoredPart::Everything, to, &mut |_| {}).expect("restored");
    let copy = Workload::new(6, Durability::Fsync).on(disk);
    // The clock of the copy begins where the original is.
    copy.clock.set_ms(workload.store.now_ms() + 1000);
    let retention = Retention { keep_ms: 0, bases: 1 };
    let mut second = begin(&copy, &repository, &status);
    second.tick().expect("signed");
    let refused = prune(&repository, &retention, copy.store.now_ms()).expect_err("no base yet");
    assert!(refused.to_string().contains("has no complete base yet"), "{refused}");
    second.write_base(&mut |_| Ok(())).expect("written");
    for _ in 0..3 {
        workload.clock.advance_ms(100_000);
        copy.clock.advance_ms(100_000);
        (0..5).for_each(|_| workload.step());
        (0..5).for_each(|_| copy.step());
        original.end().expect("written");
        second.end().expect("written");
        prune(&repository, &retention, copy.store.now_ms()).expect("pruned");
        for (run, of) in [(&original, &workload), (&second, &copy)] {
            let (generation, number) = (run.generation, run.feed.newest());
            let moment = Moment::Number { generation, number };
            let (found, restored) = restore(&repository, of, moment).expect("kept");
            assert!(found == pairs(&run.feed) && restored.left_out == 0, "{restored:?}");
        }
    }
    // The original has ended long ago.
    let later_ms = copy.store.now_ms() + 3 * 24 * 60 * 60 * 1000;
    prune(&repository, &retention, later_ms).expect("pruned");
    // Packs that the copy needs stay.
    let left = repository.generation(original.generation).expect("listed");
    assert_eq!((left.bases.len(), left.segments.len()), (0, 0));
    restore(&repository, &copy, Moment::Newest).expect("kept");
}
