//! A tiny run of the limits, with a server of this process.

use liteio::Server;
use liteio_bench::limits::run::{Options, run};

use crate::setup::{options, with_servers};

#[test]
fn the_machine_is_measured_beside_a_server() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let report = with_servers(vec![("served", Server::builder().memory())], |targets| {
        let mut line = vec!["--quick", "--rounds=2", "--time=1", &targets[0]];
        line.extend(["--filter=10 MB", "--filter=1 KB, 1 client", "--filter=stat"]);
        line.push("--filter=multipart");
        let options: Options = options(directory.path(), &line);
        run(&options).expect("the run succeeds")
    });
    assert_eq!(report.baseline.as_deref(), Some("machine"));
    let names: Vec<&str> = report.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Write 1 KB, 1 client",
            "Write 10 MB",
            "Read 10 MB",
            "Read 10 MB from the disk",
            "Multipart 15 MB in 3 parts",
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
    let compared = [
        "Write 1 KB, 1 client",
        "Write 10 MB",
        "Read 10 MB",
        "Multipart 15 MB in 3 parts",
        "Read 1 KB, 1 client",
        "Stat, 16 clients",
    ];
    for name in compared {
        let row = report.rows.iter().find(|row| row.name == name).expect("there is one");
        assert!(report.ratio(row, "served").is_some(), "{name} is compared with the machine");
    }
}
