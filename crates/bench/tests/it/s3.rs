//! A tiny S3 run with two targets and one that is not installed.

use std::path::Path;

use liteio::{KeySources, MasterKeySource, Server};
use liteio_bench::report::{self, Report, summary};
use liteio_bench::s3::options::Options;
use liteio_disk::effort::amount;

use crate::formats::{Saved, saved};
use crate::setup::{nobody, options, with_servers};

/// Runs the benchmark against two servers of this process, one in memory and one on files, and a
/// target that nobody serves.
fn run(data: &Path, line: &[&str]) -> Report {
    let master = data.join("master.key");
    std::fs::write(&master, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n").expect("written");
    let keys = KeySources { master: Some(MasterKeySource::File(master)), kms_file: None };
    let memory = Server::builder().memory().keys(keys.clone());
    let files = Server::builder().data_dir(data.join("files")).keys(keys);
    with_servers(vec![("memory", memory), ("files", files)], |targets| {
        let (nobody, usual) = (nobody(), ["--without-liteio", "--quick", "--time=1"]);
        let servers = [&targets[0], &targets[1], nobody.as_str(), "--baseline=files"];
        let options: Options = options(data, &[&usual[..], &servers, line].concat());
        // A fifth of the objects of the largest rows: unoptimised, a request takes milliseconds.
        let objects_max = Some(amount(200, 1_000) as usize);
        liteio_bench::s3::run::run(&Options { objects_max, ..options }).expect("the run succeeds")
    })
}

#[test]
fn every_operation_works_and_every_report_shows_it() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let report = run(directory.path(), &["--rounds=1"]);

    assert!(report.rows.len() > 45, "{} rows", report.rows.len());
    for row in &report.rows {
        for target in ["memory", "files"] {
            let cell = &row.cells[target];
            assert_eq!(cell.errors, 0, "{} at {target}: {:?}", row.name, cell.first_error);
            assert!(cell.operations > 0, "{} at {target}", row.name);
            let times: Vec<f64> =
                ["p50", "p95", "p99", "p999"].iter().filter_map(|id| cell.median(id)).collect();
            assert!(times.len() == 4 && times.is_sorted() && times[0] > 0.0, "{times:?}");
        }
        assert!(report.ratio(row, "memory").is_some_and(|ratio| ratio.median > 0.0));
    }
    let absent = report.target("nobody").and_then(|target| target.absent.as_deref());
    assert!(absent.is_some_and(|reason| reason.contains("no answer")), "{absent:?}");
    let wins: usize = summary(&report).standings.iter().map(|standing| standing.wins).sum();
    assert_eq!(wins, report.rows.len(), "every row has one winner");

    let Saved { markdown, csv, html, again } = saved(&report, directory.path());
    for row in &report.rows {
        assert!(markdown.contains(&format!("| {} |", row.name)), "{}", row.name);
        let lines = csv
            .lines()
            .filter(|line| line.contains(&row.name) && line.contains(",operations_per_second,"));
        assert!(lines.count() >= 2, "{}", row.name);
    }
    assert!(markdown.contains("no answer") && html.contains("no answer"));
    assert!(markdown.contains("The client alone, GET 1 KB at 1 connection"));

    let comparison = report::compare(&report, &again);
    assert_eq!(comparison.changes.len(), report.rows.len() * 2);
    assert!(comparison.changes.iter().all(|change| (change.ratio - 1.0).abs() < 1e-9));
    assert!(comparison.alone.is_empty() && comparison.doubts.is_empty());
}

#[test]
fn bodies_may_be_unsigned_or_sent_in_signed_chunks() {
    for mode in ["--payload=unsigned", "--payload=streaming"] {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let filters = ["--filter=write 1 ", "--filter=write 64", "--filter=empty"];
        let line = [&filters[..], &[mode, "--filter=multipart 15", "--rounds=2"]].concat();
        let report = run(directory.path(), &line);
        assert!(report.rows.len() >= 6);
        for row in &report.rows {
            for target in ["memory", "files"] {
                let cell = &row.cells[target];
                assert_eq!(cell.errors, 0, "{} {mode:?}: {:?}", row.name, cell.first_error);
                assert_eq!(cell.values[&row.metric].rounds.len(), 2, "{}", row.name);
            }
        }
    }
}

#[test]
fn a_server_without_encryption_says_so_in_place_of_a_figure() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let report = with_servers(vec![("keyless", Server::builder().memory())], |targets| {
        let usual = ["--without-liteio", "--rounds=1", "--time=1", "--filter=encrypted"];
        let options: Options = options(directory.path(), &[&usual[..], &[&targets[0]]].concat());
        liteio_bench::s3::run::run(&options).expect("the run succeeds")
    });
    assert_eq!(report.rows.len(), 2);
    for row in &report.rows {
        let reason = row.cells["keyless"].absent.as_ref().expect("there is no figure");
        assert!(reason.starts_with("no SSE-S3: "), "{reason}");
    }
    assert!(report::markdown(&report).contains("no SSE-S3: "));
}

#[test]
fn what_a_server_refuses_is_counted_and_shown() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let report = with_servers(vec![("right", Server::builder().memory())], |targets| {
        let wrong = targets[0].replace("right", "wrong").replace("liteio123", "not-the-secret");
        let usual = ["--without-liteio", "--rounds=1", "--time=1", "--filter=bucket info"];
        let line = [&usual[..], &[&targets[0], &wrong]].concat();
        let options: Options = options(directory.path(), &line);
        liteio_bench::s3::run::run(&options).expect("the run succeeds")
    });
    let reason = report.target("wrong").and_then(|target| target.absent.clone());
    let reason = reason.expect("nothing can be measured with the wrong secret");
    assert!(reason.contains("SignatureDoesNotMatch"), "{reason}");
    assert!(report::markdown(&report).contains("SignatureDoesNotMatch"));
    assert_eq!(report.baseline.as_deref(), Some("right"));
}
