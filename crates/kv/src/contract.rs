//! The contract of a key space, as a suite that runs on every engine and disk.

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::pending::block_on;
use crate::{
    Claim, CountChange, Counted, CounterRow, Counts, Cursor, GroupedEntry, GroupedRange, Kv,
    KvError, Pending, Queue, QueueRow, Read, Snapshot, Transaction, Write,
};

/// Runs the whole suite; `open` gives an empty key space each time.
///
/// # Panics
/// If the contract is broken.
pub fn kv_contract(open: impl Fn() -> Kv) {
    snapshots_begin_at_once(&open());
    updates_of_a_thread_are_in_order(&open());
    queues_number_their_rows_without_gaps(&open());
    kv_contract_of_both_kinds(open);
}

/// The part of the suite that a key space over a database keeps, too, whose threads commit at the same
/// time.
///
/// # Panics
/// If the contract is broken.
pub fn kv_contract_of_both_kinds(open: impl Fn() -> Kv) {
    snapshots_are_isolated(&open());
    snapshots_may_begin_with_rows(&open());
    updates_read_their_own_writes(&open());
    failed_updates_leave_nothing(&open());
    a_panic_fails_its_update_alone(&open());
    a_group_with_failing_members_keeps_the_others(&open());
    a_swallowed_error_keeps_the_rest(&open());
    cursors_stay_within_their_bounds(&open());
    cursors_turn_around(&open());
    cursors_seek(&open());
    ranges_are_grouped(&open());
    updates_are_serial(&open());
    counters_add_up(&open());
    queues_number_their_rows(&open());
    large_values_come_back(&open());
    pages_return_what_was_deleted(&open());
    handles_may_end_anywhere(open());
}

/// Everything between the bounds, as `(key, value)`.
///
/// # Panics
/// If the key space cannot be read, or the cursor returns other pairs backward than forward.
pub fn pairs(from: &impl Read) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = from.cursor(Bound::Unbounded, Bound::Unbounded).expect("readable");
    let mut found = Vec::new();
    while let Some((key, value)) = cursor.next().expect("readable") {
        found.push((key.to_vec(), value.to_vec()));
    }
    for (key, value) in found.iter().rev() {
        let (back_key, back_value) = cursor.previous().expect("readable").expect("as many back");
        assert_eq!((back_key, back_value), (&key[..], &value[..]), "backward is forward");
    }
    assert!(cursor.previous().expect("readable").is_none());
    found
}

fn put(kv: &Kv, key: &[u8], value: &[u8]) -> Pending<(), KvError> {
    let (key, value) = (key.to_vec(), value.to_vec());
    kv.update(move |transaction| transaction.put(&key, &value))
}

fn get(from: &impl Read, key: &[u8]) -> Option<Vec<u8>> {
    from.get(key).expect("readable").map(|value| value.to_vec())
}

fn keys(cursor: &mut Cursor<'_>) -> String {
    let mut keys = Vec::new();
    while let Some((key, _)) = cursor.next().expect("readable") {
        keys.push(String::from_utf8(key.to_vec()).expect("text"));
    }
    keys.join(" ")
}

fn snapshots_begin_at_once(kv: &Kv) {
    put(kv, b"a", b"1").wait().expect("put");
    let before = kv.snapshot().expect("snapshot");
    put(kv, b"a", b"2").wait().expect("put");
    put(kv, b"b", b"2").wait().expect("put");
    assert_eq!(get(&before, b"a").as_deref(), Some(&b"1"[..]));
    assert_eq!(get(&before, b"b"), None);
    assert_eq!(pairs(&before).len(), 1);
}

fn snapshots_are_isolated(kv: &Kv) {
    put(kv, b"a", b"1").wait().expect("put");
    let before = kv.snapshot().expect("snapshot");
    // Over a database the first read may be its moment.
    assert_eq!(get(&before, b"").as_deref(), None);
    put(kv, b"a", b"2").wait().expect("put");
    put(kv, b"b", b"2").wait().expect("put");
    assert_eq!(get(&before, b"a").as_deref(), Some(&b"1"[..]));
    assert_eq!(get(&before, b"b"), None);
    assert_eq!(pairs(&before).len(), 1);
    let after = kv.snapshot().expect("snapshot");
    assert_eq!(get(&after, b"a").as_deref(), Some(&b"2"[..]), "acknowledged is readable");
    assert_eq!(pairs(&after).len(), 2);
}

