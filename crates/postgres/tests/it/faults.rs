//! Connections and servers that end in the middle of something.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use liteio_kv::database::{Answer, CommitError, Database, Group, Settled, Want, Worker};
use liteio_postgres::testing::Server;
use liteio_postgres::{Postgres, PostgresConfig};

use crate::harness::{Cluster, Process, claim, config, counted, created, put};
use crate::proxy::{Next, Proxy};

/// A process whose connections go through a proxy.
fn through_proxy(cluster: &Cluster, parameters: &str) -> (Proxy, Process) {
    let proxy = Proxy::new(cluster.server.socket());
    let url = format!("postgres://liteio@127.0.0.1:{}/postgres?{parameters}", proxy.port);
    let config = config(&url).with_cluster(cluster.config.cluster()).expect("a name");
    let process = Process::open(&config);
    (proxy, process)
}

#[test]
fn a_lost_answer_is_settled_by_the_truth() {
    for parameters in ["", "statement_cache=0"] {
        let cluster = Cluster::new();
        let (proxy, mut process) = through_proxy(&cluster, parameters);
        let worker = process.worker;
        let direct = cluster.open();
        let count = |key: &[u8]| direct.count(key).0[0];
        let group = |number: u8| Group {
            writes: vec![put(&[number], Some(0), b"")],
            counters: vec![counted(b"n", false, [1, 0, 0, 0])],
            ..Group::default()
        };
        process.commit(group(0)).expect("it commits");
        for (round, (next, settled)) in [
            (Next::LosesAnswer, Settled::Committed),
            (Next::Vanishes, Settled::NotCommitted),
            (Next::ComesLate, Settled::NotCommitted),
            (Next::LosesAnswer, Settled::Committed),
        ]
        .into_iter()
        .enumerate()
        {
            let number = process.number + 1;
            let before = count(b"n");
            proxy.set(next);
            let lost = process.commit(group(1 + round as u8));
            assert!(matches!(lost, Err(CommitError::Unknown(_))), "{next:?} {lost:?}");
            if next == Next::LosesAnswer {
                proxy.wait_for_answer();
            }
            assert_eq!(process.database.settle(worker, number).expect("it is settled"), settled);
            assert_eq!(process.database.settle(worker, number).expect("again"), settled);
            if next == Next::ComesLate {
                proxy.release();
            }
            let is_there = direct.get(&[1 + round as u8]).is_some();
            assert_eq!(is_there, settled == Settled::Committed, "{next:?}");
            assert_eq!(count(b"n") - before, i64::from(is_there));
            process.number = number;
            process.commit(group(100 + round as u8)).expect("the next one commits");
        }
    }
}

/// A late commit that has begun is waited for.
#[test]
fn a_settlement_waits_for_a_commit_that_is_running() {
    let cluster = Cluster::new();
    let (proxy, mut process) = through_proxy(&cluster, "");
    let worker = process.worker;
    process.put(b"first", b"");
    // Holds the row that the commit writes behind its worker's number.
    let other = cluster.open();
    let name = cluster.config.cluster().to_owned();
    let mut group = Group {
        counters: vec![counted(b"n", false, [1, 0, 0, 0])],
        begins: [true, false],
        ..Group::default()
    };
    group.version = process.version();
    let blocker = thread::spawn({
        let server = cluster.server.clone();
        let text = format!(
            "BEGIN; SELECT n0 FROM {name}.epoch FOR UPDATE; SELECT pg_advisory_lock_shared(42); \
             DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 42) \
             LOOP PERFORM pg_stat_clear_snapshot(); PERFORM pg_sleep(0.01); END LOOP; END $$; COMMIT"
        );
        move || server.query(&text)
    });
    wait_for(
        &cluster.server,
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND granted",
        "1",
    );
    proxy.set(Next::LosesAnswer);
    thread::scope(|scope| {
        let database = &process.database;
        let commit = scope.spawn(|| database.commit(worker, 2, &group));
        // It waits for the row of the epochs, and has its number.
        wait_for(
            &cluster.server,
            &format!(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{name}%commit_group%' AND pid <> pg_backend_pid()"
            ),
            "1",
        );
        let settle = scope.spawn(|| database.settle(worker, 2));
        wait_for(
            &cluster.server,
            &format!(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{name}%settle%' AND pid <> pg_backend_pid()"
            ),
            "1",
        );
        // Lets go of the row.
        let release = scope.spawn(|| cluster.server.query("SELECT pg_advisory_lock(42)"));
        let lost = commit.join().expect("no panic");
        assert!(matches!(lost, Err(CommitError::Unknown(_))), "{lost:?}");
        let settled = settle.join().expect("no panic");
        assert_eq!(settled.expect("it is settled"), Settled::Committed);
        let _ = release.join();
    });
    let _ = blocker.join();
    assert_eq!(other.count(b"n").0[0], 1);
}

