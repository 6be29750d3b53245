//! Metrics of what works in the background, and of vectors: each tells its own figure.

use std::fs;
use std::time::{Duration, Instant};

use liteio::{EventSettings, TestAccess, Webhook};
use serde_json::json;

use crate::harness::{TestServer, both, start_with, with_events};
use crate::metrics::{OWN, scrape};
use crate::receiver::Receiver;
use crate::scrub::blob;
use crate::vectors::{make_index, put_body};

/// Nothing in these tests takes this long unless it hangs.
const LONG: Duration = Duration::from_secs(60);

/// Scrapes until all metrics have their values in one page: what works in the background counts one
/// thing after the other.
async fn check(server: &TestServer, expected: &[(&str, f64)]) {
    let begun = Instant::now();
    loop {
        let found = scrape(server, OWN).await;
        if expected.iter().all(|(name, value)| found.get(*name) == Some(value)) {
            return;
        }
        assert!(begun.elapsed() < LONG, "never {expected:?}: {found:#?}");
    }
}

#[tokio::test]
async fn the_reclaimer_tells_what_it_has_deleted() {
    let [_, server] = both().await;
    server.bucket("photos").await;
    for key in ["a", "b", "c"] {
        server.put(&format!("/photos/{key}"), [7; 100_000]).await.expect_status(200);
    }
    for key in ["a", "b"] {
        server.delete(&format!("/photos/{key}")).await.expect_status(204);
    }
    let expected = [
        ("liteio_reclaimer_deleted_total", 2.0),
        ("liteio_reclaimer_waiting", 0.0),
        ("liteio_reclaimer_orphans_total", 0.0),
        ("liteio_reclaimer_lost", 0.0),
    ];
    check(&server, &expected).await;
}

#[tokio::test]
async fn lifecycle_rules_tell_what_they_have_looked_at_and_ended() {
    let server =
        start_with("memory", "us-east-1", |builder, _| builder.test_api(TestAccess::Local)).await;
    server.bucket("photos").await;
    for (key, body) in [("a", "large"), ("b", "large"), ("c", "")] {
        server.put(&format!("/photos/{key}"), body).await.expect_status(200);
    }
    let rules = "<LifecycleConfiguration><Rule><Status>Enabled</Status>\
                 <Filter><ObjectSizeGreaterThan>1</ObjectSizeGreaterThan></Filter>\
                 <Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>";
    server.put("/photos?lifecycle", rules).await.expect_status(200);
    // The walk of the second day ends them: the numbers are those of the last one.
    let days = json!({ "advance_ms": 2_u64 * 86_400_000 }).to_string();
    let advance = server.request("PUT", "/_liteio/test/clock").anonymous().body(days);
    advance.send().await.expect_status(200);
    let expected = [
        ("liteio_lifecycle_examined", 3.0),
        ("liteio_lifecycle_ended", 2.0),
        ("liteio_lifecycle_running", 0.0),
        ("liteio_objects", 1.0),
    ];
    check(&server, &expected).await;
}

#[tokio::test]
async fn a_scrub_tells_its_records_its_damage_and_its_end() {
    let [_, server] = both().await;
    server.bucket("photos").await;
    server.put("/photos/cat", [7; 100_000]).await.expect_status(200);
    let damaged = blob(&server.data_dir().join("blobs")).expect("one");
    let mut bytes = fs::read(&damaged).expect("readable");
    bytes[50_000] ^= 1;
    fs::write(&damaged, bytes).expect("written");
    let ended = "liteio_scrub_ended_timestamp_seconds";
    assert!(!scrape(&server, OWN).await.contains_key(ended));
    let begun = jiff::Timestamp::now().as_second() as f64;
    server.scrub();
    check(&server, &[("liteio_scrub_damaged", 1.0), ("liteio_scrub_running", 0.0)]).await;
    let found = scrape(&server, OWN).await;
    assert!(found["liteio_scrub_records"] > 1.0, "the bucket and the object: {found:#?}");
    assert!(found[ended] >= begun, "{found:#?}");
}

#[tokio::test]
async fn the_outbox_tells_what_waits_what_is_lost_and_who_fails() {
    let receiver = Receiver::deciding(|_| 500).await;
    let targets = vec![Webhook::new("hook", receiver.url()).expect("valid").into()];
    let server =
        with_events(EventSettings { targets, waiting_max: 2, ..EventSettings::default() }).await;
    server.bucket("photos").await;
    let asked = "<NotificationConfiguration><QueueConfiguration>\
                 <Queue>arn:aws:sqs:us-east-1:000000000000:hook</Queue>\
                 <Event>s3:ObjectCreated:*</Event></QueueConfiguration></NotificationConfiguration>";
    // This tells an event, too.
    server.put("/photos?notification", asked).await.expect_status(200);
    for key in ["a", "b", "c", "d"] {
        server.put(&format!("/photos/{key}"), "1").await.expect_status(200);
    }
    let expected = [
        ("liteio_events_waiting", 2.0),
        ("liteio_events_lost_total", 3.0),
        ("liteio_events_failing_targets", 1.0),
    ];
    check(&server, &expected).await;
}

#[tokio::test]
async fn vectors_tell_their_buckets_indexes_and_those_in_use() {
    let server = crate::harness::memory().await;
    make_index(&server).await;
    for name in ["unused", "empty"] {
        let index = json!({
            "vectorBucketName": "media", "indexName": name, "dataType": "float32", "dimension": 3,
            "distanceMetric": "cosine",
        });
        server.vectors("CreateIndex", index.to_string()).send().await.expect_status(200);
    }
    let vectors = ["a", "b", "c", "d"]
        .map(|key| format!(r#"{{"key":"{key}","data":{{"float32":[1,2,3]}}}}"#));
    let put = server.vectors("PutVectors", put_body(&format!("[{}]", vectors.join(","))));
    put.send().await.expect_status(200);
    let expected = [
        ("liteio_vector_open_vectors", 4.0),
        ("liteio_vector_buckets", 1.0),
        ("liteio_vector_indexes", 3.0),
        ("liteio_vector_preparing", 0.0),
    ];
    check(&server, &expected).await;
    let open = scrape(&server, OWN).await["liteio_vector_open_indexes"];
    assert!((1.0..=3.0).contains(&open), "{open}");
}
