//! Fetches and views, compared with a model.

use std::collections::BTreeMap;
use std::task::{Context, Waker};

use futures_util::future::{FutureExt as _, join_all};
use liteio_kv::database::{Answer, Database as _, Entry, Fetching, Group, Row, Want};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use crate::harness::{Cluster, Process, counted, put};

/// The rows of a database, as a map.
type Model = BTreeMap<Vec<u8>, Row>;

/// Puts these rows in one commit.
fn fill(process: &mut Process, keys: &[Vec<u8>], model: &mut Model) {
    let mut keys = keys.to_vec();
    keys.sort();
    keys.dedup();
    let value = |key: &Vec<u8>| [b"value of ", &key[..]].concat();
    let writes = keys.iter().map(|key| put(key, None, &value(key))).collect();
    let version = process.commit(Group { writes, ..Group::default() }).expect("it commits");
    model.extend(keys.into_iter().map(|key| (key.clone(), Row { version, value: value(&key) })));
}

fn place(bytes: &[u8], searched: &[u8]) -> Option<usize> {
    bytes.windows(searched.len().max(1)).position(|it| it == searched)
}

/// The answer that the model gives.
fn expected(model: &Model, want: &Want) -> Answer {
    let within = |lower: &Vec<u8>, upper: &Option<Vec<u8>>| -> Vec<(Vec<u8>, Row)> {
        let is_within = |key: &Vec<u8>| key >= lower && upper.as_ref().is_none_or(|it| key < it);
        model
            .iter()
            .filter(|(key, _)| is_within(key))
            .map(|(k, row)| (k.clone(), row.clone()))
            .collect()
    };
    match want {
        Want::Key(key) => Answer::Row(model.get(key).cloned()),
        Want::Rows { lower, upper, max, is_backward } => {
            let mut rows = within(lower, upper);
            if *is_backward {
                rows.reverse();
            }
            let is_whole = rows.len() <= *max;
            rows.truncate(*max);
            Answer::Rows { rows, is_whole }
        }
        Want::Entries { lower, upper, delimiter, text, text_end, max } => {
            let mut entries: Vec<Entry> = Vec::new();
            for (key, row) in within(lower, &Some(upper.clone())) {
                // All keys that begin with a group are of it.
                if matches!(entries.last(), Some(Entry::Group(group)) if key.starts_with(group)) {
                    continue;
                }
                let end = key.get(*text..).and_then(|rest| {
                    let end = if text_end.is_empty() { None } else { place(rest, text_end) };
                    let rest = &rest[..end.unwrap_or(rest.len())];
                    let found = if delimiter.is_empty() { None } else { place(rest, delimiter) };
                    Some(text + found? + delimiter.len())
                });
                match end {
                    None => entries.push(Entry::Row(key, row)),
                    Some(end) => entries.push(Entry::Group(key[..end].to_vec())),
                }
            }
            let is_whole = entries.len() <= *max;
            entries.truncate(*max);
            Answer::Entries { entries, is_whole }
        }
        Want::Counter(_) => unreachable!("counters have a test of their own"),
    }
}

fn entries(
    lower: &[u8],
    upper: &[u8],
    delimiter: &[u8],
    text: usize,
    text_end: &[u8],
    max: usize,
) -> Want {
    Want::Entries {
        lower: lower.to_vec(),
        upper: upper.to_vec(),
        delimiter: delimiter.to_vec(),
        text,
        text_end: text_end.to_vec(),
        max,
    }
}

fn rows(lower: &[u8], upper: Option<&[u8]>, max: usize, is_backward: bool) -> Want {
    Want::Rows { lower: lower.to_vec(), upper: upper.map(<[u8]>::to_vec), max, is_backward }
}

/// Compares all answers of one fetch, and those of a view.
#[track_caller]
fn check(process: &Process, model: &Model, wants: &[Want]) {
    let fetched = process.fetch(wants);
    let view = process.database.view().expect("a view");
    let viewed = view.fetch(wants).expect("it is fetched");
    for (index, want) in wants.iter().enumerate() {
        let expected = expected(model, want);
        assert_eq!(fetched.answers[index], expected, "{want:?}");
        assert_eq!(viewed.answers[index], expected, "{want:?}");
    }
}

#[test]
fn every_want_is_answered_in_its_place() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let mut model = Model::new();
    let keys = ["a", "b/1", "b/2", "c", "d/x/1", "d/y", "e", "\u{ff}"];
    fill(&mut process, &keys.map(|key| key.as_bytes().to_vec()), &mut model);
    let wants = [
        Want::Key(b"c".to_vec()),
        rows(b"b", Some(b"d"), 10, false),
        Want::Key(b"none".to_vec()),
        rows(b"", None, 3, false),
        rows(b"", None, 3, true),
        rows(b"", None, 100, true),
        rows(b"b/1", Some(b"b/1"), 1, false),
        entries(b"", b"\xff\xff", b"/", 0, b"", 100),
        entries(b"", b"\xff\xff", b"", 0, b"", 2),
        Want::Key(b"c".to_vec()),
        entries(b"b/2", b"d/y", b"/", 0, b"", 2),
        entries(b"", b"\xff\xff", b"/", 2, b"", 100),
    ];
    check(&process, &model, &wants);
    check(&process, &model, &wants[..1]);
    check(&process, &model, &[]);
    let only_keys: Vec<Want> = keys.map(|key| Want::Key(key.as_bytes().to_vec())).into();
    check(&process, &model, &only_keys);
}

