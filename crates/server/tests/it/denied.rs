//! The reason of a refused request, as the log has it.

use crate::command::{Running, liteio};
use crate::harness::{RawRequest, User};

/// The reason stands in the log, with the statement, and nothing that is secret.
#[tokio::test]
async fn a_denied_request_is_logged_with_the_statement_that_denied_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let users = directory.path().join("users.toml");
    let carol = r#"
        [[user]]
        name = "carol"
        parent = "alice"
        access_key = "carol-key"
        secret_key = "carol's secret"
        policies = ['''{"Version": "2012-10-17", "Statement": [
            {"Sid": "NoSecrets", "Effect": "Deny", "Action": "s3:*", "Resource": "arn:aws:s3:::*/secret*"},
            {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}''']
    "#;
    let alice = r#"
        [[user]]
        name = "alice"
        access_key = "alice-key"
        secret_key = "alice's secret"
    "#;
    std::fs::write(&users, format!("{alice}{carol}")).expect("the users are written");
    let mut command = liteio(&directory);
    command.args(["--memory", "--address", "127.0.0.1:0", "--log-format", "json"]);
    let server = Running::start(command.arg("--credentials-file").arg(&users));
    let address = server.endpoint().trim_start_matches("http://").parse().expect("an address");
    let carol = User { access_key: "carol-key", secret_key: "carol's secret", id: "" };
    let request = |method, path| RawRequest::of_s3(address, "us-east-1", method, path);
    request("PUT", "/mine").send().await.expect_status(200);
    request("PUT", "/mine/secret-plan").by(carol).body("x").send().await.expect_status(403);
    request("PUT", "/mine/plan").by(carol).body("x").send().await.expect_status(200);
    let policy = r#"{"Version": "2012-10-17", "Statement": {"Sid": "Closed", "Effect": "Deny",
        "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::mine/*"}}"#;
    request("PUT", "/mine?policy").body(policy).send().await.expect_status(204);
    request("GET", "/mine/plan").by(carol).send().await.expect_status(403);
    request("GET", "/mine/plan").anonymous().send().await.expect_status(403);
    request("GET", "/mine").anonymous().send().await.expect_status(403);
    let vectors = RawRequest::of_vectors(address, "us-east-1", "ListVectorBuckets", "{}");
    let vectors = vectors.header("x-amz-security-token", "of other keys");
    vectors.send().await.expect_status(403);
    let (_, log) = server.signal("TERM");
    let lines = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let denied: Vec<String> = lines
        .filter(|line| line["target"] == "liteio::access")
        .filter_map(|line| line["denied"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(
        denied,
        [
            "s3:PutObject: denied by the policy \"policy 1\", NoSecrets",
            "s3:GetObject: denied by the policy of the bucket, Closed",
            "s3:GetObject: denied by the policy of the bucket, Closed",
            "s3:ListBucket: not signed, and granted to nobody",
            "InvalidToken: The provided token is malformed or otherwise invalid.",
        ],
        "{log}"
    );
    assert!(!log.contains("'s secret"), "{log}");
}
