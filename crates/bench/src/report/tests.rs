//! A small report with everything in it that a report can have, in every format.

use super::*;

/// Two targets that were measured, one that is not installed.
fn sample() -> Report {
    let mut report = Report::new("Storage <test>");
    report.metrics.push(Metric::new(
        "rate",
        "Operations",
        Unit::OperationsPerSecond,
        Better::Higher,
    ));
    report.metrics.push(Metric::new("time", "Time", Unit::Nanoseconds, Better::Lower));
    report.metrics.extend(Metric::percentiles());
    report.metrics.push(Metric::new("memory", "Peak memory", Unit::Bytes, Better::Lower));
    let mut ours = Target::new("ours", Durability::new(Level::PowerCut, "synced"));
    ours.resources.insert("memory".to_owned(), 42e6);
    let mut gone = Target::new("gone", Durability::unknown("never tried"));
    gone.absent = Some("not installed".to_owned());
    let theirs = Target::new("theirs", Durability::new(Level::Process, "no sync"));
    report.targets.extend([ours, theirs, gone]);
    report.baseline = Some("theirs".to_owned());
    for (name, clients, ours, theirs) in [
        ("write", 1.0, [3000.0, 1500.0, 3300.0], [1000.0, 500.0, 1000.0]),
        ("write, 10", 10.0, [50.0; 3], [100.0; 3]),
    ] {
        let row = report.row("Write", name, "rate");
        row.curve = Some(Curve { title: "By clients".into(), axis: "clients".into(), x: clients });
        let mut cell = Cell::of("rate", &ours);
        cell.operations = 7800;
        for (id, time) in
            [("p50", 300e3), ("p95", 500e3), ("p99", 900e3), ("p999", 2e6), ("max", 3e6)]
        {
            cell.push(id, time);
        }
        row.cells.insert("ours".to_owned(), cell);
        row.cells.insert("theirs".to_owned(), Cell::of("rate", &theirs));
    }
    let row = report.row("Open", "open, again", "time");
    row.cells.insert("ours".to_owned(), Cell::of("time", &[2000.0]));
    let mut theirs = Cell::of("time", &[1000.0]);
    theirs.errors = 2;
    theirs.first_error = Some("503 \"busy\", a|b".to_owned());
    row.cells.insert("theirs".to_owned(), theirs);
    let published = Published { value: 1770.0, source: "a paper".to_owned() };
    row.cells.insert("gone".to_owned(), Cell { published: Some(published), ..Cell::default() });
    report
}

#[test]
fn numbers_are_written_as_people_read_them() {
    for (unit, value, expected) in [
        (Unit::OperationsPerSecond, 12_345.4, "12,345/s"),
        (Unit::OperationsPerSecond, 99.96, "100/s"),
        (Unit::OperationsPerSecond, 9.994, "9.99/s"),
        (Unit::OperationsPerSecond, 1_234_567.0, "1,234,567/s"),
        (Unit::BytesPerSecond, 1.5e9, "1.50 GB/s"),
        (Unit::Nanoseconds, 850.0, "850 ns"),
        (Unit::Nanoseconds, 12_340.0, "12.3 µs"),
        (Unit::Nanoseconds, 999_700.0, "1.00 ms"),
        (Unit::Seconds, 0.0, "0 ns"),
        (Unit::Seconds, 90.0, "90.0 s"),
        (Unit::Bytes, 512.0, "512 B"),
        (Unit::Share, 0.123, "12.3 %"),
        (Unit::Factor, 0.5, "0.50×"),
        (Unit::Count, -1234.0, "-1,234"),
        (Unit::Count, 7.0, "7"),
        (Unit::Count, 1.5, "1.50"),
    ] {
        assert_eq!(unit.format(value), expected);
    }
}

#[test]
fn a_ratio_above_one_is_better_whatever_the_metric() {
    let report = sample();
    let ratio = |row: usize| report.ratio(&report.rows[row], "ours").expect("both were measured");
    assert_eq!((ratio(0).median, ratio(0).low, ratio(0).high), (3.0, 3.0, 3.3));
    assert_eq!(ratio(1).median, 0.5);
    assert_eq!(ratio(2).median, 0.5, "less time is better");
    assert_eq!(
        report.ratio(&report.rows[0], "theirs"),
        None,
        "the baseline has no ratio to itself"
    );
    assert_eq!(report.ratio(&report.rows[0], "gone"), None);
}

