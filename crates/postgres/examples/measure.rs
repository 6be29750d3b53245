//! Measures the engine beside PostgreSQL itself, on a server that it starts with `fsync` on:
//!
//! ```text
//! cargo run --release -p liteio-postgres --example measure [SECONDS [ROWS]]
//! ```
//!
//! A line has the rate, the ratio to PostgreSQL's own single-row statement by as many clients just before, and
//! the CPU time of all processes of the server for each operation. `put` is a commit of one row of 1 KiB that was not there, with
//! the claims, the read and the counter that a put of an object has; `put in groups` has eight
//! threads that commit as many of them together as there are clients for each. `upsert` and `select` are one
//! prepared statement each, as pgbench would send them. `put through Kv` is the same update as a closure of a key space,
//! which fetches before it commits. Two lists follow, of ROWS rows (a million) in a thousand prefixes.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use liteio_kv::database::{
    ClaimName, CounterWrite, Database, DatabaseConfig, Group, RowWrite, Want, Worker,
};
use liteio_kv::{
    Claim, CountChange, Counted, CounterRow, Counts, Kv, KvError, Read as _, Write as _,
};
use liteio_postgres::testing::Server;
use liteio_postgres::{ClusterId, Postgres, PostgresConfig};
use tokio_postgres::NoTls;

/// Bytes of a value.
const BYTES: usize = 1 << 10;

/// Clock ticks of `/proc` in a second.
const TICKS: f64 = 100.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |it| it.parse::<u64>());
    let (seconds, rows) = (number(3)?, number(1_000_000)?);
    let time = Duration::from_secs(seconds);
    let server = Server::new(
        None,
        &["fsync=on", "shared_buffers=1GB", "max_connections=300", "max_wal_size=8GB"],
    );
    let _ = server
        .query("CREATE TABLE plain (k bytea PRIMARY KEY, ver bigint NOT NULL, v bytea NOT NULL)");
    let open = |connections: usize| -> Result<Postgres, Box<dyn std::error::Error>> {
        let url = format!(
            "{}&connections={connections}&read_connections={}",
            server.url(),
            connections + 2
        );
        let config = PostgresConfig::parse(&url, |_| None)?;
        if liteio_postgres::status(&config).is_err() {
            liteio_postgres::create(&config, ClusterId([1; 16]))?;
        }
        Ok(Postgres::open(&config)?)
    };
    open(1)?;
    let prefix = AtomicU64::new(0);
    for clients in [1, 16, 64] {
        let upsert = plain(&server, clients, time, Plain::Upsert)?;
        upsert.print("upsert", clients, &upsert);
        let database = open(clients)?;
        let put = puts(&server, &database, clients, 1, time, prefix.fetch_add(1, Relaxed));
        put.print("put", clients, &upsert);
        let kv = Kv::over(Arc::new(open(8)?), DatabaseConfig::default())?;
        let put = updates(&server, &kv, clients, time, prefix.fetch_add(1, Relaxed));
        put.print("put through Kv", clients, &upsert);
        if clients > 8 {
            let database = open(8)?;
            let size = clients / 8;
            let put = puts(&server, &database, 8, size, time, prefix.fetch_add(1, Relaxed));
            put.print("put in groups", clients, &upsert);
        }
    }
    println!("filling {rows} rows");
    let _ = server.query(&format!(
        "INSERT INTO liteio.kv SELECT convert_to('list/' || lpad((i % 1000)::text, 4, '0') || '/' || md5(i::text), 'UTF8'), i,
            decode(repeat(md5(i::text), 9), 'hex') FROM generate_series(1, {rows}) i ORDER BY random();
         INSERT INTO plain SELECT * FROM liteio.kv WHERE k >= 'list/' AND k < 'list0'; ANALYZE"
    ));
    for clients in [1, 16] {
        let select = plain(&server, clients, time, Plain::Select)?;
        select.print("select", clients, &select);
        let database = open(clients)?;
        let get = measured(&server, clients, time, |client, step| {
            let want = Want::Key(key(client as u64 * 7_919 + step));
            let fetched = database.fetch(&[want]).expect("it is fetched");
            assert!(fetched.answers[0] != liteio_kv::database::Answer::Row(None));
            1
        });
        get.print("get with epochs", clients, &select);
    }
    let database = open(1)?;
    let list = Want::Rows {
        lower: b"list/0500/".to_vec(),
        upper: Some(b"list0".to_vec()),
        max: 1_000,
        is_backward: false,
    };
    let entries = |text| Want::Entries {
        lower: b"list/".to_vec(),
        upper: b"list0".to_vec(),
        delimiter: b"/".to_vec(),
        text,
        text_end: Vec::new(),
        max: 1_000,
    };
    for (name, want) in [
        ("list of 1,000", list),
        ("1,000 prefixes by a delimiter", entries(5)),
        ("1,000 keys that have none", entries(10)),
    ] {
        let lists = measured(&server, 1, time, |_, _| {
            database.fetch(std::slice::from_ref(&want)).map(|_| 1).expect("it is fetched")
        });
        lists.print(name, 1, &lists);
    }
    Ok(())
}

