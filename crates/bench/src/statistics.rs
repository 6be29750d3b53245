//! Medians, ratios with their spread, and whether a change is more than noise.

/// A ratio of two series that were measured in the same rounds.
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
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// `values[i] / base[i]`, round by round: what disturbed the machine in a round disturbed both.
/// Rounds that only one of them has are left out, and so are rounds with a zero base.
pub fn ratio(values: &[f64], base: &[f64]) -> Option<Ratio> {
    let pairs = values.iter().zip(base).filter(|(_, base)| **base != 0.0);
    let ratios: Vec<f64> = pairs.map(|(value, base)| value / base).collect();
    Some(Ratio {
        median: median(&ratios)?,
        low: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        high: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

/// The geometric mean; `None` without values or with one that is not above zero.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// How probable a difference at least this large is if both series came from the same distribution:
/// Welch's test on the logarithms, two-sided. `None` with fewer than two values above zero in either.
pub fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, error_a, count_a) = mean_and_error(a)?;
    let (mean_b, error_b, count_b) = mean_and_error(b)?;
    let error = error_a + error_b;
    if error == 0.0 {
        return Some(if mean_a == mean_b { 1.0 } else { 0.0 });
    }
    let t = (mean_a - mean_b) / error.sqrt();
    let freedom =
        error * error / (error_a * error_a / (count_a - 1.0) + error_b * error_b / (count_b - 1.0));
    // The two tails of Student's distribution, as an incomplete beta function.
    Some(incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5))
}

/// Mean of the logarithms, the square of its standard error, and how many there are.
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

/// The regularized incomplete beta function I_x(a, b), by its continued fraction (Lentz's method).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast only on this side; the other is its complement.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front =
        (log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..200 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-12 {
            break;
        }
    }
    front * fraction / a
}

/// The logarithm of the gamma function above zero (Lanczos, g = 7).
fn log_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        let sine = (std::f64::consts::PI * x).sin();
        return (std::f64::consts::PI / sine).ln() - log_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let start = 0.999_999_999_999_809_9;
    let terms = TERMS.iter().enumerate();
    let sum = terms.fold(start, |sum, (i, term)| sum + term / (x + i as f64 + 1.0));
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
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
            let p = incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
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
