//! Keys of encryption, as `mc admin kms key` asks for them, and as `liteio client admin kms key` shows them.

use std::fs;

use liteio::{KeySources, MasterKeySource};
use serde_json::{Value, json};

use crate::client::Shell;
use crate::harness::{
    ACCOUNTS, ALICE, CAROL, TestServer, in_memory_with_users, memory, start_with, with_keys,
};
use crate::reply::Reply;

/// The paths of current clients, and of those before 2022.
const APIS: [&str; 2] = ["/minio/kms/v1", "/minio/admin/v3/kms"];

async fn send(server: &TestServer, method: &'static str, path: &str) -> Reply {
    server.request(method, path).by(ALICE).send().await
}

async fn told(server: &TestServer, path: &str) -> Value {
    let reply = send(server, "GET", path).await.expect_status(200);
    serde_json::from_slice(&reply.body).expect("JSON")
}

fn check_error(reply: &Reply, status: u16, code: &str, advice: &str) {
    assert_eq!(reply.status, status, "{}", reply.everything());
    let told: Value = serde_json::from_slice(&reply.body).expect("JSON");
    assert_eq!(told["Code"], code, "{told}");
    assert!(told["Message"].as_str().is_some_and(|text| text.contains(advice)), "{told}");
}

#[tokio::test]
async fn the_keys_of_the_files_are_listed_and_checked() {
    for server in with_keys().await {
        for api in APIS {
            let all = json!([{ "name": "first" }, { "name": "second" }]);
            for pattern in ["", "?pattern=", "?pattern=*"] {
                assert_eq!(told(&server, &format!("{api}/key/list{pattern}")).await, all);
            }
            let some = told(&server, &format!("{api}/key/list?pattern=sec*")).await;
            assert_eq!(some, json!([{ "name": "second" }]));
            let default = told(&server, &format!("{api}/key/status")).await;
            assert_eq!(default, json!({ "key-id": "first" }));
            let second = told(&server, &format!("{api}/key/status?key-id=second")).await;
            assert_eq!(second, json!({ "key-id": "second" }));
            let missing = told(&server, &format!("{api}/key/status?key-id=third")).await;
            let reason = missing["encryption-error"].as_str().expect("a reason");
            assert!(reason.contains("first, second"), "{reason}");
            assert_eq!(told(&server, &format!("{api}/status")).await["default-key-id"], "first");
            let create = |name: &str| format!("{api}/key/create?key-id={name}");
            let exists = send(&server, "POST", &create("first")).await;
            check_error(&exists, 409, "kms:KeyAlreadyExists", "first");
            let refused = send(&server, "POST", &create("third")).await;
            check_error(&refused, 501, "NotImplemented", "liteio key new FILE --name NAME");
            let unnamed = send(&server, "POST", &create("")).await;
            check_error(&unnamed, 400, "XMinioAdminInvalidArgument", "key-id");
            let pattern = send(&server, "GET", &format!("{api}/key/list?pattern=a*b")).await;
            check_error(&pattern, 400, "XMinioAdminInvalidArgument", "pattern");
        }
        for path in ["/minio/kms/v1/metrics", "/minio/kms/v1/key/delete?key-id=first"] {
            check_error(&send(&server, "GET", path).await, 501, "NotImplemented", "docs/admin.md");
        }
    }
}

#[tokio::test]
async fn a_server_without_named_keys_tells_of_its_master_key_or_that_it_has_none() {
    let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".to_owned();
    let keys = KeySources { master: Some(MasterKeySource::Text(key)), kms_file: None };
    let with_master = start_with("memory", "us-east-1", |builder, _| builder.keys(keys)).await;
    assert_eq!(told(&with_master, "/minio/kms/v1/key/list").await, json!([]));
    let status = told(&with_master, "/minio/kms/v1/key/status").await;
    let id = status["key-id"].as_str().expect("an id");
    assert!(id.starts_with("the master key ") && status["encryption-error"].is_null(), "{status}");
    let bare = memory().await;
    for path in ["key/list", "key/status", "status"] {
        let refused = send(&bare, "GET", &format!("/minio/kms/v1/{path}")).await;
        check_error(&refused, 501, "NotImplemented", "--kms-key-file");
    }
}

#[tokio::test]
async fn users_need_the_permissions_of_minio() {
    let server = in_memory_with_users(ACCOUNTS).await;
    for (method, path) in [
        ("GET", "key/list"),
        ("GET", "key/status"),
        ("GET", "status"),
        ("POST", "key/create?key-id=a"),
    ] {
        let request = server.request(method, &format!("/minio/kms/v1/{path}"));
        let refused = request.by(CAROL).send().await;
        check_error(&refused, 403, "AccessDenied", "kms:");
        let request = server.request(method, &format!("/minio/kms/v1/{path}"));
        check_error(&request.anonymous().send().await, 403, "AccessDenied", "sign the request");
    }
}

#[test]
fn the_client_lists_and_checks_keys() {
    let files = tempfile::tempdir().expect("a temporary directory");
    let file = files.path().join("kms.toml");
    let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    fs::write(&file, format!("[[key]]\nname = \"mine\"\nversions = [\"{key}\"]\n"))
        .expect("written");
    let shell = Shell::start_with(&["--kms-key-file", file.to_str().expect("UTF-8")]);
    let kms = |arguments: &[&'static str]| [&["admin", "kms", "key"], arguments].concat();
    assert_eq!(shell.ok(&kms(&["list", "a"])), "mine\n");
    assert_eq!(shell.json(&kms(&["ls", "a"]))[0]["keys"], json!(["mine"]));
    let shown = "Key: mine\n   - Encryption ✔\n   - Decryption ✔\n";
    assert_eq!(shell.ok(&kms(&["status", "a"])), shown);
    let status = &shell.json(&kms(&["status", "a", "mine"]))[0];
    assert_eq!((&status["keyId"], &status["encryption"]), (&json!("mine"), &json!(true)));
    for (wrong, word) in [
        (&["status", "a", "other"][..], "no key of this name"),
        (&["create", "a", "other"], "liteio key new"),
        (&["create", "a", "mine"], "exists already"),
    ] {
        let message = shell.fails(&kms(wrong));
        assert!(message.contains(word), "{message}");
    }
    let other = shell.fails(&["admin", "kms", "metrics", "a"]);
    assert!(other.contains("not part of this client"), "{other}");
    let of_aws = Shell::start_with(&["--aws-defaults"]);
    assert_eq!(of_aws.ok(&kms(&["list", "a"])), "aws/s3\n");
}
