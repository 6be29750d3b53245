//! The report as Markdown: tables that read well as plain text too.

use std::fmt::Write as _;

use super::compare::{Comparison, SIGNIFICANT};
use super::model::Report;
use super::unit::digits;
use super::view::{Block, Field, sections, subtitle};

/// The whole report.
pub fn markdown(report: &Report) -> String {
    let mut text = format!("# {}\n\n{}\n\n", report.title, subtitle(report));
    for section in sections(report) {
        let _ = writeln!(text, "## {}\n", section.title);
        section.blocks.iter().for_each(|block| write_block(&mut text, block));
    }
    text
}

/// The result of `compare`.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let heads = ["row", "target", "before", "after", "times as good", "by chance"];
    let mut table = vec![heads.map(Field::from).to_vec()];
    for change in &comparison.changes {
        let chance = match change.chance {
            None => "one round".to_owned(),
            Some(chance) if chance < 0.0001 => "< 0.01 %".to_owned(),
            Some(chance) => format!("{:.2} %", chance * 100.0),
        };
        let sign = match change.is_significant() {
            true if change.ratio > 1.0 => " ▲",
            true => " ▼",
            false => "",
        };
        table.push(vec![
            change.row.as_str().into(),
            change.target.as_str().into(),
            change.unit.format(change.before).into(),
            change.unit.format(change.after).into(),
            format!("{}×{sign}", digits(change.ratio)).into(),
            chance.into(),
        ]);
    }
    let legend = format!(
        "▲ better, ▼ worse: chance alone would make so large a difference in at most {:.0} of 100 \
         comparisons (Welch's test over the rounds). {} of {} changed.",
        SIGNIFICANT * 100.0,
        comparison.changes.iter().filter(|change| change.is_significant()).count(),
        comparison.changes.len()
    );
    let mut text = format!("# {}\n→ {}\n\n", comparison.before, comparison.after);
    let doubts = comparison.doubts.iter().map(|doubt| Block::Text(format!("Doubtful: {doubt}.")));
    let rest = [Block::Table(table), Block::Text(legend), Block::List(comparison.alone.clone())];
    doubts.chain(rest).for_each(|block| write_block(&mut text, &block));
    text
}

fn write_block(text: &mut String, block: &Block) {
    match block {
        Block::Text(line) => text.push_str(line),
        Block::List(lines) if lines.is_empty() => return,
        Block::List(lines) => {
            let lines: Vec<String> =
                lines.iter().map(|line| format!("- {}", escaped(line))).collect();
            text.push_str(&lines.join("\n"));
        }
        Block::Table(table) => {
            let mut lines: Vec<String> = table.iter().map(|line| table_line(line)).collect();
            let columns = table.first().map_or(0, Vec::len);
            lines.insert(1, format!("| ---{}", " | ---:".repeat(columns.saturating_sub(1))) + " |");
            text.push_str(&lines.join("\n"));
        }
        Block::Chart(_) => return,
    }
    text.push_str("\n\n");
}

fn table_line(fields: &[Field]) -> String {
    let field = |field: &Field| {
        let text = escaped(&field.text);
        if field.best { format!("**{text}**") } else { text }
    };
    format!("| {} |", fields.iter().map(field).collect::<Vec<_>>().join(" | "))
}

/// Text that neither ends a field of a table nor starts markup.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;").replace(['\r', '\n'], " ")
}