/// A snapshot that begins with the rows of `keys`, where they have to be fetched.
pub(crate) fn snapshot_with(kv: &Kv, keys: &[&[u8]]) -> Snapshot {
    let ahead = block_on(kv.fetch_ahead(keys.iter().map(|key| key.to_vec()).collect()));
    kv.snapshot_of(ahead.expect("fetched").as_ref()).expect("snapshot")
}

fn snapshots_may_begin_with_rows(kv: &Kv) {
    for key in [b"a", b"b", b"c"] {
        put(kv, key, key).wait().expect("put");
    }
    let snapshot = snapshot_with(kv, &[b"a", b"x"]);
    put(kv, b"b", b"2").wait().expect("put");
    assert_eq!(get(&snapshot, b"a").as_deref(), Some(&b"a"[..]));
    assert_eq!(get(&snapshot, b"x"), None);
    assert_eq!(get(&snapshot, b"c").as_deref(), Some(&b"c"[..]), "read later");
    assert_eq!(pairs(&snapshot).len(), 3);
    // If one of the first rows has changed meanwhile, the rest is of the same moment, or an error.
    let snapshot = snapshot_with(kv, &[b"a"]);
    put(kv, b"a", b"2").wait().expect("put");
    put(kv, b"c", b"2").wait().expect("put");
    assert_eq!(get(&snapshot, b"a").as_deref(), Some(&b"a"[..]));
    match snapshot.get(b"c") {
        Ok(value) => assert_eq!(value.as_deref(), Some(&b"c"[..])),
        Err(error) => assert!(matches!(error, KvError::Changed), "{error}"),
    }
}

fn updates_read_their_own_writes(kv: &Kv) {
    put(kv, b"old", b"1").wait().expect("put");
    let seen = kv.update::<_, KvError, _>(|transaction| {
        transaction.put(b"new", b"2")?;
        transaction.put(b"new", b"3")?;
        transaction.delete(b"old")?;
        transaction.delete(b"never there")?;
        assert_eq!(get(transaction, b"new").as_deref(), Some(&b"3"[..]));
        assert_eq!(get(transaction, b"old"), None);
        Ok(pairs(transaction))
    });
    assert_eq!(seen.wait().expect("update"), [(b"new".to_vec(), b"3".to_vec())]);
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")), [(b"new".to_vec(), b"3".to_vec())]);
}

fn spoil(transaction: &mut Transaction<'_>) -> Result<(), KvError> {
    for i in 0..300_u32 {
        transaction.put(format!("key {i:03}").as_bytes(), &[7; 100])?;
    }
    transaction.put(b"key 007", b"again")?;
    transaction.put(b"key 008", b"")?;
    transaction.delete(b"key 008")?;
    for i in (0..300_u32).step_by(3) {
        transaction.delete(format!("key {i:03}").as_bytes())?;
    }
    Ok(())
}

fn fill(kv: &Kv) -> Vec<(Vec<u8>, Vec<u8>)> {
    let put = |i: u32| put(kv, format!("key {i:03}").as_bytes(), &i.to_be_bytes());
    let pending: Vec<_> = (0..300).step_by(2).map(put).collect();
    pending.into_iter().for_each(|pending| pending.wait().expect("put"));
    pairs(&kv.snapshot().expect("snapshot"))
}

fn updates_of_a_thread_are_in_order(kv: &Kv) {
    for i in 0..150_u32 {
        // Nobody waits for it.
        drop(put(kv, &(i % 10).to_be_bytes(), &i.to_be_bytes()));
    }
    put(kv, b"last", b"").wait().expect("put");
    let snapshot = kv.snapshot().expect("snapshot");
    for i in 0..10_u32 {
        assert_eq!(get(&snapshot, &i.to_be_bytes()), Some((140 + i).to_be_bytes().to_vec()));
    }
    assert_eq!(pairs(&snapshot).len(), 11);
    let pending: Vec<_> = (0..200_u32).map(|i| put_or_fail(kv, i)).collect();
    pending.into_iter().for_each(|pending| _ = pending.wait());
    let snapshot = kv.snapshot().expect("snapshot");
    for digit in 0..10_u32 {
        let last = (0..200).rev().find(|i| i % 10 == digit && i % 3 != 0).expect("some");
        assert_eq!(get(&snapshot, &digit.to_be_bytes()), Some(last.to_be_bytes().to_vec()));
    }
}

