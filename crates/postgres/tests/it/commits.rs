//! Commits, one after another and many at a time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use liteio_kv::database::{CommitError, Database as _, Group, Settled, Worker};
use liteio_kv::{Counts, KvError};

use crate::harness::{Cluster, Process, claim, conflict, counted, delete, put, read, refused};

#[test]
fn a_commit_writes_all_or_tells_what_has_changed() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let first = process
        .commit(Group {
            writes: vec![put(b"a", Some(0), b"1"), put(b"b", None, b"2"), delete(b"c", Some(0))],
            ..Group::default()
        })
        .expect("it commits");
    assert_eq!(process.get(b"a").expect("a row").version, first);
    assert_eq!(process.get(b"b").expect("a row").value, b"2");
    assert_eq!(process.get(b"c"), None);
    // Each of these differs from what is there, and with it the whole group.
    for group in [
        Group { writes: vec![put(b"a", Some(0), b"x"), put(b"z", None, b"x")], ..Group::default() },
        Group { writes: vec![put(b"a", Some(9), b"x"), put(b"z", None, b"x")], ..Group::default() },
        Group { writes: vec![delete(b"a", Some(9)), put(b"z", None, b"x")], ..Group::default() },
        Group {
            keys: vec![(b"a".to_vec(), 0)],
            writes: vec![put(b"z", Some(0), b"x")],
            ..Group::default()
        },
    ] {
        let rows = conflict(process.commit(group));
        let [(key, Some(row))] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((&key[..], &row.value[..], row.version), (&b"a"[..], &b"1"[..], first));
        assert_eq!(process.get(b"z"), None);
    }
    // A row that is not there any more.
    let group = Group { writes: vec![put(b"gone", Some(5), b"x")], ..Group::default() };
    assert_eq!(conflict(process.commit(group)), [(b"gone".to_vec(), None)]);
    // What is still as it was read.
    let group = Group {
        keys: vec![(b"b".to_vec(), first), (b"none".to_vec(), 0)],
        writes: vec![put(b"a", Some(first), b"3"), delete(b"b", None)],
        ..Group::default()
    };
    let second = process.commit(group).expect("it commits");
    assert_eq!(process.get(b"a").expect("a row").version, second);
    assert_eq!(process.get(b"b"), None);
    let stats = process.database.stats();
    assert_eq!((stats.commits, stats.conflicts), (2, 5));
}

#[test]
fn keys_and_values_are_any_bytes() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let all: Vec<u8> = (0..=255).collect();
    let keys: [&[u8]; 8] = [
        b"'; DROP TABLE kv; --",
        b"\"{schema}\"",
        b"$1 %s \\x00",
        b"\0",
        b"\xff\xff",
        b"",
        &all,
        "ключ/鍵".as_bytes(),
    ];
    for key in keys {
        let version = process.put(key, key);
        let row = process.get(key).expect("a row");
        assert_eq!((row.version, &row.value[..]), (version, key));
        process
            .commit(Group {
                claims: vec![claim(key, false)],
                counters: vec![counted(key, false, [1, 0, 0, -1])],
                ..Group::default()
            })
            .expect("it commits");
        assert_eq!(process.count(key), Counts([1, 0, 0, -1]));
    }
    assert_eq!(process.range(b"", b"\xff\xff\xff").len(), keys.len());
    let large = vec![7; 3 << 20];
    process.put(b"large", &large);
    assert!(process.get(b"large").expect("a row").value == large);
}