#[test]
fn who_has_errors_wins_nothing_and_the_durable_are_compared_among_themselves() {
    let found = summary(&sample());
    let winners: Vec<(&str, &str)> =
        found.winners.iter().map(|winner| (&*winner.row, &*winner.target)).collect();
    assert_eq!(winners, [("write", "ours"), ("write, 10", "theirs"), ("open, again", "ours")]);
    assert_eq!(found.winners[0].margin, Some(3.0));
    assert_eq!(found.winners[2].margin, None, "nobody else finished");
    let [ours, theirs] = &found.standings[..] else { panic!("two were measured") };
    assert_eq!((&*ours.target, ours.wins, ours.durable_wins), ("ours", 2, Some(3)));
    assert_eq!((&*theirs.target, theirs.wins, theirs.durable_wins), ("theirs", 1, None));
    let (mean, rows) = ours.mean.expect("both were measured");
    assert!((mean - (3.0_f64 * 0.5 * 0.5).cbrt()).abs() < 1e-9 && rows == 3, "{mean} of {rows}");
    assert_eq!(ours.best[0], Best { row: "write".to_owned(), ratio: 3.0 });
}

#[test]
fn markdown_names_durability_ratio_spread_errors_and_who_is_missing() {
    let text = markdown(&sample());
    for expected in [
        "| write | **3,000/s · 3.00× (3.00–3.30)** | 1,000/s | not installed |",
        "| open, again | **2.00 µs · 0.50×** | 1.00 µs ✗2 | not installed (published 1.77 µs) |",
        "ours (durable)",
        "theirs (not synced)",
        "300 µs / 500 µs / 900 µs / 2.00 ms / 3.00 ms",
        "- open, again at theirs: 2 of 2 failed; the first: 503 \"busy\", a\\|b",
        "| ours | 42.0 MB |",
    ] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
}

#[test]
fn csv_has_a_line_for_each_row_target_and_metric() {
    let text = csv(&sample());
    assert_eq!(text.lines().count(), 1 + 2 * (6 + 1 + 1) + 3);
    let fields = text.lines().next().map_or(0, |line| line.split(',').count());
    assert!(text.contains(
        "Write,write,ours,,durable,rate,operations/s,3000,1500,3300,3,3.0000,7800,0,\r\n"
    ));
    assert!(text.contains("Open,\"open, again\",theirs,,not synced,time,ns,1000,"));
    assert!(text.contains("\"503 \"\"busy\"\", a|b\""));
    assert!(text.contains("gone,,not known,,,,,,,,0,0,not installed\r\n"), "{text}");
    assert!(
        text.lines()
            .filter(|line| !line.contains('"'))
            .all(|line| line.split(',').count() == fields)
    );
}

#[test]
fn json_reads_back_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let report = sample();
    let paths = save(&report, directory.path(), "sample").expect("it can be written");
    assert_eq!(paths.len(), 4);
    assert_eq!(load(&paths[1]).expect("it can be read"), report);

    let newer = directory.path().join("newer.json");
    std::fs::write(&newer, "{\"format\": 999}").expect("it can be written");
    let error = load(&newer).expect_err("a newer layout is refused").to_string();
    assert!(error.contains("version 999"), "{error}");
}

#[test]
fn html_stands_alone_and_takes_no_markup_from_names() {
    let page = html(&sample());
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<h1>Storage &lt;test&gt;</h1>"));
    for outside in ["src=", "http://", "https://", "@import", "url("] {
        assert!(!page.contains(outside), "the page needs {outside}");
    }
    // Bars for every row and target, a latency chart where there are percentiles, one curve.
    assert_eq!(page.matches("class=\"bar\"").count(), 2 * 3 + 3);
    assert_eq!(page.matches("<svg").count(), 2 + 1);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
    assert!(page.contains("published: 1.77 µs (a paper)"));
    assert!(!page.contains("NaN") && !page.contains("inf"), "a chart has a point nowhere");
}

