//! Events that go to NATS servers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use liteio::{EventSettings, NatsServer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::command::Running;
use crate::harness::{self, RawRequest, TestServer};

/// Longer than anything that works takes.
const PATIENCE: Duration = Duration::from_secs(60);
const NO_STREAM: &str = "";
const STORED: &str = r#"{"stream":"events","seq":1}"#;
const FULL: &str = r#"{"error":{"code":503,"description":"maximum bytes exceeded"}}"#;
const REFUSED: &str = "-ERR 'Permissions Violation for Publish to \"events\"'";

/// A sign-in or a message that a server got.
#[derive(Debug, PartialEq, Eq)]
enum Got {
    Connect(Value),
    Published { subject: String, headers: String, body: String },
}

/// A server that speaks enough of the protocol of NATS, and tells what it got.
struct Nats {
    address: SocketAddr,
    got: mpsc::UnboundedReceiver<Got>,
}

impl Nats {
    /// One that answers the messages with `answers`, one after the other, and then with the last of them. It hangs up
    /// on connections before `down` have come.
    async fn start(down: usize, answers: &'static [&'static str]) -> Nats {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (sender, got) = mpsc::unbounded_channel();
        let next = Arc::new(AtomicUsize::new(0));
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept().await {
                number += 1;
                if number > down {
                    let (sender, next) = (sender.clone(), Arc::clone(&next));
                    tokio::spawn(async move { serve(stream, sender, answers, &next).await });
                }
            }
        });
        Nats { address, got }
    }

    async fn next(&mut self) -> Got {
        let next = tokio::time::timeout(PATIENCE, self.got.recv()).await;
        next.expect("something comes").expect("the server runs")
    }

    /// The next message: its subject, its ID and its document.
    async fn message(&mut self) -> (String, String, Value) {
        loop {
            if let Got::Published { subject, headers, body } = self.next().await {
                let id = headers.lines().find_map(|line| line.strip_prefix("Nats-Msg-Id: "));
                let told = serde_json::from_str(&body).expect("JSON");
                return (subject, id.expect("an ID").to_owned(), told);
            }
        }
    }

    /// A server with this one as a target, and a bucket whose events it gets.
    async fn target(&self, query: &str) -> TestServer {
        let url = format!("nats://me:a%20word@{}?{query}", self.address);
        let targets = vec![NatsServer::new("n", &url).expect("valid").into()];
        let events = EventSettings { targets, ..EventSettings::default() };
        let server = harness::with_events(events).await;
        server.bucket("mine").await;
        server
            .put("/mine?notification", notification("arn:minio:sqs::n:nats"))
            .await
            .expect_status(200);
        server
    }
}

async fn serve(
    stream: TcpStream,
    sender: mpsc::UnboundedSender<Got>,
    answers: &[&str],
    next: &AtomicUsize,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let information = r#"{"server_id":"s","version":"2.10.0","host":"h","port":1,"proto":1,"headers":true,"max_payload":1048576}"#;
    stream.write_all(format!("INFO {information}\r\n").as_bytes()).await.ok()?;
    let mut subscriptions: Vec<(String, String)> = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut answer = String::new();
        match words[..] {
            ["PING"] => answer.push_str("PONG\r\n"),
            ["CONNECT", ..] => {
                let told = serde_json::from_str(&line["CONNECT".len()..]).expect("JSON");
                sender.send(Got::Connect(told)).ok()?;
            }
            ["SUB", subject, id] => subscriptions.push((subject.to_owned(), id.to_owned())),
            ["PUB" | "HPUB", subject, ref rest @ ..] => {
                let number = |word: &str| word.parse::<usize>().expect("a number");
                let is_with_headers = words[0] == "HPUB";
                let (headers, length, reply) = match (is_with_headers, rest) {
                    (false, [length]) => (0, number(length), None),
                    (true, [headers, length]) => (number(headers), number(length), None),
                    (true, [reply, headers, length]) => {
                        (number(headers), number(length), Some(*reply))
                    }
                    _ => panic!("{line}"),
                };
                let mut bytes = vec![0; length + 2];
                stream.read_exact(&mut bytes).await.ok()?;
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
                let of = |subject: &str| {
                    let listens = |(pattern, _): &&(String, String)| {
                        pattern == subject
                            || pattern
                                .strip_suffix('*')
                                .is_some_and(|start| subject.starts_with(start))
                    };
                    subscriptions.iter().find(listens).map(|(_, id)| id.clone())
                };
                if let Some(id) = of(subject) {
                    answer = format!("MSG {subject} {id} 0\r\n\r\n");
                } else {
                    let told = answers[next.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)];
                    let id = reply.and_then(of).unwrap_or_default();
                    let reply = reply.unwrap_or_default();
                    answer = match told {
                        REFUSED => format!("{REFUSED}\r\n"),
                        _ if reply.is_empty() => String::new(),
                        NO_STREAM => format!("HMSG {reply} {id} 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"),
                        _ => format!("MSG {reply} {id} {}\r\n{told}\r\n", told.len()),
                    };
                    let body = text(&bytes[headers..length]);
                    let headers = text(&bytes[..headers]);
                    // Nobody listens any more at the end of a test.
                    sender
                        .send(Got::Published { subject: subject.to_owned(), headers, body })
                        .ok()?;
                }
            }
            _ => {}
        }
        stream.write_all(answer.as_bytes()).await.ok()?;
    }
}

