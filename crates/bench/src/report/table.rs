//! Tables of Markdown.

use std::fmt::Write as _;

use super::target::Target;

/// More targets than this stand one below the other.
const COLUMNS_MAX: usize = 8;

/// Writes a table with a figure for each row and target, not wider than need be. Each of `lines` is the name of a row and its cell for each target, in order.
pub(super) fn target_table(
    text: &mut String,
    targets: &[&Target],
    first: &str,
    lines: &[Vec<String>],
) {
    let heads = targets.iter().map(|target| {
        let name = escaped(&target.name);
        match target.durability.level.remark() {
            "" => name,
            remark => format!("{name} ({remark})"),
        }
    });
    let mut grid: Vec<Vec<String>> = vec![std::iter::once(first.to_owned()).chain(heads).collect()];
    grid.extend_from_slice(lines);
    if targets.len() > lines.len().max(COLUMNS_MAX) {
        grid = transposed(&grid);
    }
    let grid: Vec<Vec<&str>> =
        grid.iter().map(|line| line.iter().map(String::as_str).collect()).collect();
    if let Some((head, lines)) = grid.split_first() {
        table_head(text, head);
        lines.iter().for_each(|line| table_line(text, line));
    }
    text.push('\n');
}

fn transposed(grid: &[Vec<String>]) -> Vec<Vec<String>> {
    let width = grid.first().map_or(0, Vec::len);
    let column = |place: usize| grid.iter().map(|line| line[place].clone()).collect();
    (0..width).map(column).collect()
}

pub(super) fn table_head(text: &mut String, heads: &[&str]) {
    table_line(text, heads);
    let rule: Vec<&str> =
        heads.iter().enumerate().map(|(i, _)| if i == 0 { "---" } else { "---:" }).collect();
    table_line(text, &rule);
}

pub(super) fn table_line(text: &mut String, cells: &[&str]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// A text that ends no table cell and starts no markup of its own.
pub(super) fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;").replace(['\r', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Durability;

    fn table(targets: usize) -> String {
        let names = (0..targets).map(|place| format!("t{place}"));
        let all: Vec<Target> =
            names.map(|name| Target::new(name, Durability::unknown("not stated"))).collect();
        let all: Vec<&Target> = all.iter().collect();
        let line = |name: &str| {
            let cells = (0..targets).map(|place| format!("{name}{place}"));
            std::iter::once(name.to_owned()).chain(cells).collect()
        };
        let mut text = String::new();
        target_table(&mut text, &all, "row", &[line("put"), line("get")]);
        text
    }

    #[test]
    fn few_targets_are_columns_and_many_are_lines() {
        let few = table(2);
        assert!(few.starts_with("| row | t0 (not known) | t1 (not known) |\n"), "{few}");
        assert!(few.contains("\n| get | get0 | get1 |\n"), "{few}");
        let many = table(9);
        assert!(many.starts_with("| row | put | get |\n"), "{many}");
        assert!(many.contains("\n| t8 (not known) | put8 | get8 |\n"), "{many}");
        assert_eq!(many.lines().filter(|line| !line.is_empty()).count(), 2 + 9);
    }
}