#[test]
fn what_the_database_cannot_hold_is_refused() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    // Bytes that do not compress.
    let mut key: Vec<u8> =
        (0..2_600_u32).map(|it| (it.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    process.put(&key, b"the longest");
    key.push(1);
    let group = Group { writes: vec![put(&key, None, b"")], ..Group::default() };
    let error = refused(process.commit(group));
    assert!(matches!(error, KvError::TooLarge { bytes: 2_601, bytes_max: 2_600 }), "{error}");
    let group = Group { version: u64::MAX, ..Group::default() };
    let refused = process.database.commit(process.worker, process.number + 1, &group);
    assert!(matches!(refused, Err(CommitError::Refused(_))), "{refused:?}");
    process.put(b"others", b"go on");
}

/// An error is acted on by its SQLSTATE, whatever its words are.
#[test]
fn an_error_tells_what_became_of_the_commit() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let name = cluster.config.cluster();
    let _ = cluster.server.query(&format!(
        "CREATE FUNCTION {name}.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             RAISE EXCEPTION 'duplicate key value, could not serialize' USING ERRCODE = convert_from(NEW.v, 'UTF8'); END $$; \
         CREATE TRIGGER fail BEFORE INSERT ON {name}.kv FOR EACH ROW WHEN (NEW.k = 'fails'::bytea) EXECUTE FUNCTION {name}.fail()"
    ));
    for (code, kind) in [
        ("40001", "conflict"),
        ("40P01", "conflict"),
        ("53100", "no space"),
        ("XX001", "corrupt"),
        ("53200", "refused"),
        ("22003", "refused"),
        ("42501", "refused"),
        ("55P03", "refused"),
        ("57014", "unknown"),
        ("58030", "unknown"),
        ("P0001", "unknown"),
    ] {
        let group =
            || Group { writes: vec![put(b"fails", None, code.as_bytes())], ..Group::default() };
        let found = match process.commit(group()) {
            Err(CommitError::Conflict(rows)) if rows.is_empty() => "conflict",
            Err(CommitError::Refused(KvError::NoSpace)) => "no space",
            Err(CommitError::Refused(KvError::Corrupt(_))) => "corrupt",
            Err(CommitError::Refused(KvError::Io(_))) => "refused",
            Err(CommitError::Unknown(KvError::Io(_))) => "unknown",
            other => panic!("{other:?}"),
        };
        assert_eq!(found, kind, "{code}");
        // The number is not used up, and the session goes on.
        process.put(b"other", b"");
    }
    assert_eq!(process.get(b"fails"), None);
}

#[test]
fn counters_are_summed_and_begin_anew() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    assert_eq!(process.count(b"c"), Counts::NONE);
    // More than there are shards.
    for _ in 0..40 {
        let counters =
            vec![counted(b"c", false, [1, -2, 3, 1 << 40]), counted(b"d", false, [1, 0, 0, 0])];
        process.commit(Group { counters, ..Group::default() }).expect("it commits");
    }
    assert_eq!(process.count(b"c"), Counts([40, -80, 120, 40 << 40]));
    let counters = vec![counted(b"c", true, [5, 0, 0, 0])];
    process.commit(Group { counters, ..Group::default() }).expect("it commits");
    assert_eq!(process.count(b"c"), Counts([5, 0, 0, 0]));
    let counters = vec![counted(b"c", true, [0; 4])];
    process.commit(Group { counters, ..Group::default() }).expect("it commits");
    assert_eq!(process.count(b"c"), Counts::NONE);
    assert_eq!(process.count(b"d"), Counts([40, 0, 0, 0]));
}

#[test]
fn an_epoch_begins_with_its_commit() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let other = cluster.open();
    assert_eq!(process.fetch(&[]).epochs, [0, 0]);
    let mut epochs = [0, 0];
    for begins in [[true, false], [false, false], [true, true], [false, true]] {
        let version = process.commit(Group { begins, ..Group::default() }).expect("it commits");
        for (epoch, _) in epochs.iter_mut().zip(begins).filter(|(_, begins)| *begins) {
            *epoch = version;
        }
        assert_eq!(other.fetch(&[]).epochs, epochs);
    }
    let group = Group { begins: [true; 2], keys: vec![(b"x".to_vec(), 9)], ..Group::default() };
    conflict(process.commit(group));
    assert_eq!(other.fetch(&[]).epochs, epochs);
}