fn notification(arn: &str) -> String {
    format!(
        "<NotificationConfiguration><QueueConfiguration><Queue>{arn}</Queue>\
         <Event>s3:ObjectCreated:*</Event></QueueConfiguration></NotificationConfiguration>"
    )
}

#[tokio::test]
async fn a_subject_gets_the_document_of_a_webhook() {
    let mut nats = Nats::start(0, &[NO_STREAM]).await;
    let server = nats.target("subject=s3.events").await;
    let Got::Connect(told) = nats.next().await else { panic!("no sign-in") };
    assert_eq!((&told["user"], &told["pass"]), (&"me".into(), &"a word".into()));
    server.put("/mine/a%20b", "123").await.expect_status(200);
    // Listeners know no test events, which only show whether the server answers.
    let (subject, _, document) = nats.message().await;
    assert_eq!(subject, "s3.events");
    assert_eq!(
        (&document["EventName"], &document["Key"]),
        (&"s3:ObjectCreated:Put".into(), &"mine/a b".into())
    );
    assert_eq!(document["Records"][0]["s3"]["object"]["key"], "a+b");
    let other = server.put("/mine?notification", notification("arn:minio:sqs::n:redis")).await;
    let told = other.expect_error(400, "InvalidArgument").text();
    assert!(told.contains("kind nats, not redis"), "{told}");
}

#[tokio::test]
async fn an_event_is_sent_again_with_its_id_until_a_stream_has_stored_it() {
    let mut nats = Nats::start(0, &[NO_STREAM, FULL, REFUSED, STORED]).await;
    let server = nats.target("jetstream=on").await;
    server.put("/mine/a", "1").await.expect_status(200);
    let first = nats.message().await;
    assert_eq!(first.0, "n");
    for _ in 0..3 {
        assert_eq!(nats.message().await, first);
    }
    server.put("/mine/b", "1").await.expect_status(200);
    let (_, id, document) = nats.message().await;
    assert_ne!(id, first.1);
    assert_eq!(document["Key"], "mine/b");
}

#[tokio::test]
async fn an_event_that_the_server_refuses_is_sent_again() {
    let mut nats = Nats::start(0, &[REFUSED, NO_STREAM]).await;
    let server = nats.target("").await;
    server.put("/mine/a", "1").await.expect_status(200);
    let first = nats.message().await;
    assert_eq!(nats.message().await, first);
}

#[tokio::test]
async fn events_arrive_after_a_kill_and_a_server_that_was_down() {
    let mut nats = Nats::start(2, &[STORED]).await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let address = nats.address.to_string();
    let start = || {
        let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0"];
        let variables = [
            ("LITEIO_ACCESS_KEY", harness::ALICE.access_key),
            ("LITEIO_SECRET_KEY", harness::ALICE.secret_key),
            ("MINIO_NOTIFY_NATS_ENABLE_N", "on"),
            ("MINIO_NOTIFY_NATS_ADDRESS_N", &address),
            ("MINIO_NOTIFY_NATS_SUBJECT_N", "objects"),
            ("MINIO_NOTIFY_NATS_TOKEN_N", "hush"),
            ("MINIO_NOTIFY_NATS_JETSTREAM_N", "on"),
        ];
        Running::start_with(&directory, &arguments, &variables)
    };
    let running = start();
    let at = running.endpoint().trim_start_matches("http://").parse().expect("an address");
    let send = async |path: &str, body: String| {
        let request = RawRequest::of_s3(at, "us-east-1", "PUT", path).body(body);
        assert_eq!(request.try_send().await.expect("an answer").status, 200, "{path}");
    };
    send("/mine", String::new()).await;
    send("/mine?notification", notification("arn:minio:sqs::N:nats")).await;
    send("/mine/%C3%BC", "1".to_owned()).await;
    running.signal("KILL");
    let _running = start();
    let (subject, _, document) = nats.message().await;
    assert_eq!((&*subject, &document["Key"]), ("objects", &"mine/ü".into()));
}
