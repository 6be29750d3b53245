//! The live trace of requests.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{ACCOUNTS, ALICE, BOB, CAROL, TestServer, User, in_memory_with_users, memory};

/// Nothing in these tests takes this long unless it hangs.
const LONG: Duration = Duration::from_secs(20);

/// The trace of this server, and that of MinIO's client.
pub(crate) const PATHS: [&str; 2] =
    ["/_liteio/trace", "/minio/admin/v3/trace?s3=true&internal=true"];

/// Listens from now on.
async fn listen(server: &TestServer) -> BufReader<TcpStream> {
    listen_to(server, PATHS[0], ALICE).await
}

/// Listens as a user, from now on.
pub(crate) async fn listen_to(server: &TestServer, path: &str, user: User) -> BufReader<TcpStream> {
    let address: SocketAddr =
        server.endpoint().trim_start_matches("http://").parse().expect("an address");
    let target = server.request("GET", path).by(user).presigned("60");
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    let request = format!("GET {target} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("the request is sent");
    let mut reader = BufReader::new(stream);
    let first = line(&mut reader).await.expect("a status line");
    assert!(first.starts_with("HTTP/1.1 200"), "{first}");
    while !line(&mut reader).await.expect("a head").trim().is_empty() {}
    reader
}

/// The next line; `None` at the end.
pub(crate) async fn line(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let read = timeout(LONG, reader.read_line(&mut line)).await.expect("in time");
    (read.expect("a line") > 0).then_some(line)
}

/// The next entry for which `is_it` holds.
pub(crate) async fn entry(
    reader: &mut BufReader<TcpStream>,
    is_it: impl Fn(&Value) -> bool,
) -> Value {
    loop {
        let line = line(reader).await.expect("the trace goes on");
        // Sizes of chunks stand between the lines.
        match serde_json::from_str(&line) {
            Ok(entry @ Value::Object(_)) if is_it(&entry) => return entry,
            _ => {}
        }
    }
}

#[tokio::test]
async fn who_listens_is_told_of_every_request_with_its_headers_and_no_secret() {
    let server = memory().await;
    server.bucket("photos").await;
    let mut trace = listen(&server).await;
    let key = "c2VjcmV0IGtleSBvZiAzMiBieXRlcyBmb3IgQUVTLTI1Ng==";
    server
        .request("PUT", "/photos/a%20cat.jpg")
        .header("x-amz-meta-colour", "black")
        .header("x-amz-server-side-encryption-customer-key", key)
        .body("JPEG")
        .send()
        .await
        .expect_error(400, "InvalidRequest");
    let entry = entry(&mut trace, |entry| entry["bucket"] == "photos").await;
    let expected = [
        ("method", "PUT"),
        ("operation", "PutObject"),
        ("key", "a cat.jpg"),
        ("path", "/photos/a%20cat.jpg"),
        ("user", "alice"),
        ("code", "InvalidRequest"),
    ];
    for (name, value) in expected {
        assert_eq!(entry[name], value, "{entry:#}");
    }
    assert_eq!(entry["status"], 400, "{entry:#}");
    let headers = entry["request_headers"].as_array().expect("headers");
    assert!(headers.contains(&serde_json::json!(["x-amz-meta-colour", "black"])), "{entry:#}");
    assert!(headers.contains(&serde_json::json!(["authorization", "***"])), "{entry:#}");
    let answered = entry["response_headers"].as_array().expect("headers");
    assert!(answered.iter().any(|it| it[0] == "x-amz-request-id" && it[1] == entry["id"]));
    assert!(!entry.to_string().contains(key), "{entry:#}");
}

#[tokio::test]
async fn only_users_who_may_see_everything_listen() {
    let server = in_memory_with_users(ACCOUNTS).await;
    let ask = || server.request("GET", "/_liteio/trace");
    ask().anonymous().send().await.expect_error(403, "AccessDenied");
    ask().by(CAROL).send().await.expect_error(403, "AccessDenied");
    let stranger = crate::harness::User { secret_key: "wrong", ..BOB };
    ask().by(stranger).send().await.expect_error(403, "SignatureDoesNotMatch");
    server.request("POST", "/_liteio/trace").send().await.expect_error(405, "MethodNotAllowed");
    let mut trace = listen(&server).await;
    server.request("PUT", "/mine").send().await.expect_status(200);
    server.request("GET", "/mine").by(CAROL).send().await.expect_error(403, "AccessDenied");
    let denied = entry(&mut trace, |entry| entry["status"] == 403).await;
    assert_eq!(denied["user"], "carol");
    assert!(denied["denied"].as_str().is_some_and(|why| !why.is_empty()), "{denied:#}");
}

/// A server that stops waits for requests under way, and a listener never ends by itself.
#[tokio::test]
async fn a_server_that_stops_ends_the_trace() {
    let server = memory().await;
    let mut trace = listen(&server).await;
    let (ended, ()) = tokio::join!(
        timeout(LONG, async { while line(&mut trace).await.is_some() {} }),
        server.stop()
    );
    ended.expect("the trace has ended");
}

/// The text of all entries up to the first that names `last`.
async fn all_until(reader: &mut BufReader<TcpStream>, last: &str) -> String {
    let mut all = String::new();
    loop {
        let entry = entry(reader, |_| true).await.to_string();
        all += &entry;
        if entry.contains(last) {
            return all;
        }
    }
}

#[tokio::test]
async fn an_account_hears_of_what_its_users_send_and_of_what_reaches_its_buckets() {
    let server = in_memory_with_users(ACCOUNTS).await;
    for path in PATHS {
        let mut of_alice = listen_to(&server, path, ALICE).await;
        let mut of_bob = listen_to(&server, path, BOB).await;
        let send = |user: User, method: &'static str, path: &str| {
            server.request(method, path).by(user).send_owned()
        };
        // Of nobody: the sender is not known, and no bucket is reached.
        let stranger = User { secret_key: "wrong", ..BOB };
        send(stranger, "PUT", "/of-nobody").await.expect_error(403, "SignatureDoesNotMatch");
        send(ALICE, "PUT", "/of-alice").await.expect_status(200);
        send(CAROL, "GET", "/of-alice/by-carol").await.expect_error(403, "AccessDenied");
        send(BOB, "PUT", "/of-bob").await.expect_status(200);
        send(BOB, "GET", "/of-alice/by-bob").await.expect_error(403, "AccessDenied");
        let anonymous = server.request("GET", "/of-bob/by-nobody").anonymous().send().await;
        anonymous.expect_error(403, "AccessDenied");
        server.vectors("ListVectorBuckets", "{}").by(BOB).send().await.expect_status(200);
        send(ALICE, "GET", "/of-alice?prefix=the-end").await.expect_status(200);
        send(BOB, "GET", "/of-bob?prefix=the-end").await.expect_status(200);

        let heard = all_until(&mut of_alice, "prefix=the-end").await;
        for told in ["/of-alice", "by-carol", "by-bob"] {
            assert!(heard.contains(told), "{told} of {heard}");
        }
        for hidden in ["of-bob", "of-nobody", "by-nobody", "ListVectorBuckets"] {
            assert!(!heard.contains(hidden), "{hidden} of {heard}");
        }
        let heard = all_until(&mut of_bob, "prefix=the-end").await;
        for told in ["/of-bob", "by-bob", "by-nobody", "ListVectorBuckets"] {
            assert!(heard.contains(told), "{told} of {heard}");
        }
        for hidden in ["by-carol", "of-nobody"] {
            assert!(!heard.contains(hidden), "{hidden} of {heard}");
        }
        for (user, path) in [(ALICE, "/of-alice"), (BOB, "/of-bob")] {
            send(user, "DELETE", path).await.expect_status(204);
        }
    }
}