/// Writes a key that others write, too, and one of its own, or fails.
fn put_or_fail(kv: &Kv, i: u32) -> Pending<u32, KvError> {
    kv.update(move |transaction| {
        let key = (i % 10).to_be_bytes();
        transaction.put(&key, &i.to_be_bytes())?;
        transaction.put(&[b"only ", &i.to_be_bytes()[..]].concat(), b"")?;
        if i.is_multiple_of(3) { Err(KvError::Corrupt(i.to_string())) } else { Ok(i) }
    })
}

fn failed_updates_leave_nothing(kv: &Kv) {
    let before = fill(kv);
    let failed = kv.update::<(), _, _>(|transaction| {
        spoil(transaction)?;
        Err(KvError::Corrupt("on purpose".into()))
    });
    // In the same group, most likely: it must not see the writes that were taken back.
    let seen = kv.update::<_, KvError, _>(|transaction| Ok(pairs(transaction)));
    let error = failed.wait().expect_err("failed");
    assert!(matches!(error, KvError::Corrupt(reason) if reason == "on purpose"));
    assert_eq!(seen.wait().expect("update"), before);
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")), before);
}

fn a_panic_fails_its_update_alone(kv: &Kv) {
    let before = fill(kv);
    let panicked = kv.update::<(), KvError, _>(|transaction| {
        spoil(transaction)?;
        // Without the message that the panic hook would print.
        std::panic::resume_unwind(Box::new("on purpose"))
    });
    let error = panicked.wait().expect_err("panicked");
    assert!(matches!(error, KvError::Panicked(message) if message == "on purpose"));
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")), before);
    put(kv, b"next", b"1").wait().expect("goes on");
}

fn a_group_with_failing_members_keeps_the_others(kv: &Kv) {
    let pending: Vec<_> = (0..200_u32).map(|i| put_or_fail(kv, i)).collect();
    for (i, pending) in (0..200_u32).zip(pending) {
        match pending.wait() {
            Ok(number) => assert!(number == i && i % 3 != 0),
            Err(KvError::Corrupt(reason)) => assert!(reason == i.to_string() && i % 3 == 0),
            Err(error) => panic!("{error}"),
        }
    }
    let snapshot = kv.snapshot().expect("snapshot");
    for digit in 0..10_u32 {
        let last = get(&snapshot, &digit.to_be_bytes()).expect("there");
        let last = u32::from_be_bytes(last.try_into().expect("4 bytes"));
        assert!(last % 10 == digit && last % 3 != 0, "{last}");
    }
    assert_eq!(pairs(&snapshot).len(), 10 + (0..200).filter(|i| i % 3 != 0).count());
}

fn a_swallowed_error_keeps_the_rest(kv: &Kv) {
    let fails_inside = kv.update::<_, KvError, _>(|transaction| {
        transaction.put(b"a", b"1")?;
        Ok(catch_unwind(AssertUnwindSafe(|| transaction.get(b"a").map(|value| value.is_some())))
            .is_ok())
    });
    assert!(fails_inside.wait().expect("update"));
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 1);
}

fn with_letters(kv: &Kv, check: impl Fn(&dyn Reader)) {
    for key in ["b", "d", "d/1", "d/2", "d\u{ff}", "f"] {
        put(kv, key.as_bytes(), key.to_uppercase().as_bytes()).wait().expect("put");
    }
    check(&kv.snapshot().expect("snapshot"));
    // The same inside a transaction; panics must not be swallowed there.
    kv.update::<(), KvError, _>(|transaction| {
        transaction.delete(b"f")?;
        transaction.put(b"f", b"F")
    })
    .wait()
    .expect("update");
    check(&kv.snapshot().expect("snapshot"));
}

/// A `Read` that can be a trait object in a closure's argument.
trait Reader {
    fn range(&self, lower: Bound<&str>, upper: Bound<&str>) -> Cursor<'_>;
}

