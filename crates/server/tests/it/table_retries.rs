//! `Idempotency-Key` of the Iceberg REST catalog: a request that is sent again is not executed again.

use std::sync::Arc;

use liteio::TestAccess;
use liteio_store::tables::KeyedAnswer;
use liteio_store::{BucketName, ShiftedClock, Store, StoreConfig, SystemClock};
use serde_json::{Value, json};

use crate::admin;
use crate::harness::{ALICE, TestServer, start_with};
use crate::reply::Reply;
use crate::test_api::told;

const NAMESPACES: &str = "/_iceberg/v1/lake/namespaces";
const TABLES: &str = "/_iceberg/v1/lake/namespaces/sales/tables";

fn key(number: usize) -> String {
    format!("017f22e2-79b0-7cc3-98c4-{number:012x}")
}

async fn send(
    server: &TestServer,
    (method, path): (&'static str, &str),
    key: Option<&str>,
    body: &Value,
) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = server.request(method, path).for_service("s3tables").body(body);
    match key {
        Some(key) => request.header("idempotency-key", key).send().await,
        None => request.send().await,
    }
}

fn document(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("no JSON: {}", reply.text()))
}

fn schema() -> Value {
    json!({ "type": "struct", "fields": [{ "id": 1, "name": "id", "type": "long", "required": true }] })
}

fn set(value: &str) -> Value {
    json!({ "requirements": [], "updates": [{ "action": "set-properties", "updates": { "x": value } }] })
}

async fn lake() -> TestServer {
    let server =
        start_with("memory", "us-east-1", |builder, _| builder.test_api(TestAccess::Local)).await;
    server.bucket("lake").await;
    let body = json!({ "namespace": ["sales"] });
    send(&server, ("POST", NAMESPACES), None, &body).await.expect_status(200);
    server
}

