//! A tiny S3 run with two targets and one that is not installed.

use std::path::Path;
use std::time::Duration;

use liteio::Server;
use liteio_bench::PayloadMode;
use liteio_bench::report::{self, Report, summary};
use liteio_bench::s3::options::{Extent, Options, Planned};

use crate::formats::{Saved, saved};

const KEYS: &str = "bench-key,bench-secret";

/// Runs the benchmark against two servers of this process, one in memory and one on files, and a
/// target that nobody serves.
fn run(mode: PayloadMode, filters: &[&str], rounds: usize, data: &Path) -> Report {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let (access_key, secret_key) = KEYS.split_once(',').expect("there are two keys");
    let builder = || Server::builder().credentials(access_key, secret_key);
    let (memory, files) = runtime.block_on(async {
        let memory = builder().memory().spawn().await.expect("a server starts in memory");
        let files = builder().data_dir(data.join("files")).spawn().await;
        (memory, files.expect("a server starts on files"))
    });
    let running = |name: &str, address: &str| {
        Planned::running(&format!("{name}=http://{address},{KEYS}")).expect("the target is fine")
    };
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = nobody.local_addr().expect("it has an address").to_string();
    drop(nobody);
    let options = Options {
        targets: vec![
            running("memory", &memory.address().to_string()),
            running("files", &files.address().to_string()),
            running("nobody", &address),
        ],
        baseline: Some("files".to_owned()),
        extent: Extent { quick: true, large: false },
        filters: filters.iter().map(ToString::to_string).collect(),
        rounds,
        time: Duration::from_millis(1),
        mode,
        data: data.to_owned(),
    };
    let report = liteio_bench::s3::run::run(&options).expect("the run succeeds");
    runtime.block_on(async {
        memory.stop().await;
        files.stop().await;
    });
    report
}

#[test]
fn every_operation_works_and_every_report_shows_it() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let report = run(PayloadMode::Signed, &[], 1, directory.path());

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
    let wins: usize = summary(&report).wins.iter().map(|(_, wins)| wins).sum();
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
    for mode in [PayloadMode::Unsigned, PayloadMode::Streaming] {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let filters = ["write 1 ", "write 64", "empty", "multipart 15"];
        let report = run(mode, &filters, 2, directory.path());
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
fn what_a_server_refuses_is_counted_and_shown() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let server = runtime.block_on(async { Server::builder().memory().spawn().await });
    let server = server.expect("a server starts in memory");
    let address = server.address();
    let wrong = format!("wrong=http://{address},liteio,not-the-secret");
    let options = Options {
        targets: vec![
            Planned::running(&format!("right=http://{address},liteio,liteio123")).expect("fine"),
            Planned::running(&wrong).expect("it is fine"),
        ],
        baseline: None,
        extent: Extent::default(),
        filters: vec!["bucket info".to_owned()],
        rounds: 1,
        time: Duration::from_millis(1),
        mode: PayloadMode::Signed,
        data: directory.path().to_owned(),
    };
    let report = liteio_bench::s3::run::run(&options).expect("the run succeeds");
    let reason = report.target("wrong").and_then(|target| target.absent.clone());
    let reason = reason.expect("nothing can be measured with the wrong secret");
    assert!(reason.contains("SignatureDoesNotMatch"), "{reason}");
    assert!(report::markdown(&report).contains("SignatureDoesNotMatch"));
    assert_eq!(report.baseline.as_deref(), Some("right"));
    runtime.block_on(server.stop());
}
