//! Making, migrating and checking a cluster.

use std::thread;

use liteio_kv::database::Database as _;
use liteio_postgres::testing::Server;
use liteio_postgres::{ClusterId, Postgres, PostgresConfig, PostgresError};

use crate::harness::{Cluster, ID, Process, config, named};

#[test]
fn a_cluster_is_made_once_and_opened_by_its_name() {
    let server = Server::shared();
    let config = named(&server);
    let error = Postgres::open(&config).expect_err("there is none");
    assert!(matches!(error, PostgresError::NoCluster { .. }), "{error}");
    assert!(error.to_string().contains("liteio cluster create"), "{error}");
    liteio_postgres::migrate(&config).expect_err("there is none");
    liteio_postgres::create(&config, ID).expect("it is made");
    let error = liteio_postgres::create(&config, ClusterId([8; 16])).expect_err("it exists");
    assert!(matches!(error, PostgresError::Exists { .. }), "{error}");
    // Again, harmless.
    assert_eq!(liteio_postgres::migrate(&config).expect("it is up to date"), (1, 1));
    assert_eq!(liteio_postgres::check(&config).expect("it is fine"), ID);
    let mut first = Process::open(&config);
    assert_eq!(first.database.cluster_id(), ID);
    first.put(b"key", b"value");
    let second = Process::open(&config);
    assert!(first.database.run() >= 1 && second.database.run() > first.database.run());
    assert_eq!(second.get(b"key").expect("a row").value, b"value");
    let status = liteio_postgres::status(&config).expect("a status");
    assert_eq!((status.cluster, status.format, status.runs), (ID, 1, 2));
    assert!(status.bytes > 0 && !status.waits_for_standby, "{status:?}");
    assert_eq!(status.dangers, ["fsync=off"]);
}

#[test]
fn clusters_of_one_database_do_not_see_each_other() {
    let (one, other) = (Cluster::new(), Cluster::new());
    let (mut a, b) = (one.open(), other.open());
    a.put(b"key", b"value");
    assert_eq!(b.get(b"key"), None);
    assert_eq!(b.database.run(), 1);
}

#[test]
fn many_who_make_one_cluster_make_it_once() {
    let server = Server::shared();
    let config = named(&server);
    let made: Vec<bool> = thread::scope(|scope| {
        let make = |number: u8| {
            let config = &config;
            scope.spawn(move || liteio_postgres::create(config, ClusterId([number; 16])))
        };
        let threads: Vec<_> = (0..6).map(make).collect();
        let outcome = |it: Result<(), PostgresError>| match it {
            Ok(()) => true,
            Err(PostgresError::Exists { .. }) => false,
            // Two that make the schema itself at the same moment.
            Err(PostgresError::Database(text)) => {
                assert!(
                    text.contains("SQLSTATE 23505") || text.contains("SQLSTATE 42P06"),
                    "{text}"
                );
                false
            }
            Err(other) => panic!("{other}"),
        };
        threads.into_iter().map(|it| outcome(it.join().expect("no panic"))).collect()
    });
    assert_eq!(made.iter().filter(|it| **it).count(), 1, "{made:?}");
    Process::open(&config);
}

#[test]
fn a_schema_that_is_not_ours_stays_as_it_is() {
    let server = Server::shared();
    let config = named(&server);
    let name = config.cluster();
    let _ = server.query(&format!("CREATE SCHEMA {name}; CREATE TABLE {name}.theirs (a int)"));
    let error = liteio_postgres::create(&config, ID).expect_err("it is theirs");
    assert!(error.to_string().contains("not of LiteIO"), "{error}");
    // One that is empty was made for us.
    let _ = server.query(&format!("DROP TABLE {name}.theirs"));
    liteio_postgres::create(&config, ID).expect("it is made");
}

#[test]
fn a_schema_of_another_program_is_refused() {
    let cluster = Cluster::new();
    let name = cluster.config.cluster();
    let set = |format: i32, oldest: i32| {
        let text = format!("UPDATE {name}.meta SET format = {format}, oldest_program = {oldest}");
        let _ = cluster.server.query(&text);
    };
    set(99, 99);
    for error in [
        Postgres::open(&cluster.config).expect_err("it is newer"),
        liteio_postgres::migrate(&cluster.config).expect_err("it is newer"),
    ] {
        assert!(matches!(error, PostgresError::TooNew { needed: 99, known: 1, .. }), "{error}");
    }
    // A newer one that only adds something.
    set(99, 1);
    cluster.open();
    set(0, 0);
    let error = Postgres::open(&cluster.config).expect_err("it is older");
    assert!(matches!(error, PostgresError::TooOld { found: 0, needed: 1, .. }), "{error}");
    assert!(error.to_string().contains("liteio cluster migrate"), "{error}");
}

#[test]
fn an_unsafe_database_is_refused_by_the_name_of_the_setting() {
    let cluster = Cluster::new();
    let url = cluster.server.url();
    let strict = PostgresConfig::parse(&url, |_| None).expect("valid");
    let strict = strict.with_cluster(cluster.config.cluster()).expect("a name");
    for error in [
        Postgres::open(&strict).expect_err("fsync is off"),
        liteio_postgres::create(&strict, ID).expect_err("fsync is off"),
        liteio_postgres::check(&strict).expect_err("fsync is off"),
    ] {
        assert!(matches!(&error, PostgresError::Unsafe(told) if told == "fsync=off"), "{error}");
    }
    // Settings of the role.
    let name = cluster.config.cluster();
    let _ = cluster.server.query(&format!(
        "CREATE ROLE r{name} LOGIN SUPERUSER; ALTER ROLE r{name} SET synchronous_commit = off"
    ));
    let url = url.replace("liteio@", &format!("r{name}@"));
    let strict = PostgresConfig::parse(&url, |_| None).expect("valid");
    let strict = strict.with_cluster(name).expect("a name");
    let error = Postgres::open(&strict).expect_err("unsafe").to_string();
    assert!(error.contains("fsync=off, synchronous_commit=off"), "{error}");
    assert_eq!(config(&url).cluster(), "liteio");
}

#[test]
fn pages_that_may_be_torn_or_wrong_are_refused() {
    let server = Server::new(None, &["fsync=on", "full_page_writes=off"]);
    let strict = PostgresConfig::parse(&server.url(), |_| None).expect("valid");
    let told = || liteio_postgres::create(&strict, ID).expect_err("unsafe").to_string();
    assert!(told().ends_with(": full_page_writes=off"), "{}", told());
    server.disable_checksums();
    assert!(told().contains("data_checksums=off"), "{}", told());
    liteio_postgres::create(&strict.clone().allow_unsafe(true), ID).expect("it is made");
}

#[test]
fn the_first_fingerprint_of_a_key_stays() {
    let cluster = Cluster::new();
    assert_eq!(cluster.open().database.fingerprint(), None);
    let set = |text: &[u8]| liteio_postgres::set_fingerprint(&cluster.config, text);
    assert_eq!(set(b"one").expect("it is set"), b"one");
    assert_eq!(set(b"two").expect("it stays"), b"one");
    assert_eq!(cluster.open().database.fingerprint(), Some(&b"one"[..]));
    let status = liteio_postgres::status(&cluster.config).expect("a status");
    assert_eq!(status.fingerprint.as_deref(), Some(&b"one"[..]));
}
