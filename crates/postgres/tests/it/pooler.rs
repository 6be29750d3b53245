//! Through PgBouncer in the mode of transactions: each transaction may have another session.

use std::thread;

use liteio_kv::database::{Answer, Database as _, Group, Settled, Want};
use liteio_postgres::testing::{Pooler, Server};

use crate::harness::{ID, Process, claim, config, counted, put};

#[test]
fn everything_works_without_a_session_of_its_own() {
    let server = Server::shared();
    let pooler = Pooler::new(&server, 4);
    // Debian's has no prepared statements; a newer one may be named by a variable.
    let parameters = match std::env::var_os("LITEIO_PGBOUNCER") {
        Some(_) => ["", "&statement_cache=0"],
        None => ["&statement_cache=0", "&statement_cache=0&connections=2"],
    };
    for (parameter, name) in parameters.into_iter().zip(["pooled1", "pooled2"]) {
        let config =
            config(&format!("{}{parameter}", pooler.url())).with_cluster(name).expect("a name");
        liteio_postgres::create(&config, ID).expect("it is made");
        assert_eq!(liteio_postgres::migrate(&config).expect("it is up to date"), (1, 1));
        thread::scope(|scope| {
            for writer in 0..4_u8 {
                let config = &config;
                scope.spawn(move || {
                    let mut process = Process::open(config);
                    for step in 0..20_u8 {
                        let group = Group {
                            claims: vec![claim(b"all", step % 5 != 0)],
                            writes: vec![put(&[writer, step], Some(0), b"value")],
                            counters: vec![counted(b"n", false, [1, 0, 0, 0])],
                            ..Group::default()
                        };
                        process.commit(group).expect("it commits");
                        assert_eq!(process.get(&[writer, step]).expect("a row").value, b"value");
                    }
                });
            }
        });
        let mut process = Process::open(&config);
        assert_eq!(process.count(b"n").0[0], 80);
        // A view keeps its moment while others use the other sessions.
        let view = process.database.view().expect("a view");
        let rows = Want::Rows { lower: Vec::new(), upper: None, max: 1_000, is_backward: false };
        let count = |fetched: liteio_kv::database::Fetched| match &fetched.answers[0] {
            Answer::Rows { rows, is_whole: true } => rows.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(count(view.fetch(std::slice::from_ref(&rows)).expect("it is fetched")), 80);
        process.put(b"later", b"");
        assert_eq!(count(process.fetch(std::slice::from_ref(&rows))), 81);
        assert_eq!(count(view.fetch(std::slice::from_ref(&rows)).expect("it is fetched")), 80);
        drop(view);
        assert_eq!(
            process.database.settle(process.worker, 1).expect("it is settled"),
            Settled::Committed
        );
        assert_eq!(
            process.database.settle(process.worker, 2).expect("it is settled"),
            Settled::NotCommitted
        );
        let first = process.database.take_numbers(3, 0).expect("numbers");
        assert!(process.database.take_numbers(2_000, first).expect("numbers") > first + 2);
    }
}
