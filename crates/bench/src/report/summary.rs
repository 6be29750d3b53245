//! The winners of a report.

use std::collections::BTreeMap;

use super::model::{Report, Row};
use super::target::Level;
use super::unit::Better;
use crate::statistics::geometric_mean;

/// The result of a report in a few numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The winner of each row with how many times as good it is as the runner-up, in row order.
    pub winners: Vec<Winner>,
    /// Rows won, by target, most first. Targets without a win are in it.
    pub wins: Vec<(String, usize)>,
    /// Rows won among the durable targets, most first.
    pub durable_wins: Vec<(String, usize)>,
    /// The geometric mean of the ratios to the baseline over all rows, with the number of rows.
    pub means: BTreeMap<String, (f64, usize)>,
    /// The best rows of each target: those with the best place against the best of the others.
    pub best: BTreeMap<String, Vec<Best>>,
}

/// The winner of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Winner {
    /// The row.
    pub row: String,
    /// The target.
    pub target: String,
    /// Goodness relative to the next; `None` if it was alone, or there is no such number.
    pub margin: Option<f64>,
}

/// A row at which a target is good.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The row.
    pub row: String,
    /// Goodness relative to the best of the others; below 1 if another is better.
    pub ratio: f64,
}

/// Rows that are named for each target.
const BEST_ROWS: usize = 3;

/// Finds winners. A cell with errors, or without a figure, wins nothing.
pub fn summary(report: &Report) -> Summary {
    let mut summary = Summary::default();
    let mut wins: BTreeMap<&str, usize> = BTreeMap::new();
    let mut durable_wins: BTreeMap<&str, usize> = BTreeMap::new();
    let mut best: BTreeMap<&str, Vec<Best>> = BTreeMap::new();
    for target in report.measured() {
        wins.insert(&target.name, 0);
        if target.durability.level == Level::PowerCut {
            durable_wins.insert(&target.name, 0);
        }
    }
    for row in &report.rows {
        let places = places(report, row);
        if let Some(winner) = winner(row, &places) {
            *wins.entry(places[0].0).or_default() += 1;
            summary.winners.push(winner);
        }
        let durable: Vec<_> =
            places.iter().filter(|(name, _)| durable_wins.contains_key(name)).copied().collect();
        if winner(row, &durable).is_some() {
            *durable_wins.entry(durable[0].0).or_default() += 1;
        }
        for (place, (name, goodness)) in places.iter().enumerate() {
            let other = if place == 0 { places.get(1) } else { places.first() };
            let ratio = other.map_or(f64::NAN, |(_, other)| goodness / other);
            // Nothing is a number of times as good as nothing.
            if ratio.is_finite() && *goodness > 0.0 {
                best.entry(name).or_default().push(Best { row: row.name.clone(), ratio });
            }
        }
    }
    summary.wins = most_first(&wins);
    summary.durable_wins = most_first(&durable_wins);
    for (name, mut rows) in best {
        rows.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        rows.truncate(BEST_ROWS);
        summary.best.insert(name.to_owned(), rows);
    }
    summary.means = means(report);
    summary
}

/// The targets that count in a row, best first, with a goodness of which more is better: infinite
/// where less is better and there is nothing at all.
pub(super) fn places<'a>(report: &'a Report, row: &Row) -> Vec<(&'a str, f64)> {
    let Some(metric) = report.metric(&row.metric) else { return Vec::new() };
    let mut places: Vec<(&str, f64)> = Vec::new();
    for target in report.measured() {
        let Some(cell) = row.cells.get(&target.name).filter(|cell| cell.errors == 0) else {
            continue;
        };
        match (cell.median(&row.metric), metric.better) {
            (Some(value), Better::Higher) => places.push((&target.name, value)),
            (Some(value), Better::Lower) => places.push((&target.name, 1.0 / value.max(0.0))),
            (None, _) => {}
        }
    }
    places.sort_by(|a, b| b.1.total_cmp(&a.1));
    places
}

/// The first; nobody where several have nothing at all of what should be little.
fn winner(row: &Row, places: &[(&str, f64)]) -> Option<Winner> {
    let (target, goodness) = places.first()?;
    let next = places.get(1).map(|(_, next)| *next);
    if goodness.is_infinite() && next.is_some_and(f64::is_infinite) {
        return None;
    }
    let margin = next.map(|next| goodness / next).filter(|margin| margin.is_finite());
    Some(Winner { row: row.name.clone(), target: (*target).to_owned(), margin })
}

fn most_first(wins: &BTreeMap<&str, usize>) -> Vec<(String, usize)> {
    let mut sorted: Vec<(String, usize)> =
        wins.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sorted
}

fn means(report: &Report) -> BTreeMap<String, (f64, usize)> {
    let mut means = BTreeMap::new();
    for target in report.measured() {
        let ratios: Vec<f64> = report
            .rows
            .iter()
            .filter(|row| row.cells.get(&target.name).is_some_and(|cell| cell.errors == 0))
            .filter_map(|row| report.ratio(row, &target.name).map(|ratio| ratio.median))
            .collect();
        if let Some(mean) = geometric_mean(&ratios) {
            means.insert(target.name.clone(), (mean, ratios.len()));
        }
    }
    means
}
