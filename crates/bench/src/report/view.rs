//! The content of a report as sections of text, tables and charts: made once, written by each
//! format.

use std::collections::BTreeSet;

use super::model::{Cell, Curve, Metric, Report, Row};
use super::summary::{Summary, places, summary};
use super::target::Target;
use super::unit::{Better, Unit, digits};
use crate::busy::DISTURBED;

/// A heading with its blocks.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
}

/// A part of a section. Texts are plain: each format escapes its special characters.
pub(super) enum Block {
    Text(String),
    List(Vec<String>),
    /// Rows of fields; the first row is the heading.
    Table(Vec<Vec<Field>>),
    /// A chart, only for formats that can draw.
    Chart(Chart),
}

/// A field of a table.
#[derive(Clone, Default)]
pub(super) struct Field {
    pub(super) text: String,
    /// `true` for the best of its row.
    pub(super) best: bool,
    /// Goodness relative to the best of its row, 0 to 1.
    pub(super) near: f64,
}

/// Bars, lines, or both.
pub(super) struct Chart {
    pub(super) title: String,
    /// The winner, in a few words.
    pub(super) won: String,
    pub(super) note: String,
    pub(super) bars: Vec<Bar>,
    pub(super) lines: Option<Lines>,
}

/// A bar with its name and the text at its end.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) colour: &'static str,
    /// `None` shows only the label.
    pub(super) value: Option<f64>,
    pub(super) label: String,
    /// A second value, drawn as a mark on the bar.
    pub(super) mark: Option<(f64, String)>,
}

/// Lines over two logarithmic axes.
pub(super) struct Lines {
    pub(super) x_title: String,
    /// The ticks of the lower axis: place and text.
    pub(super) x_ticks: Vec<(f64, String)>,
    pub(super) unit: Unit,
    pub(super) lines: Vec<Line>,
}

/// A line with its points.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) colour: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// One colour for each target, distinguishable on light and dark backgrounds; more targets start
/// again.
const COLOURS: [&str; 18] = [
    "#2563eb", "#0ea5e9", "#14b8a6", "#dc2626", "#f59e0b", "#7c3aed", "#db2777", "#65a30d",
    "#ea580c", "#64748b", "#a16207", "#0f766e", "#fb7185", "#4d7c0f", "#0369a1", "#be123c",
    "#57534e", "#c026d3",
];

/// Number of targets above which they are rows of a table, not columns.
const COLUMNS_MAX: usize = 8;

/// Text in place of a missing figure.
const NOTHING: &str = "–";

impl<T: Into<String>> From<T> for Field {
    fn from(text: T) -> Field {
        Field { text: text.into(), ..Field::default() }
    }
}

/// The line below the title.
pub(super) fn subtitle(report: &Report) -> String {
    let machine = &report.machine;
    format!(
        "{} · {} cores, {} · {} · LiteIO {} ({})",
        report.started,
        machine.cores,
        machine.processor,
        machine.file_system,
        machine.version,
        machine.commit_or_unknown()
    )
}

/// Everything below the subtitle.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let summary = summary(report);
    let section = |title: &str, blocks| Section { title: title.to_owned(), blocks };
    let mut sections = vec![
        section("Summary", in_short(report, &summary)),
        section("Targets", vec![targets(report)]),
    ];
    for title in report.groups() {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.group == title).collect();
        let group = Group { report, summary: &summary, targets: report.taking_part(&rows), rows };
        sections.push(section(title, group.blocks()));
    }
    sections.extend([
        section("Resources", resources(report)),
        section("Errors", vec![Block::List(errors(report))]),
        section("Conditions", conditions(report)),
    ]);
    sections
}

fn baseline(report: &Report) -> &str {
    report.baseline.as_deref().unwrap_or("the baseline")
}

fn heads(names: &[&str]) -> Vec<Field> {
    names.iter().map(|name| Field::from(*name)).collect()
}

/// A target with the remark on its durability.
fn named(target: &Target) -> String {
    match target.durability.level.remark() {
        "" => target.name.clone(),
        remark => format!("{} ({remark})", target.name),
    }
}

fn in_short(report: &Report, summary: &Summary) -> Vec<Block> {
    let baseline = baseline(report);
    let mean_head = format!("× {baseline}");
    let mut table =
        vec![heads(&["target", "rows won", "of the durable", mean_head.as_str(), "best at"])];
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    for standing in &summary.standings {
        let Some(target) = report.target(&standing.target) else { continue };
        let mean = standing.mean.map(|(mean, rows)| format!("{} ({rows} rows)", digits(mean)));
        let best = standing.best.iter();
        let best = best.map(|best| format!("{} ({}×)", best.row, digits(best.ratio)));
        table.push(vec![
            named(target).into(),
            standing.wins.to_string().into(),
            or_nothing(standing.durable_wins.map(|wins| wins.to_string())).into(),
            or_nothing(mean).into(),
            best.collect::<Vec<_>>().join(", ").into(),
        ]);
    }
    let note = format!(
        "{} rows. “Of the durable” counts only targets whose acknowledged writes survive a power cut. \
         × {baseline}: geometric mean over the rows that both have. Best at: against the best of the \
         others; below 1× another is better. A figure with errors wins nothing.",
        report.rows.len()
    );
    vec![Block::Table(table), Block::Text(note)]
}