/// Pages and steps of the statement: runs of rows, runs of groups, groups of many keys, all of them mixed.
#[test]
fn entries_are_the_same_whatever_their_order() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let mut model = Model::new();
    let mut keys = Vec::new();
    for number in 0..300 {
        keys.push(format!("flat/{number:04}"));
        keys.push(format!("groups/{number:04}/x"));
        keys.push(format!("mixed/{number:04}{}", if number % 2 == 0 { "/a" } else { "" }));
        keys.push(format!("large/{}/{number:04}", number / 150));
        keys.push(format!("turns/{number:04}{}", if number % 200 < 100 { "/a" } else { "" }));
    }
    let keys: Vec<Vec<u8>> = keys.into_iter().map(String::into_bytes).collect();
    fill(&mut process, &keys, &mut model);
    for prefix in ["flat/", "groups/", "mixed/", "large/", "turns/"] {
        let upper = prefix.replace('/', "0");
        for max in [1, 2, 15, 16, 17, 100, 299, 300, 301, 1_000] {
            let (lower, upper) = (prefix.as_bytes(), upper.as_bytes());
            check(&process, &model, &[entries(lower, upper, b"/", prefix.len(), b"", max)]);
        }
    }
    check(
        &process,
        &model,
        &[entries(b"", b"z", b"/", 0, b"", 1_000), entries(b"", b"z", b"0", 3, b"/", 1_000)],
    );
}

#[test]
fn an_answer_of_many_bytes_comes_in_pieces() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    for number in 0..12_u8 {
        process.put(&[b'r', number], &vec![number; 1 << 20]);
    }
    for is_backward in [false, true] {
        let fetched = process.fetch(&[rows(b"r", Some(b"s"), 100, is_backward)]);
        let Answer::Rows { rows, is_whole: false } = &fetched.answers[0] else {
            panic!("it is whole")
        };
        assert!((8..12).contains(&rows.len()), "{}", rows.len());
        assert!(rows.iter().all(|(_, row)| row.value.len() == 1 << 20));
    }
    for delimiter in ["", "/"] {
        let fetched = process.fetch(&[entries(b"r", b"s", delimiter.as_bytes(), 0, b"", 100)]);
        let Answer::Entries { entries, is_whole: false } = &fetched.answers[0] else {
            panic!("whole")
        };
        assert!((8..12).contains(&entries.len()), "{}", entries.len());
    }
    // The first row comes whatever it has.
    process.put(b"t", &vec![1; 12 << 20]);
    let wants = [rows(b"t", Some(b"u"), 5, false), entries(b"t", b"u", b"/", 0, b"", 5)];
    let fetched = process.fetch(&wants);
    let Answer::Rows { rows, .. } = &fetched.answers[0] else { panic!("rows") };
    let Answer::Entries { entries, .. } = &fetched.answers[1] else { panic!("entries") };
    assert_eq!((rows.len(), entries.len()), (1, 1));
    assert_eq!(rows[0].1.value.len(), 12 << 20);
}

#[test]
fn a_view_stays_at_its_moment() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    process.put(b"key", b"before");
    let view = process.database.view().expect("a view");
    let want = [Want::Key(b"key".to_vec())];
    let first = view.fetch(&want).expect("it is fetched");
    let group = Group {
        writes: vec![put(b"key", None, b"after"), put(b"other", None, b"")],
        counters: vec![counted(b"n", false, [1, 2, 3, 4])],
        begins: [true, false],
        ..Group::default()
    };
    let version = process.commit(group).expect("it commits");
    let wants = [want[0].clone(), rows(b"", None, 10, false), Want::Counter(b"n".to_vec())];
    let second = view.fetch(&wants).expect("it is fetched");
    assert_eq!(first.answers[0], second.answers[0]);
    assert_eq!((first.epochs, second.epochs), ([0, 0], [0, 0]));
    assert!(matches!(&second.answers[1], Answer::Rows { rows, is_whole: true } if rows.len() == 1));
    assert_eq!(second.answers[2], Answer::Counts(liteio_kv::Counts::NONE));
    drop(view);
    // One that is begun now, by its first fetch.
    let view = process.database.view().expect("a view");
    let fetched = view.fetch(&wants).expect("it is fetched");
    assert_eq!(fetched.epochs, [version, 0]);
    assert!(matches!(&fetched.answers[1], Answer::Rows { rows, .. } if rows.len() == 2));
}

