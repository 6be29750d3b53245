//! Several servers in processes of their own over one PostgreSQL and one directory of bodies, and `liteio cluster`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;

use liteio_postgres::testing;

use crate::command::{Running, liteio, stderr};
use crate::harness::{ALICE, RawRequest, User};
use crate::reply::Reply;

/// A database, a place of bodies and a master key.
struct Place {
    directory: tempfile::TempDir,
    database: Arc<testing::Server>,
    name: &'static str,
}

impl Place {
    fn new(name: &'static str) -> Place {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(directory.path().join("bodies")).expect("made");
        let place = Place { directory, database: testing::Server::shared(), name };
        place.succeeds(&mut place.command(&["key", "new", "master.key"]));
        place.succeeds(&mut place.command(&["key", "new", "other.key"]));
        place
    }

    /// A command without the place.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = liteio(&self.directory);
        command.args(arguments);
        command
    }

    /// A command with the place, and credentials.
    fn at(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command
            .env("LITEIO_METADATA", self.database.url())
            // The shared database syncs nothing.
            .env("LITEIO_METADATA_UNSAFE", "1")
            .env("LITEIO_BLOBS", format!("file://{}", self.path("bodies").display()))
            .env("LITEIO_CLUSTER_NAME", self.name)
            .env("LITEIO_MASTER_KEY_FILE", "master.key")
            .env("LITEIO_ACCESS_KEY", ALICE.access_key)
            .env("LITEIO_SECRET_KEY", ALICE.secret_key);
        command
    }

    fn created(name: &'static str) -> Place {
        let place = Place::new(name);
        place.succeeds(&mut place.at(&["cluster", "create"]));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn server(&self, name: &str) -> Running {
        let arguments = ["server", "--address", "127.0.0.1:0", "--server-name", name];
        Running::start(&mut self.at(&arguments))
    }

    fn succeeds(&self, command: &mut Command) -> String {
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", told(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The one line of a refusal.
    fn refusal(&self, command: &mut Command) -> String {
        let output = command.output().expect("it runs");
        assert!(!output.status.success(), "{}", told(&output));
        let line = stderr(&output);
        assert_eq!(line.trim_end().lines().count(), 1, "{line}");
        line
    }

    /// All that the database has of the cluster, and the names of bodies.
    fn state(&self) -> (String, usize) {
        let rows = format!("SELECT count(*) FROM \"{}\".kv", self.name);
        let bodies = self.path("bodies").read_dir().expect("listed").count();
        (self.database.query(&rows), bodies)
    }
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(output))
}

fn address(server: &Running) -> SocketAddr {
    let endpoint = server.endpoint();
    endpoint.trim_start_matches("http://").parse().expect("an address")
}

