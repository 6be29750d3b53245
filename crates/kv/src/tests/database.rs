//! Key spaces over a simulated database.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::contract::{Tally, kv_contract_of_both_kinds, snapshot_with};
use crate::database::{DatabaseConfig, Faults, SimulatedDatabase};
use crate::{
    Claim, CountChange, Counts, GroupedEntry, GroupedRange, Kv, KvError, Queue, Read, Transaction,
    Write,
};

/// Handles that do not ask for long what became of a commit.
fn config(committers: usize) -> DatabaseConfig {
    DatabaseConfig {
        committers,
        settle_time: Duration::from_millis(200),
        pause: Duration::from_micros(20),
        ..DatabaseConfig::default()
    }
}

fn over(database: &Arc<SimulatedDatabase>, committers: usize) -> Kv {
    let database = Arc::clone(database);
    Kv::over(database, config(committers)).expect("starts")
}

struct Claimed(&'static str, bool);

impl Claim for Claimed {
    fn append_name(&self, name: &mut Vec<u8>) {
        name.extend_from_slice(self.0.as_bytes());
    }

    fn is_shared(&self) -> bool {
        self.1
    }
}

fn number(from: &impl Read, key: &[u8]) -> Result<u64, KvError> {
    let value = from.get(key)?;
    Ok(value.map_or(0, |value| u64::from_be_bytes(value[..8].try_into().expect("8 bytes"))))
}

fn increment(kv: &Kv, key: &'static [u8]) -> Result<u64, KvError> {
    let incremented = kv.update(move |transaction| {
        let next = number(transaction, key)? + 1;
        transaction.put(key, &next.to_be_bytes())?;
        Ok(next)
    });
    incremented.wait()
}

fn now(kv: &Kv, key: &[u8]) -> u64 {
    number(&kv.snapshot().expect("snapshot"), key).expect("readable")
}

#[test]
fn a_database_keeps_the_contract() {
    // One committer commits in the order of the queue, but numbers have gaps.
    for committers in [1, 3, 8] {
        kv_contract_of_both_kinds(|| over(&SimulatedDatabase::new(), committers));
    }
}

/// Runs `work` on threads, some for each server.
fn on_servers(
    database: &Arc<SimulatedDatabase>,
    servers: usize,
    threads: usize,
    work: impl Fn(&Kv, usize) + Sync,
) {
    thread::scope(|scope| {
        let work = &work;
        for server in 0..servers {
            // No fault lasts: a busy machine must not end the asking before it is answered.
            let patient = DatabaseConfig { settle_time: Duration::from_secs(60), ..config(2) };
            let kv = Kv::over(database.server(), patient).expect("starts");
            for thread in 0..threads {
                let kv = kv.clone();
                scope.spawn(move || work(&kv, server * threads + thread));
            }
        }
    });
}

#[test]
fn what_several_servers_add_to_a_row_is_all_there() {
    let database = SimulatedDatabase::new();
    database.set_faults(Faults { seed: 1, delays: 4, ..Faults::default() });
    on_servers(&database, 3, 4, |kv, _| {
        for _ in 0..30 {
            increment(kv, b"counter").expect("no fault");
        }
    });
    assert_eq!(now(&over(&database, 1), b"counter"), 3 * 4 * 30);
}

/// Each kind of fault, and all together: what was acknowledged happened once, and what was refused did not.
#[test]
fn nothing_acknowledged_is_lost_and_nothing_happens_twice() {
    let of = |faults: Faults| Faults { delays: 3, ..faults };
    let none = Faults::default();
    let all = [
        of(Faults { fetches: 100, ..none }),
        of(Faults { refusals: 300, ..none }),
        of(Faults { conflicts: 300, ..none }),
        of(Faults { lost: 300, ..none }),
        of(Faults { lost_answers: 300, ..none }),
        of(Faults { late: 300, ..none }),
        of(Faults { lost_answers: 200, late: 200, settlings: 500, ..none }),
        Faults::mixed(0),
    ];
    for (seed, faults) in (1..).zip(all) {
        let database = SimulatedDatabase::new();
        database.set_faults(Faults { seed, ..faults });
        let [added, open] = [AtomicU64::new(0), AtomicU64::new(0)];
        on_servers(&database, 3, 3, |kv, _| {
            for _ in 0..30 {
                match increment(kv, b"counter") {
                    Ok(_) => added.fetch_add(1, Ordering::Relaxed),
                    Err(KvError::Unsettled(_)) => open.fetch_add(1, Ordering::Relaxed),
                    Err(KvError::Io(_) | KvError::Busy) => 0,
                    Err(error) => panic!("{faults:?}: {error}"),
                };
            }
        });
        database.set_faults(Faults::default());
        database.deliver_late();
        let found = now(&over(&database, 1), b"counter");
        let [added, open] = [added.into_inner(), open.into_inner()];
        assert!(added <= found && found <= added + open, "{faults:?}: {added} + {open}, {found}");
        assert!(added > 30, "{faults:?}: {added}");
        // Nobody asks in vain for so long by these faults.
        assert_eq!(open, 0, "{faults:?}");
    }
}

/// Two rows that are always equal: a closure that reads them by two fetches may see them differ, and its
/// result never says so.
#[test]
fn reads_of_two_moments_never_become_a_result() {
    let database = SimulatedDatabase::new();
    database.set_faults(Faults { seed: 3, delays: 6, ..Faults::default() });
    let torn = AtomicU64::new(0);
    on_servers(&database, 2, 3, |kv, thread| {
        // Until a change has come between two fetches, which is up to the threads.
        for turn in 0..4_000 {
            if turn >= 40 && torn.load(Ordering::Relaxed) > 0 {
                break;
            }
            match thread % 3 {
                0 => {
                    let both = kv.update::<(), KvError, _>(|transaction| {
                        let next = number(transaction, b"one")? + 1;
                        transaction.put(b"one", &next.to_be_bytes())?;
                        transaction.put(b"other", &next.to_be_bytes())
                    });
                    both.wait().expect("update");
                }
                // An error of the closure is as little of two moments as a result.
                1 => {
                    let compared = kv.update::<(), KvError, _>(|transaction| {
                        let one = number(transaction, b"one")?;
                        let other = number(transaction, b"other")?;
                        match one == other {
                            true => Err(KvError::Closed),
                            false => Err(KvError::Corrupt(format!("{one} and {other}"))),
                        }
                    });
                    let error = compared.wait().expect_err("always");
                    assert!(matches!(error, KvError::Closed), "{error}");
                }
                _ => {
                    let snapshot = snapshot_with(kv, &[b"one"]);
                    let one = number(&snapshot, b"one").expect("there");
                    match number(&snapshot, b"other") {
                        Ok(other) => assert_eq!(one, other),
                        Err(error) => {
                            assert!(matches!(error, KvError::Changed), "{error}");
                            torn.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            }
        }
    });
    assert!(torn.into_inner() > 0, "the rows have changed between the fetches");
}

const QUEUE: Queue<'static> = Queue { counter: b"queue", rows: b"rows/" };

/// Events of a key: their numbers grow in the order in which the key changed.
#[test]
fn numbers_of_a_queue_grow_with_each_key() {
    let database = SimulatedDatabase::new();
    database.set_faults(Faults::mixed(5));
    on_servers(&database, 3, 3, |kv, _| {
        for turn in 0..30 {
            let key: &[u8] = [b"a", b"b"][turn % 2];
            let appended = kv.update::<(), KvError, _>(move |transaction| {
                transaction.claim(Claimed("key", false))?;
                let next = number(transaction, key)? + 1;
                transaction.put(key, &next.to_be_bytes())?;
                let value = [key, &next.to_be_bytes()].concat();
                transaction.append::<Tally>(QUEUE, 0, |_| value)?;
                Ok(())
            });
            let _ = appended.wait();
        }
    });
    database.set_faults(Faults::default());
    database.deliver_late();
    let kv = over(&database, 1);
    let snapshot = kv.snapshot().expect("snapshot");
    let mut rows =
        snapshot.cursor(Bound::Included(b"rows/"), Bound::Excluded(b"rows0")).expect("rows");
    let mut seen = [0_u64; 2];
    while let Some((_, value)) = rows.next().expect("readable") {
        let (key, number) = value.split_first().expect("a key");
        let last = &mut seen[usize::from(key - b'a')];
        *last += 1;
        assert_eq!(u64::from_be_bytes(number.try_into().expect("8 bytes")), *last);
    }
    assert_eq!(seen, [now(&kv, b"a"), now(&kv, b"b")]);
    let counted = snapshot.counter::<Tally>(QUEUE.counter).expect("readable").expect("there");
    assert_eq!(counted.counts.0[0], i64::try_from(seen[0] + seen[1]).expect("small"));
}

fn add(transaction: &mut Transaction<'_>, count: i64) -> Result<(), KvError> {
    let counts = Counts([count, 0, 0, 0]);
    transaction.add::<Tally>(b"tally", &[CountChange { at: b"", counts }])
}

fn tally(kv: &Kv) -> Option<i64> {
    let snapshot = kv.snapshot().expect("snapshot");
    snapshot.counter::<Tally>(b"tally").expect("readable").map(|counted| counted.counts.0[0])
}

#[test]
fn changes_of_a_counter_do_not_conflict_and_a_new_beginning_does() {
    let database = SimulatedDatabase::new();
    let kv = over(&database, 4);
    let begin = |kv: &Kv, count| {
        kv.update::<(), KvError, _>(move |transaction| {
            transaction.set_counter(b"tally", &Tally { count, ..Tally::default() })
        })
        .wait()
        .expect("update");
    };
    begin(&kv, 100);
    on_servers(&database, 2, 4, |kv, _| {
        for _ in 0..50 {
            kv.update::<(), KvError, _>(|transaction| add(transaction, 1)).wait().expect("update");
        }
        assert_eq!(kv.stats().conflicts, 0);
    });
    assert_eq!(tally(&kv), Some(500));
    let seen = kv.update::<_, KvError, _>(|transaction| {
        add(transaction, 3)?;
        let counted = transaction.counter::<Tally>(b"tally")?;
        add(transaction, 4)?;
        Ok(counted.map(|counted| counted.counts.0[0]))
    });
    assert_eq!(seen.wait().expect("update"), Some(503), "its own changes");
    // The row alone can be replaced, and keeps what was added since.
    kv.update::<(), KvError, _>(|transaction| {
        let row = Tally { count: 0, ..Tally::default() };
        transaction.put(b"tally", &crate::CounterRow::encode(&row, b"tally"))
    })
    .wait()
    .expect("update");
    assert_eq!(tally(&kv), Some(407));
    begin(&kv, 7);
    assert_eq!(tally(&kv), Some(7), "what was added before is gone");
    kv.update(|transaction| transaction.end_counter(b"tally")).wait().expect("update");
    assert_eq!(tally(&kv), None);
    begin(&kv, 1);
    assert_eq!(tally(&kv), Some(1));
}

#[test]
fn a_group_needs_one_fetch_for_all_that_its_updates_read_next() {
    let database = SimulatedDatabase::new();
    let kv = over(&database, 1);
    let pending: Vec<_> = (0..20_u32)
        .map(|i| {
            kv.update::<_, KvError, _>(move |transaction| {
                let key = i.to_be_bytes();
                let next = number(transaction, &key)? + number(transaction, b"all")? + 1;
                transaction.put(&key, &next.to_be_bytes())
            })
        })
        .collect();
    let before = database.commits();
    pending.into_iter().for_each(|pending| pending.wait().expect("update"));
    assert_eq!(database.commits() - before, 1, "one commit");
    assert!(kv.fetches().updates.iter().all(|update| update.fetches <= 2));
    // All that it read came by one fetch, and it wrote nothing: there is nothing to commit.
    let read = kv.update::<_, KvError, _>(|transaction| number(transaction, b"all"));
    assert_eq!(read.wait().expect("update"), 0);
    let deleted = kv.update::<_, KvError, _>(|transaction| {
        transaction.get(b"nothing")?;
        transaction.delete(b"nothing")
    });
    deleted.wait().expect("update");
    assert_eq!(database.commits() - before, 1);
}

#[test]
fn an_update_may_read_so_much_and_no_more() {
    let database = SimulatedDatabase::new();
    let kv = over(&database, 1);
    let reads = |count: u32| {
        kv.update::<(), KvError, _>(move |transaction| {
            (0..count).try_for_each(|i| transaction.get(&i.to_be_bytes()).map(|_| ()))
        })
    };
    reads(60).wait().expect("update");
    let error = reads(70).wait().expect_err("too many fetches");
    assert!(matches!(&error, KvError::TooMuchRead(what) if what.contains("64 times")), "{error}");
    for i in 0..40_u32 {
        kv.update::<(), KvError, _>(move |transaction| {
            transaction.put(&[b"large", &i.to_be_bytes()[..]].concat(), &vec![7; 1 << 20])
        })
        .wait()
        .expect("put");
    }
    let all = kv.update::<usize, KvError, _>(|transaction| {
        let mut cursor =
            transaction.cursor(Bound::Included(b"large"), Bound::Excluded(b"largf"))?;
        let mut found = 0;
        while cursor.next()?.is_some() {
            found += 1;
        }
        Ok(found)
    });
    let small = reads(1);
    let error = all.wait().expect_err("too many bytes");
    assert!(matches!(&error, KvError::TooMuchRead(what) if what.contains("bytes")), "{error}");
    small.wait().expect("the others of the group go on");
}

#[test]
fn an_attachment_fails_its_update() {
    let kv = over(&SimulatedDatabase::new(), 1);
    let noted = kv.update::<(), KvError, _>(|transaction| {
        transaction.note(b"blob", b"");
        transaction.put(b"a", b"1")
    });
    noted.wait().expect_err("there is no log");
    assert!(kv.snapshot().expect("snapshot").get(b"a").expect("readable").is_none());
}

#[test]
fn a_server_that_is_cut_off_does_not_know_and_goes_on_later() {
    let database = SimulatedDatabase::new();
    let (server, other) = (database.server(), over(&database, 1));
    let kv = over(&server, 1);
    increment(&kv, b"counter").expect("update");
    server.cut_off(true);
    let error = increment(&kv, b"counter").expect_err("cut off");
    assert!(matches!(error, KvError::Io(_)), "it has not even fetched: {error}");
    let blind = kv.update::<(), KvError, _>(|transaction| transaction.put(b"blind", b"1"));
    let error = blind.wait().expect_err("cut off");
    assert!(matches!(error, KvError::Unsettled(_)), "{error}");
    assert_eq!(kv.stats().unsettled, 1);
    kv.snapshot().expect_err("cut off");
    increment(&other, b"counter").expect("others go on");
    server.cut_off(false);
    assert_eq!(increment(&kv, b"counter").expect("update"), 3);
}

#[test]
fn acknowledged_commits_that_a_failover_has_lost_are_noticed_and_counted() {
    let database = SimulatedDatabase::new();
    let kv = over(&database, 1);
    for expected in 1..=5 {
        assert_eq!(increment(&kv, b"counter").expect("update"), expected);
    }
    let view = kv.snapshot().expect("snapshot");
    database.fail_over(2);
    view.get(b"counter").expect_err("the view is of what is gone");
    assert_eq!(now(&kv, b"counter"), 3);
    assert_eq!(increment(&kv, b"counter").expect("update"), 4, "by what is left");
    assert_eq!(kv.stats().commits_lost, 2);
    assert_eq!(increment(&kv, b"counter").expect("update"), 5);
    assert_eq!(kv.stats().commits_lost, 2);
}

/// A failover that takes longer than a committer asks: it has become another worker by then.
#[test]
fn commits_that_are_lost_while_nobody_answers_are_noticed_when_somebody_does() {
    let database = SimulatedDatabase::new();
    let server = database.server();
    let kv = over(&server, 1);
    for expected in 1..=5 {
        assert_eq!(increment(&kv, b"counter").expect("update"), expected);
    }
    server.cut_off(true);
    let blind = kv.update::<(), KvError, _>(|transaction| transaction.put(b"blind", b"1"));
    let error = blind.wait().expect_err("cut off");
    assert!(matches!(error, KvError::Unsettled(_)), "{error}");
    database.fail_over(2);
    server.cut_off(false);
    assert_eq!(increment(&kv, b"counter").expect("update"), 4, "by what is left");
    // Asked behind that commit, and counted once.
    assert_eq!(increment(&kv, b"counter").expect("update"), 5);
    assert_eq!(kv.stats().commits_lost, 2);
}

#[test]
fn a_commit_begins_the_epochs_of_its_keys() {
    let database = SimulatedDatabase::new();
    let epochs = [vec![b"settings/".to_vec(), b"rules/".to_vec()], vec![b"users/".to_vec()]];
    let kv = Kv::over(database.server(), DatabaseConfig { epochs, ..config(1) }).expect("starts");
    let moment = || kv.moment().expect("answers").expect("over a database");
    let put = |key: &'static [u8]| {
        let before = moment().epochs;
        kv.update::<(), KvError, _>(|transaction| transaction.put(key, b"")).wait().expect("put");
        let after = moment().epochs;
        [0, 1].map(|epoch| u8::from(after[epoch] != before[epoch]))
    };
    assert_eq!(put(b"objects/1"), [0, 0]);
    assert_eq!(put(b"settings/1"), [1, 0]);
    assert_eq!(put(b"rules/1"), [1, 0]);
    assert_eq!(put(b"users/1"), [0, 1]);
    let kept = snapshot_with(&kv, &[b"users/1"]);
    let at = kept.moment().expect("readable").expect("over a database");
    database.advance(7);
    put(b"users/2");
    assert_eq!(kept.moment().expect("readable"), Some(at), "the moment of its first fetch");
    assert_eq!(moment().now_ms, at.now_ms + 7);
    let lost = moment().epochs;
    assert_eq!((lost[0], lost[1] != at.epochs[1]), (at.epochs[0], true));
    // What was remembered at an epoch that is lost is not taken for that of another commit.
    database.fail_over(1);
    assert_eq!(moment().epochs, at.epochs);
    put(b"users/3");
    assert!(![lost[1], at.epochs[1]].contains(&moment().epochs[1]));
    assert_eq!(Kv::memory(super::config()).expect("opens").moment().expect("answers"), None);
}

#[test]
fn long_ranges_and_many_groups_come_in_pages() {
    let database = SimulatedDatabase::new();
    let kv = over(&database, 1);
    let key = |i: u32| format!("p{:04}/{}", i / 2, i % 2).into_bytes();
    kv.update::<(), KvError, _>(move |transaction| {
        (0..5000).try_for_each(|i| transaction.put(&key(i), &i.to_be_bytes()))
    })
    .wait()
    .expect("update");
    let all = (0..5000).map(|i| (key(i), i.to_be_bytes().to_vec()));
    let snapshot = kv.snapshot().expect("snapshot");
    assert_eq!(crate::contract::pairs(&snapshot), all.collect::<Vec<_>>());
    let found =
        kv.update::<_, KvError, _>(|transaction| Ok(crate::contract::pairs(transaction).len()));
    assert_eq!(found.wait().expect("update"), 5000);
    let _ = kv.fetches();
    let range = GroupedRange {
        lower: b"p",
        upper: b"q",
        delimiter: b"/",
        text: 1,
        text_end: b"",
        max: 3000,
    };
    let mut groups = snapshot.grouped(&range).expect("readable");
    let mut found = 0;
    while let Some(entry) = groups.next().expect("readable") {
        assert_eq!(entry, GroupedEntry::Group(format!("p{found:04}/").as_bytes()));
        found += 1;
    }
    assert_eq!(found, 2500);
    assert!(kv.fetches().snapshots <= 5, "pages, not groups");
}

/// Both read that a range is empty, and each writes into it: without a claim neither sees the other.
#[test]
fn a_range_that_is_read_without_a_claim_is_found() {
    let unclaimed = |claims: [Option<Claimed>; 2]| {
        let database = SimulatedDatabase::new();
        database.check_all_claims();
        let kv = over(&database, 1);
        for (name, claim) in (0_u8..).zip(claims) {
            kv.update::<(), KvError, _>(move |transaction| {
                if let Some(Claimed(name, is_shared)) = claim {
                    transaction.claim(Claimed(name, is_shared))?;
                }
                let mut cursor =
                    transaction.cursor(Bound::Included(b"r"), Bound::Excluded(b"s"))?;
                while cursor.next()?.is_some() {}
                drop(cursor);
                transaction.put(&[b'r', name], b"")
            })
            .wait()
            .expect("update");
        }
        database.unclaimed()
    };
    let found = unclaimed([None, None]);
    assert!(found.len() == 1 && found[0].contains("the range r..s"), "{found:?}");
    let claim = |name, is_shared| Some(Claimed(name, is_shared));
    assert!(!unclaimed([claim("r", true), claim("r", true)]).is_empty());
    assert!(!unclaimed([claim("r", false), claim("q", false)]).is_empty());
    assert!(unclaimed([claim("r", false), claim("r", true)]).is_empty());
}

/// The same as a race: the second commit comes between the fetch and the commit of the first.
#[test]
fn a_race_on_a_range_without_a_claim_ends_the_update() {
    let database = SimulatedDatabase::new();
    let [kv, other] = [over(&database.server(), 1), over(&database.server(), 1)];
    let once = std::sync::atomic::AtomicBool::new(false);
    let raced = kv.update::<(), KvError, _>(move |transaction| {
        let mut cursor = transaction.cursor(Bound::Included(b"r"), Bound::Excluded(b"s"))?;
        while cursor.next()?.is_some() {}
        drop(cursor);
        if !once.swap(true, Ordering::Relaxed) {
            let put = other.update::<(), KvError, _>(|transaction| transaction.put(b"r1", b""));
            put.wait()?;
        }
        transaction.put(b"found", b"")
    });
    let error = raced.wait().expect_err("the committer has panicked");
    assert!(matches!(error, KvError::Closed), "{error}");
    assert_eq!(database.unclaimed().len(), 1);
    increment(&kv, b"counter").expect("goes on");
}
