//! A tiny vector run: our own engines, one rival that cannot be built, one that was not given, a
//! server that works and one that nobody serves.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use liteio::Server;
use liteio_bench::report::{self, Report};
use liteio_bench::s3::options::Planned;
use liteio_bench::vector::data::SEED;
use liteio_bench::vector::options::Options;
use liteio_bench::vector::rows::Sizes;
use liteio_bench::vector::run::run;

use crate::formats::{Saved, saved};

const KEYS: &str = "bench-key,bench-secret";

fn options(data: &Path) -> Options {
    let memory = data.join("memory");
    Options {
        engines: vec!["usearch-64".to_owned()],
        servers: Vec::new(),
        baseline: None,
        chassis: None,
        sizes: Sizes {
            file_vectors: 2_000,
            cold_vectors: 1_500,
            searched: vec![1_500],
            queries: 10,
            put_requests: 3,
            put_vectors: 50,
        },
        filters: Vec::new(),
        rounds: 2,
        time: Duration::from_millis(1),
        seed: SEED,
        data: data.join("disk"),
        memory: Some(memory),
        own_program: env!("CARGO_BIN_EXE_liteio-bench").into(),
        // There are no sources of rivals.
        rivals: data.join("rivals"),
    }
}

/// Runs the benchmark with a server of this process, and with one that nobody serves.
fn run_with_servers(mut options: Options) -> Report {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let (access_key, secret_key) = KEYS.split_once(',').expect("there are two keys");
    let builder = Server::builder().credentials(access_key, secret_key).memory();
    let server = runtime.block_on(builder.spawn()).expect("a server starts in memory");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let free = nobody.local_addr().expect("it has an address").to_string();
    drop(nobody);
    for (name, address) in [("served", server.address().to_string()), ("nobody", free)] {
        let planned = Planned::running(&format!("{name}=http://{address},{KEYS}"));
        options.servers.push(planned.expect("the target is fine"));
    }
    let report = run(&options).expect("the run succeeds");
    runtime.block_on(server.stop());
    report
}

#[test]
fn files_searches_and_servers_are_measured_and_every_report_shows_them() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let report = run_with_servers(options(directory.path()));

    // 11 rows of files in two places, 9 of searching on two data sets, 5 of servers.
    assert_eq!(report.rows.len(), 2 * 11 + 2 * 9 + 5);
    for row in &report.rows {
        let measured: &[&str] = match row.group.as_str() {
            group if group.starts_with("Files") => &["liteio"],
            group if group.starts_with("Search") => &["liteio", "exact"],
            _ => &["served"],
        };
        for name in measured {
            let cell = &row.cells[*name];
            assert_eq!(cell.errors, 0, "{} at {name}: {:?}", row.name, cell.first_error);
            assert!(cell.operations > 0, "{} at {name}", row.name);
            let rounds = &cell.values[&row.metric].rounds;
            assert_eq!(rounds.len(), 2, "{} at {name}", row.name);
            assert!(rounds.iter().all(|value| *value > 0.0), "{} at {name}", row.name);
        }
    }
    let row = |name: &str| report.rows.iter().find(|row| row.name == name).expect("there is one");
    assert_eq!(row("Recall@10, 1,500 hard").median("exact"), Some(1.0));
    assert_eq!(
        row("QueryVectors in 1,500, 16 clients").cells["served"].median("recall"),
        Some(1.0)
    );
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
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let server = runtime.block_on(Server::builder().memory().spawn()).expect("it starts");
    let mut options = options(directory.path());
    let target = format!("wrong=http://{},liteio,not-the-secret", server.address());
    options.servers.push(Planned::running(&target).expect("it is fine"));
    options.filters = vec!["GetVectors".to_owned()];
    let report = run(&options).expect("the run succeeds");
    let reason = report.target("wrong").and_then(|target| target.absent.clone());
    assert!(reason.is_some_and(|reason| reason.contains("SignatureDoesNotMatch")));
    assert_eq!(report.rows[0].cells["wrong"].operations, 0);
    runtime.block_on(server.stop());
}

#[test]
fn an_engine_that_breaks_keeps_its_row_with_the_reason() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut options = options(directory.path());
    // It takes any arguments and answers nothing.
    options.own_program = "/bin/false".into();
    options.memory = None;
    options.filters = vec!["raw insert".to_owned()];
    let report = run(&options).expect("the run succeeds");
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
    let bench = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_liteio-bench"));
        command.arg("vector").args(arguments).current_dir(directory.path());
        command.env_remove("LITEIO_BENCH_CHASSIS");
        command.output().expect("the program can be started")
    };
    let tiny =
        ["--quick", "--rounds", "1", "--time", "1", "--filter", "read, copied", "--name", "cli"];
    let output = bench(&tiny);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Hot read, copied, disk") && !text.contains("Cold read"));
    assert!(text.contains("not given: --chassis PATH (published 54.8 ns)"), "{text}");
    assert!(directory.path().join("bench-results/cli.html").is_file());

    let empty = directory.path().display().to_string();
    let output = bench(&[&tiny[..], &["--chassis", &empty]].concat());
    assert!(String::from_utf8_lossy(&output.stdout).contains("not built: no chassis-core in"));

    let wrong = bench(&["--rival", "faiss"]);
    assert!(!wrong.status.success());
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("usearch-64"), "it says what there is");
}
