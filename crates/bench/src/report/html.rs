//! The report as one page that needs nothing else.

use std::fmt::Write as _;

use super::model::{Report, Row};
use super::summary::{Summary, summary};
use super::svg::{Axes, Bar, Line, Scale, bars, escaped, lines};
use super::target::{Level, Target};
use super::unit::{Better, Unit, digits};
use super::view::{self, baseline, errors_sign, why_absent};
use crate::busy::DISTURBED;

const STYLE: &str = include_str!("page.css");

/// One colour for each target, told apart on light and dark ground; more targets begin again.
const COLOURS: [&str; 18] = [
    "#2563eb", "#0ea5e9", "#14b8a6", "#dc2626", "#f59e0b", "#7c3aed", "#db2777", "#65a30d",
    "#ea580c", "#64748b", "#a16207", "#0f766e", "#fb7185", "#4d7c0f", "#0369a1", "#be123c",
    "#57534e", "#c026d3",
];

/// The whole report.
pub fn html(report: &Report) -> String {
    let summary = summary(report);
    let title = escaped(&report.title);
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><header><h1>{title}</h1>"
    );
    let machine = &report.machine;
    let _ = write!(
        page,
        "<p>{} · {} cores, {} · {} · LiteIO {} ({})</p></header><nav>",
        escaped(&report.started),
        machine.cores,
        escaped(&machine.processor),
        escaped(&machine.file_system),
        escaped(&machine.version),
        escaped(machine.commit_or_unknown())
    );
    let mut places = vec!["Summary", "Overview"];
    places.extend(report.groups());
    places.extend(["Resources", "Errors", "Conditions"]);
    for place in &places {
        let _ = write!(page, "<a href=\"#{}\">{}</a>", anchor(place), escaped(place));
    }
    page.push_str("</nav><main>");
    summary_section(&mut page, report, &summary);
    overview(&mut page, report);
    for group in report.groups() {
        group_section(&mut page, report, group, &summary);
    }
    resources(&mut page, report);
    errors(&mut page, report);
    conditions_section(&mut page, report);
    page.push_str("</main></body></html>\n");
    page
}

fn colour(report: &Report, name: &str) -> &'static str {
    let place = report.targets.iter().position(|target| target.name == name);
    COLOURS[place.unwrap_or(0) % COLOURS.len()]
}

fn anchor(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect()
}

fn heading(page: &mut String, text: &str) {
    let _ = write!(page, "<section id=\"{}\"><h2>{}</h2>", anchor(text), escaped(text));
}

fn name_of(report: &Report, target: &Target) -> String {
    let level = target.durability.level;
    let class = match level {
        Level::PowerCut => "durable",
        Level::Partial => "partial",
        Level::Process | Level::Memory => "volatile",
        Level::Unknown | Level::ByRow => "unknown",
    };
    let about = format!("{}: {}", level.sentence(), escaped(&target.durability.detail));
    let badge = match level.remark() {
        "" => String::new(),
        remark => format!(" <span class=\"badge {class}\">{remark}</span>"),
    };
    format!(
        "<span title=\"{about}\"><span class=\"swatch\" style=\"background:{}\"></span>{}{badge}\
         </span>",
        colour(report, &target.name),
        escaped(&target.name),
    )
}

