//! Secrets of clients, in everything that tells of requests.

use std::fs;

use liteio::{AuditSettings, TestAccess};
use serde_json::Value;

use crate::harness::{ALICE, start_with};
use crate::trace::{PATHS, entry, listen_to};

/// A presigned query may carry any `x-amz-…` header, with the keys of the client's own encryption among them.
#[tokio::test]
async fn keys_of_clients_in_a_query_are_told_nowhere() {
    const KEY: &str = "c2VjcmV0IGtleQ";
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("audit.log");
    let audit = AuditSettings { file: Some(path.clone()), ..AuditSettings::default() };
    let server = start_with("memory", "us-east-1", |builder, _| {
        let builder = builder.credentials(ALICE.access_key, ALICE.secret_key);
        builder.audit(audit).test_api(TestAccess::Local)
    })
    .await;
    let mut traces = Vec::new();
    for path in PATHS {
        traces.push(listen_to(&server, path, ALICE).await);
    }
    let target = format!(
        "/photos/cat?X-Amz-Server-Side-Encryption-Customer-Key={KEY}&\
         x-amz-copy-source-server-side-encryption-customer-%6Bey={KEY}"
    );
    let presigned = server.request("GET", &target).presigned("60");
    let page = format!("http://localhost{target}");
    let refused = server.request("GET", &presigned).anonymous().header("referer", page);
    assert!(refused.send().await.status >= 400);

    for trace in &mut traces {
        let told = entry(trace, |entry| entry["path"] == "/photos/cat").await.to_string();
        assert!(told.contains("ustomer-") && !told.contains(KEY), "{told}");
    }
    let asked = server.request("GET", "/_liteio/test/requests/wait?count=1&timeout_ms=60000");
    let told = asked.anonymous().send().await.expect_status(200).text();
    assert!(told.contains("ustomer-") && !told.contains(KEY), "{told}");
    drop(traces);
    server.stop().await;
    let told = fs::read_to_string(&path).expect("text");
    let lines = told.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert!(lines.into_iter().any(|entry| entry["requestPath"] == "/photos/cat"), "{told}");
    assert!(!told.contains(KEY), "{told}");
}

/// An issuer's code and state are as good as the person's sign-in until the page has exchanged them.
#[tokio::test]
async fn the_answer_of_an_issuer_to_the_console_is_told_nowhere() {
    const ANSWER: &str = "/_liteio/console/?code=very-secret&state=very-secret";
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("audit.log");
    let audit = AuditSettings { file: Some(path.clone()), ..AuditSettings::default() };
    let server = start_with("memory", "us-east-1", |builder, _| {
        builder.credentials(ALICE.access_key, ALICE.secret_key).audit(audit)
    })
    .await;
    let mut traces = Vec::new();
    for path in PATHS {
        traces.push(listen_to(&server, path, ALICE).await);
    }
    server.request("GET", ANSWER).anonymous().send().await.expect_status(200);
    let script = server.request("GET", "/_liteio/console/app.js").anonymous();
    let script = script.header("referer", format!("http://localhost{ANSWER}"));
    script.send().await.expect_status(200);

    for trace in &mut traces {
        for path in ["/_liteio/console/", "/_liteio/console/app.js"] {
            let told = entry(trace, |entry| entry["path"] == path).await.to_string();
            assert!(told.contains("code") && !told.contains("very-secret"), "{told}");
        }
    }
    drop(traces);
    server.stop().await;
    let told = fs::read_to_string(&path).expect("text");
    assert!(told.contains("/_liteio/console/app.js") && !told.contains("very-secret"), "{told}");
}
