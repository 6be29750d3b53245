//! The target of a backup in a bucket: a bucket of this server, and services that fail.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use liteio_backup::target::{PutMode, S3Settings, Target, TargetError, contract, open};

use crate::failing::{Failing, error, listing, ok};
use crate::harness::{ALICE, BOB, TestServer, User, both, memory};

fn settings(endpoint: &str, user: User) -> S3Settings {
    S3Settings {
        endpoint: Some(endpoint.to_owned()),
        access_key: Some(user.access_key.to_owned()),
        secret_key: Some(user.secret_key.to_owned()),
        ..S3Settings::default()
    }
}

fn target(endpoint: &str, location: &str) -> Arc<dyn Target> {
    open(location, &settings(endpoint, ALICE)).expect("a location")
}

/// Runs what blocks beside the server, which has the thread of the test.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("no panic")
}

async fn of(server: &TestServer, location: &str) -> Arc<dyn Target> {
    server.bucket("backup").await;
    target(&server.endpoint(), location)
}

#[tokio::test]
async fn a_bucket_keeps_the_contract() {
    for server in both().await {
        let whole = of(&server, "s3://backup").await;
        let below = target(&server.endpoint(), "s3://backup/pre/fix");
        blocking(move || {
            contract::target_contract(&*whole);
            contract::target_contract(&*below);
        })
        .await;
        server.stop().await;
    }
}

#[tokio::test]
async fn a_prefix_keeps_backups_apart() {
    let server = memory().await;
    let first = of(&server, "s3://backup/a").await;
    let second = target(&server.endpoint(), "s3://backup/ab");
    // Of others: the folder of a console, and a name that is none of a backup.
    for key in ["a/", "a/folder/", "a/with%20space"] {
        server.put(&format!("/backup/{key}"), "x").await.expect_status(200);
    }
    blocking(move || {
        for target in [&first, &second] {
            target.put("log/1", Bytes::from(target.shown()), PutMode::New).expect("stored");
        }
        assert_eq!(contract::names(&*first, "", None), ["log/1"]);
        assert_eq!(first.get("log/1"), Ok(Bytes::from_static(b"s3://backup/a")));
    })
    .await;
    server.get("/backup/a/log/1").await.expect_status(200);
    server.stop().await;
}

#[tokio::test]
async fn large_objects_and_many_pages_are_read() {
    let server = memory().await;
    let target = of(&server, "s3://backup/p").await;
    for number in 0..1_005 {
        server.put(&format!("/backup/p/log/{number:05}"), "x").await.expect_status(200);
    }
    blocking(move || {
        let expected: Vec<String> = (0..1_005).map(|number| format!("log/{number:05}")).collect();
        assert_eq!(contract::names(&*target, "log/", None), expected);
        assert_eq!(contract::names(&*target, "", Some("log/00002")), expected[3..]);

        let large = Bytes::from(vec![7; 64 << 20]);
        target.put("large", large.clone(), PutMode::New).expect("stored");
        assert!(target.get("large").expect("read") == large);
    })
    .await;
    server.stop().await;
}

fn refused<T: std::fmt::Debug>(result: Result<T, TargetError>, remedy: &str) {
    match result {
        Err(TargetError::Refused(line)) => {
            assert!(line.contains(remedy) && !line.contains('\n'), "{line}");
        }
        other => panic!("{remedy}: {other:?}"),
    }
}

fn broken<T: std::fmt::Debug>(result: Result<T, TargetError>) {
    assert!(matches!(result, Err(TargetError::Broken(_))), "{result:?}");
}

/// The outcomes of all operations that reach the service.
fn outcomes(target: &dyn Target) -> [Result<(), TargetError>; 5] {
    [
        target.put("a", Bytes::new(), PutMode::New),
        target.put("a", Bytes::new(), PutMode::Replace),
        target.get("a").map(drop),
        target.list("", None, &mut |_| ControlFlow::Continue(())),
        target.delete("a"),
    ]
}

#[tokio::test]
async fn what_the_user_must_change_is_refused_with_a_remedy() {
    let server = memory().await;
    server.bucket("backup").await;
    let endpoint = server.endpoint();
    let rows = [
        ("s3://absent", ALICE, "make the bucket 'absent'"),
        ("s3://backup", User { secret_key: "wrong", ..ALICE }, "correct the access key"),
        ("s3://backup", User { access_key: "nobody", ..ALICE }, "correct the access key"),
        ("s3://backup", BOB, "s3:PutObject"),
    ];
    for (location, user, remedy) in rows {
        let target = open(location, &settings(&endpoint, user)).expect("a location");
        let outcomes = blocking(move || outcomes(&*target)).await;
        outcomes.into_iter().for_each(|it| refused(it, remedy));
    }
    server.stop().await;
}