fn summary_section(page: &mut String, report: &Report, summary: &Summary) {
    heading(page, "Summary");
    let baseline = baseline(report);
    // Where the rows differ in what they demand, no target is durable as a whole.
    let some_durable = !summary.durable_wins.is_empty();
    let durable_head = if some_durable { "<th class=\"number\">of the durable</th>" } else { "" };
    let _ = write!(
        page,
        "<div class=\"scroll\"><table><thead><tr><th>target</th><th>version</th>\
         <th class=\"number\">rows won</th>{durable_head}\
         <th class=\"number\">× {}</th><th>best at</th></tr></thead><tbody>",
        escaped(baseline)
    );
    for (name, wins) in &summary.wins {
        let Some(target) = report.target(name) else { continue };
        let durable = summary.durable_wins.iter().find(|(durable, _)| durable == name);
        let durable = durable.map_or("–".to_owned(), |(_, wins)| wins.to_string());
        let durable = some_durable.then(|| format!("<td class=\"number\">{durable}</td>"));
        let best = summary.best.get(name).into_iter().flatten();
        let best: Vec<String> = best
            .map(|best| {
                let class = if best.ratio >= 1.0 { "good" } else { "faint" };
                format!(
                    "{} <span class=\"{class}\">{}×</span>",
                    escaped(&best.row),
                    digits(best.ratio)
                )
            })
            .collect();
        let _ = write!(
            page,
            "<tr><td class=\"name\">{}</td><td>{}</td><td class=\"number\">{wins}</td>{}\
             <td class=\"number\">{}</td><td class=\"small\">{}</td></tr>",
            name_of(report, target),
            escaped(target.version.as_deref().unwrap_or("–")),
            durable.unwrap_or_default(),
            summary
                .means
                .get(name)
                .map_or("–".to_owned(), |(mean, _)| format!("{}×", digits(*mean))),
            best.join(" · ")
        );
    }
    page.push_str("</tbody></table></div>");
    let absent: Vec<&Target> = report.targets.iter().filter(|t| t.absent.is_some()).collect();
    if !absent.is_empty() {
        page.push_str("<p class=\"small\">Not measured: ");
        for (place, target) in absent.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            let reason = target.absent.as_deref().unwrap_or_default();
            let _ = write!(page, "{comma}{} ({})", escaped(&target.name), escaped(reason));
        }
        page.push_str(".</p>");
    }
    let _ = write!(
        page,
        "<p class=\"small\">{} rows. {}× {}: geometric mean over the rows that both have. \
         “Best at” compares with the best of the others; below 1× another is better. A figure with \
         errors wins nothing.</p></section>",
        report.rows.len(),
        if some_durable {
            "“Rows won” counts all targets, “of the durable” only those whose acknowledged writes \
             survive a power cut. "
        } else {
            ""
        },
        escaped(baseline)
    );
}

/// Every row and target in one table, shaded by how near it is to the best of its row.
fn overview(page: &mut String, report: &Report) {
    heading(page, "Overview");
    page.push_str("<div class=\"scroll\"><table class=\"overview\"><thead><tr><th>row</th>");
    for target in report.measured() {
        let _ = write!(
            page,
            "<th class=\"number\">{}<br><span class=\"faint\">{}</span></th>",
            escaped(&target.name),
            target.durability.level.remark()
        );
    }
    page.push_str("</tr></thead><tbody>");
    for row in &report.rows {
        let Some(metric) = report.metric(&row.metric) else { continue };
        let medians = report.measured().filter_map(|target| row.median(&target.name));
        let best = match metric.better {
            Better::Higher => medians.fold(0.0, f64::max),
            Better::Lower => medians.fold(f64::INFINITY, f64::min),
        };
        let _ = write!(page, "<tr><td>{}</td>", escaped(&row.name));
        for target in report.measured() {
            let cell = row.cells.get(&target.name);
            let Some(median) = row.median(&target.name) else {
                let why = escaped(why_absent(cell, target));
                // The reason in full is in the row's own chart.
                let _ = write!(page, "<td class=\"number faint\" title=\"{why}\">–</td>");
                continue;
            };
            let near = match metric.better {
                _ if median == best => 1.0,
                Better::Higher => median / best,
                Better::Lower => best / median,
            };
            let errors = cell.map_or(0, |cell| cell.errors);
            let sign = errors_sign(errors);
            let _ = write!(
                page,
                "<td class=\"number{}\" style=\"--near:{:.0}%\">{}{sign}</td>",
                if errors > 0 { " bad" } else { "" },
                near.clamp(0.0, 1.0).powi(2) * 60.0,
                metric.unit.format(median)
            );
        }
        page.push_str("</tr>");
    }
    page.push_str(
        "</tbody></table></div><p class=\"small\">The stronger the ground, the nearer to the best of \
         the row. ✗: operations that failed.</p></section>",
    );
}

