//! Medians, ratios with their spread, and the significance of a change.

/// Ratio of two series that were measured in the same rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The median over the rounds.
    pub median: f64,
    /// The smallest ratio of a round.
    pub low: f64,
    /// The largest ratio of a round.
    pub high: f64,
}

/// The middle value, or the mean of the two middle ones; `None` without values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// `values[i] / base[i]`, round by round: a disturbance in a round affects both. Rounds that only
/// one of them has are left out, and so are rounds with a zero base.
pub(crate) fn ratio(values: &[f64], base: &[f64]) -> Option<Ratio> {
    let pairs = values.iter().zip(base).filter(|(_, base)| **base != 0.0);
    let ratios: Vec<f64> = pairs.map(|(value, base)| value / base).collect();
    Some(Ratio {
        median: median(&ratios)?,
        low: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        high: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

/// Geometric mean; `None` without values, or with a value that is not above zero.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// The probability of a difference at least this large if both series came from the same
/// distribution: Welch's test on the logarithms, two-sided. `None` with fewer than two values above
/// zero in either.
pub(crate) fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, error_a, count_a) = mean_and_error(a)?;
    let (mean_b, error_b, count_b) = mean_and_error(b)?;
    let error = error_a + error_b;
    if error == 0.0 {
        return Some(if mean_a == mean_b { 1.0 } else { 0.0 });
    }
    let t = (mean_a - mean_b) / error.sqrt();
    let freedom =
        error * error / (error_a * error_a / (count_a - 1.0) + error_b * error_b / (count_b - 1.0));
    Some(student_tails(t, freedom))
}

/// Mean of the logarithms, the square of its standard error, and their number.
fn mean_and_error(values: &[f64]) -> Option<(f64, f64, f64)> {
    if values.len() < 2 || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some((mean, variance / count, count))
}

/// The probability of more than `t` or less than `-t` in Student's distribution: the integral of
/// sin^(freedom - 1) up to the angle whose tangent is √freedom / t, relative to the integral up to
/// π / 2.
fn student_tails(t: f64, freedom: f64) -> f64 {
    let angle = freedom.sqrt().atan2(t.abs());
    let power = |angle: f64| angle.sin().powf((freedom - 1.0).max(0.0));
    integral(angle, power) / integral(std::f64::consts::FRAC_PI_2, power)
}

/// The integral from 0 to `end`, by Simpson's rule.
fn integral(end: f64, of: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 2_000;
    let step = end / f64::from(STEPS);
    let weight = |place: u32| match place {
        0 | STEPS => 1.0,
        place if place % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..=STEPS).map(|place| weight(place) * of(f64::from(place) * step)).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_does_not_follow_one_wild_round() {
        assert_eq!(median(&[3.0, 1.0, 900.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 900.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_ratio_is_taken_within_each_round() {
        // The machine was twice as slow in the second round, for both.
        let found = ratio(&[200.0, 100.0, 210.0], &[100.0, 50.0, 100.0]);
        assert_eq!(found, Some(Ratio { median: 2.0, low: 2.0, high: 2.1 }));
        let uneven = ratio(&[200.0, 300.0], &[100.0]);
        assert_eq!(uneven, Some(Ratio { median: 2.0, low: 2.0, high: 2.0 }));
        assert_eq!(ratio(&[1.0], &[0.0]), None);
    }

    #[test]
    fn the_geometric_mean_treats_twice_and_half_alike() {
        let mean = geometric_mean(&[0.5, 2.0]).expect("both are above zero");
        assert!((mean - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }

    #[test]
    fn the_significance_is_that_of_students_table() {
        // t = 2.776 at 4 degrees of freedom leaves 5 %, t = 2.228 at 10 as well.
        for (t, freedom, expected) in [(2.776, 4.0, 0.05), (2.228, 10.0, 0.05), (4.604, 4.0, 0.01)]
        {
            let p = student_tails(t, freedom);
            assert!((p - expected).abs() < 1e-4, "t {t}, freedom {freedom}: {p}");
        }
    }

    #[test]
    fn noise_is_not_significant_and_a_real_change_is() {
        let before = [100.0, 103.0, 98.0, 101.0, 99.0];
        let same = [101.0, 97.0, 100.0, 104.0, 99.0];
        let faster = [131.0, 128.0, 130.0, 133.0, 127.0];
        assert!(welch(&before, &same).is_some_and(|p| p > 0.5));
        assert!(welch(&before, &faster).is_some_and(|p| p < 0.001));
        assert_eq!(welch(&[100.0], &faster), None);
        assert_eq!(welch(&[5.0, 5.0], &[5.0, 5.0]), Some(1.0));
    }
}