impl<R: Read> Reader for R {
    fn range(&self, lower: Bound<&str>, upper: Bound<&str>) -> Cursor<'_> {
        self.cursor(lower.map(str::as_bytes), upper.map(str::as_bytes)).expect("readable")
    }
}

fn cursors_stay_within_their_bounds(kv: &Kv) {
    use Bound::{Excluded, Included, Unbounded};
    with_letters(kv, |reader| {
        for (lower, upper, expected) in [
            (Unbounded, Unbounded, "b d d/1 d/2 d\u{ff} f"),
            (Included("d"), Excluded("d/2"), "d d/1"),
            (Excluded("d"), Included("d/2"), "d/1 d/2"),
            (Included("c"), Excluded("e"), "d d/1 d/2 d\u{ff}"),
            (Excluded("f"), Unbounded, ""),
            (Unbounded, Excluded("b"), ""),
            (Included("f"), Included("b"), ""),
            (Excluded("d"), Excluded("d"), ""),
        ] {
            let mut cursor = reader.range(lower, upper);
            assert!(cursor.previous().expect("readable").is_none(), "{lower:?} {upper:?}");
            assert_eq!(keys(&mut cursor), expected, "{lower:?} {upper:?}");
            assert!(cursor.next().expect("readable").is_none(), "{lower:?} {upper:?}");
            cursor.seek_end().expect("readable");
            let mut backward = Vec::new();
            while let Some((key, _)) = cursor.previous().expect("readable") {
                backward.insert(0, String::from_utf8(key.to_vec()).expect("text"));
            }
            assert_eq!(backward.join(" "), expected, "backward, {lower:?} {upper:?}");
        }
    });
}

fn cursors_turn_around(kv: &Kv) {
    with_letters(kv, |reader| {
        let mut cursor = reader.range(Bound::Included("d"), Bound::Included("d/2"));
        let mut seen = String::new();
        for step in "nnpnpppnnnnnp".chars() {
            let pair = if step == 'n' { cursor.next() } else { cursor.previous() };
            match pair.expect("readable") {
                Some((key, value)) => {
                    assert_eq!(key.to_ascii_uppercase(), *value);
                    seen += std::str::from_utf8(key).expect("text");
                }
                None => seen += "-",
            }
            seen += " ";
        }
        assert_eq!(seen, "d d/1 d/1 d/1 d/1 d - d d/1 d/2 - - d/2 ");
    });
}

fn cursors_seek(kv: &Kv) {
    with_letters(kv, |reader| {
        let mut cursor = reader.range(Bound::Included("d"), Bound::Excluded("f"));
        for (key, rest) in [
            ("d/1", "d/1 d/2 d\u{ff}"),
            ("d/1x", "d/2 d\u{ff}"),
            ("a", "d d/1 d/2 d\u{ff}"),
            ("d0", "d\u{ff}"),
            ("z", ""),
            ("f", ""),
            ("d", "d d/1 d/2 d\u{ff}"),
        ] {
            cursor.seek(key.as_bytes()).expect("readable");
            assert_eq!(keys(&mut cursor), rest, "from {key}");
        }
        cursor.seek(b"z").expect("readable");
        let (key, _) = cursor.previous().expect("readable").expect("the last of the range");
        assert_eq!(key, "d\u{ff}".as_bytes());
        cursor.seek_start().expect("readable");
        assert_eq!(keys(&mut cursor), "d d/1 d/2 d\u{ff}");
    });
}

/// The entries of the keys below `p`, those of groups with `*`.
fn grouped(from: &impl Read, lower: &str, delimiter: &str) -> String {
    let range = GroupedRange {
        lower: lower.as_bytes(),
        upper: b"q",
        delimiter: delimiter.as_bytes(),
        text: 1,
        text_end: b".",
        max: 100,
    };
    let mut entries = from.grouped(&range).expect("readable");
    let mut shown = Vec::new();
    while let Some(entry) = entries.next().expect("readable") {
        let (bytes, star) = match entry {
            GroupedEntry::Pair((key, value)) => {
                assert_eq!(value, key.to_ascii_uppercase());
                (key, "")
            }
            GroupedEntry::Group(group) => (group, "*"),
        };
        shown.push(format!("{}{star}", String::from_utf8_lossy(bytes)));
    }
    assert!(entries.next().expect("readable").is_none());
    shown.join(" ")
}