fn group_section(page: &mut String, report: &Report, group: &str, summary: &Summary) {
    heading(page, group);
    let rows: Vec<&Row> = report.rows.iter().filter(|row| row.group == group).collect();
    let mut titles: Vec<&str> = Vec::new();
    for curve in rows.iter().filter_map(|row| row.curve.as_ref()) {
        if !titles.contains(&curve.title.as_str()) {
            titles.push(&curve.title);
        }
    }
    page.push_str("<div class=\"cards\">");
    for title in titles {
        curve_card(page, report, &rows, title);
    }
    let targets = report.taking_part(&rows);
    for row in rows {
        row_card(page, report, row, &targets, summary);
    }
    page.push_str("</div></section>");
}

fn curve_card(page: &mut String, report: &Report, rows: &[&Row], title: &str) {
    let on_curve = |row: &&&Row| row.curve.as_ref().is_some_and(|curve| curve.title == title);
    let rows: Vec<&&Row> = rows.iter().filter(on_curve).collect();
    let Some(curve) = rows.first().and_then(|row| row.curve.as_ref()) else { return };
    let Some(metric) = rows.first().and_then(|row| report.metric(&row.metric)) else { return };
    if rows.len() < 2 {
        return; // A point is no curve, and the row has its bars.
    }
    let place = |row: &Row| row.curve.as_ref().map_or(0.0, |curve| curve.x);
    let drawn: Vec<Line<'_>> = report
        .measured()
        .map(|target| Line {
            name: &target.name,
            colour: colour(report, &target.name),
            points: rows
                .iter()
                .filter_map(|row| Some((place(row), row.median(&target.name)?)))
                .collect(),
        })
        .filter(|line| !line.points.is_empty())
        .collect();
    let label = |value: f64| metric.unit.format(value);
    let axes = Axes {
        title,
        width: 640.0,
        height: 300.0,
        x_ticks: rows.iter().map(|row| (place(row), Unit::Count.format(place(row)))).collect(),
        x_scale: Scale::Logarithmic,
        x_title: &curve.axis,
        y_scale: Scale::Logarithmic,
        y_label: &label,
    };
    let _ = write!(page, "<article class=\"wide\"><h3>{}</h3>", escaped(title));
    page.push_str(&lines(&axes, &drawn));
    page.push_str("<p class=\"legend\">");
    for line in &drawn {
        let _ = write!(
            page,
            "<span><span class=\"swatch\" style=\"background:{}\"></span>{}</span> ",
            line.colour,
            escaped(line.name)
        );
    }
    page.push_str("</p></article>");
}

fn row_card(page: &mut String, report: &Report, row: &Row, targets: &[&Target], summary: &Summary) {
    let Some(metric) = report.metric(&row.metric) else { return };
    let drawn: Vec<Bar<'_>> = targets
        .iter()
        .map(|target| {
            let cell = row.cells.get(&target.name);
            let value = row.median(&target.name);
            let published = cell.and_then(|cell| cell.published.as_ref());
            Bar {
                name: &target.name,
                remark: target.durability.level.remark(),
                colour: colour(report, &target.name),
                value,
                label: view::figure(report, row, target, false)
                    .unwrap_or_else(|| why_absent(cell, target).to_owned()),
                mark: published.map(|published| {
                    let value = metric.unit.format(published.value);
                    (published.value, format!("published: {value} ({})", published.source))
                }),
            }
        })
        .collect();
    let winner = summary.winners.iter().find(|winner| winner.row == row.name);
    let _ = write!(page, "<article><h3>{}", escaped(&row.name));
    if let Some(winner) = winner {
        let _ = write!(page, " <span class=\"won\">{}", escaped(&winner.target));
        if let Some(margin) = winner.margin {
            let _ = write!(page, ", {}× the next", digits(margin));
        }
        page.push_str("</span>");
    }
    let direction = if metric.better == Better::Higher { "more" } else { "less" };
    let _ = write!(
        page,
        "</h3><p class=\"small\">{}, {direction} is better{}</p>",
        escaped(&metric.title),
        row.note.as_ref().map_or(String::new(), |note| format!("; {}", escaped(note)))
    );
    page.push_str(&bars(&row.name, &drawn));
    latency(page, report, row);
    page.push_str("</article>");
}

