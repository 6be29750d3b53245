//! A tiny run of the limits, with a server of this process.

use std::time::Duration;

use liteio::Server;
use liteio_bench::limits::run::{Options, run};
use liteio_bench::s3::options::Planned;

#[test]
fn the_machine_is_measured_beside_a_server() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let server = runtime.block_on(Server::builder().memory().spawn()).expect("it starts");
    let target = format!("served=http://{},liteio,liteio123", server.address());
    let report = run(&Options {
        servers: vec![Planned::running(&target).expect("it is fine")],
        quick: true,
        filters: ["10 MB", "1 KB, 1 client", "stat"].map(str::to_owned).to_vec(),
        rounds: 2,
        time: Duration::from_millis(1),
        data: directory.path().to_owned(),
    })
    .expect("the run succeeds");
    runtime.block_on(server.stop());
    assert_eq!(report.baseline.as_deref(), Some("machine"));
    let names: Vec<&str> = report.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Write 1 KB, 1 client",
            "Write 10 MB",
            "Read 10 MB",
            "Read 1 KB, 1 client",
            "Stat, 1 client",
            "Stat, 16 clients",
            "MD5 of 10 MB"
        ]
    );
    for row in &report.rows {
        for (target, cell) in &row.cells {
            assert_eq!(cell.errors, 0, "{} at {target}: {:?}", row.name, cell.first_error);
            let rounds = &cell.values[&row.metric].rounds;
            assert!(rounds.len() == 2 && rounds.iter().all(|rate| *rate > 0.0), "{}", row.name);
        }
    }
    for name in ["Write 1 KB, 1 client", "Write 10 MB", "Read 10 MB"] {
        let row = report.rows.iter().find(|row| row.name == name).expect("there is one");
        assert!(report.ratio(row, "served").is_some(), "{name} is compared with the machine");
    }
}
