//! Winners of a report.

use super::model::{Report, Row};
use super::target::{Level, Target};
use super::unit::Better;
use crate::statistics::geometric_mean;

/// The result of a report in a few numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The winners in row order. Some rows have none.
    pub winners: Vec<Winner>,
    /// All measured targets, the ones with the most rows won first.
    pub standings: Vec<Standing>,
}

/// The winner of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Winner {
    /// The row.
    pub row: String,
    /// The target.
    pub target: String,
    /// Goodness relative to the second; `None` if it was alone or the ratio is undefined.
    pub margin: Option<f64>,
}

/// The result of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The target.
    pub target: String,
    /// Rows won.
    pub wins: usize,
    /// Number of rows won among the durable targets; `None` if it is not durable.
    pub durable_wins: Option<usize>,
    /// Geometric mean of the ratios to the baseline, with the number of rows.
    pub mean: Option<(f64, usize)>,
    /// Rows in which it does best relative to the best of the others.
    pub best: Vec<Best>,
}

/// A row at which a target is good.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The row.
    pub row: String,
    /// Goodness relative to the best of the others; below 1 if another is better.
    pub ratio: f64,
}

/// Number of rows named for each target.
const BEST_ROWS: usize = 3;

/// The targets that count in a row, best first, with their goodness.
type Places<'a> = Vec<(&'a str, f64)>;

/// Finds winners. A cell with errors or without a figure wins nothing.
pub fn summary(report: &Report) -> Summary {
    let is_durable = |target: &Target| target.durability.level == Level::PowerCut;
    let durable = |name: &str| report.target(name).is_some_and(is_durable);
    let all: Vec<(&Row, Places<'_>)> =
        report.rows.iter().map(|row| (row, places(report, row))).collect();
    let winners: Vec<Winner> = all.iter().filter_map(|(row, places)| winner(row, places)).collect();
    let durable_winners: Vec<Winner> = all
        .iter()
        .filter_map(|(row, places)| {
            let durable = places.iter().filter(|(name, _)| durable(name));
            winner(row, &durable.copied().collect::<Places<'_>>())
        })
        .collect();
    let wins = |winners: &[Winner], target: &Target| {
        winners.iter().filter(|winner| winner.target == target.name).count()
    };
    let standing = |target: &Target| Standing {
        target: target.name.clone(),
        wins: wins(&winners, target),
        durable_wins: is_durable(target).then(|| wins(&durable_winners, target)),
        mean: mean(report, target),
        best: best(&all, &target.name),
    };
    let mut standings: Vec<Standing> = report.measured().map(standing).collect();
    standings.sort_by_key(|standing| std::cmp::Reverse(standing.wins));
    Summary { winners, standings }
}

/// The targets that count in a row, best first, with a goodness of which more is better: infinite
/// where less is better and there is nothing at all.
pub(super) fn places<'a>(report: &'a Report, row: &Row) -> Places<'a> {
    let Some(metric) = report.metric(&row.metric) else { return Vec::new() };
    let mut places = Places::new();
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

/// The winner; `None` if several targets have zero of a quantity that should be low.
fn winner(row: &Row, places: &[(&str, f64)]) -> Option<Winner> {
    let (target, goodness) = places.first()?;
    let next = places.get(1).map(|(_, next)| *next);
    if goodness.is_infinite() && next.is_some_and(f64::is_infinite) {
        return None;
    }
    let margin = next.map(|next| goodness / next).filter(|margin| margin.is_finite());
    Some(Winner { row: row.name.clone(), target: (*target).to_owned(), margin })
}

fn best(all: &[(&Row, Places<'_>)], target: &str) -> Vec<Best> {
    let against = |(row, places): &(&Row, Places<'_>)| {
        let place = places.iter().position(|(name, _)| *name == target)?;
        let (other, goodness) = (places.get(usize::from(place == 0))?.1, places[place].1);
        let ratio = goodness / other;
        // A ratio of two zeros is undefined.
        let is_number = ratio.is_finite() && goodness > 0.0;
        is_number.then(|| Best { row: row.name.clone(), ratio })
    };
    let mut rows: Vec<Best> = all.iter().filter_map(against).collect();
    rows.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    rows.truncate(BEST_ROWS);
    rows
}

fn mean(report: &Report, target: &Target) -> Option<(f64, usize)> {
    let counts = |row: &&Row| row.cells.get(&target.name).is_some_and(|cell| cell.errors == 0);
    let rows = report.rows.iter().filter(counts);
    let ratios: Vec<f64> =
        rows.filter_map(|row| report.ratio(row, &target.name)).map(|ratio| ratio.median).collect();
    Some((geometric_mean(&ratios)?, ratios.len()))
}
