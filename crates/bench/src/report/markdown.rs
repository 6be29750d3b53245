//! The report as Markdown: tables that read well as plain text too.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::compare::{Comparison, SIGNIFICANT};
use super::model::{Report, Row};
use super::summary::summary;
use super::table::{escaped, table_head, table_line, target_table};
use super::target::Target;
use super::unit::digits;
use super::view::{self, baseline, why_absent};
use crate::busy::DISTURBED;

/// The whole report.
pub fn markdown(report: &Report) -> String {
    let mut text = format!("# {}\n\n", report.title);
    let machine = &report.machine;
    let _ = writeln!(
        text,
        "{}, {:.0} s, LiteIO {} ({}), `{}`\n",
        report.started,
        report.seconds,
        machine.version,
        machine.commit_or_unknown(),
        report.command
    );
    in_short(&mut text, report);
    targets(&mut text, report);
    for group in report.groups() {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.group == group).collect();
        let _ = writeln!(text, "## {group}\n");
        deciding(&mut text, report, &rows);
        percentiles(&mut text, report, &rows);
        others(&mut text, report, &rows);
    }
    resources(&mut text, report);
    errors(&mut text, report);
    conditions(&mut text, report);
    text
}

/// The result of `compare`.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text = format!("# {}\n→ {}\n\n", comparison.before, comparison.after);
    for doubt in &comparison.doubts {
        let _ = writeln!(text, "Doubtful: {doubt}.\n");
    }
    table_head(&mut text, &["row", "target", "before", "after", "times as good", "by chance"]);
    for change in &comparison.changes {
        let chance = change.chance.map_or("one round".to_owned(), |chance| {
            if chance < 0.0001 { "< 0.01 %".to_owned() } else { format!("{:.2} %", chance * 100.0) }
        });
        let sign = match change.is_significant() {
            true if change.ratio > 1.0 => " ▲",
            true => " ▼",
            false => "",
        };
        table_line(
            &mut text,
            &[
                &escaped(&change.row),
                &escaped(&change.target),
                &change.unit.format(change.before),
                &change.unit.format(change.after),
                &format!("{}×{sign}", digits(change.ratio)),
                &chance,
            ],
        );
    }
    let _ = writeln!(
        text,
        "\n▲ better, ▼ worse: chance alone would make so large a difference in at most {:.0} of 100 \
         comparisons (Welch's test over the rounds). {} of {} changed.",
        SIGNIFICANT * 100.0,
        comparison.changes.iter().filter(|change| change.is_significant()).count(),
        comparison.changes.len()
    );
    for line in &comparison.alone {
        let _ = writeln!(text, "- {line}");
    }
    text
}

fn in_short(text: &mut String, report: &Report) {
    let summary = summary(report);
    let baseline = baseline(report);
    let _ = writeln!(text, "## In short\n");
    table_head(
        text,
        &[
            "target",
            "durability",
            "rows won",
            "of the durable",
            &format!("× {baseline}"),
            "best at",
        ],
    );
    for (name, wins) in &summary.wins {
        let Some(target) = report.target(name) else { continue };
        let durable = summary.durable_wins.iter().find(|(durable, _)| durable == name);
        let mean =
            summary.means.get(name).map(|(mean, rows)| format!("{} ({rows} rows)", digits(*mean)));
        let best: Vec<String> = summary
            .best
            .get(name)
            .into_iter()
            .flatten()
            .map(|best| format!("{} ({}×)", best.row, digits(best.ratio)))
            .collect();
        table_line(
            text,
            &[
                &escaped(name),
                target.durability.level.label(),
                &wins.to_string(),
                &durable.map_or("–".to_owned(), |(_, wins)| wins.to_string()),
                &mean.unwrap_or_else(|| "–".to_owned()),
                &escaped(&best.join(", ")),
            ],
        );
    }
    let _ = writeln!(
        text,
        "\n{} rows. × {baseline}: geometric mean over the rows that both have. Best at: against the \
         best of the others; below 1× another is better. A cell with errors wins nothing.\n",
        report.rows.len()
    );
}

fn targets(text: &mut String, report: &Report) {
    let _ = writeln!(text, "## Targets\n");
    table_head(text, &["target", "version", "an acknowledged write", "remarks"]);
    for target in &report.targets {
        let mut remarks = target.notes.clone();
        remarks.splice(0..0, target.absent.clone());
        let durability = &target.durability;
        table_line(
            text,
            &[
                &escaped(&target.name),
                &escaped(target.version.as_deref().unwrap_or("–")),
                &escaped(&format!("{}: {}", durability.level.label(), durability.detail)),
                &escaped(&remarks.join("; ")),
            ],
        );
    }
    text.push('\n');
}

