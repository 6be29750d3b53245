//! The command in the place of other servers: profiles, containers, regions.

use std::net::SocketAddr;
use std::path::Path;

use crate::command::{Running, liteio, stderr};
use crate::harness::{RawRequest, User};
use crate::reply::Reply;

const MINIO: User = User { access_key: "minioadmin", secret_key: "minioadmin", id: "" };
const NOBODY: User = User { access_key: "test", secret_key: "test", id: "" };

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn address(server: &Running) -> SocketAddr {
    let endpoint = server.endpoint().trim_end_matches(" (all interfaces)");
    let (_, address) = endpoint.split_once("://").expect("a URL");
    address.parse().expect("an address")
}

async fn send(
    server: &Running,
    user: User,
    region: &str,
    method: &'static str,
    target: &str,
) -> Reply {
    RawRequest::of_s3(address(server), region, method, target).by(user).send().await
}

#[tokio::test]
async fn in_the_place_of_minio() {
    let directory = directory();
    let arguments = ["server", "store", "--profile", "minio", "--address", "127.0.0.1:0"];
    let server = Running::start_with(&directory, &arguments, &[]);
    for region in ["us-east-1", "auto", "eu-central-1"] {
        send(&server, MINIO, region, "GET", "/").await.expect_status(200);
    }
    send(&server, MINIO, "auto", "PUT", "/photos").await.expect_status(200);
    send(&server, NOBODY, "auto", "GET", "/photos").await.expect_error(403, "InvalidAccessKeyId");
    // MinIO's clients send it, and MinIO takes it.
    let private = RawRequest::of_s3(address(&server), "auto", "PUT", "/photos/a").by(MINIO);
    private.header("x-amz-acl", "private").body("a").send().await.expect_status(200);
    let endpoint = server.endpoint().to_owned();
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    assert!(log.lines().any(|line| line == format!("API: {endpoint}")), "{log}");
}

/// MinIO has one region. Its clients make buckets without naming it, and sign admin requests for another.
#[tokio::test]
async fn in_the_place_of_a_minio_with_a_region() {
    let directory = directory();
    let arguments = ["server", "store", "--profile", "minio", "--address", "127.0.0.1:0"];
    let server = Running::start_with(&directory, &arguments, &[("MINIO_REGION", "eu-west-1")]);
    for (region, bucket) in [("eu-west-1", "/of-the-region"), ("us-east-1", "/of-another")] {
        send(&server, MINIO, region, "PUT", bucket).await.expect_status(200);
        let location = send(&server, MINIO, region, "GET", &format!("{bucket}?location")).await;
        assert!(location.text().contains(">eu-west-1<"), "{}", location.text());
    }
    send(&server, MINIO, "us-east-1", "GET", "/minio/admin/v3/info").await.expect_status(200);
    drop(server);
    // Without the profile the region is the only one, but not for the admin API.
    let arguments = ["--memory", "--address", "127.0.0.1:0", "--region", "eu-west-1"];
    let arguments = [&arguments[..], &["--access-key", "minioadmin", "--secret-key", "minioadmin"]];
    let server = Running::start_with(&directory, &arguments.concat(), &[]);
    let refused = send(&server, MINIO, "us-east-1", "PUT", "/photos").await;
    refused.expect_error(400, "AuthorizationHeaderMalformed");
    // SDKs with access across regions sign again for the one that they are told, by an answer without a document, too.
    for method in ["GET", "HEAD"] {
        let refused = send(&server, MINIO, "us-east-1", method, "/photos").await;
        assert_eq!(refused.expect_status(400).header("x-amz-bucket-region"), Some("eu-west-1"));
    }
    send(&server, MINIO, "us-east-1", "GET", "/minio/admin/v3/info").await.expect_status(200);
    drop(server);
}