#[tokio::test]
async fn a_request_that_is_sent_again_gets_the_first_answer() {
    let server = lake().await;
    let config = send(&server, ("GET", "/_iceberg/v1/config?warehouse=lake"), None, &Value::Null);
    assert_eq!(document(&config.await)["idempotency-key-lifetime"], "PT30M");
    let table = json!({ "name": "t", "schema": schema() });
    let view = json!({ "name": "v", "schema": schema(), "properties": {}, "view-version": {
        "version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {}, "default-namespace": ["sales"],
        "representations": [{ "type": "sql", "sql": "select 1", "dialect": "spark" }] } });
    let rename = json!({ "source": { "namespace": ["sales"], "name": "t" },
        "destination": { "namespace": ["sales"], "name": "t2" } });
    let transaction = json!({ "table-changes": [{ "identifier": { "namespace": ["sales"], "name": "t2" },
        "requirements": [], "updates": set("3")["updates"] }] });
    let properties = json!({ "updates": { "a": "1" }, "removals": ["b"] });
    let rows: [(&'static str, &str, Value); 11] = [
        (
            "POST",
            NAMESPACES,
            json!({ "namespace": ["other"], "properties": { "a": "0", "b": "0" } }),
        ),
        ("POST", "/_iceberg/v1/lake/namespaces/other/properties", properties),
        ("DELETE", "/_iceberg/v1/lake/namespaces/other", Value::Null),
        ("POST", TABLES, table),
        ("POST", "/_iceberg/v1/lake/namespaces/sales/tables/t", set("2")),
        // Nothing changes.
        ("POST", "/_iceberg/v1/lake/namespaces/sales/tables/t", set("2")),
        ("POST", "/_iceberg/v1/lake/tables/rename", rename),
        ("POST", "/_iceberg/v1/lake/transactions/commit", transaction),
        ("POST", "/_iceberg/v1/lake/namespaces/sales/views", view),
        ("DELETE", "/_iceberg/v1/lake/namespaces/sales/views/v", Value::Null),
        ("DELETE", "/_iceberg/v1/lake/namespaces/sales/tables/t2?purgeRequested=true", Value::Null),
    ];
    for (number, (method, path, body)) in rows.iter().enumerate() {
        let key = key(number);
        let first = send(&server, (*method, *path), Some(&key), body).await;
        assert!(first.status < 300, "{method} {path}: {}", first.everything());
        let again = send(&server, (*method, *path), Some(&key), body).await;
        assert_eq!(first.status, again.status, "{method} {path}: {}", again.everything());
        // The metadata of a dropped table and the properties of a dropped namespace are gone with them.
        assert_eq!(first.text(), again.text(), "{method} {path}");
    }
}

#[tokio::test]
async fn a_commit_is_made_once_whatever_comes_between() {
    let server = lake().await;
    let table = json!({ "name": "t", "schema": schema() });
    send(&server, ("POST", TABLES), None, &table).await.expect_status(200);
    let path = "/_iceberg/v1/lake/namespaces/sales/tables/t";
    let commit = async |key: Option<&str>, value: &str| {
        send(&server, ("POST", path), key, &set(value)).await
    };
    let first = document(&commit(Some(&key(1)), "1").await.expect_status(200));
    commit(None, "2").await.expect_status(200);
    let again = document(&commit(Some(&key(1)), "1").await.expect_status(200));
    assert_eq!(again, first);
    let loaded = document(&send(&server, ("GET", path), None, &Value::Null).await);
    assert_eq!(loaded["metadata"]["properties"]["x"], "2");
    // The same at the same time.
    let second = key(2);
    let (one, other) = tokio::join!(commit(Some(&second), "3"), commit(Some(&second), "3"));
    assert_eq!(document(&one.expect_status(200)), document(&other.expect_status(200)));
    let loaded = document(&send(&server, ("GET", path), None, &Value::Null).await);
    let location = loaded["metadata-location"].as_str().expect("a location");
    assert!(location.contains("/00003-"), "{location}: three commits");
    // Another request, another sender and other keys.
    commit(Some(&key(1)), "4").await.expect_status(422);
    let namespaces = ("POST", NAMESPACES);
    let body = json!({ "namespace": ["n"] });
    let reused = send(&server, namespaces, Some(&key(1)), &body).await;
    reused.expect_status(422);
    for wrong in ["", "1", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f"] {
        commit(Some(wrong), "5").await.expect_status(400);
    }
    // Reading takes no key.
    send(&server, ("GET", path), Some("1"), &Value::Null).await.expect_status(200);
}

#[tokio::test]
async fn refusals_are_final_and_answers_expire() {
    let server = lake().await;
    let create = json!({ "namespace": ["taken"] });
    let namespaces = ("POST", NAMESPACES);
    send(&server, namespaces, None, &create).await.expect_status(200);
    let refused = send(&server, namespaces, Some(&key(1)), &create).await;
    refused.expect_status(409);
    let taken = ("DELETE", "/_iceberg/v1/lake/namespaces/taken");
    send(&server, taken, None, &Value::Null).await.expect_status(204);
    let refused = send(&server, namespaces, Some(&key(1)), &create).await;
    refused.expect_status(409);
    send(&server, namespaces, Some(&key(2)), &create).await.expect_status(200);
    send(&server, taken, Some(&key(3)), &Value::Null).await.expect_status(204);
    for minutes in [20_u64, 20] {
        send(&server, taken, Some(&key(3)), &Value::Null).await.expect_status(204);
        told(&server, "PUT", "/clock", json!({ "advance_ms": minutes * 60_000 })).await;
    }
    let gone = send(&server, taken, Some(&key(3)), &Value::Null).await;
    gone.expect_status(404);
    send(&server, namespaces, Some(&key(1)), &create).await.expect_status(200);
}

/// A refusal whose reason may pass is no answer to keep: the same request is tried again.
#[tokio::test]
async fn a_refusal_that_may_pass_is_not_final() {
    let server = lake().await;
    send(&server, ("POST", TABLES), None, &json!({ "name": "t", "schema": schema() })).await;
    let quota = async |size: u64| {
        let document = json!({ "quota": size, "size": size, "quotatype": "hard" }).to_string();
        let path = "set-bucket-quota?bucket=lake";
        admin::send(&server, ALICE, "PUT", path, document).await.expect_status(200);
    };
    let path = "/_iceberg/v1/lake/namespaces/sales/tables/t";
    quota(1).await;
    send(&server, ("POST", path), Some(&key(1)), &set("1")).await.expect_status(400);
    quota(0).await;
    let again = send(&server, ("POST", path), Some(&key(1)), &set("1")).await;
    assert_eq!(document(&again.expect_status(200))["metadata"]["properties"]["x"], "1");
}

/// Answers are never forgotten before their time, so the requests of an account that has too many are refused.
#[tokio::test]
async fn an_account_has_a_limited_number_of_answers() {
    const ANSWERS_MAX: u64 = 100_000;
    let clock = Arc::new(ShiftedClock::new(Arc::new(SystemClock)));
    let config = StoreConfig { clock: Arc::clone(&clock) as _, ..StoreConfig::memory() };
    let store = Store::open(config).expect("a store");
    let server = start_with("memory", "us-east-1", |builder, _| {
        builder.store(store.clone()).test_api(TestAccess::Local)
    })
    .await;
    server.bucket("lake").await;
    let bucket = store.bucket(&BucketName::new("lake").expect("a name")).expect("a bucket");
    let noted: Vec<_> = (1..ANSWERS_MAX)
        .map(|number| {
            let key = (u128::from(number) << 64).to_be_bytes();
            let account = bucket.owner.id.clone();
            store.note_answer(KeyedAnswer { key, account, request: String::new(), answer: vec![] })
        })
        .collect();
    noted.into_iter().for_each(|noted| noted.wait().expect("noted"));
    let create = async |name: &str, key: Option<&str>| {
        send(&server, ("POST", NAMESPACES), key, &json!({ "namespace": [name] })).await
    };
    create("last", Some(&key(2))).await.expect_status(200);
    let refused = create("refused", Some(&key(3))).await.expect_status(429);
    assert_eq!(refused.header("retry-after"), Some("60"));
    assert!(refused.text().contains("Idempotency-Key"), "{}", refused.text());
    // Answers that were given are given again, and requests without a key need none.
    create("last", Some(&key(2))).await.expect_status(200);
    create("plain", None).await.expect_status(200);
    clock.set_offset_ms(36 * 60 * 1000);
    told(&server, "PUT", "/clock", json!({ "advance_ms": 0 })).await;
    create("refused", Some(&key(3))).await.expect_status(200);
}
