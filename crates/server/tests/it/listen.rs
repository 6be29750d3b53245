//! MinIO's stream of events, by requests as its clients send them.

use serde_json::{Value, json};

use crate::harness::{ACCOUNTS, ALICE, BOB, CAROL, in_memory_with_users, memory};
use crate::trace::{entry, line, listen_to};

const CREATED: &str = "events=s3%3AObjectCreated%3A%2A";
/// As `mc watch` asks.
const ALL: &str = "events=s3%3AObjectCreated%3A%2A&events=s3%3AObjectRemoved%3A%2A&events=s3%3AObjectAccessed%3A%2A\
                   &ping=10";

/// The name of an event, its bucket and its key.
fn told(document: &Value) -> [&str; 3] {
    let record = &document["Records"][0];
    let s3 = &record["s3"];
    [&record["eventName"], &s3["bucket"]["name"], &s3["object"]["key"]]
        .map(|value| value.as_str().unwrap_or_default())
}

fn has_records(document: &Value) -> bool {
    document["Records"].is_array()
}

#[tokio::test]
async fn changes_of_a_bucket_are_streamed_as_they_happen() {
    let server = memory().await;
    server.bucket("photos").await;
    server.bucket("other").await;
    let path = format!("/photos?{ALL}&prefix=in%2F&suffix=.jpg");
    let mut stream = listen_to(&server, &path, ALICE).await;
    server.put("/other/in/a.jpg", "1").await.expect_status(200);
    server.put("/photos/out/a.jpg", "1").await.expect_status(200);
    let put = server
        .request("PUT", "/photos/in/a%20cat.jpg")
        .headers(&[("user-agent", "mc-mirror:a"), ("x-amz-meta-mm-source-mtime", "1")])
        .body("123")
        .send()
        .await
        .expect_status(200);
    let delete = server.request("DELETE", "/photos/in/a%20cat.jpg");
    delete.header("user-agent", "mc-mirror:b").send().await.expect_status(204);
    let first = entry(&mut stream, has_records).await;
    assert_eq!(told(&first), ["s3:ObjectCreated:Put", "photos", "in%2Fa+cat.jpg"]);
    let object = &first["Records"][0]["s3"]["object"];
    assert_eq!(object["size"], 3);
    assert_eq!(Some(&*object["eTag"].to_string()), put.header("etag"));
    // The requester is told, though the bucket has no notifications.
    let record = &first["Records"][0];
    let id = put.header("x-amz-request-id");
    assert_eq!(record["responseElements"]["x-amz-request-id"].as_str(), id);
    assert_eq!(record["requestParameters"]["sourceIPAddress"], "127.0.0.1");
    assert_ne!(record["userIdentity"]["principalId"], "");
    // mc mirror --active-active skips its own copies by these.
    assert_eq!(object["userMetadata"]["X-Amz-Meta-Mm-Source-Mtime"], "1");
    assert_eq!(record["source"]["userAgent"], "mc-mirror:a");
    let second = entry(&mut stream, has_records).await;
    assert_eq!(second["Records"][0]["source"]["userAgent"], "mc-mirror:b");
    assert_eq!(second["Records"][0]["s3"]["object"]["userMetadata"], json!({}));
    assert_eq!(told(&second), ["s3:ObjectRemoved:Delete", "photos", "in%2Fa+cat.jpg"]);
}

#[tokio::test]
async fn a_stream_without_events_has_a_sign_of_life() {
    let server = memory().await;
    server.bucket("photos").await;
    let mut stream = listen_to(&server, &format!("/photos?{CREATED}&ping=1"), ALICE).await;
    let ping = entry(&mut stream, |_| true).await;
    assert_eq!(ping, json!({ "Records": null }));
    let mut stream = listen_to(&server, &format!("/photos?{CREATED}"), ALICE).await;
    while line(&mut stream).await.expect("the stream goes on") != " \r\n" {}
}

#[tokio::test]
async fn a_server_that_stops_ends_the_streams() {
    let server = memory().await;
    let mut stream = listen_to(&server, &format!("/?{ALL}"), ALICE).await;
    let stopped = server.stop();
    let ended = async { while line(&mut stream).await.is_some() {} };
    tokio::join!(stopped, ended);
}

#[tokio::test]
async fn an_account_hears_of_its_own_buckets_and_users_need_the_right() {
    let server = in_memory_with_users(ACCOUNTS).await;
    let send = |user, method, path: &'static str| {
        let request = server.request(method, path).by(user);
        async move { request.send().await }
    };
    send(ALICE, "PUT", "/of-alice").await.expect_status(200);
    send(BOB, "PUT", "/of-bob").await.expect_status(200);
    let mut of_alice = listen_to(&server, &format!("/?{CREATED}"), ALICE).await;
    send(BOB, "PUT", "/of-bob/x").await.expect_status(200);
    send(ALICE, "PUT", "/of-alice/x").await.expect_status(200);
    let first = entry(&mut of_alice, has_records).await;
    assert_eq!(told(&first), ["s3:ObjectCreated:Put", "of-alice", "x"]);

    for (user, path, code) in [
        (BOB, "/of-alice?events=s3:ObjectCreated:*", "AccessDenied"),
        (CAROL, "/of-alice?events=s3:ObjectCreated:*", "AccessDenied"),
        (CAROL, "/?events=s3:ObjectCreated:*", "AccessDenied"),
    ] {
        send(user, "GET", path).await.expect_error(403, code);
    }
    for path in [
        "/of-alice?events=s3:Nope",
        "/of-alice?events=s3:ObjectCreated:*&ping=0",
        "/?events=s3:ObjectCreated:*&ping=x",
    ] {
        send(ALICE, "GET", path).await.expect_error(400, "InvalidArgument");
    }
    send(ALICE, "GET", "/missing?events=s3:ObjectCreated:*")
        .await
        .expect_error(404, "NoSuchBucket");
}

/// A stream must not outlive the right to it.
#[tokio::test]
async fn a_stream_ends_when_its_bucket_is_gone() {
    let server = memory().await;
    server.bucket("photos").await;
    let mut stream = listen_to(&server, &format!("/photos?{CREATED}&ping=1"), ALICE).await;
    server.delete("/photos").await.expect_status(204);
    // The last chunk.
    while line(&mut stream).await.expect("the connection stays") != "0\r\n" {}
}