/// Some of the keys of the filled rows.
static KEYS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();

/// One of [`KEYS`], by chance.
fn key(number: u64) -> Vec<u8> {
    let keys = KEYS.get().expect("keys are known");
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    keys[mixed as usize % keys.len()].clone()
}

/// The result of a measurement.
struct Rate {
    per_second: f64,
    /// Microseconds of CPU of the server for each.
    cpu: f64,
}

impl Rate {
    fn print(&self, name: &str, clients: usize, beside: &Self) {
        println!(
            "{name:30} {clients:3} clients {:9.0}/s {:5.2} x {:8.1} us of CPU",
            self.per_second,
            self.per_second / beside.per_second,
            self.cpu
        );
    }
}

/// Runs a closure in each of some threads until the time is over. It returns how many it has done.
fn measured(
    server: &Server,
    clients: usize,
    time: Duration,
    work: impl Fn(usize, u64) -> u64 + Sync,
) -> Rate {
    let (is_over, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let (before, begun) = (cpu_of(server), Instant::now());
    std::thread::scope(|scope| {
        for client in 0..clients {
            let (work, is_over, done) = (&work, &is_over, &done);
            scope.spawn(move || {
                let mut step = 0;
                while !is_over.load(Relaxed) {
                    done.fetch_add(work(client, step), Relaxed);
                    step += 1;
                    if begun.elapsed() >= time {
                        is_over.store(true, Relaxed);
                    }
                }
            });
        }
    });
    let (elapsed, done) = (begun.elapsed().as_secs_f64(), done.load(Relaxed) as f64);
    Rate { per_second: done / elapsed, cpu: (cpu_of(server) - before) / done * 1e6 }
}

/// Seconds of CPU of all processes of the server, also of those that have ended.
fn cpu_of(server: &Server) -> f64 {
    let pid = fs::read_to_string(server.data().join("postmaster.pid")).unwrap_or_default();
    let pid = pid.lines().next().unwrap_or_default().to_owned();
    let children =
        fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let ticks = |pid: &str, fields: std::ops::Range<usize>| -> f64 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields_of = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        fields_of
            .skip(fields.start)
            .take(fields.len())
            .filter_map(|it| it.parse::<f64>().ok())
            .sum()
    };
    // utime and stime of each, and those of the children that the server has waited for.
    let running: f64 = children.split_whitespace().map(|pid| ticks(pid, 11..13)).sum();
    (running + ticks(&pid, 11..15)) / TICKS
}

