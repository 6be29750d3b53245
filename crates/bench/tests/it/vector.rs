//! A tiny vector run: our own engines, one rival that cannot be built, one that was not given, a
//! server that works and one that nobody serves.

use std::path::{Path, PathBuf};

use liteio::Server;
use liteio_bench::report::{self, Report};
use liteio_bench::vector::options::Options;
use liteio_bench::vector::rows::Sizes;
use liteio_bench::vector::run::run;

use crate::formats::{Saved, saved};
use crate::setup::{bench, nobody, options, with_servers};

fn tiny(data: &Path, line: &[&str]) -> Options {
    let memory = data.join("memory");
    std::fs::create_dir(&memory).expect("a folder can be made");
    // There are no sources of rivals.
    let usual = ["--rounds=2", "--time=1", "--rival=plain,usearch-64", "--rivals=none"];
    let sizes = Sizes {
        dimension: 128,
        file_vectors: 2_000,
        cold_vectors: 1_500,
        searched: vec![1_500],
        queries: 10,
        put_requests: 3,
        put_vectors: 50,
    };
    let mut options: Options = options(&data.join("disk"), &[&usual[..], line].concat());
    options.run.own_program.get_or_insert(env!("CARGO_BIN_EXE_liteio-bench").into());
    Options { sizes: Some(sizes), memory, ..options }
}

#[test]
fn files_searches_and_servers_are_measured_and_every_report_shows_them() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let report = with_servers(vec![("served", Server::builder().memory())], |targets| {
        let options = tiny(directory.path(), &[&targets[0], &nobody()]);
        run(&options).expect("the run succeeds")
    });

    // 11 rows of files in two places, 9 of searching on three data sets, 5 of servers.
    assert_eq!(report.rows.len(), 2 * 11 + 3 * 9 + 5);
    for row in &report.rows {
        let measured: &[&str] = match row.group.as_str() {
            group if group.starts_with("Files") => &["liteio", "plain"],
            group if group.starts_with("Search") => &["liteio", "exact"],
            _ => &["served"],
        };
        for name in measured {
            let cell = &row.cells[*name];
            assert_eq!(cell.errors, 0, "{} at {name}: {:?}", row.name, cell.first_error);
            assert!(cell.operations > 0, "{} at {name}", row.name);
            let (recall, least) =
                (cell.median("recall"), if *name == "liteio" { 0.97 } else { 1.0 });
            assert!(recall.is_none_or(|recall| recall >= least), "{} at {name}", row.name);
            let rounds = &cell.values[&row.metric].rounds;
            assert_eq!(rounds.len(), 2, "{} at {name}", row.name);
            assert!(rounds.iter().all(|value| *value > 0.0), "{} at {name}", row.name);
        }
    }
    let row = |name: &str| report.rows.iter().find(|row| row.name == name).expect("there is one");
    assert_eq!(row("Recall@10, 1,500 hard").median("exact"), Some(1.0));
    assert!(row("QueryVectors in 1,500, 16 clients").cells["served"].median("recall").is_some());
    assert!(row("Build, 1,500 hard").cells["liteio"].median("memory_own").is_some());
    let raw = &row("Raw insert, tmpfs").cells["chassis"];
    assert!(raw.published.as_ref().is_some_and(|published| published.value == 12_100.0));
    assert!(raw.absent.as_ref().is_some_and(|reason| reason.contains("--chassis PATH")));
    let absent = |name: &str| report.target(name).and_then(|target| target.absent.clone());
    assert!(absent("usearch-64").is_some_and(|reason| reason.starts_with("not built")));
    assert!(absent("nobody").is_some_and(|reason| reason.contains("no answer")));
    assert_eq!(report.baseline.as_deref(), Some("exact"));

    check_formats(&report, directory.path());
    for place in ["disk", "memory"] {
        let left = std::fs::read_dir(directory.path().join(place)).expect("it is there");
        let left: Vec<PathBuf> = left.flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?} is left behind");
    }
}

fn check_formats(report: &Report, directory: &Path) {
    let Saved { markdown, html, again, .. } = saved(report, directory);
    for row in &report.rows {
        assert!(markdown.contains(&format!("| {} |", row.name)), "{}", row.name);
    }
    for text in [&markdown, &html] {
        for shown in ["not given: --chassis PATH", "not built", "144 µs", "no answer"] {
            assert!(text.contains(shown), "{shown}");
        }
    }
    let group = markdown.split("## S3 Vectors").nth(1).expect("servers have a section");
    let table = group.split("\n\n").nth(1).expect("it begins with a table");
    assert!(!table.contains("chassis"), "files and servers are not in one table: {table}");
    assert_eq!(&again, report);
}

#[test]
fn a_server_that_refuses_is_in_the_report_with_its_reason() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let report = with_servers(vec![("wrong", Server::builder().memory())], |targets| {
        let wrong = targets[0].replace("liteio123", "not-the-secret");
        let options = tiny(directory.path(), &[&wrong, "--filter=GetVectors"]);
        run(&options).expect("the run succeeds")
    });
    let reason = report.target("wrong").and_then(|target| target.absent.clone());
    assert!(reason.is_some_and(|reason| reason.contains("SignatureDoesNotMatch")));
    assert_eq!(report.rows[0].cells["wrong"].operations, 0);
}

#[test]
fn an_engine_that_breaks_keeps_its_row_with_the_reason() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    // The program takes any arguments and answers nothing.
    let line = ["--own-program=/bin/false", "--memory=none", "--filter=raw insert", "--time=1"];
    let report = run(&options(directory.path(), &line)).expect("the run succeeds");
    assert_eq!(report.rows.len(), 1, "without a place in memory, there is only the disk");
    let cell = &report.rows[0].cells["liteio"];
    assert_eq!((cell.operations, cell.errors), (0, 1), "one try is enough");
    assert!(cell.first_error.as_ref().is_some_and(|error| error.contains("exit status: 1")));
    let markdown = report::markdown(&report);
    assert!(markdown.contains("exit status: 1") && markdown.contains("no /dev/shm"));
}

#[test]
fn the_command_line_measures_what_it_is_told() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let usual = ["vector", "--quick", "--rounds=1", "--time=1", "--name=cli"];
    let tiny = [&usual[..], &["--filter=read, copied"]].concat();
    let output = bench(directory.path(), &tiny);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Hot read, copied, disk") && !text.contains("Cold read"));
    assert!(text.contains("not given: --chassis PATH (published 54.8 ns)"), "{text}");
    assert!(directory.path().join("bench-results/cli.html").is_file());

    let empty = directory.path().display().to_string();
    let output = bench(directory.path(), &[&tiny[..], &["--chassis", &empty]].concat());
    assert!(String::from_utf8_lossy(&output.stdout).contains("not built: no chassis-core in"));

    let wrong = bench(directory.path(), &["vector", "--rival=faiss"]);
    assert!(!wrong.status.success());
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("usearch-64"), "it says what there is");
}