#[tokio::test]
async fn the_only_account_hears_of_what_nobody_has_sent() {
    let users = ACCOUNTS.split("[[user]]").nth(1).expect("the first user");
    let server = in_memory_with_users(&format!("[[user]]{users}")).await;
    let mut trace = listen(&server).await;
    let stranger = User { secret_key: "wrong", ..ALICE };
    let refused = server.request("GET", "/photos").by(stranger).send().await;
    refused.expect_error(403, "SignatureDoesNotMatch");
    entry(&mut trace, |entry| entry["code"] == "SignatureDoesNotMatch").await;
    server.request("GET", "/_liteio/health/live").anonymous().send().await.expect_status(200);
    entry(&mut trace, |entry| entry["path"] == "/_liteio/health/live").await;
}

/// The client takes a silent connection for a dead one.
#[tokio::test]
async fn a_client_that_wants_errors_alone_has_its_pulse_on_a_busy_server_without_any() {
    let server = memory().await;
    let mut trace = listen_to(&server, &format!("{}&err=true", PATHS[1]), ALICE).await;
    let busy = async {
        loop {
            server.get("/").await.expect_status(200);
        }
    };
    let pulse = async { while line(&mut trace).await.expect("the trace goes on") != " \r\n" {} };
    tokio::select! {
        () = busy => {}
        () = pulse => {}
    }
}
