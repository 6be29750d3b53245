//! The reason of a refused request, as the log has it.

use serde_json::Value;

use crate::command::{Running, liteio};
use crate::harness::{RawRequest, User};
use crate::iam::policy;

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
        account = "123456789012"
        [[role]]
        name = "closed"
        parent = "alice"
        trust = '''{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "sts:AssumeRole",
            "Principal": {"AWS": "arn:aws:iam::123456789012:user/dave"}}}'''
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
    let form = |service, form: &str| RawRequest::of_form(address, service, form).by(carol);
    form("iam", "Action=ListUsers").send().await.expect_error(403, "AccessDenied");
    for role in ["closed", "missing"] {
        let arn = format!("arn:aws:iam::123456789012:role/{role}");
        let assume = format!("Action=AssumeRole&RoleSessionName=session&RoleArn={arn}");
        let refused = form("sts", &assume).send().await.expect_error(403, "AccessDenied");
        // The client does not learn which roles there are.
        let told = format!("is not authorized to perform: sts:AssumeRole on resource: {arn}");
        assert!(refused.element("Message").ends_with(&told), "{}", refused.text());
    }
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
            "User: arn:aws:iam::123456789012:user/carol is not authorized to perform: iam:ListUsers on resource: * because no \
             identity-based policy allows the iam:ListUsers action",
            "sts:AssumeRole: the trust policy of the role does not allow it",
            "sts:AssumeRole: there is no such role",
        ],
        "{log}"
    );
    assert_eq!(log.matches(r#""operation":"AssumeRole""#).count(), 2, "{log}");
    assert!(!log.contains("'s secret"), "{log}");
}

/// A secret key in its place is not logged whole.
#[tokio::test]
async fn an_unknown_access_key_is_logged() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = liteio(&directory);
    let server = Running::start(command.args(["--memory", "--address", "127.0.0.1:0"]));
    let address = server.endpoint().trim_start_matches("http://").parse().expect("an address");
    let nobody = User { access_key: "AKIAOFANOTHERSERVER1", secret_key: "their secret", id: "" };
    let swapped = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY";
    let swapped = User { access_key: swapped, secret_key: "AKIAOFANOTHERSERVER1", id: "" };
    let list = |user| RawRequest::of_s3(address, "us-east-1", "GET", "/").by(user);
    list(nobody).send().await.expect_error(403, "InvalidAccessKeyId");
    let users = RawRequest::of_form(address, "iam", "Action=ListUsers").by(nobody);
    users.send().await.expect_error(403, "InvalidClientTokenId");
    list(swapped).send().await.expect_error(403, "InvalidAccessKeyId");
    let (_, log) = server.signal("TERM");
    let told = "denied=\"the access key AKIAOFANOTHERSERVER1 is unknown\"";
    assert_eq!(log.matches(told).count(), 2, "{log}");
    assert!(log.contains("the access key wJalrXUtnFEMI-K7MDEN… is unknown"), "{log}");
    assert!(!log.contains("bPxRfiCY"), "{log}");
}

/// The name of the key leads to the program that still has an old secret, and shows whose secret is guessed.
#[tokio::test]
async fn the_access_key_of_a_wrong_secret_is_logged_as_not_proven() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = liteio(&directory);
    command.args(["--memory", "--address", "127.0.0.1:0", "--audit-file", "audit.log"]);
    let server = Running::start(&mut command);
    let address = server.endpoint().trim_start_matches("http://").parse().expect("an address");
    let root = User { access_key: "liteio", secret_key: "an old secret", id: "" };
    let list = RawRequest::of_s3(address, "us-east-1", "GET", "/").by(root);
    list.send().await.expect_error(403, "SignatureDoesNotMatch");
    let vectors = RawRequest::of_vectors(address, "us-east-1", "ListVectorBuckets", "{}").by(root);
    vectors.send().await.expect_status(403);
    let users = RawRequest::of_form(address, "iam", "Action=ListUsers").by(root);
    users.send().await.expect_error(403, "SignatureDoesNotMatch");
    let (_, log) = server.signal("TERM");
    let told = format!(
        "the request names the access key liteio, and its signature does not prove it for the host {address}"
    );
    assert_eq!(log.matches(&format!("denied=\"{told}\"")).count(), 3, "{log}");
    let audit = std::fs::read_to_string(directory.path().join("audit.log")).expect("written");
    assert_eq!(audit.matches(&format!("\"error\":\"{told}\"")).count(), 3, "{audit}");
    assert!(!audit.contains("\"accessKey\""), "{audit}");
}