fn targets(report: &Report) -> Block {
    let mut table = vec![heads(&["target", "version", "an acknowledged write", "remarks"])];
    for target in &report.targets {
        let remarks: Vec<&str> =
            target.absent.iter().chain(&target.notes).map(String::as_str).collect();
        let durability = &target.durability;
        table.push(vec![
            target.name.as_str().into(),
            target.version.as_deref().unwrap_or(NOTHING).into(),
            format!("{}: {}", durability.level.label(), durability.detail).into(),
            remarks.join("; ").into(),
        ]);
    }
    Block::Table(table)
}

/// The rows of one heading.
struct Group<'a> {
    report: &'a Report,
    summary: &'a Summary,
    targets: Vec<&'a Target>,
    rows: Vec<&'a Row>,
}

impl Group<'_> {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![self.table("row", self.rows.iter().map(|row| self.deciding(row)))];
        let note = |row: &&Row| row.note.as_ref().map(|note| format!("{}: {note}", row.name));
        blocks.push(Block::List(self.rows.iter().filter_map(note).collect()));
        blocks.extend(self.percentiles());
        let others: Vec<Vec<Field>> = self.rows.iter().flat_map(|row| self.others(row)).collect();
        if !others.is_empty() {
            blocks.push(self.table("beside it", others));
        }
        blocks.extend(self.curves().into_iter().map(Block::Chart));
        blocks.extend(self.rows.iter().filter_map(|row| self.chart(row)).map(Block::Chart));
        blocks
    }

    /// A table with a line for each row and a column for each target, or the other way around if
    /// there are many targets.
    fn table(&self, first: &str, lines: impl IntoIterator<Item = Vec<Field>>) -> Block {
        let heads = self.targets.iter().map(|target| named(target).into());
        let mut grid: Vec<Vec<Field>> = vec![std::iter::once(first.into()).chain(heads).collect()];
        grid.extend(lines);
        if self.targets.len() > COLUMNS_MAX.max(grid.len() - 1) {
            let column = |place: usize| grid.iter().map(|line| line[place].clone()).collect();
            grid = (0..=self.targets.len()).map(column).collect();
        }
        Block::Table(grid)
    }

    /// The deciding figures of a row, and the published ones.
    fn deciding(&self, row: &Row) -> Vec<Field> {
        let winner = self.summary.winners.iter().find(|winner| winner.row == row.name);
        let places = places(self.report, row);
        let unit = self.report.metric(&row.metric).map(|metric| metric.unit);
        let mut line = vec![Field::from(row.name.as_str())];
        for target in &self.targets {
            let mut text = self.figure(row, target, true);
            let cell = row.cells.get(&target.name);
            if let Some((published, unit)) = cell.and_then(|it| it.published.as_ref()).zip(unit) {
                text += &format!(" (published {})", unit.format(published.value));
            }
            let goodness = places.iter().find(|(name, _)| *name == target.name);
            let near = goodness.zip(places.first()).map_or(0.0, |((_, own), (_, best))| own / best);
            let best = winner.is_some_and(|winner| winner.target == target.name);
            line.push(Field { text, best, near: if near.is_finite() { near } else { 1.0 } });
        }
        line
    }

    /// The deciding figure of a cell, with its ratio, spread (on request) and signs, or the reason
    /// that it is missing.
    fn figure(&self, row: &Row, target: &Target, with_spread: bool) -> String {
        let cell = row.cells.get(&target.name);
        let value = self.report.metric(&row.metric).zip(row.median(&target.name));
        let (Some(cell), Some((metric, value))) = (cell, value) else {
            return why_absent(cell, target).to_owned();
        };
        let mut shown = metric.unit.format(value);
        if let Some(ratio) = self.report.ratio(row, &target.name) {
            shown += &format!(" · {}×", digits(ratio.median));
            let has_rounds = cell.values.get(&row.metric).is_some_and(|it| it.rounds.len() > 1);
            if with_spread && has_rounds {
                shown += &format!(" ({}–{})", digits(ratio.low), digits(ratio.high));
            }
        }
        if cell.disturbance > DISTURBED {
            shown += " ~";
        }
        shown + &errors_sign(cell.errors)
    }

    fn percentiles(&self) -> Option<Block> {
        let metrics: Vec<&Metric> = percentiles(self.report).collect();
        let shown = |row: &Row, target: &Target| -> Option<String> {
            let cell = row.cells.get(&target.name)?;
            let times = metrics.iter().map(|it| Some(it.unit.format(cell.median(&it.id)?)));
            Some(times.collect::<Option<Vec<_>>>()?.join(" / "))
        };
        let has = |row: &&&Row| {
            let mut ids = row.cells.values().flat_map(|cell| cell.values.keys());
            ids.any(|id| metrics.iter().any(|metric| metric.id == *id))
        };
        let line = |row: &&Row| {
            let times = self.targets.iter().map(|target| shown(row, target));
            let times = times.map(|times| times.unwrap_or_else(|| NOTHING.to_owned()).into());
            std::iter::once(row.name.as_str().into()).chain(times).collect()
        };
        let lines: Vec<Vec<Field>> = self.rows.iter().filter(has).map(line).collect();
        let titles: Vec<&str> = metrics.iter().map(|metric| metric.title.as_str()).collect();
        (!lines.is_empty()).then(|| self.table(&titles.join(" / "), lines))
    }

    /// Metrics of a row that neither decide nor are percentiles.
    fn others(&self, row: &Row) -> Vec<Vec<Field>> {
        let ids: BTreeSet<&String> =
            row.cells.values().flat_map(|cell| cell.values.keys()).collect();
        let metrics = ids.into_iter().filter_map(|id| self.report.metric(id));
        let other = |metric: &&Metric| metric.percentile.is_none() && metric.id != row.metric;
        let line = |metric: &Metric| {
            let values = self.targets.iter().map(|target| {
                let median = row.cells.get(&target.name).and_then(|cell| cell.median(&metric.id));
                median.map_or(NOTHING.to_owned(), |median| metric.unit.format(median)).into()
            });
            std::iter::once(format!("{}: {}", row.name, metric.title).into())
                .chain(values)
                .collect()
        };
        metrics.filter(other).map(line).collect()
    }

    /// The charts that several rows make up, such as throughput by concurrency.
    fn curves(&self) -> Vec<Chart> {
        let curves = || self.rows.iter().filter_map(|row| Some((row, row.curve.as_ref()?)));
        let mut charts: Vec<Chart> = Vec::new();
        for (first, curve) in curves() {
            let points: Vec<_> = curves().filter(|(_, it)| it.title == curve.title).collect();
            let is_drawn = charts.iter().any(|chart| chart.title == curve.title);
            // One point is no curve, and its row has bars.
            if points.len() < 2 || is_drawn {
                continue;
            }
            let along = |target: &Target| {
                let point = |(row, it): &(&&Row, &Curve)| Some((it.x, row.median(&target.name)?));
                points.iter().filter_map(point).collect()
            };
            let ticks = points.iter().map(|(_, it)| (it.x, Unit::Count.format(it.x))).collect();
            let Some(metric) = self.report.metric(&first.metric) else { continue };
            charts.push(Chart {
                title: curve.title.clone(),
                won: String::new(),
                note: metric.title.clone(),
                bars: Vec::new(),
                lines: self.lines(&curve.axis, ticks, metric.unit, along),
            });
        }
        charts
    }

    /// The bars of a row, and the percentiles of its times as lines.
    fn chart(&self, row: &Row) -> Option<Chart> {
        let metric = self.report.metric(&row.metric)?;
        let bar = |target: &&Target| {
            let published = row.cells.get(&target.name).and_then(|cell| cell.published.as_ref());
            Bar {
                name: named(target),
                colour: self.colour(target),
                value: row.median(&target.name),
                label: self.figure(row, target, false),
                mark: published.map(|it| {
                    let shown = metric.unit.format(it.value);
                    (it.value, format!("published: {shown} ({})", it.source))
                }),
            }
        };
        let direction = if metric.better == Better::Higher { "more" } else { "less" };
        let note = row.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
        let winner = self.summary.winners.iter().find(|winner| winner.row == row.name);
        let won = winner.map_or(String::new(), |winner| match winner.margin {
            Some(margin) => format!("{}, {}× the next", winner.target, digits(margin)),
            None => winner.target.clone(),
        });
        // On a logarithmic axis, factors of ten are equal steps.
        let steps = || percentiles(self.report).zip((0..).map(|place| 10_f64.powi(place)));
        let along = |target: &Target| {
            let cell = row.cells.get(&target.name);
            let time = |id: &str| cell?.median(id).filter(|median| *median > 0.0);
            steps().filter_map(|(metric, x)| Some((x, time(&metric.id)?))).collect()
        };
        let ticks = steps().map(|(metric, x)| (x, metric.title.clone())).collect();
        Some(Chart {
            title: row.name.clone(),
            won,
            note: format!("{}, {direction} is better{note}", metric.title),
            bars: self.targets.iter().map(bar).collect(),
            lines: self.lines("time of one operation", ticks, Unit::Nanoseconds, along),
        })
    }

    /// A line for each target that has points.
    fn lines(
        &self,
        x_title: &str,
        x_ticks: Vec<(f64, String)>,
        unit: Unit,
        along: impl Fn(&Target) -> Vec<(f64, f64)>,
    ) -> Option<Lines> {
        let line = |target: &&Target| Line {
            name: target.name.clone(),
            colour: self.colour(target),
            points: along(target),
        };
        let lines = self.targets.iter().map(line).filter(|line| !line.points.is_empty());
        let lines: Vec<Line> = lines.collect();
        let x_title = x_title.to_owned();
        (!lines.is_empty()).then_some(Lines { x_title, x_ticks, unit, lines })
    }

    fn colour(&self, target: &Target) -> &'static str {
        let place = self.report.targets.iter().position(|other| other.name == target.name);
        COLOURS[place.unwrap_or(0) % COLOURS.len()]
    }
}