#[tokio::test]
async fn in_the_place_of_localstack() {
    let directory = directory();
    let arguments = ["--profile", "localstack", "--address", "127.0.0.1:0"];
    let server = Running::start_with(&directory, &arguments, &[]);
    assert!(server.block().contains("signatures are NOT checked"), "{}", server.block());
    send(&server, NOBODY, "eu-west-1", "PUT", "/photos").await.expect_status(200);
    let place = "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint>\
                 </CreateBucketConfiguration>";
    let bucket = RawRequest::of_s3(address(&server), "eu-west-1", "PUT", "/there").by(NOBODY);
    bucket.body(place).send().await.expect_status(200);
    let head = send(&server, NOBODY, "eu-west-1", "HEAD", "/there").await;
    assert_eq!(head.header("x-amz-bucket-region"), Some("eu-west-1"));
    let url = RawRequest::of_s3(address(&server), "here", "PUT", "/photos/a").by(NOBODY);
    let url = url.presigned("60");
    let put = RawRequest::of_s3(address(&server), "here", "PUT", &url).anonymous().body("a");
    put.send().await.expect_status(200);
    let get = RawRequest::of_s3(address(&server), "here", "GET", "/photos/a").anonymous();
    assert_eq!(get.send().await.body, b"a");
    // A page of another origin cannot send what browsers do not ask about first.
    let delete = "<Delete><Object><Key>a</Key></Object></Delete>";
    let page = RawRequest::of_s3(address(&server), "here", "POST", "/photos?delete").anonymous();
    let page = page.header("origin", "https://evil.example").body(delete);
    page.send().await.expect_error(403, "AccessDenied");
    let rebound = RawRequest::of_s3(address(&server), "here", "GET", "/").anonymous();
    rebound.header("host", "evil.example").send().await.expect_error(403, "AccessDenied");
    let get = RawRequest::of_s3(address(&server), "here", "GET", "/photos/a").anonymous();
    let get = get.header("origin", "https://evil.example").send().await;
    let get = get.expect_error(403, "AccessDenied");
    assert_eq!(get.header("access-control-allow-origin"), None);
    let (_, log) = server.signal("TERM");
    assert!(log.contains("signatures are not checked"), "{log}");
    assert_eq!(std::fs::read_dir(directory.path()).expect("read").count(), 0, "it is in memory");
}

/// LocalStack and S3Mock take them. Here they have no effect, so that nothing becomes public.
#[tokio::test]
async fn acls_beside_new_objects_and_buckets_are_ignored_as_by_localstack_and_s3mock() {
    for (profile, unsigned) in [("localstack", 403), ("s3mock", 200)] {
        let directory = directory();
        let arguments = ["--profile", profile, "--address", "127.0.0.1:0"];
        // The variable is LocalStack's: without its profile everybody is the root user.
        let checked = [("S3_SKIP_SIGNATURE_VALIDATION", "0")];
        let server = Running::start_with(&directory, &arguments, &checked);
        let ask = |method, target: &str, headers: &[(&str, &str)]| {
            let request = RawRequest::of_s3(address(&server), "us-east-1", method, target);
            request.by(NOBODY).headers(headers).send()
        };
        let public = ("x-amz-acl", "public-read");
        ask("PUT", "/photos", &[public]).await.expect_status(200);
        ask("PUT", "/photos/a", &[public]).await.expect_status(200);
        ask("PUT", "/photos/b", &[("x-amz-acl", "private")]).await.expect_status(200);
        let copied = [("x-amz-copy-source", "/photos/a"), public];
        ask("PUT", "/photos/c", &copied).await.expect_status(200);
        ask("POST", "/photos/d?uploads", &[public]).await.expect_status(200);
        for target in ["/photos?acl", "/photos/a?acl", "/photos/c?acl"] {
            let acl = ask("GET", target, &[]).await.expect_status(200);
            assert!(!acl.text().contains("AllUsers"), "{profile} {target}: {}", acl.text());
        }
        let get = RawRequest::of_s3(address(&server), "us-east-1", "GET", "/photos/a").anonymous();
        assert_eq!(get.send().await.status, unsigned, "{profile}");
        // By itself, and where ACLs are enabled, an ACL is as on AWS.
        let by_itself = ask("PUT", "/photos/a?acl", &[public]).await;
        by_itself.expect_error(400, "AccessControlListNotSupported");
        let writer = ("x-amz-object-ownership", "ObjectWriter");
        ask("PUT", "/letters", &[writer]).await.expect_status(200);
        ask("PUT", "/letters/a", &[public]).await.expect_error(403, "AccessDenied");
    }
}

