//! Filters, limits, freed vectors, threads.

use liteio_disk::effort::points;
use liteio_vector::{Durability, Metric, Search, Slot, SlotSet, VectorError, VectorIndex};

use crate::harness::{clustered, shape};

const DIMENSION: usize = 320;
const COUNT: u32 = 6_000;

fn index(metric: Metric) -> (VectorIndex, Vec<f32>) {
    let vectors = clustered(COUNT as usize, DIMENSION, 30, 1);
    let index = VectorIndex::in_memory(shape(DIMENSION, metric)).expect("created");
    index.slots().append_many(&vectors).expect("appended");
    index.slots().commit(Durability::Fsync).expect("committed");
    (index, vectors)
}

#[test]
fn as_many_neighbours_come_back_as_match_the_filter() {
    for metric in [Metric::Cosine, Metric::Euclidean] {
        let (index, vectors) = index(metric);
        let view = index.slots().view();
        for step in [1, 2, 3, 7, 50, 700, 5_000] {
            let filter: SlotSet = (0..COUNT + 500).step_by(step).map(Slot::new).collect();
            let search = Search::new(&vectors[..DIMENSION], 40).within(&filter);
            let found = index.search(&view, &search).expect("found");
            let matching = (COUNT as usize).div_ceil(step);
            assert_eq!(found.len(), matching.min(40), "{metric:?}, {step}");
            assert!(found.iter().all(|neighbour| filter.contains(neighbour.slot)));
            let exact = view.search_exactly(&search).expect("found");
            let same = found.iter().filter(|found| exact.contains(found)).count();
            assert!(same * 100 >= exact.len() * 97, "{metric:?}, {step}: {same}");
        }
        let search = Search::new(&vectors[..DIMENSION], 5);
        let none = SlotSet::new();
        assert_eq!(index.search(&view, &search.within(&none)).expect("found"), []);
    }
}

#[test]
fn distances_are_those_of_the_metric() {
    let cosine = VectorIndex::in_memory(shape(2, Metric::Cosine)).expect("created");
    let euclidean = VectorIndex::in_memory(shape(2, Metric::Euclidean)).expect("created");
    let vectors = [3.0, 4.0, -4.0, 3.0, -3.0, -4.0];
    for (index, expected) in [(cosine, [0.0, 1.0, 2.0]), (euclidean, [5.0, 11.180_34, 15.0])] {
        index.slots().append_many(&vectors).expect("appended");
        index.slots().commit(Durability::Os).expect("committed");
        let view = index.slots().view();
        let found = index.search(&view, &Search::new(&[6.0, 8.0], 10)).expect("found");
        let slots: Vec<u32> = found.iter().map(|neighbour| neighbour.slot.number()).collect();
        assert_eq!(slots, [0, 1, 2]);
        for (neighbour, expected) in found.iter().zip(expected) {
            assert!((neighbour.distance - expected).abs() < 1e-5, "{found:?}");
        }
    }
}

#[test]
fn freed_vectors_are_not_found_and_new_ones_are_at_once() {
    let (index, vectors) = index(Metric::Cosine);
    index.prepare().expect("prepared");
    let query = &vectors[..DIMENSION];
    let first = |count: usize| {
        let view = index.slots().view();
        let found = index.search(&view, &Search::new(query, count)).expect("found");
        found.iter().map(|neighbour| neighbour.slot).collect::<Vec<Slot>>()
    };
    assert_eq!(first(1), [Slot::new(0)]);
    index.slots().free(&[Slot::new(0)]).expect("freed");
    assert_ne!(first(1), [Slot::new(0)]);
    for round in 0..5 {
        // Few at a time: they have no codes yet when they are searched for.
        let written = index.slots().append(query).expect("appended");
        assert!(!first(10).contains(&written.slot), "not committed");
        index.slots().commit(Durability::Fsync).expect("committed");
        assert!(first(10).contains(&written.slot), "round {round}");
        if round == 2 {
            index.prepare().expect("prepared");
        }
    }
    let found = first(5);
    assert_eq!(found.iter().collect::<std::collections::HashSet<_>>().len(), 5, "each once");
}