/// Waits until a query has this output.
fn wait_for(server: &Server, query: &str, output: &str) {
    while server.query(query) != output {
        thread::yield_now();
    }
}

#[test]
fn a_fetch_whose_connection_ends_begins_anew() {
    let cluster = Cluster::new();
    let (proxy, mut process) = through_proxy(&cluster, "read_connections=2&connections=1");
    process.put(b"key", b"value");
    for next in [Next::LosesAnswer, Next::Vanishes] {
        process.get(b"key").expect("a row");
        proxy.set(next);
        assert_eq!(process.get(b"key").expect("a row").value, b"value");
        let view = process.database.view().expect("a view");
        proxy.set(next);
        let want = [Want::Key(b"key".to_vec())];
        let fetched = view.fetch(&want).expect("it begins anew");
        assert!(matches!(&fetched.answers[0], Answer::Row(Some(_))));
        // Its moment is gone with its connection.
        proxy.set(next);
        view.fetch(&want).expect_err("it is over");
        let error = view.fetch(&want).expect_err("it is over");
        assert!(error.to_string().contains("given up"), "{error}");
    }
    assert!(process.database.take_numbers(1, 0).is_ok());
}

/// The one who writes until it is told to end, and knows what was acknowledged.
fn write_on(
    config: PostgresConfig,
    acknowledged: Sender<()>,
    end: Receiver<()>,
) -> BTreeMap<Vec<u8>, bool> {
    let mut process = Process::open(&config);
    let mut rows = BTreeMap::new();
    while end.try_recv() == Err(TryRecvError::Empty) {
        let number = process.number + 1;
        let key = [&process.worker.run.to_be_bytes()[..], &number.to_be_bytes()].concat();
        let group = Group {
            claims: vec![claim(b"shared", true)],
            writes: vec![put(&key, Some(0), &[1; 500])],
            counters: vec![counted(b"n", false, [1, 0, 0, 0])],
            ..Group::default()
        };
        let is_there = match process.commit(group) {
            Ok(_) => true,
            Err(CommitError::Unknown(_)) => {
                let settled = loop {
                    // As long as the database is away it is open.
                    if let Ok(settled) = process.database.settle(process.worker, number) {
                        break settled;
                    }
                };
                process.number = number;
                match settled {
                    Settled::Committed => true,
                    Settled::NotCommitted => false,
                    Settled::Lost { last } => panic!("lost {last} of {number}"),
                }
            }
            // Nothing was written: again, with the same number.
            Err(CommitError::Refused(_) | CommitError::Conflict(_)) => continue,
        };
        rows.insert(key, is_there);
        if is_there {
            let _ = acknowledged.send(());
        }
    }
    rows
}

/// Writes by several processes while `disturb` does its work between acknowledgements, and compares at the
/// end.
fn nothing_is_lost(config: &PostgresConfig, disturb: impl FnOnce(&dyn Fn(usize))) {
    let (sender, acknowledged) = channel();
    let (ends, writers): (Vec<_>, Vec<_>) = (0..3)
        .map(|_| {
            let (end, ended) = channel();
            let (config, sender) = (config.clone(), sender.clone());
            (end, thread::spawn(move || write_on(config, sender, ended)))
        })
        .unzip();
    let wait = |count: usize| {
        while acknowledged.try_recv().is_ok() {}
        (0..count).for_each(|_| acknowledged.recv().expect("writers go on"));
    };
    disturb(&wait);
    wait(30);
    drop(ends);
    let rows: BTreeMap<Vec<u8>, bool> =
        writers.into_iter().flat_map(|it| it.join().expect("no panic")).collect();
    let process = Process::open(config);
    let kept = rows.values().filter(|is_there| **is_there).count();
    assert_eq!(process.count(b"n").0[0], kept as i64);
    for (key, is_there) in rows {
        assert_eq!(process.get(&key).is_some(), is_there, "{key:?}");
    }
}