#[test]
fn a_range_that_has_changed_is_a_conflict() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let mut versions: Vec<u64> =
        ["r1", "r2", "r3"].iter().map(|key| process.put(key.as_bytes(), b"")).collect();
    process.put(b"s", b"");
    let with = |range| Group {
        ranges: vec![range],
        writes: vec![put(b"x", None, b"")],
        ..Group::default()
    };
    let good = process.commit(with(read(b"r", Some(b"s"), &versions)));
    good.expect("as it was read");
    for range in [
        read(b"r", Some(b"s"), &versions[1..]),
        read(b"r", Some(b"s"), &[versions[0], versions[1], versions[1]]),
        read(b"q", Some(b"t"), &versions),
        read(b"r", None, &versions),
        read(b"r", Some(b"s"), &[]),
    ] {
        assert_eq!(conflict(process.commit(with(range))), []);
    }
    process.commit(with(read(b"t", Some(b"u"), &[]))).expect("empty, as it was read");
    versions[1] = process.put(b"r2", b"again");
    process.commit(with(read(b"r", Some(b"s"), &versions))).expect("as it was read");
    process
        .commit(Group { writes: vec![delete(b"r2", None)], ..Group::default() })
        .expect("it commits");
    assert_eq!(conflict(process.commit(with(read(b"r", Some(b"s"), &versions)))), []);
}