fn ranges_are_grouped(kv: &Kv) {
    let keys = ["o/1", "p", "p/", "p/1", "pa", "pa-b-1", "pa-b-2", "pa/1", "pa/2", "pb.x/1", "q/"];
    for key in keys {
        put(kv, key.as_bytes(), key.to_uppercase().as_bytes()).wait().expect("put");
    }
    let cases = [
        ("p", "/", "p p/* pa pa-b-1 pa-b-2 pa/* pb.x/1"),
        ("p", "-", "p p/ p/1 pa pa-* pa/1 pa/2 pb.x/1"),
        ("p", "-b-", "p p/ p/1 pa pa-b-* pa/1 pa/2 pb.x/1"),
        ("p", "", "p p/ p/1 pa pa-b-1 pa-b-2 pa/1 pa/2 pb.x/1"),
        ("pa/2", "/", "pa/* pb.x/1"),
        ("pz", "/", ""),
        ("z", "/", ""),
    ];
    let snapshot = kv.snapshot().expect("snapshot");
    for (lower, delimiter, expected) in cases {
        assert_eq!(grouped(&snapshot, lower, delimiter), expected, "{lower} {delimiter}");
    }
    let seen = kv.update::<_, KvError, _>(move |transaction| {
        transaction.delete(b"pa/1")?;
        transaction.put(b"pb/", b"PB/")?;
        Ok([grouped(transaction, "p", "/"), grouped(transaction, "pa/", "")])
    });
    let expected = ["p p/* pa pa-b-1 pa-b-2 pa/* pb.x/1 pb/*", "pa/2 pb.x/1 pb/"];
    assert_eq!(seen.wait().expect("update"), expected, "its own writes");
    put(kv, b"p\xff\xff1", b"P\xff\xff1").wait().expect("put");
    let snapshot = kv.snapshot().expect("snapshot");
    let range = GroupedRange {
        lower: b"p\xff",
        upper: b"q",
        delimiter: b"\xff\xff",
        text: 1,
        text_end: b"",
        max: 1,
    };
    let mut entries = snapshot.grouped(&range).expect("readable");
    let group = entries.next().expect("readable");
    assert_eq!(group, Some(GroupedEntry::Group(b"p\xff\xff")));
    assert!(entries.next().expect("readable").is_none(), "the group is passed to its end");
}

fn updates_are_serial(kv: &Kv) {
    const THREADS: u64 = 8;
    const INCREMENTS: u64 = 50;
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..INCREMENTS {
                    let increment = kv.update::<u64, KvError, _>(|transaction| {
                        let before = get(transaction, b"counter")
                            .map_or(0, |it| u64::from_be_bytes(it.try_into().expect("8 bytes")));
                        transaction.put(b"counter", &(before + 1).to_be_bytes())?;
                        Ok(before + 1)
                    });
                    let number = increment.wait().expect("update");
                    let seen = get(&kv.snapshot().expect("snapshot"), b"counter").expect("there");
                    assert!(u64::from_be_bytes(seen.try_into().expect("8 bytes")) >= number);
                }
            });
        }
    });
    let total = get(&kv.snapshot().expect("snapshot"), b"counter").expect("there");
    assert_eq!(total, (THREADS * INCREMENTS).to_be_bytes());
}

/// The row of a counter of the contract: the first number, the next number of its queue, and the
/// last key that it counts, if it is still being counted.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number counted.
    pub count: i64,
    /// The next number of the queue.
    pub next: u64,
    /// Up to this key it is counted; empty for all.
    pub counted_to: Vec<u8>,
}

impl CounterRow for Tally {
    type Error = KvError;

    fn decode(_: &[u8], bytes: &[u8]) -> Result<Option<Self>, KvError> {
        let Some((numbers, counted_to)) = bytes.split_first_chunk::<16>() else { return Ok(None) };
        let (count, next) = (numbers.first_chunk(), numbers.last_chunk());
        Ok(Some(Self {
            count: count.copied().map_or(0, i64::from_be_bytes),
            next: next.copied().map_or(0, u64::from_be_bytes),
            counted_to: counted_to.to_vec(),
        }))
    }