/// More views than there are connections for them, one after another: each gives its connection back.
#[test]
fn a_view_gives_its_connection_back() {
    let cluster = Cluster::new();
    let process = cluster.open();
    for _ in 0..40 {
        let view = process.database.view().expect("a view");
        view.fetch(&[]).expect("it is fetched");
    }
    let name = cluster.config.cluster();
    let _ = name;
    // Fetches go on while all connections for views are in use.
    let views: Vec<_> = (0..8).map(|_| process.database.view().expect("a view")).collect();
    for view in &views {
        view.fetch(&[]).expect("it is fetched");
    }
    process.fetch(&[]);
}

#[test]
fn the_time_is_that_of_the_database() {
    let cluster = Cluster::new();
    let process = cluster.open();
    let ask = || -> u64 {
        let text = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        cluster.server.query(text).parse().expect("a number")
    };
    for wants in [&[][..], &[Want::Counter(b"n".to_vec())]] {
        let before = ask();
        let now = process.fetch(wants).now_ms;
        assert!((before..=ask()).contains(&now));
    }
}

/// Bytes of few kinds, so that delimiters, ends and prefixes meet.
fn bytes(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(
        proptest::sample::select(vec![0_u8, b'/', b'.', b'a', 0xFE, 0xFF]),
        length,
    )
}

fn grouped() -> impl Strategy<Value = Want> {
    (bytes(0..3), bytes(0..4), bytes(0..3), 0..4_usize, bytes(0..3), 1..80_usize).prop_map(
        |(lower, upper, delimiter, text, text_end, max)| {
            entries(&lower, &upper, &delimiter, text, &text_end, max)
        },
    )
}

fn ranged() -> impl Strategy<Value = Want> {
    (bytes(0..3), proptest::option::of(bytes(0..4)), 1..9_usize, any::<bool>()).prop_map(
        |(lower, upper, max, is_backward)| rows(&lower, upper.as_deref(), max, is_backward),
    )
}

#[test]
fn answers_are_those_of_a_model() {
    let cluster = Cluster::new();
    let mut process = cluster.open();
    let mut model = Model::new();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let keys = proptest::collection::vec(bytes(0..7), 400);
    let keys = keys.new_tree(&mut runner).expect("keys").current();
    fill(&mut process, &keys, &mut model);
    let wants = proptest::collection::vec(
        prop_oneof![grouped(), grouped(), ranged(), bytes(0..7).prop_map(Want::Key)],
        1..12,
    );
    runner
        .run(&wants, |wants| {
            check(&process, &model, &wants);
            Ok(())
        })
        .expect("the answers are equal");
}

/// The wants of a request, and a future of its fetch: a row that all want, one of its own, and one that is not there.
fn request(process: &Process, index: usize) -> (Vec<Want>, Fetching) {
    let own = format!("own {index:03}").into_bytes();
    let keys = [b"all".to_vec(), own, b"none".to_vec(), b"all".to_vec()];
    let wants = keys.map(Want::Key).to_vec();
    (wants.clone(), process.database.fetch_later(wants))
}

/// A cluster with the rows of `count` requests.
fn rows_of_requests(cluster: &Cluster, count: usize) -> (Process, Model) {
    let (mut process, mut model) = (cluster.open(), Model::new());
    let mut keys: Vec<_> = (0..count).map(|index| format!("own {index:03}").into_bytes()).collect();
    keys.push(b"all".to_vec());
    fill(&mut process, &keys, &mut model);
    (process, model)
}

fn wait<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

#[test]
fn one_statement_fetches_for_all_requests_that_wait() {
    let cluster = Cluster::new();
    let (process, model) = rows_of_requests(&cluster, 100);
    let before = process.database.stats().fetches;
    let (wants, fetches): (Vec<_>, Vec<_>) = (0..100).map(|index| request(&process, index)).unzip();
    for (wants, fetched) in wants.iter().zip(wait(join_all(fetches))) {
        let fetched = fetched.expect("it is fetched");
        let expected: Vec<_> = wants.iter().map(|want| expected(&model, want)).collect();
        assert_eq!(fetched.answers, expected);
        assert!(fetched.now_ms > 0);
    }
    let statements = process.database.stats().fetches - before;
    assert!(statements < 20, "{statements} statements for 100 requests");
}

#[test]
fn requests_whose_clients_have_gone_hold_no_others() {
    let cluster = Cluster::new();
    let (process, model) = rows_of_requests(&cluster, 60);
    let mut requests: Vec<_> = (0..60).map(|index| request(&process, index)).collect();
    let mut context = Context::from_waker(Waker::noop());
    // The database may have answered the first ones before the last one has asked.
    requests.retain_mut(|(_, fetch)| fetch.poll_unpin(&mut context).is_pending());
    // Those that have statements of their own, and some of those that wait.
    requests.drain(..requests.len().min(20));
    for (wants, fetch) in requests {
        let fetched = wait(fetch).expect("it is fetched");
        assert_eq!(fetched.answers[1], expected(&model, &wants[1]));
    }
    // All places are free again.
    let again = (0..60).map(|index| request(&process, index).1);
    assert!(wait(join_all(again)).iter().all(Result::is_ok));
}
