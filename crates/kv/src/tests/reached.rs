//! Cursors while a table is in the tree up to some key.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds as _};
use std::sync::Arc;

use proptest::prelude::*;

use super::ENGINES;
use crate::KvError;
use crate::cursor::Cursor;
use crate::engine::{Change, Changes, Checkpoint, Engine, EngineKind};
use crate::layers::{Layers, OpenTree};
use crate::memtable::{Memtable, hash};

type Key = Vec<u8>;
type Values = BTreeMap<Key, Option<u8>>;

/// Few keys, so that layers share them: many are prefixes of others, end with the last byte of all, or are the same for
/// longer than a merge compares at once.
fn key() -> impl Strategy<Value = Key> {
    let byte = prop_oneof![3 => Just(b'a'), 3 => Just(0xff), 1 => Just(0)];
    (any::<bool>(), prop::collection::vec(byte, 1..4)).prop_map(|(is_long, tail)| match is_long {
        true => [&[b'p'; 20][..], &tail].concat(),
        false => tail,
    })
}

fn values() -> impl Strategy<Value = Values> {
    prop::collection::btree_map(key(), any::<Option<u8>>(), 0..25)
}

fn bound() -> impl Strategy<Value = Bound<Key>> {
    prop_oneof![
        2 => key().prop_map(Bound::Included),
        2 => key().prop_map(Bound::Excluded),
        1 => Just(Bound::Unbounded),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Next,
    Previous,
    Seek(Key),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Next),
        4 => Just(Step::Previous),
        1 => key().prop_map(Step::Seek),
    ]
}

/// The changes to `values`, in order.
struct All<'v>(std::collections::btree_map::Iter<'v, Key, Option<u8>>);

impl Changes for All<'_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        let next = self.0.next();
        Ok(next.map(|(key, value)| Change { key, value: value.as_ref().map(std::slice::from_ref) }))
    }
}

fn table(values: &Values, sequence: u64) -> Arc<Memtable> {
    let table = Memtable::new();
    for (key, value) in values {
        let value = value.as_ref().map(std::slice::from_ref);
        table.insert(key, hash(key), value, sequence).expect("room");
    }
    Arc::new(table)
}

/// Layers of which the table that drains is in the tree up to `reached`; and what they show.
fn layers(
    engine: EngineKind,
    [tree, draining, active]: [&Values; 3],
    reached: Option<&Key>,
) -> (Layers, Vec<(Key, u8)>) {
    let engine = Engine::memory(engine, 1 << 20).expect("opens");
    let apply = |values: &Values| {
        engine.apply(&mut All(values.iter()), &Checkpoint::without_log()).expect("applied");
    };
    apply(tree);
    let open = || OpenTree::new(&engine).expect("opens");
    let layers = Layers::new(open(), Vec::new(), vec![table(active, 2), table(draining, 1)], 0);
    let layers = match reached {
        Some(reached) => {
            let part = draining.range(..=reached.clone());
            apply(&part.map(|(key, value)| (key.clone(), *value)).collect());
            layers.draining_into(open(), 1, Some(reached))
        }
        None => layers,
    };
    let mut shown = tree.clone();
    shown.extend(draining.clone());
    shown.extend(active.clone());
    let shown = shown.into_iter().filter_map(|(key, value)| Some((key, value?)));
    (layers, shown.collect())
}

fn pair((key, value): (&[u8], &[u8])) -> (Key, u8) {
    (key.to_vec(), value[0])
}

proptest! {
    #[test]
    fn every_pair_of_a_range_is_shown_once(
        [tree, draining, active] in [values(), values(), values()],
        reached in prop::option::of(key()),
        (lower, upper) in (bound(), bound()),
        steps in prop::collection::vec(step(), 0..40),
    ) {
        for engine in ENGINES {
            let (layers, shown) = layers(engine, [&tree, &draining, &active], reached.as_ref());
            let bounds = (lower.clone(), upper.clone());
            let expected: Vec<_> = shown.into_iter().filter(|(key, _)| bounds.contains(key)).collect();
            let [lower, upper] = [&lower, &upper].map(|it| it.as_ref().map(Vec::as_slice));
            let mut cursor = Cursor::new(&layers, 2, lower, upper).expect("opens");
            let mut found = Vec::new();
            while let Some(next) = cursor.next().expect("reads") {
                found.push(pair(next));
            }
            prop_assert_eq!(&found, &expected);
            found.clear();
            while let Some(previous) = cursor.previous().expect("reads") {
                found.push(pair(previous));
            }
            found.reverse();
            prop_assert_eq!(&found, &expected);
            // There and back.
            let mut at = 0;
            for step in &steps {
                let (stepped, wanted) = match step {
                    Step::Next => (cursor.next(), expected.get(at)),
                    Step::Previous => (cursor.previous(), at.checked_sub(1).map(|at| &expected[at])),
                    Step::Seek(key) => {
                        cursor.seek(key).expect("seeks");
                        at = expected.partition_point(|(other, _)| other < key);
                        continue;
                    }
                };
                let stepped = stepped.expect("reads").map(pair);
                prop_assert_eq!(stepped.as_ref(), wanted);
                match step {
                    Step::Next => at += usize::from(stepped.is_some()),
                    _ => at -= usize::from(stepped.is_some()),
                }
            }
        }
    }
}