/// Everything that a browser sends for a page, by whatever method, is refused unless rules allow the page.
#[tokio::test]
async fn pages_of_other_origins_are_refused_where_signatures_are_not_checked() {
    let directory = directory();
    let arguments = ["--profile", "localstack", "--address", "127.0.0.1:0"];
    let server = Running::start_with(&directory, &arguments, &[]);
    let ask = |method, target: &str, headers: &[(&str, &str)]| {
        let request = RawRequest::of_s3(address(&server), "here", method, target).anonymous();
        request.headers(headers).send()
    };
    for bucket in ["/photos", "/open"] {
        ask("PUT", bucket, &[]).await.expect_status(200);
        ask("PUT", &format!("{bucket}/a"), &[]).await.expect_status(200);
    }
    let rules = "<CORSConfiguration><CORSRule><AllowedOrigin>https://app.example</AllowedOrigin>\
                 <AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>";
    let put = RawRequest::of_s3(address(&server), "here", "PUT", "/open?cors").by(NOBODY);
    put.body(rules).send().await.expect_status(200);
    let evil = [
        &[("origin", "https://evil.example")][..],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site"), ("referer", "https://evil.example/page")],
    ];
    let iam = "/?Action=CreateUser&UserName=mallory&Version=2010-05-08&X-Amz-Algorithm=AWS4-HMAC-SHA256\
               &X-Amz-Credential=test%2F20260101%2Fus-east-1%2Fiam%2Faws4_request";
    let targets = [
        ("GET", "/"),
        ("GET", "/open"),
        ("GET", "/photos/a"),
        ("HEAD", "/photos/a"),
        ("PUT", "/photos/b"),
        ("DELETE", "/photos/a"),
        ("POST", "/photos?delete"),
        ("GET", iam),
        ("POST", "/"),
    ];
    for headers in evil {
        for (method, target) in targets {
            let refused = ask(method, target, headers).await;
            assert_eq!(refused.status, 403, "{method} {target} {headers:?}");
            let policy = refused.header("cross-origin-resource-policy");
            assert_eq!(policy, Some("same-site"), "{method} {target}");
        }
    }
    // Without these headers, as over plain HTTP from another machine, a URL still makes no user.
    ask("GET", iam, &[]).await.expect_error(403, "AccessDenied");
    let form = "Action=ListUsers";
    let users = RawRequest::of_form(address(&server), "iam", form).by(NOBODY);
    let users = users.send().await.expect_status(200);
    assert!(!users.text().contains("mallory"), "{}", users.text());
    // Pages that rules allow, the typed address, programs.
    let allowed = [
        ("/open/a", &[("origin", "https://app.example")][..], "cross-origin"),
        ("/photos/a", &[("origin", "http://localhost:3000")], "cross-origin"),
        (
            "/photos/a",
            &[("sec-fetch-site", "same-site"), ("referer", "http://localhost:3000/page")],
            "cross-origin",
        ),
        ("/photos/a", &[("sec-fetch-site", "none")], "same-site"),
        ("/photos/a", &[("sec-fetch-site", "same-origin")], "same-site"),
        ("/photos/a", &[], "same-site"),
    ];
    for (target, headers, policy) in allowed {
        let got = ask("GET", target, headers).await.expect_status(200);
        let found = got.header("cross-origin-resource-policy");
        assert_eq!(found, Some(policy), "{target} {headers:?}");
    }
    // The rules name one method of one bucket.
    let page = [("origin", "https://app.example")];
    for (method, target) in [("PUT", "/open/b"), ("GET", "/photos/a"), ("GET", "/")] {
        ask(method, target, &page).await.expect_error(403, "AccessDenied");
    }
}

/// In a container the server listens for other machines, whose names for it are unknown. The names of services have no
/// dot, and names of the public DNS have one.
#[tokio::test]
async fn a_container_answers_to_its_own_names_only() {
    let directory = directory();
    let arguments = ["--profile", "localstack", "--in-container", "--address", "0.0.0.0:0"];
    let arguments = [&arguments[..], &["--domain", "s3.example.com"]].concat();
    let server = Running::start_with(&directory, &arguments, &[]);
    let address = address(&server);
    let rows = [
        ("localhost", 200),
        ("s3.localhost:4566", 200),
        ("127.0.0.1", 200),
        ("[::1]:4566", 200),
        ("localstack:4566", 200),
        ("s3.example.com", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
    ];
    for (host, status) in rows {
        let list = RawRequest::of_s3(address, "here", "GET", "/").anonymous();
        assert_eq!(list.header("host", host).send().await.status, status, "{host}");
        let form = "Action=ListUsers";
        let users = RawRequest::of_form(address, "iam", form).by(NOBODY).header("host", host);
        assert_eq!(users.send().await.status, status, "IAM {host}");
    }
}

#[test]
fn localstack_says_that_it_is_ready() {
    let directory = directory();
    let mut command = liteio(&directory);
    command.args(["--profile", "localstack", "--address", "127.0.0.1:0", "--quiet"]);
    assert_eq!(Running::first_line(&mut command), "Ready.");
}

#[tokio::test]
async fn a_container_makes_its_credentials_once() {
    let directory = directory();
    let arguments = ["--in-container", "--address", "127.0.0.1:0", "--data-dir", "data"];
    let server = Running::start_with(&directory, &arguments, &[]);
    let line = server.block().lines().find_map(|line| line.trim().strip_prefix("Credentials"));
    let words: Vec<String> = line.expect("told").split_whitespace().map(str::to_owned).collect();
    assert!(server.block().contains("kept in data/credentials.toml"), "{}", server.block());
    let (access_key, secret_key) = (words[0].clone().leak(), words[2].clone().leak());
    let user = User { access_key, secret_key, id: "" };
    send(&server, user, "us-east-1", "PUT", "/photos").await.expect_status(200);
    server.signal("TERM");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(directory.path().join("data/credentials.toml"))
            .expect("kept")
            .permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);

    let again = Running::start_with(&directory, &arguments, &[]);
    assert!(!again.block().contains(user.secret_key), "{}", again.block());
    send(&again, user, "us-east-1", "HEAD", "/photos").await.expect_status(200);
}

