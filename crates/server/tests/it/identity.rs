//! Users of the credentials file, while it changes.

use crate::harness::{ALICE, BOB, memory};

const ALICE_AND_BOB: &str = "
    [[user]]
    name = 'alice'
    id = 'alice-id'
    access_key = 'alice-key'
    secret_key = \"alice's secret\"

    [[user]]
    name = 'bob'
    id = 'bob-id'
    access_key = 'bob-key'
    secret_key = 'another secret'
";

#[tokio::test]
async fn a_removed_or_replaced_key_is_refused_at_once() {
    let server = memory().await;
    server.bucket("bucket").await;
    let as_bob = || async { server.request("GET", "/").by(BOB).send().await };
    as_bob().await.expect_status(200);

    server.set_users(ALICE_AND_BOB);
    as_bob().await.expect_error(403, "SignatureDoesNotMatch");
    server.get("/bucket").await.expect_status(200);

    // Bob's former secret again, and then nobody.
    server.set_users(&ALICE_AND_BOB.replace("another secret", "former secret"));
    as_bob().await.expect_error(403, "SignatureDoesNotMatch");
    server.set_users(&ALICE_AND_BOB.replace("'another secret'", "\"bob's secret\""));
    as_bob().await.expect_status(200);
    server.set_users("[[user]]\nname = 'alice'");
    as_bob().await.expect_status(200);
    server.set_users(ALICE_AND_BOB.split_inclusive("alice's secret\"").next().expect("Alice"));
    as_bob().await.expect_error(403, "InvalidAccessKeyId");
    server.get("/bucket").await.expect_status(200);
    assert_eq!(ALICE.access_key, "alice-key");
}