    fn encode(&self, _: &[u8]) -> Vec<u8> {
        [&self.count.to_be_bytes()[..], &self.next.to_be_bytes(), &self.counted_to].concat()
    }

    fn counted(&self) -> Counted {
        let counts = Counts([self.count, 0, 0, 0]);
        Counted { counts, is_complete: self.counted_to.is_empty() }
    }

    fn change(&mut self, change: &CountChange<'_>) -> bool {
        let is_covered = self.counted_to.is_empty() || change.at <= self.counted_to.as_slice();
        if is_covered {
            self.count += change.counts.0[0];
        }
        is_covered
    }
}

impl QueueRow for Tally {
    fn take_number(&mut self, floor: u64) -> u64 {
        let number = self.next.max(floor);
        self.next = number + 1;
        number
    }
}

struct Everything;

impl Claim for Everything {
    fn append_name(&self, name: &mut Vec<u8>) {
        name.extend_from_slice(b"everything");
    }

    fn is_shared(&self) -> bool {
        false
    }
}

fn counted(from: &impl Read, key: &[u8]) -> Option<(i64, bool)> {
    let counted = from.counter::<Tally>(key).expect("readable");
    counted.map(|counted| (counted.counts.0[0], counted.is_complete))
}

fn add(write: &mut impl Write, key: &[u8], at: &[u8], count: i64) -> Result<(), KvError> {
    write.add::<Tally>(key, &[CountChange { at, counts: Counts([count, 0, 0, 0]) }])
}

fn counters_add_up(kv: &Kv) {
    let begun = kv.update::<(), KvError, _>(|transaction| {
        // Nothing counts it yet.
        add(transaction, b"counter", b"", 7)?;
        assert_eq!(counted(transaction, b"counter"), None);
        transaction.set_counter(b"counter", &Tally::default())?;
        transaction
            .set_counter(b"begun", &Tally { counted_to: b"m".to_vec(), ..Tally::default() })?;
        transaction.put(b"damaged", b"?")
    });
    begun.wait().expect("update");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..50_i64 {
                    let added = kv.update::<(), KvError, _>(move |transaction| {
                        transaction.claim(Everything)?;
                        add(transaction, b"counter", b"", number)?;
                        add(transaction, b"counter", b"", -1)
                    });
                    added.wait().expect("update");
                }
            });
        }
    });
    let rest = kv.update::<_, KvError, _>(|transaction| {
        add(transaction, b"begun", b"a", 1)?;
        add(transaction, b"begun", b"m", 1)?;
        add(transaction, b"begun", b"z", 1)?;
        add(transaction, b"damaged", b"", 1)?;
        Ok(counted(transaction, b"begun"))
    });
    assert_eq!(rest.wait().expect("update"), Some((2, false)), "its own changes");
    let snapshot = kv.snapshot().expect("snapshot");
    assert_eq!(counted(&snapshot, b"counter"), Some((4 * (49 * 25 - 50), true)));
    assert_eq!(counted(&snapshot, b"begun"), Some((2, false)));
    assert_eq!(counted(&snapshot, b"damaged"), None);
    kv.update(|transaction| transaction.end_counter(b"counter")).wait().expect("update");
    assert_eq!(counted(&kv.snapshot().expect("snapshot"), b"counter"), None);
}

const QUEUE: Queue<'static> = Queue { counter: b"counter", rows: b"rows/" };

fn append(kv: &Kv, floor: u64, value: &'static str) -> u64 {
    let appended = kv.update::<u64, KvError, _>(move |transaction| {
        transaction.append::<Tally>(QUEUE, floor, |key| [key, value.as_bytes()].concat())
    });
    appended.wait().expect("update")
}