#[test]
fn nothing_acknowledged_is_lost_with_a_backend_or_the_server() {
    let server = Server::new(None, &["fsync=on"]);
    let config = created(&server).allow_unsafe(false);
    nothing_is_lost(&config, |wait| {
        for _ in 0..2 {
            wait(60);
            // A backend in the middle of a commit: the server ends all others and recovers.
            let query = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%commit_group%' AND pid <> pg_backend_pid() LIMIT 1";
            server.signal("KILL", &server.query(query));
            wait(60);
            server.kill();
            server.start();
        }
    });
}

#[test]
fn nothing_acknowledged_is_lost_with_the_primary_of_a_pair() {
    let primary = Server::new(None, &["fsync=on"]);
    let standby = primary.standby("b", None, &["fsync=on"]);
    let _ = primary.query("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (b)'");
    let _ = primary.query("SELECT pg_reload_conf()");
    wait_for(&primary, "SELECT sync_state FROM pg_stat_replication", "quorum");
    let created = created(&primary);
    let status = liteio_postgres::status(&created).expect("a status");
    assert!(status.waits_for_standby && status.dangers.is_empty(), "{status:?}");
    let url =
        format!("postgres://liteio@/postgres?host={},{}", directory(&primary), directory(&standby));
    let config = PostgresConfig::parse(&url, |_| None).expect("valid");
    let config = config.with_cluster(created.cluster()).expect("a name");
    nothing_is_lost(&config, |wait| {
        wait(60);
        primary.kill();
        standby.promote();
        wait(60);
    });
}

/// A primary that goes on behind the promotion of its standby, since nobody stops it, still answers reads.
#[test]
fn a_former_primary_that_goes_on_is_not_read_again() {
    let former = Server::new(None, &["fsync=off"]);
    let promoted = former.standby("b", None, &["fsync=off"]);
    let created = created(&former);
    // New sessions go to the promoted one, as soon as it is.
    let url =
        format!("postgres://liteio@/postgres?host={},{}", directory(&promoted), directory(&former));
    let config = config(&url).with_cluster(created.cluster()).expect("a name");
    let mut process = Process::open(&config);
    process.put(b"k", b"former");
    let view = process.database.view().expect("a view");
    view.fetch(&[Want::Key(b"k".to_vec())]).expect("it is fetched");
    let behind = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn < pg_current_wal_lsn()";
    wait_for(&former, behind, "0");
    promoted.promote();
    // By a session of its own.
    process.put(b"k", b"promoted");
    drop(view);
    let in_view = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
    wait_for(&former, in_view, "0");
    for _ in 0..100 {
        let row = process.get(b"k").expect("it is there");
        assert_eq!(row.value, b"promoted");
    }
    assert_eq!(former.query("SELECT pg_is_in_recovery()"), "f", "it goes on");
}

/// The directory of the socket of a server, as a URL names it.
fn directory(server: &Server) -> String {
    server.socket().parent().expect("a directory").display().to_string()
}

