//! Tables.

/// Side to which the cells of a column are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    /// For numbers.
    Right,
}

/// Lines of columns, each as wide as its widest cell, with two spaces between them. The first row is
/// the title of each column.
pub(crate) fn table<const COLUMNS: usize>(
    sides: [Side; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| width(column).unwrap_or_default());
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(widths).zip(sides).map(|((cell, width), side)| match side {
            Side::Left => format!("{cell:<width$}"),
            Side::Right => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<String>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [row(["COUNT", "STATE", "NAME"]), row(["7", "down", "ä"]), row(["12", "", "b"])];
        let shown = table([Side::Right, Side::Left, Side::Left], &rows);
        assert_eq!(shown, "COUNT  STATE  NAME\n    7  down   ä\n   12         b");
        assert_eq!(table([Side::Left], &[]), "");
    }
}