#[test]
fn more_threads_find_the_same() {
    let vectors = clustered(70_000, 256, 30, 1);
    let index = VectorIndex::in_memory(shape(256, Metric::Euclidean)).expect("created");
    index.slots().append_many(&vectors).expect("appended");
    index.slots().commit(Durability::Os).expect("committed");
    let view = index.slots().view();
    let search = Search::new(&vectors[60_000 * 256..60_001 * 256], 20);
    let one = index.search(&view, &search).expect("found");
    assert_eq!(one[0].slot, Slot::new(60_000));
    for threads in [0, 2, 5] {
        let many = index.search(&view, &Search { threads, ..search }).expect("found");
        let same = many.iter().filter(|found| one.contains(found)).count();
        assert!(same >= 19, "{threads}");
    }
}

#[test]
fn what_cannot_be_searched_for_is_refused() {
    let (index, vectors) = index(Metric::Cosine);
    let view = index.slots().view();
    let query = &vectors[..DIMENSION];
    let search = |query, neighbours| index.search(&view, &Search::new(query, neighbours));
    let error = search(&query[1..], 1).expect_err("too short");
    assert!(matches!(error, VectorError::WrongLength { expected: 320, found: 319 }), "{error}");
    let error = search(&[0.0; DIMENSION], 1).expect_err("no direction");
    assert!(matches!(error, VectorError::ZeroLength { vector: 0 }), "{error}");
    let error = search(&[f32::INFINITY; DIMENSION], 1).expect_err("not finite");
    assert!(matches!(error, VectorError::NotFinite { vector: 0, element: 0 }), "{error}");
    let error = search(query, 10_001).expect_err("too many");
    assert!(matches!(error, VectorError::TooManyNeighbours { .. }), "{error}");
    assert_eq!(search(query, 0).expect("none"), []);
}

#[test]
fn vectors_far_beyond_the_ordinary_are_found_like_any_other() {
    let index = VectorIndex::in_memory(shape(256, Metric::Euclidean)).expect("created");
    let ordinary = clustered(3_000, 256, 10, 1);
    index.slots().append_many(&ordinary).expect("appended");
    let huge = vec![1e30; 256];
    let tiny = vec![1e-30; 256];
    let same: Vec<f32> = vec![0.5; 256];
    let huge_slot = index.slots().append(&huge).expect("appended").slot;
    let tiny_slot = index.slots().append(&tiny).expect("appended").slot;
    let same_slots = [(); 20].map(|()| index.slots().append(&same).expect("appended").slot);
    index.slots().commit(Durability::Fsync).expect("committed");
    let view = index.slots().view();
    let nearest =
        |query: &[f32]| index.search(&view, &Search::new(query, 1)).expect("found")[0].slot;
    assert_eq!(nearest(&huge), huge_slot);
    assert_eq!(nearest(&tiny), tiny_slot);
    assert_eq!(nearest(&same), same_slots[0], "equal distances are ordered by slot");
    let some = &ordinary[256 * 70..256 * 71];
    assert_eq!(nearest(some), Slot::new(70));
}

/// Vectors in one direction, at these places, each of them once.
fn on_a_line(places: &[f32], dimension: usize) -> Vec<f32> {
    let direction = clustered(1, dimension, 1, 9);
    let longest = direction.iter().fold(0.0_f32, |longest, element| longest.max(element.abs()));
    let at = |place: &f32| direction.iter().map(|it| it / longest * place).collect::<Vec<f32>>();
    places.iter().flat_map(at).collect()
}