/// Adds one to the number in a row, again and again, as an update would that reads it.
fn add_to(process: &mut Process, key: &[u8], with_claim: bool) -> Option<u64> {
    let row = process.get(key);
    let (version, count) = row.map_or((0, 0), |row| {
        (row.version, u64::from_be_bytes(row.value.try_into().expect("eight bytes")))
    });
    let claims = if with_claim { vec![claim(key, false)] } else { Vec::new() };
    let writes = vec![put(key, Some(version), &(count + 1).to_be_bytes())];
    match process.commit(Group { claims, writes, ..Group::default() }) {
        Ok(_) => Some(count + 1),
        Err(CommitError::Conflict(_)) => None,
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn of_many_who_change_a_row_each_success_counts() {
    for with_claim in [true, false] {
        let cluster = Cluster::new();
        let successes = AtomicU64::new(0);
        thread::scope(|scope| {
            for seed in 0..8_u64 {
                let (cluster, successes) = (&cluster, &successes);
                scope.spawn(move || {
                    let mut process = cluster.open();
                    for step in 0..40_u64 {
                        let key = [b'k', ((seed + step * 7) % 3) as u8];
                        if add_to(&mut process, &key, with_claim).is_some() {
                            successes.fetch_add(1, Relaxed);
                        }
                    }
                });
            }
        });
        let process = cluster.open();
        let sum: u64 = (0..3_u8)
            .filter_map(|key| process.get(&[b'k', key]))
            .map(|row| u64::from_be_bytes(row.value.try_into().expect("eight bytes")))
            .sum();
        assert_eq!(sum, successes.load(Relaxed));
        assert!(sum > 40, "{sum}");
    }
}

/// Rows in other orders, with deletes among them: nobody waits for anybody in a circle.
#[test]
fn groups_of_many_rows_do_not_block_each_other() {
    let cluster = Cluster::new();
    thread::scope(|scope| {
        for seed in 0..6_usize {
            let cluster = &cluster;
            scope.spawn(move || {
                let mut process = cluster.open();
                for step in 0..30 {
                    let write = |key: u8| match (usize::from(key) + seed + step) % 3 {
                        0 => delete(&[key], None),
                        _ => put(&[key], None, &[seed as u8; 20]),
                    };
                    let writes =
                        (0..40).filter(|key| !(usize::from(*key) + seed).is_multiple_of(5));
                    let group = Group { writes: writes.map(write).collect(), ..Group::default() };
                    match process.commit(group) {
                        // Without claims two may insert one key at a time.
                        Ok(_) | Err(CommitError::Conflict(_)) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
    });
}

/// One inserts where another has found nothing, and relies on that: never both.
#[test]
fn an_insert_and_a_check_for_emptiness_exclude_each_other() {
    let cluster = Cluster::new();
    let mut inserter = cluster.open();
    let mut checker = cluster.open();
    for round in 0..60_u32 {
        let name = round.to_be_bytes();
        let (lower, upper) = ([&name[..], b"/"].concat(), [&name[..], b"0"].concat());
        let inserts = Group {
            claims: vec![claim(&name, true)],
            keys: vec![(name.to_vec(), 0)],
            writes: vec![put(&[&lower[..], b"row"].concat(), Some(0), b"")],
            ..Group::default()
        };
        let checks = Group {
            claims: vec![claim(&name, false)],
            ranges: vec![read(&lower, Some(&upper), &[])],
            writes: vec![put(&name, Some(0), b"deleted")],
            ..Group::default()
        };
        let (inserted, checked) = match round % 3 {
            0 => (inserter.commit(inserts).is_ok(), checker.commit(checks).is_ok()),
            1 => {
                let checked = checker.commit(checks).is_ok();
                (inserter.commit(inserts).is_ok(), checked)
            }
            _ => thread::scope(|scope| {
                let insert = scope.spawn(|| inserter.commit(inserts).is_ok());
                let checked = checker.commit(checks).is_ok();
                (insert.join().expect("no panic"), checked)
            }),
        };
        assert!(inserted != checked, "round {round}: {inserted} {checked}");
        match round % 3 {
            0 => assert!(inserted),
            1 => assert!(checked),
            _ => {}
        }
    }
}

/// Commits with a shared claim do not wait for each other; one with it alone waits for all of them.
#[test]
fn very_many_claims_are_one() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let mut claims: Vec<_> =
        (0..5_000_u32).map(|it| claim(&it.to_be_bytes(), it % 2 == 0)).collect();
    claims.sort();
    for _ in 0..2 {
        let group = Group { claims: claims.clone(), ..Group::default() };
        process.commit(group).expect("it commits");
    }
}

#[test]
fn a_commit_is_settled_whether_it_happened_or_not() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let worker = process.worker;
    let group = |key: &[u8], version| Group {
        version,
        writes: vec![put(key, None, b"")],
        ..Group::default()
    };
    // Before any commit of the worker.
    assert_eq!(process.database.settle(worker, 1).expect("it is settled"), Settled::NotCommitted);
    assert_eq!(process.database.settle(worker, 1).expect("again"), Settled::NotCommitted);
    let late = process.database.commit(worker, 1, &group(b"late", 5));
    assert!(matches!(late, Err(CommitError::Unknown(_))), "{late:?}");
    process.number = 1;
    process.put(b"second", b"");
    assert_eq!(process.database.settle(worker, 2).expect("it is settled"), Settled::Committed);
    assert_eq!(process.database.settle(worker, 3).expect("it is settled"), Settled::NotCommitted);
    let late = process.database.commit(worker, 3, &group(b"late", 6));
    assert!(matches!(late, Err(CommitError::Unknown(_))), "{late:?}");
    process.number = 3;
    process.put(b"fourth", b"");
    assert_eq!(process.get(b"late"), None);
    // A number used twice.
    let late = process.database.commit(worker, 4, &group(b"late", 7));
    assert!(matches!(late, Err(CommitError::Unknown(_))), "{late:?}");
    // The database has lost the commits of 3 and 4, as a failover would: the row of the worker says so.
    let name = cluster.config.cluster();
    let _ = cluster
        .server
        .query(&format!("UPDATE {name}.worker SET number = 2 WHERE run = {}", worker.run));
    let fifth = process.database.commit(worker, 5, &group(b"fifth", 8));
    assert!(matches!(fifth, Err(CommitError::Unknown(_))), "{fifth:?}");
    assert_eq!(
        process.database.settle(worker, 5).expect("it is settled"),
        Settled::Lost { last: 2 }
    );
    assert_eq!(process.database.settle(worker, 5).expect("again"), Settled::Lost { last: 2 });
    assert_eq!(process.database.stats().lost, 2);
    process.number = 5;
    process.put(b"sixth", b"");
    assert_eq!(process.get(b"fifth"), None);
    // And with it the row itself.
    let _ = cluster.server.query(&format!(
        "DELETE FROM {name}.worker WHERE run = {0}; DELETE FROM {name}.process WHERE run = {0}",
        worker.run
    ));
    let seventh = process.database.commit(worker, 7, &group(b"seventh", 9));
    assert!(matches!(seventh, Err(CommitError::Unknown(_))), "{seventh:?}");
    assert_eq!(
        process.database.settle(worker, 7).expect("it is settled"),
        Settled::Lost { last: 0 }
    );
    process.number = 7;
    process.put(b"eighth", b"");
}

/// A failover may forget that a run was begun, and another process gets its number.
#[test]
fn two_processes_with_one_run_do_not_pass_for_each_other() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    process.put(b"key", b"");
    let run = process.worker.run;
    let name = cluster.config.cluster();
    let _ = cluster.server.query(&format!(
        "DELETE FROM {name}.worker WHERE run = {run}; DELETE FROM {name}.process WHERE run = {run}; \
         SELECT setval('{name}.run', {run}, false)"
    ));
    let mut other = cluster.open();
    assert_eq!(other.worker.run, run);
    let lost = process.commit(Group::default());
    assert!(matches!(lost, Err(CommitError::Unknown(_))), "{lost:?}");
    let error = process.database.settle(process.worker, 2).expect_err("it is not its run");
    assert!(error.to_string().contains("restart"), "{error}");
    let index = Worker { run, index: 1 };
    let lost = process.database.commit(index, 1, &Group { version: 77, ..Group::default() });
    assert!(matches!(lost, Err(CommitError::Unknown(_))), "{lost:?}");
    other.put(b"key", b"other");
}

#[test]
fn numbers_grow_for_all_processes() {
    let cluster = Cluster::new();
    let processes = [cluster.open(), cluster.open()];
    let mut last = 0;
    for (step, (count, floor)) in [
        (1, 0),
        (10, 1),
        (1_024, 0),
        (1_025, 5),
        (1, 1_000_000),
        (5_000, 0),
        (1, 1_000_000),
        (1, 2_000_001),
    ]
    .into_iter()
    .cycle()
    .take(32)
    .enumerate()
    {
        let first = processes[step % 2].database.take_numbers(count, floor).expect("numbers");
        assert!(first > last && first >= floor, "{first} behind {last}");
        last = first + u64::from(count) - 1;
    }
    let taken = AtomicU64::new(0);
    let blocks: Vec<(u64, u64)> = thread::scope(|scope| {
        let take = |seed: u64| {
            let (process, taken) = (&processes[seed as usize % 2], &taken);
            scope.spawn(move || {
                let mut blocks = Vec::new();
                for step in 0..40_u64 {
                    let count = [1, 1_000, 3_000][(seed + step) as usize % 3];
                    // Greater than all that were taken before the call.
                    let before = taken.load(Relaxed);
                    let floor = if step % 10 == 9 { last + step * 10_000 } else { 0 };
                    let first = process.database.take_numbers(count, floor).expect("numbers");
                    assert!(first > before && first >= floor);
                    taken.fetch_max(first + u64::from(count) - 1, Relaxed);
                    blocks.push((first, first + u64::from(count)));
                }
                blocks
            })
        };
        let threads: Vec<_> = (0..6).map(take).collect();
        threads.into_iter().flat_map(|it| it.join().expect("no panic")).collect()
    });
    let mut blocks = blocks;
    blocks.sort_unstable();
    assert!(blocks.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{blocks:?}");
}

/// Each of two commits reads what the other writes: one of them has to see the other.
#[test]
fn what_is_only_read_does_not_change_before_the_commit() {
    let cluster = Cluster::new();
    let (one, two): (&[u8], &[u8]) = (b"\x10one", b"\x10two");
    let mut first = cluster.open();
    for round in 0..30 {
        let versions = [one, two].map(|key| first.put(key, b"free"));
        let begin = Barrier::new(2);
        let takes = |own: &[u8], other: &[u8], [of_own, of_other]: [u64; 2]| {
            let mut process = cluster.open();
            let group = Group {
                keys: vec![(other.to_vec(), of_other)],
                writes: vec![put(own, Some(of_own), b"taken")],
                ..Group::default()
            };
            begin.wait();
            usize::from(process.commit(group).is_ok())
        };
        let [of_one, of_two] = versions;
        let taken = thread::scope(|threads| {
            let other = threads.spawn(|| takes(two, one, [of_two, of_one]));
            takes(one, two, [of_one, of_two]) + other.join().expect("no panic")
        });
        assert!(taken <= 1, "round {round}: both have committed");
    }
}