/// Compose files hand on variables that are not set.
#[test]
fn an_empty_variable_counts_as_none() {
    let directory = directory();
    let names = ["PROFILE", "REGION", "ADDRESS", "MEMORY", "SCRUB_DAYS", "ACCESS_KEY", "TLS_CERT"];
    let names = names.map(|name| format!("LITEIO_{name}"));
    let empty: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "")).collect();
    let arguments = ["--address", "127.0.0.1:0", "--memory"];
    let server = Running::start_with(&directory, &arguments, &empty);
    assert!(server.block().contains("liteio / liteio123"), "{}", server.block());
}

#[test]
fn a_profile_opens_nothing_to_other_machines_by_itself() {
    for profile in ["localstack", "s3mock"] {
        let directory = directory();
        let mut command = liteio(&directory);
        command.args(["--profile", profile, "--address", "0.0.0.0:0"]);
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("LITEIO_NO_AUTH"), "{}", stderr(&output));
    }
}

#[test]
fn a_short_key_of_a_server_that_takes_any_is_told_to_be_needless() {
    for profile in ["localstack", "s3mock"] {
        let directory = directory();
        let mut command = liteio(&directory);
        command.args(["--profile", profile, "--address", "127.0.0.1:0"]);
        command.args(["--access-key", "foo", "--secret-key", "bar"]);
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("clients may use any"), "{}", stderr(&output));
    }
}

#[test]
fn bad_variables_of_others_are_one_line_with_their_name() {
    let rows = [
        (&[][..], ("MINIO_REGION", "Moon!"), "MINIO_REGION: "),
        (&[], ("LITEIO_REGION", "Moon!"), "LITEIO_REGION: "),
        (&[], ("LITEIO_SCRUB_DAYS", "many"), "LITEIO_SCRUB_DAYS: "),
        (&["server"], ("LITEIO_MEMORY", "perhaps"), "LITEIO_MEMORY: "),
        (&[], ("LITEIO_PROFILE", "other"), "LITEIO_PROFILE: "),
        (&["server", "/data{1...4}"], ("MINIO_REGION", ""), "one directory"),
        (&["server", "a", "b"], ("MINIO_REGION", ""), "one directory"),
        (&["server", "a", "--data-dir", "b"], ("MINIO_REGION", ""), "--data-dir"),
    ];
    for (arguments, variable, told) in rows {
        let directory = directory();
        let mut command = liteio(&directory);
        let output = command.args(arguments).env(variable.0, variable.1).output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {variable:?}: {message}");
        assert!(message.contains(told) && message.lines().count() == 1, "{message}");
        assert_eq!(std::fs::read_dir(directory.path()).expect("read").count(), 0);
    }
}

/// The table in the documents is the one of the program.
#[test]
fn the_table_of_variables_is_the_documented_one() {
    let directory = directory();
    let output = liteio(&directory).arg("environment").output().expect("it runs");
    let table = String::from_utf8(output.stdout).expect("text");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/environment.md");
    let documented = std::fs::read_to_string(path).expect("docs/environment.md");
    assert!(table.lines().count() > 50, "{table}");
    assert!(documented.contains(&table), "docs/environment.md wants this table:\n{table}");
}