fn percentiles(report: &Report) -> impl Iterator<Item = &Metric> {
    report.metrics.iter().filter(|metric| metric.percentile.is_some())
}

/// The text in place of a figure.
fn why_absent<'a>(cell: Option<&'a Cell>, target: &'a Target) -> &'a str {
    let absent = cell.and_then(|cell| cell.absent.as_deref());
    let errors = cell.filter(|cell| cell.errors > 0).map(|_| "only errors");
    absent.or(errors).or(target.absent.as_deref()).unwrap_or(NOTHING)
}

/// Sign for failed operations.
fn errors_sign(errors: u64) -> String {
    if errors > 0 { format!(" ✗{errors}") } else { String::new() }
}

fn resources(report: &Report) -> Vec<Block> {
    let used = |id: &String| report.targets.iter().any(|target| target.resources.contains_key(id));
    let metrics: Vec<&Metric> = report.metrics.iter().filter(|it| used(&it.id)).collect();
    if metrics.is_empty() {
        return Vec::new();
    }
    let titles = metrics.iter().map(|metric| metric.title.as_str().into());
    let mut table: Vec<Vec<Field>> = vec![std::iter::once("target".into()).chain(titles).collect()];
    for target in report.measured() {
        let values = metrics.iter().map(|metric| {
            let value = target.resources.get(&metric.id);
            value.map_or(NOTHING.to_owned(), |value| metric.unit.format(*value)).into()
        });
        table.push(std::iter::once(target.name.as_str().into()).chain(values).collect());
    }
    vec![Block::Table(table)]
}

