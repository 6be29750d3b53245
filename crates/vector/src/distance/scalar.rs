//! The scalar kernels: they run everywhere, and are the reference for the others.

use super::sum::{STEP, Totals, add_lanes};

/// Independent accumulators, so that the compiler may use wide registers: it must not reorder
/// floating-point additions by itself.
const LANES: usize = STEP;

pub(super) fn dot_and_square(query: &[f32], vector: &[f32], totals: &mut Totals) -> (f32, f32) {
    let mut dots = [0.0_f32; LANES];
    let mut squares = [0.0_f32; LANES];
    let (mut first, mut second) = ([0; LANES], [0; LANES]);
    let (query_chunks, query_rest) = query.as_chunks::<LANES>();
    let (vector_chunks, vector_rest) = vector.as_chunks::<LANES>();
    for (query, vector) in query_chunks.iter().zip(vector_chunks) {
        for lane in 0..LANES {
            dots[lane] += query[lane] * vector[lane];
            squares[lane] += vector[lane] * vector[lane];
        }
        add_lanes(&mut first, &vector.map(f32::to_bits));
        add_lanes(&mut second, &first);
    }
    totals.add(first, second, vector_rest);
    let mut dot: f32 = dots.iter().sum();
    let mut square: f32 = squares.iter().sum();
    for (query, vector) in query_rest.iter().zip(vector_rest) {
        dot += query * vector;
        square += vector * vector;
    }
    (dot, square)
}

pub(super) fn squared_difference(query: &[f32], vector: &[f32], totals: &mut Totals) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (mut first, mut second) = ([0; LANES], [0; LANES]);
    let (query_chunks, query_rest) = query.as_chunks::<LANES>();
    let (vector_chunks, vector_rest) = vector.as_chunks::<LANES>();
    for (query, vector) in query_chunks.iter().zip(vector_chunks) {
        for lane in 0..LANES {
            let difference = query[lane] - vector[lane];
            sums[lane] += difference * difference;
        }
        add_lanes(&mut first, &vector.map(f32::to_bits));
        add_lanes(&mut second, &first);
    }
    totals.add(first, second, vector_rest);
    let rest = query_rest.iter().zip(vector_rest).map(|(query, vector)| {
        let difference = query - vector;
        difference * difference
    });
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}