fn deciding(text: &mut String, report: &Report, rows: &[&Row]) {
    let mut lines = Vec::new();
    let summary = summary(report);
    let targets = report.taking_part(rows);
    for row in rows {
        let winner = summary.winners.iter().find(|winner| winner.row == row.name);
        let mut line = vec![escaped(&row.name)];
        for target in &targets {
            let shown = figure(report, row, target);
            let won = winner.is_some_and(|winner| winner.target == target.name);
            line.push(if won { format!("**{shown}**") } else { shown });
        }
        lines.push(line);
    }
    target_table(text, &targets, "row", &lines);
    for row in rows {
        if let Some(note) = &row.note {
            let _ = writeln!(text, "- {}: {note}", escaped(&row.name));
        }
    }
    text.push('\n');
}

/// The figure of a cell, and what was published.
fn figure(report: &Report, row: &Row, target: &Target) -> String {
    let cell = row.cells.get(&target.name);
    let unit = report.metric(&row.metric).map(|metric| metric.unit);
    let published = cell.and_then(|cell| Some((cell.published.as_ref()?, unit?)));
    let published = published
        .map(|(published, unit)| format!(" (published {})", unit.format(published.value)))
        .unwrap_or_default();
    let shown = view::figure(report, row, target, true);
    shown.unwrap_or_else(|| escaped(why_absent(cell, target))) + &published
}

fn percentiles(text: &mut String, report: &Report, rows: &[&Row]) {
    let ids: Vec<&str> = report
        .metrics
        .iter()
        .filter(|metric| metric.percentile.is_some())
        .map(|metric| metric.id.as_str())
        .collect();
    let targets = report.taking_part(rows);
    let has = |row: &&&Row| {
        row.cells.values().any(|cell| ids.iter().any(|id| cell.values.contains_key(*id)))
    };
    let rows: Vec<&&Row> = rows.iter().filter(has).collect();
    if rows.is_empty() {
        return;
    }
    let titles: Vec<&str> =
        ids.iter().filter_map(|id| report.metric(id)).map(|metric| metric.title.as_str()).collect();
    let mut lines = Vec::new();
    for row in rows {
        let mut line = vec![escaped(&row.name)];
        for target in &targets {
            let times: Option<Vec<String>> = ids
                .iter()
                .map(|id| {
                    let metric = report.metric(id)?;
                    Some(metric.unit.format(row.cells.get(&target.name)?.median(id)?))
                })
                .collect();
            line.push(times.map_or("–".to_owned(), |times| times.join(" / ")));
        }
        lines.push(line);
    }
    target_table(text, &targets, &titles.join(" / "), &lines);
}

/// Metrics that neither decide nor are percentiles.
fn others(text: &mut String, report: &Report, rows: &[&Row]) {
    let mut lines = Vec::new();
    let targets = report.taking_part(rows);
    for row in rows {
        let ids: BTreeSet<&String> =
            row.cells.values().flat_map(|cell| cell.values.keys()).collect();
        for id in ids {
            let Some(metric) = report.metric(id) else { continue };
            if metric.percentile.is_some() || *id == row.metric {
                continue;
            }
            let mut line = vec![format!("{}: {}", escaped(&row.name), metric.title)];
            line.extend(targets.iter().map(|target| {
                let median = row.cells.get(&target.name).and_then(|cell| cell.median(id));
                median.map_or("–".to_owned(), |median| metric.unit.format(median))
            }));
            lines.push(line);
        }
    }
    if !lines.is_empty() {
        target_table(text, &targets, "beside it", &lines);
    }
}

fn resources(text: &mut String, report: &Report) {
    let (titles, lines) = view::resources(report);
    if titles.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Resources\n");
    table_head(text, &[&["target"], &titles[..]].concat());
    for (target, values) in lines {
        let name = escaped(&target.name);
        let values = values.iter().map(String::as_str);
        table_line(text, &std::iter::once(name.as_str()).chain(values).collect::<Vec<_>>());
    }
    text.push('\n');
}

fn errors(text: &mut String, report: &Report) {
    let _ = writeln!(text, "## Errors\n");
    let errors = view::errors(report);
    for (row, target, counts, first) in &errors {
        let (row, target, first) = (escaped(row), escaped(target), escaped(first));
        let _ = writeln!(text, "- {row} at {target}: {counts}; the first: {first}");
    }
    text.push_str(if errors.is_empty() { "None.\n\n" } else { "\n" });
}

fn conditions(text: &mut String, report: &Report) {
    let _ = writeln!(text, "## Conditions\n");
    for (name, value) in view::conditions(report) {
        let _ = writeln!(text, "- {}: {}", escaped(&name), escaped(&value));
    }
    for note in &report.notes {
        let _ = writeln!(text, "- {note}");
    }
    let _ = writeln!(
        text,
        "\nFigures are medians over the rounds. ×: how many times as good as {}, round by round, with \
         the lowest and the highest round. **Bold**: the best of the row. ✗N: N operations failed. ~: \
         others used more than {:.0} % of the machine meanwhile.",
        baseline(report),
        DISTURBED * 100.0
    );
}
