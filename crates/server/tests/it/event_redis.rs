//! Events that go to Redis servers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use liteio::{EventSettings, RedisServer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::command::Running;
use crate::harness::{self, RawRequest};

/// Longer than anything that works takes.
const PATIENCE: Duration = Duration::from_secs(60);

type Command = Vec<String>;

/// A server that speaks enough of the protocol of Redis, and tells which commands it got.
struct Redis {
    address: SocketAddr,
    commands: mpsc::UnboundedReceiver<Command>,
}

impl Redis {
    /// One that answers commands as `answer` says, and hangs up while it is not up.
    async fn start(
        is_up: Arc<AtomicBool>,
        answer: impl Fn(&Command) -> &'static str + Send + Sync + 'static,
    ) -> Redis {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (sender, commands) = mpsc::unbounded_channel();
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if is_up.load(Ordering::SeqCst) {
                    let (sender, answer) = (sender.clone(), Arc::clone(&answer));
                    tokio::spawn(serve(stream, sender, answer));
                }
            }
        });
        Redis { address, commands }
    }

    async fn next(&mut self) -> Command {
        let next = tokio::time::timeout(PATIENCE, self.commands.recv()).await;
        next.expect("a command comes").expect("the server runs")
    }
}

async fn serve<A: Fn(&Command) -> &'static str>(
    stream: TcpStream,
    sender: mpsc::UnboundedSender<Command>,
    answer: Arc<A>,
) {
    let mut stream = BufReader::new(stream);
    while let Some(command) = command(&mut stream).await {
        let told = answer(&command);
        // Nobody listens any more at the end of a test.
        let _ = sender.send(command);
        if stream.write_all(format!("{told}\r\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The next command: an array of bulk strings.
async fn command(stream: &mut BufReader<TcpStream>) -> Option<Command> {
    let count = number(stream, '*').await?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; number(stream, '$').await? + 2];
        stream.read_exact(&mut word).await.ok()?;
        word.truncate(word.len() - 2);
        words.push(String::from_utf8(word).expect("text"));
    }
    Some(words)
}

async fn number(stream: &mut BufReader<TcpStream>, kind: char) -> Option<usize> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    line.strip_prefix(kind)?.trim_end().parse().ok()
}

/// The answer of a server that takes everything.
fn taken(command: &Command) -> &'static str {
    match &*command[0] {
        "PING" => "+PONG",
        "RPUSH" | "HSET" | "HDEL" => ":1",
        _ => "+OK",
    }
}

fn notification(arn: &str) -> String {
    format!(
        "<NotificationConfiguration><QueueConfiguration><Queue>{arn}</Queue>\
         <Event>s3:ObjectCreated:*</Event><Event>s3:ObjectRemoved:*</Event></QueueConfiguration>\
         </NotificationConfiguration>"
    )
}

fn is_up() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(true))
}

#[tokio::test]
async fn a_list_gets_events_in_the_form_of_minio() {
    let mut redis = Redis::start(is_up(), taken).await;
    let url = format!("redis://me:a%20word@{}/3?key=events", redis.address);
    let targets = vec![RedisServer::new("list", &url).expect("valid").into()];
    let server = harness::with_events(EventSettings { targets, ..EventSettings::default() }).await;
    server.bucket("mine").await;
    let arn = "arn:minio:sqs::list:redis";
    server.put("/mine?notification", notification(arn)).await.expect_status(200);
    assert_eq!(redis.next().await, ["AUTH", "me", "a word"]);
    assert_eq!(redis.next().await, ["SELECT", "3"]);
    // Consumers know no test events, which only show whether the server answers.
    assert_eq!(redis.next().await, ["PING"]);
    server.put("/mine/a%20b", "123").await.expect_status(200);
    let pushed = redis.next().await;
    assert_eq!(pushed[..2], ["RPUSH", "events"]);
    let told: Value = serde_json::from_str(&pushed[2]).expect("JSON");
    let record = &told[0]["Event"][0];
    assert_eq!(record["eventName"], "ObjectCreated:Put");
    assert_eq!(record["s3"]["object"]["key"], "a+b");
    assert_eq!(told[0]["EventTime"], record["eventTime"]);
    let other = "arn:minio:sqs::list:webhook";
    let refused = server.put("/mine?notification", notification(other)).await;
    let told = refused.expect_error(400, "InvalidArgument").text();
    assert!(told.contains("kind redis, not webhook"), "{told}");
}

