//! Training: k-means over a sample of the vectors, and the split of one partition in two.

use std::sync::Arc;

use super::centroids::{Centroids, Finder};
use super::encode::Encoder;
use crate::distance::Kernels;
use crate::error::VectorError;
use crate::slot::Slot;
use crate::slots::{Reader, View};

/// Vectors in the sample per centroid.
const SAMPLE_PER_CENTROID: usize = 32;

/// Iterations of k-means. Later ones move centroids little.
const ITERATIONS: usize = 8;

/// Iterations of 2-means in a split, and the vectors that it uses.
const SPLIT_ITERATIONS: usize = 6;
const SPLIT_SAMPLE_MAX: usize = 2_048;

/// A centroid with fewer vectors of the sample is dropped.
const MEMBERS_MIN: f32 = 2.0;

/// At most `count` centroids of the vectors in `view`. Polls `is_over`, and returns `None` once it
/// is `true`.
///
/// # Errors
/// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
pub(super) fn train(
    view: &View,
    encoder: &Encoder,
    count: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<Vec<Arc<[f32]>>>, VectorError> {
    let vectors = view.vector_count();
    let sampled = (count * SAMPLE_PER_CENTROID).max(1_024).min(vectors);
    if sampled == 0 {
        return Ok(Some(vec![vec![0.0; encoder.width()].into()]));
    }
    // Every (vectors / sampled)-th visible vector, in the order of slots.
    let nth = |index: usize| index * vectors / sampled;
    let sample: Vec<u32> = {
        let mut next = 0;
        let is_in_sample = |(index, _): &(usize, Slot)| {
            let is_in = next < sampled && *index == nth(next);
            next += usize::from(is_in);
            is_in
        };
        view.slots().enumerate().filter(is_in_sample).map(|(_, slot)| slot.number()).collect()
    };
    // Initial centroids: vectors spread evenly over the sample. `read_all` returns them in the
    // order of slots.
    let mut rotated = Vec::new();
    let mut centroids: Vec<Arc<[f32]>> = Vec::with_capacity(count);
    let firsts = (0..count).map(|index| sample[index * sample.len() / count]);
    Reader::new(view).read_all(firsts, |_, vector| {
        encoder.rotate(vector, &mut rotated);
        centroids.push(rotated.as_slice().into());
    })?;
    let width = encoder.width();
    let mut finder = Finder::default();
    for _ in 0..ITERATIONS {
        let codes = Centroids::of(&centroids);
        let mut sums = vec![0.0_f32; centroids.len() * width];
        let mut counts = vec![0.0_f32; centroids.len()];
        for part in sample.chunks(1_024) {
            if is_over() {
                return Ok(None);
            }
            Reader::new(view).read_all(part.iter().copied(), |_, vector| {
                encoder.rotate(vector, &mut rotated);
                let nearest = finder.nearest(&codes, &rotated, |it| Some(&centroids[it as usize]));
                if let Some(number) = nearest {
                    let sums = &mut sums[number as usize * width..][..width];
                    sums.iter_mut().zip(&rotated).for_each(|(sum, element)| *sum += element);
                    counts[number as usize] += 1.0;
                }
            })?;
        }
        // Centroids that lost their vectors, or overflowed, are dropped, so the result may have
        // fewer.
        let means = sums.chunks_exact(width).zip(&counts);
        let kept = means.filter(|(_, count)| **count >= MEMBERS_MIN.min(sampled as f32));
        let is_finite = |(sums, _): &(&[f32], &f32)| sums.iter().all(|sum| sum.is_finite());
        let mean = |(sums, count): (&[f32], &f32)| sums.iter().map(|sum| sum / count).collect();
        let kept: Vec<Arc<[f32]>> = kept.filter(is_finite).map(mean).collect();
        if kept.is_empty() {
            break;
        }
        centroids = kept;
    }
    Ok(Some(centroids))
}

/// Two centroids that divide the vectors in `slots`; `None` if the vectors do not separate.
///
/// # Errors
/// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
pub(super) fn split(
    view: &View,
    encoder: &Encoder,
    slots: &[u32],
) -> Result<Option<[Arc<[f32]>; 2]>, VectorError> {
    let width = encoder.width();
    let step = slots.len().div_ceil(SPLIT_SAMPLE_MAX).max(1);
    let (mut all, mut rotated) = (Vec::new(), Vec::new());
    Reader::new(view).read_all(slots.iter().copied().step_by(step), |_, vector| {
        encoder.rotate(vector, &mut rotated);
        all.extend_from_slice(&rotated);
    })?;
    let vectors = || all.chunks_exact(width);
    let kernels = Kernels::best();
    // Initial means that are apart but no outliers: a vector in the middle of the order, and the
    // one at the third quartile of the distances from it.
    let Some(one) = vectors().nth(vectors().len() / 2) else { return Ok(None) };
    let mut others: Vec<(f64, &[f32])> =
        vectors().map(|vector| (kernels.square(one, vector), vector)).collect();
    let place = others.len() * 3 / 4;
    let (_, (_, other), _) = others.select_nth_unstable_by(place, |a, b| a.0.total_cmp(&b.0));
    let (one, other) = (one.to_vec(), other.to_vec());
    let mut means = [one, other];
    let mut counts = [0_usize; 2];
    for _ in 0..SPLIT_ITERATIONS {
        let mut sums = [vec![0.0_f32; width], vec![0.0_f32; width]];
        counts = [0; 2];
        for vector in vectors() {
            let [one, other] = [0, 1].map(|side: usize| kernels.square(&means[side], vector));
            let side = usize::from(other < one);
            sums[side].iter_mut().zip(vector).for_each(|(sum, element)| *sum += element);
            counts[side] += 1;
        }
        for ((mean, sum), count) in means.iter_mut().zip(sums).zip(counts) {
            if count > 0 {
                *mean = sum.into_iter().map(|sum| sum / count as f32).collect();
            }
        }
    }
    // A side with less than a sixteenth of the vectors is an outlier, not a half.
    let least = counts[0].min(counts[1]);
    let is_divided = least * 16 >= counts[0] + counts[1] && means[0] != means[1];
    let is_finite = means.iter().flatten().all(|element| element.is_finite());
    Ok((is_divided && is_finite).then(|| means.map(Arc::from)))
}