fn queues_number_their_rows_without_gaps(kv: &Kv) {
    let numbers = [append(kv, 5, "a"), append(kv, 9, "b"), append(kv, 1, "c")];
    assert_eq!(numbers, [5, 9, 10]);
    let two = kv.update::<_, KvError, _>(|transaction| {
        let first = transaction.append::<Tally>(QUEUE, 0, |_| b"d".to_vec())?;
        Ok([first, transaction.append::<Tally>(QUEUE, 0, |_| b"e".to_vec())?])
    });
    assert_eq!(two.wait().expect("update"), [11, 12]);
    let refused = kv.update::<u64, KvError, _>(|transaction| {
        transaction.append::<Tally>(QUEUE, 100, |_| Vec::new())?;
        Err(KvError::Corrupt("on purpose".into()))
    });
    refused.wait().expect_err("refused");
    assert_eq!(append(kv, 0, "f"), 13, "a refused update takes no number");
}

fn queues_number_their_rows(kv: &Kv) {
    let numbers = [append(kv, 5, "a"), append(kv, 900, "b"), append(kv, 1, "c")];
    assert!(numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
    assert!(numbers[0] >= 5 && numbers[1] >= 900, "{numbers:?}");
    let two = kv.update::<_, KvError, _>(|transaction| {
        let first = transaction.append::<Tally>(QUEUE, 0, |_| b"d".to_vec())?;
        Ok([first, transaction.append::<Tally>(QUEUE, 0, |_| b"e".to_vec())?])
    });
    let two = two.wait().expect("update");
    assert!(numbers[2] < two[0] && two[0] < two[1], "{numbers:?} {two:?}");
    let snapshot = kv.snapshot().expect("snapshot");
    let key = QUEUE.key(numbers[1]);
    assert_eq!(get(&snapshot, &key).expect("there"), [&key[..], b"b"].concat());
    assert_eq!(counted(&snapshot, b"counter"), Some((5, true)));
    let refused = kv.update::<u64, KvError, _>(|transaction| {
        transaction.append::<Tally>(QUEUE, 0, |_| Vec::new())?;
        Err(KvError::Corrupt("on purpose".into()))
    });
    refused.wait().expect_err("refused");
    assert_eq!(counted(&kv.snapshot().expect("snapshot"), b"counter"), Some((5, true)));
    assert!(append(kv, 0, "f") > two[1]);
}

fn large_values_come_back(kv: &Kv) {
    // Below, at and above the sizes of pages, the largest larger than a round of the log.
    let sizes = [0, 1, 4_095, 4_096, 100_000, 3_000_000];
    let value = |bytes: usize| (0..bytes).map(|i| (i % 251) as u8).collect::<Vec<u8>>();
    for bytes in sizes {
        put(kv, format!("{bytes}").as_bytes(), &value(bytes)).wait().expect("put");
    }
    put(kv, &value(2_000), b"long key").wait().expect("put");
    put(kv, b"", b"empty key").wait().expect("put");
    let snapshot = kv.snapshot().expect("snapshot");
    for bytes in sizes {
        assert!(get(&snapshot, format!("{bytes}").as_bytes()) == Some(value(bytes)), "{bytes}");
    }
    assert_eq!(get(&snapshot, &value(2_000)).as_deref(), Some(&b"long key"[..]));
    assert_eq!(get(&snapshot, b"").as_deref(), Some(&b"empty key"[..]));
}

fn pages_return_what_was_deleted(kv: &Kv) {
    for round in 0..3_u32 {
        let pending: Vec<_> = (0..500_u32)
            .map(|i| put(kv, &i.to_be_bytes(), &[round.to_be_bytes(); 100].concat()))
            .collect();
        for pending in pending {
            pending.wait().expect("put");
        }
        let clear = kv.update_freeing::<(), KvError, _>(move |transaction| {
            transaction.fetch((0..500_u32).map(u32::to_be_bytes))?;
            for i in 0..500_u32 {
                let value = get(transaction, &i.to_be_bytes()).expect("there");
                assert_eq!(value, [round.to_be_bytes(); 100].concat());
                transaction.delete(&i.to_be_bytes())?;
            }
            Ok(())
        });
        clear.wait().expect("update");
        assert!(pairs(&kv.snapshot().expect("snapshot")).is_empty());
    }
}

/// The last handle may go with the captures of a closure, on the committer's own thread.
fn handles_may_end_anywhere(kv: Kv) {
    let last = kv.clone();
    let pending = kv.update::<(), KvError, _>(move |transaction| {
        let _held = &last;
        transaction.put(b"a", b"1")
    });
    drop(kv);
    pending.wait().expect("what was submitted is done");
}