/// Commits of groups of so many puts.
fn puts(
    server: &Server,
    database: &Postgres,
    clients: usize,
    size: usize,
    time: Duration,
    prefix: u64,
) -> Rate {
    let value = vec![7; BYTES];
    let run = database.run();
    measured(server, clients, time, |client, step| {
        let worker = Worker { run, index: client as u32 };
        let row = |index: usize| {
            // Keys of all clients lie among each other.
            let number = (step * size as u64 + index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            format!("put/{prefix}/{number:016x}/{client}").into_bytes()
        };
        let mut keys: Vec<Vec<u8>> = (0..size).map(row).collect();
        keys.sort();
        let alone = keys.iter().map(|key| ClaimName { name: key.clone(), is_shared: false });
        let bucket = std::iter::once(ClaimName { name: b"bucket".to_vec(), is_shared: true });
        let write = |key| RowWrite { key, expected: Some(0), value: Some(value.clone()) };
        let group = Group {
            version: (u64::from(run) << 40) | ((client as u64) << 30) | (step + 1),
            claims: bucket.chain(alone).collect(),
            keys: vec![(b"no bucket".to_vec(), 0)],
            writes: keys.into_iter().map(write).collect(),
            counters: vec![CounterWrite {
                key: b"usage".to_vec(),
                begins_anew: false,
                added: Counts([size as i64, (size * BYTES) as i64, 0, 0]),
            }],
            ..Group::default()
        };
        database.commit(worker, step + 1, &group).expect("it commits");
        size as u64
    })
}

/// Updates of a key space that put one row each.
fn updates(server: &Server, kv: &Kv, clients: usize, time: Duration, prefix: u64) -> Rate {
    let rate = measured(server, clients, time, |client, step| {
        let number = step.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let key = format!("put/{prefix}/{number:016x}/{client}").into_bytes();
        let value = vec![7; BYTES];
        let put = kv.update(move |update| {
            // As a put of an object: all that it will read, at once.
            update.fetch([&b"no bucket"[..], b"usage", &key])?;
            update.claim(Named(b"bucket", true))?;
            update.get(b"no bucket")?;
            update.claim(Named(&key, false))?;
            update.get(&key)?;
            update.put(&key, &value)?;
            let counts = Counts([1, BYTES as i64, 0, 0]);
            update.add::<Usage>(b"usage", &[CountChange { at: &key, counts }])
        });
        put.wait().expect("it commits");
        1
    });
    let stats = kv.stats();
    let per_group = stats.updates as f64 / stats.groups as f64;
    println!("{:30} {per_group:.1} updates a group, {} fetches", "", stats.fetches);
    rate
}

/// A claim with a name, which may be shared.
struct Named<'n>(&'n [u8], bool);

impl Claim for Named<'_> {
    fn append_name(&self, name: &mut Vec<u8>) {
        name.extend_from_slice(self.0);
    }

    fn is_shared(&self) -> bool {
        self.1
    }
}

/// A counter of which a database needs no row.
struct Usage;

impl CounterRow for Usage {
    type Error = KvError;

    fn decode(_: &[u8], _: &[u8]) -> Result<Option<Self>, KvError> {
        Ok(Some(Self))
    }

    fn encode(&self, _: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    fn counted(&self) -> Counted {
        Counted::default()
    }

    fn change(&mut self, _: &CountChange<'_>) -> bool {
        true
    }
}

/// A statement of PostgreSQL's own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plain {
    Upsert,
    Select,
}

/// PostgreSQL's own statement, by as many clients, each with a connection of its own.
fn plain(
    server: &Server,
    clients: usize,
    time: Duration,
    kind: Plain,
) -> Result<Rate, Box<dyn std::error::Error>> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let directory = server.socket();
    let directory = directory.parent().ok_or("no directory")?.display().to_string();
    let text = match kind {
        Plain::Upsert => {
            "INSERT INTO plain VALUES ($1, $2, $3) ON CONFLICT (k) DO UPDATE SET ver = excluded.ver, v = excluded.v"
        }
        Plain::Select => "SELECT ver, v FROM plain WHERE k = $1",
    };
    if kind == Plain::Select && KEYS.get().is_none() {
        let found = server.query(
            "SELECT encode(k, 'escape') FROM plain WHERE k >= 'list/' AND k < 'list0' LIMIT 200000",
        );
        let _ = KEYS.set(found.lines().map(|it| it.as_bytes().to_vec()).collect());
    }
    let mut connected = Vec::new();
    for _ in 0..clients {
        let (client, statement) = runtime.block_on(async {
            let address = format!("host={directory} user=liteio dbname=postgres");
            let (client, connection) = tokio_postgres::connect(&address, NoTls).await?;
            tokio::spawn(connection);
            let statement = client.prepare(text).await?;
            Ok::<_, tokio_postgres::Error>((client, statement))
        })?;
        connected.push((client, statement));
    }
    let value = vec![7_u8; BYTES];
    Ok(measured(server, clients, time, |index, step| {
        let (client, statement) = &connected[index];
        let done = runtime.block_on(async {
            match kind {
                Plain::Upsert => {
                    let number = step.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    let key = format!("put/{number:016x}/{index}/{clients}").into_bytes();
                    client.execute(statement, &[&key, &(step as i64 + 1), &value]).await.map(|_| ())
                }
                Plain::Select => {
                    let key = key(index as u64 * 7_919 + step);
                    client.query(statement, &[&key]).await.map(|found| assert_eq!(found.len(), 1))
                }
            }
        });
        done.map_err(|error| KvError::Corrupt(error.to_string())).expect("it runs");
        1
    }))
}