#[tokio::test]
async fn a_server_that_refuses_an_event_gets_it_again() {
    let refuses = Arc::new(AtomicBool::new(true));
    let mut redis = Redis::start(is_up(), {
        let refuses = Arc::clone(&refuses);
        move |command| match command[0] == "RPUSH" && refuses.swap(false, Ordering::SeqCst) {
            true => "-WRONGTYPE Operation against a key holding the wrong kind of value",
            false => taken(command),
        }
    })
    .await;
    let url = format!("redis://{}", redis.address);
    let targets = vec![RedisServer::new("list", &url).expect("valid").into()];
    let server = harness::with_events(EventSettings { targets, ..EventSettings::default() }).await;
    server.bucket("mine").await;
    let arn = "arn:aws:sqs:us-east-1:000000000000:list";
    server.put("/mine?notification", notification(arn)).await.expect_status(200);
    assert_eq!(redis.next().await, ["PING"]);
    server.put("/mine/a", "1").await.expect_status(200);
    let (first, second) = (redis.next().await, redis.next().await);
    assert_eq!(first[..2], ["RPUSH", "list"]);
    // The connection is still that of the refusal.
    assert_eq!(first, second);
}

#[tokio::test]
async fn a_hash_has_the_objects_that_there_are_after_a_kill_and_a_server_that_was_down() {
    let is_up = Arc::new(AtomicBool::new(false));
    let mut redis = Redis::start(Arc::clone(&is_up), taken).await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let address = redis.address.to_string();
    let start = || {
        let arguments = ["--data-dir", "data", "--address", "127.0.0.1:0"];
        let variables = [
            ("LITEIO_ACCESS_KEY", harness::ALICE.access_key),
            ("LITEIO_SECRET_KEY", harness::ALICE.secret_key),
            ("MINIO_NOTIFY_REDIS_ENABLE_H", "on"),
            ("MINIO_NOTIFY_REDIS_ADDRESS_H", &address),
            ("MINIO_NOTIFY_REDIS_KEY_H", "objects"),
            ("MINIO_NOTIFY_REDIS_PASSWORD_H", "hush"),
        ];
        Running::start_with(&directory, &arguments, &variables)
    };
    let running = start();
    let at = running.endpoint().trim_start_matches("http://").parse().expect("an address");
    let send = async |method: &'static str, path: &str, body: String| {
        let request = RawRequest::of_s3(at, "us-east-1", method, path).body(body);
        request.try_send().await.expect("an answer").status
    };
    assert_eq!(send("PUT", "/mine", String::new()).await, 200);
    let arn = "arn:minio:sqs::H:redis";
    assert_eq!(send("PUT", "/mine?notification", notification(arn)).await, 200);
    assert_eq!(send("PUT", "/mine/a", "1".to_owned()).await, 200);
    assert_eq!(send("DELETE", "/mine/a", String::new()).await, 204);
    assert_eq!(send("PUT", "/mine/%C3%BC", "1".to_owned()).await, 200);
    running.signal("KILL");
    is_up.store(true, Ordering::SeqCst);
    let _running = start();
    assert_eq!(redis.next().await, ["AUTH", "hush"]);
    assert_eq!(redis.next().await, ["PING"]);
    // In the order of the changes: otherwise a deleted object could stay.
    let set = redis.next().await;
    assert_eq!(set[..3], ["HSET", "objects", "mine/a"]);
    let told: Value = serde_json::from_str(&set[3]).expect("JSON");
    assert_eq!(told["Records"][0]["eventName"], "ObjectCreated:Put");
    assert_eq!(redis.next().await, ["HDEL", "objects", "mine/a"]);
    assert_eq!(redis.next().await[..3], ["HSET", "objects", "mine/ü"]);
}
