//! The test API: spaces, and the requests that reach them.

use serde_json::Value;

use crate::iam::key_of;
use crate::test_api::{server, space, tell, told};

#[tokio::test]
async fn spaces_know_nothing_of_each_other() {
    let server = server().await;
    let (one, other) = (space(&server, "one").await, space(&server, "other").await);
    server.bucket("bucket").await;
    for user in [one, other] {
        server.request("PUT", "/bucket").by(user).send().await.expect_status(200);
        let put = server.request("PUT", "/bucket/key").by(user).body(user.access_key);
        put.send().await.expect_status(200);
    }
    server.get("/bucket/key").await.expect_error(404, "NoSuchKey");
    for user in [one, other] {
        let reply = server.request("GET", "/bucket/key").by(user).send().await;
        assert_eq!(reply.text(), user.access_key);
        let url = server.request("GET", "/bucket/key").by(user).presigned("60");
        let reply = server.request("GET", &url).anonymous().send().await;
        assert_eq!(reply.text(), user.access_key);
    }
    // A key that was made in a space, and one of a session, lead there, too.
    let form = "Action=GetSessionToken";
    let session = server.form("sts", form).by(one).send().await.expect_status(200);
    let get = server.request("GET", "/bucket/key").by(key_of(&session));
    let get = get.header("x-amz-security-token", session.element("SessionToken"));
    let reply = get.send().await;
    assert_eq!(reply.text(), one.access_key);

    tell(&server, "DELETE", "/spaces/one", Value::Null, 204).await;
    let reply = server.request("GET", "/bucket/key").by(one).send().await;
    reply.expect_error(403, "InvalidAccessKeyId");
    let reply = server.request("GET", "/bucket/key").by(other).send().await;
    reply.expect_status(200);
    assert_eq!(told(&server, "GET", "/spaces", Value::Null).await["spaces"][0]["name"], "other");
}