fn errors(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &report.rows {
        for (target, cell) in row.cells.iter().filter(|(_, cell)| cell.errors > 0) {
            let all = cell.errors + cell.operations;
            let first = cell.first_error.as_deref().unwrap_or("not recorded");
            let (name, errors) = (&row.name, cell.errors);
            lines.push(format!("{name} at {target}: {errors} of {all} failed; the first: {first}"));
        }
    }
    if lines.is_empty() { vec!["None.".to_owned()] } else { lines }
}

/// Machine, settings and notes.
fn conditions(report: &Report) -> Vec<Block> {
    let machine = &report.machine;
    let facts = [
        ("processor", format!("{} ({} cores)", machine.processor, machine.cores)),
        ("memory", Unit::Bytes.format(machine.memory_bytes as f64)),
        ("system", format!("{}, {}", machine.system, machine.kernel)),
        ("file system", machine.file_system.clone()),
        ("load before the run", machine.load_before.clone()),
        ("LiteIO", format!("{} ({})", machine.version, machine.commit_or_unknown())),
        ("command", report.command.clone()),
        ("duration", format!("{:.0} s", report.seconds)),
    ];
    let facts = facts.into_iter().map(|(name, value)| format!("{name}: {value}"));
    let settings = report.settings.iter().map(|fact| format!("{}: {}", fact.name, fact.value));
    let legend = format!(
        "Figures are medians over the rounds. ×: how many times as good as {}, round by round, with the \
         lowest and the highest round. The best of a row stands out. ✗N: N operations failed. ~: others \
         used more than {:.0} % of the machine meanwhile. ◆ in a chart: a published figure.",
        baseline(report),
        DISTURBED * 100.0
    );
    vec![
        Block::List(facts.chain(settings).collect()),
        Block::List(report.notes.clone()),
        Block::Text(legend),
    ]
}