#[test]
fn a_wait_for_the_standby_that_is_cancelled_is_no_acknowledgement() {
    let server = Server::new(None, &["fsync=off"]);
    let config = created(&server);
    let mut process = Process::open(&config);
    process.put(b"first", b"");
    let set = |names: &str| {
        let _ = server.query(&format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        let _ = server.query("SELECT pg_reload_conf()");
        wait_for(&server, "SHOW synchronous_standby_names", names);
    };
    set("none");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    for cancels in ["pg_cancel_backend", "pg_terminate_backend"] {
        let number = process.number + 1;
        let group = Group {
            version: process.version(),
            writes: vec![put(&[number as u8], None, b"")],
            ..Group::default()
        };
        let database = &process.database;
        let lost = thread::scope(|scope| {
            let commit = scope.spawn(|| database.commit(process.worker, number, &group));
            wait_for(&server, waiting, "1");
            let _ = server.query(&format!(
                "SELECT {cancels}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            ));
            commit.join().expect("no panic")
        });
        assert!(matches!(lost, Err(CommitError::Unknown(_))), "{cancels}: {lost:?}");
        // Until a standby has it, it is open.
        let settled = thread::scope(|scope| {
            let settle = scope.spawn(|| database.settle(process.worker, number));
            wait_for(&server, waiting, "1");
            set("");
            settle.join().expect("no panic")
        });
        assert_eq!(settled.expect("it is settled"), Settled::Committed);
        process.number = number;
        set("none");
    }
    set("");
}

#[test]
fn a_start_does_not_wait_for_a_standby_for_ever() {
    let server = Server::new(None, &["fsync=off"]);
    let created = created(&server);
    let url = format!("postgres://liteio@/postgres?host={}&connect_timeout=1", directory(&server));
    let config = PostgresConfig::parse(&url, |_| None).expect("valid");
    let config = config.with_cluster(created.cluster()).expect("a name").allow_unsafe(true);
    let _ = server.query("ALTER SYSTEM SET synchronous_standby_names = 'none'");
    let _ = server.query("SELECT pg_reload_conf()");
    wait_for(&server, "SHOW synchronous_standby_names", "none");
    let error = Postgres::open(&config).expect_err("a write that no standby has");
    assert!(error.to_string().contains("its synchronous standby may be gone"), "{error}");
    let error = liteio_postgres::set_fingerprint(&config, b"key").expect_err("the same");
    assert!(error.to_string().contains("its synchronous standby may be gone"), "{error}");
}

/// A host that has become a standby is left for another one.
#[test]
fn a_host_that_only_reads_is_left() {
    let servers = [Server::new(None, &["fsync=off"]), Server::new(None, &["fsync=off"])];
    let config = created(&servers[0]);
    liteio_postgres::create(
        &self::config(&servers[1].url()).with_cluster(config.cluster()).expect("a name"),
        crate::harness::ID,
    )
    .expect("it is made");
    let _ = servers[1].query(&format!("SELECT setval('{}.event', 1024001)", config.cluster()));
    let url = format!(
        "postgres://liteio@/postgres?host={},{}",
        directory(&servers[0]),
        directory(&servers[1])
    );
    let config = self::config(&url).with_cluster(config.cluster()).expect("a name");
    let database = Postgres::open(&config).expect("it opens");
    assert!(database.take_numbers(1, 0).expect("a number") < 1_024_000);
    let _ = servers[0].query("ALTER SYSTEM SET default_transaction_read_only = on");
    let _ = servers[0].query("SELECT pg_reload_conf()");
    wait_for(&servers[0], "SHOW default_transaction_read_only", "on");
    assert!(database.take_numbers(1, 0).expect("a number") > 1_024_000);
    let commit = database.commit(Worker { run: database.run(), index: 0 }, 1, &Group::default());
    // Which does not know this run.
    assert!(matches!(commit, Err(CommitError::Unknown(_))), "{commit:?}");
}

#[test]
fn too_many_connections_are_waited_for() {
    let server =
        Server::new(None, &["fsync=off", "max_connections=8", "superuser_reserved_connections=3"]);
    let config = created(&server);
    let _ = server.query("CREATE ROLE plain LOGIN");
    let name = config.cluster();
    let _ = server.query(&format!(
        "GRANT USAGE ON SCHEMA {name} TO plain; GRANT ALL ON ALL TABLES IN SCHEMA {name} TO plain; \
         GRANT ALL ON ALL SEQUENCES IN SCHEMA {name} TO plain"
    ));
    let url = server.url().replace("liteio@", "plain@");
    let config = self::config(&url).with_cluster(name).expect("a name");
    let process = Process::open(&config);
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                for _ in 0..10 {
                    // A permit allows more connections than the server has.
                    process.fetch(&[]);
                }
            });
        }
    });
}
