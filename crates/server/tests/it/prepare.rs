//! Buckets and objects that are there when a server starts.

use std::path::Path;

use liteio::{InitialBucket, ServerBuilder, ServerHandle};

use crate::command::{Running, liteio, stderr};
use crate::harness::{self, ALICE, BOB, RawRequest, TestServer};
use crate::reply::Reply;

fn bucket(text: &str) -> InitialBucket {
    text.parse().expect("a bucket")
}

/// A server of Alice's in this directory, which is not removed with it.
async fn start(data: &Path, settings: impl FnOnce(ServerBuilder) -> ServerBuilder) -> ServerHandle {
    let builder = liteio::Server::builder().credentials(ALICE.access_key, ALICE.secret_key);
    settings(builder.data_dir(data)).spawn().await.expect("it starts")
}

async fn send(server: &ServerHandle, method: &'static str, path: &str) -> Reply {
    RawRequest::of_s3(server.address(), "us-east-1", method, path).send().await
}

async fn names(server: &TestServer) -> Vec<String> {
    server.get("/").await.expect_status(200).elements("Name")
}

#[tokio::test]
async fn buckets_are_there_before_the_first_request() {
    for backend in ["memory", "directory"] {
        let server = harness::start_with(backend, "eu-west-1", |builder, directory| {
            let file = directory.join("buckets.txt");
            let lines =
                "# Those of the team.\n\nlogs:upload # writing only\n  old:versioned:download\n";
            std::fs::write(&file, lines).expect("the file is written");
            let builder = builder.bucket(bucket("photos:public")).bucket(bucket("plain"));
            builder.bucket(bucket("photos")).bucket_file(file)
        });
        let server = server.await;
        assert_eq!(names(&server).await, ["logs", "old", "photos", "plain"]);
        // The first user of the file is their owner.
        server.request("GET", "/plain").by(BOB).send().await.expect_error(403, "AccessDenied");
        let region = server.get("/plain?location").await.expect_status(200);
        assert!(region.text().contains(">eu-west-1<"));
        let anonymous = |method, path: &str| server.request(method, path).anonymous().send();
        let may =
            [("photos", [200, 200, 204]), ("logs", [200, 403, 204]), ("old", [403, 404, 403])];
        for (bucket, [put, get, delete]) in may {
            let path = format!("/{bucket}/key");
            anonymous("PUT", &path).await.expect_status(put);
            anonymous("GET", &path).await.expect_status(get);
            anonymous("DELETE", &path).await.expect_status(delete);
        }
        anonymous("GET", "/old").await.expect_status(200);
        anonymous("GET", "/logs").await.expect_error(403, "AccessDenied");
        anonymous("GET", "/plain").await.expect_error(403, "AccessDenied");
        let versioning = server.get("/old?versioning").await.expect_status(200);
        assert_eq!(versioning.element("Status"), "Enabled");
        server.get("/plain?policy").await.expect_error(404, "NoSuchBucketPolicy");
    }
}

#[tokio::test]
async fn what_is_there_stays_as_it_is() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    let policy = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*",
        "Action": "s3:GetObject", "Resource": "arn:aws:s3:::mine/public/*"}]}"#;
    let server = start(&data, |builder| builder.bucket(bucket("mine"))).await;
    let created = send(&server, "GET", "/").await.element("CreationDate");
    let put = |path| RawRequest::of_s3(server.address(), "us-east-1", "PUT", path);
    put("/mine/key").body("kept").send().await.expect_status(200);
    put("/mine?policy").body(policy).send().await.expect_status(204);
    put("/other").send().await.expect_status(200);
    server.stop().await;
    for _ in 0..2 {
        let all = |builder: ServerBuilder| {
            builder.bucket(bucket("mine:public:versioned")).bucket(bucket("other:public"))
        };
        let server = start(&data, all).await;
        let mine = send(&server, "GET", "/").await;
        assert_eq!(mine.elements("CreationDate")[0], created);
        assert_eq!(send(&server, "GET", "/mine/key").await.text(), "kept");
        assert_eq!(send(&server, "GET", "/mine?policy").await.text(), policy);
        let versioning = send(&server, "GET", "/mine?versioning").await;
        assert_eq!(versioning.element("Status"), "Enabled");
        let given = send(&server, "GET", "/other?policy").await.expect_status(200).text();
        assert!(given.contains("s3:PutObject"), "{given}");
        server.stop().await;
    }
}

#[tokio::test]
async fn empty_directories_become_buckets_where_that_was_asked_for() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    std::fs::create_dir_all(data.join("langfuse")).expect("a directory");
    std::fs::create_dir(data.join("second.bucket")).expect("a directory");
    // Without being asked nothing is touched: somebody else may need them.
    let refused = liteio::Server::builder().data_dir(&data).spawn().await;
    let refused = refused.expect_err("not its own").to_string();
    assert!(refused.contains("not a LiteIO data directory"), "{refused}");
    for round in 0..3 {
        let server = start(&data, ServerBuilder::directories_are_buckets).await;
        let listed = send(&server, "GET", "/").await.elements("Name");
        let expected: &[&str] = match round {
            0 => &["langfuse", "second.bucket"],
            _ => &["langfuse", "later", "second.bucket"],
        };
        assert_eq!(listed, expected);
        server.stop().await;
        // A name of the store's, one that is no bucket, and one that is not empty.
        std::fs::create_dir_all(data.join("later")).expect("a directory");
        std::fs::create_dir_all(data.join("Upper")).expect("a directory");
        std::fs::create_dir_all(data.join("full/inner")).expect("a directory");
    }
    for name in ["full", "Upper", "blobs"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(directory.path().join(name).join("x")).expect("a directory");
        let builder = liteio::Server::builder().data_dir(directory.path());
        let refused = builder.directories_are_buckets().spawn().await;
        assert!(refused.is_err(), "{name}");
    }
}

#[test]
fn a_file_of_buckets_that_is_not_valid_ends_the_start_and_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let rows = [(None, "cannot read the buckets in"), (Some("abc\n\nabc:open\n"), "line 3")];
    for (text, told) in rows {
        if let Some(text) = text {
            std::fs::write(directory.path().join("buckets"), text).expect("written");
        }
        let mut command = liteio(&directory);
        command.args(["--address", "127.0.0.1:0", "--bucket-file", "buckets"]);
        let output = command.output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(told) && message.contains("buckets"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(!directory.path().join("data").exists());
    }
}

#[test]
fn buckets_are_given_by_flag_and_variable() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let arguments = ["--memory", "--address", "127.0.0.1:0"];
    let variables = [("LITEIO_BUCKET", "first:public,second"), ("LITEIO_LOG", "info")];
    let server = Running::start_with(&directory, &arguments, &variables);
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    let made = |name: &str| log.lines().any(|line| line.contains("made") && line.contains(name));
    assert!(made("first") && made("second"), "{log}");
}