fn s3(server: &Running, method: &'static str, path: &str) -> RawRequest<'static> {
    RawRequest::of_s3(address(server), "us-east-1", method, path)
}

async fn iam(server: &Running, form: &str) -> Reply {
    RawRequest::of_form(address(server), "iam", form).send().await
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let text = text.split_once(begin).expect(begin).1;
    text.split_once(end).expect(end).0
}

#[tokio::test]
async fn every_server_has_what_another_one_has_acknowledged() {
    let place = Place::created("seen");
    let servers = ["one", "two"].map(|name| place.server(name));
    let [one, two] = &servers;
    s3(one, "PUT", "/photos").send().await.expect_status(200);
    for (number, length) in [10, 10_000, 3_000_000].into_iter().enumerate() {
        let (from, to) = if number % 2 == 0 { (one, two) } else { (two, one) };
        let path = format!("/photos/{length}");
        let body = vec![number as u8; length];
        s3(from, "PUT", &path).body(&body).send().await.expect_status(200);
        let reply = s3(to, "GET", &path).send().await.expect_status(200);
        assert!(reply.body == body, "{length} bytes");
        s3(to, "DELETE", &path).send().await.expect_status(204);
        s3(from, "GET", &path).send().await.expect_status(404);
    }
    let only = || s3(one, "PUT", "/photos/only").header("if-none-match", "*").body("first");
    only().send().await.expect_status(200);
    let second = s3(two, "PUT", "/photos/only").header("if-none-match", "*").body("second");
    second.send().await.expect_status(412);

    let text = place.succeeds(&mut place.at(&["cluster", "check"]));
    assert!(text.contains("1 objects and 5 bytes checked, 0 damaged"), "{text}");
    let text = place.at(&["cluster", "status"]).output().expect("it runs");
    let text = told(&text);
    for words in ["cluster seen (", "server one (run", "server two (run", ": runs", "fsync"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for path in ["/_liteio/health/ready", "/_liteio/health/live"] {
        s3(one, "GET", path).anonymous().send().await.expect_status(200);
    }
    let page = s3(one, "GET", "/_liteio/metrics").send().await.expect_status(200).text();
    for name in ["liteio_cluster_commits_total", "liteio_cluster_fetches_total"] {
        let value = between(&page, &format!("\n{name} "), "\n");
        assert!(value.parse::<f64>().expect("a number") > 0.0, "{name}");
    }
    for line in ["liteio_cluster_serving 1", "liteio_cluster_commits_lost_total 0"] {
        assert!(page.contains(&format!("\n{line}\n")), "{line}");
    }
    for server in servers {
        let (code, log) = server.signal("TERM");
        assert_eq!(code, Some(0), "{log}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_by_every_server_from_the_next_request_on() {
    let place = Place::created("revoked");
    let (one, two) = (place.server("one"), place.server("two"));
    s3(&one, "PUT", "/photos").send().await.expect_status(200);
    iam(&one, "Action=CreateUser&UserName=bob").await.expect_status(200);
    let key = iam(&two, "Action=CreateAccessKey&UserName=bob").await.expect_status(200).text();
    let leaked = |tag: &str| -> &'static str {
        let text = between(&key, &format!("<{tag}>"), &format!("</{tag}>"));
        Box::leak(text.to_owned().into_boxed_str())
    };
    let bob =
        User { access_key: leaked("AccessKeyId"), secret_key: leaked("SecretAccessKey"), id: "" };
    let policy =
        r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:*","Resource":"*"}}"#;
    let policy: String = form_urlencoded::byte_serialize(policy.as_bytes()).collect();
    let put = format!("Action=PutUserPolicy&UserName=bob&PolicyName=p&PolicyDocument={policy}");
    iam(&one, &put).await.expect_status(200);
    let set = |status: &str| {
        let id = bob.access_key;
        format!("Action=UpdateAccessKey&UserName=bob&AccessKeyId={id}&Status={status}")
    };
    for round in 0..10 {
        let (first, second) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        for server in [first, second] {
            s3(server, "GET", "/photos").by(bob).send().await.expect_status(200);
        }
        iam(first, &set("Inactive")).await.expect_status(200);
        for server in [second, first] {
            s3(server, "GET", "/photos").by(bob).send().await.expect_status(403);
        }
        iam(second, &set("Active")).await.expect_status(200);
    }
}

/// On a free port: another server may have the usual one.
const SERVER: [&str; 3] = ["server", "--address", "127.0.0.1:0"];

#[test]
fn what_does_not_belong_together_is_refused_in_one_line_and_changes_nothing() {
    let place = Place::new("refused");
    let missing = place.refusal(&mut place.at(&SERVER));
    assert!(missing.contains("liteio cluster create"), "{missing}");
    place.succeeds(&mut place.at(&["cluster", "create"]));
    let again = place.refusal(&mut place.at(&["cluster", "create"]));
    assert!(again.contains("is there already"), "{again}");
    place.succeeds(&mut place.at(&["cluster", "create", "--if-missing"]));
    let before = place.state();

    let elsewhere = place.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("made");
    let elsewhere = format!("file://{}", elsewhere.display());
    let wrong = place.refusal(place.at(&SERVER).env("LITEIO_BLOBS", &elsewhere));
    assert!(wrong.contains("--blobs"), "{wrong}");
    let other = place.at(&["cluster", "create"]).env("LITEIO_CLUSTER_NAME", "refused2").output();
    let other = stderr(&other.expect("it runs"));
    assert!(other.contains("belongs to the cluster"), "{other}");
    let unsafe_ = place.refusal(place.at(&SERVER).env_remove("LITEIO_METADATA_UNSAFE"));
    assert!(unsafe_.contains("fsync"), "{unsafe_}");
    let directory = place.refusal(&mut place.at(&[&SERVER[..], &["--data-dir", "data"]].concat()));
    assert!(directory.contains("--data-dir and --metadata contradict"), "{directory}");
    let keyless = place.refusal(place.at(&SERVER).env_remove("LITEIO_MASTER_KEY_FILE"));
    assert!(keyless.contains("liteio key new"), "{keyless}");
    assert_eq!(place.state(), before);

    let (code, log) = place.server("one").signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    let before = place.state();
    let other = place.refusal(place.at(&SERVER).env("LITEIO_MASTER_KEY_FILE", "other.key"));
    assert!(other.contains("master key differs from the cluster's"), "{other}");
    assert_eq!(place.state(), before);
}

#[tokio::test]
async fn a_directory_moves_into_a_cluster_and_back() {
    let place = Place::created("moved");
    // With a key of its own for the secrets of users.
    let credentials =
        [("LITEIO_ACCESS_KEY", ALICE.access_key), ("LITEIO_SECRET_KEY", ALICE.secret_key)];
    let single = ["server", "--data-dir", "data", "--address", "127.0.0.1:0"];
    let server = Running::start(place.command(&single).envs(credentials));
    s3(&server, "PUT", "/photos").send().await.expect_status(200);
    s3(&server, "PUT", "/photos/a").body([7; 100_000]).send().await.expect_status(200);
    iam(&server, "Action=CreateUser&UserName=bob").await.expect_status(200);
    iam(&server, "Action=CreateAccessKey&UserName=bob").await.expect_status(200);
    let busy = place.refusal(&mut place.at(&["cluster", "move", "--from-directory", "data"]));
    assert!(busy.contains("--from-directory"), "{busy}");
    assert_eq!(server.signal("TERM").0, Some(0));
    let before = place.state();
    let own = place.refusal(&mut place.at(&["cluster", "move", "--from-directory", "data"]));
    assert!(own.contains("directory's own key") && own.contains("liteio key rewrap"), "{own}");
    assert_eq!(place.state(), before);

    let rewrap = ["key", "rewrap", "--data-dir", "data", "--master-key-file", "master.key"];
    place.succeeds(&mut place.command(&rewrap));
    let text = place.succeeds(&mut place.at(&["cluster", "move", "--from-directory", "data"]));
    assert!(text.contains("Both sides are equal"), "{text}");
    let server = place.server("one");
    let reply = s3(&server, "GET", "/photos/a").send().await.expect_status(200);
    assert_eq!(reply.body, [7; 100_000]);
    let users = iam(&server, "Action=ListUsers").await.expect_status(200).text();
    assert!(users.contains("<UserName>bob</UserName>"), "{users}");
    s3(&server, "PUT", "/photos/b").body([8; 100_000]).send().await.expect_status(200);
    let running = place.refusal(&mut place.at(&["cluster", "move", "--to-directory", "back"]));
    assert!(running.contains("the server one of the cluster runs"), "{running}");
    assert_eq!(server.signal("TERM").0, Some(0));

    place.succeeds(&mut place.at(&["cluster", "move", "--to-directory", "back"]));
    let single = [
        "server",
        "--data-dir",
        "back",
        "--address",
        "127.0.0.1:0",
        "--master-key-file",
        "master.key",
    ];
    let server = Running::start(place.command(&single).envs(credentials));
    for (path, byte) in [("/photos/a", 7), ("/photos/b", 8)] {
        let reply = s3(&server, "GET", path).send().await.expect_status(200);
        assert_eq!(reply.body, [byte; 100_000], "{path}");
    }
}

#[tokio::test]
async fn vectors_move_into_a_cluster_and_each_server_finds_them() {
    let place = Place::created("vectors");
    let credentials =
        [("LITEIO_ACCESS_KEY", ALICE.access_key), ("LITEIO_SECRET_KEY", ALICE.secret_key)];
    let single = ["server", "--data-dir", "data", "--address", "127.0.0.1:0"];
    let single = [&single[..], &["--master-key-file", "master.key"]].concat();
    let server = Running::start(place.command(&single).envs(credentials));
    vectors(&server, "CreateVectorBucket", r#"{"vectorBucketName":"films"}"#).await;
    let index = r#"{"vectorBucketName":"films","indexName":"plots","dataType":"float32","dimension":2,"distanceMetric":"euclidean"}"#;
    vectors(&server, "CreateIndex", index).await;
    put_vector(&server, "moved", "[1,2]").await;
    assert_eq!(server.signal("TERM").0, Some(0));
    place.succeeds(&mut place.at(&["cluster", "move", "--from-directory", "data"]));

    let cached = |name: &str| {
        let arguments = ["server", "--address", "127.0.0.1:0", "--server-name", name];
        Running::start(place.at(&arguments).env("LITEIO_VECTOR_CACHE", place.path(name)))
    };
    let servers = ["one", "two"].map(cached);
    let [one, two] = &servers;
    assert!(nearest(two, "[1,2]").await.contains("moved"));
    put_vector(one, "new", "[5,5]").await;
    assert!(nearest(two, "[5,5]").await.contains("new"));
    let deleted = r#"{"vectorBucketName":"films","indexName":"plots","keys":["new"]}"#;
    vectors(two, "DeleteVectors", deleted).await;
    assert!(nearest(one, "[5,5]").await.contains("moved"));
    // The cache of another server.
    let arguments = ["server", "--address", "127.0.0.1:0", "--server-name", "three"];
    let three = Running::start(place.at(&arguments).env("LITEIO_VECTOR_CACHE", place.path("one")));
    let refused = RawRequest::of_vectors(address(&three), "us-east-1", "QueryVectors", QUERY);
    let refused = refused.send().await;
    assert!(refused.status >= 500, "{}", refused.text());
    assert_eq!(three.signal("TERM").0, Some(0));
    for server in servers {
        assert_eq!(server.signal("TERM").0, Some(0));
    }
    place.succeeds(&mut place.at(&["cluster", "check"]));
    place.succeeds(&mut place.at(&["cluster", "move", "--to-directory", "back"]));
    let back = ["server", "--data-dir", "back", "--address", "127.0.0.1:0"];
    let back = [&back[..], &["--master-key-file", "master.key"]].concat();
    let server = Running::start(place.command(&back).envs(credentials));
    assert!(nearest(&server, "[5,5]").await.contains("moved"));
}

const QUERY: &str =
    r#"{"vectorBucketName":"films","indexName":"plots","topK":1,"queryVector":{"float32":[1,1]}}"#;

async fn vectors(server: &Running, operation: &'static str, body: &str) -> String {
    let request = RawRequest::of_vectors(address(server), "us-east-1", operation, body);
    request.send().await.expect_status(200).text()
}

async fn put_vector(server: &Running, key: &str, elements: &str) {
    let body = format!(
        r#"{{"vectorBucketName":"films","indexName":"plots","vectors":[{{"key":"{key}","data":{{"float32":{elements}}}}}]}}"#
    );
    vectors(server, "PutVectors", &body).await;
}

async fn nearest(server: &Running, elements: &str) -> String {
    vectors(server, "QueryVectors", &QUERY.replace("[1,1]", elements)).await
}
