//! Any updates and walks of cursors, compared with an ordered map.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use liteio_disk::SimulatedDisk;
use proptest::prelude::*;

use super::{ENGINES, Kv, KvConfig, KvError, Read, Transaction, Write, config, pairs, runs};

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u16),
    Delete(u8),
    /// Steps of a cursor over the bounds: forward, backward, or a seek.
    Walk(Bound<u8>, Bound<u8>, Vec<Walk>),
}

#[derive(Clone, Debug)]
enum Walk {
    Next,
    Previous,
    Seek(u8),
    SeekStart,
    SeekEnd,
}

fn bound() -> impl Strategy<Value = Bound<u8>> {
    prop_oneof![
        any::<u8>().prop_map(Bound::Included),
        any::<u8>().prop_map(Bound::Excluded),
        Just(Bound::Unbounded)
    ]
}

fn walk() -> impl Strategy<Value = Walk> {
    prop_oneof![
        4 => Just(Walk::Next),
        4 => Just(Walk::Previous),
        2 => any::<u8>().prop_map(Walk::Seek),
        1 => Just(Walk::SeekStart),
        1 => Just(Walk::SeekEnd),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u8>(), 0..600_u16).prop_map(|(key, bytes)| Step::Put(key, bytes)),
        2 => any::<u8>().prop_map(Step::Delete),
        1 => (bound(), bound(), prop::collection::vec(walk(), 0..30))
            .prop_map(|(lower, upper, steps)| Step::Walk(lower, upper, steps)),
    ]
}

/// An update: its steps, and whether it fails in the end.
fn updates() -> impl Strategy<Value = Vec<(Vec<Step>, bool)>> {
    prop::collection::vec((prop::collection::vec(step(), 0..40), prop::bool::weighted(0.3)), 1..12)
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn is_within(key: &[u8], lower: Bound<u8>, upper: Bound<u8>) -> bool {
    let above = match lower {
        Bound::Included(bound) => key >= &[bound][..],
        Bound::Excluded(bound) => key > &[bound][..],
        Bound::Unbounded => true,
    };
    let below = match upper {
        Bound::Included(bound) => key <= &[bound][..],
        Bound::Excluded(bound) => key < &[bound][..],
        Bound::Unbounded => true,
    };
    above && below
}

/// Walks the model like `walk_kv` walks the key space, and returns the result of each step.
fn walk_model(model: &Model, lower: Bound<u8>, upper: Bound<u8>, steps: &[Walk]) -> Vec<Found> {
    let range: Vec<_> = model.iter().filter(|(key, _)| is_within(key, lower, upper)).collect();
    let mut place = 0;
    let mut found = Vec::new();
    for step in steps {
        match step {
            Walk::Next if place < range.len() => {
                found.push(Some((range[place].0.clone(), range[place].1.clone())));
                place += 1;
            }
            Walk::Previous if place > 0 => {
                place -= 1;
                found.push(Some((range[place].0.clone(), range[place].1.clone())));
            }
            Walk::Next | Walk::Previous => found.push(None),
            Walk::Seek(key) => place = range.partition_point(|(at, _)| at.as_slice() < &[*key][..]),
            Walk::SeekStart => place = 0,
            Walk::SeekEnd => place = range.len(),
        }
    }
    found
}

type Found = Option<(Vec<u8>, Vec<u8>)>;

fn walk_kv(
    from: &impl Read,
    lower: Bound<u8>,
    upper: Bound<u8>,
    steps: &[Walk],
) -> Result<Vec<Found>, KvError> {
    let (lower, upper) = (lower.map(|it| [it]), upper.map(|it| [it]));
    let mut cursor = from
        .cursor(lower.as_ref().map(|it| it.as_slice()), upper.as_ref().map(|it| it.as_slice()))?;
    let mut found = Vec::new();
    for step in steps {
        let pair = match step {
            Walk::Next => cursor.next()?,
            Walk::Previous => cursor.previous()?,
            Walk::Seek(key) => {
                cursor.seek(&[*key])?;
                continue;
            }
            Walk::SeekStart => {
                cursor.seek_start()?;
                continue;
            }
            Walk::SeekEnd => {
                cursor.seek_end()?;
                continue;
            }
        };
        found.push(pair.map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
    Ok(found)
}

/// Applies `steps`. Returns the pairs that the cursors found.
fn run(steps: &[Step], fails: bool, kv: &mut Transaction<'_>) -> Result<Vec<Vec<Found>>, KvError> {
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Put(key, bytes) => kv.put(&[*key], &vec![*key; usize::from(*bytes)])?,
            Step::Delete(key) => kv.delete(&[*key])?,
            Step::Walk(lower, upper, steps) => found.push(walk_kv(kv, *lower, *upper, steps)?),
        }
    }
    if fails { Err(KvError::Corrupt("on purpose".into())) } else { Ok(found) }
}

fn run_model(steps: &[Step], model: &mut Model) -> Vec<Vec<Found>> {
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Put(key, bytes) => {
                model.insert(vec![*key], vec![*key; usize::from(*bytes)]);
            }
            Step::Delete(key) => {
                model.remove(&[*key][..]);
            }
            Step::Walk(lower, upper, steps) => {
                found.push(walk_model(model, *lower, *upper, steps));
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn behaves_like_an_ordered_map(updates in updates()) {
        let memory = ENGINES.map(|engine| Kv::memory(KvConfig { engine, ..config() }));
        let runs = ENGINES.map(|engine| {
            Kv::open(Arc::new(SimulatedDisk::new(1)), "meta.redb", runs::config(engine))
        });
        for kv in memory.into_iter().chain(runs) {
        let kv = kv.expect("opens");
        let mut model = Model::new();
        let pending: Vec<_> = updates
            .iter()
            .cloned()
            .map(|(steps, fails)| kv.update(move |kv| run(&steps, fails, kv)))
            .collect();
        for ((steps, fails), pending) in updates.iter().zip(pending) {
            let mut changed = model.clone();
            let expected = run_model(steps, &mut changed);
            match pending.wait() {
                Ok(found) => {
                    prop_assert!(!fails);
                    prop_assert_eq!(found, expected);
                    model = changed;
                }
                Err(error) => prop_assert!(*fails, "{}", error),
            }
        }
        let kept: Model = pairs(&kv.snapshot().expect("snapshot")).into_iter().collect();
        prop_assert_eq!(kept, model);
        }
    }
}