/// The percentiles of a row as lines, one for each target.
fn latency(page: &mut String, report: &Report, row: &Row) {
    let ids: Vec<_> = report.metrics.iter().filter(|metric| metric.percentile.is_some()).collect();
    let points = |target: &Target| -> Vec<(f64, f64)> {
        let cell = row.cells.get(&target.name);
        let medians = ids.iter().enumerate().filter_map(|(place, metric)| {
            Some((place as f64, cell?.median(&metric.id).filter(|median| *median > 0.0)?))
        });
        medians.collect()
    };
    let drawn: Vec<Line<'_>> = report
        .measured()
        .map(|target| Line {
            name: &target.name,
            colour: colour(report, &target.name),
            points: points(target),
        })
        .filter(|line| !line.points.is_empty())
        .collect();
    let Some(metric) = ids.first().filter(|_| !drawn.is_empty()) else { return };
    let label = |value: f64| metric.unit.format(value);
    let ticks = ids.iter().enumerate();
    let axes = Axes {
        title: &format!("latency of {}", row.name),
        width: 640.0,
        height: 190.0,
        x_ticks: ticks.map(|(place, metric)| (place as f64, metric.title.clone())).collect(),
        x_scale: Scale::Linear,
        x_title: "time of one operation",
        y_scale: Scale::Logarithmic,
        y_label: &label,
    };
    let _ =
        write!(page, "<details open><summary>latency</summary>{}</details>", lines(&axes, &drawn));
}

fn resources(page: &mut String, report: &Report) {
    heading(page, "Resources");
    let (titles, lines) = view::resources(report);
    page.push_str("<div class=\"scroll\"><table><thead><tr><th>target</th>");
    for title in titles {
        let _ = write!(page, "<th class=\"number\">{}</th>", escaped(title));
    }
    page.push_str("</tr></thead><tbody>");
    for (target, values) in lines {
        let _ = write!(page, "<tr><td class=\"name\">{}</td>", name_of(report, target));
        for value in values {
            let _ = write!(page, "<td class=\"number\">{value}</td>");
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div></section>");
}

fn errors(page: &mut String, report: &Report) {
    heading(page, "Errors");
    let errors = view::errors(report);
    page.push_str(if errors.is_empty() { "<p>None.</p><ul>" } else { "<ul>" });
    for (row, target, counts, first) in errors {
        let (row, target, first) = (escaped(row), escaped(target), escaped(first));
        let _ = write!(
            page,
            "<li><b>{row}</b> at {target}: {counts}; the first: <code>{first}</code></li>"
        );
    }
    page.push_str("</ul></section>");
}

fn conditions_section(page: &mut String, report: &Report) {
    heading(page, "Conditions");
    page.push_str("<dl>");
    for (name, value) in view::conditions(report) {
        let _ = write!(page, "<dt>{}</dt><dd>{}</dd>", escaped(&name), escaped(&value));
    }
    page.push_str("</dl><h3>Targets</h3><dl>");
    for target in &report.targets {
        let durability = &target.durability;
        let mut about = format!("{}: {}", durability.level.label(), durability.detail);
        for remark in target.absent.iter().chain(&target.notes) {
            let _ = write!(about, "; {remark}");
        }
        let _ = write!(page, "<dt>{}</dt><dd>{}</dd>", escaped(&target.name), escaped(&about));
    }
    page.push_str("</dl>");
    if !report.notes.is_empty() {
        page.push_str("<h3>Notes</h3><ul>");
        for note in &report.notes {
            let _ = write!(page, "<li>{}</li>", escaped(note));
        }
        page.push_str("</ul>");
    }
    let _ = write!(
        page,
        "<p class=\"small\">Figures are medians over the rounds; × is how many times as good as {}, \
         round by round; ~: others used more than {:.0} % of the machine meanwhile; ◆: a published \
         figure.</p></section>",
        escaped(baseline(report)),
        DISTURBED * 100.0
    );
}
