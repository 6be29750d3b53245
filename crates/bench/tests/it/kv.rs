//! A tiny key-value run with engines that work, one that cannot be built and one that breaks.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use liteio_bench::kv::options::Options;
use liteio_bench::kv::rows::Sizes;
use liteio_bench::kv::run::run;
use liteio_bench::report::{self, Report};
use rustix::process::{Pid, Signal, kill_process};

use crate::formats::{Saved, saved};
use crate::setup::{bench, options};

fn tiny(data: &Path, line: &[&str]) -> Options {
    // There are no sources of rivals.
    let usual =
        ["--rounds=2", "--rivals=none", "--own-program", env!("CARGO_BIN_EXE_liteio-bench")];
    let sizes = Sizes {
        entries: 2_000,
        scans: 3,
        preload: 1_500,
        writers: vec![(1, 20), (8, 80)],
        batches: vec![(10, 40), (100, 200)],
        kill: (300, 20),
        idle_seconds: 0,
    };
    Options { sizes: Some(sizes), ..options(data, &[&usual[..], line].concat()) }
}

fn check_cells(report: &Report, engine: &str) {
    for row in &report.rows {
        let cell = &row.cells[engine];
        if let Some(reason) = &cell.absent {
            let is_ahead = row.name == "Put, 1,000 on their way";
            assert!(reason == "in memory" || (engine == "redb" && is_ahead), "{reason}");
            continue;
        }
        assert_eq!(cell.errors, 0, "{} with {engine}: {:?}", row.name, cell.first_error);
        let rounds = &cell.values[&row.metric].rounds;
        let expected = if row.group == "Space" { 1 } else { 2 };
        assert_eq!(rounds.len(), expected, "{} with {engine}", row.name);
        let least = if row.metric == "lost" { 0.0 } else { 1.0 };
        assert!(rounds.iter().all(|value| *value >= least), "{} with {engine}", row.name);
        if row.name.starts_with("Synced put") {
            let times: Vec<f64> =
                ["p50", "p95", "p99", "p999"].iter().filter_map(|id| cell.median(id)).collect();
            assert!(times.len() == 4 && times.is_sorted() && times[0] > 0.0, "{times:?}");
            assert!(cell.median("max") >= cell.median("p999"));
            assert!(cell.median("written_bytes").is_some());
            assert!(cell.median("operation_cpu").is_some_and(|time| time > 0.0));
        }
    }
}

#[test]
fn engines_are_measured_and_every_report_shows_them() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let options = tiny(directory.path(), &["--engine=liteio,liteio-memory,redb,pebble"]);
    let report = run(&options).expect("the run succeeds");

    // Without those of the floor, which nobody asked for.
    let rows = 5 + 2 + 2 * 2 + 4 + 6;
    assert_eq!(report.rows.len(), rows);
    for engine in ["liteio", "liteio-memory", "redb"] {
        check_cells(&report, engine);
        let target = report.target(engine).expect("it was measured");
        assert!(target.version.as_ref().is_some_and(|version| !version.is_empty()), "{engine}");
        assert!(target.notes.iter().any(|note| note.contains("memory") || note.contains("MiB")));
        for id in ["memory_peak", "memory_own", "disk", "disk_factor", "passed_factor", "close"] {
            let is_used = id.starts_with("memory") || engine != "liteio-memory";
            assert!(!is_used || target.resources[id] > 0.0, "{engine} {id}");
        }
    }
    let row = |name: &str| report.rows.iter().find(|row| row.name == name).expect("there is one");
    // The kernel has what our own has acknowledged; redb without a sync keeps it for itself.
    let gone = row("Acknowledged puts gone, not synced");
    assert_eq!(gone.median("liteio"), Some(0.0));
    assert!(gone.median("redb").is_some_and(|lost| lost >= 300.0));
    assert_eq!(row("Acknowledged puts gone, synced").median("redb"), Some(0.0));
    let put = row("Put");
    assert!(put.cells["redb"].published.is_some() && put.cells["liteio"].published.is_none());
    assert!(put.cells["redb"].median("allocations").is_some_and(|count| count > 1.0));

    let absent = report.target("pebble").and_then(|target| target.absent.as_deref());
    assert!(absent.is_some_and(|reason| reason.starts_with("not built")), "{absent:?}");

    let Saved { markdown, csv, html, again } = saved(&report, directory.path());
    for row in &report.rows {
        let lines = csv.lines().filter(|line| line.contains(&row.name));
        assert!(lines.count() >= 2, "{}", row.name);
    }
    for text in [&markdown, &html] {
        assert!(text.contains("not built"), "pebble says why it is missing");
        assert!(text.contains("13.4 µs"), "what was published");
    }
    assert!(report::compare(&report, &again).changes.len() > rows);
    let left: Vec<PathBuf> = std::fs::read_dir(directory.path())
        .expect("it is there")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    assert!(left.is_empty(), "{left:?} is left behind");
}

#[test]
fn an_engine_that_breaks_keeps_its_row_with_the_reason() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    // The program takes any arguments and answers nothing.
    let line = ["--engine=liteio", "--filter=synced put, 1 writer", "--own-program=/bin/false"];
    let report = run(&options(directory.path(), &line)).expect("the run succeeds");
    let cell = &report.rows[0].cells["liteio"];
    assert_eq!((cell.operations, cell.errors), (0, 1), "one try is enough");
    assert!(cell.first_error.as_ref().is_some_and(|error| error.contains("exit status: 1")));
    assert!(report::markdown(&report).contains("exit status: 1"));
}

#[test]
fn the_command_line_measures_what_it_is_told() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let tiny = ["kv", "--entries=500", "--rounds=1", "--filter=get at random", "--name=cli"];
    let output = bench(directory.path(), &tiny);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    for engine in ["liteio", "liteio-memory", "redb"] {
        assert!(text.contains(engine), "{engine} is measured without being asked for");
    }
    assert!(text.contains("Get at random") && !text.contains("kill -9"));
    assert!(directory.path().join("bench-results/cli.html").is_file());

    let wrong = bench(directory.path(), &["kv", "--engine=postgres"]);
    assert!(!wrong.status.success());
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("bbolt"), "it says what there is");
}

#[test]
fn an_interrupted_run_ends_in_order_and_leaves_nothing_behind() {
    for signal in [Signal::INT, Signal::TERM] {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let mut bench = Command::new(env!("CARGO_BIN_EXE_liteio-bench"))
            .args(["kv", "--engine", "redb", "--entries", "100000000", "--time", "3600"])
            .args(["--name", "broken-off"])
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program can be started");
        let data = directory.path().join(format!("liteio-bench-{}", bench.id()));
        while !data.join("redb/keys.redb").exists() {
            assert!(bench.try_wait().expect("it is ours").is_none(), "it ended before");
            std::thread::yield_now();
        }
        let children = format!("/proc/{0}/task/{0}/children", bench.id());
        let children = std::fs::read_to_string(children).expect("it runs");
        let engine = children.trim().to_owned();
        assert!(!engine.is_empty(), "an engine is at work");

        kill_process(Pid::from_child(&bench), signal).expect("it runs");
        assert!(bench.wait().expect("it is ours").success());
        assert!(!data.exists(), "its data is gone");
        // Whoever inherits a killed process may keep it as a zombie, but it runs no more.
        let stat = std::fs::read_to_string(format!("/proc/{engine}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
        let report = directory.path().join("bench-results/broken-off.md");
        let report = std::fs::read_to_string(report).expect("what was measured is reported");
        assert!(report.contains("interrupted"));
    }
}