#[test]
fn what_passes_is_repeated_and_then_told() {
    let busy = Failing::start(|_, _| error(503, "SlowDown"));
    broken(target(busy.url(), "s3://backup").get("a"));
    assert_eq!(busy.requests().len(), 3, "two repetitions");
    let closing = Failing::start(|_, _| Vec::new());
    outcomes(&*target(closing.url(), "s3://backup")).into_iter().for_each(broken);
    // Nobody listens on a port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = port.local_addr().expect("an address");
    drop(port);
    broken(target(&format!("http://{address}"), "s3://backup").get("a"));
}

#[test]
fn an_object_that_the_service_cannot_read_is_named_with_the_request() {
    let damaged = Failing::start(|_, _| error(500, "InternalError"));
    let target = target(damaged.url(), "s3://backup/p");
    match target.get("log/1") {
        Err(failed @ TargetError::Unreadable { .. }) => {
            let told = failed.to_string();
            assert!(told.contains("log/1 of the backup cannot be read: http"), "{told}");
            assert!(told.contains("InternalError, status 500"), "{told}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(damaged.requests().len(), 3, "two repetitions");
    match target.put("log/2", Bytes::new(), PutMode::Replace) {
        Err(TargetError::Broken(told)) => assert!(told.contains("log/2"), "{told}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_object_that_is_cut_off_is_not_read() {
    let cut = Failing::start(|_, _| ok(&[("content-length", "10"), ("etag", "\"e\"")], b"half"));
    broken(target(cut.url(), "s3://backup").get("a"));
    let large = Failing::start(|_, _| ok(&[("content-length", "100000000")], b""));
    refused(target(large.url(), "s3://backup").get("a"), "more than");
}

/// Puts a new object `mine` to a service with these answers to puts and to gets.
fn put_new(
    puts: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static,
    get: Vec<u8>,
) -> (Result<(), TargetError>, usize) {
    let service = Failing::start(move |head, count| match head.starts_with("PUT ") {
        true => {
            assert!(head.to_lowercase().contains("if-none-match: *\r\n"), "{head}");
            puts(count)
        }
        false => get.clone(),
    });
    let result =
        target(service.url(), "s3://backup").put("a", Bytes::from_static(b"mine"), PutMode::New);
    (result, service.requests().len())
}

#[test]
fn a_lost_answer_is_no_conflict_with_oneself() {
    let exists = Err(TargetError::Exists { name: "a".to_owned() });
    let lost = |count| if count == 0 { Vec::new() } else { error(412, "PreconditionFailed") };
    let conflict = |_| error(412, "PreconditionFailed");
    let in_flight = |_| error(409, "ConditionalRequestConflict");
    let absent = || error(404, "NoSuchKey");

    assert_eq!(put_new(lost, ok(&[], b"mine")), (Ok(()), 3));
    assert_eq!(put_new(lost, ok(&[], b"none")), (exists.clone(), 3));
    assert_eq!(put_new(lost, ok(&[], b"longer")), (exists.clone(), 3));
    // Without a repetition it is of another, though the bytes are the same.
    assert_eq!(put_new(conflict, ok(&[], b"mine")), (exists.clone(), 1));
    assert_eq!(put_new(in_flight, ok(&[], b"mine")), (exists, 2));
    broken(put_new(in_flight, absent()).0);
}

#[test]
fn a_listing_out_of_order_is_refused() {
    let entry = |key: &str| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>");
    let page = |keys: &[&str], more: bool| {
        let entries: String = keys.iter().map(|key| entry(key)).collect();
        let more = match more {
            true => {
                "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
            }
            false => "",
        };
        let body = format!("<ListBucketResult>{entries}{more}</ListBucketResult>");
        ok(&[], body.as_bytes())
    };
    let (first, second) = (page(&["c", "d"], true), page(&["a"], false));
    let unordered =
        Failing::start(move |_, count| if count == 0 { first.clone() } else { second.clone() });
    let target = target(unordered.url(), "s3://backup");
    refused(
        target.list("", None, &mut |_| ControlFlow::Continue(())),
        "in the order of their names",
    );
    // One that ignores where the listing is to begin is told from that.
    let ignoring = Failing::start(move |_, _| listing(&entry("a")));
    let target = self::target(ignoring.url(), "s3://backup");
    refused(
        target.list("", Some("b"), &mut |_| ControlFlow::Continue(())),
        "in the order of their names",
    );
}