#[test]
fn ticks_are_round_and_enclose_the_values() {
    use super::svg::ticks;
    assert_eq!(ticks(130.0, 900.0), [100.0, 200.0, 500.0, 1000.0]);
    assert_eq!(ticks(3.0, 90_000.0), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
    assert_eq!(ticks(100.0, 100.0), [100.0]);
}

#[test]
fn a_comparison_tells_change_from_noise() {
    let with = |ours: &[f64]| {
        let mut report = sample();
        report.rows.truncate(1);
        report.rows[0].cells.insert("ours".to_owned(), Cell::of("rate", ours));
        report
    };
    let before = with(&[100.0, 102.0, 99.0, 101.0]);
    let comparison = compare(&before, &with(&[150.0, 153.0, 149.0, 152.0]));
    let change = comparison.changes.iter().find(|change| change.target == "ours");
    let change = change.expect("both reports have it");
    assert!(change.is_significant() && (change.ratio - 1.502).abs() < 0.01, "{change:?}");
    assert!(comparison_markdown(&comparison).contains("1.50× ▲"));

    let noise = compare(&before, &with(&[103.0, 98.0, 100.0, 101.0]));
    assert!(noise.changes.iter().all(|change| !change.is_significant()), "{noise:?}");

    let mut other = before.clone();
    other.rows[0].name = "renamed".to_owned();
    other.machine.processor = "another".to_owned();
    let comparison = compare(&before, &other);
    assert!(comparison.changes.is_empty());
    assert_eq!(comparison.alone.len(), 4, "both cells, from either side: {:?}", comparison.alone);
    assert!(comparison.doubts.iter().any(|doubt| doubt.contains("processor")));
}

#[test]
fn few_targets_are_columns_and_many_are_lines() {
    let mut report = sample();
    assert!(markdown(&report).contains("| row | ours (durable) | theirs (not synced) |"));
    for place in 0..6 {
        report.targets.push(Target::new(format!("t{place}"), Durability::unknown("")));
    }
    let text = markdown(&report);
    assert!(text.contains("| row | write | write, 10 |"), "{text}");
    assert!(text.contains("| t5 (not known) | – | – |"), "{text}");
}

#[test]
fn a_table_leaves_out_whoever_has_figures_only_elsewhere() {
    let mut report = sample();
    for name in ["elsewhere", "nobody"] {
        report.targets.push(Target::new(name, Durability::unknown("not stated")));
    }
    let row = report.row("Open", "open, again", "time");
    row.cells.insert(
        "elsewhere".to_owned(),
        Cell { absent: Some("not given".into()), ..Cell::default() },
    );
    let names = |group: &str| {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.group == group).collect();
        let targets = report.taking_part(&rows);
        targets.into_iter().map(|target| target.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(names("Write"), ["ours", "theirs", "gone", "nobody"]);
    assert_eq!(names("Open"), ["ours", "theirs", "gone", "elsewhere", "nobody"]);
}

#[test]
fn where_less_is_better_nothing_wins_and_a_draw_has_no_winner() {
    let mut report = Report::new("Losses");
    report.metrics.push(Metric::new("lost", "Lost", Unit::Count, Better::Lower));
    for name in ["careful", "careless", "lucky"] {
        report.targets.push(Target::new(name, Durability::unknown("")));
    }
    for (name, lost) in [("alone", [0.0, 20.0, 5.0]), ("two", [0.0, 20.0, 0.0])] {
        let row = report.row("Losses", name, "lost");
        for (target, lost) in ["careful", "careless", "lucky"].into_iter().zip(lost) {
            row.cells.insert(target.to_owned(), Cell::of("lost", &[lost]));
        }
    }
    let summary = summary(&report);
    let winners: Vec<_> = summary.winners.iter().map(|it| (&*it.row, &*it.target)).collect();
    assert_eq!(winners, [("alone", "careful")]);
    assert_eq!(summary.winners[0].margin, None);
    let mut best = summary.standings.iter().flat_map(|standing| &standing.best);
    assert!(best.all(|best| best.ratio.is_finite()));
}