/// The data is wanted by those who give the root user of a server another key, not a new and empty store.
#[tokio::test]
async fn the_only_user_owns_the_data_whatever_its_key() {
    let directory = directory();
    let arguments = ["--address", "127.0.0.1:0", "--data-dir", "data"];
    let first = [("MINIO_ROOT_USER", "first-admin"), ("MINIO_ROOT_PASSWORD", "long-enough")];
    let second = [("MINIO_ROOT_USER", "second-admin"), ("MINIO_ROOT_PASSWORD", "long-enough")];
    let user = |access_key| User { access_key, secret_key: "long-enough", id: "" };
    let server = Running::start_with(&directory, &arguments, &first);
    send(&server, user("first-admin"), "auto", "PUT", "/photos").await.expect_status(200);
    send(&server, user("first-admin"), "auto", "PUT", "/photos/a").await.expect_status(200);
    server.signal("TERM");
    let server = Running::start_with(&directory, &arguments, &second);
    let owner = user("second-admin");
    send(&server, owner, "auto", "GET", "/photos/a").await.expect_status(200);
    send(&server, owner, "auto", "PUT", "/videos").await.expect_status(200);
    let list = send(&server, owner, "auto", "GET", "/").await.expect_status(200);
    assert_eq!(list.elements("Name"), ["photos", "videos"]);
    server.signal("TERM");
    // Credentials that a container makes later own it as well.
    let server = Running::start_with(
        &directory,
        &["--in-container", "--address", "127.0.0.1:0", "--data-dir", "data"],
        &[],
    );
    let line = server.block().lines().find_map(|line| line.trim().strip_prefix("Credentials"));
    let words: Vec<&str> = line.expect("told").split_whitespace().collect();
    let (access_key, secret_key) = (words[0].to_owned().leak(), words[2].to_owned().leak());
    let made = User { access_key, secret_key, id: "" };
    send(&server, made, "auto", "GET", "/photos/a").await.expect_status(200);
}

#[tokio::test]
async fn clients_of_other_services_are_told_in_json_which_are_here() {
    let directory = directory();
    let arguments = ["--profile", "localstack", "--address", "127.0.0.1:0"];
    let server = Running::start_with(&directory, &arguments, &[]);
    for target in ["AmazonSQS.CreateQueue", "DynamoDB_20120810.CreateTable"] {
        let request = RawRequest::of_s3(address(&server), "us-east-1", "POST", "/").by(NOBODY);
        let request = request.header("x-amz-target", target).body("{}");
        let reply = request.send().await;
        assert_eq!(reply.status, 501);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let told: serde_json::Value = serde_json::from_slice(&reply.body).expect("JSON");
        assert_eq!(told["__type"], "UnknownOperationException");
        let message = told["message"].as_str().expect("a message");
        assert!(
            message.contains(target) && message.contains("S3 Vectors, S3 Tables, IAM and STS"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn clients_that_sign_for_other_services_are_told_in_their_format() {
    let form = Some("application/x-www-form-urlencoded; charset=utf-8");
    for profile in ["localstack", "minio"] {
        let directory = directory();
        let arguments = ["server", "--memory", "--profile", profile, "--address", "127.0.0.1:0"];
        let server = Running::start_with(&directory, &arguments, &[]);
        for (service, method, path, content_type) in [
            ("sns", "POST", "/", form),
            ("ec2", "POST", "/", form),
            ("route53", "GET", "/2013-04-01/hostedzone", None),
            ("lambda", "GET", "/2015-03-31/functions/", None),
            ("apigateway", "POST", "/restapis", Some("application/json")),
        ] {
            let request = RawRequest::of_s3(address(&server), "us-east-1", method, path);
            let mut request = request.service(service).by(NOBODY);
            if let Some(content_type) = content_type {
                request = request.header("content-type", content_type);
            }
            let reply = request.send().await;
            assert_eq!(reply.status, 501, "{service}");
            let text = String::from_utf8_lossy(&reply.body);
            assert!(text.contains(&format!("{service} is not served here")), "{text}");
            if form == content_type || service == "route53" {
                assert!(text.contains("<ErrorResponse><Error><Code>UnknownOperation"), "{text}");
            } else {
                assert_eq!(reply.header("x-amzn-errortype"), Some("UnknownOperationException"));
            }
        }
        // A client of S3 with a name of its own.
        let request = RawRequest::of_s3(address(&server), "us-east-1", "GET", "/");
        let reply = request.service("storage").by(NOBODY).send().await;
        let status = if profile == "localstack" { 200 } else { 400 };
        assert_eq!(reply.status, status, "{}", String::from_utf8_lossy(&reply.body));
    }
}
