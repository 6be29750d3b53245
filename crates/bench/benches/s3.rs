//! `cargo bench --bench s3`: our own server inside this process, in memory and on files, with the
//! client of `liteio-bench s3`. A few minutes; for rivals and for resources use `liteio-bench`.

use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use liteio::{Server, ServerHandle};
use liteio_bench::s3::case::{Case, Extent, Work, cases};
use liteio_bench::s3::client::Endpoint;
use liteio_bench::s3::session::{Session, Stock};
use liteio_bench::s3::sign::PayloadMode;
use liteio_bench::s3::work::repeat_exactly;

const ACCESS_KEY: &str = "liteio";
const SECRET_KEY: &str = "liteio123";

/// The rows that can be repeated at will, without those that only differ in the number of clients.
fn rows() -> Vec<Case> {
    let mut cases = cases(Extent { quick: true, large: false });
    cases.retain(|case| {
        let repeated = !matches!(
            case.work,
            Work::Delete { existing: true }
                | Work::DeleteMany { .. }
                | Work::ScaleWrite { .. }
                | Work::ScaleList { .. }
                | Work::ScaleDelete { .. }
        );
        repeated && !["Metadata", "Edge"].contains(&case.group)
    });
    cases
}

fn benches(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let servers = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let start = |builder: liteio::ServerBuilder| -> ServerHandle {
        servers.block_on(builder.spawn()).expect("the server starts")
    };
    let handles = [
        ("memory", start(Server::builder().memory())),
        ("fsync", start(Server::builder().data_dir(directory.path()))),
    ];
    let client = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let client = client.expect("a runtime can be made");
    let cases = rows();
    let stock = Rc::new(Stock::new(&cases, PayloadMode::Signed));
    let mut sessions: Vec<(&str, Session)> = handles
        .iter()
        .map(|(name, handle)| {
            let endpoint = Endpoint {
                host: handle.address().to_string(),
                access_key: ACCESS_KEY.to_owned(),
                secret_key: SECRET_KEY.to_owned(),
                region: "us-east-1".to_owned(),
            };
            let mut session =
                Session::new(Arc::new(endpoint), PayloadMode::Signed, Rc::clone(&stock));
            let ready = client.block_on(session.ready(Duration::from_secs(10)));
            ready.expect("the server answers");
            (*name, session)
        })
        .collect();
    for case in &cases {
        let mut group = criterion.benchmark_group(&case.name);
        if case.work.bytes_moved() > 0 {
            group.throughput(Throughput::Bytes(case.work.bytes_moved() as u64));
        }
        for (name, session) in &mut sessions {
            client.block_on(session.prepare(&case.work)).expect("the fixed objects can be put");
            group.bench_function(*name, |bencher| {
                bencher.iter_custom(|operations| {
                    let began = Instant::now();
                    let driven = client.block_on(repeat_exactly(session, case, operations));
                    let elapsed = driven.elapsed.min(began.elapsed());
                    black_box(driven.first_failure()).expect("every operation succeeds");
                    elapsed
                });
            });
        }
        group.finish();
    }
    for (_, handle) in handles {
        servers.block_on(handle.stop());
    }
}

criterion_group! {
    name = s3;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1500));
    targets = benches
}
criterion_main!(s3);