/// Distances whose squares are none as `f32`, among few vectors and among so many that codes are used.
#[test]
fn the_tiny_and_the_huge_are_found_in_the_order_of_their_distances() {
    let tiny = [1e-45, 1e-40, 1e-24, 9e-24, 1e-20, 1e-17, 1e-14];
    let large = [1e14, -1e14, 1e17, -1e17, 1e18, 2e18, 3e18, -3e18, 1e19];
    let huge = [3e19, 1e25, -1e25, 1e30, 1e38, 3e38, -3e38];
    // Of the others their number and the size of their elements.
    let others = [(0, 1.0), (1_500, 1.0), (1_500, 1e-22), (1_500, 2e-23), (1_500, 1e17)];
    let dimensions = [2, 128, 192, 256, 300];
    let places = [&tiny[..], &large[..], &huge[..], &[&tiny[..], &large, &huge].concat()[..]];
    let cases = dimensions.len() * places.len() * others.len();
    // In a quick run every sixth, so that each dimension, list of places and size has its turn.
    for case in points(17, cases as u64) {
        let case = case as usize;
        let dimension = dimensions[case % dimensions.len()];
        let places = places[case / dimensions.len() % places.len()];
        let (count, size) = others[case / dimensions.len() / places.len()];
        let mut vectors = clustered(count, dimension, 10, 1);
        vectors.iter_mut().for_each(|element| *element *= size);
        vectors.extend(on_a_line(places, dimension));
        let context = format!("{dimension} elements, {count} of {size}, {places:?}");
        check_order(&vectors, dimension, places.len(), &context);
    }
}

/// Searches for the last `queries` of `vectors`, the first ones, and the origin.
fn check_order(vectors: &[f32], dimension: usize, queries: usize, context: &str) {
    let index = VectorIndex::in_memory(shape(dimension, Metric::Euclidean)).expect("created");
    index.slots().append_many(vectors).expect("appended");
    index.slots().commit(Durability::Os).expect("committed");
    let view = index.slots().view();
    let count = vectors.len() / dimension;
    let origin = vec![0.0; dimension];
    let firsts = vectors.chunks(dimension).take(5);
    let queries = vectors.chunks(dimension).skip(count - queries).chain(firsts);
    for query in queries.chain([&origin[..]]) {
        let all = index.search(&view, &Search::new(query, count)).expect("found");
        assert_eq!(all.len(), count, "{context}");
        assert!(all.is_sorted_by(|near, far| near.distance <= far.distance), "{context}");
        for neighbour in &all {
            let vector = &vectors[neighbour.slot.number() as usize * dimension..][..dimension];
            let pairs = query.iter().zip(vector);
            let differences = pairs.map(|(a, b)| f64::from(*a) - f64::from(*b));
            let square: f64 = differences.map(|difference| difference * difference).sum();
            let error = (square.sqrt() - neighbour.distance).abs();
            assert!(error <= square.sqrt() * 1e-5 + 1e-45, "{context}: {neighbour:?}");
        }
        for few in [1, 5, 20] {
            let found = index.search(&view, &Search::new(query, few)).expect("found");
            let same = found.iter().filter(|found| all[..few.min(count)].contains(found)).count();
            assert!(found[0] == all[0] && same * 100 >= found.len() * 95, "{context}: {found:?}");
        }
    }
}

#[test]
fn no_cosine_distance_is_below_0_or_above_2() {
    let (index, vectors) = index(Metric::Cosine);
    let view = index.slots().view();
    for query in vectors.chunks(DIMENSION).step_by(53) {
        let opposite: Vec<f32> = query.iter().map(|element| -element).collect();
        for query in [query, &opposite] {
            let found = index.search(&view, &Search::new(query, 3)).expect("found");
            let all = view.search_exactly(&Search::new(query, COUNT as usize)).expect("found");
            for neighbour in found.iter().chain(&all) {
                assert!((0.0..=2.0).contains(&neighbour.distance), "{neighbour:?}");
            }
        }
    }
}
