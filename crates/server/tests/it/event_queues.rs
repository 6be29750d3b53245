//! Events that go to queues of SQS.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use liteio::{Destination, EventSettings, SqsQueue};
use liteio_auth::fuzzing::signer::{Covered, Signer, sha256_hex};
use serde_json::Value;

use crate::command::Running;
use crate::harness::{self, RawRequest};
use crate::receiver::{Post, Receiver};

const REGION: &str = "eu-west-1";
const ACCESS_KEY: &str = "QUEUEKEY";
const SECRET_KEY: &str = "a secret of the queue";
const TAKEN: &str = "<SendMessageResponse><SendMessageResult><MessageId>1</MessageId>\
                     </SendMessageResult></SendMessageResponse>";

fn notification(arn: &str) -> String {
    format!(
        "<NotificationConfiguration><QueueConfiguration><Queue>{arn}</Queue>\
         <Event>s3:ObjectCreated:*</Event></QueueConfiguration></NotificationConfiguration>"
    )
}

/// The fields of the form.
fn form(post: &Post) -> BTreeMap<String, String> {
    form_urlencoded::parse(&post.body).into_owned().collect()
}

/// The event in a message, as of a webhook.
fn event(post: &Post) -> String {
    let body = form(post)["MessageBody"].clone().into_bytes().into();
    Post { headers: post.headers.clone(), body }.event()
}

/// The header that these keys make of a request to this path.
fn authorization(post: &Post, path: &str) -> String {
    let names = ["content-type", "host", "x-amz-date"];
    let signer = Signer {
        access_key: ACCESS_KEY,
        secret_key: SECRET_KEY,
        time: post.header("x-amz-date"),
        region: REGION,
        service: "sqs",
    };
    signer.authorization(&Covered {
        method: "POST",
        path,
        query: "",
        headers: names.map(|name| (name, post.header(name).as_bytes())).to_vec(),
        payload_hash: &sha256_hex(&post.body),
    })
}

#[tokio::test]
async fn a_queue_gets_events_in_signed_requests() {
    let mut receiver = Receiver::answering(|_| (200, TAKEN.to_owned())).await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("targets.toml");
    let url = format!("http://{}/000000000000/images", receiver.address);
    let text = format!(
        "[[sqs]]\nname = 'images'\nurl = '{url}'\nregion = '{REGION}'\n\
         access_key = '{ACCESS_KEY}'\nsecret_key = '{SECRET_KEY}'\n"
    );
    std::fs::write(&file, text).expect("written");
    let settings = EventSettings { target_file: Some(file), ..EventSettings::default() };
    let server = harness::with_events(settings).await;
    server.bucket("mine").await;
    let arn = "arn:aws:sqs:us-east-1:000000000000:images";
    server.put("/mine?notification", notification(arn)).await.expect_status(200);
    assert_eq!(event(&receiver.next().await), "s3:TestEvent");
    server.put("/mine/a%EF%BF%BFb", "123").await.expect_status(200);
    let post = receiver.next().await;
    let sent = post.header("authorization").replace(", ", ",");
    assert_eq!(sent, authorization(&post, "/000000000000/images"));
    let fields = form(&post);
    let asked = (&*fields["Action"], &*fields["Version"]);
    assert_eq!(asked, ("SendMessage", "2012-11-05"));
    assert_eq!(event(&post), "ObjectCreated:Put a%EF%BF%BFb");
    // SQS refuses some characters, which JSON can escape.
    assert!(!fields["MessageBody"].contains('\u{ffff}'));
    let told: Value = serde_json::from_str(&fields["MessageBody"]).expect("JSON");
    assert_eq!(told["Key"], "mine/a\u{ffff}b");
}

#[tokio::test]
async fn an_arn_of_minio_names_the_kind_of_its_target() {
    let mut receiver = Receiver::answering(|_| (200, TAKEN.to_owned())).await;
    let url = format!("http://{}/000000000000/images", receiver.address);
    let queue = SqsQueue {
        users: vec!["alice".to_owned()],
        ..SqsQueue::new("images", &url).expect("valid")
    };
    let hook = Destination::parse("hook=http://127.0.0.1:9/").expect("valid");
    let targets = vec![queue.into(), hook];
    let server = harness::with_events(EventSettings { targets, ..EventSettings::default() }).await;
    server.bucket("mine").await;
    for (arn, advice) in [
        ("arn:minio:sqs::images:webhook", "kind sqs, not webhook"),
        ("arn:minio:sqs::hook:sqs", "kind webhook, not sqs"),
        ("arn:minio:sqs::images:kafka", "kind sqs, not kafka"),
        ("arn:minio:sqs::other:sqs", "--event-target other=URL"),
    ] {
        let refused = server.put("/mine?notification", notification(arn)).await;
        let told = refused.expect_error(400, "InvalidArgument").text();
        assert!(told.contains(advice), "{arn}: {told}");
    }
    let arn = "arn:minio:sqs::images:sqs";
    server.put("/mine?notification", notification(arn)).await.expect_status(200);
    assert_eq!(event(&receiver.next().await), "s3:TestEvent");
}

#[tokio::test]
async fn a_queue_that_takes_nothing_at_first_gets_its_events_after_a_kill() {
    let asked = Arc::new(AtomicUsize::new(0));
    let mut receiver = Receiver::answering({
        let asked = Arc::clone(&asked);
        move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            // A page of a server that knows no queues.
            0 => (200, "<html>".to_owned()),
            1 => (400, "<ErrorResponse><Error><Code>NonExistentQueue</Code></Error>".to_owned()),
            2 | 3 => (503, String::new()),
            _ => (200, TAKEN.to_owned()),
        }
    })
    .await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let target = format!("images=sqs+http://{}/000000000000/images", receiver.address);
    let start = || {
        let arguments =
            ["--data-dir", "data", "--address", "127.0.0.1:0", "--event-target", &target];
        let users = [
            ("LITEIO_ACCESS_KEY", harness::ALICE.access_key),
            ("LITEIO_SECRET_KEY", harness::ALICE.secret_key),
        ];
        Running::start_with(&directory, &arguments, &users)
    };
    let running = start();
    let address = running.endpoint().trim_start_matches("http://").parse().expect("an address");
    let put = async |path: &str, body: String| {
        let request = RawRequest::of_s3(address, "us-east-1", "PUT", path).body(body);
        request.try_send().await.expect("an answer").expect_status(200);
    };
    put("/mine", String::new()).await;
    let arn = "arn:aws:sqs:us-east-1:000000000000:images";
    put("/mine?notification", notification(arn)).await;
    // The test event, which is not taken three times, is sent again.
    for _ in 0..3 {
        let post = receiver.next().await;
        assert_eq!(event(&post), "s3:TestEvent");
        assert!(!post.headers.contains_key("authorization"), "there are no keys");
    }
    put("/mine/a", "1".to_owned()).await;
    running.signal("KILL");
    let _running = start();
    while event(&receiver.next().await) != "ObjectCreated:Put a" {}
}
