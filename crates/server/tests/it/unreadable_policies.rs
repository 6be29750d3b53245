//! Policies that were stored by another version, or by a server in another region: they cannot be read, and
//! deny everything until the root user of the account replaces them.

use std::net::SocketAddr;

use liteio::{Server, ServerHandle};
use liteio_store::vectors::VectorName;
use liteio_store::{BucketName, DocumentKind, NewBucket, Owner, Store, StoreConfig};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{ALICE, RawRequest, User};
use crate::reply::Reply;

/// A user of alice's account who may do everything.
const DAVE: User = User { access_key: "dave-key", secret_key: "dave's secret", id: "" };

const USERS: &str = r#"
    [[user]]
    name = "alice"
    id = "alice-id"
    access_key = "alice-key"
    secret_key = "alice's secret"

    [[user]]
    name = "dave"
    parent = "alice"
    access_key = "dave-key"
    secret_key = "dave's secret"
    policies = ['''{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}''']
"#;

/// Allows everything, in words of a later version.
const POLICY: &str = r#"{"Version": "2040-01-01", "Statement": {"Permit": "everything"}}"#;

fn alice() -> Owner {
    Owner { id: ALICE.id.to_owned(), display_name: "alice".to_owned() }
}

async fn serve(store: Store) -> (ServerHandle, TempDir) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let users = directory.path().join("users.toml");
    std::fs::write(&users, USERS).expect("the users are written");
    let server = Server::builder().store(store).credentials_file(users).spawn().await;
    (server.expect("the server starts"), directory)
}

#[tokio::test]
async fn the_policy_of_a_bucket() {
    let store = Store::open(StoreConfig::memory()).expect("a store");
    let name = BucketName::try_from("mine".to_owned()).expect("a name");
    let new = NewBucket::new(name.clone(), alice(), "us-east-1".to_owned());
    store.create_bucket(new).wait().expect("created");
    let bucket = store.bucket(&name).expect("there");
    let document = POLICY.as_bytes().to_vec();
    store.put_document(&bucket, DocumentKind::Policy, document).wait().expect("stored");
    let (server, _directory) = serve(store).await;
    let ask = |method, path, user| {
        RawRequest::of_s3(server.address(), "us-east-1", method, path).by(user).send()
    };
    for user in [ALICE, DAVE] {
        ask("GET", "/mine", user).await.expect_status(403);
        ask("PUT", "/mine/key", user).await.expect_status(403);
    }
    ask("GET", "/mine", DAVE).await.expect_status(403);
    assert_eq!(ask("GET", "/mine?policy", ALICE).await.expect_status(200).text(), POLICY);
    ask("DELETE", "/mine?policy", DAVE).await.expect_status(403);
    ask("DELETE", "/mine?policy", ALICE).await.expect_status(204);
    ask("GET", "/mine", DAVE).await.expect_status(200);
    server.stop().await;
}

#[tokio::test]
async fn the_policy_of_a_vector_bucket() {
    let arn = "arn:aws:s3vectors:eu-central-1:000000000000:bucket/media";
    let of_another_region = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow",
        "Principal": {"AWS": "222233334444"}, "Action": "s3vectors:*", "Resource": arn}});
    for policy in ["{}".to_owned(), POLICY.to_owned(), of_another_region.to_string()] {
        let store = Store::open(StoreConfig::memory()).expect("a store");
        let name = VectorName::bucket("media").expect("a name");
        let bucket = store.create_vector_bucket(name, alice(), None, Vec::new());
        let bucket = bucket.wait().expect("created");
        store.put_vector_bucket_policy(&bucket, policy.clone()).wait().expect("stored");
        let (server, _directory) = serve(store).await;
        let address = server.address();
        for user in [ALICE, DAVE] {
            ask_vectors(address, "GetVectorBucket", user).await.expect_status(403);
        }
        let shown = ask_vectors(address, "GetVectorBucketPolicy", ALICE).await;
        assert_eq!(shown.expect_status(200).text(), json!({"policy": policy}).to_string());
        ask_vectors(address, "DeleteVectorBucketPolicy", DAVE).await.expect_status(403);
        ask_vectors(address, "DeleteVectorBucketPolicy", ALICE).await.expect_status(200);
        ask_vectors(address, "GetVectorBucket", DAVE).await.expect_status(200);
        server.stop().await;
    }
}

async fn ask_vectors(address: SocketAddr, operation: &str, user: User) -> Reply {
    let body = r#"{"vectorBucketName": "media"}"#;
    RawRequest::of_vectors(address, "us-east-1", operation, body).by(user).send().await
}
