//! Cursors while a table is in the tree up to some key.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use proptest::prelude::*;

use super::ENGINES;
use crate::kv::KvError;
use crate::kv::cursor::Cursor;
use crate::kv::engine::{Change, Changes, Checkpoint, Engine, EngineKind};
use crate::kv::layers::{Layers, OpenTree};
use crate::kv::memtable::{Memtable, hash};

type Values = BTreeMap<u8, Option<u8>>;

/// The changes to `values`, in order.
struct All<'v>(std::collections::btree_map::Iter<'v, u8, Option<u8>>);

impl Changes for All<'_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        let next = self.0.next();
        Ok(next.map(|(key, value)| Change {
            key: std::slice::from_ref(key),
            value: value.as_ref().map(std::slice::from_ref),
        }))
    }
}

fn table(values: &Values, sequence: u64) -> Arc<Memtable> {
    let table = Memtable::new();
    for (key, value) in values {
        let (key, value) = ([*key], value.as_ref().map(std::slice::from_ref));
        table.insert(&key, hash(&key), value, sequence).expect("room");
    }
    Arc::new(table)
}

/// Layers of which the table that drains is in the tree up to `reached`; and what they show.
fn layers(
    engine: EngineKind,
    [tree, draining, active]: [&Values; 3],
    reached: Option<u8>,
) -> (Layers, BTreeMap<u8, u8>) {
    let engine = Engine::memory(engine, 1 << 20).expect("opens");
    let apply = |values: &Values| {
        engine.apply(&mut All(values.iter()), &Checkpoint::without_log()).expect("applied");
    };
    apply(tree);
    let open = || OpenTree::new(&engine).expect("opens");
    let layers = Layers::new(open(), Vec::new(), vec![table(active, 2), table(draining, 1)], 0);
    let layers = match reached {
        Some(reached) => {
            apply(&draining.range(..=reached).map(|(key, value)| (*key, *value)).collect());
            layers.draining_into(open(), 1, Some(&[reached]))
        }
        None => layers,
    };
    let mut shown = tree.clone();
    shown.extend(draining);
    shown.extend(active);
    let shown = shown.into_iter().filter_map(|(key, value)| Some((key, value?)));
    (layers, shown.collect())
}

fn pair((key, value): (&[u8], &[u8])) -> (u8, u8) {
    (key[0], value[0])
}

proptest! {
    #[test]
    fn every_pair_is_shown_once(
        tree: Values,
        draining: Values,
        active: Values,
        reached: Option<u8>,
        seek: u8,
        steps in prop::collection::vec(any::<bool>(), 0..40),
    ) {
        for engine in ENGINES {
            let (layers, shown) = layers(engine, [&tree, &draining, &active], reached);
            let expected: Vec<_> = shown.into_iter().collect();
            let mut cursor = Cursor::new(&layers, 2, Bound::Unbounded, Bound::Unbounded).expect("opens");
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
            cursor.seek(&[seek]).expect("seeks");
            let mut at = expected.partition_point(|(key, _)| *key < seek);
            for is_forward in &steps {
                let (stepped, wanted) = match is_forward {
                    true => (cursor.next().expect("reads").map(pair), expected.get(at)),
                    false => (cursor.previous().expect("reads").map(pair), at.checked_sub(1).map(|at| &expected[at])),
                };
                prop_assert_eq!(stepped, wanted.copied());
                match (is_forward, stepped) {
                    (true, Some(_)) => at += 1,
                    (false, Some(_)) => at -= 1,
                    (_, None) => {}
                }
            }
        }
    }
}