/// The browser has only «blocked by CORS policy», and a request without a preflight is answered by 200.
#[tokio::test]
async fn the_missing_cors_rule_for_a_page_is_logged() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = liteio(&directory);
    command.args(["--memory", "--address", "127.0.0.1:0", "--bucket", "mine"]);
    let server = Running::start(&mut command);
    let endpoint = server.endpoint().to_owned();
    let address = endpoint.trim_start_matches("http://").parse().expect("an address");
    let root = User { access_key: "liteio", secret_key: "liteio123", id: "" };
    let request = |method, path| RawRequest::of_s3(address, "us-east-1", method, path).by(root);
    let page = |origin: &str| request("GET", "/mine").header("origin", origin).send();
    page("http://app.example.com").await.expect_status(200);
    // A page of the server itself needs no rule, and neither does a form that leads to the answer.
    page(&endpoint).await.expect_status(200);
    let form = request("GET", "/mine").header("origin", "http://form.example.com");
    form.header("sec-fetch-mode", "navigate").send().await.expect_status(200);
    let rules = "<CORSConfiguration><CORSRule><AllowedOrigin>http://app.example.com</AllowedOrigin>\
                 <AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>";
    request("PUT", "/mine?cors").body(rules).send().await.expect_status(200);
    page("http://app.example.com").await.expect_status(200);
    page("http://localhost:5173").await.expect_status(200);
    let (_, log) = server.signal("TERM");
    let told: Vec<&str> = log.lines().filter_map(|line| line.split(" cors=\"").nth(1)).collect();
    assert_eq!(told.len(), 2, "{log}");
    let none = "neither CORS rules of the bucket nor --cors-origin for GET from a page of http://app.example.com\"";
    assert!(told[0].starts_with(none), "{log}");
    let other = "no CORS rule for GET from a page of http://localhost:5173\"";
    assert!(told[1].starts_with(other), "{log}");
}

/// The main space is asked first: its reason is not that of the space that answers.
#[tokio::test]
async fn a_preflight_is_logged_with_the_reason_of_the_space_that_answers() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = liteio(&directory);
    command.args(["--memory", "--test-api", "--address", "127.0.0.1:0"]);
    let server = Running::start(&mut command);
    let address = server.endpoint().trim_start_matches("http://").parse().expect("an address");
    let request = |method, path| RawRequest::of_s3(address, "us-east-1", method, path);
    let made = request("POST", "/_liteio/test/spaces").anonymous().send().await.expect_status(201);
    let made: Value = serde_json::from_slice(&made.body).expect("JSON");
    let text = |field: &str| made[field].as_str().expect("text").to_owned().leak();
    let owner = User { access_key: text("access_key"), secret_key: text("secret_key"), id: "" };
    let rules = "<CORSConfiguration><CORSRule><AllowedOrigin>http://app.example.com</AllowedOrigin>\
                 <AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>";
    for (path, body) in [("/mine", ""), ("/mine?cors", rules)] {
        request("PUT", path).by(owner).body(body).send().await.expect_status(200);
    }
    for (page, status) in [("http://app.example.com", 200), ("http://localhost:5173", 403)] {
        let asks = [("origin", page), ("access-control-request-method", "GET")];
        let asked = request("OPTIONS", "/mine/key").anonymous().headers(&asks);
        asked.send().await.expect_status(status);
    }
    let (_, log) = server.signal("TERM");
    let told: Vec<&str> = log.lines().filter(|line| line.contains("method=OPTIONS")).collect();
    assert_eq!(told.len(), 2, "{log}");
    assert!(!told[0].contains("denied="), "{log}");
    let reason = "denied=\"no CORS rule for GET from a page of http://localhost:5173\"";
    assert!(told[1].contains(reason), "{log}");
}

/// AWS has one sentence for many faults of a policy, and the AWS CLI shows nothing else of the answer.
#[tokio::test]
async fn the_fault_of_a_policy_is_logged() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = liteio(&directory);
    command.args(["--memory", "--address", "127.0.0.1:0", "--bucket", "mine"]);
    let server = Running::start(&mut command);
    let address = server.endpoint().trim_start_matches("http://").parse().expect("an address");
    let root = User { access_key: "liteio", secret_key: "liteio123", id: "" };
    let create = format!("Action=CreatePolicy&PolicyName=p&PolicyDocument={}", policy("Alow", "*"));
    let refused = RawRequest::of_form(address, "iam", &create).by(root).send().await;
    let refused = refused.expect_error(400, "MalformedPolicyDocument");
    assert_eq!(refused.element("Message"), "Syntax errors in policy.");
    let document = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": "*",
        "Action": "s3:GetObjec", "Resource": "arn:aws:s3:::mine/*"}}"#;
    let put = RawRequest::of_s3(address, "us-east-1", "PUT", "/mine?policy").by(root);
    let refused = put.body(document).send().await.expect_error(400, "MalformedPolicy");
    assert_eq!(refused.element("Detail"), "s3:GetObjec");
    let (_, log) = server.signal("TERM");
    for told in ["denied=\"Invalid effect: Alow\"", "denied=\"s3:GetObjec\""] {
        assert!(log.contains(told), "{told} is not in {log}");
    }
}
