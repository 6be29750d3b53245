//! The files of a report.

use std::collections::BTreeSet;
use std::path::Path;

use liteio_bench::report::{self, Report};

/// The files of a saved report.
pub(crate) struct Saved {
    pub(crate) markdown: String,
    pub(crate) csv: String,
    pub(crate) html: String,
    /// The report, read back.
    pub(crate) again: Report,
}

/// Saves a report, and checks that every format shows every row.
pub(crate) fn saved(report: &Report, directory: &Path) -> Saved {
    let paths = report::save(report, directory, "tiny").expect("it can be written");
    let files: BTreeSet<_> = paths.iter().filter_map(|path| path.extension()?.to_str()).collect();
    assert_eq!(files, BTreeSet::from(["csv", "html", "json", "md"]));
    let read = |extension: &str| {
        let path = directory.join(format!("tiny.{extension}"));
        std::fs::read_to_string(path).expect("it was written")
    };
    let again = report::load(&directory.join("tiny.json")).expect("it can be read");
    let saved = Saved { markdown: read("md"), csv: read("csv"), html: read("html"), again };
    for row in &report.rows {
        assert!(saved.markdown.contains(&row.name), "{}", row.name);
        assert!(saved.html.contains(&format!("<h3>{}", row.name)), "{}", row.name);
        assert!(saved.csv.lines().any(|line| line.contains(&row.name)), "{}", row.name);
    }
    for text in [&saved.markdown, &saved.html] {
        assert!(!text.contains("NaN") && !text.contains("inf "));
    }
    saved
}
